//! A large store is opened after a kill in the middle of a write.
//!
//! The store is filled by a child of this program, which is killed while it writes. Then fresh
//! children open it, answer a question, begin to write, and are killed in turn: told is how long each
//! took from the start of its process to its first answer, and how much of that was the open. The
//! files are in memory, or dropped from it before (by `dd`, where there is one).
//!
//! Promise: the answer is there within [`ANSWER_US_MAX`] with the files in memory.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use locidb::Database;

use super::disk::{bytes_of, write};
use super::rates;
use crate::bulk::{self, DIM};
use crate::report::{Report, ReportBuilder};
use crate::source::Source;

/// Microseconds that the first answer may take.
pub const ANSWER_US_MAX: u64 = 100_000;
/// Documents of one transaction.
const BATCH: u64 = 64;

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct OpeningArgs {
    /// The seed of what is written
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// MiB on disk
    #[arg(long, default_value_t = 1024)]
    pub mib: u64,
    /// Opens with the files in memory, and as many without
    #[arg(long, default_value_t = 10)]
    pub rounds: u64,
    /// Keep the store in this folder, and use one that is there already
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Where the files lie; else where temporary files do
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// What a child is to do.
#[derive(Clone, Debug, clap::Args)]
pub struct ChildArgs {
    /// The store
    #[arg(long)]
    pub db: PathBuf,
    /// The seed of what is written
    #[arg(long)]
    pub seed: u64,
    /// The first document to write
    #[arg(long)]
    pub from: u64,
    /// Whether to ask first
    #[arg(long)]
    pub ask: bool,
}

/// Runs it. The children are this program, called with `child`.
pub fn run(args: &OpeningArgs) -> Result<Report> {
    let mut running = ReportBuilder::start("opening", args.seed);
    let result = open_often(args, &mut running);
    running.round(0, result);
    Ok(running.finish())
}

fn open_often(args: &OpeningArgs, running: &mut ReportBuilder) -> Result<()> {
    let folder = rates::folder(args.folder.as_ref())?;
    let store = args
        .keep
        .clone()
        .unwrap_or_else(|| folder.path().join("store"));
    if !store.join("loci.redb").exists() {
        fill(args, &store)?;
    }
    running.count("bytes", bytes_of(&store)?);
    let mut from = 1 << 32;
    let mut medians = Vec::new();
    for dropped in [false, true] {
        let (mut answers, mut opens) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            if dropped && !drop_from_memory(&store)? {
                return Ok(());
            }
            let (answer_us, open_us) = first_answer(args, &store, from)?;
            answers.push(answer_us);
            opens.push(open_us);
            from += 1 << 20;
        }
        let name = if dropped { "dropped" } else { "in_memory" };
        for (what, mut took) in [("answer", answers), ("open", opens)] {
            took.sort_unstable();
            running.count(&format!("{name}_{what}_us_p50"), took[took.len() / 2]);
            running.count(&format!("{name}_{what}_us_max"), took[took.len() - 1]);
            medians.push(took[took.len() / 2]);
        }
    }
    ensure!(
        medians[0] <= ANSWER_US_MAX,
        "the first answer took {} us",
        medians[0]
    );
    Ok(())
}

/// A child writes until the store is large, and is killed while it writes on.
fn fill(args: &OpeningArgs, store: &Path) -> Result<()> {
    let mut child = start(args, store, 0, false)?;
    while !store.exists() || bytes_of(store)? < args.mib << 20 {
        std::thread::sleep(Duration::from_millis(500));
        if let Some(status) = child.try_wait()? {
            anyhow::bail!("the child that writes ended with {status}");
        }
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn start(args: &OpeningArgs, store: &Path, from: u64, ask: bool) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["child", "--seed"]).arg(args.seed.to_string());
    command
        .arg("--db")
        .arg(store)
        .arg("--from")
        .arg(from.to_string());
    if ask {
        command.arg("--ask");
    }
    Ok(command.stdout(Stdio::piped()).spawn()?)
}

/// Starts a child, and kills it once it has answered and written a little. Returns microseconds to
/// the answer, and those of the open among them.
fn first_answer(args: &OpeningArgs, store: &Path, from: u64) -> Result<(u64, u64)> {
    let started = Instant::now();
    let mut child = start(args, store, from, true)?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let line = lines.next().context("the child answered nothing")??;
    let took = started.elapsed().as_micros() as u64;
    // Until it writes, and in the middle of that.
    let _ = lines.next();
    std::thread::sleep(Duration::from_millis(30));
    child.kill()?;
    child.wait()?;
    Ok((took, line.parse()?))
}

/// Asks the system to drop the files of a store from memory; `false` where that cannot be.
fn drop_from_memory(store: &Path) -> Result<bool> {
    if !Command::new("sync")
        .status()
        .is_ok_and(|status| status.success())
    {
        return Ok(false);
    }
    let mut folders = vec![store.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut dd = Command::new("dd");
            dd.arg(format!("if={}", path.display()));
            let dd = dd.args(["iflag=nocache", "count=0", "status=none"]);
            if !dd.status().is_ok_and(|status| status.success()) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// What a child does: opens the store, asks, tells how long the open took, and writes until it is
/// killed.
pub fn child(args: &ChildArgs) -> Result<()> {
    let started = Instant::now();
    let database = Database::open(&args.db)?;
    let open_us = started.elapsed().as_micros();
    if args.ask {
        let mut source = Source::stream(args.seed, args.from);
        let answer = database.search(&bulk::question(&mut source))?;
        ensure!(!answer.hits.is_empty(), "nothing was found");
        println!("{open_us}");
    }
    database.use_provided_vectors("torture", DIM)?;
    let mut next = args.from;
    loop {
        write(&database, args.seed, next..next + BATCH)?;
        next += BATCH;
        if args.ask {
            println!("{next}");
        }
    }
}
