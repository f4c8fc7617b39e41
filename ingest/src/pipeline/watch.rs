//! A folder that is watched: what comes or changes in it is stored, until the caller stops it.
//!
//! Files are looked at now and then, by length and time of change: that works on every file system, also over a network,
//! and costs a walk. A file is stored once it stayed the same between two looks, so that one which is being written is
//! not read in its middle.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use locidb::Database;
use locidb::storage::DocumentKey;

use super::{
    IngestError, IngestOptions, Outcome, Reporter, Status, Summary, Worker, find, store_files,
};
use crate::runner::ParseRunner;

/// How a folder is watched.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// Time between two looks.
    pub every: Duration,
    /// Whether the document of a file that is gone is deleted: of one that was there while it was watched.
    pub delete: bool,
}

/// How often the reporter is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// When a file was written last, as far as the file system says.
type Stamp = (u64, Option<SystemTime>);

/// Stores files and folders as [`ingest`](super::ingest), and goes on with what comes and changes in them, until
/// [`report`](locidb::Progress::report) says to stop.
///
/// # Errors
/// [`IngestError`]; a path that is gone for a while is none once it was there.
pub fn watch(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
    how: WatchOptions,
    runner: &dyn ParseRunner,
    reporter: &(dyn Reporter + Sync),
) -> Result<Summary, IngestError> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut seen: HashMap<PathBuf, (String, Stamp)> = HashMap::new();
    let mut waiting: HashMap<PathBuf, Stamp> = HashMap::new();
    // The first look takes everything as it is.
    let mut is_first = true;
    loop {
        let files = match find(paths, options) {
            Ok(files) => files,
            Err(IngestError::Path { .. }) if !is_first => Vec::new(),
            Err(error) => return Err(error),
        };
        let there: HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let mut due = Vec::new();
        for file in files {
            let stamp = stamp(&file.path);
            let is_known = seen
                .get(&file.path)
                .is_some_and(|(_, known)| *known == stamp);
            let is_calm = is_first || waiting.insert(file.path.clone(), stamp) == Some(stamp);
            if !is_known && is_calm {
                waiting.remove(&file.path);
                seen.insert(file.path.clone(), (file.key.clone(), stamp));
                due.push(file);
            }
        }
        let gone = gone(&mut seen, &there, paths);
        if how.delete {
            delete(database, options, gone, reporter, &mut summary)?;
        }
        if is_first || !due.is_empty() {
            let worker = Worker::new(database, options, runner)?;
            store_files(&worker, &due, reporter, &mut summary)?;
        }
        is_first = false;
        if summary.interrupted || wait(how.every, seen.len() as u64, reporter) {
            summary.interrupted = false;
            summary.took_ms = started.elapsed().as_millis() as u64;
            return Ok(summary);
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path);
    metadata.map_or((0, None), |of| (of.len(), of.modified().ok()))
}

/// Forgets the files that are not there any more, and says which. A folder that is gone as a whole may be a disk that
/// comes back: nothing of it is.
fn gone(
    seen: &mut HashMap<PathBuf, (String, Stamp)>,
    there: &HashSet<PathBuf>,
    paths: &[PathBuf],
) -> Vec<(PathBuf, String)> {
    let is_gone = |path: &PathBuf| {
        let root = paths.iter().find(|root| path.starts_with(root));
        !there.contains(path) && root.is_some_and(|root| root.exists() || root == path)
    };
    let gone: Vec<(PathBuf, String)> = seen
        .iter()
        .filter(|(path, _)| is_gone(path))
        .map(|(path, (key, _))| (path.clone(), key.clone()))
        .collect();
    for (path, _) in &gone {
        seen.remove(path);
    }
    gone
}

fn delete(
    database: &Database,
    options: &IngestOptions,
    mut gone: Vec<(PathBuf, String)>,
    reporter: &dyn Reporter,
    summary: &mut Summary,
) -> Result<(), IngestError> {
    gone.sort();
    for (path, key) in gone {
        let key = DocumentKey::new(&options.user[..], &options.collection[..], key);
        let Ok(key) = key else { continue };
        let document = key.to_string();
        if database.write(move |tx| tx.delete_document(&key))? {
            let outcome = Outcome {
                path: path.display().to_string(),
                document,
                status: Status::Deleted,
                chunks: 0,
                concepts: 0,
                items: 0,
                error: None,
                took_ms: 0,
            };
            summary.add(&outcome);
            reporter.outcome(&outcome);
        }
    }
    Ok(())
}

/// Waits; returns whether to stop.
fn wait(every: Duration, files: u64, reporter: &dyn Reporter) -> bool {
    let until = Instant::now() + every;
    loop {
        if reporter.report("watching", files, files).is_break() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(ASK_EVERY));
    }
}
