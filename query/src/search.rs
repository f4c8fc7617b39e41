//! A plan run over one view: analyse, filter, arms, fuse, rank, fetch, climb, cite, assemble.
//!
//! Always true: everything in an answer is of one generation; redb is read only for the chunks
//! that are returned, what they bring with them and the concepts that are named.
//!
//! Start reading at [`Searcher::search`], then [`Execution::step`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Instant;

use foldhash::fast::FixedState;
use loci_graph::{CitationsSnapshot, EntityLink, GraphSnapshot, HopOptions, MatchKind, two_hop};
use loci_index::analysis::{Analyzer, Language, untagged};
use loci_index::text::{self, Highlighter, SpellingSuggestion, TextQuery, TextScratch};
use loci_index::vector::VectorScratch;
use loci_storage::segment::{Layer, Section, SkeletonRow};
use loci_storage::staging::indexed_text;
use loci_storage::{ConceptId, DerivedIndex, DocumentId, Ordinal, ScoredChunk};
use parking_lot::Mutex;
use roaring::RoaringBitmap;

use crate::answer::{Answer, CommunityHit, PartialReason, RelationHit, Suggestion};
use crate::arms::{ArmContext, GraphHits, GraphSeeds, Trace};
use crate::community::CommunityDigest;
use crate::concept_similarity::nearest_concepts;
use crate::context::Context;
use crate::digest_search::{
    DigestQuery, chunk_ordinal, concept_digests, global_digests, quoted_chunks,
};
use crate::error::QueryError;
use crate::fetch::{ConceptNames, FetchedHit, RowFetcher, context, path_to};
use crate::fuse::{Accumulator, Arms, Fused, Fusion, Mixture, differ_in_graph_alone};
use crate::intent::Intent;
use crate::plan::{Extent, Operator, Plan, plan, query_concepts};
use crate::quotation::{self, QuotedSentence};
use crate::rank;
use crate::request::{Rerank, SearchRequest, Strategy};
use crate::tokens::{TokenCounter, estimate};
use crate::view::ReadView;

/// Words of a question that are searched; the rest of a longer one is left out.
const QUESTION_TERMS_MAX: usize = 1024;
/// Bytes of a question in which concepts are looked for.
const LINKED_LEN_MAX: usize = 8 << 10;
/// Tokens of what a hit brings with it, where the request has no budget.
const CLIMB_TOKENS: usize = 4000;
/// Hits that are compared with each other for one that is wanted.
const COMPARED_PER_HIT: usize = 5;
/// Hits that are compared with each other at most.
const COMPARED_MAX: usize = 500;
/// The best hits in which the question itself is looked for.
const QUOTED_MAX: usize = 32;

/// Answers questions. Holds scratch that is used again; share one between threads.
pub struct Searcher {
    pool: Mutex<Vec<Scratch>>,
    counter: Box<dyn Fn(&str) -> usize + Send + Sync>,
}

/// One whose budgets are estimates.
impl Default for Searcher {
    fn default() -> Self {
        Searcher::new(Box::new(estimate))
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Searcher")
    }
}

struct Scratch {
    analyzer: Analyzer,
    text: TextScratch,
    vector: VectorScratch,
    fused: Accumulator,
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

impl Searcher {
    /// One whose budgets are in the tokens of `counter`.
    pub fn new(counter: Box<dyn Fn(&str) -> usize + Send + Sync>) -> Searcher {
        Searcher {
            pool: Mutex::default(),
            counter,
        }
    }

    /// What its budgets are counted by.
    pub fn counter(&self) -> TokenCounter<'_> {
        &*self.counter
    }

    /// Answers `request` over `view`: plans, and runs the plan.
    ///
    /// # Errors
    /// [`QueryError::NoVector`] when the vector strategy has no vector, [`QueryError::Embed`] when the embedder cannot
    /// make one for it;
    /// [`QueryError::NoDigests`] when the global one has no digests; [`QueryError::Option`] for a number that is not
    /// where its field says;
    /// [`QueryError::Vector`] for one of another dimension or with a number that is not finite; the other
    /// variants when an index cannot be read.
    pub fn search(&self, view: &ReadView, request: SearchRequest) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let plan = self.plan(view, request)?;
        let mut trace = Trace::new(plan.request.explain, started);
        trace.record("plan", plan.operators.len());
        let mut answer = self.run_traced(view, &plan, trace)?;
        answer.took_us = elapsed_us(started);
        Ok(answer)
    }

    /// What [`Searcher::search`] would do for `request` over `view`.
    ///
    /// # Errors
    /// [`QueryError::Option`] for a number that is not where its field says; [`QueryError::Facets`] when it cannot be
    /// told what the view holds.
    pub fn plan(&self, view: &ReadView, request: SearchRequest) -> Result<Plan, QueryError> {
        request.check()?;
        let names_concepts = |question: &str| {
            let segments = view.graph_segments();
            !view.graph(&segments).link_question(question).is_empty()
        };
        Ok(plan(request, &view.capabilities()?, names_concepts))
    }

    /// Runs `plan` over `view`. The same plan over the same view gives the same answer, but for the times.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn run(&self, view: &ReadView, plan: &Plan) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let trace = Trace::new(plan.request.explain, started);
        let mut answer = self.run_traced(view, plan, trace)?;
        answer.took_us = elapsed_us(started);
        Ok(answer)
    }

    fn run_traced(&self, view: &ReadView, plan: &Plan, trace: Trace) -> Result<Answer, QueryError> {
        let mut scratch = self.pool.lock().pop().unwrap_or_default();
        let answer = run(view, plan, trace, self.counter(), &mut scratch);
        self.pool.lock().push(scratch);
        answer
    }
}

/// Microseconds since `started`, rounded as those of operators are.
fn elapsed_us(started: Instant) -> u64 {
    (started.elapsed().as_nanos() as u64 + 500) / 1000
}

fn run(
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

/// The question as the arms need it.
#[derive(Default)]
struct AnalysedQuestion {
    terms: Vec<String>,
    /// The number of the word that each term is of.
    word_positions: Vec<u32>,
    links: Vec<EntityLink>,
    /// Concepts that it does not name but is near to, where it names none.
    near_links: Vec<EntityLink>,
    /// The share of the terms that the concepts cover, by weight; 1 where the request says where else to start.
    coverage: f32,
}

/// What the arms found since the last fusion.
#[derive(Default)]
struct ArmLists {
    text: Vec<ScoredChunk>,
    vector: Vec<ScoredChunk>,
    graph: GraphHits,
    /// The rule by which the accumulator holds text and vector fused already, where it does.
    fused_by: Option<Fusion>,
}

/// What an answer has beside its hits.
#[derive(Default)]
struct AnswerExtras {
    reached: Vec<loci_graph::ReachedConcept>,
    relations: Vec<RelationHit>,
    communities: Vec<CommunityDigest>,
    /// Damage that something was left out for.
    damaged: Vec<PartialReason>,
}

/// A plan while it runs.
struct Execution<'e, 'v> {
    plan: &'e Plan,
    counter: TokenCounter<'e>,
    arms: ArmContext<'v>,
    graph: GraphSnapshot<'v, Section>,
    scratch: &'e mut Scratch,
    /// The question in the language of text questions, where it is.
    text_query: Option<TextQuery>,
    /// The question's vector where the embedder makes it, or the message of its failure.
    embedded: Result<Option<Vec<f32>>, String>,
    question: AnalysedQuestion,
    lists: ArmLists,
    fused: Vec<Fused>,
    selected: Vec<Fused>,
    /// How often hits were taken.
    selection_count: usize,
    /// Documents or sections that the stage at hand keeps, best first.
    stage_ranges: Vec<(u32, u32)>,
    extras: AnswerExtras,
    fetched: Vec<FetchedHit>,
    context: Option<Context>,
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

    /// Makes the question's vector. Where that fails, the other arms answer, and the answer is partial.
    fn embed(&mut self) -> Result<(), QueryError> {
        let (plan, view) = (self.plan, self.arms.view);
        let work = || match view.embed(&plan.request.question) {
            Err(error) if plan.strategy == Strategy::Vector => Err(QueryError::Embed(error)),
            embedded => Ok(embedded),
        };
        let count = |embedded: &Result<Option<_>, _>| usize::from(matches!(embedded, Ok(Some(_))));
        self.embedded = self.arms.trace.step("embed", work, count)?;
        Ok(())
    }

    fn analyse(&mut self, link: bool) -> Result<(), QueryError> {
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

    /// Takes concepts near to the question for its own, where it names none.
    fn find_near_concepts(
        &mut self,
        limits: (usize, f32),
        chunks: usize,
    ) -> Result<(), QueryError> {
        let question = question_vector(self.plan, &self.embedded);
        // None where the question names some itself.
        let question = question.filter(|_| self.question.links.is_empty());
        let mut trace = std::mem::take(&mut self.arms.trace);
        let (graph, view, effort) = (self.graph, self.arms.view, self.plan.request.effort);
        let (found, run) = (&self.lists.vector, &self.arms);
        let scratch = &mut self.scratch.vector;
        let work = || {
            let Some(question) = question else {
                return Ok(Vec::new());
            };
            let nearest = if found.is_empty() {
                &run.nearest(question, chunks, effort, scratch)?
            } else {
                found
            };
            let nearest = nearest.iter().take(chunks).map(|hit| hit.ordinal);
            Ok(nearest_concepts(view, graph, question, nearest, limits))
        };
        let near = trace.step("near", work, |near| near.len());
        self.arms.trace = trace;
        self.question.near_links = near?;
        Ok(())
    }

    fn walk(&mut self, operator: &Operator) -> Result<(), QueryError> {
        let &Operator::Graph {
            k,
            walk,
            question,
            heads,
            heads_share,
            hops,
            neighbours,
        } = operator
        else {
            return Ok(());
        };
        let request = &self.plan.request;
        let hops = HopOptions {
            hops,
            limit: neighbours,
            with_paths: request.concepts,
            ..HopOptions::default()
        };
        let alone = self.plan.strategy == Strategy::Graph;
        let links = match question {
            true if alone => self.question.concepts(),
            true => &self.question.links[..],
            false => &[],
        };
        let heads = match heads {
            // Without a concept of its own, a question walks from hits only when it is told to.
            0 => Vec::new(),
            _ if request.seeds.hits == 0 && links.is_empty() => Vec::new(),
            heads => {
                let (by, arms) = (self.next_fusion(), self.lists.arms());
                let arms_have_no_graph = arms.graph.is_empty();
                let fused = self.scratch.fused.fuse_best(&by, arms, heads);
                let heads = fused.iter().map(|hit| hit.ordinal).collect();
                self.lists.fused_by = arms_have_no_graph.then_some(by);
                heads
            }
        };
        if links.is_empty() && request.seeds.concepts.is_empty() && heads.is_empty() {
            return self.expand_near_concepts(hops);
        }
        let start = GraphSeeds {
            links,
            concepts: &request.seeds.concepts,
            seed_chunks: &heads,
            seed_chunks_weight: heads_share,
        };
        let needs_concepts = request.concepts;
        let mut found = self
            .arms
            .graph(self.graph, start, (walk, hops), needs_concepts, k)?;
        self.extras.reached = std::mem::take(&mut found.reached);
        self.lists.graph = found;
        Ok(())
    }

    /// What lies around concepts that are near to the question: told, and nothing is ranked by it.
    fn expand_near_concepts(&mut self, hops: HopOptions) -> Result<(), QueryError> {
        let near: Vec<ConceptId> = self
            .question
            .near_links
            .iter()
            .map(|of| of.concept)
            .collect();
        if near.is_empty() || !self.plan.request.concepts {
            return Ok(());
        }
        let graph = self.graph;
        let work = || Ok(two_hop(graph, &near, hops).reached);
        self.extras.reached = self
            .arms
            .trace
            .step("graph", work, |reached| reached.len())?;
        Ok(())
    }

    /// How the lists so far become one, to see which chunks are best.
    fn next_fusion(&self) -> Fusion {
        let fuse = self.plan.operators.iter().rev().find_map(|of| match of {
            Operator::Fuse { fusion } => Some(*fusion),
            _ => None,
        });
        fuse.unwrap_or(Fusion::Mixture(Mixture::default()))
    }

    /// Keeps to the documents or sections of the best so far; a stage that found nothing keeps all.
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

    fn communities(&mut self, keep: usize, all: bool) -> Result<(), QueryError> {
        let (plan, graph, view) = (self.plan, self.graph, self.arms.view);
        let (terms, links) = (&self.question.terms, self.question.concepts());
        let analyzer = &mut self.scratch.analyzer;
        let query = DigestQuery {
            terms,
            vector: question_vector(plan, &self.embedded),
        };
        let work = || {
            if all {
                global_digests(view, query, analyzer, keep)
            } else {
                concept_digests(view, graph, links, keep)
            }
        };
        let digests = self
            .arms
            .trace
            .step("communities", work, |of| of.found.len())?;
        let mut found = digests.found;
        if digests.missing > 0 {
            let reason = PartialReason::DigestSentencesMissing(digests.missing);
            self.extras.damaged.push(reason);
        }
        if plan.request.filter.is_some() {
            // A digest speaks of all chunks; a filter hides what it does not allow here, too.
            for digest in &mut found {
                let mut allowed = Vec::new();
                for quote in digest.sentences.drain(..) {
                    let chunk = chunk_ordinal(view, &quote.chunk)?;
                    if chunk.is_some_and(|chunk| self.arms.allows(chunk)) {
                        allowed.push(quote);
                    }
                }
                digest.sentences = allowed;
            }
            found.retain(|digest| !digest.sentences.is_empty());
        }
        if all {
            let quoted = quoted_chunks(view, &found)?;
            self.fused = self.arms.retain_allowed(quoted);
        }
        self.extras.communities = found;
        Ok(())
    }

    fn rank(&mut self, rerank: &Rerank, intent: Intent, k: usize) -> Result<(), QueryError> {
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
    fn quote(&mut self) -> Result<(), QueryError> {
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
            // Stems may stand in a row where words do not: these decide, of the few chunks that are left.
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

    /// Chooses among the best those that say something else than the ones before them: by the share of
    /// terms that two have in common. Of many hits, only the first [`COMPARED_MAX`] are compared.
    fn diversify(&mut self, weight: f32, k: usize) -> Result<(), QueryError> {
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

impl AnalysedQuestion {
    /// The terms of the first `count` words, each with its place, ascending.
    fn first_words(&self, count: usize) -> Vec<(u32, &str)> {
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
    fn concepts(&self) -> &[EntityLink] {
        if self.links.is_empty() {
            &self.near_links
        } else {
            &self.links
        }
    }
}

impl ArmLists {
    fn arms(&self) -> Arms<'_> {
        Arms {
            text: &self.text,
            vector: &self.vector,
            graph: &self.graph.chunks,
        }
    }
}

/// The question's vector: the caller's, else the embedder's.
fn question_vector<'q>(
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

/// The share of the question's terms, by their weight in BM25, that stand in the names of its concepts. Terms that
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

/// Says which characters of the hits the question asked for.
fn highlight(cited: &mut [FetchedHit], query: &TextQuery, analyzer: &mut Analyzer) {
    let highlighter = Highlighter::new(query, analyzer);
    for cited in cited {
        analyzer.set_languages(cited.language().into());
        let hit = &mut cited.hit;
        let spans = highlighter.spans(&hit.text, analyzer);
        let (mut at, mut chars) = (0, 0u32);
        let mut char_of = |byte: usize| {
            chars += hit.text[at..byte].chars().count() as u32;
            at = byte;
            chars
        };
        let spans = spans.into_iter();
        let spans = spans.map(|span| (char_of(span.start), char_of(span.end)));
        hit.highlights = Some(spans.collect());
    }
}

/// Unknown words with those that they may have meant, as a chunk has them.
fn suggestions(
    unknown: Vec<SpellingSuggestion>,
    fetch: &RowFetcher<'_>,
    analyzer: &mut Analyzer,
) -> Result<Vec<Suggestion>, QueryError> {
    let mut all = Vec::with_capacity(unknown.len());
    for SpellingSuggestion { word, term, chunk } in unknown {
        let Ok(fetched) = fetch.get(chunk) else {
            continue;
        };
        analyzer
            .set_languages(Language::from_declared(fetched.document.language.as_deref()).into());
        let text = indexed_text(&fetched.document, &fetched.chunk);
        let mut written = None;
        analyzer.for_each_token(&text, |token| {
            // Not for a part of a word, which stands for the whole.
            let (word, is_term) = (&text[token.span], token.term == term);
            if written.is_none() && is_term && word.chars().all(char::is_alphabetic) {
                written = Some(word.to_lowercase());
            }
        });
        let meant = written.unwrap_or_else(|| untagged(&term).to_owned());
        all.push(Suggestion { word, meant });
    }
    Ok(all)
}

/// What the vector arm alone answers to a question without a vector: nothing, when the embedder
/// knows none of its words.
fn no_vector(view: &ReadView) -> Result<Vec<ScoredChunk>, QueryError> {
    let snapshot = view.snapshot();
    match snapshot.active_space() {
        None if snapshot.has_lost_index(DerivedIndex::Projection) => Err(QueryError::NoVector(
            "the embedder's projection was damaged and is being fitted again; `loci analyze` does it now",
        )),
        None => Err(QueryError::NoVector("the store has no vector space yet")),
        Some(space) if space.record.builtin => Ok(Vec::new()),
        Some(_) => Err(QueryError::NoVector(
            "the store's vectors are given by the caller, so the question's must be too",
        )),
    }
}

/// What a search lacks because it was damaged and is to be rebuilt.
fn lost_index_reasons(view: &ReadView, plan: &Plan) -> impl Iterator<Item = PartialReason> {
    let is_of_text = plan.strategy == Strategy::Text;
    let by_graph = !matches!(plan.strategy, Strategy::Text | Strategy::Vector);
    let with_communities = plan.request.communities > 0;
    let lost = view.snapshot().lost_indexes().iter();
    lost.filter_map(move |lost| match lost.index {
        DerivedIndex::Projection => (!is_of_text).then_some(PartialReason::ProjectionLost),
        DerivedIndex::Analysis => {
            (by_graph || with_communities).then_some(PartialReason::AnalysisLost)
        }
    })
}

/// What a search lacks.
fn partial_reasons(
    view: &ReadView,
    plan: &Plan,
    has_vector: bool,
    words_skipped: usize,
) -> Vec<PartialReason> {
    let searches_vectors = plan
        .operators
        .iter()
        .any(|operator| matches!(operator, Operator::Vector { .. }));
    let snapshot = view.snapshot();
    let mut partial = Vec::new();
    if searches_vectors
        && !has_vector
        && let Some(space) = snapshot.active_space()
    {
        partial.push(if space.record.builtin {
            PartialReason::UnknownWords
        } else {
            PartialReason::NoQuestionVector
        });
    }
    partial.extend(lost_index_reasons(view, plan));
    if snapshot.is_rebuilding() {
        partial.push(match snapshot.missing_chunks() {
            0 => PartialReason::VectorsRebuilding,
            // What a filter hides is not counted either.
            _ if plan.request.filter.is_some() => PartialReason::ChunksMissing(None),
            missing => {
                PartialReason::ChunksMissing(Some((missing, snapshot.manifest().chunk_count)))
            }
        });
    }
    if words_skipped > 0 {
        partial.push(PartialReason::TermsSkipped(words_skipped));
    }
    partial
}
