//! A zip archive whose size when unpacked is not known: what Word, PowerPoint and EPUB files are.
//!
//! Always true: no more than [`Limits::unpacked_max`] bytes are unpacked of an archive in all, and no more of one file than
//! was asked for, whatever its directory says; nothing is written anywhere.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::kind::Kind;
use crate::limits::within;
use crate::limits::{Limits, ParseError};

/// Files in one archive.
const FILES_MAX: usize = 65_536;
/// Bytes that one of them may have, however little text is allowed: markup says little with many bytes.
const PART_BYTES_MIN: usize = 64 << 20;
/// Bytes that a file is trusted to have before it is unpacked.
const CAPACITY_MAX: usize = 1 << 20;

/// An archive that is read by the names of its files.
pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    kind: Kind,
    /// Bytes that may still be unpacked.
    bytes_left: usize,
    /// Whether more were asked for than that.
    is_exceeded: bool,
    limits: &'a Limits,
}

impl<'a> Archive<'a> {
    /// Reads the directory. `kind`: what an error calls the file.
    pub fn open(
        bytes: &'a [u8],
        kind: Kind,
        limits: &'a Limits,
    ) -> Result<Archive<'a>, ParseError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| open_error(kind, &error))?;
        within("files", zip.len(), FILES_MAX)?;
        Ok(Archive {
            zip,
            kind,
            bytes_left: limits.unpacked_max,
            is_exceeded: false,
            limits,
        })
    }

    /// The names of all files, in the order of the directory.
    pub fn names(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        self.zip.file_names().filter_map(Result::ok)
    }

    /// A file by its name; `None` where there is none of that name. Its text is bounded as that of a document.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, ParseError> {
        self.read_within(name, self.limits.text_max.max(PART_BYTES_MIN))
    }

    /// The same; too large with more than `most` bytes.
    pub fn read_within(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, ParseError> {
        let kind = self.kind;
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(open_error(kind, &error)),
        };
        // What it says is trusted where it says too much, else it is counted.
        let declared_len = usize::try_from(file.size()).unwrap_or(usize::MAX);
        within("bytes in one of its files", declared_len, most)?;
        let most_left = most.min(self.bytes_left);
        let mut bytes = Vec::with_capacity(declared_len.min(most_left).min(CAPACITY_MAX));
        let read = file.take(most_left as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| malformed(kind, format!("{name}: {error}")))?;
        let Some(left) = self.bytes_left.checked_sub(bytes.len()) else {
            self.is_exceeded = true;
            return self.check_unpacked().map(|()| None);
        };
        self.bytes_left = left;
        within("bytes in one of its files", bytes.len(), most)?;
        Ok(Some(bytes))
    }

    /// Refuses an archive of which too much was unpacked.
    pub fn check_unpacked(&self) -> Result<(), ParseError> {
        let most = self.limits.unpacked_max;
        within(
            "bytes when unpacked",
            most + usize::from(self.is_exceeded),
            most,
        )
    }

    /// A file that must be there.
    pub fn read_required(&mut self, name: &str) -> Result<Vec<u8>, ParseError> {
        let bytes = self.read(name)?;
        bytes.ok_or_else(|| malformed(self.kind, format!("it has no {name}")))
    }
}

fn open_error(kind: Kind, error: &ZipError) -> ParseError {
    match error {
        ZipError::UnsupportedArchive(why) if why.contains("assword") => {
            ParseError::Encrypted { kind }
        }
        error => malformed(kind, error.to_string()),
    }
}

fn malformed(kind: Kind, reason: String) -> ParseError {
    ParseError::Malformed { kind, reason }
}

/// The path of `target` as a file at `base` means it: `../media/a.png` in `ppt/slides/x.xml` is `ppt/media/a.png`. Steps out
/// of the archive stay at its root.
pub fn resolve(base: &str, target: &str) -> String {
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::packed;

    #[test]
    fn files_are_read_until_too_much_is_unpacked() {
        let bytes = packed(&[
            ("a.xml", b"<a/>"),
            ("b/bomb", &[0; 100_000]),
            ("../c", b"c"),
        ]);
        assert!(bytes.len() < 2_000);
        let limits = Limits {
            unpacked_max: 50_000,
            ..Limits::default()
        };
        let mut archive = Archive::open(&bytes, Kind::Docx, &limits).unwrap();
        assert_eq!(archive.read_required("a.xml").unwrap(), b"<a/>");
        assert_eq!(archive.read("d").unwrap(), None);
        assert!(matches!(
            archive.read_required("b/bomb"),
            Err(ParseError::TooLarge { .. })
        ));
        assert!(matches!(
            archive.read_required("d"),
            Err(ParseError::Malformed { .. })
        ));
        for end in [0, 4, bytes.len() / 2, bytes.len() - 1] {
            assert!(Archive::open(&bytes[..end], Kind::Docx, &limits).is_err());
        }
    }

    #[test]
    fn a_file_that_says_it_is_too_large_is_not_unpacked_and_one_that_lies_is_stopped() {
        let bytes = packed(&[("a", &[0; 100_000]), ("b", b"b")]);
        let limits = Limits::default();
        let mut archive = Archive::open(&bytes, Kind::Docx, &limits).unwrap();
        let too_large = |got| matches!(got, Err(ParseError::TooLarge { .. }));
        assert!(too_large(archive.read_within("a", 99_999)));
        assert_eq!(
            archive.bytes_left, limits.unpacked_max,
            "nothing was unpacked"
        );
        assert!(archive.read_within("a", 100_000).unwrap().is_some());
        // The directory says ten bytes.
        let at = bytes
            .windows(4)
            .rposition(|w| w == 100_000_u32.to_le_bytes());
        let mut lie = bytes.clone();
        lie[at.unwrap()..][..4].copy_from_slice(&10_u32.to_le_bytes());
        let mut archive = Archive::open(&lie, Kind::Docx, &limits).unwrap();
        let got = archive.read_within("a", 1000);
        assert!(got.is_err() || got.unwrap().is_some_and(|it| it.len() <= 1000));
        assert_eq!(archive.read("b").unwrap().unwrap(), b"b");
    }

    #[test]
    fn paths_stay_in_the_archive() {
        for (base, target, path) in [
            ("ppt/slides/1.xml", "../media/a.png", "ppt/media/a.png"),
            (
                "ppt/slides/1.xml",
                "/docProps/core.xml",
                "docProps/core.xml",
            ),
            ("word/document.xml", "media/./b.png", "word/media/b.png"),
            ("a", "../../../etc/passwd", "etc/passwd"),
        ] {
            assert_eq!(resolve(base, target), path);
        }
    }
}
