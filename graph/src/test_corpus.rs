//! Small random graphs for tests, and plain sets of what is true in them.

use std::collections::{BTreeMap, BTreeSet};

use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use crate::walks::prerequisites::PREREQUISITE_FOR;
use crate::{
    Adjacency, Direction, EdgeFilter, GraphReader, GraphSnapshot, MentionsBuilder, NamesBuilder,
    Ranks, RanksBuilder, RelationsBuilder, StoredLinks, adjacency, links,
};

const CONCEPTS: u32 = 10;
const DOCUMENTS: usize = 5;
const CHUNKS_PER_DOCUMENT: u32 = 3;

/// Documents with what they say; how they fall into segments is chosen later.
#[derive(Clone, Debug)]
pub(crate) struct Corpus {
    documents: Vec<Document>,
    dead: BTreeSet<u32>,
    ranks: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Document {
    /// (concept, chunk, count)
    mentions: Vec<(u32, u32, u32)>,
    /// (source, target, whether a prerequisite, chunk)
    edges: Vec<(u32, u32, bool, u32)>,
}

/// The snapshot of one segment with these mentions and relations, without an analysis.
pub(crate) fn with_one_segment<R>(
    mentions: MentionsBuilder,
    relations: RelationsBuilder,
    chunk_count: u32,
    read: impl FnOnce(GraphSnapshot<'_, Vec<u8>>) -> R,
) -> R {
    let names = NamesBuilder::default().finish();
    let reader = GraphReader::open(names, mentions.finish(), relations.finish(), chunk_count);
    let segments = [SegmentReader {
        base: Ordinal(0),
        chunk_count,
        dead: &RoaringBitmap::new(),
        reader: &reader.unwrap(),
    }];
    read(GraphSnapshot {
        segments: &segments,
        ranks: None,
        adjacency: None,
        links: None,
    })
}

pub(crate) fn any_corpus() -> impl Strategy<Value = Corpus> {
    let mention = (0..CONCEPTS, 0..CHUNKS_PER_DOCUMENT, 1u32..3);
    let edge = (
        0..CONCEPTS,
        0..CONCEPTS,
        any::<bool>(),
        0..CHUNKS_PER_DOCUMENT,
    );
    let document = (
        prop::collection::vec(mention, 0..6),
        prop::collection::vec(edge, 0..5),
    )
        .prop_map(|(mentions, edges)| Document {
            mentions,
            edges: BTreeSet::from_iter(edges).into_iter().collect(),
        });
    let dead = prop::collection::btree_set(0..DOCUMENTS as u32 * CHUNKS_PER_DOCUMENT, 0..5);
    let ranks = prop::collection::vec(0u8..3, 0..CONCEPTS as usize);
    (prop::collection::vec(document, DOCUMENTS), dead, ranks).prop_map(
        |(documents, dead, ranks)| Corpus {
            documents,
            dead,
            ranks,
        },
    )
}

/// After which documents a new segment starts.
pub(crate) fn any_cuts() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(any::<bool>(), DOCUMENTS)
}

/// Edges of one or any kind and direction.
pub(crate) fn any_edge_filter() -> impl Strategy<Value = EdgeFilter<'static>> {
    let directions = vec![Direction::Both, Direction::Outgoing, Direction::Incoming];
    let kinds: [&[&str]; 4] = [
        &[],
        &["prerequisite_for"],
        &["RELATED_TO", "other"],
        &["other"],
    ];
    (
        prop::sample::select(directions),
        prop::sample::select(kinds.to_vec()),
    )
        .prop_map(|(direction, kinds)| EdgeFilter { direction, kinds })
}

struct Segment {
    base: u32,
    chunk_count: u32,
    dead: RoaringBitmap,
    reader: GraphReader<Vec<u8>>,
}

fn kind(prerequisite: bool) -> &'static str {
    if prerequisite {
        PREREQUISITE_FOR
    } else {
        "RELATED_TO"
    }
}

impl Corpus {
    pub(crate) fn concepts() -> impl Iterator<Item = ConceptId> {
        (0..CONCEPTS).map(ConceptId)
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.documents.len() as u32 * CHUNKS_PER_DOCUMENT
    }

    pub(crate) fn rank(&self, concept: ConceptId) -> u8 {
        self.ranks.get(concept.0 as usize).copied().unwrap_or(0)
    }

    /// Builds segments that end where `cuts` says and hands over the view of them.
    pub(crate) fn with_snapshot<T>(
        &self,
        cuts: &[bool],
        read: impl FnOnce(GraphSnapshot<'_, Vec<u8>>) -> T,
    ) -> T {
        self.with_segments(cuts, false, read)
    }

    /// As [`Corpus::with_view`], with the neighbours of concepts and the links written down.
    pub(crate) fn with_analysis<T>(
        &self,
        cuts: &[bool],
        read: impl FnOnce(GraphSnapshot<'_, Vec<u8>>) -> T,
    ) -> T {
        self.with_segments(cuts, true, read)
    }

    fn with_segments<T>(
        &self,
        cuts: &[bool],
        is_analysed: bool,
        read: impl FnOnce(GraphSnapshot<'_, Vec<u8>>) -> T,
    ) -> T {
        let mut segments = Vec::new();
        let mut start = 0;
        for end in 1..=self.documents.len() {
            if end == self.documents.len() || cuts[end - 1] {
                segments.push(self.segment(start, end));
                start = end;
            }
        }
        let placed: Vec<_> = segments
            .iter()
            .map(|segment| SegmentReader {
                base: Ordinal(segment.base),
                chunk_count: segment.chunk_count,
                dead: &segment.dead,
                reader: &segment.reader,
            })
            .collect();
        let mut ranks = RanksBuilder::default();
        for (concept, &rank) in (0..).map(ConceptId).zip(&self.ranks) {
            ranks.push(concept, f32::from(rank));
        }
        let ranks = Ranks::open(ranks.finish()).unwrap();
        let snapshot = GraphSnapshot {
            segments: &placed,
            ranks: Some(&ranks),
            adjacency: None,
            links: None,
        };
        let links = StoredLinks::open(links(snapshot, &[])).unwrap();
        let edges = snapshot.weighted_edges().into_iter();
        let edges: Vec<_> = edges.map(|(source, target, _)| (source, target)).collect();
        let adjacency = adjacency(&edges, |concept| snapshot.rank(concept), &[]);
        let adjacency = Adjacency::open(adjacency).unwrap();
        read(GraphSnapshot {
            adjacency: is_analysed.then_some(&adjacency),
            links: is_analysed.then_some(&links),
            ..snapshot
        })
    }

    fn segment(&self, start: usize, end: usize) -> Segment {
        let base = start as u32 * CHUNKS_PER_DOCUMENT;
        let chunk_count = (end - start) as u32 * CHUNKS_PER_DOCUMENT;
        let mut mentions = MentionsBuilder::default();
        let mut relations = RelationsBuilder::default();
        for (place, document) in self.documents[start..end].iter().enumerate() {
            let local = |chunk: u32| LocalOrdinal(place as u32 * CHUNKS_PER_DOCUMENT + chunk);
            for &(concept, chunk, count) in &document.mentions {
                mentions.push(ConceptId(concept), local(chunk), count);
            }
            for &(source, target, prerequisite, chunk) in &document.edges {
                let (source, target) = (ConceptId(source), ConceptId(target));
                relations.push(source, target, kind(prerequisite), 1.0, &[local(chunk)]);
            }
        }
        let names = NamesBuilder::default().finish();
        let dead = self
            .dead
            .range(base..base + chunk_count)
            .map(|chunk| chunk - base)
            .collect();
        let reader = GraphReader::open(names, mentions.finish(), relations.finish(), chunk_count);
        Segment {
            base,
            chunk_count,
            dead,
            reader: reader.unwrap(),
        }
    }

    /// What is true in this corpus, whatever the segments.
    pub(crate) fn expected(&self) -> ExpectedGraph {
        let live = (0..self.chunk_count()).filter(|chunk| !self.dead.contains(chunk));
        let mut facts = ExpectedGraph {
            live: live.map(Ordinal).collect(),
            ..ExpectedGraph::default()
        };
        for (place, document) in self.documents.iter().enumerate() {
            let ordinal = |chunk: u32| Ordinal(place as u32 * CHUNKS_PER_DOCUMENT + chunk);
            for &(concept, chunk, count) in &document.mentions {
                if facts.live.contains(&ordinal(chunk)) {
                    *facts
                        .mentions
                        .entry((ConceptId(concept), ordinal(chunk)))
                        .or_default() += count;
                }
            }
            for &(source, target, prerequisite, chunk) in &document.edges {
                if facts.live.contains(&ordinal(chunk)) {
                    let kind = kind(prerequisite).to_owned();
                    facts.edges.insert((
                        ConceptId(source),
                        ConceptId(target),
                        kind,
                        ordinal(chunk),
                    ));
                }
            }
        }
        facts
    }
}

type Statement = (ConceptId, ConceptId, String, Ordinal);

/// Plain sets of what is alive.
#[derive(Debug, Default)]
pub(crate) struct ExpectedGraph {
    pub(crate) live: BTreeSet<Ordinal>,
    pub(crate) mentions: BTreeMap<(ConceptId, Ordinal), u32>,
    pub(crate) edges: BTreeSet<Statement>,
}

impl ExpectedGraph {
    pub(crate) fn concepts(&self) -> BTreeSet<ConceptId> {
        let ends = self.edges.iter().flat_map(|edge| [edge.0, edge.1]);
        self.mentions.keys().map(|key| key.0).chain(ends).collect()
    }

    pub(crate) fn chunks(&self, concept: ConceptId) -> Vec<(Ordinal, u32)> {
        let of = self.mentions.iter().filter(|(key, _)| key.0 == concept);
        of.map(|(key, &count)| (key.1, count)).collect()
    }

    pub(crate) fn mentioned(&self, chunk: Ordinal) -> Vec<(ConceptId, u32)> {
        let of = self.mentions.iter().filter(|(key, _)| key.1 == chunk);
        of.map(|(key, &count)| (key.0, count)).collect()
    }

    pub(crate) fn neighbours(&self, concept: ConceptId) -> Vec<ConceptId> {
        self.neighbours_filtered(concept, EdgeFilter::default())
    }

    pub(crate) fn neighbours_filtered(
        &self,
        concept: ConceptId,
        edge_filter: EdgeFilter<'_>,
    ) -> Vec<ConceptId> {
        let is_kind = |kind: &str| {
            edge_filter.kinds.is_empty() || edge_filter.kinds.contains(&kind) || {
                let lower = kind.to_lowercase();
                edge_filter.kinds.contains(&&lower[..])
            }
        };
        let other = |edge: &Statement| {
            let (out, into) = (edge.0 == concept, edge.1 == concept);
            match edge_filter.direction {
                _ if !is_kind(&edge.2) || out == into => None,
                Direction::Incoming if out => None,
                Direction::Outgoing if into => None,
                _ => Some(if out { edge.1 } else { edge.0 }),
            }
        };
        self.edges
            .iter()
            .filter_map(other)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The neighbours of a concept, each with the sum of its edges' weights.
    pub(crate) fn weights(&self, concept: ConceptId) -> BTreeMap<ConceptId, f64> {
        let others = self.neighbours(concept).into_iter();
        let weight = |other: ConceptId| {
            let ends = [(concept, other), (other, concept)];
            let between = |edge: &&Statement| ends.contains(&(edge.0, edge.1));
            self.edges.iter().filter(between).count() as f64
        };
        others.map(|other| (other, weight(other))).collect()
    }

    pub(crate) fn statements(&self, concept: ConceptId) -> BTreeSet<Statement> {
        let of = self
            .edges
            .iter()
            .filter(|edge| edge.0 == concept || edge.1 == concept);
        of.cloned().collect()
    }

    /// (prerequisite, what it is for)
    pub(crate) fn prerequisites(&self) -> BTreeSet<(ConceptId, ConceptId)> {
        let of = self.edges.iter().filter(|edge| edge.2 == PREREQUISITE_FOR);
        of.map(|edge| (edge.0, edge.1)).collect()
    }
}
