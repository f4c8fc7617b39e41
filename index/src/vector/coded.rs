//! Codes of a small segment's vectors, made in memory when it is searched again: what cannot be a hit is told by
//! them, and only the rest is compared at full precision.
//!
//! Always true: what is left out lies farther than the hits that are found. A code's score differs from the true
//! one by no more than ‖q‖ · ‖v − v̂‖ + ‖q − q̂‖ · ‖v̂‖ (Cauchy and Schwarz), where q̂ and v̂ are what the codes
//! of query and vector stand for; both factors are kept for every vector.
//!
//! Start reading at [`Coded::scores`].

use super::Metric;
use super::codes::{Quantiser, Query, Transformed};
use super::flat::FlatReader;
use crate::kernels::{Job, Level, Simd};

/// Vectors below which comparing all at full precision is as quick.
const COUNT_MIN: usize = 64;

/// Codes that lie across each other, so that one instruction takes a step in each.
const ACROSS: usize = 16;

/// Numbers that the step of the codes is chosen by.
const SAMPLE_LEN: usize = 1 << 15;

/// What sums of rounded products may lack, for vectors of length 1.
const ROUNDING: f32 = 1e-5;

/// The codes of a segment, by place.
#[derive(Debug)]
pub(super) struct Coded {
    quantiser: Quantiser,
    /// Bytes of sixteen codes.
    sixteen_len: usize,
    /// Four numbers of each of sixteen vectors, the next four of each, and so on; then the next sixteen.
    codes: Vec<u8>,
    /// For each place what a query's length, and the length of what its code lacks, are worth as an error.
    errors: Vec<[(f32, f32); ACROSS]>,
    count: usize,
}

/// Scores by place, and the most that they may be.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub(super) scores: Vec<f32>,
    pub(super) most: Vec<f32>,
}

impl Coded {
    /// The codes of `flat`; `None` where they would not pay, or a number is not finite. Costs a pass, and a byte a
    /// number.
    pub(super) fn new<B: AsRef<[u8]>>(flat: &FlatReader<B>) -> Option<Coded> {
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
        let quantiser = Quantiser::plain_bytes(&sample, dim);
        let sixteen_len = dim.next_multiple_of(4) * ACROSS;
        let sixteens = count.div_ceil(ACROSS);
        let (mut code, mut scratch) = (Vec::new(), Transformed::default());
        let mut codes = vec![0; sixteens * sixteen_len];
        let mut errors = vec![[(0.0, 0.0); ACROSS]; sixteens];
        for place in 0..count {
            let (of, lane) = (place / ACROSS, place % ACROSS);
            let vector = flat.row(place)?;
            code.clear();
            quantiser.encode(&vector, &mut scratch, &mut code);
            let sixteen = &mut codes[of * sixteen_len..(of + 1) * sixteen_len];
            for (four, numbers) in sixteen.chunks_exact_mut(4 * ACROSS).zip(code.chunks(4)) {
                four[lane * 4..lane * 4 + numbers.len()].copy_from_slice(numbers);
            }
            let (missed, kept) = lengths(&vector, &code, quantiser.step);
            errors[of][lane] = (missed + ROUNDING * (missed + kept), kept);
        }
        Some(Coded {
            quantiser,
            sixteen_len,
            codes,
            errors,
            count,
        })
    }

    /// The scores of all vectors by their codes, and the most that each may be, in `bounds`.
    pub(super) fn scores(
        &self,
        prepared: &[f32],
        metric: Metric,
        query: &mut Query,
        bounds: &mut Bounds,
    ) {
        query.set(prepared, &self.quantiser, metric, 1.0);
        let missed = query.missed(&self.quantiser);
        Level::detect().run(Scores {
            coded: self,
            query,
            missed,
            bounds,
        });
    }
}

/// The lengths of what a code lacks of its vector, and of what it stands for.
fn lengths(vector: &[f32], code: &[u8], step: f32) -> (f32, f32) {
    let (mut missed, mut kept) = ([0f32; ACROSS], [0f32; ACROSS]);
    for (numbers, codes) in vector.chunks(ACROSS).zip(code.chunks(ACROSS)) {
        for (lane, (&x, &code)) in numbers.iter().zip(codes).enumerate() {
            let stood = f32::from(i16::from(code) - 128) * step;
            missed[lane] += (x - stood) * (x - stood);
            kept[lane] += stood * stood;
        }
    }
    let length = |sums: [f32; ACROSS]| sums.iter().sum::<f32>().sqrt();
    (length(missed), length(kept))
}

struct Scores<'a> {
    coded: &'a Coded,
    query: &'a Query,
    missed: f32,
    bounds: &'a mut Bounds,
}

impl Job for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Bounds { scores, most } = self.bounds;
        let padded = self.coded.errors.len() * ACROSS;
        scores.resize(padded, 0.0);
        most.resize(padded, 0.0);
        let (score_rows, _) = scores.as_chunks_mut::<ACROSS>();
        let (most_rows, _) = most.as_chunks_mut::<ACROSS>();
        let (length, missed) = (self.query.length(), self.missed);
        let sixteens = self.coded.codes.chunks_exact(self.coded.sixteen_len);
        let rows = score_rows.iter_mut().zip(most_rows);
        for ((codes, errors), (scores, most)) in sixteens.zip(&self.coded.errors).zip(rows) {
            let sums = simd.dot_u8_across(codes, self.query.numbers());
            for lane in 0..ACROSS {
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
    use loci_storage::{Local, Ordinal, Placed, Scored};
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    use super::super::{FlatBuilder, VectorQuery, VectorReader, VectorScratch, search};
    use super::*;

    const DIM: usize = 24;

    fn reader(vectors: &[Vec<f32>], metric: Metric) -> VectorReader<Vec<u8>> {
        let mut flat = FlatBuilder::new(DIM, metric).unwrap();
        for (local, vector) in (0u32..).zip(vectors) {
            flat.push(Local(local), vector).unwrap();
        }
        VectorReader::new(flat.finish(), None).unwrap()
    }

    /// Plainly right: every vector at full precision.
    fn compared(
        reader: &VectorReader<Vec<u8>>,
        query: &[f32],
        dead: &RoaringBitmap,
        k: usize,
    ) -> Vec<Scored> {
        let flat = reader.flat();
        let mut prepared = Vec::new();
        let metric = flat.metric();
        metric.prepare_into(query, DIM, &mut prepared).unwrap();
        let live = (0..flat.len() as u32).filter(|&local| !dead.contains(local));
        let mut all: Vec<Scored> = live
            .map(|local| Scored {
                ordinal: Ordinal(local),
                score: metric.score(&prepared, &flat.vector(Local(local)).unwrap()),
            })
            .collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal)));
        all.truncate(k);
        all
    }

    fn any_vector() -> impl Strategy<Value = Vec<f32>> {
        // Large numbers beside small ones are cut off by codes.
        let number = prop_oneof![9 => -0.1f32..0.1, 1 => -5.0f32..5.0];
        prop::collection::vec(number, DIM).prop_filter("not zero", |v| v.iter().any(|x| *x != 0.0))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn codes_leave_out_nothing_that_is_nearer(
            vectors in prop::collection::vec(any_vector(), COUNT_MIN..200),
            query in any_vector(),
            dead in prop::collection::btree_set(0u32..200, 0..20),
            k in 1usize..30,
            dot: bool,
        ) {
            let metric = if dot { Metric::Dot } else { Metric::Cosine };
            let reader = reader(&vectors, metric);
            prop_assert!(Coded::new(reader.flat()).is_some());
            let dead: RoaringBitmap = dead.into_iter().filter(|&d| (d as usize) < vectors.len()).collect();
            let placed = [Placed {
                base: Ordinal(0),
                chunk_count: vectors.len() as u32,
                dead: &dead,
                reader: &reader,
            }];
            // The second search makes the codes.
            for _ in 0..3 {
                let got = search(&placed, &VectorQuery::new(&query, k), &mut VectorScratch::default()).unwrap();
                prop_assert_eq!(got, compared(&reader, &query, &dead, k));
            }
            prop_assert!(k == 0 || reader.coded().is_some());
        }
    }
}
