//! What a search lacks, and why: [`PartialReason`]s.

use loci_storage::{DerivedIndex, ScoredChunk};
use loci_types::answer::PartialReason;
use loci_types::search::Strategy;

use crate::error::QueryError;
use crate::plan::{Operator, Plan};
use crate::view::ReadView;

/// What the vector arm alone answers to a question without a vector: nothing, when the embedder
/// knows none of its words.
pub(super) fn no_vector(view: &ReadView) -> Result<Vec<ScoredChunk>, QueryError> {
    let snapshot = view.snapshot();
    match snapshot.active_space() {
        None if snapshot.has_lost_index(DerivedIndex::Projection) => Err(QueryError::NoVector(
            "the embedder's projection was damaged and is being fitted again; `loci analyze` does it now",
        )),
        None => Err(QueryError::NoVector("the store has no vector space yet")),
        Some(space) if space.record.builtin => Ok(Vec::new()),
        Some(_) => Err(QueryError::NoVector(
            "the store's vectors are given by the caller, so the question's must be too",
        )),
    }
}

/// What a search lacks.
pub(super) fn partial_reasons(
    view: &ReadView,
    plan: &Plan,
    has_vector: bool,
    words_skipped: usize,
) -> Vec<PartialReason> {
    let searches_vectors = plan
        .operators
        .iter()
        .any(|operator| matches!(operator, Operator::Vector { .. }));
    let snapshot = view.snapshot();
    let mut partial = Vec::new();
    if searches_vectors
        && !has_vector
        && let Some(space) = snapshot.active_space()
    {
        partial.push(if space.record.builtin {
            PartialReason::UnknownWords
        } else {
            PartialReason::NoQuestionVector
        });
    }
    partial.extend(lost_index_reasons(view, plan));
    if snapshot.is_rebuilding() {
        partial.push(match snapshot.missing_chunks() {
            0 => PartialReason::VectorsRebuilding,
            // What a filter hides is not counted either.
            _ if plan.request.filter.is_some() => PartialReason::ChunksMissing(None),
            missing => {
                PartialReason::ChunksMissing(Some((missing, snapshot.manifest().chunk_count)))
            }
        });
    }
    if words_skipped > 0 {
        partial.push(PartialReason::TermsSkipped(words_skipped));
    }
    partial
}

/// What a search lacks because it was damaged and is to be rebuilt.
fn lost_index_reasons(view: &ReadView, plan: &Plan) -> impl Iterator<Item = PartialReason> {
    let is_of_text = plan.strategy == Strategy::Text;
    let by_graph = !matches!(plan.strategy, Strategy::Text | Strategy::Vector);
    let with_communities = plan.request.communities > 0;
    let lost = view.snapshot().lost_indexes().iter();
    lost.filter_map(move |lost| match lost.index {
        DerivedIndex::Projection => (!is_of_text).then_some(PartialReason::ProjectionLost),
        DerivedIndex::Analysis => {
            (by_graph || with_communities).then_some(PartialReason::AnalysisLost)
        }
    })
}
