//! What a suite is asked, and what it reports: one line of JSON.

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

    /// The numbers of the rounds; `default` many where none are asked for.
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

/// What a suite found.
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
    /// What was counted.
    #[serde(flatten)]
    pub figures: BTreeMap<String, u64>,
    /// What was measured.
    #[serde(flatten)]
    pub measures: BTreeMap<String, f64>,
    /// The same at moments, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<BTreeMap<String, f64>>,
    /// Promises that were broken; empty is what everybody hopes for.
    pub violations: Vec<Violation>,
}

/// A promise that was broken.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// The round that shows it again, with the seed of the report.
    pub round: u64,
    /// What was found.
    pub what: String,
    /// The shortest list of operations that showed it, as JSON; `--replay` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

/// A report that is being made.
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
                figures: BTreeMap::new(),
                measures: BTreeMap::new(),
                minutes: Vec::new(),
                violations: Vec::new(),
            },
            started: Instant::now(),
        }
    }

    /// Counts a round, and notes what it found.
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

    /// Notes a violation, and says it at once.
    pub fn violation(&mut self, violation: Violation) {
        eprintln!(
            "{}: --seed {} --round {}: {}",
            self.report.suite, self.report.seed, violation.round, violation.what
        );
        self.report.violations.push(violation);
    }

    /// Adds to a figure.
    pub fn count(&mut self, figure: &str, more: u64) {
        *self.report.figures.entry(figure.into()).or_default() += more;
    }

    /// Notes a measure, rounded to thousandths.
    pub fn measure(&mut self, measure: &str, value: f64) {
        let rounded = (value * 1_000.0).round() / 1_000.0;
        self.report.measures.insert(measure.into(), rounded);
    }

    /// Notes what was measured at one moment.
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
