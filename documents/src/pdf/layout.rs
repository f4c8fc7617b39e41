//! Runs to lines in reading order.
//!
//! Runs on one baseline that nearly touch form an *atom*. Where many atoms are left and right of
//! a gap that only few cross, and fill the room they have, the page has columns there; atoms that
//! cross the gap divide the page into zones, each of which is read left column first. Otherwise a
//! baseline is a line, and wide gaps in it divide it into cells.
//!
//! Start reading at [`lines`].

use super::is_near;
use super::page::{Page, Run, Style};

/// Runs nearer than this, in type sizes, belong to one atom: no column gap is so narrow.
const ATOM_GAP: f32 = 0.6;
/// A gap that divides cells of a table, in type sizes.
const CELL_GAP: f32 = 1.6;
/// A gap that stands for a space between words, in type sizes.
const SPACE_GAP: f32 = 0.12;
/// Atoms on each side of a column gap, at least.
const COLUMN_ATOMS_MIN: usize = 8;
/// How much of its column an atom fills, on average, at least. Table cells fill less.
const COLUMN_FILL_MIN: f32 = 0.66;
/// Entries among the atoms of a column that make it one of an index.
const INDEX_SHARE_MIN: f32 = 0.6;
/// Columns within columns.
const COLUMN_DEPTH_MAX: usize = 2;
/// Width of a glyph in a font whose glyphs are all equally wide, in type sizes.
pub(super) const MONO_WIDTH: f32 = 0.6;
/// Rows that a run may still belong to: rows are found from the top down.
const ROWS_OPEN: usize = 6;

/// A line of text.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) page: u32,
    pub(super) page_size: (f32, f32),
    /// The column of a zone that it is in; changes wherever reading jumps.
    pub(super) flow: (u32, usize),
    /// Left and right edge of that column's text.
    pub(super) column: (f32, f32),
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) top: f32,
    pub(super) bottom: f32,
    pub(super) base: f32,
    /// Type size of most of it.
    pub(super) size: f32,
    pub(super) pieces: Vec<Piece>,
}

/// Text in one style.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) gap: Gap,
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) style: Style,
    pub(super) text: String,
}

/// What is before a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Space,
    /// As wide as so many glyphs; only between monospaced pieces.
    Spaces(u16),
    /// So wide that it divides cells.
    Cell,
}

impl Line {
    /// Its text, with one space for each gap.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            if piece.gap != Gap::None && !text.is_empty() && !text.ends_with(' ') {
                text.push(' ');
            }
            text.push_str(&piece.text);
        }
        text.trim().to_owned()
    }

    pub(super) fn char_count(&self) -> usize {
        self.pieces.iter().map(|p| p.text.chars().count()).sum()
    }

    pub(super) fn cell_count(&self) -> usize {
        1 + self.pieces.iter().filter(|p| p.gap == Gap::Cell).count()
    }

    /// Whether more than half of its letters and digits are in such a style.
    pub(super) fn is_mostly(&self, style: impl Fn(Style) -> bool) -> bool {
        let (mut yes, mut all) = (0, 0);
        for piece in &self.pieces {
            let count = piece.text.chars().filter(|c| !c.is_whitespace()).count();
            all += count;
            yes += if style(piece.style) { count } else { 0 };
        }
        2 * yes > all
    }
}

/// Runs on one baseline.
#[derive(Debug)]
struct Atom {
    x0: f32,
    x1: f32,
    top: f32,
    bottom: f32,
    runs: Vec<Run>,
}

/// All lines of a page in reading order.
pub(super) fn lines(page: &Page) -> Vec<Line> {
    let atoms = rows(&page.runs).into_iter().flat_map(atoms).collect();
    let mut flows = Vec::new();
    order(atoms, COLUMN_DEPTH_MAX, &mut flows);
    let mut lines = Vec::new();
    for (flow, atoms) in flows.into_iter().enumerate() {
        let column = extent(&atoms);
        for row in rejoin(atoms) {
            lines.extend(line(page, row, (page.number, flow), column));
        }
    }
    lines
}

/// Runs by baseline, from the top down. A small run (an index, a superscript) joins the row that
/// it overlaps by half of its height.
fn rows(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut sorted: Vec<&Run> = runs.iter().collect();
    sorted.sort_by(|a, b| a.base.total_cmp(&b.base).then(a.x0.total_cmp(&b.x0)));
    let mut rows: Vec<Vec<Run>> = Vec::new();
    // Extents of the tallest run of each row.
    let mut extents: Vec<(f32, f32)> = Vec::new();
    for run in sorted {
        let (top, bottom) = (run.top(), run.bottom());
        let first_open = rows.len().saturating_sub(ROWS_OPEN);
        let home = (first_open..rows.len()).rev().find(|&i| {
            let (row_top, row_bottom) = extents[i];
            let overlap = bottom.min(row_bottom) - top.max(row_top);
            overlap > 0.5 * (bottom - top).min(row_bottom - row_top)
        });
        match home {
            Some(i) => {
                if bottom - top > extents[i].1 - extents[i].0 {
                    extents[i] = (top, bottom);
                }
                rows[i].push(run.clone());
            }
            None => {
                rows.push(vec![run.clone()]);
                extents.push((top, bottom));
            }
        }
    }
    rows
}

fn atoms(mut row: Vec<Run>) -> Vec<Atom> {
    row.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    let mut atoms: Vec<Atom> = Vec::new();
    for run in row {
        match atoms.last_mut() {
            Some(last) if run.x0 - last.x1 < ATOM_GAP * run.size => last.add(run),
            _ => atoms.push(Atom::new(run)),
        }
    }
    atoms
}

impl Atom {
    fn new(run: Run) -> Atom {
        Atom {
            x0: run.x0,
            x1: run.x1,
            top: run.top(),
            bottom: run.bottom(),
            runs: vec![run],
        }
    }

    fn add(&mut self, run: Run) {
        self.x0 = self.x0.min(run.x0);
        self.x1 = self.x1.max(run.x1);
        self.top = self.top.min(run.top());
        self.bottom = self.bottom.max(run.bottom());
        self.runs.push(run);
    }

    fn base(&self) -> f32 {
        self.runs.first().map_or(self.bottom, |run| run.base)
    }

    fn is_beside(&self, other: &Atom) -> bool {
        let overlap = self.bottom.min(other.bottom) - self.top.max(other.top);
        overlap > 0.5 * (self.bottom - self.top).min(other.bottom - other.top)
    }
}

fn extent(atoms: &[Atom]) -> (f32, f32) {
    let left = atoms.iter().map(|a| a.x0).fold(f32::INFINITY, f32::min);
    let right = atoms.iter().map(|a| a.x1).fold(f32::NEG_INFINITY, f32::max);
    (left, right)
}

/// Divides atoms into flows, which are read one after the other.
fn order(atoms: Vec<Atom>, depth: usize, flows: &mut Vec<Vec<Atom>>) {
    let gutter = if depth > 0 { gutter(&atoms) } else { None };
    let Some(gutter) = gutter else {
        if !atoms.is_empty() {
            flows.push(atoms);
        }
        return;
    };
    let crosses = |atom: &Atom| atom.x0 < gutter && atom.x1 > gutter;
    let bands: Vec<(f32, f32)> = atoms
        .iter()
        .filter(|atom| crosses(atom))
        .map(|atom| (atom.top, atom.bottom))
        .collect();
    let (mut left, mut right, mut across) = (Vec::new(), Vec::new(), Vec::new());
    for atom in atoms {
        let middle = (atom.top + atom.bottom) / 2.0;
        let is_in_band = bands
            .iter()
            .any(|(top, bottom)| (*top..*bottom).contains(&middle));
        if is_in_band {
            for side in [&mut left, &mut right] {
                order(std::mem::take(side), depth - 1, flows);
            }
            across.push(atom);
            continue;
        }
        if !across.is_empty() {
            flows.push(std::mem::take(&mut across));
        }
        if atom.x1 <= gutter {
            left.push(atom)
        } else {
            right.push(atom)
        }
    }
    for side in [left, right] {
        order(side, depth - 1, flows);
    }
    if !across.is_empty() {
        flows.push(across);
    }
}

/// Where a gap between columns runs, if there is one: the place that most atoms are beside and
/// fewest cross.
fn gutter(atoms: &[Atom]) -> Option<f32> {
    let (left, right) = extent(atoms);
    let width = right - left;
    if atoms.len() < 2 * COLUMN_ATOMS_MIN || !(100.0..20_000.0).contains(&width) {
        return None;
    }
    let places = (0..=60).map(|i| left + width * (0.2 + 0.01 * i as f32));
    let (score, at) = places.map(|at| (beside(atoms, at), at)).max_by(|a, b| {
        a.0.cmp(&b.0)
            .then(distance_order(a.1, b.1, left + width / 2.0))
    })?;
    let on_left: Vec<&Atom> = atoms.iter().filter(|a| a.x1 <= at).collect();
    let on_right: Vec<&Atom> = atoms.iter().filter(|a| a.x0 >= at).collect();
    let left_fill = fill(
        &on_left,
        left,
        on_left.iter().map(|a| a.x1).reduce(f32::max)?,
    );
    let right_fill = fill(
        &on_right,
        on_right.iter().map(|a| a.x0).reduce(f32::min)?,
        right,
    );
    let are_columns = left_fill.min(right_fill) >= COLUMN_FILL_MIN;
    let is_sidebar =
        left_fill.max(right_fill) >= COLUMN_FILL_MIN && !are_aligned(&on_left, &on_right);
    let is_enough = on_left.len().min(on_right.len()) >= COLUMN_ATOMS_MIN;
    let is_index = is_index(&on_left) && is_index(&on_right);
    (score > 0 && is_enough && (are_columns || is_sidebar || is_index)).then_some(at)
}

/// Whether most atoms are entries of an index, which fill little of their columns.
fn is_index(side: &[&Atom]) -> bool {
    let last = |atom: &Atom| atom.runs.last().map_or("", |run| &run.text).to_owned();
    let entries = side.iter().filter(|atom| is_index_entry(&last(atom)));
    INDEX_SHARE_MIN * side.len() as f32 <= entries.count() as f32
}

/// `locks, 12, 34–36`, or the end of it.
pub(super) fn is_index_entry(text: &str) -> bool {
    let text = text.trim_end();
    let is_page = |c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ' ' | ',');
    let term = text.trim_end_matches(is_page);
    text.ends_with(|c: char| c.is_ascii_digit()) && text[term.len()..].starts_with(", ")
}

/// How much of the width between `from` and `to` the atoms fill, on average.
fn fill(side: &[&Atom], from: f32, to: f32) -> f32 {
    let filled: f32 = side.iter().map(|a| a.x1 - a.x0).sum();
    filled / ((to - from).max(1.0) * side.len().max(1) as f32)
}

/// Whether most atoms on one side share their baseline with one on the other, as the cells of a
/// table do and the notes in a margin do not.
fn are_aligned(left: &[&Atom], right: &[&Atom]) -> bool {
    let (few, many) = if left.len() < right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut bases: Vec<f32> = many.iter().map(|a| a.base()).collect();
    bases.sort_by(f32::total_cmp);
    let is_shared = |atom: &&&Atom| {
        let at = bases.partition_point(|base| *base < atom.base() - 0.5);
        bases.get(at).is_some_and(|base| *base <= atom.base() + 0.5)
    };
    2 * few.iter().filter(is_shared).count() > few.len()
}

/// Nearer to the middle is greater.
fn distance_order(a: f32, b: f32, middle: f32) -> std::cmp::Ordering {
    (b - middle).abs().total_cmp(&(a - middle).abs())
}

/// Atoms on the poorer side of `at`, less those that cross it.
fn beside(atoms: &[Atom], at: f32) -> i64 {
    let (mut left, mut right, mut crossing) = (0, 0, 0);
    for atom in atoms {
        match (atom.x1 <= at, atom.x0 >= at) {
            (true, _) => left += 1,
            (_, true) => right += 1,
            _ => crossing += 1,
        }
    }
    // A page of prose has a full-width line for every atom that happens to are aside.
    2 * i64::min(left, right) - crossing
}

/// Atoms of one flow by line.
fn rejoin(atoms: Vec<Atom>) -> Vec<Vec<Run>> {
    let mut rows: Vec<(Atom, Vec<Run>)> = Vec::new();
    for mut atom in atoms {
        let runs = std::mem::take(&mut atom.runs);
        match rows.last_mut() {
            Some((last, row)) if last.is_beside(&atom) => row.extend(runs),
            _ => rows.push((atom, runs)),
        }
    }
    rows.into_iter().map(|(_, runs)| runs).collect()
}

fn line(page: &Page, mut runs: Vec<Run>, flow: (u32, usize), column: (f32, f32)) -> Option<Line> {
    runs.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    let (size, base) = main_type(&runs)?;
    let mut line = Line {
        page: page.number,
        page_size: (page.width, page.height),
        flow,
        column,
        x0: f32::INFINITY,
        x1: f32::NEG_INFINITY,
        top: f32::INFINITY,
        bottom: f32::NEG_INFINITY,
        base,
        size,
        pieces: Vec::with_capacity(runs.len()),
    };
    for run in runs {
        let gap = gap_before(&line, &run);
        line.x0 = line.x0.min(run.x0);
        line.x1 = line.x1.max(run.x1);
        line.top = line.top.min(run.top());
        line.bottom = line.bottom.max(run.bottom());
        line.pieces.push(Piece {
            gap,
            x0: run.x0,
            x1: run.x1,
            style: run.style,
            text: run.text,
        });
    }
    Some(line)
}

/// The type size of most of a line's glyphs, and where their baseline is.
fn main_type(runs: &[Run]) -> Option<(f32, f32)> {
    let count_at = |run: &Run| -> usize {
        let alike = runs.iter().filter(|other| is_near(other.size, run.size));
        alike.map(|other| other.text.chars().count()).sum()
    };
    // A line of many runs would cost their square; the first ones tell as much.
    let runs_seen = &runs[..runs.len().min(64)];
    let main = runs_seen
        .iter()
        .max_by_key(|run| (count_at(run), run.text.chars().count()))?;
    Some((main.size, main.base))
}

fn gap_before(line: &Line, run: &Run) -> Gap {
    let Some(last) = line.pieces.last() else {
        return Gap::None;
    };
    let gap = run.x0 - line.x1;
    if last.style.is_mono && run.style.is_mono {
        let count = (gap / (MONO_WIDTH * run.size)).round();
        // Casting saturates; a page is not wider than that.
        return match count as u16 {
            0 => Gap::None,
            1 => Gap::Space,
            n => Gap::Spaces(n.min(200)),
        };
    }
    if gap > CELL_GAP * run.size {
        Gap::Cell
    } else if gap > SPACE_GAP * run.size || last.text.ends_with(' ') {
        Gap::Space
    } else {
        Gap::None
    }
}
