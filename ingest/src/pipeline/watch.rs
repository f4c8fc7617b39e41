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

use super::captioning::CaptionSession;
use super::find::{SourceFile, find_files};
use super::ingest::store_files;
use super::options::IngestOptions;
use super::outcome::{IngestError, IngestSummary, Outcome, Reporter, Status};
use super::prepare::Worker;
use crate::runner::ParseRunner;

/// How a folder is watched.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// Time between two looks.
    pub interval: Duration,
    /// Whether the document of a file that is gone is deleted: of one that was there while it was watched, in a folder that
    /// can be read and is not empty.
    pub delete: bool,
}

/// Looks in a row in which a file that is gone is missing.
const MISSING_SCANS: u32 = 2;
/// How often the reporter is asked whether to go on.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// When a file was written last, as far as the file system says.
type FileStamp = (u64, Option<SystemTime>);

/// Stores files and folders as [`ingest`](super::ingest), and goes on with what comes and changes in them, until
/// [`report`](locidb::Progress::report) says to stop.
///
/// # Errors
/// [`IngestError`]; a path that is gone for a while is none once it was there.
pub fn watch(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
    watch_options: WatchOptions,
    runner: &dyn ParseRunner,
    reporter: &(dyn Reporter + Sync),
) -> Result<IngestSummary, IngestError> {
    let started = Instant::now();
    let mut summary = IngestSummary::default();
    let mut watched = WatchState::default();
    let captioning = options.captioner.as_ref().map(CaptionSession::new);
    // The first look takes everything as it is, and all paths must be there.
    let mut is_first = true;
    loop {
        let files = if is_first {
            find_files(database, paths, options)?
        } else {
            find_existing(database, paths, options)?
        };
        let (due, gone) = watched.scan(files, paths, is_first);
        if watch_options.delete {
            delete(database, options, gone, reporter, &mut summary)?;
        }
        if is_first || !due.is_empty() {
            captioning.iter().for_each(CaptionSession::reset_failures);
            let worker = Worker::new(database, options, runner, captioning.as_ref())?;
            store_files(&worker, &due, reporter, &mut summary)?;
        }
        is_first = false;
        if summary.interrupted
            || wait_or_stop(watch_options.interval, watched.files.len() as u64, reporter)
        {
            summary.interrupted = false;
            summary.took_ms = started.elapsed().as_millis() as u64;
            return Ok(summary);
        }
    }
}

fn file_stamp(path: &Path) -> FileStamp {
    let metadata = fs::metadata(path);
    metadata.map_or((0, None), |of| (of.len(), of.modified().ok()))
}

/// The files below those of `paths` that are there: a disk may be away for a while.
fn find_existing(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
) -> Result<Vec<SourceFile>, IngestError> {
    let there: Vec<PathBuf> = paths.iter().filter(|path| path.exists()).cloned().collect();
    if there.is_empty() {
        return Ok(Vec::new());
    }
    match find_files(database, &there, options) {
        // It went between the two looks.
        Err(IngestError::Path { .. }) => Ok(Vec::new()),
        found => found,
    }
}

/// A file that was stored, or tried.
struct WatchedFile {
    key: String,
    /// What the store remembers it by.
    origin: Option<String>,
    stamp: FileStamp,
    /// How many looks in a row it was missing in.
    missing_scans: u32,
}

/// A file that is gone.
struct DeletedFile {
    path: PathBuf,
    key: String,
    origin: Option<String>,
}

/// What was seen of the files that are watched.
#[derive(Default)]
struct WatchState {
    /// Files that were stored, or tried.
    files: HashMap<PathBuf, WatchedFile>,
    /// Files that changed since the look before.
    changing: HashMap<PathBuf, FileStamp>,
}

impl WatchState {
    /// The files that are to be stored, and those that are gone.
    fn scan(
        &mut self,
        files: Vec<SourceFile>,
        paths: &[PathBuf],
        is_first: bool,
    ) -> (Vec<SourceFile>, Vec<DeletedFile>) {
        let readable = readable_roots(&files, paths);
        let keys: HashSet<String> = files.iter().map(|file| file.key.clone()).collect();
        let there: HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let mut due = Vec::new();
        for file in files {
            let stamp = file_stamp(&file.path);
            let known = self.files.get_mut(&file.path).map(|seen| {
                seen.missing_scans = 0;
                seen.stamp == stamp
            });
            let is_calm = is_first || self.changing.insert(file.path.clone(), stamp) == Some(stamp);
            if known == Some(true) || !is_calm || (file.rejection.is_some() && !is_first) {
                continue;
            }
            self.changing.remove(&file.path);
            if file.rejection.is_none() {
                let seen = WatchedFile {
                    key: file.key.clone(),
                    origin: file.origin.clone(),
                    stamp,
                    missing_scans: 0,
                };
                self.files.insert(file.path.clone(), seen);
            }
            due.push(file);
        }
        let mut gone = Vec::new();
        for (path, seen) in &mut self.files {
            let root = paths.iter().find(|root| path.starts_with(root));
            if there.contains(path) || !root.is_some_and(|root| readable.contains(root)) {
                continue;
            }
            seen.missing_scans += 1;
            // Who saves a file may take it away for a moment.
            if seen.missing_scans >= MISSING_SCANS && !keys.contains(&seen.key) {
                gone.push(DeletedFile {
                    path: path.clone(),
                    key: seen.key.clone(),
                    origin: seen.origin.clone(),
                });
            }
        }
        for file in &gone {
            self.files.remove(&file.path);
        }
        (due, gone)
    }
}

/// The paths of which this look says what is there: all of them that were read whole and are not empty. An empty folder
/// may be the place of a disk that is away.
fn readable_roots<'p>(files: &[SourceFile], paths: &'p [PathBuf]) -> HashSet<&'p PathBuf> {
    let is_of = |file: &SourceFile, root: &PathBuf| file.path.starts_with(root);
    let is_whole = |root: &PathBuf| {
        let mut own = files.iter().filter(|file| is_of(file, root)).peekable();
        own.peek().is_some() && !own.any(|file| file.rejection.is_some() && file.path == *root)
    };
    paths.iter().filter(|root| is_whole(root)).collect()
}

fn delete(
    database: &Database,
    options: &IngestOptions,
    mut gone: Vec<DeletedFile>,
    reporter: &dyn Reporter,
    summary: &mut IngestSummary,
) -> Result<(), IngestError> {
    gone.sort_by(|a, b| a.path.cmp(&b.path));
    for DeletedFile { path, key, origin } in gone {
        let key = DocumentKey::new(&options.user[..], &options.collection[..], key);
        let Ok(key) = key else { continue };
        if has_other_origin(database, &key, origin.as_deref())? {
            continue;
        }
        let document = key.to_string();
        if database.write(move |tx| tx.delete_document(&key))? {
            let outcome = Outcome::new(&path, &document, Status::Deleted);
            summary.add(&outcome);
            reporter.report_outcome(&outcome);
        }
    }
    Ok(())
}

/// Whether the document with this key was not read from the file that is gone: that was refused, or never stored.
fn has_other_origin(
    database: &Database,
    key: &DocumentKey,
    origin: Option<&str>,
) -> Result<bool, locidb::Error> {
    let view = database.snapshot();
    let id = view.snapshot().rows().document_id(key)?;
    let stored = id.map(|id| view.origin(id)).transpose()?.flatten();
    Ok(stored.as_deref() != origin)
}

/// Waits; returns whether to stop.
fn wait_or_stop(every: Duration, files: u64, reporter: &dyn Reporter) -> bool {
    let until = Instant::now() + every;
    loop {
        if reporter.report("watching", files, files).is_break() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}
