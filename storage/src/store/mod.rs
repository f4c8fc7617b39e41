//! The store: opens the folder, starts the committing thread, publishes snapshots. `rebuild.rs` rebuilds damaged segments.
//!
//! The caller opens the indexes of each [`Snapshot`]; after each commit the store publishes the newest
//! indexed snapshot by one atomic pointer swap. A reader may hold one for any time.
//! Start reading at [`Store::open`].

mod open;
mod options;
mod pages;
mod rebuild;
mod rewrite;
mod shared;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;

use self::shared::Shared;
use crate::commit::host::{Durability, Host, Job};
use crate::error::StoreError;
use crate::files::disk::Disk;
use crate::files::names::DATABASE;
use crate::files::segment_dir::SegmentDir;
use crate::segment::build::SegmentDraft;
use crate::segment::new_part::NewPart;
#[cfg(doc)]
use crate::snapshot::Snapshot;
use crate::snapshot::{DamagedPart, LostIndex};
use crate::staging::Staging;

pub use crate::database::format::FORMAT;
pub use options::{IndexFactory, StoreOptions};
pub use rewrite::RewriteReport;

/// An open store.
pub struct Store<V: IndexFactory> {
    shared: Arc<Shared<V>>,
    sender: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    damaged: Vec<DamagedPart>,
    lost_indexes: Vec<LostIndex>,
    read_only: bool,
}

/// Readers of superseded snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupersededSnapshots {
    /// How many such snapshots are held.
    pub count: usize,
    /// How long ago the oldest of them was superseded. What it needs stays on disk since then.
    pub oldest: Option<Duration>,
}

impl<V: IndexFactory> Store<V> {
    /// The newest snapshot. Costs one atomic read; holding it pins its files.
    pub fn latest_snapshot(&self) -> Arc<V::IndexedSnapshot> {
        self.shared.view.pin()
    }

    /// What opens and builds the indexes.
    pub fn index_factory(&self) -> &V {
        &self.shared.index_factory
    }

    /// Parts that were unusable when the store was opened.
    pub fn damaged(&self) -> &[DamagedPart] {
        &self.damaged
    }

    /// What was missing when the store was opened, as it was damaged then or before, and is to be rebuilt.
    pub fn lost_indexes(&self) -> &[LostIndex] {
        &self.lost_indexes
    }

    /// Runs `work` in the committing thread; when this returns, its changes are durable and in the
    /// newest snapshot, or dropped. After [`StoreError::ReadOnly`] which of both is not known until the
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
    /// take long. Writers wait until it ends, but share neither its commit nor its failure.
    pub fn edit<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.check_writable()?;
        self.edit_for_repair(work)
    }

    /// As [`Store::edit`], for repairs, which change no row: also for a read-only store, in memory.
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

    /// Sends a job to the committing thread and waits for its result.
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

    /// How many of its files lost pages while they were open, until now. A caller that reads in many calls compares it
    /// before and after ([`Snapshot::check_pages`] is for one snapshot).
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

    /// Snapshots that are held although newer ones were published.
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

    /// Waits for the writers in the queue and closes the store. Snapshots that are still held stay
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

impl<V: IndexFactory> Drop for Store<V> {
    fn drop(&mut self) {
        self.stop();
    }
}
