//! Backups of a database that is used meanwhile, and putting them back.
//!
//! Start reading at [`Database::backup`] and [`Database::restore`].

use std::path::Path;

use loci_storage::backup::{Backup, restore};

use crate::database::{Database, Options};
use crate::error::Error;
use crate::progress::Progress;

impl Database {
    /// Copies the newest committed state to the folder `to`, which is missing, empty, or holds an earlier backup of
    /// this store: then only segments that it lacks are copied. The backup is a store of its own: open it to look
    /// something up in it, or [`Database::restore`] it.
    ///
    /// Searches and writes go on. Until the new state is whole and durable, `to` keeps the earlier one.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; [`loci_storage::StoreError::Invalid`] for a folder with other
    /// files, a backup of another store, or one of a later state of this; what is damaged in the store.
    pub fn backup(&self, to: impl AsRef<Path>, progress: &dyn Progress) -> Result<Backup, Error> {
        // Merges would only make files that the backup lacks.
        let _turn = self.inner().upkeep.lock();
        let mut report = |done, total| progress.report("copying rows", done, total);
        let backup = self.inner().store.backup(to.as_ref(), &mut report)?;
        backup.ok_or(Error::Interrupted)
    }

    /// Puts the backup in the folder `backup` into the folder `to`, which is missing or empty, and opens it there as
    /// `options` say. The backup stays as it is.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Invalid`] where `to` holds anything; [`loci_storage::StoreError::Missing`] where
    /// `backup` is none; what is damaged in it.
    pub fn restore(
        backup: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<Database, Error> {
        restore(&options.disk, backup.as_ref(), to.as_ref())?;
        Database::open_with(to, options)
    }
}
