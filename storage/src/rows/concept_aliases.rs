//! Concepts that were merged or split by hand: what documents say of one counts as said of another.
//!
//! What a document says stays as it says it. A *move* sends a concept to another one, in one document or in all; a
//! move in one document is stronger. An *edit* is the moves that a caller asked for at once.
//!
//! Start reading at [`Rows::resolve`](trait@Rows); [`crate::Staging`] writes edits.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use loci_types::ids::{ConceptEditId, ConceptId, DocumentId, ItemId};

use crate::error::StoreError;
use crate::rows::keys;
use crate::rows::records::ConceptEditRecord;
use crate::rows::tables::Table;
use crate::rows::{Rows, damaged, decode, read};

/// What stands for all documents in a move's key.
pub(crate) const ALL_DOCUMENTS: DocumentId = DocumentId(0);

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

    pub(crate) fn alias_target_in(
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
