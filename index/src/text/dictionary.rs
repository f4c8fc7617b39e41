//! A term dictionary over bytes that may be anything at all: an FST, or a plain list of few terms.
//!
//! Building an FST takes a megabyte of memory before its first term, which is more than all else
//! that the commit of one small document does. Up to [`LIST_TERMS_MAX`] terms are therefore listed:
//!
//! ```text
//! offset  size  field    (integers are little-endian)
//!      0     8  kind     0; an FST starts with its version, 3
//!      8     4  count
//!     12   4·c  ends     where each term ends in the bytes that follow
//!      -     -  terms    ascending, one after another
//! ```
//!
//! The crate `fst` trusts its bytes: on malformed ones it panics, or walks in circles. Here panics
//! become errors at the two calls that walk, and a walk over all terms has a budget of steps. (A
//! program built with `panic = "abort"` loses the first half; the container's checksums, verified
//! before, are then what stands between it and damaged bytes.)

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fst::automaton::AlwaysMatch;
use fst::raw::Fst;
use fst::{Automaton, IntoStreamer, Streamer};

use super::automata::{UntaggedAutomaton, accepts};
use super::{TERM_BYTES_MAX, TextError};
use crate::bytes::{u32_at, u64_at};

const DAMAGED: TextError = TextError::Malformed("the dictionary is not an FST");
const TRUNCATED: TextError = TextError::Malformed("the list of terms is cut");

/// Terms that a dictionary lists at most.
pub(super) const LIST_TERMS_MAX: usize = 1024;

const KIND_LIST: u64 = 0;
const LIST_HEADER_LEN: usize = 12;

/// The bytes of a dictionary of `terms`, which ascend; their places count from 0.
pub(super) fn write<'a>(terms: impl ExactSizeIterator<Item = &'a str> + Clone) -> Vec<u8> {
    if terms.len() <= LIST_TERMS_MAX {
        write_list(terms)
    } else {
        write_fst(terms)
    }
}

fn write_fst<'a>(terms: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut builder = fst::MapBuilder::memory();
    for (place, term) in (0..).zip(terms) {
        builder
            .insert(term.as_bytes(), place)
            .expect("terms ascend, and memory takes all");
    }
    builder.into_inner().expect("memory takes all")
}

fn write_list<'a>(terms: impl ExactSizeIterator<Item = &'a str> + Clone) -> Vec<u8> {
    let mut out = KIND_LIST.to_le_bytes().to_vec();
    out.extend_from_slice(&(terms.len() as u32).to_le_bytes());
    let mut end = 0u32;
    for term in terms.clone() {
        end += term.len() as u32;
        out.extend_from_slice(&end.to_le_bytes());
    }
    out.extend(terms.flat_map(str::bytes));
    out
}

/// Term → place, from 0.
pub(super) enum Dictionary<'a> {
    List(List<'a>),
    Fst(Fst<&'a [u8]>),
}

/// Terms that ascend, if the bytes are sound.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    /// From the header on.
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Dictionary<'a> {
    /// Cheap: reads a few numbers at both ends.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, TextError> {
        if u64_at(bytes, 0) == Some(KIND_LIST) {
            return List::new(bytes).map(Dictionary::List);
        }
        match catch_panic(|| Fst::new(bytes))? {
            Ok(fst) => Ok(Dictionary::Fst(fst)),
            Err(_) => Err(DAMAGED),
        }
    }

    /// How many terms it says it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Dictionary::List(list) => list.count,
            Dictionary::Fst(fst) => fst.len(),
        }
    }

    /// The place of `term`.
    pub(super) fn get(&self, term: &str) -> Result<Option<u64>, TextError> {
        if term.len() > TERM_BYTES_MAX {
            return Ok(None);
        }
        match self {
            Dictionary::List(list) => list.get(term),
            Dictionary::Fst(fst) => Ok(catch_panic(|| fst.get(term))?.map(|output| output.value())),
        }
    }

    /// Calls `f` with every term and its place, ascending, until one fails.
    pub(super) fn for_each(
        &self,
        f: impl FnMut(&str, u64) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        self.for_each_match(&AlwaysMatch, f)
    }

    /// Calls `f` with every term that `like` accepts and its place, ascending, until one fails.
    pub(super) fn for_each_match<A: Automaton>(
        &self,
        like: &A,
        mut f: impl FnMut(&str, u64) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let mut emit = |term: &[u8], place| {
            let term =
                str::from_utf8(term).map_err(|_| TextError::Malformed("a term is not UTF-8"))?;
            f(term, place)
        };
        match self {
            Dictionary::List(list) => (0..list.count).try_for_each(|place| {
                let term = list.term(place)?;
                if accepts(like, term) {
                    emit(term, place as u64)
                } else {
                    Ok(())
                }
            }),
            Dictionary::Fst(fst) => for_each_fst_match(fst, like, emit),
        }
    }
}

impl<'a> List<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, TextError> {
        let count = u32_at(bytes, 8).ok_or(TRUNCATED)? as usize;
        let list = List { bytes, count };
        let terms_len = match count.checked_sub(1) {
            Some(last) => list.end(last)?,
            None => 0,
        };
        if LIST_HEADER_LEN + count * 4 + terms_len != bytes.len() {
            return Err(TRUNCATED);
        }
        Ok(list)
    }

    fn end(&self, place: usize) -> Result<usize, TextError> {
        Ok(u32_at(self.bytes, LIST_HEADER_LEN + place * 4).ok_or(TRUNCATED)? as usize)
    }

    fn term(&self, place: usize) -> Result<&'a [u8], TextError> {
        let start = match place.checked_sub(1) {
            Some(before) => self.end(before)?,
            None => 0,
        };
        let terms = self.bytes.get(LIST_HEADER_LEN + self.count * 4..);
        terms
            .and_then(|terms| terms.get(start..self.end(place).ok()?))
            .ok_or(TRUNCATED)
    }

    fn get(&self, term: &str) -> Result<Option<u64>, TextError> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.term(middle)?.cmp(term.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(Some(middle as u64)),
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

fn for_each_fst_match<A: Automaton>(
    fst: &Fst<&[u8]>,
    automaton: &A,
    mut f: impl FnMut(&[u8], u64) -> Result<(), TextError>,
) -> Result<(), TextError> {
    // Terms share prefixes, so a sound walk takes fewer steps than the terms have bytes.
    let steps = fst.len().saturating_mul(TERM_BYTES_MAX);
    let like = UntaggedAutomaton(automaton);
    let budget = StepBudget {
        automaton: &like,
        steps: Cell::new(steps),
    };
    let mut stream = catch_panic(|| fst.search(budget).into_stream())?;
    loop {
        let stream = &mut stream;
        let Some((term, place)) = catch_panic(move || stream.next())? else {
            return Ok(());
        };
        f(term, place.value())?;
    }
}

/// Runs `f`; its panic becomes an error. `f` only reads, so nothing is left half done.
fn catch_panic<T>(f: impl FnOnce() -> T) -> Result<T, TextError> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| DAMAGED)
}

/// Follows what another automaton does, but no path that is longer than a term can be, and none when its
/// steps are spent.
struct StepBudget<'a, A> {
    automaton: &'a A,
    steps: Cell<usize>,
}

impl<A: Automaton> Automaton for StepBudget<'_, A> {
    /// With the bytes so far.
    type State = (A::State, usize);

    fn start(&self) -> Self::State {
        (self.automaton.start(), 0)
    }

    fn is_match(&self, (state, _): &Self::State) -> bool {
        self.automaton.is_match(state)
    }

    fn can_match(&self, (state, len): &Self::State) -> bool {
        *len < TERM_BYTES_MAX && self.steps.get() > 0 && self.automaton.can_match(state)
    }

    fn accept(&self, (state, len): &Self::State, byte: u8) -> Self::State {
        self.steps.set(self.steps.get().saturating_sub(1));
        (self.automaton.accept(state, byte), len + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn any_terms() -> impl Strategy<Value = BTreeSet<String>> {
        prop::collection::btree_set("[a-cé]{1,5}", 0..40)
    }

    /// The same terms in both forms.
    fn both(terms: &BTreeSet<String>) -> [Vec<u8>; 2] {
        let terms = || terms.iter().map(String::as_str);
        [write_list(terms()), write_fst(terms())]
    }

    #[test]
    fn list_bytes_are_stable() {
        let listed = [
            &[0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0][..],
            b"abc",
        ];
        assert_eq!(write(["a", "bc"].into_iter()), listed.concat());
    }

    #[test]
    fn many_terms_are_an_fst() {
        let terms: Vec<String> = (0..=LIST_TERMS_MAX).map(|n| format!("{n:05}")).collect();
        for (count, kind) in [(LIST_TERMS_MAX, KIND_LIST), (LIST_TERMS_MAX + 1, 3)] {
            let bytes = write(terms[..count].iter().map(String::as_str));
            assert_eq!(u64_at(&bytes, 0), Some(kind));
            let dictionary = Dictionary::new(&bytes).unwrap();
            assert_eq!(dictionary.len(), count);
            assert_eq!(dictionary.get("00777").unwrap(), Some(777));
        }
    }

    proptest! {
        #[test]
        fn list_and_fst_both_map_terms_to_numbers(terms in any_terms(), asked in any_terms()) {
            for bytes in both(&terms) {
                let dictionary = Dictionary::new(&bytes).unwrap();
                prop_assert_eq!(dictionary.len(), terms.len());
                for term in terms.union(&asked) {
                    let place = terms.iter().position(|t| t == term).map(|place| place as u64);
                    prop_assert_eq!(dictionary.get(term).unwrap(), place);
                }
                let mut entries = Vec::new();
                dictionary.for_each(|term, place| {
                    entries.push((term.to_owned(), place));
                    Ok(())
                }).unwrap();
                prop_assert_eq!(entries, terms.iter().cloned().zip(0..).collect::<Vec<_>>());
            }
        }

        #[test]
        fn any_bytes_open_as_a_dictionary_or_fail(
            terms in any_terms(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            keep in any::<prop::sample::Index>(),
        ) {
            for mut bytes in both(&terms) {
                for (at, value) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *value;
                }
                for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
                    let Ok(dictionary) = Dictionary::new(bytes) else { continue };
                    let _ = dictionary.get("ab");
                    let _ = dictionary.for_each(|_, _| Ok(()));
                }
            }
        }
    }
}
