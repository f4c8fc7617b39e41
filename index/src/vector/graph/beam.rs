//! The walk: best-first search of a graph with a bounded list (algorithm 2 of Malkov and Yashunin), which
//! may end before the list is expanded: when the next candidate is much farther than the hits (distance
//! adaptive beam search; Al-Jazzazi et al., NeurIPS 2025).
//!
//! Walks of construction and of searches, on every level, with or without a filter, are this one
//! loop over a [`SearchSpace`].

use std::num::NonZeroUsize;
use std::time::Instant;

use crate::kernels::Simd;

/// What is walked: nodes from 0, the links of each, and its distance from the query.
pub(super) trait SearchSpace {
    /// The distance of a node; smaller is nearer. Nodes that do not exist are infinitely far.
    fn distance<S: Simd>(&self, simd: S, node: u32) -> f32;

    /// How much farther than the query a distance is: 0 or more, and in proportion to squared lengths.
    fn excess(&self, distance: f32) -> f32;

    /// By how much distances of near nodes may be wrong.
    fn distance_error(&self) -> f32;

    /// Whether every node may be found. Else [`SearchSpace::is_eligible`] decides.
    const ALL_ELIGIBLE: bool = true;

    /// Whether a node may be found; others are walked through.
    fn is_eligible(&self, _node: u32) -> bool {
        true
    }

    /// Appends what a walk sees from `node` and has not seen before.
    fn push_unvisited(&self, node: u32, seen: &mut VisitedSet, found: &mut Vec<u32>);

    /// Asks for what [`SearchSpace::distance`] will read.
    fn prefetch<S: Simd>(&self, simd: S, node: u32);

    /// Bytes that [`SearchSpace::prefetch`] asks for.
    fn code_len(&self) -> usize;

    /// Asks for what [`SearchSpace::push_unvisited`] will read.
    fn prefetch_links<S: Simd>(&self, simd: S, node: u32);
}

/// Bytes of codes that are asked for before they are needed, and of how many nodes.
const BYTES_AHEAD: usize = 4096;
const NODES_AHEAD: std::ops::RangeInclusive<usize> = 4..=16;

#[inline(always)]
fn prefetch_distance<F: SearchSpace>(field: &F) -> usize {
    let nodes = BYTES_AHEAD / field.code_len().max(1);
    nodes.clamp(*NODES_AHEAD.start(), *NODES_AHEAD.end())
}

/// A set of nodes.
#[derive(Debug, Default)]
pub(super) struct VisitedSet {
    words: Vec<u64>,
    count: u32,
    /// Whether a node beyond the last was named: the bytes are damaged.
    has_invalid_node: bool,
}

impl VisitedSet {
    /// Empties it, for nodes below `count`.
    pub(super) fn reset(&mut self, count: u32) {
        self.words.clear();
        self.words.resize(count.div_ceil(64) as usize, 0);
        self.count = count;
        self.has_invalid_node = false;
    }

    /// Whether `node` exists and is new.
    #[inline(always)]
    pub(super) fn insert(&mut self, node: u32) -> bool {
        if node >= self.count {
            self.has_invalid_node = true;
            return false;
        }
        let Some(word) = self.words.get_mut(node as usize / 64) else {
            return false;
        };
        let bit = 1 << (node % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(super) fn has_invalid_node(&self) -> bool {
        self.has_invalid_node
    }
}

/// A node and its distance in one number: smaller is nearer, ties by node. Bit 0: expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Candidate(u64);

/// Nodes that fit into [`Candidate`].
pub(super) const NODES_MAX: u32 = 1 << 31;

impl Candidate {
    const FARTHEST: Candidate = Candidate(u64::MAX);

    #[inline(always)]
    pub(super) fn new(distance: f32, node: u32) -> Candidate {
        let bits = distance.to_bits();
        // Floats in the order of integers: all bits of negative ones turn, else the sign alone.
        let mask = ((bits as i32 >> 31) as u32) | 0x8000_0000;
        Candidate(u64::from(bits ^ mask) << 32 | u64::from(node) << 1)
    }

    #[inline(always)]
    pub(in super::super) fn node(self) -> u32 {
        (self.0 as u32) >> 1
    }

    pub(in super::super) fn distance(self) -> f32 {
        let key = (self.0 >> 32) as u32;
        let mask = if key >> 31 == 1 {
            0x8000_0000
        } else {
            u32::MAX
        };
        f32::from_bits(key ^ mask)
    }

    fn is_expanded(self) -> bool {
        self.0 & 1 == 1
    }
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct WalkLimits {
    /// Nodes that are kept.
    pub(in super::super) ef: usize,
    /// What ends the walk before all that are kept are expanded.
    pub(in super::super) stop: Option<EarlyStop>,
    /// When the walk ends, wherever it is.
    pub(in super::super) deadline: Option<Instant>,
}

/// A walk ends when the next candidate is much farther than the hits it has.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct EarlyStop {
    /// How many hits.
    pub(in super::super) hits: NonZeroUsize,
    /// How many times as far as the last of them a candidate may be, in [`SearchSpace::excess`]: 1 or more.
    pub(in super::super) slack: f32,
}

/// Expansions between two looks at the clock.
const STEPS_PER_DEADLINE_CHECK: u64 = 8;

impl WalkLimits {
    /// Until the best `ef` are expanded.
    pub(in super::super) fn full(ef: usize) -> WalkLimits {
        WalkLimits {
            ef,
            stop: None,
            deadline: None,
        }
    }
}

/// Memory of walks, for one thread; and what the last one found.
#[derive(Debug, Default)]
pub(in super::super) struct WalkState {
    pub(super) visited: VisitedSet,
    /// Nearest first; with a filter those too that may not be found.
    pub(in super::super) candidates: Vec<Candidate>,
    /// The nearest that may be found, as many as [`EarlyStop::hits`]; not kept where all may be.
    hits: Vec<Candidate>,
    found: Vec<u32>,
    /// Distances that were measured.
    pub(in super::super) distance_count: u64,
    /// Nodes whose links the last walk of a layer followed.
    pub(in super::super) expanded_count: u64,
}

impl WalkState {
    /// Walks from `starts`; [`WalkState::candidates`] has the nearest `reach.ef` that were met, those left out that
    /// were too far to be worth expanding. The nodes that were seen before, as [`WalkState::visited`] says, are
    /// not met.
    #[inline(always)]
    pub(super) fn run<S: Simd, F: SearchSpace>(
        &mut self,
        simd: S,
        field: &F,
        starts: impl IntoIterator<Item = u32>,
        reach: WalkLimits,
    ) {
        self.candidates.clear();
        self.hits.clear();
        self.expanded_count = 0;
        for node in starts {
            if self.visited.insert(node) {
                self.distance_count += 1;
                let near = Candidate::new(field.distance(simd, node), node);
                self.offer(field, near, reach, Candidate::FARTHEST);
            }
        }
        // No node before this one is left to expand.
        let mut cursor = 0;
        let mut limit = Candidate::FARTHEST;
        while let Some(node) = self.next_to_expand(&mut cursor, limit) {
            if let Some(next) = self.candidates.get(cursor) {
                field.prefetch_links(simd, next.node());
            }
            let nearest = self.visit(simd, field, node, reach, limit);
            cursor = cursor.min(nearest);
            if let Some(stop) = reach.stop {
                limit = self.distance_limit(field, stop);
            }
            if self.is_late(reach) {
                break;
            }
        }
    }

    /// Keeps the nearest `keep` of `nodes`.
    #[inline(always)]
    pub(super) fn scan<S: Simd, F: SearchSpace>(
        &mut self,
        simd: S,
        field: &F,
        nodes: &[u32],
        keep: usize,
    ) {
        self.candidates.clear();
        self.distance_count += nodes.len() as u64;
        // Of twice as many as are kept, the farther half is dropped at once.
        let full = 2 * keep + 64;
        let ahead = prefetch_distance(field);
        for (i, &node) in nodes.iter().enumerate() {
            if let Some(&later) = nodes.get(i + ahead) {
                field.prefetch(simd, later);
            }
            self.candidates
                .push(Candidate::new(field.distance(simd, node), node));
            if self.candidates.len() == full {
                self.candidates.select_nth_unstable(keep);
                self.candidates.truncate(keep);
            }
        }
        self.candidates.sort_unstable();
        self.candidates.truncate(keep);
    }

    /// The farthest that is worth expanding.
    #[inline(always)]
    fn distance_limit<F: SearchSpace>(&self, field: &F, stop: EarlyStop) -> Candidate {
        let hits = if F::ALL_ELIGIBLE {
            &self.candidates
        } else {
            &self.hits
        };
        let Some(last) = hits.get(stop.hits.get() - 1) else {
            return Candidate::FARTHEST;
        };
        let farther = (stop.slack - 1.0) * field.excess(last.distance());
        let limit = last.distance() + farther.max(field.distance_error());
        Candidate::new(limit, NODES_MAX - 1)
    }

    #[inline(always)]
    fn is_late(&self, reach: WalkLimits) -> bool {
        reach.deadline.is_some_and(|deadline| {
            self.expanded_count.is_multiple_of(STEPS_PER_DEADLINE_CHECK)
                && Instant::now() >= deadline
        })
    }

    /// The nearest node that was not expanded yet, within `limit`; it counts as expanded now.
    #[inline(always)]
    fn next_to_expand(&mut self, cursor: &mut usize, limit: Candidate) -> Option<u32> {
        while let Some(near) = self.candidates.get_mut(*cursor) {
            if *near > limit {
                return None;
            }
            *cursor += 1;
            if !near.is_expanded() {
                near.0 |= 1;
                self.expanded_count += 1;
                return Some(near.node());
            }
        }
        None
    }

    /// Measures what is seen from `node`. Returns the first place of the pool that changed.
    #[inline(always)]
    fn visit<S: Simd, F: SearchSpace>(
        &mut self,
        simd: S,
        field: &F,
        node: u32,
        reach: WalkLimits,
        limit: Candidate,
    ) -> usize {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        field.push_unvisited(node, &mut self.visited, &mut found);
        let ahead = prefetch_distance(field);
        for &next in found.iter().take(ahead) {
            field.prefetch(simd, next);
        }
        self.distance_count += found.len() as u64;
        let mut nearest = usize::MAX;
        for (i, &next) in found.iter().enumerate() {
            if let Some(&later) = found.get(i + ahead) {
                field.prefetch(simd, later);
            }
            let near = Candidate::new(field.distance(simd, next), next);
            let place = self.offer(field, near, reach, limit);
            if place < nearest {
                nearest = place;
                // Perhaps the next to be expanded.
                field.prefetch_links(simd, next);
            }
        }
        self.found = found;
        nearest
    }

    /// Keeps `near` if it is within `limit` and among the best. Returns its place, `usize::MAX` when it
    /// is not kept.
    #[inline(always)]
    fn offer<F: SearchSpace>(
        &mut self,
        field: &F,
        near: Candidate,
        reach: WalkLimits,
        limit: Candidate,
    ) -> usize {
        if near > limit {
            return usize::MAX;
        }
        if let Some(stop) = reach.stop.filter(|_| !F::ALL_ELIGIBLE) {
            let hits = stop.hits.get();
            let is_full = self.hits.len() >= hits;
            let is_better = self.hits.last().is_none_or(|&last| near < last);
            if (!is_full || is_better) && field.is_eligible(near.node()) {
                insert_bounded(&mut self.hits, near, hits);
            }
        }
        insert_bounded(&mut self.candidates, near, reach.ef)
    }
}

/// Keeps `near` if it is among the best `count` of `list`. Returns its place, `usize::MAX` when it is not.
#[inline(always)]
fn insert_bounded(list: &mut Vec<Candidate>, near: Candidate, count: usize) -> usize {
    if list.len() >= count {
        match list.last() {
            Some(&last) if near < last => list.truncate(count - 1),
            _ => return usize::MAX,
        }
    }
    let place = list.partition_point(|&candidate| candidate < near);
    list.insert(place, near);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_sort_by_distance_then_node_and_round_trip() {
        let distances = [f32::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-9, 3.0, f32::INFINITY];
        let all: Vec<Candidate> = distances
            .iter()
            .flat_map(|&d| [Candidate::new(d, 0), Candidate::new(d, NODES_MAX - 1)])
            .collect();
        assert!(all.is_sorted());
        for (i, near) in all.iter().enumerate() {
            assert_eq!(near.distance().to_bits(), distances[i / 2].to_bits());
            assert_eq!(near.node(), [0, NODES_MAX - 1][i % 2]);
        }
    }
}
