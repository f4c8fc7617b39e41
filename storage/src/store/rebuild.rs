//! Rebuilding damaged indexes from rows, while the store is used.
//!
//! 1. Opening removes damaged parts from the manifest, and writes a row of `meta` that chunks are missing
//!    ([`drop_damaged`]): one small commit, whatever the store's size. From then on searches find the rest.
//! 2. [`Store::rebuild`] builds segments of the documents that are in none, some at a time, and lists each in a commit that
//!    leaves out what was deleted or replaced meanwhile.
//! 3. When no document is left, the row is deleted.
//!
//! What is derived from the whole store ([`DerivedIndex`]) cannot be rebuilt that way: it is dropped with a row that
//! says why ([`LostIndex`]), until the caller has rebuilt it.
//!
//! Always true: a missing or damaged index never fails the opening; a crash at any moment leaves the row, and the
//! next open continues. A document whose rows are damaged does not hide the others: it stays missing, and the row
//! stays with it.
//!
//! Start reading at [`Store::rebuild`].

use std::collections::BTreeSet;

use redb::ReadableTable;

use super::Store;
use super::options::IndexFactory;
use crate::error::StoreError;
use crate::map;
use crate::progress::ProgressFn;
use crate::rows::envelope;
use crate::rows::keys;
use crate::rows::records::DocumentRecord;
use crate::rows::tables::Table;
use crate::rows::{catch_redb_panic, decode};
use crate::segment::build::{DocumentGroups, SegmentDraft, build_segment};
use crate::snapshot::{DamagedPart, OpenSegment, Snapshot};
#[cfg(doc)]
use crate::snapshot::{DerivedIndex, LostIndex};
use crate::staging::ManifestEdit;
use loci_types::ids::{DocumentId, SegmentId};

/// Takes what is damaged off the manifest.
pub(crate) fn drop_damaged<V: IndexFactory>(
    store: &Store<V>,
    damaged: &[DamagedPart],
) -> Result<(), StoreError> {
    let segment_ids = |vectors: bool| {
        let those = damaged.iter().filter(move |of| of.is_vectors == vectors);
        those.filter_map(|of| of.segment).collect::<Vec<_>>()
    };
    let mut edits = Vec::new();
    for damaged in damaged {
        if let Some(what) = damaged.derived_index() {
            let why = damaged.error.to_string();
            edits.push(ManifestEdit::MarkLost { index: what, why });
        }
    }
    if damaged.iter().any(|of| of.segment.is_some()) {
        edits.push(ManifestEdit::DropDamaged {
            segments: segment_ids(false),
            vectors: segment_ids(true),
        });
    }
    store.edit_for_repair(move |staging| {
        edits.into_iter().for_each(|edit| staging.edit(edit));
        Ok(())
    })
}

impl<V: IndexFactory> Store<V> {
    /// Gives up parts whose files lost pages while they were open: searches go on over the others. Returns how many;
    /// [`Store::rebuild`] builds segments again, and [`Snapshot::lost_indexes`] lists what else there is to build. Costs one
    /// load where nothing was lost.
    ///
    /// # Errors
    /// What the disk says.
    pub fn drop_parts_with_lost_pages(&self) -> Result<usize, StoreError> {
        if !map::any_lost() {
            return Ok(0);
        }
        let (damaged, pending) = {
            let view = self.latest_snapshot();
            let snapshot = self.index_factory().snapshot(&view);
            (
                snapshot.parts_with_lost_pages(),
                snapshot.has_lost_pending_pages(),
            )
        };
        if pending {
            self.apply_edits(vec![ManifestEdit::AbandonPendingSpace])?;
        }
        if !damaged.is_empty() {
            drop_damaged(self, &damaged)?;
        }
        Ok(damaged.len() + usize::from(pending))
    }

    /// Rebuilds what was damaged when this store, or its folder before, was opened. Searches and writes continue;
    /// [`Snapshot::missing_chunks`] counts what is still missing. Costs nothing where nothing is missing.
    ///
    /// `report` is called with (chunks built, chunks missing at first). `false`: it stopped the work, which the next call,
    /// or the next open, continues.
    ///
    /// # Errors
    /// What is damaged in the rows of a document, after all others are built.
    pub fn rebuild(&self, report: &mut ProgressFn<'_>) -> Result<bool, StoreError> {
        let (groups, total) = {
            let view = self.latest_snapshot();
            let snapshot = self.index_factory().snapshot(&view);
            if !snapshot.is_rebuilding() {
                return Ok(true);
            }
            (unindexed_documents(snapshot)?, snapshot.missing_chunks())
        };
        let mut failed = None;
        for documents in groups {
            let done = total.saturating_sub(
                self.index_factory()
                    .snapshot(&self.latest_snapshot())
                    .missing_chunks(),
            );
            if report(done, total).is_break() {
                return Ok(false);
            }
            if let Some(error) = self.rebuild_documents(&documents)? {
                failed = Some(error);
            }
        }
        for id in segments_without_vectors(self.index_factory().snapshot(&self.latest_snapshot())) {
            if report(total, total).is_break() {
                return Ok(false);
            }
            match self.rebuild_vectors(id) {
                Err(error) if error.is_row_damage() => failed = Some(error),
                done => done?,
            }
        }
        match failed {
            Some(error) => Err(error),
            None => self
                .apply_edits(vec![ManifestEdit::FinishRebuild])
                .map(|()| true),
        }
    }

    /// Builds a segment of `documents`, as far as they are still there. Where rows are damaged, one of those of each half:
    /// returns why some were left out.
    fn rebuild_documents(
        &self,
        documents: &[DocumentId],
    ) -> Result<Option<StoreError>, StoreError> {
        let draft = {
            let view = self.latest_snapshot();
            let rows = self.index_factory().snapshot(&view).rows();
            let is_stored = |id: &&DocumentId| !matches!(rows.document(**id), Ok(None));
            let stored: Vec<DocumentId> = documents.iter().filter(is_stored).copied().collect();
            let draft = build_segment(rows, &stored, self.index_factory().builder(&view));
            self.index_factory().snapshot(&view).check_pages()?;
            draft
        };
        let why = match draft {
            Ok(draft) => return self.add_rebuilt_segment(draft).map(|()| None),
            Err(why) => why,
        };
        if !matches!(
            why,
            StoreError::DamagedRow { .. } | StoreError::MissingRow { .. } | StoreError::Invalid(_)
        ) {
            return Err(why);
        }
        if documents.len() < 2 {
            return Ok(Some(why));
        }
        let (left, right) = documents.split_at(documents.len() / 2);
        let left = self.rebuild_documents(left)?;
        Ok(self.rebuild_documents(right)?.or(left))
    }

    fn add_rebuilt_segment(&self, draft: SegmentDraft) -> Result<(), StoreError> {
        if draft.runs.is_empty() {
            Ok(())
        } else {
            self.apply_edits(vec![ManifestEdit::AddRebuiltSegment(self.prepare(draft)?)])
        }
    }

    /// Builds the vectors of a segment again: nothing happens to one that was merged or got vectors meanwhile.
    fn rebuild_vectors(&self, id: SegmentId) -> Result<(), StoreError> {
        let edit = {
            let view = self.latest_snapshot();
            let snapshot = self.index_factory().snapshot(&view);
            let mut segments = snapshot.segments().iter();
            let Some(segment) = segments.find(|segment| segment.id == id) else {
                return Ok(());
            };
            let mut documents: Vec<DocumentId> = segment.live_documents().collect();
            documents.sort_unstable();
            let draft = build_segment(
                snapshot.rows(),
                &documents,
                self.index_factory().builder(&view),
            );
            snapshot.check_pages()?;
            let draft = draft?;
            let dead = !segment.dead.is_empty();
            let draft = self.prepare(draft)?;
            match (draft.vectors, dead) {
                (None, _) => return Ok(()),
                // Its chunks have other numbers than those of the segment.
                (vectors, true) => ManifestEdit::Merge {
                    old: vec![id],
                    draft: Some(SegmentDraft { vectors, ..draft }),
                    space: snapshot.manifest().active_space,
                },
                (Some((space, part)), false) => ManifestEdit::SetVectors {
                    space,
                    parts: vec![(id, part)],
                },
            }
        };
        self.apply_edits(vec![edit])
    }

    fn apply_edits(&self, edits: Vec<ManifestEdit>) -> Result<(), StoreError> {
        self.edit_for_repair(move |staging| {
            edits.into_iter().for_each(|edit| staging.edit(edit));
            Ok(())
        })
    }
}

/// Segments without vectors in a store that has some.
fn segments_without_vectors(snapshot: &Snapshot) -> Vec<SegmentId> {
    let active = snapshot.manifest().active_space;
    let segments = snapshot.segments().iter();
    let without = segments.filter(|segment| active.is_some() && segment.vectors.is_none());
    without.map(|segment| segment.id).collect()
}

/// Documents that have chunks and are in no segment, in groups that one segment each is built of.
fn unindexed_documents(snapshot: &Snapshot) -> Result<Vec<Vec<DocumentId>>, StoreError> {
    let segments = snapshot.segments().iter();
    let seen: BTreeSet<DocumentId> = segments.flat_map(OpenSegment::live_documents).collect();
    let mut groups = DocumentGroups::default();
    let table = Table::Documents;
    let document_rows = snapshot.tables().table(table);
    let mut rows = catch_redb_panic(table, || Ok(document_rows.iter()?))?;
    while let Some((key, value)) = catch_redb_panic(table, || Ok(rows.next().transpose()?))? {
        let (key, value) = (key.value(), value.value());
        let Some(id) = keys::u64_at(key, 0).map(DocumentId) else {
            continue;
        };
        // A row that cannot be read is reported when its segment is built.
        let payload = envelope::open(table.number(), key, value).ok();
        let record: Option<DocumentRecord> =
            payload.and_then(|payload| decode(table, key, payload).ok());
        let count = record.map_or(1, |record| u64::from(record.chunk_count));
        if count == 0 || seen.contains(&id) {
            continue;
        }
        groups.push(id, count);
    }
    Ok(groups.into_groups())
}
