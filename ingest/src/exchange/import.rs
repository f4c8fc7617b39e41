//! A graph of another program, stored as the documents that state it.
//!
//! Always true: an import is one transaction; the same import again leaves the same documents; only documents that an import
//! under the same key made are replaced or deleted.

use locidb::storage::DocumentKey;
use locidb::storage::keys::KeyError;
use locidb::storage::records::DocumentRecord;
use locidb::{Database, NewDocument, Progress, WriteTransaction};

use super::PARSER;

/// Why a graph is not stored.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store cannot take it, or its other parts cannot be brought up to it.
    #[error(transparent)]
    Database(#[from] locidb::Error),
    /// No node was read.
    #[error("no node was read; nothing is changed")]
    Empty,
    /// The key is another document's.
    #[error("{0} is a document of another kind: give another key")]
    KeyConflict(DocumentKey),
}

impl From<KeyError> for ImportError {
    fn from(error: KeyError) -> ImportError {
        ImportError::Database(error.into())
    }
}

/// Stores the documents of a graph ([`Neo4jImport::documents`](super::Neo4jImport::documents), asked with the same `named`) in
/// place of what an import under `named` stored before, and brings the store's other parts up to them.
///
/// # Errors
/// [`ImportError`].
pub fn import(
    database: &Database,
    named: &DocumentKey,
    documents: Vec<NewDocument>,
    progress: &dyn Progress,
) -> Result<(), ImportError> {
    if documents.is_empty() {
        return Err(ImportError::Empty);
    }
    let keys = documents.iter().map(|document| {
        let record = &document.record;
        DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])
    });
    let keys: Vec<DocumentKey> = keys.collect::<Result<_, _>>()?;
    let (stored, named) = (keys.clone(), named.clone());
    let conflict = database.write(move |tx| {
        for key in &stored {
            if let Some((_, record)) = tx.document(key)?
                && !is_import_part(&record, &named)
            {
                return Ok(Some(key.clone()));
            }
        }
        for key in stale_parts(tx, &named, &stored)? {
            tx.delete_document(&key)?;
        }
        for document in documents {
            tx.put_document(document)?;
        }
        Ok(None)
    })?;
    if let Some(key) = conflict {
        return Err(ImportError::KeyConflict(key));
    }
    match database.finish(progress) {
        // It is stored; what is left is done with what is stored next.
        Err(locidb::Error::Interrupted) => Ok(()),
        finished => Ok(finished?),
    }
}

/// Whether an import under `named` made a document.
fn is_import_part(record: &DocumentRecord, named: &DocumentKey) -> bool {
    record.parser == PARSER && record.title.as_ref() == Some(&named.key)
}

/// The documents that an import before made beyond those of this one.
fn stale_parts(
    tx: &WriteTransaction<'_, '_>,
    named: &DocumentKey,
    keys: &[DocumentKey],
) -> Result<Vec<DocumentKey>, locidb::Error> {
    let mut others = Vec::new();
    let mut key = named.clone();
    for at in 0.. {
        match tx.document(&key)? {
            Some((_, record)) if is_import_part(&record, named) => others.push(key),
            // The first part of several is not called as the one is.
            _ if at == 0 => {}
            _ => break,
        }
        let next = format!("{}/{at}", named.key);
        key = DocumentKey::new(&named.user[..], &named.collection[..], next)?;
    }
    others.retain(|key| !keys.contains(key));
    Ok(others)
}
