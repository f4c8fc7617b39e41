//! A disk whose n-th operation fails.
//!
//! It passes everything on to another disk and counts operations, reads included. From the n-th on, the
//! first operation that the chosen fault can happen to fails, or all of them do.
//!
//! Start reading at [`FaultyDisk::arm`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locidb::storage::disk::{Disk, FileLock, NewFile, RandomAccessFile};
use locidb::storage::segment::PartBytes;
use parking_lot::Mutex;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Fault {
    /// The device fails: anything, reads included, is an input/output error.
    Device,
    /// The disk is full: no file grows or is created.
    Full,
    /// Half of a write is done, then the disk is full.
    ShortWrite,
    /// A sync fails, and the data never becomes durable.
    Sync,
    /// A rename fails, and nothing is renamed.
    Rename,
}

impl Fault {
    /// All faults.
    pub const ALL: [Fault; 5] = [
        Fault::Device,
        Fault::Full,
        Fault::ShortWrite,
        Fault::Sync,
        Fault::Rename,
    ];

    fn error(self) -> io::Error {
        match self {
            Fault::Full | Fault::ShortWrite => {
                io::Error::new(io::ErrorKind::StorageFull, "injected: no space left")
            }
            _ => io::Error::other("injected: input/output error"),
        }
    }

    /// Whether it can happen to an operation.
    fn strikes(self, kind: DiskOperation) -> bool {
        match self {
            Fault::Device => true,
            Fault::Full => matches!(kind, DiskOperation::Write | DiskOperation::Make),
            Fault::ShortWrite => kind == DiskOperation::Write,
            Fault::Sync => kind == DiskOperation::Sync,
            Fault::Rename => kind == DiskOperation::Rename,
        }
    }
}

/// Which operation fails, how, and whether later ones do too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// The first operation that may fail, counted from 0 since it was armed.
    pub at: u64,
    /// How it fails.
    pub fault: Fault,
    /// Whether all later operations that the fault can happen to fail as well.
    pub forever: bool,
}

/// Told of a file or folder whose sync failed.
pub type LostSyncHandler = Arc<dyn Fn(&Path) + Send + Sync>;

/// A disk that forwards to another, and fails on request.
#[derive(Clone)]
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    plan: Arc<Plan>,
}

struct Plan {
    state: Mutex<PlanState>,
    on_lost: LostSyncHandler,
}

#[derive(Default)]
struct PlanState {
    failure: Option<Failure>,
    operations: u64,
    failed_count: u64,
}

/// The operations that faults distinguish.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskOperation {
    Read,
    Write,
    Make,
    Sync,
    Rename,
    Remove,
}

impl Plan {
    /// Counts an operation; the fault that happens to it, if one does.
    fn strike(&self, kind: DiskOperation) -> Option<Fault> {
        let mut state = self.state.lock();
        let number = state.operations;
        state.operations += 1;
        let failure = state
            .failure
            .filter(|failure| number >= failure.at && failure.fault.strikes(kind))?;
        state.failed_count += 1;
        if !failure.forever {
            state.failure = None;
        }
        Some(failure.fault)
    }

    fn check(&self, kind: DiskOperation) -> io::Result<()> {
        self.strike(kind).map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Writes all, or as much as the fault lets through.
    fn write(&self, bytes: &[u8], write: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self.strike(DiskOperation::Write) {
            None => write(bytes),
            Some(Fault::ShortWrite) => {
                write(&bytes[..bytes.len() / 2])?;
                Err(Fault::ShortWrite.error())
            }
            Some(fault) => Err(fault.error()),
        }
    }

    fn sync(&self, path: &Path, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self.strike(DiskOperation::Sync) {
            None => sync(),
            Some(fault) => {
                (self.on_lost)(path);
                Err(fault.error())
            }
        }
    }
}

impl FaultyDisk {
    /// A disk without faults over `inner`. `on_lost` is called with the path of a failed sync, and may
    /// drop there what was not durable.
    pub fn new(inner: Arc<dyn Disk>, on_lost: LostSyncHandler) -> FaultyDisk {
        let state = Mutex::default();
        FaultyDisk {
            inner,
            plan: Arc::new(Plan { state, on_lost }),
        }
    }

    /// Fails as `failure` says from now on, counting from here; `None` fails no more.
    pub fn arm(&self, failure: Option<Failure>) {
        *self.plan.state.lock() = PlanState {
            failure,
            ..PlanState::default()
        };
    }

    /// How many operations there were since it was armed.
    pub fn operations(&self) -> u64 {
        self.plan.state.lock().operations
    }

    /// How many operations failed since it was armed.
    pub fn struck(&self) -> u64 {
        self.plan.state.lock().failed_count
    }
}

impl fmt::Debug for FaultyDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyDisk({:?})", self.inner)
    }
}

impl Disk for FaultyDisk {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.plan.check(DiskOperation::Read)?;
        self.inner.exists(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.plan.check(DiskOperation::Read)?;
        self.inner.len(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.check(DiskOperation::Make)?;
        self.inner.create_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.sync(path, || self.inner.sync_folder(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.plan.check(DiskOperation::Read)?;
        self.inner.names(folder)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let is_new = !self.inner.exists(path)?;
        self.plan.check(if is_new {
            DiskOperation::Make
        } else {
            DiskOperation::Read
        })?;
        Ok(Box::new(FaultyFile {
            file: self.inner.open(path)?,
            path: path.to_path_buf(),
            plan: Arc::clone(&self.plan),
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.plan.check(DiskOperation::Make)?;
        Ok(Box::new(FaultyNewFile {
            file: self.inner.create(path)?,
            path: path.to_path_buf(),
            plan: Arc::clone(&self.plan),
        }))
    }

    fn map(&self, path: &Path) -> io::Result<PartBytes> {
        self.plan.check(DiskOperation::Read)?;
        self.inner.map(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.check(DiskOperation::Rename)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.plan.check(DiskOperation::Remove)?;
        self.inner.remove(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        self.plan.check(DiskOperation::Read)?;
        self.inner.lock(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn RandomAccessFile>,
    path: PathBuf,
    plan: Arc<Plan>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.state.lock().failure)
    }
}

impl RandomAccessFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.plan.check(DiskOperation::Read)?;
        self.file.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let grows = len > self.file.len()?;
        self.plan.check(if grows {
            DiskOperation::Make
        } else {
            DiskOperation::Remove
        })?;
        self.file.set_len(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.plan.check(DiskOperation::Read)?;
        self.file.read(offset, out)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.plan
            .write(bytes, |bytes| self.file.write(offset, bytes))
    }

    fn sync(&self) -> io::Result<()> {
        self.plan.sync(&self.path, || self.file.sync())
    }
}

struct FaultyNewFile {
    file: Box<dyn NewFile>,
    path: PathBuf,
    plan: Arc<Plan>,
}

impl NewFile for FaultyNewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.plan.write(bytes, |bytes| self.file.append(bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.plan.sync(&self.path, || self.file.sync())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDisk;

    fn faulty() -> FaultyDisk {
        FaultyDisk::new(Arc::new(SimDisk::new()), Arc::new(|_| ()))
    }

    #[test]
    fn the_chosen_operation_fails_once_or_for_ever() {
        let (path, bytes) = (Path::new("/a"), [1; 8]);
        for forever in [false, true] {
            let disk = faulty();
            let file = disk.open(path).unwrap();
            let fault = Fault::Full;
            disk.arm(Some(Failure {
                at: 1,
                fault,
                forever,
            }));
            file.write(0, &bytes).unwrap();
            file.read(0, &mut [0; 8]).unwrap();
            let error = file.write(0, &bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert_eq!(file.write(0, &bytes).is_err(), forever);
            file.sync().unwrap();
        }
    }

    #[test]
    fn a_short_write_leaves_its_first_half() {
        let disk = faulty();
        let mut file = disk.create(Path::new("/a")).unwrap();
        let fault = Fault::ShortWrite;
        disk.arm(Some(Failure {
            at: 0,
            fault,
            forever: false,
        }));
        assert!(file.append(&[1; 8]).is_err());
        assert_eq!(disk.map(Path::new("/a")).unwrap().as_ref(), [1; 4]);
        assert_eq!(disk.struck(), 1);
    }
}
