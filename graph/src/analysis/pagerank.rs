//! PageRank of concepts, and its section.
//!
//! ```text
//! offset  size  field     (integers are little-endian)
//!      0     4  version   1
//!      4     4  count     one past the highest concept id that has a rank
//!      8    4·count       ranks: f32 by concept id, finite, not negative; 0 where there is none
//! ```
//!
//! Start reading at [`pagerank`].

use std::ops::Range;

use loci_storage::ConceptId;
use rayon::prelude::*;

use crate::analysis::network::{Network, numbered};
use crate::error::GraphError;
use crate::u32_slice::{Layout, U32Slice, count, extend};

const SECTION: &str = "ranks";
const VERSION: u32 = 1;

/// How PageRank is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRankOptions {
    /// The chance of following an edge rather than starting anew, in 0..=1.
    pub damping: f64,
    /// Rounds.
    pub iterations: usize,
}

impl Default for PageRankOptions {
    /// 0.85 and 20 rounds.
    fn default() -> PageRankOptions {
        PageRankOptions {
            damping: 0.85,
            iterations: 20,
        }
    }
}

/// PageRank over undirected weighted edges.
///
/// `concepts`: all concepts, with or without edges, in any order; ends of edges are added.
/// `edges`: each once, in either direction; parallel edges add up, and a weight that is not finite and
/// positive is no edge. A concept without edges hands its rank to all alike.
///
/// Returns (concept, rank) by ascending concept; the ranks are positive and sum to 1. The same input
/// gives the same bits, whatever the order of its edges. Costs `iterations · (concepts + edges)`, spread over
/// the threads of the rayon pool that it is called in.
///
/// Source: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", Stanford 1999.
pub fn pagerank(
    concepts: impl IntoIterator<Item = ConceptId>,
    edges: &[(ConceptId, ConceptId, f32)],
    options: PageRankOptions,
) -> Vec<(ConceptId, f32)> {
    let (ids, edges) = numbered(concepts, edges);
    let network = Network::new(ids.len(), &edges);
    let ranks = ranks(&network, options);
    ids.into_iter()
        .zip(ranks.into_iter().map(|rank| rank as f32))
        .collect()
}

fn ranks(network: &Network, options: PageRankOptions) -> Vec<f64> {
    let nodes = network.len();
    let damping = if options.damping.is_finite() {
        options.damping.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let strength = network.strengths();
    let mut ranks = vec![1.0 / nodes as f64; nodes];
    for _ in 0..options.iterations {
        // What each node hands along a unit of weight; nodes without edges hand to all alike.
        let share = |(&rank, &strength): (&f64, &f64)| match strength {
            0.0 => 0.0,
            strength => rank / strength,
        };
        let shares: Vec<f64> = ranks.par_iter().zip(&strength).map(share).collect();
        let idle = ranks.iter().zip(&strength).filter(|of| *of.1 == 0.0);
        let dangling: f64 = idle.map(|(rank, _)| rank).sum();
        let floor = (1.0 - damping + damping * dangling) / nodes as f64;
        // Each node's sum is taken by one thread, in order: the same bits for any number of threads.
        let inflow = |node: usize| -> f64 {
            let row = network.row(node).iter();
            row.map(|&(other, weight)| shares[other as usize] * f64::from(weight))
                .sum()
        };
        let next = (0..nodes).into_par_iter().with_min_len(NODES_A_TASK);
        ranks = next.map(|node| floor + damping * inflow(node)).collect();
    }
    ranks
}

/// Nodes that one thread takes at least.
const NODES_A_TASK: usize = 4096;

/// Collects ranks.
#[derive(Debug, Default)]
pub struct RanksBuilder {
    ranks: Vec<f32>,
}

impl RanksBuilder {
    /// Sets the rank of a concept, in any order. A rank that is negative or not finite counts as 0.
    pub fn push(&mut self, concept: ConceptId, rank: f32) {
        let at = concept.0 as usize;
        if at >= self.ranks.len() {
            self.ranks.resize(at + 1, 0.0);
        }
        self.ranks[at] = if rank.is_finite() { rank.max(0.0) } else { 0.0 };
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + 4 * self.ranks.len());
        extend(&mut bytes, [VERSION, count(self.ranks.len())]);
        extend(&mut bytes, self.ranks.iter().map(|rank| rank.to_bits()));
        bytes
    }
}

/// The ranks of concepts, checked.
#[derive(Debug)]
pub struct Ranks<B> {
    bytes: B,
    ranks: Range<usize>,
}

impl<B: AsRef<[u8]>> Ranks<B> {
    /// Checks `bytes`, which may be anything. Costs one pass.
    pub fn open(bytes: B) -> Result<Ranks<B>, GraphError> {
        let (mut layout, [_, count]) = Layout::open::<2>(SECTION, VERSION, bytes.as_ref())?;
        let ranks = layout.words(u64::from(count))?;
        layout.finish()?;
        let is_rank = |bits| f32::from_bits(bits).is_finite() && f32::from_bits(bits) >= 0.0;
        if !U32Slice::new(bytes.as_ref(), &ranks).iter().all(is_rank) {
            return Err(GraphError::Malformed {
                section: SECTION,
                why: "a rank is negative or not finite",
            });
        }
        Ok(Ranks { bytes, ranks })
    }

    /// The rank of a concept; 0 when it has none, because it is newer than the analysis.
    pub fn get(&self, concept: ConceptId) -> f32 {
        let ranks = U32Slice::new(self.bytes.as_ref(), &self.ranks);
        ranks.get(concept.0 as usize).map_or(0.0, f32::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge(a: u32, b: u32, weight: f32) -> (ConceptId, ConceptId, f32) {
        (ConceptId(a), ConceptId(b), weight)
    }

    /// Plainly right: a dense matrix, one column a node.
    fn reference(
        nodes: usize,
        edges: &[(ConceptId, ConceptId, f32)],
        options: PageRankOptions,
    ) -> Vec<f64> {
        let mut weights = vec![vec![0.0; nodes]; nodes];
        for &(a, b, weight) in edges {
            let (a, b) = (a.0 as usize, b.0 as usize);
            weights[a][b] += f64::from(weight);
            if a != b {
                weights[b][a] += f64::from(weight);
            }
        }
        let mut ranks = vec![1.0 / nodes as f64; nodes];
        for _ in 0..options.iterations {
            let mut next = vec![(1.0 - options.damping) / nodes as f64; nodes];
            for from in 0..nodes {
                let total: f64 = weights[from].iter().sum();
                for to in 0..nodes {
                    let chance = if total == 0.0 {
                        1.0 / nodes as f64
                    } else {
                        weights[from][to] / total
                    };
                    next[to] += options.damping * ranks[from] * chance;
                }
            }
            ranks = next;
        }
        ranks
    }

    #[test]
    fn a_star_has_the_known_ranks() {
        // Fixed point for a centre c with 4 leaves l: c = .03 + .85 · 4l, l = .03 + .85 · c / 4.
        let edges = [1, 2, 3, 4].map(|leaf| edge(0, leaf, 1.0));
        let options = PageRankOptions {
            iterations: 200,
            ..PageRankOptions::default()
        };
        let ranks = pagerank([], &edges, options);
        let centre = (0.03 + 0.85 * 4.0 * 0.03) / (1.0 - 0.85 * 0.85);
        assert!((f64::from(ranks[0].1) - centre).abs() < 1e-6, "{ranks:?}");
        assert!(
            (f64::from(ranks[1].1) - (1.0 - centre) / 4.0).abs() < 1e-6,
            "{ranks:?}"
        );
    }

    #[test]
    fn no_concepts_have_no_ranks() {
        assert!(pagerank([], &[], PageRankOptions::default()).is_empty());
        assert_eq!(
            pagerank(
                [ConceptId(9)],
                &[edge(1, 2, f32::NAN)],
                PageRankOptions::default()
            ),
            [(ConceptId(9), 1.0)]
        );
    }

    #[test]
    fn absent_concepts_rank_last() {
        let mut builder = RanksBuilder::default();
        builder.push(ConceptId(2), 0.5);
        builder.push(ConceptId(0), f32::NAN);
        let ranks = Ranks::open(builder.finish()).unwrap();
        assert_eq!(
            [0, 1, 2, 3, u32::MAX].map(|id| ranks.get(ConceptId(id))),
            [0.0, 0.0, 0.5, 0.0, 0.0]
        );
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let mut builder = RanksBuilder::default();
        builder.push(ConceptId(1), 1.0);
        let bytes = builder.finish();
        assert_eq!(
            bytes,
            [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f]
        );
        for len in 0..bytes.len() {
            assert!(
                Ranks::open(&bytes[..len]).is_err(),
                "a cut at {len} was not noticed"
            );
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_dense_matrix(
            pairs in prop::collection::vec((0u32..8, 0u32..8, 1u8..5), 0..20), iterations in 0usize..25,
        ) {
            let edges: Vec<_> = pairs.iter().map(|&(a, b, w)| edge(a, b, f32::from(w))).collect();
            let options = PageRankOptions { iterations, ..PageRankOptions::default() };
            let got = pagerank((0..8).map(ConceptId), &edges, options);
            let want = reference(8, &edges, options);
            prop_assert!((got.iter().map(|rank| f64::from(rank.1)).sum::<f64>() - 1.0).abs() < 1e-5);
            for (&(concept, rank), want) in got.iter().zip(&want) {
                prop_assert!((f64::from(rank) - want).abs() < 1e-6, "{concept:?}: {rank} {want}");
            }
        }

        #[test]
        fn the_order_and_direction_of_edges_changes_no_bit(
            pairs in prop::collection::vec((0u32..6, 0u32..6, 1u8..5), 0..12),
        ) {
            let there: Vec<_> = pairs.iter().map(|&(a, b, w)| edge(a, b, f32::from(w) * 0.1)).collect();
            let back: Vec<_> = there.iter().rev().map(|&(a, b, w)| (b, a, w)).collect();
            let options = PageRankOptions::default();
            prop_assert_eq!(pagerank([], &there, options), pagerank([], &back, options));
        }

        #[test]
        fn any_bytes_give_an_error_or_ranks(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
            if let Ok(ranks) = Ranks::open(bytes) {
                prop_assert!((0..9).all(|id| ranks.get(ConceptId(id)).is_finite()));
            }
        }
    }
}
