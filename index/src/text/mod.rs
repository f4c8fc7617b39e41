//! Words: one section of a segment with the terms of a layer's chunks, and BM25 over several.
//!
//! ```text
//! offset  size  field              (integers are little-endian, at no particular alignment)
//!      0     2  version            1
//!      2     2  analysis version   of the terms, [`crate::analysis::VERSION`]
//!      4     4  chunks             chunks with at least one term
//!      8     8  total length       terms in all of them
//!     16     4  local end          1 + the greatest local number; 0 when there is none
//!     20     4  terms
//!     24     8  D                  bytes of the dictionary
//!     32     8  P                  bytes of the postings
//!     40     D  dictionary         term -> its place, from 0: a list of up to 1,024 terms, else an FST
//!                              (format 3 of the crate `fst`)
//!   40+D  16·t  term entries       in the order of the terms:
//!                  0  8  postings  offset from the start of the postings
//!                  8  4  df        chunks that have the term
//!                 12  4  encoding  0, the one below
//!      -     P  postings           by term; of a term window after window, ascending:
//!                  0  4  window    locals window · 65,536 and on
//!                  4  4  count     entries that follow, at least 1; over all windows `df`
//!                  8  4  an entry: u16 local - window · 65,536, u8 tf, u8 length code
//! ```
//!
//! What always holds: entries ascend by local and name each chunk once; tf is 1..=255, and 255
//! stands for *255 or more* (the score of a term grows by less than 1 % from there on); the length
//! code is [`length::encode`] of the terms that the chunk has. Chunks without terms leave no trace.
//!
//! Start reading at [`search`] or [`TextBuilder::push`].

mod bm25;
mod build;
mod dictionary;
pub mod length;
mod read;
mod search;

pub use bm25::{Bm25, Scorer, Statistics};
pub use build::TextBuilder;
pub use read::{Posting, Postings, Term, TextReader};
pub use search::{TextScratch, search, statistics, weights};

/// Bytes that a term has at most: [`crate::analysis::TERM_CHARS_MAX`] characters of UTF-8.
pub const TERM_BYTES_MAX: usize = 4 * crate::analysis::TERM_CHARS_MAX;

const VERSION: u16 = 1;
const HEADER_LEN: usize = 40;
const ENTRY_LEN: usize = 16;
const WINDOW_HEADER_LEN: usize = 8;
const POSTING_LEN: usize = 4;
const ENCODING_WINDOWS: u32 = 0;

/// Why text cannot be indexed or searched. Every variant tells its reader what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A newer release wrote the section. Upgrade, or rebuild the segment from rows.
    #[error("text section version {found}; this build reads version {VERSION}")]
    Version {
        /// What the section says.
        found: u16,
    },
    /// Another release cut text into other terms. Rebuild the segment from rows.
    #[error(
        "terms of analysis {found}; this build asks with analysis {}",
        crate::analysis::VERSION
    )]
    Analysis {
        /// What the section says.
        found: u16,
    },
    /// The bytes break the format. Rebuild the segment from rows, and suspect the disk.
    #[error("malformed text section: {0}")]
    Malformed(&'static str),
    /// A chunk was pushed that is not after the one before it. Push in ascending order.
    #[error("chunk {local} pushed after chunk {last}")]
    Order {
        /// The chunk.
        local: u32,
        /// The one before it.
        last: u32,
    },
    /// A term is empty or longer than [`TERM_BYTES_MAX`]. Take terms from an `Analyzer`.
    #[error("a term of {0} bytes; 1 to {TERM_BYTES_MAX} are possible")]
    TermLength(usize),
    /// `k1` is negative or not finite, or `b` lies outside of 0..=1. Correct the setting.
    #[error("BM25 with k1 = {k1}, b = {b}; k1 is 0 or more and b lies in 0..=1")]
    Parameters {
        /// The setting.
        k1: f32,
        /// The setting.
        b: f32,
    },
}

#[cfg(test)]
mod tests;
