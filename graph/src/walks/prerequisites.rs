//! What to learn before a concept: its transitive prerequisites in learning order.
//!
//! Start reading at [`prerequisites`].

use std::collections::{BTreeSet, HashMap, HashSet};

use loci_storage::ConceptId;

use crate::snapshot::GraphSnapshot;

/// The kind of an edge from a prerequisite to what it is needed for; ASCII case makes no difference.
pub const PREREQUISITE_FOR: &str = "PREREQUISITE_FOR";

/// Cycles that are reported at most.
pub const CYCLES_MAX: usize = 100;

/// The prerequisites of a concept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prerequisites {
    /// In learning order: each after its own prerequisites, except along a cycle. The concept itself is
    /// not among them.
    pub order: Vec<ConceptId>,
    /// Cycles among the concept and its prerequisites. Each member is a prerequisite of the next and
    /// the last of the first, which is the one with the lowest id. A concept that is its own
    /// prerequisite is a cycle of one. One cycle at least for each set of concepts that need each
    /// other, [`CYCLES_MAX`] in all.
    pub cycles: Vec<Vec<ConceptId>>,
    /// Whether the limit left prerequisites out.
    pub truncated: bool,
}

/// Follows live [`PREREQUISITE_FOR`] edges from `concept` to what must be learnt before it, and before
/// that. With more than `limit` prerequisites, the nearest are kept: by edges from the concept, then
/// falling PageRank, then id. Cycles are reported and not followed.
///
/// Costs the edges of at most `limit + 1` concepts.
pub fn prerequisites<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    concept: ConceptId,
    limit: usize,
) -> Prerequisites {
    let (needs, truncated) = nearest_prerequisites(snapshot, concept, limit);
    let mut search = CycleSearch {
        requirements: &needs,
        visited: HashSet::new(),
        order: Vec::new(),
        cycles: BTreeSet::new(),
    };
    search.run(concept);
    let mut order = search.order;
    order.pop();
    Prerequisites {
        order,
        cycles: search.cycles.into_iter().collect(),
        truncated,
    }
}

/// The concept and its nearest prerequisites, each with what it needs among them.
type Requirements = HashMap<ConceptId, Vec<ConceptId>>;

fn nearest_prerequisites<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    concept: ConceptId,
    limit: usize,
) -> (Requirements, bool) {
    let mut needs = Requirements::new();
    let mut known = HashSet::from([concept]);
    let mut level = vec![concept];
    let mut truncated = false;
    while !level.is_empty() {
        let mut next = Vec::new();
        for concept in level {
            let direct = direct(snapshot, concept);
            next.extend(
                direct
                    .iter()
                    .copied()
                    .filter(|other| !known.contains(other)),
            );
            needs.insert(concept, direct);
        }
        snapshot.sort_by_rank(&mut next);
        let capacity = limit.saturating_sub(known.len() - 1);
        truncated |= next.len() > capacity;
        next.truncate(capacity);
        known.extend(&next);
        level = next;
    }
    for direct in needs.values_mut() {
        direct.retain(|other| known.contains(other));
    }
    (needs, truncated)
}

/// The direct prerequisites of a concept: by falling PageRank, then id, each once.
fn direct<B: AsRef<[u8]>>(snapshot: GraphSnapshot<'_, B>, concept: ConceptId) -> Vec<ConceptId> {
    let edges = snapshot.live_edges(concept).map(|(_, edge)| edge);
    let mut direct: Vec<ConceptId> = edges
        .filter(|edge| edge.kind.eq_ignore_ascii_case(PREREQUISITE_FOR))
        .filter(|edge| !edge.outgoing || edge.other == concept)
        .map(|edge| edge.other)
        .collect();
    snapshot.sort_by_rank(&mut direct);
    direct
}

/// A depth-first search that notes concepts when all they need is noted.
struct CycleSearch<'n> {
    requirements: &'n Requirements,
    visited: HashSet<ConceptId>,
    order: Vec<ConceptId>,
    cycles: BTreeSet<Vec<ConceptId>>,
}

impl<'n> CycleSearch<'n> {
    fn run(&mut self, concept: ConceptId) {
        let mut path = vec![(concept, self.requirements(concept))];
        let mut on_path = HashSet::from([concept]);
        while let Some((concept, rest)) = path.last_mut() {
            let Some((&need, others)) = rest.split_first() else {
                on_path.remove(concept);
                self.visited.insert(*concept);
                self.order.push(*concept);
                path.pop();
                continue;
            };
            *rest = others;
            if on_path.contains(&need) {
                self.record_cycle(&path, need);
            } else if !self.visited.contains(&need) {
                on_path.insert(need);
                path.push((need, self.requirements(need)));
            }
        }
    }

    fn requirements(&self, concept: ConceptId) -> &'n [ConceptId] {
        self.requirements.get(&concept).map_or(&[], Vec::as_slice)
    }

    /// The end of the path needs `first`, which stands on the path.
    fn record_cycle(&mut self, path: &[(ConceptId, &[ConceptId])], first: ConceptId) {
        if self.cycles.len() >= CYCLES_MAX {
            return;
        }
        let mut cycle: Vec<ConceptId> = Vec::new();
        for &(concept, _) in path.iter().rev() {
            cycle.push(concept);
            if concept == first {
                break;
            }
        }
        let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
        cycle.rotate_left(lowest);
        self.cycles.insert(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_corpus::{any_corpus, any_cuts, with_one_segment};
    use crate::{MentionsBuilder, RelationsBuilder};
    use loci_storage::LocalOrdinal;
    use proptest::prelude::*;

    fn run_prerequisites(
        edges: &[(u32, u32)],
        concept: u32,
        limit: usize,
    ) -> (Vec<u32>, Vec<Vec<u32>>, bool) {
        let mut relations = RelationsBuilder::default();
        for &(source, target) in edges {
            relations.push(
                ConceptId(source),
                ConceptId(target),
                "prerequisite_for",
                1.0,
                &[LocalOrdinal(0)],
            );
        }
        relations.push(
            ConceptId(99),
            ConceptId(concept),
            "RELATED_TO",
            1.0,
            &[LocalOrdinal(0)],
        );
        let found = with_one_segment(MentionsBuilder::default(), relations, 1, |snapshot| {
            prerequisites(snapshot, ConceptId(concept), limit)
        });
        let plain = |concepts: Vec<ConceptId>| concepts.into_iter().map(|id| id.0).collect();
        (
            plain(found.order),
            found.cycles.into_iter().map(plain).collect(),
            found.truncated,
        )
    }

    #[test]
    fn prerequisites_are_in_learning_order() {
        type Case = (
            &'static str,
            &'static [(u32, u32)],
            usize,
            (Vec<u32>, Vec<Vec<u32>>, bool),
        );
        let cases: &[Case] = &[
            ("nothing to learn", &[(0, 1)], 9, (vec![], vec![], false)),
            (
                "a chain",
                &[(1, 0), (2, 1), (3, 2)],
                9,
                (vec![3, 2, 1], vec![], false),
            ),
            (
                "a diamond",
                &[(1, 0), (2, 0), (3, 1), (3, 2)],
                9,
                (vec![3, 1, 2], vec![], false),
            ),
            (
                "a cycle",
                &[(1, 0), (2, 1), (1, 2)],
                9,
                (vec![2, 1], vec![vec![1, 2]], false),
            ),
            (
                "through the concept",
                &[(5, 0), (0, 7), (7, 5)],
                9,
                (vec![7, 5], vec![vec![0, 7, 5]], false),
            ),
            ("itself", &[(0, 0)], 9, (vec![], vec![vec![0]], false)),
            (
                "the nearest are kept",
                &[(1, 0), (2, 0), (3, 1), (4, 3)],
                3,
                (vec![3, 1, 2], vec![], true),
            ),
            ("no room", &[(1, 0)], 0, (vec![], vec![], true)),
        ];
        for (case, edges, limit, expected) in cases {
            assert_eq!(&run_prerequisites(edges, 0, *limit), expected, "{case}");
        }
    }

    proptest! {
        #[test]
        fn the_order_respects_every_edge_outside_of_cycles(
            corpus in any_corpus(), cuts in any_cuts(), concept in (0u32..10).prop_map(ConceptId),
        ) {
            let edges = corpus.expected().prerequisites();
            let found = corpus.with_snapshot(&cuts, |view| prerequisites(view, concept, 99));
            let whole = corpus.with_snapshot(&[false; 5], |view| prerequisites(view, concept, 99));
            prop_assert_eq!(&found, &whole);
            // before[c] = all that c needs, by repeating until nothing changes.
            let before = |concept: ConceptId| {
                let mut all: BTreeSet<ConceptId> = BTreeSet::new();
                loop {
                    let grown: BTreeSet<ConceptId> = edges.iter()
                        .filter(|(_, target)| *target == concept || all.contains(target))
                        .map(|(source, _)| *source)
                        .collect();
                    if grown == all { return all; }
                    all = grown;
                }
            };
                        let order: BTreeSet<ConceptId> = found.order.iter().copied().collect();
            prop_assert_eq!(order.len(), found.order.len());
            let mut expected = before(concept);
            expected.remove(&concept);
            prop_assert_eq!(&order, &expected);
            let place = |concept: &ConceptId| found.order.iter().position(|other| other == concept);
            let reach: BTreeSet<ConceptId> = order.iter().copied().chain([concept]).collect();
            let mut cyclic = false;
            for (source, target) in edges.iter().filter(|(s, t)| reach.contains(s) && reach.contains(t)) {
                let in_cycle = source == target || before(*source).contains(target);
                cyclic |= in_cycle;
                if let (false, Some(source), Some(target)) = (in_cycle, place(source), place(target)) {
                    prop_assert!(source < target);
                }
            }
            prop_assert_eq!(cyclic, !found.cycles.is_empty());
            for cycle in &found.cycles {
                let next = cycle.iter().cycle().skip(1);
                prop_assert!(cycle.iter().zip(next).all(|(a, b)| edges.contains(&(*a, *b))));
            }
        }
    }
}
