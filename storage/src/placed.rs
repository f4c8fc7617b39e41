//! One segment's reader with its place in a view: what every search over several segments takes.

use roaring::RoaringBitmap;

use crate::ids::{Local, Ordinal};

/// A reader `R` of one segment, placed at `base` in a view.
///
/// The segments of a view are given in ascending order of `base`; ranges do not overlap.
#[derive(Debug)]
pub struct Placed<'a, R> {
    /// The ordinal of the segment's first chunk.
    pub base: Ordinal,
    /// How many chunks the segment has, dead ones included.
    pub chunk_count: u32,
    /// Tombstones: local numbers of chunks that were deleted after the segment was built.
    pub dead: &'a RoaringBitmap,
    /// What reads the segment.
    pub reader: &'a R,
}

impl<R> Clone for Placed<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Placed<'_, R> {}

impl<R> Placed<'_, R> {
    /// The ordinal of a chunk of this segment.
    pub fn ordinal(&self, local: Local) -> Ordinal {
        Ordinal(self.base.0 + local.0)
    }

    /// The local number of `ordinal`, when it lies in this segment.
    pub fn local(&self, ordinal: Ordinal) -> Option<Local> {
        let offset = ordinal.0.checked_sub(self.base.0)?;
        (offset < self.chunk_count).then_some(Local(offset))
    }

    /// Whether the chunk at `local` was deleted.
    pub fn is_dead(&self, local: Local) -> bool {
        self.dead.contains(local.0)
    }
}

/// A chunk with the score that one search gave it.
///
/// Lists of these are best first, ties by ascending ordinal, without repeats. Scores have no unit
/// and compare only within one list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The chunk.
    pub ordinal: Ordinal,
    /// Its score; higher is better.
    pub score: f32,
}
