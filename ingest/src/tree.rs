//! What every parser makes of a file: one text, and the blocks in it in reading order.
//!
//! Always true, and checked by [`ParsedDocument::validate`]: block ranges are ascending, do not
//! overlap, lie on character boundaries of `text`; marks lie inside their block.
//!
//! The section tree is implied: a [`BlockKind::Heading`] of level n opens a section that ends
//! before the next heading of a level ≤ n.

use std::ops::Range;

use locidb::storage::records::{FileType, PageBox};
use serde::{Deserialize, Serialize};

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// What kind of file it was.
    pub file_type: FileType,
    /// Title, where the file states one.
    pub title: Option<String>,
    /// Authors, where the file states them.
    pub authors: Vec<String>,
    /// Year, where the file states it.
    pub year: Option<i32>,
    /// Whatever else the file states about itself.
    pub metadata: Vec<(String, String)>,
    /// The text that all ranges refer to.
    pub text: String,
    /// Whether `text` is the file's own decoded text, so that positions and lines are the file's.
    pub text_is_original: bool,
    /// Blocks in reading order.
    pub blocks: Vec<Block>,
}

/// A run of text that belongs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Bytes of [`ParsedDocument::text`].
    pub range: Range<usize>,
    /// First and last page, from 1.
    pub pages: Option<(u32, u32)>,
    /// Boxes on pages.
    pub boxes: Vec<PageBox>,
    /// Emphasised, linked or quoted runs inside the block.
    pub marks: Vec<Mark>,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// A heading; its range is the visible title, without markup. Level from 1.
    Heading(u8),
    /// Running prose.
    Paragraph,
    /// One item of a list.
    ListItem,
    /// A quotation.
    Quote,
    /// Code shown in a document, with its language where stated.
    Code(Option<String>),
    /// A table, rows as lines.
    Table,
    /// A displayed equation.
    Equation,
    /// A caption of a figure or table.
    Caption,
    /// A definition in a source file: a function, method, class, type, or a run of other items.
    Definition {
        /// Qualified name (`Stack::push`, `Stack.push`); empty for a run of loose statements.
        symbol: String,
        /// `function`, `method`, `class`, `struct`, `enum`, `trait`, `impl`, `module`, `const`,
        /// `imports`, `other`.
        what: String,
    },
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

impl ParsedDocument {
    /// Checks the rules at the top of this file; the message names the first block that breaks one.
    ///
    /// A parser that runs in another process is not believed before this has passed.
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
        Ok(())
    }
}
