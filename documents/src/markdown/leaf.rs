//! The block whose running text is being read, and what it turns out to be.

use std::ops::Range;

use super::{trimmed, widen};
use crate::tree::{Block, BlockKind, Mark};

pub(super) struct Leaf {
    pub(super) kind: BlockKind,
    pub(super) range: Option<Range<usize>>,
    pub(super) marks: Vec<Mark>,
    pub(super) has_words: bool,
    /// Whether words are outside of pictures.
    pub(super) has_more_than_pictures: bool,
    /// Inline events and containers that are not inside another container.
    units: usize,
    /// What is visible of the last container among them.
    pub(super) last_span: Option<Range<usize>>,
    /// Displayed formulas.
    pub(super) formulas: Vec<Range<usize>>,
    pub(super) pictures: usize,
    /// Addresses of the pictures, but for those that the text itself holds.
    pub(super) images: Vec<String>,
    /// What is said of the last picture.
    pub(super) alt_range: Option<Range<usize>>,
}

impl Leaf {
    pub(super) fn new(kind: BlockKind, range: Option<Range<usize>>) -> Self {
        Leaf {
            kind,
            range,
            marks: Vec::new(),
            has_words: false,
            has_more_than_pictures: false,
            units: 0,
            last_span: None,
            formulas: Vec::new(),
            pictures: 0,
            images: Vec::new(),
            alt_range: None,
        }
    }

    pub(super) fn cover(&mut self, all: &Range<usize>) {
        self.units += 1;
        if self.kind != BlockKind::Table {
            widen(&mut self.range, all);
        }
    }

    /// What the block turned out to be. Its range is not trimmed.
    pub(super) fn into_block(self) -> Block {
        let range = self.range.unwrap_or(0..0);
        let only_span = self.last_span.filter(|_| self.units == 1);
        let is_figure =
            self.kind == BlockKind::Paragraph && self.pictures > 0 && !self.has_more_than_pictures;
        let (kind, range) = match self.kind {
            _ if is_figure && self.pictures == 1 => {
                (BlockKind::Figure, self.alt_range.unwrap_or(range))
            }
            _ if is_figure => (BlockKind::Figure, range),
            kind @ BlockKind::Heading(_) => (kind, only_span.unwrap_or(range)),
            kind => (kind, range),
        };
        Block {
            kind,
            range,
            marks: self.marks,
            images: self.images,
            ..Block::default()
        }
    }
}

/// The formulas of a paragraph that are on lines of their own, ascending.
pub(super) fn equations(source: &str, leaf: &Leaf) -> Vec<Range<usize>> {
    let Some(range) = &leaf.range else {
        return Vec::new();
    };
    let mut found: Vec<Range<usize>> = leaf.formulas.clone();
    found.extend(bracketed(source, range.clone()));
    found.sort_by_key(|formula| formula.start);
    let mut end = range.start;
    found.retain(|formula| {
        let is_apart = formula.start >= end && is_on_own_line(source, range, formula);
        if is_apart {
            end = formula.end;
        }
        is_apart
    });
    found
}

fn is_on_own_line(source: &str, paragraph: &Range<usize>, formula: &Range<usize>) -> bool {
    // A full stop behind a formula is none of the text.
    let beside = [' ', '\t', '\r', '.', ',', '>'];
    let before = source[paragraph.start..formula.start].trim_end_matches(beside);
    let after = source[formula.end..paragraph.end.max(formula.end)].trim_start_matches(beside);
    (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
}

/// `\[` to `\]`, which Markdown itself reads as brackets.
fn bracketed(source: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while let Some(open) = source[at..range.end].find("\\[") {
        let start = at + open;
        let Some(close) = source[start..range.end].find("\\]") else {
            break;
        };
        at = start + close + 2;
        found.push(start..at);
    }
    found
}

/// A paragraph without the lines `:::note` and `:::` that some generators put around one.
pub(super) fn within_fences(source: &str, range: Range<usize>) -> Range<usize> {
    let text = &source[range.clone()];
    let mut start = range.start;
    let mut end = range.end;
    if text.starts_with(":::") {
        start += text.find('\n').map_or(text.len(), |newline| newline + 1);
    }
    let rest = &source[start..end];
    let last = rest.rfind('\n').map_or(0, |newline| newline + 1);
    if rest[last..].trim_start().starts_with(":::") {
        end = start + last;
    }
    trimmed(source, start..end)
}
