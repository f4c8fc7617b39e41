//! Every file operation of a fixed history fails in turn, in five ways, once or for ever.
//!
//! The history inserts, replaces and deletes documents, some large enough for files of their own, merges,
//! compacts, closes and opens. The world that it runs in checks what must hold after a fault; see
//! [`World::apply`](crate::world::World::apply).
//!
//! Ten rounds fail one operation; which it is follows from the number of the round alone, and
//! 22,070 rounds fail all of them.
//! Start reading at [`run`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result, anyhow};

use crate::faulty::{Failure, Fault};
use crate::ops::{Change, Op};
use crate::panics;
use crate::report::{Report, ReportBuilder, Rounds, Violation};
use crate::world::{Tally, World};

/// Ways in which one operation fails: five faults, once or for ever.
const FAILURE_MODES: u64 = 10;
/// A prime a little above the operations that the history has: faults beyond its end do not strike.
const POINTS: u64 = 2207;
/// Neighbouring rounds fail far apart, so that any number of them covers the whole history.
const STRIDE: u64 = 617;

/// The options of the suite.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FaultsArgs {
    /// Which rounds: 6,000 by default; each is one fault.
    #[command(flatten)]
    pub rounds: Rounds,
}

/// Runs the suite.
///
/// # Errors
/// The history fails without a fault; violations are in the report.
pub fn run(args: &FaultsArgs) -> Result<Report> {
    panics::watch();
    let seed = args.rounds.seed;
    let mut running = ReportBuilder::start("faults", seed);
    let operations = without_fault(seed).context("without a fault")?;
    running.count("operations", operations);
    let mut refused = None;
    for round in args.rounds.numbers(6000) {
        let failure = failure(
            round / FAILURE_MODES * STRIDE % POINTS,
            round % FAILURE_MODES,
        );
        let (tally, result) = one_round(args.rounds.seed_of(round), failure);
        running.count("struck", u64::from(tally.faults > 0));
        running.count("searches_refused", tally.refused);
        if tally.refused > 0 {
            refused.get_or_insert(round);
        }
        running.round(round, result.with_context(|| format!("{failure:?}")));
    }
    if let Some(round) = refused {
        // One violation for all: what is behind it is one thing.
        let what = "after a fault searches are refused though the disk can be read".into();
        running.violation(Violation {
            round,
            what,
            list: None,
        });
    }
    Ok(running.finish())
}

fn failure(at: u64, mode: u64) -> Failure {
    Failure {
        at,
        fault: Fault::ALL[(mode % 5) as usize],
        forever: mode >= 5,
    }
}

/// How many operations of the disk the history has.
fn without_fault(seed: u64) -> Result<u64> {
    let mut world = World::new(seed)?;
    world.faults().arm(None);
    for op in history() {
        world.apply(&op)?;
    }
    Ok(world.faults().operations())
}

fn one_round(seed: u64, failure: Failure) -> (Tally, Result<()>) {
    match World::new(seed) {
        Ok(mut world) => {
            // A panic of this thread fails the round, not the suite.
            let played = catch_unwind(AssertUnwindSafe(|| play(&mut world, failure)));
            let result = played.unwrap_or_else(|_| Err(anyhow!("a panic")));
            let result = panics::expect_none().and(result);
            world.tally.faults += world.faults().struck();
            (world.tally, result)
        }
        Err(error) => (Tally::default(), Err(error)),
    }
}

fn play(world: &mut World, failure: Failure) -> Result<()> {
    world.apply(&Op::Fault(failure))?;
    for (place, op) in history().iter().enumerate() {
        world
            .apply(op)
            .with_context(|| format!("operation {place}, {op:?}"))?;
        if world.tally.faults > 0 {
            // It passed, or the store was opened again; what follows shows that it still works.
            let rest = [
                put(1, 900, false),
                Op::Write(vec![Change::Delete { document: 2 }]),
                Op::CheckAll,
            ];
            return rest
                .iter()
                .try_for_each(|op| world.apply(op))
                .context("afterwards");
        }
    }
    Ok(())
}

fn put(document: u8, seed: u32, large: bool) -> Op {
    Op::Write(vec![Change::Put {
        document,
        seed,
        large,
    }])
}

/// The history: every kind of write, parts in rows and in files, merges, a compaction, reopening.
fn history() -> Vec<Op> {
    let mut list = vec![Op::Space(Some(0))];
    list.extend((0..10).map(|n| put(n, 100 + u32::from(n), n == 3)));
    list.extend([Op::Settle, Op::CheckAll, Op::HoldView]);
    list.extend([
        Op::Write(vec![Change::Patch {
            document: 1,
            seed: 5,
        }]),
        Op::Write(vec![Change::Graph {
            document: 2,
            seed: 6,
        }]),
        Op::Write(vec![
            Change::Delete { document: 4 },
            Change::Delete { document: 3 },
        ]),
        Op::Eventual(vec![Change::Put {
            document: 5,
            seed: 7,
            large: false,
        }]),
        Op::Eventual(vec![Change::Put {
            document: 6,
            seed: 8,
            large: true,
        }]),
        Op::Flush,
        Op::Finish,
        Op::Compact,
        Op::CheckViews,
        Op::DropView,
        Op::Reopen,
    ]);
    list.extend((0..8).map(|n| put(n, 200 + u32::from(n), false)));
    list.extend([
        Op::Writers(vec![
            Change::Put {
                document: 8,
                seed: 9,
                large: false,
            },
            Change::Put {
                document: 9,
                seed: 10,
                large: true,
            },
        ]),
        Op::Settle,
        Op::Compact,
        Op::CheckAll,
    ]);
    list
}
