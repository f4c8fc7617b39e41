//! The sections of all segments of a snapshot as one graph, without what is dead.
//!
//! What is alive: a mention while its chunk is; an edge while one of its pieces of evidence is; an edge
//! without any evidence while its segment has no dead chunk at all (nobody can tell when its reason
//! is gone, and showing what was deleted is worse than missing an edge until compaction rebuilds the
//! segment). A concept is visible while it has a live mention or a live edge.
//!
//! Start reading at [`GraphSnapshot`].

use std::collections::{BTreeMap, BTreeSet};

use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};

use crate::analysis::adjacency::Adjacency;
use crate::analysis::pagerank::Ranks;
use crate::analysis::stored_links::StoredLinks;
use crate::error::GraphError;
use crate::evidence::mentions::MentionsReader;
use crate::evidence::relations::{Edge, Evidence, RelationsReader};
use crate::linking::link::{
    EntityLink, link_filtered, link_parts_in_words, link_words, lookup_filtered,
};
use crate::linking::names::NamesReader;
use crate::linking::normalise::words;

/// The graph sections of one segment.
#[derive(Debug)]
pub struct GraphReader<B> {
    /// Names of the concepts that it mentions.
    pub names: NamesReader<B>,
    /// Concepts in chunks.
    pub mentions: MentionsReader<B>,
    /// Edges between concepts.
    pub relations: RelationsReader<B>,
}

impl<B: AsRef<[u8]>> GraphReader<B> {
    /// Opens and checks the three sections of a segment with `chunk_count` chunks.
    pub fn open(names: B, mentions: B, relations: B, chunk_count: u32) -> Result<Self, GraphError> {
        Ok(GraphReader {
            names: NamesReader::open(names)?,
            mentions: MentionsReader::open(mentions, chunk_count)?,
            relations: RelationsReader::open(relations, chunk_count)?,
        })
    }
}

/// The graph that all segments form together.
#[derive(Debug)]
pub struct GraphSnapshot<'a, B> {
    /// The segments, by ascending base.
    pub segments: &'a [SegmentReader<'a, GraphReader<B>>],
    /// PageRank; without it all concepts rank alike and ids decide.
    pub ranks: Option<&'a Ranks<B>>,
    /// The neighbours of concepts by these ranks, where they were written for these segments.
    pub adjacency: Option<&'a Adjacency<B>>,
    /// The links of walks with restart, where they were written for these segments.
    pub links: Option<&'a StoredLinks<B>>,
}

impl<B> Clone for GraphSnapshot<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for GraphSnapshot<'_, B> {}

/// Which way edges are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Either.
    #[default]
    Both,
    /// From source to target.
    Outgoing,
    /// From target to source.
    Incoming,
}

impl Direction {
    /// The way back.
    pub fn reversed(self) -> Direction {
        match self {
            Direction::Both => Direction::Both,
            Direction::Outgoing => Direction::Incoming,
            Direction::Incoming => Direction::Outgoing,
        }
    }
}

/// Which edges a walk takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeFilter<'k> {
    /// Which way.
    pub direction: Direction,
    /// Of these kinds, in whatever ASCII case; none: of any.
    pub kinds: &'k [&'k str],
}

impl EdgeFilter<'_> {
    /// Whether it takes an edge of this kind, which points to the other end or comes from there.
    pub fn accepts(&self, outgoing: bool, kind: &str) -> bool {
        let is_way = match self.direction {
            Direction::Both => true,
            Direction::Outgoing => outgoing,
            Direction::Incoming => !outgoing,
        };
        is_way && (self.kinds.is_empty() || self.kinds.iter().any(|k| k.eq_ignore_ascii_case(kind)))
    }
}

/// An edge of the view, seen from one of its ends and merged over segments.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotEdge<'a> {
    /// The other end.
    pub other: ConceptId,
    /// Whether the edge points to the other end.
    pub outgoing: bool,
    /// What the relation is called.
    pub kind: &'a str,
    /// Sum of what the living documents that state it say.
    pub weight: f32,
    /// The live chunks that state it, ascending.
    pub evidence: Vec<Ordinal>,
}

impl<'a, B: AsRef<[u8]>> GraphSnapshot<'a, B> {
    /// PageRank of a concept; 0 without an analysis and for concepts newer than it.
    pub fn rank(&self, concept: ConceptId) -> f32 {
        self.ranks.map_or(0.0, |ranks| ranks.get(concept))
    }

    /// Sorts by falling PageRank, ties by id, and drops repeats.
    pub fn sort_by_rank(&self, concepts: &mut Vec<ConceptId>) {
        let mut ranked: Vec<(f32, ConceptId)> = concepts
            .iter()
            .map(|&concept| (self.rank(concept), concept))
            .collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        concepts.clear();
        concepts.extend(ranked.into_iter().map(|(_, concept)| concept));
        concepts.dedup();
    }

    /// The live chunks that mention `concept`, ascending, and how often.
    pub fn chunks(&self, concept: ConceptId) -> impl Iterator<Item = (Ordinal, u32)> + use<'a, B> {
        self.segments.iter().flat_map(move |segment| {
            let chunks = segment.reader.mentions.chunks(concept);
            chunks
                .filter(move |&(local, _)| !segment.is_dead(local))
                .map(move |(local, count)| (segment.ordinal(local), count))
        })
    }

    /// How many live chunks mention `concept`.
    pub fn chunk_count(&self, concept: ConceptId) -> usize {
        if let Some(links) = self.links {
            return links.chunk_count(concept);
        }
        let count = |segment: &SegmentReader<'a, GraphReader<B>>| {
            let chunks = segment.reader.mentions.chunks(concept);
            if segment.dead.is_empty() {
                chunks.len()
            } else {
                chunks.filter(|&(local, _)| !segment.is_dead(local)).count()
            }
        };
        self.segments.iter().map(count).sum()
    }

    /// The concepts that a chunk mentions, ascending, and how often; none when it is dead.
    pub fn concepts(&self, chunk: Ordinal) -> impl Iterator<Item = (ConceptId, u32)> + use<'a, B> {
        self.segment_of(chunk)
            .into_iter()
            .flat_map(|(segment, local)| segment.reader.mentions.concepts(local))
    }

    /// The segment and local number of a live chunk.
    fn segment_of(
        &self,
        chunk: Ordinal,
    ) -> Option<(&'a SegmentReader<'a, GraphReader<B>>, LocalOrdinal)> {
        let after = self
            .segments
            .partition_point(|segment| segment.base <= chunk);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let local = segment
            .local(chunk)
            .filter(|&local| !segment.is_dead(local))?;
        Some((segment, local))
    }

    /// Live chunks of the view.
    pub fn live_chunk_count(&self) -> u64 {
        let live = |segment: &SegmentReader<'a, GraphReader<B>>| {
            u64::from(segment.chunk_count).saturating_sub(segment.dead.len())
        };
        self.segments.iter().map(live).sum()
    }

    /// The live edges of `concept`, segment by segment, with the segment.
    pub(crate) fn live_edges(
        &self,
        concept: ConceptId,
    ) -> impl Iterator<Item = (&'a SegmentReader<'a, GraphReader<B>>, Edge<'a>)> + use<'a, B> {
        self.segments.iter().flat_map(move |segment| {
            let edges = segment.reader.relations.edges(concept);
            edges
                .filter(move |edge| is_alive(segment, &edge.evidence))
                .map(move |edge| (segment, edge))
        })
    }

    /// What the live edges among `concepts` state, each (source, kind, target) once, `limit` at most: by the place of the
    /// source in `concepts`, then in the order of segments, targets and kinds.
    ///
    /// Costs, for each segment, a binary search for each concept and for each pair that has edges there.
    pub fn relations_among(
        &self,
        concepts: &[ConceptId],
        limit: usize,
    ) -> Vec<(ConceptId, &'a str, ConceptId)> {
        let readers = || {
            self.segments
                .iter()
                .map(|segment| &segment.reader.relations)
        };
        let places: Vec<Vec<Option<u32>>> = readers()
            .map(|reader| reader.concept_indices(concepts))
            .collect();
        let ascending = |places: &Vec<Option<u32>>| {
            let mut places: Vec<u32> = places.iter().copied().flatten().collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let targets: Vec<Vec<u32>> = places.iter().map(ascending).collect();
        let mut found = Vec::new();
        for (source, _) in concepts.iter().enumerate() {
            for (at, segment) in self.segments.iter().enumerate() {
                let Some(source) = places[at][source] else {
                    continue;
                };
                let edges = segment.reader.relations.edges_between(source, &targets[at]);
                for edge in edges.filter(|edge| is_alive(segment, &edge.evidence)) {
                    let relation = (edge.source, edge.kind, edge.target);
                    if found.len() >= limit {
                        return found;
                    }
                    if !found.contains(&relation) {
                        found.push(relation);
                    }
                }
            }
        }
        found
    }

    /// The live edges of `concept`, each (other end, direction, kind) once: by falling weight, then by
    /// other end, outgoing first, kind.
    pub fn edges(&self, concept: ConceptId) -> Vec<SnapshotEdge<'a>> {
        let mut merged: BTreeMap<_, (f64, Vec<Ordinal>)> = BTreeMap::new();
        for (segment, edge) in self.live_edges(concept) {
            let entry = merged
                .entry((edge.other, !edge.outgoing, edge.kind))
                .or_default();
            entry.0 += f64::from(edge.weight);
            let live = edge.evidence.filter(|&local| !segment.is_dead(local));
            entry.1.extend(live.map(|local| segment.ordinal(local)));
        }
        let mut edges: Vec<SnapshotEdge<'a>> = merged
            .into_iter()
            .map(
                |((other, incoming, kind), (weight, evidence))| SnapshotEdge {
                    other,
                    outgoing: !incoming,
                    kind,
                    weight: weight as f32,
                    evidence,
                },
            )
            .collect();
        edges.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        edges
    }

    /// The other ends of the live edges of `concept` in either direction: by falling PageRank, then id,
    /// each once, without itself.
    pub fn neighbours(&self, concept: ConceptId) -> Vec<ConceptId> {
        if let Some(adjacency) = self.adjacency {
            return adjacency.neighbours(concept).collect();
        }
        let mut neighbours: Vec<ConceptId> = self
            .live_edges(concept)
            .map(|(_, edge)| edge.other)
            .collect();
        neighbours.retain(|&other| other != concept);
        self.sort_by_rank(&mut neighbours);
        neighbours
    }

    /// [`GraphSnapshot::neighbours`] by the edges that `edge_filter` accepts.
    pub fn neighbours_filtered(
        &self,
        concept: ConceptId,
        edge_filter: EdgeFilter<'_>,
    ) -> Vec<ConceptId> {
        if edge_filter == EdgeFilter::default() {
            return self.neighbours(concept);
        }
        let edges = self.live_edges(concept);
        let accepted = edges.filter(|(_, edge)| edge_filter.accepts(edge.outgoing, edge.kind));
        let mut neighbours: Vec<ConceptId> = accepted.map(|(_, edge)| edge.other).collect();
        neighbours.retain(|&other| other != concept);
        self.sort_by_rank(&mut neighbours);
        neighbours
    }

    /// Whether a live chunk mentions `concept` or a live edge ends there.
    pub fn is_visible(&self, concept: ConceptId) -> bool {
        self.chunks(concept).next().is_some() || self.live_edges(concept).next().is_some()
    }

    /// All visible concepts, ascending. Costs a pass over all sections.
    pub fn concept_ids(&self) -> BTreeSet<ConceptId> {
        let known = self.segments.iter().flat_map(|segment| {
            segment
                .reader
                .mentions
                .concept_ids()
                .chain(segment.reader.relations.concept_ids())
        });
        let known: BTreeSet<ConceptId> = known.collect();
        known
            .into_iter()
            .filter(|&concept| self.is_visible(concept))
            .collect()
    }

    /// All live edges with their weight in each segment: what [`crate::pagerank()`] takes. Costs a pass
    /// over all relations.
    pub fn weighted_edges(&self) -> Vec<(ConceptId, ConceptId, f32)> {
        let edges = self.segments.iter().flat_map(|segment| {
            let relations = segment.reader.relations.relations();
            relations.filter(move |relation| is_alive(segment, &relation.evidence))
        });
        edges
            .map(|relation| (relation.source, relation.target, relation.weight))
            .collect()
    }

    /// The visible concepts that `text` names; see [`crate::link()`].
    pub fn link(&self, text: &str) -> Vec<EntityLink> {
        link_filtered(&self.names(), text, |concept| self.is_visible(concept))
    }

    /// The visible concepts that a question names, and then those that its capitalised words stand for; see
    /// [`crate::link::link_parts`].
    pub fn link_question(&self, text: &str) -> Vec<EntityLink> {
        let names = self.names();
        let keep = |concept| self.is_visible(concept);
        let words = words(text);
        let mut links = link_words(&names, &words, keep);
        let rank = |concept| self.rank(concept);
        links.extend(link_parts_in_words(
            &names, text, &words, &links, keep, rank,
        ));
        links
    }

    /// The visible concept with this normalised name or synonym.
    pub fn lookup(&self, normalised: &str) -> Option<ConceptId> {
        lookup_filtered(&self.names(), normalised, |concept| {
            self.is_visible(concept)
        })
    }

    fn names(&self) -> Vec<&'a NamesReader<B>> {
        self.segments
            .iter()
            .map(|segment| &segment.reader.names)
            .collect()
    }
}

/// Whether an edge with this evidence is alive; the module's opening says when.
fn is_alive<R>(segment: &SegmentReader<'_, R>, evidence: &Evidence<'_>) -> bool {
    segment.dead.is_empty() || evidence.clone().any(|local| !segment.is_dead(local))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_corpus::{Corpus, any_corpus, any_cuts};
    use crate::{MentionsBuilder, NamesBuilder, RelationsBuilder};
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    fn one_segment() -> GraphReader<Vec<u8>> {
        let mut names = NamesBuilder::default();
        names.push("wave", ConceptId(1));
        names.push("wave function", ConceptId(2));
        let mut mentions = MentionsBuilder::default();
        mentions.push(ConceptId(1), LocalOrdinal(0), 1);
        mentions.push(ConceptId(2), LocalOrdinal(1), 1);
        let mut relations = RelationsBuilder::default();
        relations.push(
            ConceptId(3),
            ConceptId(4),
            "states",
            1.0,
            &[LocalOrdinal(0)],
        );
        relations.push(ConceptId(5), ConceptId(6), "is said to", 1.0, &[]);
        GraphReader::open(names.finish(), mentions.finish(), relations.finish(), 2).unwrap()
    }

    #[test]
    fn edges_supported_only_by_dead_chunks_are_invisible() {
        let reader = one_segment();
        let visible = |dead: &[u32]| {
            let dead: RoaringBitmap = dead.iter().collect();
            let segments = [SegmentReader {
                base: Ordinal(0),
                chunk_count: 2,
                dead: &dead,
                reader: &reader,
            }];
            let snapshot = GraphSnapshot {
                segments: &segments,
                ranks: None,
                adjacency: None,
                links: None,
            };
            let ids: Vec<u32> = snapshot.concept_ids().into_iter().map(|id| id.0).collect();
            (
                ids,
                snapshot
                    .link("wave function")
                    .iter()
                    .map(|link| link.concept.0)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(visible(&[]), (vec![1, 2, 3, 4, 5, 6], vec![2]));
        assert_eq!(
            visible(&[1]),
            (vec![1, 3, 4], vec![1]),
            "an edge without evidence goes with any chunk"
        );
        assert_eq!(visible(&[0]), (vec![2], vec![2]));
        assert_eq!(visible(&[0, 1]), (vec![], vec![]));
    }

    proptest! {
        #[test]
        fn chunk_count_is_equal_with_and_without_stored_links(
            corpus in any_corpus(), cuts in any_cuts(),
        ) {
            let counts = |view: GraphSnapshot<'_, Vec<u8>>| -> Vec<usize> {
                (0..15).map(|concept| view.chunk_count(ConceptId(concept))).collect()
            };
            let listed = |view: GraphSnapshot<'_, Vec<u8>>| -> Vec<usize> {
                (0..15).map(|concept| view.chunks(ConceptId(concept)).count()).collect()
            };
            let expected = corpus.with_snapshot(&cuts, listed);
            prop_assert_eq!(&corpus.with_snapshot(&cuts, counts), &expected);
            prop_assert_eq!(&corpus.with_analysis(&cuts, counts), &expected);
        }

        #[test]
        fn relations_among_agrees_with_edges(
            corpus in any_corpus(), cuts in any_cuts(), limit in 0usize..9,
            concepts in prop::collection::vec((0u32..12).prop_map(ConceptId), 0..6),
        ) {
            let (got, expected) = corpus.with_snapshot(&cuts, |view| {
                let mut expected = Vec::new();
                for &source in &concepts {
                    for (_, edge) in view.live_edges(source) {
                        let relation = (source, edge.kind.to_owned(), edge.other);
                        if edge.outgoing && concepts.contains(&edge.other) && !expected.contains(&relation) {
                            expected.push(relation);
                        }
                    }
                }
                expected.truncate(limit);
                let found = view.relations_among(&concepts, limit).into_iter();
                (found.map(|(a, kind, b)| (a, kind.to_owned(), b)).collect::<Vec<_>>(), expected)
            });
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn snapshot_agrees_with_its_live_chunks(corpus in any_corpus(), cuts in any_cuts()) {
            let facts = corpus.expected();
            corpus.with_snapshot(&cuts, |view| {
                assert_eq!(view.concept_ids(), facts.concepts());
                assert_eq!(view.live_chunk_count(), facts.live.len() as u64);
                for concept in Corpus::concepts() {
                    let chunks: Vec<_> = view.chunks(concept).collect();
                    assert_eq!(chunks, facts.chunks(concept));
                    assert_eq!(view.chunk_count(concept), chunks.len());
                    let mut neighbours = view.neighbours(concept);
                    neighbours.sort();
                    assert_eq!(neighbours, facts.neighbours(concept));
                    let evidence: BTreeSet<_> = view.edges(concept).into_iter().flat_map(|edge| {
                        let ends = if edge.outgoing { (concept, edge.other) } else { (edge.other, concept) };
                        let kind = edge.kind.to_owned();
                        edge.evidence.into_iter().map(move |chunk| (ends.0, ends.1, kind.clone(), chunk))
                    }).collect();
                    assert_eq!(evidence, facts.statements(concept));
                }
                for chunk in (0..corpus.chunk_count() + 2).map(Ordinal) {
                    assert_eq!(view.concepts(chunk).collect::<Vec<_>>(), facts.mentioned(chunk));
                }
            });
        }
    }
}
