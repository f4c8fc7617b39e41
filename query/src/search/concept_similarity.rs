//! Concepts that a question does not name, but is near to.
//!
//! The vector of a concept is the mean of the vectors of chunks that mention it, at length 1. None is stored: a
//! concept that is near has chunks that are near, so those of the nearest chunks are compared, each by the first
//! [`MENTIONS_MAX`] of its chunks. So they belong to the view that is searched, whichever model made the vectors, and
//! nothing can become stale.
//!
//! Large segments have codes of their vectors, which are read in place of them: similarities there are cosines to two
//! digits ([`MeanCosine`]), and change in the third when segments are merged.
//!
//! Always true: a concept without a vector in the active space is never near.
//!
//! Start reading at [`nearest_concepts`].

use std::collections::BTreeSet;
use std::ops::Range;

use loci_graph::{EntityLink, GraphSnapshot, MatchKind};
use loci_index::vector::{MeanCosine, VectorReader};
use loci_storage::segment::{Layer, Section};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};

use crate::view::ReadView;

/// Chunks of a concept that its vector is the mean of, at most. Each is a read from all over a file. On
/// musique_train, hotpotqa_train and cranfield sixteen give the figures of eight, but for MRR@10 of the graph alone on
/// cranfield with built-in concepts: .2609 in place of .2607.
const MENTIONS_MAX: usize = 8;

/// Concepts that are compared, at most.
const CONCEPTS_COMPARED_MAX: usize = 256;

/// How many vectors ahead of the one that is added are prefetched, so that several reads from memory overlap.
const PREFETCH_DISTANCE: usize = 6;

/// The `k` concepts nearest to `question` among those that `chunks` mention, nearest first, ties by rank, whose
/// similarity is `similarity_min` or more.
///
/// - question: `[dim]`, a vector of the active space
/// - returns: links that name no words of the question; `share` is the similarity
///
/// # Cost
/// The concepts of the chunks times [`MENTIONS_MAX`] vectors at most, and never more than [`CONCEPTS_COMPARED_MAX`]
/// concepts.
pub(super) fn nearest_concepts(
    view: &ReadView,
    graph: GraphSnapshot<'_, Section>,
    question: &[f32],
    chunks: impl Iterator<Item = Ordinal>,
    (k, similarity_min): (usize, f32),
) -> Vec<EntityLink> {
    let vectors = ChunkVectors::new(view);
    let mut concepts = BTreeSet::new();
    for chunk in chunks {
        concepts.extend(graph.concepts(chunk).map(|(concept, _)| concept));
        if concepts.len() >= CONCEPTS_COMPARED_MAX {
            break;
        }
    }
    let mut rows = Vec::new();
    let mut compared = Vec::new();
    for concept in concepts.into_iter().take(CONCEPTS_COMPARED_MAX) {
        let start = rows.len();
        let mentions = graph.chunks(concept).take(MENTIONS_MAX);
        rows.extend(mentions.filter_map(|(chunk, _)| vectors.row(chunk)));
        compared.push((concept, start..rows.len()));
    }
    let mut mean = MeanCosine::new(question);
    let mut near: Vec<(f32, ConceptId)> = Vec::new();
    let mut ahead = rows.iter();
    ahead
        .by_ref()
        .take(PREFETCH_DISTANCE)
        .for_each(VectorRow::prefetch);
    for (concept, mentions) in compared {
        mean.clear();
        for rows in rows[mentions].chunk_by(VectorRow::is_in_same_segment) {
            let places = rows.iter().map(|row| {
                ahead.next().inspect(|row| row.prefetch());
                row.index
            });
            mean.add(rows[0].vectors, places);
        }
        let similarity = mean.cosine();
        if similarity.is_some_and(|similarity| similarity >= similarity_min) {
            near.extend(similarity.map(|similarity| (similarity, concept)));
        }
    }
    let order = |a: &(f32, ConceptId), b: &(f32, ConceptId)| {
        let by_rank = graph.rank(b.1).total_cmp(&graph.rank(a.1));
        b.0.total_cmp(&a.0).then(by_rank).then(a.1.cmp(&b.1))
    };
    near.sort_by(order);
    near.truncate(k);
    let links = near.into_iter().map(|(similarity, concept)| EntityLink {
        concept,
        match_kind: MatchKind::Near,
        name: String::new(),
        words: Range::default(),
        chars: Range::default(),
        confidence: similarity.clamp(0.0, 1.0),
    });
    links.collect()
}

/// The vectors of a view's chunks.
struct ChunkVectors<'v> {
    layers: [Vec<SegmentReader<'v, VectorReader<Section>>>; 2],
}

impl<'v> ChunkVectors<'v> {
    fn new(view: &'v ReadView) -> ChunkVectors<'v> {
        ChunkVectors {
            layers: Layer::ALL.map(|layer| view.vectors(layer)),
        }
    }

    /// Where the vector of a chunk is, if it has one.
    fn row(&self, chunk: Ordinal) -> Option<VectorRow<'v>> {
        self.layers.iter().find_map(|segments| {
            let after = segments.partition_point(|placed| placed.base <= chunk);
            let placed = segments.get(after.checked_sub(1)?)?;
            let vectors = placed.reader;
            let place = vectors
                .flat()
                .position_of(LocalOrdinal(chunk.0 - placed.base.0))?;
            Some(VectorRow {
                vectors,
                index: place,
            })
        })
    }
}

/// A vector in its segment.
struct VectorRow<'v> {
    vectors: &'v VectorReader<Section>,
    index: usize,
}

impl VectorRow<'_> {
    /// Asks for the vector, and does not wait.
    fn prefetch(&self) {
        self.vectors.prefetch(self.index);
    }

    /// Whether both are of one segment.
    fn is_in_same_segment(&self, other: &VectorRow<'_>) -> bool {
        std::ptr::eq(self.vectors, other.vectors)
    }
}
