//! What the committing thread and the callers share.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Instant;

use loci_types::ids::DocumentId;
use parking_lot::Mutex;

use super::options::IndexFactory;
use crate::commit::host::Host;
use crate::database::file::{Database, WriteFailure};
use crate::error::StoreError;
use crate::files::disk::Disk;
use crate::files::lock::StoreLock;
use crate::files::segment_dir::SegmentDir;
use crate::limits::PARALLEL_BYTES_MIN;
use crate::publish::{Pins, Published, Unlisted};
use crate::rows::records::ManifestRecord;
use crate::segment::Part;
use crate::segment::build::{SegmentDraft, build_segment};
use crate::segment::new_part::PartAllocator;
use crate::snapshot::{self, OpenSegment, PreviousSnapshot, Snapshot};
use crate::staging::staged_rows::{RowOverlay, StagedRows};

/// What the committing thread and the callers share.
pub(super) struct Shared<V: IndexFactory> {
    pub(super) index_factory: V,
    pub(super) view: Published<V::IndexedSnapshot>,
    pub(super) pins: Arc<Pins<Instant>>,
    pub(super) database: Mutex<(Arc<Database>, Arc<WriteFailure>)>,
    /// Whether the folder is known to keep the name of the database's file.
    pub(super) is_name_synced: AtomicBool,
    /// Held by whoever writes the database anew.
    pub(super) rewriting: Mutex<()>,
    /// The committing thread, which must not wait for itself.
    pub(super) commit_thread: OnceLock<ThreadId>,
    pub(super) files: Files,
    pub(super) dir: SegmentDir,
    pub(super) part_allocator: PartAllocator,
    /// The newest segments, so that the next snapshot shares their open parts.
    pub(super) committed: Mutex<CommittedState>,
    pub(super) unlisted: Mutex<Unlisted<Arc<Part>>>,
    // Held by every view too: until the last is gone no other process may touch the files.
    pub(super) lock: Arc<StoreLock>,
}

/// Where the files lie.
pub(super) struct Files {
    pub(super) disk: Arc<dyn Disk>,
    /// Where copies are written: not what is only in memory, as it is for a store that is opened to be read only.
    pub(super) copy_disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) cache_bytes: usize,
}

#[derive(Clone, Default)]
pub(super) struct CommittedState {
    pub(super) manifest: ManifestRecord,
    pub(super) segments: Vec<OpenSegment>,
    pub(super) other_parts: Vec<Arc<Part>>,
}

impl CommittedState {
    pub(super) fn from_snapshot(snapshot: &Snapshot) -> CommittedState {
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
