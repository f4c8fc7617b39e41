//! What a writer may do: put, replace and delete documents, change settings, all or nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use loci_storage::staging::DocumentRows;
use loci_storage::{DocumentId, DocumentKey, Staging};

use crate::contributions::{self, Said};
use crate::document::NewDocument;
use crate::error::Error;
use crate::settings::Settings;

/// A write in progress. It sees its own changes; an error drops them all.
pub struct WriteTransaction<'t, 'g> {
    staging: &'t mut Staging<'g>,
}

impl<'t, 'g> WriteTransaction<'t, 'g> {
    pub(crate) fn new(staging: &'t mut Staging<'g>) -> Self {
        WriteTransaction { staging }
    }

    /// Stores a document whole, in the place of the one with the same user, collection and key.
    ///
    /// Chunks whose title, headings and text did not change keep their key. Concepts and relations
    /// that only the older document spoke of are invisible afterwards.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Invalid`] says which rule the document breaks.
    pub fn put_document(&mut self, document: NewDocument) -> Result<DocumentId, Error> {
        let key = key_of(&document)?;
        let count = document.chunks.len() as u32;
        let after = Said::new(self.staging, document.concepts, document.relations, count)?;
        let before = match self.staging.rows().document_id(&key)? {
            Some(id) => Said::stored(self.staging, id)?,
            None => Said::default(),
        };
        let (chunks, vectors) = document
            .chunks
            .into_iter()
            .map(|chunk| (chunk.record, chunk.vector))
            .unzip();
        let mut rows = DocumentRows {
            record: document.record,
            original: document.original,
            text: document.text,
            chunks,
            vectors,
        };
        if rows.record.ingested_at_ms == 0 {
            rows.record.ingested_at_ms = now_ms();
        }
        let id = self.staging.put_document(rows)?;
        contributions::replace(self.staging, id, &before, &after)?;
        Ok(id)
    }

    /// Deletes a document with its chunks, vectors, mentions and what it said of concepts and
    /// relations; `false` when there is none.
    pub fn delete_document(&mut self, key: &DocumentKey) -> Result<bool, Error> {
        let Some(id) = self.staging.rows().document_id(key)? else {
            return Ok(false);
        };
        let before = Said::stored(self.staging, id)?;
        contributions::replace(self.staging, id, &before, &Said::default())?;
        Ok(self.staging.delete_document(key)?)
    }

    /// The id of a document, as this writer sees it.
    pub fn document_id(&self, key: &DocumentKey) -> Result<Option<DocumentId>, Error> {
        Ok(self.staging.rows().document_id(key)?)
    }

    /// Changes a setting; see [`Settings::with`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let settings = Settings::read(self.staging.rows())?.with(name, value)?;
        if let Some(value) = settings.to_map().get(name) {
            self.staging.set(name, Some(value.to_string()));
        }
        Ok(())
    }
}

/// The key that a document asks for.
pub(crate) fn key_of(document: &NewDocument) -> Result<DocumentKey, Error> {
    let record = &document.record;
    Ok(DocumentKey::new(
        &record.user[..],
        &record.collection[..],
        &record.key[..],
    )?)
}

fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}
