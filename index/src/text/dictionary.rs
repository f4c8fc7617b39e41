//! A term dictionary over bytes that may be anything at all.
//!
//! The crate `fst` trusts its bytes: on malformed ones it panics, or walks in circles. Here panics
//! become errors at the two calls that walk, and a walk over all terms has a budget of steps. (A
//! program built with `panic = "abort"` loses the first half; the container's checksums, verified
//! before, are then what stands between it and damaged bytes.)

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fst::raw::Fst;
use fst::{Automaton, IntoStreamer, Streamer};

use super::{TERM_BYTES_MAX, TextError};

const DAMAGED: TextError = TextError::Malformed("the dictionary is not an FST");

/// Term → place, from 0.
pub(super) struct Dictionary<'a> {
    fst: Fst<&'a [u8]>,
}

impl<'a> Dictionary<'a> {
    /// Cheap: reads a few numbers at both ends.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, TextError> {
        match guarded(|| Fst::new(bytes))? {
            Ok(fst) => Ok(Dictionary { fst }),
            Err(_) => Err(DAMAGED),
        }
    }

    /// How many terms it says it has.
    pub(super) fn len(&self) -> usize {
        self.fst.len()
    }

    /// The place of `term`.
    pub(super) fn get(&self, term: &str) -> Result<Option<u64>, TextError> {
        if term.len() > TERM_BYTES_MAX {
            return Ok(None);
        }
        Ok(guarded(|| self.fst.get(term))?.map(|output| output.value()))
    }

    /// Calls `f` with every term and its place, ascending, until one fails.
    pub(super) fn for_each(
        &self,
        mut f: impl FnMut(&str, u64) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        // Terms share prefixes, so a sound walk takes fewer steps than the terms have bytes.
        let steps = self.fst.len().saturating_mul(TERM_BYTES_MAX);
        let budget = Budget {
            steps: Cell::new(steps),
        };
        let mut stream = guarded(|| self.fst.search(budget).into_stream())?;
        loop {
            let stream = &mut stream;
            let Some((term, place)) = guarded(move || stream.next())? else {
                return Ok(());
            };
            let term =
                str::from_utf8(term).map_err(|_| TextError::Malformed("a term is not UTF-8"))?;
            f(term, place.value())?;
        }
    }
}

/// Runs `f`; its panic becomes an error. `f` only reads, so nothing is left half done.
fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, TextError> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| DAMAGED)
}

/// Follows every path that is no longer than a term can be, until its steps are spent.
struct Budget {
    steps: Cell<usize>,
}

impl Automaton for Budget {
    /// Bytes so far.
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn is_match(&self, _: &usize) -> bool {
        true
    }

    fn can_match(&self, &len: &usize) -> bool {
        len < TERM_BYTES_MAX && self.steps.get() > 0
    }

    fn accept(&self, &len: &usize, _: u8) -> usize {
        self.steps.set(self.steps.get().saturating_sub(1));
        len + 1
    }
}
