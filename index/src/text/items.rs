//! What a question is scored by: distinct terms, and chunks in which a part of the question was found.

use std::collections::HashMap;

/// Terms up to which repeats are found by comparing them with each other.
const LINEAR_SCAN_MAX: usize = 24;

/// What a question counts by, and how often each counts.
#[derive(Clone, Debug)]
pub(super) enum ScoringPart {
    /// With the number of the word that it is of.
    Term(String, f32, u32),
    Matches(MatchedChunks, f32),
}

/// Chunks that a part of a question was found in, in place of the chunks of a term.
#[derive(Clone, Debug)]
pub(super) struct MatchedChunks {
    /// By segment: local, ascending, and tf.
    chunks: Vec<Vec<(u32, u8)>>,
    /// Chunks that it weighs by: those, or more.
    df: u64,
}

impl MatchedChunks {
    pub(super) fn new(chunks: Vec<Vec<(u32, u8)>>) -> MatchedChunks {
        let df = chunks.iter().map(|chunks| chunks.len() as u64).sum();
        MatchedChunks { chunks, df }
    }

    /// Some of the chunks of what is in `df` of them.
    pub(super) fn with_df(chunks: Vec<Vec<(u32, u8)>>, df: u64) -> MatchedChunks {
        MatchedChunks { chunks, df }
    }

    /// Those of a segment.
    #[inline]
    pub(super) fn in_segment(&self, segment: usize) -> &[(u32, u8)] {
        self.chunks.get(segment).map_or(&[], Vec::as_slice)
    }

    #[inline]
    pub(super) fn df(&self) -> u64 {
        self.df
    }
}

/// What is counted, with how often: terms are distinct.
#[derive(Clone, Copy)]
pub(super) enum ScoringItem<'a> {
    /// With the number of the word that it is of, if that is known.
    Term(&'a str, f32, Option<u32>),
    Matches(&'a MatchedChunks, f32),
}

impl<'a> ScoringItem<'a> {
    #[inline]
    pub(super) fn term(&self) -> Option<&'a str> {
        match *self {
            ScoringItem::Term(term, ..) => Some(term),
            ScoringItem::Matches(..) => None,
        }
    }
}

/// (term, occurrences), in the order of the first.
pub(super) fn distinct_terms<S: AsRef<str>>(terms: &[S]) -> Vec<(&str, u32, usize)> {
    let mut question: Vec<(&str, u32, usize)> = Vec::with_capacity(terms.len());
    if terms.len() <= LINEAR_SCAN_MAX {
        for (at, term) in terms.iter().map(AsRef::as_ref).enumerate() {
            match question.iter_mut().find(|(known, ..)| *known == term) {
                Some((_, occurrences, _)) => *occurrences += 1,
                None => question.push((term, 1, at)),
            }
        }
        return question;
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(terms.len());
    for (at, term) in terms.iter().map(AsRef::as_ref).enumerate() {
        let place = *places.entry(term).or_insert(question.len());
        match question.get_mut(place) {
            Some((_, occurrences, _)) => *occurrences += 1,
            None => question.push((term, 1, at)),
        }
    }
    question
}
