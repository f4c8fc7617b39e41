//! The mentions section: concept → chunks and chunk → concepts, with counts.
//!
//! Two compressed sparse row arrays over the same pairs, so that a walk reads either direction in one
//! contiguous run.
//!
//! ```text
//! offset  size            field            (integers are little-endian u32)
//!      0     4            version          1
//!      4     4            concept_count    n
//!      8     4            chunk_count      c: one past the last chunk that mentions anything
//!     12     4            pair_count       p
//!     16    4n            concepts         ids, ascending
//!      -    4(n + 1)      concept_starts   rows of the next two arrays
//!      -    4p            chunks           local numbers, ascending in each row
//!      -    4p            chunk_mentions   how often
//!      -    4(c + 1)      chunk_starts     rows of the next two arrays
//!      -    4p            members          places in `concepts`, ascending in each row
//!      -    4p            member_mentions  how often
//! ```
//!
//! Start reading at [`MentionsReader::chunks`].

use std::collections::BTreeMap;
use std::ops::Range;

use loci_storage::{ConceptId, LocalOrdinal};

use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Slice, count, extend, starts};

const SECTION: &str = "mentions";
const VERSION: u32 = 1;

/// Collects which chunk mentions which concept.
#[derive(Debug, Default)]
pub struct MentionsBuilder {
    by_concept: BTreeMap<ConceptId, BTreeMap<LocalOrdinal, u32>>,
}

impl MentionsBuilder {
    /// Adds `count` mentions of a concept in a chunk, in any order; repeats add up. Nothing is a
    /// mention that happens 0 times.
    pub fn push(&mut self, concept: ConceptId, chunk: LocalOrdinal, count: u32) {
        if count > 0 {
            let row = self.by_concept.entry(concept).or_default();
            let mentions = row.entry(chunk).or_default();
            *mentions = mentions.saturating_add(count);
        }
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        let rows = || self.by_concept.values();
        let chunk_count = rows()
            .flat_map(BTreeMap::keys)
            .max()
            .map_or(0, |last| last.0 as usize + 1);
        let pair_count = rows().map(BTreeMap::len).sum();
        let mut by_chunk = vec![Vec::new(); chunk_count];
        for (place, row) in rows().enumerate() {
            for (chunk, &mentions) in row {
                by_chunk[chunk.0 as usize].push((count(place), mentions));
            }
        }
        let header = [
            VERSION,
            count(self.by_concept.len()),
            count(chunk_count),
            count(pair_count),
        ];
        let mut bytes = Vec::new();
        extend(&mut bytes, header);
        extend(&mut bytes, self.by_concept.keys().map(|concept| concept.0));
        extend(&mut bytes, starts(rows().map(BTreeMap::len)));
        extend(
            &mut bytes,
            rows().flat_map(BTreeMap::keys).map(|chunk| chunk.0),
        );
        extend(&mut bytes, rows().flat_map(BTreeMap::values).copied());
        extend(&mut bytes, starts(by_chunk.iter().map(Vec::len)));
        extend(
            &mut bytes,
            by_chunk.iter().flatten().map(|&(place, _)| place),
        );
        extend(
            &mut bytes,
            by_chunk.iter().flatten().map(|&(_, mentions)| mentions),
        );
        bytes
    }
}

/// The mentions of a segment, checked.
#[derive(Debug)]
pub struct MentionsReader<B> {
    bytes: B,
    concepts: Range<usize>,
    concept_starts: Range<usize>,
    chunks: Range<usize>,
    chunk_mentions: Range<usize>,
    chunk_starts: Range<usize>,
    members: Range<usize>,
    member_mentions: Range<usize>,
}

impl<B: AsRef<[u8]>> MentionsReader<B> {
    /// Checks `bytes`, which may be anything: lengths, ascending ids and starts, every chunk below
    /// `chunk_count` (the segment's chunks). Costs one pass.
    pub fn open(bytes: B, chunk_count: u32) -> Result<MentionsReader<B>, GraphError> {
        let (mut layout, [_, concepts, rows, pairs]) =
            Layout::open::<4>(SECTION, VERSION, bytes.as_ref())?;
        let (concepts, rows, pairs) = (u64::from(concepts), u64::from(rows), u64::from(pairs));
        let reader = MentionsReader {
            concepts: layout.words(concepts)?,
            concept_starts: layout.words(concepts + 1)?,
            chunks: layout.words(pairs)?,
            chunk_mentions: layout.words(pairs)?,
            chunk_starts: layout.words(rows + 1)?,
            members: layout.words(pairs)?,
            member_mentions: layout.words(pairs)?,
            bytes,
        };
        layout.finish()?;
        check_fault(SECTION, reader.fault(chunk_count))?;
        Ok(reader)
    }

    fn fault(&self, chunk_count: u32) -> Option<&'static str> {
        let (chunks, members) = (self.words(&self.chunks), self.words(&self.members));
        let concept_starts = self.words(&self.concept_starts);
        let chunk_starts = self.words(&self.chunk_starts);
        let concepts = self.words(&self.concepts);
        if chunk_starts.len() - 1 > chunk_count as usize {
            return Some("there are more chunks than in the segment");
        }
        if !concepts.is_strictly_ascending() {
            return Some("concepts do not ascend");
        }
        let starts_fit = concept_starts.are_row_starts(chunks.len())
            && chunk_starts.are_row_starts(members.len());
        if !starts_fit {
            return Some("starts do not ascend to the number of pairs");
        }
        if !rows_are_sets(concept_starts, chunks, chunk_starts.len() - 1) {
            return Some("a chunk is out of range or order");
        }
        if !rows_are_sets(chunk_starts, members, concepts.len()) {
            return Some("a concept's place is out of range or order");
        }
        None
    }

    /// The concepts that live or dead chunks of the segment mention, ascending.
    pub fn concept_ids(&self) -> impl ExactSizeIterator<Item = ConceptId> + '_ {
        self.words(&self.concepts).iter().map(ConceptId)
    }

    /// The chunks that mention `concept`, ascending, and how often. Costs a binary search.
    pub fn chunks(
        &self,
        concept: ConceptId,
    ) -> impl ExactSizeIterator<Item = (LocalOrdinal, u32)> + '_ {
        let place = self.words(&self.concepts).position_of(concept.0);
        let row = place.map_or(0..0, |place| self.words(&self.concept_starts).row(place));
        let chunks = self.words(&self.chunks).slice(row.clone());
        let mentions = self.words(&self.chunk_mentions).slice(row);
        chunks.iter().map(LocalOrdinal).zip(mentions.iter())
    }

    /// The concepts that the chunk at `local` mentions, ascending, and how often.
    pub fn concepts(&self, local: LocalOrdinal) -> impl Iterator<Item = (ConceptId, u32)> + '_ {
        let row = self.words(&self.chunk_starts).row(local.0 as usize);
        let members = self.words(&self.members).slice(row.clone());
        let mentions = self.words(&self.member_mentions).slice(row);
        let ids = self.words(&self.concepts);
        members
            .iter()
            .zip(mentions.iter())
            .filter_map(move |(place, mentions)| {
                Some((ConceptId(ids.get(place as usize)?), mentions))
            })
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }
}

/// Whether every row ascends and holds only numbers below `bound`.
fn rows_are_sets(starts: U32Slice<'_>, values: U32Slice<'_>, bound: usize) -> bool {
    (0..starts.len() - 1).all(|index| {
        let row = values.slice(starts.row(index));
        row.is_strictly_ascending()
            && row
                .iter()
                .next_back()
                .is_none_or(|last| (last as usize) < bound)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(pushes: &[(u32, u32, u32)]) -> Vec<u8> {
        let mut builder = MentionsBuilder::default();
        for &(concept, chunk, count) in pushes {
            builder.push(ConceptId(concept), LocalOrdinal(chunk), count);
        }
        builder.finish()
    }

    fn sample() -> Vec<u8> {
        build(&[(7, 2, 1), (3, 0, 2), (7, 0, 1), (3, 2, 5), (9, 1, 1)])
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let words: [u32; 14] = [1, 1, 2, 1, 6, 0, 1, 1, 4, 0, 0, 1, 0, 4];
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(build(&[(6, 1, 4)]), expected);
    }

    #[test]
    fn chunks_beyond_the_segment_are_refused() {
        assert!(MentionsReader::open(sample(), 3).is_ok());
        assert!(MentionsReader::open(sample(), 2).is_err());
    }

    #[test]
    fn nothing_mentions_nothing() {
        let mentions = MentionsReader::open(build(&[(1, 1, 0)]), 0).unwrap();
        assert_eq!(mentions.concept_ids().len(), 0);
        assert_eq!(
            mentions.chunks(ConceptId(1)).len() + mentions.concepts(LocalOrdinal(1)).count(),
            0
        );
    }

    fn read_all<B: AsRef<[u8]>>(mentions: &MentionsReader<B>, chunk_count: u32) {
        for concept in mentions.concept_ids() {
            assert!(
                mentions
                    .chunks(concept)
                    .all(|(chunk, _)| chunk.0 < chunk_count)
            );
        }
        for chunk in 0..chunk_count + 2 {
            mentions.concepts(LocalOrdinal(chunk)).count();
        }
    }

    proptest! {
        #[test]
        fn both_directions_return_the_pairs(
            pushes in prop::collection::vec((0u32..6, 0u32..6, 1u32..4), 0..24),
        ) {
            let mut expected: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for &(concept, chunk, count) in &pushes {
                *expected.entry((concept, chunk)).or_default() += count;
            }
            let mentions = MentionsReader::open(build(&pushes), 6).unwrap();
            let forward: BTreeMap<(u32, u32), u32> = mentions
                .concept_ids()
                .flat_map(|id| mentions.chunks(id).map(move |(chunk, n)| ((id.0, chunk.0), n)))
                .collect();
            let backward: BTreeMap<(u32, u32), u32> = (0..6)
                .flat_map(|chunk| mentions.concepts(LocalOrdinal(chunk)).map(move |(id, n)| ((id.0, chunk), n)))
                .collect();
            prop_assert_eq!(&forward, &expected);
            prop_assert_eq!(&backward, &expected);
        }

        #[test]
        fn changed_bytes_give_an_error_or_numbers_in_range(at: prop::sample::Index, byte: u8) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(mentions) = MentionsReader::open(bytes, 3) {
                read_all(&mentions, 3);
            }
        }

        #[test]
        fn any_words_give_an_error_or_numbers_in_range(words in prop::collection::vec(0u32..4, 0..24)) {
            let mut bytes = Vec::new();
            extend(&mut bytes, [VERSION]);
            extend(&mut bytes, words);
            if let Ok(mentions) = MentionsReader::open(bytes, 3) {
                read_all(&mentions, 3);
            }
        }
    }

    #[test]
    fn every_truncation_is_detected() {
        let bytes = sample();
        for len in 0..bytes.len() {
            assert!(
                MentionsReader::open(&bytes[..len], 3).is_err(),
                "a cut at {len} was not noticed"
            );
        }
    }
}
