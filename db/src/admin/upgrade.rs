//! Upgrading a store of an earlier format to this one.
//!
//! Start reading at [`Database::upgrade`].

use std::path::Path;
use std::sync::Arc;

use loci_storage::disk::in_memory_overlay;
use loci_storage::upgrade::{UpgradeReport, upgrade};
use loci_storage::{Disk, StoreError};

use crate::database::handle::{Database, Options};
use crate::error::Error;
use crate::progress::Progress;

impl Database {
    /// Upgrades the store in `folder` to the format of this build, in one transaction: a crash leaves it as it was,
    /// or upgraded. Before that it is upgraded in memory, opened and checked in full; where that finds anything,
    /// nothing on disk is changed. `dry_run`: it ends there.
    ///
    /// A store that has the format already is checked likewise. What is derived from the whole store and was damaged is
    /// rebuilt ([`Database::recover`]); the rest is left as it is.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] with the first finding of the check; [`StoreError::Format`] for a later format;
    /// [`StoreError::Locked`] for a store that is open; [`Error::Interrupted`] when `progress` says so.
    ///
    /// # Cost
    /// A deep check.
    pub fn upgrade(
        folder: impl AsRef<Path>,
        dry_run: bool,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<UpgradeReport, Error> {
        let folder = folder.as_ref();
        let (tried, has_lost) = try_upgrade(folder, options, progress)?;
        if dry_run {
            return Ok(tried);
        }
        if tried.from != tried.to {
            upgrade(&options.disk, folder)?;
        }
        if has_lost {
            recover(folder, options, progress)?;
        }
        Ok(tried)
    }
}

/// Rebuilds what is derived from the whole store and was damaged.
fn recover(folder: &Path, options: &Options, progress: &dyn Progress) -> Result<(), Error> {
    let options = Options {
        create: false,
        ..options.clone()
    };
    let database = Database::open_with(folder, &options)?;
    database.recover(progress)?;
    database.close();
    Ok(())
}

/// Upgrades in memory, and checks the result. Also returns whether something derived from the whole store is to be
/// rebuilt.
fn try_upgrade(
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(UpgradeReport, bool), Error> {
    let disk: Arc<dyn Disk> = in_memory_overlay(Arc::clone(&options.disk));
    let upgraded = upgrade(&disk, folder)?;
    let options = Options {
        disk,
        create: false,
        ..options.clone()
    };
    let database = Database::open_with(folder, &options)?;
    let (mut count, mut first) = (0, None);
    let mut count_finding = |finding| {
        count += 1;
        first.get_or_insert(finding);
    };
    if upgraded.from == upgraded.to {
        match database.rebuild(progress) {
            // What keeps a document from being found is a finding below.
            Ok(()) | Err(Error::Store(_)) => {}
            Err(error) => return Err(error),
        }
        database.check_damaged(&mut count_finding);
        database.check_snapshot(true, progress, &mut count_finding)?;
    } else {
        // Segments that this build cannot read are rebuilt, which is no damage.
        database.rebuild(progress)?;
        database.check_snapshot(true, progress, &mut count_finding)?;
    }
    let has_lost = !database.lost().is_empty();
    database.close();
    match first {
        None => Ok((upgraded, has_lost)),
        Some(first) => Err(Error::Store(StoreError::Invalid(format!(
            "the upgraded store would be damaged in {count} places, so it is left as it is; the first: {} {} {}",
            first.section, first.key, first.finding
        )))),
    }
}
