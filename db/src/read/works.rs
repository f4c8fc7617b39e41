//! The citation network of a snapshot: who cites whom.
//!
//! Which chunks cite which works is read from the segments, their details from rows.
//!
//! Start reading at [`DatabaseSnapshot::citations_of`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use loci_graph::{CitationEdge, CitationsSnapshot};
use loci_query::cite::{chunk_key, cite};
use loci_storage::records::{CitationRecord, ClaimRecord, Intent, WorkRecord};
use loci_storage::rows::{decode, missing, read};
use loci_storage::snapshot::ChunkPosition;
use loci_storage::{
    ChunkKey, DocumentId, DocumentKey, Ordinal, Rows, StoreError, Table, WorkId, keys,
};
use serde::Serialize;

use crate::error::Error;
use crate::state::snapshot::DatabaseSnapshot;
use crate::statements::citations::{identities_from, works_with_identity};

/// A cited work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Its number in the store.
    pub id: u32,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Authors, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// Year of publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// Journal, conference or publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<String>,
    /// Digital object identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// As the first reference to it is written.
    pub text: String,
    /// The key of its document; `None` for a stub, whose document is not stored.
    pub document: Option<String>,
    /// References to it.
    pub references: u64,
}

/// A place where a chunk cites a work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkCitation {
    /// The citing chunk.
    pub chunk: String,
    /// Its location, for a reader.
    pub label: String,
    /// The citation as it is written.
    pub text: String,
    /// The words around it.
    pub context: String,
    /// What it is for.
    pub intent: Intent,
    /// Whether the chunk makes a claim about the work.
    pub claim: bool,
    /// The confidence that this work is meant, in 0..=1.
    pub confidence: f32,
    /// Milliseconds since 1970 when it was stored first.
    pub created_at_ms: u64,
    /// The work.
    pub work: Work,
}

/// A claim of one chunk about another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The chunk that claims it.
    pub chunk: String,
    /// The chunk that it is about.
    pub about: String,
    /// Whether that is stored.
    pub is_stored: bool,
    /// What the claim is for.
    pub intent: Intent,
    /// The confidence of that, in 0..=1.
    pub confidence: f32,
    /// Milliseconds since 1970 when it was stored first.
    pub created_at_ms: u64,
}

/// Who cites whom in a snapshot. Its rows may be wrapped, to count how many are read.
#[derive(Clone, Copy)]
pub struct CitationNetwork<'v> {
    view: &'v DatabaseSnapshot,
    rows: &'v dyn Rows,
}

impl DatabaseSnapshot {
    /// Who cites whom. `rows`: those of this snapshot, or a wrapper of them.
    pub fn citation_network<'v>(&'v self, rows: &'v dyn Rows) -> CitationNetwork<'v> {
        CitationNetwork { view: self, rows }
    }

    /// What a document cites, in reading order; `None` when it is not stored.
    ///
    /// Costs a row for each citation, and one for each work and document.
    pub fn citations_of(&self, key: &DocumentKey) -> Result<Option<Vec<WorkCitation>>, Error> {
        self.citation_network(self.rows()).citations_of(key)
    }

    /// The citations of a work, by document and place.
    pub fn cited_by(&self, work: u32) -> Result<Vec<WorkCitation>, Error> {
        self.citation_network(self.rows()).cited_by(work)
    }

    /// The works that a document is: usually none or one.
    pub fn works_of(&self, key: &DocumentKey) -> Result<Vec<Work>, Error> {
        let Some(id) = self.rows().document_id(key)? else {
            return Ok(Vec::new());
        };
        let works = self.rows().works_of(id)?.into_iter();
        let works =
            works.filter_map(|work| self.citation_network(self.rows()).work(work).transpose());
        Ok(works.collect::<Result<_, _>>()?)
    }

    /// The cited work with this document key, DOI or title.
    pub fn find_work(&self, identifier: &str) -> Result<Option<Work>, Error> {
        let doi = identifier.contains("10.").then_some(identifier);
        for identity in identities_from(Some(identifier), doi, Some(identifier)) {
            if let Some(&id) = works_with_identity(self.rows(), &identity)?.first() {
                return Ok(self.citation_network(self.rows()).work(id)?);
            }
        }
        let works = match identifier.parse() {
            Ok(key) => self.works_of(&key)?,
            Err(_) => Vec::new(),
        };
        Ok(works.into_iter().next())
    }

    /// The cited works that `keep` accepts, by number: those of an author or a year, stubs, or all.
    ///
    /// Costs a pass over all works.
    pub fn works(&self, keep: impl Fn(&Work) -> bool) -> Result<Vec<Work>, Error> {
        self.citation_network(self.rows()).works(keep)
    }

    /// The works that are cited by the documents that cite this one, most often first, each with how many do.
    pub fn co_cited(&self, work: u32) -> Result<Vec<(Work, usize)>, Error> {
        self.citation_network(self.rows()).co_cited(work)
    }

    /// The documents that cite the same works as this one (bibliographic coupling), most of them first, each with
    /// how many; `None` when it is not stored.
    pub fn coupled_documents(
        &self,
        key: &DocumentKey,
    ) -> Result<Option<Vec<(String, usize)>>, Error> {
        self.citation_network(self.rows()).coupled_documents(key)
    }

    /// What a document's chunks claim about chunks; `None` when it is not stored.
    pub fn claims_of(&self, key: &DocumentKey) -> Result<Option<Vec<Claim>>, Error> {
        let Some(id) = self.rows().document_id(key)? else {
            return Ok(None);
        };
        let claims = self.rows().claims(id)?.into_iter();
        let resolved = claims.filter_map(|claim| self.claim(id, claim).transpose());
        Ok(Some(resolved.collect::<Result<_, _>>()?))
    }

    /// What is claimed about a chunk.
    pub fn claims_on(&self, chunk: &ChunkKey) -> Result<Vec<Claim>, Error> {
        let mut found = Vec::new();
        for (document, number) in self.rows().claims_on(&chunk.to_string())? {
            let key = keys::document_entry(document, number);
            let record: Option<ClaimRecord> = read(self.rows(), Table::Claims, &key)?;
            if let Some(record) = record {
                found.extend(self.claim(document, record)?);
            }
        }
        Ok(found)
    }

    fn claim(&self, document: DocumentId, claim: ClaimRecord) -> Result<Option<Claim>, StoreError> {
        let rows = self.rows();
        let (of, chunk) = (rows.document(document)?, rows.chunk(document, claim.chunk)?);
        let Some((of, chunk)) = of.zip(chunk) else {
            return Ok(None);
        };
        let is_stored = match claim.about.parse::<ChunkKey>() {
            Ok(about) => rows.find_chunk(&about)?.is_some(),
            Err(_) => false,
        };
        Ok(Some(Claim {
            chunk: chunk_key(&of, chunk.suffix).to_string(),
            about: claim.about,
            is_stored,
            intent: claim.intent,
            confidence: claim.confidence,
            created_at_ms: claim.created_at_ms,
        }))
    }
}

impl CitationNetwork<'_> {
    /// As [`DatabaseSnapshot::citations_of`].
    pub fn citations_of(&self, key: &DocumentKey) -> Result<Option<Vec<WorkCitation>>, Error> {
        let Some(id) = self.rows.document_id(key)? else {
            return Ok(None);
        };
        Ok(Some(self.load_citations(self.edges_of(id))?))
    }

    /// As [`DatabaseSnapshot::cited_by`].
    pub fn cited_by(&self, work: u32) -> Result<Vec<WorkCitation>, Error> {
        self.load_citations(self.citing(WorkId(work)))
    }

    /// As [`DatabaseSnapshot::works`].
    pub fn works(&self, keep: impl Fn(&Work) -> bool) -> Result<Vec<Work>, Error> {
        let mut records: Vec<(WorkId, WorkRecord)> = Vec::new();
        self.rows.scan_all(Table::Works, &mut |key, payload| {
            if let Some(id) = keys::u32_at(key, 0) {
                records.push((WorkId(id), decode(Table::Works, key, payload)?));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut works = Vec::new();
        for (id, record) in records {
            works.push(self.build_work(id, record)?);
        }
        works.retain(keep);
        Ok(works)
    }

    /// As [`DatabaseSnapshot::co_cited`].
    pub fn co_cited(&self, work: u32) -> Result<Vec<(Work, usize)>, Error> {
        let mut counts: BTreeMap<WorkId, usize> = BTreeMap::new();
        for document in self.citing_documents(WorkId(work)) {
            let cited = self.cited_works(document).into_iter();
            for other in cited.filter(|other| other.0 != work) {
                *counts.entry(other).or_default() += 1;
            }
        }
        let mut found = Vec::new();
        for (other, count) in by_count(counts) {
            found.extend(self.work(other)?.map(|other| (other, count)));
        }
        Ok(found)
    }

    /// As [`DatabaseSnapshot::coupled_documents`].
    pub fn coupled_documents(
        &self,
        key: &DocumentKey,
    ) -> Result<Option<Vec<(String, usize)>>, Error> {
        let Some(id) = self.rows.document_id(key)? else {
            return Ok(None);
        };
        let mut counts: BTreeMap<DocumentId, usize> = BTreeMap::new();
        for work in self.cited_works(id) {
            let citing = self.citing_documents(work).into_iter();
            for other in citing.filter(|&other| other != id) {
                *counts.entry(other).or_default() += 1;
            }
        }
        let mut found = Vec::new();
        for (other, count) in by_count(counts) {
            found.extend(self.key_of(other)?.map(|key| (key, count)));
        }
        Ok(Some(found))
    }

    fn edges_of(&self, document: DocumentId) -> Vec<(Ordinal, CitationEdge)> {
        let segments = self.view.read_view.citations();
        let view = CitationsSnapshot {
            segments: &segments,
        };
        let snapshot = self.view.snapshot();
        let Some(first) = snapshot.ordinal(ChunkPosition { document, index: 0 }) else {
            return Vec::new();
        };
        let run = snapshot
            .locate(first)
            .and_then(|(segment, _)| segment.live_run(document));
        let count = run.map_or(0, |run| run.count);
        view.in_chunks(first..Ordinal(first.0 + count))
    }

    fn citing(&self, work: WorkId) -> Vec<(Ordinal, CitationEdge)> {
        let segments = self.view.read_view.citations();
        let view = CitationsSnapshot {
            segments: &segments,
        };
        view.citing(work)
    }

    fn cited_works(&self, document: DocumentId) -> BTreeSet<WorkId> {
        let edges = self.edges_of(document).into_iter();
        edges.map(|(_, cites)| cites.work).collect()
    }

    fn citing_documents(&self, work: WorkId) -> BTreeSet<DocumentId> {
        let snapshot = self.view.snapshot();
        let edges = self.citing(work).into_iter();
        let places = edges.filter_map(|(chunk, _)| snapshot.position(chunk));
        places.map(|place| place.document).collect()
    }

    fn load_citations(
        &self,
        edges: Vec<(Ordinal, CitationEdge)>,
    ) -> Result<Vec<WorkCitation>, Error> {
        let mut citations = Vec::with_capacity(edges.len());
        for (ordinal, cites) in edges {
            let Some(place) = self.view.snapshot().position(ordinal) else {
                continue;
            };
            let rows = self.rows;
            let key = keys::document_entry(place.document, cites.number);
            let row: Option<CitationRecord> = read(rows, Table::Citations, &key)?;
            let row = row.ok_or_else(|| missing(Table::Citations, &key))?;
            let key = keys::document(place.document);
            let document = rows.document(place.document)?;
            let document = document.ok_or_else(|| missing(Table::Documents, &key))?;
            let key = keys::document_entry(place.document, place.index);
            let chunk = rows.chunk(place.document, place.index)?;
            let chunk = chunk.ok_or_else(|| missing(Table::Chunks, &key))?;
            let work = self.work(cites.work)?;
            let work = work.ok_or_else(|| missing(Table::Works, &keys::work(cites.work)))?;
            citations.push(WorkCitation {
                chunk: chunk_key(&document, chunk.suffix).to_string(),
                label: cite(&document, &chunk).label,
                text: row.text,
                context: row.context,
                intent: row.intent,
                claim: row.claim,
                confidence: row.confidence,
                created_at_ms: row.created_at_ms,
                work,
            });
        }
        Ok(citations)
    }

    fn work(&self, id: WorkId) -> Result<Option<Work>, StoreError> {
        let record = self.rows.work(id)?;
        record.map(|record| self.build_work(id, record)).transpose()
    }

    /// A work with names. The fields of its own document take precedence over those of references.
    fn build_work(&self, id: WorkId, record: WorkRecord) -> Result<Work, StoreError> {
        let document = record.document.map(DocumentId);
        let stored = document
            .map(|id| self.rows.document(id))
            .transpose()?
            .flatten();
        let mut work = Work {
            id: id.0,
            title: record.title,
            authors: record.authors,
            year: record.year,
            venue: record.venue,
            doi: record.doi,
            text: record.text,
            document: document.map(|id| self.key_of(id)).transpose()?.flatten(),
            references: record.reference_count,
        };
        if let Some(stored) = stored {
            work.title = stored.title.or(work.title);
            work.year = stored.year.or(work.year);
            work.venue = stored.venue.or(work.venue);
            if !stored.authors.is_empty() {
                work.authors = stored.authors;
            }
        }
        Ok(work)
    }

    fn key_of(&self, id: DocumentId) -> Result<Option<String>, StoreError> {
        let record = self.rows.document(id)?;
        let key = record.map(|of| DocumentKey::new(of.user, of.collection, of.key));
        Ok(key.transpose()?.map(|key| key.to_string()))
    }
}

/// Most first, ties by id.
fn by_count<K: Ord + Copy>(counts: BTreeMap<K, usize>) -> Vec<(K, usize)> {
    let mut counts: Vec<(K, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts
}
