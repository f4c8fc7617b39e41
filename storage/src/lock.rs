//! One process a store: a lock on a file of its own, which the system drops when the process ends.
//! The database's file is locked too, against a lock file that was removed by hand.

use std::path::Path;

use crate::disk::{Disk, FileLock};
use crate::error::StoreError;

const NAME: &str = "LOCK";

/// Holds the store for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _held: Box<dyn FileLock>,
}

impl Lock {
    /// Locks the store in `folder`, or says at once that another process has it.
    pub(crate) fn acquire(disk: &dyn Disk, folder: &Path) -> Result<Lock, StoreError> {
        let path = folder.join(NAME);
        let held = disk
            .lock(&path)
            .map_err(StoreError::io(format!("locking {}", path.display())))?;
        let held = held.ok_or_else(|| StoreError::Locked {
            path: folder.to_path_buf(),
            holders: disk.lock_holders(&path),
        })?;
        Ok(Lock { _held: held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(&OsDisk, folder.path()).unwrap();
        assert!(matches!(
            Lock::acquire(&OsDisk, folder.path()),
            Err(StoreError::Locked { .. })
        ));
        drop(first);
        Lock::acquire(&OsDisk, folder.path()).unwrap();
    }
}
