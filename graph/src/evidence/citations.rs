//! The citations section: which chunks of a segment cite which works, in both directions.
//!
//! ```text
//! offset  size        field        (integers are little-endian u32)
//!      0     4        version      1
//!      4     4        edge_count   e
//!      8     4        work_count   w
//!     12     4        reserved     zero
//!     16    4e        chunks       local numbers, ascending
//!      -    4e        works        work ids
//!      -    4e        numbers      of the citation in its document, ascending for each chunk
//!      -    4e        infos        intent + 256 where it is a claim
//!      -    4e        confidences  f32, in 0..=1
//!      -    4w        ids          of the works, ascending
//!      -    4(w + 1)  starts       rows of the next array
//!      -    4e        edges        places in the arrays above, ascending in each row
//! ```
//!
//! A work's document, where there is one, is stored in rows: it may be added and deleted without the citations.
//!
//! Start reading at [`CitationsSnapshot`].

use std::collections::BTreeMap;
use std::ops::Range;

use loci_storage::records::Intent;
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader, WorkId};

use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Slice, count, extend, starts};

const SECTION: &str = "citations";
const VERSION: u32 = 1;
const CLAIM: u32 = 1 << 8;

/// A citation of a work by a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CitationEdge {
    /// The work.
    pub work: WorkId,
    /// The citation's number in its document.
    pub number: u32,
    /// What it is for.
    pub intent: Intent,
    /// Whether the chunk makes a claim about the work.
    pub is_claim: bool,
    /// How sure it is that this work is meant, in 0..=1.
    pub confidence: f32,
}

/// Collects the citations of a segment.
#[derive(Debug, Default)]
pub struct CitationsBuilder {
    edges: BTreeMap<(LocalOrdinal, u32), CitationEdge>,
}

impl CitationsBuilder {
    /// Adds one, in any order; one of the same chunk and number takes its place. A confidence that is no share
    /// counts as 0.
    pub fn push(&mut self, chunk: LocalOrdinal, cites: CitationEdge) {
        let is_share = (0.0..=1.0).contains(&cites.confidence);
        let confidence = if is_share { cites.confidence } else { 0.0 };
        let key = (chunk, cites.number);
        self.edges.insert(
            key,
            CitationEdge {
                confidence,
                ..cites
            },
        );
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        let edges = || self.edges.values();
        let mut by_work: BTreeMap<WorkId, Vec<u32>> = BTreeMap::new();
        for (place, edge) in (0..).zip(edges()) {
            by_work.entry(edge.work).or_default().push(place);
        }
        let mut bytes = Vec::new();
        let header = [VERSION, count(self.edges.len()), count(by_work.len()), 0];
        extend(&mut bytes, header);
        extend(&mut bytes, self.edges.keys().map(|key| key.0.0));
        extend(&mut bytes, edges().map(|edge| edge.work.0));
        extend(&mut bytes, edges().map(|edge| edge.number));
        let info = |edge: &CitationEdge| edge.intent as u32 + if edge.is_claim { CLAIM } else { 0 };
        extend(&mut bytes, edges().map(info));
        extend(&mut bytes, edges().map(|edge| edge.confidence.to_bits()));
        extend(&mut bytes, by_work.keys().map(|work| work.0));
        extend(&mut bytes, starts(by_work.values().map(Vec::len)));
        extend(&mut bytes, by_work.into_values().flatten());
        bytes
    }
}

/// The citations of a segment, checked.
#[derive(Debug)]
pub struct CitationsReader<B> {
    bytes: B,
    chunks: Range<usize>,
    works: Range<usize>,
    numbers: Range<usize>,
    infos: Range<usize>,
    confidences: Range<usize>,
    ids: Range<usize>,
    starts: Range<usize>,
    edges: Range<usize>,
}

impl<B: AsRef<[u8]>> CitationsReader<B> {
    /// Checks `bytes`, which may be anything: lengths, order, every chunk below `chunk_count` (the segment's
    /// chunks), every row's edges of its work. Costs one pass.
    pub fn open(bytes: B, chunk_count: u32) -> Result<CitationsReader<B>, GraphError> {
        let (mut layout, [_, edges, works, _]) =
            Layout::open::<4>(SECTION, VERSION, bytes.as_ref())?;
        let (e, w) = (u64::from(edges), u64::from(works));
        let reader = CitationsReader {
            chunks: layout.words(e)?,
            works: layout.words(e)?,
            numbers: layout.words(e)?,
            infos: layout.words(e)?,
            confidences: layout.words(e)?,
            ids: layout.words(w)?,
            starts: layout.words(w + 1)?,
            edges: layout.words(e)?,
            bytes,
        };
        layout.finish()?;
        check_fault(SECTION, reader.fault(chunk_count))?;
        Ok(reader)
    }

    fn fault(&self, chunk_count: u32) -> Option<&'static str> {
        let chunks = self.words(&self.chunks);
        let starts = self.words(&self.starts);
        if !chunks
            .iter()
            .zip(chunks.iter().skip(1))
            .all(|(a, b)| a <= b)
            || chunks
                .iter()
                .next_back()
                .is_some_and(|last| last >= chunk_count)
        {
            return Some("a chunk is out of range or order");
        }
        if !self.words(&self.ids).is_strictly_ascending() || !starts.are_row_starts(chunks.len()) {
            return Some("works do not ascend, or their starts");
        }
        let works = self.words(&self.works);
        let rows_fit = self.words(&self.ids).iter().enumerate().all(|(at, id)| {
            let row = self.words(&self.edges).slice(starts.row(at));
            row.is_strictly_ascending()
                && row.iter().all(|edge| works.get(edge as usize) == Some(id))
        });
        if !rows_fit {
            return Some("an edge is listed at a work that it does not cite");
        }
        let is_intent = |info: u32| Intent::from_number((info % CLAIM) as u8).is_some();
        let is_share = |bits: u32| (0.0..=1.0).contains(&f32::from_bits(bits));
        let fit = self.words(&self.infos).iter().all(is_intent)
            && self.words(&self.confidences).iter().all(is_share);
        (!fit).then_some("an intent or a confidence is out of range")
    }

    /// The citations of the chunks in a range, by chunk, then number. Costs a binary search.
    pub fn in_chunks(
        &self,
        range: Range<LocalOrdinal>,
    ) -> impl Iterator<Item = (LocalOrdinal, CitationEdge)> + '_ {
        let chunks = self.words(&self.chunks);
        let first = |chunk: LocalOrdinal| partition(chunks, chunk.0);
        (first(range.start)..first(range.end)).filter_map(|edge| self.edge(edge))
    }

    /// The citations of a work, by chunk, then number. Costs a binary search.
    pub fn citing(
        &self,
        work: WorkId,
    ) -> impl ExactSizeIterator<Item = (LocalOrdinal, CitationEdge)> + '_ {
        let place = self.words(&self.ids).position_of(work.0);
        let row = place.map_or(0..0, |place| self.words(&self.starts).row(place));
        let edges = self.words(&self.edges).slice(row);
        edges.iter().map(|edge| {
            let found = self.edge(edge as usize);
            found.expect("every row was checked when the section was opened")
        })
    }

    /// The works that are cited, ascending.
    pub fn work_ids(&self) -> impl ExactSizeIterator<Item = WorkId> + '_ {
        self.words(&self.ids).iter().map(WorkId)
    }

    fn edge(&self, edge: usize) -> Option<(LocalOrdinal, CitationEdge)> {
        let info = self.words(&self.infos).get(edge)?;
        let cites = CitationEdge {
            work: WorkId(self.words(&self.works).get(edge)?),
            number: self.words(&self.numbers).get(edge)?,
            intent: Intent::from_number((info % CLAIM) as u8)?,
            is_claim: info >= CLAIM,
            confidence: f32::from_bits(self.words(&self.confidences).get(edge)?),
        };
        Some((LocalOrdinal(self.words(&self.chunks).get(edge)?), cites))
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }
}

/// How many of ascending words are below `value`.
fn partition(words: U32Slice<'_>, value: u32) -> usize {
    let (mut from, mut to) = (0, words.len());
    while from < to {
        let middle = from.midpoint(to);
        if words.get(middle).is_some_and(|word| word < value) {
            from = middle + 1
        } else {
            to = middle
        }
    }
    from
}

/// The citations of all segments of a view, without those of dead chunks.
#[derive(Clone, Copy, Debug)]
pub struct CitationsSnapshot<'a, B> {
    /// The segments, by ascending base.
    pub segments: &'a [SegmentReader<'a, CitationsReader<B>>],
}

impl<'a, B: AsRef<[u8]>> CitationsSnapshot<'a, B> {
    /// The citations of the chunks in a range, which is in one segment, by chunk, then number.
    pub fn in_chunks(&self, range: Range<Ordinal>) -> Vec<(Ordinal, CitationEdge)> {
        let after = self
            .segments
            .partition_point(|segment| segment.base <= range.start);
        let Some(segment) = after.checked_sub(1).and_then(|at| self.segments.get(at)) else {
            return Vec::new();
        };
        let local = |ordinal: Ordinal| LocalOrdinal(ordinal.0.saturating_sub(segment.base.0));
        let edges = segment
            .reader
            .in_chunks(local(range.start)..local(range.end));
        let live = edges.filter(|edge| !segment.is_dead(edge.0));
        live.map(|(chunk, cites)| (segment.ordinal(chunk), cites))
            .collect()
    }

    /// The citations of a work, by chunk, then number.
    pub fn citing(&self, work: WorkId) -> Vec<(Ordinal, CitationEdge)> {
        let mut found = Vec::new();
        for segment in self.segments {
            let edges = segment.reader.citing(work);
            let live = edges.filter(|edge| !segment.is_dead(edge.0));
            found.extend(live.map(|(chunk, cites)| (segment.ordinal(chunk), cites)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    type Pushed = (u32, u32, u32, u8, bool);

    fn cites(&(_, work, number, intent, claim): &Pushed) -> CitationEdge {
        CitationEdge {
            work: WorkId(work),
            number,
            intent: Intent::from_number(intent).unwrap(),
            is_claim: claim,
            confidence: 0.5,
        }
    }

    fn build(pushed: &[Pushed]) -> Vec<u8> {
        let mut builder = CitationsBuilder::default();
        for one in pushed {
            builder.push(LocalOrdinal(one.0), cites(one));
        }
        builder.finish()
    }

    fn any_pushed() -> impl Strategy<Value = Vec<Pushed>> {
        let one = (0u32..6, 0u32..5, 0u32..9, 0u8..5, any::<bool>());
        prop::collection::vec(one, 0..20)
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let bytes = build(&[(2, 7, 3, 1, true)]);
        let words = [1, 1, 1, 0, 2, 7, 3, 257, 0x3f00_0000, 7, 0, 1, 0u32];
        assert_eq!(bytes, words.map(u32::to_le_bytes).concat());
    }

    proptest! {
        #[test]
        fn both_directions_give_back_the_citations(
            pushed in any_pushed(), cut in 0u32..7, dead in prop::collection::btree_set(0u32..6, 0..4),
            start in 0u32..7, len in 0u32..7,
        ) {
            let mut expected: BTreeMap<(u32, u32), CitationEdge> = BTreeMap::new();
            for one in &pushed {
                expected.insert((one.0, one.2), cites(one));
            }
            expected.retain(|key, _| !dead.contains(&key.0));
            let of = |range: Range<u32>| {
                let own: Vec<Pushed> = pushed.iter().filter(|one| range.contains(&one.0)).copied()
                    .map(|one| (one.0 - range.start, one.1, one.2, one.3, one.4)).collect();
                let reader = CitationsReader::open(build(&own), range.len() as u32).unwrap();
                let dead: RoaringBitmap = dead.iter().filter(|at| range.contains(at)).map(|at| at - range.start).collect();
                (range, reader, dead)
            };
            let parts = [of(0..cut), of(cut..7)];
            let segments = parts.each_ref().map(|(range, reader, dead)| SegmentReader {
                base: Ordinal(range.start), chunk_count: range.len() as u32, dead, reader,
            });
            let view = CitationsSnapshot { segments: &segments };
            for work in (0..5).map(WorkId) {
                let want: Vec<_> = expected.iter().filter(|(_, c)| c.work == work)
                    .map(|(key, c)| (Ordinal(key.0), *c)).collect();
                prop_assert_eq!(view.citing(work), want);
            }
            let end = (start + len).min(if start < cut { cut } else { 7 });
            let want: Vec<_> = expected.iter().filter(|(key, _)| (start..end).contains(&key.0))
                .map(|(key, c)| (Ordinal(key.0), *c)).collect();
            prop_assert_eq!(view.in_chunks(Ordinal(start)..Ordinal(end.max(start))), want);
        }

        #[test]
        fn any_bytes_open_as_a_section_or_fail(
            pushed in any_pushed(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = build(&pushed);
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
                let Ok(reader) = CitationsReader::open(bytes, 6) else { continue };
                for work in reader.work_ids() {
                    reader.citing(work).for_each(drop);
                }
                reader.in_chunks(LocalOrdinal(0)..LocalOrdinal(u32::MAX)).for_each(drop);
            }
        }
    }
}
