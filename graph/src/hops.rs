//! Traversal of a few hops from several seeds (R9), and the chunks of what it reached.
//!
//! Start reading at [`two_hop`].

use std::collections::HashSet;

use loci_storage::{ConceptId, Ordinal, Scored};
use roaring::RoaringBitmap;

use crate::adjacency::Adjacency;
use crate::view::{Along, GraphView};

/// Hops that a traversal may be asked for.
pub const HOPS_MAX: usize = 3;

/// Chunks that are told apart by comparing them with each other.
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
    pub paths: bool,
}

impl Default for HopOptions {
    /// 2 hops, 20 concepts, 256 neighbours, with their ways.
    fn default() -> HopOptions {
        HopOptions {
            hops: 2,
            limit: 20,
            fan_out: 256,
            paths: true,
        }
    }
}

/// What a traversal reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The concepts, best first.
    pub reached: Vec<Reached>,
    /// Whether the limit or the bound on neighbours left something out.
    pub truncated: bool,
}

/// A concept that a traversal reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
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
/// Costs at most `limit²` neighbours a hop where they are written by rank ([`GraphView::adjacency`]). Without,
/// at most `limit · (edges of a concept)` for the concepts before the last hop, unless one hop alone
/// passes the limit: that hop is collected whole, because its best may come from anywhere.
pub fn two_hop<B: AsRef<[u8]>>(
    view: GraphView<'_, B>,
    seeds: &[ConceptId],
    options: HopOptions,
) -> Walk {
    hops_along(view, seeds, options, Along::default())
}

/// [`two_hop`] by the edges that `along` takes. Where that is not all of them, it costs as much as without
/// neighbours that are written by rank.
pub fn hops_along<B: AsRef<[u8]>>(
    view: GraphView<'_, B>,
    seeds: &[ConceptId],
    options: HopOptions,
    along: Along<'_>,
) -> Walk {
    if let Some(adjacency) = view.adjacency.filter(|_| along == Along::default()) {
        return ranked_hops(view, adjacency, seeds, options);
    }
    let mut level = visible_seeds(view, seeds);
    let seen = level.iter().map(|seed| seed.concept).collect();
    let mut search = Search {
        view,
        along,
        fan_out: options.fan_out,
        seen,
        cut: false,
    };
    let mut reached = Vec::new();
    for hop in 1..=options.hops.clamp(1, HOPS_MAX) {
        let enough = reached.len() + level.len() > options.limit;
        let next = if enough {
            Vec::new()
        } else {
            search.beyond(&level, hop)
        };
        reached.append(&mut level);
        level = next;
    }
    reached.append(&mut level);
    let truncated = search.cut || reached.len() > options.limit;
    reached.truncate(options.limit);
    Walk { reached, truncated }
}

/// A concept while it is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// Ascends as the rank falls.
    rank: u32,
    concept: u32,
    /// The place of the concept before it.
    before: u32,
}

/// [`two_hop`] over neighbours that are written by rank: of each concept no more of them are looked at than
/// may be returned.
fn ranked_hops<B: AsRef<[u8]>>(
    view: GraphView<'_, B>,
    adjacency: &Adjacency<B>,
    seeds: &[ConceptId],
    options: HopOptions,
) -> Walk {
    let step = |concept: ConceptId, before: usize| Step {
        // Ranks are not negative, so their bits ascend as they do.
        rank: !view.rank(concept).to_bits(),
        concept: concept.0,
        before: before as u32,
    };
    let visible = seeds.iter().filter(|&&seed| view.is_visible(seed));
    let mut reached: Vec<Step> = visible.map(|&seed| step(seed, 0)).collect();
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
            // One more than may be returned tells that something is left out.
            let mut wanted = left + 1;
            for concept in neighbours.take(options.fan_out) {
                if reached[..end]
                    .iter()
                    .any(|known| known.concept == concept.0)
                {
                    continue;
                }
                reached.push(step(concept, from));
                wanted -= 1;
                if wanted == 0 {
                    break;
                }
            }
        }
        reached[end..].sort_unstable();
        let mut last = None;
        let mut kept = end;
        for at in end..reached.len() {
            let next = reached[at];
            if last.replace(next.concept) != Some(next.concept) {
                reached[kept] = next;
                kept += 1;
            }
        }
        reached.truncate(kept);
        levels.push(kept);
    }
    let truncated = cut || reached.len() > options.limit;
    reached.truncate(options.limit);
    let reached = (0..reached.len()).map(|at| found(&reached, &levels, at, options.paths));
    Walk {
        reached: reached.collect(),
        truncated,
    }
}

/// What was reached at a place, with the way to it. `levels`: where each number of hops ends.
fn found(steps: &[Step], levels: &[usize], at: usize, with_path: bool) -> Reached {
    let hops = levels[1..].partition_point(|&end| end <= at);
    let mut path = if with_path {
        vec![ConceptId(steps[at].concept); hops + 1]
    } else {
        Vec::new()
    };
    let mut before = at;
    for place in path.iter_mut().rev() {
        *place = ConceptId(steps[before].concept);
        before = steps[before].before as usize;
    }
    Reached {
        concept: ConceptId(steps[at].concept),
        hops,
        path,
    }
}

fn visible_seeds<B: AsRef<[u8]>>(view: GraphView<'_, B>, seeds: &[ConceptId]) -> Vec<Reached> {
    let mut seeds: Vec<ConceptId> = seeds
        .iter()
        .copied()
        .filter(|&seed| view.is_visible(seed))
        .collect();
    view.sort_by_rank(&mut seeds);
    let reached = |concept| Reached {
        concept,
        hops: 0,
        path: vec![concept],
    };
    seeds.into_iter().map(reached).collect()
}

struct Search<'a, B> {
    view: GraphView<'a, B>,
    along: Along<'a>,
    fan_out: usize,
    seen: HashSet<ConceptId>,
    /// Whether neighbours were left out.
    cut: bool,
}

impl<B: AsRef<[u8]>> Search<'_, B> {
    /// What lies one edge beyond `level` and was not seen before, in order.
    fn beyond(&mut self, level: &[Reached], hops: usize) -> Vec<Reached> {
        let mut next = Vec::new();
        for from in level {
            let neighbours = self.view.neighbours_along(from.concept, self.along);
            self.cut |= neighbours.len() > self.fan_out;
            for concept in neighbours.into_iter().take(self.fan_out) {
                if self.seen.insert(concept) {
                    let path = from.path.iter().copied().chain([concept]).collect();
                    next.push(Reached {
                        concept,
                        hops,
                        path,
                    });
                }
            }
        }
        let rank = |reached: &Reached| self.view.rank(reached.concept);
        next.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.concept.cmp(&b.concept)));
        next
    }
}

/// A chunk with the best concept that it mentions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConceptHit {
    /// The chunk; its score is `1 / (1 + place of the concept)`.
    pub hit: Scored,
    /// The first of the reached concepts that the chunk mentions.
    pub concept: ConceptId,
}

/// The live chunks that mention what was reached: by the place of their best concept, then ordinal.
///
/// `filter`: ordinals that may be returned. Each chunk is returned once, `limit` at most.
pub fn chunks_of<B: AsRef<[u8]>>(
    view: GraphView<'_, B>,
    reached: &[Reached],
    filter: Option<&RoaringBitmap>,
    limit: usize,
) -> Vec<ConceptHit> {
    let mut taken: HashSet<Ordinal> = HashSet::new();
    let is_short = limit <= COMPARED_MAX;
    let allowed = |chunk: Ordinal| filter.is_none_or(|filter| filter.contains(chunk.0));
    let mut hits = Vec::new();
    for (place, concept) in reached.iter().map(|reached| reached.concept).enumerate() {
        let score = 1.0 / (1.0 + place as f32);
        for (ordinal, _) in view.chunks(concept) {
            if hits.len() >= limit {
                return hits;
            }
            let is_new = if is_short {
                hits.iter()
                    .all(|hit: &ConceptHit| hit.hit.ordinal != ordinal)
            } else {
                taken.insert(ordinal)
            };
            if is_new && allowed(ordinal) {
                hits.push(ConceptHit {
                    hit: Scored { ordinal, score },
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
    use crate::sample::{Corpus, Facts, any_along, any_corpus, any_cuts};
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    /// Plainly right: distances by relaxing all edges, then paths backwards from each concept.
    fn reference(
        corpus: &Corpus,
        facts: &Facts,
        seeds: &[ConceptId],
        hops: usize,
        along: Along<'_>,
    ) -> Vec<Reached> {
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
                .flat_map(|from| facts.neighbours_along(from, along))
            {
                distance.entry(concept).or_insert(hop);
            }
        }
        let order = |concept: &ConceptId| (Reverse(corpus.rank(*concept)), *concept);
        let path_to = |concept: ConceptId| {
            let mut path = vec![concept];
            while distance[&path[0]] > 0 {
                let back = Along {
                    direction: along.direction.back(),
                    ..along
                };
                let before = facts.neighbours_along(path[0], back);
                let before = before.into_iter().filter(|other| {
                    distance
                        .get(other)
                        .is_some_and(|&hops| hops + 1 == distance[&path[0]])
                });
                path.insert(0, before.min_by_key(order).unwrap());
            }
            path
        };
        let mut reached: Vec<Reached> = distance
            .iter()
            .map(|(&concept, &hops)| Reached {
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
            let expected = reference(&corpus, &corpus.facts(), &seeds, hops, Along::default());
            let options = HopOptions { hops, limit, ..HopOptions::default() };
            let got = corpus.with_view(&cuts, |view| two_hop(view, &seeds, options));
            let ranked = corpus.with_analysis(&cuts, |view| two_hop(view, &seeds, options));
            prop_assert_eq!(&ranked, &got);
            prop_assert_eq!(got.truncated, expected.len() > limit);
            prop_assert_eq!(&got.reached[..], &expected[..limit.min(expected.len())]);
        }

        #[test]
        fn edge_filter_restricts_kinds_and_directions(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), hops in 1usize..4, along in any_along(),
        ) {
            let expected = reference(&corpus, &corpus.facts(), &seeds, hops, along);
            let options = HopOptions { hops, ..HopOptions::default() };
            let got = corpus.with_analysis(&cuts, |view| hops_along(view, &seeds, options, along));
            prop_assert_eq!(got.reached, expected);
        }

        #[test]
        fn bounded_fan_out_does_not_depend_on_segmentation(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), fan_out in 0usize..3,
        ) {
            let options = HopOptions { fan_out, ..HopOptions::default() };
            let got = corpus.with_view(&cuts, |view| two_hop(view, &seeds, options));
            let whole = corpus.with_view(&[false; 5], |view| two_hop(view, &seeds, options));
            let ranked = corpus.with_analysis(&cuts, |view| two_hop(view, &seeds, options));
            prop_assert_eq!(&got, &ranked);
            prop_assert_eq!(got, whole);
        }

        #[test]
        fn chunks_are_ordered_by_their_best_concept(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), limit in 0usize..12,
            filter in prop::option::of(prop::collection::btree_set(0u32..15, 0..15)),
        ) {
            let facts = corpus.facts();
            let reached = reference(&corpus, &facts, &seeds, 2, Along::default());
            let filter: Option<RoaringBitmap> = filter.map(|filter| filter.into_iter().collect());
            let got = corpus.with_view(&cuts, |view| chunks_of(view, &reached, filter.as_ref(), limit));
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
                hit: Scored { ordinal, score: 1.0 / (1.0 + place as f32) },
                concept: reached[place].concept,
            }).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
