//! Slides: which of them are one parent, and what of a slide is one passage.
//!
//! A slide with everything on it, notes included, is a parent; adjacent slides with titles that are alike are one. A
//! passage is on one slide and holds its running text, or one table, picture, or note.

use std::collections::BTreeMap;
use std::ops::Range;

use super::outline::ParentSpan;
use super::units::{Unit, UnitKind};
use crate::text::prose;
use loci_documents::{BlockKind, ParsedDocument};

/// Cosine of the words of two titles above which their slides are about one thing.
const SIMILARITY_MIN: f32 = 0.7;

/// The parents: runs of slides of at most `max` tokens, a slide that is larger in pieces.
pub(super) fn parent_spans(parsed: &ParsedDocument, units: &[Unit], max: u32) -> Vec<ParentSpan> {
    let slides = group_runs_by(0..units.len(), |unit| slide_number(parsed, &units[unit]));
    let titles: Vec<_> = slides
        .iter()
        .map(|slide| title(parsed, &units[slide.clone()]))
        .collect();
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, slide) in slides.iter().enumerate() {
        let fits = |group: &Range<usize>| token_count(&units[group.start..slide.end]) <= max;
        let is_alike = at > 0 && cosine(&titles[at - 1], &titles[at]) > SIMILARITY_MIN;
        match groups.last_mut().filter(|group| is_alike && fits(group)) {
            Some(group) => group.end = slide.end,
            None => groups.push(slide.clone()),
        }
    }
    let cut = groups
        .into_iter()
        .flat_map(|group| split_run(units, group, max));
    cut.map(|run| ParentSpan {
        units: run,
        parent: None,
        has_leaves: true,
    })
    .collect()
}

/// The parts of a parent that passages stay within.
pub(super) fn parts(
    parsed: &ParsedDocument,
    units: &[Unit],
    run: Range<usize>,
) -> Vec<Range<usize>> {
    let part_of = |at: usize| {
        let unit = &units[at];
        let kind = parsed.blocks.get(unit.block).map(|block| &block.kind);
        let part = match (unit.kind, kind) {
            (UnitKind::Atom(_), _) => Part::Atom(unit.block),
            (_, Some(BlockKind::Aside)) => Part::Notes,
            _ => Part::Text,
        };
        (slide_number(parsed, unit), part)
    };
    let end = run.end;
    group_runs_by(run, |at| {
        // A title belongs to what is under it.
        let mut under = (at..end).skip_while(|&next| units[next].is_heading());
        let same_slide =
            |next: &usize| slide_number(parsed, &units[*next]) == slide_number(parsed, &units[at]);
        part_of(under.next().filter(same_slide).unwrap_or(at))
    })
}

/// What of a slide a unit belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Text,
    Notes,
    /// A table, picture or code, by its block.
    Atom(usize),
}

fn slide_number(parsed: &ParsedDocument, unit: &Unit) -> Option<u32> {
    parsed.blocks.get(unit.block).and_then(|block| block.slide)
}

/// The words of the first heading, each with how often it is there.
fn title(parsed: &ParsedDocument, slide: &[Unit]) -> BTreeMap<String, u32> {
    let heading = slide.iter().find(|unit| unit.is_heading());
    let text = heading.map_or("", |unit| &parsed.text[unit.range.clone()]);
    let mut counts = word_counts(&prose::visible(text, parsed.kind));
    // What a slide without a title is called by its number.
    counts.remove("slide");
    counts
}

/// The content words of a text, each with how often it is there.
pub(super) fn word_counts(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for word in prose::content_words(text) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

/// How alike two bags of words are, in 0..=1.
pub(super) fn cosine(a: &BTreeMap<String, u32>, b: &BTreeMap<String, u32>) -> f32 {
    let shared = a
        .iter()
        .filter_map(|(word, n)| Some(*n as f32 * *b.get(word)? as f32));
    let dot: f32 = shared.sum();
    let squares =
        |of: &BTreeMap<String, u32>| of.values().map(|&n| n as f32 * n as f32).sum::<f32>();
    let length = |of: &BTreeMap<String, u32>| squares(of).sqrt();
    match length(a) * length(b) {
        norm if norm > 0.0 => dot / norm,
        _ => 0.0,
    }
}

/// The longest runs of units for which `key` is the same.
pub(super) fn group_runs_by<K: PartialEq>(
    range: Range<usize>,
    key: impl Fn(usize) -> K,
) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for at in range {
        let own = key(at);
        match runs.last_mut().filter(|_| last.as_ref() == Some(&own)) {
            Some(run) => run.end = at + 1,
            None => runs.push(at..at + 1),
        }
        last = Some(own);
    }
    runs
}

/// Runs of at most `max` tokens, but for one unit that has more.
pub(super) fn split_run(units: &[Unit], run: Range<usize>, max: u32) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut size) = (run.start, 0);
    for at in run.clone() {
        if at > start && size + units[at].tokens > max {
            runs.push(start..at);
            (start, size) = (at, 0);
        }
        size += units[at].tokens;
    }
    runs.push(start..run.end);
    runs
}

pub(super) fn token_count(units: &[Unit]) -> u32 {
    units.iter().map(|unit| unit.tokens).sum()
}
