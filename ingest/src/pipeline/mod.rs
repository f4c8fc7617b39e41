//! Files and folders into a database: found, parsed in parallel, stored in order.
//!
//! Always true: a document is stored whole or not at all, and a file that fails leaves what was
//! stored of it before as it was. The order of commits follows the sorted paths, whatever the number
//! of jobs. Stopped at any moment and started again, it goes on where it was: what is stored
//! unchanged is skipped.
//!
//! Start reading at [`ingest`].

mod ordered;
mod watch;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use locidb::storage::records::EmbedLevels;
use locidb::storage::staging::content_hash;
use locidb::storage::{DocumentKey, Table};
use locidb::{Database, NewDocument, Progress, Settings};
use serde::Serialize;

use crate::chunk::{ChunkSettings, Chunking};
use crate::document::{self, Source};
use crate::extract::ExtractSettings;
use crate::parse::{Kind, detect};
use crate::runner::ParseRunner;
use ordered::{Bounds, Work, in_order};
pub use watch::{WatchOptions, watch};

/// Files that one transaction stores at most.
const BATCH_FILES: usize = 64;
/// Bytes of files that one transaction stores, one file excepted.
const BATCH_BYTES: u64 = 1 << 20;
/// Files that are read and not stored yet.
const AHEAD_FILES_MAX: usize = 4 * BATCH_FILES;
/// Bytes of these, and of the documents that were made of them, above which no other is begun.
const AHEAD_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a file at work counts for at least: what comes of it may be larger than it is.
const WORK_BYTES: u64 = 4 << 20;
/// Bytes of documents with which a transaction is full: a small archive may hold much.
const BATCH_SIZE_MAX: usize = 16 << 20;

/// What to make of the files.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// The key of the one document; `None`: its path relative to the ingested folder.
    pub key: Option<String>,
    /// Who owns the documents; empty for nobody in particular.
    pub user: String,
    /// The named collection; empty for the default one.
    pub collection: String,
    /// What every file is; `None`: by name and first bytes.
    pub kind: Option<Kind>,
    /// How documents are cut.
    pub chunking: Chunking,
    /// Which chunks are embedded; `None`: as the store's settings say.
    pub embed: Option<EmbedLevels>,
    /// Whether unchanged documents are done again.
    pub force: bool,
    /// Files parsed at a time; 0: as many as there are cores.
    pub jobs: usize,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is stored now.
    Added,
    /// It took the place of an older state.
    Updated,
    /// It was stored already.
    Unchanged,
    /// It is not stored; an older state of it is as it was.
    Failed,
    /// Its file is gone, and so is the document.
    Deleted,
}

/// One file's line.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its path, as given or found.
    pub path: String,
    /// The document's public key.
    pub document: String,
    /// What became of it.
    pub status: Status,
    /// Its chunks.
    pub chunks: u64,
    /// Concepts that it speaks of.
    pub concepts: u64,
    /// Learning items made from it.
    pub items: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds that parsing and chunking took.
    pub took_ms: u64,
}

/// What became of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Files that are stored now.
    pub added: u64,
    /// Files that took the place of an older state.
    pub updated: u64,
    /// Files that were stored already.
    pub unchanged: u64,
    /// Files that are not stored.
    pub failed: u64,
    /// Documents of files that are gone.
    pub deleted: u64,
    /// Chunks of all that are stored.
    pub chunks: u64,
    /// Texts that a model embedded; the built-in embedder and vectors that were there count nothing.
    pub embedded: u64,
    /// Whether the caller stopped it before the end.
    pub interrupted: bool,
    /// Milliseconds from first to last.
    pub took_ms: u64,
}

/// Told what happens. [`Progress::report`] may stop the ingest at any moment: what was stored stays.
pub trait Reporter: Progress {
    /// A file is done, and durably so.
    fn outcome(&self, outcome: &Outcome);
}

/// Why an ingest could not begin or go on. What was stored stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// A path that was given is not there.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// One key was given for several files. Give one file, or no key.
    #[error("--key names one document, but {0} files were found")]
    OneKey(usize),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] locidb::Error),
}

/// Stores files and the files in folders, which are walked without hidden ones and without stores.
/// When `reporter` stops it, `runner` is stopped for good: give the next call another one.
///
/// # Errors
/// [`IngestError`]; a file that fails is reported as an outcome and does not stop the others.
pub fn ingest(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
    runner: &dyn ParseRunner,
    reporter: &(dyn Reporter + Sync),
) -> Result<Summary, IngestError> {
    let started = Instant::now();
    let files = find(paths, options)?;
    let worker = Worker::new(database, options, runner)?;
    let mut summary = Summary::default();
    store_files(&worker, &files, reporter, &mut summary)?;
    summary.took_ms = started.elapsed().as_millis() as u64;
    Ok(summary)
}

/// Stores `files`, and finishes what concerns the store as a whole.
fn store_files(
    worker: &Worker<'_>,
    files: &[Found],
    reporter: &(dyn Reporter + Sync),
    summary: &mut Summary,
) -> Result<(), IngestError> {
    let mut shelf = Shelf {
        database: worker.database,
        reporter,
        summary,
        batches: batches(files).map(<[Found]>::len).collect(),
        prepared: Vec::new(),
        held: 0,
        done: 0,
        total: files.len() as u64,
        failed: None,
    };
    let bounds = Bounds {
        jobs: match worker.options.jobs {
            0 => available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        },
        ahead_max: AHEAD_FILES_MAX,
        weight_max: AHEAD_BYTES_MAX,
    };
    let done = AtomicU64::new(0);
    let idle = || {
        let flow = reporter.report("storing", done.load(Ordering::Relaxed), files.len() as u64);
        if flow.is_break() {
            worker.runner.stop();
        }
        flow
    };
    let work = Work {
        items: files,
        weight: |file: &Found| file.len.max(WORK_BYTES),
        work: |file: &Found| worker.prepare(file),
        result_weight: |prepared: &Prepared| prepared.size() as u64,
    };
    let flow = in_order(&work, &bounds, idle, |prepared| {
        let flow = shelf.take(prepared);
        done.store(shelf.done, Ordering::Relaxed);
        if flow.is_break() {
            worker.runner.stop();
        }
        flow
    });
    if let Some(error) = shelf.failed {
        return Err(error);
    }
    summary.interrupted = flow.is_break();
    if !summary.interrupted {
        let before = worker.database.embedded_texts();
        let finished = worker.database.finish(reporter);
        summary.embedded += worker.database.embedded_texts() - before;
        match finished {
            Err(locidb::Error::Interrupted) => summary.interrupted = true,
            other => other?,
        }
    }
    Ok(())
}

/// A file to store.
struct Found {
    path: PathBuf,
    key: String,
    len: u64,
    /// Why it cannot be, known before it is read.
    refused: Option<String>,
}

fn find(paths: &[PathBuf], options: &IngestOptions) -> Result<Vec<Found>, IngestError> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |source| IngestError::Path {
            path: path.clone(),
            source,
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            walk(path, &mut files);
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let key = name.to_string_lossy().into_owned();
            files.push(Found {
                path: path.clone(),
                key,
                len: metadata.len(),
                refused: (!metadata.is_file()).then(|| "it is no regular file".into()),
            });
        }
    }
    drop_repeats(&mut files);
    if let Some(key) = &options.key {
        match &mut files[..] {
            [one] => one.key.clone_from(key),
            _ => return Err(IngestError::OneKey(files.len())),
        }
    }
    refuse_repeats(&mut files);
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<Found>) {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .hidden(true)
        .filter_entry(|entry| !is_store(entry.path()))
        .sort_by_file_path(Path::cmp)
        .build();
    for entry in walk {
        let found = match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
                let parts = relative
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy());
                let key = parts.collect::<Vec<_>>().join("/");
                let len = entry.metadata().map_or(0, |metadata| metadata.len());
                Found {
                    path: entry.into_path(),
                    key,
                    len,
                    refused: None,
                }
            }
            Ok(_) => continue,
            Err(error) => Found {
                path: folder.to_path_buf(),
                key: String::new(),
                len: 0,
                refused: Some(error.to_string()),
            },
        };
        files.push(found);
    }
}

/// Whether a folder is a store, perhaps the very one that is written to.
fn is_store(folder: &Path) -> bool {
    folder.join("loci.redb").is_file()
}

/// A file that was given or found twice under one key is stored once.
fn drop_repeats(files: &mut Vec<Found>) {
    let mut seen = HashSet::new();
    files.retain(|file| {
        let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        file.refused.is_some() || seen.insert((path, file.key.clone()))
    });
}

/// Two files that would be one document are an error, not a race.
fn refuse_repeats(files: &mut [Found]) {
    let mut first: HashMap<String, PathBuf> = HashMap::new();
    for file in files.iter_mut().filter(|file| file.refused.is_none()) {
        if let Some(other) = first.get(&file.key) {
            file.refused = Some(format!(
                "its key {} is that of {} too; ingest their common folder, or use --collection",
                file.key,
                other.display()
            ));
        } else {
            first.insert(file.key.clone(), file.path.clone());
        }
    }
}

/// A file made ready to be stored.
struct Prepared {
    outcome: Outcome,
    document: Option<Box<NewDocument>>,
}

impl Prepared {
    /// About how many bytes its document takes.
    fn size(&self) -> usize {
        let Some(document) = &self.document else {
            return 0;
        };
        let chunks = document.chunks.iter().map(|chunk| chunk.record.text.len());
        let assets = document.assets.iter().map(|asset| asset.bytes.len());
        let text = document.text.as_ref().map_or(0, String::len);
        document.original.len() + text + chunks.chain(assets).sum::<usize>()
    }
}

struct Worker<'w> {
    database: &'w Database,
    options: &'w IngestOptions,
    runner: &'w dyn ParseRunner,
    settings: document::Settings,
    /// What `settings` are called in a document's record.
    parser: String,
    embed: EmbedLevels,
}

impl<'w> Worker<'w> {
    fn new(
        database: &'w Database,
        options: &'w IngestOptions,
        runner: &'w dyn ParseRunner,
    ) -> Result<Self, locidb::Error> {
        let of_store = database.settings()?;
        let settings = build_settings(&of_store, options);
        // A file that was told to be something else is made anew.
        let kind = options.kind.map(|kind| format!(" kind={}", kind.name()));
        let parser = settings.signature() + kind.as_deref().unwrap_or_default();
        let embed = options.embed.unwrap_or(of_store.embed_levels);
        Ok(Worker {
            database,
            options,
            runner,
            settings,
            parser,
            embed,
        })
    }
}

fn build_settings(settings: &Settings, options: &IngestOptions) -> document::Settings {
    document::Settings {
        chunking: ChunkSettings {
            parent_tokens: settings.chunk_parent_tokens,
            child_tokens: settings.chunk_child_tokens,
            overlap: settings.chunk_overlap,
            mode: options.chunking,
            ..ChunkSettings::default()
        },
        extraction: ExtractSettings {
            entities_per_chunk: settings.entities_per_chunk as usize,
            relations_per_chunk: settings.relations_per_chunk as usize,
        },
    }
}

/// Runs of files that one transaction stores.
fn batches(files: &[Found]) -> impl Iterator<Item = &[Found]> {
    let mut rest = files;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |file: &&Found| {
            bytes += file.len;
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH_FILES).take_while(fits).count();
        let (batch, after) = rest.split_at(count.max(1).min(rest.len()));
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

impl Worker<'_> {
    fn prepare(&self, file: &Found) -> Prepared {
        let started = Instant::now();
        let mut outcome = Outcome {
            path: file.path.display().to_string(),
            document: file.key.clone(),
            status: Status::Failed,
            chunks: 0,
            concepts: 0,
            items: 0,
            error: None,
            took_ms: 0,
        };
        // A bug that one file brings to light must not stop the others.
        let read = catch_unwind(AssertUnwindSafe(|| self.read(file, &mut outcome)));
        let read = read.unwrap_or_else(|_| Err("reading it panicked; please report it".into()));
        let document = match read {
            Ok(document) => document,
            Err(error) => {
                outcome.status = Status::Failed;
                outcome.error = Some(error);
                None
            }
        };
        if let Some(document) = &document {
            outcome.chunks = document.chunks.len() as u64;
            outcome.concepts = document.concepts.len() as u64;
        }
        outcome.took_ms = started.elapsed().as_millis() as u64;
        Prepared { outcome, document }
    }

    fn read(
        &self,
        file: &Found,
        outcome: &mut Outcome,
    ) -> Result<Option<Box<NewDocument>>, String> {
        if let Some(why) = &file.refused {
            return Err(why.clone());
        }
        let (user, collection) = (&self.options.user[..], &self.options.collection[..]);
        let key = DocumentKey::new(user, collection, &file.key[..]);
        let key = key.map_err(|error| error.to_string())?;
        outcome.document = key.to_string();
        let bytes = read(&file.path, self.runner.bytes_max())?;
        if self
            .is_stored(&key, &bytes, outcome)
            .map_err(|error| error.to_string())?
        {
            return Ok(None);
        }
        let kind = self.options.kind.or_else(|| detect(&file.path, &bytes));
        let kind = kind.ok_or("what kind of file this is cannot be told: ingest it by itself with --kind, or save it as one of the kinds that are read")?;
        let name = file
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let source = Source {
            key: key.key,
            user: key.user,
            collection: key.collection,
            filename: name,
            ..Source::default()
        };
        let made = self.runner.document(kind, bytes, source, &self.settings);
        let mut document = made.map_err(|error| error.to_string())?;
        if document.chunks.is_empty() {
            return Err("there is no text in it".into());
        }
        document.record.embed = self.embed;
        document.record.parser.clone_from(&self.parser);
        Ok(Some(Box::new(document)))
    }

    /// Whether the same bytes are stored, made by the same parser; says so in the outcome.
    fn is_stored(
        &self,
        key: &DocumentKey,
        bytes: &[u8],
        outcome: &mut Outcome,
    ) -> Result<bool, locidb::Error> {
        let view = self.database.view();
        let rows = view.snapshot().rows();
        outcome.status = Status::Added;
        let Some(id) = rows.document_id(key)? else {
            return Ok(false);
        };
        outcome.status = Status::Updated;
        let Some(record) = rows.document(id)? else {
            return Ok(false);
        };
        let same = record.content_hash == content_hash(bytes)
            && record.parser == self.parser
            && record.embed == self.embed;
        if !same || self.options.force {
            return Ok(false);
        }
        outcome.status = Status::Unchanged;
        outcome.chunks = record.chunk_count.into();
        rows.scan_document(Table::ConceptContributions, id, &mut |_, _| {
            outcome.concepts += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(true)
    }
}

/// A file's bytes, unless there are more than `most`. It may have grown since it was found.
fn read(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let read = || {
        let file = fs::File::open(path)?;
        let len = file.metadata()?.len();
        let mut bytes = Vec::new();
        if len <= most as u64 {
            let limit = (most as u64).saturating_add(1);
            file.take(limit).read_to_end(&mut bytes)?;
        }
        Ok::<_, std::io::Error>((bytes, len))
    };
    let (bytes, len) = read().map_err(|error| error.to_string())?;
    match bytes.len() > most || len > most as u64 {
        true => Err(format!(
            "the file has {} bytes, at most {most} are read; split it",
            len.max(bytes.len() as u64)
        )),
        false => Ok(bytes),
    }
}

/// Where files that are ready wait for the others of their batch.
struct Shelf<'s> {
    database: &'s Database,
    reporter: &'s dyn Reporter,
    summary: &'s mut Summary,
    /// How many files of each batch are still to come.
    batches: VecDeque<usize>,
    prepared: Vec<Prepared>,
    /// Bytes of these documents.
    held: usize,
    done: u64,
    total: u64,
    failed: Option<IngestError>,
}

impl Shelf<'_> {
    /// Takes the next file, and stores those that wait when it is the last of its batch or they are large.
    fn take(&mut self, prepared: Prepared) -> ControlFlow<()> {
        self.held += prepared.size();
        self.prepared.push(prepared);
        let left = self.batches.front_mut().map_or(0, |left| {
            *left -= 1;
            *left
        });
        if left > 0 && self.held < BATCH_SIZE_MAX {
            return ControlFlow::Continue(());
        }
        if left == 0 {
            self.batches.pop_front();
        }
        self.held = 0;
        match store_batch(self.database, std::mem::take(&mut self.prepared)) {
            Ok(outcomes) => {
                for outcome in &outcomes {
                    self.reporter.outcome(outcome);
                    self.summary.add(outcome);
                }
                self.done += outcomes.len() as u64;
                self.reporter.report("storing", self.done, self.total)
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Stores a batch in one transaction, or, when one of its documents is refused, each in its own.
fn store_batch(database: &Database, batch: Vec<Prepared>) -> Result<Vec<Outcome>, IngestError> {
    let mut outcomes: Vec<Outcome> = batch.iter().map(|p| p.outcome.clone()).collect();
    let documents: Vec<(usize, NewDocument)> = batch
        .into_iter()
        .enumerate()
        .filter_map(|(at, prepared)| Some((at, *prepared.document?)))
        .collect();
    if documents.len() > 1 {
        let all: Vec<NewDocument> = documents
            .iter()
            .map(|(_, document)| document.clone())
            .collect();
        let together = database.write(move |tx| {
            all.into_iter()
                .try_for_each(|document| tx.put_document(document).map(drop))
        });
        match together {
            Ok(()) => return Ok(outcomes),
            Err(error) if !is_refusal(&error) => return Err(error.into()),
            Err(_) => {}
        }
    }
    for (at, document) in documents {
        match database.write(move |tx| tx.put_document(document)) {
            Ok(_) => {}
            Err(error) if is_refusal(&error) => {
                outcomes[at].status = Status::Failed;
                outcomes[at].chunks = 0;
                outcomes[at].concepts = 0;
                outcomes[at].error = Some(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcomes)
}

/// Whether the store is sound and only this document was refused.
fn is_refusal(error: &locidb::Error) -> bool {
    use locidb::storage::StoreError::{Invalid, Limit};
    matches!(error, locidb::Error::Store(Invalid(_) | Limit { .. }))
}

impl Summary {
    fn add(&mut self, outcome: &Outcome) {
        match outcome.status {
            Status::Added => self.added += 1,
            Status::Updated => self.updated += 1,
            Status::Unchanged => self.unchanged += 1,
            Status::Failed => self.failed += 1,
            Status::Deleted => self.deleted += 1,
        }
        self.chunks += outcome.chunks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::InProcess;

    /// Asks to stop once so many files are stored, and keeps how many were each time it was asked.
    struct StopAfter(u64, std::sync::Mutex<Vec<u64>>);

    impl StopAfter {
        fn new(files: u64) -> StopAfter {
            StopAfter(files, std::sync::Mutex::default())
        }
    }

    impl Progress for StopAfter {
        fn report(&self, step: &str, done: u64, _: u64) -> ControlFlow<()> {
            if step != "storing" {
                return ControlFlow::Continue(());
            }
            self.1.lock().unwrap().push(done);
            match done >= self.0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    impl Reporter for StopAfter {
        fn outcome(&self, _: &Outcome) {}
    }

    /// Changes a folder while it is watched, a step after each look, and keeps what is told.
    struct Changes<'c> {
        steps: std::sync::Mutex<Vec<Box<dyn FnOnce() + Send + 'c>>>,
        told: std::sync::Mutex<Vec<(String, Status)>>,
    }

    impl Progress for Changes<'_> {
        fn report(&self, step: &str, _: u64, _: u64) -> ControlFlow<()> {
            if step != "watching" {
                return ControlFlow::Continue(());
            }
            let mut steps = self.steps.lock().unwrap();
            match steps.is_empty() {
                true => ControlFlow::Break(()),
                false => {
                    steps.remove(0)();
                    ControlFlow::Continue(())
                }
            }
        }
    }

    impl Reporter for Changes<'_> {
        fn outcome(&self, outcome: &Outcome) {
            let told = (outcome.document.clone(), outcome.status);
            self.told.lock().unwrap().push(told);
        }
    }

    #[test]
    fn a_watched_folder_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        let write = |name: &str, text: &str| fs::write(files.join(name), text).unwrap();
        write("a.md", "# A\n\nWater.\n");
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("c.md"), "# C\n\nEarth.\n").unwrap();
        let database = Database::open(folder.path().join("store")).unwrap();
        let idle = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
        let steps: Vec<Box<dyn FnOnce() + Send + '_>> = vec![
            Box::new(|| write("b.md", "# B\n\nFire.\n")),
            idle(),
            idle(),
            Box::new(|| write("a.md", "# A\n\nWater and wine.\n")),
            idle(),
            idle(),
            Box::new(|| fs::remove_file(files.join("b.md")).unwrap()),
            idle(),
            idle(),
            idle(),
            // A folder that is away, and one that is another's, take nothing with them.
            Box::new(|| fs::rename(&other, folder.path().join("away")).unwrap()),
            idle(),
            idle(),
            idle(),
        ];
        let changes = Changes {
            steps: steps.into(),
            told: Vec::new().into(),
        };
        let how = WatchOptions {
            every: std::time::Duration::ZERO,
            delete: true,
        };
        let paths = [files.clone(), other.clone()];
        let options = IngestOptions::default();
        let runner = InProcess::default();
        let summary = watch(&database, &paths, &options, how, &runner, &changes).unwrap();
        let told = changes.told.into_inner().unwrap();
        let told: Vec<_> = told
            .iter()
            .map(|(key, status)| (&key[..], *status))
            .collect();
        assert_eq!(
            told,
            [
                ("a.md", Status::Added),
                ("c.md", Status::Added),
                ("b.md", Status::Added),
                ("a.md", Status::Updated),
                ("b.md", Status::Deleted)
            ]
        );
        assert_eq!((summary.added, summary.updated, summary.deleted), (3, 1, 1));
        assert_eq!(database.stats().documents, 2);
    }

    #[test]
    fn a_file_with_more_bytes_than_are_read_is_refused_before_it_is_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, b"0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        let refused = read(&path, 9).unwrap_err();
        assert!(refused.contains("10 bytes, at most 9"), "{refused}");
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&path, 9).is_err());
    }

    #[test]
    fn small_archives_that_hold_much_are_not_held_all_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        // Each becomes a document of some megabytes, far above what one transaction takes together.
        let word = |n: usize| {
            let text = format!("water {n} ").repeat(100_000);
            format!(
                "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
            )
        };
        for n in 0..8 {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            let plain = zip::write::SimpleFileOptions::default();
            zip.start_file("word/document.xml", plain).unwrap();
            std::io::Write::write_all(&mut zip, word(n).as_bytes()).unwrap();
            let bytes = zip.finish().unwrap().into_inner();
            assert!(bytes.len() < 20_000);
            fs::write(files.join(format!("{n}.docx")), bytes).unwrap();
        }
        let database = Database::open(folder.path().join("store")).unwrap();
        let reporter = StopAfter::new(u64::MAX);
        let (options, runner) = (IngestOptions::default(), InProcess::default());
        let summary = ingest(&database, &[files], &options, &runner, &reporter).unwrap();
        assert_eq!(summary.added, 8);
        let stored = reporter.1.into_inner().unwrap();
        assert!(
            stored.iter().any(|&done| 0 < done && done < 8),
            "{stored:?}"
        );
    }

    /// Makes documents, but for those called `slow`, which take until it is stopped.
    #[derive(Default)]
    struct Slow(AtomicU64);

    impl ParseRunner for Slow {
        fn document(
            &self,
            kind: Kind,
            bytes: Vec<u8>,
            source: Source,
            settings: &document::Settings,
        ) -> Result<NewDocument, crate::parse::ParseError> {
            while source.key.starts_with("slow") {
                if self.0.load(Ordering::Relaxed) > 0 {
                    return Err(crate::parse::ParseError::Stopped);
                }
                std::thread::yield_now();
            }
            InProcess::default().document(kind, bytes, source, settings)
        }

        fn bytes_max(&self) -> usize {
            usize::MAX
        }

        fn stop(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_ingest_that_is_stopped_after_a_batch_waits_for_no_parser() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("a.md"), "# A\n\nWater.\n").unwrap();
        // A batch of its own.
        fs::write(files.join("slow.md"), "Wine. ".repeat(1 << 18)).unwrap();
        let database = Database::open(folder.path().join("store")).unwrap();
        let options = IngestOptions {
            jobs: 2,
            ..IngestOptions::default()
        };
        let stop = StopAfter::new(1);
        let summary = ingest(&database, &[files], &options, &Slow::default(), &stop).unwrap();
        assert!(summary.interrupted);
        assert_eq!((summary.added, summary.failed), (1, 0));
    }

    #[test]
    fn a_store_in_a_folder_is_no_file_of_it_and_another_kind_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("a.txt"),
            "User: Water?\n\nAssistant: Wine.\n",
        )
        .unwrap();
        let database = Database::open(folder.path().join("store")).unwrap();
        let run = |kind| {
            let options = IngestOptions {
                kind,
                ..IngestOptions::default()
            };
            let paths = [folder.path().to_path_buf()];
            let reporter = StopAfter::new(u64::MAX);
            let runner = InProcess::default();
            ingest(&database, &paths, &options, &runner, &reporter).unwrap()
        };
        let first = run(None);
        assert_eq!((first.added, first.failed), (1, 0));
        assert_eq!(run(None).unchanged, 1);
        assert_eq!(run(Some(Kind::Chat)).updated, 1);
        assert_eq!(run(Some(Kind::Chat)).unchanged, 1);
    }

    #[test]
    fn a_stopped_ingest_ends_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        for n in 0..BATCH_FILES * 5 {
            fs::write(
                files.join(format!("{n}.md")),
                format!("# Note {n}\n\nWater.\n"),
            )
            .unwrap();
        }
        let database = Database::open(folder.path().join("store")).unwrap();
        let options = IngestOptions::default();
        let run = |reporter: &StopAfter| {
            let paths = [files.clone()];
            ingest(&database, &paths, &options, &InProcess::default(), reporter).unwrap()
        };
        let first = run(&StopAfter::new(BATCH_FILES as u64));
        assert!(first.interrupted);
        assert_eq!(first.added, BATCH_FILES as u64);
        let second = run(&StopAfter::new(u64::MAX));
        assert!(!second.interrupted);
        assert_eq!(second.unchanged, BATCH_FILES as u64);
        assert_eq!(second.added, 4 * BATCH_FILES as u64);
        assert!(
            database.stats().space.is_some(),
            "the second run ends what the first began"
        );
    }
}
