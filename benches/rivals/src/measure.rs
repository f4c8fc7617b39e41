//! One timed pass over all queries.
//!
//! Invariant: the clock runs around searches alone, and recall is counted afterwards from the same
//! answers. Processor time is that of the whole process: a system that starts threads pays for them.
//!
//! Start reading at [`Trial::pass`].

use std::time::{Duration, Instant};

use anyhow::Result;
use cpu_time::ProcessTime;

use crate::data::{Data, K};
use crate::system::System;

/// Recall and speed of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pass {
    /// Share of the right answers that were found.
    pub(crate) recall: f64,
    /// Queries a second.
    pub(crate) qps: f64,
    /// Processor time a query, in microseconds.
    pub(crate) cpu_us: f64,
    /// Median time of a query, in microseconds.
    pub(crate) p50_us: f64,
    /// Time that one query of a hundred exceeds, in microseconds.
    pub(crate) p99_us: f64,
}

impl Pass {
    /// The median of every number by itself.
    pub(crate) fn median(passes: &[Pass]) -> Pass {
        let median_of = |field: fn(&Pass) -> f64| median(passes.iter().map(field).collect());
        Pass {
            recall: median_of(|pass| pass.recall),
            qps: median_of(|pass| pass.qps),
            cpu_us: median_of(|pass| pass.cpu_us),
            p50_us: median_of(|pass| pass.p50_us),
            p99_us: median_of(|pass| pass.p99_us),
        }
    }
}

/// Runs all queries, again and again, without allocating for the answers.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    data: &'a Data,
    answers: Vec<Vec<u32>>,
    took: Vec<Duration>,
}

impl<'a> Trial<'a> {
    /// For the queries of `data`.
    pub(crate) fn new(data: &'a Data) -> Trial<'a> {
        let query_count = data.truth().len();
        Trial {
            data,
            answers: vec![Vec::with_capacity(K); query_count],
            took: Vec::with_capacity(query_count),
        }
    }

    /// Runs every query once.
    pub(crate) fn pass(&mut self, system: &mut dyn System, ef: usize) -> Result<Pass> {
        self.answers.iter_mut().for_each(Vec::clear);
        self.took.clear();
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        for (query, hits) in self.data.queries().zip(&mut self.answers) {
            let started = Instant::now();
            system.search(query, ef, hits)?;
            self.took.push(started.elapsed());
        }
        let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
        self.took.sort_unstable();
        let query_count = self.took.len() as f64;
        Ok(Pass {
            recall: self.recall(),
            qps: query_count / wall.as_secs_f64().max(1e-9),
            cpu_us: cpu.as_secs_f64() * 1e6 / query_count,
            p50_us: percentile(&self.took, 0.50),
            p99_us: percentile(&self.took, 0.99),
        })
    }

    fn recall(&self) -> f64 {
        let rows = self.data.truth().iter().zip(&self.answers);
        let found: usize = rows
            .map(|(truth, hits)| truth.iter().filter(|row| hits.contains(row)).count())
            .sum();
        found as f64 / (self.data.truth().len() * K) as f64
    }
}

/// In microseconds; the nearest rank.
fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .map_or(0.0, |took| took.as_secs_f64() * 1e6)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let took: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        assert_eq!(percentile(&took, 0.50).round(), 50.0);
        assert_eq!(percentile(&took, 0.99).round(), 99.0);
    }
}
