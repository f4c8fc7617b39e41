//! Vector search: the vectors of one space that the chunks of a segment have.
//!
//! Every segment stores them flat, at full precision. A search of a small segment scans them. A large
//! segment also has an HNSW graph over codes of at most one byte per number: a walk through it finds
//! candidates, which are ranked again by the flat vectors. For each segment, [`search()`] chooses
//! between walk and scan by their cost, and returns one list of hits for all segments.
//!
//! | part | what |
//! | --- | --- |
//! | [`FlatBuilder`], [`FlatReader`] | the section below |
//! | `graph` | the section of the graph: built, walked, measured |
//! | `codes` | vectors in fewer bytes |
//! | `crate::kernels` | their inner products, one file per instruction set |
//! | [`MeanCosine`] | compares a question with the mean of several vectors |
//! | `plan` | chooses the method that searches a segment |
//!
//! The section of flat vectors:
//!
//! ```text
//! offset  size  field       (integers are little-endian, at no particular alignment)
//!      0     2  version     1
//!      2     1  metric      0 cosine, 1 dot, 2 squared L2
//!      3     1  dense       1: the vectors are those of locals 0, 1, 2 …; 0: locals are listed
//!      4     4  dim         1..=8192
//!      8     4  count       vectors
//!     12     4  local end   1 + the greatest local number; 0 when there is none
//!     16   4·c  locals      ascending; absent when dense
//!      -     -  padding     zeros up to a multiple of 64
//!      -     -  vectors     count · dim f32; of length 1 for cosine
//! ```
//!
//! Start reading at [`search()`] or [`FlatBuilder::push`].

mod byte_codes;
mod codes;
mod flat;
mod graph;
mod mean;
mod metric;
mod plan;
mod query;
mod reader;
mod search;
mod segment_search;

pub use codes::Codes;
pub use flat::{FlatBuilder, FlatReader};
pub use graph::{Effort, GraphOptions, REMOVED_NODE};
pub use mean::MeanCosine;
pub use metric::Metric;
pub use plan::SearchStrategy;
pub use query::{SegmentSearchStats, VectorQuery, VectorScratch};
pub use reader::VectorReader;
pub use search::search;

/// The instruction set that walks use on this machine.
pub fn instruction_set() -> &'static str {
    crate::kernels::Level::detect().name()
}

/// Numbers that a vector has at most.
pub const DIM_MAX: usize = 8192;

/// Length that a vector has at most, so that no score overflows.
pub const MAGNITUDE_MAX: f64 = 1e15;

/// Why vectors cannot be indexed or searched. Every variant documents what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// A newer release wrote the section. Upgrade, or rebuild the segment from rows.
    #[error("vector section version {found}; this build reads version {known}")]
    Version {
        /// What the section says.
        found: u16,
        /// What this build knows.
        known: u16,
    },
    /// The bytes break the format. Rebuild the segment from rows, and suspect the disk.
    #[error("malformed vector section: {0}")]
    Malformed(&'static str),
    /// No space can have this many dimensions. Choose 1..=[`DIM_MAX`].
    #[error("{0} dimensions; 1 to {DIM_MAX} are possible")]
    Dimensions(usize),
    /// The vector is of another space. Embed with the model of this one.
    #[error("a vector of {got} numbers in a space of {expected}")]
    Dimension {
        /// Numbers in the vector.
        got: usize,
        /// Numbers in every vector of the space.
        expected: usize,
    },
    /// A number is NaN or infinite. Suspect the embedder.
    #[error("number {at} of the vector is not finite")]
    NotFinite {
        /// Its place, from 0.
        at: usize,
    },
    /// The vector has no direction, so no angle to others. Leave its chunk without a vector.
    #[error("a vector of length zero has no cosine")]
    Zero,
    /// The vector is longer than [`MAGNITUDE_MAX`]. Scale the space.
    #[error("a vector of length {0:e}; up to {MAGNITUDE_MAX:e} is possible")]
    TooLong(f64),
    /// A chunk was pushed that is not after the one before it. Push in ascending order.
    #[error("chunk {local} pushed after chunk {last}")]
    Order {
        /// The chunk.
        local: u32,
        /// The one before it.
        last: u32,
    },
    /// No graph is built like this. `m` is 2 to 64, efConstruction `m` to 10,000.
    #[error("a graph with m {m} and efConstruction {ef_construction}")]
    Options {
        /// Links of a node above layer 0.
        m: usize,
        /// Candidates of which they are chosen.
        ef_construction: usize,
    },
    /// The caller gave up while a graph was built. Nothing is left of it.
    #[error("building the graph was given up")]
    Stopped,
    /// A graph has 1 to 2^31 - 1 nodes. Split the segment.
    #[error("a graph over {0} vectors")]
    NodeCount(usize),
    /// Segments of one search have different metrics. Search one space at a time.
    #[error("segments with metrics {0:?} and {1:?} in one search")]
    Mixed(Metric, Metric),
}

#[cfg(test)]
mod tests;
