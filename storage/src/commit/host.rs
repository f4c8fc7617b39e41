//! What the committing thread is asked to do, and what it needs of the store that it serves.

use std::sync::Arc;

use crossbeam_channel::Sender;
use loci_types::ids::DocumentId;

use crate::database::copy::{ChangedRows, DatabaseCopy};
use crate::database::file::{Database, WriteFailure};
use crate::error::StoreError;
use crate::files::segment_dir::SegmentDir;
#[cfg(doc)]
use crate::limits::EVENTUAL_DELAY_MAX;
use crate::rows::records::ManifestRecord;
use crate::segment::build::SegmentDraft;
use crate::segment::new_part::PartAllocator;
use crate::snapshot::OpenSegment;
use crate::staging::Staging;
use crate::staging::staged_rows::StagedRows;

/// A writer's closure.
pub(crate) type WriteFn = Box<dyn FnOnce(&mut Staging<'_>) -> Result<(), StoreError> + Send>;

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is durable.
    #[default]
    Immediate,
    /// When it is visible. It is durable with the next commit that is, which comes within
    /// [`EVENTUAL_DELAY_MAX`]; a crash before loses it whole, and all that were written after it.
    Eventual,
}

/// What the committing thread is asked.
pub(crate) enum Job {
    /// To run a writer and commit what it changed.
    Write {
        /// The writer.
        work: WriteFn,
        /// When it is acknowledged.
        durability: Durability,
        /// Whether it must not share a commit: it changes what the manifest lists, or may take long.
        is_exclusive: bool,
        /// Answered with the generation of the commit once it is visible, and as durable as asked.
        done: Sender<Result<u64, StoreError>>,
    },
    /// To note, from now on, which rows change. Answered once all that was committed is durable.
    TrackChanges {
        /// Answered when the note is begun.
        done: Sender<Result<u64, StoreError>>,
    },
    /// To hand over the rows noted so far, and to note on.
    TakeChanges {
        /// Answered with the rows.
        changes: Sender<ChangedRows>,
    },
    /// To note no more.
    StopTracking,
    /// To do this while nobody writes and everything that was committed is durable: to look at the database's file.
    RunExclusive {
        /// What to do.
        work: Box<dyn FnOnce() + Send>,
        /// Answered when it is done.
        done: Sender<Result<u64, StoreError>>,
    },
    /// To bring a copy of the database up to date with the rows noted, and to go on with it.
    Swap {
        /// The copy.
        copy: Box<DatabaseCopy>,
        /// Answered when the copy is the database.
        done: Sender<Result<u64, StoreError>>,
    },
}

/// What the committing thread needs of the store that it serves.
pub(crate) trait Host: Sync {
    /// The database.
    fn database(&self) -> Arc<Database>;
    /// Makes durable that the database's file has its name. Before, nothing committed is durable, and no part is
    /// published that a database of an earlier state would take for one of the future.
    fn sync_database_name(&self) -> Result<(), StoreError>;
    /// The folder of parts.
    fn dir(&self) -> &SegmentDir;
    /// What numbers parts.
    fn part_allocator(&self) -> &PartAllocator;
    /// The manifest that is committed, and its segments.
    fn committed(&self) -> (ManifestRecord, Vec<OpenSegment>);
    /// Builds segments of new documents, whose rows are `staged` over those that are published and have about
    /// `bytes`.
    fn build(
        &self,
        staged: &StagedRows,
        documents: &[DocumentId],
        bytes: usize,
    ) -> Result<Vec<SegmentDraft>, StoreError>;
    /// Opens and publishes the view of what was committed; `durable`: on disk too.
    fn publish(&self, durable: bool) -> Result<(), StoreError>;
    /// Goes on with another database that holds the same rows, durably.
    fn swap(&self, database: Database, failure: Arc<WriteFailure>) -> Result<(), StoreError>;
    /// An error when the disk failed a write to the database, whatever redb says of it.
    fn check(&self) -> Result<(), StoreError>;
    /// An error when pages vanished of a file that the manifest lists: what was read from it is not to be committed.
    fn check_pages(&self) -> Result<(), StoreError>;
}
