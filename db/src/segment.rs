//! Writing a segment's indexes from its documents: text, facets, names, mentions, relations, vectors.
//!
//! Everything here follows from rows and the projection of the active space, so a segment that is
//! built again is the same; but a vector graph may begin with that of a segment which is merged.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_graph::{CitationEdge, CitationsBuilder, MentionsBuilder, NamesBuilder, RelationsBuilder};
use loci_index::analysis::{Analyzer, Language, LanguageCounts};
use loci_index::facets::FacetBuilder;
use loci_index::text::{
    self, Field, FieldWeights, MergeInput, REMOVED_LOCAL, TextBuilder, TextReader,
};
use loci_index::vector::{
    FlatBuilder, GraphOptions, Metric, REMOVED_NODE, VectorError, VectorReader,
};
use loci_storage::build::{SegmentBuilder, SegmentDocument};
use loci_storage::records::{ChunkRecord, ContentType, DocumentRecord, EmbedLevels};
use loci_storage::rows::missing;
use loci_storage::segment::{DocumentRun, Layer, PartBuilder, PartKind, Section, SectionId};
use loci_storage::snapshot::OpenSegment;
use loci_storage::staging::indexed_title;
use loci_storage::{
    ConceptId, DocumentId, LocalOrdinal, Rows, SegmentReader, SpaceId, StoreError, Table, keys,
};
use parking_lot::Mutex;

use crate::citations::DocumentCitations;
use crate::contributions::DocumentContributions;
use crate::facets::{push_facets, sibling_positions};
use crate::snapshot::DatabaseSnapshot;
use crate::space::Projector;
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

/// Analyzers that remember the words of segments before.
#[derive(Default)]
pub(crate) struct AnalyzerPool(Mutex<Vec<Analyzer>>);

/// An analyzer that goes back to where it was taken from.
struct AnalyzerGuard<'a> {
    pool: &'a AnalyzerPool,
    analyzer: Option<Analyzer>,
}

impl AnalyzerGuard<'_> {
    fn get(&mut self) -> &mut Analyzer {
        self.analyzer.get_or_insert_default()
    }
}

impl Drop for AnalyzerGuard<'_> {
    fn drop(&mut self) {
        self.pool.0.lock().extend(self.analyzer.take());
    }
}

/// Writes one segment.
pub(crate) struct SegmentWriter<'a> {
    analyzer: AnalyzerGuard<'a>,
    text: [TextBuilder; 2],
    merge_sources: Option<MergeSources<'a>>,
    /// Of the chunks of each layer.
    languages: [LanguageCounts; 2],
    facets: FacetBuilder,
    pushed_names: BTreeSet<ConceptId>,
    mentions: MentionsBuilder,
    relations: RelationsBuilder,
    citations: CitationsBuilder,
    names: NamesBuilder,
    vectors: Option<VectorWriter<'a>>,
}

/// Writes the vectors of one segment.
pub(crate) struct VectorWriter<'a> {
    source: VectorSource,
    layers: [FlatBuilder; 2],
    graph_source: Option<GraphSource<'a>>,
    /// Set by whoever gives up.
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

    /// Notes that chunk `at` of a document got its vector as the last of `builder`.
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

/// What the words of a document are stemmed by.
pub(crate) fn language_of(record: &DocumentRecord) -> Language {
    Language::from_declared(record.language.as_deref())
}

/// The segments that a new one takes the place of: their text and the vectors of the built-in embedder are
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
struct SourceDocument<'a> {
    vectors: Option<[&'a VectorReader<Section>; 2]>,
    first: LocalOrdinal,
}

impl<'a> SourceDocument<'a> {
    /// The vector of the chunk at `place`.
    fn vector(&self, layer: Layer, place: u32) -> Option<Cow<'a, [f32]>> {
        let flat = self.vectors?[layer as usize].flat();
        flat.vector(LocalOrdinal(self.first.0 + place))
    }
}

impl<'a> MergeSources<'a> {
    /// What can be copied of `old` into a segment of their live documents, in the order of ids. `None` where
    /// some text or vector would be another: with other field weights, damaged, or not embedded.
    pub(crate) fn new(
        view: &'a DatabaseSnapshot,
        old: &[&'a OpenSegment],
        weights: FieldWeights,
    ) -> Option<MergeSources<'a>> {
        let mut all = Vec::with_capacity(old.len());
        for segment in old {
            all.push(SourceSegment::new(view, segment, weights)?);
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

    fn find(&self, document: &SegmentDocument) -> Result<SourceDocument<'a>, StoreError> {
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

    fn text(&self, layer: Layer, languages: LanguageCounts) -> Result<Vec<u8>, StoreError> {
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
        view: &'a DatabaseSnapshot,
        segment: &'a OpenSegment,
        weights: FieldWeights,
    ) -> Option<SourceSegment<'a>> {
        segment.part.verify().ok()?;
        let text = Layer::ALL.map(|layer| view.read_view.text_of(segment, layer));
        let [Some(leaves), Some(inner)] = text else {
            return None;
        };
        let text = [leaves.reader, inner.reader];
        if text.iter().any(|reader| reader.weights() != weights) {
            return None;
        }
        let copies_vectors = view.projector.is_some();
        let vectors = if copies_vectors {
            let (_, part) = segment.vectors.as_ref()?;
            part.verify().ok()?;
            let [leaves, inner] = Layer::ALL.map(|layer| view.read_view.vectors_of(segment, layer));
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

/// The layer that a chunk is found in.
pub(crate) fn chunk_layer(place: u32, chunk: &ChunkRecord) -> Layer {
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
        weights: FieldWeights,
        analyzers: &'a AnalyzerPool,
    ) -> Result<SegmentWriter<'a>, StoreError> {
        Ok(SegmentWriter {
            analyzer: AnalyzerGuard {
                pool: analyzers,
                analyzer: analyzers.0.lock().pop(),
            },
            text: [
                TextBuilder::with_weights(weights),
                TextBuilder::with_weights(weights),
            ],
            merge_sources: None,
            languages: Default::default(),
            facets: FacetBuilder::new(),
            pushed_names: BTreeSet::new(),
            mentions: MentionsBuilder::default(),
            relations: RelationsBuilder::default(),
            citations: CitationsBuilder::default(),
            names: NamesBuilder::default(),
            vectors: source.map(VectorWriter::new).transpose()?,
        })
    }

    /// Copies text and vectors from `replaced`, and begins the graphs over vectors with those of `donor`.
    /// Gives up where `stop` is set.
    pub(crate) fn with_merge_sources(
        mut self,
        merge_sources: Option<MergeSources<'a>>,
        graph_source: Option<GraphSource<'a>>,
        stop: &'a AtomicBool,
    ) -> SegmentWriter<'a> {
        self.merge_sources = merge_sources;
        if let Some(vectors) = &mut self.vectors {
            vectors.graph_source = graph_source;
            vectors.stop = Some(stop);
        }
        self
    }

    /// Analyses a chunk; returns its terms for the embedder where it `is_embedded`.
    fn push_text(
        &mut self,
        document: &SegmentDocument,
        local: LocalOrdinal,
        layer: Layer,
        chunk: &ChunkRecord,
        is_embedded: bool,
    ) -> Result<Vec<String>, StoreError> {
        let mut terms = Vec::new();
        let texts = indexed_fields(&document.record, chunk);
        let collect_term = |field: Field, term: &str| {
            if is_embedded && field != Field::KeyTerms {
                terms.push(term.to_owned());
            }
        };
        self.text[layer as usize]
            .push_texts(local, self.analyzer.get(), texts, collect_term)
            .map_err(StoreError::index)?;
        Ok(terms)
    }

    /// The text of both layers.
    fn finish_text(&mut self) -> Result<[Vec<u8>; 2], StoreError> {
        let text = std::mem::take(&mut self.text);
        let Some(merge_sources) = &self.merge_sources else {
            return Ok(text.map(TextBuilder::finish));
        };
        let [leaves, inner] = [Layer::Leaves, Layer::Inner]
            .map(|layer| merge_sources.text(layer, self.languages[layer as usize].clone()));
        Ok([leaves?, inner?])
    }

    fn push_graph(
        &mut self,
        rows: &dyn Rows,
        document: &SegmentDocument,
    ) -> Result<(), StoreError> {
        let cited = DocumentCitations::load(rows, document.id)?;
        for (place, number, citation, work) in cited.edges() {
            let cites = CitationEdge {
                work,
                number,
                intent: citation.intent,
                is_claim: citation.claim,
                confidence: citation.confidence,
            };
            self.citations
                .push(LocalOrdinal(document.first.0 + place), cites);
        }
        let contributions = DocumentContributions::load(rows, document.id)?;
        let contribution = contributions.with_concept_edits(rows, document.id)?;
        let mut ends = BTreeSet::new();
        for key in contribution.relations.keys() {
            let ends_of = keys::parse_relation(key);
            ends.extend(
                ends_of
                    .into_iter()
                    .flat_map(|(source, target, _)| [source, target]),
            );
        }
        for (&id, contribution) in &contribution.concepts {
            // A name that nothing here makes visible would hide what else is called that.
            if !contribution.mentions.is_empty() || ends.contains(&id) {
                self.push_name(rows, id)?;
            }
            for synonym in &contribution.synonyms {
                self.names.push_synonym(synonym, id);
            }
            for &(place, count) in &contribution.mentions {
                self.mentions
                    .push(id, LocalOrdinal(document.first.0 + place), count);
            }
        }
        for (key, contributions) in &contribution.relations {
            let (source, target, kind) = keys::parse_relation(key)
                .ok_or_else(|| missing(Table::RelationContributions, key))?;
            let evidence: Vec<LocalOrdinal> = contributions
                .chunks
                .iter()
                .map(|place| LocalOrdinal(document.first.0 + place))
                .collect();
            let weight = (contributions.weight_micro as f64 / 1e6) as f32;
            self.relations.push(source, target, kind, weight, &evidence);
        }
        Ok(())
    }

    fn push_name(&mut self, rows: &dyn Rows, id: ConceptId) -> Result<(), StoreError> {
        if !self.pushed_names.insert(id) {
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
        let language = language_of(&document.record);
        self.analyzer.get().set_languages(language.into());
        let source = match &self.merge_sources {
            Some(merge_sources) => Some(merge_sources.find(document)?),
            None => None,
        };
        let positions = sibling_positions(&document.chunks);
        for ((place, chunk), position) in (0u32..).zip(&document.chunks).zip(positions) {
            let local = LocalOrdinal(document.first.0 + place);
            let layer = chunk_layer(place, chunk);
            self.languages[layer as usize].add(language.into(), 1);
            push_facets(&mut self.facets, local, &document.record, chunk, position);
            let is_embedded = self.vectors.is_some() && is_embedded(document.record.embed, layer);
            let terms = match source {
                Some(_) => Vec::new(),
                None => self.push_text(document, local, layer, chunk, is_embedded)?,
            };
            let Some(vectors) = self.vectors.as_mut().filter(|_| is_embedded) else {
                continue;
            };
            match source.filter(|_| vectors.source.projector.is_some()) {
                Some(old) => vectors.copy(local, layer, old.vector(layer, place))?,
                None => vectors.push(rows, local, layer, chunk, &terms)?,
            }
            vectors.record_in_graph_source(document.id, place, layer, local);
        }
        self.push_graph(rows, document)
    }

    fn finish(
        mut self: Box<Self>,
        part: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError> {
        let [leaves, inner] = self.finish_text()?;
        part.push(SectionId::Text, Layer::Leaves as u32, leaves);
        part.push(SectionId::Text, Layer::Inner as u32, inner);
        part.push(SectionId::Facets, 0, self.facets.finish());
        part.push(SectionId::Names, 0, self.names.finish());
        part.push(SectionId::Mentions, 0, self.mentions.finish());
        part.push(SectionId::Relations, 0, self.relations.finish());
        part.push(SectionId::Citations, 0, self.citations.finish());
        let (chunks, documents) = (part.chunk_count(), part.document_count());
        self.vectors
            .map(|vectors| {
                let space = vectors.source.space;
                Ok((space, vectors.finish(chunks, documents)?))
            })
            .transpose()
    }
}

/// What is indexed of a chunk, field by field: together the terms of
/// [`indexed_text`](loci_storage::staging::indexed_text), and its key terms.
fn indexed_fields<'a>(
    record: &'a DocumentRecord,
    chunk: &'a ChunkRecord,
) -> impl Iterator<Item = (Field, &'a str)> {
    let title = indexed_title(record, chunk).map(|title| (Field::Title, title));
    // The title, where the headings begin with it.
    let is_title = title.is_none() && record.title.is_some();
    let headings = chunk.heading_path.iter().enumerate();
    let headings = headings.map(move |(at, heading)| match at {
        0 if is_title => (Field::Title, heading.as_str()),
        _ => (Field::Headings, heading.as_str()),
    });
    let field = match chunk.content_type {
        ContentType::Code => Field::Code,
        _ => Field::Body,
    };
    let keys = chunk.key_terms.iter();
    let keys = keys.map(|key| (Field::KeyTerms, key.as_str()));
    title
        .into_iter()
        .chain(headings)
        .chain([(field, &chunk.text[..])])
        .chain(keys)
}

/// The graph over `vectors`, where they are many enough.
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

/// Whether a chunk of this layer gets a vector.
pub(crate) fn is_embedded(embed: EmbedLevels, layer: Layer) -> bool {
    match embed {
        EmbedLevels::All => true,
        EmbedLevels::Children => layer == Layer::Leaves,
        EmbedLevels::None => false,
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

    /// Takes a chunk; one that has no vector (no known term, no row) is passed over.
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
        match vector.filter(|vector| vector.iter().any(|&x| x != 0.0)) {
            Some(vector) => self.layers[layer as usize]
                .push(local, &vector)
                .map_err(StoreError::index),
            None => Ok(()),
        }
    }

    /// Takes the vector that a chunk has in the segment that is replaced, if it has one.
    fn copy(
        &mut self,
        local: LocalOrdinal,
        layer: Layer,
        vector: Option<Cow<'_, [f32]>>,
    ) -> Result<(), StoreError> {
        match vector {
            Some(vector) => self.layers[layer as usize]
                .push_prepared(local, &vector)
                .map_err(StoreError::index),
            None => Ok(()),
        }
    }

    /// Notes that the chunk that was pushed last, `place` of a document, may have been in the donor.
    fn record_in_graph_source(
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
