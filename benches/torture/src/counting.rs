//! The file system, with its syncs counted.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locidb::storage::disk::{Disk, FileLock, NewFile, OsDisk, RandomAccessFile};
use locidb::storage::segment::PartBytes;

/// The file system; [`Counting::syncs`] counts syncs.
#[derive(Clone, Debug, Default)]
pub struct CountingDisk {
    syncs: Arc<AtomicU64>,
}

impl CountingDisk {
    /// Syncs of files and folders so far.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }
}

impl Disk for CountingDisk {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        OsDisk.exists(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        OsDisk.len(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.create_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.count();
        OsDisk.sync_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        OsDisk.names(folder)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let (file, disk) = (OsDisk.open(path)?, self.clone());
        Ok(Box::new(CountingFile { file, disk }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let (file, disk) = (OsDisk.create(path)?, self.clone());
        Ok(Box::new(CountingNewFile { file, disk }))
    }

    fn map(&self, path: &Path) -> io::Result<PartBytes> {
        OsDisk.map(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        OsDisk.lock(path)
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Box<dyn RandomAccessFile>,
    disk: CountingDisk,
}

impl RandomAccessFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.count();
        self.file.sync()
    }
}

struct CountingNewFile {
    file: Box<dyn NewFile>,
    disk: CountingDisk,
}

impl NewFile for CountingNewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.count();
        self.file.sync()
    }
}
