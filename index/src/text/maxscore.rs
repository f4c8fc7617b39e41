//! A window of which few chunks can be among the best, looked at without all its postings.
//!
//! Once a score to beat is known, the frequent of the rare terms and the rows together may not reach it.
//! Then a chunk among the best has one of the other terms: only their postings are added up, and what
//! the frequent terms add is looked up for the chunks that come near. (MaxScore: Turtle, Flood, "Query
//! evaluation: strategies and optimizations", Information Processing & Management 31(6), 1995.)

use super::bm25::{Scorer, points, points_or_zero};
use super::read::Window;
use super::select::RowPart;
use super::{POSTING_LEN, TextError};

const NO_POSTING: TextError = TextError::Malformed("a posting of no chunk or no occurrence");

/// Chunks of a window whose sums are cleared and compared in the time that a posting takes here.
const CHUNKS_PER_POSTING_COST: usize = 8;

/// A rare term in a window.
#[derive(Clone, Copy)]
pub(super) struct RarePart<'a> {
    pub(super) window: Window<'a>,
    /// In points.
    pub(super) weight: f32,
    /// Points that it adds to a chunk at most.
    pub(super) max: u32,
}

impl RarePart<'_> {
    fn entries(&self) -> &[[u8; POSTING_LEN]] {
        self.window.entries.as_chunks().0
    }

    /// Its points in a chunk.
    fn points(&self, local: u16, scorer: &Scorer) -> u32 {
        let entries = self.entries();
        let low = |entry: &[u8; POSTING_LEN]| u16::from_le_bytes([entry[0], entry[1]]);
        let Ok(at) = entries.binary_search_by_key(&local, low) else {
            return 0;
        };
        let [_, _, tf, length_code] = entries[at];
        points(self.weight, scorer.gain(tf.max(1), length_code))
    }
}

/// A window, and what is needed to score its chunks.
pub(super) struct MaxScore<'a> {
    /// The terms that a chunk must have one of.
    essential: &'a [RarePart<'a>],
    /// The others, ascending by what they add at most.
    others: &'a [RarePart<'a>],
    rows: &'a [RowPart<'a>],
    lengths: &'a [[u8; 4]],
    scorer: &'a Scorer,
    /// Points that others and rows add to a chunk at most.
    others_max: u32,
}

impl<'a> MaxScore<'a> {
    /// `None` where it does not pay.
    ///
    /// - `rare`: ascending by what they add at most.
    /// - `threshold`: points to reach.
    pub(super) fn new(
        rare: &'a [RarePart<'a>],
        rows: &'a [RowPart<'a>],
        lengths: &'a [[u8; 4]],
        scorer: &'a Scorer,
        threshold: u32,
    ) -> Option<MaxScore<'a>> {
        let rows_max = rows
            .iter()
            .fold(0, |sum: u32, row| sum.saturating_add(row.max));
        let mut others_max = rows_max;
        let mut split = 0;
        for part in rare {
            let with = others_max.saturating_add(part.max);
            // Nearer to the threshold too many chunks would have to be looked up.
            if u64::from(with) * SKIPPED_THRESHOLD_RATIO.1
                > u64::from(threshold) * SKIPPED_THRESHOLD_RATIO.0
            {
                break;
            }
            (others_max, split) = (with, split + 1);
        }
        if others_max >= threshold {
            return None;
        }
        let (others, essential) = rare.split_at(split);
        let postings = |parts: &[RarePart<'_>]| -> usize {
            parts.iter().map(|part| part.entries().len()).sum()
        };
        if postings(essential) > postings(others) + lengths.len() / CHUNKS_PER_POSTING_COST {
            return None;
        }
        Some(MaxScore {
            essential,
            others,
            rows,
            lengths,
            scorer,
            others_max,
        })
    }

    /// Offers the chunks of the window that reach the threshold, with their points.
    ///
    /// - `sums`: zero for each local of the window, and so again afterwards.
    /// - `near`: memory.
    /// - `offer`: answers the points to reach from then on.
    pub(super) fn run(
        &self,
        sums: &mut [u32],
        near: &mut Vec<u16>,
        threshold: u32,
        mut offer: impl FnMut(usize, u32) -> u32,
    ) -> Result<(), TextError> {
        near.clear();
        let mut threshold = threshold;
        let least = threshold - self.others_max;
        let added = self.add(sums, near, least);
        if added.is_ok() {
            for &local in &*near {
                let sum = sums[usize::from(local)];
                if let Some(total) = self.total(local, sum, threshold) {
                    threshold = offer(usize::from(local), total);
                }
            }
        }
        for part in self.essential {
            for &[low, high, ..] in part.entries() {
                if let Some(sum) = sums.get_mut(usize::from(u16::from_le_bytes([low, high]))) {
                    *sum = 0;
                }
            }
        }
        added
    }

    /// Adds up the essential terms; `near` gets the chunks that come to `least` points.
    fn add(&self, sums: &mut [u32], near: &mut Vec<u16>, least: u32) -> Result<(), TextError> {
        for part in self.essential {
            for &[low, high, tf, length_code] in part.entries() {
                let local = u16::from_le_bytes([low, high]);
                let gain = match self.scorer.gains_for_tf(tf) {
                    Some(gains) => gains[usize::from(length_code)],
                    None if tf == 0 => return Err(NO_POSTING),
                    None => self.scorer.gain(tf, length_code),
                };
                let sum = sums.get_mut(usize::from(local)).ok_or(NO_POSTING)?;
                let before = *sum;
                *sum = before.wrapping_add(points(part.weight, gain));
                if before < least && *sum >= least {
                    near.push(local);
                }
            }
        }
        Ok(())
    }

    /// All points of a chunk that has `sum` of the essential terms; `None` where they cannot reach the
    /// threshold.
    fn total(&self, local: u16, sum: u32, threshold: u32) -> Option<u32> {
        let (mut total, mut rest) = (sum, self.others_max);
        let length = f32::from_le_bytes(*self.lengths.get(usize::from(local))?);
        let norm = self.scorer.norm(length);
        for row in self.rows {
            if total.saturating_add(rest) < threshold {
                return None;
            }
            rest = rest.saturating_sub(row.max);
            let tf = row.tfs.get(usize::from(local)).copied().unwrap_or(0);
            total = total.wrapping_add(points_or_zero(row.weight, tf, norm));
        }
        // Found by search, so after what is found by place.
        for part in self.others.iter().rev() {
            if total.saturating_add(rest) < threshold {
                return None;
            }
            rest = rest.saturating_sub(part.max);
            total = total.wrapping_add(part.points(local, self.scorer));
        }
        (total >= threshold).then_some(total)
    }
}

/// What the terms that are not added up may reach of the threshold.
const SKIPPED_THRESHOLD_RATIO: (u64, u64) = (1, 2);
