//! The graph arm of a plan: where it starts, and the concepts around a question that names none.
//!
//! Start reading at [`Execution::walk`].

use loci_graph::{HopOptions, two_hop};
use loci_storage::ConceptId;
use loci_types::search::Strategy;

use super::arms::GraphSeeds;
use super::concept_similarity::nearest_concepts;
use super::execution::Execution;
use super::question::question_vector;
use crate::error::QueryError;
use crate::plan::Operator;
use crate::ranking::fuse::{Fusion, Mixture};

impl Execution<'_, '_> {
    /// Takes concepts near to the question for its own, where it names none.
    pub(super) fn find_near_concepts(
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

    pub(super) fn walk(&mut self, operator: &Operator) -> Result<(), QueryError> {
        let &Operator::Graph {
            k,
            walk,
            question,
            seed_hits,
            seed_hits_weight,
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
        let links = if !question {
            &[]
        } else if alone {
            self.question.concepts()
        } else {
            &self.question.links[..]
        };
        let seed_hits = match seed_hits {
            // Without a concept of its own, a question walks from hits only when the request has seeds of hits.
            0 => Vec::new(),
            _ if request.seeds.hits == 0 && links.is_empty() => Vec::new(),
            seed_hits => {
                let (by, arms) = (self.next_fusion(), self.lists.arms());
                let arms_have_no_graph = arms.graph.is_empty();
                let fused = self.scratch.fused.fuse_best(&by, arms, seed_hits);
                let seed_hits = fused.iter().map(|hit| hit.ordinal).collect();
                self.lists.fused_by = arms_have_no_graph.then_some(by);
                seed_hits
            }
        };
        if links.is_empty() && request.seeds.concepts.is_empty() && seed_hits.is_empty() {
            return self.expand_near_concepts(hops);
        }
        let start = GraphSeeds {
            links,
            concepts: &request.seeds.concepts,
            seed_chunks: &seed_hits,
            seed_chunks_weight: seed_hits_weight,
        };
        let needs_concepts = request.concepts;
        let mut found = self
            .arms
            .graph(self.graph, start, (walk, hops), needs_concepts, k)?;
        self.extras.reached = std::mem::take(&mut found.reached);
        self.lists.graph = found;
        Ok(())
    }

    /// The concepts around those that are near to the question: returned, and nothing is ranked by them.
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
}
