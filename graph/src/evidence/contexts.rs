//! The contexts section: what stands around the mentions of a segment, and which chunks are about which concepts.
//!
//! It has a fact for each pair of the mentions section, in the orders of that section. It is optional: a segment without
//! it has no facts, and chains do not start there.
//!
//! ```text
//! offset  size            field            (integers are little-endian u32)
//!      0     4            version          1
//!      4     4            pair_count       p: that of the mentions section
//!      8    4⌈p/32⌉       about            bit i: whether the chunk at place i of `chunks` is about the concept
//!      -    32p           terms            for each place of `members`: 16 hashes of terms (u16), 0 where there is none
//! ```
//!
//! The hash of a term is the low half of the low word of its xxh3-64, or 1 where that is 0.
//!
//! Start reading at [`ContextsReader`].

use std::collections::HashMap;
use std::ops::Range;

use loci_storage::{ConceptId, LocalOrdinal};
use xxhash_rust::xxh3::xxh3_64;

use super::mentions::MentionsBuilder;
use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Slice, count, extend};

const SECTION: &str = "contexts";
const VERSION: u32 = 1;

/// Terms around a mention that are stored, at most.
pub const CONTEXT_TERMS_MAX: usize = 16;

/// Hashes of the terms around a mention, in any order; 0 where there is none.
pub type ContextTerms = [u16; CONTEXT_TERMS_MAX];

/// Words of a mention's terms.
const TERM_WORDS: usize = CONTEXT_TERMS_MAX / 2;

/// The hash by which a context knows a term; never 0.
pub fn term_hash(term: &str) -> u16 {
    (xxh3_64(term.as_bytes()) as u16).max(1)
}

/// What is known of a concept in a chunk that mentions it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MentionContext {
    /// Whether the chunk is about the concept: a title, a heading or a definition names it.
    pub is_about: bool,
    /// Terms around the first mention in the chunk.
    pub terms: ContextTerms,
}

/// Collects the contexts of a segment's mentions.
#[derive(Debug, Default)]
pub struct ContextsBuilder {
    contexts: HashMap<(ConceptId, LocalOrdinal), MentionContext>,
}

impl ContextsBuilder {
    /// Sets the context of a concept in a chunk. Pairs that the mentions lack are left out.
    pub fn push(&mut self, concept: ConceptId, chunk: LocalOrdinal, context: MentionContext) {
        self.contexts.insert((concept, chunk), context);
    }

    /// The section's bytes, for these mentions.
    pub fn finish(self, mentions: &MentionsBuilder) -> Vec<u8> {
        let pairs = mentions.pairs_by_concept();
        let context = |pair| self.contexts.get(&pair).copied().unwrap_or_default();
        let mut about = vec![0u32; pairs.len().div_ceil(32)];
        for (place, &pair) in pairs.iter().enumerate() {
            about[place / 32] |= u32::from(context(pair).is_about) << (place % 32);
        }
        let mut by_chunk = pairs;
        by_chunk.sort_unstable_by_key(|&(concept, chunk)| (chunk, concept));
        let mut bytes = Vec::new();
        extend(&mut bytes, [VERSION, count(by_chunk.len())]);
        extend(&mut bytes, about);
        for pair in by_chunk {
            let terms = context(pair).terms;
            let words = terms.chunks_exact(2);
            extend(
                &mut bytes,
                words.map(|two| u32::from(two[0]) | u32::from(two[1]) << 16),
            );
        }
        bytes
    }
}

/// The contexts of a segment, checked.
#[derive(Debug)]
pub struct ContextsReader<B> {
    bytes: B,
    about: Range<usize>,
    terms: Range<usize>,
}

impl<B: AsRef<[u8]>> ContextsReader<B> {
    /// Checks the lengths of `bytes`, which may be anything.
    ///
    /// # Errors
    /// [`GraphError`] where they do not fit `pair_count`, the pairs of the mentions section.
    pub fn open(bytes: B, pair_count: usize) -> Result<ContextsReader<B>, GraphError> {
        let (mut layout, [_, pairs]) = Layout::open::<2>(SECTION, VERSION, bytes.as_ref())?;
        let fits = pairs as usize == pair_count;
        check_fault(
            SECTION,
            (!fits).then_some("it has other pairs than mentions"),
        )?;
        let about = layout.words(u64::from(pairs).div_ceil(32))?;
        let terms = layout.words(TERM_WORDS as u64 * u64::from(pairs))?;
        layout.finish()?;
        Ok(ContextsReader {
            bytes,
            about,
            terms,
        })
    }

    /// Whether the chunk at a place of the mentions' `chunks` is about its concept.
    pub(crate) fn is_about(&self, place: usize) -> bool {
        let word = U32Slice::new(self.bytes.as_ref(), &self.about).get(place / 32);
        word.is_some_and(|word| word >> (place % 32) & 1 == 1)
    }

    /// The terms around the mention at a place of the mentions' `members`.
    pub(crate) fn terms(&self, place: usize) -> ContextTerms {
        let words = U32Slice::new(self.bytes.as_ref(), &self.terms);
        let words = words.slice(place * TERM_WORDS..(place + 1) * TERM_WORDS);
        let mut terms = ContextTerms::default();
        for (two, word) in terms.chunks_exact_mut(2).zip(words.iter()) {
            (two[0], two[1]) = (word as u16, (word >> 16) as u16);
        }
        terms
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAMPLE: [(u32, u32, bool, u16); 4] = [
        (3, 0, true, 5),
        (3, 2, false, 0),
        (7, 0, false, 9),
        (7, 1, true, 1),
    ];

    fn sample() -> (MentionsBuilder, Vec<u8>) {
        let (mut mentions, mut contexts) = (MentionsBuilder::default(), ContextsBuilder::default());
        for (concept, chunk, is_about, first) in SAMPLE {
            let (concept, chunk) = (ConceptId(concept), LocalOrdinal(chunk));
            mentions.push(concept, chunk, 1);
            let mut terms = ContextTerms::default();
            (terms[0], terms[15]) = (first, 2 * first);
            contexts.push(concept, chunk, MentionContext { is_about, terms });
        }
        let bytes = contexts.finish(&mentions);
        (mentions, bytes)
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let (mut mentions, mut contexts) = (MentionsBuilder::default(), ContextsBuilder::default());
        mentions.push(ConceptId(6), LocalOrdinal(1), 4);
        let mut terms = ContextTerms::default();
        (terms[0], terms[1], terms[15]) = (1, 2, 3);
        let is_about = true;
        contexts.push(
            ConceptId(6),
            LocalOrdinal(1),
            MentionContext { is_about, terms },
        );
        let words: [u32; 11] = [1, 1, 1, 0x2_0001, 0, 0, 0, 0, 0, 0, 0x3_0000];
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(contexts.finish(&mentions), expected);
        assert_eq!(term_hash("delta"), 0x1a8c);
    }

    #[test]
    fn facts_are_found_in_both_orders() {
        let (_, bytes) = sample();
        let contexts = ContextsReader::open(bytes, 4).unwrap();
        let about: Vec<bool> = (0..6).map(|place| contexts.is_about(place)).collect();
        assert_eq!(about, [true, false, false, true, false, false]);
        let first: Vec<u16> = (0..5).map(|place| contexts.terms(place)[0]).collect();
        assert_eq!(first, [5, 9, 1, 0, 0]);
        assert_eq!(contexts.terms(1)[15], 18);
    }

    #[test]
    fn other_lengths_are_refused() {
        let (_, bytes) = sample();
        assert!(ContextsReader::open(&bytes[..], 3).is_err());
        for len in 0..bytes.len() {
            assert!(ContextsReader::open(&bytes[..len], 4).is_err(), "{len}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_refused_or_read_in_bounds(words in prop::collection::vec(0u32..4, 0..40)) {
            let mut bytes = Vec::new();
            extend(&mut bytes, [VERSION]);
            extend(&mut bytes, words.iter().copied());
            let pairs = words.first().map_or(0, |&pairs| pairs as usize);
            if let Ok(contexts) = ContextsReader::open(bytes, pairs) {
                for place in 0..pairs + 2 {
                    contexts.is_about(place);
                    contexts.terms(place);
                }
            }
        }
    }
}
