//! Leiden: communities of concepts that are densely linked, by modularity, with the levels they grew by.
//!
//! Source: Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities",
//! Scientific Reports 9, 2019. Nodes are moved with a queue; refinement merges a node into the neighbouring
//! community that gains most, where the paper draws one by chance.
//!
//! Start reading at [`leiden`].

use std::collections::VecDeque;

use loci_storage::ConceptId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::analysis::network::{Network, numbered};

/// How communities are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeidenOptions {
    /// Above 1: smaller communities; below: larger ones.
    pub resolution: f64,
    /// Draws the order in which nodes are first looked at.
    pub seed: u64,
    /// Times that the whole is run, each time from what the one before found.
    pub iterations: usize,
}

impl Default for LeidenOptions {
    /// Resolution 1, seed 42, 2 runs.
    fn default() -> LeidenOptions {
        LeidenOptions {
            resolution: 1.0,
            seed: 42,
            iterations: 2,
        }
    }
}

/// What [`leiden`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Communities {
    /// The concepts, ascending.
    pub concepts: Vec<ConceptId>,
    /// By level, finest first; by place of the concept, its community: numbered from 0 in the order of their
    /// first concepts. Every community of a level is part of one of the next.
    pub levels: Vec<Vec<u32>>,
    /// Of the last level.
    pub modularity: f64,
}

impl Communities {
    /// The communities of the last level, by place of the concept.
    pub fn coarsest(&self) -> &[u32] {
        self.levels.last().map_or(&[], Vec::as_slice)
    }
}

/// Communities of the undirected graph of `edges`.
///
/// `concepts`: all concepts, with or without edges, in any order; ends of edges are added. `edges`: each once,
/// in either direction; parallel edges add up; edges from a concept to itself, and weights that are not finite
/// and positive, are none.
///
/// Every community is connected. The same input and seed give the same communities, whatever the order of the
/// edges. Costs some ten passes over the edges a run, in one thread; memory: 40 bytes an edge.
pub fn leiden(
    concepts: impl IntoIterator<Item = ConceptId>,
    edges: &[(ConceptId, ConceptId, f32)],
    options: LeidenOptions,
) -> Communities {
    let (concepts, mut edges) = numbered(concepts, edges);
    edges.retain(|(a, b, _)| a != b);
    let graph = Graph::from_network(&Network::new(concepts.len(), &edges));
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut levels = vec![(0..concepts.len() as u32).collect::<Vec<u32>>()];
    let mut found: Option<Vec<u32>> = None;
    for _ in 0..options.iterations.max(1) {
        let start = found.clone().unwrap_or_else(|| levels[0].clone());
        let run = LeidenRun::new(&graph, options.resolution, &mut random).levels(start);
        if run.last() == found.as_ref() {
            break;
        }
        found = run.last().cloned();
        levels = run;
    }
    let last = levels.last().map_or(&[][..], Vec::as_slice);
    let modularity = graph.modularity(last, options.resolution);
    Communities {
        concepts,
        modularity,
        levels: levels.into_iter().map(|level| renumbered(&level)).collect(),
    }
}

/// A graph whose nodes may stand for many: weights inside of a node are kept apart.
struct Graph {
    starts: Vec<usize>,
    arcs: Vec<(u32, f64)>,
    /// Twice the weight inside of each node.
    inner_weights: Vec<f64>,
    /// Sum of the weights at each node, those inside twice.
    strength: Vec<f64>,
    /// Sum of all strengths.
    total: f64,
}

impl Graph {
    fn from_network(network: &Network) -> Graph {
        let (mut starts, mut arcs) = (vec![0], Vec::new());
        for node in 0..network.len() {
            let first = arcs.len();
            for &(other, weight) in network.row(node) {
                let weight = f64::from(weight);
                match arcs[first..].last_mut() {
                    Some((last, sum)) if *last == other => *sum += weight,
                    _ => arcs.push((other, weight)),
                }
            }
            starts.push(arcs.len());
        }
        Graph::new(starts, arcs, vec![0.0; network.len()])
    }

    fn new(starts: Vec<usize>, arcs: Vec<(u32, f64)>, inner_weights: Vec<f64>) -> Graph {
        let sum = |node: usize| -> f64 {
            let row = &arcs[starts[node]..starts[node + 1]];
            inner_weights[node] + row.iter().map(|arc| arc.1).sum::<f64>()
        };
        let strength: Vec<f64> = (0..inner_weights.len()).map(sum).collect();
        Graph {
            total: strength.iter().sum(),
            starts,
            arcs,
            inner_weights,
            strength,
        }
    }

    fn len(&self) -> usize {
        self.inner_weights.len()
    }

    fn row(&self, node: usize) -> &[(u32, f64)] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    /// One node for each community. `of`: the community of each node, all below `count`.
    fn aggregated(&self, partition: &[u32], count: usize) -> Graph {
        let members = Members::from_partition(partition, count);
        let (mut starts, mut arcs) = (Vec::with_capacity(count + 1), Vec::new());
        let mut own = vec![0.0; count];
        let mut near = NeighbourWeights::new(count);
        starts.push(0);
        for (community, own) in own.iter_mut().enumerate() {
            for &node in members.row(community) {
                *own += self.inner_weights[node as usize];
                for &(other, weight) in self.row(node as usize) {
                    near.add(partition[other as usize], weight);
                }
            }
            near.touched.sort_unstable();
            for &other in &near.touched {
                if other as usize == community {
                    *own += near.weight[other as usize]
                } else {
                    arcs.push((other, near.weight[other as usize]))
                }
            }
            near.clear();
            starts.push(arcs.len());
        }
        Graph::new(starts, arcs, own)
    }

    fn modularity(&self, partition: &[u32], resolution: f64) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let count = partition.iter().max().map_or(0, |&last| last as usize + 1);
        let (mut inside, mut strength) = (0.0, vec![0.0; count]);
        for node in 0..self.len() {
            strength[partition[node] as usize] += self.strength[node];
            let own = self
                .row(node)
                .iter()
                .filter(|arc| partition[arc.0 as usize] == partition[node]);
            inside += self.inner_weights[node] + own.map(|arc| arc.1).sum::<f64>();
        }
        let expected: f64 = strength.iter().map(|sum| (sum / self.total).powi(2)).sum();
        inside / self.total - resolution * expected
    }
}

/// Nodes by community.
struct Members {
    starts: Vec<usize>,
    nodes: Vec<u32>,
}

impl Members {
    fn from_partition(communities: &[u32], count: usize) -> Members {
        let mut starts = vec![0usize; count + 1];
        for &community in communities {
            starts[community as usize + 1] += 1;
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut nodes) = (starts.clone(), vec![0; communities.len()]);
        for (node, &community) in (0..).zip(communities) {
            nodes[next[community as usize]] = node;
            next[community as usize] += 1;
        }
        Members { starts, nodes }
    }

    fn row(&self, community: usize) -> &[u32] {
        &self.nodes[self.starts[community]..self.starts[community + 1]]
    }
}

/// Weights from one node to communities.
struct NeighbourWeights {
    weight: Vec<f64>,
    /// Those that are not 0.
    touched: Vec<u32>,
}

impl NeighbourWeights {
    fn new(count: usize) -> NeighbourWeights {
        NeighbourWeights {
            weight: vec![0.0; count],
            touched: Vec::new(),
        }
    }

    fn add(&mut self, community: u32, weight: f64) {
        let sum = &mut self.weight[community as usize];
        if *sum == 0.0 {
            self.touched.push(community);
        }
        *sum += weight;
    }

    fn clear(&mut self) {
        for &community in &self.touched {
            self.weight[community as usize] = 0.0;
        }
        self.touched.clear();
    }
}

/// One run over a graph.
struct LeidenRun<'a> {
    graph: &'a Graph,
    resolution: f64,
    random: &'a mut ChaCha8Rng,
}

impl<'a> LeidenRun<'a> {
    fn new(graph: &'a Graph, resolution: f64, random: &'a mut ChaCha8Rng) -> LeidenRun<'a> {
        LeidenRun {
            graph,
            resolution,
            random,
        }
    }

    /// The communities of the graph's nodes, level by level, from `start` on: refined ones, and in the end
    /// those of the last partition.
    fn levels(self, start: Vec<u32>) -> Vec<Vec<u32>> {
        let mut levels: Vec<Vec<u32>> = Vec::new();
        // Of each node of the input, the node that stands for it now.
        let mut place: Vec<u32> = (0..self.graph.len() as u32).collect();
        let mut partition = compact(&start).0;
        let mut coarse: Option<Graph> = None;
        loop {
            let graph = coarse.as_ref().unwrap_or(self.graph);
            let mover = Mover {
                graph,
                resolution: self.resolution,
            };
            mover.improve(&mut partition, self.random);
            let (moved, count) = compact(&partition);
            if count == graph.len() {
                // Every node is a community: those of the level before.
                levels.push(place);
                return levels;
            }
            let (refined, refined_count) = compact(&mover.refined(&moved, count));
            if refined_count == graph.len() {
                levels.push(place.iter().map(|&node| moved[node as usize]).collect());
                return levels;
            }
            for node in &mut place {
                *node = refined[*node as usize];
            }
            levels.push(place.clone());
            let next = graph.aggregated(&refined, refined_count);
            partition = vec![0; refined_count];
            for (node, &community) in refined.iter().enumerate() {
                partition[community as usize] = moved[node];
            }
            coarse = Some(next);
        }
    }
}

/// Moves the nodes of a graph between communities.
struct Mover<'a> {
    graph: &'a Graph,
    resolution: f64,
}

impl Mover<'_> {
    /// The weight between nodes of these strengths, were links drawn by chance; times the resolution.
    fn expected(&self, a: f64, b: f64) -> f64 {
        self.resolution * a * b / self.graph.total
    }

    /// Moves nodes as long as that gains (algorithm A.2, `MoveNodesFast`).
    fn improve(&self, partition: &mut [u32], random: &mut ChaCha8Rng) {
        let graph = self.graph;
        let nodes = graph.len();
        let mut strength = vec![0.0; nodes];
        let mut size = vec![0u32; nodes];
        for (node, &community) in partition.iter().enumerate() {
            strength[community as usize] += graph.strength[node];
            size[community as usize] += 1;
        }
        let mut empty: Vec<u32> = (0..nodes as u32)
            .filter(|&c| size[c as usize] == 0)
            .collect();
        let mut queue: VecDeque<u32> = shuffled(nodes, random).into();
        let mut is_queued = vec![true; nodes];
        let mut near = NeighbourWeights::new(nodes);
        while let Some(node) = queue.pop_front() {
            let at = node as usize;
            is_queued[at] = false;
            let own = partition[at];
            for &(other, weight) in graph.row(at) {
                near.add(partition[other as usize], weight);
            }
            strength[own as usize] -= graph.strength[at];
            size[own as usize] -= 1;
            let gain = |community: u32| {
                let expected = self.expected(graph.strength[at], strength[community as usize]);
                near.weight[community as usize] - expected
            };
            let (mut best, mut best_gain) = (own, gain(own));
            for &community in &near.touched {
                let gained = gain(community);
                let is_better =
                    gained > best_gain || (gained == best_gain && community < best && best != own);
                if is_better {
                    (best, best_gain) = (community, gained);
                }
            }
            if best_gain < 0.0
                && size[own as usize] > 0
                && let Some(alone) = empty.pop()
            {
                best = alone;
            }
            near.clear();
            strength[best as usize] += graph.strength[at];
            size[best as usize] += 1;
            partition[at] = best;
            if best == own {
                continue;
            }
            if size[own as usize] == 0 {
                empty.push(own);
            }
            for &(other, _) in graph.row(at) {
                let is_far = partition[other as usize] != best;
                if is_far && !std::mem::replace(&mut is_queued[other as usize], true) {
                    queue.push_back(other);
                }
            }
        }
    }

    /// Well-connected communities inside of those of `partition` (algorithm A.2, `RefinePartition`): each node
    /// in a community that is named by one of its nodes.
    fn refined(&self, partition: &[u32], count: usize) -> Vec<u32> {
        let graph = self.graph;
        let members = Members::from_partition(partition, count);
        let mut refined: Vec<u32> = (0..graph.len() as u32).collect();
        let mut is_alone = vec![true; graph.len()];
        let mut strength = graph.strength.clone();
        // Weight from each refined community to the rest of its community.
        let mut outward = vec![0.0; graph.len()];
        let mut near = NeighbourWeights::new(graph.len());
        for community in 0..count {
            let nodes = members.row(community);
            let whole: f64 = nodes
                .iter()
                .map(|&node| graph.strength[node as usize])
                .sum();
            let inside = |node: u32| {
                let row = graph.row(node as usize).iter();
                row.filter(|arc| partition[arc.0 as usize] as usize == community)
            };
            for &node in nodes {
                outward[node as usize] = inside(node).map(|arc| arc.1).sum();
            }
            let is_well = |outward: f64, part: f64| outward >= self.expected(part, whole - part);
            for &node in nodes {
                let at = node as usize;
                if !is_alone[at] || !is_well(outward[at], graph.strength[at]) {
                    continue;
                }
                let to_inside = outward[at];
                for arc in inside(node) {
                    near.add(refined[arc.0 as usize], arc.1);
                }
                let (mut best, mut best_gain) = (node, 0.0);
                for &other in &near.touched {
                    let there = other as usize;
                    if other == node || !is_well(outward[there], strength[there]) {
                        continue;
                    }
                    let expected = self.expected(graph.strength[at], strength[there]);
                    let gained = near.weight[there] - expected;
                    if gained > best_gain || (gained == best_gain && gained > 0.0 && other < best) {
                        (best, best_gain) = (other, gained);
                    }
                }
                if best != node {
                    let there = best as usize;
                    outward[there] += to_inside - 2.0 * near.weight[there];
                    strength[there] += graph.strength[at];
                    refined[at] = best;
                    is_alone[there] = false;
                }
                near.clear();
            }
        }
        refined
    }
}

/// The numbers below `count` in an order drawn by chance.
fn shuffled(count: usize, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        let with = (u128::from(random.next_u64()) * (at as u128 + 1)) >> 64;
        order.swap(at, with as usize);
    }
    order
}

/// Communities numbered from 0 without gaps, in the order of their numbers; and how many they are.
fn compact(partition: &[u32]) -> (Vec<u32>, usize) {
    let end = partition.iter().max().map_or(0, |&last| last as usize + 1);
    let mut new = vec![u32::MAX; end];
    for &community in partition {
        new[community as usize] = 0;
    }
    let mut count = 0;
    for number in new.iter_mut().filter(|number| **number == 0) {
        *number = count;
        count += 1;
    }
    let all = partition.iter().map(|&community| new[community as usize]);
    (all.collect(), count as usize)
}

/// Communities numbered from 0 in the order of their first nodes.
fn renumbered(partition: &[u32]) -> Vec<u32> {
    let end = partition.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut new, mut count) = (vec![u32::MAX; end], 0);
    let number = |&community: &u32| {
        let own = &mut new[community as usize];
        if *own == u32::MAX {
            *own = count;
            count += 1;
        }
        *own
    };
    partition.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    type Edges = Vec<(ConceptId, ConceptId, f32)>;

    fn edges(pairs: &[(u32, u32)]) -> Edges {
        let edge = |&(a, b): &(u32, u32)| (ConceptId(a), ConceptId(b), 1.0);
        pairs.iter().map(edge).collect()
    }

    /// Modularity from its definition: a sum over all pairs of nodes.
    fn modularity(edges: &Edges, found: &Communities, resolution: f64) -> f64 {
        let place = |id: ConceptId| found.concepts.binary_search(&id).unwrap();
        let count = found.concepts.len();
        let mut weights = vec![vec![0.0; count]; count];
        for &(a, b, weight) in edges.iter().filter(|edge| edge.0 != edge.1) {
            let (a, b) = (place(a), place(b));
            weights[a][b] += f64::from(weight);
            weights[b][a] += f64::from(weight);
        }
        let strength: Vec<f64> = weights.iter().map(|row| row.iter().sum()).collect();
        let total: f64 = strength.iter().sum();
        if total == 0.0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for a in 0..count {
            for b in (0..count).filter(|&b| found.coarsest()[a] == found.coarsest()[b]) {
                sum += weights[a][b] - resolution * strength[a] * strength[b] / total;
            }
        }
        sum / total
    }

    /// Whether every community is connected by edges inside of it.
    fn is_connected(edges: &Edges, found: &Communities, level: &[u32]) -> bool {
        let place = |id: ConceptId| found.concepts.binary_search(&id).unwrap();
        let mut parts: Vec<usize> = (0..level.len()).collect();
        fn root(parts: &mut [usize], mut at: usize) -> usize {
            while parts[at] != at {
                parts[at] = parts[parts[at]];
                at = parts[at];
            }
            at
        }
        for &(a, b, _) in edges {
            let (a, b) = (place(a), place(b));
            if level[a] == level[b] {
                let (a, b) = (root(&mut parts, a), root(&mut parts, b));
                parts[a] = b;
            }
        }
        let roots: BTreeSet<(u32, usize)> = (0..level.len())
            .map(|at| (level[at], root(&mut parts, at)))
            .collect();
        roots.len() == level.iter().collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn cliques_with_a_bridge_are_two_communities() {
        let mut pairs = Vec::new();
        for first in [0, 5] {
            for a in 0..5 {
                pairs.extend((0..a).map(|b| (first + a, first + b)));
            }
        }
        pairs.push((0, 5));
        let found = leiden([ConceptId(99)], &edges(&pairs), LeidenOptions::default());
        assert_eq!(found.coarsest(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2]);
        assert_eq!(found.concepts.last(), Some(&ConceptId(99)));
        let apart = LeidenOptions {
            resolution: 20.0,
            ..LeidenOptions::default()
        };
        assert_eq!(
            leiden([], &edges(&pairs), apart).coarsest().iter().max(),
            Some(&9)
        );
        let nothing = leiden([], &[], LeidenOptions::default());
        assert!(nothing.coarsest().is_empty() && nothing.modularity == 0.0);
    }

    proptest! {
        #[test]
        fn communities_are_connected_nested_and_have_reported_modularity(
            pairs in prop::collection::vec((0u32..40, 0u32..40, 1u8..5), 0..120),
            seed in any::<u64>(),
            resolution in prop::sample::select(vec![0.5, 1.0, 2.0]),
        ) {
            let edges: Edges = pairs.iter()
                .map(|&(a, b, weight)| (ConceptId(a), ConceptId(b), f32::from(weight)))
                .collect();
            let options = LeidenOptions { resolution, seed, iterations: 2 };
            let found = leiden([], &edges, options);
            prop_assert!((found.modularity - modularity(&edges, &found, resolution)).abs() < 1e-9);
            for level in &found.levels {
                prop_assert_eq!(level.len(), found.concepts.len());
                prop_assert!(is_connected(&edges, &found, level));
            }
            for pair in found.levels.windows(2) {
                let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
                for (child, parent) in pair[0].iter().zip(&pair[1]) {
                    prop_assert_eq!(parents.entry(*child).or_insert(*parent), parent);
                }
            }
            let mut reversed = edges.clone();
            reversed.reverse();
            prop_assert_eq!(&leiden([], &reversed, options), &found);
        }

        #[test]
        fn no_node_gains_by_leaving(
            pairs in prop::collection::vec((0u32..25, 0u32..25), 1..80), seed in any::<u64>(),
        ) {
            let edges = edges(&pairs);
            let options = LeidenOptions { seed, iterations: 10, ..LeidenOptions::default() };
            let found = leiden([], &edges, options);
            let best = found.modularity;
            let count = found.coarsest().iter().max().map_or(0, |last| last + 1);
            for place in 0..found.concepts.len() {
                for community in 0..=count {
                    let mut other = found.clone();
                    other.levels.last_mut().unwrap()[place] = community;
                    prop_assert!(modularity(&edges, &other, 1.0) <= best + 1e-9);
                }
            }
        }
    }
}
