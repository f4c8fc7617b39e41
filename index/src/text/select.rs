//! The best of a window of chunks: blocks of 64, of which only those are looked at that can hold one.
//!
//! Points of rare terms are summed before, chunk by chunk. Rows, the tf of a frequent term in every chunk,
//! are added to whole blocks, and only where the block's best, with all that rows can add to it, reaches
//! the score to beat.

use super::BLOCK_LEN;
use super::bm25::{Scorer, points_or_none};
use crate::kernels::{Job, Simd};

/// Blocks that are looked at first: those with the most points of rare terms.
const FIRST: usize = 12;

/// A frequent term in a window.
#[derive(Clone, Copy)]
pub(super) struct RowPart<'a> {
    /// tf by local of the window.
    pub(super) tfs: &'a [u8],
    /// In points.
    pub(super) weight: f32,
}

/// What is offered: a local of the window and its points. Answers the points to reach from then on.
pub(super) type Offer<'a> = dyn FnMut(usize, u32) -> f32 + 'a;

/// Memory of a selection.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The most points of rare terms in each.
    maxima: Vec<u32>,
}

/// Offers every chunk of a window that may be among the best.
pub(super) struct Select<'a, 'o> {
    /// Points of rare terms by local; whole blocks.
    pub(super) sums: &'a [u32],
    /// Decoded lengths, little-endian `f32`: as many.
    pub(super) lengths: &'a [[u8; 4]],
    pub(super) rows: &'a [RowPart<'a>],
    /// Points that all rows together add at most.
    pub(super) rows_max: u32,
    pub(super) scorer: &'a Scorer,
    pub(super) blocks: &'a mut Blocks,
    /// Points to reach.
    pub(super) threshold: f32,
    pub(super) offer: &'a mut Offer<'o>,
}

impl Job for Select<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) {
        let (sums, _) = self.sums.as_chunks::<BLOCK_LEN>();
        self.blocks.maxima.clear();
        for block in sums {
            self.blocks.maxima.push(greatest(block));
        }
        let first = self.first();
        for &block in first.iter().filter(|&&block| block < sums.len()) {
            self.open(block);
        }
        for block in 0..sums.len() {
            if self.may_reach(block) && !first.contains(&block) {
                self.open(block);
            }
        }
    }
}

impl Select<'_, '_> {
    #[inline(always)]
    fn may_reach(&self, block: usize) -> bool {
        let most = self.blocks.maxima[block].saturating_add(self.rows_max);
        most > 0 && most as f32 >= self.threshold
    }

    /// The blocks with the most points, filled up with numbers that no block has.
    #[inline(always)]
    fn first(&self) -> [usize; FIRST] {
        let mut best = [(0u32, usize::MAX); FIRST];
        for (block, &most) in self.blocks.maxima.iter().enumerate() {
            if most > best[FIRST - 1].0 {
                let place = best.partition_point(|&(other, _)| other >= most);
                best[place..].rotate_right(1);
                best[place] = (most, block);
            }
        }
        best.map(|(_, block)| block)
    }

    /// Adds the rows to a block, and offers what reaches the threshold.
    #[inline(always)]
    fn open(&mut self, block: usize) {
        let start = block * BLOCK_LEN;
        let at = start..start + BLOCK_LEN;
        let (Some(sums), Some(lengths)) = (self.sums.get(at.clone()), self.lengths.get(at.clone()))
        else {
            return;
        };
        let mut totals = [0u32; BLOCK_LEN];
        totals.copy_from_slice(sums);
        let mut norms = [0f32; BLOCK_LEN];
        for (norm, &length) in norms.iter_mut().zip(lengths) {
            *norm = self.scorer.norm(f32::from_le_bytes(length));
        }
        for row in self.rows {
            let Some(tfs) = row.tfs.get(at.clone()) else {
                continue;
            };
            for ((total, &tf), &norm) in totals.iter_mut().zip(tfs).zip(&norms) {
                *total = total.wrapping_add(points_or_none(row.weight, tf, norm));
            }
        }
        if greatest(&totals) as f32 >= self.threshold {
            for (i, &total) in totals.iter().enumerate() {
                if total > 0 && total as f32 >= self.threshold {
                    self.threshold = (self.offer)(start + i, total);
                }
            }
        }
    }
}

#[inline(always)]
fn greatest(block: &[u32; BLOCK_LEN]) -> u32 {
    let mut greatest = 0;
    for &points in block {
        greatest = points.max(greatest);
    }
    greatest
}
