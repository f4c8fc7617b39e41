//! One process a store: a lock on a file of its own, which the system drops when the process ends.
//!
//! redb locks its file too, but misses an unlinked one; so the lock file's identity is checked
//! again after it was locked.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::StoreError;

const NAME: &str = "LOCK";

/// Holds the store for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the store in `folder`, or says at once that another process has it.
    pub(crate) fn acquire(folder: &Path) -> Result<Lock, StoreError> {
        let path = folder.join(NAME);
        let failed = |source| StoreError::Io {
            what: format!("locking {}", path.display()),
            source,
        };
        loop {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked {
                        path: folder.to_path_buf(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if is_at(&file, &path).map_err(failed)? {
                return Ok(Lock { _file: file });
            }
        }
    }
}

/// Whether `path` still names `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match path.metadata() {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether `path` still names `file`. An open file cannot be unlinked here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> std::io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path()).unwrap();
        assert!(matches!(
            Lock::acquire(folder.path()),
            Err(StoreError::Locked { .. })
        ));
        drop(first);
        Lock::acquire(folder.path()).unwrap();
    }
}
