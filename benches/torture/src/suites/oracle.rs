//! Long histories with restarts and faults: after each operation the store equals the model.
//!
//! A history that fails is shrunk: runs of operations are left out for as long as the rest fails too.
//! What is left is printed as JSON, and `--replay` runs it again.
//!
//! Start reading at [`run`].

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::documents::DOCUMENTS;
use crate::ops::{Change, Op, Profile};
use crate::panics;
use crate::report::{Report, ReportBuilder, Rounds, Violation};
use crate::shrink::shrink;
use crate::source::Source;
use crate::world::{Tally, World};

/// Operations of a round.
const OPERATIONS: usize = 400;
/// How often a failing list is run again to find a shorter one.
const SHRINK_MAX: usize = 600;
/// How long that may take.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(120);

/// The options of the suite.
#[derive(Clone, Debug, clap::Args)]
pub struct OracleArgs {
    /// Which rounds: 500 by default, of 400 operations each.
    #[command(flatten)]
    pub rounds: Rounds,
    /// Runs the list of operations in this file, and nothing else.
    #[arg(long)]
    pub replay: Option<PathBuf>,
}

/// Runs the suite.
///
/// # Errors
/// The file to replay cannot be read; violations are in the report.
pub fn run(args: &OracleArgs) -> Result<Report> {
    panics::watch();
    let seed = args.rounds.seed;
    let mut running = ReportBuilder::start("oracle", seed);
    if let Some(path) = &args.replay {
        let list: Vec<Op> = serde_json::from_str(&fs::read_to_string(path)?)?;
        let (tally, result) = history(&list, args.rounds.seed_of(args.rounds.round.unwrap_or(0)));
        count(&mut running, tally);
        running.round(0, result);
        return Ok(running.finish());
    }
    for round in args.rounds.numbers(500) {
        let seed = args.rounds.seed_of(round);
        let list = list_of(seed);
        let (tally, result) = history(&list, seed);
        count(&mut running, tally);
        let failed = result.as_ref().err().map(|error| format!("{error:#}"));
        running.round(round, Ok(()));
        if let Some(what) = failed {
            let started = Instant::now();
            let in_time = || started.elapsed() < SHRINK_TIME_MAX;
            let fails = |part: &[Op]| in_time() && history(part, seed).1.is_err();
            let shortest = shrink(&list, SHRINK_MAX, fails);
            let list = Some(serde_json::to_string(&shortest)?);
            running.violation(Violation { round, what, list });
        }
    }
    Ok(running.finish())
}

fn count(running: &mut ReportBuilder, tally: Tally) {
    running.count("operations", tally.operations);
    running.count("restarts", tally.restarts);
    running.count("faults", tally.faults);
    running.count("checks", tally.checks);
    running.count("searches_refused", tally.refused);
}

/// The operations of one round. Every other round is without faults, so that the store also grows old.
fn list_of(seed: u64) -> Vec<Op> {
    let mut source = Source::stream(seed, 2);
    let fault = if seed.is_multiple_of(2) { 40 } else { 0 };
    let profile = Profile {
        large: 120,
        restart: 80,
        fault,
    };
    let mut list = Op::draw_list(&mut source, &profile, OPERATIONS);
    list.push(Op::CheckAll);
    // Nothing may be left of concepts without contributions.
    let deleted = (0..DOCUMENTS).map(|document| Change::Delete { document });
    list.push(Op::Write(deleted.collect()));
    list.extend([Op::Finish, Op::CheckAll]);
    list
}

/// Applies all operations; returns the number applied, and the error.
pub fn history(list: &[Op], seed: u64) -> (Tally, Result<()>) {
    let mut world = match World::new(seed) {
        Ok(world) => world,
        Err(error) => return (Tally::default(), Err(error)),
    };
    let result = list.iter().enumerate().try_for_each(|(place, op)| {
        let applied = world.apply(op);
        applied.with_context(|| format!("operation {place}, {op:?}"))
    });
    (world.tally, result)
}
