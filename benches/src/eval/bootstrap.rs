//! How sure a mean over questions is: the percentile bootstrap.
//!
//! Invariant: equal rows give equal intervals, for every number of threads, because each resample draws from
//! a stream of its own.
//!
//! Source: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.

use rayon::prelude::*;

use crate::metrics::percentile;

/// Sets of questions that are drawn.
pub const RESAMPLES: u64 = 10_000;
const SEED: u64 = 42;

/// The 95 % intervals of the means of columns. `rows`: a question each; drawn together, so that columns are
/// comparable. An interval is `[0, 0]` where there are no rows.
///
/// Costs 10,000 draws a row.
pub fn intervals<const N: usize>(rows: &[[f64; N]]) -> [[f64; 2]; N] {
    if rows.is_empty() {
        return [[0.0; 2]; N];
    }
    let means: Vec<[f64; N]> = (0..RESAMPLES)
        .into_par_iter()
        .map(|resample| drawn_mean(rows, resample))
        .collect();
    std::array::from_fn(|column| {
        let mut sorted: Vec<f64> = means.iter().map(|row| row[column]).collect();
        sorted.sort_by(f64::total_cmp);
        [percentile(&sorted, 0.025), percentile(&sorted, 0.975)]
    })
}

/// The means of as many rows as there are, drawn with replacement.
fn drawn_mean<const N: usize>(rows: &[[f64; N]], resample: u64) -> [f64; N] {
    let stream = mixed(SEED ^ resample);
    let mut totals = [0.0; N];
    for draw in 0..rows.len() as u64 {
        let number = u128::from(mixed(stream.wrapping_add(draw)));
        let row = &rows[((number * rows.len() as u128) >> 64) as usize];
        for (total, value) in totals.iter_mut().zip(row) {
            *total += value;
        }
    }
    totals.map(|total| total / rows.len() as f64)
}

/// A number that looks random and follows from its argument: SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_about_two_standard_errors_to_each_side() {
        // Half zeros, half ones: the standard error of the mean of 400 is 0.025.
        let rows: Vec<[f64; 2]> = (0..400).map(|n| [f64::from(n % 2), 0.7]).collect();
        let [half, constant] = intervals(&rows);
        assert!((half[0] - 0.451).abs() < 0.004, "{half:?}");
        assert!((half[1] - 0.549).abs() < 0.004, "{half:?}");
        assert!(
            constant.iter().all(|end| (end - 0.7).abs() < 1e-9),
            "{constant:?}"
        );
    }

    #[test]
    fn equal_rows_give_equal_intervals_and_none_give_zero() {
        let rows: Vec<[f64; 1]> = (0..17).map(|n| [f64::from(n)]).collect();
        assert_eq!(intervals(&rows), intervals(&rows));
        assert_eq!(intervals::<1>(&[]), [[0.0, 0.0]]);
        assert_eq!(intervals(&[[0.25]]), [[0.25, 0.25]]);
    }
}
