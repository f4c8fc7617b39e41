//! Chains: what multi-hop questions need.
//!
//! A chain leads from one of the best passages, by a concept that it mentions, to another passage that mentions this
//! concept. It counts by what the question asks that the first passage does not answer:
//!
//! `fused(S) · link(e, P) · (A + B · cos(question less S, P) + C · share of the question's terms around e in S)`
//!
//! where `link` is 1 if `P` is about `e` (title, heading or definition), else `.4 / ln(2 + chunks of e)`. The chunk's score
//! rises by the weight times its best chain. `docs/decisions/0021-chains.md` has the measurements.
//!
//! Always true: a store without concepts or contexts has no chains; equal views give equal chains.
//!
//! Start reading at [`Execution::chain`].

use std::collections::HashMap;

use foldhash::fast::FixedState;
use loci_graph::{ContextTerms, term_hash};
use loci_index::text;
use loci_index::vector::Metric;
use loci_storage::segment::Layer;
use loci_storage::{ConceptId, Ordinal};

use super::concept_similarity::ChunkVectors;
use super::execution::Execution;
use super::question::question_vector;
use crate::error::QueryError;
use crate::ranking::fuse::{ChainHit, Fused};

/// What a chain counts by itself.
const BASE: f32 = 0.2;
/// What it counts by nearness to what is left of the question.
const NEARNESS: f32 = 0.5;
/// What it counts by the question's terms around the concept.
const CONTEXT: f32 = 1.0;
/// How much of what the seed says is taken from the question.
const RESIDUAL: f32 = 0.6;
/// What a concept links that its chunk is not about, before its rarity.
const MENTION_LINK: f32 = 0.4;

/// Numbers of the operator.
#[derive(Clone, Copy)]
pub(super) struct ChainOptions {
    pub(super) seeds: usize,
    pub(super) mentions_max: usize,
    pub(super) weight: f32,
    /// Chunks that no chain can lift to the hit of this rank are left as they are.
    pub(super) depth: usize,
}

/// A passage that a chain leads to.
struct Link {
    to: Ordinal,
    concept: ConceptId,
    /// The score of the seed times what the link counts.
    strength: f32,
    context: f32,
}

impl Execution<'_, '_> {
    /// Adds what chains from the best chunks find to the fused list, of which `count` are needed.
    pub(super) fn chain(&mut self, options: ChainOptions, count: usize) -> Result<(), QueryError> {
        let mut trace = std::mem::take(&mut self.arms.trace);
        let chained = trace.step("chain", || self.add_chains(options), |added| *added);
        self.arms.trace = trace;
        chained?;
        self.fused = self.scratch.fused.select_best(count).to_vec();
        Ok(())
    }

    fn add_chains(&mut self, options: ChainOptions) -> Result<usize, QueryError> {
        let terms = self.hashed_terms()?;
        let question = question_vector(self.plan, &self.embedded).map(unit);
        let vectors = ChunkVectors::new(self.arms.view);
        let mut best = BestChains::default();
        let seeds: Vec<_> = self.fused.iter().take(options.seeds).copied().collect();
        for seed in seeds {
            let mut links = self.links_of_seed(&seed, options, &terms, &best);
            if links.is_empty() {
                continue;
            }
            // Those that can count most come first, so that fewer of the others are compared.
            links.sort_unstable_by(|a, b| b.score(1.0).total_cmp(&a.score(1.0)));
            let rest = question.as_deref();
            let rest = rest.map(|question| unit(&vectors.residual(question, seed.ordinal)));
            for link in links {
                if link.score(1.0) <= best.score(link.to) {
                    continue;
                }
                let rest = rest.as_deref();
                let cosine = rest.and_then(|rest| vectors.cosine(rest, link.to));
                let score = link.score(cosine.unwrap_or(0.0).max(0.0));
                if score > best.score(link.to) {
                    let chain = ChainHit {
                        concept: link.concept,
                        seed: seed.ordinal,
                        score,
                    };
                    best.0.insert(link.to, chain);
                }
            }
        }
        let mut found: Vec<_> = best.0.into_iter().collect();
        found.sort_unstable_by_key(|(chunk, _)| *chunk);
        for &(chunk, chain) in &found {
            self.scratch.fused.add_chain(chunk, chain, options.weight);
        }
        Ok(found.len())
    }

    /// The hashes of the question's terms, each with its share of their weight.
    fn hashed_terms(&mut self) -> Result<Vec<(u16, f32)>, QueryError> {
        let question = &mut self.question;
        if question.term_weights.is_empty() {
            let segments = self.arms.view.text(Layer::Leaves);
            let scratch = &mut self.scratch.text;
            let weights = text::weights_with_scratch(&segments, &question.terms, scratch)?;
            let hashed = weights
                .into_iter()
                .map(|(term, weight)| (term_hash(term), weight));
            question.term_weights = hashed.collect();
        }
        let weights = question.term_weights.iter();
        let all: f32 = weights.clone().map(|(_, weight)| weight).sum();
        let share = |&(hash, weight)| (hash, weight / all.max(f32::MIN_POSITIVE));
        Ok(weights.map(share).collect())
    }

    /// The passages that the concepts of a seed lead to, as far as a chain may lift them among the best.
    fn links_of_seed(
        &self,
        seed: &Fused,
        options: ChainOptions,
        terms: &[(u16, f32)],
        best: &BestChains,
    ) -> Vec<Link> {
        let (graph, arms, fused) = (self.graph, &self.arms, &self.scratch.fused);
        // What a chunk must reach to be among the best.
        let least = self.fused.get(options.depth.saturating_sub(1));
        let least = least.map_or(0.0, |hit| hit.score);
        let mut links = Vec::new();
        for (concept, around) in graph.contexts(seed.ordinal) {
            let mentions = graph.chunk_count(concept);
            if !(2..=options.mentions_max).contains(&mentions) {
                continue;
            }
            let context = CONTEXT * share_around(terms, &around);
            let mention_link = MENTION_LINK / (2.0 + mentions as f32).ln();
            for (to, is_about) in graph.chunks_about(concept) {
                let link = if is_about { 1.0 } else { mention_link };
                let link = Link {
                    to,
                    concept,
                    strength: link * seed.score,
                    context,
                };
                let most = link.score(1.0);
                if to != seed.ordinal
                    && most > best.score(to)
                    && fused.score(to) + options.weight * most >= least
                    && arms.searches(to)
                {
                    links.push(link);
                }
            }
        }
        links
    }
}

impl Link {
    /// What the chain counts where the passage has this cosine with what is left of the question.
    fn score(&self, nearness: f32) -> f32 {
        self.strength * (BASE + NEARNESS * nearness + self.context)
    }
}

/// The best chain to each chunk so far.
#[derive(Default)]
struct BestChains(HashMap<Ordinal, ChainHit, FixedState>);

impl BestChains {
    fn score(&self, chunk: Ordinal) -> f32 {
        self.0.get(&chunk).map_or(0.0, |chain| chain.score)
    }
}

/// The share of the question's terms that are around a mention.
fn share_around(terms: &[(u16, f32)], around: &ContextTerms) -> f32 {
    let found = terms.iter().filter(|(hash, _)| around.contains(hash));
    found.map(|(_, share)| share).sum()
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = dot(vector, vector).sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    vector.iter().map(|x| x * scale).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

impl ChunkVectors<'_> {
    /// The unit vector `question` less what a seed says of it.
    fn residual(&self, question: &[f32], seed: Ordinal) -> Vec<f32> {
        let seed = self.row(seed).and_then(|row| {
            let vector = row.vectors.flat().row(row.index)?;
            (vector.len() == question.len()).then(|| unit(&vector))
        });
        let Some(seed) = seed else {
            return question.to_vec();
        };
        let along = dot(question, &seed);
        let less = |(a, b): (&f32, &f32)| a - RESIDUAL * along * b;
        question.iter().zip(&seed).map(less).collect()
    }

    /// The cosine of a unit vector and that of a chunk; `None` where the chunk has none of its dimension.
    fn cosine(&self, query: &[f32], chunk: Ordinal) -> Option<f32> {
        let row = self.row(chunk)?;
        let flat = row.vectors.flat();
        let vector = flat.row(row.index)?;
        if vector.len() != query.len() {
            return None;
        }
        let product = dot(query, &vector);
        if flat.metric() == Metric::Cosine {
            return Some(product);
        }
        let length = dot(&vector, &vector).sqrt();
        (length > 0.0).then(|| product / length)
    }
}
