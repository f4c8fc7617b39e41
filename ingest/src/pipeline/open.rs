//! Opening a file that was found a while ago: it, and nothing that was put in its place.
//!
//! Always true: what is read is a regular file at the very path that was found, reached without a link; opening it never
//! waits, and no more than the limit is read of it.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// What tells a file from all others of this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// `None` on a system that tells none.
    #[cfg(unix)]
    pub(super) fn from_metadata(metadata: &Metadata) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt;
        Some(FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Metadata) -> Option<FileId> {
        None
    }
}

/// The bytes of the file at `path`, which was canonical when it was found, unless there are more than `most`: it may have
/// grown since.
///
/// A file that was saved anew under its name since is read. A link, device, pipe or folder in its place is refused, and
/// so is a file behind a folder that is a link by now.
pub(super) fn read(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let (file, len) = open(path)?;
    let mut bytes = Vec::new();
    if len <= most as u64 {
        let limit = (most as u64).saturating_add(1);
        let read = file.take(limit).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
    }
    if bytes.len() > most || len > most as u64 {
        return Err(format!(
            "the file has {} bytes, at most {most} are read; split it",
            len.max(bytes.len() as u64)
        ));
    }
    Ok(bytes)
}

/// Opens the file, and returns its length.
fn open(path: &Path) -> Result<(File, u64), String> {
    let file = open_without_links(path).map_err(|error| {
        if is_link(path) {
            replaced_error()
        } else {
            error.to_string()
        }
    })?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err(replaced_error());
    }
    if !is_at(path, FileId::from_metadata(&metadata)) {
        return Err(replaced_error());
    }
    Ok((file, metadata.len()))
}

fn replaced_error() -> String {
    "something else was put in its place after it was found: ingest it again".to_owned()
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// Whether the file is the one at `path`, without a link on the way.
fn is_at(path: &Path, id: Option<FileId>) -> bool {
    let is_canonical = fs::canonicalize(path).is_ok_and(|canonical| canonical == path);
    let metadata = fs::symlink_metadata(path);
    is_canonical && metadata.is_ok_and(|metadata| FileId::from_metadata(&metadata) == id)
}

/// Opens without waiting for a writer, following a link, or taking a terminal.
#[cfg(unix)]
fn open_without_links(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open_without_links(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_put_in_the_place_of_a_file_is_neither_waited_for_nor_followed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let (path, secret) = (folder.join("in/a.txt"), folder.join("out/a.txt"));
        fs::create_dir(folder.join("in")).unwrap();
        fs::create_dir(folder.join("out")).unwrap();
        fs::write(&path, "water").unwrap();
        fs::write(&secret, "secret").unwrap();
        assert_eq!(read(&path, 9).unwrap(), b"water");
        let put: [(&str, &dyn Fn()); 4] = [
            ("pipe", &|| {
                let status = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(status.unwrap().success());
            }),
            ("link", &|| symlink(&secret, &path).unwrap()),
            ("device", &|| symlink("/dev/zero", &path).unwrap()),
            ("folder", &|| fs::create_dir(&path).unwrap()),
        ];
        for (what, put) in put {
            let _ = fs::remove_file(&path);
            put();
            let refused = read(&path, 9).unwrap_err();
            assert!(refused.contains("in its place"), "{what}: {refused}");
        }
        fs::remove_dir(&path).unwrap();
        fs::remove_dir(folder.join("in")).unwrap();
        symlink(folder.join("out"), folder.join("in")).unwrap();
        let refused = read(&path, 9).unwrap_err();
        assert!(refused.contains("in its place"), "a folder: {refused}");
    }

    #[test]
    fn a_file_that_is_saved_anew_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let path = folder.join("a.txt");
        fs::write(&path, "old").unwrap();
        let id = FileId::from_metadata(&fs::symlink_metadata(&path).unwrap());
        fs::write(folder.join("new"), "new").unwrap();
        fs::rename(folder.join("new"), &path).unwrap();
        assert_ne!(
            FileId::from_metadata(&fs::symlink_metadata(&path).unwrap()),
            id
        );
        assert_eq!(read(&path, 9).unwrap(), b"new");
    }

    #[test]
    fn a_file_with_more_bytes_than_are_read_is_refused_before_it_is_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap().join("a.txt");
        fs::write(&path, b"0123456789").unwrap();
        let read = |most| read(&path, most);
        assert_eq!(read(10).unwrap(), b"0123456789");
        let refused = read(9).unwrap_err();
        assert!(refused.contains("10 bytes, at most 9"), "{refused}");
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(9).is_err());
    }
}
