//! Eigenvalues and eigenvectors of a symmetric matrix of a few hundred rows.
//!
//! Householder reflections make it tridiagonal, implicit QL steps make it diagonal. Eigenvectors
//! are kept as rows, so that both steps run along memory.
//!
//! Source: Golub, Van Loan, "Matrix Computations", 4th ed., algorithms 8.3.1 and 8.3.3; Bowdler,
//! Martin, Reinsch, Wilkinson, "The QR and QL algorithms for symmetric matrices", 1968.

use super::dense::Matrix;

/// Eigenvalues, largest first, and the eigenvectors that belong to them.
#[derive(Clone, Debug)]
pub(super) struct Eigen {
    /// `[size]`, descending.
    pub(super) values: Vec<f64>,
    /// Row `k` is the eigenvector of `values[k]`; the rows are orthonormal.
    pub(super) vectors: Matrix,
}

/// Steps per eigenvalue, at most. Two or three are usual.
const STEPS_MAX: usize = 64;

/// Eigenvalues and eigenvectors of the symmetric matrix `a`. `None` when a number of `a` is not
/// finite, or an eigenvalue does not settle, which no finite matrix is known to cause.
///
/// Cost: about `5 · size³` multiply-adds, on one thread.
pub(super) fn symmetric_eigen(mut a: Matrix) -> Option<Eigen> {
    let reflections = tridiagonalise(&mut a);
    let size = a.rows();
    let mut diagonal: Vec<f64> = (0..size).map(|i| a.row(i)[i]).collect();
    // One more than there are, so that the QL step may write behind the last.
    let mut off_diagonal: Vec<f64> = (1..size).map(|i| a.row(i)[i - 1]).chain([0.0]).collect();
    if !diagonal
        .iter()
        .chain(&off_diagonal)
        .all(|number| number.is_finite())
    {
        return None;
    }
    let mut vectors = product_of(&reflections, size);
    for first in 0..size {
        converge(first, &mut diagonal, &mut off_diagonal, &mut vectors)?;
    }
    Some(sorted(&diagonal, &vectors))
}

/// `1 - scale · v vᵀ`, where `v` is zero before `first`.
struct Reflection {
    first: usize,
    scale: f64,
    vector: Vec<f64>,
}

/// Turns `a` into a tridiagonal matrix in place; answers with the reflections in order.
fn tridiagonalise(a: &mut Matrix) -> Vec<Reflection> {
    let size = a.rows();
    let mut reflections = Vec::new();
    for column in 0..size.saturating_sub(2) {
        let first = column + 1;
        // Symmetric: the column below the diagonal is the row right of it.
        let tail = &a.row(column)[first..];
        let below: f64 = tail[1..].iter().map(|number| number * number).sum();
        if below == 0.0 {
            continue;
        }
        let length = (tail[0] * tail[0] + below).sqrt();
        let head = tail[0] + length.copysign(tail[0]);
        let mut vector = tail.to_vec();
        vector[0] = head;
        let scale = 2.0 / (head * head + below);
        reflect_both_sides(a, first, scale, &vector);
        reflections.push(Reflection {
            first,
            scale,
            vector,
        });
    }
    reflections
}

/// `a = H a H` for the reflection `H`, of which only the part from row `first - 1` on changes.
fn reflect_both_sides(a: &mut Matrix, first: usize, scale: f64, vector: &[f64]) {
    let product: Vec<f64> = (first - 1..a.rows())
        .map(|row| scale * dot(&a.row(row)[first..], vector))
        .collect();
    let middle = 0.5 * scale * dot(&product[1..], vector);
    let shift: Vec<f64> = product[1..]
        .iter()
        .zip(vector)
        .map(|(product, v)| product - middle * v)
        .collect();
    for (row, (&left, &v)) in (first..).zip(shift.iter().zip(vector)) {
        for (number, (&right, &w)) in a.row_mut(row)[first..]
            .iter_mut()
            .zip(shift.iter().zip(vector))
        {
            *number -= left * w + v * right;
        }
    }
    // The border row, and the column that mirrors it.
    let border = product[0];
    for (offset, &v) in vector.iter().enumerate() {
        a.row_mut(first - 1)[first + offset] -= border * v;
        let mirrored = a.row(first - 1)[first + offset];
        a.row_mut(first + offset)[first - 1] = mirrored;
    }
}

/// The transposed product of the reflections: row `k` is column `k` of `H₀ H₁ …`.
fn product_of(reflections: &[Reflection], size: usize) -> Matrix {
    let mut rows = Matrix::identity(size);
    for reflection in reflections.iter().rev() {
        let Reflection {
            first,
            scale,
            vector,
        } = reflection;
        for row in *first..size {
            let tail = &mut rows.row_mut(row)[*first..];
            let factor = scale * dot(tail, vector);
            tail.iter_mut()
                .zip(vector)
                .for_each(|(number, v)| *number -= factor * v);
        }
    }
    rows
}

/// Repeats implicit QL steps until eigenvalue `first` is isolated on the diagonal.
fn converge(
    first: usize,
    diagonal: &mut [f64],
    off_diagonal: &mut [f64],
    vectors: &mut Matrix,
) -> Option<()> {
    for _ in 0..STEPS_MAX {
        let last = end_of_block(first, diagonal, off_diagonal);
        if last == first {
            return Some(());
        }
        ql_step(first, last, diagonal, off_diagonal, vectors);
    }
    None
}

/// The last row of the unreduced block that starts at `first`.
fn end_of_block(first: usize, diagonal: &[f64], off_diagonal: &[f64]) -> usize {
    let negligible = |i: usize| {
        off_diagonal[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs())
    };
    (first..diagonal.len() - 1)
        .find(|&i| negligible(i))
        .unwrap_or(diagonal.len() - 1)
}

/// One implicit QL step with Wilkinson's shift on rows `first..=last`.
fn ql_step(
    first: usize,
    last: usize,
    diagonal: &mut [f64],
    off_diagonal: &mut [f64],
    vectors: &mut Matrix,
) {
    let slope = (diagonal[first + 1] - diagonal[first]) / (2.0 * off_diagonal[first]);
    let root = slope.hypot(1.0).copysign(slope);
    let mut bulge = diagonal[last] - diagonal[first] + off_diagonal[first] / (slope + root);
    let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let (far, near) = (sine * off_diagonal[i], cosine * off_diagonal[i]);
        let length = far.hypot(bulge);
        off_diagonal[i + 1] = length;
        if length == 0.0 {
            // The block falls apart here; the next step starts on the smaller one.
            diagonal[i + 1] -= shift;
            off_diagonal[last] = 0.0;
            return;
        }
        (sine, cosine) = (far / length, bulge / length);
        bulge = diagonal[i + 1] - shift;
        let turn = (diagonal[i] - bulge) * sine + 2.0 * cosine * near;
        shift = sine * turn;
        diagonal[i + 1] = bulge + shift;
        bulge = cosine * turn - near;
        rotate(vectors, i, sine, cosine);
    }
    diagonal[first] -= shift;
    off_diagonal[first] = bulge;
    off_diagonal[last] = 0.0;
}

/// Turns rows `row` and `row + 1` in their plane.
fn rotate(vectors: &mut Matrix, row: usize, sine: f64, cosine: f64) {
    let (lower, upper) = vectors.two_rows_mut(row, row + 1);
    for (lower, upper) in lower.iter_mut().zip(upper) {
        (*lower, *upper) = (
            cosine * *lower - sine * *upper,
            sine * *lower + cosine * *upper,
        );
    }
}

fn sorted(values: &[f64], vectors: &Matrix) -> Eigen {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut by_value = Matrix::zeros(values.len(), vectors.columns());
    for (row, &from) in order.iter().enumerate() {
        by_value.row_mut(row).copy_from_slice(vectors.row(from));
    }
    Eigen {
        values: order.iter().map(|&from| values[from]).collect(),
        vectors: by_value,
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Eigenvalues by cyclic Jacobi rotations, largest first: slow and plainly right.
    pub(crate) fn jacobi_values(rows: &[Vec<f64>]) -> Vec<f64> {
        let mut a = rows.to_vec();
        let size = a.len();
        for _ in 0..60 {
            for p in 0..size {
                for q in p + 1..size {
                    jacobi_rotate(&mut a, p, q);
                }
            }
        }
        let mut values: Vec<f64> = (0..size).map(|i| a[i][i]).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    }

    /// Makes `a[p][q]` zero.
    fn jacobi_rotate(a: &mut [Vec<f64>], p: usize, q: usize) {
        if a[p][q] == 0.0 {
            return;
        }
        let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
        let (sine, cosine) = angle.sin_cos();
        for row in a.iter_mut() {
            (row[p], row[q]) = (
                cosine * row[p] - sine * row[q],
                sine * row[p] + cosine * row[q],
            );
        }
        let (head, tail) = a.split_at_mut(q);
        for (x, y) in head[p].iter_mut().zip(&mut tail[0]) {
            (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
        }
    }

    fn any_symmetric() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1_usize..12).prop_flat_map(|size| {
            let number = prop_oneof![1 => Just(0.0), 3 => -2.0..2.0];
            let square = prop::collection::vec(prop::collection::vec(number, size), size);
            square.prop_map(move |a| {
                let number = |i: usize, j: usize| a[i.min(j)][i.max(j)];
                (0..size)
                    .map(|i| (0..size).map(|j| number(i, j)).collect())
                    .collect()
            })
        })
    }

    fn matrix(rows: &[Vec<f64>]) -> Matrix {
        let mut matrix = Matrix::zeros(rows.len(), rows.len());
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).copy_from_slice(row);
        }
        matrix
    }

    proptest! {
        #[test]
        fn values_agree_with_jacobi_and_vectors_belong_to_them(rows in any_symmetric()) {
            let eigen = symmetric_eigen(matrix(&rows)).unwrap();
            for (got, want) in eigen.values.iter().zip(jacobi_values(&rows)) {
                prop_assert!((got - want).abs() < 1e-10, "{got} {want}");
            }
            for k in 0..rows.len() {
                let vector = eigen.vectors.row(k);
                for (row, v) in rows.iter().zip(vector) {
                    prop_assert!((dot(row, vector) - eigen.values[k] * v).abs() < 1e-10);
                }
                for other in 0..=k {
                    let want = f64::from(u8::from(other == k));
                    prop_assert!((dot(vector, eigen.vectors.row(other)) - want).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn iteration_converges_on_special_matrices() {
        type Case<'a> = (&'a str, Vec<Vec<f64>>, &'a [f64]);
        let cases: &[Case<'_>] = &[
            ("nothing but zeros", vec![vec![0.0; 3]; 3], &[0.0, 0.0, 0.0]),
            ("all ones", vec![vec![1.0; 4]; 4], &[4.0, 0.0, 0.0, 0.0]),
            ("one number", vec![vec![-3.0]], &[-3.0]),
            (
                "tiny beside large",
                vec![vec![1e30, 1.0], vec![1.0, 1e-30]],
                &[1e30, 0.0],
            ),
        ];
        for (name, rows, want) in cases {
            let values = symmetric_eigen(matrix(rows)).unwrap().values;
            for (got, want) in values.iter().zip(*want) {
                assert!(
                    (got - want).abs() <= 1e-12 * want.abs().max(1.0),
                    "{name}: {values:?}"
                );
            }
        }
    }

    #[test]
    fn non_finite_matrix_is_rejected() {
        assert!(symmetric_eigen(matrix(&[vec![f64::NAN]])).is_none());
        assert!(
            symmetric_eigen(matrix(&[
                vec![1.0, f64::INFINITY],
                vec![f64::INFINITY, 1.0]
            ]))
            .is_none()
        );
    }
}
