//! Text search: one section of a segment with the terms of a layer's chunks, and BM25 over several.
//!
//! ```text
//! offset  size  field              (integers are little-endian, at no particular alignment)
//!      0     2  version            3
//!      2     2  analysis version   of the terms, [`crate::analysis::VERSION`]
//!      4     4  chunks             chunks with at least one term
//!      8     8  total length       weighted terms in all of them
//!     16     4  local end          1 + the greatest local number; 0 when there is none
//!     20     4  terms              t
//!     24     4  rows               r
//!     28     5  field weights      of body, title, headings, key terms, code: 1..=15
//!     33     7  languages          bit n: some chunk is in language n, see [`Language`](crate::analysis::Language)
//!     40     8  D                  bytes of the dictionary
//!     48     8  P                  bytes of the postings
//!     56     8  X                  bytes of the positions
//!     64   4·l  language chunks    for each bit of the languages, ascending: u32 chunks in it
//!      -   4·w  lengths            f32 by local: the decoded length code, 1 where there are no terms;
//!                                  w is the local end rounded up to a multiple of 64
//!      -   r·w  rows               of the most frequent terms: tf by local, 0 where there is none
//!      -  r·16  row bounds         8 times: u8 tf, u8 length code: no chunk of the row has a greater tf
//!                                  with a lesser length than one of the pairs; 0 0 for none
//!      -     D  dictionary         term -> its place, from 0: a list of up to 1,024 terms, else an FST
//!                                  (format 3 of the crate `fst`)
//!      -  24·t  term entries       in the order of the terms:
//!                  0  8  postings  offset from the start of the postings, or the number of the row
//!                  8  4  df        chunks that have the term
//!                 12  1  encoding  0 windows, 1 a row
//!                 13  1  tf max    no chunk has the term more often
//!                 14  1  code min  no chunk that has it has a lesser length code
//!                 15  1  reserved  zero
//!                 16  8  positions offset from the start of the positions
//!      -     P  postings           by term; of a term window after window, ascending:
//!                  0  4  window    locals window · 65,536 and on
//!                  4  4  count     entries that follow, at least 1; over all windows `df`
//!                  8  4  an entry: u16 local - window · 65,536, u8 tf, u8 length code
//!      -     X  positions          by term: skips, then the positions of chunk after chunk
//!                  skips           u32 from the end of the skips on: where the chunks of each 64 entries
//!                                  begin, or for a row those of each 64 locals; none for windows of up to
//!                                  64 entries in all
//!                  positions       varints: twice the distance from the position before (from 0), plus 1
//!                                  if another follows; a position is field · 2^24 + place in the field
//! ```
//!
//! What always holds: entries ascend by local and name each chunk once; tf is 1..=255, and 255
//! stands for *255 or more*; tf and length
//! count each term as often as the weight of its field says; the length code is [`length::encode`] of
//! the terms that the chunk has. Chunks without terms leave no trace.
//!
//! Start reading at [`search()`] or [`TextBuilder::push`].

mod automata;
mod bm25;
mod build;
mod cursor;
mod dictionary;
mod highlight;
mod items;
pub mod length;
mod matching;
mod maxscore;
mod merge;
mod parse;
mod positions;
mod read;
mod runs;
mod search;
mod segment_search;
mod select;
mod weights;

pub use bm25::{Bm25, Scorer, Statistics};
pub use build::{FieldWeights, TextBuilder, UNIFORM_WEIGHTS};
pub use highlight::{Highlighter, SpellingSuggestion, suggest_spellings};
pub use matching::search_query;
pub use merge::{MergeInput, REMOVED_LOCAL, merge};
pub use parse::{SyntaxError, TextQuery};
pub use read::{Posting, Postings, Term, TextReader};
pub use runs::longest_word_runs;
pub use search::{TextScratch, TextSearch, search, weights, weights_with_scratch};
pub use weights::statistics;

/// Bytes that a term has at most: [`crate::analysis::TERM_CHARS_MAX`] characters of UTF-8, and its language.
pub const TERM_BYTES_MAX: usize = 4 * crate::analysis::TERM_CHARS_MAX + 1;

const VERSION: u16 = 3;
const HEADER_LEN: usize = 64;
/// Where the weights of fields stand.
const WEIGHTS_OFFSET: usize = 28;
/// Bytes of the languages.
const LANGUAGES_LEN: usize = 7;
const ENTRY_LEN: usize = 24;
const ROW_BOUNDS: usize = 8;
const WINDOW_HEADER_LEN: usize = 8;
const POSTING_LEN: usize = 4;
const ENCODING_WINDOWS: u8 = 0;
const ENCODING_ROW: u8 = 1;

/// Locals that are looked at together.
const BLOCK_LEN: usize = 64;
/// Locals that a term's list counts from.
const WINDOW_LEN: usize = 1 << 16;
/// Entries between two skips.
const SKIP_LEN: usize = 64;
/// Bits of a position that are its place in the field.
const POSITION_BITS: u32 = 24;

/// The field of a chunk that a term is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Field {
    /// The text itself.
    Body = 0,
    /// The title of the document.
    Title = 1,
    /// The headings above the chunk.
    Headings = 2,
    /// Key terms.
    KeyTerms = 3,
    /// The text of a chunk of code.
    Code = 4,
}

impl Field {
    /// All of them, by number in the format.
    pub const ALL: [Field; 5] = [
        Field::Body,
        Field::Title,
        Field::Headings,
        Field::KeyTerms,
        Field::Code,
    ];
}

impl Field {
    /// Whether a position in the field of this number is one in this field: the title is a heading too.
    fn matches_number(self, number: u8) -> bool {
        let is_title = number == Field::Title as u8;
        number == self as u8 || (self == Field::Headings && is_title)
    }
}

/// Why text cannot be indexed or searched. Every variant documents what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Another release wrote the section. Upgrade, or rebuild the segment from rows.
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
    /// The question asks for more than one can. Ask for less.
    #[error("{0}")]
    Question(&'static str),
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
