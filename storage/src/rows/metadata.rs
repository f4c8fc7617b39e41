//! The fields of a row that a hit and its citation need, read in place: the rest is validated, but not copied.
//!
//! Always true: metadata has the fields that are named here as its record has them, and defaults for all others.
//!
//! Start reading at `Rows::chunk_metadata`.

use rkyv::api::high::{HighDeserializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::option::ArchivedOption;
use rkyv::rancor;
use rkyv::string::ArchivedString;
use rkyv::{Archive, Deserialize};

use crate::error::StoreError;
use crate::rows::keys;
use crate::rows::records::{ArchivedDigestRecord, ChunkRecord, ConceptRecord, DocumentRecord};
use crate::rows::tables::Table;
use crate::rows::{Rows, damaged};
use loci_types::ids::{ConceptId, DocumentId};

impl<'r> dyn Rows + 'r {
    /// A chunk by its place in pre-order, with what stands on the way to it and from it to a reader: suffix,
    /// parent, level, types, text, headings, location, chapter, section, symbol.
    pub fn chunk_metadata(
        &self,
        id: DocumentId,
        place: u32,
    ) -> Result<Option<ChunkRecord>, StoreError> {
        let key = keys::document_entry(id, place);
        read_in_place::<ChunkRecord, _>(self, Table::Chunks, &key, |chunk| {
            Ok(ChunkRecord {
                suffix: chunk.suffix.to_native(),
                parent: chunk.parent.as_ref().map(|parent| parent.to_native()),
                level: owned(&chunk.level)?,
                content_type: owned(&chunk.content_type)?,
                chunk_type: owned(&chunk.chunk_type)?,
                text: chunk.text.as_str().to_owned(),
                heading_path: chunk.heading_path.iter().map(text).collect(),
                location: owned(&chunk.location)?,
                chapter_title: option(&chunk.chapter_title),
                section_number: option(&chunk.section_number),
                section_title: option(&chunk.section_title),
                symbol: option(&chunk.symbol),
                ..ChunkRecord::default()
            })
        })
    }

    /// A document with what names it: user, collection, key, file name, title, language, and its mode.
    pub fn document_metadata(&self, id: DocumentId) -> Result<Option<DocumentRecord>, StoreError> {
        let key = keys::document(id);
        read_in_place::<DocumentRecord, _>(self, Table::Documents, &key, |document| {
            Ok(DocumentRecord {
                user: text(&document.user),
                collection: text(&document.collection),
                key: text(&document.key),
                filename: option(&document.filename),
                title: option(&document.title),
                language: option(&document.language),
                retrieval_mode: owned(&document.retrieval_mode)?,
                ..DocumentRecord::default()
            })
        })
    }

    /// The name of a concept.
    pub fn concept_name(&self, id: ConceptId) -> Result<Option<String>, StoreError> {
        let key = keys::concept(id);
        read_in_place::<ConceptRecord, _>(self, Table::Concepts, &key, |concept| {
            Ok(text(&concept.name))
        })
    }
}

/// Of a digest, by its row's payload: the documents that it quotes, a sentence each, and the space of its vector.
pub fn digest_metadata(key: &[u8], payload: &[u8]) -> Result<DigestMetadata, StoreError> {
    let record = rkyv::access::<ArchivedDigestRecord, rancor::Error>(payload)
        .map_err(|why| damaged(Table::Digests, key, &why.to_string()))?;
    let documents = record.sentences.iter();
    Ok(DigestMetadata {
        documents: documents
            .map(|of| DocumentId(of.document.to_native()))
            .collect(),
        space: record.vector.as_ref().map(|vector| vector.0.to_native()),
    })
}

/// See [`digest_metadata`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMetadata {
    /// The document of each sentence.
    pub documents: Vec<DocumentId>,
    /// The space of its vector, where it has one.
    pub space: Option<u32>,
}

/// What `take` takes of a row's record, which is validated and not copied.
fn read_in_place<T, R>(
    rows: &dyn Rows,
    table: Table,
    key: &[u8],
    extract: impl FnOnce(&T::Archived) -> Result<R, rancor::Error>,
) -> Result<Option<R>, StoreError>
where
    T: Archive,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>,
{
    let Some(value) = rows.get(table, key)? else {
        return Ok(None);
    };
    let record = rkyv::access::<T::Archived, rancor::Error>(&value);
    let extracted = record.and_then(extract);
    extracted
        .map(Some)
        .map_err(|why| damaged(table, key, &why.to_string()))
}

fn owned<T: Archive>(archived: &T::Archived) -> Result<T, rancor::Error>
where
    T::Archived: Deserialize<T, HighDeserializer<rancor::Error>>,
{
    rkyv::deserialize::<T, rancor::Error>(archived)
}

fn text(archived: &ArchivedString) -> String {
    archived.as_str().to_owned()
}

fn option(archived: &ArchivedOption<ArchivedString>) -> Option<String> {
    archived.as_ref().map(text)
}
