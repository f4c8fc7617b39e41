//! Concepts that were merged or split by hand: what documents say of one counts as said of another.
//!
//! What a document says stays as it says it. A *move* sends a concept to another one, in one document or in all; a
//! move in one document is stronger. An *edit* is the moves that a caller asked for at once; deleting them
//! undoes it, whatever was edited since.
//!
//! Always true: `concept_sources` has exactly the moves of `concept_moves`, looked up from the other end; no
//! concept is moved to itself, by however many moves, whatever documents they are of.
//!
//! Start reading at [`Staging::apply_concept_edit`].

use std::ops::ControlFlow;

use crate::error::StoreError;
use crate::rows::concept_aliases::ALL_DOCUMENTS;
use crate::rows::encode;
use crate::rows::keys::{self, Key};
use crate::rows::records::ConceptEditRecord;
use crate::rows::tables::Table;
use crate::staging::Staging;
use loci_types::ids::{ConceptEditId, ConceptId, DocumentId};

impl Staging<'_> {
    /// Sends `record.from` to `record.to`, in `record.documents` or, where there are none, in all.
    ///
    /// The caller merges the records of concepts and relations anew, and has the documents indexed again.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] where it would go round in a circle, or is moved in all documents already.
    pub fn apply_concept_edit(
        &mut self,
        record: &ConceptEditRecord,
    ) -> Result<ConceptEditId, StoreError> {
        let (from, to) = (ConceptId(record.from), ConceptId(record.to));
        if self.rows().alias_sources(from)?.contains(&to) {
            let why = "the concept was split from or merged into the other one: undo that instead";
            return Err(StoreError::Invalid(why.into()));
        }
        let id = ConceptEditId(self.changes.manifest.next_edit);
        self.changes.manifest.next_edit += 1;
        for document in edited_documents(record) {
            let key = keys::document_entry(document, from.0);
            if self.rows().get(Table::ConceptMoves, &key)?.is_some() {
                let why = "the concept was moved already: undo that first";
                return Err(StoreError::Invalid(why.into()));
            }
            let value = [&to.0.to_le_bytes()[..], &id.0.to_le_bytes()].concat();
            self.put(Table::ConceptMoves, key, value);
            let key = keys::concept_source(to, from, document);
            self.put(Table::ConceptSources, key, Vec::new());
        }
        self.put(Table::ConceptEdits, keys::concept_edit(id), encode(record)?);
        Ok(id)
    }

    /// Deletes an edit and its moves; `None` when there is none. The caller does as after
    /// [`Staging::apply_concept_edit`].
    pub fn undo_concept_edit(
        &mut self,
        id: ConceptEditId,
    ) -> Result<Option<ConceptEditRecord>, StoreError> {
        let Some(record) = self.rows().concept_edit(id)? else {
            return Ok(None);
        };
        for document in edited_documents(&record) {
            self.delete_alias(ConceptId(record.from), document, Some(id))?;
        }
        self.delete(Table::ConceptEdits, keys::concept_edit(id));
        Ok(Some(record))
    }

    /// Deletes the moves in a document that is deleted.
    pub(crate) fn delete_document_aliases(
        &mut self,
        document: DocumentId,
    ) -> Result<(), StoreError> {
        let mut concepts = Vec::new();
        self.rows()
            .scan_document(Table::ConceptMoves, document, &mut |key, _| {
                concepts.extend(keys::u32_at(key, 8).map(ConceptId));
                Ok(ControlFlow::Continue(()))
            })?;
        for concept in concepts {
            let target = self.rows().alias_target_in(concept, document)?;
            self.delete_alias(concept, document, None)?;
            if let Some(id) = target.and_then(|moved| moved.edit) {
                self.remove_document_from_edit(id, document)?;
            }
        }
        Ok(())
    }

    /// Takes a document that is deleted out of an edit, which is gone with the last one.
    fn remove_document_from_edit(
        &mut self,
        id: ConceptEditId,
        document: DocumentId,
    ) -> Result<(), StoreError> {
        let Some(mut record) = self.rows().concept_edit(id)? else {
            return Ok(());
        };
        record.documents.retain(|&of| of != document.0);
        if record.documents.is_empty() {
            self.delete(Table::ConceptEdits, keys::concept_edit(id))
        } else {
            self.put(
                Table::ConceptEdits,
                keys::concept_edit(id),
                encode(&record)?,
            )
        }
        Ok(())
    }

    /// Deletes a move, where it is of `edit` or that is not said.
    fn delete_alias(
        &mut self,
        from: ConceptId,
        document: DocumentId,
        edit: Option<ConceptEditId>,
    ) -> Result<(), StoreError> {
        let Some(found) = self.rows().alias_target_in(from, document)? else {
            return Ok(());
        };
        if edit.is_none() || found.edit == edit {
            self.delete(Table::ConceptMoves, keys::document_entry(document, from.0));
            let key: Key = keys::concept_source(found.concept, from, document);
            self.delete(Table::ConceptSources, key);
        }
        Ok(())
    }
}

/// The documents in the keys of an edit's moves.
fn edited_documents(record: &ConceptEditRecord) -> Vec<DocumentId> {
    if record.documents.is_empty() {
        vec![ALL_DOCUMENTS]
    } else {
        record.documents.iter().copied().map(DocumentId).collect()
    }
}
