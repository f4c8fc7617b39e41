//! What a file is, by its name and its first bytes.
//!
//! Bytes that name their format (`%PDF-`, PNG, …) outweigh the extension; the extension outweighs
//! a look at the text, but for JSON, XML and plain text (`.txt`), which may hold many things. A zip
//! archive is only told apart by extension or by the names of its first entries.

use std::path::Path;

use crate::decode::decode_head;
use crate::kind::Kind;
use crate::language::Language;
use crate::{chat, subtitles};

/// First bytes that only one kind has.
const MAGIC: &[(&[u8], Kind)] = &[
    (b"\x89PNG\r\n\x1a\n", Kind::Image),
    (b"\xff\xd8\xff", Kind::Image),
    (b"GIF87a", Kind::Image),
    (b"GIF89a", Kind::Image),
    (b"II*\0", Kind::Image),
    (b"MM\0*", Kind::Image),
    (b"WEBVTT", Kind::Subtitles),
];

/// Names that tell what a zip archive is when one of them is near its start.
const ZIP_ENTRIES: &[(&str, Kind)] = &[
    ("application/epub+zip", Kind::Epub),
    ("word/", Kind::Docx),
    ("ppt/", Kind::Pptx),
];

/// How far into a file its PDF signature may be (the format's own appendix says 1,024).
const PDF_SIGNATURE_WITHIN: usize = 1024;

/// How much of a file is looked at.
const HEAD_MAX: usize = 64 << 10;

/// Tells a file's kind, or `None` when it is nothing that this crate reads.
///
/// `path`: only its last part matters. `head`: the first bytes; 64 KiB of them are looked at, 4 KiB are plenty, fewer do.
/// A file without an extension is source code when its first line names an interpreter, and text
/// when its head is text, in whatever encoding it is told to be.
pub fn detect(path: &Path, head: &[u8]) -> Option<Kind> {
    let head = &head[..head.len().min(HEAD_MAX)];
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .map(str::to_ascii_lowercase);
    by_magic(head, extension.as_deref())
        .or_else(|| by_name(path))
        .or_else(|| by_extension(extension.as_deref()?, head))
        .or_else(|| match extension {
            None => by_shebang(head).or_else(|| by_text(head)),
            Some(_) => None,
        })
}

fn by_magic(head: &[u8], extension: Option<&str>) -> Option<Kind> {
    if contains(&head[..head.len().min(PDF_SIGNATURE_WITHIN)], b"%PDF-")
        && matches!(extension, None | Some("pdf"))
        || head.starts_with(b"%PDF-")
    {
        return Some(Kind::Pdf);
    }
    if head.starts_with(b"PK\x03\x04") {
        let entry = ZIP_ENTRIES
            .iter()
            .find(|(name, _)| contains(head, name.as_bytes()));
        return entry.map(|&(_, kind)| kind).or_else(|| {
            let kind = by_extension(extension?, &[])?;
            matches!(kind, Kind::Pptx | Kind::Docx | Kind::Epub).then_some(kind)
        });
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Kind::Image);
    }
    MAGIC
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|&(_, kind)| kind)
}

fn by_extension(extension: &str, head: &[u8]) -> Option<Kind> {
    match extension {
        "xml" => {
            let text = valid(head);
            (text.contains("<article") || text.contains("JATS")).then_some(Kind::Jats)
        }
        "json" => by_json(head),
        "jsonl" if !head.is_empty() => by_json(head),
        "txt" | "text" | "log" => Some(by_turns(&valid(head)).unwrap_or(Kind::Text)),
        _ => Kind::from_extension(extension),
    }
}

/// What JSON is: by the keys of its objects.
fn by_json(head: &[u8]) -> Option<Kind> {
    let has = |key: &&[u8]| contains(head, key);
    let chat: [&[u8]; 5] = [
        b"\"role\"",
        b"\"messages\"",
        b"\"conversations\"",
        b"\"conversation\"",
        b"\"chat_messages\"",
    ];
    // Keys that say so only together.
    let pairs: [[&[u8]; 2]; 3] = [
        [b"\"mapping\"", b"\"create_time\""],
        [b"\"turns\"", b"\"question_id\""],
        [b"\"turns\"", b"\"choices\""],
    ];
    if chat.iter().any(has) || pairs.iter().any(|pair| pair.iter().all(has)) {
        return Some(Kind::Chat);
    }
    subtitles::is_timed(&valid(head)).then_some(Kind::Subtitles)
}

/// What text is whose lines begin with times or with the names of speakers.
fn by_turns(text: &str) -> Option<Kind> {
    if subtitles::is_subtitles(text) {
        return Some(Kind::Subtitles);
    }
    chat::is_chat(text).then_some(Kind::Chat)
}

/// The text of a head, as far as it is any. The head may have been cut inside a character.
fn valid(head: &[u8]) -> String {
    decode_head(head).unwrap_or_else(|| String::from_utf8_lossy(head).into_owned())
}

fn by_name(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    Language::from_file_name(name).map(Kind::Code)
}

fn by_shebang(head: &[u8]) -> Option<Kind> {
    Language::from_shebang(head).map(Kind::Code)
}

fn by_text(head: &[u8]) -> Option<Kind> {
    if head.is_empty() {
        return None;
    }
    let text = decode_head(head)?;
    let start = text.trim_start();
    let opening = start.get(..15).unwrap_or(start).to_ascii_lowercase();
    if opening.starts_with("<!doctype html") || opening.starts_with("<html") {
        return Some(Kind::Html);
    }
    if start.starts_with("<?xml")
        || start.starts_with("<!DOCTYPE article")
        || start.starts_with("<article")
    {
        return Some(if text.contains("<article") {
            Kind::Jats
        } else {
            Kind::Text
        });
    }
    if start.starts_with("\\documentclass") {
        return Some(Kind::Latex);
    }
    Some(by_turns(start).unwrap_or(Kind::Text))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle)
}
