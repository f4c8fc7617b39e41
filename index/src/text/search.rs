//! The best chunks for a bag of terms.
//!
//! Each segment is searched by itself ([`SegmentSearch`]). Points are whole numbers, so a chunk's score does
//! not depend on the order of additions, and ties are broken by ordinal alone.

use loci_storage::{ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;

use super::bm25::Scale;
use super::items::{ScoringItem, ScoringPart, distinct_terms};
use super::read::{Term, TextReader};
use super::segment_search::{PostingsSource, SegmentSearch};
use super::select::Blocks;
use super::weights::{look_up, statistics, term_weights};
use super::{Bm25, Scorer, TextError};
use crate::top::Top;

/// What a search needs beside its input; keep it to spare the allocations.
#[derive(Debug, Default)]
pub struct TextScratch {
    /// That of the last view.
    scorer: Option<Scorer>,
    /// Points by local of a window; 0 for chunks that no rare term touched.
    sums: Vec<u32>,
    /// Chunks that a window is skimmed for.
    candidates: Vec<u16>,
    blocks: Blocks,
    /// By segment, then by distinct term.
    found: Vec<Option<Term>>,
    top: Top,
    skipped_terms: usize,
    lookup_cache: TermLookupCache,
}

/// What [`weights_with_scratch`] found in dictionaries, for the search that comes next.
#[derive(Debug, Default)]
struct TermLookupCache {
    /// Where the readers of the segments lie; none where there is nothing to take.
    readers: Vec<usize>,
    /// The distinct terms, each with a byte 0 behind it.
    terms: String,
    /// By segment, then by term.
    found: Vec<Option<Term>>,
}

impl TermLookupCache {
    fn store<B>(
        &mut self,
        segments: &[SegmentReader<'_, TextReader<B>>],
        items: &[ScoringItem<'_>],
        found: &[Option<Term>],
    ) {
        self.readers.clear();
        self.readers.extend(segments.iter().map(address));
        self.terms.clear();
        for term in items.iter().filter_map(ScoringItem::term) {
            self.terms.push_str(term);
            self.terms.push('\0');
        }
        self.found.clear();
        self.found.extend_from_slice(found);
    }

    /// Whether it is of these; it is of nothing afterwards.
    fn restore_if_same<B>(
        &mut self,
        segments: &[SegmentReader<'_, TextReader<B>>],
        items: &[ScoringItem<'_>],
    ) -> bool {
        let is_of_segments = self
            .readers
            .iter()
            .copied()
            .eq(segments.iter().map(address));
        self.readers.clear();
        let mut terms = self.terms.split_terminator('\0');
        let is_next =
            |item: &ScoringItem<'_>| item.term().is_some_and(|term| terms.next() == Some(term));
        let is_of_items = items.iter().all(is_next);
        !segments.is_empty() && is_of_segments && is_of_items && terms.next().is_none()
    }
}

fn address<B>(segment: &SegmentReader<'_, TextReader<B>>) -> usize {
    std::ptr::from_ref(segment.reader).addr()
}

impl TextScratch {
    /// Empty scratch; it grows to the largest segment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what [`weights_with_scratch`] found: to be called before each question, as another view may lie where that of the
    /// last one did.
    pub fn clear_lookups(&mut self) {
        self.lookup_cache.readers.clear();
    }

    /// Terms of the last question that some chunks have and that were not counted, for
    /// [`TextSearch::postings_max`].
    pub fn skipped_terms(&self) -> usize {
        self.skipped_terms
    }
}

/// How text is searched.
#[derive(Clone, Copy, Debug)]
pub struct TextSearch<'a> {
    /// The settings of BM25.
    pub params: Bm25,
    /// Ordinals that may be found; `None` for all. Deleted chunks are never found.
    pub filter: Option<&'a RoaringBitmap>,
    /// Hits.
    pub k: usize,
    /// Postings that are read at most, roughly: the words that count most come first, and those whose
    /// postings are too many then count nothing. One word counts always. `None` for all, and exact hits.
    /// It holds for questions of mere words: what else [`super::search_query`] understands is read whole.
    pub postings_max: Option<u64>,
    /// For each term, the number of the word of the question that it is of: a word has a term in every
    /// language of the store. `None`: nothing is known of that.
    pub words: Option<&'a [u32]>,
}

impl TextSearch<'_> {
    /// The `k` best of all, exactly, with the default settings.
    pub fn new(k: usize) -> TextSearch<'static> {
        TextSearch {
            params: Bm25::default(),
            filter: None,
            k,
            postings_max: None,
            words: None,
        }
    }
}

/// The `k` chunks with the highest BM25 score for `terms`; see [`super`] for the formula.
///
/// - `terms`: of an [`crate::analysis::Analyzer`]; a term that comes twice counts twice. Terms that
///   no chunk has count nothing.
/// - returns: up to `k` chunks that have at least one of the terms, scores above 0, best first,
///   ties by ascending ordinal. Exact, and the same however chunks are spread over segments.
///
/// # Errors
/// [`TextError::Parameters`]; [`TextError::Malformed`] when a section's bytes break the format.
///
/// # Cost
/// The postings of all terms that at most an eighth of the chunks have, and for the others a byte a chunk of
/// the blocks of 64 that can hold one of the best. No allocation but the answer and a few for the question,
/// once `scratch` has grown.
pub fn search<B: AsRef<[u8]>, S: AsRef<str>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &[S],
    options: &TextSearch<'_>,
    scratch: &mut TextScratch,
) -> Result<Vec<ScoredChunk>, TextError> {
    let items: Vec<ScoringItem<'_>> = distinct_terms(terms)
        .into_iter()
        .map(|(term, occurrences, first)| {
            ScoringItem::Term(
                term,
                occurrences as f32,
                options.words.and_then(|words| words.get(first).copied()),
            )
        })
        .collect();
    search_items(segments, &items, options, scratch)
}

/// [`search`] for what a question counts by.
pub(super) fn search_parts<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    parts: &[ScoringPart],
    options: &TextSearch<'_>,
    scratch: &mut TextScratch,
) -> Result<Vec<ScoredChunk>, TextError> {
    let mut items: Vec<ScoringItem<'_>> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            ScoringPart::Term(term, often, word) => {
                let known = items.iter_mut().find_map(|item| match item {
                    ScoringItem::Term(known, often, _) if known == term => Some(often),
                    _ => None,
                });
                match known {
                    Some(known) => *known += often,
                    None => items.push(ScoringItem::Term(term, *often, Some(*word))),
                }
            }
            ScoringPart::Matches(matched, often) => {
                items.push(ScoringItem::Matches(matched, *often))
            }
        }
    }
    search_items(segments, &items, options, scratch)
}

fn search_items<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    items: &[ScoringItem<'_>],
    options: &TextSearch<'_>,
    scratch: &mut TextScratch,
) -> Result<Vec<ScoredChunk>, TextError> {
    check(segments)?;
    let TextSearch {
        params, filter, k, ..
    } = *options;
    let statistics = statistics(segments);
    let known = scratch.scorer.take();
    let scorer = match known.filter(|scorer| scorer.is_for(params, statistics)) {
        Some(scorer) => scorer,
        None => Scorer::new(params, statistics)?,
    };
    if scratch.lookup_cache.restore_if_same(segments, items) {
        std::mem::swap(&mut scratch.found, &mut scratch.lookup_cache.found);
    } else {
        look_up(segments, items, &mut scratch.found)?;
    }
    let weights: Vec<f32> = term_weights(segments, statistics, items, &scratch.found);
    let scale = Scale::from_weights(weights.iter().copied());
    let is_counted = options
        .postings_max
        .map(|most| within_budget(segments, items, &scratch.found, &weights, most));
    let is_counted = is_counted.as_deref();
    let is_left_out = |(&is_counted, &weight): (&bool, &f32)| !is_counted && weight > 0.0;
    scratch.skipped_terms = is_counted.map_or(0, |is_counted| {
        let all = is_counted.iter().zip(&weights);
        all.filter(|&item| is_left_out(item)).count()
    });
    let TextScratch {
        sums,
        candidates: near,
        blocks,
        found,
        top,
        ..
    } = scratch;
    top.reset(k);
    for (i, placed) in segments.iter().enumerate() {
        let found = &found[i * items.len()..][..items.len()];
        if k == 0 {
            continue;
        }
        let reader = placed.reader;
        let present = items.iter().zip(found).zip(&weights).enumerate();
        let present = present.filter(|&(at, _)| is_counted.is_none_or(|is_counted| is_counted[at]));
        let present = present.filter_map(|(_, ((item, found), &weight))| {
            let source = match item {
                ScoringItem::Term(..) => {
                    let term = (*found)?;
                    PostingsSource::List(reader.list(term), (term.tf_max, term.code_min))
                }
                ScoringItem::Matches(matched, _) => PostingsSource::Matches(matched.in_segment(i)),
            };
            Some((source, scale.weight(weight)))
        });
        SegmentSearch {
            placed,
            filter,
            scorer: &scorer,
            sums,
            is_clear: false,
            candidates: near,
            blocks,
            top,
        }
        .search(present)?;
    }
    scratch.scorer = Some(scorer);
    let mut hits = scratch.top.drain();
    for hit in &mut hits {
        hit.score = scale.score_from_points(hit.score);
    }
    Ok(hits)
}

/// Which items are counted so that no more than `postings_max` postings are read.
fn within_budget<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    items: &[ScoringItem<'_>],
    found: &[Option<Term>],
    weights: &[f32],
    postings_max: u64,
) -> Vec<bool> {
    let cost = |item: usize| -> u64 {
        let of_segment = |(i, placed): (usize, &SegmentReader<'_, TextReader<B>>)| match items[item]
        {
            ScoringItem::Matches(matched, _) => matched.in_segment(i).len() as u64,
            ScoringItem::Term(..) => {
                let term = found[i * items.len() + item];
                term.map_or(0, |term| placed.reader.postings_cost(term))
            }
        };
        segments.iter().enumerate().map(of_segment).sum()
    };
    let mut by_weight: Vec<usize> = (0..items.len()).collect();
    by_weight.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    let (mut is_counted, mut spent) = (vec![false; items.len()], 0u64);
    for item in by_weight {
        let with = spent.saturating_add(cost(item));
        if spent == 0 || with <= postings_max {
            (is_counted[item], spent) = (true, with);
        }
    }
    is_counted
}

/// Refuses sections that speak of chunks beyond their segment: their ordinals would be those of others.
pub(super) fn check<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
) -> Result<(), TextError> {
    let fits =
        |placed: &SegmentReader<'_, TextReader<B>>| placed.reader.local_end() <= placed.chunk_count;
    if segments.iter().all(fits) {
        Ok(())
    } else {
        Err(TextError::Malformed(
            "it speaks of more chunks than its segment has",
        ))
    }
}

/// Every distinct term in the order of its first occurrence, with its weight: idf in the view ×
/// occurrences in `terms`. What [`Scorer::score_chunk`] takes.
///
/// # Errors
/// [`TextError::Malformed`].
pub fn weights<'t, B: AsRef<[u8]>, S: AsRef<str>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &'t [S],
) -> Result<Vec<(&'t str, f32)>, TextError> {
    weights_with_scratch(segments, terms, &mut TextScratch::default())
}

/// [`weights`]; the next search for the same terms in the same segments with this scratch looks nothing up again.
/// [`TextScratch::clear_lookups`] is to be called before.
///
/// # Errors
/// [`TextError::Malformed`].
pub fn weights_with_scratch<'t, B: AsRef<[u8]>, S: AsRef<str>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &'t [S],
    scratch: &mut TextScratch,
) -> Result<Vec<(&'t str, f32)>, TextError> {
    let items: Vec<ScoringItem<'_>> = distinct_terms(terms)
        .into_iter()
        .map(|(term, occurrences, _)| ScoringItem::Term(term, occurrences as f32, None))
        .collect();
    look_up(segments, &items, &mut scratch.found)?;
    let weights = term_weights(segments, statistics(segments), &items, &scratch.found);
    let TextScratch {
        lookup_cache: looked_up,
        found,
        ..
    } = scratch;
    looked_up.store(segments, &items, found);
    let terms = items.iter().filter_map(ScoringItem::term);
    Ok(terms.zip(weights).collect())
}
