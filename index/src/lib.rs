//! Finds chunks by words, by nearness and by metadata.
//!
//! Every index here is built once from chunks in ascending [`LocalOrdinal`] order, becomes the bytes of
//! one section of an immutable segment, and is read in place from any `B: AsRef<[u8]>`. A search
//! takes the readers of all segments of a view, each [`SegmentReader`] at its base, and answers in
//! [`Ordinal`]s. What always holds:
//!
//! - Bytes are hostile until checked: a reader checks lengths when it is made and every stored id
//!   before it is used, and answers with a typed error, never with a panic.
//! - Scores do not depend on how chunks fell into segments: statistics are summed over the view.
//! - Deleted chunks ([`SegmentReader::dead`]) and the filter (a bitmap of ordinals) are applied inside the
//!   search, so that a search finds `k` hits whenever there are `k`.
//! - Hits are exact, best first, ties by ascending ordinal.
//!
//! | module | what |
//! | --- | --- |
//! | [`analysis`] | text → terms, the same way for writing and for asking |
//! | [`text`] | dictionary, postings, BM25 |
//! | [`vector`] | vectors of one space, exact scan |
//! | [`facets`] | metadata → chunks |
//!
//! Start reading at [`text::search`]; the other searches have its shape.
//!
//! [`LocalOrdinal`]: loci_storage::LocalOrdinal
//! [`Ordinal`]: loci_storage::Ordinal
//! [`SegmentReader`]: loci_storage::SegmentReader
//! [`SegmentReader::dead`]: loci_storage::SegmentReader::dead

pub mod analysis;
mod bytes;
pub mod facets;
mod kernels;
mod random;
pub mod text;
mod top;
pub mod vector;
