//! On which page a block is.
//!
//! Word writes down where its pages broke when it laid them out last (`lastRenderedPageBreak`). A file that no program
//! laid out has none, and then there are no pages.

/// Pages while a document is read.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// From 1; `None` where the file does not tell.
    current: Option<u32>,
    /// The pages of the block that is open, once it has text.
    block: Option<(u32, u32)>,
    /// A break that the author set was seen, and nothing since. Word tells of it once more.
    is_broken: bool,
}

impl Pages {
    /// `source`: the document's.
    pub(super) fn new(source: &str) -> Pages {
        Pages {
            current: source.contains("lastRenderedPageBreak").then_some(1),
            ..Pages::default()
        }
    }

    /// A break that Word found.
    pub(super) fn rendered_break(&mut self) {
        if !std::mem::take(&mut self.is_broken) {
            self.next();
        }
    }

    /// A break that the author set.
    pub(super) fn explicit_break(&mut self) {
        self.is_broken = true;
        self.next();
    }

    fn next(&mut self) {
        self.current = self.current.map(|page| page.saturating_add(1));
    }

    /// Text of the open block is here.
    pub(super) fn extend_block(&mut self) {
        self.is_broken = false;
        let Some(page) = self.current else { return };
        let first = self.block.map_or(page, |(first, _)| first);
        self.block = Some((first, page));
    }

    /// Ends the open block, and returns its pages.
    pub(super) fn take(&mut self) -> Option<(u32, u32)> {
        self.block.take()
    }

    /// The pages of a block that is where the reading is.
    pub(super) fn current_pages(&self) -> Option<(u32, u32)> {
        self.current.map(|page| (page, page))
    }
}
