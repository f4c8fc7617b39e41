//! Running text of one block while it is gathered: collapses white space, remembers marks.

use crate::tree::{Mark, MarkKind};

/// The text of the block that is open. Marks are in its bytes.
#[derive(Debug, Default)]
pub struct Inline {
    text: String,
    marks: Vec<Mark>,
    open: Vec<OpenMark>,
    /// White space was seen since the last visible character.
    has_pending_space: bool,
}

#[derive(Debug)]
struct OpenMark {
    kind: MarkKind,
    /// Where its first visible character stands, once there was one in this block.
    start: Option<usize>,
}

impl Inline {
    /// Adds text, each run of white space as one space, none at the start of a line.
    pub fn push(&mut self, text: &str) {
        for (i, word) in text.split(char::is_whitespace).enumerate() {
            self.has_pending_space |= i > 0;
            let mut visible = word.chars().filter(|c| !is_invisible(*c)).peekable();
            if visible.peek().is_none() {
                continue;
            }
            self.write_pending_space();
            self.text.extend(visible);
        }
    }

    /// Adds text as it is.
    pub fn push_verbatim(&mut self, text: &str) {
        self.text.push_str(text);
        self.has_pending_space = false;
    }

    /// Notes that what follows is apart from what came before.
    pub fn space(&mut self) {
        self.has_pending_space = true;
    }

    /// Ends the line, unless nothing is on it.
    pub fn line_break(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push_verbatim("\n");
        }
    }

    /// Bytes of its text.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The text from byte `from` on.
    pub fn tail(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Takes back everything from byte `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        self.marks.retain(|mark| mark.range.end <= len);
        self.has_pending_space = false;
    }

    /// Lets a mark begin at the next visible character.
    pub fn open(&mut self, kind: MarkKind) {
        self.open.push(OpenMark { kind, start: None });
    }

    /// Ends the mark that was opened last.
    pub fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.mark(&open);
        }
    }

    /// Ends the block and returns it. Marks that are still open end here and go on in the next.
    pub fn take(&mut self) -> (String, Vec<Mark>) {
        let mut open = std::mem::take(&mut self.open);
        for one in &mut open {
            self.mark(one);
            one.start = None;
        }
        self.open = open;
        self.has_pending_space = false;
        let mut marks = std::mem::take(&mut self.marks);
        marks.sort_by_key(|mark| (mark.range.start, std::cmp::Reverse(mark.range.end)));
        (std::mem::take(&mut self.text), marks)
    }

    fn mark(&mut self, open: &OpenMark) {
        if let Some(start) = open.start
            && start < self.text.len()
        {
            self.marks.push(Mark {
                kind: open.kind,
                range: start..self.text.len(),
            });
        }
    }

    /// Writes the space that is due, and lets open marks begin at what comes next.
    fn write_pending_space(&mut self) {
        if self.has_pending_space && !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
            self.text.push(' ');
        }
        self.has_pending_space = false;
        // Marks that began earlier have a start, and stand before those that have none.
        for open in self.open.iter_mut().rev().take_while(|o| o.start.is_none()) {
            open.start = Some(self.text.len());
        }
    }
}

/// Soft hyphens and zero-width spaces only say where a line may break.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}
