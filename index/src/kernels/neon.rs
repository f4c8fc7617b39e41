//! NEON: every 64-bit ARM processor.

#![expect(unsafe_code, reason = "vector instructions, fenced in this folder")]

use std::arch::aarch64::*;

use super::{Job, Portable, Simd};

/// Held where the processor has NEON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(());

impl Neon {
    pub(crate) fn detect() -> Option<Neon> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }

    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        #[target_feature(enable = "neon")]
        fn enter<J: Job>(simd: Neon, job: J) -> J::Output {
            job.run(simd)
        }
        // SAFETY: only `detect` makes a token, after it found the feature.
        unsafe { enter(self, job) }
    }
}

impl Simd for Neon {
    #[inline(always)]
    fn dot_u8(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<64>();
        // SAFETY: the token promises NEON; a load reads 16 bytes of one array, unaligned.
        unsafe {
            let mut sums = [vdupq_n_s32(0); 4];
            for (code, number) in codes.iter().zip(query) {
                let ((code, _), (number, _)) = (code.as_chunks::<16>(), number.as_chunks::<16>());
                for lane in 0..4 {
                    let code = vld1q_u8(code[lane].as_ptr());
                    let number = vld1q_s8(number[lane].as_ptr());
                    sums[lane] = multiplied(sums[lane], code, number);
                }
            }
            sum_of_all(sums)
        }
    }

    #[inline(always)]
    fn dot_u4(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<128>();
        // SAFETY: the token promises NEON; a load reads 16 bytes of one array, unaligned.
        unsafe {
            let low = vdupq_n_u8(15);
            let mut sums = [vdupq_n_s32(0); 4];
            for (code, number) in codes.iter().zip(query) {
                let ((code, _), (number, _)) = (code.as_chunks::<16>(), number.as_chunks::<16>());
                for lane in 0..4 {
                    let code = vld1q_u8(code[lane].as_ptr());
                    let lower = vld1q_s8(number[lane].as_ptr());
                    let upper = vld1q_s8(number[4 + lane].as_ptr());
                    sums[lane] = multiplied(sums[lane], vandq_u8(code, low), lower);
                    sums[lane] = multiplied(sums[lane], vshrq_n_u8::<4>(code), upper);
                }
            }
            sum_of_all(sums)
        }
    }

    #[inline(always)]
    fn dot_u1(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<8>();
        let (query, _) = query.as_chunks::<64>();
        const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: the token promises NEON; a load reads 16 bytes of one array, unaligned.
        unsafe {
            let bits = vld1q_u8(BITS.as_ptr());
            let mut sums = [vdupq_n_s32(0); 4];
            for (code, number) in codes.iter().zip(query) {
                let (number, _) = number.as_chunks::<16>();
                for lane in 0..4 {
                    let [low, high] = [code[2 * lane], code[2 * lane + 1]];
                    let spread = vcombine_u8(vdup_n_u8(low), vdup_n_u8(high));
                    let set = vandq_u8(vtstq_u8(spread, bits), vdupq_n_u8(1));
                    sums[lane] = multiplied(sums[lane], set, vld1q_s8(number[lane].as_ptr()));
                }
            }
            sum_of_all(sums)
        }
    }

    #[inline(always)]
    fn dot_f32(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<64>();
        // SAFETY: the token promises NEON; the loads read the array's 64 bytes.
        unsafe {
            summed(codes, query, |code, lane| {
                let (quarters, _) = code.as_chunks::<16>();
                vreinterpretq_f32_u8(vld1q_u8(quarters[lane].as_ptr()))
            })
        }
    }

    #[inline(always)]
    fn dot_f16(self, codes: &[u8], query: &[f32]) -> f32 {
        // Conversions from half precision are not in stable Rust for NEON.
        Portable.dot_f16(codes, query)
    }

    #[inline(always)]
    fn dot_bf16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<32>();
        // SAFETY: the token promises NEON; the loads read the array's 32 bytes.
        unsafe {
            summed(codes, query, |code, lane| {
                let (quarters, _) = code.as_chunks::<8>();
                let halves = vreinterpret_u16_u8(vld1_u8(quarters[lane].as_ptr()));
                vreinterpretq_f32_u32(vshll_n_u16::<16>(halves))
            })
        }
    }

    #[inline(always)]
    fn greatest(self, block: &[u32; 64]) -> u32 {
        super::portable::greatest(block)
    }

    #[inline(always)]
    fn at_least(self, block: &[u32; 64], least: u32) -> u64 {
        super::portable::at_least(block, least)
    }

    #[inline(always)]
    fn prefetch(self, _: &[u8]) {
        // The instruction is not in stable Rust for ARM.
    }
}

/// # Safety
/// NEON.
#[inline(always)]
unsafe fn multiplied(sum: int32x4_t, code: uint8x16_t, number: int8x16_t) -> int32x4_t {
    // SAFETY: the caller has NEON. A byte of the code fits 16 bits with a sign.
    unsafe {
        let low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(code)));
        let high = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(code)));
        let (first, second) = (
            vmovl_s8(vget_low_s8(number)),
            vmovl_s8(vget_high_s8(number)),
        );
        let sum = vmlal_s16(sum, vget_low_s16(low), vget_low_s16(first));
        let sum = vmlal_s16(sum, vget_high_s16(low), vget_high_s16(first));
        let sum = vmlal_s16(sum, vget_low_s16(high), vget_low_s16(second));
        vmlal_s16(sum, vget_high_s16(high), vget_high_s16(second))
    }
}

/// # Safety
/// NEON.
#[inline(always)]
unsafe fn sum_of_all(sums: [int32x4_t; 4]) -> i32 {
    // SAFETY: the caller has NEON.
    unsafe {
        let halves = [vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])];
        vaddvq_s32(vaddq_s32(halves[0], halves[1]))
    }
}

/// Σ `load(code, quarter)` · query in four sums side by side.
///
/// # Safety
/// NEON.
#[inline(always)]
unsafe fn summed<const N: usize>(
    codes: &[[u8; N]],
    query: &[f32],
    load: impl Fn(&[u8; N], usize) -> float32x4_t,
) -> f32 {
    let (query, _) = query.as_chunks::<16>();
    // SAFETY: the caller has NEON; the loads read an array of 16 floats, unaligned.
    unsafe {
        let mut sums = [vdupq_n_f32(0.0); 4];
        for (code, number) in codes.iter().zip(query) {
            let (quarters, _) = number.as_chunks::<4>();
            for lane in 0..4 {
                let number = vld1q_f32(quarters[lane].as_ptr());
                sums[lane] = vfmaq_f32(sums[lane], load(code, lane), number);
            }
        }
        let halves = [vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])];
        vaddvq_f32(vaddq_f32(halves[0], halves[1]))
    }
}
