//! Dense algebra on tall strips: inner products, orthonormal columns, change of basis.
//!
//! Written here because the one linear algebra crate that would serve takes nearly five minutes of
//! processor time to compile, and a store that is embedded in an application should not ask for it.
//! The strips hold four-byte numbers; every sum over rows has eight bytes, which is what
//! makes a Cholesky factor of the inner products good enough to orthonormalise with.

use rayon::prelude::*;

use super::tiles::{Lane, Tiles, WIDTH};

/// A dense matrix of doubles, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    columns: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    pub(super) fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix {
            columns,
            numbers: vec![0.0; rows * columns],
        }
    }

    pub(super) fn identity(size: usize) -> Matrix {
        let mut matrix = Matrix::zeros(size, size);
        for i in 0..size {
            matrix.row_mut(i)[i] = 1.0;
        }
        matrix
    }

    pub(super) fn rows(&self) -> usize {
        self.numbers.len().checked_div(self.columns).unwrap_or(0)
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.columns..][..self.columns]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.numbers[row * self.columns..][..self.columns]
    }

    /// Two rows at once, `first < second`.
    pub(super) fn two_rows_mut(&mut self, first: usize, second: usize) -> (&mut [f64], &mut [f64]) {
        let (head, tail) = self.numbers.split_at_mut(second * self.columns);
        (
            &mut head[first * self.columns..][..self.columns],
            &mut tail[..self.columns],
        )
    }
}

/// `aᵀb`, which must be symmetric: only the upper half is summed. `a`, `b`: `[rows × width]`, of one
/// shape; the answer is `[width × width]`.
///
/// Cost: `rows · width² / 2` multiply-adds, in tasks of one pair of strips.
pub(super) fn symmetric_product(a: &Tiles, b: &Tiles) -> Matrix {
    let strips = a.strips().len();
    let pairs: Vec<(usize, usize)> = (0..strips)
        .flat_map(|i| (i..strips).map(move |j| (i, j)))
        .collect();
    let blocks: Vec<_> = pairs
        .par_iter()
        .map(|&(i, j)| strip_product(&a.strips()[i], &b.strips()[j]))
        .collect();
    let mut product = Matrix::zeros(a.width(), a.width());
    for ((i, j), block) in pairs.into_iter().zip(blocks) {
        for (row, line) in block.iter().enumerate() {
            for (column, &number) in line.iter().enumerate() {
                let (row, column) = (i * WIDTH + row, j * WIDTH + column);
                if row <= column {
                    product.row_mut(row)[column] = number;
                    product.row_mut(column)[row] = number;
                }
            }
        }
    }
    product
}

/// `aᵀb` of two strips.
fn strip_product(a: &[Lane], b: &[Lane]) -> Vec<[f64; WIDTH]> {
    let mut sums = vec![[0.0; WIDTH]; WIDTH];
    for (a, b) in a.iter().zip(b) {
        let b = b.map(f64::from);
        for (sum, &a) in sums.iter_mut().zip(a) {
            add_scaled(sum, f64::from(a), &b);
        }
    }
    sums
}

/// `a · change`. `a`: `[rows × width]`; `change`: `[width × any]`, its columns filled up with zeros to
/// whole strips.
///
/// Cost: `rows · width · columns` multiply-adds, in tasks of one strip of the answer.
pub(super) fn times(a: &Tiles, change: &Matrix) -> Tiles {
    debug_assert_eq!(a.width(), change.rows());
    Tiles::build(a.rows(), change.columns().div_ceil(WIDTH), |strip| {
        let change = strip_of(change, strip * WIDTH);
        (0..a.rows())
            .map(|row| row_times(a, row, &change))
            .collect()
    })
}

/// One row of `a` times a strip of doubles.
fn row_times(a: &Tiles, row: usize, change: &[[f64; WIDTH]]) -> Lane {
    let mut sum = [0.0; WIDTH];
    for (strip, change) in a.strips().iter().zip(change.chunks_exact(WIDTH)) {
        for (&number, change) in strip[row].iter().zip(change) {
            add_scaled(&mut sum, f64::from(number), change);
        }
    }
    sum.map(|sum| sum as f32)
}

/// The columns of `matrix` from `first`, at most [`WIDTH`] of them, zeros behind.
fn strip_of(matrix: &Matrix, first: usize) -> Vec<[f64; WIDTH]> {
    let columns = WIDTH.min(matrix.columns() - first);
    let lane = |row: usize| {
        let mut lane = [0.0; WIDTH];
        lane[..columns].copy_from_slice(&matrix.row(row)[first..][..columns]);
        lane
    };
    (0..matrix.rows()).map(lane).collect()
}

fn add_scaled(sum: &mut [f64; WIDTH], factor: f64, lane: &[f64; WIDTH]) {
    for (sum, &number) in sum.iter_mut().zip(lane) {
        *sum += factor * number;
    }
}

/// An orthonormal basis of the columns of `a`. Columns that depend on others, or are zero, are left
/// out, so the answer may be narrower; it is filled up with zero columns to whole strips. `None` when
/// every column is zero.
///
/// Columns are off by no more than about 1e-3 from orthogonal for the worst input, and by the
/// rounding of four-byte numbers when applied twice.
///
/// Source: Fukaya and others, "CholeskyQR2", ScalA 2014, with pivots against dependent columns
/// (Higham, "Accuracy and Stability of Numerical Algorithms", §10.3).
pub(super) fn orthonormalised(a: &Tiles) -> Option<Tiles> {
    let change = inverse_factor(symmetric_product(a, a));
    (change.columns() > 0).then(|| times(a, &change))
}

/// Share of the largest squared length below which what remains of a column is rounding.
const DEPENDENCE_TOLERANCE: f64 = 1e-13;

/// `R` of `[width × rank]` such that `Rᵀ · product · R = 1`: the inverse of the pivoted Cholesky
/// factor, its rows at the pivots.
///
/// Cost: about `width³` multiply-adds at worst.
fn inverse_factor(mut product: Matrix) -> Matrix {
    let width = product.rows();
    let largest = (0..width).map(|i| product.row(i)[i]).fold(0.0, f64::max);
    let mut pivots: Vec<usize> = Vec::new();
    let mut left: Vec<usize> = (0..width).collect();
    // Row `k`: column `k` of the inverse transposed factor, by the original column numbers.
    let mut inverse: Vec<Vec<f64>> = Vec::new();
    while let Some(place) = largest_pivot(&left, &product) {
        let pivot = left[place];
        let rest = product.row(pivot)[pivot];
        if rest.is_nan() || rest <= DEPENDENCE_TOLERANCE * largest {
            break;
        }
        left.remove(place);
        let scale = 1.0 / rest.sqrt();
        let line: Vec<f64> = product
            .row(pivot)
            .iter()
            .map(|number| number * scale)
            .collect();
        inverse.push(next_direction(&inverse, &pivots, &product, pivot, scale));
        for &row in &left {
            let (factor, numbers) = (line[row], product.row_mut(row));
            for &column in &left {
                numbers[column] -= factor * line[column];
            }
        }
        // The factor's line is stored in place of the eliminated row.
        product.row_mut(pivot).copy_from_slice(&line);
        pivots.push(pivot);
    }
    transposed(width, &inverse)
}

/// The place in `left` of the largest diagonal number; the first of equals.
fn largest_pivot(left: &[usize], product: &Matrix) -> Option<usize> {
    let weight = |place: usize| product.row(left[place])[left[place]];
    (0..left.len()).reduce(|best, place| {
        if weight(place) > weight(best) {
            place
        } else {
            best
        }
    })
}

/// The combination of columns whose product is the next orthonormal column: column `pivot`, less its
/// shares of the earlier ones, scaled to length 1.
fn next_direction(
    earlier: &[Vec<f64>],
    pivots: &[usize],
    lines: &Matrix,
    pivot: usize,
    scale: f64,
) -> Vec<f64> {
    let mut direction = vec![0.0; lines.columns()];
    direction[pivot] = scale;
    for (earlier, &line) in earlier.iter().zip(pivots) {
        let coefficient = lines.row(line)[pivot] * scale;
        for (number, &earlier) in direction.iter_mut().zip(earlier) {
            *number -= coefficient * earlier;
        }
    }
    direction
}

/// Columns as a matrix of `rows` rows.
fn transposed(rows: usize, columns: &[Vec<f64>]) -> Matrix {
    let mut matrix = Matrix::zeros(rows, columns.len());
    for (column, numbers) in columns.iter().enumerate() {
        for (row, &number) in numbers.iter().enumerate() {
            matrix.row_mut(row)[column] = number;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `rows` of numbers, the rest of the strip zero.
    fn tiles(rows: &[Vec<f32>]) -> Tiles {
        let columns = rows[0].len();
        Tiles::build(rows.len(), columns.div_ceil(WIDTH), |strip| {
            let number = |row: &[f32], c: usize| row.get(strip * WIDTH + c).copied().unwrap_or(0.0);
            rows.iter()
                .map(|row| std::array::from_fn(|c| number(row, c)))
                .collect()
        })
    }

    fn naive_product(a: &Tiles, b: &Tiles, i: usize, j: usize) -> f64 {
        let at = |x: &Tiles, row: usize, c: usize| f64::from(x.strips()[c / WIDTH][row][c % WIDTH]);
        (0..a.rows()).map(|row| at(a, row, i) * at(b, row, j)).sum()
    }

    /// The largest deviation of `aᵀa` from 1 on the diagonal (0 for a zero column), 0 beside it.
    fn deviation(a: &Tiles) -> f64 {
        let mut worst: f64 = 0.0;
        for i in 0..a.width() {
            for j in 0..a.width() {
                let number = naive_product(a, a, i, j);
                let want = if i == j && number > 0.5 { 1.0 } else { 0.0 };
                worst = worst.max((number - want).abs());
            }
        }
        worst
    }

    fn any_tall() -> impl Strategy<Value = Vec<Vec<f32>>> {
        (1_usize..12, 1_usize..40).prop_flat_map(|(rows, columns)| {
            let number = prop_oneof![1 => Just(0.0_f32), 2 => -1.0_f32..1.0];
            prop::collection::vec(prop::collection::vec(number, columns), rows)
        })
    }

    proptest! {
        #[test]
        fn products_agree_with_the_slow_ones(rows in any_tall()) {
            let a = tiles(&rows);
            let product = symmetric_product(&a, &a);
            for i in 0..a.width() {
                for j in 0..a.width() {
                    prop_assert!((product.row(i)[j] - naive_product(&a, &a, i, j)).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn two_passes_make_any_columns_orthonormal_and_keep_their_span(rows in any_tall()) {
            let a = tiles(&rows);
            let basis = orthonormalised(&a).and_then(|once| orthonormalised(&once));
            let Some(basis) = basis else {
                prop_assert!(rows.iter().flatten().all(|&number| number == 0.0));
                return Ok(());
            };
            prop_assert!(deviation(&basis) < 1e-5, "{}", deviation(&basis));
            // What the basis does not explain of each column is rounding.
            for column in 0..a.width() {
                let length = naive_product(&a, &a, column, column);
                let explained: f64 =
                    (0..basis.width()).map(|k| naive_product(&a, &basis, column, k).powi(2)).sum();
                prop_assert!((length - explained).abs() < 1e-4, "{length} {explained}");
            }
        }
    }

    #[test]
    fn columns_of_very_different_length_become_orthonormal() {
        let mut a = Tiles::gaussian(300, 2, 3);
        for strip in a.strips_mut() {
            for lane in strip {
                for (c, number) in lane.iter_mut().enumerate() {
                    *number *= 0.6_f32.powi(c as i32);
                }
            }
        }
        let once = orthonormalised(&a).unwrap();
        let basis = orthonormalised(&once).unwrap();
        assert!(deviation(&basis) < 1e-5, "{}", deviation(&basis));
    }

    #[test]
    fn zeros_have_no_basis() {
        assert!(orthonormalised(&tiles(&[vec![0.0; 5], vec![0.0; 5]])).is_none());
    }
}
