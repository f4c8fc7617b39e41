//! Concepts that were merged or split by hand: what documents say of one counts as said of another.
//!
//! What a document says stays as it says it. A *move* sends a concept to another one, in one document or in all; a
//! move in one document is stronger. An *edit* is the moves that a caller asked for at once; deleting them
//! undoes it, whatever was edited since.
//!
//! Always true: `concept_sources` has exactly the moves of `concept_moves`, looked up from the other end; no
//! concept is moved to itself, by however many moves, whatever documents they are of.
//!
//! Start reading at [`Staging::move_concept`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::error::StoreError;
use crate::ids::{ConceptEditId, ConceptId, DocumentId, ItemId};
use crate::keys::{self, Key};
use crate::records::ConceptEditRecord;
use crate::rows::{Rows, damaged, decode, encode, read};
use crate::staging::Staging;
use crate::tables::Table;

/// What stands for all documents in a move's key.
const ALL_DOCUMENTS: DocumentId = DocumentId(0);

/// What a concept counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedConcept {
    /// The concept; itself where it was not moved.
    pub concept: ConceptId,
    /// The edit that moved it last.
    pub edit: Option<ConceptEditId>,
}

impl<'r> dyn Rows + 'r {
    /// What `concept` counts as where `document` speaks of it, or `None`: where no document does.
    pub fn resolve(
        &self,
        concept: ConceptId,
        document: Option<DocumentId>,
    ) -> Result<ResolvedConcept, StoreError> {
        let mut resolved = ResolvedConcept {
            concept,
            edit: None,
        };
        let mut seen = BTreeSet::new();
        while let Some(next) = self.alias_target(resolved.concept, document)? {
            if !seen.insert(resolved.concept) {
                let key = keys::concept(resolved.concept);
                return Err(damaged(
                    Table::ConceptMoves,
                    &key,
                    "a concept moves to itself",
                ));
            }
            resolved = next;
        }
        Ok(resolved)
    }

    /// Whether any concept is moved. Costs one look.
    pub fn has_concept_aliases(&self) -> Result<bool, StoreError> {
        let mut found = false;
        self.scan_all(Table::ConceptMoves, &mut |_, _| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    fn alias_target(
        &self,
        concept: ConceptId,
        document: Option<DocumentId>,
    ) -> Result<Option<ResolvedConcept>, StoreError> {
        let document_target = match document {
            Some(document) => self.alias_target_in(concept, document)?,
            None => None,
        };
        match document_target {
            Some(own) => Ok(Some(own)),
            None => self.alias_target_in(concept, ALL_DOCUMENTS),
        }
    }

    fn alias_target_in(
        &self,
        concept: ConceptId,
        document: DocumentId,
    ) -> Result<Option<ResolvedConcept>, StoreError> {
        let key = keys::document_entry(document, concept.0);
        let Some(value) = self.get(Table::ConceptMoves, &key)? else {
            return Ok(None);
        };
        let parse = || {
            let (to, edit) = value.split_first_chunk::<4>()?;
            let edit = u64::from_le_bytes(*edit.first_chunk()?);
            let concept = ConceptId(u32::from_le_bytes(*to));
            Some(ResolvedConcept {
                concept,
                edit: Some(ConceptEditId(edit)),
            })
        };
        let resolved = parse().ok_or_else(|| damaged(Table::ConceptMoves, &key, "too short"))?;
        Ok(Some(resolved))
    }

    /// The concept and all that were ever moved to it, in some document, through however many moves.
    pub fn alias_sources(&self, concept: ConceptId) -> Result<BTreeSet<ConceptId>, StoreError> {
        let mut sources = BTreeSet::from([concept]);
        let mut open = vec![concept];
        while let Some(to) = open.pop() {
            let prefix = keys::concept(to);
            let after = keys::after_prefix(&prefix);
            self.scan(
                Table::ConceptSources,
                &prefix,
                after.as_deref(),
                &mut |key, _| {
                    let from = keys::u32_at(key, 4).map(ConceptId);
                    open.extend(from.filter(|&from| sources.insert(from)));
                    Ok(ControlFlow::Continue(()))
                },
            )?;
        }
        Ok(sources)
    }

    /// An edit that was not undone.
    pub fn concept_edit(&self, id: ConceptEditId) -> Result<Option<ConceptEditRecord>, StoreError> {
        read(self, Table::ConceptEdits, &keys::concept_edit(id))
    }

    /// All edits that were not undone, oldest first.
    pub fn concept_edits(&self) -> Result<Vec<(ConceptEditId, ConceptEditRecord)>, StoreError> {
        let mut edits = Vec::new();
        self.scan_all(Table::ConceptEdits, &mut |key, payload| {
            let id = keys::u64_at(key, 0);
            let id = id.ok_or_else(|| damaged(Table::ConceptEdits, key, "short key"))?;
            edits.push((
                ConceptEditId(id),
                decode(Table::ConceptEdits, key, payload)?,
            ));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(edits)
    }

    /// The items that are about a concept, oldest first: those of what was moved to it too. An item about a
    /// chunk goes where its document's concepts go.
    pub fn items_of_concept(&self, concept: ConceptId) -> Result<Vec<ItemId>, StoreError> {
        let mut found = BTreeSet::new();
        for source in self.alias_sources(concept)? {
            for id in self.item_ids(Table::ConceptItems, &keys::concept(source))? {
                let chunk = self.item(id)?.and_then(|item| item.chunk);
                let document = chunk.map(|(document, _)| DocumentId(document));
                if self.resolve(source, document)?.concept == concept {
                    found.insert(id);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

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
    /// [`Staging::move_concept`].
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
