//! Metadata: which of a segment's chunks have which values of which fields.
//!
//! ```text
//! offset  size  field             (integers are little-endian, at no particular alignment)
//!      0     2  version           1
//!      2     2  reserved          zero
//!      4     4  columns
//!      8     4  local end         1 + the greatest local number; 0 when there is none
//!     12     4  reserved          zero
//!     16  40·c  column entries    ascending by name, then kind:
//!                  0  4  name len
//!                  4  1  kind     0 integers, 1 text
//!                  5  1  form     0 bitmaps, 1 pairs
//!                  6  2  reserved zero
//!                  8  4  values   distinct values: v
//!                 12  4  pairs    (chunk, value) pairs: p
//!                 16  8  name     offset from the start of the section
//!                 24  8  values   offset of the values, ascending:
//!                                 integers: v i64; text: v + 1 u64, then the bytes that they cut
//!                 32  8  chunks   offset of the chunks:
//!                                 bitmaps: v + 1 u64, then the roaring bitmaps that they cut
//!                                 pairs: p times u32 local, u32 place of the value; ascending
//!      -     -  names, values, chunks
//! ```
//!
//! A field with both text and integers has two columns. Up to [`BITMAPS_MAX`] distinct values have
//! a bitmap each; beyond that, one scan over the pairs costs less than the bitmaps would weigh.
//! Bitmaps are in the portable format of Roaring.
//!
//! Start reading at [`FacetReader::select`] or [`FacetBuilder::push`].

mod build;
mod column;
mod read;

use std::ops::Bound;

pub use build::FacetBuilder;
pub use loci_types::filter::FacetValue;
pub use read::{FacetReader, FieldInfo, select};

/// Distinct values of a column that have a bitmap each.
pub const BITMAPS_MAX: usize = 4096;

const VERSION: u16 = 1;
const HEADER_LEN: usize = 16;
const ENTRY_LEN: usize = 40;
const PAIR_LEN: usize = 8;

/// What values a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// [`FacetValue::Integer`].
    Integer = 0,
    /// [`FacetValue::Text`].
    Text = 1,
}

impl From<&FacetValue> for Kind {
    fn from(value: &FacetValue) -> Kind {
        match value {
            FacetValue::Integer(_) => Kind::Integer,
            FacetValue::Text(_) => Kind::Text,
        }
    }
}

/// Which chunks are wanted. A chunk with several values is wanted when one of them fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// Has this value.
    Equal(FacetValue),
    /// Has one of these values.
    In(Vec<FacetValue>),
    /// Has a value between the bounds. Integers and text do not mix: a bound of one kind excludes
    /// values of the other, and bounds of both kinds exclude all.
    Range {
        /// The lower bound.
        low: Bound<FacetValue>,
        /// The upper bound.
        high: Bound<FacetValue>,
    },
    /// Has a text value that starts so.
    Prefix(String),
    /// Has any value.
    Has,
}

/// Why facets cannot be read. Every variant documents what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FacetError {
    /// A newer release wrote the section. Upgrade, or rebuild the segment from rows.
    #[error("facet section version {found}; this build reads version {VERSION}")]
    Version {
        /// What the section says.
        found: u16,
    },
    /// The bytes break the format. Rebuild the segment from rows, and suspect the disk.
    #[error("malformed facet section: {0}")]
    Malformed(&'static str),
}

#[cfg(test)]
mod tests;
