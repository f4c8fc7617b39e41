//! The best chunks for a bag of terms: term at a time into a dense accumulator.
//!
//! Every chunk's score is summed in the order of the question's terms, whatever the segment, so
//! equal chunks score equal to the last bit and ties are broken by ordinal alone.

use std::collections::HashMap;

use loci_storage::{Local, Placed, Scored};
use roaring::RoaringBitmap;

use super::read::{Term, TextReader, Window};
use super::{Bm25, POSTING_LEN, Scorer, Statistics, TextError};
use crate::top::Top;

/// What a search needs beside its input; keep it to spare the allocations.
#[derive(Debug, Default)]
pub struct TextScratch {
    /// Scores by local number; 0 for chunks that no term touched.
    scores: Vec<f32>,
    /// By segment, then by distinct term.
    found: Vec<Option<Term>>,
    top: Top,
}

impl TextScratch {
    /// Empty scratch; it grows to the largest segment.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The `k` chunks with the highest BM25 score for `terms`; see [`super`] for the formula.
///
/// - `terms`: of an [`crate::analysis::Analyzer`]; a term that comes twice counts twice. Terms that
///   no chunk has count nothing.
/// - `filter`: ordinals that may be found; `None` for all. Deleted chunks are never found.
/// - returns: up to `k` chunks that have at least one of the terms, scores above 0, best first,
///   ties by ascending ordinal. Exact, and the same however chunks are spread over segments.
///
/// # Errors
/// [`TextError::Parameters`]; [`TextError::Malformed`] when a section's bytes break the format.
///
/// # Cost
/// The postings of all terms, one pass over the scores of each segment (with a filter: over its
/// ordinals). No allocation but the answer and a few for the question, once `scratch` has grown.
pub fn search<B: AsRef<[u8]>, S: AsRef<str>>(
    segments: &[Placed<'_, TextReader<B>>],
    terms: &[S],
    params: Bm25,
    filter: Option<&RoaringBitmap>,
    k: usize,
    scratch: &mut TextScratch,
) -> Result<Vec<Scored>, TextError> {
    let statistics = statistics(segments);
    let scorer = Scorer::new(params, statistics)?;
    let question = distinct(terms);
    look_up(segments, &question, &mut scratch.found)?;
    let weights: Vec<f32> = weigh(statistics, &question, &scratch.found);

    scratch.top.reset(k);
    for (i, placed) in segments.iter().enumerate() {
        let found = &scratch.found[i * question.len()..][..question.len()];
        if found.iter().all(Option::is_none) || k == 0 {
            continue;
        }
        if placed.reader.local_end() > placed.chunk_count {
            return Err(TextError::Malformed(
                "it speaks of more chunks than its segment has",
            ));
        }
        scratch.scores.clear();
        scratch
            .scores
            .resize(placed.reader.local_end() as usize, 0.0);
        for (term, &weight) in found.iter().zip(&weights) {
            let Some(term) = *term else { continue };
            for window in placed.reader.windows(term) {
                add(&window?, weight, &scorer, &mut scratch.scores)?;
            }
        }
        collect(placed, &scratch.scores, filter, &mut scratch.top);
    }
    Ok(scratch.top.drain())
}

/// The statistics that scores over `segments` rest on.
pub fn statistics<B: AsRef<[u8]>>(segments: &[Placed<'_, TextReader<B>>]) -> Statistics {
    segments
        .iter()
        .fold(Statistics::default(), |sum, placed| Statistics {
            chunk_count: sum.chunk_count + u64::from(placed.reader.chunk_count()),
            // Damaged sections may claim anything.
            total_length: sum
                .total_length
                .saturating_add(placed.reader.total_length()),
        })
}

/// Every distinct term in the order of its first occurrence, with its weight: idf in the view ×
/// occurrences in `terms`. What [`Scorer::score_chunk`] takes.
///
/// # Errors
/// [`TextError::Malformed`].
pub fn weights<'t, B: AsRef<[u8]>, S: AsRef<str>>(
    segments: &[Placed<'_, TextReader<B>>],
    terms: &'t [S],
) -> Result<Vec<(&'t str, f32)>, TextError> {
    let question = distinct(terms);
    let mut found = Vec::new();
    look_up(segments, &question, &mut found)?;
    let weights: Vec<f32> = weigh(statistics(segments), &question, &found);
    Ok(question
        .into_iter()
        .map(|(term, _)| term)
        .zip(weights)
        .collect())
}

/// (term, occurrences), in the order of the first.
fn distinct<S: AsRef<str>>(terms: &[S]) -> Vec<(&str, u32)> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(terms.len());
    let mut question: Vec<(&str, u32)> = Vec::with_capacity(terms.len());
    for term in terms.iter().map(AsRef::as_ref) {
        let place = *places.entry(term).or_insert(question.len());
        match question.get_mut(place) {
            Some((_, occurrences)) => *occurrences += 1,
            None => question.push((term, 1)),
        }
    }
    question
}

/// Fills `found` with the terms of `question` in each segment.
fn look_up<B: AsRef<[u8]>>(
    segments: &[Placed<'_, TextReader<B>>],
    question: &[(&str, u32)],
    found: &mut Vec<Option<Term>>,
) -> Result<(), TextError> {
    found.clear();
    for placed in segments {
        for (term, _) in question {
            found.push(placed.reader.term(term)?);
        }
    }
    Ok(())
}

fn weigh(statistics: Statistics, question: &[(&str, u32)], found: &[Option<Term>]) -> Vec<f32> {
    let df = |place: usize| -> u64 {
        let in_segments = found.iter().skip(place).step_by(question.len());
        in_segments.flatten().map(|term| u64::from(term.df)).sum()
    };
    let weight = |(place, &(_, occurrences)): (usize, &(&str, u32))| {
        statistics.idf(df(place)) * occurrences as f32
    };
    question.iter().enumerate().map(weight).collect()
}

/// Adds one term's gain to every chunk of a window.
fn add(
    window: &Window<'_>,
    weight: f32,
    scorer: &Scorer,
    scores: &mut [f32],
) -> Result<(), TextError> {
    let scores = scores.get_mut(window.first as usize..).unwrap_or_default();
    for entry in window.entries.chunks_exact(POSTING_LEN) {
        let low = u16::from_le_bytes([entry[0], entry[1]]);
        let (tf, length_code) = (entry[2], entry[3]);
        match scores.get_mut(usize::from(low)) {
            Some(score) if tf > 0 => *score += weight * scorer.gain(tf, length_code),
            _ => {
                return Err(TextError::Malformed(
                    "a posting of no chunk or no occurrence",
                ));
            }
        }
    }
    Ok(())
}

/// Offers the chunks with a score that may be found.
fn collect<R>(
    placed: &Placed<'_, R>,
    scores: &[f32],
    filter: Option<&RoaringBitmap>,
    top: &mut Top,
) {
    let mut offer = |local: Local, score: f32| {
        let ordinal = placed.ordinal(local);
        // Deleted chunks are asked for last: few scores get this far.
        if score > 0.0 && top.admits(score, ordinal) && !placed.is_dead(local) {
            top.push(score, ordinal);
        }
    };
    match filter {
        None => (0..)
            .zip(scores)
            .for_each(|(local, &score)| offer(Local(local), score)),
        Some(filter) => {
            for ordinal in filter.range(placed.base.0..) {
                let local = ordinal - placed.base.0;
                let Some(&score) = scores.get(local as usize) else {
                    break;
                };
                offer(Local(local), score);
            }
        }
    }
}
