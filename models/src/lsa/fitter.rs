//! Learns a projection from rows of terms.
//!
//! Start reading at [`Fitter::fit`].

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::counts::{Counts, Terms};
use super::layout::ProjectionParts;
use super::projection::{Projection, log_tf};
use super::sparse::Sparse;
use super::svd::Spectrum;

/// The largest number of dimensions.
pub const DIM_MAX: usize = 1024;

/// Terms that are kept by default.
pub const VOCABULARY_MAX: usize = 65_536;

/// Fewest and most dimensions by default.
const DIM_AUTO_RANGE: (usize, usize) = (256, 512);

/// Fraction of the energy that suffices by default.
const ENERGY_TARGET: f64 = 0.55;

/// How to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Chooses the random start. The result hardly depends on it.
    pub seed: u64,
    /// Number of dimensions, 1 to [`DIM_MAX`]; fewer come when the rows have no more. `None`: the
    /// fewest that keep 55 % of the energy, between 256 and 512.
    pub dim: Option<usize>,
    /// How many terms are kept at most: those of most rows, ties by ascending text. At least 1.
    pub vocabulary_max: usize,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions {
            seed: 0,
            dim: None,
            vocabulary_max: VOCABULARY_MAX,
        }
    }
}

/// Why nothing was learned. Every variant documents what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No row has a term. Push rows first; a store without text needs no vectors.
    #[error("no row has a term to learn from")]
    NoTerms,
    /// An option is out of its range. Correct it.
    #[error("fit option {option} is out of range")]
    Options {
        /// The field of [`FitOptions`].
        option: &'static str,
    },
    /// More rows, distinct terms or bytes of terms than four bytes count. Fit on a sample of the
    /// rows; the others can be folded in.
    #[error("too many {what} for one fit")]
    TooLarge {
        /// What exceeds its limit.
        what: &'static str,
    },
    /// The caller's progress function stopped the fit. Nothing was learned.
    #[error("fit was cancelled")]
    Cancelled,
    /// The arithmetic left the finite numbers, which no rows are known to cause. Please report it.
    #[error("the decomposition is not finite")]
    NotFinite,
}

/// Collects rows and learns a projection from them.
///
/// ```
/// use std::ops::ControlFlow;
/// use loci_models::lsa::{FitOptions, Fitter};
///
/// let mut fitter = Fitter::new();
/// for row in ["lift of a wing", "drag of a wing", "heat in a wall"] {
///     fitter.push(row.split(' '))?;
/// }
/// let fitted = fitter.fit(&FitOptions::default(), |_| ControlFlow::Continue(()))?;
/// let wing = fitted.projection().embed_terms(["wing"]).expect("a known term");
/// let cosine = |row| -> f32 {
///     let row = fitted.vector(row).expect("the row has known terms");
///     row.iter().zip(&wing).map(|(a, b)| a * b).sum()
/// };
/// assert!(cosine(0) > cosine(2));
/// # Ok::<(), loci_models::lsa::FitError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fitter {
    terms: Terms,
    counts: Counts,
    /// Occurrences of the row that is being pushed.
    scratch: Vec<u32>,
}

impl Fitter {
    /// Without rows.
    pub fn new() -> Fitter {
        Fitter::default()
    }

    /// Adds a row: its terms, repeated as often as they occur, in any order. The row's number
    /// is that of the rows before it. A row without terms counts as a row.
    ///
    /// # Errors
    /// [`FitError::TooLarge`]; the row was not added.
    pub fn push<T: AsRef<str>>(
        &mut self,
        terms: impl IntoIterator<Item = T>,
    ) -> Result<(), FitError> {
        self.push_with(|each| terms.into_iter().for_each(|term| each(term.as_ref())))
    }

    /// Adds a row whose terms are handed over one by one, as a tokeniser does: `row` calls its
    /// argument with each. See [`push`](Self::push).
    ///
    /// # Errors
    /// [`FitError::TooLarge`]; the row was not added.
    pub fn push_with(&mut self, row: impl FnOnce(&mut dyn FnMut(&str))) -> Result<(), FitError> {
        if self.counts.rows() >= u32::MAX as usize {
            return Err(FitError::TooLarge { what: "rows" });
        }
        let Fitter {
            terms,
            counts,
            scratch,
        } = self;
        scratch.clear();
        let mut all_fit = true;
        row(&mut |term| match terms.id(term) {
            Some(id) => scratch.push(id),
            None => all_fit = false,
        });
        if !all_fit {
            return Err(FitError::TooLarge {
                what: "distinct terms",
            });
        }
        counts.push(scratch);
        Ok(())
    }

    /// Rows pushed so far.
    pub fn rows(&self) -> usize {
        self.counts.rows()
    }

    /// Learns from the rows. `progress` gets the fraction of the work that is done, 0 to 1, about
    /// a dozen times; when it answers with a break, the fit ends with [`FitError::Cancelled`].
    ///
    /// The dimensions are never more than the rank of the rows: a single row, or rows that are all
    /// equal, give one dimension.
    ///
    /// Cost: with `p` pairs of row and term, `s` the smaller of rows and vocabulary, and
    /// `w = min(s, 544)`: about `10 · p · w + 8 · s · w²` multiply-adds, on all threads. Memory: see
    /// [the module](super). For stores of more than a few hundred thousand rows, fit on a sample and
    /// fold the others in.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit(
        self,
        options: &FitOptions,
        mut progress: impl FnMut(f32) -> ControlFlow<()>,
    ) -> Result<Fitted, FitError> {
        options.check()?;
        let (vocabulary, counts, idf) = self.into_vocabulary(options.vocabulary_max)?;
        let matrix = weighted(&counts, &idf);
        let dim_max = options.dim.unwrap_or(DIM_AUTO_RANGE.1);
        let spectrum = Spectrum::compute(matrix, dim_max, options.seed, &mut progress)?;
        let dim = options
            .dim
            .unwrap_or_else(|| dim_auto(&spectrum))
            .min(spectrum.rank());
        let parts = ProjectionParts {
            dim,
            // Checked when the rows were pushed.
            rows: counts.rows() as u32,
            energy: spectrum.energy_share(dim) as f32,
            terms: vocabulary.iter().map(|(term, _)| &**term).collect(),
            idf: &idf,
        };
        let vectors = spectrum.right_vectors(dim);
        let bytes = parts
            .encode(|term, row| vectors.copy_row(term, row))
            .ok_or(FitError::TooLarge {
                what: "bytes of terms",
            })?;
        let projection = Projection::new(bytes).expect("what was just written can be read");
        Ok(Fitted { projection, counts })
    }

    /// Chooses the vocabulary and numbers it by ascending text. Answers with (text, old number) of
    /// each term, the rows in new numbers, and the inverse document frequencies.
    fn into_vocabulary(mut self, max: usize) -> Result<Vocabulary, FitError> {
        let frequencies = self.counts.document_frequencies(self.terms.len());
        let vocabulary = self.terms.most_frequent(max, &frequencies);
        if vocabulary.is_empty() {
            return Err(FitError::NoTerms);
        }
        let mut new_ids = vec![None; frequencies.len()];
        for (new, &(_, old)) in (0..).zip(&vocabulary) {
            new_ids[old as usize] = Some(new);
        }
        self.counts.renumber(&new_ids);
        let rows = self.counts.rows() as f64;
        let idf = |old: u32| (1.0 + rows / f64::from(frequencies[old as usize])).ln() as f32;
        let idf = vocabulary.iter().map(|&(_, old)| idf(old)).collect();
        Ok((vocabulary, self.counts, idf))
    }
}

/// (text, old number) of each term; the rows; the inverse document frequencies.
type Vocabulary = (Vec<(Box<str>, u32)>, Counts, Vec<f32>);

impl FitOptions {
    fn check(&self) -> Result<(), FitError> {
        if self.dim.is_some_and(|dim| !(1..=DIM_MAX).contains(&dim)) {
            return Err(FitError::Options { option: "dim" });
        }
        if self.vocabulary_max == 0 || self.vocabulary_max > u32::MAX as usize {
            return Err(FitError::Options {
                option: "vocabulary_max",
            });
        }
        Ok(())
    }
}

/// The rows as weights `(1 + ln tf) · idf`, each row of length 1.
fn weighted<'a>(counts: &'a Counts, idf: &[f32]) -> Sparse<'a> {
    let mut weights = Vec::with_capacity(counts.ids().len());
    for row in 0..counts.rows() {
        let start = weights.len();
        weights.extend(
            counts
                .row(row)
                .map(|(id, tf)| log_tf(tf) * idf[id as usize]),
        );
        let row = &mut weights[start..];
        // A weight is at least ln 2, so only an empty row has length 0, and nothing to scale.
        let length = row
            .iter()
            .map(|&weight| f64::from(weight).powi(2))
            .sum::<f64>()
            .sqrt();
        row.iter_mut()
            .for_each(|weight| *weight = (f64::from(*weight) / length) as f32);
    }
    Sparse::new(idf.len(), counts.starts(), counts.ids(), weights)
}

/// The fewest dimensions that keep enough of the energy, within bounds.
fn dim_auto(spectrum: &Spectrum<'_>) -> usize {
    let (least, most) = DIM_AUTO_RANGE;
    (least..most)
        .find(|&dim| spectrum.energy_share(dim) >= ENERGY_TARGET)
        .unwrap_or(most)
}

/// What a fit learned: the projection, and the rows that it was learned from.
#[derive(Clone, Debug)]
pub struct Fitted {
    projection: Projection<Vec<u8>>,
    counts: Counts,
}

impl Fitted {
    /// The projection, ready for use.
    pub fn projection(&self) -> &Projection<Vec<u8>> {
        &self.projection
    }

    /// The projection's bytes, to be stored.
    pub fn into_bytes(self) -> Vec<u8> {
        self.projection.into_bytes()
    }

    /// Rows that were pushed.
    pub fn rows(&self) -> usize {
        self.counts.rows()
    }

    /// The vector of a row, `[dim]` and of length 1: the very numbers that folding the row's terms in
    /// gives. `None` when the row has no term of the vocabulary, or there is no such row.
    pub fn vector(&self, row: usize) -> Option<Vec<f32>> {
        let counts: Vec<_> = self.counts.row(row).collect();
        self.projection.project(&counts)
    }

    /// The vectors of all rows, in order. `4 · dim` bytes each.
    pub fn vectors(&self) -> Vec<Option<Vec<f32>>> {
        (0..self.rows())
            .into_par_iter()
            .map(|row| self.vector(row))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keep_going(_: f32) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn fit(rows: &[Vec<&str>], options: &FitOptions) -> Result<Fitted, FitError> {
        let mut fitter = Fitter::new();
        for row in rows {
            fitter.push(row)?;
        }
        fitter.fit(options, keep_going)
    }

    /// Rows about a few subjects that share some words.
    fn subjects(rows: usize) -> Vec<Vec<String>> {
        let word = |row: usize, i: usize| {
            let number = (row * 2_654_435_761 + i * 40_503 + (row * i) % 97) % 1_000;
            match i % 3 {
                0 => format!("common{}", number % 7),
                1 => format!("subject{}x{}", row % 5, number % 11),
                _ => format!("rare{number}"),
            }
        };
        (0..rows)
            .map(|row| (0..12 + row % 9).map(|i| word(row, i)).collect())
            .collect()
    }

    fn fit_subjects(options: &FitOptions) -> Fitted {
        let mut fitter = Fitter::new();
        subjects(150)
            .iter()
            .for_each(|row| fitter.push(row).unwrap());
        fitter.fit(options, keep_going).unwrap()
    }

    #[test]
    fn folded_in_row_has_the_same_vector_as_in_the_fit() {
        let fitted = fit_subjects(&FitOptions::default());
        for (row, terms) in subjects(150).iter().enumerate() {
            let reversed = terms.iter().rev();
            assert_eq!(
                fitted.projection().embed_terms(reversed),
                fitted.vector(row),
                "{row}"
            );
        }
        assert_eq!(fitted.vectors().len(), 150);
        assert_eq!(fitted.vector(150), None);
    }

    #[test]
    fn vectors_keep_the_cosines_of_the_weighted_rows() {
        // With as many dimensions as the rank, nothing but rounding is lost.
        let fitted = fit_subjects(&FitOptions::default());
        let matrix_rows: Vec<Vec<f64>> = {
            let mut fitter = Fitter::new();
            subjects(150)
                .iter()
                .for_each(|row| fitter.push(row).unwrap());
            let (_, counts, idf) = fitter.into_vocabulary(VOCABULARY_MAX).unwrap();
            let dense = |row: usize| {
                let mut dense = vec![0.0; idf.len()];
                for (id, tf) in counts.row(row) {
                    dense[id as usize] = f64::from(log_tf(tf) * idf[id as usize]);
                }
                let length = dense.iter().map(|x| x * x).sum::<f64>().sqrt();
                dense.iter().map(|x| x / length).collect()
            };
            (0..150).map(dense).collect()
        };
        assert!(fitted.projection().energy() > 0.999);
        let vectors: Vec<_> = fitted.vectors().into_iter().map(Option::unwrap).collect();
        for (i, a) in vectors.iter().enumerate().step_by(7) {
            for (j, b) in vectors.iter().enumerate() {
                let got: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                let want: f64 = matrix_rows[i]
                    .iter()
                    .zip(&matrix_rows[j])
                    .map(|(a, b)| a * b)
                    .sum();
                assert!(
                    (f64::from(got) - want).abs() < 0.01,
                    "{i} {j}: {got} {want}"
                );
            }
        }
    }

    #[test]
    fn bytes_do_not_depend_on_the_number_of_threads() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| fit_subjects(&FitOptions::default()).into_bytes())
        };
        let one = on(1);
        assert!(one == on(2) && one == on(5));
    }

    #[test]
    fn another_seed_gives_the_same_cosines() {
        let options = |seed| FitOptions {
            seed,
            dim: Some(20),
            ..FitOptions::default()
        };
        let (a, b) = (fit_subjects(&options(1)), fit_subjects(&options(2)));
        let cosine = |fitted: &Fitted, row: usize| -> f32 {
            let (first, other) = (fitted.vector(0).unwrap(), fitted.vector(row).unwrap());
            first.iter().zip(&other).map(|(a, b)| a * b).sum()
        };
        for row in 0..150 {
            assert!((cosine(&a, row) - cosine(&b, row)).abs() < 0.03, "{row}");
        }
    }

    #[test]
    fn the_dimensions_are_those_asked_for_up_to_the_rank() {
        let dim = |dim| {
            let options = FitOptions {
                dim,
                ..FitOptions::default()
            };
            fit_subjects(&options).projection().dim()
        };
        assert_eq!(dim(Some(1)), 1);
        assert_eq!(dim(Some(40)), 40);
        assert_eq!(dim(Some(DIM_MAX)), dim(None));
        assert!((140..=150).contains(&dim(None)), "{}", dim(None));
    }

    #[test]
    fn degenerate_corpora_yield_few_dimensions_or_an_error() {
        let long = vec!["word"; 70_000];
        type Case<'a> = (&'a str, Vec<Vec<&'a str>>, Result<usize, FitError>);
        let cases: Vec<Case<'_>> = vec![
            ("no row", vec![], Err(FitError::NoTerms)),
            (
                "rows without terms",
                vec![vec![], vec![]],
                Err(FitError::NoTerms),
            ),
            ("one row of one term", vec![vec!["a"]], Ok(1)),
            ("one row", vec![vec!["a", "b", "b"]], Ok(1)),
            (
                "an empty row between",
                vec![vec!["a"], vec![], vec!["b"]],
                Ok(2),
            ),
            ("all rows equal", vec![vec!["a", "b"]; 600], Ok(1)),
            (
                "two kinds of rows",
                [vec![vec!["a"]; 300], vec![vec!["b"]; 300]].concat(),
                Ok(2),
            ),
            ("a very long row", vec![long, vec!["other"]], Ok(2)),
            ("the empty term", vec![vec!["", "a"], vec!["a"]], Ok(2)),
        ];
        for (name, rows, want) in cases {
            let got = fit(&rows, &FitOptions::default());
            assert_eq!(
                got.as_ref()
                    .map(|f| f.projection().dim())
                    .map_err(Clone::clone),
                want,
                "{name}"
            );
            let Ok(fitted) = got else { continue };
            for (row, terms) in rows.iter().enumerate() {
                let vector = fitted.vector(row);
                assert_eq!(vector.is_some(), !terms.is_empty(), "{name}: {row}");
                assert!(
                    vector.iter().flatten().all(|number| number.is_finite()),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn the_vocabulary_limit_drops_the_rarest_terms() {
        let rows = vec![
            vec!["wing", "flow"],
            vec!["wing", "heat"],
            vec!["heat", "wall"],
        ];
        let options = FitOptions {
            vocabulary_max: 2,
            ..FitOptions::default()
        };
        let fitted = fit(&rows, &options).unwrap();
        let projection = fitted.projection();
        assert_eq!(projection.terms(), 2);
        assert!(projection.term("wing").is_some() && projection.term("heat").is_some());
        assert_eq!(projection.embed_terms(["wall"]), None);
    }

    #[test]
    fn options_out_of_range_are_named() {
        let rows = vec![vec!["a"]];
        for dim in [0, DIM_MAX + 1] {
            let options = FitOptions {
                dim: Some(dim),
                ..FitOptions::default()
            };
            assert_eq!(
                fit(&rows, &options).err(),
                Some(FitError::Options { option: "dim" })
            );
        }
        let options = FitOptions {
            vocabulary_max: 0,
            ..FitOptions::default()
        };
        assert_eq!(
            fit(&rows, &options).err(),
            Some(FitError::Options {
                option: "vocabulary_max"
            })
        );
    }

    #[test]
    fn a_fit_can_be_cancelled() {
        let mut fitter = Fitter::new();
        fitter.push(["a", "b"]).unwrap();
        let stopped = fitter.fit(&FitOptions::default(), |_| ControlFlow::Break(()));
        assert_eq!(stopped.err(), Some(FitError::Cancelled));
    }

    proptest! {
        #[test]
        fn any_small_corpus_is_fitted_or_refused(
            rows in prop::collection::vec(prop::collection::vec("[a-f]{0,2}", 0..8), 0..12),
            dim in prop::option::of(1_usize..6),
            vocabulary_max in 1_usize..10,
            seed: u64,
        ) {
            let mut fitter = Fitter::new();
            rows.iter().for_each(|row| fitter.push(row).unwrap());
            match fitter.fit(&FitOptions { seed, dim, vocabulary_max }, keep_going) {
                Err(error) => {
                    prop_assert_eq!(error, FitError::NoTerms);
                    prop_assert!(rows.iter().all(Vec::is_empty));
                }
                Ok(fitted) => {
                    let found = fitted.projection().dim();
                    prop_assert!(found <= rows.len().min(vocabulary_max).min(dim.unwrap_or(found)));
                    for vector in fitted.vectors().into_iter().flatten() {
                        let length: f32 = vector.iter().map(|number| number * number).sum();
                        prop_assert!((length - 1.0).abs() < 1e-5);
                    }
                }
            }
        }
    }
}
