//! The names section: a finite state transducer from each normalised name and synonym that a segment
//! mentions to its concept. [`crate::link()`] walks it over the words of a text.
//!
//! ```text
//! offset  size  field        (integers are little-endian)
//!      0     4  version      3; sections of version 2 have no rivals
//!      4     4  words_max    words in the longest name; longer matches are not looked for
//!      8     4  key_count    keys of the transducer
//!     12     4  other_count  those of parts and rivals
//!     16     -  transducer   of the fst crate, version 3: key = the normalised name in UTF-8,
//!                            value = concept id · 2 + (1 if a synonym);
//!                            for the words of names of several: key = 01, the word, 00, concept id
//!                            (u32 big-endian), value 0;
//!                            for each further concept of which a name is a synonym: key = 02, the
//!                            name, 00, concept id (u32 big-endian), value 0
//! ```
//!
//! Of several concepts that are called the same the first is the name's value, the others are its rivals: they
//! are asked where the first is not wanted, because nothing that lives speaks of it.
//!
//! The transducer carries a checksum, which is verified at open. One that was crafted to pass can
//! make the fst crate panic; such a panic is caught and answered as "no such name".
//!
//! Start reading at [`NamesReader::get`].

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use fst::raw::{CompiledAddr, Fst, Output};
use fst::{Automaton, IntoStreamer, Streamer};
use loci_storage::ConceptId;

use crate::error::GraphError;
use crate::linking::normalise::{Word, is_stop_word, singular, words};
use crate::u32_slice::{Layout, U32Slice, count, extend};

const SECTION: &str = "names";
const VERSION: u32 = 3;
/// The oldest that is read.
const VERSION_MIN: u32 = 2;
const HEADER_LEN: usize = 16;

/// Words of a name that linking looks at; longer names are found by [`NamesReader::get`] only.
pub const LINK_WORDS_MAX: usize = 12;

/// Words of a name whose parts are kept: longer ones are hardly called by one of them.
const PARTS_WORDS_MAX: usize = 5;
/// What no name starts with, nor has in it.
const PART_KEY: u8 = 1;
const HOMONYM_KEY: u8 = 2;
const KEY_END: u8 = 0;
/// Rivals of a name that are looked at.
const HOMONYMS_MAX: usize = 4096;
/// Bytes of a concept's id in the key of a part.
const ID_LEN: usize = 4;
/// Ways that go on from a node of the transducer.
const BRANCHES_MAX: usize = 256;

/// What a name stands for. The smallest wins where several concepts claim one name: names before
/// synonyms, then the lowest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameEntry {
    pub(crate) is_synonym: bool,
    pub(crate) concept: ConceptId,
}

impl NameEntry {
    fn value(self) -> u64 {
        u64::from(self.concept.0) << 1 | u64::from(self.is_synonym)
    }

    fn from_value(value: u64) -> Option<NameEntry> {
        let concept = ConceptId(u32::try_from(value >> 1).ok()?);
        Some(NameEntry {
            is_synonym: value & 1 == 1,
            concept,
        })
    }
}

/// Collects the names that a segment mentions.
#[derive(Debug, Default)]
pub struct NamesBuilder {
    /// In the order in which they came, with repeats.
    names: Vec<(String, NameEntry)>,
    /// Keys of parts and rivals.
    extra_keys: Vec<Vec<u8>>,
    /// Words in the longest name.
    words_max: usize,
}

impl NamesBuilder {
    /// Adds the name of a concept, normalised. An empty name is no concept and is ignored.
    pub fn push(&mut self, normalised: &str, concept: ConceptId) {
        let words = words(normalised);
        if (2..=PARTS_WORDS_MAX).contains(&words.len()) {
            let telling = words.iter().filter(|word| is_part(word));
            let keys = telling.map(|word| key_of(PART_KEY, &word.text, concept));
            self.extra_keys.extend(keys);
        }
        let named = NameEntry {
            is_synonym: false,
            concept,
        };
        self.insert(normalised, words.len(), named);
    }

    /// Adds another name of a concept, normalised. Where it is the name of another concept, or a synonym of one with
    /// a lower id, it is found where that one is not wanted.
    pub fn push_synonym(&mut self, normalised: &str, concept: ConceptId) {
        let named = NameEntry {
            is_synonym: true,
            concept,
        };
        self.insert(normalised, words(normalised).len(), named);
    }

    fn insert(&mut self, normalised: &str, words: usize, named: NameEntry) {
        if !normalised.is_empty() {
            self.words_max = self.words_max.max(words);
            self.names.push((normalised.to_owned(), named));
        }
    }

    /// The section's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        // Of several concepts with one name the smallest comes first, and stays.
        self.names.sort_unstable();
        let others = &mut self.extra_keys;
        self.names.dedup_by(|next, previous| {
            let is_same = next.0 == previous.0;
            if is_same && next.1.concept != previous.1.concept {
                others.push(key_of(HOMONYM_KEY, &next.0, next.1.concept));
            }
            is_same
        });
        self.extra_keys.sort_unstable();
        self.extra_keys.dedup();
        let mut bytes = Vec::new();
        extend(
            &mut bytes,
            [
                VERSION,
                count(self.words_max),
                count(self.names.len() + self.extra_keys.len()),
                count(self.extra_keys.len()),
            ],
        );
        if self.names.is_empty() {
            // A builder allocates a megabyte before its first name.
            static EMPTY: LazyLock<Vec<u8>> =
                LazyLock::new(|| fst::Map::default().as_fst().to_vec());
            bytes.extend_from_slice(&EMPTY);
            return bytes;
        }
        let others = self.extra_keys.iter().map(|key| (&key[..], 0));
        let names = self.names.iter();
        let names = names.map(|(name, named)| (name.as_bytes(), named.value()));
        let transducer = fst::Map::from_iter(others.chain(names)).expect("the keys ascend");
        bytes.extend(transducer.as_fst().as_bytes());
        bytes
    }
}

/// Whether a word of a name may stand for all of it.
fn is_part(word: &Word) -> bool {
    !word.is_joined && word.text.chars().count() > 1 && !is_stop_word(&word.text)
}

/// The key by which `text` leads to a concept, as a part of its name or a rival of its first.
fn key_of(kind: u8, text: &str, concept: ConceptId) -> Vec<u8> {
    let id = concept.0.to_be_bytes();
    [&[kind][..], text.as_bytes(), &[KEY_END], &id].concat()
}

/// The bytes of a section after its header.
struct SectionTail<B>(B);

impl<B: AsRef<[u8]>> AsRef<[u8]> for SectionTail<B> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().get(HEADER_LEN..).unwrap_or_default()
    }
}

/// The names of a segment, checked.
pub struct NamesReader<B> {
    fst: Fst<SectionTail<B>>,
    words_max: usize,
    extra_key_count: usize,
}

impl<B> fmt::Debug for NamesReader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamesReader")
            .field("words_max", &self.words_max)
            .finish_non_exhaustive()
    }
}

/// How far a walk through the transducer came.
#[derive(Clone, Copy)]
struct State {
    node: CompiledAddr,
    output: Output,
}

impl<B: AsRef<[u8]>> NamesReader<B> {
    /// Checks header and checksum of `bytes`, which may be anything. Costs one pass.
    pub fn open(bytes: B) -> Result<NamesReader<B>, GraphError> {
        let malformed = |why| GraphError::Malformed {
            section: SECTION,
            why,
        };
        let (_, [_, words_max, key_count, other_count]) =
            Layout::open_since::<4>(SECTION, VERSION_MIN..=VERSION, bytes.as_ref())?;
        let tail = SectionTail(bytes);
        if !root_is_inside(tail.as_ref()) {
            return Err(malformed("the transducer has no root"));
        }
        let fst = catch_panic(|| Fst::new(tail).ok().filter(|fst| fst.verify().is_ok()))
            .ok_or_else(|| malformed("the transducer is damaged"))?;
        if fst.len() != key_count as usize {
            return Err(malformed("the transducer has another number of names"));
        }
        Ok(NamesReader {
            fst,
            words_max: (words_max as usize).min(LINK_WORDS_MAX),
            extra_key_count: (other_count as usize).min(key_count as usize),
        })
    }

    /// How many names and synonyms there are.
    pub fn len(&self) -> usize {
        self.fst.len() - self.extra_key_count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The concept with this normalised name or synonym. Costs one step a byte.
    pub fn get(&self, normalised: &str) -> Option<ConceptId> {
        Some(self.entry(normalised)?.concept)
    }

    pub(crate) fn entry(&self, normalised: &str) -> Option<NameEntry> {
        self.entry_at(self.step(self.start()?, normalised)?)
    }

    /// The first concept that `keep` accepts of those which are called `normalised`: `first`, or one of its rivals.
    pub(crate) fn first_accepted(
        &self,
        normalised: &str,
        first: NameEntry,
        keep: impl Fn(ConceptId) -> bool,
    ) -> Option<NameEntry> {
        if keep(first.concept) {
            return Some(first);
        }
        let (homonyms, _) = self.concepts_by_key(HOMONYM_KEY, normalised, HOMONYMS_MAX)?;
        let accepted = homonyms.into_iter().find(|&concept| keep(concept))?;
        Some(NameEntry {
            is_synonym: true,
            concept: accepted,
        })
    }

    fn start(&self) -> Option<State> {
        let node = catch_panic(|| Some(self.fst.root().addr()))?;
        Some(State {
            node,
            output: Output::zero(),
        })
    }

    /// Follows the bytes of `text`; `None` when no name goes on like this.
    fn step(&self, from: State, text: &str) -> Option<State> {
        catch_panic(|| {
            let mut node = self.fst.node(from.node);
            let mut output = from.output;
            for &byte in text.as_bytes() {
                let transition = node.transition(node.find_input(byte)?);
                output = output.cat(transition.out);
                node = self.fst.node(transition.addr);
            }
            Some(State {
                node: node.addr(),
                output,
            })
        })
    }

    /// What is named by the bytes that led here.
    fn entry_at(&self, state: State) -> Option<NameEntry> {
        let value = catch_panic(|| {
            let node = self.fst.node(state.node);
            node.is_final()
                .then(|| state.output.cat(node.final_output()).value())
        })?;
        NameEntry::from_value(value)
    }

    /// The concepts that have `word` in a name of several words, ascending; `None` where they are more than
    /// `limit`.
    pub(crate) fn concepts_with_part(&self, word: &str, limit: usize) -> Option<Vec<ConceptId>> {
        let (found, are_all) = self.concepts_by_key(PART_KEY, word, limit)?;
        are_all.then_some(found)
    }

    /// The concepts that a kind of key leads to from `text`, ascending, and whether these are all. `None` where a
    /// crafted transducer makes the fst crate panic.
    fn concepts_by_key(
        &self,
        kind: u8,
        text: &str,
        limit: usize,
    ) -> Option<(Vec<ConceptId>, bool)> {
        let from = key_of(kind, text, ConceptId(0));
        let to = key_of(kind, text, ConceptId(u32::MAX));
        let like = KeyRangeAutomaton::new(&from, limit);
        catch_panic(|| {
            let mut found = Vec::new();
            let mut keys = self.fst.search(&like).ge(&from).le(&to).into_stream();
            while let Some((key, _)) = keys.next() {
                if found.len() == limit {
                    return Some((found, false));
                }
                let id = key.last_chunk().map(|id| u32::from_be_bytes(*id));
                found.extend(id.map(ConceptId));
            }
            Some((found, true))
        })
    }

    /// Calls `found` with every name that starts with the first word: the words it takes, whether it
    /// was written as in the dictionary (else in the plural), and what it stands for.
    pub(crate) fn prefixes(&self, words: &[Word], mut found: impl FnMut(usize, bool, NameEntry)) {
        let Some(mut state) = self.start() else {
            return;
        };
        for (index, word) in words.iter().take(self.words_max).enumerate() {
            let gap = if index == 0 || word.is_joined {
                ""
            } else {
                " "
            };
            let Some(before) = self.step(state, gap) else {
                return;
            };
            let singular = singular(&word.text);
            let (stem, rest) = match &singular {
                Some(singular) => shared(&word.text, singular),
                None => (&word.text[..], ""),
            };
            let Some(stemmed) = self.step(before, stem) else {
                return;
            };
            let singular = singular.and_then(|text| self.step(stemmed, &text[stem.len()..]));
            if let Some(named) = singular.and_then(|state| self.entry_at(state)) {
                found(index + 1, false, named);
            }
            let Some(after) = self.step(stemmed, rest) else {
                return;
            };
            if let Some(named) = self.entry_at(after) {
                found(index + 1, true, named);
            }
            state = after;
        }
    }
}

/// Keys as long as one of a part or rival. A crafted transducer may go on without end, or branch without ever ending a
/// key, so the steps are bounded too.
struct KeyRangeAutomaton {
    len: usize,
    steps: Cell<usize>,
}

impl KeyRangeAutomaton {
    /// For keys like `key`, of which `limit` are wanted and one more.
    fn new(key: &[u8], limit: usize) -> KeyRangeAutomaton {
        // Every byte of the word has siblings, and every key that is found a few bytes of its own.
        let steps = BRANCHES_MAX * key.len() + ID_LEN * limit.saturating_add(2);
        KeyRangeAutomaton {
            len: key.len(),
            steps: Cell::new(steps),
        }
    }
}

impl Automaton for KeyRangeAutomaton {
    /// Bytes so far.
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn is_match(&self, len: &usize) -> bool {
        *len == self.len
    }

    fn can_match(&self, len: &usize) -> bool {
        *len < self.len && self.steps.get() > 0
    }

    fn accept(&self, len: &usize, _: u8) -> usize {
        self.steps.set(self.steps.get().saturating_sub(1));
        len + 1
    }
}

/// Whether the root's address lies in the transducer: what the fst crate computes with before it checks.
fn root_is_inside(transducer: &[u8]) -> bool {
    let Some(at) = transducer
        .len()
        .checked_sub(12)
        .filter(|_| transducer.len() >= 36)
    else {
        return false;
    };
    let halves = U32Slice::new(transducer, &(at..at + 8));
    let root = halves
        .iter()
        .rev()
        .fold(0u64, |root, half| root << 32 | u64::from(half));
    root < transducer.len() as u64
}

/// What `word` begins with as `other` does, and the rest of it.
fn shared<'w>(word: &'w str, other: &str) -> (&'w str, &'w str) {
    let both = word.char_indices().zip(other.chars());
    let len = both.take_while(|((_, one), other)| one == other);
    let len = len.last().map_or(0, |((at, one), _)| at + one.len_utf8());
    word.split_at(len)
}

/// Runs `read`; `None` where the fst crate panics over crafted bytes.
fn catch_panic<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise;
    use proptest::prelude::*;

    fn build(names: &[(&str, u32)], synonyms: &[(&str, u32)]) -> Vec<u8> {
        let mut builder = NamesBuilder::default();
        for &(name, concept) in synonyms {
            builder.push_synonym(&normalise(name), ConceptId(concept));
        }
        for &(name, concept) in names {
            builder.push(&normalise(name), ConceptId(concept));
        }
        builder.finish()
    }

    fn reader(names: &[(&str, u32)], synonyms: &[(&str, u32)]) -> NamesReader<Vec<u8>> {
        NamesReader::open(build(names, synonyms)).unwrap()
    }

    #[test]
    fn name_and_lower_id_win_over_a_synonym() {
        let names = reader(
            &[("Quantum", 5)],
            &[("quantum", 1), ("qm", 9), ("qm", 4), ("", 3)],
        );
        assert_eq!(names.get("quantum"), Some(ConceptId(5)));
        assert_eq!(names.get("qm"), Some(ConceptId(4)));
        assert_eq!(
            (names.get(""), names.get("q"), names.len()),
            (None, None, 2)
        );
    }

    #[test]
    fn homonyms_are_found_when_the_first_is_rejected() {
        let names = reader(&[("qm", 7)], &[("qm", 9), ("qm", 4), ("qm", 7), ("wf", 3)]);
        assert_eq!(names.len(), 2);
        let first = names.entry("qm").unwrap();
        let first_accepted = |unwanted: &[u32]| {
            let first_accepted = names.first_accepted("qm", first, |id| !unwanted.contains(&id.0));
            first_accepted.map(|named| (named.concept.0, named.is_synonym))
        };
        assert_eq!(first_accepted(&[]), Some((7, false)));
        assert_eq!(first_accepted(&[7]), Some((4, true)));
        assert_eq!(first_accepted(&[7, 4]), Some((9, true)));
        assert_eq!(first_accepted(&[7, 4, 9]), None);
        let first = names.entry("wf").unwrap();
        assert_eq!(names.first_accepted("wf", first, |_| false), None);
    }

    #[test]
    fn sections_without_homonyms_are_read() {
        let mut bytes = build(&[("bb cc", 3)], &[("b", 3)]);
        bytes[0] = 2;
        let names = NamesReader::open(bytes).unwrap();
        assert_eq!(names.get("b"), Some(ConceptId(3)));
        assert_eq!(names.concepts_with_part("cc", 9), Some(vec![ConceptId(3)]));
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let bytes = build(&[("a", 0), ("bb cc", 3)], &[]);
        assert_eq!(
            bytes[..16],
            [3, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0]
        );
        assert_eq!(bytes[16..24], [3, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn all_concepts_with_a_part_are_found_or_they_are_too_many() {
        let mut builder = NamesBuilder::default();
        let ids = (0..300).map(|n| n * 70_001);
        for id in ids.clone() {
            for word in ["water", "watered", "wate"] {
                builder.push(&format!("{word} n{id}"), ConceptId(id));
            }
        }
        let names = NamesReader::open(builder.finish()).unwrap();
        let found = names.concepts_with_part("water", 300).unwrap();
        assert!(found.into_iter().eq(ids.map(ConceptId)));
        assert_eq!(names.concepts_with_part("water", 299), None);
        assert_eq!(names.concepts_with_part("wat", 1), Some(Vec::new()));
    }

    #[test]
    fn steps_over_the_keys_of_parts_are_bounded() {
        let like = KeyRangeAutomaton::new(b"\x01w\x000000", 2);
        let all = (0..u64::from(u32::MAX)).find(|_| {
            like.accept(&0, 0);
            !like.can_match(&0)
        });
        assert!(all.is_some_and(|steps| steps < 10_000));
        assert!(!KeyRangeAutomaton::new(b"\x01w\x000000", 2).can_match(&7));
    }

    #[test]
    fn every_truncation_is_detected() {
        let bytes = build(&[("neural network", 1), ("brain", 2)], &[("nn", 1)]);
        for len in 0..bytes.len() {
            assert!(
                NamesReader::open(&bytes[..len]).is_err(),
                "a cut at {len} was not noticed"
            );
        }
    }

    proptest! {
        #[test]
        fn flipped_bit_is_detected_or_harmless(bit: prop::sample::Index) {
            let mut bytes = build(&[("neural network", 1), ("brain", 2)], &[("nn", 1)]);
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(names) = NamesReader::open(bytes) {
                prop_assert_eq!(names.get("brain"), Some(ConceptId(2)));
                crate::link(&[&names], "a neural network in the brain");
            }
        }

        #[test]
        fn crafted_transducers_never_panic(at in 0usize..200, value: u8) {
            // No checksum stands between these bytes and the walk.
            let mut bytes = build(&[("neural network", 1), ("brain", 2)], &[("nn", 1)]);
            let at = 16 + at % (bytes.len() - 32);
            bytes[at] = value;
            if let Some(fst) = catch_panic(|| Fst::new(SectionTail(bytes)).ok()) {
                let names = NamesReader {
                    fst,
                    words_max: 12,
                    extra_key_count: 0,
                };
                crate::link(&[&names], "a neural network in the brain nn");
                for word in ["neural", "network", ""] {
                    names.concepts_with_part(word, 9);
                }
            }
        }
    }
}
