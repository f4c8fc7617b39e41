use proptest::prelude::*;
use simsimd::{bf16, f16};

use super::*;

struct Dots<'a> {
    codes: &'a [u8],
    numbers: &'a [i8],
    floats: &'a [f32],
}

#[derive(Debug, PartialEq)]
struct DotResults {
    integers: [i32; 3],
    floats: [f32; 3],
}

impl Job for Dots<'_> {
    type Output = DotResults;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> DotResults {
        simd.prefetch(self.codes);
        DotResults {
            integers: [
                simd.dot_u8(self.codes, self.numbers),
                simd.dot_u4(self.codes, self.numbers),
                simd.dot_u1(self.codes, self.numbers),
            ],
            floats: [
                simd.dot_f32(self.codes, self.floats),
                simd.dot_f16(self.codes, self.floats),
                simd.dot_bf16(self.codes, self.floats),
            ],
        }
    }
}

#[test]
fn prints_the_levels_of_this_machine() {
    let names: Vec<_> = Level::all().into_iter().map(Level::name).collect();
    println!("{} of {names:?}", Level::detect().name());
    assert_eq!(names.last(), Some(&Level::detect().name()));
}

/// Each kind of code, number by number, from its definition.
fn reference(codes: &[u8], numbers: &[i8]) -> [i64; 3] {
    let (blocks, bits) = (codes.len() / 64, codes.len() / 8 * 64);
    let u8_at = |i: usize| codes[i];
    let u4_at = |i: usize| {
        let byte = codes[i / 128 * 64 + i % 64];
        if i % 128 < 64 { byte & 15 } else { byte >> 4 }
    };
    let u1_at = |i: usize| codes[i / 8] >> (i % 8) & 1;
    let sum = |len: usize, at: &dyn Fn(usize) -> u8| {
        let len = len.min(numbers.len());
        (0..len)
            .map(|i| i64::from(at(i)) * i64::from(numbers[i]))
            .sum()
    };
    [
        sum((blocks * 64).min(numbers.len() / 64 * 64), &u8_at),
        sum((blocks * 128).min(numbers.len() / 128 * 128), &u4_at),
        sum(bits.min(numbers.len() / 64 * 64), &u1_at),
    ]
}

struct InterleavedDot<'a>(&'a [u8], &'a [i8]);

impl Job for InterleavedDot<'_> {
    type Output = [i32; 16];

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [i32; 16] {
        simd.dot_u8_interleaved(self.0, self.1)
    }
}

struct BlockCompare<'a>(&'a [u32; 64], u32);

impl Job for BlockCompare<'_> {
    type Output = (u32, u64);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (u32, u64) {
        (simd.greatest(self.0), simd.at_least(self.0, self.1))
    }
}

proptest! {
    #[test]
    fn all_levels_compute_equal_interleaved_and_single_dots(
        codes in prop::collection::vec(any::<u8>(), 0..1500),
        numbers in prop::collection::vec(any::<i8>(), 0..100),
    ) {
        let fours = (codes.len() / 64).min(numbers.len() / 4);
        let slow: [i32; 16] = std::array::from_fn(|of| {
            let product = |i: usize| i32::from(codes[i / 4 * 64 + of * 4 + i % 4]) * i32::from(numbers[i]);
            (0..fours * 4).map(product).sum()
        });
        for level in Level::all() {
            prop_assert_eq!(level.run(InterleavedDot(&codes, &numbers)), slow, "{:?}", level);
        }
    }

    #[test]
    fn all_levels_compare_blocks_equally(
        numbers in prop::collection::vec(prop_oneof![0u32..4, any::<u32>()], 64),
        least in prop_oneof![0u32..4, any::<u32>()],
    ) {
        let block: [u32; 64] = numbers.try_into().unwrap();
        let greatest = block.into_iter().max().unwrap();
        let bits = (0..64).filter(|&i| block[i] >= least).map(|i| 1u64 << i).sum::<u64>();
        for level in Level::all() {
            prop_assert_eq!(level.run(BlockCompare(&block, least)), (greatest, bits), "{}", level.name());
        }
    }

    #[test]
    fn all_levels_compute_the_same_integers(
        codes in prop::collection::vec(any::<u8>(), 0..700),
        numbers in prop::collection::vec(any::<i8>(), 0..1400),
        shift in 0usize..4,
    ) {
        let codes = &codes[shift.min(codes.len())..];
        let want = reference(codes, &numbers);
        for level in Level::all() {
            let got = level.run(Dots { codes, numbers: &numbers, floats: &[] }).integers;
            prop_assert_eq!(got.map(i64::from), want, "{}", level.name());
        }
    }

    #[test]
    fn extreme_bytes_do_not_saturate(blocks in 1usize..64, code in prop::sample::select(vec![0u8, 127, 128, 255]), number in prop::sample::select(vec![-128i8, -127, 127])) {
        let codes = vec![code; blocks * 64];
        let numbers = vec![number; blocks * 128];
        let want = reference(&codes, &numbers);
        for level in Level::all() {
            let got = level.run(Dots { codes: &codes, numbers: &numbers, floats: &[] }).integers;
            prop_assert_eq!(got.map(i64::from), want, "{}", level.name());
        }
    }

    #[test]
    fn floats_agree_with_sums_in_double_precision(
        pairs in prop::collection::vec((-100i16..100, -100i16..100), 0..200),
    ) {
        let whole = pairs.len() / 16 * 16;
        let floats: Vec<f32> = pairs.iter().map(|&(_, b)| f32::from(b) / 64.0).collect();
        let value = |a: i16| f32::from(a) / 16.0;
        let want: f64 = pairs[..whole].iter().map(|&(a, b)| f64::from(value(a)) * f64::from(b) / 64.0).sum();
        let bytes = |bytes: &dyn Fn(f32) -> Vec<u8>| -> Vec<u8> {
            pairs.iter().flat_map(|&(a, _)| bytes(value(a))).collect()
        };
        // Every value has 8 bits, so all three formats hold it exactly.
        let stored = [
            bytes(&|x| x.to_le_bytes().to_vec()),
            bytes(&|x| f16::from_f32(x).0.to_le_bytes().to_vec()),
            bytes(&|x| bf16::from_f32(x).0.to_le_bytes().to_vec()),
        ];
        for level in Level::all() {
            for (kind, codes) in stored.iter().enumerate() {
                let got = level.run(Dots { codes, numbers: &[], floats: &floats }).floats[kind];
                prop_assert!((f64::from(got) - want).abs() < 1e-3, "{} {kind}: {got} {want}", level.name());
            }
        }
    }
}
