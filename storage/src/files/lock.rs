//! One process a store: a lock on a file of its own, which the system drops when the process ends.
//! The database's file is locked too, against a lock file that was removed by hand.

use std::path::Path;

use crate::error::StoreError;
use crate::files::disk::{Disk, FileLock};
use crate::files::names::LOCK;

/// Holds the store for as long as it lives.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file_lock: Box<dyn FileLock>,
}

impl StoreLock {
    /// Locks the store in `folder`, or says at once that another process has it.
    pub(crate) fn acquire(disk: &dyn Disk, folder: &Path) -> Result<StoreLock, StoreError> {
        let path = folder.join(LOCK);
        let file_lock = disk
            .lock(&path)
            .map_err(StoreError::io(format!("locking {}", path.display())))?;
        let file_lock = file_lock.ok_or_else(|| StoreError::Locked {
            path: folder.to_path_buf(),
            holders: disk.lock_holders(&path),
        })?;
        disk.clear_lock_note(&path);
        Ok(StoreLock {
            _file_lock: file_lock,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::OsDisk;
    use crate::files::lock_note::{read_server_note, write_server_note};

    #[test]
    fn note_of_a_server_is_named_until_the_next_owner_clears_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let first = StoreLock::acquire(&OsDisk, folder.path()).unwrap();
        let addresses = [
            "http://127.0.0.1:7626/".into(),
            "loci://127.0.0.1:7625".into(),
        ];
        write_server_note(folder.path(), &addresses).unwrap();
        let note = read_server_note(&path).unwrap();
        assert_eq!(note.process, std::process::id());
        let error = StoreLock::acquire(&OsDisk, folder.path()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("http://127.0.0.1:7626/, loci://127.0.0.1:7625"),
            "{message}"
        );
        assert!(message.contains("ask that server"), "{message}");
        drop(first);
        let _second = StoreLock::acquire(&OsDisk, folder.path()).unwrap();
        assert_eq!(read_server_note(&path), None);
        let message = StoreLock::acquire(&OsDisk, folder.path())
            .unwrap_err()
            .to_string();
        assert!(!message.contains("server"), "{message}");
    }

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = StoreLock::acquire(&OsDisk, folder.path()).unwrap();
        assert!(matches!(
            StoreLock::acquire(&OsDisk, folder.path()),
            Err(StoreError::Locked { .. })
        ));
        drop(first);
        StoreLock::acquire(&OsDisk, folder.path()).unwrap();
    }
}
