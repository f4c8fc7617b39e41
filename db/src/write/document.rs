//! Storing a document whole: its rows, language, offsets of chunks, contributions and citations.
//!
//! Start reading at [`put`].

use loci_index::analysis::language_code;
use loci_storage::records::{ChunkRecord, FileType};
use loci_storage::staging::DocumentRows;
use loci_storage::{DocumentId, DocumentKey, Staging};
use loci_types::document::NewDocument;

use crate::clock::now_ms;
use crate::error::Error;
use crate::settings;
use crate::statements::citations::{self, DocumentCitations};
use crate::statements::contributions::{self, DocumentContributions};
use crate::write::{chunk_offsets, origins};

/// Stores a document in the place of the one with its key; returns whether there was one, too.
pub(crate) fn put(
    staging: &mut Staging<'_>,
    document: NewDocument,
) -> Result<(DocumentId, bool), Error> {
    let key = document_key(&document)?;
    let count = document.chunks.len() as u32;
    let after = DocumentContributions::new(staging, document.concepts, document.relations, count)?;
    let (references, citations) = (document.references, document.citations);
    let cited = DocumentCitations::new(references, citations, document.claims, count)?;
    let (before, record_before) = match staging.rows().document_id(&key)? {
        Some(id) => {
            let rows = staging.rows();
            (DocumentContributions::load(rows, id)?, rows.document(id)?)
        }
        None => (DocumentContributions::default(), None),
    };
    let (mut chunks, vectors): (Vec<_>, _) = document
        .chunks
        .into_iter()
        .map(|chunk| (chunk.record, chunk.vector))
        .unzip();
    // A caller that names no citations may have counted them itself.
    if cited.has_citations() {
        count_citations(&mut chunks, &cited);
    }
    let mut rows = DocumentRows {
        record: document.record,
        original: document.original,
        text: document.text,
        chunks,
        vectors,
        assets: document.assets,
    };
    if rows.record.ingested_at_ms == 0 {
        rows.record.ingested_at_ms = now_ms();
    }
    set_language(staging, &mut rows)?;
    let original = || std::str::from_utf8(&rows.original).ok();
    if let Some(text) = rows.text.as_deref().or_else(original) {
        chunk_offsets::locate(text, &mut rows.chunks);
    }
    let id = staging.put_document(rows)?;
    if record_before.is_some() {
        origins::set(staging, id, None)?;
    }
    contributions::replace(staging, id, &before, &after)?;
    let record = staging.rows().document(id)?;
    citations::update_document_identities(staging, id, record_before.as_ref(), record.as_ref())?;
    citations::replace(staging, id, cited)?;
    Ok((id, record_before.is_some()))
}

/// Sets the number of citations of each chunk, with its descendants.
pub(crate) fn count_citations(chunks: &mut [ChunkRecord], cited: &DocumentCitations) {
    let parents: Vec<Option<u32>> = chunks.iter().map(|chunk| chunk.parent).collect();
    for (chunk, count) in chunks.iter_mut().zip(cited.citation_counts(&parents)) {
        chunk.citation_count = count;
    }
}

/// Sets the language of a document, as ISO 639-3: the declared one, or else that of its text. A declared one that is
/// unknown goes to the metadata where the text has one.
fn set_language(staging: &Staging<'_>, rows: &mut DocumentRows) -> Result<(), Error> {
    let declared = rows.record.language.take();
    if let Some(code) = declared.as_deref().and_then(language_code) {
        rows.record.language = Some(code.into());
        return Ok(());
    }
    if rows.record.file_type != FileType::Code {
        rows.record.language = settings::detect_language(staging.rows(), language_sample(rows))?;
    }
    match (&rows.record.language, declared) {
        (None, declared) => rows.record.language = declared,
        (Some(_), Some(declared)) => {
            let metadata = &mut rows.record.metadata;
            if let Err(at) = metadata.binary_search_by(|(key, _)| key[..].cmp("language")) {
                metadata.insert(at, ("language".into(), declared));
            }
        }
        (Some(_), None) => {}
    }
    Ok(())
}

/// The text of a document, or its longest chunk.
fn language_sample(rows: &DocumentRows) -> &str {
    let original = || std::str::from_utf8(&rows.original).ok();
    let text = rows.text.as_deref().or_else(original);
    let text = text.filter(|text| !text.is_empty()).or_else(|| {
        let texts = rows.chunks.iter().map(|chunk| &chunk.text[..]);
        texts.max_by_key(|text| text.len())
    });
    text.unwrap_or_default()
}

/// The key of a document.
fn document_key(document: &NewDocument) -> Result<DocumentKey, Error> {
    let record = &document.record;
    Ok(DocumentKey::new(
        &record.user[..],
        &record.collection[..],
        &record.key[..],
    )?)
}
