//! How two curves of speed over recall compare where recall is the same.
//!
//! Between two measured efs, the logarithm of a speed is taken to be linear in recall. Nothing is
//! guessed outside of what was measured: a curve that does not reach a recall has no speed at it.
//!
//! Start reading at [`ratios`].

use serde_json::{Value, json};

/// Recalls at which curves are compared: what an index should reach, and what it is tuned to.
const RECALLS: [f64; 2] = [0.955, 0.985];

/// What one ef gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Share of the right answers that were found.
    pub(crate) recall: f64,
    /// Queries a second.
    pub(crate) qps: f64,
    /// Processor time a query, in microseconds.
    pub(crate) cpu_us: f64,
}

/// Our speed by theirs at each of the recalls: by the clock, and by processor time.
pub(crate) fn ratios(ours: &[Point], theirs: &[Point]) -> Value {
    let rows = RECALLS.map(|recall| {
        let qps = |curve| at(curve, recall, |point| point.qps);
        let per_cpu = |curve| at(curve, recall, |point| 1e6 / point.cpu_us);
        json!({
            "recall10": recall,
            "loci_qps": qps(ours),
            "rival_qps": qps(theirs),
            "qps_ratio": ratio(qps(ours), qps(theirs)),
            "cpu_ratio": ratio(per_cpu(ours), per_cpu(theirs)),
        })
    });
    json!({ "at": rows })
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    Some(ours? / theirs?)
}

/// A speed at a recall, by the first pair of neighbours on the curve that it lies between.
fn at(curve: &[Point], recall: f64, speed: fn(&Point) -> f64) -> Option<f64> {
    let pair = curve.windows(2).find_map(|pair| match pair {
        [low, high] if low.recall <= recall && recall <= high.recall => Some((low, high)),
        _ => None,
    });
    let (low, high) = pair?;
    let width = high.recall - low.recall;
    let share = if width > 0.0 {
        (recall - low.recall) / width
    } else {
        0.0
    };
    let (slow, fast) = (speed(high).ln(), speed(low).ln());
    Some((fast + (slow - fast) * share).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Vec<Point> {
        let point = |&(recall, qps)| Point {
            recall,
            qps,
            cpu_us: 1e6 / qps,
        };
        points.iter().map(point).collect()
    }

    #[test]
    fn speed_at_a_recall() {
        let measured = curve(&[(0.90, 10_000.0), (0.95, 1_000.0), (1.0, 10.0)]);
        let cases = [
            ("below the curve", 0.89, None),
            ("its first point", 0.90, Some(10_000.0)),
            ("between two", 0.975, Some(100.0)),
            ("its last point", 1.0, Some(10.0)),
        ];
        for (what, recall, want) in cases {
            let got = at(&measured, recall, |point| point.qps);
            assert_eq!(got.map(f64::round), want, "{what}");
        }
        assert_eq!(at(&measured[..2], 0.96, |point| point.qps), None);
    }

    #[test]
    fn twice_as_fast_is_a_ratio_of_two() {
        let ours = curve(&[(0.9, 4_000.0), (0.97, 2_000.0)]);
        let theirs = curve(&[(0.9, 2_000.0), (0.97, 1_000.0)]);
        let got = ratios(&ours, &theirs);
        let first = got["at"][0]["qps_ratio"].as_f64();
        assert_eq!(first.map(|ratio| (ratio * 1e6).round()), Some(2e6));
        assert!(got["at"][1]["qps_ratio"].is_null());
    }
}
