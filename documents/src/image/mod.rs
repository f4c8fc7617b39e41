//! Pictures: PNG, JPEG, GIF, WebP, BMP and TIFF.
//!
//! A picture is one [`BlockKind::Figure`]. Its text is the file's name made readable, and the descriptions in the
//! file's metadata. The file is its only asset.
//!
//! Always true: only headers are decoded, within bounds ([`header`]).
//!
//! Start reading at [`parse`].

use std::path::Path;

use loci_parsing::cues::year::year;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{Asset, Block, BlockKind, ParsedDocument};
use loci_parsing::writing::running::RunningText;
use loci_parsing::writing::writer::Writer;

mod header;

/// What a header says of a picture.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    /// Name of the format in lower case, which is its usual extension.
    format: &'static str,
    /// Width and height in pixels.
    size: Option<(u32, u32)>,
    title: Option<String>,
    description: Option<String>,
    author: Option<String>,
    /// When it was made, as the file says.
    created: Option<String>,
}

/// `filename`: the file's name without its folder, where known.
pub(super) fn parse(
    bytes: &[u8],
    filename: Option<&str>,
    limits: &Limits,
) -> Result<ParsedDocument, ParseError> {
    let header = header::read(bytes).ok_or_else(|| ParseError::Malformed {
        kind: Kind::Image,
        reason: "its first bytes are of no picture that is read here".to_owned(),
    })?;
    let name = filename.filter(|name| !name.trim().is_empty() && *name != "..");
    let name = name.map_or_else(|| format!("image.{}", header.format), str::to_owned);
    let mut words = RunningText::default();
    for sentence in [
        Some(readable(&name)),
        header.title.clone(),
        header.description,
    ] {
        let Some(sentence) = sentence.filter(|sentence| !words.as_str().contains(sentence.trim()))
        else {
            continue;
        };
        if words.as_str().ends_with(char::is_alphanumeric) {
            words.push(".");
        }
        words.space();
        words.push(&sentence);
    }
    let mut document = ParsedDocument {
        kind: Kind::Image,
        title: header.title,
        authors: header.author.into_iter().collect(),
        year: header.created.as_deref().and_then(year),
        ..ParsedDocument::default()
    };
    let facts = &mut document.facts;
    facts.state("format", header.format);
    if let Some((width, height)) = header.size {
        facts.state("width", width.to_string());
        facts.state("height", height.to_string());
    }
    facts.created = header.created;
    let mut out = Writer::new(limits);
    let block = Block {
        kind: BlockKind::Figure,
        images: vec![name.clone()],
        ..Block::default()
    };
    out.write_block(block, words)?;
    out.finish_into(&mut document);
    if bytes.len() <= limits.assets_max {
        let bytes = bytes.to_vec();
        document.assets.push(Asset { name, bytes });
    }
    Ok(document)
}

/// `crab-nebula_2.png` as `crab nebula 2`. A name of signs alone stays as it is.
pub fn readable(name: &str) -> String {
    let stem = Path::new(name)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(name);
    let is_break = |c: char| matches!(c, '-' | '_' | '.' | '+') || c.is_whitespace();
    let words: Vec<&str> = stem
        .split(is_break)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        name.to_owned()
    } else {
        words.join(" ")
    }
}

#[cfg(test)]
mod tests;
