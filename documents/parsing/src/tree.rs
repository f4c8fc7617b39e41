//! What every parser makes of a file: one text, and the blocks in it in reading order.
//!
//! Always true, and checked by [`ParsedDocument::validate`]: block ranges are ascending, do not
//! overlap, lie on character boundaries of `text`; marks lie inside their block.
//!
//! The section tree is implied: a [`BlockKind::Heading`] of level n opens a section that ends
//! before the next heading of a level ≤ n.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::facts::TextMetrics;
use crate::kind::Kind;

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// What kind of file it was.
    pub kind: Kind,
    /// Title, where the file states one.
    pub title: Option<String>,
    /// Authors, where the file states them.
    pub authors: Vec<String>,
    /// Year, where the file states it.
    pub year: Option<i32>,
    /// Whatever else the file states about itself.
    #[serde(default)]
    pub facts: TextMetrics,
    /// The text that all ranges refer to.
    pub text: String,
    /// Whether `text` is the file's own decoded text, whatever it was encoded in, so that lines and characters are the
    /// file's.
    pub text_is_original: bool,
    /// Blocks in reading order.
    pub blocks: Vec<Block>,
    /// Pictures and other things that the file holds beside its text, each name once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assets: Vec<Asset>,
    /// The works that the file lists, in its order, where its format states them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// Where its text cites them, ascending, where its format states that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<InTextCitation>,
    /// What of the file is not in the text, in sentences: see [`crate::warnings`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A run of text that belongs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Bytes of [`ParsedDocument::text`].
    pub range: Range<usize>,
    /// First and last page, from 1.
    pub pages: Option<(u32, u32)>,
    /// Boxes on pages.
    pub boxes: Vec<PageBox>,
    /// The slide, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slide: Option<u32>,
    /// When it is said: from and to, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<(u64, u64)>,
    /// Names of the pictures that it shows: of [`ParsedDocument::assets`], or as the file names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Emphasised, linked or quoted runs inside the block.
    pub marks: Vec<Mark>,
}

/// A box on a page, in 0..1 units of its width and height, origin at the top left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageBox {
    /// The page, from 1.
    pub page: u32,
    /// Left edge.
    pub x0: f32,
    /// Top edge.
    pub y0: f32,
    /// Right edge.
    pub x1: f32,
    /// Bottom edge.
    pub y1: f32,
}

/// What a block is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// A heading; its range is the visible title, without markup. Level from 1.
    Heading(u8),
    /// Running prose.
    #[default]
    Paragraph,
    /// One item of a list.
    ListItem,
    /// A quotation.
    Quote,
    /// Code shown in a document, with its language where stated.
    Code(Option<String>),
    /// A table. Its text is a table of Markdown where the parser writes the text: a line each row, `| a | b |`, the
    /// first row parted from the others by `| --- | --- |`, `|` within a cell as `\|`, line ends within one as spaces.
    Table,
    /// A displayed equation.
    Equation,
    /// A caption of a figure or table.
    Caption,
    /// A picture or drawing: what the file says of it, as an alternative text; [`Block::images`] names it.
    Figure,
    /// A note at the foot of a page or the end of a text, with its mark.
    Footnote,
    /// What is said beside the text: a speaker's notes, a comment of a reader.
    Aside,
    /// An entry of a list of references; its place among [`ParsedDocument::references`] where they are stated.
    Reference(Option<u32>),
    /// What one speaker says: in a chat, or a run of subtitles.
    Turn {
        /// Who speaks, as the file says (`user`, `assistant`, a name); empty where it does not.
        speaker: String,
    },
    /// A definition in a source file: a function, method, class, type, or a run of other items.
    Definition {
        /// Qualified name (`Stack::push`, `Stack.push`); empty for a run of loose statements.
        symbol: String,
        /// `function`, `method`, `class`, `struct`, `union`, `enum`, `trait`, `interface`, `type`,
        /// `impl`, `module`, `macro`, `const`, `imports`, `other`.
        what: String,
    },
}

/// A picture, or another file within the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// What the text calls it: its name or path in the file, without `..`.
    pub name: String,
    /// Its bytes.
    #[serde(serialize_with = "in_base64", deserialize_with = "of_base64")]
    pub bytes: Vec<u8>,
}

fn in_base64<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn of_base64<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    BASE64_STANDARD
        .decode(text)
        .map_err(serde::de::Error::custom)
}

/// A work that a file lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// What it is cited by: a number, a key, `Knuth 1997`; empty where the list has no labels.
    pub label: String,
    /// The entry as it is written.
    pub text: String,
    /// Title.
    pub title: Option<String>,
    /// Authors, in order, as written.
    pub authors: Vec<String>,
    /// Year.
    pub year: Option<i32>,
    /// Journal, conference or publisher.
    pub venue: Option<String>,
    /// Digital object identifier, without `https://doi.org/`.
    pub doi: Option<String>,
}

/// A place in a text that cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InTextCitation {
    /// Bytes of [`ParsedDocument::text`]: `[3, 5]`, `(Knuth, 1997)`.
    pub range: Range<usize>,
    /// Places among [`ParsedDocument::references`].
    pub references: Vec<u32>,
}

/// A marked run inside a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// What the mark says.
    pub kind: MarkKind,
    /// Bytes of [`ParsedDocument::text`].
    pub range: Range<usize>,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkKind {
    /// Emphasised: italics.
    Emphasis,
    /// Strongly emphasised: bold.
    Strong,
    /// Code in running text.
    Code,
    /// The visible text of a link.
    Link,
}

impl Block {
    /// Moves its text and its marks `by` bytes to the right.
    pub fn shift(&mut self, by: usize) {
        let marks = self.marks.iter_mut().map(|mark| &mut mark.range);
        for range in marks.chain([&mut self.range]) {
            *range = range.start + by..range.end + by;
        }
    }
}

impl MarkKind {
    /// The mark of a name in a table of a parser: `emphasis`, `strong`, `code`, `link`.
    pub fn from_name(name: &str) -> Option<MarkKind> {
        match name {
            "emphasis" => Some(MarkKind::Emphasis),
            "strong" => Some(MarkKind::Strong),
            "code" => Some(MarkKind::Code),
            "link" => Some(MarkKind::Link),
            _ => None,
        }
    }
}

impl ParsedDocument {
    /// Checks the rules at the top of this file; the message names the first block that breaks one.
    ///
    /// A parser that runs in another process is not trusted before this has passed.
    pub fn validate(&self) -> Result<(), String> {
        let mut end = 0;
        for (i, block) in self.blocks.iter().enumerate() {
            let Range { start, end: stop } = block.range;
            if start < end || stop < start {
                return Err(format!("block {i} overlaps the one before it"));
            }
            if self.text.get(block.range.clone()).is_none() {
                return Err(format!("block {i} does not lie in the text"));
            }
            let inside = |mark: &Mark| {
                mark.range.start >= start
                    && mark.range.end <= stop
                    && self.text.get(mark.range.clone()).is_some()
            };
            if !block.marks.iter().all(inside) {
                return Err(format!("a mark of block {i} lies outside of it"));
            }
            end = stop;
        }
        self.validate_citations()?;
        let names: BTreeSet<&str> = self.assets.iter().map(|asset| &asset.name[..]).collect();
        if names.len() == self.assets.len() {
            Ok(())
        } else {
            Err("two assets have one name".into())
        }
    }

    fn validate_citations(&self) -> Result<(), String> {
        let mut end = 0;
        for (i, citation) in self.citations.iter().enumerate() {
            let inside = self.text.get(citation.range.clone()).is_some();
            let known = |&at: &u32| (at as usize) < self.references.len();
            if !inside || citation.range.start < end || !citation.references.iter().all(known) {
                return Err(format!(
                    "citation {i} is not in the text, or of no reference"
                ));
            }
            end = citation.range.end;
        }
        let of_list = |block: &Block| match block.kind {
            BlockKind::Reference(Some(at)) => (at as usize) < self.references.len(),
            _ => true,
        };
        if self.blocks.iter().all(of_list) {
            Ok(())
        } else {
            Err("an entry of the references is none of them".into())
        }
    }
}
