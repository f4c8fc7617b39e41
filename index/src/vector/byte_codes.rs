//! Codes of a small segment's vectors, made in memory when it is searched again: what cannot be a hit is told by
//! them, and only the rest is compared at full precision.
//!
//! Always true: what is left out lies farther than the hits that are found. A code's score differs from the true
//! one by no more than ‖q‖ · ‖v − v̂‖ + ‖q − q̂‖ · ‖v̂‖ (Cauchy and Schwarz), where q̂ and v̂ are what the codes
//! of query and vector stand for; both factors are kept for every vector.
//!
//! Start reading at [`ByteCodes::scores`].

use super::Metric;
use super::codes::{Quantiser, Query, TransformScratch};
use super::flat::FlatReader;
use crate::kernels::{Job, Level, Simd};

/// Vectors below which comparing all at full precision is as quick.
const COUNT_MIN: usize = 64;

/// Codes that lie across each other, so that one instruction takes a step in each.
const BLOCK_VECTORS: usize = 16;

/// Numbers that the step of the codes is chosen by.
const SAMPLE_LEN: usize = 1 << 15;

/// The unit roundoff of `f32`: a sum of n rounded products lacks no more than n of it, for vectors of length 1.
const ROUNDOFF: f32 = 6e-8;

/// Roundings beside those of the sum.
const ROUNDINGS: f32 = 64.0;

/// Steps and lengths of queries between which nothing of a product is lost.
const LENGTH_RANGE: std::ops::Range<f32> = 1e-12..1e12;

/// The codes of a segment, by place.
#[derive(Debug)]
pub(super) struct ByteCodes {
    quantiser: Quantiser,
    /// Bytes of sixteen codes.
    block_len: usize,
    /// Four numbers of each of sixteen vectors, the next four of each, and so on; then the next sixteen.
    codes: Vec<u8>,
    /// For each place what a query's length, and the length of what its code lacks, are worth as an error.
    errors: Vec<[(f32, f32); BLOCK_VECTORS]>,
    count: usize,
}

/// Scores by place, and the most that they may be.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub(super) scores: Vec<f32>,
    pub(super) upper_bounds: Vec<f32>,
}

impl ByteCodes {
    /// The codes of `flat`; `None` where they would not pay, or a number is not finite. Costs a pass, and a byte a
    /// number.
    pub(super) fn new<B: AsRef<[u8]>>(flat: &FlatReader<B>) -> Option<ByteCodes> {
        if flat.len() < COUNT_MIN || flat.metric() == Metric::L2 {
            return None;
        }
        let (dim, count) = (flat.dim(), flat.len());
        let stride = (count * dim).div_ceil(SAMPLE_LEN).max(1);
        let mut sample = Vec::with_capacity(SAMPLE_LEN + dim);
        for place in 0..count {
            let vector = flat.row(place)?;
            if !vector.iter().all(|x| x.is_finite()) {
                return None;
            }
            if place % stride == 0 {
                sample.extend_from_slice(&vector);
            }
        }
        let quantiser = Quantiser::fit_bytes(&sample, dim);
        if !LENGTH_RANGE.contains(&quantiser.step) {
            return None;
        }
        let rounding = ROUNDOFF * (dim as f32 + ROUNDINGS);
        let sixteen_len = dim.next_multiple_of(4) * BLOCK_VECTORS;
        let sixteens = count.div_ceil(BLOCK_VECTORS);
        let (mut code, mut scratch) = (Vec::new(), TransformScratch::default());
        let mut codes = vec![0; sixteens * sixteen_len];
        let mut errors = vec![[(0.0, 0.0); BLOCK_VECTORS]; sixteens];
        for place in 0..count {
            let (of, lane) = (place / BLOCK_VECTORS, place % BLOCK_VECTORS);
            let vector = flat.row(place)?;
            code.clear();
            quantiser.encode(&vector, &mut scratch, &mut code);
            let sixteen = &mut codes[of * sixteen_len..(of + 1) * sixteen_len];
            for (four, numbers) in sixteen
                .chunks_exact_mut(4 * BLOCK_VECTORS)
                .zip(code.chunks(4))
            {
                four[lane * 4..lane * 4 + numbers.len()].copy_from_slice(numbers);
            }
            let (missed, code_length) = residual_and_code_lengths(&vector, &code, quantiser.step);
            errors[of][lane] = (missed + rounding * (missed + code_length), code_length);
        }
        Some(ByteCodes {
            quantiser,
            block_len: sixteen_len,
            codes,
            errors,
            count,
        })
    }

    /// The scores of all vectors by their codes, and the most that each may be, in `bounds`; `false`: the query is too
    /// short or too long for them to be sound.
    pub(super) fn scores(
        &self,
        prepared: &[f32],
        metric: Metric,
        query: &mut Query,
        bounds: &mut Bounds,
    ) -> bool {
        query.prepare(prepared, &self.quantiser, metric, 1.0);
        if !LENGTH_RANGE.contains(&query.length()) {
            return false;
        }
        let missed = query.residual_length(&self.quantiser);
        Level::detect().run(ScoreJob {
            coded: self,
            query,
            residual: missed,
            bounds,
        });
        true
    }
}

/// The lengths of what a code lacks of its vector, and of what it stands for.
fn residual_and_code_lengths(vector: &[f32], code: &[u8], step: f32) -> (f32, f32) {
    let (mut missed, mut decoded) = ([0f64; BLOCK_VECTORS], [0f64; BLOCK_VECTORS]);
    for (numbers, codes) in vector.chunks(BLOCK_VECTORS).zip(code.chunks(BLOCK_VECTORS)) {
        for (lane, (&x, &code)) in numbers.iter().zip(codes).enumerate() {
            let stood = f64::from(i16::from(code) - 128) * f64::from(step);
            let lacks = f64::from(x) - stood;
            missed[lane] += lacks * lacks;
            decoded[lane] += stood * stood;
        }
    }
    let length = |sums: [f64; BLOCK_VECTORS]| sums.iter().sum::<f64>().sqrt() as f32;
    (length(missed), length(decoded))
}

struct ScoreJob<'a> {
    coded: &'a ByteCodes,
    query: &'a Query,
    residual: f32,
    bounds: &'a mut Bounds,
}

impl Job for ScoreJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Bounds {
            scores,
            upper_bounds: most,
        } = self.bounds;
        let padded = self.coded.errors.len() * BLOCK_VECTORS;
        scores.resize(padded, 0.0);
        most.resize(padded, 0.0);
        let (score_rows, _) = scores.as_chunks_mut::<BLOCK_VECTORS>();
        let (most_rows, _) = most.as_chunks_mut::<BLOCK_VECTORS>();
        let (length, missed) = (self.query.length(), self.residual);
        let sixteens = self.coded.codes.chunks_exact(self.coded.block_len);
        let rows = score_rows.iter_mut().zip(most_rows);
        for ((codes, errors), (scores, most)) in sixteens.zip(&self.coded.errors).zip(rows) {
            let sums = simd.dot_u8_interleaved(codes, self.query.numbers());
            for lane in 0..BLOCK_VECTORS {
                let (of_length, of_missed) = errors[lane];
                scores[lane] = self.query.similarity(sums[lane]);
                most[lane] = scores[lane] + (length * of_length + missed * of_missed);
            }
        }
        scores.truncate(self.coded.count);
        most.truncate(self.coded.count);
    }
}

#[cfg(test)]
mod tests {
    use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    use super::super::{FlatBuilder, VectorQuery, VectorReader, VectorScratch, search};
    use super::*;

    fn reader(vectors: &[Vec<f32>], metric: Metric) -> VectorReader<Vec<u8>> {
        let mut flat = FlatBuilder::new(vectors[0].len(), metric).unwrap();
        for (local, vector) in (0u32..).zip(vectors) {
            flat.push(LocalOrdinal(local), vector).unwrap();
        }
        VectorReader::new(flat.finish(), None).unwrap()
    }

    /// Plainly right: every vector of both segments at full precision.
    fn brute_force(
        segments: &[(&VectorReader<Vec<u8>>, &RoaringBitmap)],
        filter: Option<&RoaringBitmap>,
        query: &[f32],
        k: usize,
    ) -> Vec<ScoredChunk> {
        let (mut all, mut base) = (Vec::new(), 0);
        for (reader, dead) in segments {
            let flat = reader.flat();
            let mut prepared = Vec::new();
            let metric = flat.metric();
            metric
                .prepare_into(query, query.len(), &mut prepared)
                .unwrap();
            for local in (0..flat.len() as u32).filter(|&local| !dead.contains(local)) {
                let ordinal = Ordinal(base + local);
                if filter.is_none_or(|filter| filter.contains(ordinal.0)) {
                    let score = metric.score(&prepared, &flat.vector(LocalOrdinal(local)).unwrap());
                    all.push(ScoredChunk { ordinal, score });
                }
            }
            base += flat.len() as u32;
        }
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal)));
        all.truncate(k);
        all
    }

    /// Vectors of one dimension, some of which are the same, and a query.
    fn any_vectors() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<f32>)> {
        // Large numbers beside small ones are cut off by codes.
        let number = || prop_oneof![9 => -0.1f32..0.1, 1 => -5.0f32..5.0];
        (1usize..40).prop_flat_map(move |dim| {
            let vector = || prop::collection::vec(number(), dim);
            let vector = move || vector().prop_filter("not zero", |v| v.iter().any(|x| *x != 0.0));
            let vectors = prop::collection::vec(vector(), COUNT_MIN..160);
            (vectors, prop::collection::vec(0usize..60, 0..40), vector()).prop_map(
                |(mut vectors, again, query)| {
                    vectors.extend(
                        again
                            .iter()
                            .map(|&at| vectors[at].clone())
                            .collect::<Vec<_>>(),
                    );
                    (vectors, query)
                },
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn code_scan_finds_the_exact_nearest(
            (vectors, query) in any_vectors(),
            dead in prop::collection::btree_set(0u32..200, 0..20),
            allowed in prop::option::of(prop::collection::btree_set(0u32..400, 0..300)),
            k in 1usize..30,
            dot: bool,
        ) {
            let metric = if dot { Metric::Dot } else { Metric::Cosine };
            let (first, second) = (reader(&vectors, metric), reader(&vectors[..COUNT_MIN], metric));
            let count = vectors.len() as u32;
            let dead: RoaringBitmap = dead.into_iter().filter(|&d| d < count).collect();
            let (none, filter) = (RoaringBitmap::new(), allowed.map(RoaringBitmap::from_iter));
            let placed = [
                SegmentReader { base: Ordinal(0), chunk_count: count, dead: &dead, reader: &first },
                SegmentReader { base: Ordinal(count), chunk_count: COUNT_MIN as u32, dead: &none, reader: &second },
            ];
            let asked = VectorQuery { filter: filter.as_ref(), ..VectorQuery::new(&query, k) };
            let right = brute_force(&[(&first, &dead), (&second, &none)], filter.as_ref(), &query, k);
            // The second search makes the codes.
            for _ in 0..3 {
                let got = search(&placed, &asked, &mut VectorScratch::default()).unwrap();
                prop_assert_eq!(&got, &right);
            }
            prop_assert!(filter.is_some() || first.byte_codes().is_some());
        }
    }

    #[test]
    fn vectors_too_short_for_codes_are_compared_exactly() {
        let short = |n: usize| {
            (0..8)
                .map(|i| 1e-22 * ((n * 7 + i * 3) % 13) as f32 + 1e-23)
                .collect()
        };
        let vectors: Vec<Vec<f32>> = (0..200).map(short).collect();
        let reader = reader(&vectors, Metric::Dot);
        assert!(ByteCodes::new(reader.flat()).is_none());
        let none = RoaringBitmap::new();
        let placed = [SegmentReader {
            base: Ordinal(0),
            chunk_count: 200,
            dead: &none,
            reader: &reader,
        }];
        let query = [1.0; 8];
        let right = brute_force(&[(&reader, &none)], None, &query, 5);
        for _ in 0..3 {
            let vector_query = VectorQuery::new(&query, 5);
            assert_eq!(
                search(&placed, &vector_query, &mut VectorScratch::default()).unwrap(),
                right
            );
        }
    }
}
