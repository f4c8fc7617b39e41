//! Compares two sets of options, question by question.
//!
//! The interval is that of the mean of differences: questions are drawn in pairs, so that what is hard for both
//! sides does not blur what differs between them. One that has 0 in it shows no difference.

use serde::Serialize;

use super::{METRICS, StrategyRun, bootstrap, means, round};

/// One metric of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The strategy of the first side.
    pub strategy: String,
    /// What is compared.
    pub metric: &'static str,
    /// Mean of the first side.
    pub a: f64,
    /// Mean of the second side.
    pub b: f64,
    /// How much more the second side has.
    pub difference: f64,
    /// 95 % interval of the difference.
    pub ci95: [f64; 2],
    /// Questions that the second side answers better.
    pub better: usize,
    /// Questions that it answers worse.
    pub worse: usize,
    /// Questions that are answered alike.
    pub same: usize,
}

/// Compares the answers of two sides to the same questions of one folder, one line per metric.
pub fn compare(a: &StrategyRun, b: &StrategyRun) -> Vec<Comparison> {
    let (scores_a, scores_b) = (a.scores(), b.scores());
    let pairs = scores_a.iter().zip(&scores_b);
    let differences: Vec<[f64; METRICS.len()]> = pairs
        .map(|(a, b)| std::array::from_fn(|metric| b[metric] - a[metric]))
        .collect();
    let (means_a, means_b) = (means(&scores_a), means(&scores_b));
    let difference = means(&differences);
    let intervals = bootstrap::intervals(&differences);
    let count = |metric: usize, is: fn(&f64) -> bool| {
        let column = differences.iter().map(|row| row[metric]);
        column.filter(is).count()
    };
    let line = |metric: usize| Comparison {
        strategy: a.strategy.clone(),
        metric: METRICS[metric].0,
        a: means_a[metric],
        b: means_b[metric],
        difference: difference[metric],
        ci95: intervals[metric].map(round),
        better: count(metric, |&d| d > 0.0),
        worse: count(metric, |&d| d < 0.0),
        same: count(metric, |&d| d == 0.0),
    };
    (0..METRICS.len()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Question;

    fn strategy_run(values: impl IntoIterator<Item = f64>) -> StrategyRun {
        let question = |(line, value)| Question {
            line,
            ranked: Vec::new(),
            scores: [value; METRICS.len()],
            took_us: 1.0,
            hits: 0,
            exact: 0,
            resolving: 0,
        };
        StrategyRun {
            strategy: "text".into(),
            questions: values.into_iter().enumerate().map(question).collect(),
        }
    }

    #[test]
    fn pairs_show_a_difference_that_the_sides_alone_would_hide() {
        // The questions differ much more from each other than the sides do.
        let base = |n: u32| f64::from(n % 10) / 10.0;
        let a = strategy_run((0..200).map(base));
        let b = strategy_run((0..200).map(|n| base(n) + if n % 4 == 0 { 0.05 } else { 0.0 }));
        let lines = compare(&a, &b);
        assert_eq!(lines.len(), 6);
        let recall = lines.iter().find(|line| line.metric == "recall@5").unwrap();
        assert_eq!((recall.better, recall.worse, recall.same), (50, 0, 150));
        assert_eq!(
            (recall.a, recall.b, recall.difference),
            (0.45, 0.4625, 0.0125)
        );
        assert!(recall.ci95[0] > 0.0 && recall.ci95[1] < 0.02, "{recall:?}");
        let alone = a.evaluation(&[]).recall_5_ci;
        assert!(alone[0] < 0.45 && alone[1] > 0.4625, "{alone:?}");
    }

    #[test]
    fn a_side_does_not_differ_from_itself() {
        let a = strategy_run([0.0, 0.5, 1.0]);
        for line in compare(&a, &a) {
            assert_eq!(
                (line.difference, line.ci95, line.same),
                (0.0, [0.0, 0.0], 3)
            );
        }
    }
}
