//! HNSW: a graph over the vectors of one segment, walked by their codes.
//!
//! Y. Malkov, D. Yashunin, "Efficient and robust approximate nearest neighbor search using
//! Hierarchical Navigable Small World graphs", IEEE TPAMI 42(4), 2020: algorithms 1 to 5. Nodes are the
//! places of the vectors in the segment's vector section, which has them at full precision; a walk
//! reads this section alone, and what it finds is ranked again there.
//!
//! ```text
//! offset  size  field            (integers are little-endian, at no particular alignment)
//!      0     2  version          2
//!      2     1  metric           0 cosine, 1 dot, 2 squared L2
//!      3     1  codes            0 f32, 1 f16, 2 bf16, 3 i8, 4 i4, 5 b1
//!      4     4  dim              1..=8192
//!      8     4  count            nodes: 1..2^31
//!     12     4  m                links of a node above layer 0, half of those in it: 2..=64
//!     16     4  efConstruction
//!     20     4  upper layers     u: 0..=15
//!     24     4  entry            where walks start: a number of the highest layer
//!     28     4  step             f32, what one step of a code is worth
//!     32     8  seed
//!     40     4  long             f32, the length that all but one in a hundred vectors have at most
//!     44     4  error            f32, how much farther from a question of length 1 a near vector may seem by
//!                            its code: mean + 4 σ
//!     48   144  efforts          12 times: u32 ef, f32 slack of walks that follow the links of as many nodes,
//!                            f32 recall@10 that they had
//!    192   4·u  layer lengths    of layer 1, 2 …: l
//!      -   4·d  mean             f32, of all vectors; for i8, i4 and b1 only
//!      -     -  padding          zeros up to a multiple of 64
//!      -   c·r  records          node by node, r a multiple of 64:
//!                  code          as `codes` says, whole blocks
//!                  norm          f32, the squared length of the vector; for L2 only
//!                  links         2m nodes, filled up with ff ff ff ff
//!                  padding       zeros
//!      -     -  upper layers     one after another:
//!                  nodes         l · u32: which nodes are in it, ascending
//!                  below         l · u32: their numbers in the layer below
//!                  links         l · m · u32: numbers in this layer, filled up as above
//! ```
//!
//! What always holds: the bytes follow from vectors, options, seed and the graph that was copied, if any,
//! whatever the number of threads (what was measured, `error` and `efforts`, may differ by the rounding of
//! another processor);
//! a reader believes no number of them before it is compared with the end of what it counts.
//!
//! Start reading at [`build()`] and [`GraphReader::walk`].

mod beam;
mod build;
mod effort;
mod read;
mod reuse;
mod select;
mod write;

pub(super) use beam::{WalkLimits, WalkState};
pub(super) use build::build;
pub(super) use effort::deadline;
pub use loci_types::search::Effort;
pub(super) use read::{GraphReader, NodeFilter};

use super::codes::Codes;
use super::{Metric, VectorError};

const VERSION: u16 = 2;
const HEADER_LEN: usize = 192;
const ERROR_OFFSET: usize = 44;
const EFFORTS_OFFSET: usize = 48;
const ALIGNMENT: usize = 64;
const LAYERS_MAX: usize = 16;
const NO_LINK: u32 = u32::MAX;

/// Stands for the new place of a vector that is not kept.
pub const REMOVED_NODE: u32 = u32::MAX;

/// Links of a node above layer 0.
const M_RANGE: std::ops::RangeInclusive<u32> = 2..=64;

/// How a graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphOptions {
    /// Links of a node above layer 0, half of those in it: 2..=64.
    pub m: usize,
    /// Candidates of which the links of a node are chosen: `m` to 10,000.
    pub ef_construction: usize,
    /// What walks compare.
    pub codes: Codes,
    /// Equal seeds over equal vectors make equal graphs.
    pub seed: u64,
}

impl Default for GraphOptions {
    /// M 16, efConstruction 200, half bytes as codes: measured in `benches/RESULTS.md`.
    fn default() -> Self {
        GraphOptions {
            m: 16,
            ef_construction: 200,
            codes: Codes::I4,
            seed: 42,
        }
    }
}

impl GraphOptions {
    /// The default, with codes that suit vectors of `dim` numbers.
    pub fn for_dim(dim: usize) -> GraphOptions {
        GraphOptions {
            codes: Codes::for_dim(dim),
            ..GraphOptions::default()
        }
    }

    fn check(&self) -> Result<(), VectorError> {
        let m = u32::try_from(self.m).unwrap_or(u32::MAX);
        if M_RANGE.contains(&m) && self.ef_construction >= self.m && self.ef_construction <= 10_000
        {
            Ok(())
        } else {
            Err(VectorError::Options {
                m: self.m,
                ef_construction: self.ef_construction,
            })
        }
    }
}

/// Where the parts of a record lie.
#[derive(Clone, Copy, Debug)]
struct RecordLayout {
    code_len: usize,
    links_at: usize,
    links_len: usize,
    len: usize,
}

impl RecordLayout {
    fn new(codes: Codes, dim: usize, metric: Metric, degree_max: usize) -> RecordLayout {
        let code_len = codes.len(dim);
        let norm_len = if metric == Metric::L2 { 4 } else { 0 };
        let (links_at, links_len) = (code_len + norm_len, 4 * degree_max);
        RecordLayout {
            code_len,
            links_at,
            links_len,
            len: (links_at + links_len).next_multiple_of(ALIGNMENT),
        }
    }

    fn has_norm(&self) -> bool {
        self.links_at > self.code_len
    }
}

#[cfg(test)]
mod tests;
