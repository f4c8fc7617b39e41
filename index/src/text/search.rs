//! The best chunks for a bag of terms.
//!
//! A window of 65,536 chunks at a time: rare terms are added up chunk by chunk, then [`select`](super::select)
//! adds the frequent ones where that can matter. Points are whole numbers, so a chunk's score does not
//! depend on the way, and ties are broken by ordinal alone.

use std::collections::HashMap;

use loci_storage::{LocalOrdinal, ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;

use super::bm25::{Scale, gain, points, points_or_zero};
use super::maxscore::{MaxScore, RarePart};
use super::read::{List, Term, TextReader, Window, Windows};
use super::select::{self, Blocks, RowPart, Select, threshold_points};
use super::{Bm25, POSTING_LEN, Scorer, Statistics, TextError, WINDOW_LEN};
use crate::analysis::{LanguageCounts, Languages};
use crate::kernels::Level;
use crate::top::Top;

/// Of chunks that a filter allows, one in so many or fewer are looked at one by one.
const NARROW_FILTER_DIVISOR: u64 = 32;

/// Terms that are told apart by comparing them with each other.
const LINEAR_SCAN_MAX: usize = 24;

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

/// What [`weights_for`] found in dictionaries, for the search that comes next.
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

    /// Forgets what [`weights_for`] found: to be called before each question, as another view may lie where that of the
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
    pub(super) fn in_segment(&self, segment: usize) -> &[(u32, u8)] {
        self.chunks.get(segment).map_or(&[], Vec::as_slice)
    }

    pub(super) fn df(&self) -> u64 {
        self.df
    }
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

/// What is counted, with how often: terms are distinct.
#[derive(Clone, Copy)]
enum ScoringItem<'a> {
    /// With the number of the word that it is of, if that is known.
    Term(&'a str, f32, Option<u32>),
    Matches(&'a MatchedChunks, f32),
}

impl<'a> ScoringItem<'a> {
    fn term(&self) -> Option<&'a str> {
        match *self {
            ScoringItem::Term(term, ..) => Some(term),
            ScoringItem::Matches(..) => None,
        }
    }
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

/// One segment of a search. Scores in `top` are points.
struct SegmentSearch<'a, 'b, B> {
    placed: &'a SegmentReader<'b, TextReader<B>>,
    filter: Option<&'a RoaringBitmap>,
    scorer: &'a Scorer,
    sums: &'a mut Vec<u32>,
    /// Whether all of them are 0.
    is_clear: bool,
    candidates: &'a mut Vec<u16>,
    blocks: &'a mut Blocks,
    top: &'a mut Top,
}

/// Where the chunks of something that is counted stand.
enum PostingsSource<'a> {
    /// With the greatest tf and the least length code.
    List(List<'a>, (u8, u8)),
    Matches(&'a [(u32, u8)]),
}

/// A rare term, window by window.
struct RareTerm<'a> {
    windows: Windows<'a>,
    next: Option<Window<'a>>,
    weight: f32,
    /// Points that it adds to a chunk at most.
    max: u32,
}

impl<B: AsRef<[u8]>> SegmentSearch<'_, '_, B> {
    fn search<'s>(
        &mut self,
        sources: impl Iterator<Item = (PostingsSource<'s>, f32)>,
    ) -> Result<(), TextError> {
        let (mut rare, mut rows, mut matched) = (Vec::new(), Vec::new(), Vec::new());
        for (source, weight) in sources {
            match source {
                PostingsSource::Matches(chunks) => matched.push((chunks, weight)),
                PostingsSource::List(List::Row(row), _) => {
                    let gains = row.bounds().map(|(tf, code)| self.scorer.gain(tf, code));
                    let max = points_max(weight, gains.fold(0.0, f32::max));
                    rows.push((row, weight, max));
                }
                PostingsSource::List(List::Windows(mut windows), (tf_max, code_min)) => {
                    let next = windows.next().transpose()?;
                    rare.push(RareTerm {
                        windows,
                        next,
                        weight,
                        max: points_max(weight, self.scorer.gain(tf_max.max(1), code_min)),
                    });
                }
            }
        }
        rows.sort_by_key(|&(_, _, max)| std::cmp::Reverse(max));
        let rows_max = rows.iter().map(|&(_, _, max)| max);
        let rows_max = rows_max.fold(0, u32::saturating_add);
        let width = self.placed.reader.lengths().len();
        let (mut parts, mut rare_parts) = (Vec::with_capacity(rows.len()), Vec::new());
        for start in (0..width).step_by(WINDOW_LEN) {
            let end = (start + WINDOW_LEN).min(width);
            parts.clear();
            for &(row, weight, max) in &rows {
                let tfs = row.tfs.get(start..end).unwrap_or_default();
                parts.push(RowPart { tfs, weight, max });
            }
            if matched.is_empty()
                && self.try_maxscore(&mut rare, &mut rare_parts, &parts, start, end)?
            {
                continue;
            }
            self.is_clear = false;
            let mut is_touched = self.add_rare(&mut rare, start, end)?;
            is_touched |= self.add_matches(&mut matched, start, end);
            if !is_touched && rows.is_empty() {
                continue;
            }
            self.collect(start, end, &parts, rows_max);
        }
        Ok(())
    }

    /// Offers the chunks of a window that may be among the best, where that is possible without adding up
    /// all that it has; whether it was.
    fn try_maxscore<'r>(
        &mut self,
        rare: &mut [RareTerm<'r>],
        parts: &mut Vec<RarePart<'r>>,
        rows: &[RowPart<'_>],
        start: usize,
        end: usize,
    ) -> Result<bool, TextError> {
        let threshold = self.top.threshold().map_or(0, threshold_points);
        if threshold == 0 || self.is_narrow(start, end) {
            return Ok(false);
        }
        let here = rare.iter().filter_map(|term| {
            let window = term.next.filter(|window| window.first as usize == start)?;
            Some(RarePart {
                window,
                weight: term.weight,
                max: term.max,
            })
        });
        parts.clear();
        parts.extend(here);
        parts.sort_unstable_by_key(|part| part.max);
        let lengths = &self.placed.reader.lengths()[start..end];
        let Some(skim) = MaxScore::new(parts, rows, lengths, self.scorer, threshold) else {
            return Ok(false);
        };
        if !std::mem::replace(&mut self.is_clear, true) {
            self.sums.clear();
        }
        self.sums.resize(end - start, 0);
        let (placed, filter, top) = (self.placed, self.filter, &mut *self.top);
        let mut offer = |local, points| offer(placed, filter, top, start + local, points);
        let offer = |local, points| threshold_points(offer(local, points));
        skim.run(self.sums, self.candidates, threshold, offer)?;
        for term in rare {
            if term
                .next
                .is_some_and(|window| window.first as usize == start)
            {
                term.next = term.windows.next().transpose()?;
            }
        }
        Ok(true)
    }

    /// Whether the filter allows so few chunks of a window that they are looked at one by one.
    fn is_narrow(&self, start: usize, end: usize) -> bool {
        let Some(filter) = self.filter else {
            return false;
        };
        let base = self.placed.base.0;
        let last = base.saturating_add((end as u32).min(self.placed.reader.local_end()));
        let allowed = filter.range_cardinality(base + start as u32..last);
        allowed * NARROW_FILTER_DIVISOR <= (end - start) as u64
    }

    /// Sums the points of rare terms in the window of locals `start..end`; whether there are any.
    fn add_rare(
        &mut self,
        rare: &mut [RareTerm<'_>],
        start: usize,
        end: usize,
    ) -> Result<bool, TextError> {
        self.sums.clear();
        self.sums.resize(end - start, 0);
        let mut is_touched = false;
        for term in rare {
            let is_here = |window: &&mut Window<'_>| window.first as usize == start;
            if let Some(window) = term.next.as_mut().filter(is_here) {
                is_touched = true;
                add(window, term.weight, self.scorer, self.sums)?;
                term.next = term.windows.next().transpose()?;
            }
        }
        Ok(is_touched)
    }

    /// Adds the points of chunks that were made; whether there are any.
    fn add_matches(
        &mut self,
        matched: &mut [(&[(u32, u8)], f32)],
        start: usize,
        end: usize,
    ) -> bool {
        let lengths = self.placed.reader.lengths();
        let mut is_touched = false;
        for (chunks, weight) in matched {
            while let Some((&(local, tf), rest)) = chunks.split_first() {
                let local = local as usize;
                if local >= end {
                    break;
                }
                *chunks = rest;
                is_touched = true;
                let norm = self.scorer.norm(f32::from_le_bytes(lengths[local]));
                let points = points(*weight, gain(f32::from(tf), norm));
                let sum = &mut self.sums[local - start];
                *sum = sum.wrapping_add(points);
            }
        }
        is_touched
    }

    /// Offers the chunks of a window that may be found.
    fn collect(&mut self, start: usize, end: usize, rows: &[RowPart<'_>], rows_max: u32) {
        let placed = self.placed;
        let first = placed.base.0 + start as u32;
        let last = placed
            .base
            .0
            .saturating_add((end as u32).min(placed.reader.local_end()));
        if let Some(filter) = self.filter
            && self.is_narrow(start, end)
        {
            return self.collect_few(filter, first..last, start, rows);
        }
        let (filter, top) = (self.filter, &mut *self.top);
        let threshold = top.threshold().unwrap_or(0.0);
        let mut offer =
            |local: usize, points: u32| offer(placed, filter, top, start + local, points);
        let window = select::Window {
            sums: self.sums,
            lengths: &placed.reader.lengths()[start..end],
            rows,
            scorer: self.scorer,
        };
        let select = Select::new(window, rows_max, threshold, self.blocks, &mut offer);
        Level::detect().run(select);
    }

    /// Offers the few chunks of a window that the filter allows.
    fn collect_few(
        &mut self,
        filter: &RoaringBitmap,
        ordinals: std::ops::Range<u32>,
        start: usize,
        rows: &[RowPart<'_>],
    ) {
        let lengths = &self.placed.reader.lengths()[start..];
        for ordinal in filter.range(ordinals.clone()) {
            let at = (ordinal - ordinals.start) as usize;
            let (Some(&sum), Some(&length)) = (self.sums.get(at), lengths.get(at)) else {
                return;
            };
            let norm = self.scorer.norm(f32::from_le_bytes(length));
            let of_rows = rows.iter().map(|row| {
                let tf = row.tfs.get(at).copied().unwrap_or(0);
                points_or_zero(row.weight, tf, norm)
            });
            let points = of_rows.fold(sum, u32::wrapping_add);
            let local = LocalOrdinal((start + at) as u32);
            let ordinal = self.placed.ordinal(local);
            let score = points as f32;
            if points > 0 && self.top.admits(score, ordinal) && !self.placed.is_dead(local) {
                self.top.push(score, ordinal);
            }
        }
    }
}

/// Points that a term adds at most, with this gain at most. One more: rounding is not monotone to the last bit.
fn points_max(weight: f32, gain: f32) -> u32 {
    points(weight, gain) + 1
}

/// Keeps a chunk if it is among the best and may be found; the score to reach from then on.
fn offer<B: AsRef<[u8]>>(
    placed: &SegmentReader<'_, TextReader<B>>,
    filter: Option<&RoaringBitmap>,
    top: &mut Top,
    local: usize,
    points: u32,
) -> f32 {
    let local = LocalOrdinal(local as u32);
    if local.0 < placed.reader.local_end() {
        let ordinal = placed.ordinal(local);
        let score = points as f32;
        let may = || filter.is_none_or(|filter| filter.contains(ordinal.0));
        if top.admits(score, ordinal) && may() && !placed.is_dead(local) {
            top.push(score, ordinal);
        }
    }
    top.threshold().unwrap_or(0.0)
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

/// Among which chunks a term is rare or frequent: in a store of several languages, those in its own.
/// Otherwise the stop words of a language that few documents are in would be rare words. And lest those of
/// another language that it quotes are, all terms of a word weigh what the one weighs that most chunks have.
struct LanguageStatistics {
    all: Statistics,
    /// `None` where all chunks are in one language.
    by_language: Option<LanguageCounts>,
}

impl LanguageStatistics {
    fn new<B: AsRef<[u8]>>(
        segments: &[SegmentReader<'_, TextReader<B>>],
        all: Statistics,
    ) -> LanguageStatistics {
        let readers = || segments.iter().map(|placed| placed.reader.languages());
        let languages = readers().fold(Languages::default(), |all, counts| {
            all.union(counts.languages())
        });
        let several = languages.bits().count_ones() > 1;
        let by_language = several.then(|| {
            let mut sum = LanguageCounts::default();
            for counts in readers() {
                for language in counts.languages().iter() {
                    sum.add(language.into(), counts.get(language));
                }
            }
            sum
        });
        LanguageStatistics { all, by_language }
    }

    fn for_term(&self, term: &str) -> Statistics {
        let counts = self.by_language.as_ref();
        let chunk_count = counts.and_then(|counts| counts.chunk_count_for_term(term));
        Statistics {
            chunk_count: chunk_count.map_or(self.all.chunk_count, |n| n.min(self.all.chunk_count)),
            ..self.all
        }
    }
}

/// The statistics that scores over `segments` rest on.
pub fn statistics<B: AsRef<[u8]>>(segments: &[SegmentReader<'_, TextReader<B>>]) -> Statistics {
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
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &'t [S],
) -> Result<Vec<(&'t str, f32)>, TextError> {
    weights_with_scratch(segments, terms, &mut TextScratch::default())
}

/// [`weights`]; the next search for the same terms in the same segments with this scratch looks nothing up again.
/// [`TextScratch::begin`] is to be called before.
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

/// (term, occurrences), in the order of the first.
fn distinct_terms<S: AsRef<str>>(terms: &[S]) -> Vec<(&str, u32, usize)> {
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

/// Fills `found` with the terms of `items` in each segment; `None` for what is no term.
fn look_up<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    items: &[ScoringItem<'_>],
    found: &mut Vec<Option<Term>>,
) -> Result<(), TextError> {
    found.clear();
    for placed in segments {
        let terms = placed.reader.terms()?;
        for item in items {
            let term = item.term().map(|term| terms.get(term));
            found.push(term.transpose()?.flatten());
        }
    }
    Ok(())
}

fn term_weights<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    statistics: Statistics,
    items: &[ScoringItem<'_>],
    found: &[Option<Term>],
) -> Vec<f32> {
    let among = LanguageStatistics::new(segments, statistics);
    let df = |place: usize| -> u64 {
        let in_segments = found.iter().skip(place).step_by(items.len());
        in_segments.flatten().map(|term| u64::from(term.df)).sum()
    };
    // By word, the chunks that have it in the language where most have it, and its idf there.
    let of_words = among.by_language.as_ref().map(|_| {
        let mut of_words: HashMap<u32, (u64, f32)> = HashMap::new();
        for (place, item) in items.iter().enumerate() {
            if let ScoringItem::Term(term, _, Some(word)) = item {
                let df = df(place);
                let idf = term_weight(among.for_term(term), df, 1.0);
                let most = of_words.entry(*word).or_default();
                if df > most.0 || (df == most.0 && idf < most.1) {
                    *most = (df, idf);
                }
            }
        }
        of_words
    });
    let weight = |(place, item): (usize, &ScoringItem<'_>)| match item {
        ScoringItem::Term(term, often, word) => match (df(place), word, &of_words) {
            (0, ..) => 0.0,
            (_, Some(word), Some(of_words)) => of_words[word].1 * often,
            (df, ..) => term_weight(among.for_term(term), df, *often),
        },
        ScoringItem::Matches(matched, often) => term_weight(statistics, matched.df(), *often),
    };
    items.iter().enumerate().map(weight).collect()
}

/// 0 for what no chunk has: it must not make the points of the rest coarse.
fn term_weight(statistics: Statistics, df: u64, often: f32) -> f32 {
    if df == 0 {
        0.0
    } else {
        statistics.idf(df) * often
    }
}

const NO_POSTING: TextError = TextError::Malformed("a posting of no chunk or no occurrence");

/// Adds one term's points to every chunk of a window.
fn add(
    window: &Window<'_>,
    weight: f32,
    scorer: &Scorer,
    sums: &mut [u32],
) -> Result<(), TextError> {
    let (entries, _) = window.entries.as_chunks::<POSTING_LEN>();
    for &[low, high, tf, length_code] in entries {
        let local = u16::from_le_bytes([low, high]);
        let gain = match scorer.gains_for_tf(tf) {
            Some(gains) => gains[usize::from(length_code)],
            None if tf == 0 => return Err(NO_POSTING),
            None => scorer.gain(tf, length_code),
        };
        let sum = sums.get_mut(usize::from(local)).ok_or(NO_POSTING)?;
        *sum = sum.wrapping_add(points(weight, gain));
    }
    Ok(())
}
