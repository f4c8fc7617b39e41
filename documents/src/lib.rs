//! Files to trees of blocks with exact places: pure functions, no store, no model, no network.
//!
//! [`detect`] finds a file's kind from its name and first bytes, and [`parse`] reads it. Every parser
//! stays within [`Limits`] and returns a [`ParseError`] for hostile bytes. The PDF parser uses a large
//! foreign crate, which may still panic, loop or use much memory. If files come from strangers, run it
//! in a child process.
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

pub use detect::detect;
pub use image::readable as readable_name;
pub use loci_parsing::cues::heading::title_heading;
pub use loci_parsing::facts::TextMetrics;
pub use loci_parsing::kind::Kind;
pub use loci_parsing::language::Language;
pub use loci_parsing::limits::{Limits, ParseError};
pub use loci_parsing::tree::{
    Asset, Block, BlockKind, InTextCitation, Mark, MarkKind, PageBox, ParsedDocument, Reference,
};
pub use parse::{VERSION, parse, parse_within};

#[cfg(test)]
#[path = "../parsing/src/packed.rs"]
mod packed;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of;
