//! The bytes of a simulated file, in pages that are shared until one is written.

use std::io;
use std::sync::Arc;

/// What a disk writes whole or not at all.
pub(crate) const SECTOR_LEN: u64 = 512;

const PAGE_LEN: usize = 4096;

type Page = [u8; PAGE_LEN];

/// A change of a file's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// `bytes` from `offset` on.
    Write { offset: u64, bytes: Arc<[u8]> },
    /// Cut, or lengthened with zeros.
    SetLen(u64),
}

/// Bytes and length. A clone costs one count; zero pages are not stored.
///
/// Invariant: bytes beyond the length are zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    len: u64,
    pages: Arc<Vec<Option<Arc<Page>>>>,
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { offset, bytes } => self.write(*offset, bytes),
            Change::SetLen(len) => self.set_len(*len),
        }
    }

    /// Fills `out` from `offset` on; fails when the file ends before.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset + out.len() as u64 > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < out.len() {
            let (page, start, len) = piece(offset + done as u64, out.len() - done);
            let to = &mut out[done..done + len];
            match self.page(page) {
                Some(bytes) => to.copy_from_slice(&bytes[start..start + len]),
                None => to.fill(0),
            }
            done += len;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.lengthen(offset + bytes.len() as u64);
        let mut done = 0;
        while done < bytes.len() {
            let (page, start, len) = piece(offset + done as u64, bytes.len() - done);
            let from = &bytes[done..done + len];
            match <&Page>::try_from(from) {
                Ok(whole) => *self.slot(page) = Some(Arc::new(*whole)),
                Err(_) => self.page_mut(page)[start..start + len].copy_from_slice(from),
            }
            done += len;
        }
    }

    pub(crate) fn set_len(&mut self, len: u64) {
        if len >= self.len {
            return self.lengthen(len);
        }
        let page_count = len.div_ceil(PAGE_LEN as u64) as usize;
        Arc::make_mut(&mut self.pages).truncate(page_count);
        let within = (len % PAGE_LEN as u64) as usize;
        if within > 0 && self.page(page_count - 1).is_some() {
            self.page_mut(page_count - 1)[within..].fill(0);
        }
        self.len = len;
    }

    /// Takes over the bytes `offset .. offset + len` of `from`, as far as it has them.
    pub(crate) fn copy(&mut self, from: &Content, offset: u64, len: u64) {
        let end = (offset + len).min(from.len);
        self.lengthen(end);
        let mut at = offset;
        while at < end {
            let (page, start, len) = piece(at, (end - at) as usize);
            match from.page(page) {
                whole if len == PAGE_LEN => *self.slot(page) = whole.cloned(),
                Some(bytes) => {
                    let to = &mut self.page_mut(page)[start..start + len];
                    to.copy_from_slice(&bytes[start..start + len]);
                }
                None => self.page_mut(page)[start..start + len].fill(0),
            }
            at += len as u64;
        }
    }

    fn lengthen(&mut self, len: u64) {
        if len > self.len {
            self.len = len;
            let pages = len.div_ceil(PAGE_LEN as u64) as usize;
            if pages > self.pages.len() {
                Arc::make_mut(&mut self.pages).resize(pages, None);
            }
        }
    }

    fn page(&self, page: usize) -> Option<&Arc<Page>> {
        self.pages.get(page).and_then(Option::as_ref)
    }

    fn slot(&mut self, page: usize) -> &mut Option<Arc<Page>> {
        &mut Arc::make_mut(&mut self.pages)[page]
    }

    fn page_mut(&mut self, page: usize) -> &mut Page {
        let slot = self.slot(page);
        Arc::make_mut(slot.get_or_insert_with(|| Arc::new([0; PAGE_LEN])))
    }
}

/// The page of `offset`, the offset within it, and how many of `len` bytes are in it.
fn piece(offset: u64, len: usize) -> (usize, usize, usize) {
    let start = (offset % PAGE_LEN as u64) as usize;
    let page = (offset / PAGE_LEN as u64) as usize;
    (page, start, len.min(PAGE_LEN - start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn any_changes_give_the_bytes_that_a_vector_has() {
        for seed in 0..200 {
            let mut source = Source::seeded(seed);
            let (mut content, mut plain) = (Content::default(), Vec::new());
            let mut copied = Content::default();
            for byte in 1..20u8 {
                let offset = source.below(20_000) as usize;
                let len = source.below(9_000) as usize;
                if source.one_in(4) {
                    content.set_len(offset as u64);
                    plain.resize(offset, 0);
                } else {
                    content.write(offset as u64, &vec![byte; len]);
                    plain.resize(plain.len().max(offset + len), 0);
                    plain[offset..offset + len].fill(byte);
                }
                assert_eq!(content.len(), plain.len() as u64);
                let mut read = vec![9; plain.len()];
                content.read(0, &mut read).unwrap();
                assert_eq!(read, plain, "seed {seed}");
            }
            copied.copy(&content, 0, content.len());
            let mut read = vec![9; plain.len()];
            copied.read(0, &mut read).unwrap();
            assert_eq!(read, plain, "seed {seed}");
            assert!(content.read(1, &mut read).is_err(), "beyond the end");
        }
    }
}
