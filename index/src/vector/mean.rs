//! How near a question is to the mean of several chunks' vectors.
//!
//! The cosine of a mean is that of the sum. Where a segment has a graph whose codes are half bytes, the codes are
//! added, an eighth of the bytes of the vectors. They stand for rotated vectors less their segment's mean; a rotation
//! keeps inner products, and it is the same for all segments of one dimension, so what was added as it is gets
//! rotated in the end, and the question likewise.
//!
//! Always true: without such codes the cosine is that of the vectors as they are.
//!
//! Start reading at [`MeanCosine::add`].

use super::codes::{Codes, Turn};
use super::graph::GraphReader;
use super::search::VectorReader;

/// Codes of half bytes whose sum fits a byte.
const CODES_MAX: usize = 255 / 15;

/// Sums that a product is gathered in, so that one need not wait for the other.
const LANES: usize = 8;

/// The mean of vectors that are added, and a question that it is compared with.
#[derive(Debug)]
pub struct MeanCosine<'q> {
    question: &'q [f32],
    /// The sum of vectors as they are, `[dim]`, and whether there is one.
    sum: Vec<f32>,
    has_vectors: bool,
    /// What stands for codes, from the first one on, and whether the sum has one in it.
    rotated: Option<Rotated>,
    has_codes: bool,
}

/// All here is rotated, and as long as whole blocks are.
#[derive(Debug)]
struct Rotated {
    rotation: Turn,
    question: Vec<f32>,
    /// Of what codes stand for.
    sum: Vec<f32>,
    /// Of up to [`CODES_MAX`] codes.
    levels: Vec<u8>,
    scratch: Vec<f32>,
}

impl Rotated {
    fn new(question: &[f32]) -> Rotated {
        let (rotation, mut scratch) = (Turn::new(question.len()), Vec::new());
        let mut question = question.to_vec();
        rotation.apply(&mut question, &mut scratch);
        Rotated {
            rotation,
            sum: vec![0.0; question.len()],
            levels: vec![0; question.len()],
            question,
            scratch,
        }
    }

    /// Adds up to [`CODES_MAX`] codes; `false`: there was none.
    fn add<B: AsRef<[u8]>>(
        &mut self,
        graph: &GraphReader<B>,
        places: impl Iterator<Item = usize>,
    ) -> bool {
        self.levels.fill(0);
        let mut count = 0.0;
        for code in places.filter_map(|place| graph.code(place)) {
            add_levels(code, &mut self.levels);
            count += 1.0;
        }
        let (quantiser, middle) = (graph.quantiser(), 7.5 * count);
        let levels = self.levels.iter().zip(quantiser.rotated_mean());
        for (sum, (&level, mean)) in self.sum.iter_mut().zip(levels) {
            *sum += quantiser.step * (f32::from(level) - middle) + count * mean;
        }
        count > 0.0
    }

    /// Moves a sum of vectors as they are over to that of codes.
    fn take(&mut self, sum: &mut Vec<f32>) {
        let dim = sum.len();
        self.rotation.apply(sum, &mut self.scratch);
        self.sum
            .iter_mut()
            .zip(&*sum)
            .for_each(|(sum, x)| *sum += x);
        sum.clear();
        sum.resize(dim, 0.0);
    }
}

impl<'q> MeanCosine<'q> {
    /// - question: `[dim]`
    pub fn new(question: &'q [f32]) -> MeanCosine<'q> {
        MeanCosine {
            question,
            sum: vec![0.0; question.len()],
            has_vectors: false,
            rotated: None,
            has_codes: false,
        }
    }

    /// Forgets the vectors that were added.
    pub fn clear(&mut self) {
        if self.has_vectors {
            self.sum.fill(0.0);
        }
        if let Some(rotated) = self.rotated.as_mut().filter(|_| self.has_codes) {
            rotated.sum.fill(0.0);
        }
        (self.has_vectors, self.has_codes) = (false, false);
    }

    /// Adds the vectors at `places` of a segment. Vectors of another dimension than the question's are left out.
    ///
    /// # Cost
    /// Half a byte a number is read where the segment has a graph with such codes, four bytes otherwise.
    pub fn add<B: AsRef<[u8]>>(
        &mut self,
        vectors: &VectorReader<B>,
        mut places: impl Iterator<Item = usize>,
    ) {
        let flat = vectors.flat();
        if flat.dim() != self.question.len() {
            return;
        }
        let Some(graph) = half_bytes(vectors) else {
            for vector in places.filter_map(|place| flat.row(place)) {
                self.sum
                    .iter_mut()
                    .zip(&*vector)
                    .for_each(|(sum, x)| *sum += x);
                self.has_vectors = true;
            }
            return;
        };
        let question = self.question;
        let rotated = self.rotated.get_or_insert_with(|| Rotated::new(question));
        while rotated.add(graph, places.by_ref().take(CODES_MAX)) {
            self.has_codes = true;
        }
    }

    /// The cosine of the question and the mean of what was added; `None` where one of them has no direction.
    ///
    /// # Cost
    /// Two inner products; a rotation where codes and vectors were added.
    pub fn cosine(&mut self) -> Option<f32> {
        match self.rotated.as_mut().filter(|_| self.has_codes) {
            Some(rotated) => {
                if std::mem::take(&mut self.has_vectors) {
                    rotated.take(&mut self.sum);
                }
                cosine(&rotated.question, &rotated.sum)
            }
            None => cosine(self.question, &self.sum),
        }
    }
}

/// The graph of a segment whose codes are half bytes.
pub(super) fn half_bytes<B: AsRef<[u8]>>(vectors: &VectorReader<B>) -> Option<&GraphReader<B>> {
    let graph = vectors.graph();
    graph.filter(|graph| graph.quantiser().codes == Codes::I4)
}

/// Adds each half byte of `code` to its number in `levels`.
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

/// The cosine of two vectors of one length; `None` where one of them has no direction.
fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    (lengths > 0.0 && lengths.is_finite()).then(|| (dot(a, b) / lengths) as f32)
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
    use loci_storage::Local;
    use proptest::prelude::*;

    use super::super::{FlatBuilder, GraphOptions, Metric};
    use super::*;

    const DIM: usize = 150;

    fn reader(vectors: &[Vec<f32>], codes: Option<Codes>) -> VectorReader<Vec<u8>> {
        let mut builder = FlatBuilder::new(DIM, Metric::Cosine).unwrap();
        for (local, vector) in (0u32..).zip(vectors) {
            builder.push(Local(local), vector).unwrap();
        }
        let options = |codes| GraphOptions {
            codes,
            ..GraphOptions::default()
        };
        let graph = codes.and_then(|codes| builder.graph(&options(codes), 1).unwrap());
        VectorReader::new(builder.finish(), graph).unwrap()
    }

    /// Plainly right: sums at full precision, one number after another.
    fn compared(question: &[f32], added: &[&[f32]]) -> Option<f64> {
        let sum: Vec<f64> = (0..question.len())
            .map(|at| added.iter().map(|vector| f64::from(vector[at])).sum())
            .collect();
        let question: Vec<f64> = question.iter().map(|&x| f64::from(x)).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let lengths = (dot(&question, &question) * dot(&sum, &sum)).sqrt();
        (lengths > 0.0).then(|| dot(&question, &sum) / lengths)
    }

    fn any_vector() -> impl Strategy<Value = Vec<f32>> {
        let vector = prop::collection::vec(-1.0f32..1.0, DIM);
        // In common, as the vectors of a model have.
        vector.prop_map(|vector| vector.into_iter().map(|x| x + 0.3).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_cosine_is_that_of_the_mean_of_full_vectors(
            segments in prop::collection::vec(prop::collection::vec(any_vector(), 30), 3),
            question in any_vector(),
            // More of one segment than a byte can sum.
            chosen in prop::collection::vec((0usize..3, 0usize..30), 0..80),
            again in prop::collection::vec((0usize..3, 0usize..30), 1..9),
        ) {
            let kinds = [None, Some(Codes::I4), Some(Codes::I8)];
            let readers: Vec<_> = segments
                .iter()
                .zip(kinds)
                .map(|(vectors, codes)| reader(vectors, codes))
                .collect();
            let mut mean = MeanCosine::new(&question);
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
                match (mean.cosine(), compared(&question, &added)) {
                    (Some(got), Some(right)) => {
                        prop_assert!((f64::from(got) - right).abs() < slack, "{got} {right}");
                    }
                    (got, right) => prop_assert_eq!(got.is_some(), right.is_some()),
                }
            }
        }
    }

    #[test]
    fn nothing_and_vectors_of_another_dimension_have_no_cosine() {
        let segment = reader(&vec![vec![1.0; DIM]; 9], Some(Codes::I4));
        let mut mean = MeanCosine::new(&[1.0; DIM]);
        assert_eq!(mean.cosine(), None);
        mean.add(&segment, [usize::MAX, 9].into_iter());
        assert_eq!(mean.cosine(), None);
        let mut other = MeanCosine::new(&[1.0; 3]);
        other.add(&segment, 0..9);
        assert_eq!(other.cosine(), None);
    }
}
