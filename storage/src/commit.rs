//! The committing thread: writers one after another, one redb commit for a group of them.
//!
//! Order of a commit, and what a crash leaves at each step:
//! 1. rows go to the open redb transaction — nothing;
//! 2. large parts are published in the segment folder — orphan files, deleted by the next open;
//! 3. manifest and transaction are committed — everything, durably;
//! 4. the new view is published, and only then are writers answered.
//!
//! A commit that fails after its transaction was opened turns the store read-only: what redb or
//! the disk did is not known until the store is opened again.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender};
use redb::{Database, ReadableTable, WriteTransaction};
use roaring::RoaringBitmap;

use crate::dir::{SegmentDir, file_name};
use crate::envelope;
use crate::error::StoreError;
use crate::ids::{DocumentId, SegmentId, SpaceId};
use crate::keys;
use crate::limits::{GROUP_BYTES_MAX, GROUP_LEN_MAX, INLINE_PART_LEN_MAX, INLINE_PARTS_LEN_MAX};
use crate::records::{ManifestRecord, PartEntry, SegmentEntry, SpaceRecord};
use crate::rows::{Rows, Value, Visit, encode, read};
use crate::segment::PartBuilder;
use crate::snapshot::{MANIFEST, OpenSegment, number_key};
use crate::staging::{Changes, Edit, SegmentDraft, Staging};
use crate::tables::Table;

/// A writer's closure.
pub(crate) type Work = Box<dyn FnOnce(&mut Staging<'_>) -> Result<(), StoreError> + Send>;

/// What the committing thread is asked.
pub(crate) struct Job {
    pub(crate) work: Work,
    /// Whether it must not share a commit: it changes what the manifest lists.
    pub(crate) alone: bool,
    /// Answered with the generation of the commit once it is durable and visible.
    pub(crate) done: Sender<Result<u64, StoreError>>,
}

/// What the committing thread needs of the store that it serves.
pub(crate) trait Host {
    /// Segments that are committed.
    fn segments(&self) -> Vec<OpenSegment>;
    /// The manifest that is committed.
    fn manifest(&self) -> ManifestRecord;
    /// What builds the indexes of a new segment.
    fn build(&self, rows: &dyn Rows, documents: &[DocumentId]) -> Result<SegmentDraft, StoreError>;
    /// Opens and publishes the view of what was committed.
    fn publish(&self) -> Result<(), StoreError>;
}

/// Runs until every sender is gone.
pub(crate) fn run(host: &dyn Host, database: &Database, dir: &SegmentDir, jobs: &Receiver<Job>) {
    let mut broken: Option<String> = None;
    let mut held: Option<Job> = None;
    while let Some(job) = held.take().or_else(|| jobs.recv().ok()) {
        if let Some(why) = &broken {
            answer(&job.done, Err(StoreError::ReadOnly(why.clone())));
            continue;
        }
        let mut written = Vec::new();
        match commit_group(host, database, dir, job, jobs, &mut held, &mut written) {
            Ok(generation) => {
                for done in written {
                    answer(&done, Ok(generation));
                }
            }
            Err(error) => {
                let why = error.to_string();
                for done in written {
                    answer(&done, Err(StoreError::ReadOnly(why.clone())));
                }
                broken = Some(why);
            }
        }
    }
}

/// A writer that no longer waits has nobody to tell.
fn answer(done: &Sender<Result<u64, StoreError>>, result: Result<u64, StoreError>) {
    let _ = done.send(result);
}

/// Runs `first` and whoever waits behind it in one transaction. Those that succeed are pushed to
/// `written`; those that fail are answered here, and leave nothing behind.
fn commit_group(
    host: &dyn Host,
    database: &Database,
    dir: &SegmentDir,
    first: Job,
    jobs: &Receiver<Job>,
    held: &mut Option<Job>,
    written: &mut Vec<Sender<Result<u64, StoreError>>>,
) -> Result<u64, StoreError> {
    let transaction = begin(database);
    let mut transaction = match transaction {
        Ok(transaction) => transaction,
        Err(error) => {
            written.push(first.done);
            return Err(error);
        }
    };
    transaction.set_quick_repair(true);
    let segments = host.segments();
    let before = host.manifest();
    let generation = {
        let mut group = match Group::open(&transaction, before.clone()) {
            Ok(group) => group,
            Err(error) => {
                written.push(first.done);
                return Err(error);
            }
        };
        let alone = first.alone;
        group.run(first, &segments, written)?;
        while !alone && written.len() < GROUP_LEN_MAX && group.bytes < GROUP_BYTES_MAX {
            let Ok(job) = jobs.try_recv() else { break };
            if job.alone {
                *held = Some(job);
                break;
            }
            group.run(job, &segments, written)?;
        }
        if written.is_empty() {
            return Ok(before.generation);
        }
        group.finish(host, dir, &segments)?
    };
    transaction.commit()?;
    host.publish()?;
    Ok(generation)
}

fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    Ok(database.begin_write()?)
}

type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The open transaction with the changes of the writers so far.
struct Group<'t> {
    tables: Vec<WriteTable<'t>>,
    manifest: ManifestRecord,
    born: BTreeSet<DocumentId>,
    gone: BTreeSet<DocumentId>,
    edits: Vec<Edit>,
    bytes: usize,
}

impl<'t> Group<'t> {
    fn open(
        transaction: &'t WriteTransaction,
        manifest: ManifestRecord,
    ) -> Result<Group<'t>, StoreError> {
        let open = |table: &Table| transaction.open_table(table.definition());
        let tables = Table::ALL.iter().map(open).collect::<Result<_, _>>()?;
        let (born, gone) = (BTreeSet::new(), BTreeSet::new());
        Ok(Group {
            tables,
            manifest,
            born,
            gone,
            edits: Vec::new(),
            bytes: 0,
        })
    }

    /// Runs one writer. Its own failure is its own; a failure to apply its rows is everybody's.
    fn run(
        &mut self,
        job: Job,
        segments: &[OpenSegment],
        written: &mut Vec<Sender<Result<u64, StoreError>>>,
    ) -> Result<(), StoreError> {
        let mut staging = Staging::new(&*self, segments, self.manifest.clone());
        let work = job.work;
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut staging)));
        let changes = staging.changes;
        match result {
            Ok(Ok(())) => {
                written.push(job.done);
                self.apply(changes)
            }
            Ok(Err(error)) => {
                answer(&job.done, Err(error));
                Ok(())
            }
            Err(_) => {
                let panicked = "the writer panicked; its changes were dropped".into();
                answer(&job.done, Err(StoreError::Invalid(panicked)));
                Ok(())
            }
        }
    }

    fn apply(&mut self, changes: Changes) -> Result<(), StoreError> {
        for ((table, key), row) in changes.rows {
            match row {
                Some(payload) => self.put(table, &key, &payload)?,
                None => self.delete(table, &key)?,
            }
        }
        self.bytes += changes.bytes;
        self.manifest = changes.manifest;
        for id in &changes.gone {
            self.born.remove(id);
        }
        self.gone.extend(changes.gone);
        self.born.extend(changes.born);
        self.edits.extend(changes.edits);
        Ok(())
    }

    fn put(&mut self, table: Table, key: &[u8], payload: &[u8]) -> Result<(), StoreError> {
        let value = envelope::seal(table.number(), key, payload);
        self.tables[table.slot()].insert(key, value.as_slice())?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), StoreError> {
        self.tables[table.slot()].remove(key)?;
        Ok(())
    }

    /// Tombstones, the new segment, edits, the manifest. Returns the generation.
    fn finish(
        mut self,
        host: &dyn Host,
        dir: &SegmentDir,
        segments: &[OpenSegment],
    ) -> Result<u64, StoreError> {
        self.manifest.generation += 1;
        self.bury(segments)?;
        if !self.born.is_empty() {
            let born: Vec<DocumentId> = self.born.iter().copied().collect();
            let draft = host.build(&self, &born)?;
            let at = self.manifest.segments.len();
            self.list(dir, draft, at)?;
        }
        for edit in std::mem::take(&mut self.edits) {
            self.edit(dir, segments, edit)?;
        }
        let manifest = encode(&self.manifest)?;
        self.put(Table::Meta, MANIFEST, &manifest)?;
        Ok(self.manifest.generation)
    }

    /// Marks what died in older segments; a segment that is all dead is no longer listed.
    fn bury(&mut self, segments: &[OpenSegment]) -> Result<(), StoreError> {
        for segment in segments {
            let runs = self.gone.iter().filter_map(|&id| segment.live_run(id));
            let runs: Vec<_> = runs.collect();
            if runs.is_empty() {
                continue;
            }
            let mut dead = RoaringBitmap::clone(&segment.dead);
            for run in runs {
                dead.insert_range(run.first.0..run.end().0);
            }
            if dead.len() == u64::from(segment.chunk_count) {
                self.unlist(segment.id)?;
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
        self.put(Table::Tombstones, &number_key(id.0), &bytes)
    }

    /// Lists a segment at a place among the others.
    fn list(
        &mut self,
        dir: &SegmentDir,
        draft: SegmentDraft,
        at: usize,
    ) -> Result<SegmentId, StoreError> {
        let id = self.manifest.next_segment;
        self.manifest.next_segment += 1;
        let (chunk_count, document_count) = (draft.base.chunk_count(), draft.base.document_count());
        let active = self.manifest.active_space;
        let vectors = draft.vectors.filter(|(space, _)| active == Some(space.0));
        let base = self.place(dir, draft.base)?;
        let vectors = vectors
            .map(|(space, part)| Ok::<_, StoreError>((space.0, self.place(dir, part)?)))
            .transpose()?;
        let entry = SegmentEntry {
            id,
            chunk_count,
            document_count,
            base,
            vectors,
        };
        self.manifest.segments.insert(at, entry);
        Ok(SegmentId(id))
    }

    /// Takes a segment off the list, with its rows. Its files go with their last reader.
    fn unlist(&mut self, id: SegmentId) -> Result<(), StoreError> {
        let Some(at) = self
            .manifest
            .segments
            .iter()
            .position(|entry| entry.id == id.0)
        else {
            return Ok(());
        };
        let entry = self.manifest.segments.remove(at);
        self.delete(Table::Tombstones, &number_key(id.0))?;
        for part in [Some(entry.base), entry.vectors.map(|(_, part)| part)]
            .into_iter()
            .flatten()
        {
            self.delete(Table::Parts, &number_key(part.id))?;
        }
        Ok(())
    }

    /// Writes a part where its size says: in a row, or in a file of its own.
    fn place(&mut self, dir: &SegmentDir, part: PartBuilder) -> Result<PartEntry, StoreError> {
        let id = self.manifest.next_part;
        self.manifest.next_part += 1;
        let generation = self.manifest.generation;
        let part = part.layout(id, generation);
        let len = part.len as u64;
        if part.len <= INLINE_PART_LEN_MAX && self.inlined() + len <= INLINE_PARTS_LEN_MAX {
            self.put(Table::Parts, &number_key(id), &part.to_vec())?;
            return Ok(PartEntry {
                id,
                len,
                file: None,
            });
        }
        let random = getrandom::u64().map_err(|why| StoreError::Invalid(why.to_string()))?;
        let name = file_name(generation, random);
        dir.publish(&name, |file| {
            part.pieces().try_for_each(|piece| file.append(piece))
        })
        .map_err(StoreError::io(format!("writing {name}")))?;
        Ok(PartEntry {
            id,
            len,
            file: Some(name),
        })
    }

    /// Bytes of all parts that lie in rows.
    fn inlined(&self) -> u64 {
        let segments = self.manifest.segments.iter();
        let parts = segments.flat_map(|entry| {
            [
                Some(&entry.base),
                entry.vectors.as_ref().map(|(_, part)| part),
            ]
        });
        let parts = parts.chain([self.manifest.analysis.as_ref()]).flatten();
        parts
            .filter(|part| part.file.is_none())
            .map(|part| part.len)
            .sum()
    }

    fn edit(
        &mut self,
        dir: &SegmentDir,
        segments: &[OpenSegment],
        edit: Edit,
    ) -> Result<(), StoreError> {
        match edit {
            Edit::Merge { old, draft } => self.merge(dir, segments, &old, draft),
            Edit::Replace { old, draft } => {
                for id in old {
                    self.unlist(id)?;
                }
                let at = self.manifest.segments.len();
                draft.map_or(Ok(()), |draft| self.list(dir, draft, at).map(|_| ()))
            }
            Edit::Deactivate => {
                self.forget_space()?;
                self.drop_other_vectors(None)
            }
            Edit::DropAnalysis => self.drop_analysis(),
            Edit::Vectors(parts) => self.set_vectors(dir, parts),
            Edit::Activate {
                space,
                mut record,
                projection,
            } => {
                self.forget_space()?;
                let projection = projection.map(|part| self.place(dir, part)).transpose()?;
                record.projection = projection;
                self.put(Table::Spaces, &space.0.to_be_bytes(), &encode(&*record)?)?;
                self.manifest.active_space = Some(space.0);
                self.drop_other_vectors(Some(space))
            }
            Edit::Analysis(part) => {
                self.drop_analysis()?;
                self.manifest.analysis = Some(self.place(dir, part)?);
                Ok(())
            }
        }
    }

    fn merge(
        &mut self,
        dir: &SegmentDir,
        segments: &[OpenSegment],
        old: &[SegmentId],
        draft: SegmentDraft,
    ) -> Result<(), StoreError> {
        let listed = |id: &SegmentId| self.manifest.segments.iter().any(|e| e.id == id.0);
        if old.is_empty() || !old.iter().all(listed) {
            return Ok(());
        }
        let sources: Vec<&OpenSegment> = segments
            .iter()
            .filter(|segment| old.contains(&segment.id))
            .collect();
        let first = self
            .manifest
            .segments
            .iter()
            .position(|entry| old[0].0 == entry.id);
        let runs = draft.runs.clone();
        for &id in old {
            self.unlist(id)?;
        }
        let at = first.unwrap_or(0).min(self.manifest.segments.len());
        let id = self.list(dir, draft, at)?;
        let mut dead = RoaringBitmap::new();
        for run in runs {
            let alive = |source: &&OpenSegment| source.live_run(run.document).is_some();
            if !sources.iter().any(alive) {
                dead.insert_range(run.first.0..run.end().0);
            }
        }
        if dead.is_empty() {
            Ok(())
        } else {
            self.put_tombstones(id, &dead)
        }
    }

    fn set_vectors(
        &mut self,
        dir: &SegmentDir,
        parts: Vec<(SegmentId, PartBuilder)>,
    ) -> Result<(), StoreError> {
        let Some(space) = self.manifest.active_space else {
            return Ok(());
        };
        for (segment, part) in parts {
            let Some(at) = self
                .manifest
                .segments
                .iter()
                .position(|e| e.id == segment.0)
            else {
                continue;
            };
            if let Some((_, old)) = self.manifest.segments[at].vectors.take() {
                self.delete(Table::Parts, &number_key(old.id))?;
            }
            let entry = self.place(dir, part)?;
            self.manifest.segments[at].vectors = Some((space, entry));
        }
        self.drop_other_vectors(Some(SpaceId(space)))
    }

    /// Deletes the active space with its projection and the rows of its vectors.
    fn forget_space(&mut self) -> Result<(), StoreError> {
        let Some(space) = self.manifest.active_space.take() else {
            return Ok(());
        };
        let key = space.to_be_bytes();
        let record: Option<SpaceRecord> = read(self, Table::Spaces, &key)?;
        if let Some(projection) = record.and_then(|record| record.projection) {
            self.delete(Table::Parts, &number_key(projection.id))?;
        }
        self.delete(Table::Spaces, &key)?;
        let mut vectors = Vec::new();
        let after = keys::after_prefix(&key);
        self.scan(Table::Vectors, &key, after.as_deref(), &mut |key, _| {
            vectors.push(key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        vectors
            .iter()
            .try_for_each(|key| self.delete(Table::Vectors, key))
    }

    fn drop_analysis(&mut self) -> Result<(), StoreError> {
        match self.manifest.analysis.take() {
            Some(old) => self.delete(Table::Parts, &number_key(old.id)),
            None => Ok(()),
        }
    }

    /// Vectors of another space are of no use any more.
    fn drop_other_vectors(&mut self, space: Option<SpaceId>) -> Result<(), StoreError> {
        let space = space.map(|space| space.0);
        for at in 0..self.manifest.segments.len() {
            let vectors = &mut self.manifest.segments[at].vectors;
            let other = vectors.take_if(|(of, _)| Some(*of) != space);
            if let Some((_, part)) = other {
                self.delete(Table::Parts, &number_key(part.id))?;
            }
        }
        Ok(())
    }
}

impl Rows for Group<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        let row = self.tables[table.slot()].get(key)?;
        row.map(|row| Value::verified(table, key, row)).transpose()
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let rows = match to {
            Some(to) => self.tables[table.slot()].range::<&[u8]>(from..to)?,
            None => self.tables[table.slot()].range::<&[u8]>(from..)?,
        };
        for row in rows {
            let (key, row) = row?;
            let value = Value::verified(table, key.value(), row)?;
            if visit(key.value(), &value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
