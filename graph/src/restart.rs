//! Random walk with restart over the links between concepts and chunks (X1).
//!
//! The walk starts at the concepts of a question, goes to chunks that mention them, on to other concepts
//! of those chunks, and to chunks that mention these: the second chunk of a question that no single
//! passage answers. Rare concepts attract: one that half of all chunks mention leads nowhere.
//!
//! Source: personalised PageRank of Haveliwala, "Topic-Sensitive PageRank", WWW 2002, cut after a few
//! steps as in Gutiérrez et al., "HippoRAG", NeurIPS 2024.
//!
//! Start reading at [`restart_walk`].

use std::collections::HashMap;

use loci_storage::{ConceptId, Ordinal, Scored};
use roaring::RoaringBitmap;

use crate::view::GraphView;

/// Links that a walk may be asked for.
pub const STEPS_MAX: usize = 15;

/// How a walk goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestartOptions {
    /// Links to walk, held to 1..=[`STEPS_MAX`]. The last must lead to chunks, so an even number walks
    /// one link less.
    pub steps: usize,
    /// The chance of starting anew whenever the walk comes back to concepts, in 0..=1.
    pub restart: f64,
    /// Chunks and concepts that a step leaves from: those with the most mass. Bounds the cost of
    /// concepts that very many chunks mention.
    pub frontier: usize,
}

impl Default for RestartOptions {
    /// 3 steps (concept → chunk → concept → chunk), restart 0.5, 256 chunks or concepts.
    fn default() -> RestartOptions {
        RestartOptions {
            steps: 3,
            restart: 0.5,
            frontier: 256,
        }
    }
}

/// The `k` chunks where a walk from the seeds most likely ends, best first, ties by ordinal.
///
/// `seeds`: concepts with positive weights of any scale; repeats add up; concepts that no live chunk
/// mentions are ignored. `filter`: ordinals that may be returned; the walk itself goes anywhere.
///
/// The walk, with rarity(c) = ln(1 + live chunks / live chunks that mention c):
/// - it starts at a seed with a chance that goes with weight · rarity;
/// - from a concept it goes to each chunk that mentions it with a chance that goes with
///   1 + ln(mentions there);
/// - from a chunk it goes to each of its concepts with a chance that goes with rarity;
/// - at a concept it starts anew with the chance `restart`.
///
/// Scores are the chances of ending in a chunk (their sum over all chunks is at most 1). The answer
/// does not depend on how chunks fell into segments, to the bit.
///
/// Costs the mentions of at most `frontier` concepts and chunks a step, and a sort of each.
pub fn restart_walk<B: AsRef<[u8]>>(
    view: GraphView<'_, B>,
    seeds: &[(ConceptId, f32)],
    options: RestartOptions,
    filter: Option<&RoaringBitmap>,
    k: usize,
) -> Vec<Scored> {
    let mut walker = Walker {
        view,
        chunks: view.live_chunk_count() as f64,
        rarity: HashMap::new(),
    };
    let restart = if options.restart.is_finite() {
        options.restart.clamp(0.0, 1.0)
    } else {
        1.0
    };
    let start = walker.start(seeds);
    let mut chunks = walker.reach_chunks(&start);
    for _ in 1..options.steps.clamp(1, STEPS_MAX).div_ceil(2) {
        let back = walker.reach_concepts(&heaviest(chunks, options.frontier));
        let anew = start
            .iter()
            .map(|&(concept, mass)| (concept, mass * restart));
        let on = back
            .into_iter()
            .map(|(concept, mass)| (concept, mass * (1.0 - restart)));
        let concepts = summed(anew.chain(on).collect());
        chunks = walker.reach_chunks(&heaviest(concepts, options.frontier));
    }
    best(chunks, filter, k)
}

struct Walker<'a, B> {
    view: GraphView<'a, B>,
    /// Live chunks of the view.
    chunks: f64,
    rarity: HashMap<ConceptId, f64>,
}

impl<B: AsRef<[u8]>> Walker<'_, B> {
    /// The seeds as chances that sum to 1, ascending.
    fn start(&mut self, seeds: &[(ConceptId, f32)]) -> Vec<(ConceptId, f64)> {
        let is_weight = |weight: f32| weight.is_finite() && weight > 0.0;
        let weighed = seeds
            .iter()
            .filter(|seed| is_weight(seed.1))
            .map(|&(seed, weight)| (seed, f64::from(weight) * self.rarity(seed)))
            .filter(|seed| seed.1 > 0.0)
            .collect();
        let mut start = summed(weighed);
        let total: f64 = start.iter().map(|seed| seed.1).sum();
        start.iter_mut().for_each(|seed| seed.1 /= total);
        start
    }

    /// 0 for a concept that no live chunk mentions.
    fn rarity(&mut self, concept: ConceptId) -> f64 {
        let (view, chunks) = (self.view, self.chunks);
        *self
            .rarity
            .entry(concept)
            .or_insert_with(|| match view.chunk_count(concept) {
                0 => 0.0,
                count => (1.0 + chunks / count as f64).ln(),
            })
    }

    fn reach_chunks(&self, concepts: &[(ConceptId, f64)]) -> Vec<(Ordinal, f64)> {
        let pull = |mentions: u32| 1.0 + f64::from(mentions.max(1)).ln();
        let mut arrived = Vec::new();
        for &(concept, mass) in concepts {
            let total: f64 = self
                .view
                .chunks(concept)
                .map(|(_, mentions)| pull(mentions))
                .sum();
            let shares = self.view.chunks(concept);
            arrived.extend(shares.map(|(chunk, mentions)| (chunk, mass * pull(mentions) / total)));
        }
        summed(arrived)
    }

    fn reach_concepts(&mut self, chunks: &[(Ordinal, f64)]) -> Vec<(ConceptId, f64)> {
        let mut arrived = Vec::new();
        for &(chunk, mass) in chunks {
            let first = arrived.len();
            let view = self.view;
            arrived.extend(
                view.concepts(chunk)
                    .map(|(concept, _)| (concept, self.rarity(concept))),
            );
            let total: f64 = arrived[first..].iter().map(|share| share.1).sum();
            if total > 0.0 {
                arrived[first..]
                    .iter_mut()
                    .for_each(|share| share.1 *= mass / total);
            }
        }
        summed(arrived)
    }
}

/// One entry a key, ascending; what has the same key is added in the order it came.
fn summed<K: Ord + Copy>(mut masses: Vec<(K, f64)>) -> Vec<(K, f64)> {
    masses.sort_by_key(|mass| mass.0);
    masses.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    masses
}

/// The `limit` entries with the most mass (ties by key), by ascending key.
fn heaviest<K: Ord + Copy>(mut masses: Vec<(K, f64)>, limit: usize) -> Vec<(K, f64)> {
    if masses.len() > limit {
        masses.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        masses.truncate(limit);
        masses.sort_by_key(|mass| mass.0);
    }
    masses
}

/// The `k` best of what the filter lets through.
fn best(chunks: Vec<(Ordinal, f64)>, filter: Option<&RoaringBitmap>, k: usize) -> Vec<Scored> {
    let mut hits: Vec<Scored> = chunks
        .into_iter()
        .filter(|(chunk, _)| filter.is_none_or(|filter| filter.contains(chunk.0)))
        .map(|(ordinal, mass)| Scored {
            ordinal,
            score: mass as f32,
        })
        .collect();
    let order =
        |a: &Scored, b: &Scored| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal));
    if k > 0 && k < hits.len() {
        hits.select_nth_unstable_by(k - 1, order);
    }
    hits.truncate(k);
    hits.sort_unstable_by(order);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Corpus, Facts, any_corpus, any_cuts};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Plainly right: chances as maps, every link looked at in every step.
    fn reference(
        facts: &Facts,
        seeds: &[(ConceptId, f32)],
        steps: usize,
        restart: f64,
    ) -> BTreeMap<Ordinal, f64> {
        let rarity = |concept: ConceptId| match facts.chunks(concept).len() {
            0 => 0.0,
            count => (1.0 + facts.live.len() as f64 / count as f64).ln(),
        };
        let pull = |mentions: u32| 1.0 + f64::from(mentions).ln();
        let mut start: BTreeMap<ConceptId, f64> =
            Corpus::concepts().map(|concept| (concept, 0.0)).collect();
        for &(seed, weight) in seeds {
            *start.entry(seed).or_default() += f64::from(weight) * rarity(seed);
        }
        let total: f64 = start.values().sum();
        start.values_mut().for_each(|mass| *mass /= total);
        let mut concepts = start.clone();
        let mut chunks = BTreeMap::new();
        for step in 1..=steps {
            if step % 2 == 1 {
                chunks = BTreeMap::new();
                for (&(concept, chunk), &mentions) in &facts.mentions {
                    let total: f64 = facts.chunks(concept).iter().map(|link| pull(link.1)).sum();
                    *chunks.entry(chunk).or_default() +=
                        concepts[&concept] * pull(mentions) / total;
                }
            } else if step < steps {
                for (concept, mass) in &mut concepts {
                    let arrived: f64 = facts
                        .chunks(*concept)
                        .iter()
                        .map(|&(chunk, _)| {
                            let total: f64 = facts
                                .mentioned(chunk)
                                .iter()
                                .map(|link| rarity(link.0))
                                .sum();
                            chunks[&chunk] * rarity(*concept) / total
                        })
                        .sum();
                    *mass = restart * start[concept] + (1.0 - restart) * arrived;
                }
            }
        }
        chunks.retain(|_, mass| *mass > 0.0);
        chunks
    }

    fn any_seeds() -> impl Strategy<Value = Vec<(ConceptId, f32)>> {
        let seed = (0u32..10, 1u8..4).prop_map(|(id, weight)| (ConceptId(id), f32::from(weight)));
        prop::collection::vec(seed, 0..4)
    }

    proptest! {
        #[test]
        fn masses_agree_with_the_reference(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), steps in 1usize..7, tenths in 0u8..11,
        ) {
            let restart = f64::from(tenths) / 10.0;
            let options = RestartOptions { steps, restart, ..RestartOptions::default() };
            let got = corpus.with_view(&cuts, |view| restart_walk(view, &seeds, options, None, 99));
            let want = reference(&corpus.facts(), &seeds, steps, restart);
            let got: BTreeMap<Ordinal, f64> =
                got.into_iter().filter(|hit| hit.score > 0.0).map(|hit| (hit.ordinal, f64::from(hit.score))).collect();
            prop_assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>());
            prop_assert!(got.iter().all(|(chunk, mass)| (mass - want[chunk]).abs() < 1e-6), "{:?} {:?}", got, want);
        }

        #[test]
        fn segments_change_no_bit_and_the_filter_changes_no_score(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), frontier in 0usize..6, k in 0usize..8,
            allowed in prop::collection::btree_set(0u32..15, 0..15),
        ) {
            let options = RestartOptions { frontier, ..RestartOptions::default() };
            let filter: RoaringBitmap = allowed.iter().collect();
            let got = corpus.with_view(&cuts, |view| restart_walk(view, &seeds, options, Some(&filter), k));
            let mut all = corpus.with_view(&[false; 5], |view| restart_walk(view, &seeds, options, None, 99));
            all.retain(|hit| allowed.contains(&hit.ordinal.0));
            all.truncate(k);
            prop_assert_eq!(got, all);
        }
    }

    #[test]
    fn seeds_without_weight_or_mentions_lead_nowhere() {
        let nan = (ConceptId(1), f32::NAN);
        let segments = [];
        let view: GraphView<'_, Vec<u8>> = GraphView {
            segments: &segments,
            ranks: None,
            adjacency: None,
        };
        let seeds = [nan, (ConceptId(2), 1.0), (ConceptId(3), -1.0)];
        assert!(restart_walk(view, &seeds, RestartOptions::default(), None, 5).is_empty());
    }
}
