//! Files to trees of blocks with exact places: pure functions, no store, no model, no network.
//!
//! [`detect`] tells a file's kind from its name and first bytes, [`parse`] reads it. Every parser
//! stays within [`Limits`] and answers hostile bytes with a [`ParseError`]. The one that relies on
//! a large foreign crate (PDF) may still panic, loop or use much memory there, so whoever parses
//! files of strangers runs it in a process that may die.
//!
//! Always true: what `parse` returns has passed [`ParsedDocument::validate`].
//!
//! ```text
//! parse, detect   which parser reads a file
//! pdf epub html jats latex markdown text chat subtitles code image   the formats
//! loci_office     Word and PowerPoint files
//! loci_parsing    what all parsers share: the tree, limits and errors, encodings, archives, XML
//! ```
//!
//! Start reading at [`parse_within`].

use loci_parsing::{cues, decode, kind, language, limits, package, tables, writing, xml};
pub use loci_parsing::{facts, tree, warnings};

mod chat;
mod code;
mod detect;
mod epub;
mod html;
mod image;
mod jats;
mod latex;
mod markdown;
mod parse;
mod pdf;
mod subtitles;
mod text;

pub use cues::heading::title_heading;
pub use detect::detect;
pub use facts::TextMetrics;
pub use image::readable as readable_name;
pub use kind::Kind;
pub use language::Language;
pub use limits::{Limits, ParseError};
pub use parse::{VERSION, parse, parse_within};
pub use tree::{
    Asset, Block, BlockKind, InTextCitation, Mark, MarkKind, PageBox, ParsedDocument, Reference,
};

#[cfg(test)]
#[path = "../parsing/src/packed.rs"]
mod packed;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of;
