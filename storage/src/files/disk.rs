//! The seam between a store and the file system: every file operation goes through a [`Disk`].
//!
//! [`OsDisk`] is the file system itself. Others keep a store in memory, inject faults, or simulate a
//! power failure; `benches/torture` has those that the store is tested with.
//!
//! What a store relies on: bytes of a file survive a power failure once it was synced, a name once
//! its folder was synced, and a rename is seen whole or not at all.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::files::bytes::PartBytes;
use crate::files::lock_holders;
use crate::files::lock_note::clear_note;
use crate::files::permissions::{file_options, folder_builder, open_file, read_options};
use crate::map::MappedFile;

/// A file system, as far as a store needs one.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// Whether there is a file or folder of this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Length of a file in bytes.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// Makes one folder; the one above it exists.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Forgets a folder that holds nothing. A disk that knows no folders does nothing.
    fn remove_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a folder.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Opens a file to be read and written anywhere by one handle alone, and makes it where it is
    /// missing. Fails with `WouldBlock` when another handle has it.
    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;
    /// Makes a file that is written once, front to back. Fails when there is one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;
    /// The bytes of a file that is never changed again. They outlive its name.
    fn map(&self, path: &Path) -> io::Result<PartBytes>;
    /// Gives a file another name, in the place of the file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file that is never changed again a second name. A disk that cannot says `Unsupported`: then it is copied.
    fn link(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Forgets a name. Whoever has the file open keeps it.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Locks a file, made where it is missing, until the returned value is dropped. `None` at once
    /// when another process or handle has it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>>;
    /// Locks a file against [`Disk::lock`] alone: others may lock it so, too. It is not written to. Where it is
    /// missing, nothing is locked.
    /// A disk without shared locks takes an exclusive one.
    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        self.lock(path)
    }
    /// Removes the note of a server that had the lock on this file before; for the process that locked it. A disk that
    /// must not be written to leaves it.
    fn clear_lock_note(&self, _path: &Path) {}
    /// Who holds a lock on the file, as far as the system reports them: `process 4711 (loci)`.
    fn lock_holders(&self, _path: &Path) -> Vec<String> {
        Vec::new()
    }
}

/// A file that is read and written anywhere.
pub trait RandomAccessFile: fmt::Debug + Send + Sync {
    /// Its length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Cuts it, or lengthens it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Fills `out` from `offset` on; fails when the file ends before.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` from `offset` on.
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;
    /// Whether it holds no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A file that is written once, front to back.
pub trait NewFile: Send {
    /// Appends `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A lock that is held until it is dropped.
pub trait FileLock: fmt::Debug + Send + Sync {}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        folder_builder().create(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = path;
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let mut options = file_options();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_file(&options, path)?;
        // A second defence beside the store's lock, whose file may be removed by hand.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let lock = OsLock {
            file: file.try_clone()?,
        };
        let backend = FileBackend::new(file).map_err(|error| match error {
            redb::DatabaseError::Storage(redb::StorageError::Io(error)) => error,
            other => io::Error::other(other),
        })?;
        Ok(Box::new(OsFile {
            backend,
            _lock: lock,
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut options = file_options();
        let file = options.write(true).create_new(true).open(path)?;
        Ok(Box::new(OsNewFile(file)))
    }

    fn map(&self, path: &Path) -> io::Result<PartBytes> {
        let file = open_file(read_options().read(true), path)?;
        if file.metadata()?.len() == 0 {
            return Ok(PartBytes::copy(&[])); // an empty file cannot be mapped
        }
        Ok(PartBytes::Mapped(MappedFile::new(&file)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// The lock file's identity is checked again after it was locked, as it may have been removed
    /// and made anew between.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        loop {
            let mut options = file_options();
            options.read(true).write(true).create(true).truncate(false);
            let file = open_file(&options, path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if is_at(&file, path)? {
                return Ok(Some(Box::new(OsLock { file })));
            }
        }
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        loop {
            let file = match open_file(read_options().read(true), path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Some(Box::new(NoLock)));
                }
                Err(error) => return Err(error),
            };
            match file.try_lock_shared() {
                Ok(()) if is_at(&file, path)? => return Ok(Some(Box::new(OsLock { file }))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn clear_lock_note(&self, path: &Path) {
        clear_note(path);
    }

    fn lock_holders(&self, path: &Path) -> Vec<String> {
        lock_holders::list(path)
    }
}

/// redb's own way to read and write a file at an offset on this platform.
#[derive(Debug)]
struct OsFile {
    backend: FileBackend,
    _lock: OsLock,
}

impl RandomAccessFile for OsFile {
    fn len(&self) -> io::Result<u64> {
        self.backend.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.backend.set_len(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.backend.read(offset, out)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.backend.write(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.backend.sync_data()
    }
}

struct OsNewFile(File);

impl NewFile for OsNewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

/// The system drops the lock when the process ends, however it ends. Dropped before, it is released explicitly: a
/// process that another thread starts has a copy of every open file until it runs its program, and closing ours would
/// leave the lock to that copy.
#[derive(Debug)]
struct OsLock {
    file: File,
}

impl FileLock for OsLock {}

/// There was nothing to lock.
#[derive(Debug)]
struct NoLock;

impl FileLock for NoLock {}

impl Drop for OsLock {
    fn drop(&mut self) {
        // What cannot be released now is released with the last copy.
        let _ = self.file.unlock();
    }
}

/// Whether `path` still names `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match path.metadata() {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether `path` still names `file`. An open file cannot be unlinked here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_released_when_a_spawned_process_inherits_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let file = File::create(&path).unwrap();
        file.try_lock().unwrap();
        let _inherited = file.try_clone().unwrap();
        drop(OsLock { file });
        assert!(OsDisk.lock(&path).unwrap().is_some());
    }
}
