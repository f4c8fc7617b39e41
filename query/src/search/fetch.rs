//! Rows of the chunks that are returned: read, climbed from, cited.
//!
//! Always true: redb is read only for these chunks, their parents and documents, and the concepts that are named; each document, parent and name once.
//!
//! Start reading at [`RowFetcher::hit`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::FixedState;
use loci_graph::{EntityLink, GraphSnapshot, MatchKind, ReachedConcept};
use loci_index::analysis::Language;
use loci_storage::records::{ChunkRecord, DocumentRecord, RetrievalMode};
use loci_storage::rows::missing;
use loci_storage::segment::Section;
use loci_storage::snapshot::ChunkPosition;
use loci_storage::{ConceptId, DocumentId, Ordinal, Rows, StoreError, Table, keys};

use crate::cite::context::{Passage, TextSpan, assemble};
use crate::cite::{cite_as, display_name, document_key, format_chunk_key, label};
use crate::ranking::fuse::{ArmHit, Fused};
use crate::tokens::TokenCounter;
use crate::view::ReadView;
use loci_types::answer::{
    ArmScores, ConceptHit, ConceptSource, Context, GraphArmScore, Hit, Method, ParentHit,
    PartialReason, RelationHit,
};
use loci_types::search::Climb;

/// Relations that an answer names at most.
const RELATIONS_MAX: usize = 20;

/// Names of concepts, cached by the view. One whose row is damaged has none: it is left out, and reported.
pub(super) struct ConceptNames<'v> {
    view: &'v ReadView,
    damaged: Vec<PartialReason>,
}

impl<'v> ConceptNames<'v> {
    pub(super) fn new(view: &'v ReadView) -> ConceptNames<'v> {
        ConceptNames {
            view,
            damaged: Vec::new(),
        }
    }

    /// What is wrong with the rows of names that were left out.
    pub(super) fn damaged(self) -> Vec<PartialReason> {
        self.damaged
    }

    fn get(&mut self, id: ConceptId) -> Result<Option<String>, StoreError> {
        let read = || {
            let name = self.view.snapshot().rows().concept_name(id)?;
            name.ok_or_else(|| missing(Table::Concepts, &keys::concept(id)))
        };
        match self
            .view
            .concept_name_cache
            .get_or_read(id, read, String::len)
        {
            Ok(name) => Ok(Some(name.to_string())),
            Err(error) if error.is_row_damage() => {
                let why = PartialReason::DamagedConcept(error.to_string());
                if !self.damaged.contains(&why) {
                    self.damaged.push(why);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn all(&mut self, ids: &[ConceptId]) -> Result<Vec<String>, StoreError> {
        let names = ids.iter().filter_map(|&id| self.get(id).transpose());
        names.collect()
    }

    /// The question's concepts, as an answer has them.
    pub(super) fn concepts(&mut self, links: &[EntityLink]) -> Result<Vec<ConceptHit>, StoreError> {
        let hit = |link: &EntityLink| {
            let name = self.get(link.concept)?;
            Ok(name.map(|name| ConceptHit {
                name,
                score: link.confidence,
                how: match link.match_kind {
                    MatchKind::Part => ConceptSource::Capitalised,
                    MatchKind::Near => ConceptSource::Vector,
                    _ => ConceptSource::Dictionary,
                },
            }))
        };
        links
            .iter()
            .map(hit)
            .filter_map(Result::transpose)
            .collect()
    }

    /// Relations among the reached concepts, nearest first.
    pub(super) fn relations(
        &mut self,
        graph: GraphSnapshot<'_, Section>,
        reached: &[ReachedConcept],
    ) -> Result<Vec<RelationHit>, StoreError> {
        let concepts: Vec<ConceptId> = reached.iter().map(|reached| reached.concept).collect();
        let found = graph.relations_among(&concepts, RELATIONS_MAX);
        let named = found.into_iter().map(|(source, kind, target)| {
            let ends = self.get(source)?.zip(self.get(target)?);
            Ok(ends.map(|(source, target)| RelationHit {
                source,
                kind: kind.into(),
                target,
            }))
        });
        named.filter_map(Result::transpose).collect()
    }
}

/// Rows of chunks, each document read once.
pub(super) struct RowFetcher<'v> {
    view: &'v ReadView,
    counter: TokenCounter<'v>,
    rows: &'v dyn Rows,
    documents: HashMap<DocumentId, Arc<DocumentRecord>, FixedState>,
    /// Whole documents; `None` for one over the budget.
    full_texts: HashMap<DocumentId, Option<Arc<str>>, FixedState>,
}

/// A chunk with its document, whole.
pub(super) struct FetchedChunk {
    pub(super) document: DocumentRecord,
    pub(super) chunk: ChunkRecord,
}

impl<'v> RowFetcher<'v> {
    /// `counter`: of the tokens of whole documents.
    pub(super) fn new(view: &'v ReadView, counter: TokenCounter<'v>) -> RowFetcher<'v> {
        RowFetcher {
            view,
            counter,
            rows: view.snapshot().rows(),
            documents: HashMap::default(),
            full_texts: HashMap::default(),
        }
    }

    /// A chunk with all of its fields, and its document's.
    pub(super) fn get(&self, ordinal: Ordinal) -> Result<FetchedChunk, StoreError> {
        let place = self.locate(ordinal)?;
        let chunk = self.rows.chunk(place.document, place.index)?;
        let key = || keys::document_entry(place.document, place.index);
        let chunk = chunk.ok_or_else(|| missing(Table::Chunks, &key()))?;
        let document = self.rows.document(place.document)?;
        let key = || keys::document(place.document);
        let document = document.ok_or_else(|| missing(Table::Documents, &key()))?;
        Ok(FetchedChunk { document, chunk })
    }

    fn locate(&self, ordinal: Ordinal) -> Result<ChunkPosition, StoreError> {
        let place = self.view.snapshot().position(ordinal);
        place.ok_or_else(|| {
            StoreError::Invalid(format!("ordinal {} is not of this view", ordinal.0))
        })
    }

    fn document(&mut self, id: DocumentId) -> Result<&DocumentRecord, StoreError> {
        match self.documents.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => {
                let rows = self.rows;
                let read = || {
                    let record = rows.document_metadata(id)?;
                    record.ok_or_else(|| missing(Table::Documents, &keys::document(id)))
                };
                let len = |record: &DocumentRecord| record.key.len();
                Ok(free.insert(self.view.document_cache.get_or_read(id, read, len)?))
            }
        }
    }

    /// A chunk that a view promises.
    fn chunk(&self, document: DocumentId, index: u32) -> Result<Arc<ChunkRecord>, StoreError> {
        let read = || {
            let chunk = self.rows.chunk_metadata(document, index)?;
            chunk.ok_or_else(|| missing(Table::Chunks, &keys::document_entry(document, index)))
        };
        let len = |chunk: &ChunkRecord| chunk.text.len();
        self.view
            .chunk_cache
            .get_or_read((document, index), read, len)
    }

    /// The hit for a fused chunk, with its parent or document.
    pub(super) fn hit(
        &mut self,
        found: &Fused,
        climb: Climb,
        budget: usize,
        path: Vec<String>,
    ) -> Result<FetchedHit, StoreError> {
        let place = self.locate(found.ordinal)?;
        let chunk = self.chunk(place.document, place.index)?;
        let mode = self.document(place.document)?.retrieval_mode;
        let whole = match (climb, mode) {
            (Climb::FullDoc, _) | (Climb::Document, RetrievalMode::FullDoc) => {
                self.full_document(place.document, budget)?
            }
            _ => None,
        };
        let parent = match (whole, climb) {
            (_, Climb::None) => None,
            (Some(whole), _) => Some(whole),
            (None, _) => self.parent(place.document, chunk.parent)?,
        };
        let document = Arc::clone(&self.documents[&place.document]);
        let key = document_key(&document);
        let parent = parent.map(|parent| (parent.hit(&key), parent));
        let (parent, source) = match parent {
            Some((hit, source)) => (Some(hit), Some(source)),
            None => (None, None),
        };
        let hit = Hit {
            rank: 0,
            score: found.score,
            chunk: format_chunk_key(&key, chunk.suffix),
            citation: cite_as(&document, &key, &chunk),
            document: key,
            level: chunk.level,
            chunk_type: chunk.chunk_type,
            text: chunk.text.clone(),
            highlights: None,
            parent,
            methods: arm_scores(found, path),
        };
        Ok(FetchedHit {
            hit,
            document,
            parent: source,
        })
    }

    fn parent(
        &mut self,
        document: DocumentId,
        parent: Option<u32>,
    ) -> Result<Option<HitParent>, StoreError> {
        let read = |index| Ok(HitParent::Chunk(self.chunk(document, index)?));
        parent.map(read).transpose()
    }

    /// The whole document as the parent of a hit, where it costs no more tokens than `budget`, which is the
    /// same in every call; its key is the document's.
    fn full_document(
        &mut self,
        id: DocumentId,
        budget: usize,
    ) -> Result<Option<HitParent>, StoreError> {
        if !self.full_texts.contains_key(&id) {
            let text = match self.rows.text(id)? {
                Some(text) => text,
                None => {
                    let original = self.rows.original(id)?;
                    let original =
                        original.ok_or_else(|| missing(Table::Originals, &keys::document(id)))?;
                    String::from_utf8_lossy(&original).into_owned()
                }
            };
            let fits = (self.counter)(&text) <= budget;
            self.full_texts.insert(id, fits.then(|| Arc::from(text)));
        }
        Ok(self.full_texts[&id].clone().map(HitParent::Document))
    }
}

/// The parent of a hit.
enum HitParent {
    Chunk(Arc<ChunkRecord>),
    /// The document's text.
    Document(Arc<str>),
}

impl HitParent {
    /// As an answer has it; `key`: the document's.
    fn hit(&self, key: &str) -> ParentHit {
        match self {
            HitParent::Chunk(chunk) => ParentHit {
                chunk: format_chunk_key(key, chunk.suffix),
                text: chunk.text.clone(),
            },
            HitParent::Document(text) => ParentHit {
                chunk: key.to_owned(),
                text: text.to_string(),
            },
        }
    }

    fn chars(&self) -> (u64, u64) {
        match self {
            HitParent::Chunk(chunk) => chunk.location.chars,
            HitParent::Document(text) => (0, text.chars().count() as u64),
        }
    }

    fn label(&self, document: &DocumentRecord) -> String {
        match self {
            HitParent::Chunk(chunk) => label(document, chunk),
            HitParent::Document(_) => display_name(document).to_owned(),
        }
    }
}

/// A hit with what its context needs beside it.
pub(super) struct FetchedHit {
    pub(super) hit: Hit,
    document: Arc<DocumentRecord>,
    parent: Option<HitParent>,
}

impl FetchedHit {
    /// What its words were stemmed by.
    pub(super) fn language(&self) -> Language {
        Language::from_declared(self.document.language.as_deref())
    }
}

/// The hits with their sections, as one text of at most `budget` tokens.
pub(super) fn context(cited: &[FetchedHit], budget: usize, counter: TokenCounter<'_>) -> Context {
    let label = |of: &FetchedHit| {
        let parent = of.parent.as_ref();
        parent.map(|parent| parent.label(&of.document))
    };
    let labels: Vec<Option<String>> = cited.iter().map(label).collect();
    let passages = cited.iter().zip(&labels);
    let passages: Vec<Passage<'_>> = passages
        .map(|(of, label)| passage(of, label.as_deref()))
        .collect();
    assemble(&passages, budget, counter)
}

/// `label`: of the hit's parent.
fn passage<'c>(cited: &'c FetchedHit, label: Option<&'c str>) -> Passage<'c> {
    let hit = &cited.hit;
    let parent = hit.parent.as_ref().zip(cited.parent.as_ref());
    Passage {
        rank: hit.rank,
        document: &hit.document,
        title: display_name(&cited.document),
        own: TextSpan {
            chunk: &hit.chunk,
            chars: hit.citation.chars,
            text: &hit.text,
            label: &hit.citation.label,
        },
        section: parent.zip(label).map(|((parent, source), label)| TextSpan {
            chunk: &parent.chunk,
            chars: source.chars(),
            text: &parent.text,
            label,
        }),
    }
}

/// The path to the first reached concept that a chunk mentions; empty when it mentions none.
pub(super) fn path_to<'r>(
    graph: GraphSnapshot<'_, Section>,
    reached: &'r [ReachedConcept],
    chunk: Ordinal,
) -> &'r [ConceptId] {
    let mentioned: Vec<ConceptId> = graph.concepts(chunk).map(|(concept, _)| concept).collect();
    let first = reached
        .iter()
        .find(|reached| mentioned.binary_search(&reached.concept).is_ok());
    first.map_or(&[], |reached| &reached.path)
}

/// The rank and score of `fused` in each arm that found it; `path`: from the question's concepts to the chunk.
fn arm_scores(fused: &Fused, path: Vec<String>) -> ArmScores {
    let method = |ArmHit { rank, score }| Method { rank, score };
    let graph = fused
        .graph
        .map(|ArmHit { rank, score }| GraphArmScore { rank, score, path });
    ArmScores {
        text: fused.text.map(method),
        vector: fused.vector.map(method),
        graph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_has_the_scores_of_the_arms_that_found_it() {
        let (rank, score) = (1, 0.5);
        let found = ArmHit { rank, score };
        let fused = Fused {
            ordinal: Ordinal(0),
            score,
            text: Some(found),
            vector: None,
            graph: Some(found),
        };
        let scores = arm_scores(&fused, vec!["spin".into()]);
        assert_eq!(scores.text, Some(Method { rank, score }));
        assert_eq!(scores.vector, None);
        assert_eq!(scores.graph.unwrap().path, ["spin"]);
    }
}
