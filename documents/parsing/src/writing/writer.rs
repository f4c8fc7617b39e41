//! The text of a document that is written anew, and its blocks: an empty line between two.

use std::ops::Range;

use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, InTextCitation, MarkKind, ParsedDocument};
use crate::writing::blocks::{Blocks, table_row};
use crate::writing::running::RunningText;

/// Where a parser writes, within limits.
///
/// A block is written whole ([`Writer::add`], [`Writer::write`]), or gathered in `inline` and ended by [`Writer::end`].
pub struct Writer<'a> {
    /// The block that is open.
    pub inline: RunningText,
    /// Marks that are open in it.
    marks: Vec<MarkKind>,
    text: String,
    blocks: Blocks<'a>,
    citations: Vec<InTextCitation>,
    limits: &'a Limits,
}

impl<'a> Writer<'a> {
    /// An empty document.
    pub fn new(limits: &'a Limits) -> Self {
        Writer {
            inline: RunningText::default(),
            marks: Vec::new(),
            text: String::new(),
            blocks: Blocks::new(limits),
            citations: Vec::new(),
            limits,
        }
    }

    /// Lets what follows bear `marks`. Runs that follow each other with the same marks share them.
    pub fn mark(&mut self, marks: &[MarkKind]) {
        if self.marks == marks {
            return;
        }
        for _ in self.marks.drain(..) {
            self.inline.close();
        }
        for mark in marks {
            self.inline.open(*mark);
            self.marks.push(*mark);
        }
    }

    /// Sets the open block aside, to gather something else; [`Writer::resume`] goes on with it.
    pub fn suspend(&mut self) -> RunningText {
        self.mark(&[]);
        std::mem::take(&mut self.inline)
    }

    /// Returns what was gathered since [`Writer::suspend`].
    pub fn resume(&mut self, outer: RunningText) -> String {
        self.mark(&[]);
        std::mem::replace(&mut self.inline, outer).text
    }

    /// Ends the open block as `block`, whose range and marks are filled in. Returns whether it had text.
    pub fn end(&mut self, block: Block) -> Result<bool, ParseError> {
        self.mark(&[]);
        let running = self.inline.take();
        let from = match block.kind {
            BlockKind::Code(_) => running.text.trim_start_matches(['\n', '\r']),
            _ => running.text.trim_start(),
        };
        let lead = running.text.len() - from.len();
        self.put(block, running, lead)
    }

    /// Writes a block of this kind, unless it has no text.
    pub fn write(&mut self, kind: BlockKind, running: RunningText) -> Result<(), ParseError> {
        let block = Block {
            kind,
            ..Block::default()
        };
        self.write_block(block, running)
    }

    /// Writes a block whose range and marks are those of `running`, unless that has no text.
    pub fn write_block(&mut self, block: Block, running: RunningText) -> Result<(), ParseError> {
        let body = running.text.trim_end();
        let lead = match block.kind {
            BlockKind::Code(_) => code_start(body),
            _ => body.len() - body.trim_start().len(),
        };
        self.put(block, running, lead).map(|_| ())
    }

    /// Writes the block behind the first `lead` bytes of its text. Returns whether it had text.
    fn put(
        &mut self,
        mut block: Block,
        running: RunningText,
        lead: usize,
    ) -> Result<bool, ParseError> {
        let body = running.text.trim_end();
        if body.len() <= lead {
            return Ok(false);
        }
        let start = self.begin();
        let end = start + body.len() - lead;
        self.limits.check_text(end)?;
        self.text.push_str(&body[lead..]);
        let place = |range: Range<usize>| {
            let at = |byte: usize| start + byte.saturating_sub(lead).min(end - start);
            at(range.start)..at(range.end)
        };
        if !matches!(block.kind, BlockKind::Code(_)) {
            block.marks = running.marks;
        }
        for mark in &mut block.marks {
            mark.range = place(mark.range.clone());
        }
        block.marks.retain(|mark| !mark.range.is_empty());
        block
            .marks
            .sort_by_key(|mark| (mark.range.start, std::cmp::Reverse(mark.range.end)));
        for citation in running.citations {
            let range = place(citation.range);
            self.citations.push(InTextCitation { range, ..citation });
        }
        block.range = start..end;
        self.blocks.push_block(block)?;
        Ok(true)
    }

    /// Adds `text` as `block`; nothing where it is blank.
    pub fn add(&mut self, mut block: Block, text: &str) -> Result<(), ParseError> {
        let text = text.trim_end();
        if text.is_empty() {
            return Ok(());
        }
        let start = self.begin();
        self.text.push_str(text);
        block.range = start..self.text.len();
        self.limits.check_text(self.text.len())?;
        self.blocks.push_block(block)
    }

    /// Adds a text with blocks in it.
    pub fn append(&mut self, text: &str, blocks: Vec<Block>) -> Result<(), ParseError> {
        let start = self.begin();
        self.text.push_str(text);
        self.limits.check_text(self.text.len())?;
        for mut block in blocks {
            block.shift(start);
            self.blocks.push_block(block)?;
        }
        Ok(())
    }

    /// Parts the text from the block before; returns where the next begins.
    fn begin(&mut self) -> usize {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.len()
    }

    /// Writes a table; see [`BlockKind::Table`]. Rows without text are left out.
    pub fn add_table(&mut self, rows: &[Vec<RunningText>]) -> Result<(), ParseError> {
        let has_text = |row: &&Vec<RunningText>| row.iter().any(|cell| !cell.is_blank());
        let rows: Vec<&Vec<RunningText>> = rows.iter().filter(has_text).collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        // Each cell costs at least its bar and two spaces, so few bytes could ask for many.
        let least = rows.len().saturating_mul(width).saturating_mul(3);
        self.limits.check_text(least)?;
        let mut table = RunningText::default();
        for (i, row) in rows.iter().enumerate() {
            if i > 0 {
                table.text.push('\n');
            }
            add_row(&mut table, row, width);
            if i == 0 {
                table.text.push('\n');
                table
                    .text
                    .push_str(&table_row(std::iter::repeat_n("---", width)));
            }
        }
        self.write(BlockKind::Table, table)
    }

    /// How many bytes are written.
    #[expect(clippy::len_without_is_empty, reason = "a place, not a collection")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The text from byte `from` on.
    pub fn tail(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// The text and its blocks.
    pub fn finish(self) -> (String, Vec<Block>) {
        (self.text, self.blocks.finish())
    }

    /// Hands text, blocks and citations over to a document.
    pub fn finish_into(self, document: &mut ParsedDocument) {
        document.citations = self.citations;
        document.text = self.text;
        document.blocks = self.blocks.finish();
    }
}

/// Where code begins: at its first line that is not blank, whose indentation counts.
fn code_start(body: &str) -> usize {
    let lead = &body[..body.len() - body.trim_start().len()];
    lead.rfind('\n').map_or(0, |at| at + 1)
}

/// Writes a row as [`table_row`] does, and moves the citations of its cells to their place.
fn add_row(table: &mut RunningText, row: &[RunningText], width: usize) {
    table.text.push('|');
    for cell in row {
        table.text.push(' ');
        let start = table.text.len();
        let place = |byte: usize| start + byte + cell.text[..byte].matches('|').count();
        let moved = cell.citations.iter().map(|citation| InTextCitation {
            range: place(citation.range.start)..place(citation.range.end),
            references: citation.references.clone(),
        });
        table.citations.extend(moved);
        for c in cell.text.chars() {
            match c {
                '|' => table.text.push_str("\\|"),
                '\n' | '\r' | '\t' => table.text.push(' '),
                c => table.text.push(c),
            }
        }
        table.text.push_str(" |");
    }
    for _ in row.len()..width {
        table.text.push_str("  |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running_text(parts: &[&str]) -> RunningText {
        let mut running = RunningText::default();
        parts.iter().for_each(|part| running.push(part));
        running
    }

    #[test]
    fn white_space_collapses_and_marks_follow_their_text() {
        let limits = Limits::default();
        let mut out = Writer::new(&limits);
        let mut running = running_text(&["  one", " \n two"]);
        let from = running.len();
        running.push(" three ");
        running.mark(MarkKind::Strong, from);
        let from = running.len();
        running.push(" [1]");
        running.cite(from, vec![0]);
        out.write(BlockKind::Paragraph, running_text(&["first"]))
            .unwrap();
        out.write(BlockKind::Paragraph, running_text(&[" \u{ad}"]))
            .unwrap();
        out.write(BlockKind::Paragraph, running).unwrap();
        let mut document = ParsedDocument {
            references: vec![Default::default()],
            ..ParsedDocument::default()
        };
        out.finish_into(&mut document);
        document.validate().unwrap();
        assert_eq!(document.text, "first\n\none two three [1]");
        assert_eq!(
            &document.text[document.blocks[1].marks[0].range.clone()],
            "three"
        );
        assert_eq!(&document.text[document.citations[0].range.clone()], "[1]");
    }

    #[test]
    fn a_citation_in_a_table_keeps_its_place() {
        let limits = Limits::default();
        let mut out = Writer::new(&limits);
        let mut cell = running_text(&["a|b "]);
        let from = cell.len();
        cell.push("[2]");
        cell.cite(from, vec![0]);
        let rows = [
            vec![
                running_text(&["x"]),
                running_text(&["y|"]),
                running_text(&["z"]),
            ],
            vec![],
            vec![running_text(&[]), cell],
        ];
        out.add_table(&rows).unwrap();
        let mut document = ParsedDocument {
            references: vec![Default::default()],
            ..ParsedDocument::default()
        };
        out.finish_into(&mut document);
        document.validate().unwrap();
        assert_eq!(
            document.text,
            "| x | y\\| | z |\n| --- | --- | --- |\n|  | a\\|b [2] |  |"
        );
        assert_eq!(&document.text[document.citations[0].range.clone()], "[2]");
    }
}
