//! Running the arms of a search: by words, by nearness, by concepts, each over the same filter.
//!
//! Always true of what an arm returns: live chunks that the filter allows, best first, ties by
//! ascending ordinal, without repeats.
//!
//! Start reading at [`ArmContext::text`], [`ArmContext::vector`], [`ArmContext::graph`].

use std::collections::HashSet;
use std::fmt;

use loci_graph::{
    EntityLink, GraphSnapshot, HopOptions, RandomWalkOptions, ReachedConcept, chunks_mentioning,
    random_walk, two_hop,
};
use loci_index::analysis::Analyzer;
use loci_index::facets::{self, Predicate};
use loci_index::text::{
    self, SpellingSuggestion, TextError, TextQuery, TextReader, TextScratch, TextSearch,
};
use loci_index::vector::{
    self, Effort, SearchStrategy, SegmentSearchStats, VectorQuery, VectorScratch,
};
use loci_storage::records::Level;
use loci_storage::segment::{Layer, Section};
use loci_storage::{ConceptId, Ordinal, ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;

use super::trace::Trace;
use crate::error::QueryError;
use crate::filter::{Comparison, Expr, FacetValue, Test, evaluate};
use crate::plan::Extent;
use crate::ranking::fuse::Fused;
use crate::view::ReadView;
use loci_types::search::Walk;

/// Postings that are taken to be read in a microsecond: about half of what an idle core does.
const POSTINGS_PER_US: u64 = 400;

/// What the arms share: the view, the chunks to search, and the trace.
pub(super) struct ArmContext<'v> {
    pub(super) view: &'v ReadView,
    layers: &'static [Layer],
    /// What the request allows.
    allowed: Option<RoaringBitmap>,
    /// What the best of a stage before leave.
    narrowed: Option<RoaringBitmap>,
    /// What the stage at hand knows already.
    excluded: RoaringBitmap,
    /// What is searched: by these three, and the levels.
    filter: Option<RoaringBitmap>,
    pub(super) trace: Trace,
    /// Words of the question that were not counted, for time.
    pub(super) words_skipped: usize,
}

/// How segments were searched for vectors: each way, with how many segments and distances.
#[derive(Default)]
struct VectorVisits {
    by_method: Vec<(SearchStrategy, usize, u64)>,
    damaged: usize,
}

impl VectorVisits {
    fn add(&mut self, visits: &[SegmentSearchStats]) {
        for visit in visits {
            self.damaged += usize::from(visit.is_graph_damaged);
            match self
                .by_method
                .iter_mut()
                .find(|(method, ..)| *method == visit.strategy)
            {
                Some((_, segments, measured)) => {
                    *segments += 1;
                    *measured += visit.distance_count;
                }
                None => self
                    .by_method
                    .push((visit.strategy, 1, visit.distance_count)),
            }
        }
    }
}

impl fmt::Display for VectorVisits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (method, segments, measured)) in self.by_method.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let plural = if *segments == 1 { "" } else { "s" };
            write!(
                f,
                "{comma}{method} in {segments} segment{plural}, {measured} distances"
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
pub(super) struct GraphHits {
    pub(super) chunks: Vec<ScoredChunk>,
    pub(super) reached: Vec<ReachedConcept>,
}

/// Where the graph arm starts.
#[derive(Clone, Copy)]
pub(super) struct GraphSeeds<'a> {
    /// Concepts of the question.
    pub(super) links: &'a [EntityLink],
    /// Concepts that were given.
    pub(super) concepts: &'a [ConceptId],
    /// Chunks whose concepts start it, too.
    pub(super) seed_chunks: &'a [Ordinal],
    /// Their share of the start, where there are others.
    pub(super) seed_chunks_weight: f32,
}

impl<'v> ArmContext<'v> {
    /// Searches the leaves of the chunk trees, all of them.
    pub(super) fn new(view: &'v ReadView, trace: Trace) -> ArmContext<'v> {
        ArmContext {
            view,
            layers: &[Layer::Leaves],
            allowed: None,
            narrowed: None,
            excluded: RoaringBitmap::new(),
            filter: None,
            trace,
            words_skipped: 0,
        }
    }

    /// Keeps to what `expr` allows.
    pub(super) fn filter(&mut self, expr: Option<&Expr>) -> Result<(), QueryError> {
        if let Some(expr) = expr {
            let mut trace = std::mem::take(&mut self.trace);
            let count = |allowed: &RoaringBitmap| allowed.len() as usize;
            let allowed = trace.step("filter", || self.matching_chunks(expr), count);
            (self.trace, self.allowed) = (trace, Some(allowed?));
            self.filter = self.bounds(None);
        }
        Ok(())
    }

    /// Keeps to chunks of `levels`; none: to the leaves of the chunk trees. `around`: the filter holds for a chunk
    /// when it holds for any of the same document or section. `others`: documents without a chunk of the levels
    /// are searched whole.
    pub(super) fn restrict_to_levels(
        &mut self,
        levels: &[Level],
        around: Option<Extent>,
        others: bool,
    ) -> Result<(), QueryError> {
        self.filter = self.bounds(around);
        if levels.is_empty() {
            self.layers = &[Layer::Leaves];
            return Ok(());
        }
        self.layers = &Layer::ALL;
        let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
        let expr = level_in(&names);
        let mut trace = std::mem::take(&mut self.trace);
        let count = |allowed: &RoaringBitmap| allowed.len() as usize;
        let work = || {
            let of_levels = self.matching_chunks(&expr)?;
            Ok(if others {
                (self.view.live_chunks() - self.view.expand_to(&of_levels, Extent::Document))
                    | of_levels
            } else {
                of_levels
            })
        };
        let of_levels = trace.step("levels", work, count);
        self.trace = trace;
        let of_levels = of_levels?;
        self.filter = Some(match self.filter.take() {
            Some(bounds) => bounds & of_levels,
            None => of_levels,
        });
        Ok(())
    }

    /// Restricts the search to `chunks`, beside what the request allows, from the next [`ArmContext::restrict_to_levels`] on. Without chunks nothing changes.
    pub(super) fn restrict_to_chunks(&mut self, chunks: RoaringBitmap) {
        self.excluded.clear();
        if !chunks.is_empty() {
            self.narrowed = Some(chunks);
        }
    }

    /// Leaves `known` out, from the next [`ArmContext::restrict_to_levels`] to the next [`ArmContext::restrict_to_chunks`].
    pub(super) fn exclude(&mut self, known: RoaringBitmap) {
        self.excluded = known;
    }

    /// `k`, or as many as there are chunks: buffers have that size.
    fn clamp_k(&self, k: usize) -> usize {
        let segments = self.view.snapshot().segments();
        let counts = segments.iter().map(|segment| segment.chunk_count as usize);
        k.min(counts.sum())
    }

    /// Whether the request's filter allows a chunk.
    pub(super) fn allows(&self, chunk: Ordinal) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.contains(chunk.0))
    }

    /// Those of `hits` that the filter allows.
    pub(super) fn retain_allowed(&self, mut hits: Vec<Fused>) -> Vec<Fused> {
        if let Some(filter) = &self.filter {
            hits.retain(|hit| filter.contains(hit.ordinal.0));
        }
        hits
    }

    /// What request and stages allow.
    fn bounds(&self, around: Option<Extent>) -> Option<RoaringBitmap> {
        let allowed = self.allowed.as_ref().map(|allowed| match around {
            Some(to) => self.view.expand_to(allowed, to),
            None => allowed.clone(),
        });
        let bounds = match (allowed, &self.narrowed) {
            (Some(allowed), Some(narrowed)) => Some(allowed & narrowed),
            (allowed, narrowed) => allowed.or_else(|| narrowed.clone()),
        };
        if self.excluded.is_empty() {
            bounds
        } else {
            Some(bounds.unwrap_or_else(|| self.view.live_chunks()) - &self.excluded)
        }
    }

    /// The live chunks that satisfy `expr`.
    fn matching_chunks(&self, expr: &Expr) -> Result<RoaringBitmap, QueryError> {
        let segments = self.view.facets();
        let select = |field: &str, predicate: &Predicate| {
            Ok::<_, QueryError>(facets::select(&segments, field, predicate)?)
        };
        evaluate(expr, &select, &self.view.live_chunks())
    }

    /// The `k` best chunks by words.
    pub(super) fn text(
        &mut self,
        (terms, words): (&[String], &[u32]),
        k: usize,
        effort: Effort,
        scratch: &mut TextScratch,
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        self.text_by_layer(k, effort, |segments, options| {
            let options = TextSearch {
                words: Some(words),
                ..*options
            };
            let hits = text::search(segments, terms, &options, scratch)?;
            Ok((hits, scratch.skipped_terms()))
        })
    }

    /// The `k` best chunks for a question in the language of text questions.
    pub(super) fn text_query(
        &mut self,
        query: &TextQuery,
        k: usize,
        effort: Effort,
        analyzer: &mut Analyzer,
        scratch: &mut TextScratch,
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        self.text_by_layer(k, effort, |segments, options| {
            let hits = text::search_query(segments, query, analyzer, options, scratch)?;
            Ok((hits, scratch.skipped_terms()))
        })
    }

    /// For each of `chunks`, which ascend, how many of `words` it has in a row, by the positions of their terms; 0 where
    /// these are fewer than `least`.
    pub(super) fn longest_runs(
        &self,
        words: &[(u32, &str)],
        chunks: &[Ordinal],
        run_len_min: usize,
    ) -> Result<Vec<usize>, QueryError> {
        let mut longest = vec![0; chunks.len()];
        for &layer in self.layers {
            let segments = self.view.text(layer);
            let runs = text::longest_word_runs(&segments, words, chunks, run_len_min)?;
            for (longest, run) in longest.iter_mut().zip(runs) {
                *longest = run.max(*longest);
            }
        }
        Ok(longest)
    }

    /// The `k` best of all layers, each of which `search` searches.
    fn text_by_layer(
        &mut self,
        k: usize,
        effort: Effort,
        mut search: impl FnMut(
            &[SegmentReader<'_, TextReader<Section>>],
            &TextSearch<'_>,
        ) -> Result<(Vec<ScoredChunk>, usize), TextError>,
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        let (view, layers, k) = (self.view, self.layers, self.clamp_k(k));
        let postings_max = match effort {
            Effort::Within(time) => {
                let all = POSTINGS_PER_US.saturating_mul(time.as_micros() as u64);
                Some(all / layers.len().max(1) as u64)
            }
            _ => None,
        };
        let options = TextSearch {
            filter: self.filter.as_ref(),
            postings_max,
            ..TextSearch::new(k)
        };
        let mut left_out = 0;
        let run = || {
            let mut lists = Vec::with_capacity(layers.len());
            for &layer in layers {
                let (hits, without) = search(&view.text(layer), &options)?;
                lists.push(hits);
                left_out = left_out.max(without);
            }
            Ok(merge_layers(lists, k))
        };
        let hits = self.trace.step("text", run, |hits| hits.len())?;
        if left_out > 0 {
            self.words_skipped = left_out;
            self.trace
                .detail(format!("terms not counted, for time: {left_out}"));
        }
        Ok(hits)
    }

    /// Words of the question that no chunk of the searched layers has.
    pub(super) fn unknown(
        &self,
        query: &TextQuery,
        analyzer: &mut Analyzer,
    ) -> Result<Vec<SpellingSuggestion>, QueryError> {
        let segments: Vec<_> = self
            .layers
            .iter()
            .flat_map(|&layer| self.view.text(layer))
            .collect();
        let filter = self.filter.as_ref();
        Ok(text::suggest_spellings(&segments, query, filter, analyzer)?)
    }

    /// The `k` chunks nearest to `query`.
    pub(super) fn vector(
        &mut self,
        query: &[f32],
        k: usize,
        effort: Effort,
        scratch: &mut VectorScratch,
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        let mut trace = std::mem::take(&mut self.trace);
        let mut method_counts = VectorVisits::default();
        let run = || {
            self.each_nearest(query, k, effort, scratch, |visits| {
                method_counts.add(visits)
            })
        };
        let hits = trace.step("vector", run, |hits| hits.len());
        if trace.is_on() {
            trace.detail(method_counts.to_string());
        }
        self.trace = trace;
        hits
    }

    /// The `k` chunks nearest to `query`, as a part of another step.
    pub(super) fn nearest(
        &self,
        query: &[f32],
        k: usize,
        effort: Effort,
        scratch: &mut VectorScratch,
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        self.each_nearest(query, k, effort, scratch, |_| ())
    }

    fn each_nearest(
        &self,
        query: &[f32],
        k: usize,
        effort: Effort,
        scratch: &mut VectorScratch,
        mut visited: impl FnMut(&[SegmentSearchStats]),
    ) -> Result<Vec<ScoredChunk>, QueryError> {
        let k = self.clamp_k(k);
        let query = VectorQuery {
            filter: self.filter.as_ref(),
            effort,
            ..VectorQuery::new(query, k)
        };
        let mut lists = Vec::with_capacity(self.layers.len());
        for &layer in self.layers {
            lists.push(vector::search(&self.view.vectors(layer), &query, scratch)?);
            visited(scratch.segment_stats());
        }
        Ok(merge_layers(lists, k))
    }

    /// The `k` chunks where a walk from `start` most likely ends, then, where the walk found fewer, chunks of
    /// the concepts within some hops; only the latter for [`Walk::Hops`]. `needs_concepts`: the answer returns these concepts, too.
    pub(super) fn graph(
        &mut self,
        graph: GraphSnapshot<'_, Section>,
        start: GraphSeeds<'_>,
        (walk, hops): (Walk, HopOptions),
        needs_concepts: bool,
        k: usize,
    ) -> Result<GraphHits, QueryError> {
        let (view, layers, filter) = (self.view, self.layers, self.filter.as_ref());
        let k = self.clamp_k(k);
        let run = || {
            let linked = start.links.iter().map(|link| link.concept);
            let mut seeds: Vec<ConceptId> = linked.chain(start.concepts.iter().copied()).collect();
            let mut chunks = Vec::new();
            if walk == Walk::Restart {
                let weighed = weigh_seeds(graph, start);
                let options = RandomWalkOptions::default();
                let walk = |k| random_walk(graph, &weighed, options, filter, k).chunks;
                chunks = search_in_layers(walk, k, |hit| view.is_in_layers(hit.ordinal, layers));
            }
            if seeds.is_empty() {
                let of_heads = start
                    .seed_chunks
                    .iter()
                    .flat_map(|&head| graph.concepts(head));
                seeds = of_heads.map(|(concept, _)| concept).collect();
            }
            if seeds.is_empty() {
                return Ok(GraphHits::default());
            }
            let reached = if needs_concepts || chunks.len() < k {
                two_hop(graph, &seeds, hops).reached
            } else {
                Vec::new()
            };
            if chunks.len() < k {
                let more = |k| chunks_mentioning(graph, &reached, filter, k);
                let more =
                    search_in_layers(more, k, |of| view.is_in_layers(of.hit.ordinal, layers));
                append_hits(&mut chunks, more, k);
            }
            Ok(GraphHits { chunks, reached })
        };
        self.trace.step("graph", run, |found| found.chunks.len())
    }
}

/// How many times as many hits are requested.
const OVERFETCH_FACTOR: usize = 16;

/// The `k` best that `find` finds in the searched layers. Few are in others, as extractors read leaves; where they
/// take too many places, more are requested once.
fn search_in_layers<T>(
    find: impl Fn(usize) -> Vec<T>,
    k: usize,
    is_searched: impl Fn(&T) -> bool,
) -> Vec<T> {
    let first = k.saturating_mul(2);
    let mut found = find(first);
    let is_cut = found.len() >= first;
    found.retain(&is_searched);
    if is_cut && found.len() < k {
        found = find(first.saturating_mul(OVERFETCH_FACTOR));
        found.retain(&is_searched);
    }
    found.truncate(k);
    found
}

/// Where a walk with restart starts, and how much there.
fn weigh_seeds(graph: GraphSnapshot<'_, Section>, start: GraphSeeds<'_>) -> Vec<(ConceptId, f32)> {
    let live = graph.live_chunk_count() as f32;
    let rarity = |count: usize| (live / count.max(1) as f32).ln_1p();
    // Rarer still than the walk's own start: measured in docs/decisions/0001-fusion.md.
    let named = start
        .links
        .iter()
        .map(|link| (link.concept, link.confidence));
    let given = start.concepts.iter().map(|&concept| (concept, 1.0));
    let mut mass = 0.0;
    let mut weighed: Vec<(ConceptId, f32)> = Vec::new();
    for (concept, share) in named.chain(given) {
        let count = graph.chunk_count(concept);
        let weight = share / count.max(1) as f32;
        mass += weight * rarity(count);
        weighed.push((concept, weight));
    }
    let of_heads: Vec<ConceptId> = start
        .seed_chunks
        .iter()
        .flat_map(|&head| graph.concepts(head))
        .map(|(concept, _)| concept)
        .collect();
    let rarities = of_heads
        .iter()
        .map(|&concept| rarity(graph.chunk_count(concept)));
    let heads_mass: f32 = rarities.sum();
    if heads_mass > 0.0 {
        let share = start.seed_chunks_weight.clamp(0.0, 0.99);
        let weight = if mass > 0.0 {
            share / (1.0 - share) * mass / heads_mass
        } else {
            1.0
        };
        weighed.extend(of_heads.into_iter().map(|concept| (concept, weight)));
    }
    weighed
}

/// Chunks of concepts behind those of the walk; scores go on falling.
fn append_hits(chunks: &mut Vec<ScoredChunk>, more: Vec<loci_graph::ConceptHit>, k: usize) {
    let known: HashSet<_> = chunks.iter().map(|hit| hit.ordinal).collect();
    let floor = chunks.last().map_or(1.0, |hit| hit.score);
    let more = more.into_iter().map(|found| found.hit);
    let more = more.filter(|hit| !known.contains(&hit.ordinal));
    chunks.extend(more.map(|hit| ScoredChunk {
        score: hit.score * floor,
        ..hit
    }));
    chunks.truncate(k);
}

/// Lists of several layers as one.
fn merge_layers(mut lists: Vec<Vec<ScoredChunk>>, k: usize) -> Vec<ScoredChunk> {
    if lists.len() == 1 {
        return lists.pop().unwrap_or_default();
    }
    let mut all: Vec<ScoredChunk> = lists.into_iter().flatten().collect();
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
