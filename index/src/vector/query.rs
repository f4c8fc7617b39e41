//! A search for the nearest chunks: what it looks for, the memory it uses, and what it reports.

use loci_storage::Ordinal;
use roaring::RoaringBitmap;

use super::byte_codes::Bounds;
use super::codes::Query;
use super::graph::{Effort, WalkState};
use super::plan::SearchStrategy;
use crate::top::Top;

/// A search for the nearest chunks.
#[derive(Clone, Copy, Debug)]
pub struct VectorQuery<'a> {
    /// `[dim]`, of any length; see [`Metric::prepare`](super::Metric::prepare) for what is refused.
    pub vector: &'a [f32],
    /// Ordinals that may be found; `None` for all. Deleted chunks are never found.
    pub filter: Option<&'a RoaringBitmap>,
    /// Hits.
    pub k: usize,
    /// How far walks go.
    pub effort: Effort,
    /// Whether the best of a walk are ranked again at full precision. Without, scores are those of
    /// codes, recall is lower, and no vector is read: for stores whose vectors exceed the memory.
    pub rescore: bool,
}

impl<'a> VectorQuery<'a> {
    /// The `k` nearest of all, with the default effort.
    pub fn new(vector: &'a [f32], k: usize) -> VectorQuery<'a> {
        VectorQuery {
            vector,
            filter: None,
            k,
            effort: Effort::default(),
            rescore: true,
        }
    }
}

/// What a search did in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSearchStats {
    /// The first ordinal of the segment.
    pub base: Ordinal,
    /// The strategy that found its hits.
    pub strategy: SearchStrategy,
    /// Vectors that could be found; an estimate where chunks are deleted or have no vector.
    pub eligible: usize,
    /// Distances that were measured.
    pub distance_count: u64,
    /// Whether the graph cannot be walked, and the flat vectors were compared instead. Rebuild the
    /// segment, and suspect the disk.
    pub is_graph_damaged: bool,
}

/// Memory that searches reuse, one at a time; and statistics of the last one.
#[derive(Debug, Default)]
pub struct VectorScratch {
    pub(super) prepared: Vec<f32>,
    pub(super) query: Query,
    pub(super) walk: WalkState,
    pub(super) nodes: Vec<u32>,
    /// Whether a place may be found.
    pub(super) eligible_flags: Vec<bool>,
    /// Scores by codes, and the most that they may be.
    pub(super) bounds: Bounds,
    /// The greatest of rows of these; some of them in no order; the best, with their places.
    pub(super) row_maxima: Vec<f32>,
    pub(super) sample: Vec<f32>,
    pub(super) nearest: Vec<(f32, usize)>,
    pub(super) top: Top,
    pub(super) segment_stats: Vec<SegmentSearchStats>,
}

impl VectorScratch {
    /// What the last search did, a segment at a time.
    pub fn segment_stats(&self) -> &[SegmentSearchStats] {
        &self.segment_stats
    }
}
