//! A plan while it runs: its operators in turn, then the answer.
//!
//! Start reading at [`run`], then [`Execution::step`].

use loci_graph::{GraphSnapshot, ReachedConcept};
use loci_index::analysis::Analyzer;
use loci_index::text::{TextQuery, TextScratch};
use loci_index::vector::VectorScratch;
use loci_storage::ScoredChunk;
use loci_storage::segment::Section;
use loci_types::answer::{Answer, CommunityHit, Context, PartialReason, RelationHit};
use loci_types::search::Strategy;
use roaring::RoaringBitmap;

use super::arms::{ArmContext, GraphHits};
use super::fetch::{ConceptNames, FetchedHit, RowFetcher, context, path_to};
use super::highlights::{highlight, suggestions};
use super::partial::{no_vector, partial_reasons};
use super::question::{AnalysedQuestion, question_vector};
use super::rerank::QUOTED_MAX;
use super::trace::Trace;
use crate::error::QueryError;
use crate::plan::{Extent, Operator, Plan};
use crate::ranking::fuse::{Accumulator, Arms, Fused, Fusion, differ_in_graph_alone};
use crate::ranking::rank;
use crate::tokens::TokenCounter;
use crate::view::ReadView;
use crate::view::community::CommunityDigest;

/// Tokens of the parent of a hit, where the request has no budget.
const CLIMB_TOKENS: usize = 4000;

pub(super) struct Scratch {
    pub(super) analyzer: Analyzer,
    pub(super) text: TextScratch,
    pub(super) vector: VectorScratch,
    pub(super) fused: Accumulator,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            analyzer: Analyzer::for_queries(),
            text: TextScratch::default(),
            vector: VectorScratch::default(),
            fused: Accumulator::default(),
        }
    }
}

pub(super) fn run(
    view: &ReadView,
    plan: &Plan,
    trace: Trace,
    counter: TokenCounter<'_>,
    scratch: &mut Scratch,
) -> Result<Answer, QueryError> {
    scratch.analyzer.set_languages(view.languages());
    scratch.text.clear_lookups();
    let segments = view.graph_segments();
    let text_query = if plan.request.syntax && plan.strategy == Strategy::Text {
        Some(TextQuery::parse(&plan.request.question)?)
    } else {
        None
    };
    let mut execution = Execution {
        plan,
        counter,
        arms: ArmContext::new(view, trace),
        graph: view.graph(&segments),
        scratch,
        text_query,
        embedded: Ok(None),
        question: AnalysedQuestion::default(),
        lists: ArmLists::default(),
        fused: Vec::new(),
        selected: Vec::new(),
        selection_count: 0,
        stage_ranges: Vec::new(),
        extras: AnswerExtras::default(),
        fetched: Vec::new(),
        context: None,
    };
    for (at, operator) in plan.operators.iter().enumerate() {
        execution.step(operator, &plan.operators[at + 1..])?;
    }
    execution.finish()
}

/// How many hits of a fusion the operators after it look at: all, unless they only quote and take.
fn hits_needed(rest: &[Operator]) -> usize {
    match rest {
        [Operator::Take { k }, ..] => *k,
        [Operator::Quote, Operator::Take { k }, ..] => QUOTED_MAX.max(*k),
        _ => usize::MAX,
    }
}

/// What the arms found since the last fusion.
#[derive(Default)]
pub(super) struct ArmLists {
    pub(super) text: Vec<ScoredChunk>,
    pub(super) vector: Vec<ScoredChunk>,
    pub(super) graph: GraphHits,
    /// The rule by which the accumulator holds text and vector fused already, where it does.
    pub(super) fused_by: Option<Fusion>,
}

impl ArmLists {
    pub(super) fn arms(&self) -> Arms<'_> {
        Arms {
            text: &self.text,
            vector: &self.vector,
            graph: &self.graph.chunks,
        }
    }
}

/// What an answer has beside its hits.
#[derive(Default)]
pub(super) struct AnswerExtras {
    pub(super) reached: Vec<ReachedConcept>,
    pub(super) relations: Vec<RelationHit>,
    pub(super) communities: Vec<CommunityDigest>,
    /// Damage that something was left out for.
    pub(super) damaged: Vec<PartialReason>,
}

/// A plan while it runs.
pub(super) struct Execution<'e, 'v> {
    pub(super) plan: &'e Plan,
    pub(super) counter: TokenCounter<'e>,
    pub(super) arms: ArmContext<'v>,
    pub(super) graph: GraphSnapshot<'v, Section>,
    pub(super) scratch: &'e mut Scratch,
    /// The question in the language of text questions, where it is.
    pub(super) text_query: Option<TextQuery>,
    /// The question's vector where the embedder makes it, or the message of its failure.
    pub(super) embedded: Result<Option<Vec<f32>>, String>,
    pub(super) question: AnalysedQuestion,
    pub(super) lists: ArmLists,
    pub(super) fused: Vec<Fused>,
    pub(super) selected: Vec<Fused>,
    /// How often hits were taken.
    pub(super) selection_count: usize,
    /// Documents or sections that the current stage selects, best first.
    pub(super) stage_ranges: Vec<(u32, u32)>,
    pub(super) extras: AnswerExtras,
    pub(super) fetched: Vec<FetchedHit>,
    pub(super) context: Option<Context>,
}

impl Execution<'_, '_> {
    /// Runs one operator; `rest` come after it.
    fn step(&mut self, operator: &Operator, rest: &[Operator]) -> Result<(), QueryError> {
        let request = &self.plan.request;
        match operator {
            Operator::Embed => self.embed(),
            Operator::Analyse { link } => self.analyse(*link),
            Operator::Filter => self.arms.filter(request.filter.as_ref()),
            Operator::Within {
                levels,
                around,
                others,
            } => self.arms.restrict_to_levels(levels, *around, *others),
            Operator::Text { k } => {
                self.lists.text = self.text(*k)?;
                self.lists.fused_by = None;
                Ok(())
            }
            Operator::Vector { k } => {
                self.lists.vector = self.vector(*k)?;
                self.lists.fused_by = None;
                Ok(())
            }
            Operator::Near {
                k,
                similarity_min,
                chunks,
            } => self.find_near_concepts((*k, *similarity_min), *chunks),
            Operator::Graph { .. } => self.walk(operator),
            Operator::Fuse { fusion } => {
                let fusion = self.fusion_for_question(*fusion);
                let count = hits_needed(rest);
                let (lists, accumulator) = (&self.lists, &mut self.scratch.fused);
                let fuse = || {
                    let fused_by = lists.fused_by;
                    let best = if fused_by.is_some_and(|by| differ_in_graph_alone(by, fusion)) {
                        accumulator.fuse_graph(&fusion, lists.arms(), count)
                    } else {
                        accumulator.fuse_best(&fusion, lists.arms(), count)
                    };
                    Ok((best.to_vec(), accumulator.len()))
                };
                (self.fused, _) = self.arms.trace.step("fuse", fuse, |(_, all)| *all)?;
                self.lists = ArmLists::default();
                Ok(())
            }
            Operator::Narrow { to, keep, more } => self.narrow(*to, *keep, *more),
            Operator::Communities { keep, all } => self.communities(*keep, *all),
            Operator::Rank { rerank, intent, k } => self.rank(rerank, *intent, *k),
            Operator::Quote => self.quote(),
            Operator::Diversify { weight, k } => self.diversify(*weight, *k),
            Operator::Take { k } => {
                self.fused.truncate(*k);
                self.selected.append(&mut self.fused);
                self.selection_count += 1;
                Ok(())
            }
            Operator::Fetch => self.fetch(),
            Operator::Assemble { tokens } => {
                let (cited, counter) = (&self.fetched, self.counter);
                let assemble = || Ok(context(cited, *tokens, counter));
                let sections = |context: &Context| context.sections.len();
                self.context = Some(self.arms.trace.step("assemble", assemble, sections)?);
                Ok(())
            }
        }
    }

    /// The rule for this question, whose concepts may cover only a part of it.
    fn fusion_for_question(&self, fusion: Fusion) -> Fusion {
        match fusion {
            Fusion::Mixture(mixture) if self.plan.strategy != Strategy::Graph => {
                Fusion::Mixture(mixture.covered(self.question.coverage))
            }
            fusion => fusion,
        }
    }

    fn text(&mut self, k: usize) -> Result<Vec<ScoredChunk>, QueryError> {
        let effort = self.plan.request.effort;
        let Scratch { analyzer, text, .. } = &mut *self.scratch;
        if let Some(text_query) = &self.text_query {
            match self.arms.text_query(text_query, k, effort, analyzer, text) {
                // It was for the planner to choose: what is too long for a phrase is searched for by words.
                Err(QueryError::Question(_)) if self.plan.request.strategy == Strategy::Auto => {}
                found => return found,
            }
        }
        self.text_query = None;
        let AnalysedQuestion {
            terms,
            word_positions: words,
            ..
        } = &self.question;
        self.arms.text((terms, words), k, effort, text)
    }

    fn vector(&mut self, k: usize) -> Result<Vec<ScoredChunk>, QueryError> {
        let effort = self.plan.request.effort;
        match question_vector(self.plan, &self.embedded) {
            Some(query) => self.arms.vector(query, k, effort, &mut self.scratch.vector),
            None if self.plan.strategy == Strategy::Vector => no_vector(self.arms.view),
            None => Ok(Vec::new()),
        }
    }

    /// Restricts the search to the documents or sections of the best so far; a stage that found nothing restricts nothing.
    fn narrow(&mut self, to: Extent, keep: usize, more: bool) -> Result<(), QueryError> {
        let (run, ranges, found) = (
            &mut self.arms,
            &mut self.stage_ranges,
            std::mem::take(&mut self.fused),
        );
        let view = run.view;
        let work = || {
            for hit in found {
                if ranges.len() == keep {
                    break;
                }
                let range = view.enclosing_range(hit.ordinal, to);
                ranges.extend(range.filter(|range| !ranges.contains(range)));
            }
            let mut chunks = RoaringBitmap::new();
            for &(start, end) in &*ranges {
                chunks.insert_range(start..end);
            }
            Ok((ranges.len(), chunks))
        };
        let (_, chunks) = run.trace.step("narrow", work, |narrowed| narrowed.0)?;
        run.trace.detail(format!("{}s", to.name()));
        if more {
            run.exclude(chunks)
        } else {
            run.restrict_to_chunks(chunks);
            ranges.clear();
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), QueryError> {
        if self.selection_count > 1 {
            rank::sort(&mut self.selected);
        }
        let (plan, graph, view, counter) = (self.plan, self.graph, self.arms.view, self.counter);
        let (selected, reached) = (&self.selected, &self.extras.reached);
        let work = || {
            let mut fetch = RowFetcher::new(view, counter);
            let mut names = ConceptNames::new(view);
            let budget = plan.request.context_tokens.unwrap_or(CLIMB_TOKENS);
            let mut cited = Vec::with_capacity(selected.len());
            let mut damaged = Vec::new();
            for found in selected {
                let path = match found.graph {
                    Some(_) if plan.request.concepts => {
                        names.all(path_to(graph, reached, found.ordinal))?
                    }
                    _ => Vec::new(),
                };
                let mut hit = match fetch.hit(found, plan.request.climb, budget, path) {
                    Err(error) if error.is_row_damage() => {
                        damaged.push(PartialReason::DamagedHit(error.to_string()));
                        continue;
                    }
                    hit => hit?,
                };
                hit.hit.rank = cited.len() as u32 + 1;
                cited.push(hit);
            }
            damaged.extend(names.damaged());
            Ok((cited, damaged))
        };
        let count = |found: &(Vec<FetchedHit>, Vec<PartialReason>)| found.0.len();
        let (cited, damaged) = self.arms.trace.step("fetch", work, count)?;
        self.fetched = cited;
        self.extras.damaged.extend(damaged);
        if plan.request.concepts && !reached.is_empty() {
            let mut names = ConceptNames::new(view);
            let work = || Ok(names.relations(graph, reached)?);
            let count = |relations: &Vec<RelationHit>| relations.len();
            self.extras.relations = self.arms.trace.step("relations", work, count)?;
            self.extras.damaged.extend(names.damaged());
        }
        Ok(())
    }

    /// The answer, once all operators have run.
    fn finish(mut self) -> Result<Answer, QueryError> {
        let (plan, view) = (self.plan, self.arms.view);
        let request = &plan.request;
        let text_query = match self.text_query.take() {
            Some(text_query) => text_query,
            None => TextQuery::words(&request.question),
        };
        if request.highlights {
            highlight(&mut self.fetched, &text_query, &mut self.scratch.analyzer);
            self.scratch.analyzer.set_languages(view.languages());
        }
        let analyzer = &mut self.scratch.analyzer;
        let did_you_mean = if request.syntax && plan.strategy == Strategy::Text {
            suggestions(
                self.arms.unknown(&text_query, analyzer)?,
                &RowFetcher::new(view, self.counter),
                analyzer,
            )?
        } else {
            Vec::new()
        };
        let mut names = ConceptNames::new(view);
        let concepts = if request.concepts {
            names.concepts(self.question.concepts())?
        } else {
            Vec::new()
        };
        self.extras.damaged.extend(names.damaged());
        let communities = self.extras.communities.into_iter();
        let has_vector = question_vector(plan, &self.embedded).is_some();
        let mut partial = partial_reasons(view, plan, has_vector, self.arms.words_skipped);
        partial.extend(self.extras.damaged);
        if let Err(error) = self.embedded {
            partial.retain(|reason| !reason.is_about_vectors());
            partial.push(PartialReason::EmbedderFailed(error));
        }
        self.arms.trace.record("answer", self.fetched.len());
        Ok(Answer {
            question: request.question.clone(),
            strategy: plan.strategy.name().into(),
            why: plan.why.clone(),
            intent: plan.intent,
            snapshot: view.snapshot().generation(),
            hits: self.fetched.into_iter().map(|cited| cited.hit).collect(),
            did_you_mean,
            concepts,
            relations: self.extras.relations,
            communities: communities.map(CommunityHit::from).collect(),
            context: self.context,
            partial,
            explain: request.explain.then_some(self.arms.trace.steps),
            plan: request.explain.then(|| plan.operators.clone()),
            ..Answer::default()
        })
    }
}
