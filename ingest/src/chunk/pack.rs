//! Passages: how the units of one piece are packed into leaves.
//!
//! Sentences are added up to the target. From half the target on, a passage also ends where the
//! words change: where the cosine of the word counts of the last and the next few sentences falls
//! below a threshold. That similarity knows nothing but the file, so the same file always gives
//! the same passages. (Hearst, "TextTiling", Computational Linguistics 23:1, 1997, for the idea of
//! comparing word counts across a gap.)
//!
//! The next passage of the same piece repeats the last whole sentences, up to the overlap.

use std::collections::BTreeMap;
use std::ops::Range;

use super::units::{Unit, UnitKind};
use crate::text::prose;
use loci_documents::Kind;

/// How leaves are packed; sizes in tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackLimits {
    /// A leaf ends before it is larger than this, unless one unit is.
    pub(crate) target_tokens: u32,
    /// No leaf is larger.
    pub(crate) tokens_max: u32,
    /// At most this much of the leaf before is repeated.
    pub(crate) overlap: u32,
    /// Below this similarity a leaf of half the target ends.
    pub(crate) similarity_min: f32,
    /// A leaf of this size ends before a heading.
    pub(crate) heading_min: u32,
    /// A last leaf that is smaller joins the one before.
    pub(crate) tail_min: u32,
    /// Whether it does so also where a heading opens it.
    pub(crate) merges_headed_tail: bool,
}

/// A leaf to be: `repeated..end` is its text, `own..end` what no leaf before it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) overlap_start: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Sentences on either side of a gap whose words are compared.
const WINDOW_SENTENCES: usize = 3;

/// What two sentences of one paragraph are credited with: their writer held them together.
const SAME_PARAGRAPH_BONUS: f32 = 0.1;

/// Packs the units `run` of one piece into leaves that follow one another.
pub(crate) fn pack(
    units: &[Unit],
    bags: &WordBags,
    run: Range<usize>,
    limits: PackLimits,
) -> Vec<Leaf> {
    let packer = Packer {
        units,
        bags,
        limits,
    };
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut own = run.start;
    while own < run.end {
        let repeated = leaves
            .last()
            .map_or(own, |last| packer.overlap_start(last, own));
        let end = packer.leaf_end(repeated, own, run.end);
        leaves.push(Leaf {
            overlap_start: repeated,
            start: own,
            end,
        });
        own = end;
    }
    packer.merge_tail(&mut leaves);
    leaves
}

struct Packer<'a> {
    units: &'a [Unit],
    bags: &'a WordBags,
    limits: PackLimits,
}

impl Packer<'_> {
    fn tokens(&self, run: Range<usize>) -> u32 {
        self.units[run].iter().map(|unit| unit.tokens).sum()
    }

    /// Where a leaf ends whose own text starts at `own`.
    fn leaf_end(&self, repeated: usize, own: usize, stop: usize) -> usize {
        let mut size = self.tokens(repeated..own);
        let mut end = own;
        while end < stop {
            let unit = &self.units[end];
            // An announcement alone says nothing: it takes the next unit along while that is possible.
            let bare = self.units[own..end].iter().all(|unit| unit.introduces_next);
            let limit = if bare {
                self.limits.tokens_max
            } else {
                self.limits.target_tokens
            };
            let breaks = size + unit.tokens > limit || (!bare && self.is_topic_boundary(own, end));
            if end > own && breaks {
                break;
            }
            size += unit.tokens;
            end += 1;
        }
        if end < stop {
            while end - own > 1 && self.units[end - 1].introduces_next {
                end -= 1;
            }
        }
        end
    }

    /// Whether the leaf `own..at` should end before `at`, although there is room.
    fn is_topic_boundary(&self, own: usize, at: usize) -> bool {
        let size = self.tokens(own..at);
        if self.units[at].is_heading() {
            return size >= self.limits.heading_min;
        }
        size >= self.limits.target_tokens / 2
            && self.bags.similarity(self.units, own, at) < self.limits.similarity_min
    }

    /// Where the text of the leaf starts that follows `last`: at its last whole sentences.
    fn overlap_start(&self, last: &Leaf, own: usize) -> usize {
        let next = &self.units[own];
        let mut from = own;
        let mut size = 0;
        while from > last.start
            && !next.is_heading()
            && self.units[from - 1].kind == UnitKind::Sentence
        {
            size += self.units[from - 1].tokens;
            if size > self.limits.overlap || size + next.tokens > self.limits.target_tokens {
                break;
            }
            from -= 1;
        }
        // A leaf repeats the end of the one before, never all of it.
        if from == last.start { own } else { from }
    }

    /// A last leaf that is too small to stand alone joins the one before.
    fn merge_tail(&self, leaves: &mut Vec<Leaf>) {
        let [.., before, last] = leaves.as_mut_slice() else {
            return;
        };
        let small = self.tokens(last.start..last.end) < self.limits.tail_min;
        let joined = self.tokens(before.overlap_start..last.end);
        let may = self.limits.merges_headed_tail || !self.units[last.start].is_heading();
        if small && may && joined <= self.limits.tokens_max {
            before.end = last.end;
            leaves.pop();
        }
    }
}

/// The content words of every unit, as small numbers.
pub(crate) struct WordBags(Vec<Vec<u32>>);

impl WordBags {
    /// Reads the words of all units. One pass over the text.
    pub(crate) fn new(text: &str, kind: Kind, units: &[Unit]) -> WordBags {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut bag = |unit: &Unit| -> Vec<u32> {
            let visible = prose::visible(&text[unit.range.clone()], kind);
            let words = prose::content_words(&visible).into_iter();
            words
                .map(|word| {
                    let fresh = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                    *numbers.entry(word).or_insert(fresh)
                })
                .collect()
        };
        WordBags(units.iter().map(&mut bag).collect())
    }

    /// No words: every gap is as good as another.
    pub(crate) fn empty() -> WordBags {
        WordBags(Vec::new())
    }

    /// How alike the words before and after the gap at `at` are, in 0..=1; the left side does not
    /// reach beyond `own`.
    fn similarity(&self, units: &[Unit], own: usize, at: usize) -> f32 {
        if self.0.is_empty() || introduces(&units[at - 1], &units[at]) {
            return 1.0;
        }
        let before = self.counts(at.saturating_sub(WINDOW_SENTENCES).max(own)..at);
        let after = self.counts(at..(at + WINDOW_SENTENCES).min(self.0.len()));
        let dot: u32 = before
            .iter()
            .filter_map(|(word, n)| after.get(word).map(|m| n * m))
            .sum();
        let length =
            |bag: &BTreeMap<u32, u32>| (bag.values().map(|n| n * n).sum::<u32>() as f32).sqrt();
        let norm = length(&before) * length(&after);
        let cosine = if norm > 0.0 { dot as f32 / norm } else { 0.0 };
        cosine
            + if units[at - 1].block == units[at].block {
                SAME_PARAGRAPH_BONUS
            } else {
                0.0
            }
    }

    fn counts(&self, run: Range<usize>) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        for &word in self.0[run].iter().flatten() {
            *counts.entry(word).or_insert(0) += 1;
        }
        counts
    }
}

/// Whether one unit leads to the next: an announcement, or prose before code, a table, an equation.
fn introduces(before: &Unit, after: &Unit) -> bool {
    before.introduces_next
        || matches!(
            (before.kind, after.kind),
            (UnitKind::Sentence, UnitKind::Atom(_))
        )
}
