//! The section of links: what a walk with restart steps along, written with the analysis.
//!
//! ```text
//! offset  size        field           (integers are little-endian u32)
//!      0     4        version         1
//!      4     4        concept_count   n: one past the highest concept id that has a link
//!      8     4        chunk_count     m: chunks of the segments, dead ones included
//!     12     4        link_count      l: (concept, live chunk that mentions it)
//!     16     4        arc_count       a: (concept, neighbour), in both directions
//!     20     4        segment_count   s
//!     24   16s        segments        u64 id, chunks that were dead, ordinal of the first chunk
//!      -     4n       rarities        f32; 0 where no live chunk mentions the concept
//!      -     4(n + 1) concept_starts  rows of the next two
//!      -     4l       chunks          ordinals, ascending in each row
//!      -     4l       chunk_shares    f32, sum 1 in each row
//!      -     4m       totals          f32, by chunk: the sum of the rarities of its concepts
//!      -     4m       owns            f32, by chunk: the part of it that is of its own concepts
//!      -     4(m + 1) chunk_starts    rows of the next
//!      -     4l       concepts        first those of other chunks too, then its own; both ascending
//!      -     4m       own_counts      by chunk: how many of them are its own
//!      -     4(n + 1) arc_starts      rows of the next two
//!      -     4a       neighbours      ids, ascending in each row
//!      -     4a       arc_shares      f32, sum 1 in each row
//! ```
//!
//! [`crate::links`](mod@crate::links) computes and writes it. Start reading at [`StoredLinks::open`].

use std::ops::Range;

use loci_storage::{ConceptId, Ordinal, SegmentId};

use crate::analysis::segment_list::{self, SEGMENT_WORDS};
use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Slice};

const SECTION: &str = "links";
pub(crate) const VERSION: u32 = 1;

/// The steps that a walk can take.
pub(crate) trait WalkLinks {
    /// 0 for a concept that no live chunk mentions.
    fn rarity(&mut self, concept: u32) -> f32;

    /// Links of a concept to chunks, and to concepts.
    fn concept_degree(&mut self, concept: u32) -> usize;

    /// Links of a chunk to concepts that it does not own.
    fn chunk_degree(&mut self, chunk: u32) -> usize;

    /// Chunks that mention a concept, ascending, and their shares.
    fn chunks(&mut self, concept: u32, step: impl FnMut(u32, f32));

    /// Concepts that a chunk mentions; its own only where `with_own` says so.
    fn concepts(&mut self, chunk: u32, with_own: bool, step: impl FnMut(u32));

    /// The sum of the rarities of all its concepts.
    fn rarity_sum(&mut self, chunk: u32) -> f32;

    /// The part of a chunk's rarities that is of its own concepts.
    fn own_weight(&mut self, chunk: u32) -> f32;

    /// Neighbours of a concept, ascending, and their shares.
    fn neighbours(&mut self, concept: u32, step: impl FnMut(u32, f32));
}

/// The links as one section, checked.
#[derive(Debug)]
pub struct StoredLinks<B> {
    bytes: B,
    segments: Range<usize>,
    rarities: Range<usize>,
    concept_starts: Range<usize>,
    chunks: Range<usize>,
    chunk_weights: Range<usize>,
    rarity_sums: Range<usize>,
    own_weights: Range<usize>,
    chunk_starts: Range<usize>,
    concepts: Range<usize>,
    own_counts: Range<usize>,
    arc_starts: Range<usize>,
    neighbours: Range<usize>,
    arc_weights: Range<usize>,
}

impl<B: AsRef<[u8]>> StoredLinks<B> {
    /// Checks `bytes`, which may be anything: lengths, starts, and that every chunk and concept is one of
    /// those that it counts. Costs a pass.
    pub fn open(bytes: B) -> Result<StoredLinks<B>, GraphError> {
        let (mut layout, [_, nodes, chunk_count, links, arcs, segments]) =
            Layout::open::<6>(SECTION, VERSION, bytes.as_ref())?;
        let (n, m) = (u64::from(nodes), u64::from(chunk_count));
        let (links, arcs) = (u64::from(links), u64::from(arcs));
        let stored = StoredLinks {
            segments: layout.words(u64::from(segments) * SEGMENT_WORDS as u64)?,
            rarities: layout.words(n)?,
            concept_starts: layout.words(n + 1)?,
            chunks: layout.words(links)?,
            chunk_weights: layout.words(links)?,
            rarity_sums: layout.words(m)?,
            own_weights: layout.words(m)?,
            chunk_starts: layout.words(m + 1)?,
            concepts: layout.words(links)?,
            own_counts: layout.words(m)?,
            arc_starts: layout.words(n + 1)?,
            neighbours: layout.words(arcs)?,
            arc_weights: layout.words(arcs)?,
            bytes,
        };
        layout.finish()?;
        check_fault(SECTION, stored.fault(nodes, chunk_count))?;
        Ok(stored)
    }

    fn fault(&self, nodes: u32, chunk_count: u32) -> Option<&'static str> {
        let words = |range: &Range<usize>| self.words(range);
        let links = words(&self.chunks).len();
        let starts_fit = words(&self.concept_starts).are_row_starts(links)
            && words(&self.chunk_starts).are_row_starts(links)
            && words(&self.arc_starts).are_row_starts(words(&self.neighbours).len());
        let below = |range: &Range<usize>, bound: u32| words(range).iter().all(|id| id < bound);
        let ids_fit = below(&self.chunks, chunk_count)
            && below(&self.concepts, nodes)
            && below(&self.neighbours, nodes);
        match (starts_fit, ids_fit) {
            (false, _) => Some("starts do not ascend to the length of their array"),
            (_, false) => Some("a chunk or concept is out of range"),
            _ => None,
        }
    }

    /// Whether it says what these segments, with as many dead chunks and in these places, say together.
    pub fn covers(
        &self,
        segments: impl ExactSizeIterator<Item = (SegmentId, u64, Ordinal)>,
    ) -> bool {
        let known = self.words(&self.segments);
        let mut segments = segments.enumerate();
        segments.len() == segment_list::len(known)
            && segments.all(|(at, (id, dead, base))| {
                segment_list::get(known, at) == (id, dead, u64::from(base.0))
            })
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }

    /// How many live chunks mention a concept.
    pub(crate) fn chunk_count(&self, concept: ConceptId) -> usize {
        let row = self.words(&self.concept_starts).row(concept.0 as usize);
        row.len()
    }

    /// For each array once, so that a step costs no slicing of the whole.
    pub(crate) fn open_links(&self) -> OpenLinks<'_> {
        OpenLinks {
            rarities: self.words(&self.rarities),
            concept_starts: self.words(&self.concept_starts),
            chunks: self.words(&self.chunks),
            chunk_weights: self.words(&self.chunk_weights),
            rarity_sums: self.words(&self.rarity_sums),
            own_weights: self.words(&self.own_weights),
            chunk_starts: self.words(&self.chunk_starts),
            concepts: self.words(&self.concepts),
            own_counts: self.words(&self.own_counts),
            arc_starts: self.words(&self.arc_starts),
            neighbours: self.words(&self.neighbours),
            arc_weights: self.words(&self.arc_weights),
        }
    }
}

/// The arrays of [`StoredLinks`].
pub(crate) struct OpenLinks<'a> {
    rarities: U32Slice<'a>,
    concept_starts: U32Slice<'a>,
    chunks: U32Slice<'a>,
    chunk_weights: U32Slice<'a>,
    rarity_sums: U32Slice<'a>,
    own_weights: U32Slice<'a>,
    chunk_starts: U32Slice<'a>,
    concepts: U32Slice<'a>,
    own_counts: U32Slice<'a>,
    arc_starts: U32Slice<'a>,
    neighbours: U32Slice<'a>,
    arc_weights: U32Slice<'a>,
}

fn number(words: U32Slice<'_>, at: u32) -> f32 {
    words.get(at as usize).map_or(0.0, f32::from_bits)
}

fn for_each_weight(
    ids: U32Slice<'_>,
    shares: U32Slice<'_>,
    row: Range<usize>,
    mut step: impl FnMut(u32, f32),
) {
    let rows = ids.slice(row.clone()).iter().zip(shares.slice(row).iter());
    rows.for_each(|(id, share)| step(id, f32::from_bits(share)));
}

impl OpenLinks<'_> {
    /// The concepts of a chunk that it does not own, and its own.
    fn row(&self, chunk: u32) -> (Range<usize>, usize) {
        let row = self.chunk_starts.row(chunk as usize);
        let own = self.own_counts.get(chunk as usize).unwrap_or(0) as usize;
        let end = row.end.saturating_sub(own).max(row.start);
        (row.start..end, row.end)
    }
}

impl WalkLinks for OpenLinks<'_> {
    fn rarity(&mut self, concept: u32) -> f32 {
        number(self.rarities, concept)
    }

    fn concept_degree(&mut self, concept: u32) -> usize {
        self.concept_starts.row(concept as usize).len()
    }

    fn chunk_degree(&mut self, chunk: u32) -> usize {
        self.row(chunk).0.len()
    }

    fn chunks(&mut self, concept: u32, step: impl FnMut(u32, f32)) {
        let row = self.concept_starts.row(concept as usize);
        for_each_weight(self.chunks, self.chunk_weights, row, step);
    }

    fn concepts(&mut self, chunk: u32, with_own: bool, step: impl FnMut(u32)) {
        let (shared, end) = self.row(chunk);
        let row = if with_own { shared.start..end } else { shared };
        self.concepts.slice(row).iter().for_each(step);
    }

    fn rarity_sum(&mut self, chunk: u32) -> f32 {
        number(self.rarity_sums, chunk)
    }

    fn own_weight(&mut self, chunk: u32) -> f32 {
        number(self.own_weights, chunk)
    }

    fn neighbours(&mut self, concept: u32, step: impl FnMut(u32, f32)) {
        let row = self.arc_starts.row(concept as usize);
        for_each_weight(self.neighbours, self.arc_weights, row, step);
    }
}
