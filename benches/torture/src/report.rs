//! The rounds that a suite runs, and its report: one line of JSON.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

/// Which rounds a suite runs.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Rounds {
    /// How many rounds.
    #[arg(long)]
    pub rounds: Option<u64>,
    /// The seed that all rounds follow from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only this round, from 0.
    #[arg(long)]
    pub round: Option<u64>,
}

impl Rounds {
    /// All of `count` rounds.
    pub fn all(count: u64, seed: u64) -> Rounds {
        Rounds {
            rounds: Some(count),
            seed,
            round: None,
        }
    }

    /// The numbers of the rounds; `default` rounds if the options give no number.
    pub fn numbers(&self, default: u64) -> std::ops::Range<u64> {
        match self.round {
            Some(round) => round..round + 1,
            None => 0..self.rounds.unwrap_or(default),
        }
    }

    /// The seed of one round.
    pub fn seed_of(&self, round: u64) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(round)
    }
}

/// The result of a suite.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub suite: String,
    /// The seed that all rounds follow from.
    pub seed: u64,
    /// Rounds that ran.
    pub rounds: u64,
    /// How long it took.
    pub seconds: f64,
    /// Counters.
    #[serde(flatten)]
    pub counters: BTreeMap<String, u64>,
    /// Measurements.
    #[serde(flatten)]
    pub measures: BTreeMap<String, f64>,
    /// Measurements at points in time, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<BTreeMap<String, f64>>,
    /// Violations; empty if the suite passed.
    pub violations: Vec<Violation>,
}

/// A property that did not hold.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// The round that reproduces it, with the seed of the report.
    pub round: u64,
    /// The finding.
    pub what: String,
    /// The shortest list of operations that reproduces it, as JSON; `--replay` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// Builds a report.
pub struct ReportBuilder {
    report: Report,
    started: Instant,
}

impl ReportBuilder {
    /// Starts the clock.
    pub fn start(suite: &str, seed: u64) -> ReportBuilder {
        ReportBuilder {
            report: Report {
                suite: suite.into(),
                seed,
                rounds: 0,
                seconds: 0.0,
                counters: BTreeMap::new(),
                measures: BTreeMap::new(),
                minutes: Vec::new(),
                violations: Vec::new(),
            },
            started: Instant::now(),
        }
    }

    /// Counts a round, and records its violation, if any.
    pub fn round(&mut self, round: u64, result: anyhow::Result<()>) {
        self.report.rounds += 1;
        if let Err(error) = result {
            let what = format!("{error:#}");
            self.violation(Violation {
                round,
                what,
                list: None,
            });
        }
    }

    /// Records a violation, and prints it.
    pub fn violation(&mut self, violation: Violation) {
        eprintln!(
            "{}: --seed {} --round {}: {}",
            self.report.suite, self.report.seed, violation.round, violation.what
        );
        self.report.violations.push(violation);
    }

    /// Adds to a counter.
    pub fn count(&mut self, name: &str, more: u64) {
        *self.report.counters.entry(name.into()).or_default() += more;
    }

    /// Records a measurement, rounded to thousandths.
    pub fn measure(&mut self, name: &str, value: f64) {
        let rounded = (value * 1_000.0).round() / 1_000.0;
        self.report.measures.insert(name.into(), rounded);
    }

    /// Records measurements at one point in time.
    pub fn minute(&mut self, measures: impl IntoIterator<Item = (&'static str, f64)>) {
        let named = measures.into_iter();
        let named = named.map(|(name, value)| (name.to_owned(), value));
        self.report.minutes.push(named.collect());
    }

    /// Stops the clock.
    pub fn finish(mut self) -> Report {
        self.report.seconds = self.started.elapsed().as_secs_f64();
        self.report
    }
}
