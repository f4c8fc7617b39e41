//! Copying text and vectors from the segments that a merge replaces, instead of computing them again.
//!
//! Invariant: a copy has the bytes that the rows would give.

use std::borrow::Cow;

use loci_index::analysis::LanguageCounts;
use loci_index::text::{self, FieldWeights, MergeInput, REMOVED_LOCAL, TextReader};
use loci_index::vector::VectorReader;
use loci_query::ReadView;
use loci_storage::build::SegmentDocument;
use loci_storage::segment::{DocumentRun, Layer, Section};
use loci_storage::snapshot::OpenSegment;
use loci_storage::{LocalOrdinal, StoreError};

/// The segments that a new one replaces: their text and the vectors of the built-in embedder are
/// copied.
pub(crate) struct MergeSources<'a> {
    weights: FieldWeights,
    segments: Vec<SourceSegment<'a>>,
}

/// A segment that is replaced.
struct SourceSegment<'a> {
    segment: &'a OpenSegment,
    text: [&'a TextReader<Section>; 2],
    vectors: Option<[&'a VectorReader<Section>; 2]>,
    /// The new local number by the old one.
    locals: Vec<u32>,
}

/// A document in the segment that is replaced.
#[derive(Clone, Copy)]
pub(crate) struct SourceDocument<'a> {
    vectors: Option<[&'a VectorReader<Section>; 2]>,
    first: LocalOrdinal,
}

impl<'a> SourceDocument<'a> {
    /// The vector of the chunk at `place`.
    pub(crate) fn vector(&self, layer: Layer, place: u32) -> Option<Cow<'a, [f32]>> {
        let flat = self.vectors?[layer as usize].flat();
        flat.vector(LocalOrdinal(self.first.0 + place))
    }
}

impl<'a> MergeSources<'a> {
    /// What can be copied of `old` into a segment of their live documents, in the order of ids. `None` where
    /// some text or vector would differ: with other field weights, damaged, or not embedded.
    pub(crate) fn new(
        view: &'a ReadView,
        copies_vectors: bool,
        old: &[&'a OpenSegment],
        weights: FieldWeights,
    ) -> Option<MergeSources<'a>> {
        let mut all = Vec::with_capacity(old.len());
        for segment in old {
            all.push(SourceSegment::new(view, copies_vectors, segment, weights)?);
        }
        let mut runs: Vec<(DocumentRun, usize)> = Vec::new();
        for (at, segment) in old.iter().enumerate() {
            let live = segment
                .live_documents()
                .filter_map(|id| segment.live_run(id));
            runs.extend(live.map(|run| (run, at)));
        }
        runs.sort_unstable_by_key(|(run, _)| run.document);
        let mut next = 0;
        for (run, at) in runs {
            let first = run.first.0 as usize;
            let locals = all[at].locals.get_mut(first..first + run.count as usize)?;
            for local in locals {
                *local = next;
                next += 1;
            }
        }
        Some(MergeSources {
            weights,
            segments: all,
        })
    }

    pub(crate) fn find(
        &self,
        document: &SegmentDocument,
    ) -> Result<SourceDocument<'a>, StoreError> {
        for old in &self.segments {
            let Some(run) = old.segment.live_run(document.id) else {
                continue;
            };
            let new = old.locals.get(run.first.0 as usize);
            if new == Some(&document.first.0) && run.count as usize == document.chunks.len() {
                return Ok(SourceDocument {
                    vectors: old.vectors,
                    first: run.first,
                });
            }
        }
        let id = document.id.0;
        Err(StoreError::Index(
            format!("document {id} has other chunks in its segment than in its rows").into(),
        ))
    }

    pub(crate) fn text(
        &self,
        layer: Layer,
        languages: LanguageCounts,
    ) -> Result<Vec<u8>, StoreError> {
        let merged = self.segments.iter().map(|old| MergeInput {
            reader: old.text[layer as usize],
            locals: &old.locals,
        });
        let merged: Vec<_> = merged.collect();
        text::merge(&merged, self.weights, languages).map_err(StoreError::index)
    }
}

impl<'a> SourceSegment<'a> {
    fn new(
        view: &'a ReadView,
        copies_vectors: bool,
        segment: &'a OpenSegment,
        weights: FieldWeights,
    ) -> Option<SourceSegment<'a>> {
        segment.part.verify().ok()?;
        let text = Layer::ALL.map(|layer| view.text_of(segment, layer));
        let [Some(leaves), Some(inner)] = text else {
            return None;
        };
        let text = [leaves.reader, inner.reader];
        if text.iter().any(|reader| reader.weights() != weights) {
            return None;
        }
        let vectors = if copies_vectors {
            let (_, part) = segment.vectors.as_ref()?;
            part.verify().ok()?;
            let [leaves, inner] = Layer::ALL.map(|layer| view.vectors_of(segment, layer));
            Some([leaves?.reader, inner?.reader])
        } else {
            None
        };
        Some(SourceSegment {
            segment,
            text,
            vectors,
            locals: vec![REMOVED_LOCAL; segment.chunk_count as usize],
        })
    }
}
