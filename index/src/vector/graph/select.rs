//! Which neighbours a node keeps: near ones in different directions.

use super::super::Metric;
use super::beam::Candidate;
use crate::kernels::Simd;

/// The byte codes that a graph is built on.
#[derive(Debug)]
pub(super) struct NodeCodes {
    /// `[count, stride]`, see [`Codes::I8`](super::super::Codes::I8).
    codes: Vec<u8>,
    stride: usize,
    /// Squared lengths for L2, else empty.
    norms: Vec<i32>,
    /// The length of the longest code; 0 for L2.
    longest: f32,
}

/// A node as the query of a walk.
#[derive(Debug, Default)]
pub(super) struct NodeQuery {
    numbers: Vec<i8>,
    /// What is taken from a kernel's sum for the codes being 128 too great.
    excess: i32,
    norm: i32,
}

impl NodeQuery {
    /// Bytes of a code.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl NodeCodes {
    /// `codes`: `[any number, stride]`, with 128 for zero, in the padding too.
    pub(super) fn new(codes: Vec<u8>, stride: usize, metric: Metric) -> NodeCodes {
        let norm = |code: &[u8]| code.iter().map(|&c| (i32::from(c) - 128).pow(2)).sum();
        let norms = codes.chunks_exact(stride).map(norm);
        let (norms, longest): (Vec<i32>, i32) = match metric {
            Metric::L2 => (norms.collect(), 0),
            Metric::Cosine | Metric::Dot => (Vec::new(), norms.max().unwrap_or_default()),
        };
        NodeCodes {
            codes,
            stride,
            norms,
            longest: (longest as f32).sqrt(),
        }
    }

    #[inline(always)]
    pub(super) fn code(&self, node: u32) -> &[u8] {
        let start = node as usize * self.stride;
        self.codes
            .get(start..start + self.stride)
            .unwrap_or_default()
    }

    /// Makes `own` the query for `node`.
    #[inline(always)]
    pub(super) fn load_query(&self, own: &mut NodeQuery, node: u32) {
        own.numbers.clear();
        let numbers = self.code(node).iter().map(|&code| (code ^ 128) as i8);
        own.numbers.extend(numbers);
        let sum: i32 = own.numbers.iter().map(|&number| i32::from(number)).sum();
        own.excess = 128 * sum;
        own.norm = self.norm(node);
    }

    /// A distance from `own` that none is less than.
    #[inline(always)]
    pub(super) fn distance_min(&self, own: &NodeQuery) -> f32 {
        let mut squared = 0;
        for &number in &own.numbers {
            squared += i32::from(number).pow(2);
        }
        -(squared as f32).sqrt() * self.longest
    }

    #[inline(always)]
    fn norm(&self, node: u32) -> i32 {
        self.norms.get(node as usize).copied().unwrap_or_default()
    }

    /// The distance between a node and another: minus the inner product, or the squared L2, of codes.
    #[inline(always)]
    pub(super) fn distance<S: Simd>(&self, simd: S, own: &NodeQuery, other: u32) -> f32 {
        let dot = simd.dot_u8(self.code(other), &own.numbers) - own.excess;
        let distance = if self.norms.is_empty() {
            -dot
        } else {
            own.norm + self.norm(other) - 2 * dot
        };
        distance as f32
    }
}

/// Up to `count` of `candidates`, which ascend: each that is nearer to the node than to all that were
/// taken before it (algorithm 4 of Malkov and Yashunin, without its extensions).
#[inline(always)]
pub(super) fn select<S: Simd>(
    simd: S,
    bytes: &NodeCodes,
    candidates: &[Candidate],
    count: usize,
    own: &mut NodeQuery,
) -> Vec<u32> {
    let mut selected: Vec<u32> = Vec::with_capacity(count);
    for &candidate in candidates {
        if selected.len() == count {
            break;
        }
        let node = candidate.node();
        let distance = candidate.distance();
        bytes.load_query(own, node);
        if !is_crowded(simd, bytes, own, distance, &selected) {
            selected.push(node);
        }
    }
    selected
}

/// Whether one of `taken` is nearer to `own` than `distance`.
#[inline(always)]
fn is_crowded<S: Simd>(
    simd: S,
    bytes: &NodeCodes,
    own: &NodeQuery,
    distance: f32,
    selected: &[u32],
) -> bool {
    // A loop, as the closure of an adapter would not be compiled for the instruction set.
    for &other in selected {
        if bytes.distance(simd, own, other) < distance {
            return true;
        }
    }
    false
}
