//! Bringing a store of an earlier format up to this one.
//!
//! A step leads from each format to the next. All of them, and the new number, are one transaction: a crash leaves the
//! store as it was or as it shall be. Views are not looked at: those that this build cannot read are built again when
//! the store is opened.
//!
//! Start reading at [`upgrade`].

use std::path::Path;
use std::sync::Arc;

use redb::WriteTransaction;
use serde::Serialize;

use crate::database::file::open_file;
use crate::database::format::{FORMAT, read_format};
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::files::disk::Disk;
use crate::files::folder::exists;
use crate::files::lock::StoreLock;
use crate::files::names::DATABASE;
use crate::files::unfinished;
use crate::rows::envelope;
use crate::rows::keys::FORMAT_KEY;
use crate::rows::tables::Table;

/// Bytes of rows that are kept cached meanwhile.
const CACHE_BYTES: usize = 64 << 20;

/// What leads from one format to the next.
type UpgradeStep = fn(&WriteTransaction) -> Result<(), StoreError>;

/// The step from format 0 is the first.
const STEPS: [UpgradeStep; FORMAT as usize] = [create_missing_tables, create_missing_tables];

/// What an upgrade did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UpgradeReport {
    /// The format that the store had.
    pub from: u32,
    /// The format that it has.
    pub to: u32,
}

/// Brings the store in `folder` up to [`FORMAT`]. One that has it is left as it is.
///
/// # Errors
/// [`StoreError::Missing`] where there is none; [`StoreError::Locked`] where it is open; [`StoreError::Format`] for one of
/// a later format.
pub fn upgrade(disk: &Arc<dyn Disk>, folder: &Path) -> Result<UpgradeReport, StoreError> {
    let path = folder.join(DATABASE);
    if !exists(&**disk, &path)? {
        unfinished::check_complete(&**disk, folder)?;
        return Err(StoreError::Missing {
            path: folder.to_path_buf(),
        });
    }
    let _lock = StoreLock::acquire(&**disk, folder)?;
    let (database, failure) = open_file(&**disk, &path, CACHE_BYTES)?;
    let from = read_format(&database)?;
    let steps = STEPS.get(from as usize..);
    let steps = steps.ok_or(StoreError::Format {
        found: from,
        ours: FORMAT,
    })?;
    if !steps.is_empty() {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        steps.iter().try_for_each(|step| step(&transaction))?;
        {
            let mut meta = transaction.open_table(Table::Meta.definition())?;
            let value = envelope::seal(Table::Meta.number(), FORMAT_KEY, &FORMAT.to_le_bytes());
            meta.insert(FORMAT_KEY, value.as_slice())?;
        }
        reach("upgrade-prepared");
        transaction.commit()?;
        failure.check()?;
        reach("upgrade-committed");
    }
    Ok(UpgradeReport { from, to: FORMAT })
}

/// Format 1 has all tables from the first, and format 2 one for assets.
fn create_missing_tables(transaction: &WriteTransaction) -> Result<(), StoreError> {
    for table in Table::ALL {
        transaction.open_table(table.definition())?;
    }
    Ok(())
}
