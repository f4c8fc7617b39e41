//! Finds chunks by words, by vectors and by metadata.
//!
//! Every index here is built once from chunks in ascending [`LocalOrdinal`] order, becomes the bytes of
//! one section of an immutable segment, and is read in place from any `B: AsRef<[u8]>`. A search
//! takes a [`SegmentReader`] for each segment of a snapshot and returns [`Ordinal`]s. Invariants:
//!
//! - Bytes are hostile until checked: a reader checks lengths when it opens and every stored id
//!   before it is used, and returns a typed error, never a panic.
//! - Scores do not depend on how chunks are spread over segments: statistics are summed over the snapshot.
//! - Deleted chunks ([`SegmentReader::dead`]) and the filter (a bitmap of ordinals) are applied inside the
//!   search, so that a search finds `k` hits whenever there are `k`.
//! - Hits are exact, best first, ties by ascending ordinal.
//!
//! | module | contents |
//! | --- | --- |
//! | [`analysis`] | text → terms, the same for documents and for queries |
//! | [`text`] | dictionary, postings, positions, BM25, query syntax |
//! | [`vector`] | vectors of one space: flat, and an HNSW graph over codes |
//! | [`facets`] | metadata → chunks |
//! | `kernels` | inner products and block scans, one instruction set per file: the only `unsafe` code |
//! | `top` | the best `k` of the hits |
//!
//! Start reading at [`text::search()`]; the other searches have the same form.
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
