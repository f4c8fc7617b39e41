//! One writer's uncommitted changes, in a map over the open redb transaction.
//!
//! Reads see the writer's own changes first, then those of the writers before it in the same
//! group, then what is committed. Dropping a staging undoes it. It is a map because redb refuses a
//! savepoint once a table was opened.
//!
//! Start reading at [`Staging`]; `documents.rs` stores documents.

mod concept_edits;
mod documents;
mod items;
mod retrievals;
pub(crate) mod staged_rows;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::error::StoreError;
use crate::limits::SWEEP_ROWS_MAX;
use crate::rows::keys::{self, Key};
use crate::rows::records::{ManifestRecord, SpaceRecord};
use crate::rows::tables::Table;
use crate::rows::{RowCallback, Rows, Value};
use crate::segment::build::SegmentDraft;
use crate::segment::new_part::NewPart;
use crate::snapshot::{DerivedIndex, OpenSegment};
use crate::staging::staged_rows::{RowOverlay, StagedRows};
use loci_types::ids::{ConceptId, DocumentId, SegmentId, SpaceId, WorkId};

pub use documents::{DocumentRows, content_hash, indexed_text, indexed_title};
pub use loci_types::document::NewAsset;

/// What one writer changes.
pub struct Staging<'g> {
    base: &'g dyn Rows,
    segments: &'g [OpenSegment],
    /// Whether no other writer shares the commit.
    is_exclusive: bool,
    pub(crate) changes: Changes,
}

/// The changes of one writer, or of a group.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) rows: StagedRows,
    pub(crate) bytes: usize,
    pub(crate) manifest: ManifestRecord,
    /// Documents that the group's segment must hold.
    pub(crate) documents_to_index: BTreeSet<DocumentId>,
    /// Documents whose chunks in older segments are dead.
    pub(crate) documents_to_tombstone: BTreeSet<DocumentId>,
    pub(crate) edits: Vec<ManifestEdit>,
}

/// A change of what is listed in the manifest that no document asks for.
pub enum ManifestEdit {
    /// `draft` takes the place of `old`. Documents that died meanwhile are dead in it too. Nothing
    /// happens when none of `old` is listed any more, or when the store has switched spaces since.
    Merge {
        /// Segments that are merged.
        old: Vec<SegmentId>,
        /// The segment made of them; `None` when nothing in them is alive.
        draft: Option<SegmentDraft>,
        /// The active space when it was made.
        space: Option<u32>,
    },
    /// What could not be opened is given up, and it is noted that it is to be built again.
    DropDamaged {
        /// Segments.
        segments: Vec<SegmentId>,
        /// Segments of which the vectors alone are given up.
        vectors: Vec<SegmentId>,
    },
    /// A segment of documents that are in none. What is in one by now, or gone, is dead in it.
    AddRebuiltSegment(SegmentDraft),
    /// Nothing is to be built again any more.
    FinishRebuild,
    /// The active space cannot be used: there is none from now on.
    DeactivateSpace,
    /// What was computed over the whole store cannot be used.
    DropAnalysis,
    /// What was fitted on or computed over the whole store is damaged: it is given up, and a row says why until it is
    /// built anew.
    MarkLost {
        /// What is damaged.
        index: DerivedIndex,
        /// Why it cannot be used.
        why: String,
    },
    /// There is nothing to build anew any more.
    ClearLost(DerivedIndex),
    /// A space, without vectors yet, is the active one from now on.
    ActivateSpace {
        /// The space.
        space: SpaceId,
        /// What is known of it.
        record: Box<SpaceRecord>,
    },
    /// A space is being built, in the place of the one that was: searches do not use it yet.
    PrepareSpace {
        /// The space; its `projection` is filled in.
        space: SpaceId,
        /// What is known of it.
        record: Box<SpaceRecord>,
        /// The projection of text into it.
        projection: Option<NewPart>,
    },
    /// The vectors of these segments in the space that is active or being built. Nothing happens
    /// to segments that are no longer listed, or when the space is neither.
    SetVectors {
        /// The space.
        space: SpaceId,
        /// A segment's vectors each.
        parts: Vec<(SegmentId, NewPart)>,
    },
    /// The space that is being built is the active one from now on, and the one that was is given
    /// up with its vectors.
    SwitchSpace,
    /// The space that is being built is given up.
    AbandonPendingSpace,
    /// What was computed over the whole store.
    SetAnalysis(NewPart),
    /// The ids, counts and spaces of another store whose rows were put here, and what its spaces embed text by.
    AdoptManifest {
        /// The numbers; segments and parts stay this store's own.
        manifest: Box<ManifestRecord>,
        /// A space's projection each.
        projections: Vec<(SpaceId, NewPart)>,
    },
}

impl<'g> Staging<'g> {
    pub(crate) fn new(
        base: &'g dyn Rows,
        segments: &'g [OpenSegment],
        manifest: ManifestRecord,
        is_exclusive: bool,
    ) -> Staging<'g> {
        Staging {
            base,
            segments,
            is_exclusive,
            changes: Changes {
                manifest,
                ..Changes::default()
            },
        }
    }

    /// The manifest as this writer would leave it.
    pub fn manifest(&self) -> &ManifestRecord {
        &self.changes.manifest
    }

    /// Segments that were committed before this group.
    pub fn segments(&self) -> &[OpenSegment] {
        self.segments
    }

    /// What a writer must not leave: edits in a commit that others share, whose tombstones they would
    /// not see.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.is_exclusive || self.changes.edits.is_empty() {
            Ok(())
        } else {
            Err(requires_exclusive())
        }
    }

    /// Asks for a change of what the manifest lists. Only in a commit of its own
    /// ([`crate::Store::edit`]); in others the whole write is refused.
    pub fn edit(&mut self, edit: ManifestEdit) {
        self.changes.edits.push(edit);
    }

    /// Puts a row.
    pub fn put(&mut self, table: Table, key: Key, payload: Vec<u8>) {
        self.changes.bytes += key.len() + payload.len();
        self.changes.rows.set(table, key, Some(payload));
    }

    /// Deletes a row, whether it is there or not.
    pub fn delete(&mut self, table: Table, key: Key) {
        self.changes.rows.set(table, key, None);
    }

    /// Sets or, with `None`, forgets a setting.
    pub fn put_setting(&mut self, name: &str, json: Option<String>) {
        match json {
            Some(json) => self.put(Table::Settings, name.into(), json.into_bytes()),
            None => self.delete(Table::Settings, name.into()),
        }
    }

    /// The id of a concept, given out now when the name is new. `normalised` is not empty.
    pub fn get_or_create_concept(&mut self, normalised: &str) -> Result<ConceptId, StoreError> {
        if let Some(id) = self.rows().concept_id(normalised)? {
            return Ok(id);
        }
        let id = self.changes.manifest.next_concept;
        self.changes.manifest.next_concept = id.checked_add(1).ok_or(StoreError::Limit {
            what: "concepts",
            limit: id.into(),
        })?;
        self.put(
            Table::ConceptNames,
            normalised.into(),
            id.to_le_bytes().into(),
        );
        Ok(ConceptId(id))
    }

    /// A new id for a cited work.
    pub fn new_work_id(&mut self) -> Result<WorkId, StoreError> {
        let id = self.changes.manifest.next_work;
        self.changes.manifest.next_work = id.checked_add(1).ok_or(StoreError::Limit {
            what: "cited works",
            limit: id.into(),
        })?;
        Ok(WorkId(id))
    }

    /// A new id for a vector space.
    pub fn new_space_id(&mut self) -> SpaceId {
        let id = self.changes.manifest.next_space;
        self.changes.manifest.next_space += 1;
        SpaceId(id)
    }

    /// Counts concepts and relations that became visible or invisible.
    pub fn adjust_graph_counts(&mut self, concepts: i64, relations: i64) {
        let manifest = &mut self.changes.manifest;
        manifest.concept_count = manifest.concept_count.saturating_add_signed(concepts);
        manifest.relation_count = manifest.relation_count.saturating_add_signed(relations);
    }

    fn overlay(&self) -> RowOverlay<'_> {
        RowOverlay {
            staged: &self.changes.rows,
            base: self.base,
        }
    }

    /// Reads, this writer's changes first.
    pub fn rows(&self) -> &dyn Rows {
        self
    }

    /// Deletes some of the vectors of spaces that were given up; `false` when none is left.
    pub fn sweep_dropped_vectors(&mut self) -> Result<bool, StoreError> {
        let Some(&space) = self.changes.manifest.dropped_spaces.first() else {
            return Ok(false);
        };
        let from = space.to_be_bytes();
        let to = keys::after_prefix(&from);
        let mut found: Vec<Key> = Vec::new();
        self.scan(Table::Vectors, &from, to.as_deref(), &mut |key, _| {
            found.push(key.to_vec());
            Ok(if found.len() < SWEEP_ROWS_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        if found.len() < SWEEP_ROWS_MAX {
            self.changes.manifest.dropped_spaces.remove(0);
        }
        for key in found {
            self.delete(Table::Vectors, key);
        }
        Ok(true)
    }

    /// Deletes concepts that no document, no item and no edit by hand names any more, with their names; they get new numbers
    /// when they come again. `after`: where to go on. Returns where to go on next, `None` at the end.
    ///
    /// Nothing happens while a segment holds dead chunks, which may mention them; so it must be
    /// called from [`crate::Store::edit`].
    pub fn sweep_unused_concepts(&mut self, after: &[u8]) -> Result<Option<Key>, StoreError> {
        if !self.is_exclusive {
            return Err(requires_exclusive());
        }
        if self.segments.iter().any(|segment| !segment.dead.is_empty()) {
            return Ok(None);
        }
        let (mut seen, mut next) = (Vec::new(), None);
        self.scan(Table::ConceptNames, after, None, &mut |key, id| {
            if seen.len() == SWEEP_ROWS_MAX {
                next = Some(key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            let id = id
                .first_chunk()
                .map(|id| ConceptId(u32::from_le_bytes(*id)));
            seen.extend(id.map(|id| (key.to_vec(), id)));
            Ok(ControlFlow::Continue(()))
        })?;
        let edited = self.edited_concepts()?;
        for (name, id) in seen {
            if !edited.contains(&id) && !self.is_concept_used(id)? {
                self.delete(Table::ConceptNames, name);
                self.delete(Table::Concepts, keys::concept(id));
            }
        }
        Ok(next)
    }

    /// Deletes those of `concepts` that no document, no item and no edit by hand names any more, with their names. Dead
    /// chunks may mention them still: no search sees that.
    pub fn delete_unused_concepts(&mut self, concepts: &[ConceptId]) -> Result<(), StoreError> {
        if concepts.is_empty() {
            return Ok(());
        }
        let edited = self.edited_concepts()?;
        for &id in concepts {
            if edited.contains(&id) || self.is_concept_used(id)? {
                continue;
            }
            let Some(record) = self.rows().concept(id)? else {
                continue;
            };
            if self.rows().concept_id(&record.normalised)? == Some(id) {
                self.delete(Table::ConceptNames, record.normalised.into_bytes());
            }
            self.delete(Table::Concepts, keys::concept(id));
        }
        Ok(())
    }

    /// Concepts that were merged or split by hand.
    fn edited_concepts(&self) -> Result<BTreeSet<ConceptId>, StoreError> {
        let edits = self.rows().concept_edits()?.into_iter();
        let ends = edits.flat_map(|(_, edit)| [ConceptId(edit.from), ConceptId(edit.to)]);
        Ok(ends.collect())
    }

    /// Whether a document or an item names a concept.
    fn is_concept_used(&self, id: ConceptId) -> Result<bool, StoreError> {
        let key = keys::concept(id);
        let by_documents = self.has_rows(Table::ConceptDocuments, &key)?;
        Ok(by_documents || self.has_rows(Table::ConceptItems, &key)?)
    }

    /// Whether a table has a row whose key starts with `prefix`.
    fn has_rows(&self, table: Table, prefix: &[u8]) -> Result<bool, StoreError> {
        let mut found = false;
        let after = keys::after_prefix(prefix);
        self.scan(table, prefix, after.as_deref(), &mut |_, _| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}

impl Rows for Staging<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        self.overlay().row(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        self.overlay().scan(table, from, to, visit)
    }
}

fn requires_exclusive() -> StoreError {
    StoreError::Invalid("what the manifest lists is changed in a commit of its own only".into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    /// Rows in a map: the plainly right base of a staging.
    #[derive(Default)]
    struct MapRows(BTreeMap<(Table, Key), Vec<u8>>);

    impl Rows for MapRows {
        fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
            Ok(self
                .0
                .get(&(table, key.to_vec()))
                .map(|row| Value::staged(row)))
        }

        fn scan(
            &self,
            table: Table,
            from: &[u8],
            to: Option<&[u8]>,
            visit: &mut RowCallback<'_>,
        ) -> Result<(), StoreError> {
            for ((of, key), row) in &self.0 {
                let inside = key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to);
                if *of == table && inside && visit(key, row)?.is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_scan_sees_own_changes_over_the_base(
            base in prop::collection::btree_map(0u8..12, any::<u8>(), 0..12),
            own in prop::collection::btree_map(0u8..12, any::<Option<u8>>(), 0..12),
            from in 0u8..12,
            to in prop::option::of(0u8..12),
            stop in 1usize..14,
        ) {
            let row = |key: u8| (Table::Chunks, vec![key]);
            let rows = MapRows(base.iter().map(|(&k, &v)| (row(k), vec![v])).collect());
            let mut staging = Staging::new(&rows, &[], ManifestRecord::default(), true);
            let mut want = base.clone();
            for (&key, &value) in &own {
                match value {
                    Some(value) => {
                        staging.put(Table::Chunks, vec![key], vec![value]);
                        want.insert(key, value);
                    }
                    None => {
                        staging.delete(Table::Chunks, vec![key]);
                        want.remove(&key);
                    }
                }
            }
            let want: Vec<(u8, u8)> = want
                .into_iter()
                .filter(|&(key, _)| key >= from && to.is_none_or(|to| key < to))
                .take(stop)
                .collect();
            let mut got = Vec::new();
            let end = to.map(|to| vec![to]);
            staging.scan(Table::Chunks, &[from], end.as_deref(), &mut |key, row| {
                got.push((key[0], row[0]));
                let done = got.len() == stop;
                Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            }).unwrap();
            prop_assert_eq!(got, want);
        }
    }
}
