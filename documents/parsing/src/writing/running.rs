//! Text that a parser writes itself: the running text of one block, and the document it goes to.
//!
//! [`Running`] collapses white space and remembers what is marked and what cites. [`Writer`] joins
//! blocks by an empty line, counts them, and moves marks and citations to their place.

use std::ops::Range;

use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, InTextCitation, Mark, MarkKind, ParsedDocument};
use crate::writing::blocks::{Blocks, table_row, trimmed};

/// The text of a block while it is gathered. Ranges are in its bytes.
#[derive(Debug, Default)]
pub struct RunningText {
    text: String,
    marks: Vec<Mark>,
    citations: Vec<InTextCitation>,
    /// White space was seen since the last visible character.
    has_pending_space: bool,
}

impl RunningText {
    /// Text that is kept as it is, such as code.
    pub fn verbatim(text: impl Into<String>) -> RunningText {
        RunningText {
            text: text.into(),
            ..RunningText::default()
        }
    }

    /// Adds text, each run of white space as one space, none at the start.
    pub fn push(&mut self, text: &str) {
        for (i, word) in text.split(char::is_whitespace).enumerate() {
            self.has_pending_space |= i > 0;
            let mut visible = word.chars().filter(|c| !is_invisible(*c)).peekable();
            if visible.peek().is_some() {
                self.write_pending_space();
                self.text.extend(visible);
            }
        }
    }

    /// Adds text as it is.
    pub fn push_verbatim(&mut self, text: &str) {
        if !text.is_empty() {
            self.write_pending_space();
            self.text.push_str(text);
        }
    }

    /// Notes that what follows is apart from what came before.
    pub fn space(&mut self) {
        self.has_pending_space = true;
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Bytes of its text.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it has no visible character.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Marks everything from byte `from` on.
    pub fn mark(&mut self, kind: MarkKind, from: usize) {
        let range = self.visible_from(from);
        if !range.is_empty() {
            self.marks.push(Mark { kind, range });
        }
    }

    /// Everything from byte `from` on cites `references`.
    pub fn cite(&mut self, from: usize, references: Vec<u32>) {
        let range = self.visible_from(from);
        let end = self.citations.last().map_or(0, |last| last.range.end);
        if !range.is_empty() && range.start >= end && !references.is_empty() {
            self.citations.push(InTextCitation { range, references });
        }
    }

    /// What is visible from byte `from` on; nothing where a block ended in between.
    fn visible_from(&self, from: usize) -> Range<usize> {
        if self.text.is_char_boundary(from) {
            trimmed(&self.text, from..self.text.len())
        } else {
            0..0
        }
    }

    /// The last citation and the text from its start on.
    pub fn last_citation(&mut self) -> Option<(&mut InTextCitation, &str)> {
        let last = self.citations.last_mut()?;
        let tail = self.text.get(last.range.start..)?;
        Some((last, tail))
    }

    /// Adds what was gathered elsewhere, as a part of this block.
    pub fn append(&mut self, other: RunningText) {
        if other.is_blank() {
            self.has_pending_space |= !other.text.is_empty() || other.has_pending_space;
            return;
        }
        self.write_pending_space();
        let by = self.text.len();
        self.text.push_str(&other.text);
        self.has_pending_space = other.has_pending_space;
        let moved = |range: Range<usize>| range.start + by..range.end + by;
        self.marks.extend(other.marks.into_iter().map(|mark| Mark {
            kind: mark.kind,
            range: moved(mark.range),
        }));
        let cited = other.citations.into_iter().map(|citation| InTextCitation {
            range: moved(citation.range),
            references: citation.references,
        });
        self.citations.extend(cited);
    }

    /// Empties it, and returns what it was.
    pub fn take(&mut self) -> RunningText {
        std::mem::take(self)
    }

    fn write_pending_space(&mut self) {
        if self.has_pending_space && !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
            self.text.push(' ');
        }
        self.has_pending_space = false;
    }
}

/// Soft hyphens and zero-width spaces only say where a line may break.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// A document that is being written, within limits.
pub struct Writer<'a> {
    limits: &'a Limits,
    text: String,
    blocks: Blocks<'a>,
    citations: Vec<InTextCitation>,
}

impl<'a> Writer<'a> {
    /// An empty document.
    pub fn new(limits: &'a Limits) -> Self {
        Writer {
            limits,
            text: String::new(),
            blocks: Blocks::new(limits),
            citations: Vec::new(),
        }
    }

    /// Writes a block, unless it has no text.
    pub fn add(&mut self, kind: BlockKind, running: RunningText) -> Result<(), ParseError> {
        let block = Block {
            kind,
            ..Block::default()
        };
        self.add_block(block, running)
    }

    /// Writes a block whose range and marks are those of `running`, unless that has no text.
    pub fn add_block(&mut self, mut block: Block, running: RunningText) -> Result<(), ParseError> {
        let is_code = matches!(block.kind, BlockKind::Code(_));
        let body = running.text.trim_end();
        let lead = if is_code {
            code_start(body)
        } else {
            body.len() - body.trim_start().len()
        };
        let body = &body[lead..];
        if body.is_empty() {
            return Ok(());
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let (start, end) = (self.text.len(), self.text.len() + body.len());
        self.limits.check_text(end)?;
        self.text.push_str(body);
        let place = |range: Range<usize>| {
            let at = |byte: usize| start + byte.saturating_sub(lead).min(end - start);
            at(range.start)..at(range.end)
        };
        if !is_code {
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
        self.blocks.push_block(block)
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
        self.add(BlockKind::Table, table)
    }

    /// Hands over what was written.
    pub fn finish(self, document: &mut ParsedDocument) {
        document.text = self.text;
        document.blocks = self.blocks.finish();
        document.citations = self.citations;
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
        out.add(BlockKind::Paragraph, running_text(&["first"]))
            .unwrap();
        out.add(BlockKind::Paragraph, running_text(&[" \u{ad}"]))
            .unwrap();
        out.add(BlockKind::Paragraph, running).unwrap();
        let mut document = ParsedDocument {
            references: vec![Default::default()],
            ..ParsedDocument::default()
        };
        out.finish(&mut document);
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
        out.finish(&mut document);
        document.validate().unwrap();
        assert_eq!(
            document.text,
            "| x | y\\| | z |\n| --- | --- | --- |\n|  | a\\|b [2] |  |"
        );
        assert_eq!(&document.text[document.citations[0].range.clone()], "[2]");
    }
}
