//! The weighted rows as a sparse matrix, and its products with dense strips.
//!
//! Compressed sparse rows: the numbers of row `i` are at `starts[i]..starts[i + 1]`, ascending by
//! column. Every product takes one strip of the dense matrix at a time, row after row, so a strip's
//! sums are the same on one thread and on many, and no thread needs a dense block of its own beyond
//! the strip that it writes.

use std::borrow::Cow;

use super::tiles::{Lane, Tiles, WIDTH};

/// A sparse matrix `[rows × columns]`.
#[derive(Clone, Debug)]
pub(super) struct Sparse<'a> {
    columns: usize,
    starts: Cow<'a, [usize]>,
    ids: Cow<'a, [u32]>,
    weights: Vec<f32>,
}

impl<'a> Sparse<'a> {
    /// `starts`: rows + 1 ascending places, from 0 to the number of weights. `ids`: a column below
    /// `columns` for each weight.
    pub(super) fn new(
        columns: usize,
        starts: &'a [usize],
        ids: &'a [u32],
        weights: Vec<f32>,
    ) -> Sparse<'a> {
        debug_assert_eq!(ids.len(), weights.len());
        debug_assert_eq!(starts.last().copied(), Some(ids.len()));
        debug_assert!(ids.iter().all(|&id| (id as usize) < columns));
        Sparse {
            columns,
            starts: Cow::Borrowed(starts),
            ids: Cow::Borrowed(ids),
            weights,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Sum of the squares of all numbers, which is the sum of the squared singular values.
    pub(super) fn energy(&self) -> f64 {
        self.weights
            .iter()
            .map(|&weight| f64::from(weight).powi(2))
            .sum()
    }

    /// Rows become columns. A stable counting sort: one pass to count, one to place.
    pub(super) fn transposed(&self) -> Sparse<'static> {
        let mut starts = vec![0; self.columns + 1];
        for &id in self.ids.iter() {
            starts[id as usize + 1] += 1;
        }
        for column in 0..self.columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; self.ids.len()];
        let mut weights = vec![0.0; self.ids.len()];
        for row in 0..self.rows() {
            for (id, weight) in self.row(row) {
                let place = next[id];
                next[id] += 1;
                ids[place] = u32::try_from(row).expect("a fit has fewer than 2^32 rows");
                weights[place] = weight;
            }
        }
        let columns = self.rows();
        Sparse {
            columns,
            starts: Cow::Owned(starts),
            ids: Cow::Owned(ids),
            weights,
        }
    }

    /// `AᵀA · x`. `x`: `[columns × any]`; so is the answer. Two multiply-adds for each number of the
    /// matrix and column of `x`; the product `A · x` is never stored.
    pub(super) fn gram_times(&self, x: &Tiles) -> Tiles {
        debug_assert_eq!(x.rows(), self.columns);
        Tiles::build(x.rows(), x.strips().len(), |strip| {
            let x = &x.strips()[strip];
            let mut out = vec![[0.0; WIDTH]; x.len()];
            for row in 0..self.rows() {
                let lane = self.row_times(row, x);
                for (id, weight) in self.row(row) {
                    add_scaled(&mut out[id], weight, &lane);
                }
            }
            out
        })
    }

    /// `A · x`. `x`: `[columns × any]`; the answer is `[rows × any]`.
    pub(super) fn times(&self, x: &Tiles) -> Tiles {
        debug_assert_eq!(x.rows(), self.columns);
        Tiles::build(self.rows(), x.strips().len(), |strip| {
            (0..self.rows())
                .map(|row| self.row_times(row, &x.strips()[strip]))
                .collect()
        })
    }

    /// One row of `A` times one strip.
    fn row_times(&self, row: usize, x: &[Lane]) -> Lane {
        let mut lane = [0.0; WIDTH];
        for (id, weight) in self.row(row) {
            add_scaled(&mut lane, weight, &x[id]);
        }
        lane
    }

    /// (column, number) of one row.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        let ids = self.ids[range.clone()].iter().map(|&id| id as usize);
        ids.zip(self.weights[range].iter().copied())
    }
}

fn add_scaled(sum: &mut Lane, factor: f32, lane: &Lane) {
    for (sum, &number) in sum.iter_mut().zip(lane) {
        *sum += factor * number;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A small dense matrix with many zeros, as rows.
    pub(crate) fn any_rows() -> impl Strategy<Value = Vec<Vec<f32>>> {
        (1_usize..14, 1_usize..14).prop_flat_map(|(rows, columns)| {
            let number = prop_oneof![2 => Just(0.0_f32), 3 => -1.0_f32..1.0];
            prop::collection::vec(prop::collection::vec(number, columns), rows)
        })
    }

    /// The parts of a sparse matrix with these `rows`.
    pub(crate) fn parts(rows: &[Vec<f32>]) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
        let (mut starts, mut ids, mut weights) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (column, &number) in row.iter().enumerate().filter(|(_, number)| **number != 0.0) {
                ids.push(column as u32);
                weights.push(number);
            }
            starts.push(ids.len());
        }
        (starts, ids, weights)
    }

    fn dense_times(rows: &[Vec<f32>], x: &Tiles) -> Vec<Vec<f32>> {
        let column = |c: usize, row: &[f32]| {
            row.iter()
                .enumerate()
                .map(|(i, a)| a * x.strips()[c / WIDTH][i][c % WIDTH])
                .sum()
        };
        rows.iter()
            .map(|row| (0..x.width()).map(|c| column(c, row)).collect())
            .collect()
    }

    fn as_rows(tiles: &Tiles) -> Vec<Vec<f32>> {
        let mut rows = vec![vec![0.0; tiles.width()]; tiles.rows()];
        for (row, out) in rows.iter_mut().enumerate() {
            tiles.copy_row(row, out);
        }
        rows
    }

    fn is_close(a: &[Vec<f32>], b: &[Vec<f32>]) -> bool {
        a.len() == b.len()
            && a.iter()
                .flatten()
                .zip(b.iter().flatten())
                .all(|(a, b)| (a - b).abs() < 1e-4)
    }

    proptest! {
        #[test]
        fn products_agree_with_the_dense_ones(rows in any_rows()) {
            let (starts, ids, weights) = parts(&rows);
            let sparse = Sparse::new(rows[0].len(), &starts, &ids, weights);
            let x = Tiles::gaussian(rows[0].len(), 2, 1);
            let product = sparse.times(&x);
            prop_assert!(is_close(&as_rows(&product), &dense_times(&rows, &x)));
            let back = sparse.transposed().times(&product);
            prop_assert!(is_close(&as_rows(&sparse.gram_times(&x)), &as_rows(&back)));
        }

        #[test]
        fn transposing_twice_changes_nothing(rows in any_rows()) {
            let (starts, ids, weights) = parts(&rows);
            let sparse = Sparse::new(rows[0].len(), &starts, &ids, weights);
            let twice = sparse.transposed().transposed();
            prop_assert_eq!(&*twice.starts, &starts[..]);
            prop_assert_eq!(&*twice.ids, &ids[..]);
            prop_assert_eq!(&twice.weights, &sparse.weights);
            prop_assert_eq!(twice.columns(), sparse.columns());
        }
    }
}
