//! `loci-torture`: runs a suite and prints one line of JSON; a broken promise is exit status 1.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use loci_torture::heap::CountedHeap;
use loci_torture::suites::{crash, damage, disk, faults, kill, mixed, opening, oracle, rates};

/// That of `loci`, so that memory behaves as there.
#[global_allocator]
static HEAP: CountedHeap = CountedHeap;

/// A store under power failures, faults and random histories, beside a plain model of it.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Power failures at any instant; with --double a second one during recovery.
    Crash(crash::CrashArgs),
    /// One place of a store is damaged: no answer, export or backup may be silently wrong.
    Damage(damage::DamageArgs),
    /// What `damage` starts.
    #[command(hide = true)]
    Look(damage::LookArgs),
    /// Every file operation of a fixed history fails in turn.
    Faults(faults::FaultsArgs),
    /// Long random histories beside a model; a failing one is shrunk.
    Oracle(oracle::OracleArgs),
    /// The real binary is killed under load, at random and at named moments.
    Kill(kill::KillArgs),
    /// What durable writes cost, beside redb alone.
    Rates(rates::RatesArgs),
    /// Searches, writes and compaction together on a real disk.
    Mixed(mixed::MixedArgs),
    /// Disk space is freed after half of the documents were deleted.
    Disk(disk::DiskArgs),
    /// A large store is opened after a kill in the middle of a write.
    Opening(opening::OpeningArgs),
    /// What `opening` starts.
    #[command(hide = true)]
    Child(opening::ChildArgs),
}

fn main() -> anyhow::Result<ExitCode> {
    let report = match Arguments::parse().suite {
        Suite::Crash(args) => crash::run(&args)?,
        Suite::Damage(args) => damage::run(&args)?,
        Suite::Look(args) => {
            damage::observe(&args)?;
            return Ok(ExitCode::SUCCESS);
        }
        Suite::Faults(args) => faults::run(&args)?,
        Suite::Oracle(args) => oracle::run(&args)?,
        Suite::Kill(args) => kill::run(&args)?,
        Suite::Rates(args) => rates::run(&args)?,
        Suite::Mixed(args) => mixed::run(&args)?,
        Suite::Disk(args) => disk::run(&args)?,
        Suite::Opening(args) => opening::run(&args)?,
        Suite::Child(args) => {
            opening::child(&args)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(if report.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
