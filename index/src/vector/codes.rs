//! Codes: vectors as few bytes, near enough to walk by.
//!
//! A walk compares the codes of chunks with a query at full or byte precision, and what it finds is
//! ranked again by the full vectors. One [`Quantiser`] serves a whole segment:
//!
//! | codes | a number is | bytes |
//! | --- | --- | --- |
//! | [`Codes::F32`] | itself | 4 |
//! | [`Codes::F16`], [`Codes::Bf16`] | rounded to 11 or 8 bits of precision | 2 |
//! | [`Codes::I8`] | `mean + step · (code - 128)`, code in 1..=255 | 1 |
//! | [`Codes::I4`] | `mean + step · (code - 7.5)`, code in 0..=15, of the rotated vector | ½ |
//! | [`Codes::B1`] | `mean + step · ±1`, of the rotated vector | ⅛ |
//!
//! The mean of the vectors is taken off first: what all have in common needs no bits, and an inner
//! product with it is the same for all. A rotation spreads what is left evenly over all numbers, so that
//! one small step fits each, whatever basis the vectors came in; inner products do not see it. Steps are
//! chosen so that all but a few outliers of a sample are inside; those are clipped.

use simsimd::{bf16, f16};

use super::Metric;
use crate::kernels::{BLOCK_LEN, Job, Level, Simd};
use crate::random::splitmix64;

/// How a segment stores the vectors that a walk compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codes {
    /// Full precision.
    F32 = 0,
    /// IEEE half precision. Greater numbers than 65,504 are infinite in it: no use for long vectors.
    F16 = 1,
    /// The upper half of an `f32`.
    Bf16 = 2,
    /// A byte a number.
    I8 = 3,
    /// Half a byte a number.
    I4 = 4,
    /// The signs alone.
    B1 = 5,
}

/// Share of numbers that the steps of bytes and half bytes do not clip. For numbers of a normal
/// distribution these are clips at 3.9 and 2.7 standard deviations.
const UNCLIPPED_SHARE_I8: f64 = 0.9999;
const UNCLIPPED_SHARE_I4: f64 = 0.994;

/// The least excess of an inner product, as a share of the greatest product there can be: a few vectors
/// may be longer than the rest, and nearer than can be.
const EXCESS_MIN: f32 = 1.0 / 16.0;

/// Numbers that a step is chosen by, at most.
const SAMPLE_LEN: usize = 1 << 20;

impl Codes {
    /// All of them, by number in the format.
    pub const ALL: [Codes; 6] = [
        Codes::F32,
        Codes::F16,
        Codes::Bf16,
        Codes::I8,
        Codes::I4,
        Codes::B1,
    ];

    /// What suits vectors of `dim` numbers: half bytes; bytes up to 64 numbers, which take no more space
    /// there, as half bytes come in blocks of 128.
    pub fn for_dim(dim: usize) -> Codes {
        if dim > 64 { Codes::I4 } else { Codes::I8 }
    }

    /// The codes with this number in the format.
    pub fn from_number(number: u8) -> Option<Codes> {
        Codes::ALL.get(usize::from(number)).copied()
    }

    /// The name that tools print and take.
    pub fn name(self) -> &'static str {
        ["f32", "f16", "bf16", "i8", "i4", "b1"][self as usize]
    }

    /// The codes of this name.
    pub fn from_name(name: &str) -> Option<Codes> {
        Codes::ALL.into_iter().find(|codes| codes.name() == name)
    }

    /// Bytes of a vector's code: whole blocks of the kernels.
    pub(super) fn len(self, dim: usize) -> usize {
        match self {
            Codes::F32 => dim.next_multiple_of(16) * 4,
            Codes::F16 | Codes::Bf16 => dim.next_multiple_of(16) * 2,
            Codes::I8 => dim.next_multiple_of(64),
            Codes::I4 => dim.next_multiple_of(128) / 2,
            Codes::B1 => dim.next_multiple_of(128) / 8,
        }
    }

    /// Whether vectors lose their mean before they are encoded.
    pub(super) fn is_centred(self) -> bool {
        matches!(self, Codes::I8 | Codes::I4 | Codes::B1)
    }

    fn is_rotated(self) -> bool {
        matches!(self, Codes::I4 | Codes::B1)
    }

    /// What one step of a code is worth, from numbers that are to be encoded.
    fn step(self, numbers: &mut [f32]) -> f32 {
        let step = match self {
            Codes::F32 | Codes::F16 | Codes::Bf16 => 1.0,
            Codes::I8 => quantile(numbers, UNCLIPPED_SHARE_I8) / 127.0,
            Codes::I4 => quantile(numbers, UNCLIPPED_SHARE_I4) / 7.5,
            Codes::B1 => mean_magnitude(numbers),
        };
        // Vectors of zeros alone: any step will do.
        if step > 0.0 { step } else { 1.0 }
    }
}

/// How the vectors of a segment become codes.
#[derive(Clone, Debug)]
pub(super) struct Quantiser {
    pub(super) codes: Codes,
    /// What a step of a code is worth: finite, above 0.
    pub(super) step: f32,
    /// `[dim]`, or empty: nothing is taken off.
    pub(super) mean: Vec<f32>,
    /// For codes that are rotated.
    rotation: Rotation,
    /// The mean, rotated; for [`Codes::I4`] alone.
    rotated_mean: Vec<f32>,
}

/// Memory of a quantiser's work.
#[derive(Clone, Debug, Default)]
pub(super) struct TransformScratch {
    numbers: Vec<f32>,
    dealt: Vec<f32>,
}

impl Quantiser {
    /// As it was read.
    pub(super) fn new(codes: Codes, step: f32, mean: Vec<f32>, dim: usize) -> Quantiser {
        let rotation = if codes.is_rotated() {
            Rotation::new(dim)
        } else {
            Rotation::default()
        };
        let mut rotated_mean = Vec::new();
        if codes == Codes::I4 {
            rotated_mean.extend_from_slice(&mean);
            rotated_mean.resize(dim, 0.0);
            rotation.apply(&mut rotated_mean, &mut Vec::new());
        }
        Quantiser {
            codes,
            step,
            mean,
            rotation,
            rotated_mean,
        }
    }

    /// The mean as codes have their numbers, `[dim, to whole blocks]`; empty but for [`Codes::I4`].
    pub(super) fn rotated_mean(&self) -> &[f32] {
        &self.rotated_mean
    }

    /// For `vectors` `[any number, dim]`.
    pub(super) fn fit(codes: Codes, vectors: &[f32], dim: usize) -> Quantiser {
        let mean = if codes.is_centred() {
            mean(vectors, dim)
        } else {
            Vec::new()
        };
        Quantiser::with_mean(codes, vectors, dim, mean)
    }

    /// A byte a number, with nothing taken off: codes that are compared with each other.
    pub(super) fn fit_bytes(vectors: &[f32], dim: usize) -> Quantiser {
        Quantiser::with_mean(Codes::I8, vectors, dim, Vec::new())
    }

    fn with_mean(codes: Codes, vectors: &[f32], dim: usize, mean: Vec<f32>) -> Quantiser {
        let mut quantiser = Quantiser::new(codes, 1.0, mean, dim);
        let count = vectors.len() / dim.max(1);
        let stride = (count * dim / SAMPLE_LEN).max(1);
        let (mut sample, mut rotated) = (Vec::new(), TransformScratch::default());
        for vector in vectors.chunks_exact(dim).step_by(stride) {
            quantiser.transform(vector, &mut rotated);
            sample.extend_from_slice(&rotated.numbers);
        }
        quantiser.step = codes.step(&mut sample);
        quantiser
    }

    /// What is encoded of `vector`.
    fn transform(&self, vector: &[f32], out: &mut TransformScratch) {
        let TransformScratch { numbers, dealt } = out;
        numbers.clear();
        if self.mean.is_empty() {
            numbers.extend_from_slice(vector)
        } else {
            numbers.extend(vector.iter().zip(&self.mean).map(|(x, mean)| x - mean))
        }
        if self.codes.is_rotated() {
            self.rotation.apply(numbers, dealt);
        }
    }

    /// Appends the code of `vector`; `scratch` is used again.
    pub(super) fn encode(&self, vector: &[f32], scratch: &mut TransformScratch, out: &mut Vec<u8>) {
        let end = out.len() + self.codes.len(vector.len());
        self.transform(vector, scratch);
        let scratch = &scratch.numbers;
        let (numbers, per_step) = (scratch.iter(), self.step.recip());
        match self.codes {
            Codes::F32 => out.extend(numbers.flat_map(|x| x.to_le_bytes())),
            Codes::F16 => out.extend(numbers.flat_map(|&x| f16::from_f32(x).0.to_le_bytes())),
            Codes::Bf16 => out.extend(numbers.flat_map(|&x| rounded_bf16(x).0.to_le_bytes())),
            Codes::I8 => out.extend(numbers.map(|&x| (signed(x, per_step) ^ -128) as u8)),
            Codes::I4 => {
                let (blocks, _) = scratch.as_chunks::<128>();
                for block in blocks {
                    let at = |i: usize| nibble(block[i], per_step);
                    out.extend((0..64).map(|j| at(j) | at(64 + j) << 4));
                }
            }
            Codes::B1 => out.extend(scratch.chunks(8).map(|eight| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, &x)| byte | u8::from(x > 0.0) << i)
            })),
        }
        // The query is zero there.
        out.resize(end, 0);
    }
}

/// The mean of vectors `[any number, dim]`.
fn mean(vectors: &[f32], dim: usize) -> Vec<f32> {
    let mut sums = vec![0f64; dim];
    for vector in vectors.chunks_exact(dim) {
        for (sum, &x) in sums.iter_mut().zip(vector) {
            *sum += f64::from(x);
        }
    }
    let count = (vectors.len() / dim.max(1)).max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}

/// A rotation of vectors of one length, which are lengthened by zeros to whole blocks of 128 numbers.
/// Lengths and inner products stay.
///
/// Twice: signs of chance, then a Walsh-Hadamard transform of each block; between the two, blocks are
/// dealt out over each other. (Ailon and Chazelle, "The fast Johnson-Lindenstrauss transform", SIAM J.
/// Comput. 39(1), 2009, with blocks in place of the next power of two.)
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    /// The sign bits that are flipped, of both rounds.
    signs: [Vec<u32>; 2],
}

impl Rotation {
    pub(super) fn new(dim: usize) -> Rotation {
        let len = dim.next_multiple_of(128) as u64;
        let signs = |round: u64| {
            let bit = |i: u64| {
                let half = i / 64;
                let word = splitmix64(round << 32 | half);
                (word >> (i % 64) & 1) as u32
            };
            (0..len).map(|i| bit(i) << 31).collect()
        };
        Rotation {
            signs: [signs(1), signs(2)],
        }
    }

    /// Rotates `vector`; `scratch` is used again.
    #[inline(always)]
    pub(super) fn apply(&self, vector: &mut Vec<f32>, scratch: &mut Vec<f32>) {
        let len = vector.len().next_multiple_of(128);
        vector.resize(len, 0.0);
        flip_signs(vector, &self.signs[0]);
        let count = len / 128;
        if count > 1 {
            scratch.clear();
            scratch.extend_from_slice(vector);
            for (at, dealt) in vector.chunks_exact_mut(count).enumerate() {
                for (block, x) in dealt.iter_mut().enumerate() {
                    *x = scratch[block * 128 + at];
                }
            }
        }
        flip_signs(vector, &self.signs[1]);
    }
}

#[inline(always)]
fn flip_signs(vector: &mut [f32], signs: &[u32]) {
    for (x, sign) in vector.iter_mut().zip(signs) {
        *x = f32::from_bits(x.to_bits() ^ sign);
    }
    let (blocks, _) = vector.as_chunks_mut::<128>();
    for block in blocks {
        hadamard(block);
    }
}

/// The orthonormal Walsh-Hadamard transform.
#[inline(always)]
fn hadamard(block: &mut [f32; 128]) {
    let mut half = 1;
    while half < 128 {
        for pair in block.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 128f32.sqrt().recip();
    block.iter_mut().for_each(|x| *x *= scale);
}

/// A number as a byte with a sign, -127..=127; halves are rounded away from zero. Without a call of the
/// mathematics library, which the standard library's rounding is on most targets.
#[inline(always)]
fn signed(x: f32, per_step: f32) -> i8 {
    let scaled = (x * per_step).clamp(-127.0, 127.0);
    (scaled + 0.5f32.copysign(scaled)) as i8
}

fn nibble(x: f32, per_step: f32) -> u8 {
    (x * per_step + 8.0).clamp(0.0, 15.0) as u8
}

fn rounded_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    // To the nearest, ties to even. Vectors are finite; the greatest may round to infinity.
    bf16((bits.saturating_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16)
}

/// The magnitude that a share `kept` of the numbers does not exceed. Changes their order.
fn quantile(numbers: &mut [f32], share: f64) -> f32 {
    let Some(last) = numbers.len().checked_sub(1) else {
        return 0.0;
    };
    let at = ((last as f64 * share).ceil() as usize).min(last);
    let magnitudes = |a: &f32, b: &f32| a.abs().total_cmp(&b.abs());
    numbers.select_nth_unstable_by(at, magnitudes).1.abs()
}

fn mean_magnitude(numbers: &[f32]) -> f32 {
    let sum: f64 = numbers.iter().map(|x| f64::from(x.abs())).sum();
    (sum / numbers.len().max(1) as f64) as f32
}

/// A query as the kernels of one segment take it.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    /// Padded with zeros to whole blocks.
    floats: Vec<f32>,
    dealt: Vec<f32>,
    /// `floats` by their own step, for codes of a byte or less.
    numbers: Vec<i8>,
    /// Σ numbers.
    sum: f32,
    /// What a unit of the kernel's sum is worth in the metric's distance.
    unit_distance: f32,
    /// What the mean, which codes lack, takes off every distance.
    mean_offset: f32,
    /// Its length.
    length: f32,
    /// The distance that [`Query::excess`] counts from, and the least that it answers.
    distance_min: f32,
    excess_min: f32,
}

impl Query {
    /// Takes over `query`, which was prepared by the metric.
    /// - `long`: the length that nearly all vectors have at most that it is compared with.
    pub(super) fn prepare(
        &mut self,
        query: &[f32],
        quantiser: &Quantiser,
        metric: Metric,
        typical_length_max: f32,
    ) {
        let job = PrepareQuery {
            into: self,
            query,
            quantiser,
            metric,
            typical_length_max,
        };
        Level::detect().run(job);
    }

    #[inline(always)]
    fn load(
        &mut self,
        query: &[f32],
        quantiser: &Quantiser,
        metric: Metric,
        typical_length_max: f32,
    ) {
        let twice = if metric == Metric::L2 { 2.0 } else { 1.0 };
        let with_mean = query.iter().zip(&quantiser.mean).map(|(x, mean)| x * mean);
        self.mean_offset = twice * with_mean.sum::<f32>();
        self.floats.clear();
        self.floats.extend_from_slice(query);
        if quantiser.codes.is_rotated() {
            quantiser.rotation.apply(&mut self.floats, &mut self.dealt);
        }
        let len = query.len().next_multiple_of(BLOCK_LEN);
        self.floats.resize(len, 0.0);
        // Bits of finite numbers without a sign are in the order of the numbers, and compilers know whole numbers.
        let magnitudes = self.floats.iter().map(|x| x.abs().to_bits());
        let largest = f32::from_bits(magnitudes.fold(0, u32::max));
        let squared = squared_length(&self.floats);
        self.length = squared.sqrt();
        (self.distance_min, self.excess_min) = match metric {
            Metric::Cosine | Metric::Dot => (
                -self.length * typical_length_max,
                EXCESS_MIN * self.length * typical_length_max,
            ),
            Metric::L2 => (-squared, 0.0),
        };
        let own_step = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        let per_step = own_step.recip();
        self.numbers.resize(len, 0);
        let mut sum = 0;
        for (number, &x) in self.numbers.iter_mut().zip(&self.floats) {
            *number = signed(x, per_step);
            sum += i32::from(*number);
        }
        self.sum = sum as f32;
        self.unit_distance = match quantiser.codes {
            Codes::F32 | Codes::F16 | Codes::Bf16 => twice,
            Codes::I8 | Codes::I4 | Codes::B1 => twice * quantiser.step * own_step,
        };
    }

    /// The length of the query.
    #[inline(always)]
    pub(super) fn length(&self) -> f32 {
        self.length
    }

    /// Its numbers as bytes.
    #[inline(always)]
    pub(super) fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    /// The inner product with a code of bytes without a mean, from the kernel's sum. Whole numbers are exact: nothing
    /// is rounded before it is scaled.
    #[inline(always)]
    pub(super) fn similarity(&self, sum: i32) -> f32 {
        self.unit_distance * (sum - 128 * self.sum as i32) as f32
    }

    /// The length of what the query's own code lacks, for codes of a byte that are not rotated.
    pub(super) fn residual_length(&self, quantiser: &Quantiser) -> f32 {
        let own_step = f64::from(self.unit_distance / quantiser.step);
        let lacks = |(&x, &number): (&f32, &i8)| f64::from(x) - f64::from(number) * own_step;
        let squares = self.floats.iter().zip(&self.numbers);
        squares.map(|both| lacks(both).powi(2)).sum::<f64>().sqrt() as f32
    }

    /// How much farther a distance is than the least there can be: for unit vectors and L2 in proportion
    /// to the squared Euclidean distance.
    #[inline(always)]
    pub(super) fn excess(&self, distance: f32) -> f32 {
        (distance - self.distance_min).max(self.excess_min)
    }

    /// The distance to a code: minus the inner product, or the squared L2 less that of the query alone.
    /// - `norm`: the squared length of the vector for L2, else 0.
    #[inline(always)]
    pub(super) fn distance<S: Simd, C: Code>(&self, simd: S, code: &[u8], norm: f32) -> f32 {
        norm - self.mean_offset - self.unit_distance * C::dot(simd, code, self)
    }
}

/// Σ x², sixteen sums side by side, which compilers turn into vectors.
#[inline(always)]
fn squared_length(numbers: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    let (rows, rest) = numbers.as_chunks::<16>();
    for row in rows {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x * x;
        }
    }
    let rest: f32 = rest.iter().map(|x| x * x).sum();
    sums.iter().sum::<f32>() + rest
}

/// A query on its way into kernels' form, compiled for their instruction set.
struct PrepareQuery<'a> {
    into: &'a mut Query,
    query: &'a [f32],
    quantiser: &'a Quantiser,
    metric: Metric,
    typical_length_max: f32,
}

impl Job for PrepareQuery<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.into.load(
            self.query,
            self.quantiser,
            self.metric,
            self.typical_length_max,
        );
    }
}

/// One kind of code, as a type, so that a walk is compiled for it.
pub(super) trait Code {
    /// The inner product with a query, in units of [`Query::similarity`].
    fn dot<S: Simd>(simd: S, code: &[u8], query: &Query) -> f32;
}

macro_rules! code {
    ($name:ident, |$simd:ident, $code:ident, $query:ident| $dot:expr) => {
        #[doc = concat!("[`Codes::", stringify!($name), "`]")]
        pub(super) struct $name;

        impl Code for $name {
            #[inline(always)]
            fn dot<S: Simd>($simd: S, $code: &[u8], $query: &Query) -> f32 {
                $dot
            }
        }
    };
}

code!(F32, |simd, code, query| simd.dot_f32(code, &query.floats));
code!(F16, |simd, code, query| simd.dot_f16(code, &query.floats));
code!(Bf16, |simd, code, query| simd.dot_bf16(code, &query.floats));
code!(I8, |simd, code, query| {
    simd.dot_u8(code, &query.numbers) as f32 - 128.0 * query.sum
});
code!(I4, |simd, code, query| {
    simd.dot_u4(code, &query.numbers) as f32 - 7.5 * query.sum
});
code!(B1, |simd, code, query| {
    2.0 * simd.dot_u1(code, &query.numbers) as f32 - query.sum
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Measure<'a>(Codes, &'a [u8], &'a Query, f32);

    impl Job for Measure<'_> {
        type Output = f32;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> f32 {
            let Measure(codes, code, query, norm) = self;
            match codes {
                Codes::F32 => query.distance::<S, F32>(simd, code, norm),
                Codes::F16 => query.distance::<S, F16>(simd, code, norm),
                Codes::Bf16 => query.distance::<S, Bf16>(simd, code, norm),
                Codes::I8 => query.distance::<S, I8>(simd, code, norm),
                Codes::I4 => query.distance::<S, I4>(simd, code, norm),
                Codes::B1 => query.distance::<S, B1>(simd, code, norm),
            }
        }
    }

    #[test]
    fn code_bytes_are_stable() {
        let bytes = |codes: Codes, vector: &[f32], step, mean: &[f32]| {
            let quantiser = Quantiser::new(codes, step, mean.to_vec(), vector.len());
            let mut out = Vec::new();
            quantiser.encode(vector, &mut TransformScratch::default(), &mut out);
            assert_eq!(out.len(), codes.len(vector.len()));
            out
        };
        let f32 = bytes(Codes::F32, &[1.0], 1.0, &[]);
        assert_eq!(f32[..8], [0, 0, 128, 63, 0, 0, 0, 0]);
        assert_eq!(bytes(Codes::F16, &[1.0], 1.0, &[])[..4], [0, 60, 0, 0]);
        let half = bytes(Codes::Bf16, &[1.0, 1.006], 1.0, &[]);
        assert_eq!(half[..4], [128, 63, 129, 63]);
        let i8 = bytes(
            Codes::I8,
            &[0.0, 1.0, -1.0, 9.0, -9.0],
            0.05,
            &[0.0, 0.5, 0.0, 0.0, 0.0],
        );
        assert_eq!(i8[..6], [128, 138, 108, 255, 1, 0]);
        let mut rotated = vec![1.0];
        Rotation::new(1).apply(&mut rotated, &mut Vec::new());
        let level = |at: usize| (rotated[at] / 0.05 + 7.5).round().clamp(0.0, 15.0) as u8;
        let i4 = bytes(Codes::I4, &[1.0], 0.05, &[]);
        let slow: Vec<u8> = (0..64).map(|at| level(at) + 16 * level(64 + at)).collect();
        assert_eq!(i4, slow);
        assert_eq!(i4[..8], ROTATED, "the rotation is part of the format");
        let b1 = bytes(Codes::B1, &[1.0], 1.0, &[]);
        let slow: Vec<bool> = (0..128).map(|at| b1[at / 8] >> (at % 8) & 1 == 1).collect();
        assert_eq!(slow, rotated.iter().map(|&x| x > 0.0).collect::<Vec<_>>());
    }

    /// A change here is a new format version, not a new expectation.
    const ROTATED: [u8; 8] = [72, 151, 57, 167, 169, 183, 134, 138];

    #[test]
    fn rotation_keeps_inner_products_and_spreads_single_coordinates() {
        for dim in [1, 100, 128, 384, 1000] {
            let vector = |seed: u64| -> Vec<f32> {
                let number = |i| (splitmix64(seed << 32 | i) >> 40) as f32 / (1 << 23) as f32 - 1.0;
                (0..dim).map(number).collect()
            };
            let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
            let (a, b) = (vector(1), vector(2));
            let (mut rotated_a, mut rotated_b) = (a.clone(), b.clone());
            let rotation = Rotation::new(dim as usize);
            rotation.apply(&mut rotated_a, &mut Vec::new());
            rotation.apply(&mut rotated_b, &mut Vec::new());
            let slack = 1e-5 * dim as f32 + 1e-6;
            assert!(
                (dot(&a, &b) - dot(&rotated_a, &rotated_b)).abs() < slack,
                "{dim}"
            );
            let mut one = vec![0.0; dim as usize];
            one[dim as usize / 2] = 1.0;
            rotation.apply(&mut one, &mut Vec::new());
            let largest = one.iter().fold(0f32, |most, x| most.max(x.abs()));
            assert!(largest < 0.4, "{dim}: {largest}");
        }
    }

    proptest! {
        #[test]
        fn code_distances_approximate_exact_distances(
            pairs in prop::collection::vec((-1f32..1.0, -1f32..1.0), 1..300),
            l2 in any::<bool>(),
        ) {
            let (vector, asked): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let metric = if l2 { Metric::L2 } else { Metric::Dot };
            let norm: f32 = if l2 { vector.iter().map(|x| x * x).sum() } else { 0.0 };
            let dot: f32 = vector.iter().zip(&asked).map(|(a, b)| a * b).sum();
            let want = if l2 { norm - 2.0 * dot } else { -dot };
            let root = (vector.len() as f32).sqrt();
            // Another vector, so that the mean is not the vector itself.
            let both = [&vector[..], &asked.iter().map(|x| x / 2.0 + 0.3).collect::<Vec<_>>()].concat();
            // Errors of single numbers, which add like the steps of a random walk.
            let errors = [0.0001, 0.001, 0.01, 0.02, 0.25, 1.0];
            for (codes, error) in Codes::ALL.into_iter().zip(errors) {
                let quantiser = Quantiser::fit(codes, &both, vector.len());
                let (mut code, mut query) = (Vec::new(), Query::default());
                quantiser.encode(&vector, &mut TransformScratch::default(), &mut code);
                query.prepare(&asked, &quantiser, metric, 1.0);
                for level in Level::all() {
                    let got = level.run(Measure(codes, &code, &query, norm));
                    let slack = 4.0 * error * root + 1e-3;
                    prop_assert!((got - want).abs() <= slack, "{codes:?} {level:?}: {got} {want}");
                }
            }
        }
    }
}
