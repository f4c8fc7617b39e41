//! LociDB under the guard: one store, searched as a whole and index by index.
//!
//! Start reading at [`Loci::build`].

use anyhow::{Context, Result};
use loci_index::analysis::{Analyzer, TermList};
use loci_index::text::{self, TextScratch, TextSearch};
use loci_index::vector::{self, VectorQuery, VectorScratch};
use loci_storage::ConceptId;
use loci_storage::records::{ChunkRecord, DocumentRecord, Level};
use loci_storage::segment::Layer;
use locidb::graph::{HopOptions, chunks_mentioning, two_hop};
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::{
    Climb, Database, Effort, NewChunk, NewConcept, NewDocument, NewRelation, NoProgress, Rerank,
    SearchRequest, Seeds, Strategy, Walk,
};

use crate::data::{CHUNKS_PER_DOCUMENT, Data, Question, concept_name};
use crate::{EF, K, LEG};

/// A store of the data.
pub(crate) struct Loci {
    database: Database,
    /// The id of each concept of the data.
    concepts: Vec<Option<ConceptId>>,
    analyzer: Analyzer,
    terms: TermList,
    text: TextScratch,
    vector: VectorScratch,
    _folder: tempfile::TempDir,
}

impl Loci {
    /// Stores the data durably, and ranks its concepts.
    pub(crate) fn build(data: &Data) -> Result<Loci> {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("store"))?;
        database.use_provided_vectors("guard", crate::data::DIM)?;
        let mut documents = documents(data);
        while !documents.is_empty() {
            let batch = documents.split_off(documents.len().saturating_sub(500));
            database.write(move |tx| {
                let mut batch = batch.into_iter();
                batch.try_for_each(|document| tx.put_document(document).map(drop))
            })?;
        }
        database.finish(&NoProgress)?;
        database.wait_for_merges()?;
        let view = database.snapshot();
        let rows = view.snapshot().rows();
        let concepts = (0..data.concept_count as u32)
            .map(|concept| rows.concept_id(&concept_name(concept)))
            .collect::<Result<_, _>>()?;
        Ok(Loci {
            database,
            concepts,
            analyzer: Analyzer::new(),
            terms: TermList::default(),
            text: TextScratch::new(),
            vector: VectorScratch::default(),
            _folder: folder,
        })
    }

    /// The request that `loci search` makes by default.
    pub(crate) fn default_request(&self, question: &Question) -> SearchRequest {
        SearchRequest {
            vector: Some(question.vector.clone()),
            ..SearchRequest::new(&question.text[..])
        }
    }

    /// The request of `loci bench --task hybrid`.
    pub(crate) fn hybrid_request(&self, question: &Question) -> SearchRequest {
        SearchRequest {
            vector: Some(question.vector.clone()),
            strategy: Strategy::Hybrid,
            k: K,
            candidates: Some(LEG),
            fusion: Some(Fusion::Rrf(RankWeights::default())),
            seeds: Seeds {
                question: false,
                concepts: self.ids(&question.concepts),
                hits: 0,
            },
            walk: Walk::Hops,
            hops: Some(2),
            neighbours: Some(LEG),
            climb: Climb::Parent,
            concepts: false,
            effort: Effort::Ef(EF),
            rerank: Rerank::NONE,
            ..SearchRequest::new(&question.text[..])
        }
    }

    pub(crate) fn search(&self, request: &SearchRequest) -> Result<usize> {
        Ok(self.database.search(request)?.hits.len())
    }

    pub(crate) fn text(&mut self, question: &Question) -> Result<usize> {
        let view = self.database.snapshot();
        self.analyzer
            .fill_term_list(&question.text, &mut self.terms);
        let terms: Vec<&str> = self.terms.iter().collect();
        let segments = view.read_view().text(Layer::Leaves);
        let search = TextSearch::new(LEG);
        Ok(text::search(&segments, &terms, &search, &mut self.text)?.len())
    }

    pub(crate) fn vector(&mut self, question: &Question) -> Result<usize> {
        let view = self.database.snapshot();
        let query = VectorQuery {
            effort: Effort::Ef(EF),
            ..VectorQuery::new(&question.vector, LEG)
        };
        let segments = view.read_view().vectors(Layer::Leaves);
        Ok(vector::search(&segments, &query, &mut self.vector)?.len())
    }

    pub(crate) fn graph(&mut self, question: &Question) -> Result<usize> {
        let view = self.database.snapshot();
        let segments = view.read_view().graph_segments();
        let graph = view.read_view().graph(&segments);
        let options = HopOptions {
            limit: LEG,
            with_paths: false,
            ..HopOptions::default()
        };
        let reached = two_hop(graph, &self.ids(&question.concepts), options).reached;
        Ok(chunks_mentioning(graph, &reached, None, LEG).len())
    }

    fn ids(&self, concepts: &[u32]) -> Vec<ConceptId> {
        let known = concepts
            .iter()
            .map(|&concept| self.concepts[concept as usize]);
        known.flatten().collect()
    }

    /// Stores one small document durably.
    pub(crate) fn commit(&self, number: u64) -> Result<()> {
        let text = format!("A small document with number {number}.");
        let document = NewDocument {
            record: DocumentRecord {
                key: format!("small-{number}"),
                ..DocumentRecord::default()
            },
            original: text.clone().into_bytes(),
            chunks: vec![NewChunk {
                record: passage(text, None),
                vector: None,
            }],
            ..NewDocument::default()
        };
        let stored = self.database.write(move |tx| tx.put_document(document));
        stored.map(drop).context("storing a small document")
    }
}

fn documents(data: &Data) -> Vec<NewDocument> {
    let mut documents: Vec<NewDocument> = (0..)
        .zip(data.chunks.chunks(CHUNKS_PER_DOCUMENT))
        .map(|(number, chunks)| document(number, chunks))
        .collect();
    for (number, &(source, target)) in data.relations.iter().enumerate() {
        let document = number % documents.len();
        documents[document].relations.push(NewRelation {
            source: concept_name(source),
            target: concept_name(target),
            kind: "RELATED_TO".into(),
            weight: 1.0,
            chunks: vec![1],
            ..NewRelation::default()
        });
    }
    documents
}

fn document(number: usize, chunks: &[crate::data::Chunk]) -> NewDocument {
    let texts: Vec<&str> = chunks.iter().map(|chunk| &chunk.text[..]).collect();
    let whole = texts.join("\n");
    let mut document = NewDocument {
        record: DocumentRecord {
            key: format!("document-{number}"),
            ..DocumentRecord::default()
        },
        original: whole.clone().into_bytes(),
        chunks: vec![NewChunk {
            record: ChunkRecord {
                level: Level::Section,
                ..passage(whole, None)
            },
            vector: None,
        }],
        ..NewDocument::default()
    };
    for (place, chunk) in (1..).zip(chunks) {
        document.chunks.push(NewChunk {
            record: passage(chunk.text.clone(), Some(0)),
            vector: Some(chunk.vector.clone()),
        });
        for &concept in &chunk.concepts {
            let name = concept_name(concept);
            match document
                .concepts
                .iter_mut()
                .find(|known| known.name == name)
            {
                Some(known) => known.mentions.push((place, 1)),
                None => document.concepts.push(NewConcept {
                    name,
                    mentions: vec![(place, 1)],
                    ..NewConcept::default()
                }),
            }
        }
    }
    document
}

fn passage(text: String, parent: Option<u32>) -> ChunkRecord {
    ChunkRecord {
        text,
        parent,
        ..ChunkRecord::default()
    }
}
