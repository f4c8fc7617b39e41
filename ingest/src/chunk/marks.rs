//! The marks of a document by place, so that those of a sentence are found without a walk over its
//! whole block.

use std::ops::Range;

use crate::text::terms;
use loci_documents::{Mark, ParsedDocument};

/// Telling marks of a document, ascending by where they start.
pub(crate) struct Marks<'a>(Vec<&'a Mark>);

impl<'a> Marks<'a> {
    /// Sorts the marks of all blocks.
    pub(crate) fn new(parsed: &'a ParsedDocument) -> Marks<'a> {
        let all = parsed.blocks.iter().flat_map(|block| &block.marks);
        let mut marks: Vec<&Mark> = all
            .filter(|mark| terms::is_key_term_mark(mark.kind))
            .collect();
        marks.sort_by_key(|mark| (mark.range.start, mark.range.end));
        Marks(marks)
    }

    /// The marks that lie inside `bounds`, in order.
    pub(crate) fn within(&self, bounds: Range<usize>) -> impl Iterator<Item = &'a Mark> + '_ {
        let first = self
            .0
            .partition_point(|mark| mark.range.start < bounds.start);
        let started = self.0[first..]
            .iter()
            .take_while(move |mark| mark.range.start < bounds.end);
        started
            .filter(move |mark| mark.range.end <= bounds.end)
            .copied()
    }
}
