//! The open transaction of a group of writers: their rows, and what the manifest lists afterwards.
//!
//! What writers change is kept in memory until all have run: it goes to redb while segments of the same rows are
//! built.
//!
//! Always true of what [`Group::finish`] leaves: the manifest lists each live document in one
//! segment, tombstones cover the dead, and no row belongs to a part that is not listed.

use std::collections::BTreeSet;

use redb::WriteTransaction;
use roaring::RoaringBitmap;

use crate::commit::host::Host;
use crate::commit::lazy_tables::LazyTables;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::limits::{INLINE_PARTS_LEN_MAX, PARALLEL_BYTES_MIN};
use crate::rows::envelope;
use crate::rows::keys::{self, Key, MANIFEST, REBUILDING_KEY, id_key};
use crate::rows::records::{DocumentRecord, ManifestRecord, PartEntry, SegmentEntry, SpaceRecord};
use crate::rows::tables::Table;
use crate::rows::{RowCallback, Rows, Value, encode, missing, read};
use crate::segment::build::SegmentDraft;
use crate::segment::new_part::{NewPart, PartLocation};
use crate::snapshot::{DerivedIndex, OpenSegment};
use crate::staging::staged_rows::{RowOverlay, StagedRows};
use crate::staging::{Changes, ManifestEdit};
use loci_types::ids::{DocumentId, SegmentId, SpaceId};

/// The open transaction with the changes of the writers so far.
pub(crate) struct Group<'t> {
    tables: LazyTables<'t>,
    /// What writers changed, and is not in the tables yet.
    staged: StagedRows,
    manifest: ManifestRecord,
    documents_to_index: BTreeSet<DocumentId>,
    documents_to_tombstone: BTreeSet<DocumentId>,
    edits: Vec<ManifestEdit>,
    bytes: usize,
    /// Records which rows change, while the database is being copied.
    changed_rows: Option<&'t mut BTreeSet<(Table, Key)>>,
}

impl<'t> Group<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        manifest: ManifestRecord,
        changed_rows: Option<&'t mut BTreeSet<(Table, Key)>>,
    ) -> Group<'t> {
        let (documents_to_index, documents_to_tombstone) = (BTreeSet::new(), BTreeSet::new());
        Group {
            tables: LazyTables::new(transaction),
            staged: StagedRows::default(),
            manifest,
            documents_to_index,
            documents_to_tombstone,
            edits: Vec::new(),
            bytes: 0,
            changed_rows,
        }
    }

    /// The manifest as the writers so far leave it.
    pub(crate) fn manifest(&self) -> &ManifestRecord {
        &self.manifest
    }

    /// Bytes of rows that they changed.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether its writers do nothing but give up what is damaged: that reads no segment.
    pub(crate) fn only_drops_damaged(&self) -> bool {
        let drops_damaged = |edit: &ManifestEdit| {
            matches!(
                edit,
                ManifestEdit::DropDamaged { .. }
                    | ManifestEdit::MarkLost { .. }
                    | ManifestEdit::AbandonPendingSpace
            )
        };
        self.bytes == 0
            && self.documents_to_tombstone.is_empty()
            && self.edits.iter().all(drops_damaged)
    }

    fn overlay(&self) -> RowOverlay<'_> {
        RowOverlay {
            staged: &self.staged,
            base: &self.tables,
        }
    }

    /// Takes the changes of one writer.
    pub(crate) fn apply(&mut self, changes: Changes) {
        self.staged.extend(changes.rows);
        self.bytes += changes.bytes;
        self.manifest = changes.manifest;
        for id in &changes.documents_to_tombstone {
            self.documents_to_index.remove(id);
        }
        self.documents_to_tombstone
            .extend(changes.documents_to_tombstone);
        self.documents_to_index.extend(changes.documents_to_index);
        self.edits.extend(changes.edits);
    }

    /// Writes what writers changed to the tables.
    fn write(&mut self, staged: &StagedRows) -> Result<(), StoreError> {
        for (table, key, row) in staged.iter() {
            match row {
                Some(payload) => self.put(table, key, payload)?,
                None => self.delete(table, key)?,
            }
        }
        Ok(())
    }

    /// Writes what writers changed, and builds the segments of documents that are new.
    fn write_and_build(&mut self, host: &dyn Host) -> Result<Vec<SegmentDraft>, StoreError> {
        let staged = std::mem::take(&mut self.staged);
        let documents: Vec<DocumentId> = self.documents_to_index.iter().copied().collect();
        let bytes = self.bytes;
        let build = || {
            if documents.is_empty() {
                Ok(Vec::new())
            } else {
                host.build(&staged, &documents, bytes)
            }
        };
        if bytes < PARALLEL_BYTES_MIN || documents.is_empty() {
            self.write(&staged)?;
            return build();
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("loci-build".into());
            // Where no thread can be started, this one does both.
            let Ok(built) = thread.spawn_scoped(scope, build) else {
                self.write(&staged)?;
                return build();
            };
            let written = self.write(&staged);
            let built = built.join();
            written?;
            built.map_err(|_| StoreError::index("building a segment panicked"))?
        })
    }

    fn put(&mut self, table: Table, key: &[u8], payload: &[u8]) -> Result<(), StoreError> {
        let value = envelope::seal(table.number(), key, payload);
        self.record_change(table, key);
        self.tables
            .table_mut(table)?
            .insert(key, value.as_slice())?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        self.record_change(table, key);
        self.tables.table_mut(table)?.remove(key)?;
        Ok(())
    }

    fn record_change(&mut self, table: Table, key: &[u8]) {
        if let Some(changed_rows) = &mut self.changed_rows {
            changed_rows.insert((table, key.to_vec()));
        }
    }

    /// Tombstones, the new segments, edits, the manifest. Returns the generation.
    pub(crate) fn finish(
        mut self,
        host: &dyn Host,
        segments: &[OpenSegment],
    ) -> Result<u64, StoreError> {
        self.manifest.generation += 1;
        let drafts = self.write_and_build(host)?;
        self.tombstone_documents(segments)?;
        if !drafts.is_empty() {
            reach("segment-built");
            for draft in drafts {
                let at = self.manifest.segments.len();
                self.add_segment(host, draft, at)?;
            }
        }
        for edit in std::mem::take(&mut self.edits) {
            self.apply_edit(host, segments, edit)?;
        }
        self.manifest.next_part = host.part_allocator().next_id();
        let manifest = encode(&self.manifest)?;
        self.put(Table::Meta, MANIFEST, &manifest)?;
        Ok(self.manifest.generation)
    }

    /// Marks what died in older segments; a segment that is all dead is no longer listed.
    fn tombstone_documents(&mut self, segments: &[OpenSegment]) -> Result<(), StoreError> {
        for segment in segments {
            let runs = self
                .documents_to_tombstone
                .iter()
                .filter_map(|&id| segment.live_run(id));
            let runs: Vec<_> = runs.collect();
            if runs.is_empty() {
                continue;
            }
            let mut dead = RoaringBitmap::clone(&segment.dead);
            for run in runs {
                dead.insert_range(run.first.0..run.end().0);
            }
            if dead.len() == u64::from(segment.chunk_count) {
                self.remove_segment(segment.id)?;
            } else {
                self.put_tombstones(segment.id, &dead)?;
            }
        }
        Ok(())
    }

    fn put_tombstones(&mut self, id: SegmentId, dead: &RoaringBitmap) -> Result<(), StoreError> {
        let mut bytes = Vec::with_capacity(dead.serialized_size());
        dead.serialize_into(&mut bytes)
            .map_err(StoreError::io("serialising tombstones"))?;
        self.put(Table::Tombstones, &id_key(id.0), &bytes)
    }

    /// Lists a segment at a place among the others.
    fn add_segment(
        &mut self,
        host: &dyn Host,
        draft: SegmentDraft,
        at: usize,
    ) -> Result<SegmentId, StoreError> {
        let id = self.manifest.next_segment;
        self.manifest.next_segment += 1;
        let (chunk_count, document_count) = (draft.chunk_count, draft.runs.len() as u32);
        let active = self.manifest.active_space;
        let vectors = draft.vectors.filter(|(space, _)| active == Some(space.0));
        let base = self.store_part(host, draft.base)?;
        let vectors = vectors
            .map(|(space, part)| Ok::<_, StoreError>((space.0, self.store_part(host, part)?)))
            .transpose()?;
        let entry = SegmentEntry {
            id,
            chunk_count,
            document_count,
            base,
            vectors,
            pending: None,
        };
        self.manifest.segments.insert(at, entry);
        Ok(SegmentId(id))
    }

    /// Lists a segment with its tombstones, unless all of it is dead.
    fn add_segment_with_dead(
        &mut self,
        host: &dyn Host,
        draft: SegmentDraft,
        at: usize,
        dead: &RoaringBitmap,
    ) -> Result<(), StoreError> {
        if dead.len() == u64::from(draft.chunk_count) {
            return Ok(());
        }
        let id = self.add_segment(host, draft, at)?;
        if dead.is_empty() {
            Ok(())
        } else {
            self.put_tombstones(id, dead)
        }
    }

    /// Takes a segment off the list, with its rows. Its files go with their last reader.
    fn remove_segment(&mut self, id: SegmentId) -> Result<(), StoreError> {
        let Some(at) = self.segment_index(id) else {
            return Ok(());
        };
        let entry = self.manifest.segments.remove(at);
        self.delete(Table::Tombstones, &id_key(id.0))?;
        entry.parts().try_for_each(|part| self.drop_part(part))
    }

    fn segment_index(&self, id: SegmentId) -> Option<usize> {
        let mut segments = self.manifest.segments.iter();
        segments.position(|entry| entry.id == id.0)
    }

    fn drop_part(&mut self, part: &PartEntry) -> Result<(), StoreError> {
        match part.file {
            Some(_) => Ok(()),
            None => self.delete(Table::Parts, &id_key(part.id)),
        }
    }

    /// Writes a part where its size says: in a row, or in a file of its own.
    fn store_part(&mut self, host: &dyn Host, part: NewPart) -> Result<PartEntry, StoreError> {
        let inlined = self.inlined_bytes();
        let fits = |len| inlined + len <= INLINE_PARTS_LEN_MAX;
        match part.allocate(
            host.part_allocator(),
            self.manifest.generation,
            host.dir(),
            fits,
        )? {
            PartLocation::File(entry) => Ok(entry),
            PartLocation::Row(entry, bytes) => {
                self.put(Table::Parts, &id_key(entry.id), &bytes)?;
                Ok(entry)
            }
        }
    }

    /// Bytes of all parts that lie in rows, projections aside: there are two of them at most.
    fn inlined_bytes(&self) -> u64 {
        let parts = self.manifest.parts();
        parts
            .filter(|part| part.file.is_none())
            .map(|part| part.len)
            .sum()
    }

    fn apply_edit(
        &mut self,
        host: &dyn Host,
        segments: &[OpenSegment],
        edit: ManifestEdit,
    ) -> Result<(), StoreError> {
        match edit {
            ManifestEdit::Merge { old, draft, space } => {
                if space != self.manifest.active_space {
                    return Ok(());
                }
                self.merge(host, segments, &old, draft)
            }
            ManifestEdit::DropDamaged {
                segments: segment_ids,
                vectors,
            } => {
                segment_ids
                    .into_iter()
                    .try_for_each(|id| self.remove_segment(id))?;
                for id in vectors {
                    let at = self.segment_index(id);
                    let part = at.and_then(|at| self.manifest.segments[at].vectors.take());
                    part.map_or(Ok(()), |(_, part)| self.drop_part(&part))?;
                }
                self.put(Table::Meta, REBUILDING_KEY, &[])
            }
            ManifestEdit::AddRebuiltSegment(draft) => {
                self.add_rebuilt_segment(host, segments, draft)
            }
            ManifestEdit::FinishRebuild => self.delete(Table::Meta, REBUILDING_KEY),
            ManifestEdit::DeactivateSpace => {
                self.clear_lost(DerivedIndex::Projection)?;
                self.deactivate()
            }
            ManifestEdit::DropAnalysis => self.drop_analysis(),
            ManifestEdit::MarkLost { index: what, why } => {
                match what {
                    DerivedIndex::Projection => self.deactivate()?,
                    DerivedIndex::Analysis => self.drop_analysis()?,
                }
                self.put(Table::Meta, what.lost_key(), why.as_bytes())
            }
            ManifestEdit::ClearLost(what) => self.clear_lost(what),
            ManifestEdit::ActivateSpace { space, record } => {
                self.clear_lost(DerivedIndex::Projection)?;
                let active = self.manifest.active_space.replace(space.0);
                self.drop_space(active)?;
                self.put(Table::Spaces, &space.0.to_be_bytes(), &encode(&*record)?)
            }
            ManifestEdit::PrepareSpace {
                space,
                mut record,
                projection,
            } => {
                let pending = self.manifest.pending_space.replace(space.0);
                self.drop_space(pending)?;
                record.projection = projection
                    .map(|part| self.store_part(host, part))
                    .transpose()?;
                self.put(Table::Spaces, &space.0.to_be_bytes(), &encode(&*record)?)
            }
            ManifestEdit::SetVectors { space, parts } => self.set_vectors(host, space, parts),
            ManifestEdit::SwitchSpace => self.switch_space(),
            ManifestEdit::AbandonPendingSpace => {
                let pending = self.manifest.pending_space.take();
                self.drop_space(pending)
            }
            ManifestEdit::SetAnalysis(part) => {
                self.clear_lost(DerivedIndex::Analysis)?;
                self.drop_analysis()?;
                self.manifest.analysis = Some(self.store_part(host, part)?);
                Ok(())
            }
            ManifestEdit::AdoptManifest {
                manifest,
                projections,
            } => self.adopt_manifest(host, *manifest, projections),
        }
    }

    fn adopt_manifest(
        &mut self,
        host: &dyn Host,
        manifest: ManifestRecord,
        projections: Vec<(SpaceId, NewPart)>,
    ) -> Result<(), StoreError> {
        let own = std::mem::take(&mut self.manifest);
        self.manifest = ManifestRecord {
            generation: own.generation,
            next_segment: own.next_segment,
            next_part: own.next_part,
            segments: own.segments,
            dropped_spaces: own.dropped_spaces,
            analysis: own.analysis,
            ..manifest
        };
        for (space, part) in projections {
            let key = space.0.to_be_bytes();
            let record: Option<SpaceRecord> = read(&self.tables, Table::Spaces, &key)?;
            let mut record = record.ok_or_else(|| missing(Table::Spaces, &key))?;
            record.projection = Some(self.store_part(host, part)?);
            self.put(Table::Spaces, &key, &encode(&record)?)?;
        }
        Ok(())
    }

    fn add_rebuilt_segment(
        &mut self,
        host: &dyn Host,
        segments: &[OpenSegment],
        draft: SegmentDraft,
    ) -> Result<(), StoreError> {
        let mut dead = RoaringBitmap::new();
        for run in &draft.runs {
            let record: Option<DocumentRecord> = read(
                &self.tables,
                Table::Documents,
                &keys::document(run.document),
            )?;
            let is_same = record.is_some_and(|record| record.chunk_count == run.count);
            let mut others = segments.iter();
            if !is_same || others.any(|other| other.live_run(run.document).is_some()) {
                dead.insert_range(run.first.0..run.end().0);
            }
        }
        self.add_segment_with_dead(host, draft, self.manifest.segments.len(), &dead)
    }

    fn merge(
        &mut self,
        host: &dyn Host,
        segments: &[OpenSegment],
        old: &[SegmentId],
        draft: Option<SegmentDraft>,
    ) -> Result<(), StoreError> {
        let first = old.iter().filter_map(|&id| self.segment_index(id)).min();
        let Some(first) = first else { return Ok(()) };
        let sources = segments.iter().filter(|source| old.contains(&source.id));
        let sources: Vec<&OpenSegment> = sources.collect();
        old.iter().try_for_each(|&id| self.remove_segment(id))?;
        let Some(draft) = draft else { return Ok(()) };
        let mut dead = RoaringBitmap::new();
        for run in &draft.runs {
            let alive = |source: &&OpenSegment| source.live_run(run.document).is_some();
            if !sources.iter().any(alive) {
                dead.insert_range(run.first.0..run.end().0);
            }
        }
        self.add_segment_with_dead(host, draft, first.min(self.manifest.segments.len()), &dead)
    }

    fn set_vectors(
        &mut self,
        host: &dyn Host,
        space: SpaceId,
        parts: Vec<(SegmentId, NewPart)>,
    ) -> Result<(), StoreError> {
        let active = self.manifest.active_space == Some(space.0);
        if !active && self.manifest.pending_space != Some(space.0) {
            return Ok(());
        }
        for (segment, part) in parts {
            let Some(at) = self.segment_index(segment) else {
                continue;
            };
            let entry = self.store_part(host, part)?;
            let listed = &mut self.manifest.segments[at];
            let slot = if active {
                &mut listed.vectors
            } else {
                &mut listed.pending
            };
            if let Some((_, old)) = slot.replace((space.0, entry)) {
                self.drop_part(&old)?;
            }
        }
        Ok(())
    }

    fn switch_space(&mut self) -> Result<(), StoreError> {
        let Some(pending) = self.manifest.pending_space.take() else {
            return Ok(());
        };
        let active = self.manifest.active_space.replace(pending);
        self.clear_lost(DerivedIndex::Projection)?;
        self.drop_space(active)?;
        for segment in &mut self.manifest.segments {
            segment.vectors = segment.pending.take();
        }
        Ok(())
    }

    /// Deletes a space that is neither active nor being built any more, with its projection and
    /// the vectors of segments in it. The rows of its vectors are deleted little by little
    /// ([`crate::Staging::sweep_dropped_vectors`]).
    fn drop_space(&mut self, space: Option<u32>) -> Result<(), StoreError> {
        let Some(space) = space else { return Ok(()) };
        let key = space.to_be_bytes();
        let record: Option<SpaceRecord> = read(self, Table::Spaces, &key)?;
        if let Some(projection) = record.and_then(|record| record.projection) {
            self.drop_part(&projection)?;
        }
        self.delete(Table::Spaces, &key)?;
        let mut dropped = Vec::new();
        for segment in &mut self.manifest.segments {
            for vectors in [&mut segment.vectors, &mut segment.pending] {
                dropped.extend(vectors.take_if(|(of, _)| *of == space));
            }
        }
        let mut parts = dropped.iter().map(|(_, part)| part);
        parts.try_for_each(|part| self.drop_part(part))?;
        self.manifest.dropped_spaces.push(space);
        Ok(())
    }

    fn deactivate(&mut self) -> Result<(), StoreError> {
        let active = self.manifest.active_space.take();
        self.drop_space(active)
    }

    fn clear_lost(&mut self, what: DerivedIndex) -> Result<(), StoreError> {
        self.delete(Table::Meta, what.lost_key())
    }

    fn drop_analysis(&mut self) -> Result<(), StoreError> {
        match self.manifest.analysis.take() {
            Some(old) => self.drop_part(&old),
            None => Ok(()),
        }
    }
}

impl Rows for Group<'_> {
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
