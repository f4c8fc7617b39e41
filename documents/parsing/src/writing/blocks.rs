//! Where parsers put their blocks: it keeps count of what [`Limits`] bounds.

use std::ops::Range;

use crate::limits::within;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, Mark};

/// Blocks in reading order, within limits.
pub struct Blocks<'a> {
    limits: &'a Limits,
    blocks: Vec<Block>,
    mark_count: usize,
}

/// Marks allowed per block allowed.
const MARKS_PER_BLOCK: usize = 4;

impl<'a> Blocks<'a> {
    /// No blocks yet.
    pub fn new(limits: &'a Limits) -> Self {
        Blocks {
            limits,
            blocks: Vec::new(),
            mark_count: 0,
        }
    }

    /// Adds a block without pages.
    pub fn push(
        &mut self,
        kind: BlockKind,
        range: Range<usize>,
        marks: Vec<Mark>,
    ) -> Result<(), ParseError> {
        self.push_block(Block {
            kind,
            range,
            marks,
            ..Block::default()
        })
    }

    /// Adds a block.
    pub fn push_block(&mut self, block: Block) -> Result<(), ParseError> {
        let marks_max = self.limits.blocks_max.saturating_mul(MARKS_PER_BLOCK);
        self.mark_count += block.marks.len();
        within("blocks", self.blocks.len() + 1, self.limits.blocks_max)?;
        within("marks", self.mark_count, marks_max)?;
        self.blocks.push(block);
        Ok(())
    }

    /// The blocks.
    pub fn finish(self) -> Vec<Block> {
        self.blocks
    }

    /// The blocks, moved `by` bytes to the right.
    pub fn finish_shifted(mut self, by: usize) -> Vec<Block> {
        self.blocks.iter_mut().for_each(|block| block.shift(by));
        self.blocks
    }
}

/// `range` without the white space at both ends of what it covers.
pub fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start + slice.trim().len()
}

/// `range` without the white space at the end of what it covers.
pub fn trimmed_end(text: &str, range: Range<usize>) -> Range<usize> {
    range.start..range.start + text[range.clone()].trim_end().len()
}

/// Cells as a row of a table of Markdown, without a line end: see [`BlockKind::Table`].
pub fn table_row<'c>(cells: impl IntoIterator<Item = &'c str>) -> String {
    let mut row = String::from("|");
    for cell in cells {
        row.push(' ');
        let mut words = cell.split_whitespace();
        if let Some(first) = words.next() {
            push_cell(&mut row, first);
        }
        for word in words {
            row.push(' ');
            push_cell(&mut row, word);
        }
        row.push_str(" |");
    }
    row
}

fn push_cell(row: &mut String, word: &str) {
    for c in word.chars() {
        if c == '|' {
            row.push('\\');
        }
        row.push(c);
    }
}

/// A table of Markdown: all rows as wide as the widest, the first as its head. `None` where no cell has text.
pub fn table(rows: &[Vec<String>]) -> Option<String> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_empty = |row: &Vec<String>| row.iter().all(|cell| cell.trim().is_empty());
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for row in rows.iter().filter(|row| !is_empty(row)) {
        let missing = std::iter::repeat_n("", width - row.len());
        lines.push(table_row(row.iter().map(String::as_str).chain(missing)));
        if lines.len() == 1 {
            lines.push(table_row(std::iter::repeat_n("---", width)));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
