//! Which file a document was read from, so that another file does not replace it unnoticed.
//!
//! An origin is a text that the caller chooses, as a rule the file's canonical path. It is a row beside the document
//! and no part of its record: answers, filters and segments do not contain it. A document has one origin or none; two
//! documents may have the same one, under other users, collections or keys.
//!
//! Each origin is two rows of `document_identities`: one finds the documents of an origin, the other the origin of a
//! document. A row whose document is gone has no effect.

use std::ops::ControlFlow;

use loci_storage::limits::ORIGIN_LEN_MAX;
use loci_storage::{DocumentId, Rows, Staging, StoreError, Table, keys};

use crate::error::Error;
use crate::state::snapshot::DatabaseSnapshot;
use crate::statements::prefix::documents_after;

impl DatabaseSnapshot {
    /// The file that a document was read from, where that is known.
    pub fn origin(&self, id: DocumentId) -> Result<Option<String>, Error> {
        Ok(stored_origin(self.rows(), id)?)
    }

    /// The documents that were read from this file, by id.
    pub fn documents_from(&self, origin: &str) -> Result<Vec<DocumentId>, Error> {
        let prefix = keys::identity(&origin_identity(origin));
        let found = documents_after(self.rows(), Table::DocumentIdentities, &prefix);
        Ok(found?)
    }
}

/// Records the file that a stored document was read from, in the place of the one before; `None` deletes it.
///
/// # Errors
/// [`StoreError::Invalid`] for an origin that is empty or holds a NUL; [`StoreError::Limit`] for one that is too long.
pub(crate) fn set(
    staging: &mut Staging<'_>,
    id: DocumentId,
    origin: Option<&str>,
) -> Result<(), StoreError> {
    if let Some(origin) = origin {
        check(origin)?;
    }
    let before = stored_origin(staging.rows(), id)?;
    if before.as_deref() == origin {
        return Ok(());
    }
    if let Some(before) = before {
        for identity in [
            origin_identity(&before),
            document_origin_identity(id, &before),
        ] {
            let key = keys::document_identity(&identity, id);
            staging.delete(Table::DocumentIdentities, key);
        }
    }
    if let Some(origin) = origin {
        for identity in [
            origin_identity(origin),
            document_origin_identity(id, origin),
        ] {
            let key = keys::document_identity(&identity, id);
            staging.put(Table::DocumentIdentities, key, Vec::new());
        }
    }
    Ok(())
}

fn check(origin: &str) -> Result<(), StoreError> {
    if origin.is_empty() || origin.contains('\0') {
        let why = "a document's origin is not empty and has no NUL";
        return Err(StoreError::Invalid(why.into()));
    }
    if origin.len() > ORIGIN_LEN_MAX {
        return Err(StoreError::Limit {
            what: "the bytes of a document's origin",
            limit: ORIGIN_LEN_MAX as u64,
        });
    }
    Ok(())
}

fn stored_origin(rows: &dyn Rows, id: DocumentId) -> Result<Option<String>, StoreError> {
    let prefix = document_origin_identity(id, "").into_bytes();
    let end = keys::after_prefix(&prefix);
    let mut found = None;
    let table = Table::DocumentIdentities;
    rows.scan(table, &prefix, end.as_deref(), &mut |key, _| {
        // A byte 0 and the document's id follow.
        let end = key.len().saturating_sub(9);
        let origin = key.get(prefix.len()..end);
        found = origin.and_then(|origin| String::from_utf8(origin.to_vec()).ok());
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// The identity that finds documents by their origin.
fn origin_identity(origin: &str) -> String {
    format!("f:{origin}")
}

/// The identity that finds the origin of a document.
fn document_origin_identity(id: DocumentId, origin: &str) -> String {
    format!("o:{:016x}:{origin}", id.0)
}
