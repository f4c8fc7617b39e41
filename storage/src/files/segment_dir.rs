//! The folder of parts that are too large for a row. Each file is written once and then only read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::StoreError;
use crate::files::bytes::PartBytes;
use crate::files::disk::{Disk, NewFile};
use crate::files::folder::create_folder;
use crate::map::LostPages;

const PART_SUFFIX: &str = ".seg";
const UNFINISHED_PART_SUFFIX: &str = ".tmp";

/// The folder of parts.
#[derive(Clone, Debug)]
pub(crate) struct SegmentDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Counts its parts that lost pages while they were open.
    lost_pages: Arc<LostPages>,
}

/// The name of a part that a commit after `durable` will list.
pub(crate) fn part_file_name(generation: u64, random: u64) -> String {
    format!("{generation:016x}-{random:016x}{PART_SUFFIX}")
}

/// The generation in a part's name; `None` when the name is not one of ours.
pub(crate) fn parse_generation(name: &str) -> Option<u64> {
    let (generation, random) = name.strip_suffix(PART_SUFFIX)?.split_once('-')?;
    let well_formed = |part: &str| part.len() == 16 && part.bytes().all(|c| c.is_ascii_hexdigit());
    if !well_formed(generation) || !well_formed(random) {
        return None;
    }
    u64::from_str_radix(generation, 16).ok()
}

impl SegmentDir {
    /// Opens the folder, and makes it where it is missing.
    pub(crate) fn open(disk: Arc<dyn Disk>, path: PathBuf) -> Result<SegmentDir, StoreError> {
        create_folder(&*disk, &path)?;
        Ok(SegmentDir {
            disk,
            path,
            lost_pages: Arc::default(),
        })
    }

    /// The store's folder.
    pub(crate) fn store_folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Makes a part durable under `name`: all of it or nothing, even if the power fails. `write`
    /// appends its bytes.
    ///
    /// Fails with `AlreadyExists` when the name is taken. A failure leaves nothing behind, or what the
    /// next open deletes.
    pub(crate) fn publish(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn NewFile) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.part_path(name)?;
        if self.disk.exists(&path)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let unfinished = path.with_extension(&UNFINISHED_PART_SUFFIX[1..]);
        let mut file = self.disk.create(&unfinished)?;
        let written = write(&mut *file).and_then(|()| file.sync());
        drop(file);
        let renamed = written.and_then(|()| self.disk.rename(&unfinished, &path));
        let durable = renamed.and_then(|()| self.disk.sync_folder(&self.path));
        durable.inspect_err(|_| {
            for path in [&unfinished, &path] {
                // One of the names is not there; what cannot be removed is deleted by the next open.
                let _ = self.disk.remove(path);
            }
        })
    }

    /// Gives a part the same name in another folder, too, whose names are made durable by the caller.
    pub(crate) fn link(&self, other: &SegmentDir, name: &str) -> io::Result<()> {
        self.disk
            .link(&self.part_path(name)?, &other.part_path(name)?)
    }

    /// The bytes that were published under `name`. They outlive [`SegmentDir::remove`].
    pub(crate) fn open_part(&self, name: &str) -> io::Result<PartBytes> {
        let mut bytes = self.disk.map(&self.part_path(name)?)?;
        bytes.count_with(&self.lost_pages);
        Ok(bytes)
    }

    /// How many parts lost pages while they were open, until now.
    pub(crate) fn lost_pages(&self) -> u64 {
        self.lost_pages.count()
    }

    /// The path of the part of this name. A name that a manifest lists may be anything: one that is not ours could
    /// lead out of the folder.
    fn part_path(&self, name: &str) -> io::Result<PathBuf> {
        match parse_generation(name) {
            Some(_) => Ok(self.path.join(name)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not the name of a part",
            )),
        }
    }

    /// Forgets the name. Readers that hold the bytes keep them.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(&self.path.join(name))
    }

    /// All published names, and unfinished ones, which end in `.tmp`.
    pub(crate) fn list(&self) -> io::Result<Vec<String>> {
        let mut names = self.disk.names(&self.path)?;
        names.retain(|name| {
            parse_generation(name).is_some() || name.ends_with(UNFINISHED_PART_SUFFIX)
        });
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::OsDisk;

    #[test]
    fn published_part_is_readable_and_its_name_cannot_be_reused() {
        let folder = tempfile::tempdir().unwrap();
        let dir = SegmentDir::open(Arc::new(OsDisk), folder.path().join("segments")).unwrap();
        let name = part_file_name(3, 5);
        dir.publish(&name, |file| file.append(b"bytes")).unwrap();
        let bytes = dir.open_part(&name).unwrap();
        assert_eq!(
            dir.publish(&name, |file| file.append(b"other"))
                .unwrap_err()
                .kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(dir.list().unwrap(), [name.as_str()]);
        dir.remove(&name).unwrap();
        assert_eq!(bytes.as_ref(), b"bytes");
        assert!(dir.list().unwrap().is_empty());
    }

    #[test]
    fn part_name_is_rejected_when_it_escapes_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let dir = SegmentDir::open(Arc::new(OsDisk), folder.path().join("segments")).unwrap();
        std::fs::write(folder.path().join("other"), b"bytes").unwrap();
        for name in ["../other", "/etc/hostname", "other", ""] {
            let refused = [dir.open_part(name).map(drop), dir.publish(name, |_| Ok(()))];
            for refused in refused {
                assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
            }
        }
    }

    #[test]
    fn generation_is_parsed_from_part_file_names_only() {
        assert_eq!(parse_generation(&part_file_name(0xabc, 1)), Some(0xabc));
        for name in [
            "x.seg",
            "0-0.seg",
            "0000000000000001-000000000000000g.seg",
            "+000000000000001-0000000000000001.seg",
            "../0000000000001-0000000000000001.seg",
            "a.tmp",
            "",
        ] {
            assert_eq!(parse_generation(name), None, "{name}");
        }
    }
}
