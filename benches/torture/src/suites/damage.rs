//! A store with all features, damaged in one place a round: no answer, backup or export is silently wrong.
//!
//! A store is built once ([`subject`]). Each round copies it, damages the copy ([`harm`]): a bit flips, a page takes the
//! place of another, a file is cut. A child process then works with the copy as users do ([`look`]): searches by text,
//! vectors, graph, all of them, and communities; exports, backs up, checks; and searches once more when it was opened
//! again. Promises:
//!
//! - an answer differs from that of the intact store only if it is marked `partial`, is an error, or the check finds
//!   something;
//! - an export or backup that ends well holds what the sound store does;
//! - nothing ends by a signal or a panic, and no round takes [`ROUND_MAX`].
//!
//! Start reading at [`run`].

mod harm;
mod look;
mod subject;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

pub use look::LookArgs;
pub use look::observe;

use crate::report::{Report, ReportBuilder, Rounds};
use crate::source::Source;
use look::StoreObservation;

/// What one round may take.
const ROUND_MAX: Duration = Duration::from_secs(20);
/// When a round is ended, as it hangs.
const HUNG_AFTER: Duration = Duration::from_secs(120);

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct DamageArgs {
    /// Which rounds
    #[command(flatten)]
    pub rounds: Rounds,
    /// This program, which looks at each damaged store in a process of its own; else the one that runs
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Keep the damaged stores of rounds that broke a promise in this folder
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// Runs the rounds.
pub fn run(args: &DamageArgs) -> Result<Report> {
    let mut running = ReportBuilder::start("damage", args.rounds.seed);
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?,
    };
    let folder = tempfile::tempdir()?;
    let sound = folder.path().join("sound");
    subject::build(&sound)?;
    let whole = look_at(&program, &sound, folder.path())
        .and_then(|(seen, _)| seen.is_sound().map(|()| seen))
        .context("the store before any damage")?;
    for round in args.rounds.numbers(3000) {
        let copy = folder.path().join("damaged");
        let mut source = Source::stream(args.rounds.seed, round);
        subject::copy(&sound, &copy)?;
        let harm = harm::strike(&copy, &mut source)?;
        running.count(&format!("of_{}", harm.kind), 1);
        running.count(&format!("in_{}", harm.place), 1);
        let started = Instant::now();
        let result = look_at(&program, &copy, folder.path());
        let millis = started.elapsed().as_millis() as u64;
        running.count("ms", millis);
        let result = result.and_then(|(seen, took)| {
            running.count(seen.outcome(&whole), 1);
            let alone = seen.count_found_by_check_only(&whole);
            running.count("answers_told_by_check_alone", alone);
            seen.compare(&whole)?;
            ensure!(took < ROUND_MAX, "it took {} s", took.as_secs());
            Ok(())
        });
        if result.is_err()
            && let Some(keep) = &args.keep
        {
            // As it was before anybody looked at it.
            let saved_store = keep.join(round.to_string());
            subject::copy(&sound, &saved_store)?;
            harm::strike(&saved_store, &mut Source::stream(args.rounds.seed, round))?;
            subject::copy(&sound, &keep.join("sound"))?;
        }
        running.round(round, result.with_context(|| harm.to_string()));
    }
    Ok(running.finish())
}

/// What a child process sees of the store in `folder`, and how long it took.
fn look_at(program: &Path, folder: &Path, beside: &Path) -> Result<(StoreObservation, Duration)> {
    let copies = beside.join("copies");
    let out = beside.join("seen.json");
    subject::clear(&copies)?;
    subject::clear(&out)?;
    let started = Instant::now();
    let mut child = Command::new(program)
        .arg("look")
        .args(["--store".as_ref(), folder.as_os_str()])
        .args(["--copies".as_ref(), copies.as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = child.stderr.take().context("no standard error")?;
    let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > HUNG_AFTER {
            child.kill()?;
            child.wait()?;
            bail!("it hung");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = started.elapsed();
    let errors = errors.join().unwrap_or_default();
    ensure!(status.success(), "it crashed: {status}: {errors}");
    let seen = std::fs::read(&out).with_context(|| errors.clone())?;
    Ok((serde_json::from_slice(&seen)?, took))
}
