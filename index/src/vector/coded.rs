//! Codes of a small segment's vectors, made in memory when it is first searched: what cannot be a hit is told by
//! them, and only the rest is compared at full precision.
//!
//! Always true: what is left out lies farther than the hits that are found. A code's score differs from the true
//! one by no more than ‖q‖ · ‖v − v̂‖ + ‖q − q̂‖ · ‖v̂‖ (Cauchy and Schwarz), where q̂ and v̂ are what the codes
//! of query and vector stand for; both lengths are kept for every vector.
//!
//! Start reading at [`Coded::scores`].

use super::Metric;
use super::codes::{I8, Quantiser, Query, Transformed};
use super::flat::FlatReader;
use crate::kernels::{Job, Level, Simd};

/// Vectors below which comparing all at full precision is as quick.
const COUNT_MIN: usize = 64;

/// What sums of rounded products may lack, for vectors of length 1.
const ROUNDING: f32 = 1e-5;

/// The codes of a segment, by place.
#[derive(Debug)]
pub(super) struct Coded {
    quantiser: Quantiser,
    code_len: usize,
    codes: Vec<u8>,
    /// ‖v − v̂‖ and ‖v̂‖.
    lengths: Vec<(f32, f32)>,
}

impl Coded {
    /// The codes of `flat`; `None` where they would not pay, or a number is not finite. Costs a pass, and a byte a
    /// number.
    pub(super) fn new<B: AsRef<[u8]>>(flat: &FlatReader<B>) -> Option<Coded> {
        if flat.len() < COUNT_MIN || flat.metric() == Metric::L2 {
            return None;
        }
        let dim = flat.dim();
        let mut sample = Vec::with_capacity(flat.len() * dim);
        for place in 0..flat.len() {
            sample.extend_from_slice(&flat.row(place)?);
        }
        if !sample.iter().all(|x| x.is_finite()) {
            return None;
        }
        let quantiser = Quantiser::plain_bytes(&sample, dim);
        let (mut codes, mut scratch) = (Vec::new(), Transformed::default());
        let mut lengths = Vec::with_capacity(flat.len());
        for vector in sample.chunks_exact(dim) {
            let start = codes.len();
            quantiser.encode(vector, &mut scratch, &mut codes);
            let (mut missed, mut kept) = (0f64, 0f64);
            for (&x, &code) in vector.iter().zip(&codes[start..]) {
                let stood = f64::from(i32::from(code) - 128) * f64::from(quantiser.step);
                missed += (f64::from(x) - stood).powi(2);
                kept += stood * stood;
            }
            lengths.push((missed.sqrt() as f32, kept.sqrt() as f32));
        }
        Some(Coded {
            code_len: codes.len() / lengths.len(),
            quantiser,
            codes,
            lengths,
        })
    }

    /// The scores of `places` by their codes, and by how much at most each is wrong, in `scores`.
    pub(super) fn scores(
        &self,
        prepared: &[f32],
        metric: Metric,
        places: &[u32],
        query: &mut Query,
        scores: &mut Vec<(f32, f32)>,
    ) {
        query.set(prepared, &self.quantiser, metric, 1.0);
        let (length, missed) = (query.length(), query.missed(&self.quantiser));
        scores.clear();
        Level::detect().run(Scores {
            coded: self,
            query,
            places,
            scores,
        });
        for (&place, score) in places.iter().zip(scores) {
            let (of_code, code_length) = self.lengths[place as usize];
            let rounding = ROUNDING * length * (code_length + of_code);
            score.1 = length * of_code + missed * code_length + rounding;
        }
    }
}

struct Scores<'a> {
    coded: &'a Coded,
    query: &'a Query,
    places: &'a [u32],
    scores: &'a mut Vec<(f32, f32)>,
}

impl Job for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let len = self.coded.code_len;
        self.scores.reserve(self.places.len());
        for &place in self.places {
            let start = place as usize * len;
            let code = &self.coded.codes[start..start + len];
            let distance = self.query.distance::<S, I8>(simd, code, 0.0);
            self.scores.push((-distance, 0.0));
        }
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
            let got = search(&placed, &VectorQuery::new(&query, k), &mut VectorScratch::default()).unwrap();
            prop_assert_eq!(got, compared(&reader, &query, &dead, k));
        }
    }
}
