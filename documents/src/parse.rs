//! Which parser reads which kind of file.

use std::path::Path;

use crate::kind::Kind;
use crate::limits::{Limits, ParseError};
use crate::tree::ParsedDocument;
use crate::{chat, code, epub, html, image, jats, latex, markdown, pdf, subtitles, text};
use loci_office::{docx, pptx};

/// Version of the parsers as a whole. A change of any parser's output raises it, and documents
/// parsed by an older version are parsed again when their file is next ingested.
pub const VERSION: u16 = 6;

/// Parses a file within the default [`Limits`].
///
/// `filename`: the file's name or path, where known. It gives source files their title, pictures
/// their name, and nothing else.
///
/// # Errors
/// See [`ParseError`].
pub fn parse(
    kind: Kind,
    bytes: &[u8],
    filename: Option<&str>,
) -> Result<ParsedDocument, ParseError> {
    parse_within(kind, bytes, filename, &Limits::default())
}

/// Parses a file within `limits`.
///
/// # Errors
/// See [`ParseError`].
///
/// # Cost
/// One pass over the bytes for the text formats. PDF: about 8 ms a page.
pub fn parse_within(
    kind: Kind,
    bytes: &[u8],
    filename: Option<&str>,
    limits: &Limits,
) -> Result<ParsedDocument, ParseError> {
    limits.check_bytes(bytes)?;
    let document = match kind {
        Kind::Markdown => markdown::parse(bytes, limits)?,
        Kind::Text => text::parse(bytes, limits)?,
        Kind::Html => html::parse(bytes, limits)?,
        Kind::Pdf => pdf::parse(bytes, limits)?,
        Kind::Code(language) => code::parse(language, bytes, filename.map(file_name), limits)?,
        Kind::Pptx => pptx::parse(bytes, limits)?,
        Kind::Docx => docx::parse(bytes, limits)?,
        Kind::Epub => epub::parse(bytes, limits)?,
        Kind::Latex => latex::parse(bytes, limits)?,
        Kind::Jats => jats::parse(bytes, limits)?,
        Kind::Chat => chat::parse(bytes, limits)?,
        Kind::Subtitles => subtitles::parse(bytes, limits)?,
        Kind::Image => image::parse(bytes, filename.map(file_name), limits)?,
    };
    document
        .validate()
        .map_err(|reason| ParseError::Invalid { reason })?;
    Ok(document)
}

/// The last part of a path, whatever separates its parts.
fn file_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}
