//! The real binary, killed while it changes a store.
//!
//! A round starts `loci` for one command on a store (ingest, delete, compact), kills it at a random
//! time or at a failpoint ([`locidb::storage::failpoint`]), opens the store in this process and compares
//! it with what was acknowledged: each command's changes are one transaction, so the store has all of
//! them or none, and all if a line about one was printed.
//!
//! Rows, searches by word, by filter and by vector, concepts and a recount must then agree
//! ([`crate::notes::check`]). After the last round of a life, the store's folder contains only the files
//! that the manifest lists.
//!
//! Start reading at [`StoreLife::kill_one_command`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use locidb::NoProgress;
use locidb::storage::failpoint;
use tempfile::TempDir;

use super::killed_copies::{self, KilledCommand};
use super::killed_process::{
    Acknowledgement, KillOptions, KillPoint, Life, ProcessOutcome, TYPICAL, open, run_lives,
    verify_no_unlisted_files,
};
use crate::notes::{self, NOTES, Versions};
use crate::report::{Report, ReportBuilder};
use crate::source::Source;

/// Deleted versions of notes that searches must not find any more, at most.
const DELETED_VERSIONS_MAX: usize = 12;

/// The options of the suite.
#[derive(Clone, Debug, clap::Args)]
pub struct KillArgs {
    /// How processes are killed.
    #[command(flatten)]
    pub options: KillOptions,
    /// Kill this command instead
    #[arg(long, value_enum)]
    pub command: Option<KilledCommand>,
}

/// Runs the rounds.
pub fn run(args: &KillArgs) -> Result<Report> {
    let options = &args.options;
    if let Some(command) = args.command {
        return killed_copies::run(options, command);
    }
    let mut running = ReportBuilder::start("kill", options.rounds.seed);
    let mut opens_us = Vec::new();
    run_lives(
        options,
        &mut running,
        || StoreLife::new(options),
        |life: &mut StoreLife<'_>| opens_us.append(&mut life.opens_us),
    )?;
    opens_us.sort_unstable();
    running.count(
        "open_us_p50",
        opens_us.get(opens_us.len() / 2).copied().unwrap_or(0),
    );
    running.count("open_us_max", opens_us.last().copied().unwrap_or(0));
    Ok(running.finish())
}

/// A store and its expected content.
struct StoreLife<'a> {
    options: &'a KillOptions,
    folder: TempDir,
    /// The content of the store at the last comparison.
    stored: Versions,
    /// The versions of the files.
    files: Versions,
    /// Versions that the store contained and no longer contains.
    deleted_versions: Vec<(u32, u32)>,
    next_version: u32,
    /// Durations of commands that ended by themselves.
    typical: BTreeMap<&'static str, Duration>,
    counters: BTreeMap<String, u64>,
    /// Durations of the opens after kills.
    opens_us: Vec<u64>,
}

/// A command, and the content of the store after it.
struct Task {
    name: &'static str,
    command: Command,
    after: Versions,
}

impl<'a> StoreLife<'a> {
    fn new(options: &'a KillOptions) -> Result<StoreLife<'a>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("files"))?;
        Ok(StoreLife {
            options,
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

    fn count(&mut self, name: &str) {
        *self.counters.entry(name.into()).or_default() += 1;
    }

    /// One command, one kill, one comparison.
    fn kill_one_command(&mut self, source: &mut Source<'_>) -> Result<()> {
        // Half of the stores are killed while they are being created.
        let is_creating = self.stored.is_empty() && source.one_in(2);
        let when = if is_creating {
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
        if self.options.double && source.one_in(3) {
            self.kill_the_open(source)?;
        }
        self.verify_store(task.after, acknowledgement, source)
            .with_context(|| format!("after {name}, {when:?}"))
    }

    /// A command that can reach the kill point.
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
        let mut command = Command::new(&self.options.loci);
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

    /// Deletes some stored notes and their files.
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

    /// Opens the store with the binary, and kills the process.
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

    /// Opens the store here and compares it with its expected content.
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
            // The next ingest fits a new space.
            self.count("spaces_given_up");
            database.set("embedder", "none")?;
            database.set("embedder", "builtin")?;
        }
        Ok(())
    }

    /// Ends a life: a compaction that is not killed, and then no unlisted file.
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
                "compaction changed the notes"
            );
            notes::check(&database, &view, &self.stored, &self.deleted_versions)?;
        }
        database.close();
        let database = open(&self.store())?;
        verify_no_unlisted_files(&database, &self.store())
    }
}

impl Life for StoreLife<'_> {
    fn round(&mut self, source: &mut Source<'_>, is_last: bool) -> Result<()> {
        self.kill_one_command(source)?;
        if is_last {
            self.end()?;
        }
        Ok(())
    }

    fn take_counters(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.counters)
    }

    fn into_folder(self) -> TempDir {
        self.folder
    }
}

/// Half of the kills are at a random time, half at a failpoint.
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
