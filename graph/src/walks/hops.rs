//! Traversal of a few hops from several seeds, and the chunks of what it reached.
//!
//! Start reading at [`two_hop`].

use std::collections::HashSet;

use loci_storage::{ConceptId, Ordinal, ScoredChunk};
use roaring::RoaringBitmap;

use crate::analysis::adjacency::Adjacency;
use crate::snapshot::{EdgeFilter, GraphSnapshot};

/// Hops that a traversal may be asked for.
pub const HOPS_MAX: usize = 3;

/// Chunks up to which repeats are found by comparing them with each other.
const COMPARED_MAX: usize = 64;

/// How far a traversal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopOptions {
    /// Edges between a seed and what is reached; held to 1..=[`HOPS_MAX`].
    pub hops: usize,
    /// Concepts to return, seeds included.
    pub limit: usize,
    /// Neighbours of one concept that are followed: the best by PageRank, then id.
    pub fan_out: usize,
    /// Whether the ways to what is reached are wanted; else they may be left empty.
    pub with_paths: bool,
}

impl Default for HopOptions {
    /// 2 hops, 20 concepts, 256 neighbours, with their ways.
    fn default() -> HopOptions {
        HopOptions {
            hops: 2,
            limit: 20,
            fan_out: 256,
            with_paths: true,
        }
    }
}

/// What a traversal reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traversal {
    /// The concepts, best first.
    pub reached: Vec<ReachedConcept>,
    /// Whether the limit or the bound on neighbours left something out.
    pub truncated: bool,
}

/// A concept that a traversal reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedConcept {
    /// The concept.
    pub concept: ConceptId,
    /// Edges between it and the nearest seed; 0 for a seed.
    pub hops: usize,
    /// From the seed to the concept, both included.
    pub path: Vec<ConceptId>,
}

/// The concepts within some hops of the seeds, edges taken in both directions.
///
/// `seeds`: in any order; repeats and invisible concepts are ignored. Seeds are reached with 0 hops and
/// count towards the limit. Returns by hops, then falling PageRank, then id; each concept once, with
/// a shortest path whose every step comes from the predecessor that stands first in that order.
///
/// Costs at most `limit²` neighbours a hop where they are written by rank ([`GraphSnapshot::adjacency`]). Without,
/// at most `limit · (edges of a concept)` for the concepts before the last hop, unless one hop alone
/// passes the limit: that hop is collected whole, because its best may come from anywhere.
pub fn two_hop<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    seeds: &[ConceptId],
    options: HopOptions,
) -> Traversal {
    two_hop_filtered(snapshot, seeds, options, EdgeFilter::default())
}

/// [`two_hop`] by the edges that `along` takes. Where that is not all of them, it costs as much as without
/// neighbours that are written by rank.
pub fn two_hop_filtered<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    seeds: &[ConceptId],
    options: HopOptions,
    edge_filter: EdgeFilter<'_>,
) -> Traversal {
    if let Some(adjacency) = snapshot
        .adjacency
        .filter(|_| edge_filter == EdgeFilter::default())
    {
        return ranked_hops(snapshot, adjacency, seeds, options);
    }
    let mut level = visible_seeds(snapshot, seeds);
    let seen = level.iter().map(|seed| seed.concept).collect();
    let mut search = LevelSearch {
        snapshot,
        edge_filter,
        fan_out: options.fan_out,
        seen,
        is_truncated: false,
    };
    let mut reached = Vec::new();
    for hop in 1..=options.hops.clamp(1, HOPS_MAX) {
        let enough = reached.len() + level.len() > options.limit;
        let next = if enough {
            Vec::new()
        } else {
            search.expand_level(&level, hop)
        };
        reached.append(&mut level);
        level = next;
    }
    reached.append(&mut level);
    let truncated = search.is_truncated || reached.len() > options.limit;
    reached.truncate(options.limit);
    Traversal { reached, truncated }
}

/// A concept while it is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedStep {
    /// Ascends as the rank falls.
    rank: u32,
    concept: u32,
    /// The place of the concept before it.
    predecessor: u32,
}

/// [`two_hop`] over neighbours that are written by rank: of each concept no more of them are looked at than
/// may be returned.
fn ranked_hops<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    adjacency: &Adjacency<B>,
    seeds: &[ConceptId],
    options: HopOptions,
) -> Traversal {
    let step = |concept: ConceptId, before: usize| RankedStep {
        // Ranks are not negative, so their bits ascend as they do.
        rank: !snapshot.rank(concept).to_bits(),
        concept: concept.0,
        predecessor: before as u32,
    };
    let visible = seeds.iter().filter(|&&seed| snapshot.is_visible(seed));
    let mut reached: Vec<RankedStep> = visible.map(|&seed| step(seed, 0)).collect();
    reached.sort_unstable();
    reached.dedup();
    let mut levels = vec![0, reached.len()];
    let mut cut = false;
    for _ in 1..=options.hops.clamp(1, HOPS_MAX) {
        let (first, end) = (levels[levels.len() - 2], reached.len());
        let Some(left) = options.limit.checked_sub(end) else {
            break;
        };
        for from in first..end {
            let neighbours = adjacency.neighbours(ConceptId(reached[from].concept));
            cut |= neighbours.len() > options.fan_out;
            // One more than may be returned shows that something is left out.
            let mut remaining = left + 1;
            for concept in neighbours.take(options.fan_out) {
                if reached[..end]
                    .iter()
                    .any(|known| known.concept == concept.0)
                {
                    continue;
                }
                reached.push(step(concept, from));
                remaining -= 1;
                if remaining == 0 {
                    break;
                }
            }
        }
        reached[end..].sort_unstable();
        let mut last = None;
        let mut end_of_level = end;
        for at in end..reached.len() {
            let next = reached[at];
            if last.replace(next.concept) != Some(next.concept) {
                reached[end_of_level] = next;
                end_of_level += 1;
            }
        }
        reached.truncate(end_of_level);
        levels.push(end_of_level);
    }
    let truncated = cut || reached.len() > options.limit;
    reached.truncate(options.limit);
    let reached =
        (0..reached.len()).map(|at| reached_concept(&reached, &levels, at, options.with_paths));
    Traversal {
        reached: reached.collect(),
        truncated,
    }
}

/// What was reached at a place, with the way to it. `levels`: where each number of hops ends.
fn reached_concept(
    steps: &[RankedStep],
    levels: &[usize],
    at: usize,
    with_path: bool,
) -> ReachedConcept {
    let hops = levels[1..].partition_point(|&end| end <= at);
    let mut path = if with_path {
        vec![ConceptId(steps[at].concept); hops + 1]
    } else {
        Vec::new()
    };
    let mut before = at;
    for place in path.iter_mut().rev() {
        *place = ConceptId(steps[before].concept);
        before = steps[before].predecessor as usize;
    }
    ReachedConcept {
        concept: ConceptId(steps[at].concept),
        hops,
        path,
    }
}

fn visible_seeds<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    seeds: &[ConceptId],
) -> Vec<ReachedConcept> {
    let mut seeds: Vec<ConceptId> = seeds
        .iter()
        .copied()
        .filter(|&seed| snapshot.is_visible(seed))
        .collect();
    snapshot.sort_by_rank(&mut seeds);
    let reached = |concept| ReachedConcept {
        concept,
        hops: 0,
        path: vec![concept],
    };
    seeds.into_iter().map(reached).collect()
}

struct LevelSearch<'a, B> {
    snapshot: GraphSnapshot<'a, B>,
    edge_filter: EdgeFilter<'a>,
    fan_out: usize,
    seen: HashSet<ConceptId>,
    /// Whether neighbours were left out.
    is_truncated: bool,
}

impl<B: AsRef<[u8]>> LevelSearch<'_, B> {
    /// The concepts one edge beyond `level` that were not seen before, in order.
    fn expand_level(&mut self, level: &[ReachedConcept], hops: usize) -> Vec<ReachedConcept> {
        let mut next = Vec::new();
        for from in level {
            let neighbours = self
                .snapshot
                .neighbours_filtered(from.concept, self.edge_filter);
            self.is_truncated |= neighbours.len() > self.fan_out;
            for concept in neighbours.into_iter().take(self.fan_out) {
                if self.seen.insert(concept) {
                    let path = from.path.iter().copied().chain([concept]).collect();
                    next.push(ReachedConcept {
                        concept,
                        hops,
                        path,
                    });
                }
            }
        }
        let rank = |reached: &ReachedConcept| self.snapshot.rank(reached.concept);
        next.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.concept.cmp(&b.concept)));
        next
    }
}

/// A chunk with the best concept that it mentions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConceptHit {
    /// The chunk; its score is `1 / (1 + place of the concept)`.
    pub hit: ScoredChunk,
    /// The first of the reached concepts that the chunk mentions.
    pub concept: ConceptId,
}

/// The live chunks that mention what was reached: by the place of their best concept, then ordinal.
///
/// `filter`: ordinals that may be returned. Each chunk is returned once, `limit` at most.
pub fn chunks_mentioning<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    reached: &[ReachedConcept],
    filter: Option<&RoaringBitmap>,
    limit: usize,
) -> Vec<ConceptHit> {
    let mut returned: HashSet<Ordinal> = HashSet::new();
    let is_short = limit <= COMPARED_MAX;
    let allowed = |chunk: Ordinal| filter.is_none_or(|filter| filter.contains(chunk.0));
    let mut hits = Vec::new();
    for (place, concept) in reached.iter().map(|reached| reached.concept).enumerate() {
        let score = 1.0 / (1.0 + place as f32);
        for (ordinal, _) in snapshot.chunks(concept) {
            if hits.len() >= limit {
                return hits;
            }
            let is_new = if is_short {
                hits.iter()
                    .all(|hit: &ConceptHit| hit.hit.ordinal != ordinal)
            } else {
                returned.insert(ordinal)
            };
            if is_new && allowed(ordinal) {
                hits.push(ConceptHit {
                    hit: ScoredChunk { ordinal, score },
                    concept,
                });
            }
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_corpus::{Corpus, ExpectedGraph, any_corpus, any_cuts, any_edge_filter};
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    /// Plainly right: distances by relaxing all edges, then paths backwards from each concept.
    fn reference(
        corpus: &Corpus,
        facts: &ExpectedGraph,
        seeds: &[ConceptId],
        hops: usize,
        edge_filter: EdgeFilter<'_>,
    ) -> Vec<ReachedConcept> {
        let visible = facts.concepts();
        let mut distance: BTreeMap<ConceptId, usize> = seeds
            .iter()
            .filter(|seed| visible.contains(seed))
            .map(|&seed| (seed, 0))
            .collect();
        for hop in 1..=hops {
            let near: Vec<ConceptId> = distance.keys().copied().collect();
            for concept in near
                .into_iter()
                .flat_map(|from| facts.neighbours_filtered(from, edge_filter))
            {
                distance.entry(concept).or_insert(hop);
            }
        }
        let order = |concept: &ConceptId| (Reverse(corpus.rank(*concept)), *concept);
        let path_to = |concept: ConceptId| {
            let mut path = vec![concept];
            while distance[&path[0]] > 0 {
                let back = EdgeFilter {
                    direction: edge_filter.direction.reversed(),
                    ..edge_filter
                };
                let before = facts.neighbours_filtered(path[0], back);
                let before = before.into_iter().filter(|other| {
                    distance
                        .get(other)
                        .is_some_and(|&hops| hops + 1 == distance[&path[0]])
                });
                path.insert(0, before.min_by_key(order).unwrap());
            }
            path
        };
        let mut reached: Vec<ReachedConcept> = distance
            .iter()
            .map(|(&concept, &hops)| ReachedConcept {
                concept,
                hops,
                path: path_to(concept),
            })
            .collect();
        reached.sort_by_key(|reached| (reached.hops, order(&reached.concept)));
        reached
    }

    fn any_seeds() -> impl Strategy<Value = Vec<ConceptId>> {
        prop::collection::vec((0u32..12).prop_map(ConceptId), 0..4)
    }

    proptest! {
        #[test]
        fn two_hop_agrees_with_reference_for_any_segmentation(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), hops in 1usize..4, limit in 0usize..12,
        ) {
            let expected = reference(&corpus, &corpus.expected(), &seeds, hops, EdgeFilter::default());
            let options = HopOptions { hops, limit, ..HopOptions::default() };
            let got = corpus.with_snapshot(&cuts, |view| two_hop(view, &seeds, options));
            let ranked = corpus.with_analysis(&cuts, |view| two_hop(view, &seeds, options));
            prop_assert_eq!(&ranked, &got);
            prop_assert_eq!(got.truncated, expected.len() > limit);
            prop_assert_eq!(&got.reached[..], &expected[..limit.min(expected.len())]);
        }

        #[test]
        fn edge_filter_restricts_kinds_and_directions(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), hops in 1usize..4, along in any_edge_filter(),
        ) {
            let expected = reference(&corpus, &corpus.expected(), &seeds, hops, along);
            let options = HopOptions { hops, ..HopOptions::default() };
            let got = corpus.with_analysis(&cuts, |view| two_hop_filtered(view, &seeds, options, along));
            prop_assert_eq!(got.reached, expected);
        }

        #[test]
        fn bounded_fan_out_does_not_depend_on_segmentation(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), fan_out in 0usize..3,
        ) {
            let options = HopOptions { fan_out, ..HopOptions::default() };
            let got = corpus.with_snapshot(&cuts, |view| two_hop(view, &seeds, options));
            let whole = corpus.with_snapshot(&[false; 5], |view| two_hop(view, &seeds, options));
            let ranked = corpus.with_analysis(&cuts, |view| two_hop(view, &seeds, options));
            prop_assert_eq!(&got, &ranked);
            prop_assert_eq!(got, whole);
        }

        #[test]
        fn chunks_are_ordered_by_their_best_concept(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), limit in 0usize..12,
            filter in prop::option::of(prop::collection::btree_set(0u32..15, 0..15)),
        ) {
            let facts = corpus.expected();
            let reached = reference(&corpus, &facts, &seeds, 2, EdgeFilter::default());
            let filter: Option<RoaringBitmap> = filter.map(|filter| filter.into_iter().collect());
            let got = corpus.with_snapshot(&cuts, |view| chunks_mentioning(view, &reached, filter.as_ref(), limit));
            let best = |chunk: &Ordinal| {
                reached.iter().position(|reached| facts.mentions.contains_key(&(reached.concept, *chunk)))
            };
            let mut expected: Vec<(usize, Ordinal)> = facts.live.iter()
                .filter(|chunk| filter.as_ref().is_none_or(|filter| filter.contains(chunk.0)))
                .filter_map(|chunk| Some((best(chunk)?, *chunk)))
                .collect();
            expected.sort();
            expected.truncate(limit);
            let expected: Vec<ConceptHit> = expected.into_iter().map(|(place, ordinal)| ConceptHit {
                hit: ScoredChunk { ordinal, score: 1.0 / (1.0 + place as f32) },
                concept: reached[place].concept,
            }).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
