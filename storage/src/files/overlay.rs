//! A disk over another that is only read: what is written stays in memory, and is dropped with the store.
//!
//! So a store on a file system that cannot be written to is opened like any other: what redb and the store put right
//! when they open, as after a crash, they put right here, and what was damaged is built again here.
//!
//! Always true: the disk below is never written to, and no lock that keeps others from reading is taken on it.
//!
//! Start reading at [`Overlay`].

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::files::bytes::PartBytes;
use crate::files::disk::{Disk, FileLock, NewFile, RandomAccessFile};

const PAGE_LEN: usize = 4096;

/// The disk.
#[derive(Debug)]
pub(crate) struct Overlay {
    base: Arc<dyn Disk>,
    /// Files that are others than below; `None`: it is gone.
    files: Mutex<HashMap<PathBuf, Option<Arc<OverlayFile>>>>,
    /// On files that others write in place: against a lock file that was removed by hand, or never copied.
    locks: Mutex<Vec<Box<dyn FileLock>>>,
}

impl Overlay {
    pub(crate) fn new(base: Arc<dyn Disk>) -> Overlay {
        Overlay {
            base,
            files: Mutex::default(),
            locks: Mutex::default(),
        }
    }

    /// What is known of a file here; `None`: it is as below.
    fn overlay_file(&self, path: &Path) -> Option<Option<Arc<OverlayFile>>> {
        self.files.lock().get(path).cloned()
    }

    /// The file, to be written to.
    fn writable_file(&self, path: &Path) -> io::Result<Option<Arc<OverlayFile>>> {
        if let Some(known) = self.overlay_file(path) {
            return Ok(known);
        }
        if self.base.exists(path)? {
            Ok(Some(self.insert_file(
                path,
                OverlayFile::with_base(Some(self.base.map(path)?)),
            )))
        } else {
            Ok(None)
        }
    }

    /// A file as it is below, to be written to in memory, whoever else has it open.
    pub(crate) fn open_in_memory(
        base: &dyn Disk,
        path: &Path,
    ) -> io::Result<Box<dyn RandomAccessFile>> {
        let file = OverlayFile::with_base(Some(base.map(path)?));
        Ok(Box::new(Arc::new(file)))
    }

    fn insert_file(&self, path: &Path, file: OverlayFile) -> Arc<OverlayFile> {
        let file = Arc::new(file);
        let known = Some(Arc::clone(&file));
        self.files.lock().insert(path.to_path_buf(), known);
        file
    }
}

impl Disk for Overlay {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.overlay_file(path) {
            Some(known) => Ok(known.is_some()),
            None => self.base.exists(path),
        }
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        match self.overlay_file(path) {
            Some(Some(file)) => Ok(file.0.lock().len),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => self.base.len(path),
        }
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = if self.base.exists(folder)? {
            self.base.names(folder)?
        } else {
            Vec::new()
        };
        for (path, file) in &*self.files.lock() {
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| path.parent() == Some(folder)) else {
                continue;
            };
            names.retain(|known| known != name);
            names.extend(file.as_ref().map(|_| name.to_owned()));
        }
        Ok(names)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        if self.overlay_file(path).is_none() && self.base.exists(path)? {
            let lock = self.base.lock_shared(path)?;
            let lock = lock.ok_or(io::ErrorKind::WouldBlock)?;
            self.locks.lock().push(lock);
        }
        let file = match self.writable_file(path)? {
            Some(file) => file,
            None => self.insert_file(path, OverlayFile::with_base(None)),
        };
        Ok(Box::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        if self.exists(path)? {
            Err(io::ErrorKind::AlreadyExists.into())
        } else {
            Ok(Box::new(
                self.insert_file(path, OverlayFile::with_base(None)),
            ))
        }
    }

    fn map(&self, path: &Path) -> io::Result<PartBytes> {
        match self.overlay_file(path) {
            Some(Some(file)) => file.bytes(),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => self.base.map(path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.writable_file(from)?.ok_or(io::ErrorKind::NotFound)?;
        let mut files = self.files.lock();
        files.insert(from.to_path_buf(), None);
        files.insert(to.to_path_buf(), Some(file));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !self.exists(path)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.files.lock().insert(path.to_path_buf(), None);
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        self.base.lock_shared(path)
    }

    fn lock_holders(&self, path: &Path) -> Vec<String> {
        self.base.lock_holders(path)
    }
}

/// A file: pages that were written, over what is below.
#[derive(Debug)]
struct OverlayFile(Mutex<OverlayPages>);

#[derive(Debug)]
struct OverlayPages {
    base: Option<PartBytes>,
    /// Bytes of `below` that count.
    base_len: usize,
    len: u64,
    written: HashMap<u64, Box<[u8; PAGE_LEN]>>,
}

impl OverlayFile {
    fn with_base(base: Option<PartBytes>) -> OverlayFile {
        let len = base.as_ref().map_or(0, |bytes| bytes.as_ref().len());
        OverlayFile(Mutex::new(OverlayPages {
            base,
            base_len: len,
            len: len as u64,
            written: HashMap::new(),
        }))
    }

    fn bytes(&self) -> io::Result<PartBytes> {
        let pages = self.0.lock();
        let mut bytes = vec![0; pages.len as usize];
        pages.read(0, &mut bytes)?;
        Ok(PartBytes::copy(&bytes))
    }
}

impl OverlayPages {
    /// A page as it is below; zeros where nothing is.
    fn base_page(&self, number: u64) -> Box<[u8; PAGE_LEN]> {
        let mut page = Box::new([0; PAGE_LEN]);
        let from = (number as usize)
            .saturating_mul(PAGE_LEN)
            .min(self.base_len);
        let to = from.saturating_add(PAGE_LEN).min(self.base_len);
        let below = self
            .base
            .as_ref()
            .and_then(|bytes| bytes.as_ref().get(from..to));
        let below = below.unwrap_or_default();
        page[..below.len()].copy_from_slice(below);
        page
    }

    /// Cuts `offset..offset + len` at the ends of pages: (page, place in it, place in the range, length) each.
    fn page_ranges(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let place = (at % PAGE_LEN as u64) as usize;
            let count = (PAGE_LEN - place).min(len - done);
            let piece = (at / PAGE_LEN as u64, place, done, count);
            done += count;
            (count > 0).then_some(piece)
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, place, at, count) in OverlayPages::page_ranges(offset, out.len()) {
            let out = &mut out[at..at + count];
            match self.written.get(&number) {
                Some(page) => out.copy_from_slice(&page[place..place + count]),
                None => out.copy_from_slice(&self.base_page(number)[place..place + count]),
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        let end = end.ok_or(io::ErrorKind::InvalidInput)?;
        for (number, place, at, count) in OverlayPages::page_ranges(offset, bytes.len()) {
            if !self.written.contains_key(&number) {
                let page = self.base_page(number);
                self.written.insert(number, page);
            }
            if let Some(page) = self.written.get_mut(&number) {
                page[place..place + count].copy_from_slice(&bytes[at..at + count]);
            }
        }
        self.len = self.len.max(end);
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.base_len = self.base_len.min(len as usize);
            self.written.retain(|&number, page| {
                let start = number * PAGE_LEN as u64;
                let retained_len = len.saturating_sub(start).min(PAGE_LEN as u64) as usize;
                page[retained_len..].fill(0);
                retained_len > 0
            });
        }
        self.len = len;
    }
}

impl RandomAccessFile for Arc<OverlayFile> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().set_len(len);
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.lock().read(offset, out)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().write(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Arc<OverlayFile> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut pages = self.0.lock();
        let end = pages.len;
        pages.write(end, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::disk::OsDisk;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, Vec<u8>),
        SetLen(u64),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let at = 0u64..3 * PAGE_LEN as u64;
        let bytes = prop::collection::vec(1u8.., 0..2 * PAGE_LEN);
        prop_oneof![
            (at.clone(), bytes).prop_map(|(at, bytes)| Step::Write(at, bytes)),
            at.prop_map(Step::SetLen),
        ]
    }

    proptest! {
        #[test]
        fn a_file_says_what_a_plain_one_says_and_below_nothing_changes(
            below in prop::collection::vec(1u8.., 0..2 * PAGE_LEN),
            steps in prop::collection::vec(any_step(), 0..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, &below).unwrap();
            let disk = Overlay::new(Arc::new(OsDisk));
            let file = disk.open(&path).unwrap();
            let mut plain = below.clone();
            for step in steps {
                match step {
                    Step::Write(at, bytes) => {
                        file.write(at, &bytes).unwrap();
                        let end = at as usize + bytes.len();
                        plain.resize(plain.len().max(end), 0);
                        plain[at as usize..end].copy_from_slice(&bytes);
                    }
                    Step::SetLen(len) => {
                        file.set_len(len).unwrap();
                        plain.resize(len as usize, 0);
                    }
                }
                prop_assert_eq!(file.len().unwrap(), plain.len() as u64);
                let mut read = vec![0; plain.len()];
                file.read(0, &mut read).unwrap();
                prop_assert_eq!(&read, &plain);
                prop_assert!(file.read(1, &mut read).is_err() || read.is_empty());
            }
            let bytes = disk.map(&path).unwrap();
            prop_assert_eq!(bytes.as_ref(), &plain[..]);
            prop_assert_eq!(std::fs::read(&path).unwrap(), below);
        }
    }

    #[test]
    fn names_lists_files_of_the_overlay_and_the_base() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), b"a").unwrap();
        std::fs::write(at("b"), b"b").unwrap();
        let disk = Overlay::new(Arc::new(OsDisk));
        let mut new = disk.create(&at("c")).unwrap();
        new.append(b"new").unwrap();
        disk.rename(&at("a"), &at("d")).unwrap();
        disk.remove(&at("b")).unwrap();
        let mut names = disk.names(folder.path()).unwrap();
        names.sort();
        assert_eq!(names, ["c", "d"]);
        assert_eq!(disk.map(&at("c")).unwrap().as_ref(), b"new");
        assert_eq!(disk.map(&at("d")).unwrap().as_ref(), b"a");
        assert!(disk.map(&at("a")).is_err() && disk.remove(&at("b")).is_err());
        assert!(disk.create(&at("d")).is_err());
        assert!(at("a").exists() && at("b").exists() && !at("c").exists());
    }
}
