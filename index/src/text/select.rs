//! The best of a window of chunks: blocks of 64, of which only those are looked at that can hold one.
//!
//! Points of rare terms are summed before, chunk by chunk. Rows, the tf of a frequent term in every chunk,
//! are added to whole blocks, and only where the block's best, with all that rows can add to it, reaches
//! the score to beat.

use super::bm25::{Scorer, points_or_zero};
use super::{BLOCK_LEN, WINDOW_LEN};
use crate::kernels::{Job, Simd};

/// Blocks that are looked at first: those with the most points of rare terms.
const FIRST_BLOCKS: usize = 12;
/// Chunks of a block up to which rows are read one by one.
const FEW_CANDIDATES: u32 = 8;

/// A frequent term in a window.
#[derive(Clone, Copy)]
pub(super) struct RowPart<'a> {
    /// tf by local of the window.
    pub(super) tfs: &'a [u8],
    /// In points.
    pub(super) weight: f32,
    /// Points that it adds to a chunk at most.
    pub(super) max: u32,
}

/// What is offered: a local of the window and its points. Answers the points to reach from then on.
pub(super) type OfferFn<'a> = dyn FnMut(usize, u32) -> f32 + 'a;

/// The least points that may be the threshold when they are rounded.
#[inline(always)]
pub(super) fn threshold_points(threshold: f32) -> u32 {
    (threshold * (1.0 - f32::EPSILON)) as u32
}

/// Memory of a selection.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The most points of rare terms in each.
    maxima: Vec<u32>,
}

/// What is known of a window.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// Points of rare terms by local; whole blocks.
    pub(super) sums: &'a [u32],
    /// Decoded lengths, little-endian `f32`: as many.
    pub(super) lengths: &'a [[u8; 4]],
    pub(super) rows: &'a [RowPart<'a>],
    pub(super) scorer: &'a Scorer,
}

/// Offers every chunk of a window that may be among the best.
pub(super) struct Select<'a, 'o> {
    sums: &'a [u32],
    lengths: &'a [[u8; 4]],
    rows: &'a [RowPart<'a>],
    rows_max: u32,
    scorer: &'a Scorer,
    blocks: &'a mut Blocks,
    /// Points to reach, and those of rare terms alone from which a chunk may.
    threshold: f32,
    /// The same, as points that may be rounded to it.
    least_total: u32,
    least: u32,
    offer: &'a mut OfferFn<'o>,
}

impl Job for Select<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (sums, _) = self.sums.as_chunks::<BLOCK_LEN>();
        self.blocks.maxima.clear();
        for block in sums {
            self.blocks.maxima.push(simd.greatest(block));
        }
        let mut is_open = [0u64; WINDOW_LEN / BLOCK_LEN / 64];
        for block in self.first() {
            if block < sums.len() {
                is_open[block / 64] |= 1 << (block % 64);
                self.open(simd, block);
            }
        }
        for block in 0..sums.len() {
            let most = self.blocks.maxima[block];
            if most >= self.least && is_open[block / 64] >> (block % 64) & 1 == 0 {
                self.open(simd, block);
            }
        }
    }
}

impl<'a, 'o> Select<'a, 'o> {
    /// - `rows_max`: points that all rows together add at most.
    /// - `threshold`: points to reach.
    pub(super) fn new(
        window: Window<'a>,
        rows_max: u32,
        threshold: f32,
        blocks: &'a mut Blocks,
        offer: &'a mut OfferFn<'o>,
    ) -> Select<'a, 'o> {
        let Window {
            sums,
            lengths,
            rows,
            scorer,
        } = window;
        let mut select = Select {
            sums,
            lengths,
            rows,
            rows_max,
            scorer,
            blocks,
            threshold,
            least_total: 0,
            least: 0,
            offer,
        };
        select.set_threshold(threshold);
        select
    }

    /// Points of rare terms from which a chunk may reach the threshold.
    #[inline(always)]
    fn set_threshold(&mut self, threshold: f32) {
        self.threshold = threshold;
        self.least_total = threshold_points(threshold);
        let least = self.least_total.saturating_sub(self.rows_max);
        // Without rows, a chunk without points has nothing.
        self.least = least.max(u32::from(self.rows.is_empty()));
    }

    /// The blocks with the most points, filled up with numbers that no block has.
    #[inline(always)]
    fn first(&self) -> [usize; FIRST_BLOCKS] {
        let mut best = [(0u32, usize::MAX); FIRST_BLOCKS];
        for (block, &most) in self.blocks.maxima.iter().enumerate() {
            if most > best[FIRST_BLOCKS - 1].0 {
                let place = best.partition_point(|&(other, _)| other >= most);
                best[place..].rotate_right(1);
                best[place] = (most, block);
            }
        }
        best.map(|(_, block)| block)
    }

    /// Offers the chunks of a block that reach the threshold with their rows.
    #[inline(always)]
    fn open<S: Simd>(&mut self, simd: S, block: usize) {
        let start = block * BLOCK_LEN;
        let (blocks, _) = self.sums.as_chunks::<BLOCK_LEN>();
        let Some(sums) = blocks.get(block) else {
            return;
        };
        let candidates = simd.at_least(sums, self.least);
        if candidates.count_ones() <= FEW_CANDIDATES {
            self.offer_some(
                candidates,
                |select, i| select.total(start + i, sums[i]),
                start,
            );
        } else {
            let totals = self.totals(start, sums);
            let reached = simd.at_least(&totals, self.least_total);
            self.offer_some(reached, |_, i| totals[i], start);
        }
    }

    /// Offers the chunks whose bits are set.
    #[inline(always)]
    fn offer_some(&mut self, mut bits: u64, total: impl Fn(&Self, usize) -> u32, start: usize) {
        while bits != 0 {
            let i = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let total = total(self, i);
            self.offer(start + i, total);
        }
    }

    #[inline(always)]
    fn offer(&mut self, at: usize, total: u32) {
        if total > 0 && total as f32 >= self.threshold {
            let threshold = (self.offer)(at, total);
            self.set_threshold(threshold);
        }
    }

    /// The points of a chunk with its rows.
    #[inline(always)]
    fn total(&self, at: usize, sum: u32) -> u32 {
        let Some(&length) = self.lengths.get(at) else {
            return sum;
        };
        let norm = self.scorer.norm(f32::from_le_bytes(length));
        let mut total = sum;
        for row in self.rows {
            let tf = row.tfs.get(at).copied().unwrap_or(0);
            total = total.wrapping_add(points_or_zero(row.weight, tf, norm));
        }
        total
    }

    /// The points of the chunks of a block with their rows.
    #[inline(always)]
    fn totals(&self, start: usize, sums: &[u32; BLOCK_LEN]) -> [u32; BLOCK_LEN] {
        let mut totals = *sums;
        let mut norms = [0f32; BLOCK_LEN];
        let lengths = self.lengths.get(start..).unwrap_or_default();
        for (norm, &length) in norms.iter_mut().zip(lengths) {
            *norm = self.scorer.norm(f32::from_le_bytes(length));
        }
        for row in self.rows {
            let tfs = row.tfs.get(start..).unwrap_or_default();
            for ((total, &tf), &norm) in totals.iter_mut().zip(tfs).zip(&norms) {
                *total = total.wrapping_add(points_or_zero(row.weight, tf, norm));
            }
        }
        totals
    }
}
