//! Inner products of stored codes with a query, and blocks of scores, as fast as the processor can.
//!
//! All `unsafe` code of this crate is here. Always true:
//!
//! - Every instruction set has one file and one token type; whoever holds a token runs on a processor
//!   that has the set, because [`Level::detect`] alone makes them.
//! - A kernel reads whole blocks of slices that were cut by safe code, so no length can mislead it.
//! - All files compute the same integers; floats differ by the order of their sums.
//!
//! A [`Job`] is a whole loop (a walk through a graph, a scan): [`Level::run`] enters the instruction
//! set once, and everything marked `#[inline(always)]` below that is compiled for it.
//!
//! Start reading at [`Level::detect`] and [`Job`].
//!
//! | codes | block | a block holds |
//! | --- | --- | --- |
//! | `u8` | 64 bytes | 64 numbers |
//! | `u4` | 64 bytes | 128 numbers: byte `j` has number `j` in its low half, `64 + j` in its high one |
//! | `u8` across | 64 bytes | four numbers of each of sixteen codes |
//! | `u1` | 8 bytes | 64 numbers: bit `j % 8` of byte `j / 8` |
//! | `f32`, `f16`, `bf16` | 16 numbers | little-endian numbers |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use neon::Neon;
use portable::Portable;

/// Numbers a block of a query: what dimensions are rounded up to, so that every kind of code fits.
pub(crate) const BLOCK_LEN: usize = 128;

/// Inner products in one instruction set. Blocks that only one of the two slices has are left out.
pub(crate) trait Simd: Copy {
    /// Σ code · query over bytes.
    fn dot_u8(self, codes: &[u8], query: &[i8]) -> i32;

    /// Σ code · query over half bytes.
    fn dot_u4(self, codes: &[u8], query: &[i8]) -> i32;

    /// Σ code · query over bytes, of sixteen codes that lie across each other: a block of 64 bytes has four numbers
    /// of the first, the same four of the second, and so on.
    #[inline(always)]
    fn dot_u8_interleaved(self, codes: &[u8], query: &[i8]) -> [i32; 16] {
        portable::dot_u8_interleaved(codes, query)
    }

    /// Σ query where the bit is set.
    fn dot_u1(self, codes: &[u8], query: &[i8]) -> i32;

    /// Σ code · query.
    fn dot_f32(self, codes: &[u8], query: &[f32]) -> f32;

    /// Σ code · query; codes are IEEE half precision.
    fn dot_f16(self, codes: &[u8], query: &[f32]) -> f32;

    /// Σ code · query; codes are the upper halves of `f32`.
    fn dot_bf16(self, codes: &[u8], query: &[f32]) -> f32;

    /// The greatest of a block.
    fn greatest(self, block: &[u32; 64]) -> u32;

    /// Bit `i`: number `i` of a block is `least` or more.
    fn at_least(self, block: &[u32; 64], least: u32) -> u64;

    /// Asks for the cache lines of `bytes`, and waits for none.
    fn prefetch(self, bytes: &[u8]);
}

/// A loop over kernels.
pub(crate) trait Job {
    /// What it answers.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, down to the kernels.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// The instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Level {
    /// The best that this processor has. Costs a few loads: the standard library remembers.
    pub(crate) fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = Avx512::detect() {
                return Level::Avx512(simd);
            }
            if let Some(simd) = Avx2::detect() {
                return Level::Avx2(simd);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(simd) = Neon::detect() {
            return Level::Neon(simd);
        }
        Level::Portable(Portable)
    }

    /// All that this processor has, [`Portable`] first.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Level> {
        let mut all = vec![Level::Portable(Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx2::detect().map(Level::Avx2));
            all.extend(Avx512::detect().map(Level::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(Neon::detect().map(Level::Neon));
        all
    }

    /// Its name, as tools print it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512-vnni",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "neon",
        }
    }

    /// Does `job` in this instruction set.
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self {
            Level::Portable(simd) => job.run(simd),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(simd) => simd.run(job),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.run(job),
            #[cfg(target_arch = "aarch64")]
            Level::Neon(simd) => simd.run(job),
        }
    }
}

/// Asks for the cache lines of `bytes`, and waits for none; does nothing where the processor has no
/// instruction for it in stable Rust.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    avx2::prefetch(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(test)]
mod tests;
