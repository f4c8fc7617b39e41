//! The shortest way between two concepts along relations.
//!
//! Start reading at [`shortest_path`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use loci_storage::ConceptId;

use crate::view::{Along, GraphView, ViewEdge};

/// Concepts that a search may look at where the caller does not say.
pub const VISITED_MAX: usize = 100_000;

/// A way between two concepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<'a> {
    /// The concepts, both ends included.
    pub concepts: Vec<ConceptId>,
    /// For each step the edge of most weight, seen from the concept that it leaves.
    pub edges: Vec<ViewEdge<'a>>,
}

/// What a search for a way found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// A shortest way.
    Path(Path<'a>),
    /// There is none.
    Apart,
    /// None among as many concepts as it was to look at.
    Bounded,
}

/// Concepts that were reached from one end, each with the one before it.
struct Side {
    before: HashMap<ConceptId, ConceptId>,
    /// What was reached last, in order.
    front: Vec<ConceptId>,
}

impl Side {
    fn new(end: ConceptId) -> Side {
        Side {
            before: HashMap::from([(end, end)]),
            front: vec![end],
        }
    }

    /// Goes one step farther from every concept of the front; neighbours by falling PageRank, then id.
    fn grow<B: AsRef<[u8]>>(&mut self, view: GraphView<'_, B>, along: Along<'_>) {
        let mut next = Vec::new();
        for &from in &self.front {
            for to in view.neighbours_along(from, along) {
                if let Entry::Vacant(entry) = self.before.entry(to) {
                    entry.insert(from);
                    next.push(to);
                }
            }
        }
        self.front = next;
    }

    /// From a concept back to the end.
    fn way(&self, from: ConceptId) -> Vec<ConceptId> {
        let mut way = vec![from];
        let mut at = from;
        while let Some(&before) = self.before.get(&at).filter(|&&before| before != at) {
            way.push(before);
            at = before;
        }
        way
    }
}

/// A way of the fewest edges from one visible concept to another. Of several, one that does not depend on how
/// documents fell into segments.
///
/// Searches from both ends in turns, the smaller front first. Costs the edges of at most `visited_max` concepts
/// and of one front more.
pub fn shortest_path<'a, B: AsRef<[u8]>>(
    view: GraphView<'a, B>,
    from: ConceptId,
    to: ConceptId,
    along: Along<'_>,
    visited_max: usize,
) -> Found<'a> {
    if !view.is_visible(from) || !view.is_visible(to) {
        return Found::Apart;
    }
    let mut sides = [Side::new(from), Side::new(to)];
    let back = Along {
        direction: along.direction.back(),
        ..along
    };
    loop {
        let [ahead, behind] = &sides;
        let (small, large) = if ahead.front.len() <= behind.front.len() {
            (ahead, behind)
        } else {
            (behind, ahead)
        };
        let meeting = small.front.iter().find(|at| large.before.contains_key(at));
        if let Some(&at) = meeting {
            let mut concepts = sides[0].way(at);
            concepts.reverse();
            concepts.extend(&sides[1].way(at)[1..]);
            return Found::Path(told(view, concepts, along));
        }
        let from_start = ahead.front.len() <= behind.front.len();
        let [ahead, behind] = &mut sides;
        if ahead.front.is_empty() || behind.front.is_empty() {
            return Found::Apart;
        }
        if ahead.before.len() + behind.before.len() > visited_max {
            return Found::Bounded;
        }
        if from_start {
            ahead.grow(view, along)
        } else {
            behind.grow(view, back)
        }
    }
}

fn told<'a, B: AsRef<[u8]>>(
    view: GraphView<'a, B>,
    concepts: Vec<ConceptId>,
    along: Along<'_>,
) -> Path<'a> {
    let steps = concepts.windows(2).filter_map(|step| {
        let mut edges = view.edges(step[0]).into_iter();
        edges.find(|edge| edge.other == step[1] && along.takes(edge.outgoing, edge.kind))
    });
    let edges = steps.collect();
    Path { concepts, edges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prerequisites::PREREQUISITE_FOR;
    use crate::sample::{any_along, any_corpus, any_cuts};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn path_is_shortest(
            corpus in any_corpus(), cuts in any_cuts(), from in 0u32..10, to in 0u32..10, along in any_along(),
        ) {
            let (from, to) = (ConceptId(from), ConceptId(to));
            let facts = corpus.facts();
            // Plainly right: distances by going over all edges again and again.
            let mut distance = BTreeMap::from([(from, 0usize)]);
            for hop in 1..12 {
                let near: Vec<ConceptId> = distance.keys().copied().collect();
                for next in near.into_iter().flat_map(|at| facts.neighbours_along(at, along)) {
                    distance.entry(next).or_insert(hop);
                }
            }
            let visible = facts.concepts();
            let expected = distance.get(&to).filter(|_| visible.contains(&from) && visible.contains(&to));
            corpus.with_view(&cuts, |view| {
                let found = shortest_path(view, from, to, along, VISITED_MAX);
                let path = match &found {
                    Found::Path(path) => path,
                    other => {
                        assert_eq!((other, expected), (&Found::Apart, None));
                        return;
                    }
                };
                assert_eq!(Some(&path.edges.len()), expected);
                assert_eq!((path.concepts.first(), path.concepts.last()), (Some(&from), Some(&to)));
                for (step, edge) in path.concepts.windows(2).zip(&path.edges) {
                    assert!(facts.neighbours_along(step[0], along).contains(&step[1]));
                    assert!(edge.other == step[1] && along.takes(edge.outgoing, edge.kind));
                }
                let whole = corpus.with_view(&[false; 5], |view| match shortest_path(view, from, to, along, VISITED_MAX) {
                    Found::Path(path) => path.concepts,
                    _ => Vec::new(),
                });
                assert_eq!(path.concepts, whole);
            });
        }
    }

    #[test]
    fn visited_limit_is_reported() {
        let mut relations = crate::RelationsBuilder::default();
        for at in 0..9 {
            let (source, target) = (ConceptId(at), ConceptId(at + 1));
            relations.push(source, target, PREREQUISITE_FOR, 1.0, &[]);
        }
        let (names, mentions) = (
            crate::NamesBuilder::default().finish(),
            crate::MentionsBuilder::default().finish(),
        );
        let reader = crate::GraphReader::open(names, mentions, relations.finish(), 0).unwrap();
        let dead = roaring::RoaringBitmap::new();
        let segments = [loci_storage::Placed {
            base: loci_storage::Ordinal(0),
            chunk_count: 0,
            dead: &dead,
            reader: &reader,
        }];
        let view = GraphView {
            segments: &segments,
            ranks: None,
            adjacency: None,
            links: None,
        };
        let ask = |max| shortest_path(view, ConceptId(0), ConceptId(9), Along::default(), max);
        assert_eq!(ask(4), Found::Bounded);
        assert!(matches!(ask(20), Found::Path(path) if path.edges.len() == 9));
    }
}
