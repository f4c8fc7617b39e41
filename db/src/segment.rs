//! Writing a segment's indexes from its documents: text, facets, names, mentions, relations, vectors.
//!
//! Everything here follows from rows and the projection of the active space, so a segment that is
//! built again is the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_graph::{MentionsBuilder, NamesBuilder, RelationsBuilder};
use loci_index::analysis::Analyzer;
use loci_index::facets::FacetBuilder;
use loci_index::text::TextBuilder;
use loci_index::vector::{FlatBuilder, GraphOptions, Metric};
use loci_storage::build::{SegmentBuilder, SegmentDocument};
use loci_storage::records::{ChunkRecord, EmbedLevels};
use loci_storage::rows::missing;
use loci_storage::segment::{Layer, PartBuilder, PartKind, SectionId};
use loci_storage::staging::indexed_text;
use loci_storage::{ConceptId, Local, Rows, SpaceId, StoreError, Table, keys};
use parking_lot::Mutex;

use crate::facets::push_facets;
use crate::space::Projector;

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

/// Analyzers that remember the words of segments before.
#[derive(Default)]
pub(crate) struct Analyzers(Mutex<Vec<Analyzer>>);

/// An analyzer that goes back to where it was taken from.
struct Lent<'a> {
    analyzers: &'a Analyzers,
    analyzer: Option<Analyzer>,
}

impl Lent<'_> {
    fn terms(&mut self, text: &str) -> Vec<String> {
        self.analyzer.get_or_insert_default().terms(text)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.analyzers.0.lock().extend(self.analyzer.take());
    }
}

/// Writes one segment.
pub(crate) struct SegmentWriter<'a> {
    analyzer: Lent<'a>,
    text: [TextBuilder; 2],
    facets: FacetBuilder,
    named: BTreeSet<ConceptId>,
    mentions: MentionsBuilder,
    relations: RelationsBuilder,
    names: NamesBuilder,
    vectors: Option<VectorWriter>,
}

/// Writes the vectors of one segment.
pub(crate) struct VectorWriter {
    source: VectorSource,
    layers: [FlatBuilder; 2],
}

/// The layer that a chunk is found in.
pub(crate) fn layer_of(place: u32, chunk: &ChunkRecord) -> Layer {
    if chunk.subtree_end == place + 1 {
        Layer::Leaves
    } else {
        Layer::Inner
    }
}

impl<'a> SegmentWriter<'a> {
    /// An empty segment with vectors from `source`.
    pub(crate) fn new(
        source: Option<VectorSource>,
        analyzers: &'a Analyzers,
    ) -> Result<SegmentWriter<'a>, StoreError> {
        Ok(SegmentWriter {
            analyzer: Lent {
                analyzers,
                analyzer: analyzers.0.lock().pop(),
            },
            text: [TextBuilder::new(), TextBuilder::new()],
            facets: FacetBuilder::new(),
            named: BTreeSet::new(),
            mentions: MentionsBuilder::default(),
            relations: RelationsBuilder::default(),
            names: NamesBuilder::default(),
            vectors: source.map(VectorWriter::new).transpose()?,
        })
    }

    fn push_graph(
        &mut self,
        rows: &dyn Rows,
        document: &SegmentDocument,
    ) -> Result<(), StoreError> {
        for (id, said) in rows.concept_contributions(document.id)? {
            self.push_name(rows, id)?;
            for synonym in &said.synonyms {
                self.names.push_synonym(synonym, id);
            }
            for (place, count) in said.mentions {
                self.mentions
                    .push(id, Local(document.first.0 + place), count);
            }
        }
        for (key, said) in rows.relation_contributions(document.id)? {
            let (source, target, kind) = keys::parse_relation(&key)
                .ok_or_else(|| missing(Table::RelationContributions, &key))?;
            let evidence: Vec<Local> = said
                .chunks
                .iter()
                .map(|place| Local(document.first.0 + place))
                .collect();
            let weight = (said.weight_micro as f64 / 1e6) as f32;
            self.relations.push(source, target, kind, weight, &evidence);
        }
        Ok(())
    }

    fn push_name(&mut self, rows: &dyn Rows, id: ConceptId) -> Result<(), StoreError> {
        if !self.named.insert(id) {
            return Ok(());
        }
        let concept = rows.concept(id)?;
        let concept = concept.ok_or_else(|| missing(Table::Concepts, &keys::concept(id)))?;
        self.names.push(&concept.normalised, id);
        Ok(())
    }
}

impl SegmentBuilder for SegmentWriter<'_> {
    fn push(&mut self, rows: &dyn Rows, document: &SegmentDocument) -> Result<(), StoreError> {
        for (place, chunk) in (0u32..).zip(&document.chunks) {
            let local = Local(document.first.0 + place);
            let layer = layer_of(place, chunk);
            let terms = self.analyzer.terms(&indexed_text(&document.record, chunk));
            self.text[layer as usize]
                .push(local, &terms)
                .map_err(StoreError::view)?;
            push_facets(&mut self.facets, local, &document.record, chunk);
            if let Some(vectors) = &mut self.vectors
                && is_embedded(document.record.embed, layer)
            {
                vectors.push(rows, local, layer, chunk, &terms)?;
            }
        }
        self.push_graph(rows, document)
    }

    fn finish(
        self: Box<Self>,
        part: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError> {
        let [leaves, inner] = self.text;
        part.push(SectionId::Text, Layer::Leaves as u32, leaves.finish());
        part.push(SectionId::Text, Layer::Inner as u32, inner.finish());
        part.push(SectionId::Facets, 0, self.facets.finish());
        part.push(SectionId::Names, 0, self.names.finish());
        part.push(SectionId::Mentions, 0, self.mentions.finish());
        part.push(SectionId::Relations, 0, self.relations.finish());
        let (chunks, documents) = (part.chunk_count(), part.document_count());
        self.vectors
            .map(|vectors| {
                let space = vectors.source.space;
                Ok((space, vectors.finish(chunks, documents)?))
            })
            .transpose()
    }
}

/// Whether a chunk of this layer gets a vector.
pub(crate) fn is_embedded(embed: EmbedLevels, layer: Layer) -> bool {
    match embed {
        EmbedLevels::All => true,
        EmbedLevels::Children => layer == Layer::Leaves,
        EmbedLevels::None => false,
    }
}

impl VectorWriter {
    pub(crate) fn new(source: VectorSource) -> Result<VectorWriter, StoreError> {
        let layer = || FlatBuilder::new(source.dim, Metric::Cosine).map_err(StoreError::view);
        let layers = [layer()?, layer()?];
        Ok(VectorWriter { source, layers })
    }

    /// Takes a chunk; one that has no vector (no known term, no row) is passed over.
    pub(crate) fn push(
        &mut self,
        rows: &dyn Rows,
        local: Local,
        layer: Layer,
        chunk: &ChunkRecord,
        terms: &[String],
    ) -> Result<(), StoreError> {
        let vector = match &self.source.projector {
            Some(projector) => projector.embed_terms(terms),
            None => rows.vector(self.source.space, chunk.content_hash)?,
        };
        match vector.filter(|vector| vector.iter().any(|&x| x != 0.0)) {
            Some(vector) => self.layers[layer as usize]
                .push(local, &vector)
                .map_err(StoreError::view),
            None => Ok(()),
        }
    }

    pub(crate) fn finish(self, chunks: u32, documents: u32) -> Result<PartBuilder, StoreError> {
        let mut part = PartBuilder::new(PartKind::Vectors, chunks, documents);
        for (layer, vectors) in Layer::ALL.into_iter().zip(self.layers) {
            let graph = vectors
                .graph(&GraphOptions::default(), GRAPH_VECTORS_MIN)
                .map_err(StoreError::view)?;
            part.push(SectionId::Vectors, layer as u32, vectors.finish());
            if let Some(graph) = graph {
                part.push(SectionId::VectorGraph, layer as u32, graph);
            }
        }
        Ok(part)
    }
}
