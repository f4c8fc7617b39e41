//! The path of a file, as a text that the store remembers beside the document that was read from it.
//!
//! Always true: two paths have the same text only when they are the same bytes, and the text gives the path back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::open::FileId;

/// What begins the text of a path that is not UTF-8. An absolute path never begins so.
const ESCAPED_PREFIX: &str = "escaped:";

/// The text of a canonical path.
pub(super) fn from_path(path: &Path) -> String {
    match path.to_str() {
        Some(path) => path.to_owned(),
        None => ESCAPED_PREFIX.to_owned() + &escape(path.as_os_str().as_encoded_bytes()),
    }
}

/// The path of a text; `None` where it is none of this system.
fn to_path(origin: &str) -> Option<PathBuf> {
    match origin.strip_prefix(ESCAPED_PREFIX) {
        Some(escaped) => path_from_bytes(unescape(escaped)?),
        None => Some(PathBuf::from(origin)),
    }
}

/// Whether the file `id` is at the very path that a document was read from, reached without a link: it has two names.
pub(super) fn is_same_file(origin: &str, id: Option<FileId>) -> bool {
    let Some(path) = to_path(origin) else {
        return false;
    };
    let is_canonical = fs::canonicalize(&path).is_ok_and(|canonical| canonical == path);
    let metadata = fs::symlink_metadata(path);
    let is_it = metadata.is_ok_and(|metadata| FileId::from_metadata(&metadata) == id);
    is_canonical && id.is_some() && is_it
}

/// Whether the file that a document was read from is still there. What cannot be looked at counts as there.
pub(super) fn origin_exists(origin: &str) -> bool {
    let Some(path) = to_path(origin) else {
        return false;
    };
    match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b'%' | 0..0x20 | 0x7f.. => text += &format!("%{byte:02x}"),
            plain => text.push(char::from(plain)),
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(bytes)
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(_: Vec<u8>) -> Option<PathBuf> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_path_comes_back_whatever_its_bytes() {
        for bytes in [&b"/a/b.md"[..], b"/a/%41\xff\n", b"/\xc3\xa4 b", b"/x%"] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(to_path(&from_path(path)).as_deref(), Some(path));
        }
        assert_eq!(to_path("escaped:/a%f"), None);
        assert_eq!(to_path("escaped:/a%ä0"), None);
    }
}
