//! The store: opens the folder, starts the committing thread, hands out views.
//!
//! A *view* is whatever the caller makes of a [`Snapshot`] (its opened indexes); the store
//! publishes the newest by one atomic pointer swap after each commit, and a reader that holds one
//! keeps it for as long as it likes. Start reading at [`Store::open`].

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;

use crate::backup::STORE_ID_KEY;
use crate::build::{SegmentBuilder, SegmentDraft, build_segment};
use crate::commit::{self, Durability, Host, Job};
use crate::database_file::{Database, DatabaseFile, WriteFailure};
use crate::dir::{SegmentDir, create_folder, parse_generation};
use crate::disk::{Disk, OsDisk, in_memory_overlay};
use crate::envelope;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::ids::{DocumentId, SpaceId};
use crate::limits::{
    CATCH_UP_ROUNDS_MAX, CATCH_UP_ROWS_MAX, INLINE_PART_LEN_MAX, PARALLEL_BYTES_MIN, QUEUE_LEN_MAX,
};
use crate::lock::StoreLock;
use crate::parts::{NewPart, PartAllocator};
use crate::publish::{Pins, Published, Unlisted};
use crate::records::ManifestRecord;
use crate::repair::{self, LostIndex};
use crate::rewrite::{self, DATABASE_COPY_NAME, DatabaseCopy};
use crate::rows::{Rows, catch_redb_panic, encode, get, missing, read};
use crate::segment::Part;
use crate::snapshot::{
    self, DamagedPart, MANIFEST, OpenSegment, PreviousSnapshot, Snapshot, Tables,
};
use crate::staged::{RowOverlay, StagedRows};
use crate::staging::Staging;
use crate::tables::Table;
use crate::unfinished;

/// The format that this build reads and writes.
pub const FORMAT: u32 = 2;

pub(crate) const FORMAT_KEY: &[u8] = b"format";
pub(crate) const DATABASE: &str = "loci.redb";
pub(crate) const SEGMENTS: &str = "segments";

/// What a caller makes of snapshots, and what builds the segments that they consist of.
pub trait IndexFactory: Send + Sync + 'static {
    /// A snapshot with its indexes open.
    type IndexedSnapshot: Send + Sync + 'static;

    /// Whether the indexes of a segment can be opened. One that cannot is rebuilt from rows.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, segment: &OpenSegment) -> Result<(), StoreError>;

    /// Opens the indexes of a snapshot, sharing what did not change since `previous`.
    fn open(
        &self,
        snapshot: Snapshot,
        previous: Option<&Self::IndexedSnapshot>,
    ) -> Result<Self::IndexedSnapshot, StoreError>;

    /// The snapshot that a view was made of.
    fn snapshot<'v>(&self, view: &'v Self::IndexedSnapshot) -> &'v Snapshot;

    /// What writes the indexes of a new segment, in the vector space of `view`.
    fn builder<'v>(&'v self, view: &'v Self::IndexedSnapshot) -> Box<dyn SegmentBuilder + 'v>;
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Bytes that redb may keep cached.
    pub cache_bytes: usize,
    /// Where its files lie.
    pub disk: Arc<dyn Disk>,
    /// Bytes of an index part that may lie in the database's file; a larger one gets a file of its own.
    pub inline_len_max: usize,
    /// Whether the store is only read: nothing on disk is changed, others may read it too, and what opening it has to put
    /// right is put right in memory.
    pub read_only: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            create: true,
            cache_bytes: 256 << 20,
            disk: Arc::new(OsDisk),
            inline_len_max: INLINE_PART_LEN_MAX,
            read_only: false,
        }
    }
}

/// An open store.
pub struct Store<V: IndexFactory> {
    shared: Arc<Shared<V>>,
    sender: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    damaged: Vec<DamagedPart>,
    lost_indexes: Vec<LostIndex>,
    read_only: bool,
}

/// What the committing thread and the callers share.
struct Shared<V: IndexFactory> {
    index_factory: V,
    view: Published<V::IndexedSnapshot>,
    pins: Arc<Pins<Instant>>,
    database: Mutex<(Arc<Database>, Arc<WriteFailure>)>,
    /// Whether the folder is known to keep the name of the database's file.
    is_name_synced: AtomicBool,
    /// Held by whoever writes the database anew.
    rewriting: Mutex<()>,
    /// The committing thread, which must not wait for itself.
    commit_thread: OnceLock<ThreadId>,
    files: Files,
    dir: SegmentDir,
    part_allocator: PartAllocator,
    /// The newest segments, so that the next snapshot shares their open parts.
    committed: Mutex<CommittedState>,
    unlisted: Mutex<Unlisted<Arc<Part>>>,
    // Held by every view too: until the last is gone no other process may touch the files.
    lock: Arc<StoreLock>,
}

/// Where the files lie.
struct Files {
    disk: Arc<dyn Disk>,
    /// Where copies are written: not what is only in memory, as it is for a store that is opened to be read only.
    copy_disk: Arc<dyn Disk>,
    folder: PathBuf,
    cache_bytes: usize,
}

/// Readers of views that newer ones have taken the place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupersededSnapshots {
    /// How many such views are held.
    pub count: usize,
    /// How long ago the oldest of them was superseded. What it needs stays on disk since then.
    pub oldest: Option<Duration>,
}

/// What a rewrite of the database did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file after.
    pub after: u64,
}

#[derive(Clone, Default)]
struct CommittedState {
    manifest: ManifestRecord,
    segments: Vec<OpenSegment>,
    other_parts: Vec<Arc<Part>>,
}

impl CommittedState {
    fn from_snapshot(snapshot: &Snapshot) -> CommittedState {
        let spaces = [snapshot.active_space(), snapshot.pending_space()];
        let projections = spaces.into_iter().flatten();
        let projections = projections.filter_map(|space| space.projection.clone());
        CommittedState {
            manifest: snapshot.manifest().clone(),
            segments: snapshot.segments().to_vec(),
            other_parts: projections.chain(snapshot.analysis().cloned()).collect(),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Arc<Part>> {
        let segments = self.segments.iter().flat_map(|segment| {
            let vectors = segment.vectors.iter().chain(&segment.pending_vectors);
            [&segment.part]
                .into_iter()
                .chain(vectors.map(|(_, part)| part))
        });
        segments.chain(&self.other_parts)
    }
}

impl<V: IndexFactory> Store<V> {
    /// Opens the store in `folder`, and makes it where there is none and `options` say so.
    ///
    /// What a crash left is cleared away; views that cannot be used are set aside ([`Store::damaged`] tells which), to be
    /// built again by [`Store::rebuild`].
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Missing`], [`StoreError::Format`],
    /// [`StoreError::OldCopy`], and whatever the disk says.
    pub fn open(
        folder: &Path,
        options: &StoreOptions,
        create_factory: impl FnOnce(&dyn Rows) -> Result<V, StoreError>,
    ) -> Result<Store<V>, StoreError> {
        if options.read_only {
            let disk = in_memory_overlay(Arc::clone(&options.disk));
            let over = StoreOptions {
                disk,
                create: false,
                ..options.clone()
            };
            return Store::open_with_disk(folder, &over, &options.disk, create_factory);
        }
        Store::open_with_disk(folder, options, &options.disk, create_factory)
    }

    fn open_with_disk(
        folder: &Path,
        options: &StoreOptions,
        copy_disk: &Arc<dyn Disk>,
        create_factory: impl FnOnce(&dyn Rows) -> Result<V, StoreError>,
    ) -> Result<Store<V>, StoreError> {
        let path = folder.join(DATABASE);
        let disk = &options.disk;
        let there = disk.exists(&path);
        let there = there.map_err(StoreError::io(format!("looking for {}", path.display())))?;
        if !there {
            refuse_unfinished(disk, folder)?;
        }
        if !there && !options.create {
            return Err(StoreError::Missing {
                path: folder.to_path_buf(),
            });
        }
        create_folder(&**disk, folder)?;
        let lock = Arc::new(StoreLock::acquire(&**disk, folder)?);
        let dir = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
        let (database, failure) = open_database(folder, &path, options)?;
        reach("opened-database");
        let manifest = check_format(&database)?;
        let sync = || {
            disk.sync_folder(folder)
                .map_err(StoreError::io("syncing the folder"))
        };
        delete_orphan_files(&dir, &manifest, &Tables::open(&database)?, sync)?;
        delete_database_copy(&**disk, folder)?;
        // Whatever filled the folder was stopped after its last step.
        unfinished::remove_marker(&**disk, folder)?;
        reach("cleared-orphans");
        let (database, pins) = (Arc::new(database), Pins::new());
        let mut opened =
            snapshot::open(&database, &dir, &lock, &pins, PreviousSnapshot::default())?;
        let index_factory = create_factory(opened.snapshot.rows())?;
        opened.drop_unusable(|segment| index_factory.check(segment));
        let committed = CommittedState::from_snapshot(&opened.snapshot);
        let view = index_factory.open(opened.snapshot, None)?;
        let files = Files {
            disk: Arc::clone(disk),
            copy_disk: Arc::clone(copy_disk),
            folder: folder.to_path_buf(),
            cache_bytes: options.cache_bytes,
        };
        let shared = Arc::new(Shared {
            index_factory,
            view: Published::new(view),
            pins,
            database: Mutex::new((database, failure)),
            is_name_synced: AtomicBool::new(false),
            rewriting: Mutex::new(()),
            commit_thread: OnceLock::new(),
            files,
            dir,
            part_allocator: PartAllocator::new(&manifest, options.inline_len_max),
            committed: Mutex::new(committed),
            unlisted: Mutex::new(Unlisted::new()),
            lock,
        });
        let (sender, jobs) = bounded(QUEUE_LEN_MAX);
        let host = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("loci-commit".into())
            .spawn(move || commit::run(&*host, &jobs))
            .map_err(StoreError::io("starting the committing thread"))?;
        let _ = shared.commit_thread.set(thread.thread().id());
        let mut store = Store {
            shared,
            sender: Some(sender),
            thread: Some(thread),
            damaged: opened.damaged,
            lost_indexes: Vec::new(),
            read_only: options.read_only,
        };
        if !store.damaged.is_empty() {
            repair::drop_damaged(&store, &store.damaged)?;
        }
        let view = store.latest_snapshot();
        store.lost_indexes = store
            .index_factory()
            .snapshot(&view)
            .lost_indexes()
            .to_vec();
        drop(view);
        store.shared.check()?;
        Ok(store)
    }

    /// The newest view. Costs one atomic read; holding it pins its files.
    pub fn latest_snapshot(&self) -> Arc<V::IndexedSnapshot> {
        self.shared.view.pin()
    }

    /// What made the views.
    pub fn index_factory(&self) -> &V {
        &self.shared.index_factory
    }

    /// Parts that could not be used when the store was opened.
    pub fn damaged(&self) -> &[DamagedPart] {
        &self.damaged
    }

    /// What was missing when the store was opened, as it was damaged then or before, and is to be built anew.
    pub fn lost_indexes(&self) -> &[LostIndex] {
        &self.lost_indexes
    }

    /// Runs `work` in the committing thread; when this returns, its changes are durable and in the
    /// newest view, or dropped. After [`StoreError::ReadOnly`] which of both is not known until the
    /// store is opened again.
    ///
    /// Blocks while the queue is full.
    pub fn write<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.write_with(Durability::Immediate, work)
    }

    /// As [`Store::write`], acknowledged as `durability` says.
    pub fn write_with<R, F>(&self, durability: Durability, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.check_writable()?;
        self.submit_write(work, durability, false)
    }

    /// Whether it was opened to be read.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        if self.read_only {
            Err(StoreError::OpenedReadOnly)
        } else {
            Ok(())
        }
    }

    /// As [`Store::write`], in a commit of its own: for work that edits what the manifest lists, and for work that may
    /// take long. Who writes meanwhile waits for its end, but shares neither its commit nor its fate.
    pub fn edit<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.check_writable()?;
        self.edit_for_repair(work)
    }

    /// As [`Store::edit`], for what does not change what the store says: in memory, where it is only read.
    pub(crate) fn edit_for_repair<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.submit_write(work, Durability::Immediate, true)
    }

    /// Makes everything that was acknowledged durable.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.write(|_| Ok(()))
    }

    fn submit_write<R, F>(
        &self,
        work: F,
        durability: Durability,
        alone: bool,
    ) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let result = Arc::clone(&slot);
        self.submit(|done| Job::Write {
            work: Box::new(move |staging| {
                *result.lock() = Some(work(staging)?);
                Ok(())
            }),
            durability,
            is_exclusive: alone,
            done,
        })?;
        slot.lock().take().ok_or(StoreError::Closed)
    }

    /// Hands a job to the committing thread and waits for its answer.
    fn submit(
        &self,
        job: impl FnOnce(Sender<Result<u64, StoreError>>) -> Job,
    ) -> Result<u64, StoreError> {
        if self.shared.commit_thread.get() == Some(&std::thread::current().id()) {
            let why = "a writer asked its own store to write, and would wait for itself for ever";
            return Err(StoreError::Invalid(why.into()));
        }
        let (done, wait) = bounded(1);
        self.send_job(job(done))?;
        wait.recv().map_err(|_| StoreError::Closed)?
    }

    fn send_job(&self, job: Job) -> Result<(), StoreError> {
        let sender = self.sender.as_ref().ok_or(StoreError::Closed)?;
        sender.send(job).map_err(|_| StoreError::Closed)
    }

    /// What is wrong where the database's file lists its free pages, as far as anybody looked. Nothing is written to such
    /// a file: a store is opened to be read only, or writing ends.
    pub fn damaged_free_pages(&self) -> Option<String> {
        let database = self.shared.database();
        database.damaged_free_pages().map(str::to_owned)
    }

    /// Reads every page of the database's file against the checksums in its tree. Writers wait meanwhile. After a commit
    /// that failed there are none, and it is what would be found if the store were opened again.
    ///
    /// # Errors
    /// [`StoreError::DamagedFreePages`], after which nothing is written; [`StoreError::DamagedDatabase`].
    pub(crate) fn check_pages(&self) -> Result<(), StoreError> {
        if let Some(why) = self.damaged_free_pages() {
            return Err(StoreError::DamagedFreePages { why });
        }
        self.with_writes_paused(rewrite::check_file)
    }

    /// As [`Store::check_pages`], for a copy: where only the list of free pages is damaged, rows can be copied.
    pub(crate) fn check_row_pages(&self) -> Result<(), StoreError> {
        match self.check_pages() {
            Err(StoreError::DamagedFreePages { .. })
                if self.shared.database().has_read_all_rows() =>
            {
                Ok(())
            }
            Err(StoreError::DamagedFreePages { .. }) => {
                self.with_writes_paused(rewrite::check_file_rows)
            }
            checked => checked,
        }
    }

    /// What `read` says of the database's file.
    fn with_writes_paused(
        &self,
        read: fn(&Arc<dyn Disk>, &Path) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let files = &self.shared.files;
        let (disk, path) = (Arc::clone(&files.disk), files.folder.join(DATABASE));
        let database = self.shared.database();
        let slot = Arc::new(Mutex::new(Ok(())));
        let result = Arc::clone(&slot);
        let work = move || {
            let checked = read(&disk, &path);
            if let Err(StoreError::DamagedFreePages { why }) = &checked {
                database.stop_writing(why);
            }
            *result.lock() = checked;
        };
        let outcome = self.submit(|done| Job::RunExclusive {
            work: Box::new(work),
            done,
        });
        match outcome {
            Ok(_) => {}
            Err(StoreError::ReadOnly(_)) => return read(&files.disk, &files.folder.join(DATABASE)),
            Err(error) => return Err(error),
        }
        std::mem::replace(&mut *slot.lock(), Ok(()))
    }

    /// Writes the large parts of a segment to files, ahead of the commit that lists them.
    pub fn prepare(&self, draft: SegmentDraft) -> Result<SegmentDraft, StoreError> {
        let vectors = draft.vectors;
        let vectors = vectors
            .map(|(space, part)| Ok::<_, StoreError>((space, self.prepare_part(part)?)))
            .transpose()?;
        Ok(SegmentDraft {
            base: self.prepare_part(draft.base)?,
            vectors,
            ..draft
        })
    }

    /// Writes a part to a file, if it is too large for a row, ahead of the commit that lists it.
    pub fn prepare_part(&self, part: impl Into<NewPart>) -> Result<NewPart, StoreError> {
        self.shared.sync_database_name()?;
        part.into()
            .write(&self.shared.part_allocator, &self.shared.dir)
    }

    /// How many of its files lost pages while they were open, until now. Whoever reads by many calls compares it before
    /// and after ([`Snapshot::check_pages`] is for one view).
    pub fn lost_pages(&self) -> u64 {
        self.shared.dir.lost_pages()
    }

    /// Where a copy of the store is written.
    pub(crate) fn copy_disk(&self) -> &Arc<dyn Disk> {
        &self.shared.files.copy_disk
    }

    pub(crate) fn segment_dir(&self) -> &SegmentDir {
        &self.shared.dir
    }

    /// Views that are held although newer ones were published.
    pub fn superseded_snapshots(&self) -> SupersededSnapshots {
        let superseded = self.shared.pins.superseded();
        SupersededSnapshots {
            count: superseded.count,
            oldest: superseded.oldest.map(|at| at.elapsed()),
        }
    }

    /// Bytes of the database's file.
    pub fn database_bytes(&self) -> Result<u64, StoreError> {
        let files = &self.shared.files;
        let path = files.folder.join(DATABASE);
        let len = files.disk.len(&path);
        len.map_err(StoreError::io(format!("looking at {}", path.display())))
    }

    /// Writes the database anew, so that what is free inside its file is given back to the disk.
    /// Readers go on; writers wait only while the rows that changed meanwhile are copied. Needs room
    /// for a second database file, and a view that is held keeps the old one.
    ///
    /// `report` is told (rows copied, rows in all); break ends it, and leaves everything as it was:
    /// then `None` is returned.
    pub fn rewrite(
        &self,
        report: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Option<RewriteReport>, StoreError> {
        self.check_writable()?;
        let _turn = self.shared.rewriting.lock();
        let before = self.database_bytes()?;
        self.submit(|done| Job::TrackChanges { done })?;
        let tracking = ChangeTrackingGuard(self);
        let Some(copy) = self.copy_database(report)? else {
            return Ok(None);
        };
        reach("rewrite-copied");
        for _ in 0..CATCH_UP_ROUNDS_MAX {
            if self.catch_up(&copy)? <= CATCH_UP_ROWS_MAX {
                break;
            }
        }
        let copy = Box::new(copy);
        self.submit(|done| Job::Swap { copy, done })?;
        drop(tracking);
        let after = self.database_bytes()?;
        Ok(Some(RewriteReport { before, after }))
    }

    fn copy_database(
        &self,
        report: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Option<DatabaseCopy>, StoreError> {
        let files = &self.shared.files;
        let mut copy =
            DatabaseCopy::create(&files.disk, &files.folder, DATABASE, files.cache_bytes)?;
        let view = self.latest_snapshot();
        let tables = self.index_factory().snapshot(&view).tables();
        Ok(copy.copy_rows(tables, None, report)?.then_some(copy))
    }

    /// Copies rows that changed since `copy` was last up to date; returns how many.
    fn catch_up(&self, copy: &DatabaseCopy) -> Result<usize, StoreError> {
        let (changes, received) = bounded(1);
        self.send_job(Job::TakeChanges { changes })?;
        let changed_rows = received.recv().map_err(|_| StoreError::Closed)?;
        // Later than what was noted, so what changed meanwhile is noted again.
        let view = self.latest_snapshot();
        copy.catch_up(self.index_factory().snapshot(&view).tables(), &changed_rows)?;
        Ok(changed_rows.len())
    }

    /// Waits for the writers in the queue and closes the store. Views that are still held stay
    /// readable, and keep the store locked until they are dropped.
    pub fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the committing thread has been answered to its writers.
            let _ = thread.join();
        }
    }
}

/// While it lives, the committing thread notes which rows change.
struct ChangeTrackingGuard<'s, V: IndexFactory>(&'s Store<V>);

impl<V: IndexFactory> Drop for ChangeTrackingGuard<'_, V> {
    fn drop(&mut self) {
        // A store that is closed notes nothing.
        let _ = self.0.send_job(Job::StopTracking);
    }
}

impl<V: IndexFactory> Drop for Store<V> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<V: IndexFactory> Host for Shared<V> {
    fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database.lock().0)
    }

    fn sync_database_name(&self) -> Result<(), StoreError> {
        if self.is_name_synced.load(Ordering::Acquire) {
            return Ok(());
        }
        // redb syncs no directory. Whoever made the file may have died before it did.
        let Files { disk, folder, .. } = &self.files;
        disk.sync_folder(folder)
            .map_err(StoreError::io(format!("syncing {}", folder.display())))?;
        self.is_name_synced.store(true, Ordering::Release);
        Ok(())
    }

    fn dir(&self) -> &SegmentDir {
        &self.dir
    }

    fn part_allocator(&self) -> &PartAllocator {
        &self.part_allocator
    }

    fn committed(&self) -> (ManifestRecord, Vec<OpenSegment>) {
        let listed = self.committed.lock();
        (listed.manifest.clone(), listed.segments.clone())
    }

    fn build(
        &self,
        staged: &StagedRows,
        documents: &[DocumentId],
        bytes: usize,
    ) -> Result<Vec<SegmentDraft>, StoreError> {
        let view = self.view.pin();
        let base = self.index_factory.snapshot(&view).rows();
        let rows = &RowOverlay { staged, base };
        let build =
            |batch: &[DocumentId]| build_segment(rows, batch, self.index_factory.builder(&view));
        let batch_count = bytes / PARALLEL_BYTES_MIN;
        if batch_count < 2 {
            // To ask how many cores there are reads files: a twentieth of a small commit.
            return Ok(vec![build(documents)?]);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let batch_count = cores.min(batch_count);
        let mut batches = documents.chunks(documents.len().div_ceil(batch_count));
        let first = batches.next().unwrap_or_default();
        std::thread::scope(|scope| {
            let spawn = |batch| {
                let thread = std::thread::Builder::new().name("loci-build".into());
                // What no thread can be started for is built here.
                let spawned = thread.spawn_scoped(scope, move || build(batch));
                spawned.map_err(|_| batch)
            };
            let others: Vec<_> = batches.map(spawn).collect();
            let mut drafts = vec![build(first)?];
            for other in others {
                let panicked = |_| StoreError::index("building a segment panicked");
                drafts.push(match other {
                    Ok(other) => other.join().map_err(panicked)??,
                    Err(batch) => build(batch)?,
                });
            }
            Ok(drafts)
        })
    }

    fn publish(&self, durable: bool) -> Result<(), StoreError> {
        let before = self.committed.lock().clone();
        let previous = PreviousSnapshot {
            segments: &before.segments,
            parts: &before.other_parts,
        };
        let database = self.database();
        let opened = snapshot::open(&database, &self.dir, &self.lock, &self.pins, previous)?;
        if let Some(damaged) = opened.damaged.into_iter().next() {
            return Err(damaged.error);
        }
        let after = CommittedState::from_snapshot(&opened.snapshot);
        let generation = after.manifest.generation;
        let view = self
            .index_factory
            .open(opened.snapshot, Some(&self.view.pin()))?;
        self.view.publish(view);
        let omitted = omitted_parts(&before, &after);
        self.unlisted
            .lock()
            .add(omitted, durable, |part| part.retire());
        *self.committed.lock() = after;
        if durable {
            self.part_allocator.set_durable_generation(generation);
        }
        Ok(())
    }

    fn swap(&self, database: Database, failure: Arc<WriteFailure>) -> Result<(), StoreError> {
        *self.database.lock() = (Arc::new(database), failure);
        self.publish(true)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.database.lock().1.check()
    }

    fn check_pages(&self) -> Result<(), StoreError> {
        snapshot::check_pages(self.committed.lock().parts())
    }
}

/// Parts of `before` that `after` does not list.
fn omitted_parts(before: &CommittedState, after: &CommittedState) -> Vec<Arc<Part>> {
    let retained_ids: HashSet<u64> = after.parts().map(|part| part.header().part).collect();
    let is_omitted = |part: &&Arc<Part>| !retained_ids.contains(&part.header().part);
    before.parts().filter(is_omitted).cloned().collect()
}

/// Refuses a folder that a stopped command left; one that is at work there has it locked.
fn refuse_unfinished(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    if disk.exists(folder).unwrap_or_default()
        && unfinished::check_complete(&**disk, folder).is_err()
    {
        let _lock = StoreLock::acquire(&**disk, folder)?;
        unfinished::check_complete(&**disk, folder)?;
    }
    Ok(())
}

/// Refuses a folder whose database is gone: a new one in its place would take what is left for leftovers of its own.
fn refuse_missing_database(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    let segments = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
    let names = segments
        .list()
        .map_err(StoreError::io("listing segments"))?;
    if names.iter().any(|name| parse_generation(name).is_some()) {
        Err(StoreError::NoDatabase {
            path: folder.to_path_buf(),
        })
    } else {
        Ok(())
    }
}

/// Opens the database. A new one is made whole under another name first: what a kill in the middle of
/// making it leaves is none.
fn open_database(
    folder: &Path,
    path: &Path,
    options: &StoreOptions,
) -> Result<(Database, Arc<WriteFailure>), StoreError> {
    let disk = &options.disk;
    // Looked for again, under the lock: another process may have made it meanwhile.
    let there = disk.exists(path);
    let new_path = if there.map_err(StoreError::io(format!("looking for {}", path.display())))? {
        None
    } else {
        unfinished::check_complete(&**disk, folder)?;
        refuse_missing_database(disk, folder)?;
        delete_database_copy(&**disk, folder)?;
        Some(folder.join(DATABASE_COPY_NAME))
    };
    let at = new_path.as_deref().unwrap_or(path);
    let file = disk.open(at).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked {
            path: folder.to_path_buf(),
            holders: disk.lock_holders(at),
        },
        _ => StoreError::io(format!("opening {}", at.display()))(source),
    })?;
    let (file, failure) = DatabaseFile::new(file);
    failure.buffer_unsynced();
    let open = if options.read_only {
        Database::open_in_memory
    } else {
        Database::open
    };
    let database = open(file, options.cache_bytes)?;
    failure.check()?;
    if let Some(new_path) = new_path {
        create_tables(&database)?;
        failure.check()?;
        disk.rename(&new_path, path)
            .and_then(|()| disk.sync_folder(folder))
            .map_err(StoreError::io(format!("renaming {}", new_path.display())))?;
    }
    Ok((database, failure))
}

/// Checks the format of a store. Returns its manifest.
pub(crate) fn check_format(database: &Database) -> Result<ManifestRecord, StoreError> {
    if is_empty(database)? {
        let why = "loci.redb is empty: it was cut, or is no store's; restore it from a backup";
        return Err(StoreError::Invalid(why.into()));
    }
    let found = read_format(database)?;
    if found != FORMAT {
        return Err(StoreError::Format {
            found,
            ours: FORMAT,
        });
    }
    let tables = Tables::open(database)?;
    read(&tables, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))
}

/// The format of a store, which may lack tables that this one has.
pub(crate) fn read_format(database: &Database) -> Result<u32, StoreError> {
    use redb::ReadableDatabase;
    catch_redb_panic(Table::Meta, || {
        let meta = database.begin_read()?;
        let meta = meta.open_table(Table::Meta.definition())?;
        let format = get(&meta, Table::Meta, FORMAT_KEY)?;
        let format = format.ok_or_else(|| missing(Table::Meta, FORMAT_KEY))?;
        let format = format.first_chunk();
        Ok(format.map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes)))
    })
}

fn is_empty(database: &Database) -> Result<bool, StoreError> {
    use redb::ReadableDatabase;
    catch_redb_panic(Table::Meta, || {
        Ok(database.begin_read()?.list_tables()?.next().is_none())
    })
}

fn create_tables(database: &Database) -> Result<(), StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    for table in Table::ALL {
        transaction.open_table(table.definition())?;
    }
    let manifest = ManifestRecord {
        next_document: 1,
        next_segment: 1,
        next_part: 1,
        next_space: 1,
        next_item: 1,
        next_edit: 1,
        next_work: 0,
        next_response: 1,
        ..ManifestRecord::default()
    };
    let mut identity = [0; 16];
    getrandom::fill(&mut identity).map_err(|why| StoreError::Invalid(why.to_string()))?;
    {
        let mut meta = transaction.open_table(Table::Meta.definition())?;
        let rows = [
            (FORMAT_KEY, FORMAT.to_le_bytes().to_vec()),
            (MANIFEST, encode(&manifest)?),
            (STORE_ID_KEY, identity.to_vec()),
        ];
        for (key, payload) in rows {
            let value = envelope::seal(Table::Meta.number(), key, &payload);
            meta.insert(key, value.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Deletes files that no manifest lists, unless they say that the database is an older copy. `sync` makes its name
/// durable before: the database that had it until then may list them.
fn delete_orphan_files(
    dir: &SegmentDir,
    manifest: &ManifestRecord,
    rows: &dyn Rows,
    sync: impl FnOnce() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let names = dir.list().map_err(StoreError::io("listing segments"))?;
    let newest = manifest.generation.saturating_add(1);
    let newer = |name: &&String| parse_generation(name).is_some_and(|of| of > newest);
    if let Some(segment) = names.iter().find(newer) {
        let (store, segment) = (manifest.generation, segment.clone());
        return Err(StoreError::StaleDatabase { store, segment });
    }
    let mut listed: HashSet<String> = manifest.parts().filter_map(|e| e.file.clone()).collect();
    for id in [manifest.active_space, manifest.pending_space]
        .into_iter()
        .flatten()
    {
        let space = rows.space(SpaceId(id))?;
        let projection = space.and_then(|space| space.projection);
        listed.extend(projection.and_then(|entry| entry.file));
    }
    let orphans: Vec<&String> = names
        .iter()
        .filter(|name| !listed.contains(*name))
        .collect();
    if !orphans.is_empty() {
        sync()?;
    }
    for name in orphans {
        dir.remove(name)
            .map_err(StoreError::io(format!("removing {name}")))?;
    }
    Ok(())
}

/// Deletes a copy of the database that a crash left.
fn delete_database_copy(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(DATABASE_COPY_NAME);
    let there = disk.exists(&path);
    match there {
        Ok(false) => Ok(()),
        Ok(true) => disk.remove(&path),
        Err(error) => Err(error),
    }
    .map_err(StoreError::io(format!("removing {}", path.display())))
}
