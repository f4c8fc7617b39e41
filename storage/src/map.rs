//! The map: the one place in this crate that maps a file.

#![expect(unsafe_code, reason = "the only map in the workspace")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// A whole file, mapped read-only.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps `file`. Costs nothing that grows with its length.
    pub fn new(file: &File) -> io::Result<Map> {
        // SAFETY: the map is a `&[u8]` for as long as no one changes the file under it.
        // - this process syncs and renames a part before it lists it and never writes to it after
        //   (see `dir`);
        // - other processes are kept out by the lock that `Store::open` holds;
        // - removing a part unlinks its name, which leaves mapped pages alone.
        // What would break it: truncating or rewriting a listed file in place.
        let map = unsafe { Mmap::map(file)? };
        Ok(Map(map))
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
