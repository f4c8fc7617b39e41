//! The cosine of a query with the mean of several chunks' vectors.
//!
//! The cosine with a mean is that with the sum. Where a segment has a graph with codes of four bits, codes are added,
//! an eighth of the bytes of the vectors. They represent rotated vectors less their segment's mean. A rotation keeps
//! inner products, and it is the same for all segments of one dimension: full vectors that are added besides are
//! rotated once, before the cosine.
//!
//! The step of codes suits most vectors of a segment; an outlier exceeds their range. A code with many numbers at the
//! ends of the range is left for the full vector.
//!
//! Always true: without such codes the cosine is that of the full vectors; with them it differs by a few hundredths at
//! most.
//!
//! Start reading at [`MeanCosine::add`].

use super::codes::Rotation;
use super::graph::GraphReader;
use super::reader::VectorReader;

/// Codes of four bits whose sum fits a byte.
const CODES_MAX: usize = 255 / 15;

/// A code is used unless more than one in so many of its numbers are at the ends of the range. Steps are chosen so that
/// six in a thousand are beyond it (and two in a hundred in the last level).
const CLIPPED_SHARE: usize = 10;

/// Sums that a product is gathered in, so that one need not wait for the other.
const LANES: usize = 8;

/// The mean of vectors that are added, and a query that it is compared with.
#[derive(Debug)]
pub struct MeanCosine {
    /// `[dim]`, of length 1; zeros where it has no direction.
    query: Vec<f32>,
    /// The sum of full vectors, `[dim]`, and whether there is one.
    sum: Vec<f32>,
    has_vectors: bool,
    /// For codes; none before the first.
    rotated: Option<RotatedSum>,
}

impl MeanCosine {
    /// - query: `[dim]`, of any length
    pub fn new(query: &[f32]) -> MeanCosine {
        let length = dot(query, query).sqrt();
        let has_direction = length > 0.0 && length.is_finite();
        let scale = if has_direction { length.recip() } else { 0.0 };
        let unit = query.iter().map(|&x| (f64::from(x) * scale) as f32);
        MeanCosine {
            query: unit.collect(),
            sum: vec![0.0; query.len()],
            has_vectors: false,
            rotated: None,
        }
    }

    /// Forgets the vectors that were added.
    pub fn clear(&mut self) {
        if self.has_vectors {
            self.sum.fill(0.0);
        }
        self.has_vectors = false;
        if let Some(rotated) = self.rotated.as_mut().filter(|rotated| rotated.count > 0) {
            rotated.sum.fill(0.0);
            rotated.count = 0;
        }
    }

    /// Adds the vectors at `places` of a segment; places from the number of its vectors on have none. Vectors of
    /// another dimension than the query's are left out.
    ///
    /// # Cost
    /// Half a byte a number is read where the segment has a graph with such codes, four bytes otherwise.
    pub fn add<B: AsRef<[u8]>>(
        &mut self,
        vectors: &VectorReader<B>,
        places: impl Iterator<Item = usize>,
    ) {
        let flat = vectors.flat();
        if flat.dim() != self.query.len() {
            return;
        }
        let places = places.filter(|&place| place < flat.len());
        match vectors.four_bit_graph() {
            Some(graph) => self.add_codes(vectors, graph, places),
            None => places.for_each(|place| self.add_vector(vectors, place)),
        }
    }

    fn add_vector<B: AsRef<[u8]>>(&mut self, vectors: &VectorReader<B>, place: usize) {
        let vector = vectors.flat().row(place).unwrap_or_default();
        let numbers = self.sum.iter_mut().zip(&*vector);
        numbers.for_each(|(sum, x)| *sum += x);
        self.has_vectors = true;
    }

    fn add_codes<B: AsRef<[u8]>>(
        &mut self,
        vectors: &VectorReader<B>,
        graph: &GraphReader<B>,
        places: impl Iterator<Item = usize>,
    ) {
        let query = &self.query;
        let mut rotated = self
            .rotated
            .take()
            .unwrap_or_else(|| RotatedSum::new(query));
        for place in places {
            let code = graph.code(place).unwrap_or_default();
            if clipped(code) * CLIPPED_SHARE > 2 * code.len() {
                self.add_vector(vectors, place)
            } else {
                rotated.add(code, graph)
            }
        }
        rotated.flush(graph);
        self.rotated = Some(rotated);
    }

    /// The cosine of the query and the mean of what was added; `None` where one of them has no direction.
    ///
    /// # Cost
    /// Two inner products; a rotation where both codes and full vectors were added.
    pub fn cosine(&mut self) -> Option<f32> {
        match self.rotated.as_mut().filter(|rotated| rotated.count > 0) {
            Some(rotated) => {
                if std::mem::take(&mut self.has_vectors) {
                    rotated.merge(&mut self.sum);
                }
                cosine(&rotated.query, &rotated.sum)
            }
            None => cosine(&self.query, &self.sum),
        }
    }
}

/// All here is rotated, and as long as whole blocks are.
#[derive(Debug)]
struct RotatedSum {
    rotation: Rotation,
    query: Vec<f32>,
    /// The sum of what `count` codes represent.
    sum: Vec<f32>,
    count: usize,
    /// The sum of `waiting` codes of one segment that are not in `sum` yet, [`CODES_MAX`] at most.
    levels: Vec<u8>,
    pending_count: usize,
    scratch: Vec<f32>,
}

impl RotatedSum {
    fn new(query: &[f32]) -> RotatedSum {
        let (rotation, mut scratch) = (Rotation::new(query.len()), Vec::new());
        let mut query = query.to_vec();
        rotation.apply(&mut query, &mut scratch);
        RotatedSum {
            rotation,
            sum: vec![0.0; query.len()],
            count: 0,
            levels: vec![0; query.len()],
            pending_count: 0,
            query,
            scratch,
        }
    }

    /// Adds a code of `graph`; [`RotatedSum::flush`] follows the last one of a segment.
    fn add<B: AsRef<[u8]>>(&mut self, code: &[u8], graph: &GraphReader<B>) {
        add_levels(code, &mut self.levels);
        self.pending_count += 1;
        if self.pending_count == CODES_MAX {
            self.flush(graph);
        }
    }

    /// Brings waiting codes into the sum.
    fn flush<B: AsRef<[u8]>>(&mut self, graph: &GraphReader<B>) {
        if self.pending_count == 0 {
            return;
        }
        let (step, count) = (graph.quantiser().step, self.pending_count as f32);
        let levels = self.levels.iter().zip(graph.quantiser().rotated_mean());
        for (sum, (&level, mean)) in self.sum.iter_mut().zip(levels) {
            *sum += step * (f32::from(level) - 7.5 * count) + count * mean;
        }
        self.levels.fill(0);
        self.count += std::mem::take(&mut self.pending_count);
    }

    /// Moves a sum of full vectors over to that of codes.
    fn merge(&mut self, sum: &mut Vec<f32>) {
        let dim = sum.len();
        self.rotation.apply(sum, &mut self.scratch);
        let numbers = self.sum.iter_mut().zip(&*sum);
        numbers.for_each(|(sum, x)| *sum += x);
        sum.clear();
        sum.resize(dim, 0.0);
    }
}

/// Adds each four bits of `code` to its number in `levels`.
fn add_levels(code: &[u8], levels: &mut [u8]) {
    let (codes, _) = code.as_chunks::<64>();
    let (levels, _) = levels.as_chunks_mut::<128>();
    for (code, levels) in codes.iter().zip(levels) {
        let (low, high) = levels.split_at_mut(64);
        for ((code, low), high) in code.iter().zip(low).zip(high) {
            *low += code & 15;
            *high += code >> 4;
        }
    }
}

/// How many numbers of a code are at one of the two ends of the range.
fn clipped(code: &[u8]) -> usize {
    // A byte holds the counts of all blocks: 64 of two numbers, at most.
    let mut counts = [0u8; 64];
    let (codes, _) = code.as_chunks::<64>();
    for code in codes {
        for (count, code) in counts.iter_mut().zip(code) {
            let is_end = |level: u8| u8::from((level + 1) & 15 <= 1);
            *count += is_end(code & 15) + is_end(code >> 4);
        }
    }
    counts.iter().map(|&count| usize::from(count)).sum()
}

/// The cosine of a unit vector and another of its length; `None` where one of them has no direction.
fn cosine(unit: &[f32], other: &[f32]) -> Option<f32> {
    let length = dot(other, other).sqrt();
    let has_direction = length > 0.0 && length.is_finite() && unit.iter().any(|x| *x != 0.0);
    has_direction.then(|| (dot(unit, other) / length) as f32)
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest = rest.map(|(a, b)| f64::from(*a) * f64::from(*b));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use loci_storage::LocalOrdinal;
    use proptest::prelude::*;

    use super::super::{Codes, FlatBuilder, GraphOptions, Metric};
    use super::*;

    const DIM: usize = 150;

    fn reader(vectors: &[Vec<f32>], metric: Metric, codes: Option<Codes>) -> VectorReader<Vec<u8>> {
        let mut builder = FlatBuilder::new(vectors[0].len(), metric).unwrap();
        for (local, vector) in (0u32..).zip(vectors) {
            builder.push(LocalOrdinal(local), vector).unwrap();
        }
        let options = |codes| GraphOptions {
            codes,
            ..GraphOptions::default()
        };
        let graph = codes.and_then(|codes| builder.build_graph(&options(codes), 1).unwrap());
        VectorReader::new(builder.finish(), graph).unwrap()
    }

    /// Plainly right: sums at full precision, one number after another.
    fn exact(query: &[f32], added: &[&[f32]]) -> Option<f64> {
        let sum: Vec<f64> = (0..query.len())
            .map(|at| added.iter().map(|vector| f64::from(vector[at])).sum())
            .collect();
        let query: Vec<f64> = query.iter().map(|&x| f64::from(x)).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let lengths = (dot(&query, &query) * dot(&sum, &sum)).sqrt();
        (lengths > 0.0).then(|| dot(&query, &sum) / lengths)
    }

    fn mean_cosine(
        query: &[f32],
        reader: &VectorReader<Vec<u8>>,
        places: impl Iterator<Item = usize>,
    ) -> f64 {
        let mut mean = MeanCosine::new(query);
        mean.add(reader, places);
        f64::from(mean.cosine().unwrap())
    }

    /// With something in common, as the vectors of a model have.
    fn any_vector() -> impl Strategy<Value = Vec<f32>> {
        let vector = prop::collection::vec(-1.0f32..1.0, DIM);
        vector.prop_map(|vector| vector.into_iter().map(|x| x + 0.3).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_cosine_is_that_of_the_mean_of_full_vectors(
            segments in prop::collection::vec(prop::collection::vec(any_vector(), 30), 3),
            query in any_vector(),
            chosen in prop::collection::vec((0usize..3, 0usize..30), 0..80),
            again in prop::collection::vec((0usize..3, 0usize..30), 1..9),
        ) {
            let kinds = [None, Some(Codes::I4), Some(Codes::I8)];
            let readers: Vec<_> = segments
                .iter()
                .zip(kinds)
                .map(|(vectors, codes)| reader(vectors, Metric::Cosine, codes))
                .collect();
            let mut mean = MeanCosine::new(&query);
            for chosen in [chosen, again] {
                mean.clear();
                let mut added = Vec::new();
                for (segment, reader) in readers.iter().enumerate() {
                    let places = chosen.iter().filter(|(of, _)| *of == segment).map(|&(_, at)| at);
                    mean.add(reader, places.clone());
                    added.extend(places.map(|at| reader.flat().row(at).unwrap()));
                }
                let added: Vec<&[f32]> = added.iter().map(|row| &row[..]).collect();
                let coded = chosen.iter().any(|(of, _)| *of == 1);
                let slack = if coded { 0.03 } else { 1e-6 };
                match (mean.cosine(), exact(&query, &added)) {
                    (Some(got), Some(right)) => {
                        prop_assert!((f64::from(got) - right).abs() < slack, "{got} {right}");
                    }
                    (got, right) => prop_assert_eq!(got.is_some(), right.is_some()),
                }
            }
        }

        #[test]
        fn vector_lengths_count_unless_metric_is_cosine(
            vectors in prop::collection::vec((any_vector(), -3.0f32..3.0), 30),
            query in any_vector(),
            l2: bool,
        ) {
            let longer = |(vector, length): (Vec<f32>, f32)| -> Vec<f32> {
                vector.into_iter().map(|x| x * length.exp()).collect()
            };
            let vectors: Vec<Vec<f32>> = vectors.into_iter().map(longer).collect();
            let metric = if l2 { Metric::L2 } else { Metric::Dot };
            let reader = reader(&vectors, metric, Some(Codes::I4));
            let added: Vec<&[f32]> = vectors[..8].iter().map(|vector| &vector[..]).collect();
            let (got, right) = (mean_cosine(&query, &reader, 0..8), exact(&query, &added).unwrap());
            prop_assert!((got - right).abs() < 1e-5, "{got} {right}");
        }
    }

    #[test]
    fn code_sums_do_not_overflow_a_byte() {
        let mut levels = [0; 128];
        for _ in 0..CODES_MAX {
            add_levels(&[0xff; 64], &mut levels);
        }
        assert_eq!(levels, [255; 128]);
        let vector =
            |n: usize| -> Vec<f32> { (0..DIM).map(|i| (n * i % 7) as f32 - 3.0).collect() };
        let vectors: Vec<Vec<f32>> = (1..30).map(vector).collect();
        let reader = reader(&vectors, Metric::Cosine, Some(Codes::I4));
        let once = mean_cosine(&vectors[4], &reader, 3..4);
        for times in [CODES_MAX, 40] {
            let often = mean_cosine(&vectors[4], &reader, std::iter::repeat_n(3, times));
            assert!((once - often).abs() < 1e-6, "{once} {often}");
        }
    }

    /// A step fits the cluster, which is narrow; an outlier is far beyond what it can represent.
    #[test]
    fn outliers_of_a_narrow_cluster_are_added_at_full_precision() {
        let axis = |at: usize| -> Vec<f32> { (0..DIM).map(|i| f32::from(i == at)).collect() };
        let cluster = |n: usize| -> Vec<f32> {
            (0..DIM)
                .map(|i| f32::from(i == 0) + (n * i % 11) as f32 * 1e-4)
                .collect()
        };
        for outliers in [1, 3, 20] {
            let mut vectors: Vec<Vec<f32>> = (0..400 - outliers).map(cluster).collect();
            vectors.extend((1..=outliers).map(axis));
            let reader = reader(&vectors, Metric::Cosine, Some(Codes::I4));
            let outlier = mean_cosine(&axis(1), &reader, 400 - outliers..401 - outliers);
            assert!((outlier - 1.0).abs() < 0.05, "{outliers}: {outlier}");
            let inside = mean_cosine(&axis(1), &reader, 0..8);
            assert!(inside.abs() < 0.05, "{outliers}: {inside}");
        }
    }

    #[test]
    fn cosine_of_equal_vectors_is_that_of_one() {
        let reader = reader(&vec![vec![1.0; DIM]; 99], Metric::Cosine, Some(Codes::I4));
        assert!((mean_cosine(&[1.0; DIM], &reader, 0..8) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn queries_near_the_end_of_the_range_have_a_cosine() {
        let reader = reader(&vec![vec![1.0; DIM]; 9], Metric::Cosine, Some(Codes::I4));
        for huge in [f32::MAX, f32::MIN_POSITIVE] {
            assert!((mean_cosine(&[huge; DIM], &reader, 0..8) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn nothing_and_vectors_of_another_dimension_have_no_cosine() {
        for codes in [None, Some(Codes::I4)] {
            let segment = reader(&vec![vec![1.0; DIM]; 9], Metric::Cosine, codes);
            let mut mean = MeanCosine::new(&[1.0; DIM]);
            assert_eq!(mean.cosine(), None);
            mean.add(&segment, [usize::MAX, 9].into_iter());
            assert_eq!(mean.cosine(), None);
            let mut other = MeanCosine::new(&[1.0; 3]);
            other.add(&segment, 0..9);
            assert_eq!(other.cosine(), None);
            let mut zero = MeanCosine::new(&[0.0; DIM]);
            zero.add(&segment, 0..9);
            assert_eq!(zero.cosine(), None);
        }
    }
}
