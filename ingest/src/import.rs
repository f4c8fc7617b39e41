//! A graph of another program, stored as the documents that state it.
//!
//! Always true: an import is one transaction; the same import again leaves the same documents; documents that were not made
//! by an import are never replaced.

use locidb::storage::DocumentKey;
use locidb::{Database, NewDocument, Progress};

use crate::exchange::PARSER;

/// Why a graph is not stored. Nothing is changed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store cannot take it.
    #[error(transparent)]
    Database(#[from] locidb::Error),
    /// No node was read.
    #[error("no node was read; nothing is changed")]
    Empty,
    /// The key is another document's.
    #[error("{0} is a document of another kind: give another key")]
    Taken(DocumentKey),
}

impl From<locidb::storage::StoreError> for ImportError {
    fn from(error: locidb::storage::StoreError) -> ImportError {
        ImportError::Database(error.into())
    }
}

/// Stores the documents of a graph ([`Neo4j::documents`](crate::exchange::Neo4j::documents), asked with the same `named`) in
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
    for key in &keys {
        if let Some(false) = is_import(database, key)? {
            return Err(ImportError::Taken(key.clone()));
        }
    }
    let others = others(database, named, &keys)?;
    database.write(move |tx| {
        for document in documents {
            tx.put_document(document)?;
        }
        others
            .iter()
            .try_for_each(|key| tx.delete_document(key).map(drop))
    })?;
    Ok(database.finish(progress)?)
}

/// Whether an import made a document; `None` when it is not stored.
fn is_import(database: &Database, key: &DocumentKey) -> Result<Option<bool>, ImportError> {
    let view = database.view();
    let rows = view.snapshot().rows();
    let Some(id) = rows.document_id(key)? else {
        return Ok(None);
    };
    Ok(rows.document(id)?.map(|of| of.parser == PARSER))
}

/// The documents that an import before made beyond those of this one.
fn others(
    database: &Database,
    named: &DocumentKey,
    keys: &[DocumentKey],
) -> Result<Vec<DocumentKey>, ImportError> {
    let of = |key: String| DocumentKey::new(&named.user[..], &named.collection[..], key);
    let mut others = vec![named.clone()];
    for at in 0.. {
        let key = of(format!("{}/{at}", named.key))?;
        if is_import(database, &key)? != Some(true) {
            break;
        }
        others.push(key);
    }
    let mut gone = Vec::new();
    for key in others {
        if !keys.contains(&key) && is_import(database, &key)? == Some(true) {
            gone.push(key);
        }
    }
    Ok(gone)
}
