//! How long a folder takes from its files to the first answer, and text to become vectors.

use std::ops::ControlFlow;
use std::time::Instant;

use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::storage::rows::decode;
use locidb::storage::staging::indexed_text;
use locidb::storage::{DocumentId, Rows, StoreError, Table, keys};
use locidb::{Database, DatabaseSnapshot, Error, SearchRequest};
use serde::Serialize;

use super::round;
use crate::BenchError;
use crate::folder::Folder;

/// Chunks that are embedded to measure the time.
const EMBEDDED: usize = 1000;

/// Times. What was not measured is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Documents stored.
    pub documents: u64,
    /// Chunks stored.
    pub chunks: u64,
    /// Seconds from opening the first file to the first answer, everything durable and fitted by then; where the
    /// folder was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_to_queryable_s: Option<f64>,
    /// Milliseconds of this for each document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_document_ms: Option<f64>,
    /// Seconds to embed 1,000 chunks, on one thread; where the store has an embedder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embed_1000_chunks_s: Option<f64>,
}

/// Asks the first question, with the folder's vector for it where these are `given_vectors`, and tells how long it took since `started`, the moment before the files were read;
/// `None` where the store had them already.
pub fn timing(
    database: &Database,
    folder: &Folder,
    given_vectors: bool,
    started: Option<Instant>,
) -> Result<Timing, BenchError> {
    let stats = database.stats();
    let mut queryable_s = None;
    if let Some((started, question)) = started.zip(folder.queries.first()) {
        let vectors = folder.query_vectors.as_ref().filter(|_| given_vectors);
        database.search(&SearchRequest {
            vector: vectors.map(|vectors| vectors.get(0).to_vec()),
            ..SearchRequest::new(&question.text[..])
        })?;
        queryable_s = Some(started.elapsed().as_secs_f64());
    }
    let per_document = queryable_s.map(|s| s * 1e3 / stats.documents.max(1) as f64);
    Ok(Timing {
        documents: stats.documents,
        chunks: stats.chunks,
        file_to_queryable_s: queryable_s.map(round),
        per_document_ms: per_document.map(round),
        embed_1000_chunks_s: embed_s(&database.snapshot())?.map(round),
    })
}

/// Seconds to embed 1,000 chunks of the store, which are used repeatedly if it has fewer.
fn embed_s(view: &DatabaseSnapshot) -> Result<Option<f64>, BenchError> {
    let texts = chunk_texts(view.snapshot().rows()).map_err(Error::from)?;
    let started = Instant::now();
    let mut embedded = 0;
    for text in texts.iter().cycle().take(EMBEDDED) {
        embedded += usize::from(view.embed(text)?.is_some());
    }
    Ok((embedded > 0).then(|| started.elapsed().as_secs_f64()))
}

/// What is embedded of the first chunks.
fn chunk_texts(rows: &dyn Rows) -> Result<Vec<String>, StoreError> {
    let mut texts = Vec::new();
    let mut document: Option<(u64, DocumentRecord)> = None;
    rows.scan_all(Table::Chunks, &mut |key, payload| {
        let of = keys::u64_at(key, 0).unwrap_or_default();
        if document.as_ref().is_none_or(|(known, _)| *known != of) {
            document = rows.document(DocumentId(of))?.map(|record| (of, record));
        }
        let chunk: ChunkRecord = decode(Table::Chunks, key, payload)?;
        let text = document.as_ref();
        texts.extend(text.map(|(_, document)| indexed_text(document, &chunk)));
        Ok(if texts.len() < EMBEDDED {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    Ok(texts)
}
