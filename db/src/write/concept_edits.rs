//! Merging and splitting concepts by hand, and undoing it.
//!
//! Contributions stay; the concepts that they count for change ([`loci_storage::concept_edits`]). Merged records of
//! concepts and relations, and the segments of the affected documents, change in the same commit.

use loci_graph::normalise;
use loci_storage::keys;
use loci_storage::records::{ConceptEditRecord, ConceptRecord};
use loci_storage::rows::{encode, missing};
use loci_storage::{
    ConceptEditId, ConceptId, DocumentId, DocumentKey, Rows, Staging, StoreError, Table,
};

use crate::clock::now_ms;
use crate::error::Error;
use crate::state::snapshot::DatabaseSnapshot;
use crate::statements::contributions;

/// Lets all contributions to `from` count for `into`.
pub(crate) fn merge(
    staging: &mut Staging<'_>,
    from: &str,
    into: &str,
) -> Result<ConceptEditId, Error> {
    let from = find_mentioned_concept(staging.rows(), from)?;
    record_edit(staging, from, into, Vec::new())
}

/// Lets the contributions of `documents` to `name` count for `into`.
pub(crate) fn split(
    staging: &mut Staging<'_>,
    name: &str,
    documents: &[DocumentKey],
    into: &str,
) -> Result<ConceptEditId, Error> {
    let from = find_mentioned_concept(staging.rows(), name)?;
    let mut ids = Vec::with_capacity(documents.len());
    for key in documents {
        let found = staging.rows().document_id(key)?;
        let id = found.ok_or_else(|| Error::NotFound(key.to_string()))?;
        if !mentions_concept(staging.rows(), id, from)? {
            let why = format!("document {key} does not mention {name:?}");
            return Err(StoreError::Invalid(why).into());
        }
        ids.push(id.0);
    }
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        let why = "name the documents that mention the other concept";
        return Err(StoreError::Invalid(why.into()).into());
    }
    record_edit(staging, from, into, ids)
}

/// Undoes a merge or split; `false` when there is none, or it was undone.
pub(crate) fn undo(staging: &mut Staging<'_>, id: ConceptEditId) -> Result<bool, Error> {
    let Some(record) = staging.rows().concept_edit(id)? else {
        return Ok(false);
    };
    let from = ConceptId(record.from);
    contributions::apply_concept_edit(staging, from, &record.documents, |staging| {
        staging.undo_concept_edit(id)
    })?;
    Ok(true)
}

/// The concept of a name that has a contribution.
fn find_mentioned_concept(rows: &dyn Rows, name: &str) -> Result<ConceptId, Error> {
    let unknown = || Error::NotFound(format!("concept {name:?}"));
    let id = rows.concept_id(&normalise(name))?.ok_or_else(unknown)?;
    let id = rows.resolve(id, None)?.concept;
    let record = rows.concept(id)?;
    match record.filter(|record| record.document_count > 0) {
        Some(_) => Ok(id),
        None => Err(unknown()),
    }
}

fn mentions_concept(
    rows: &dyn Rows,
    document: DocumentId,
    concept: ConceptId,
) -> Result<bool, Error> {
    for (id, _) in rows.concept_contributions(document)? {
        if rows.resolve(id, Some(document))?.concept == concept {
            return Ok(true);
        }
    }
    Ok(false)
}

fn record_edit(
    staging: &mut Staging<'_>,
    from: ConceptId,
    into: &str,
    documents: Vec<u64>,
) -> Result<ConceptEditId, Error> {
    let normalised = normalise(into);
    if normalised.is_empty() {
        return Err(
            StoreError::Invalid(format!("{into:?} has no word to name a concept by")).into(),
        );
    }
    let to = staging.get_or_create_concept(&normalised)?;
    let to = staging.rows().resolve(to, None)?.concept;
    if from == to {
        let why = format!("it is called {into:?} already");
        return Err(StoreError::Invalid(why).into());
    }
    let known = staging.rows().concept(to)?;
    let name = match known.as_ref().filter(|known| known.document_count > 0) {
        Some(known) => known.name.clone(),
        None => into.to_owned(),
    };
    if known.is_none() {
        let record = ConceptRecord {
            normalised,
            ..ConceptRecord::default()
        };
        staging.put(Table::Concepts, keys::concept(to), encode(&record)?);
    }
    let record = ConceptEditRecord {
        from: from.0,
        to: to.0,
        documents,
        name,
        at_ms: now_ms(),
    };
    let documents = record.documents.clone();
    Ok(contributions::apply_concept_edit(
        staging,
        from,
        &documents,
        |staging| staging.apply_concept_edit(&record),
    )?)
}

/// A merge or split that was not undone, in names.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ConceptEdit {
    /// What undoes it.
    pub id: u64,
    /// The concept that documents mention.
    pub from: String,
    /// The concept that it counts as.
    pub into: String,
    /// The documents in which it does; none: all.
    pub documents: Vec<String>,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

impl DatabaseSnapshot {
    /// Merges and splits of concepts by hand that were not undone, oldest first.
    pub fn concept_edits(&self) -> Result<Vec<ConceptEdit>, Error> {
        list(self.rows())
    }
}

fn list(rows: &dyn Rows) -> Result<Vec<ConceptEdit>, Error> {
    let edits = rows.concept_edits()?.into_iter();
    let resolved = edits.map(|(id, record)| {
        let mut documents = Vec::new();
        for id in record.documents {
            let row = keys::document(DocumentId(id));
            let document = rows.document(DocumentId(id))?;
            let document = document.ok_or_else(|| missing(Table::Documents, &row))?;
            let key = DocumentKey::new(document.user, document.collection, document.key)?;
            documents.push(key.to_string());
        }
        let from = keys::concept(ConceptId(record.from));
        let of = rows.concept(ConceptId(record.from))?;
        let of = of.ok_or_else(|| missing(Table::Concepts, &from))?;
        Ok(ConceptEdit {
            id: id.0,
            from: of.normalised,
            into: record.name,
            documents,
            at_ms: record.at_ms,
        })
    });
    resolved.collect()
}
