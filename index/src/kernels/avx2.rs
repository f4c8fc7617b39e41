//! AVX2 with FMA and F16C: x86 since Haswell.
//!
//! Products of bytes are widened to 16 bits first: the instruction that multiplies unsigned by
//! signed bytes (`maddubs`) saturates over codes of more than 7 bits.

#![expect(unsafe_code, reason = "vector instructions, fenced in this folder")]

use std::arch::x86_64::*;

use super::{Job, Simd};

/// Held where the processor has AVX2, FMA and F16C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        has.then_some(Avx2(()))
    }

    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn enter<J: Job>(simd: Avx2, job: J) -> J::Output {
            job.run(simd)
        }
        // SAFETY: only `detect` makes a token, after it found these features.
        unsafe { enter(self, job) }
    }
}

impl Simd for Avx2 {
    #[inline(always)]
    fn dot_u8(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<64>();
        // SAFETY: the token promises the features; a load reads 16 bytes of one array, unaligned.
        unsafe {
            let mut sums = [_mm256_setzero_si256(); 4];
            for (code, number) in codes.iter().zip(query) {
                let ((code, _), (number, _)) = (code.as_chunks::<16>(), number.as_chunks::<16>());
                for lane in 0..4 {
                    let code = _mm_loadu_si128(code[lane].as_ptr().cast());
                    let number = _mm_loadu_si128(number[lane].as_ptr().cast());
                    let products =
                        _mm256_madd_epi16(_mm256_cvtepu8_epi16(code), _mm256_cvtepi8_epi16(number));
                    sums[lane] = _mm256_add_epi32(sums[lane], products);
                }
            }
            horizontal_sum(sums)
        }
    }

    #[inline(always)]
    fn dot_u4(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<128>();
        // SAFETY: the token promises the features; a load reads 32 bytes of one array, unaligned.
        // Two products of 15 by -128..=127 fit the 16 bits of `maddubs`.
        unsafe {
            let low = _mm256_set1_epi8(15);
            let ones = _mm256_set1_epi16(1);
            let mut sums = [_mm256_setzero_si256(); 4];
            for (code, number) in codes.iter().zip(query) {
                let ((code, _), (number, _)) = (code.as_chunks::<32>(), number.as_chunks::<32>());
                for lane in 0..4 {
                    let code = _mm256_loadu_si256(code[lane % 2].as_ptr().cast());
                    let code = match lane {
                        0 | 1 => _mm256_and_si256(code, low),
                        _ => _mm256_and_si256(_mm256_srli_epi16::<4>(code), low),
                    };
                    let number = _mm256_loadu_si256(number[lane].as_ptr().cast());
                    let products = _mm256_madd_epi16(_mm256_maddubs_epi16(code, number), ones);
                    sums[lane] = _mm256_add_epi32(sums[lane], products);
                }
            }
            horizontal_sum(sums)
        }
    }

    #[inline(always)]
    fn dot_u8_interleaved(self, codes: &[u8], query: &[i8]) -> [i32; 16] {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<4>();
        let mut answer = [0; 16];
        // SAFETY: the token promises the features; a load reads 16 bytes of one array, unaligned, and a store writes
        // one array of 8 numbers.
        unsafe {
            // Two sums for each of four codes.
            let mut sums = [_mm256_setzero_si256(); 4];
            for (code, number) in codes.iter().zip(query) {
                let (code, _) = code.as_chunks::<16>();
                let four = i32::from_le_bytes(number.map(i8::cast_unsigned));
                let number = _mm256_cvtepi8_epi16(_mm_set1_epi32(four));
                for lane in 0..4 {
                    let code = _mm_loadu_si128(code[lane].as_ptr().cast());
                    let products = _mm256_madd_epi16(_mm256_cvtepu8_epi16(code), number);
                    sums[lane] = _mm256_add_epi32(sums[lane], products);
                }
            }
            let (rows, _) = answer.as_chunks_mut::<4>();
            for (row, sum) in rows.iter_mut().zip(sums) {
                let mut pairs = [0i32; 8];
                _mm256_storeu_si256(pairs.as_mut_ptr().cast(), sum);
                let (pairs, _) = pairs.as_chunks::<2>();
                for (sum, [a, b]) in row.iter_mut().zip(pairs) {
                    *sum = a + b;
                }
            }
        }
        answer
    }

    #[inline(always)]
    fn dot_u1(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<4>();
        let (query, _) = query.as_chunks::<32>();
        let whole = codes.len().min(query.len()) / 2 * 2;
        // SAFETY: the token promises the features; a load reads one array of 32 bytes, unaligned.
        unsafe {
            let bit_of_byte = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            // Each byte of the four, eight times.
            let spread = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let (one, ones) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
            let mut sum = _mm256_setzero_si256();
            for (code, number) in codes[..whole].iter().zip(query) {
                let bits = _mm256_set1_epi32(i32::from_le_bytes(*code));
                let bits = _mm256_and_si256(_mm256_shuffle_epi8(bits, spread), bit_of_byte);
                let set = _mm256_and_si256(_mm256_cmpeq_epi8(bits, bit_of_byte), one);
                let number = _mm256_loadu_si256(number.as_ptr().cast());
                let products = _mm256_madd_epi16(_mm256_maddubs_epi16(set, number), ones);
                sum = _mm256_add_epi32(sum, products);
            }
            let zero = _mm256_setzero_si256();
            horizontal_sum([sum, zero, zero, zero])
        }
    }

    #[inline(always)]
    fn dot_f32(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<64>();
        // SAFETY: the token promises the features; the two loads read the array's 64 bytes.
        unsafe {
            dot_floats(codes, query, |code| {
                let (halves, _) = code.as_chunks::<32>();
                load_halves(|half| _mm256_loadu_ps(halves[half].as_ptr().cast()))
            })
        }
    }

    #[inline(always)]
    fn dot_f16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<32>();
        // SAFETY: the token promises the features; the two loads read the array's 32 bytes.
        unsafe {
            dot_floats(codes, query, |code| {
                let (halves, _) = code.as_chunks::<16>();
                load_halves(|half| _mm256_cvtph_ps(_mm_loadu_si128(halves[half].as_ptr().cast())))
            })
        }
    }

    #[inline(always)]
    fn dot_bf16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<32>();
        // SAFETY: the token promises the features; the two loads read the array's 32 bytes.
        unsafe {
            dot_floats(codes, query, |code| {
                let (halves, _) = code.as_chunks::<16>();
                load_halves(|half| {
                    let half = _mm_loadu_si128(halves[half].as_ptr().cast());
                    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(half)))
                })
            })
        }
    }

    #[inline(always)]
    fn greatest(self, block: &[u32; 64]) -> u32 {
        let (rows, _) = block.as_chunks::<8>();
        // SAFETY: the token promises the features; loads read and the store writes one array of 8
        // numbers, unaligned.
        unsafe {
            let mut most = _mm256_setzero_si256();
            for row in rows {
                most = _mm256_max_epu32(most, _mm256_loadu_si256(row.as_ptr().cast()));
            }
            let mut lanes = [0u32; 8];
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), most);
            lanes.into_iter().fold(0, u32::max)
        }
    }

    #[inline(always)]
    fn at_least(self, block: &[u32; 64], least: u32) -> u64 {
        let (rows, _) = block.as_chunks::<8>();
        let mut bits = 0;
        // SAFETY: the token promises the features; a load reads one array of 8 numbers, unaligned.
        unsafe {
            let least = _mm256_set1_epi32(least as i32);
            for (i, row) in rows.iter().enumerate() {
                let row = _mm256_loadu_si256(row.as_ptr().cast());
                // Not less: the greater of the two is the number itself.
                let is = _mm256_cmpeq_epi32(_mm256_max_epu32(row, least), row);
                let mask = _mm256_movemask_ps(_mm256_castsi256_ps(is)) as u32;
                bits |= u64::from(mask) << (8 * i);
            }
        }
        bits
    }

    #[inline(always)]
    fn prefetch(self, bytes: &[u8]) {
        prefetch(bytes);
    }
}

/// Asks for every cache line of `bytes`.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(64) {
        // SAFETY: a prefetch reads nothing, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
}

#[inline(always)]
fn load_halves(load: impl Fn(usize) -> __m256) -> [__m256; 2] {
    [load(0), load(1)]
}

/// # Safety
/// The features of [`Avx2`].
#[inline(always)]
unsafe fn horizontal_sum(sums: [__m256i; 4]) -> i32 {
    // SAFETY: the caller has the features.
    unsafe {
        let halves = [
            _mm256_add_epi32(sums[0], sums[1]),
            _mm256_add_epi32(sums[2], sums[3]),
        ];
        let sum = _mm256_add_epi32(halves[0], halves[1]);
        let sum = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
        _mm_cvtsi128_si32(sum)
    }
}

/// Σ `load(code)` · query in four sums side by side.
///
/// # Safety
/// The features of [`Avx2`].
#[inline(always)]
unsafe fn dot_floats<const N: usize>(
    codes: &[[u8; N]],
    query: &[f32],
    load: impl Fn(&[u8; N]) -> [__m256; 2],
) -> f32 {
    let (query, _) = query.as_chunks::<16>();
    // SAFETY: the caller has the features; the two loads read an array of 16 floats, unaligned.
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 4];
        for (i, (code, number)) in codes.iter().zip(query).enumerate() {
            let (numbers, _) = number.as_chunks::<8>();
            let halves = load(code);
            for half in 0..2 {
                let number = _mm256_loadu_ps(numbers[half].as_ptr());
                let lane = i % 2 * 2 + half;
                sums[lane] = _mm256_fmadd_ps(halves[half], number, sums[lane]);
            }
        }
        let halves = [
            _mm256_add_ps(sums[0], sums[1]),
            _mm256_add_ps(sums[2], sums[3]),
        ];
        let sum = _mm256_add_ps(halves[0], halves[1]);
        let sum = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
        let sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
        _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)))
    }
}
