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
//! parse, detect   which parser reads a file           tree facts  what a parser returns
//! kind, language  the kinds of files                  limits      what a parser may spend
//! pdf docx pptx epub html jats latex markdown text chat subtitles code image   the formats
//! office xml package decode   what several formats share: OOXML, XML, archives, encodings
//! writing cues                where parsers write; headings, numbers and years in lines
//! ```
//!
//! Start reading at [`parse_within`].

mod chat;
mod code;
mod cues;
mod decode;
mod detect;
mod docx;
mod epub;
pub mod facts;
mod html;
mod image;
mod jats;
mod kind;
mod language;
mod latex;
mod limits;
mod markdown;
mod office;
mod package;
mod parse;
mod pdf;
mod pptx;
mod subtitles;
mod text;
pub mod tree;
pub mod warnings;
mod writing;
mod xml;

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
mod tests;
#[cfg(test)]
mod tests_of;
