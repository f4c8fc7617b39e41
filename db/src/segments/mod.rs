//! Writing the indexes of a segment from the rows of its documents.
//!
//! Start reading at [`writer::SegmentWriter`].

pub(crate) mod chunk;
mod facets;
pub(crate) mod merge_sources;
pub(crate) mod vectors;
pub(crate) mod writer;
