//! Several ranked lists made one.
//!
//! Three rules: reciprocal ranks, weighted sums of normalised scores, and the mixture of both that
//! searches use by default. `docs/decisions/0001-fusion.md` has the measurements and the reasons.
//!
//! Always true: a list that is empty, or whose weight is 0, changes nothing; equal inputs give
//! equal outputs, to the bit; ties go by ascending ordinal.
//!
//! Start reading at [`Fusion`], then [`Accumulator::fuse`].

use loci_storage::{Ordinal, ScoredChunk};
pub use loci_types::search::{Fusion, Mixture, RRF_K, RankWeights, ScoreWeights};

/// Hits that each arm should bring for a search of `k`: fewer cost quality, more gain none.
///
/// Text that only the hundredth vector hit confirms still moves up; measured flat from 50 to 200.
pub const fn candidates_for(k: usize) -> usize {
    if k > 50 { k.saturating_mul(2) } else { 100 }
}

/// The best by text and vectors that a graph's list should agree with.
const AGREEMENT_DEPTH: usize = 20;

/// Whether two rules differ in the graph's weight, at most.
pub(crate) fn differ_in_graph_alone(one: Fusion, other: Fusion) -> bool {
    match (one, other) {
        (Fusion::Mixture(one), Fusion::Mixture(other)) => {
            let graph_weight = other.graph_weight;
            let one = Mixture {
                graph_weight,
                ..one
            };
            one == other
        }
        (one, other) => one == other,
    }
}

/// What the arms found: each best first and without repeats; empty where an arm is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arms<'a> {
    /// By words.
    pub text: &'a [ScoredChunk],
    /// By similarity of vectors.
    pub vector: &'a [ScoredChunk],
    /// By concepts.
    pub graph: &'a [ScoredChunk],
}

/// The rank and score of a chunk in one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmHit {
    /// Its place in the arm's list, from 1.
    pub rank: u32,
    /// The arm's own score.
    pub score: f32,
}

/// A chunk with its score and the arms that it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fused {
    /// The chunk.
    pub ordinal: Ordinal,
    /// Its score: no unit, comparable only within one list.
    pub score: f32,
    /// That of text search, where it found the chunk and counted.
    pub text: Option<ArmHit>,
    /// That of vector search.
    pub vector: Option<ArmHit>,
    /// That of graph search.
    pub graph: Option<ArmHit>,
}

/// The scratch of one fusion at a time. Reused, it allocates nothing in the steady state.
#[derive(Debug, Default)]
pub struct Accumulator {
    hits: Vec<Fused>,
    /// What the hits are ordered by, with their places in `hits`.
    order: Vec<(u64, u32)>,
    /// The best of them, in order.
    best: Vec<Fused>,
    /// Open addressing by ordinal: places in `hits`, or [`EMPTY_SLOT`]. Its length is a power of two, at
    /// least twice the hits.
    slots: Vec<u32>,
}

const EMPTY_SLOT: u32 = u32::MAX;

/// [`ScoredChunk::order_key`] of a hit.
fn sort_key(hit: &Fused) -> u64 {
    let (ordinal, score) = (hit.ordinal, hit.score);
    ScoredChunk { ordinal, score }.order_key()
}

/// Which field of [`Fused`] an arm fills.
#[derive(Clone, Copy)]
enum Arm {
    Text,
    Vector,
    Graph,
}

impl Accumulator {
    /// Fuses what the arms found by `fusion`.
    ///
    /// Returns every chunk of the arms that count once, best first, ties by ascending ordinal. A
    /// repeat within one list counts at its first position; a score that is not finite counts as
    /// the list's worst.
    ///
    /// Costs one pass over the lists and a sort of the chunks: some microseconds for three lists of
    /// a hundred.
    pub fn fuse(&mut self, fusion: &Fusion, arms: Arms<'_>) -> &[Fused] {
        self.fuse_best(fusion, arms, usize::MAX)
    }

    /// The `count` best of [`Accumulator::fuse`]. Only these are sorted.
    pub fn fuse_best(&mut self, fusion: &Fusion, arms: Arms<'_>, count: usize) -> &[Fused] {
        let longest = arms.text.len().max(arms.vector.len()).max(arms.graph.len());
        self.clear(arms.text.len() + arms.vector.len() + longest);
        self.add_arm(Arm::Text, fusion, arms);
        self.add_arm(Arm::Vector, fusion, arms);
        self.add_arm(Arm::Graph, fusion, arms);
        self.select_best(count)
    }

    /// [`Accumulator::fuse_best`] where the last call was with the same lists, but without the graph's, and with a rule
    /// that differs in the graph's weight alone: only the graph's list is added.
    pub fn fuse_graph(&mut self, fusion: &Fusion, arms: Arms<'_>, count: usize) -> &[Fused] {
        if 2 * (self.hits.len() + arms.graph.len()) > self.slots.len() {
            return self.fuse_best(fusion, arms, count);
        }
        self.add_arm(Arm::Graph, fusion, arms);
        self.select_best(count)
    }

    fn select_best(&mut self, count: usize) -> &[Fused] {
        let count = count.min(self.hits.len());
        self.order.clear();
        self.order
            .extend((0..).zip(&self.hits).map(|(at, hit)| (sort_key(hit), at)));
        if count < self.order.len() {
            self.order.select_nth_unstable(count);
        }
        self.order[..count].sort_unstable();
        self.best.clear();
        let best = self.order[..count].iter();
        self.best
            .extend(best.map(|&(_, at)| self.hits[at as usize]));
        &self.best
    }

    /// How many chunks the last fusion had in all.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether the last fusion had no chunk.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Adds every chunk of one arm's list, where it counts.
    fn add_arm(&mut self, arm: Arm, fusion: &Fusion, arms: Arms<'_>) {
        let list = arm.pick(arms.text, arms.vector, arms.graph);
        match *fusion {
            Fusion::Mixture(mixture) => self.add_mixed(arm, list, &mixture, &arms),
            Fusion::Rrf(RankWeights {
                k,
                text,
                vector,
                graph,
            }) => {
                let weight = arm.pick(text, vector, graph);
                self.add(arm, list, weight, |rank, _| 1.0 / (k + rank));
            }
            Fusion::Scores(ScoreWeights {
                text,
                vector,
                graph,
            }) => {
                let scale = Scale::from_list(list);
                self.add(arm, list, arm.pick(text, vector, graph), |_, score| {
                    scale.normalise(score)
                });
            }
        }
    }

    fn add_mixed(&mut self, arm: Arm, list: &[ScoredChunk], mixture: &Mixture, arms: &Arms<'_>) {
        let vector = match (arms.text.is_empty(), arms.vector.is_empty()) {
            (_, true) => 0.0,
            (true, false) => 1.0,
            (false, false) => mixture.vector_share.clamp(0.0, 1.0),
        };
        let scale = Scale::from_list(list);
        match arm {
            Arm::Text => self.add(arm, list, 1.0 - vector, |_, score| scale.normalise(score)),
            Arm::Vector => self.add(arm, list, vector, |_, score| scale.normalise(score)),
            Arm::Graph => {
                let weight = mixture.graph_weight
                    * scale.trust(list, mixture.graph_trust)
                    * self.agreement(list, mixture.graph_agreement);
                let k = mixture.graph_k.max(0.0);
                self.add(arm, list, weight, |rank, _| (k + 1.0) / (k + rank));
            }
        }
    }

    /// How far a list is trusted that needs this share of its scores among the best so far, in 0..=1.
    fn agreement(&self, list: &[ScoredChunk], full: f32) -> f32 {
        if full <= 0.0 || self.hits.is_empty() {
            return 1.0;
        }
        let mut best: [(f32, Ordinal); AGREEMENT_DEPTH] =
            [(f32::NEG_INFINITY, Ordinal(0)); AGREEMENT_DEPTH];
        let better =
            |a: (f32, Ordinal), b: (f32, Ordinal)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)).is_gt();
        for hit in &self.hits {
            let new = (hit.score, hit.ordinal);
            if better(new, best[AGREEMENT_DEPTH - 1]) {
                let at = best.partition_point(|&known| better(known, new));
                best[at..].rotate_right(1);
                best[at] = new;
            }
        }
        let found = &best[..self.hits.len().min(AGREEMENT_DEPTH)];
        let (mut all, mut agreed) = (0.0, 0.0);
        for hit in list
            .iter()
            .filter(|hit| hit.score.is_finite() && hit.score > 0.0)
        {
            all += hit.score;
            if found.iter().any(|&(_, known)| known == hit.ordinal) {
                agreed += hit.score;
            }
        }
        if all > 0.0 {
            (agreed / all / full).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }

    /// Adds `weight · gain(rank, score)` for every chunk of `list`; nothing where the weight is not
    /// positive.
    fn add(&mut self, arm: Arm, list: &[ScoredChunk], weight: f32, gain: impl Fn(f32, f32) -> f32) {
        if weight.is_nan() || weight <= 0.0 {
            return;
        }
        for (rank, hit) in (1u32..).zip(list) {
            let fused = self.entry(hit.ordinal);
            let found = match arm {
                Arm::Text => &mut fused.text,
                Arm::Vector => &mut fused.vector,
                Arm::Graph => &mut fused.graph,
            };
            if found.is_none() {
                *found = Some(ArmHit {
                    rank,
                    score: hit.score,
                });
                fused.score += weight * gain(rank as f32, hit.score);
            }
        }
    }

    fn clear(&mut self, hits_max: usize) {
        self.hits.clear();
        let len = (2 * hits_max).next_power_of_two();
        self.slots.clear();
        self.slots.resize(len, EMPTY_SLOT);
    }

    fn entry(&mut self, ordinal: Ordinal) -> &mut Fused {
        let mask = self.slots.len() - 1;
        // Neighbours in reading order are often found together; the multiplication parts them.
        let mut slot = (ordinal.0.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        loop {
            let place = self.slots[slot] as usize;
            if place == EMPTY_SLOT as usize {
                self.slots[slot] = self.hits.len() as u32;
                self.hits.push(Fused {
                    ordinal,
                    score: 0.0,
                    text: None,
                    vector: None,
                    graph: None,
                });
                return self.hits.last_mut().expect("it was just pushed");
            }
            if self.hits[place].ordinal == ordinal {
                return &mut self.hits[place];
            }
            slot = (slot + 1) & mask;
        }
    }
}

impl Arm {
    fn pick<T>(self, text: T, vector: T, graph: T) -> T {
        match self {
            Arm::Text => text,
            Arm::Vector => vector,
            Arm::Graph => graph,
        }
    }
}

/// How a list's scores become 0..=1: the best is 1; 0 is 0, or the worst where that is below 0.
#[derive(Clone, Copy)]
struct Scale {
    floor: f64,
    range: f64, // in f64: a difference of two f32 is always finite
}

impl Scale {
    fn from_list(list: &[ScoredChunk]) -> Scale {
        let scores = list
            .iter()
            .map(|hit| f64::from(hit.score))
            .filter(|score| score.is_finite());
        let (floor, best) = scores.fold((0.0f64, f64::NEG_INFINITY), |(floor, best), score| {
            (floor.min(score), best.max(score))
        });
        Scale {
            floor,
            range: best - floor,
        }
    }

    /// All scores alike: all are best.
    fn normalise(self, score: f32) -> f32 {
        if !score.is_finite() {
            0.0
        } else if self.range > 0.0 {
            ((f64::from(score) - self.floor) / self.range) as f32
        } else {
            1.0
        }
    }

    /// How far a list is trusted whose full trust starts at this concentration, in 0..=1.
    fn trust(self, list: &[ScoredChunk], full: f32) -> f32 {
        let sum: f32 = list.iter().map(|hit| self.normalise(hit.score)).sum();
        let concentration = 1.0 / sum.max(1.0);
        if full > concentration {
            concentration / full
        } else {
            1.0
        }
    }
}

/// Fuses ranked lists by reciprocal rank: `score(c) = Σ weight / (k + rank of c in list)`.
///
/// `lists`: each best first and without repeats; ranks count from 1. A chunk that a list lacks
/// gains nothing from it. `k`: ≥ 1; larger flattens the head (60 in the paper). `weights`: one a
/// list, ≥ 0; lists beyond its end weigh 1.
///
/// Returns every chunk once, best first, ties by ascending ordinal, so equal inputs give equal
/// outputs. Scores have no unit and compare only within one call.
///
/// Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion", SIGIR 2009.
pub fn rrf(lists: &[&[Ordinal]], k: f32, weights: &[f32]) -> Vec<ScoredChunk> {
    let ranked = lists.iter().enumerate().flat_map(|(list, chunks)| {
        let weight = weights.get(list).copied().unwrap_or(1.0);
        (1u32..)
            .zip(*chunks)
            .map(move |(rank, &chunk)| (chunk, weight / (k + rank as f32)))
    });
    let mut fused: Vec<ScoredChunk> = ranked
        .map(|(ordinal, score)| ScoredChunk { ordinal, score })
        .collect();
    fused.sort_by_key(|hit| hit.ordinal); // stable: sums are taken in the order of the lists
    fused.dedup_by(|hit, previous| {
        let same = hit.ordinal == previous.ordinal;
        previous.score += if same { hit.score } else { 0.0 };
        same
    });
    fused.sort_by(|a, b| b.score.total_cmp(&a.score)); // stable: ties stay by ordinal
    fused
}

#[cfg(test)]
mod tests;
