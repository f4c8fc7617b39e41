//! The text of one block while it is gathered.

use std::ops::Range;

use crate::tree::{InTextCitation, Mark, MarkKind};
use crate::writing::blocks::trimmed;

/// Running text: white space is collapsed, and what is marked and what cites is remembered. Ranges are in its bytes.
#[derive(Debug, Default)]
pub struct RunningText {
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
    pub(super) citations: Vec<InTextCitation>,
    open: Vec<OpenMark>,
    /// White space was seen since the last visible character.
    has_pending_space: bool,
}

#[derive(Debug)]
struct OpenMark {
    kind: MarkKind,
    /// Where its first visible character is, once there was one in this block.
    start: Option<usize>,
}

impl RunningText {
    /// Text that is kept as it is, such as code.
    pub fn verbatim(text: impl Into<String>) -> RunningText {
        RunningText {
            text: text.into(),
            ..RunningText::default()
        }
    }

    /// Adds text, each run of white space as one space, none at the start of a line.
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

    /// Adds text as it is, after the space that is due.
    pub fn push_verbatim(&mut self, text: &str) {
        if !text.is_empty() {
            self.write_pending_space();
            self.text.push_str(text);
        }
    }

    /// Adds text as it is, in place of the space that is due.
    pub fn push_raw(&mut self, text: &str) {
        self.text.push_str(text);
        self.has_pending_space = false;
    }

    /// Parts what follows from what came before.
    pub fn space(&mut self) {
        self.has_pending_space = true;
    }

    /// Ends the line, unless nothing is on it.
    pub fn line_break(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push_raw("\n");
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text from byte `from` on.
    pub fn tail(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Bytes of its text.
    #[expect(
        clippy::len_without_is_empty,
        reason = "`is_blank` is what callers ask"
    )]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it has no visible character.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Takes back everything from byte `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        self.marks.retain(|mark| mark.range.end <= len);
        self.citations.retain(|citation| citation.range.end <= len);
        self.has_pending_space = false;
    }

    /// Lets a mark begin at the next visible character.
    pub fn open(&mut self, kind: MarkKind) {
        self.open.push(OpenMark { kind, start: None });
    }

    /// Ends the mark that was opened last.
    pub fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.end_mark(&open);
        }
    }

    fn end_mark(&mut self, open: &OpenMark) {
        if let Some(start) = open.start
            && start < self.text.len()
        {
            self.marks.push(Mark {
                kind: open.kind,
                range: start..self.text.len(),
            });
        }
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

    /// Ends the block and returns it. Marks that are still open end here and go on in the next.
    pub fn take(&mut self) -> RunningText {
        let mut open = std::mem::take(&mut self.open);
        for one in &mut open {
            self.end_mark(one);
            one.start = None;
        }
        let next = RunningText {
            open,
            ..RunningText::default()
        };
        std::mem::replace(self, next)
    }

    /// Writes the space that is due, and lets open marks begin at what comes next.
    fn write_pending_space(&mut self) {
        if self.has_pending_space && !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
            self.text.push(' ');
        }
        self.has_pending_space = false;
        // Marks that began earlier have a start, and are before those that have none.
        for open in self.open.iter_mut().rev().take_while(|o| o.start.is_none()) {
            open.start = Some(self.text.len());
        }
    }
}

/// Soft hyphens and zero-width spaces only say where a line may break.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Text with each run of white space as one space.
pub fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
