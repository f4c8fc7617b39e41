//! One segment's reader with its place in a view: what every search over several segments takes.

use roaring::RoaringBitmap;

use loci_types::ids::{LocalOrdinal, Ordinal};

/// A reader `R` of one segment, placed at `base` in a view.
///
/// The segments of a view are given in ascending order of `base`; ranges do not overlap.
#[derive(Debug)]
pub struct SegmentReader<'a, R> {
    /// The ordinal of the segment's first chunk.
    pub base: Ordinal,
    /// How many chunks the segment has, dead ones included.
    pub chunk_count: u32,
    /// Tombstones: local numbers of chunks that were deleted after the segment was built.
    pub dead: &'a RoaringBitmap,
    /// What reads the segment.
    pub reader: &'a R,
}

impl<R> Clone for SegmentReader<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for SegmentReader<'_, R> {}

impl<R> SegmentReader<'_, R> {
    /// The ordinal of a chunk of this segment.
    pub fn ordinal(&self, local: LocalOrdinal) -> Ordinal {
        Ordinal(self.base.0 + local.0)
    }

    /// The local ordinal of `ordinal`, when it is in this segment.
    pub fn local(&self, ordinal: Ordinal) -> Option<LocalOrdinal> {
        let offset = ordinal.0.checked_sub(self.base.0)?;
        (offset < self.chunk_count).then_some(LocalOrdinal(offset))
    }

    /// Whether the chunk at `local` was deleted.
    pub fn is_dead(&self, local: LocalOrdinal) -> bool {
        self.dead.contains(local.0)
    }
}

/// A chunk with the score that one search gave it.
///
/// Lists of these are best first, ties by ascending ordinal, without repeats. Scores have no unit
/// and compare only within one list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredChunk {
    /// The chunk.
    pub ordinal: Ordinal,
    /// Its score; higher is better.
    pub score: f32,
}

impl ScoredChunk {
    /// The chunk as one number, the lower the better: by falling score in the total order of floats, then by ascending
    /// ordinal. Numbers are sorted in half the time of pairs.
    #[inline]
    pub fn order_key(self) -> u64 {
        let bits = self.score.to_bits();
        // Positive floats are in the order of their bits; of negative ones all bits are inverted.
        let ascending = match bits & SIGN_BIT {
            0 => bits | SIGN_BIT,
            _ => !bits,
        };
        u64::from(!ascending) << 32 | u64::from(self.ordinal.0)
    }

    /// The chunk whose [`ScoredChunk::order_key`] this is.
    #[inline]
    pub fn from_order_key(key: u64) -> ScoredChunk {
        let ascending = !((key >> 32) as u32);
        let bits = match ascending & SIGN_BIT {
            0 => !ascending,
            _ => ascending & !SIGN_BIT,
        };
        ScoredChunk {
            ordinal: Ordinal(key as u32),
            score: f32::from_bits(bits),
        }
    }
}

/// The bit of a float that says that it is negative.
const SIGN_BIT: u32 = 1 << 31;
