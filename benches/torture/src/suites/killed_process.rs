//! A `loci` process that is killed, and the rounds of suites that kill one.
//!
//! A suite runs rounds on the stores of a [`Life`]: a life of [`LIFE`] rounds works on one folder, and a
//! failed round keeps that folder for inspection.
//!
//! Start reading at [`run_lives`] and [`ProcessOutcome::run_and_kill`].

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use locidb::storage::StoreError;
use locidb::{Database, Error};
use serde_json::Value;
use tempfile::TempDir;

use crate::report::{ReportBuilder, Rounds};
use crate::source::Source;

/// Rounds of one life.
pub(super) const LIFE: u64 = 40;
/// After this time a command counts as hung.
const HUNG_AFTER: Duration = Duration::from_secs(60);
/// The assumed duration of a command before one ended by itself.
pub(super) const TYPICAL: Duration = Duration::from_millis(80);

/// The options of suites that kill a process.
#[derive(Clone, Debug, clap::Args)]
pub struct KillOptions {
    /// Which rounds; with --round those of its store's life before it too
    #[command(flatten)]
    pub rounds: Rounds,
    /// The binary, built with `--features failpoints`
    #[arg(long, value_name = "PATH")]
    pub loci: PathBuf,
    /// Now and then kill the next open, or the next run of the command, too
    #[arg(long)]
    pub double: bool,
}

/// A folder with stores that several rounds work on.
pub(super) trait Life: Sized {
    /// One round. `is_last`: whether the life ends with it.
    fn round(&mut self, source: &mut Source<'_>, is_last: bool) -> Result<()>;

    /// The counters since the last call.
    fn take_counters(&mut self) -> BTreeMap<String, u64>;

    /// The folder of the stores.
    fn into_folder(self) -> TempDir;
}

/// Runs the rounds, each life on a folder of its own. `start` begins a life; `after_round` runs after each round.
pub(super) fn run_lives<L: Life>(
    options: &KillOptions,
    report: &mut ReportBuilder,
    start: impl Fn() -> Result<L>,
    mut after_round: impl FnMut(&mut L),
) -> Result<()> {
    let numbers = options.rounds.numbers(2000);
    let mut next: Option<L> = None;
    for round in numbers.start / LIFE * LIFE..numbers.end {
        if round % LIFE == 0 {
            next = None;
        }
        let mut life = match next.take() {
            Some(life) => life,
            None => start()?,
        };
        let mut source = Source::stream(options.rounds.seed, round);
        let is_last = round % LIFE == LIFE - 1 || round + 1 == numbers.end;
        let result = life.round(&mut source, is_last);
        for (name, more) in life.take_counters() {
            report.count(&name, more);
        }
        after_round(&mut life);
        match result {
            Ok(()) => {
                report.round(round, Ok(()));
                next = Some(life);
            }
            Err(error) => {
                let folder = life.into_folder().keep();
                let error = error.context(format!("the folder is kept: {}", folder.display()));
                report.round(round, Err(error));
            }
        }
    }
    Ok(())
}

/// Opens a store. A child that was being started when its parent was killed holds the lock until it
/// executes another program.
pub(super) fn open(folder: &Path) -> Result<Database> {
    let started = Instant::now();
    loop {
        match Database::open(folder) {
            Err(Error::Store(StoreError::Locked { .. }))
                if started.elapsed().as_millis() < 1000 =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.context("opening the store"),
        }
    }
}

/// Fails if the folder contains files that the manifest does not list.
pub(super) fn verify_no_unlisted_files(database: &Database, store: &Path) -> Result<()> {
    let view = database.snapshot();
    let manifest = view.snapshot().manifest();
    let mut listed: Vec<String> = manifest
        .parts()
        .filter_map(|part| part.file.clone())
        .collect();
    // A space that was being built when the process was killed remains for the next fit.
    let spaces = [
        view.snapshot().active_space(),
        view.snapshot().pending_space(),
    ];
    let projections = spaces.into_iter().flatten();
    let projections = projections.filter_map(|space| space.record.projection.clone());
    listed.extend(projections.filter_map(|part| part.file));
    listed.sort();
    let names = |folder: PathBuf| -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    let existing = names(store.join("segments"))?;
    ensure!(
        existing == listed,
        "segment files {existing:?}, listed {listed:?}"
    );
    let existing = names(store.to_path_buf())?;
    ensure!(
        !existing.iter().any(|name| name.ends_with(".new")),
        "left behind: {existing:?}"
    );
    Ok(())
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
pub(super) enum KillPoint {
    /// After this many thousandths of the command's usual duration.
    AfterFraction(u32),
    /// After this duration.
    After(Duration),
    /// `more` after it stops at this failpoint for the `times`-th time.
    At {
        name: &'static str,
        times: u32,
        more: Duration,
    },
}

impl KillPoint {
    /// Resolves a fraction with the usual duration of the command.
    pub(super) fn within(self, typical: Duration) -> KillPoint {
        match self {
            KillPoint::AfterFraction(fraction) => KillPoint::After(typical * fraction / 1000),
            other => other,
        }
    }

    pub(super) fn at(name: &'static str) -> KillPoint {
        let more = Duration::ZERO;
        KillPoint::At {
            name,
            times: 1,
            more,
        }
    }
}

/// The outcome of a process.
pub(super) struct ProcessOutcome {
    /// Its exit status; `None` when it was killed.
    pub(super) status: Option<ExitStatus>,
    /// The whole lines that it printed.
    lines: Vec<String>,
    errors: String,
}

/// What a command printed about its changes.
pub(super) struct Acknowledgement {
    /// Whether it reported any change as committed, or ended successfully.
    pub(super) acknowledged: bool,
}

enum Event {
    Failpoint,
    Ended(String),
}

impl ProcessOutcome {
    /// Runs a command and kills it.
    pub(super) fn run_and_kill(command: &mut Command, when: &KillPoint) -> Result<ProcessOutcome> {
        match when {
            KillPoint::At { name, times, .. } => {
                command.env("LOCI_FAILPOINT", format!("{name}:{times}"));
            }
            _ => {
                command.env_remove("LOCI_FAILPOINT");
            }
        }
        let command = command.stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = read_lines(&mut child)?;
        let events = watch(&mut child)?;
        let wait = match when {
            KillPoint::After(wait) => *wait,
            _ => HUNG_AFTER,
        };
        match (events.recv_timeout(wait), when) {
            (Ok(Event::Failpoint), KillPoint::At { more, .. }) => std::thread::sleep(*more),
            (Ok(Event::Failpoint), _) => bail!("it stopped at a failpoint that was not set"),
            (Ok(Event::Ended(errors)), _) => {
                let status = Some(child.wait()?);
                let lines = lines.join().unwrap_or_default();
                return Ok(ProcessOutcome {
                    status,
                    lines,
                    errors,
                });
            }
            (Err(RecvTimeoutError::Timeout), KillPoint::After(_)) => {}
            (Err(error), _) => {
                child.kill()?;
                bail!("it hung: {error}");
            }
        }
        child.kill()?;
        child.wait()?;
        Ok(ProcessOutcome {
            status: None,
            lines: lines.join().unwrap_or_default(),
            errors: String::new(),
        })
    }

    /// Reads what was printed; an error when the command failed.
    pub(super) fn acknowledgement(&self, name: &str) -> Result<Acknowledgement> {
        if let Some(status) = self.status {
            ensure!(
                status.success(),
                "{name} ended with {status}: {}",
                self.errors
            );
            return Ok(Acknowledgement { acknowledged: true });
        }
        let mut acknowledged = false;
        for line in &self.lines {
            let line: Value = serde_json::from_str(line).with_context(|| line.clone())?;
            match line["status"].as_str() {
                Some("added" | "updated" | "deleted") => acknowledged = true,
                Some("unchanged") | None => {}
                Some(_) => bail!("{name}: {line}"),
            }
        }
        Ok(Acknowledgement { acknowledged })
    }
}

/// Reads whole lines of standard output until it is closed.
fn read_lines(child: &mut Child) -> Result<JoinHandle<Vec<String>>> {
    let mut output = child.stdout.take().context("no standard output")?;
    Ok(std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the bytes read so far are what was printed.
        let _ = output.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(String::from).collect()
    }))
}

/// Sends an event when the failpoint is reached, and when standard error ends.
fn watch(child: &mut Child) -> Result<Receiver<Event>> {
    let errors = BufReader::new(child.stderr.take().context("no standard error")?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut all = String::new();
        for line in errors.lines().map_while(Result::ok) {
            if line.starts_with("failpoint ") {
                // A failure means that nobody waits any more: the process is being killed.
                let _ = sender.send(Event::Failpoint);
            }
            all.push_str(&line);
            all.push('\n');
        }
        let _ = sender.send(Event::Ended(all));
    });
    Ok(receiver)
}
