//! Writing a segment's indexes from its documents: text, facets, names, mentions, relations, citations, vectors.
//!
//! Invariant: the bytes follow from rows and the projection of the active space, so a segment that is built again is
//! the same; only a vector graph may begin with that of a segment that is merged.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use loci_graph::{CitationEdge, CitationsBuilder, MentionsBuilder, NamesBuilder, RelationsBuilder};
use loci_index::analysis::{Analyzer, LanguageCounts};
use loci_index::facets::FacetBuilder;
use loci_index::text::{Field, FieldWeights, TextBuilder};
use loci_storage::build::{SegmentBuilder, SegmentDocument};
use loci_storage::records::ChunkRecord;
use loci_storage::rows::missing;
use loci_storage::segment::{Layer, PartBuilder, SectionId};
use loci_storage::{ConceptId, LocalOrdinal, Rows, SpaceId, StoreError, Table, keys};
use parking_lot::Mutex;

use crate::segments::chunk::{chunk_layer, indexed_fields, is_embedded, stemming_language};
use crate::segments::facets::{push_facets, sibling_positions};
use crate::segments::merge_sources::MergeSources;
use crate::segments::vectors::{GraphSource, VectorSource, VectorWriter};
use crate::statements::citations::DocumentCitations;
use crate::statements::contributions::DocumentContributions;

/// Analyzers with warm caches of words.
#[derive(Default)]
pub(crate) struct AnalyzerPool(Mutex<Vec<Analyzer>>);

/// An analyzer that returns to its pool.
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

    /// Copies text and vectors from `merge_sources`, and begins the graphs over vectors with those of
    /// `graph_source`. Stops where `stop` is set.
    pub(crate) fn with_merge_sources(
        mut self,
        merge_sources: Option<MergeSources<'a>>,
        graph_source: Option<GraphSource<'a>>,
        stop: &'a AtomicBool,
    ) -> SegmentWriter<'a> {
        self.merge_sources = merge_sources;
        if let Some(vectors) = &mut self.vectors {
            vectors.set_merge(graph_source, stop);
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
            // A name without mentions or relations here would hide another concept of that name.
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
        let language = stemming_language(&document.record);
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
