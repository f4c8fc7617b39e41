//! Betweenness of concepts: how many shortest ways between others lead over each, from a sample of ends.
//!
//! Source: Brandes, "A Faster Algorithm for Betweenness Centrality", Journal of Mathematical Sociology 25(2),
//! 2001, algorithm 1; sampled as in Brandes and Pich, "Centrality Estimation in Large Networks",
//! International Journal of Bifurcation and Chaos 17(7), 2007.
//!
//! Start reading at [`betweenness`].

use std::collections::VecDeque;

use loci_storage::ConceptId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::analysis::network::{Network, numbered};

/// The betweenness of all concepts, ascending by id: the sum, over all pairs of others, of the share of the
/// shortest ways between them that lead over the concept. Directions, weights and parallel edges make no difference.
///
/// - `sources`: ends that ways are counted from, drawn by `seed`; as many as there are concepts, or more, is exact.
///
/// Costs a pass over all edges a source. Memory: some 40 bytes a concept beside the edges.
pub fn betweenness(
    concepts: impl IntoIterator<Item = ConceptId>,
    edges: &[(ConceptId, ConceptId, f32)],
    sources: usize,
    seed: u64,
) -> Vec<(ConceptId, f64)> {
    let (ids, mut edges) = numbered(concepts, edges);
    for edge in &mut edges {
        *edge = (edge.0.min(edge.1), edge.0.max(edge.1), 1.0);
    }
    edges.sort_unstable_by_key(|edge| (edge.0, edge.1));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    edges.retain(|edge| edge.0 != edge.1);
    let network = Network::new(ids.len(), &edges);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let sources = sources.min(ids.len());
    let mut drawn: Vec<usize> = (0..ids.len()).collect();
    for at in 0..sources {
        let other = at as u64 + random.next_u64() % (drawn.len() - at) as u64;
        drawn.swap(at, other as usize);
    }
    drawn.truncate(sources);
    drawn.sort_unstable();
    let mut path_counts = PathCounts::new(&network);
    for &source in &drawn {
        path_counts.add_source(source);
    }
    // Each pair is met from both ends, and of the ends only a share was drawn.
    let scale = ids.len() as f64 / sources.max(1) as f64 / 2.0;
    let sums = path_counts.sums.iter().map(|sum| sum * scale);
    ids.into_iter().zip(sums).collect()
}

struct PathCounts<'a> {
    network: &'a Network,
    sums: Vec<f64>,
    /// Of one source: steps to each node (`u32::MAX`: not reached), shortest ways there, what depends on it.
    steps: Vec<u32>,
    paths: Vec<f64>,
    dependents: Vec<f64>,
    /// Nodes in the order in which they were reached.
    order: Vec<u32>,
}

impl<'a> PathCounts<'a> {
    fn new(network: &'a Network) -> PathCounts<'a> {
        let count = network.len();
        PathCounts {
            network,
            sums: vec![0.0; count],
            steps: vec![u32::MAX; count],
            paths: vec![0.0; count],
            dependents: vec![0.0; count],
            order: Vec::new(),
        }
    }

    /// Adds the ways from one source.
    fn add_source(&mut self, source: usize) {
        let mut queue = VecDeque::from([source as u32]);
        self.steps[source] = 0;
        self.paths[source] = 1.0;
        while let Some(node) = queue.pop_front() {
            self.order.push(node);
            let next = self.steps[node as usize] + 1;
            for &(other, _) in self.network.row(node as usize) {
                let at = other as usize;
                if self.steps[at] == u32::MAX {
                    self.steps[at] = next;
                    queue.push_back(other);
                }
                if self.steps[at] == next {
                    self.paths[at] += self.paths[node as usize];
                }
            }
        }
        for &node in self.order.iter().rev() {
            let at = node as usize;
            let share = (1.0 + self.dependents[at]) / self.paths[at];
            for &(other, _) in self.network.row(at) {
                let before = other as usize;
                if self.steps[before] + 1 == self.steps[at] {
                    self.dependents[before] += self.paths[before] * share;
                }
            }
            if at != source {
                self.sums[at] += self.dependents[at];
            }
        }
        for node in self.order.drain(..) {
            let at = node as usize;
            self.steps[at] = u32::MAX;
            (self.paths[at], self.dependents[at]) = (0.0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Plainly right: every shortest way between every pair, found by trying all.
    fn reference(count: u32, edges: &[(u32, u32)]) -> Vec<f64> {
        let is_edge = |a: u32, b: u32| edges.contains(&(a, b)) || edges.contains(&(b, a));
        let mut sums = vec![0.0; count as usize];
        for from in 0..count {
            for to in from + 1..count {
                let mut ways: Vec<Vec<u32>> = vec![vec![from]];
                while !ways.is_empty() && !ways.iter().any(|path| path.last() == Some(&to)) {
                    let longer = ways.iter().flat_map(|path| {
                        let last = *path.last().unwrap();
                        let next = (0..count).filter(move |&at| is_edge(last, at));
                        let next = next.filter(|at| !path.contains(at));
                        next.map(|at| path.iter().copied().chain([at]).collect())
                    });
                    ways = longer.collect();
                }
                ways.retain(|path| path.last() == Some(&to));
                for path in &ways {
                    for &at in &path[1..path.len() - 1] {
                        sums[at as usize] += 1.0 / ways.len() as f64;
                    }
                }
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn all_sources_give_the_exact_sums(
            edges in prop::collection::vec((0u32..7, 0u32..7), 0..12), seed: u64,
        ) {
            let concepts = (0..7).map(ConceptId);
            let given: Vec<_> = edges.iter().map(|&(a, b)| (ConceptId(a), ConceptId(b), 2.0)).collect();
            let got = betweenness(concepts, &given, usize::MAX, seed);
            for ((_, got), want) in got.iter().zip(reference(7, &edges)) {
                prop_assert!((got - want).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn sampled_betweenness_finds_the_centre_of_a_star() {
        let edges: Vec<_> = (1..100)
            .map(|at| (ConceptId(0), ConceptId(at), 1.0))
            .collect();
        let got = betweenness([], &edges, 30, 42);
        assert_eq!(got, betweenness([], &edges, 30, 42), "the same twice");
        let exact = 99.0 * 98.0 / 2.0;
        assert!((got[0].1 - exact).abs() < 0.05 * exact, "{}", got[0].1);
        assert!(got[1..].iter().all(|of| of.1 == 0.0));
        assert!(betweenness([], &[], 5, 1).is_empty());
    }
}
