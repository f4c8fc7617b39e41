//! The real binary, killed while it copies or rewrites a store: backup, restore, import, analyze, compact, upgrade.
//!
//! A round changes a store of notes, starts the command, and kills it at a random time or at a failpoint. Then the
//! source store is unchanged, an earlier backup is complete and can be restored, the target folder is complete or cannot
//! be opened, and running the same command again has the result of a run that is not killed. Stores are compared by
//! their exports, byte for byte.
//!
//! Start reading at [`CommandLife`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use locidb::storage::rows::seal_row;
use locidb::storage::{StoreError, Table, failpoint};
use locidb::{Database, Error, NoProgress, Options};
use redb::TableDefinition;
use tempfile::TempDir;

use super::killed_process::{
    KillOptions, KillPoint, Life, ProcessOutcome, TYPICAL, open, run_lives,
    verify_no_unlisted_files,
};
use crate::notes::{self, NOTES};
use crate::report::{Report, ReportBuilder};
use crate::source::Source;

/// Generations that a backup retains at most.
const KEEP_MAX: u32 = 3;

/// A command that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KilledCommand {
    /// A store is copied to a folder, over an earlier backup.
    Backup,
    /// A backup is restored to a folder.
    Restore,
    /// A store is created from an export.
    Import,
    /// Concepts are ranked, and communities found.
    Analyze,
    /// Segments are merged, and the database is rewritten.
    Compact,
    /// A store of an earlier format is upgraded.
    Upgrade,
}

impl KilledCommand {
    fn name(self) -> &'static str {
        match self {
            KilledCommand::Backup => "backup",
            KilledCommand::Restore => "restore",
            KilledCommand::Import => "import",
            KilledCommand::Analyze => "analyze",
            KilledCommand::Compact => "compact",
            KilledCommand::Upgrade => "upgrade",
        }
    }

    /// The failpoints that it reaches.
    fn failpoints(self) -> Vec<&'static str> {
        let all = failpoint::NAMES
            .iter()
            .chain(failpoint::COPY_NAMES)
            .copied();
        all.filter(|name| match self {
            KilledCommand::Backup | KilledCommand::Restore | KilledCommand::Upgrade => {
                name.starts_with(self.name())
            }
            KilledCommand::Import => {
                name.starts_with("import") || ["committed", "part-written"].contains(name)
            }
            KilledCommand::Analyze => [
                "staged",
                "part-written",
                "part-renamed",
                "before-commit",
                "committed",
                "published",
            ]
            .contains(name),
            KilledCommand::Compact => {
                name.starts_with("rewrite") || name.starts_with("merge") || *name == "staged"
            }
        })
        .collect()
    }
}

/// Runs the rounds of one command.
pub fn run(options: &KillOptions, command: KilledCommand) -> Result<Report> {
    let suite = format!("kill {}", command.name());
    let mut running = ReportBuilder::start(&suite, options.rounds.seed);
    run_lives(
        options,
        &mut running,
        || CommandLife::new(options, command),
        |_| {},
    )?;
    Ok(running.finish())
}

/// A store, and its copies.
struct CommandLife<'a> {
    options: &'a KillOptions,
    killed_command: KilledCommand,
    folder: TempDir,
    version: u32,
    /// The export of the newest backup.
    backed_up: Option<Vec<u8>>,
    /// The duration of the command that ended by itself.
    typical: Option<Duration>,
    counters: BTreeMap<String, u64>,
}

impl<'a> CommandLife<'a> {
    fn new(options: &'a KillOptions, killed_command: KilledCommand) -> Result<CommandLife<'a>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("files"))?;
        Ok(CommandLife {
            options,
            killed_command,
            folder,
            version: 0,
            backed_up: None,
            typical: None,
            counters: BTreeMap::new(),
        })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn count(&mut self, name: &str) {
        *self.counters.entry(name.into()).or_default() += 1;
    }

    fn loci(&self, name: &str) -> Command {
        let mut command = Command::new(&self.options.loci);
        command.args([name, "--json"]);
        command
    }

    /// Changes some notes, and sometimes compacts.
    fn change(&mut self, source: &mut Source<'_>) -> Result<()> {
        for _ in 0..1 + source.below(4) {
            self.version += 1;
            notes::write(&self.at("files"), source.below(NOTES), self.version)?;
        }
        let mut command = self.loci("ingest");
        run_whole(
            command
                .arg("--db")
                .arg(self.at("store"))
                .arg(self.at("files")),
        )?;
        if source.one_in(6) && self.killed_command != KilledCommand::Compact {
            run_whole(self.loci("compact").arg("--db").arg(self.at("store")))?;
        }
        Ok(())
    }

    /// Runs a command and kills it; returns whether it ended by itself before that.
    fn kill(&mut self, command: &mut Command, source: &mut Source<'_>) -> Result<bool> {
        let failpoints = self.killed_command.failpoints();
        let when = if source.one_in(2) {
            KillPoint::AfterFraction(source.below(1100))
        } else {
            KillPoint::At {
                name: source.pick(&failpoints),
                times: 1 + source.below(4) * source.below(2),
                more: Duration::from_millis(source.below(4).saturating_sub(1).into()),
            }
        };
        let when = when.within(self.typical.unwrap_or(TYPICAL));
        let started = Instant::now();
        let ended = ProcessOutcome::run_and_kill(command, &when)?;
        ended.acknowledgement(self.killed_command.name())?;
        match (&when, ended.status) {
            (_, Some(_)) => {
                self.typical = Some(started.elapsed());
                self.count("ended_before");
            }
            (KillPoint::At { name, .. }, None) => self.count(&format!("killed_at_{name}")),
            (_, None) => self.count("killed_at_random"),
        }
        Ok(ended.status.is_some())
    }

    fn backup(&mut self, source: &mut Source<'_>) -> Result<()> {
        let (store, backup) = (self.at("store"), self.at("backup"));
        let now = exported(&store)?;
        let keep = source.below(KEEP_MAX + 1);
        let command = || {
            let mut command = self.loci("backup");
            command.arg("--db").arg(&store).arg(&backup);
            if keep > 0 {
                command.args(["--keep", &keep.to_string()]);
            }
            command
        };
        let (mut first, mut again) = (command(), command());
        let ended = self.kill(&mut first, source)?;
        ensure!(exported(&store)? == now, "the store changed");
        let restored = self.at("restored");
        match (restore(&backup, &restored)?, &self.backed_up) {
            (Some(content), _) if content == now => {}
            (Some(content), Some(before)) if content == *before && !ended => {
                self.count("kept_earlier")
            }
            (None, None) if !ended => {}
            (content, _) => bail!(
                "of the backup {:?} bytes are restored",
                content.map(|of| of.len())
            ),
        }
        if self.options.double && source.one_in(3) {
            self.kill(&mut again, source)?;
            self.count("killed_twice");
        }
        run_whole(&mut again)?;
        ensure!(exported(&store)? == now, "the store changed in the end");
        let content = restore(&backup, &restored)?.context("there is no backup")?;
        ensure!(content == now, "the backup differs from the store");
        if keep > 0 {
            let earlier = generations(&backup)?;
            ensure!(
                earlier.len() < keep as usize,
                "{earlier:?} are retained beside the newest; --keep {keep}"
            );
        }
        for generation in generations(&backup)? {
            let restored =
                Database::restore_generation(&backup, generation, &restored, &Options::default());
            restored
                .with_context(|| format!("generation {generation}"))?
                .close();
            std::fs::remove_dir_all(self.at("restored"))?;
        }
        verify_no_leftovers(&backup)?;
        self.backed_up = Some(now);
        Ok(())
    }

    /// A command that fills the folder `filled` with the content of the store.
    fn fill(&mut self, mut command: Command, source: &mut Source<'_>) -> Result<()> {
        let (store, filled) = (self.at("store"), self.at("filled"));
        let now = exported(&store)?;
        for n in 0..2 {
            // Once a complete folder is opened, it is a store like any other.
            let is_whole = filled.join("loci.redb").exists() && !filled.join("UNFINISHED").exists();
            if is_whole || n > 0 && !(self.options.double && source.one_in(3)) {
                break;
            }
            let ended = self.kill(&mut command, source)?;
            match state(&filled)? {
                State::None if !ended => self.count("left_nothing"),
                State::Unfinished if !ended => self.count("left_unfinished"),
                State::Whole(content) if content == now => self.count("left_whole"),
                other => bail!("it left {other}"),
            }
            if ended {
                std::fs::remove_dir_all(&filled)?;
            }
        }
        if !filled.join("loci.redb").exists() || filled.join("UNFINISHED").exists() {
            run_whole(&mut command)?;
        }
        match state(&filled)? {
            State::Whole(content) if content == now => {}
            other => bail!("in the end there is {other}"),
        }
        ensure!(exported(&store)? == now, "the store changed in the end");
        verify_no_leftovers(&filled)?;
        Ok(std::fs::remove_dir_all(filled)?)
    }

    /// A command that rewrites parts of the store in place.
    fn kill_while_rewriting(&mut self, source: &mut Source<'_>) -> Result<()> {
        let (store, beside) = (self.at("store"), self.at("beside"));
        copy(&store, &beside)?;
        let name = self.killed_command.name();
        run_whole(self.loci(name).arg("--db").arg(&beside))?;
        let expected = without_times(exported(&beside)?)?;
        std::fs::remove_dir_all(beside)?;
        let notes = database(&store, |store| notes::found(&store.snapshot()))?;
        let mut command = self.loci(name);
        command.arg("--db").arg(&store);
        self.kill(&mut command, source)?;
        database(&store, |database| {
            let view = database.snapshot();
            ensure!(notes::found(&view)? == notes, "the notes changed");
            notes::check(database, &view, &notes, &[])?;
            verify_integrity(database)
        })?;
        run_whole(&mut command)?;
        let content = without_times(exported(&store)?)?;
        ensure!(
            content == expected,
            "the result differs from that of a copy"
        );
        verify_no_leftovers(&store)
    }

    fn upgrade(&mut self, source: &mut Source<'_>) -> Result<()> {
        let store = self.at("store");
        let now = exported(&store)?;
        downgrade(&store)?;
        let mut command = self.loci("upgrade");
        command.arg("--db").arg(&store);
        let ended = self.kill(&mut command, source)?;
        match Database::open(&store) {
            Err(Error::Store(StoreError::Format { found: 1, .. })) if !ended => {
                self.count("left_earlier");
            }
            opened => opened.context("after the kill")?.close(),
        }
        run_whole(&mut command)?;
        ensure!(exported(&store)? == now, "the upgraded store differs");
        verify_no_leftovers(&store)
    }
}

impl Life for CommandLife<'_> {
    /// One change of the store, one command, one kill, the command again.
    fn round(&mut self, source: &mut Source<'_>, _is_last: bool) -> Result<()> {
        self.change(source)?;
        match self.killed_command {
            KilledCommand::Backup => self.backup(source),
            KilledCommand::Restore => {
                let backup = self.at("backup");
                database(&self.at("store"), |store| {
                    store.backup(&backup, &NoProgress)?;
                    Ok(())
                })?;
                let mut command = self.loci("restore");
                command.arg(&backup).arg("--db").arg(self.at("filled"));
                self.fill(command, source)?;
                verify_backup(&self.at("store"), &backup, &self.at("again"))
            }
            KilledCommand::Import => {
                let export = self.at("export.jsonl");
                std::fs::write(&export, exported(&self.at("store"))?)?;
                let mut command = self.loci("import");
                command.arg(&export).arg("--db").arg(self.at("filled"));
                self.fill(command, source)
            }
            KilledCommand::Analyze | KilledCommand::Compact => self.kill_while_rewriting(source),
            KilledCommand::Upgrade => self.upgrade(source),
        }
    }

    fn take_counters(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.counters)
    }

    fn into_folder(self) -> TempDir {
        self.folder
    }
}

/// The state of a folder that was being filled.
enum State {
    None,
    Unfinished,
    Whole(Vec<u8>),
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            State::None => write!(f, "nothing"),
            State::Unfinished => write!(f, "something unfinished"),
            State::Whole(content) => write!(f, "a store of {} bytes of export", content.len()),
        }
    }
}

fn state(folder: &Path) -> Result<State> {
    let only_there = Options {
        create: false,
        read_only: true,
        ..Options::default()
    };
    match Database::open_with(folder, &only_there) {
        Err(Error::Store(StoreError::Missing { .. })) => Ok(State::None),
        Err(Error::Store(StoreError::Unfinished { .. })) => {
            // Opening for writing must not treat it as an empty folder.
            match Database::open(folder) {
                Err(Error::Store(StoreError::Unfinished { .. })) => Ok(State::Unfinished),
                _ => bail!("a half-filled folder was opened"),
            }
        }
        opened => Ok(State::Whole(export(&opened.context("opening")?)?)),
    }
}

/// The export of a restored backup; `None` if the backup is missing or unfinished.
fn restore(backup: &Path, to: &Path) -> Result<Option<Vec<u8>>> {
    let restored = match Database::restore(backup, to, &Options::default()) {
        Err(Error::Store(StoreError::Missing { .. } | StoreError::Unfinished { .. })) => {
            return Ok(None);
        }
        restored => restored.context("restoring")?,
    };
    let content = export(&restored)?;
    restored.close();
    std::fs::remove_dir_all(to)?;
    Ok(Some(content))
}

fn verify_backup(store: &Path, backup: &Path, to: &Path) -> Result<()> {
    let content = restore(backup, to)?.context("there is no backup")?;
    ensure!(
        content == exported(store)?,
        "the backup differs from the store"
    );
    Ok(())
}

fn database<T>(store: &Path, look: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
    let database = open(store)?;
    let seen = look(&database)?;
    database.close();
    Ok(seen)
}

fn export(database: &Database) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    database.export(&mut lines, &NoProgress)?;
    Ok(lines)
}

fn exported(store: &Path) -> Result<Vec<u8>> {
    database(store, export)
}

/// An export without creation times and without its hash.
fn without_times(lines: Vec<u8>) -> Result<Vec<String>> {
    let text = String::from_utf8(lines)?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line)?;
        if let Some(row) = line.get_mut("row").and_then(|row| row.as_object_mut()) {
            row.retain(|name, _| !name.ends_with("_at_ms"));
        }
        if line.get("end").is_none() {
            lines.push(line.to_string());
        }
    }
    Ok(lines)
}

fn verify_integrity(database: &Database) -> Result<()> {
    let mut first = None;
    database.check(true, &NoProgress, &mut |finding| {
        first.get_or_insert(finding);
    })?;
    match first {
        Some(finding) => bail!("check finds {finding:?}"),
        None => Ok(()),
    }
}

/// Runs a command to its end.
fn run_whole(command: &mut Command) -> Result<()> {
    command.stdin(Stdio::null());
    // It may have run with a failpoint before.
    command.env_remove("LOCI_FAILPOINT");
    // A child that was being started when its parent was killed holds the lock for a moment.
    let started = Instant::now();
    loop {
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return Ok(());
        }
        let is_locked = errors.contains("open in another process");
        if !is_locked || started.elapsed() > Duration::from_secs(5) {
            bail!("{command:?} ended with {}: {errors}", output.status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Generations that a backup retains beside the newest.
fn generations(backup: &Path) -> Result<Vec<u64>> {
    let folder = backup.join("generations");
    let mut all = Vec::new();
    if folder.exists() {
        for entry in std::fs::read_dir(folder)? {
            all.push(entry?.file_name().to_string_lossy().parse()?);
        }
    }
    Ok(all)
}

/// Fails if a folder contains unfinished files, or files that its database does not list.
fn verify_no_leftovers(folder: &Path) -> Result<()> {
    for within in [folder.to_path_buf(), folder.join("segments")] {
        for entry in std::fs::read_dir(within)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let is_left = [".tmp", ".new"].iter().any(|end| name.ends_with(end));
            ensure!(
                !is_left && name != "UNFINISHED" && name != "importing",
                "{name} is left behind"
            );
        }
    }
    database(folder, |database| {
        verify_no_unlisted_files(database, folder)
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to.join("segments"))?;
    std::fs::copy(from.join("loci.redb"), to.join("loci.redb"))?;
    for entry in std::fs::read_dir(from.join("segments"))? {
        let name = entry?.file_name();
        let name = Path::new("segments").join(name);
        std::fs::copy(from.join(&name), to.join(&name))?;
    }
    Ok(())
}

/// Turns a store into one of format 1, which had no table for pictures.
fn downgrade(store: &Path) -> Result<()> {
    const META: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("meta");
    let assets: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(Table::Assets.name());
    let database = redb::Database::open(store.join("loci.redb"))?;
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        let value = seal_row(Table::Meta, b"format", &1u32.to_le_bytes());
        meta.insert(&b"format"[..], &value[..])?;
    }
    transaction.delete_table(assets)?;
    Ok(transaction.commit()?)
}
