//! The leading right singular vectors of a sparse matrix, by randomised subspace iteration.
//!
//! A block of random vectors is multiplied by `AᵀA` and made orthonormal again, a few times; what
//! is left spans the leading singular vectors to high accuracy, and a small eigenproblem inside the
//! span tells them apart. It works on the shorter side of the matrix: with fewer rows than columns,
//! the left vectors are found and multiplied through.
//!
//! `AᵀA` squares the singular values, so in four-byte numbers those below about a thousandth of the
//! largest drown in rounding. In weighted rows of length 1 the few hundred that are kept lie well
//! above; what does not is cut by [`Spectrum::rank`].
//!
//! Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 2011:
//! algorithm 4.4 (with one orthonormalisation for each product with `AᵀA`) and section 5.1.

use std::ops::ControlFlow;

use super::dense::{Matrix, orthonormalised, symmetric_product, times};
use super::eigen::symmetric_eigen;
use super::fitter::FitError;
use super::sparse::Sparse;
use super::tiles::{Tiles, WIDTH};

/// Additional columns, which speed the convergence of the last ones.
const OVERSAMPLE: usize = 32;

/// Products with `AᵀA` after the first.
const ITERATIONS: usize = 4;

/// Share of the largest squared singular value below which one is rounding.
const RANK_TOLERANCE: f64 = 1e-6;

/// Told how much of the work is done, 0 to 1; a break ends the work.
pub(super) type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// The leading part of a singular value decomposition.
pub(super) struct Spectrum<'a> {
    /// The matrix, its columns on the shorter side.
    matrix: Sparse<'a>,
    /// Whether `matrix` is the transposed one.
    is_transposed: bool,
    /// Orthonormal columns that span the singular vectors of the shorter side.
    basis: Tiles,
    /// Squared singular values, descending.
    energies: Vec<f64>,
    /// Row `k`: singular vector `k` in terms of the basis.
    vectors: Matrix,
    /// Sum of all squared singular values, including those that were not computed.
    total: f64,
}

impl<'a> Spectrum<'a> {
    /// Computes the `wanted` largest singular values of `matrix` and their vectors. `seed` chooses the
    /// first block. Tells `progress` after every product and every orthonormalisation.
    ///
    /// Cost: `10 · numbers · w` multiply-adds for the products and about `8 · side · w²` for the
    /// rest, where `w = wanted + 32` and `side` is the shorter side.
    ///
    /// # Errors
    /// [`FitError::NoTerms`] when the matrix is zero, `Cancelled`, `NotFinite`.
    pub(super) fn compute(
        matrix: Sparse<'a>,
        dim_max: usize,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Spectrum<'a>, FitError> {
        let is_transposed = matrix.rows() < matrix.columns();
        let total = matrix.energy();
        let matrix = if is_transposed {
            matrix.transposed()
        } else {
            matrix
        };
        let side = matrix.columns();
        let strips = (dim_max + OVERSAMPLE).min(side).div_ceil(WIDTH);
        let mut steps = Steps { done: 0, progress };
        let mut basis = Tiles::gaussian(side, strips, seed);
        for _ in 0..=ITERATIONS {
            basis = matrix.gram_times(&basis);
            steps.advance()?;
            basis = orthonormalised(&basis).ok_or(FitError::NoTerms)?;
            steps.advance()?;
        }
        basis = orthonormalised(&basis).ok_or(FitError::NoTerms)?;
        steps.advance()?;
        let product = matrix.gram_times(&basis);
        steps.advance()?;
        let eigen =
            symmetric_eigen(symmetric_product(&basis, &product)).ok_or(FitError::NotFinite)?;
        steps.advance()?;
        let (energies, vectors) = (eigen.values, eigen.vectors);
        Ok(Spectrum {
            matrix,
            is_transposed,
            basis,
            energies,
            vectors,
            total,
        })
    }

    /// Singular values above the rounding error; at least 1.
    pub(super) fn rank(&self) -> usize {
        let least = RANK_TOLERANCE * self.energies[0];
        self.energies
            .iter()
            .take_while(|&&energy| energy > least)
            .count()
            .max(1)
    }

    /// Share of the matrix's squared numbers that the first `dim` singular vectors explain, 0 to 1.
    pub(super) fn energy_share(&self, dim: usize) -> f64 {
        let captured: f64 = self.energies.iter().take(dim).sum();
        (captured / self.total).clamp(0.0, 1.0)
    }

    /// The first `dim` right singular vectors, `[columns × dim]`, filled up to whole strips with
    /// zeros. `dim`: 1 to [`rank`](Self::rank).
    pub(super) fn right_vectors(self, dim: usize) -> Tiles {
        let mut change = Matrix::zeros(self.basis.width(), dim);
        for k in 0..dim {
            // The left vectors become right ones when divided by their singular values.
            let scale = if self.is_transposed {
                1.0 / self.energies[k].sqrt()
            } else {
                1.0
            };
            for (row, &number) in self.vectors.row(k).iter().enumerate() {
                change.row_mut(row)[k] = scale * number;
            }
        }
        let vectors = times(&self.basis, &change);
        if self.is_transposed {
            self.matrix.times(&vectors)
        } else {
            vectors
        }
    }
}

/// Counts the steps of a decomposition.
struct Steps<'a> {
    done: usize,
    progress: Progress<'a>,
}

impl Steps<'_> {
    const ALL: usize = 2 * (ITERATIONS + 1) + 3;

    fn advance(&mut self) -> Result<(), FitError> {
        self.done += 1;
        match (self.progress)(self.done as f32 / Self::ALL as f32) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(FitError::Cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::eigen::tests::jacobi_values;
    use super::super::sparse::tests::{any_rows, parts};
    use super::*;

    fn keep_going(_: f32) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// `aᵀa` in doubles.
    fn gram(rows: &[Vec<f32>]) -> Vec<Vec<f64>> {
        let number = |i: usize, j: usize| -> f64 {
            rows.iter()
                .map(|row| f64::from(row[i]) * f64::from(row[j]))
                .sum()
        };
        let size = rows[0].len();
        (0..size)
            .map(|i| (0..size).map(|j| number(i, j)).collect())
            .collect()
    }

    /// What remains of the squares of `rows` after projection on the columns of `vectors`.
    fn unexplained(rows: &[Vec<f32>], vectors: &Tiles, dim: usize) -> f64 {
        let all: f64 = rows.iter().flatten().map(|&x| f64::from(x).powi(2)).sum();
        let mut out = vec![0.0_f32; dim];
        let mut captured = 0.0;
        for row in rows {
            let mut sums = vec![0.0_f64; dim];
            for (term, &weight) in row.iter().enumerate() {
                vectors.copy_row(term, &mut out);
                for (sum, &number) in sums.iter_mut().zip(&out) {
                    *sum += f64::from(weight) * f64::from(number);
                }
            }
            captured += sums.iter().map(|sum| sum * sum).sum::<f64>();
        }
        all - captured
    }

    proptest! {
        /// The singular values, and the part of the matrix that the first `dim` vectors leave
        /// unexplained: equal even where singular values are equal and the vectors are not unique.
        #[test]
        fn agrees_with_a_dense_decomposition(rows in any_rows(), seed: u64) {
            let values = jacobi_values(&gram(&rows));
            let (starts, ids, weights) = parts(&rows);
            let sparse = Sparse::new(rows[0].len(), &starts, &ids, weights);
            match Spectrum::compute(sparse.clone(), 8, seed, &mut keep_going) {
                Err(FitError::NoTerms) => prop_assert!(sparse.energy() == 0.0),
                Err(other) => prop_assert!(false, "{other}"),
                Ok(spectrum) => {
                    for (got, want) in spectrum.energies.iter().zip(&values) {
                        prop_assert!((got - want).abs() < 1e-4 * values[0], "{got} {want}");
                    }
                    let dim = spectrum.rank().min(8);
                    let want: f64 = values[dim..].iter().sum();
                    let share = spectrum.energy_share(dim);
                    let got = unexplained(&rows, &spectrum.right_vectors(dim), dim);
                    prop_assert!((got - want).abs() < 2e-4 * sparse.energy(), "{got} {want}");
                    prop_assert!((share - (1.0 - want / sparse.energy())).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn leading_singular_values_are_found_with_fewer_columns_than_the_rank() {
        // 120 × 90 of full rank; 8 wanted: the block has 40 columns, filled up to 64.
        let block = Tiles::gaussian(120, 3, 11);
        let mut rows = vec![vec![0.0_f32; 90]; 120];
        for (i, row) in rows.iter_mut().enumerate() {
            block.copy_row(i, row);
            for (j, number) in row.iter_mut().enumerate() {
                *number *= 0.95_f32.powi(j as i32);
            }
        }
        let values = jacobi_values(&gram(&rows));
        let (starts, ids, weights) = parts(&rows);
        let sparse = Sparse::new(90, &starts, &ids, weights);
        let spectrum = Spectrum::compute(sparse, 8, 5, &mut keep_going).unwrap();
        for (got, want) in spectrum.energies.iter().zip(&values).take(8) {
            assert!((got - want).abs() < 1e-4 * want, "{got} {want}");
        }
    }

    #[test]
    fn progress_increases_to_one_and_break_cancels_the_work() {
        let (starts, ids, weights) = parts(&[vec![1.0, 0.5], vec![0.0, 1.0]]);
        let sparse = Sparse::new(2, &starts, &ids, weights);
        let mut reported = Vec::new();
        let mut record = |share: f32| {
            reported.push(share);
            ControlFlow::Continue(())
        };
        Spectrum::compute(sparse.clone(), 2, 0, &mut record).unwrap();
        assert!(
            reported.is_sorted() && reported.last() == Some(&1.0),
            "{reported:?}"
        );
        let mut left = 5;
        let mut stop = |_: f32| {
            left -= 1;
            if left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        assert!(matches!(
            Spectrum::compute(sparse, 2, 0, &mut stop),
            Err(FitError::Cancelled)
        ));
    }
}
