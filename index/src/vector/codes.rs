//! Codes: vectors as few bytes, near enough to walk by.
//!
//! A walk compares the codes of chunks with a query at full or byte precision, and what it finds is
//! ranked again by the full vectors. One step (or two bounds) serves a whole segment:
//!
//! | codes | a number is | bytes |
//! | --- | --- | --- |
//! | [`Codes::F32`] | itself | 4 |
//! | [`Codes::F16`], [`Codes::Bf16`] | rounded to 11 or 8 bits of precision | 2 |
//! | [`Codes::I8`] | `step · (code - 128)`, code in 1..=255 | 1 |
//! | [`Codes::I4`] | `step · (code - 7.5)`, code in 0..=15 | ½ |
//! | [`Codes::B1`] | `step · ±1` | ⅛ |
//!
//! Steps are chosen so that all but a few outliers of a sample are inside; those are clipped.

use simsimd::{bf16, f16};

use super::Metric;
use super::kernels::{BLOCK_LEN, Simd};

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
const KEPT_I8: f64 = 0.9999;
const KEPT_I4: f64 = 0.994;

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
            Codes::B1 => dim.next_multiple_of(64) / 8,
        }
    }

    /// How many of the best by code are ranked again so that the best `k` are among them; `ef` at
    /// most were found.
    pub(super) fn ranked_again(self, k: usize, ef: usize) -> usize {
        let count = match self {
            Codes::F32 => k,
            Codes::F16 | Codes::Bf16 => k + 2,
            Codes::I8 => k + (k * 6).div_ceil(10),
            Codes::I4 => k + (k * 14).div_ceil(10),
            Codes::B1 => ef,
        };
        count.clamp(k, ef.max(k))
    }

    /// What one step of a code is worth, from vectors `[any number, dim]`.
    pub(super) fn step(self, vectors: &[f32]) -> f32 {
        let step = match self {
            Codes::F32 | Codes::F16 | Codes::Bf16 => 1.0,
            Codes::I8 => quantile(vectors, KEPT_I8) / 127.0,
            Codes::I4 => quantile(vectors, KEPT_I4) / 7.5,
            Codes::B1 => mean_magnitude(vectors),
        };
        // Vectors of zeros alone: any step will do.
        if step > 0.0 { step } else { 1.0 }
    }

    /// Appends the code of `vector`.
    pub(super) fn encode(self, vector: &[f32], step: f32, out: &mut Vec<u8>) {
        let end = out.len() + self.len(vector.len());
        let per_step = step.recip();
        match self {
            Codes::F32 => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
            Codes::F16 => out.extend(
                vector
                    .iter()
                    .flat_map(|&x| f16::from_f32(x).0.to_le_bytes()),
            ),
            Codes::Bf16 => out.extend(vector.iter().flat_map(|&x| rounded_bf16(x).0.to_le_bytes())),
            Codes::I8 => out.extend(vector.iter().map(|&x| (signed(x, per_step) ^ -128) as u8)),
            Codes::I4 => {
                for block in vector.chunks(128) {
                    let at = |i: usize| block.get(i).map_or(0, |&x| nibble(x, per_step));
                    out.extend((0..64).map(|j| at(j) | at(64 + j) << 4));
                }
            }
            Codes::B1 => out.extend(vector.chunks(8).map(|eight| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, &x)| byte | u8::from(x > 0.0) << i)
            })),
        }
        // The query is zero there.
        out.resize(end, 0);
    }
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

fn sampled(numbers: &[f32]) -> impl Iterator<Item = f32> {
    // Odd, so that no dimension is passed over.
    let stride = (numbers.len() / SAMPLE_LEN) | 1;
    numbers.iter().step_by(stride).map(|x| x.abs())
}

/// The magnitude that a share `kept` of the numbers does not exceed.
fn quantile(numbers: &[f32], kept: f64) -> f32 {
    let mut magnitudes: Vec<f32> = sampled(numbers).collect();
    let Some(last) = magnitudes.len().checked_sub(1) else {
        return 0.0;
    };
    let at = ((last as f64 * kept).ceil() as usize).min(last);
    *magnitudes.select_nth_unstable_by(at, f32::total_cmp).1
}

fn mean_magnitude(numbers: &[f32]) -> f32 {
    let (sum, count) = sampled(numbers).fold((0.0, 0u32), |(sum, count), x| {
        (sum + f64::from(x), count + 1)
    });
    (sum / f64::from(count.max(1))) as f32
}

/// A query as the kernels of one segment take it.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    /// Padded with zeros to whole blocks.
    floats: Vec<f32>,
    /// `floats` by their own step, for codes of a byte or less.
    numbers: Vec<i8>,
    /// Σ numbers.
    sum: f32,
    /// What a unit of the kernel's sum is worth in the metric's distance.
    worth: f32,
}

impl Query {
    /// Takes over `query`, which was prepared by the metric, for codes of this `step`.
    pub(super) fn set(&mut self, query: &[f32], codes: Codes, step: f32, metric: Metric) {
        let len = query.len().next_multiple_of(BLOCK_LEN);
        self.floats.clear();
        self.floats.extend_from_slice(query);
        self.floats.resize(len, 0.0);
        let largest = query.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        let own_step = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        self.numbers.clear();
        self.numbers
            .extend(self.floats.iter().map(|&x| signed(x, own_step.recip())));
        self.sum = self.numbers.iter().map(|&x| i32::from(x)).sum::<i32>() as f32;
        let worth = match codes {
            Codes::F32 | Codes::F16 | Codes::Bf16 => 1.0,
            Codes::I8 | Codes::I4 | Codes::B1 => step * own_step,
        };
        self.worth = match metric {
            Metric::Cosine | Metric::Dot => worth,
            Metric::L2 => 2.0 * worth,
        };
    }

    /// The distance to a code: smaller is nearer, and nothing else is promised.
    /// - `norm`: the squared length of the vector for L2, else 0.
    #[inline(always)]
    pub(super) fn distance<S: Simd, C: Code>(&self, simd: S, code: &[u8], norm: f32) -> f32 {
        norm - self.worth * C::dot(simd, code, self)
    }
}

/// One kind of code, as a type, so that a walk is compiled for it.
pub(super) trait Code {
    /// The inner product with a query, in units of [`Query::worth`].
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

    use super::super::kernels::{Job, Level};
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
    fn codes_are_these_bytes() {
        let bytes = |codes: Codes, vector: &[f32], step| {
            let mut out = Vec::new();
            codes.encode(vector, step, &mut out);
            assert_eq!(out.len(), codes.len(vector.len()));
            out
        };
        assert_eq!(
            bytes(Codes::F32, &[1.0], 1.0)[..8],
            [0, 0, 128, 63, 0, 0, 0, 0]
        );
        assert_eq!(bytes(Codes::F16, &[1.0], 1.0)[..4], [0, 60, 0, 0]);
        assert_eq!(
            bytes(Codes::Bf16, &[1.0, 1.006], 1.0)[..4],
            [128, 63, 129, 63]
        );
        let i8 = bytes(Codes::I8, &[0.0, 1.0, -1.0, 9.0, -9.0], 0.05);
        assert_eq!(i8[..6], [128, 148, 108, 255, 1, 0]);
        let mut vector = vec![0.04; 65];
        vector[0] = -9.0;
        let i4 = bytes(Codes::I4, &vector, 0.1);
        assert_eq!(i4[..3], [8 << 4, 8, 8]);
        assert_eq!(
            bytes(Codes::B1, &[1.0, -1.0, 0.0, 2.0], 1.0)[..2],
            [0b1001, 0]
        );
    }

    proptest! {
        #[test]
        fn distances_are_near_those_of_full_vectors(
            pairs in prop::collection::vec((-1f32..1.0, -1f32..1.0), 1..300),
            l2 in any::<bool>(),
        ) {
            let (vector, asked): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let metric = if l2 { Metric::L2 } else { Metric::Dot };
            let norm: f32 = if l2 { vector.iter().map(|x| x * x).sum() } else { 0.0 };
            let dot: f32 = vector.iter().zip(&asked).map(|(a, b)| a * b).sum();
            let want = if l2 { norm - 2.0 * dot } else { -dot };
            let root = (vector.len() as f32).sqrt();
            // Errors of single numbers, which add like the steps of a random walk.
            let errors = [0.0001, 0.001, 0.01, 0.02, 0.25];
            for (codes, error) in Codes::ALL.into_iter().zip(errors) {
                let step = codes.step(&vector);
                let (mut code, mut query) = (Vec::new(), Query::default());
                codes.encode(&vector, step, &mut code);
                query.set(&asked, codes, step, metric);
                for level in Level::all() {
                    let got = level.run(Measure(codes, &code, &query, norm));
                    let slack = 4.0 * error * root + 1e-4;
                    prop_assert!((got - want).abs() <= slack, "{codes:?} {level:?}: {got} {want}");
                }
            }
        }
    }
}
