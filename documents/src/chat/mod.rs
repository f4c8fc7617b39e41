//! Transcripts of chats: JSON, lines of JSON, or plain text with a speaker's name before each turn.
//!
//! A conversation begins with a heading: its title, or its first words where the file holds several. What somebody
//! says is read as Markdown. The first block of a turn is a [`BlockKind::Turn`] with the speaker; the blocks that
//! follow keep their kinds, so code stays code. Where a turn begins with anything but prose, its first block is the
//! speaker's name by itself. Headings within a turn are strong paragraphs: they would swallow the turns after it.
//!
//! JSON gives a new text; plain text stays the file's own.
//!
//! Start reading at [`parse`]; the formats are in [`json`] and [`plain`].

use crate::markdown;
use loci_parsing::decode::decode;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{Block, BlockKind, Mark, MarkKind, ParsedDocument};

mod json;
mod plain;

pub(super) use plain::is_chat;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode(bytes)?;
    let source = &decoded.text[decoded.start..];
    if source.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    let is_json = source.trim_start().starts_with(['{', '[']) && !plain::begins_turn(source);
    let mut document = if is_json {
        json::parse(source, limits)?
    } else {
        limits.check_text(decoded.text.len())?;
        plain::parse(decoded, limits)?
    };
    document.kind = Kind::Chat;
    if document.blocks.is_empty() {
        Err(ParseError::Empty)
    } else {
        Ok(document)
    }
}

fn malformed(reason: impl Into<String>) -> ParseError {
    let reason = reason.into();
    ParseError::Malformed {
        kind: Kind::Chat,
        reason,
    }
}

/// The blocks of a message; their ranges are bytes of it.
fn blocks_of(message: &str, limits: &Limits) -> Result<Vec<Block>, ParseError> {
    let mut blocks = markdown::parse(without_front_matter(message).as_bytes(), limits)?.blocks;
    for block in &mut blocks {
        if let BlockKind::Heading(_) = block.kind {
            block.kind = BlockKind::Paragraph;
            let (kind, range) = (MarkKind::Strong, block.range.clone());
            block.marks.insert(0, Mark { kind, range });
        }
    }
    Ok(blocks)
}

/// The text, byte for byte as long, with other rules than `---`: between two of these nobody says anything by the rules
/// of Markdown files.
fn without_front_matter(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut is_after_blank = true;
    for line in message.split_inclusive('\n') {
        match line
            .strip_prefix("---")
            .filter(|rest| is_after_blank && rest.trim().is_empty())
        {
            Some(rest) => {
                out.push_str("***");
                out.push_str(rest);
            }
            None => out.push_str(line),
        }
        is_after_blank = line.trim().is_empty();
    }
    out
}

/// Whether a turn may simply begin with this block.
fn is_prose(block: &Block) -> bool {
    block.kind == BlockKind::Paragraph
}

#[cfg(test)]
mod tests;
