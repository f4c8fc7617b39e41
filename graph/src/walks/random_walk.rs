//! Random walk with restart over the links between concepts and chunks, and over relations: personalised
//! PageRank of the chunks, by a bounded number of steps or by local push.
//!
//! The walk starts at the concepts of a question, goes to chunks that mention them, on to other concepts
//! of those chunks, and to chunks that mention these: the second chunk of a question that no single
//! passage answers. Rare concepts attract: one that half of all chunks mention leads nowhere.
//! [`crate::links`](mod@crate::links) says how likely each step is.
//!
//! Sources: personalised PageRank of Haveliwala, "Topic-Sensitive PageRank", WWW 2002, cut after a few
//! steps as in Gutiérrez et al., "HippoRAG", NeurIPS 2024; local push: Andersen, Chung and Lang, "Local
//! Graph Partitioning using PageRank Vectors", FOCS 2006, section 3.
//!
//! Start reading at [`random_walk`](random_walk()).

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use loci_storage::{ConceptId, Ordinal, ScoredChunk};
use roaring::RoaringBitmap;

use crate::analysis::stored_links::WalkLinks;
use crate::snapshot::GraphSnapshot;
use crate::walks::links::SnapshotLinks;

/// Links that a walk may be asked for.
pub const STEPS_MAX: usize = 15;

/// One in how many links is followed where they are not written down.
const UNSTORED_LINKS_DIVISOR: usize = 16;

/// So few masses are sorted at once.
const SORTED_AT_ONCE_MAX: usize = 32;

/// Chunks that are kept for each hit while the best are looked for.
const CANDIDATES_PER_HIT: usize = 4;

/// The least chance of starting anew with which a walk until a residual ends.
const RESTART_MIN: f64 = 0.01;

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WalkBound {
    /// This many links, held to 1..=[`STEPS_MAX`]. The last must lead to chunks, so an even number walks
    /// one link less. What the walk would do after that is left out.
    Steps(usize),
    /// Until no concept or chunk is left that would pass on more than this share of the walk along each of
    /// its links. Its cost does not grow with the graph.
    Residual(f64),
}

/// How a walk goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWalkOptions {
    /// How far.
    pub bound: WalkBound,
    /// The chance of starting anew whenever the walk comes back to concepts, in 0..=1; until a residual
    /// it is at least 0.01.
    pub restart_probability: f64,
    /// The chance of coming from a concept to the next one by a relation rather than by a chunk that
    /// mentions both, in 0..=1.
    pub relation_probability: f64,
    /// Links that one step follows: those of the concepts or chunks with the most mass. Bounds the cost
    /// of concepts that very many chunks mention. Of links that are not written down
    /// ([`GraphSnapshot::links`]) a sixteenth as many are followed, as each costs as much more. A walk until a residual
    /// follows [`STEPS_MAX`] times as many.
    pub links_max: usize,
}

impl Default for RandomWalkOptions {
    /// 3 steps (concept → chunk → concept → chunk), restart 0.5, no relations, 16,384 links a step.
    fn default() -> RandomWalkOptions {
        RandomWalkOptions {
            bound: WalkBound::Steps(3),
            restart_probability: 0.5,
            relation_probability: 0.0,
            links_max: 1 << 14,
        }
    }
}

/// Where a walk ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RandomWalkResult {
    /// The chunks, best first, ties by ordinal. Scores are the chances of ending there; those of all chunks
    /// sum to at most 1.
    pub chunks: Vec<ScoredChunk>,
    /// Whether the bound on links left something out.
    pub truncated: bool,
}

/// The `k` chunks where a walk from the seeds most likely ends.
///
/// `seeds`: concepts with positive weights of any scale; repeats add up; concepts that no live chunk
/// mentions are ignored. `filter`: ordinals that may be returned; the walk itself goes anywhere.
///
/// The walk starts at a seed with a probability proportional to weight · rarity, and at a concept it starts anew
/// with the chance `restart`. The answer does not depend on how chunks fell into segments, nor, where the
/// bound leaves nothing out, on whether the links are written down, to the bit.
///
/// Costs at most `links_max` links a step, or those of one concept or chunk with more.
pub fn random_walk<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    seeds: &[(ConceptId, f32)],
    options: RandomWalkOptions,
    filter: Option<&RoaringBitmap>,
    k: usize,
) -> RandomWalkResult {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    SCRATCH.with(|scratch| {
        let mut scratch = scratch.take();
        let (masses, truncated) = match snapshot.links {
            Some(links) => walk_masses(links.open_links(), seeds, options, &mut scratch),
            None => {
                let links_max = options.links_max / UNSTORED_LINKS_DIVISOR;
                let options = RandomWalkOptions {
                    links_max,
                    ..options
                };
                walk_masses(SnapshotLinks::new(snapshot), seeds, options, &mut scratch)
            }
        };
        let chunks = top_chunks(&masses, filter, k);
        scratch.last_masses[1] = masses;
        SCRATCH.set(scratch);
        RandomWalkResult { chunks, truncated }
    })
}

/// Concepts whose masses lie in an array. Ids are dense, so only very large stores have others; damaged bytes may name
/// any, which must not take memory by its number.
const DENSE_CONCEPTS_MAX: usize = 1 << 24;

/// Masses by id, of which few are not zero.
struct MassVector {
    dense: Vec<f64>,
    /// A bit an id that was added to.
    touched: Vec<u64>,
    /// Those of ids from `dense_max` on.
    sparse: BTreeMap<u32, f64>,
    /// A power of two, or without bound.
    dense_max: usize,
}

impl MassVector {
    fn new(dense_max: usize) -> MassVector {
        MassVector {
            dense: Vec::new(),
            touched: Vec::new(),
            sparse: BTreeMap::new(),
            dense_max,
        }
    }

    /// Adds, and says what was there before and is after.
    #[inline]
    fn add(&mut self, id: u32, mass: f64) -> (f64, f64) {
        let at = id as usize;
        if at >= self.dense.len() {
            if at >= self.dense_max {
                return self.add_sparse(id, mass);
            }
            self.grow(at);
        }
        let before = self.dense[at];
        self.dense[at] += mass;
        self.touched[at / 64] |= 1 << (at % 64);
        (before, self.dense[at])
    }

    #[cold]
    fn add_sparse(&mut self, id: u32, mass: f64) -> (f64, f64) {
        let far = self.sparse.entry(id).or_default();
        let before = *far;
        *far += mass;
        (before, *far)
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        let len = (at + 1).next_power_of_two().max(64);
        self.dense.resize(len, 0.0);
        self.touched.resize(len / 64, 0);
    }

    /// Takes a mass, leaving none.
    fn take(&mut self, id: u32) -> f64 {
        match self.dense.get_mut(id as usize) {
            Some(mass) => std::mem::take(mass),
            None => self.sparse.get_mut(&id).map_or(0.0, std::mem::take),
        }
    }

    /// Moves all masses to `out`, by ascending id.
    fn drain(&mut self, out: &mut Vec<(u32, f64)>) {
        out.clear();
        for (word, bits) in self.touched.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let id = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                out.push((id as u32, std::mem::take(&mut self.dense[id])));
            }
        }
        out.extend(std::mem::take(&mut self.sparse));
    }
}

/// What walks of one thread use again. All masses are zero between them.
struct Scratch {
    concepts: MassVector,
    related: MassVector,
    chunks: MassVector,
    /// Masses of chunks that were passed on.
    settled: MassVector,
    lists: [Vec<(u32, f64)>; 2],
    /// Where the last walk was: concepts, chunks.
    last_masses: [Vec<(u32, f64)>; 2],
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            concepts: MassVector::new(DENSE_CONCEPTS_MAX),
            related: MassVector::new(DENSE_CONCEPTS_MAX),
            chunks: MassVector::new(usize::MAX),
            settled: MassVector::new(usize::MAX),
            lists: Default::default(),
            last_masses: Default::default(),
        }
    }
}

/// Where the walk is, by ascending ordinal, and whether the bound on links left something out.
fn walk_masses(
    mut links: impl WalkLinks,
    seeds: &[(ConceptId, f32)],
    options: RandomWalkOptions,
    scratch: &mut Scratch,
) -> (Vec<(u32, f64)>, bool) {
    let share = |share: f64, otherwise: f64| {
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            otherwise
        }
    };
    let mut walker = Walker {
        seeds: seed_masses(&mut links, seeds, &mut scratch.concepts),
        links,
        restart_probability: share(options.restart_probability, 1.0),
        relation_probability: share(options.relation_probability, 0.0),
        links_max: options.links_max,
        truncated: false,
    };
    let masses = match options.bound {
        WalkBound::Steps(steps) => walker.steps(steps.clamp(1, STEPS_MAX).div_ceil(2), scratch),
        WalkBound::Residual(least) => walker.push_residual(least, scratch),
    };
    (masses, walker.truncated)
}

/// The seeds as chances that sum to 1, ascending.
fn seed_masses(
    links: &mut impl WalkLinks,
    seeds: &[(ConceptId, f32)],
    scratch: &mut MassVector,
) -> Vec<(u32, f64)> {
    for &(seed, weight) in seeds {
        let rarity = links.rarity(seed.0);
        if weight.is_finite() && weight > 0.0 && rarity > 0.0 {
            scratch.add(seed.0, f64::from(weight) * f64::from(rarity));
        }
    }
    let mut start = Vec::new();
    scratch.drain(&mut start);
    let total: f64 = start.iter().map(|seed| seed.1).sum();
    start.iter_mut().for_each(|seed| seed.1 /= total);
    start
}

struct Walker<L> {
    links: L,
    seeds: Vec<(u32, f64)>,
    restart_probability: f64,
    relation_probability: f64,
    links_max: usize,
    truncated: bool,
}

impl<L: WalkLinks> Walker<L> {
    /// The masses of chunks after `rounds` times concepts → chunks.
    fn steps(&mut self, rounds: usize, scratch: &mut Scratch) -> Vec<(u32, f64)> {
        let [mut concepts, mut chunks] = std::mem::take(&mut scratch.last_masses);
        concepts.clone_from(&self.seeds);
        self.limit_links(&mut concepts, L::concept_degree);
        self.reach_chunks(&concepts, &mut scratch.chunks);
        scratch.chunks.drain(&mut chunks);
        for _ in 1..rounds {
            self.limit_links(&mut chunks, L::chunk_degree);
            self.return_own_mass(&chunks, &mut scratch.chunks);
            self.reach_concepts(&chunks, &mut scratch.concepts);
            self.reach_related(&concepts, &mut scratch.related);
            self.mix(&mut concepts, scratch);
            self.limit_links(&mut concepts, L::concept_degree);
            self.reach_chunks(&concepts, &mut scratch.chunks);
            scratch.chunks.drain(&mut chunks);
        }
        scratch.last_masses[0] = concepts;
        chunks
    }

    fn reach_chunks(&mut self, concepts: &[(u32, f64)], chunks: &mut MassVector) {
        for &(concept, mass) in concepts {
            self.links.chunks(concept, |chunk, share| {
                chunks.add(chunk, mass * f64::from(share));
            });
        }
    }

    /// Whether concepts of one chunk alone are left out, because they send back what it sent them.
    fn is_own_collapsed(&self) -> bool {
        self.relation_probability == 0.0
    }

    /// What chunks get back from their own concepts.
    fn return_own_mass(&mut self, chunks: &[(u32, f64)], next: &mut MassVector) {
        if self.is_own_collapsed() {
            for &(chunk, mass) in chunks {
                let returned = mass
                    * f64::from(self.links.own_weight(chunk))
                    * (1.0 - self.restart_probability);
                next.add(chunk, returned);
            }
        }
    }

    /// What arrives at concepts from chunks, before it is multiplied by the concept's rarity.
    fn reach_concepts(&mut self, chunks: &[(u32, f64)], concepts: &mut MassVector) {
        let with_own = !self.is_own_collapsed();
        for &(chunk, mass) in chunks {
            let each = mass / f64::from(self.links.rarity_sum(chunk)).max(f64::MIN_POSITIVE);
            self.links.concepts(chunk, with_own, |concept| {
                concepts.add(concept, each);
            });
        }
    }

    /// What arrives at concepts from their neighbours; one without any keeps its own.
    fn reach_related(&mut self, concepts: &[(u32, f64)], related: &mut MassVector) {
        if self.relation_probability == 0.0 {
            return;
        }
        for &(concept, mass) in concepts {
            let mut alone = true;
            self.links.neighbours(concept, |other, share| {
                alone = false;
                related.add(other, mass * f64::from(share));
            });
            if alone {
                related.add(concept, mass);
            }
        }
    }

    /// The masses of concepts from what arrived at them and what starts anew.
    fn mix(&mut self, concepts: &mut Vec<(u32, f64)>, scratch: &mut Scratch) {
        let on = 1.0 - self.restart_probability;
        let Scratch { lists, related, .. } = scratch;
        let [arrived, other] = lists;
        scratch.concepts.drain(arrived);
        for (concept, mass) in arrived.iter_mut() {
            *mass *=
                on * (1.0 - self.relation_probability) * f64::from(self.links.rarity(*concept));
        }
        related.drain(other);
        for (_, mass) in other.iter_mut() {
            *mass *= on * self.relation_probability;
        }
        if !other.is_empty() {
            add_lists(arrived, other, concepts);
            std::mem::swap(arrived, concepts);
        }
        other.clear();
        let anew = self.seeds.iter();
        other.extend(anew.map(|&(concept, mass)| (concept, mass * self.restart_probability)));
        add_few(arrived, other, concepts);
        concepts.retain(|concept| concept.1 > 0.0);
    }

    /// Keeps what has the most mass (ties by id) where all together has more links than a step follows.
    fn limit_links(&mut self, masses: &mut Vec<(u32, f64)>, degree: DegreeFn<L>) {
        let mut all: usize = 0;
        for &(id, _) in masses.iter() {
            all = all.saturating_add(degree(&mut self.links, id));
        }
        if all <= self.links_max {
            return;
        }
        self.truncated = true;
        let links = &mut self.links;
        let retained_len = heaviest(masses, self.links_max, |id| degree(links, id)).max(1);
        masses.truncate(retained_len);
        masses.sort_unstable_by_key(|mass| mass.0);
    }

    /// The masses of chunks, by passing on what waits at a concept or chunk while it is more than `least` a
    /// link, in the order in which it came to be.
    fn push_residual(&mut self, least: f64, scratch: &mut Scratch) -> Vec<(u32, f64)> {
        let restart = self.restart_probability.max(RESTART_MIN);
        let on = (1.0 - restart) * (1.0 - self.relation_probability);
        let mut left = self.links_max.saturating_mul(STEPS_MAX);
        let mut queue = VecDeque::new();
        for &(concept, mass) in &self.seeds {
            scratch.concepts.add(concept, mass * restart);
            queue.push_back(Node::Concept(concept));
        }
        let bound = |degree: usize| least * degree.max(1) as f64;
        while let Some(node) = queue.pop_front() {
            let degree = match node {
                Node::Concept(concept) => self.links.concept_degree(concept),
                Node::Chunk(chunk) => self.links.chunk_degree(chunk),
            };
            let Some(rest) = left.checked_sub(degree.max(1)) else {
                self.truncated = true;
                break;
            };
            left = rest;
            let mut reached = std::mem::take(&mut scratch.lists[0]);
            reached.clear();
            match node {
                Node::Concept(concept) => {
                    let mass = scratch.concepts.take(concept);
                    let step = |chunk, share| reached.push((chunk, mass * f64::from(share)));
                    self.links.chunks(concept, step);
                    for &(chunk, mass) in &reached {
                        let (before, after) = scratch.chunks.add(chunk, mass);
                        let bound = bound(self.links.chunk_degree(chunk));
                        if before <= bound && after > bound {
                            queue.push_back(Node::Chunk(chunk));
                        }
                    }
                    reached.clear();
                    self.related_of(concept, mass * (1.0 - restart), &mut reached);
                    left = left.saturating_sub(reached.len());
                }
                Node::Chunk(chunk) => {
                    let mass = scratch.chunks.take(chunk);
                    let own = if self.is_own_collapsed() {
                        on * f64::from(self.links.own_weight(chunk))
                    } else {
                        0.0
                    };
                    let mass = mass / (1.0 - own);
                    scratch.settled.add(chunk, mass);
                    let with_own = !self.is_own_collapsed();
                    let step = |concept| reached.push((concept, mass * on));
                    self.links.concepts(chunk, with_own, step);
                    let total = self.links.rarity_sum(chunk);
                    for (concept, mass) in &mut reached {
                        *mass *= f64::from(self.links.rarity(*concept)) / f64::from(total);
                    }
                }
            }
            for &(concept, mass) in &reached {
                let (before, after) = scratch.concepts.add(concept, mass);
                let bound = bound(self.links.concept_degree(concept));
                if before <= bound && after > bound {
                    queue.push_back(Node::Concept(concept));
                }
            }
            scratch.lists[0] = reached;
        }
        let Scratch {
            concepts,
            chunks,
            settled,
            lists: [list, _],
            ..
        } = &mut *scratch;
        concepts.drain(list);
        chunks.drain(list);
        for &(chunk, mass) in list.iter() {
            settled.add(chunk, mass);
        }
        let mut masses = std::mem::take(&mut scratch.last_masses[1]);
        scratch.settled.drain(&mut masses);
        masses
    }

    /// What a concept passes on by relations of a mass that does not start anew.
    fn related_of(&mut self, concept: u32, mass: f64, reached: &mut Vec<(u32, f64)>) {
        if self.relation_probability == 0.0 {
            return;
        }
        let mass = mass * self.relation_probability;
        let step = |other, share| reached.push((other, mass * f64::from(share)));
        self.links.neighbours(concept, step);
        if reached.is_empty() {
            reached.push((concept, mass));
        }
    }
}

type DegreeFn<L> = fn(&mut L, u32) -> usize;

/// Where mass waits to be passed on.
#[derive(Clone, Copy)]
enum Node {
    Concept(u32),
    Chunk(u32),
}

/// [`add_lists`] for a `b` that is much shorter than `a`.
fn add_few(a: &[(u32, f64)], b: &[(u32, f64)], sum: &mut Vec<(u32, f64)>) {
    sum.clear();
    let mut rest = a;
    for &(id, mass) in b {
        let (before, behind) = rest.split_at(rest.partition_point(|of| of.0 < id));
        sum.extend_from_slice(before);
        let there = behind.split_first().filter(|(first, _)| first.0 == id);
        sum.push((id, there.map_or(mass, |(first, _)| first.1 + mass)));
        rest = there.map_or(behind, |(_, behind)| behind);
    }
    sum.extend_from_slice(rest);
}

/// The sums of two lists by ascending id.
fn add_lists(a: &[(u32, f64)], b: &[(u32, f64)], sum: &mut Vec<(u32, f64)>) {
    sum.clear();
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(&x), Some(&y)) if x.0 == y.0 => {
                a.next();
                b.next();
                (x.0, x.1 + y.1)
            }
            (Some(&x), other) if other.is_none_or(|y| x.0 < y.0) => {
                a.next();
                x
            }
            (_, Some(&y)) => {
                b.next();
                y
            }
            _ => return,
        };
        sum.push(next);
    }
}

/// Moves those with the most mass (ties by id) to the front, as many as have no more than `links_max` links together,
/// and returns their number. A selection by weight: linear, where sorting all would not be.
fn heaviest(
    masses: &mut [(u32, f64)],
    links_max: usize,
    mut degree: impl FnMut(u32) -> usize,
) -> usize {
    let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let (mut left, mut from, mut to) = (links_max, 0, masses.len());
    while to - from > SORTED_AT_ONCE_MAX {
        let half = (to - from) / 2;
        masses[from..to].select_nth_unstable_by(half, order);
        let heavier = masses[from..from + half].iter();
        let links = heavier.fold(0usize, |sum, &(id, _)| sum.saturating_add(degree(id)));
        match left.checked_sub(links) {
            Some(rest) => (left, from) = (rest, from + half),
            None => to = from + half,
        }
    }
    masses[from..to].sort_unstable_by(order);
    while from < to
        && let Some(rest) = left.checked_sub(degree(masses[from].0))
    {
        (left, from) = (rest, from + 1);
    }
    from
}

/// The `k` best of what the filter lets through. One pass that keeps four times as many at most.
fn top_chunks(masses: &[(u32, f64)], filter: Option<&RoaringBitmap>, k: usize) -> Vec<ScoredChunk> {
    if k == 0 {
        return Vec::new();
    }
    let capacity = k.saturating_mul(CANDIDATES_PER_HIT).min(masses.len());
    let mut keys: Vec<u64> = Vec::with_capacity(capacity);
    let mut least = 0.0;
    for &(chunk, mass) in masses {
        let score = mass as f32;
        if mass <= 0.0 || score < least || filter.is_some_and(|filter| !filter.contains(chunk)) {
            continue;
        }
        if keys.len() == capacity && k < capacity {
            let (_, &mut worst, _) = keys.select_nth_unstable(k - 1);
            keys.truncate(k);
            least = ScoredChunk::from_order_key(worst).score;
            if score < least {
                continue;
            }
        }
        let ordinal = Ordinal(chunk);
        keys.push(ScoredChunk { ordinal, score }.order_key());
    }
    if k < keys.len() {
        keys.select_nth_unstable(k);
        keys.truncate(k);
    }
    keys.sort_unstable();
    keys.into_iter().map(ScoredChunk::from_order_key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_corpus::{Corpus, ExpectedGraph, any_corpus, any_cuts, with_one_segment};
    use crate::{MentionsBuilder, RelationsBuilder};
    use loci_storage::LocalOrdinal;
    use proptest::prelude::*;

    /// Plainly right: chances as maps, every link looked at in every round.
    fn reference(
        facts: &ExpectedGraph,
        seeds: &[(ConceptId, f32)],
        rounds: usize,
        options: RandomWalkOptions,
    ) -> BTreeMap<Ordinal, f64> {
        let (restart, relations) = (options.restart_probability, options.relation_probability);
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
        let reach = |concepts: &BTreeMap<ConceptId, f64>| {
            let mut chunks: BTreeMap<Ordinal, f64> = BTreeMap::new();
            for (&(concept, chunk), &mentions) in &facts.mentions {
                let total: f64 = facts.chunks(concept).iter().map(|link| pull(link.1)).sum();
                *chunks.entry(chunk).or_default() += concepts[&concept] * pull(mentions) / total;
            }
            chunks
        };
        let mut concepts = start.clone();
        let mut chunks = reach(&concepts);
        for _ in 1..rounds {
            let mut next = BTreeMap::new();
            for (&concept, &seeded) in &start {
                let by_chunks = facts.chunks(concept).into_iter().map(|(chunk, _)| {
                    let others = facts.mentioned(chunk).into_iter();
                    let total: f64 = others.map(|link| rarity(link.0)).sum();
                    chunks[&chunk] * rarity(concept) / total
                });
                let by_relations = start.keys().map(|&from| {
                    let weights = facts.weights(from);
                    let total: f64 = weights.values().sum();
                    match weights.get(&concept) {
                        Some(weight) => concepts[&from] * weight / total,
                        None if weights.is_empty() && from == concept => concepts[&from],
                        None => 0.0,
                    }
                });
                let on = (1.0 - relations) * by_chunks.sum::<f64>()
                    + relations * by_relations.sum::<f64>();
                next.insert(concept, restart * seeded + (1.0 - restart) * on);
            }
            concepts = next;
            chunks = reach(&concepts);
        }
        chunks.retain(|_, mass| *mass > 0.0);
        chunks
    }

    fn any_seeds() -> impl Strategy<Value = Vec<(ConceptId, f32)>> {
        let seed = (0u32..10, 1u8..4).prop_map(|(id, weight)| (ConceptId(id), f32::from(weight)));
        prop::collection::vec(seed, 0..4)
    }

    fn any_options() -> impl Strategy<Value = RandomWalkOptions> {
        let reach = prop_oneof![
            (1usize..9).prop_map(WalkBound::Steps),
            (2i32..9).prop_map(|digits| WalkBound::Residual(0.1f64.powi(digits))),
        ];
        (reach, 1u8..11, 0u8..11).prop_map(|(reach, restart, relations)| RandomWalkOptions {
            bound: reach,
            restart_probability: f64::from(restart) / 10.0,
            relation_probability: f64::from(relations) / 10.0,
            ..RandomWalkOptions::default()
        })
    }

    fn masses_of(found: RandomWalkResult) -> BTreeMap<Ordinal, f64> {
        let hits = found.chunks.into_iter();
        hits.map(|hit| (hit.ordinal, f64::from(hit.score)))
            .collect()
    }

    proptest! {
        #[test]
        fn steps_agree_with_the_reference(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), options in any_options(), steps in 1usize..9,
        ) {
            let options = RandomWalkOptions { bound: WalkBound::Steps(steps), ..options };
            let got = masses_of(corpus.with_snapshot(&cuts, |view| random_walk(view, &seeds, options, None, 99)));
            let want = reference(&corpus.expected(), &seeds, steps.div_ceil(2), options);
            prop_assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>());
            prop_assert!(got.iter().all(|(chunk, mass)| (mass - want[chunk]).abs() < 1e-6), "{:?} {:?}", got, want);
        }

        #[test]
        fn small_residual_converges_to_the_full_walk(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), options in any_options(),
        ) {
            let options = RandomWalkOptions { bound: WalkBound::Residual(1e-9), links_max: usize::MAX, ..options };
            let found = corpus.with_snapshot(&cuts, |view| random_walk(view, &seeds, options, None, 99));
            prop_assert!(!found.truncated);
            let got = masses_of(found);
            let rounds = (-20.0 / (1.0 - options.restart_probability.min(0.999)).ln()).ceil() as usize;
            let want = reference(&corpus.expected(), &seeds, rounds, options);
            for (chunk, mass) in &want {
                prop_assert!((got.get(chunk).unwrap_or(&0.0) - mass).abs() < 1e-5, "{:?} {:?}", got, want);
            }
        }

        #[test]
        fn segmentation_and_stored_links_change_no_bit(
            corpus in any_corpus(), cuts in any_cuts(), seeds in any_seeds(), options in any_options(), links_max in 0usize..40,
        ) {
            let options = RandomWalkOptions { links_max: links_max * UNSTORED_LINKS_DIVISOR, ..options };
            let walk = |view: GraphSnapshot<'_, Vec<u8>>| random_walk(view, &seeds, options, None, 99);
            let got = corpus.with_snapshot(&cuts, walk);
            prop_assert_eq!(&got, &corpus.with_snapshot(&[false; 5], walk));
            if !got.truncated {
                prop_assert_eq!(&got, &corpus.with_analysis(&cuts, walk));
                let whole = RandomWalkOptions { links_max: usize::MAX, ..options };
                let whole = corpus.with_snapshot(&cuts, |view| random_walk(view, &seeds, whole, None, 99));
                prop_assert_eq!(&got, &whole);
            }
        }

        #[test]
        fn the_filter_changes_no_score(
            corpus in any_corpus(), seeds in any_seeds(), options in any_options(), k in 0usize..8,
            allowed in prop::collection::btree_set(0u32..15, 0..15),
        ) {
            let filter: RoaringBitmap = allowed.iter().collect();
            let walk = |filter, k| corpus.with_snapshot(&[false; 5], |view| random_walk(view, &seeds, options, filter, k));
            let got = walk(Some(&filter), k).chunks;
            let mut all = walk(None, 99).chunks;
            all.retain(|hit| allowed.contains(&hit.ordinal.0));
            all.truncate(k);
            prop_assert_eq!(got, all);
        }
    }

    #[test]
    fn huge_ids_do_not_allocate_dense_memory() {
        let (mut mentions, mut relations) =
            (MentionsBuilder::default(), RelationsBuilder::default());
        let ids = [1, DENSE_CONCEPTS_MAX as u32, u32::MAX];
        for id in ids.map(ConceptId) {
            mentions.push(id, LocalOrdinal(0), 1);
            relations.push(id, ConceptId(u32::MAX), "is", 1.0, &[LocalOrdinal(0)]);
        }
        let seeds = ids.map(|id| (ConceptId(id), 1.0));
        with_one_segment(mentions, relations, 1, |snapshot| {
            for reach in [WalkBound::Steps(5), WalkBound::Residual(1e-3)] {
                let options = RandomWalkOptions {
                    bound: reach,
                    relation_probability: 0.5,
                    ..RandomWalkOptions::default()
                };
                let found = random_walk(snapshot, &seeds, options, None, 5);
                assert_eq!(found.chunks.len(), 1);
            }
        });
    }

    proptest! {
        #[test]
        fn add_few_agrees_with_add_lists(
            a in prop::collection::btree_map(0u32..60, 0.0f64..1.0, 0..40),
            b in prop::collection::btree_map(0u32..60, 0.0f64..1.0, 0..8),
        ) {
            let [a, b] = [a, b].map(|list| list.into_iter().collect::<Vec<_>>());
            let (mut expected, mut sum) = (Vec::new(), vec![(7, 7.0)]);
            add_lists(&a, &b, &mut expected);
            add_few(&a, &b, &mut sum);
            prop_assert_eq!(sum, expected);
        }
    }

    proptest! {
        #[test]
        fn heaviest_agrees_with_full_sort(
            masses in prop::collection::vec((0u32..400, 0u8..6), 0..300), links_max in 0usize..900,
        ) {
            let mut masses: Vec<(u32, f64)> = masses.into_iter().map(|(id, mass)| (id, mass.into())).collect();
            masses.sort_by_key(|mass| mass.0);
            masses.dedup_by_key(|mass| mass.0);
            let degree = |id: u32| id as usize % 7;
            let mut sorted = masses.clone();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let mut left = links_max;
            let fits = |mass: &&(u32, f64)| {
                let rest = left.checked_sub(degree(mass.0));
                left = rest.unwrap_or(0);
                rest.is_some()
            };
            let mut want: Vec<_> = sorted.iter().take_while(fits).copied().collect();
            let kept = heaviest(&mut masses, links_max, degree);
            let mut got = masses[..kept].to_vec();
            want.sort_by_key(|mass| mass.0);
            got.sort_by_key(|mass| mass.0);
            prop_assert_eq!(got, want);
        }

        #[test]
        fn top_chunks_agree_with_full_sort(
            scores in prop::collection::vec(0u8..9, 0..200), k in 0usize..20,
            filter in prop::option::of(prop::collection::btree_set(0u32..200, 0..99)),
        ) {
            let masses: Vec<(u32, f64)> = (0..).zip(scores.iter().map(|&score| f64::from(score))).collect();
            let filter: Option<RoaringBitmap> = filter.map(|filter| filter.into_iter().collect());
            let is_allowed = |chunk: u32| filter.as_ref().is_none_or(|filter| filter.contains(chunk));
            let allowed = masses.iter().filter(|&&(chunk, mass)| mass > 0.0 && is_allowed(chunk));
            let mut want: Vec<(u32, f64)> = allowed.copied().collect();
            want.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            want.truncate(k);
            let got = top_chunks(&masses, filter.as_ref(), k).into_iter();
            let got: Vec<(u32, f64)> = got.map(|hit| (hit.ordinal.0, hit.score.into())).collect();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn sparse_masses_behave_like_dense_ones(
            added in prop::collection::vec((0u32..200, 0.0..1.0f64), 0..40),
            taken in prop::collection::vec(0u32..200, 0..9),
        ) {
            let mut all = [MassVector::new(usize::MAX), MassVector::new(64)];
            let applied = all.each_mut().map(|masses| {
                let applied: Vec<_> = added.iter().map(|&(id, mass)| masses.add(id, mass)).collect();
                let took: Vec<f64> = taken.iter().map(|&id| masses.take(id)).collect();
                let mut drained = Vec::new();
                masses.drain(&mut drained);
                (applied, took, drained)
            });
            prop_assert_eq!(&applied[0], &applied[1]);
        }
    }

    #[test]
    fn seeds_without_weight_or_mentions_return_nothing() {
        let nan = (ConceptId(1), f32::NAN);
        let segments = [];
        let snapshot: GraphSnapshot<'_, Vec<u8>> = GraphSnapshot {
            segments: &segments,
            ranks: None,
            adjacency: None,
            links: None,
        };
        let seeds = [nan, (ConceptId(2), 1.0), (ConceptId(3), -1.0)];
        let found = random_walk(snapshot, &seeds, RandomWalkOptions::default(), None, 5);
        assert_eq!(found, RandomWalkResult::default());
    }
}
