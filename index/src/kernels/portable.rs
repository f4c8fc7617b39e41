//! Plain loops: what every other file must agree with, and what runs where none of them can.

use simsimd::{bf16, f16};

use super::Simd;

/// No instruction set beyond the target's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Simd for Portable {
    #[inline(always)]
    fn dot_u8(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<64>();
        let pairs = codes.as_flattened().iter().zip(query.as_flattened());
        pairs.map(|(&c, &q)| i32::from(c) * i32::from(q)).sum()
    }

    #[inline(always)]
    fn dot_u4(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<128>();
        let mut sum = 0;
        for (codes, query) in codes.iter().zip(query) {
            for (j, &code) in codes.iter().enumerate() {
                sum += i32::from(code & 15) * i32::from(query[j]);
                sum += i32::from(code >> 4) * i32::from(query[64 + j]);
            }
        }
        sum
    }

    #[inline(always)]
    fn dot_u1(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<8>();
        let (query, _) = query.as_chunks::<64>();
        let mut sum = 0;
        for (codes, query) in codes.iter().zip(query) {
            let bits = u64::from_le_bytes(*codes);
            for (j, &number) in query.iter().enumerate() {
                sum += i32::from(number) * (bits >> j & 1) as i32;
            }
        }
        sum
    }

    #[inline(always)]
    fn dot_f32(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<4>();
        sums(codes.iter().map(|&code| f32::from_le_bytes(code)), query)
    }

    #[inline(always)]
    fn dot_f16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<2>();
        let numbers = codes.iter().map(|&code| f16(u16::from_le_bytes(code)));
        sums(numbers.map(f16::to_f32), query)
    }

    #[inline(always)]
    fn dot_bf16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<2>();
        let numbers = codes.iter().map(|&code| bf16(u16::from_le_bytes(code)));
        sums(numbers.map(bf16::to_f32), query)
    }

    #[inline(always)]
    fn greatest(self, block: &[u32; 64]) -> u32 {
        greatest(block)
    }

    #[inline(always)]
    fn at_least(self, block: &[u32; 64], least: u32) -> u64 {
        at_least(block, least)
    }

    #[inline(always)]
    fn prefetch(self, _: &[u8]) {}
}

#[inline(always)]
pub(crate) fn dot_u8_interleaved(codes: &[u8], query: &[i8]) -> [i32; 16] {
    let (codes, _) = codes.as_chunks::<64>();
    let (query, _) = query.as_chunks::<4>();
    let mut sums = [0; 16];
    for (codes, query) in codes.iter().zip(query) {
        let (codes, _) = codes.as_chunks::<4>();
        for (sum, code) in sums.iter_mut().zip(codes) {
            let pairs = code.iter().zip(query);
            *sum += pairs
                .map(|(&c, &q)| i32::from(c) * i32::from(q))
                .sum::<i32>();
        }
    }
    sums
}

#[inline(always)]
pub(crate) fn greatest(block: &[u32; 64]) -> u32 {
    block
        .iter()
        .fold(0, |greatest, &number| number.max(greatest))
}

#[inline(always)]
pub(crate) fn at_least(block: &[u32; 64], least: u32) -> u64 {
    let bits = block.iter().enumerate();
    bits.fold(0, |bits, (i, &number)| {
        bits | u64::from(number >= least) << i
    })
}

/// Eight sums side by side, which compilers turn into vectors.
#[inline(always)]
fn sums(codes: impl ExactSizeIterator<Item = f32>, query: &[f32]) -> f32 {
    let whole = codes.len().min(query.len()) / 16 * 16;
    let mut sums = [0f32; 8];
    for (i, (code, &number)) in codes.zip(query).take(whole).enumerate() {
        sums[i % 8] += code * number;
    }
    sums.iter().sum()
}
