//! What a search needs of the question: its vector, its terms, and the concepts that it names.
//!
//! Start reading at [`AnalysedQuestion`].

use std::collections::HashSet;

use foldhash::fast::FixedState;
use loci_graph::{EntityLink, GraphSnapshot, MatchKind};
use loci_index::analysis::Analyzer;
use loci_index::text::{self, TextScratch};
use loci_storage::ConceptId;
use loci_storage::segment::{Layer, Section};
use loci_types::search::{SearchRequest, Strategy};

use super::execution::{Execution, Scratch};
use crate::error::QueryError;
use crate::plan::{Plan, query_concepts};
use crate::view::ReadView;

/// Words of a question that are searched; the rest of a longer one is left out.
const QUESTION_TERMS_MAX: usize = 1024;
/// Bytes of a question that are linked to concepts.
const LINKED_LEN_MAX: usize = 8 << 10;

/// The question as the arms need it.
#[derive(Default)]
pub(super) struct AnalysedQuestion {
    pub(super) terms: Vec<String>,
    /// The number of the word that each term is of.
    pub(super) word_positions: Vec<u32>,
    pub(super) links: Vec<EntityLink>,
    /// Concepts that it does not name but is near to, where it names none.
    pub(super) near_links: Vec<EntityLink>,
    /// The share of the terms that the concepts cover, by weight; 1 where the request gives another start.
    pub(super) coverage: f32,
}

impl AnalysedQuestion {
    /// The terms of the first `count` words, each with its place, ascending.
    pub(super) fn first_words(&self, count: usize) -> Vec<(u32, &str)> {
        let terms = self.terms.iter().map(String::as_str);
        let mut words: Vec<(u32, &str)> = self.word_positions.iter().copied().zip(terms).collect();
        words.sort_unstable();
        let end = words
            .first()
            .map_or(0, |&(first, _)| first.saturating_add(count as u32));
        words.truncate(words.partition_point(|&(place, _)| place < end));
        words
    }

    /// The question's concepts: those that it names, else those that it is near to.
    pub(super) fn concepts(&self) -> &[EntityLink] {
        if self.links.is_empty() {
            &self.near_links
        } else {
            &self.links
        }
    }
}

impl Execution<'_, '_> {
    /// Makes the question's vector. Where that fails, the other arms answer, and the answer is partial.
    pub(super) fn embed(&mut self) -> Result<(), QueryError> {
        let (plan, view) = (self.plan, self.arms.view);
        let work = || match view.embed(&plan.request.question) {
            Err(error) if plan.strategy == Strategy::Vector => Err(QueryError::Embed(error)),
            embedded => Ok(embedded),
        };
        let count = |embedded: &Result<Option<_>, _>| usize::from(matches!(embedded, Ok(Some(_))));
        self.embedded = self.arms.trace.step("embed", work, count)?;
        Ok(())
    }

    pub(super) fn analyse(&mut self, link: bool) -> Result<(), QueryError> {
        let (plan, graph, view) = (self.plan, self.graph, self.arms.view);
        let Scratch { analyzer, text, .. } = &mut *self.scratch;
        let work = || {
            let mut analysed = AnalysedQuestion::default();
            let terms_max = QUESTION_TERMS_MAX * analyzer.languages().iter().count();
            analyzer.for_each_token(&plan.request.question, |token| {
                if analysed.terms.len() < terms_max {
                    analysed.terms.push(token.term.to_owned());
                    analysed.word_positions.push(token.position);
                }
            });
            if link && plan.request.seeds.question {
                analysed.links = link_concepts(graph, &plan.request);
            }
            let seeds = &plan.request.seeds;
            let starts_from_hits = seeds.hits > 0 && analysed.links.is_empty();
            analysed.coverage = if seeds.concepts.is_empty() && !starts_from_hits {
                concept_coverage(view, &analysed, analyzer, text)?
            } else {
                1.0
            };
            Ok(analysed)
        };
        self.question = self
            .arms
            .trace
            .step("analyse", work, |analysed| analysed.terms.len())?;
        Ok(())
    }
}

/// The question's vector: the caller's, else the embedder's.
pub(super) fn question_vector<'q>(
    plan: &'q Plan,
    embedded: &'q Result<Option<Vec<f32>>, String>,
) -> Option<&'q [f32]> {
    let embedded = || embedded.as_ref().ok()?.as_deref();
    plan.request.vector.as_deref().or_else(embedded)
}

/// The concepts that the question names: those named as a whole before those named in part.
fn link_concepts(graph: GraphSnapshot<'_, Section>, request: &SearchRequest) -> Vec<EntityLink> {
    let mut end = request.question.len().min(LINKED_LEN_MAX);
    while !request.question.is_char_boundary(end) {
        end -= 1;
    }
    let mut links = graph.link_question(&request.question[..end]);
    links.sort_by_key(|link| (link.match_kind == MatchKind::Part, link.concept));
    let mut known: HashSet<ConceptId, FixedState> = HashSet::default();
    links.retain(|link| known.insert(link.concept));
    links.truncate(query_concepts(request));
    links
}

/// The share of the question's terms, by their weight in BM25, that are in the names of its concepts. Terms that
/// no chunk has count for nothing.
fn concept_coverage(
    view: &ReadView,
    analysed: &AnalysedQuestion,
    analyzer: &mut Analyzer,
    scratch: &mut TextScratch,
) -> Result<f32, QueryError> {
    if analysed.links.is_empty() {
        return Ok(0.0);
    }
    let mut named: HashSet<String, FixedState> = HashSet::default();
    for link in &analysed.links {
        analyzer.for_each_token(&link.name, |token| {
            named.insert(token.term.to_owned());
        });
    }
    let (mut all, mut covered) = (0.0, 0.0);
    for (term, weight) in
        text::weights_with_scratch(&view.text(Layer::Leaves), &analysed.terms, scratch)?
    {
        all += weight;
        if named.contains(term) {
            covered += weight;
        }
    }
    Ok(if all > 0.0 { covered / all } else { 0.0 })
}
