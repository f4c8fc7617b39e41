//! Sections: which units a heading governs, and how they become parent chunks.
//!
//! A *piece* is a parent chunk: a run of units under one parent piece. The rules, in order:
//!
//! 1. A section that fits whole (subsections included) is one piece, unless its level is above a given one.
//! 2. Else its lead (what is before its first subsection) is a piece, and every subsection is
//!    planned by these rules beneath it.
//! 3. Small subsections join the piece before them while it has room, or one another.
//! 4. A lead that is larger than a piece is cut into pieces: the first is the section's, the others
//!    hang under it.
//! 5. A lead of nothing but a heading stays a piece of its own without passages; the first passage
//!    below takes the heading's text along, so that no passage is a mere heading.
//!
//! Text before the first heading is planned like a lead without a section.

use std::ops::Range;

use super::units::{Unit, UnitKind};

/// A section: its heading, its lead, its subsections.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The section that contains it; the root is its own parent.
    pub(crate) parent: usize,
    /// Its heading among the units; none for the root.
    pub(crate) heading: Option<usize>,
    level: u16,
    lead: Range<usize>,
    end: usize,
    children: Vec<usize>,
}

/// The tree of sections over a list of units.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Sections in reading order; the first is the root, the document itself.
    pub(crate) sections: Vec<Section>,
    /// For every unit the innermost section that contains it.
    pub(crate) section_of: Vec<usize>,
}

/// A parent chunk to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParentSpan {
    /// Its units.
    pub(crate) units: Range<usize>,
    /// The piece that it hangs under.
    pub(crate) parent: Option<usize>,
    /// Whether it gets passages of its own; a mere heading does not.
    pub(crate) has_leaves: bool,
}

impl Outline {
    /// Reads the tree off the headings: one opens a section that ends before the next of its level
    /// or above.
    pub(crate) fn new(units: &[Unit]) -> Outline {
        let mut sections = vec![Section {
            end: units.len(),
            lead: 0..units.len(),
            ..Section::default()
        }];
        let mut section_of = Vec::with_capacity(units.len());
        let mut open = vec![0];
        for (i, unit) in units.iter().enumerate() {
            if let UnitKind::Heading(level) = unit.kind {
                let level = u16::from(level).max(1);
                while open.len() > 1 && sections[open[open.len() - 1]].level >= level {
                    if let Some(section) = open.pop() {
                        sections[section].end = i;
                    }
                }
                let parent = open[open.len() - 1];
                if sections[parent].children.is_empty() {
                    sections[parent].lead.end = i;
                }
                let id = sections.len();
                sections[parent].children.push(id);
                let lead = i..units.len();
                sections.push(Section {
                    parent,
                    heading: Some(i),
                    level,
                    lead,
                    end: units.len(),
                    children: Vec::new(),
                });
                open.push(id);
            }
            section_of.push(open[open.len() - 1]);
        }
        for section in &mut sections {
            section.lead.end = section.lead.end.min(section.end);
        }
        Outline {
            sections,
            section_of,
        }
    }

    /// The innermost section that contains all of `run`, leading headings aside.
    pub(crate) fn common_section(&self, units: &[Unit], run: Range<usize>) -> usize {
        let body = run
            .clone()
            .find(|&i| !units[i].is_heading())
            .unwrap_or(run.end.saturating_sub(1));
        let body = body.max(run.start)..run.end;
        body.map(|i| self.section_of[i])
            .reduce(|a, b| self.common_ancestor(a, b))
            .unwrap_or(0)
    }

    fn common_ancestor(&self, mut a: usize, mut b: usize) -> usize {
        // Sections are numbered in reading order, so the larger number is never the ancestor.
        while a != b {
            if a > b {
                a = self.sections[a].parent
            } else {
                b = self.sections[b].parent
            }
        }
        a
    }

    /// The sections from the outermost to `section`, the root left out.
    pub(crate) fn path(&self, section: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = section;
        while at != 0 {
            path.push(at);
            at = self.sections[at].parent;
        }
        path.reverse();
        path
    }
}

/// How large pieces may be, in tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentLimits {
    /// No piece is larger, save one unit that is larger by itself.
    pub(crate) max: u32,
    /// Sections below this join their neighbours.
    pub(crate) merge_below: u32,
    /// Sections above this level are pieces of their subsections, however small they are.
    pub(crate) whole_level_min: u16,
}

/// Plans the parent chunks, in pre-order.
pub(crate) fn plan(units: &[Unit], outline: &Outline, limits: ParentLimits) -> Vec<ParentSpan> {
    let mut planner = Planner {
        units,
        outline,
        limits,
        pieces: Vec::new(),
        start: 0,
    };
    planner.plan_section(0, None);
    planner.pieces
}

struct Planner<'a> {
    units: &'a [Unit],
    outline: &'a Outline,
    limits: ParentLimits,
    pieces: Vec<ParentSpan>,
    /// Where the next piece starts: before its own section where mere headings go along.
    start: usize,
}

/// What the pieces of one section hang under.
struct SectionContext {
    /// The section's first piece.
    first_span: Option<usize>,
    parent: Option<usize>,
    has_heading: bool,
}

impl SectionContext {
    fn current_parent(&self) -> Option<usize> {
        self.first_span.or(self.parent)
    }

    /// The first piece of a section with a heading is the section's own.
    fn set_first_span(&mut self, piece: usize) {
        if self.has_heading {
            self.first_span.get_or_insert(piece);
        }
    }
}

impl Planner<'_> {
    fn tokens(&self, run: Range<usize>) -> u32 {
        self.units[run].iter().map(|unit| unit.tokens).sum()
    }

    fn plan_section(&mut self, id: usize, parent: Option<usize>) {
        let section = &self.outline.sections[id];
        let whole = self.start..section.end;
        let is_whole = section.children.is_empty() || section.level >= self.limits.whole_level_min;
        if id != 0 && is_whole && self.tokens(whole.clone()) <= self.limits.max {
            self.push_span(whole, parent, true);
            return;
        }
        let mut host = SectionContext {
            first_span: None,
            parent,
            has_heading: id != 0,
        };
        let mut run = self.plan_lead(section, &mut host);
        for &child in &section.children {
            let end = self.outline.sections[child].end;
            let small = self.is_small(child);
            if small
                && self.can_merge(section, &run)
                && self.tokens(run.start..end) <= self.limits.max
            {
                run.end = end;
                continue;
            }
            self.finish_run(run, &mut host);
            if small {
                run = self.start..end;
                continue;
            }
            self.plan_section(child, host.current_parent());
            run = self.start..self.start;
        }
        self.finish_run(run, &mut host);
    }

    /// Places the lead, and returns the part of it that is still open for small subsections.
    fn plan_lead(&mut self, section: &Section, host: &mut SectionContext) -> Range<usize> {
        let lead = self.start..section.lead.end;
        let bare = lead.clone().all(|i| self.units[i].is_heading());
        if let (true, Some(&first), Some(_)) = (bare, section.children.first(), section.heading) {
            let joined = self.tokens(lead.start..self.outline.sections[first].end);
            if self.is_small(first) && joined <= self.limits.max {
                return lead;
            }
            // Its text goes along with what comes next: `start` stays.
            let start = lead.start;
            self.pieces.push(ParentSpan {
                units: lead,
                parent: host.current_parent(),
                has_leaves: false,
            });
            host.set_first_span(self.pieces.len() - 1);
            return start..start;
        }
        if self.tokens(lead.clone()) <= self.limits.max {
            return lead;
        }
        for run in self.split_lead(lead) {
            self.finish_run(run, host);
        }
        self.start..self.start
    }

    /// Makes an open run a piece.
    fn finish_run(&mut self, run: Range<usize>, host: &mut SectionContext) {
        if !run.is_empty() {
            let piece = self.push_span(run, host.current_parent(), true);
            host.set_first_span(piece);
        }
    }

    /// Text before the first heading stays a section of its own; any other run may grow.
    fn can_merge(&self, section: &Section, run: &Range<usize>) -> bool {
        !run.is_empty() && (section.heading.is_some() || run.end > section.lead.end)
    }

    fn is_small(&self, child: usize) -> bool {
        let section = &self.outline.sections[child];
        self.tokens(section.lead.start..section.end) < self.limits.merge_below
    }

    fn push_span(&mut self, units: Range<usize>, parent: Option<usize>, has_leaves: bool) -> usize {
        self.start = units.end;
        self.pieces.push(ParentSpan {
            units,
            parent,
            has_leaves,
        });
        self.pieces.len() - 1
    }

    /// Cuts a lead into pieces of about equal size.
    fn split_lead(&self, lead: Range<usize>) -> Vec<Range<usize>> {
        let total = self.tokens(lead.clone());
        let target = total.div_ceil(total.div_ceil(self.limits.max.max(1)).max(1));
        let mut runs = Vec::new();
        let mut start = lead.start;
        let mut size = 0;
        for i in lead.clone() {
            let next = self.units[i].tokens;
            let new_block = self.units[i].block != self.units[i.max(1) - 1].block;
            let full = size + next > self.limits.max || (size >= target && new_block);
            let bare = (start..i).all(|u| self.units[u].is_heading());
            if full && i > start && (!bare || size + next > self.limits.max) {
                runs.push(start..i);
                (start, size) = (i, 0);
            }
            size += next;
        }
        runs.push(start..lead.end);
        runs
    }
}
