//! redb's file, which stays readable after a write to it failed.
//!
//! redb refuses reads too once a write or sync failed. A failed disk must not stop searches, so this file
//! records a failure and hides it from redb. From then on nothing is written to the disk: what redb writes
//! stays in memory, over the file, and so does what was written before and not synced yet, as a failed sync
//! may have lost it. Whoever commits calls [`WriteFailure::check`] before a commit counts as done.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use redb::StorageBackend;

use crate::database::pages;
use crate::error::StoreError;
use crate::files::disk::{Disk, RandomAccessFile};

const PAGE_LEN: usize = 4096;

/// Whether a write to the file failed.
#[derive(Debug, Default)]
pub(crate) struct WriteFailure {
    why: OnceLock<String>,
    /// Whether what is not synced yet is kept in memory.
    buffers_unsynced: AtomicBool,
}

impl WriteFailure {
    /// An error when a write to the file failed.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.why.get() {
            Some(why) => Err(StoreError::Io {
                what: "writing the database".into(),
                source: io::Error::other(why.clone()),
            }),
            None => Ok(()),
        }
    }

    /// From now on readers need what is written, whether it is synced or not.
    pub(crate) fn buffer_unsynced(&self) {
        self.buffers_unsynced.store(true, Ordering::Release);
    }

    fn has_failed(&self) -> bool {
        self.why.get().is_some()
    }
}

/// An open database. redb meets some damage of its own pages with a panic; where that is at the opening or the
/// closing, it is an error, or nothing: what was acknowledged is in the file already.
pub(crate) struct Database {
    /// There until it is dropped.
    database: Option<redb::Database>,
    failure: Arc<WriteFailure>,
    /// What is wrong where the file lists its free pages, when that was found.
    free_page_damage: OnceLock<FreePageDamage>,
}

/// Why the list of free pages in the file cannot be used.
struct FreePageDamage {
    why: String,
    /// redb was given the file without that list, and found out anew which pages are free.
    is_rebuilt: bool,
}

impl Database {
    /// Opens `file`, and makes it a database where it is empty. `cache_bytes`: what redb may keep of it in memory.
    ///
    /// [`WriteFailure::check`] reports whether writes failed meanwhile.
    ///
    /// # Errors
    /// [`StoreError::DamagedFreePages`] before anything is written.
    pub(crate) fn open(file: DatabaseFile, cache_bytes: usize) -> Result<Database, StoreError> {
        pages::verify_system_tables(&*file.file)?;
        Database::open_verified(file, cache_bytes)
    }

    /// As [`Database::open`], for a file whose writes stay in memory: in one whose list of free pages is damaged, redb
    /// finds out from the rows which are free, for which it reads them all.
    pub(crate) fn open_in_memory(
        file: DatabaseFile,
        cache_bytes: usize,
    ) -> Result<Database, StoreError> {
        let why = match pages::verify_system_tables(&*file.file) {
            Err(StoreError::DamagedFreePages { why }) => {
                pages::clear_system_tables(&*file.file)?;
                Some(why)
            }
            verified => verified.map(|()| None)?,
        };
        let database = Database::open_verified(file, cache_bytes)?;
        if let Some(why) = why {
            let is_rebuilt = true;
            let _ = database
                .free_page_damage
                .set(FreePageDamage { why, is_rebuilt });
        }
        Ok(database)
    }

    fn open_verified(file: DatabaseFile, cache_bytes: usize) -> Result<Database, StoreError> {
        let failure = Arc::clone(&file.failure);
        Ok(Database {
            database: Some(open_redb(file, cache_bytes)?),
            failure,
            free_page_damage: OnceLock::new(),
        })
    }

    /// What is wrong where the file lists its free pages, as far as anybody looked.
    pub(crate) fn damaged_free_pages(&self) -> Option<&str> {
        self.free_page_damage.get().map(|damage| &*damage.why)
    }

    /// Whether redb read all rows against their checksums when the file was opened, as its list of free pages is damaged.
    pub(crate) fn has_read_all_rows(&self) -> bool {
        self.free_page_damage.get().is_some_and(|of| of.is_rebuilt)
    }

    /// Ends all writing to the file: its list of free pages was found to be damaged while it is open, and redb is to
    /// read it at the next commit.
    pub(crate) fn refuse_commits(&self, why: &str) {
        let is_rebuilt = false;
        let why = why.to_owned();
        let error = StoreError::DamagedFreePages { why: why.clone() };
        let _ = self.failure.why.set(error.to_string());
        let _ = self
            .free_page_damage
            .set(FreePageDamage { why, is_rebuilt });
    }
}

impl Deref for Database {
    type Target = redb::Database;

    fn deref(&self) -> &redb::Database {
        self.database
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl DerefMut for Database {
    fn deref_mut(&mut self) -> &mut redb::Database {
        self.database
            .as_mut()
            .expect("it is there until it is dropped")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let database = self.database.take();
        if self.free_page_damage.get().is_some_and(|of| !of.is_rebuilt) {
            // Closing would read the damaged list. This costs the memory that redb keeps until the process ends.
            std::mem::forget(database);
            return;
        }
        // Closing writes what redb keeps of free pages, which the next opening can do without.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

fn open_redb(file: DatabaseFile, cache_bytes: usize) -> Result<redb::Database, StoreError> {
    let open = || {
        redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(file)
    };
    let damaged = |why: &str| StoreError::UnreadableDatabase { why: why.into() };
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(redb::DatabaseError::Storage(redb::StorageError::Corrupted(why)))) => {
            Err(damaged(&why))
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(damaged("its tree cannot be read")),
    }
}

/// A file as redb's storage.
pub(crate) struct DatabaseFile {
    file: Box<dyn RandomAccessFile>,
    failure: Arc<WriteFailure>,
    state: Mutex<FileState>,
}

#[derive(Default)]
struct FileState {
    /// What was written since the last sync, in order.
    unsynced: Vec<(u64, Vec<u8>)>,
    /// Pages over the file, after a failure.
    pages: HashMap<u64, Box<[u8; PAGE_LEN]>>,
    /// The file's length, from when it was first asked for. After a failed sync the file itself may
    /// have a length from before.
    len: Option<u64>,
}

impl FileState {
    fn len(&self) -> u64 {
        self.len.unwrap_or_default()
    }
}

impl fmt::Debug for DatabaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseFile({:?}, {:?})", self.file, self.failure)
    }
}

impl DatabaseFile {
    /// Wraps `file`; the second value reports failed writes.
    pub(crate) fn new(file: Box<dyn RandomAccessFile>) -> (DatabaseFile, Arc<WriteFailure>) {
        let failure = Arc::new(WriteFailure::default());
        let wrapped = DatabaseFile {
            file,
            failure: Arc::clone(&failure),
            state: Mutex::default(),
        };
        (wrapped, failure)
    }

    /// Goes on in memory after `error`.
    fn switch_to_memory(&self, state: &mut FileState, error: &io::Error) -> io::Result<()> {
        if state.len.is_none() {
            state.len = Some(self.file.len()?);
        }
        for (offset, bytes) in std::mem::take(&mut state.unsynced) {
            self.write_pages(state, offset, &bytes)?;
        }
        // Reads look at the pages from here on.
        let _ = self.failure.why.set(error.to_string());
        Ok(())
    }

    fn write_pages(&self, state: &mut FileState, offset: u64, bytes: &[u8]) -> io::Result<()> {
        state.len = Some(state.len().max(offset + bytes.len() as u64));
        for (page, within, part) in page_ranges(offset, bytes.len()) {
            let under = match state.pages.entry(page) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let mut under = Box::new([0; PAGE_LEN]);
                    read_up_to_end(&*self.file, page * PAGE_LEN as u64, &mut *under)?;
                    entry.insert(under)
                }
            };
            under[within..within + part.len()].copy_from_slice(&bytes[part]);
        }
        Ok(())
    }
}

/// The pages that `len` bytes from `offset` lie in: number, place within, range of the bytes.
fn page_ranges(
    offset: u64,
    len: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE_LEN as u64) as usize;
        let end = len.min(done + PAGE_LEN - within);
        let piece = (at / PAGE_LEN as u64, within, done..end);
        done = end;
        Some(piece)
    })
}

/// Fills `out` as far as the file goes.
fn read_up_to_end(file: &dyn RandomAccessFile, offset: u64, out: &mut [u8]) -> io::Result<()> {
    let available = file.len()?.saturating_sub(offset).min(out.len() as u64) as usize;
    match available {
        0 => Ok(()),
        there => file.read(offset, &mut out[..there]),
    }
}

impl StorageBackend for DatabaseFile {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state.lock();
        match state.len {
            Some(len) => Ok(len),
            None => {
                let len = self.file.len().or_else(|_| self.file.len())?;
                Ok(*state.len.insert(len))
            }
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !self.failure.has_failed() {
            // Once more before redb gives the file up: a read, unlike a sync, may be tried again.
            let read = self.file.read(offset, out);
            return read.or_else(|_| self.file.read(offset, out));
        }
        let state = self.state.lock();
        if offset + out.len() as u64 > state.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (page, within, part) in page_ranges(offset, out.len()) {
            let at = offset + part.start as u64;
            match state.pages.get(&page) {
                Some(over) => out[part.clone()].copy_from_slice(&over[within..within + part.len()]),
                None => {
                    out[part.clone()].fill(0);
                    read_up_to_end(&*self.file, at, &mut out[part])?;
                }
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if !self.failure.has_failed()
            && let Err(error) = self.file.set_len(len)
        {
            self.switch_to_memory(&mut state, &error)?;
        }
        state.len = Some(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        if !self.failure.has_failed() {
            match self.file.sync() {
                Ok(()) => state.unsynced.clear(),
                Err(error) => self.switch_to_memory(&mut state, &error)?,
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        if !self.failure.has_failed() {
            match self.file.write(offset, bytes) {
                Ok(()) => {
                    let end = offset + bytes.len() as u64;
                    state.len = state.len.map(|len| len.max(end));
                    if self.failure.buffers_unsynced.load(Ordering::Acquire) {
                        state.unsynced.push((offset, bytes.to_vec()));
                    }
                    return Ok(());
                }
                Err(error) => self.switch_to_memory(&mut state, &error)?,
            }
        }
        self.write_pages(&mut state, offset, bytes)
    }
}

/// Opens the database in a file that no other handle has open.
pub(crate) fn open_file(
    disk: &dyn Disk,
    path: &Path,
    cache_bytes: usize,
) -> Result<(Database, Arc<WriteFailure>), StoreError> {
    let file = disk.open(path);
    let file = file.map_err(StoreError::io(format!("opening {}", path.display())))?;
    let (file, failure) = DatabaseFile::new(file);
    let database = Database::open(file, cache_bytes)?;
    failure.check()?;
    Ok((database, failure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file in memory whose writes fail from some moment on, and whose failing sync loses what was
    /// not synced.
    #[derive(Debug, Default)]
    struct FailingDisk {
        synced: Mutex<Vec<u8>>,
        written: Mutex<Vec<u8>>,
        left: Mutex<Option<usize>>,
    }

    impl FailingDisk {
        fn step(&self) -> io::Result<()> {
            let mut left = self.left.lock();
            match &mut *left {
                Some(0) => {
                    let synced = self.synced.lock().clone();
                    *self.written.lock() = synced;
                    Err(io::Error::other("gone"))
                }
                Some(left) => {
                    *left -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }
    }

    #[derive(Debug)]
    struct FailingFile(Arc<FailingDisk>);

    impl RandomAccessFile for FailingFile {
        fn len(&self) -> io::Result<u64> {
            Ok(self.0.written.lock().len() as u64)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.step()?;
            self.0.written.lock().resize(len as usize, 0);
            Ok(())
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let written = self.0.written.lock();
            let from = offset as usize;
            let bytes = written.get(from..from + out.len());
            out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }

        fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.0.step()?;
            let mut written = self.0.written.lock();
            let end = offset as usize + bytes.len();
            let len = written.len().max(end);
            written.resize(len, 0);
            written[offset as usize..end].copy_from_slice(bytes);
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            self.0.step()?;
            *self.0.synced.lock() = self.0.written.lock().clone();
            Ok(())
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Write(u16, Vec<u8>),
        SetLen(u16),
        Sync,
    }

    fn any_op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (0u16..12_000, prop::collection::vec(any::<u8>(), 1..6_000))
                .prop_map(|(at, bytes)| Op::Write(at, bytes)),
            1 => (12_000u16..30_000).prop_map(Op::SetLen),
            1 => Just(Op::Sync),
        ]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_whatever_fails(
            ops in prop::collection::vec(any_op(), 1..24),
            fails_after in prop::option::of(0usize..24),
        ) {
            let disk = Arc::new(FailingDisk::default());
            let (file, failure) = DatabaseFile::new(Box::new(FailingFile(Arc::clone(&disk))));
            failure.buffer_unsynced();
            file.set_len(20_000).unwrap();
            file.sync_data().unwrap();
            *disk.left.lock() = fails_after;
            let mut want = vec![0; 20_000];
            for op in ops {
                match op {
                    Op::Write(at, bytes) => {
                        file.write(at.into(), &bytes).unwrap();
                        let end = usize::from(at) + bytes.len();
                        want.resize(want.len().max(end), 0);
                        want[usize::from(at)..end].copy_from_slice(&bytes);
                    }
                    // A file that is cut and grown again is not what redb makes.
                    Op::SetLen(len) if usize::from(len) >= want.len() => {
                        file.set_len(len.into()).unwrap();
                        want.resize(len.into(), 0);
                    }
                    Op::SetLen(_) => {}
                    Op::Sync => file.sync_data().unwrap(),
                }
            }
            let mut got = vec![0; want.len()];
            prop_assert_eq!(file.len().unwrap(), want.len() as u64);
            file.read(0, &mut got).unwrap();
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn check_reports_the_failure_and_later_writes_skip_the_disk_after_a_failed_sync() {
        let disk = Arc::new(FailingDisk::default());
        let (file, failure) = DatabaseFile::new(Box::new(FailingFile(Arc::clone(&disk))));
        file.write(0, b"before").unwrap();
        failure.check().unwrap();
        *disk.left.lock() = Some(0);
        file.sync_data().unwrap();
        assert!(failure.check().is_err());
        *disk.left.lock() = None;
        file.write(0, b"after").unwrap();
        file.sync_data().unwrap();
        assert!(
            disk.written.lock().is_empty(),
            "nothing was synced, nothing is written"
        );
    }
}
