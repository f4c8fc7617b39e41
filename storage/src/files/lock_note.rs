//! The note of a server in the lock file of a store: its process and its addresses, for the error of a process that does not
//! get the lock.
//!
//! Always true: the note means nothing to the lock; the next owner of the lock clears it.

use std::io::{self, Read, Write};
use std::path::Path;

use crate::files::names::LOCK;
use crate::files::permissions::{open_file, read_options};

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
/// has the store open; the lock and the identity of the file do not change.
///
/// # Errors
/// Where the file cannot be written. The store works without the note.
pub fn write_server_note(folder: &Path, addresses: &[String]) -> io::Result<()> {
    let path = folder.join(LOCK);
    let mut file = open_file(read_options().write(true).truncate(true), &path)?;
    let (process, addresses) = (std::process::id(), addresses.join(" "));
    file.write_all(format!("{NOTE_START} {process} {addresses}\n").as_bytes())
}

/// The note of a server in the lock file at `path`, if there is one.
pub(crate) fn read_server_note(path: &Path) -> Option<ServerNote> {
    let mut text = String::new();
    let file = open_file(read_options().read(true), path).ok()?;
    file.take(NOTE_LEN_MAX).read_to_string(&mut text).ok()?;
    let mut words = text.split_ascii_whitespace();
    words.next().filter(|word| *word == NOTE_START)?;
    let process = words.next()?.parse().ok()?;
    // What is printed is an address, whoever wrote it.
    let is_plain = |word: &&str| word.contains("://") && word.bytes().all(|b| b.is_ascii_graphic());
    let addresses: Vec<&str> = words.filter(is_plain).collect();
    let addresses = addresses.join(", ");
    (!addresses.is_empty()).then_some(ServerNote { process, addresses })
}

/// Removes the note of a server that had the lock before.
pub(crate) fn clear_note(path: &Path) {
    // Best effort: a note is printed only for a process that holds the lock.
    if let Ok(file) = open_file(read_options().write(true), path)
        && file.metadata().is_ok_and(|metadata| metadata.len() > 0)
    {
        let _ = file.set_len(0);
    }
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
}
