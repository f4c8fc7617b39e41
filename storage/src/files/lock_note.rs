//! The note of a server in the lock file of a store: its process and its addresses, for the error of a process that does not
//! get the lock.
//!
//! Always true: the note means nothing to the lock; the next owner of the lock clears it.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::files::names::LOCK;
use crate::files::permissions::{existing_file_options, open_file, read_options};

/// First word of a note.
const NOTE_START: &str = "server";
/// Longest note that is read, in bytes.
const NOTE_LEN_MAX: u64 = 512;

/// A server that has a store open, as its note says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerNote {
    /// The server's process.
    pub(crate) process: u32,
    /// Its addresses, as a person uses them: `http://127.0.0.1:7626/, loci://127.0.0.1:7625`.
    pub(crate) addresses: String,
}

/// Writes into the lock file of the store in `folder` that this process serves it at these addresses. For a process that
/// has the store open; the lock and the identity of the file do not change. Follows no link, and replaces nothing but a
/// note.
///
/// # Errors
/// Where the file cannot be written, or has other content. The store works without the note.
pub fn write_server_note(folder: &Path, addresses: &[String]) -> io::Result<()> {
    let mut file = open_file(&existing_file_options(), &folder.join(LOCK))?;
    remove_note(&mut file)?;
    if file.metadata()?.len() > 0 {
        let why = "the lock file has other content";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    file.rewind()?;
    let (process, addresses) = (std::process::id(), addresses.join(" "));
    file.write_all(format!("{NOTE_START} {process} {addresses}\n").as_bytes())
}

/// The note of a server in the lock file at `path`, if there is one.
pub(crate) fn read_server_note(path: &Path) -> Option<ServerNote> {
    let mut file = open_file(read_options().read(true), path).ok()?;
    parse_note(&read_start(&mut file).ok()?)
}

/// Removes the note of a server that had the lock at `path` before. Best effort: a note is printed only for a process that
/// holds the lock.
pub(crate) fn clear_note(path: &Path) {
    if let Ok(mut file) = open_file(&existing_file_options(), path) {
        let _ = remove_note(&mut file);
    }
}

/// Empties the file if it holds a note.
fn remove_note(file: &mut File) -> io::Result<()> {
    if parse_note(&read_start(file)?).is_some() {
        file.set_len(0)?;
    }
    Ok(())
}

/// As much of the file as a note may take.
fn read_start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(NOTE_LEN_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse_note(bytes: &[u8]) -> Option<ServerNote> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut words = text.split_ascii_whitespace();
    words.next().filter(|word| *word == NOTE_START)?;
    let process = words.next()?.parse().ok()?;
    // What is printed is an address, whoever wrote it.
    let is_plain = |word: &&str| word.contains("://") && word.bytes().all(|b| b.is_ascii_graphic());
    let addresses: Vec<&str> = words.filter(is_plain).collect();
    let addresses = addresses.join(", ");
    (!addresses.is_empty()).then_some(ServerNote { process, addresses })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn other_content_of_a_lock_file_is_no_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        assert_eq!(read_server_note(&path), None);
        for text in [
            "",
            "server",
            "server x http://a/",
            "server 1",
            "server 1 a b",
            "redb",
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read_server_note(&path), None, "{text}");
        }
        fs::write(
            &path,
            format!(
                "server 1 http://a/ \u{1b}[31mhttp://b/ {}",
                "x".repeat(9_000)
            ),
        )
        .unwrap();
        let note = read_server_note(&path).unwrap();
        assert_eq!((note.process, &note.addresses[..]), (1, "http://a/"));
    }

    #[cfg(unix)]
    #[test]
    fn foreign_content_and_links_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let note = ["http://127.0.0.1:1/".to_owned()];
        fs::write(&path, "data of somebody").unwrap();
        clear_note(&path);
        assert!(write_server_note(folder.path(), &note).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "data of somebody");
        fs::remove_file(&path).unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "server 1 http://127.0.0.1:1/\n").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        clear_note(&path);
        assert!(write_server_note(folder.path(), &note).is_err());
        assert_eq!(fs::metadata(&target).unwrap().len(), 29);
    }

    #[test]
    fn note_replaces_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        fs::write(&path, "server 1 http://a-long-name.example:7626/\n").unwrap();
        write_server_note(folder.path(), &["http://b/".to_owned()]).unwrap();
        let own = format!("server {} http://b/\n", std::process::id());
        assert_eq!(fs::read_to_string(&path).unwrap(), own);
        clear_note(&path);
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}
