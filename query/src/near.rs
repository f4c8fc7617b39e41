//! Concepts that a question does not name, but is near to.
//!
//! The vector of a concept is the mean of the vectors of chunks that mention it, at length 1. None is stored: a
//! concept that is near has chunks that are near, so those of the nearest chunks are compared, each by the first
//! [`MENTIONS_MAX`] of its chunks. So they are of the view at hand, whichever model the vectors came from, and
//! nothing is to be kept in step. Vectors of concepts as a source of a question's concepts: R8 of the sources.
//!
//! Always true: similarities are cosines; a concept without a vector in the active space is never near.
//!
//! Start reading at [`near_concepts`].

use std::collections::BTreeSet;
use std::ops::Range;

use loci_graph::{GraphView, How, Link};
use loci_index::vector::{FlatReader, VectorReader};
use loci_storage::segment::{Layer, Section};
use loci_storage::{ConceptId, Local, Ordinal, Placed};

use crate::view::ReadView;

/// Chunks of a concept that its vector is the mean of, at most. Each vector is a read from all over a file. On
/// musique_train, hotpotqa_train and cranfield sixteen give the figures of eight, but for MRR@10 of the graph alone on
/// cranfield with built-in concepts: .2609 in place of .2607.
const MENTIONS_MAX: usize = 8;

/// Concepts that are compared, at most.
const COMPARED_MAX: usize = 256;

/// How many vectors ahead of the one that is added are prefetched, so that several reads from memory overlap.
const ROWS_AHEAD: usize = 6;

/// The `k` concepts nearest to `question` among those that `chunks` mention, nearest first, ties by rank, whose
/// similarity is `similarity_min` or more.
///
/// - question: `[dim]`, a vector of the active space
/// - returns: links that name no words of the question; `share` is the similarity
///
/// # Cost
/// The concepts of the chunks times [`MENTIONS_MAX`] vectors at most, and never more than [`COMPARED_MAX`]
/// concepts.
pub(crate) fn near_concepts(
    view: &ReadView,
    graph: GraphView<'_, Section>,
    question: &[f32],
    chunks: impl Iterator<Item = Ordinal>,
    (k, similarity_min): (usize, f32),
) -> Vec<Link> {
    let vectors = Vectors::new(view);
    let mut concepts = BTreeSet::new();
    for chunk in chunks {
        concepts.extend(graph.concepts(chunk).map(|(concept, _)| concept));
        if concepts.len() >= COMPARED_MAX {
            break;
        }
    }
    let mut rows = Vec::new();
    let mut compared = Vec::new();
    for concept in concepts.into_iter().take(COMPARED_MAX) {
        let start = rows.len();
        let mentions = graph.chunks(concept).take(MENTIONS_MAX);
        rows.extend(mentions.filter_map(|(chunk, _)| vectors.row(chunk, question.len())));
        compared.push((concept, start..rows.len()));
    }
    let square = dot(question, question);
    let mut sum = vec![0.0; question.len()];
    let mut near: Vec<(f32, ConceptId)> = Vec::new();
    rows.iter().take(ROWS_AHEAD).for_each(Row::prefetch);
    for (concept, mentions) in compared {
        sum.fill(0.0);
        for at in mentions {
            if let Some(ahead) = rows.get(at + ROWS_AHEAD) {
                ahead.prefetch();
            }
            rows[at].add_to(&mut sum);
        }
        let similarity = cosine(question, square, &sum);
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
    let links = near.into_iter().map(|(similarity, concept)| Link {
        concept,
        how: How::Near,
        name: String::new(),
        words: Range::default(),
        chars: Range::default(),
        share: similarity.clamp(0.0, 1.0),
    });
    links.collect()
}

/// Sums that a product is gathered in, so that one need not wait for the other.
const LANES: usize = 8;

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest = rest.map(|(a, b)| f64::from(*a) * f64::from(*b));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// The cosine of two vectors of one length, of which `a_square` is the first one's with itself; `None` where one of them
/// has no direction.
fn cosine(a: &[f32], a_square: f64, b: &[f32]) -> Option<f32> {
    let lengths = (a_square * dot(b, b)).sqrt();
    (lengths > 0.0 && lengths.is_finite()).then(|| (dot(a, b) / lengths) as f32)
}

/// The vectors of a view's chunks.
struct Vectors<'v> {
    layers: [Vec<Placed<'v, VectorReader<Section>>>; 2],
}

impl<'v> Vectors<'v> {
    fn new(view: &'v ReadView) -> Vectors<'v> {
        Vectors {
            layers: Layer::ALL.map(|layer| view.vectors(layer)),
        }
    }

    /// Where the vector of a chunk is, if it has one of `dim` numbers.
    fn row(&self, chunk: Ordinal, dim: usize) -> Option<Row<'v>> {
        self.layers.iter().find_map(|segments| {
            let after = segments.partition_point(|placed| placed.base <= chunk);
            let placed = segments.get(after.checked_sub(1)?)?;
            let flat = placed.reader.flat();
            let place = flat.place(Local(chunk.0 - placed.base.0))?;
            (flat.dim() == dim).then_some(Row { flat, place })
        })
    }
}

/// A vector in its file.
struct Row<'v> {
    flat: &'v FlatReader<Section>,
    place: usize,
}

impl Row<'_> {
    /// Asks for the vector, and does not wait.
    fn prefetch(&self) {
        self.flat.prefetch(self.place);
    }

    fn add_to(&self, sum: &mut [f32]) {
        let vector = self.flat.row(self.place).unwrap_or_default();
        for (sum, x) in sum.iter_mut().zip(vector.iter()) {
            *sum += x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cosine_is_the_one_of_plain_sums(
            pairs in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 0..40),
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let plain = |a: &[f32], b: &[f32]| {
                let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
                products.sum::<f64>()
            };
            let lengths = (plain(&a, &a) * plain(&b, &b)).sqrt();
            match cosine(&a, dot(&a, &a), &b) {
                Some(cosine) => prop_assert!((f64::from(cosine) - plain(&a, &b) / lengths).abs() < 1e-6),
                None => prop_assert!(lengths == 0.0),
            }
        }
    }
}
