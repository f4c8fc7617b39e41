//! Running the arms of a search: by words, by nearness, by concepts, each over the same filter.
//!
//! Always true of what an arm returns: live chunks that the filter allows, best first, ties by
//! ascending ordinal, without repeats.
//!
//! Start reading at [`Run::text`], [`Run::vector`], [`Run::graph`].

use std::collections::HashSet;
use std::fmt;
use std::time::Instant;

use loci_graph::{
    GraphView, HopOptions, Link, Reached, RestartOptions, chunks_of, restart_walk, two_hop,
};
use loci_index::analysis::Analyzer;
use loci_index::facets::{self, Predicate};
use loci_index::text::{self, TextError, TextQuery, TextReader, TextScratch, TextSearch, Unknown};
use loci_index::vector::{self, Effort, VectorQuery, VectorScratch, Visit, Way};
use loci_storage::segment::{Layer, Section};
use loci_storage::{ConceptId, Placed, Scored};
use roaring::RoaringBitmap;

use crate::answer::ExplainStep;
use crate::error::QueryError;
use crate::filter::{Comparison, Expr, FacetValue, Test, evaluate};
use crate::request::SearchRequest;
use crate::view::ReadView;

/// Postings that are taken to be read in a microsecond: about half of what an idle core does.
const POSTINGS_A_US: u64 = 400;

/// What the arms share: the view, the layers to search, the filter, and the trace.
pub(crate) struct Run<'v> {
    pub(crate) view: &'v ReadView,
    pub(crate) layers: &'static [Layer],
    pub(crate) filter: Option<RoaringBitmap>,
    pub(crate) explain: bool,
    pub(crate) trace: Trace,
    /// Words of the question that were not counted, for time.
    pub(crate) words_left_out: usize,
}

/// What each operator did.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) steps: Vec<ExplainStep>,
}

impl Trace {
    /// Runs one operator and notes how many candidates it gave and how long it took.
    pub(crate) fn step<T>(
        &mut self,
        operator: &str,
        run: impl FnOnce() -> Result<T, QueryError>,
        candidates: impl FnOnce(&T) -> u64,
    ) -> Result<T, QueryError> {
        let started = Instant::now();
        let result = run()?;
        self.steps.push(ExplainStep {
            operator: operator.into(),
            candidates: candidates(&result),
            took_us: started.elapsed().as_micros() as u64,
            detail: None,
        });
        Ok(result)
    }

    /// Says more of the last operator.
    fn detail(&mut self, detail: String) {
        if let Some(step) = self.steps.last_mut() {
            step.detail = Some(detail).filter(|detail| !detail.is_empty());
        }
    }
}

/// How segments were searched for vectors: each way, with how many segments and distances.
#[derive(Default)]
struct Ways {
    ways: Vec<(Way, usize, u64)>,
    damaged: usize,
}

impl Ways {
    fn add(&mut self, visits: &[Visit]) {
        for visit in visits {
            self.damaged += usize::from(visit.damaged);
            match self.ways.iter_mut().find(|(way, ..)| *way == visit.way) {
                Some((_, segments, measured)) => {
                    *segments += 1;
                    *measured += visit.measured;
                }
                None => self.ways.push((visit.way, 1, visit.measured)),
            }
        }
    }
}

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (way, segments, measured)) in self.ways.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let plural = if *segments == 1 { "" } else { "s" };
            write!(
                f,
                "{comma}{way} in {segments} segment{plural}, {measured} distances"
            )?;
        }
        if self.damaged > 0 {
            write!(f, "; {} of them as the graph is damaged", self.damaged)?;
        }
        Ok(())
    }
}

/// What the graph arm found.
#[derive(Default)]
pub(crate) struct GraphFound {
    pub(crate) chunks: Vec<Scored>,
    pub(crate) reached: Vec<Reached>,
}

impl<'v> Run<'v> {
    /// Resolves levels and filter of a request.
    pub(crate) fn new(view: &'v ReadView, request: &SearchRequest) -> Result<Run<'v>, QueryError> {
        let levels: Vec<&str> = request.levels.iter().map(|level| level.name()).collect();
        let layers: &[Layer] = if levels.is_empty() {
            &[Layer::Leaves]
        } else {
            &Layer::ALL
        };
        let mut run = Run {
            view,
            layers,
            filter: None,
            explain: request.explain,
            trace: Trace::default(),
            words_left_out: 0,
        };
        let of_levels = (!levels.is_empty()).then(|| level_in(&levels));
        let whole = match (of_levels, request.filter.clone()) {
            (Some(levels), Some(filter)) => Some(Expr::And(vec![levels, filter])),
            (levels, filter) => levels.or(filter),
        };
        if let Some(expr) = whole {
            let mut trace = std::mem::take(&mut run.trace);
            let filter = trace.step("filter", || run.allowed(&expr), RoaringBitmap::len)?;
            (run.trace, run.filter) = (trace, Some(filter));
        }
        Ok(run)
    }

    /// The live chunks that satisfy `expr`.
    fn allowed(&self, expr: &Expr) -> Result<RoaringBitmap, QueryError> {
        let segments = self.view.facets();
        let select = |field: &str, predicate: &Predicate| {
            Ok::<_, QueryError>(facets::select(&segments, field, predicate)?)
        };
        evaluate(expr, &select, &self.view.live())
    }

    /// The `k` best chunks by words.
    pub(crate) fn text(
        &mut self,
        (terms, words): (&[String], &[u32]),
        k: usize,
        effort: Effort,
        scratch: &mut TextScratch,
    ) -> Result<Vec<Scored>, QueryError> {
        self.text_by_layer(k, effort, |segments, asked| {
            let asked = TextSearch {
                words: Some(words),
                ..*asked
            };
            let hits = text::search(segments, terms, &asked, scratch)?;
            Ok((hits, scratch.left_out()))
        })
    }

    /// The `k` best chunks for a question in the language of text questions.
    pub(crate) fn text_query(
        &mut self,
        query: &TextQuery,
        k: usize,
        effort: Effort,
        analyzer: &mut Analyzer,
        scratch: &mut TextScratch,
    ) -> Result<Vec<Scored>, QueryError> {
        self.text_by_layer(k, effort, |segments, asked| {
            let hits = text::search_query(segments, query, analyzer, asked, scratch)?;
            Ok((hits, scratch.left_out()))
        })
    }

    /// The `k` best of all layers, each of which `search` searches.
    fn text_by_layer(
        &mut self,
        k: usize,
        effort: Effort,
        mut search: impl FnMut(
            &[Placed<'_, TextReader<Section>>],
            &TextSearch<'_>,
        ) -> Result<(Vec<Scored>, usize), TextError>,
    ) -> Result<Vec<Scored>, QueryError> {
        let (view, layers) = (self.view, self.layers);
        let postings_max = match effort {
            Effort::Within(time) => {
                let all = POSTINGS_A_US.saturating_mul(time.as_micros() as u64);
                Some(all / layers.len().max(1) as u64)
            }
            _ => None,
        };
        let asked = TextSearch {
            filter: self.filter.as_ref(),
            postings_max,
            ..TextSearch::new(k)
        };
        let mut left_out = 0;
        let run = || {
            let mut lists = Vec::with_capacity(layers.len());
            for &layer in layers {
                let (hits, without) = search(&view.text(layer), &asked)?;
                lists.push(hits);
                left_out = left_out.max(without);
            }
            Ok(merged(lists, k))
        };
        let hits = self.trace.step("text", run, |hits| hits.len() as u64)?;
        if left_out > 0 {
            self.words_left_out = left_out;
            self.trace
                .detail(format!("terms not counted, for time: {left_out}"));
        }
        Ok(hits)
    }

    /// Words of the question that no chunk of the searched layers has.
    pub(crate) fn unknown(
        &self,
        query: &TextQuery,
        analyzer: &mut Analyzer,
    ) -> Result<Vec<Unknown>, QueryError> {
        let segments: Vec<_> = self
            .layers
            .iter()
            .flat_map(|&layer| self.view.text(layer))
            .collect();
        let filter = self.filter.as_ref();
        Ok(text::unknown(&segments, query, filter, analyzer)?)
    }

    /// The `k` chunks nearest to `query`.
    pub(crate) fn vector(
        &mut self,
        query: &[f32],
        k: usize,
        effort: Effort,
        scratch: &mut VectorScratch,
    ) -> Result<Vec<Scored>, QueryError> {
        let (view, layers, filter) = (self.view, self.layers, self.filter.as_ref());
        let query = VectorQuery {
            filter,
            effort,
            ..VectorQuery::new(query, k)
        };
        let (explain, mut ways) = (self.explain, Ways::default());
        let run = || {
            let mut lists = Vec::with_capacity(layers.len());
            for &layer in layers {
                lists.push(vector::search(&view.vectors(layer), &query, scratch)?);
                if explain {
                    ways.add(scratch.visits());
                }
            }
            Ok(merged(lists, k))
        };
        let hits = self.trace.step("vector", run, |hits| hits.len() as u64)?;
        if explain {
            self.trace.detail(ways.to_string());
        }
        Ok(hits)
    }

    /// The `k` chunks where a walk from the question's concepts most likely ends, then, where the
    /// walk found fewer, chunks of the concepts within some hops.
    pub(crate) fn graph(
        &mut self,
        graph: GraphView<'_, Section>,
        links: &[Link],
        hops: HopOptions,
        k: usize,
    ) -> Result<GraphFound, QueryError> {
        if links.is_empty() {
            return Ok(GraphFound::default());
        }
        let (view, layers, filter) = (self.view, self.layers, self.filter.as_ref());
        let run = || {
            // Rarer still than the walk's own start: measured in docs/decisions/0001-fusion.md.
            let weight = |link: &Link| link.share / graph.chunk_count(link.concept).max(1) as f32;
            let weighed = links.iter().map(|link| (link.concept, weight(link)));
            let weighed: Vec<_> = weighed.collect();
            let seeds: Vec<ConceptId> = links.iter().map(|link| link.concept).collect();
            // Chunks of the layers that are not searched are few: extractors speak of leaves.
            let options = RestartOptions::default();
            let mut chunks = restart_walk(graph, &weighed, options, filter, 2 * k).chunks;
            chunks.retain(|hit| view.is_searched(hit.ordinal, layers));
            chunks.truncate(k);
            let walk = two_hop(graph, &seeds, hops);
            if chunks.len() < k {
                append(&mut chunks, chunks_of(graph, &walk.reached, filter, k), k);
            }
            chunks.retain(|hit| view.is_searched(hit.ordinal, layers));
            Ok(GraphFound {
                chunks,
                reached: walk.reached,
            })
        };
        self.trace
            .step("graph", run, |found| found.chunks.len() as u64)
    }
}

/// Chunks of concepts behind those of the walk; scores go on falling.
fn append(chunks: &mut Vec<Scored>, more: Vec<loci_graph::ConceptHit>, k: usize) {
    let known: HashSet<_> = chunks.iter().map(|hit| hit.ordinal).collect();
    let floor = chunks.last().map_or(1.0, |hit| hit.score);
    let more = more.into_iter().map(|found| found.hit);
    let more = more.filter(|hit| !known.contains(&hit.ordinal));
    chunks.extend(more.map(|hit| Scored {
        score: hit.score * floor,
        ..hit
    }));
    chunks.truncate(k);
}

/// Lists of several layers as one.
fn merged(mut lists: Vec<Vec<Scored>>, k: usize) -> Vec<Scored> {
    if lists.len() == 1 {
        return lists.pop().unwrap_or_default();
    }
    let mut all: Vec<Scored> = lists.into_iter().flatten().collect();
    all.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal)));
    all.truncate(k);
    all
}

/// The chunks of any of these levels.
fn level_in(levels: &[&str]) -> Expr {
    let values = levels
        .iter()
        .map(|level| FacetValue::Text((*level).into()))
        .collect();
    Expr::Is(Comparison {
        field: "level".into(),
        test: Test::OneOf(values),
    })
}
