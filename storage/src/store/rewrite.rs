//! Rewriting the database to a new file, while readers and writers go on.

use crossbeam_channel::bounded;

use super::Store;
use super::options::IndexFactory;
use crate::commit::host::Job;
use crate::database::copy::DatabaseCopy;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::files::names::DATABASE;
use crate::limits::{CATCH_UP_ROUNDS_MAX, CATCH_UP_ROWS_MAX};
use crate::progress::ProgressFn;

/// What a rewrite of the database did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file after.
    pub after: u64,
}

impl<V: IndexFactory> Store<V> {
    /// Rewrites the database to a new file, which frees the unused space inside the old one. Readers
    /// continue; writers wait only while the rows that changed meanwhile are copied. Needs disk space
    /// for a second database file; a snapshot that is held retains the old one.
    ///
    /// `report` is called with (rows copied, rows in all); break stops it and leaves everything as it
    /// was: then `None` is returned.
    pub fn rewrite(
        &self,
        report: &mut ProgressFn<'_>,
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
        report: &mut ProgressFn<'_>,
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
        // Later than the recorded changes, so what changed meanwhile is recorded again.
        let view = self.latest_snapshot();
        copy.catch_up(self.index_factory().snapshot(&view).tables(), &changed_rows)?;
        Ok(changed_rows.len())
    }
}

/// While it lives, the committing thread records which rows change.
struct ChangeTrackingGuard<'s, V: IndexFactory>(&'s Store<V>);

impl<V: IndexFactory> Drop for ChangeTrackingGuard<'_, V> {
    fn drop(&mut self) {
        // A closed store records nothing.
        let _ = self.0.send_job(Job::StopTracking);
    }
}
