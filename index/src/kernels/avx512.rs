//! AVX-512 with VNNI: 64 products of bytes an instruction. Intel since Ice Lake, AMD since Zen 4.

#![expect(unsafe_code, reason = "vector instructions, fenced in this folder")]

use std::arch::x86_64::*;

use super::{Job, Simd};

/// Held where the processor has AVX-512 F, BW, VL and VNNI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        has.then_some(Avx512(()))
    }

    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        fn enter<J: Job>(simd: Avx512, job: J) -> J::Output {
            job.run(simd)
        }
        // SAFETY: only `detect` makes a token, after it found these features.
        unsafe { enter(self, job) }
    }
}

impl Simd for Avx512 {
    #[inline(always)]
    fn dot_u8(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<64>();
        let len = codes.len().min(query.len());
        let (code_pairs, code_rest) = codes[..len].as_chunks::<2>();
        let (query_pairs, query_rest) = query[..len].as_chunks::<2>();
        // SAFETY: the token promises the features; a load reads one array of 64 bytes, unaligned.
        unsafe {
            let mut sums = [_mm512_setzero_si512(); 2];
            for (code, number) in code_pairs.iter().zip(query_pairs) {
                sums[0] = _mm512_dpbusd_epi32(sums[0], bytes(&code[0]), numbers(&number[0]));
                sums[1] = _mm512_dpbusd_epi32(sums[1], bytes(&code[1]), numbers(&number[1]));
            }
            if let ([code], [number]) = (code_rest, query_rest) {
                sums[0] = _mm512_dpbusd_epi32(sums[0], bytes(code), numbers(number));
            }
            _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
        }
    }

    #[inline(always)]
    fn dot_u4(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<128>();
        // SAFETY: the token promises the features; a load reads 64 bytes of one array, unaligned.
        unsafe {
            let low = _mm512_set1_epi8(15);
            let mut sums = [_mm512_setzero_si512(); 2];
            for (code, number) in codes.iter().zip(query) {
                let (halves, _) = number.as_chunks::<64>();
                let code = bytes(code);
                let upper = _mm512_and_si512(_mm512_srli_epi16::<4>(code), low);
                let lower = _mm512_and_si512(code, low);
                sums[0] = _mm512_dpbusd_epi32(sums[0], lower, numbers(&halves[0]));
                sums[1] = _mm512_dpbusd_epi32(sums[1], upper, numbers(&halves[1]));
            }
            _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
        }
    }

    #[inline(always)]
    fn dot_u8_interleaved(self, codes: &[u8], query: &[i8]) -> [i32; 16] {
        let (codes, _) = codes.as_chunks::<64>();
        let (query, _) = query.as_chunks::<4>();
        let len = codes.len().min(query.len());
        let (code_fours, code_rest) = codes[..len].as_chunks::<4>();
        let (query_fours, query_rest) = query[..len].as_chunks::<4>();
        let mut answer = [0; 16];
        // SAFETY: the token promises the features; loads read one array of 64 bytes, the store writes one of 16
        // numbers, unaligned.
        unsafe {
            let four = |number: &[i8; 4]| {
                _mm512_set1_epi32(i32::from_le_bytes(number.map(i8::cast_unsigned)))
            };
            let mut sums = [_mm512_setzero_si512(); 4];
            for (code, number) in code_fours.iter().zip(query_fours) {
                for lane in 0..4 {
                    sums[lane] =
                        _mm512_dpbusd_epi32(sums[lane], bytes(&code[lane]), four(&number[lane]));
                }
            }
            for (code, number) in code_rest.iter().zip(query_rest) {
                sums[0] = _mm512_dpbusd_epi32(sums[0], bytes(code), four(number));
            }
            let halves = [
                _mm512_add_epi32(sums[0], sums[1]),
                _mm512_add_epi32(sums[2], sums[3]),
            ];
            let sum = _mm512_add_epi32(halves[0], halves[1]);
            _mm512_storeu_si512(answer.as_mut_ptr().cast(), sum);
        }
        answer
    }

    #[inline(always)]
    fn dot_u1(self, codes: &[u8], query: &[i8]) -> i32 {
        let (codes, _) = codes.as_chunks::<8>();
        let (query, _) = query.as_chunks::<64>();
        // SAFETY: the token promises the features; a load reads one array of 64 bytes, unaligned.
        unsafe {
            let mut sum = _mm512_setzero_si512();
            for (code, number) in codes.iter().zip(query) {
                let ones = _mm512_maskz_set1_epi8(u64::from_le_bytes(*code), 1);
                sum = _mm512_dpbusd_epi32(sum, ones, numbers(number));
            }
            _mm512_reduce_add_epi32(sum)
        }
    }

    #[inline(always)]
    fn dot_f32(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<64>();
        // SAFETY: the token promises the features; a load reads one array of 64 bytes, unaligned.
        unsafe {
            dot_floats(codes, query, |code| {
                _mm512_loadu_ps(code.as_ptr().cast::<f32>())
            })
        }
    }

    #[inline(always)]
    fn dot_f16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<32>();
        // SAFETY: the token promises the features; a load reads one array of 32 bytes, unaligned.
        unsafe {
            dot_floats(codes, query, |code| {
                _mm512_cvtph_ps(_mm256_loadu_si256(code.as_ptr().cast()))
            })
        }
    }

    #[inline(always)]
    fn dot_bf16(self, codes: &[u8], query: &[f32]) -> f32 {
        let (codes, _) = codes.as_chunks::<32>();
        // SAFETY: the token promises the features; a load reads one array of 32 bytes, unaligned.
        unsafe {
            dot_floats(codes, query, |code| {
                let halves = _mm256_loadu_si256(code.as_ptr().cast());
                let wide = _mm512_cvtepu16_epi32(halves);
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
            })
        }
    }

    #[inline(always)]
    fn greatest(self, block: &[u32; 64]) -> u32 {
        let (rows, _) = block.as_chunks::<16>();
        // SAFETY: the token promises the features; a load reads one array of 16 numbers, unaligned.
        unsafe {
            let mut most = _mm512_setzero_si512();
            for row in rows {
                most = _mm512_max_epu32(most, _mm512_loadu_si512(row.as_ptr().cast()));
            }
            _mm512_reduce_max_epu32(most)
        }
    }

    #[inline(always)]
    fn at_least(self, block: &[u32; 64], least: u32) -> u64 {
        let (rows, _) = block.as_chunks::<16>();
        let mut bits = 0;
        // SAFETY: the token promises the features; a load reads one array of 16 numbers, unaligned.
        unsafe {
            let least = _mm512_set1_epi32(least as i32);
            for (i, row) in rows.iter().enumerate() {
                let row = _mm512_loadu_si512(row.as_ptr().cast());
                bits |= u64::from(_mm512_cmpge_epu32_mask(row, least)) << (16 * i);
            }
        }
        bits
    }

    #[inline(always)]
    fn prefetch(self, bytes: &[u8]) {
        super::avx2::prefetch(bytes);
    }
}

/// # Safety
/// The features of [`Avx512`].
#[inline(always)]
unsafe fn bytes(chunk: &[u8; 64]) -> __m512i {
    // SAFETY: the caller has the features; the array has the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
}

/// # Safety
/// The features of [`Avx512`].
#[inline(always)]
unsafe fn numbers(chunk: &[i8; 64]) -> __m512i {
    // SAFETY: the caller has the features; the array has the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
}

/// Σ `load(code)` · query in four sums side by side.
///
/// # Safety
/// The features of [`Avx512`].
#[inline(always)]
unsafe fn dot_floats<const N: usize>(
    codes: &[[u8; N]],
    query: &[f32],
    load: impl Fn(&[u8; N]) -> __m512,
) -> f32 {
    let (query, _) = query.as_chunks::<16>();
    let len = codes.len().min(query.len());
    let (code_fours, code_rest) = codes[..len].as_chunks::<4>();
    let (query_fours, query_rest) = query[..len].as_chunks::<4>();
    // SAFETY: the caller has the features; a load reads one array of 16 floats, unaligned.
    unsafe {
        let mut sums = [_mm512_setzero_ps(); 4];
        for (code, number) in code_fours.iter().zip(query_fours) {
            for lane in 0..4 {
                let number = _mm512_loadu_ps(number[lane].as_ptr());
                sums[lane] = _mm512_fmadd_ps(load(&code[lane]), number, sums[lane]);
            }
        }
        for (code, number) in code_rest.iter().zip(query_rest) {
            let number = _mm512_loadu_ps(number.as_ptr());
            sums[0] = _mm512_fmadd_ps(load(code), number, sums[0]);
        }
        let halves = [
            _mm512_add_ps(sums[0], sums[1]),
            _mm512_add_ps(sums[2], sums[3]),
        ];
        _mm512_reduce_add_ps(_mm512_add_ps(halves[0], halves[1]))
    }
}
