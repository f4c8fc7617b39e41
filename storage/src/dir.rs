//! Where parts too large for a row live. Write once, then read for ever.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::map::Map;
use crate::segment::PartBytes;

const SUFFIX: &str = ".seg";
const SUFFIX_TMP: &str = ".tmp";

/// A folder of parts. Two implementations earn the trait: [`FsDir`] in production, and one in
/// memory for tests and fuzzing.
pub trait SegmentDir: Send + Sync {
    /// Makes `bytes` durable under `name`: all of them or none, even if the power fails.
    /// Fails with `AlreadyExists` when the name is taken.
    fn publish(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// The bytes that were published under `name`. They outlive [`SegmentDir::remove`].
    fn open(&self, name: &str) -> io::Result<PartBytes>;
    /// Forgets the name. Readers that hold the bytes keep them.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// All published names, and unfinished ones, which end in `.tmp`.
    fn list(&self) -> io::Result<Vec<String>>;
}

/// The name of a part that the commit of `generation` will list.
pub(crate) fn file_name(generation: u64, random: u64) -> String {
    format!("{generation:016x}-{random:016x}{SUFFIX}")
}

/// The generation in a part's name; `None` when the name is not one of ours.
pub(crate) fn generation_of(name: &str) -> Option<u64> {
    let (generation, random) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let well_formed = |part: &str| part.len() == 16;
    if !well_formed(generation) || !well_formed(random) {
        return None;
    }
    u64::from_str_radix(random, 16).ok()?;
    u64::from_str_radix(generation, 16).ok()
}

/// A folder of the file system.
#[derive(Debug)]
pub(crate) struct FsDir {
    path: PathBuf,
}

impl FsDir {
    /// Opens the folder, and makes it where it is missing.
    pub(crate) fn open(path: PathBuf) -> Result<FsDir, StoreError> {
        if !path.is_dir() {
            fs::create_dir(&path)
                .map_err(StoreError::io(format!("creating {}", path.display())))?;
            if let Some(parent) = path.parent() {
                sync_dir(parent)
                    .map_err(StoreError::io(format!("syncing {}", parent.display())))?;
            }
        }
        Ok(FsDir { path })
    }
}

impl SegmentDir for FsDir {
    fn publish(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let unfinished = path.with_extension(&SUFFIX_TMP[1..]);
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        sync_dir(&self.path)
    }

    fn open(&self, name: &str) -> io::Result<PartBytes> {
        let file = File::open(self.path.join(name))?;
        if file.metadata()?.len() == 0 {
            return Ok(PartBytes::copy(&[])); // an empty file cannot be mapped
        }
        Ok(PartBytes::Mapped(Map::new(&file)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let ours = |name: &String| generation_of(name).is_some() || name.ends_with(SUFFIX_TMP);
        Ok(names.filter(ours).collect())
    }
}

/// Makes names in `path` durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_part_is_read_back_and_its_name_is_not_reused() {
        let folder = tempfile::tempdir().unwrap();
        let dir = FsDir::open(folder.path().join("segments")).unwrap();
        let name = file_name(3, 5);
        dir.publish(&name, b"bytes").unwrap();
        let bytes = dir.open(&name).unwrap();
        assert_eq!(
            dir.publish(&name, b"other").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(dir.list().unwrap(), [name.as_str()]);
        dir.remove(&name).unwrap();
        assert_eq!(bytes.as_ref(), b"bytes");
        assert!(dir.list().unwrap().is_empty());
    }

    #[test]
    fn generations_are_read_from_names_of_ours_only() {
        assert_eq!(generation_of(&file_name(0xabc, 1)), Some(0xabc));
        for name in [
            "x.seg",
            "0-0.seg",
            "0000000000000001-000000000000000g.seg",
            "a.tmp",
            "",
        ] {
            assert_eq!(generation_of(name), None, "{name}");
        }
    }
}
