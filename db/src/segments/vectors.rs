//! Writing the vectors of a segment, and the graphs over them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_index::analysis::Analyzer;
use loci_index::vector::{
    FlatBuilder, GraphOptions, Metric, REMOVED_NODE, VectorError, VectorReader,
};
use loci_storage::records::ChunkRecord;
use loci_storage::rows::missing;
use loci_storage::segment::{Layer, PartBuilder, PartKind, Section, SectionId};
use loci_storage::snapshot::{OpenSegment, OpenSpace};
use loci_storage::staging::indexed_text;
use loci_storage::{
    DocumentId, LocalOrdinal, Rows, SegmentReader, SpaceId, StoreError, Table, keys,
};

use crate::embedders::projector::Projector;
use crate::segments::chunk::{chunk_layer, is_embedded, stemming_language};
use crate::thread_pool;

/// Vectors of a layer from which on a segment has a graph over them: comparing fewer takes no longer
/// than a walk.
const GRAPH_VECTORS_MIN: usize = 2048;

/// Where the vectors of a segment come from.
#[derive(Clone)]
pub(crate) struct VectorSource {
    pub(crate) space: SpaceId,
    pub(crate) dim: usize,
    /// The built-in embedder; `None`: rows.
    pub(crate) projector: Option<Arc<Projector>>,
}

impl VectorSource {
    /// `projector`: that of `space`, where it is built in.
    pub(crate) fn new(space: &OpenSpace, projector: Option<Arc<Projector>>) -> VectorSource {
        VectorSource {
            space: space.id,
            dim: space.record.dim as usize,
            projector,
        }
    }
}

/// Writes the vectors of one segment.
pub(crate) struct VectorWriter<'a> {
    pub(crate) source: VectorSource,
    layers: [FlatBuilder; 2],
    graph_source: Option<GraphSource<'a>>,
    /// Set to cancel the work.
    stop: Option<&'a AtomicBool>,
}

/// A segment that is merged into the one that is written: its graphs are copied where that pays.
pub(crate) struct GraphSource<'a> {
    segment: &'a OpenSegment,
    layers: [SegmentReader<'a, VectorReader<Section>>; 2],
    /// For each vector of a layer, its place in the new segment.
    new_positions: [Vec<u32>; 2],
}

impl<'a> GraphSource<'a> {
    /// `layers`: the vectors of `segment`.
    pub(crate) fn new(
        segment: &'a OpenSegment,
        layers: [SegmentReader<'a, VectorReader<Section>>; 2],
    ) -> GraphSource<'a> {
        let none = |layer: usize| vec![REMOVED_NODE; layers[layer].reader.flat().len()];
        let new_positions = [none(0), none(1)];
        GraphSource {
            segment,
            layers,
            new_positions,
        }
    }

    /// Records that chunk `at` of a document got its vector as the last of `builder`.
    fn record_position(
        &mut self,
        document: DocumentId,
        at: u32,
        layer: Layer,
        builder: &FlatBuilder,
    ) {
        let Some(run) = self.segment.documents.find(document) else {
            return;
        };
        let old = self.layers[layer as usize].reader.flat();
        let local = LocalOrdinal(run.first.0 + at);
        let Some((new, place)) = builder.len().checked_sub(1).zip(old.position_of(local)) else {
            return;
        };
        // Text or embedding may have changed meanwhile.
        let same = old.vector(local).as_deref() == builder.vector_at(new);
        if let Some(position) = self.new_positions[layer as usize]
            .get_mut(place)
            .filter(|_| same)
        {
            *position = new as u32;
        }
    }
}

impl<'a> VectorWriter<'a> {
    pub(crate) fn new(source: VectorSource) -> Result<VectorWriter<'a>, StoreError> {
        let layer = || FlatBuilder::new(source.dim, Metric::Cosine).map_err(StoreError::index);
        let layers = [layer()?, layer()?];
        Ok(VectorWriter {
            source,
            layers,
            graph_source: None,
            stop: None,
        })
    }

    /// Begins the graphs with those of `graph_source`, and stops where `stop` is set.
    pub(crate) fn set_merge(
        &mut self,
        graph_source: Option<GraphSource<'a>>,
        stop: &'a AtomicBool,
    ) {
        self.graph_source = graph_source;
        self.stop = Some(stop);
    }

    /// Adds a chunk; one that has no vector (no known term, no row) is skipped.
    pub(crate) fn push(
        &mut self,
        rows: &dyn Rows,
        local: LocalOrdinal,
        layer: Layer,
        chunk: &ChunkRecord,
        terms: &[String],
    ) -> Result<(), StoreError> {
        let vector = match &self.source.projector {
            Some(projector) => projector.embed_terms(terms),
            None => rows.vector(self.source.space, chunk.content_hash)?,
        };
        let Some(vector) = vector.filter(|vector| vector.iter().any(|&x| x != 0.0)) else {
            return Ok(());
        };
        let pushed = self.layers[layer as usize].push(local, &vector);
        pushed.map_err(StoreError::index)
    }

    /// Copies the vector that a chunk has in the segment that is replaced, if it has one.
    pub(crate) fn copy(
        &mut self,
        local: LocalOrdinal,
        layer: Layer,
        vector: Option<Cow<'_, [f32]>>,
    ) -> Result<(), StoreError> {
        let Some(vector) = vector else {
            return Ok(());
        };
        let pushed = self.layers[layer as usize].push_prepared(local, &vector);
        pushed.map_err(StoreError::index)
    }

    /// Records the position of the chunk that was pushed last, `place` of a document, in the graph source.
    pub(crate) fn record_in_graph_source(
        &mut self,
        document: DocumentId,
        place: u32,
        layer: Layer,
        local: LocalOrdinal,
    ) {
        let builder = &self.layers[layer as usize];
        if let Some(graph_source) = self
            .graph_source
            .as_mut()
            .filter(|_| builder.last() == Some(local))
        {
            graph_source.record_position(document, place, layer, builder);
        }
    }

    pub(crate) fn finish(self, chunks: u32, documents: u32) -> Result<PartBuilder, StoreError> {
        let mut part = PartBuilder::new(PartKind::Vectors, chunks, documents);
        for (layer, vectors) in Layer::ALL.into_iter().zip(self.layers) {
            let before = self.graph_source.as_ref().map(|graph_source| {
                let at = layer as usize;
                (
                    graph_source.layers[at].reader,
                    &graph_source.new_positions[at][..],
                )
            });
            let graph = build_graph(&vectors, before, self.stop)?;
            part.push(SectionId::Vectors, layer as u32, vectors.finish());
            if let Some(graph) = graph {
                part.push(SectionId::VectorGraph, layer as u32, graph);
            }
        }
        Ok(part)
    }
}
/// The graph over `vectors`, where there are enough of them.
fn build_graph(
    vectors: &FlatBuilder,
    before: Option<(&VectorReader<Section>, &[u32])>,
    stop: Option<&AtomicBool>,
) -> Result<Option<Vec<u8>>, StoreError> {
    if vectors.len() < GRAPH_VECTORS_MIN {
        return Ok(None);
    }
    let go_on = || stop.is_none_or(|stop| !stop.load(Ordering::Relaxed));
    let options = GraphOptions::for_dim(vectors.dim());
    let built =
        thread_pool::run(|| vectors.build_graph_from(&options, GRAPH_VECTORS_MIN, before, &go_on));
    built.map_err(|error| match error {
        VectorError::Stopped => StoreError::Closed,
        error => StoreError::index(error),
    })
}

/// The vectors of a segment that is stored already.
pub(crate) fn build_segment_vectors(
    rows: &dyn Rows,
    segment: &OpenSegment,
    source: &VectorSource,
) -> Result<PartBuilder, StoreError> {
    let mut writer = VectorWriter::new(source.clone())?;
    let mut analyzer = Analyzer::new();
    for id in segment.live_documents() {
        let document = rows.document(id)?;
        let document = document.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
        let Some(run) = segment.documents.find(id) else {
            continue;
        };
        analyzer.set_languages(stemming_language(&document).into());
        for (place, chunk) in (0u32..).zip(&rows.chunks(id)?) {
            let layer = chunk_layer(place, chunk);
            if is_embedded(document.embed, layer) {
                let terms = analyzer.terms(&indexed_text(&document, chunk));
                writer.push(
                    rows,
                    LocalOrdinal(run.first.0 + place),
                    layer,
                    chunk,
                    &terms,
                )?;
            }
        }
    }
    writer.finish(segment.chunk_count, segment.documents.len() as u32)
}
