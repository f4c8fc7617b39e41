//! From byte offsets to characters, lines, pages and boxes.

use std::ops::Range;

use loci_documents::{Block, ParsedDocument};
use locidb::storage::records::{Location, PageBox};

/// Bytes between two marks of the table.
const CHECKPOINT_BYTES: usize = 1024;

/// Counts characters and lines before any byte of a text in constant time.
pub(crate) struct Positions<'a> {
    text: &'a str,
    /// Characters and line breaks before every mark; marks are at character boundaries.
    checkpoints: Vec<Checkpoint>,
}

#[derive(Clone, Copy)]
struct Checkpoint {
    at: usize,
    chars: u64,
    breaks: u32,
}

impl<'a> Positions<'a> {
    /// Walks the text once.
    pub(crate) fn new(text: &'a str) -> Positions<'a> {
        let mut checkpoints = vec![Checkpoint {
            at: 0,
            chars: 0,
            breaks: 0,
        }];
        let (mut chars, mut breaks) = (0, 0);
        for (at, c) in text.char_indices() {
            if at >= checkpoints.len() * CHECKPOINT_BYTES {
                checkpoints.push(Checkpoint { at, chars, breaks });
            }
            chars += 1;
            breaks += u32::from(c == '\n');
        }
        Positions { text, checkpoints }
    }

    /// Characters before byte `at`.
    pub(crate) fn chars_before(&self, at: usize) -> u64 {
        let mark = self.checkpoint_before(at);
        mark.chars + self.text[mark.at..at].chars().count() as u64
    }

    /// The line, from 1, that byte `at` is on.
    pub(crate) fn line(&self, at: usize) -> u32 {
        let mark = self.checkpoint_before(at);
        let breaks = self.text.as_bytes()[mark.at..at]
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        mark.breaks + u32::try_from(breaks).unwrap_or(u32::MAX) + 1
    }

    fn checkpoint_before(&self, at: usize) -> Checkpoint {
        let guess = (at / CHECKPOINT_BYTES).min(self.checkpoints.len() - 1);
        let mark = self.checkpoints[guess];
        if mark.at <= at {
            mark
        } else {
            self.checkpoints[guess - 1]
        }
    }

    /// Where `range` stands, with pages and boxes of `blocks`, which are those that it is of.
    pub(crate) fn location(
        &self,
        parsed: &ParsedDocument,
        range: Range<usize>,
        blocks: Range<usize>,
    ) -> Location {
        let blocks = parsed.blocks.get(blocks).unwrap_or(&[]);
        let pages = blocks.iter().filter_map(|block| block.pages);
        let pages = pages.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let times = blocks.iter().filter_map(|block| block.time_ms);
        let last = range.end.saturating_sub(1).max(range.start);
        Location {
            chars: (self.chars_before(range.start), self.chars_before(range.end)),
            pages,
            lines: parsed
                .text_is_original
                .then(|| (self.line(range.start), self.line(floor(self.text, last)))),
            boxes: merged_boxes(blocks),
            slide: blocks.iter().find_map(|block| block.slide),
            time_ms: times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The boxes of `blocks` in order, those of one column of a page in one.
fn merged_boxes(blocks: &[Block]) -> Vec<PageBox> {
    let mut merged: Vec<PageBox> = Vec::new();
    for next in blocks.iter().flat_map(|block| &block.boxes).map(page_box) {
        match merged.last_mut() {
            Some(last) if last.page == next.page && is_same_column(last, &next) => {
                last.x0 = last.x0.min(next.x0);
                last.y0 = last.y0.min(next.y0);
                last.x1 = last.x1.max(next.x1);
                last.y1 = last.y1.max(next.y1);
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// Whether two boxes overlap sideways by half of the narrower one, the second not far above.
fn is_same_column(a: &PageBox, b: &PageBox) -> bool {
    let overlap = a.x1.min(b.x1) - a.x0.max(b.x0);
    let narrower = (a.x1 - a.x0).min(b.x1 - b.x0);
    overlap >= narrower / 2.0 && b.y1 >= a.y0
}

/// A box on a page, as chunks store it.
fn page_box(found: &loci_documents::PageBox) -> PageBox {
    let &loci_documents::PageBox {
        page,
        x0,
        y0,
        x1,
        y1,
    } = found;
    PageBox {
        page,
        x0,
        y0,
        x1,
        y1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_counting_from_the_start(text in "[a-zé日\n]{0,3000}", share in 0.0f64..=1.0) {
            let at = floor(&text, (text.len() as f64 * share) as usize);
            let positions = Positions::new(&text);
            prop_assert_eq!(positions.chars_before(at), text[..at].chars().count() as u64);
            prop_assert_eq!(positions.line(at) as usize, text[..at].matches('\n').count() + 1);
        }
    }

    #[test]
    fn boxes_of_one_column_become_one() {
        let at = |page, x0, y0, x1, y1| loci_documents::PageBox {
            page,
            x0,
            y0,
            x1,
            y1,
        };
        let block = |b| Block {
            kind: loci_documents::BlockKind::Paragraph,
            range: 0..0,
            boxes: vec![b],
            ..Block::default()
        };
        let boxes = [
            at(1, 0.1, 0.1, 0.4, 0.2),
            at(1, 0.1, 0.2, 0.4, 0.5),
            at(1, 0.6, 0.1, 0.9, 0.5),
            at(2, 0.1, 0.1, 0.4, 0.2),
        ];
        let merged = merged_boxes(&boxes.map(block));
        let want = [at(1, 0.1, 0.1, 0.4, 0.5), boxes[2], boxes[3]];
        assert_eq!(merged, want.map(|it| page_box(&it)));
    }
}
