//! The operators that reorder fused chunks: by type and weights, by quotation, by diversity.
//!
//! Start reading at [`Execution::rank`]; `crate::ranking::rank` has the rules.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use loci_graph::CitationsSnapshot;
use loci_storage::segment::SkeletonRow;
use loci_storage::{DocumentId, Ordinal};
use loci_types::search::{Intent, Rerank};

use super::execution::Execution;
use super::fetch::RowFetcher;
use crate::error::QueryError;
use crate::plan::quotation::{self, QuotedSentence};
use crate::ranking::fuse::Fused;
use crate::ranking::rank;
use crate::view::ReadView;

/// Hits that are compared with each other for each that is returned.
const COMPARED_PER_HIT: usize = 5;
/// Hits that are compared with each other at most.
const COMPARED_MAX: usize = 500;
/// The best hits that are compared with the question word for word.
pub(super) const QUOTED_MAX: usize = 32;

impl Execution<'_, '_> {
    pub(super) fn rank(
        &mut self,
        rerank: &Rerank,
        intent: Intent,
        k: usize,
    ) -> Result<(), QueryError> {
        let (run, fused) = (&mut self.arms, &mut self.fused);
        let view = run.view;
        let row = |hit: &Fused| skeleton_row(view, hit.ordinal);
        let rank = || {
            let citing = if rerank.cited > 0.0 {
                citing_document_counts(view, fused)?
            } else {
                HashMap::new()
            };
            if rerank.confidence > 0.0 || rerank.citations > 0.0 || rerank.cited > 0.0 {
                let cited = |hit: &Fused| citing.get(&hit.ordinal).copied().unwrap_or_default();
                rank::apply_weights(fused, rerank, row, cited);
            }
            if rerank.types {
                rank::balance_types(fused, intent, k, |hit| Some(row(hit)?.chunk_type));
            }
            Ok(fused.len())
        };
        run.trace.step("rank", rank, |count| *count).map(drop)
    }

    /// Moves those of the best that have the question word for word before all others.
    pub(super) fn quote(&mut self) -> Result<(), QueryError> {
        let Some(quoted) = QuotedSentence::new(&self.plan.request.question) else {
            return Ok(());
        };
        let mut trace = std::mem::take(&mut self.arms.trace);
        let (run, fused, counter) = (&self.arms, &mut self.fused, self.counter);
        let words = self.question.first_words(quotation::WORDS_MAX);
        let work = || {
            let best = &fused[..fused.len().min(QUOTED_MAX)];
            let mut chunks: Vec<Ordinal> = best.iter().map(|hit| hit.ordinal).collect();
            chunks.sort_unstable();
            let places = words.chunk_by(|(a, _), (b, _)| a == b).count();
            let found = run.longest_runs(&words, &chunks, quotation::run_len_min(places))?;
            // Stems may be in a row where words are not: words decide among the few chunks that are left.
            let fetch = RowFetcher::new(run.view, counter);
            let mut runs = vec![0; best.len()];
            for (chunk, _) in chunks.iter().zip(found).filter(|&(_, run)| run > 0) {
                let run = match fetch.get(*chunk) {
                    // It is left out when it is fetched.
                    Err(error) if error.is_row_damage() => 0,
                    fetched => quoted.longest_run_in(&fetched?.chunk.text),
                };
                let hits = best.iter().zip(&mut runs);
                hits.filter(|(hit, _)| hit.ordinal == *chunk)
                    .for_each(|(_, of)| *of = run);
            }
            Ok(rank::promote_quoted(fused, &runs))
        };
        let quoted = trace.step("quote", work, |count| *count);
        self.arms.trace = trace;
        quoted.map(drop)
    }

    /// Selects hits that differ from those before them: by the share of
    /// terms that two have in common. Of many hits, only the first [`COMPARED_MAX`] are compared.
    pub(super) fn diversify(&mut self, weight: f32, k: usize) -> Result<(), QueryError> {
        let compared = k.max(1).saturating_mul(COMPARED_PER_HIT).min(COMPARED_MAX);
        let rest = self.fused.split_off(compared.min(self.fused.len()));
        let (fused, view, counter) = (&self.fused, self.arms.view, self.counter);
        let analyzer = &mut self.scratch.analyzer;
        let work = || {
            let fetch = RowFetcher::new(view, counter);
            let mut known: HashMap<String, u32> = HashMap::new();
            let mut terms: Vec<Vec<u32>> = Vec::with_capacity(fused.len());
            for hit in fused {
                let fetched = match fetch.get(hit.ordinal) {
                    // It is left out when it is fetched.
                    Err(error) if error.is_row_damage() => {
                        terms.push(Vec::new());
                        continue;
                    }
                    fetched => fetched?,
                };
                let mut of_hit = Vec::new();
                analyzer.for_each_token(&fetched.chunk.text, |token| {
                    let next = known.len() as u32;
                    of_hit.push(match known.get(token.term) {
                        Some(&number) => number,
                        None => *known.entry(token.term.to_owned()).or_insert(next),
                    });
                });
                of_hit.sort_unstable();
                of_hit.dedup();
                terms.push(of_hit);
            }
            Ok(rank::maximal_marginal_relevance(
                fused,
                weight,
                k,
                |a, b| rank::jaccard_similarity(&terms[a], &terms[b]),
            ))
        };
        let mut chosen = self.arms.trace.step("diversify", work, |hits| hits.len())?;
        chosen.extend(rest);
        self.fused = chosen;
        Ok(())
    }
}

fn skeleton_row(view: &ReadView, chunk: Ordinal) -> Option<SkeletonRow> {
    let (segment, local) = view.snapshot().locate(chunk)?;
    segment.skeleton.get(local)
}

/// How many other documents cite the document of each hit, where any does.
fn citing_document_counts(
    view: &ReadView,
    hits: &[Fused],
) -> Result<HashMap<Ordinal, usize>, QueryError> {
    let segments = view.citations();
    let citations = CitationsSnapshot {
        segments: &segments,
    };
    let mut of_document: HashMap<DocumentId, usize> = HashMap::new();
    let mut found = HashMap::new();
    for hit in hits {
        let Some(place) = view.snapshot().position(hit.ordinal) else {
            continue;
        };
        let count = match of_document.entry(place.document) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let mut citing = HashSet::new();
                for work in view.snapshot().rows().works_of(place.document)? {
                    let chunks = citations.citing(work).into_iter();
                    let places = chunks.filter_map(|(chunk, _)| view.snapshot().position(chunk));
                    citing.extend(places.map(|place| place.document));
                }
                citing.remove(&place.document);
                *free.insert(citing.len())
            }
        };
        if count > 0 {
            found.insert(hit.ordinal, count);
        }
    }
    Ok(found)
}
