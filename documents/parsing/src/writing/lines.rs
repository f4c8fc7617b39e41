//! The text of a document that is written anew, and its blocks: an empty line between two.

use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, MarkKind};
use crate::writing::blocks::Blocks;
use crate::writing::inline::Inline;

/// Where a parser writes. What a block says is gathered in `inline`, then [`Writer::end`] ends it.
pub struct Writer<'a> {
    /// The block that is open.
    pub inline: Inline,
    /// Marks that are open in it.
    marks: Vec<MarkKind>,
    text: String,
    blocks: Blocks<'a>,
    limits: &'a Limits,
}

impl<'a> Writer<'a> {
    /// An empty document.
    pub fn new(limits: &'a Limits) -> Self {
        Writer {
            inline: Inline::default(),
            marks: Vec::new(),
            text: String::new(),
            blocks: Blocks::new(limits),
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
    pub fn suspend(&mut self) -> Inline {
        self.mark(&[]);
        std::mem::take(&mut self.inline)
    }

    /// Returns what was gathered since [`Writer::suspend`].
    pub fn resume(&mut self, outer: Inline) -> String {
        self.mark(&[]);
        std::mem::replace(&mut self.inline, outer).take().0
    }

    /// Ends the open block as `block`, whose range and marks are filled in. Returns whether it had text.
    pub fn end(&mut self, mut block: Block) -> Result<bool, ParseError> {
        self.mark(&[]);
        let (content, mut marks) = self.inline.take();
        let is_code = matches!(block.kind, BlockKind::Code(_));
        let lead = if is_code {
            content.len() - content.trim_start_matches(['\n', '\r']).len()
        } else {
            content.len() - content.trim_start().len()
        };
        let content = content.trim_end();
        if content.len() <= lead {
            return Ok(false);
        }
        let start = self.begin();
        self.text.push_str(&content[lead..]);
        let end = self.text.len();
        let place = |at: usize| start + at.saturating_sub(lead).min(end - start);
        for mark in &mut marks {
            mark.range = place(mark.range.start)..place(mark.range.end);
        }
        marks.retain(|mark| !mark.range.is_empty() && !is_code);
        block.range = start..end;
        block.marks = marks;
        self.push(block)?;
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
        self.push(block)
    }

    fn begin(&mut self) -> usize {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.len()
    }

    fn push(&mut self, block: Block) -> Result<(), ParseError> {
        self.limits.check_text(self.text.len())?;
        self.blocks.push_block(block)
    }

    /// How many bytes are written.
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
}
