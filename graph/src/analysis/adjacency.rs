//! The neighbours of every concept, by falling PageRank: a section that is written with the ranks.
//!
//! ```text
//! offset  size        field           (integers are little-endian u32)
//!      0     4        version         1
//!      4     4        node_count      n: one past the highest concept id that has a neighbour
//!      8     4        arc_count       a
//!     12     4        segment_count   s
//!     16   16s        segments        u64 id, chunks that were dead, zero: those that the edges are from
//!      -     4(n + 1) starts          rows of the next array
//!      -     4a       neighbours      ids: in each row by falling rank, then id; each once, never the
//!                                     concept itself
//! ```
//!
//! It says what the segments said when it was written; it is used while they are the same, with the same dead
//! chunks ([`Adjacency::covers`]). A walk that wants the best few neighbours reads the start of a row.
//!
//! Start reading at [`adjacency`].

use std::ops::Range;

use loci_storage::{ConceptId, SegmentId};

use crate::analysis::segment_list::{self, SEGMENT_WORDS};
use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Slice, count, extend, starts};

const SECTION: &str = "adjacency";
const VERSION: u32 = 1;

/// The bytes of the section: the ends of `edges` as neighbours of each other.
///
/// - `edges`: in any order and direction, as often as they like.
/// - `rank`: that of a concept; not NaN.
/// - `segments`: what the edges are from, each with its number of dead chunks.
///
/// Costs a sort of every concept's neighbours. Memory: 8 bytes an edge beside the section.
pub fn adjacency(
    edges: &[(ConceptId, ConceptId)],
    rank: impl Fn(ConceptId) -> f32,
    segments: &[(SegmentId, u32)],
) -> Vec<u8> {
    let edges = || edges.iter().filter(|(a, b)| a != b);
    let nodes = edges().map(|(a, b)| a.0.max(b.0) as usize + 1).max();
    let nodes = nodes.unwrap_or(0);
    let mut degrees = vec![0usize; nodes];
    for (a, b) in edges() {
        degrees[a.0 as usize] += 1;
        degrees[b.0 as usize] += 1;
    }
    let mut next: Vec<usize> = Vec::with_capacity(nodes);
    let mut at = 0;
    for degree in &degrees {
        next.push(at);
        at += degree;
    }
    let mut arcs = vec![0u32; at];
    for &(a, b) in edges() {
        for (from, to) in [(a, b), (b, a)] {
            arcs[next[from.0 as usize]] = to.0;
            next[from.0 as usize] += 1;
        }
    }
    let mut row_lens: Vec<usize> = Vec::with_capacity(nodes);
    let mut neighbours: Vec<u32> = Vec::with_capacity(at);
    let mut rest = &mut arcs[..];
    let mut row: Vec<(f32, u32)> = Vec::new();
    for &degree in &degrees {
        let (own, after) = rest.split_at_mut(degree);
        rest = after;
        own.sort_unstable();
        row.clear();
        row.extend(own.iter().map(|&id| (rank(ConceptId(id)), id)));
        row.dedup_by_key(|(_, id)| *id);
        row.sort_by(|a, b| b.0.total_cmp(&a.0));
        row_lens.push(row.len());
        neighbours.extend(row.iter().map(|(_, id)| id));
    }
    let mut bytes = Vec::new();
    let header = [
        VERSION,
        count(nodes),
        count(neighbours.len()),
        count(segments.len()),
    ];
    extend(&mut bytes, header);
    for (id, dead) in segments {
        extend(&mut bytes, segment_list::encode(*id, *dead, 0));
    }
    extend(&mut bytes, starts(row_lens));
    extend(&mut bytes, neighbours);
    bytes
}

/// The neighbours of concepts, checked.
#[derive(Debug)]
pub struct Adjacency<B> {
    bytes: B,
    segments: Range<usize>,
    starts: Range<usize>,
    neighbours: Range<usize>,
}

impl<B: AsRef<[u8]>> Adjacency<B> {
    /// Checks `bytes`, which may be anything: lengths and starts. Costs a pass over the starts.
    pub fn open(bytes: B) -> Result<Adjacency<B>, GraphError> {
        let (mut layout, [_, nodes, arcs, segments]) =
            Layout::open::<4>(SECTION, VERSION, bytes.as_ref())?;
        let adjacency = Adjacency {
            segments: layout.words(u64::from(segments) * SEGMENT_WORDS as u64)?,
            starts: layout.words(u64::from(nodes) + 1)?,
            neighbours: layout.words(u64::from(arcs))?,
            bytes,
        };
        layout.finish()?;
        let starts = adjacency.words(&adjacency.starts);
        let fault = (!starts.are_row_starts(arcs as usize))
            .then_some("starts do not ascend to the length of their array");
        check_fault(SECTION, fault)?;
        Ok(adjacency)
    }

    /// Whether it says what these segments, with as many dead chunks, say together.
    pub fn covers(&self, segments: impl ExactSizeIterator<Item = (SegmentId, u64)>) -> bool {
        let known = self.words(&self.segments);
        let listed = || (0..segment_list::len(known)).map(|at| segment_list::get(known, at));
        let mut segments = segments;
        segments.len() == segment_list::len(known)
            && segments.all(|(id, dead)| listed().any(|of| (of.0, of.1) == (id, dead)))
    }

    /// The neighbours of a concept, by falling rank, then id.
    pub fn neighbours(&self, concept: ConceptId) -> impl ExactSizeIterator<Item = ConceptId> + '_ {
        let row = self.words(&self.starts).row(concept.0 as usize);
        self.words(&self.neighbours)
            .slice(row)
            .iter()
            .map(ConceptId)
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_those_of_version_1() {
        let edges = [(ConceptId(0), ConceptId(2)), (ConceptId(2), ConceptId(1))];
        let rank = |concept: ConceptId| concept.0 as f32;
        let bytes = adjacency(&edges, rank, &[(SegmentId(7), 3)]);
        let words = [1, 3, 4, 1, 7, 0, 3, 0, 0, 1, 2, 4, 2, 2, 1, 0u32];
        assert_eq!(bytes, words.map(u32::to_le_bytes).concat());
    }

    #[test]
    fn covers_only_equal_segments_with_equal_dead_chunks() {
        let stored = [(SegmentId(1), 0), (SegmentId(1 << 40), 5)];
        let adjacency = Adjacency::open(adjacency(&[], |_| 0.0, &stored)).unwrap();
        let covers = |segments: &[(u64, u64)]| {
            adjacency.covers(segments.iter().map(|&(id, dead)| (SegmentId(id), dead)))
        };
        assert!(covers(&[(1 << 40, 5), (1, 0)]));
        assert!(!covers(&[(1, 0)]));
        assert!(!covers(&[(1, 0), (1 << 40, 6)]));
        assert!(!covers(&[(1, 0), (2, 5)]));
        assert!(!covers(&[(1, 0), (1 << 40, 5), (3, 0)]));
    }

    proptest! {
        #[test]
        fn any_bytes_open_as_a_section_or_fail(
            edges in prop::collection::vec((0u32..9, 0u32..9), 0..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            keep in any::<prop::sample::Index>(),
        ) {
            let edges: Vec<_> = edges.iter().map(|&(a, b)| (ConceptId(a), ConceptId(b))).collect();
            let mut bytes = adjacency(&edges, |_| 0.0, &[(SegmentId(1), 0)]);
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
                let Ok(adjacency) = Adjacency::open(bytes) else { continue };
                for concept in (0..20).map(ConceptId) {
                    adjacency.neighbours(concept).for_each(drop);
                }
                adjacency.covers([(SegmentId(1), 0)].into_iter());
            }
        }
    }
}
