//! Tall dense matrices, cut into upright strips of [`WIDTH`] columns.
//!
//! A strip is what one thread works on: no strip depends on another while the sparse matrix is
//! applied, so the sums are in the same order for every number of threads. One row of a strip
//! is a fixed array of two cache lines, which the compiler turns into vector instructions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

/// Columns of a strip.
pub(super) const WIDTH: usize = 32;

/// One row of a strip.
pub(super) type Lane = [f32; WIDTH];

/// A dense matrix of `rows` rows; its columns are `width()`, a multiple of [`WIDTH`]. Columns beyond
/// the used ones are zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tiles {
    rows: usize,
    strips: Vec<Vec<Lane>>,
}

impl Tiles {
    /// Builds each strip by itself, in parallel. Every strip must have `rows` lanes.
    pub(super) fn build(
        rows: usize,
        strips: usize,
        strip: impl Fn(usize) -> Vec<Lane> + Sync,
    ) -> Tiles {
        let strips: Vec<_> = (0..strips).into_par_iter().map(&strip).collect();
        debug_assert!(strips.iter().all(|strip| strip.len() == rows));
        Tiles { rows, strips }
    }

    /// Independent standard normal numbers. Each strip has its own stream of `seed`.
    pub(super) fn gaussian(rows: usize, strips: usize, seed: u64) -> Tiles {
        Tiles::build(rows, strips, |strip| {
            let mut source = ChaCha8Rng::seed_from_u64(seed);
            source.set_stream(strip as u64);
            (0..rows).map(|_| gaussian_lane(&mut source)).collect()
        })
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub(super) fn width(&self) -> usize {
        self.strips.len() * WIDTH
    }

    /// The strips, left to right; each `[rows]` lanes.
    pub(super) fn strips(&self) -> &[Vec<Lane>] {
        &self.strips
    }

    /// The strips, to be changed in place.
    #[cfg(test)]
    pub(super) fn strips_mut(&mut self) -> &mut [Vec<Lane>] {
        &mut self.strips
    }

    /// The first `out.len()` numbers of a row.
    pub(super) fn copy_row(&self, row: usize, out: &mut [f32]) {
        for (part, strip) in out.chunks_mut(WIDTH).zip(&self.strips) {
            part.copy_from_slice(&strip[row][..part.len()]);
        }
    }
}

/// A lane of standard normal numbers (Box and Muller, 1958).
fn gaussian_lane(source: &mut ChaCha8Rng) -> Lane {
    let mut lane = [0.0; WIDTH];
    for pair in lane.chunks_exact_mut(2) {
        // In (0, 1], so that the logarithm is finite.
        let unit = (f64::from(source.next_u32()) + 1.0) / 4_294_967_296.0;
        let turn = std::f64::consts::TAU * f64::from(source.next_u32()) / 4_294_967_296.0;
        let radius = (-2.0 * unit.ln()).sqrt();
        pair[0] = (radius * turn.cos()) as f32;
        pair[1] = (radius * turn.sin()) as f32;
    }
    lane
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_numbers_have_mean_nought_and_variance_one() {
        let tiles = Tiles::gaussian(2_000, 2, 7);
        let all: Vec<f64> = tiles
            .strips()
            .iter()
            .flatten()
            .flatten()
            .map(|&x| f64::from(x))
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn seeds_and_strips_differ() {
        let tiles = Tiles::gaussian(4, 2, 7);
        assert_eq!(tiles, Tiles::gaussian(4, 2, 7));
        assert_ne!(tiles, Tiles::gaussian(4, 2, 8));
        assert_ne!(tiles.strips()[0], tiles.strips()[1]);
    }

    #[test]
    fn a_row_is_gathered_across_strips() {
        let tiles = Tiles::build(2, 2, |strip| {
            (0..2)
                .map(|row| std::array::from_fn(|c| (row * 100 + strip * WIDTH + c) as f32))
                .collect()
        });
        let mut out = [0.0; 40];
        tiles.copy_row(1, &mut out);
        assert_eq!(out[0], 100.0);
        assert_eq!(out[39], 139.0);
    }
}
