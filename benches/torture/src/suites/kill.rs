//! The real binary, killed while it works on stores that live on.
//!
//! A round starts `loci` for one command on a store (ingest, delete, compact), kills it at a random
//! moment or where it stands still at a named one ([`locidb::storage::failpoint`]), opens the store in
//! this process and compares it with what was acknowledged: each command's changes are one
//! transaction, so the store has all of them or none, and all when a line about one was printed.
//!
//! Rows, searches by word, by filter and by vector, concepts and a recount must then agree
//! ([`crate::notes::check`]). A life of a store is [`LIFE`] rounds; at its end nothing but what the
//! manifest lists may lie in its folder.
//!
//! Start reading at [`Life::round`].

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use locidb::storage::{StoreError, failpoint};
use locidb::{Database, Error, NoProgress};
use serde_json::Value;
use tempfile::TempDir;

use super::killed_copies::{self, KilledCommand};
use crate::notes::{self, NOTES, Versions};
use crate::report::{Report, ReportBuilder, Rounds};
use crate::source::Source;

/// Rounds that one store lives.
pub const LIFE: u64 = 40;
/// How long a command may take before it counts as hung.
const HUNG_AFTER: Duration = Duration::from_secs(60);
/// What a command is thought to take before one ended by itself.
pub(super) const TYPICAL: Duration = Duration::from_millis(80);
/// Versions of notes that must not be found any more and are looked for.
const DELETED_VERSIONS_MAX: usize = 12;

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArgs {
    /// Which rounds; with --round those of its store's life before it too
    #[command(flatten)]
    pub rounds: Rounds,
    /// The binary, built with `--features failpoints`
    #[arg(long, value_name = "PATH")]
    pub loci: PathBuf,
    /// Now and then kill the next open, or the next run of the command, too
    #[arg(long)]
    pub double: bool,
    /// Kill this command instead
    #[arg(long, value_enum)]
    pub command: Option<KilledCommand>,
}

/// Runs the rounds.
pub fn run(args: &KillArgs) -> Result<Report> {
    if let Some(copying) = args.command {
        return killed_copies::run(args, copying);
    }
    let mut running = ReportBuilder::start("kill", args.rounds.seed);
    let numbers = args.rounds.numbers(2000);
    let (mut life, mut opens_us) = (None, Vec::new());
    for round in numbers.start / LIFE * LIFE..numbers.end {
        if round % LIFE == 0 {
            life = None;
        }
        let mut living = match life.take() {
            Some(life) => life,
            None => StoreLife::new(args)?,
        };
        let mut source = Source::stream(args.rounds.seed, round);
        let mut result = living.round(&mut source);
        if result.is_ok() && (round % LIFE == LIFE - 1 || round + 1 == numbers.end) {
            result = living.end();
        }
        for (figure, more) in std::mem::take(&mut living.counters) {
            running.count(&figure, more);
        }
        opens_us.append(&mut living.opens_us);
        match result {
            Ok(()) => {
                running.round(round, Ok(()));
                life = Some(living);
            }
            Err(error) => {
                let store_path = living.folder.keep();
                let error = error.context(format!("the store is kept in {}", store_path.display()));
                running.round(round, Err(error));
            }
        }
    }
    opens_us.sort_unstable();
    running.count(
        "open_us_p50",
        opens_us.get(opens_us.len() / 2).copied().unwrap_or(0),
    );
    running.count("open_us_max", opens_us.last().copied().unwrap_or(0));
    Ok(running.finish())
}

/// A store and what it must hold.
struct StoreLife<'a> {
    args: &'a KillArgs,
    folder: TempDir,
    /// What the store held when it was last looked at.
    stored: Versions,
    /// What the files are.
    files: Versions,
    /// Versions that the store held and holds no more.
    deleted_versions: Vec<(u32, u32)>,
    next_version: u32,
    /// How long commands took that ended by themselves.
    typical: BTreeMap<&'static str, Duration>,
    counters: BTreeMap<String, u64>,
    /// What each open after a kill took.
    opens_us: Vec<u64>,
}

/// A command, and what the store holds once it is carried out.
struct Task {
    name: &'static str,
    command: Command,
    after: Versions,
}

impl<'a> StoreLife<'a> {
    fn new(args: &'a KillArgs) -> Result<StoreLife<'a>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("files"))?;
        Ok(StoreLife {
            args,
            folder,
            stored: Versions::new(),
            files: Versions::new(),
            deleted_versions: Vec::new(),
            next_version: 1,
            typical: BTreeMap::new(),
            counters: BTreeMap::new(),
            opens_us: Vec::new(),
        })
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn count(&mut self, figure: &str) {
        *self.counters.entry(figure.into()).or_default() += 1;
    }

    /// One command, one kill, one look.
    fn round(&mut self, source: &mut Source<'_>) -> Result<()> {
        // Half of the stores are killed while they are being made.
        let making = self.stored.is_empty() && source.one_in(2);
        let when = if making {
            KillPoint::After(Duration::from_micros(source.below(15_000).into()))
        } else {
            draw(source)
        };
        let mut task = self.task(source, &when)?;
        let (name, started) = (task.name, Instant::now());
        let when = when.within(self.typical.get(name).copied().unwrap_or(TYPICAL));
        let ended = ProcessOutcome::run_and_kill(&mut task.command, &when)?;
        self.count(name);
        match (&when, ended.status) {
            (_, Some(_)) => {
                self.count("ended_before");
                self.typical.insert(name, started.elapsed());
            }
            (KillPoint::At { name, .. }, None) => self.count(&format!("killed_at_{name}")),
            (_, None) => self.count("killed_at_random"),
        }
        let acknowledgement = ended
            .acknowledgement(name)
            .with_context(|| format!("{name}, {when:?}"))?;
        if self.args.double && source.one_in(3) {
            self.kill_the_open(source)?;
        }
        self.verify_store(task.after, acknowledgement, source)
            .with_context(|| format!("after {name}, {when:?}"))
    }

    /// A command that may reach the moment.
    fn task(&mut self, source: &mut Source<'_>, when: &KillPoint) -> Result<Task> {
        let compacts = matches!(when, KillPoint::At { name, .. } if name.starts_with("rewrite"));
        let task = match source.below(8) {
            _ if self.stored.is_empty() => self.ingest(source)?,
            _ if compacts => self.compact(),
            0 => self.compact(),
            1 | 2 => self.delete(source)?,
            _ => self.ingest(source)?,
        };
        Ok(task)
    }

    fn loci(&self, name: &str) -> Command {
        let mut command = Command::new(&self.args.loci);
        command.args([name, "--json", "--db"]).arg(self.store());
        command
    }

    /// Changes some files, adds some, and ingests the folder.
    fn ingest(&mut self, source: &mut Source<'_>) -> Result<Task> {
        for _ in 0..1 + source.below(5) {
            let number = source.below(NOTES);
            notes::write(&self.files(), number, self.next_version)?;
            self.files.insert(number, self.next_version);
            self.next_version += 1;
        }
        let mut after = self.stored.clone();
        after.extend(&self.files);
        let mut command = self.loci("ingest");
        command.arg(self.files());
        if source.one_in(6) {
            command.arg("--force");
        }
        Ok(Task {
            name: "ingest",
            command,
            after,
        })
    }

    /// Deletes some of what is stored, and the files of it.
    fn delete(&mut self, source: &mut Source<'_>) -> Result<Task> {
        let mut after = self.stored.clone();
        let mut command = self.loci("delete");
        let stored: Vec<u32> = self.stored.keys().copied().collect();
        for _ in 0..1 + source.below(4) {
            let number = source.pick(&stored);
            if after.remove(&number).is_some() {
                command.arg(notes::key(number));
            }
            if self.files.remove(&number).is_some() {
                std::fs::remove_file(self.files().join(notes::key(number)))?;
            }
        }
        Ok(Task {
            name: "delete",
            command,
            after,
        })
    }

    fn compact(&self) -> Task {
        let (command, after) = (self.loci("compact"), self.stored.clone());
        Task {
            name: "compact",
            command,
            after,
        }
    }

    /// Opens the store with the binary, and kills that.
    fn kill_the_open(&mut self, source: &mut Source<'_>) -> Result<()> {
        let when = match source.below(4) {
            0 => KillPoint::at("opened-database"),
            1 => KillPoint::at("cleared-orphans"),
            _ => KillPoint::After(Duration::from_micros(source.below(8000).into())),
        };
        let ended = ProcessOutcome::run_and_kill(&mut self.loci("stats"), &when)?;
        if ended.status.is_none() {
            self.count("killed_twice");
        }
        Ok(())
    }

    /// Opens the store here and compares it with what it must hold.
    fn verify_store(
        &mut self,
        after: Versions,
        acknowledgement: Acknowledgement,
        source: &mut Source<'_>,
    ) -> Result<()> {
        let started = Instant::now();
        let database = open(&self.store())?;
        self.opens_us.push(started.elapsed().as_micros() as u64);
        let repaired: Vec<String> = database
            .damaged()
            .iter()
            .map(|d| d.error.to_string())
            .collect();
        ensure!(
            repaired.is_empty(),
            "something had to be rebuilt: {repaired:?}"
        );
        let view = database.snapshot();
        let found = notes::found(&view)?;
        let is_after = found == after;
        ensure!(
            is_after || (found == self.stored && !acknowledgement.acknowledged),
            "the store has {found:?}; before {:?}, after {after:?}, acknowledged: {}",
            self.stored,
            acknowledgement.acknowledged
        );
        for (&number, &version) in &self.stored {
            if found.get(&number) != Some(&version) {
                self.deleted_versions.push((number, version));
            }
        }
        let old = self
            .deleted_versions
            .len()
            .saturating_sub(DELETED_VERSIONS_MAX);
        self.deleted_versions.drain(..old);
        self.stored = found;
        notes::check(&database, &view, &self.stored, &self.deleted_versions)?;
        if source.one_in(10) && database.settings()?.embedder == locidb::EmbedderChoice::Builtin {
            // The next ingest fits anew.
            self.count("spaces_given_up");
            database.set("embedder", "none")?;
            database.set("embedder", "builtin")?;
        }
        Ok(())
    }

    /// What is left of a life: one compaction that nobody kills, and no file too many.
    fn end(&mut self) -> Result<()> {
        if self.stored.is_empty() {
            return Ok(());
        }
        let database = open(&self.store())?;
        database.compact(&NoProgress)?;
        database.wait_for_merges()?;
        {
            let view = database.snapshot();
            ensure!(
                notes::found(&view)? == self.stored,
                "compaction changed what is there"
            );
            notes::check(&database, &view, &self.stored, &self.deleted_versions)?;
        }
        database.close();
        let database = open(&self.store())?;
        no_file_too_many(&database, &self.store())
    }
}

/// Half of the kills come at random, half at a failpoint.
fn draw(source: &mut Source<'_>) -> KillPoint {
    if source.one_in(2) {
        return KillPoint::AfterFraction(source.below(1200));
    }
    KillPoint::At {
        name: source.pick(failpoint::NAMES),
        times: 1 + source.below(3) * source.below(2),
        more: Duration::from_millis(source.below(4).saturating_sub(1).into()),
    }
}

/// Opens a store. A child that was being started when its parent was killed holds the lock until it
/// has become another program.
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

pub(super) fn no_file_too_many(database: &Database, store: &Path) -> Result<()> {
    let view = database.snapshot();
    let manifest = view.snapshot().manifest();
    let mut listed: Vec<String> = manifest
        .parts()
        .filter_map(|part| part.file.clone())
        .collect();
    // A space that was being built when a process was killed is there for the next fit.
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
    let there = names(store.join("segments"))?;
    ensure!(
        there == listed,
        "segment files {there:?}, listed {listed:?}"
    );
    let there = names(store.to_path_buf())?;
    ensure!(
        !there.iter().any(|name| name.ends_with(".new")),
        "left behind: {there:?}"
    );
    Ok(())
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
pub(super) enum KillPoint {
    /// After this many thousandths of the time that it takes.
    AfterFraction(u32),
    /// After this long.
    After(Duration),
    /// A little after it stands still at this moment, for the `times`-th time.
    At {
        name: &'static str,
        times: u32,
        more: Duration,
    },
}

impl KillPoint {
    /// With the time that the command takes, when left alone.
    pub(super) fn within(self, typical: Duration) -> KillPoint {
        match self {
            KillPoint::AfterFraction(share) => KillPoint::After(typical * share / 1000),
            other => other,
        }
    }

    fn at(name: &'static str) -> KillPoint {
        let more = Duration::ZERO;
        KillPoint::At {
            name,
            times: 1,
            more,
        }
    }
}

/// What a process left.
pub(super) struct ProcessOutcome {
    /// How it ended by itself; `None` when it was killed.
    pub(super) status: Option<ExitStatus>,
    /// The whole lines that it printed.
    lines: Vec<String>,
    errors: String,
}

/// What a command said of its changes.
pub(super) struct Acknowledgement {
    /// Whether it said of any that it is made, or ended well.
    acknowledged: bool,
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
            (Ok(Event::Failpoint), _) => bail!("it stood still unasked"),
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
        // What was read until an error is what was printed.
        let _ = output.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(String::from).collect()
    }))
}

/// Tells of the failpoint, and of the end of standard error.
fn watch(child: &mut Child) -> Result<Receiver<Event>> {
    let errors = BufReader::new(child.stderr.take().context("no standard error")?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut all = String::new();
        for line in errors.lines().map_while(Result::ok) {
            if line.starts_with("failpoint ") {
                // Nobody waits for it any more: the process is being killed.
                let _ = sender.send(Event::Failpoint);
            }
            all.push_str(&line);
            all.push('\n');
        }
        let _ = sender.send(Event::Ended(all));
    });
    Ok(receiver)
}
