//! The shortest way between two concepts along relations.
//!
//! Start reading at [`shortest_path`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use loci_storage::ConceptId;

use crate::snapshot::{EdgeFilter, GraphSnapshot, SnapshotEdge};

/// Concepts that a search may look at where the caller does not say.
pub const VISITED_MAX: usize = 100_000;

/// A way between two concepts.
#[derive(Clone, Debug, PartialEq)]
pub struct ConceptPath<'a> {
    /// The concepts, both ends included.
    pub concepts: Vec<ConceptId>,
    /// For each step the edge of most weight, seen from the concept that it leaves.
    pub edges: Vec<SnapshotEdge<'a>>,
}

/// What a search for a way found.
#[derive(Clone, Debug, PartialEq)]
pub enum PathOutcome<'a> {
    /// A shortest way.
    Path(ConceptPath<'a>),
    /// There is none.
    NotConnected,
    /// None among as many concepts as it was to look at.
    LimitReached,
}

/// Concepts that were reached from one end, each with the one before it.
struct SearchFrontier {
    predecessors: HashMap<ConceptId, ConceptId>,
    /// What was reached last, in order.
    frontier: Vec<ConceptId>,
}

impl SearchFrontier {
    fn new(end: ConceptId) -> SearchFrontier {
        SearchFrontier {
            predecessors: HashMap::from([(end, end)]),
            frontier: vec![end],
        }
    }

    /// Goes one step farther from every concept of the front; neighbours by falling PageRank, then id.
    fn expand<B: AsRef<[u8]>>(
        &mut self,
        snapshot: GraphSnapshot<'_, B>,
        edge_filter: EdgeFilter<'_>,
    ) {
        let mut next = Vec::new();
        for &from in &self.frontier {
            for to in snapshot.neighbours_filtered(from, edge_filter) {
                if let Entry::Vacant(entry) = self.predecessors.entry(to) {
                    entry.insert(from);
                    next.push(to);
                }
            }
        }
        self.frontier = next;
    }

    /// From a concept back to the end.
    fn path_to_root(&self, from: ConceptId) -> Vec<ConceptId> {
        let mut path = vec![from];
        let mut at = from;
        while let Some(&before) = self.predecessors.get(&at).filter(|&&before| before != at) {
            path.push(before);
            at = before;
        }
        path
    }
}

/// A way of the fewest edges from one visible concept to another. Of several, one that does not depend on how
/// documents fell into segments.
///
/// Searches from both ends in turns, the smaller front first. Costs the edges of at most `visited_max` concepts
/// and of one front more.
pub fn shortest_path<'a, B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'a, B>,
    from: ConceptId,
    to: ConceptId,
    edge_filter: EdgeFilter<'_>,
    visited_max: usize,
) -> PathOutcome<'a> {
    if !snapshot.is_visible(from) || !snapshot.is_visible(to) {
        return PathOutcome::NotConnected;
    }
    let mut sides = [SearchFrontier::new(from), SearchFrontier::new(to)];
    let back = EdgeFilter {
        direction: edge_filter.direction.reversed(),
        ..edge_filter
    };
    loop {
        let [ahead, behind] = &sides;
        let (small, large) = if ahead.frontier.len() <= behind.frontier.len() {
            (ahead, behind)
        } else {
            (behind, ahead)
        };
        let meeting = small
            .frontier
            .iter()
            .find(|at| large.predecessors.contains_key(at));
        if let Some(&at) = meeting {
            let mut concepts = sides[0].path_to_root(at);
            concepts.reverse();
            concepts.extend(&sides[1].path_to_root(at)[1..]);
            return PathOutcome::Path(with_edges(snapshot, concepts, edge_filter));
        }
        let from_start = ahead.frontier.len() <= behind.frontier.len();
        let [ahead, behind] = &mut sides;
        if ahead.frontier.is_empty() || behind.frontier.is_empty() {
            return PathOutcome::NotConnected;
        }
        if ahead.predecessors.len() + behind.predecessors.len() > visited_max {
            return PathOutcome::LimitReached;
        }
        if from_start {
            ahead.expand(snapshot, edge_filter)
        } else {
            behind.expand(snapshot, back)
        }
    }
}

fn with_edges<'a, B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'a, B>,
    concepts: Vec<ConceptId>,
    edge_filter: EdgeFilter<'_>,
) -> ConceptPath<'a> {
    let steps = concepts.windows(2).filter_map(|step| {
        let mut edges = snapshot.edges(step[0]).into_iter();
        edges.find(|edge| edge.other == step[1] && edge_filter.accepts(edge.outgoing, edge.kind))
    });
    let edges = steps.collect();
    ConceptPath { concepts, edges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_corpus::{any_corpus, any_cuts, any_edge_filter, with_one_segment};
    use crate::walks::prerequisites::PREREQUISITE_FOR;
    use crate::{MentionsBuilder, RelationsBuilder};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn path_is_shortest(
            corpus in any_corpus(), cuts in any_cuts(), from in 0u32..10, to in 0u32..10, along in any_edge_filter(),
        ) {
            let (from, to) = (ConceptId(from), ConceptId(to));
            let facts = corpus.expected();
            // Plainly right: distances by going over all edges again and again.
            let mut distance = BTreeMap::from([(from, 0usize)]);
            for hop in 1..12 {
                let near: Vec<ConceptId> = distance.keys().copied().collect();
                for next in near.into_iter().flat_map(|at| facts.neighbours_filtered(at, along)) {
                    distance.entry(next).or_insert(hop);
                }
            }
            let visible = facts.concepts();
            let expected = distance.get(&to).filter(|_| visible.contains(&from) && visible.contains(&to));
            corpus.with_snapshot(&cuts, |view| {
                let found = shortest_path(view, from, to, along, VISITED_MAX);
                let path = match &found {
                    PathOutcome::Path(path) => path,
                    other => {
                        assert_eq!((other, expected), (&PathOutcome::NotConnected, None));
                        return;
                    }
                };
                assert_eq!(Some(&path.edges.len()), expected);
                assert_eq!((path.concepts.first(), path.concepts.last()), (Some(&from), Some(&to)));
                for (step, edge) in path.concepts.windows(2).zip(&path.edges) {
                    assert!(facts.neighbours_filtered(step[0], along).contains(&step[1]));
                    assert!(edge.other == step[1] && along.accepts(edge.outgoing, edge.kind));
                }
                let whole = corpus.with_snapshot(&[false; 5], |view| match shortest_path(view, from, to, along, VISITED_MAX) {
                    PathOutcome::Path(path) => path.concepts,
                    _ => Vec::new(),
                });
                assert_eq!(path.concepts, whole);
            });
        }
    }

    #[test]
    fn visited_limit_is_reported() {
        let mut relations = RelationsBuilder::default();
        for at in 0..9 {
            let (source, target) = (ConceptId(at), ConceptId(at + 1));
            relations.push(source, target, PREREQUISITE_FOR, 1.0, &[]);
        }
        with_one_segment(MentionsBuilder::default(), relations, 0, |snapshot| {
            let ask = |max| {
                shortest_path(
                    snapshot,
                    ConceptId(0),
                    ConceptId(9),
                    EdgeFilter::default(),
                    max,
                )
            };
            assert_eq!(ask(4), PathOutcome::LimitReached);
            assert!(matches!(ask(20), PathOutcome::Path(path) if path.edges.len() == 9));
        });
    }
}
