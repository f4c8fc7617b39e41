//! Backups of a database that is in use, and restoring them.
//!
//! Start reading at [`Database::backup`] and [`Database::restore`].

use std::num::NonZeroUsize;
use std::path::Path;

use loci_storage::backup::{BackupReport, restore};

use crate::database::handle::{Database, Options};
use crate::error::Error;
use crate::progress::Progress;

impl Database {
    /// Copies the newest committed state to the folder `to`, which is missing, empty, or holds earlier backups of
    /// this store: then only segments that it lacks are copied. The backup is a complete store: open it to read
    /// it, or [`Database::restore`] it.
    ///
    /// Searches go on; writes wait while the pages of the database's file are read. Until the new state is complete,
    /// verified and durable, `to` has the earlier one, which it then replaces.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; [`loci_storage::StoreError::Invalid`] for a folder with other
    /// files, a backup of another store, or one of a later state of this; what is damaged in the store.
    pub fn backup(
        &self,
        to: impl AsRef<Path>,
        progress: &dyn Progress,
    ) -> Result<BackupReport, Error> {
        self.run_backup(to.as_ref(), None, progress)
    }

    /// As [`Database::backup`], and `to` retains the newest `keep` states: an earlier one can be restored by its
    /// generation.
    pub fn backup_with_retention(
        &self,
        to: impl AsRef<Path>,
        keep: NonZeroUsize,
        progress: &dyn Progress,
    ) -> Result<BackupReport, Error> {
        self.run_backup(to.as_ref(), Some(keep), progress)
    }

    fn run_backup(
        &self,
        to: &Path,
        keep: Option<NonZeroUsize>,
        progress: &dyn Progress,
    ) -> Result<BackupReport, Error> {
        // A merge would only write files that the backup lacks.
        let _turn = self.inner().merge_lock.lock();
        let mut report = |done, total| progress.report("copying rows", done, total);
        let backup = self.inner().store.backup(to, keep, &mut report)?;
        backup.ok_or(Error::Interrupted)
    }

    /// Restores the newest state of the backup in the folder `backup` to the folder `to`, which is missing or empty,
    /// or was left by a restore that was stopped, and opens it there as `options` say. The backup stays as it is.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Invalid`] where `to` holds anything else; [`loci_storage::StoreError::Missing`]
    /// where `backup` is none; what is damaged in it.
    pub fn restore(
        backup: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<Database, Error> {
        restore(&options.disk, backup.as_ref(), None, to.as_ref())?;
        Database::open_with(to, options)
    }

    /// As [`Database::restore`], of the state of a generation.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Invalid`], too, where the backup has no state of that generation.
    pub fn restore_generation(
        backup: impl AsRef<Path>,
        generation: u64,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<Database, Error> {
        restore(
            &options.disk,
            backup.as_ref(),
            Some(generation),
            to.as_ref(),
        )?;
        Database::open_with(to, options)
    }
}
