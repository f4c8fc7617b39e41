//! Files and folders into a database: found, parsed in parallel, stored in order.
//!
//! Always true: a document is stored whole or not at all, and a file that fails leaves what was
//! stored of it before as it was. The order of commits follows the sorted paths, whatever the number
//! of jobs. Stopped at any moment and started again, it goes on where it was: what is stored
//! unchanged is skipped. A file takes the place of the document that was read from it, and of no other unless
//! the caller says so.
//!
//! Start reading at [`ingest`].

mod captioning;
mod find;
mod open;
mod ordered;
mod origin;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use loci_models::Captioner;
use locidb::storage::records::EmbedLevels;
use locidb::storage::staging::content_hash;
use locidb::storage::{DocumentKey, Table};
use locidb::{Database, NewDocument, Progress, Settings, WriteTransaction};
use serde::Serialize;

use crate::chunk::{ChunkSettings, Chunking};
use crate::document::{self, DocumentSource};
use crate::extract::ExtractSettings;
use crate::runner::{IngestedDocument, ParseRunner};
use captioning::CaptionSession;
use find::{SourceFile, find_files};
use loci_documents::warnings::Warnings;
use loci_documents::{Kind, detect};
use open::FileId;
use ordered::{OrderedWork, WorkLimits, run_in_order};
use origin::{is_same_file, origin_exists};
pub use watch::{WatchOptions, watch};

/// Files that one transaction stores at most.
const BATCH_FILES: usize = 64;
/// Bytes of files that one transaction stores, one file excepted.
const BATCH_BYTES: u64 = 1 << 20;
/// Files that are read and not stored yet.
const IN_FLIGHT_FILES_MAX: usize = 4 * BATCH_FILES;
/// Bytes of these, and of the documents that were made of them, above which no other is begun.
const IN_FLIGHT_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a file at work counts for at least: what comes of it may be larger than it is.
const FILE_WEIGHT_MIN: u64 = 4 << 20;
/// Bytes of documents with which a transaction is full: a small archive may hold much.
const BATCH_DOCUMENT_BYTES_MAX: usize = 16 << 20;

/// What to make of the files.
#[derive(Clone, Default)]
pub struct IngestOptions {
    /// The key of the one document, whatever file it was read from before; `None`: that under which this file is
    /// stored, else its path relative to the ingested folder.
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
    /// Whether a file takes the place of a document that was read from another file, or stored by a client.
    pub replace: bool,
    /// Whether the files are copies of what a caller sent: where they lie is not remembered.
    pub is_upload: bool,
    /// Files parsed at a time; 0: as many as there are cores.
    pub jobs: usize,
    /// What says what pictures without a caption show; they go by their names without one. Nothing of it is stored but
    /// its name, and a document that is stored unchanged is not asked about.
    pub captioner: Option<Arc<dyn Captioner>>,
}

impl fmt::Debug for IngestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IngestOptions")
            .field("key", &self.key)
            .field("user", &self.user)
            .field("collection", &self.collection)
            .field("kind", &self.kind)
            .field("chunking", &self.chunking)
            .field("embed", &self.embed)
            .field("force", &self.force)
            .field("replace", &self.replace)
            .field("is_upload", &self.is_upload)
            .field("jobs", &self.jobs)
            .field("captioner", &self.captioner.as_ref().map(|c| c.name()))
            .finish()
    }
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
    /// What of it is not stored, though the rest is: sentences that say what to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Milliseconds that parsing and chunking took.
    pub took_ms: u64,
}

impl Outcome {
    /// Says that nothing of it is stored.
    fn set_failed(&mut self, error: String) {
        self.status = Status::Failed;
        self.chunks = 0;
        self.concepts = 0;
        self.warnings.clear();
        self.error = Some(error);
    }
}

/// What became of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestSummary {
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
    /// Texts that a model embedded. With the built-in embedder: chunks that have a vector now and had none before.
    pub embedded: u64,
    /// Whether the caller stopped it before the end.
    pub interrupted: bool,
    /// Milliseconds from first to last.
    pub took_ms: u64,
}

/// Told what happens. [`Progress::report`] may stop the ingest at any moment: what was stored stays.
pub trait Reporter: Progress {
    /// A file is done, and durably so.
    fn report_outcome(&self, outcome: &Outcome);
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
/// When `reporter` stops it, `runner` and the captioner are stopped for good: give the next call others.
///
/// # Errors
/// [`IngestError`]; a file that fails is reported as an outcome and does not stop the others.
pub fn ingest(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
    runner: &dyn ParseRunner,
    reporter: &(dyn Reporter + Sync),
) -> Result<IngestSummary, IngestError> {
    let started = Instant::now();
    let files = find_files(database, paths, options)?;
    let captioning = options.captioner.as_ref().map(CaptionSession::new);
    let worker = Worker::new(database, options, runner, captioning.as_ref())?;
    let mut summary = IngestSummary::default();
    store_files(&worker, &files, reporter, &mut summary)?;
    summary.took_ms = started.elapsed().as_millis() as u64;
    Ok(summary)
}

/// Stores `files`, and finishes what concerns the store as a whole.
fn store_files(
    worker: &Worker<'_>,
    files: &[SourceFile],
    reporter: &(dyn Reporter + Sync),
    summary: &mut IngestSummary,
) -> Result<(), IngestError> {
    let mut shelf = PendingBatch {
        database: worker.database,
        reporter,
        summary,
        batches: batches(files).map(<[SourceFile]>::len).collect(),
        prepared: Vec::new(),
        pending_bytes: 0,
        done: 0,
        total: files.len() as u64,
        failed: None,
    };
    let bounds = WorkLimits {
        jobs: match worker.options.jobs {
            0 => available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        },
        in_flight_max: IN_FLIGHT_FILES_MAX,
        weight_max: IN_FLIGHT_BYTES_MAX,
    };
    let done = AtomicU64::new(0);
    let idle = || {
        let flow = reporter.report("storing", done.load(Ordering::Relaxed), files.len() as u64);
        if flow.is_break() {
            worker.stop();
        }
        flow
    };
    let work = OrderedWork {
        items: files,
        weight: |file: &SourceFile| file.len.max(FILE_WEIGHT_MIN),
        work: |file: &SourceFile| worker.prepare(file),
        result_weight: |prepared: &PreparedFile| prepared.document_bytes() as u64,
    };
    let flow = run_in_order(&work, &bounds, idle, |prepared| {
        let flow = shelf.push(prepared);
        done.store(shelf.done, Ordering::Relaxed);
        if flow.is_break() {
            worker.stop();
        }
        flow
    });
    if let Some(error) = shelf.failed {
        return Err(error);
    }
    summary.interrupted = flow.is_break();
    if !summary.interrupted {
        let embedded = || {
            let chunks = worker.database.stats().embedded_chunks;
            (worker.database.embedded_texts(), chunks)
        };
        let (texts_before, chunks_before) = embedded();
        let finished = worker.database.finish(reporter);
        let (texts, chunks) = embedded();
        summary.embedded += match texts - texts_before {
            0 => chunks.saturating_sub(chunks_before),
            by_model => by_model,
        };
        match finished {
            Err(locidb::Error::Interrupted) => summary.interrupted = true,
            other => other?,
        }
    }
    Ok(())
}

/// A file made ready to be stored.
struct PreparedFile {
    outcome: Outcome,
    document: Option<Box<NewDocument>>,
    /// The file to remember for the document with this key.
    origin: Option<(DocumentKey, String)>,
}

impl PreparedFile {
    /// About how many bytes its document takes.
    fn document_bytes(&self) -> usize {
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
    settings: document::BuildSettings,
    /// What `settings` are called in a document's record.
    parser: String,
    embed: EmbedLevels,
    captioning: Option<&'w CaptionSession>,
}

impl<'w> Worker<'w> {
    fn new(
        database: &'w Database,
        options: &'w IngestOptions,
        runner: &'w dyn ParseRunner,
        captioning: Option<&'w CaptionSession>,
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
            captioning,
        })
    }
}

fn build_settings(settings: &Settings, options: &IngestOptions) -> document::BuildSettings {
    document::BuildSettings {
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
fn batches(files: &[SourceFile]) -> impl Iterator<Item = &[SourceFile]> {
    let mut rest = files;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |file: &&SourceFile| {
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
    fn prepare(&self, file: &SourceFile) -> PreparedFile {
        let started = Instant::now();
        let mut outcome = Outcome {
            path: file.path.display().to_string(),
            document: file.key.clone(),
            status: Status::Failed,
            chunks: 0,
            concepts: 0,
            items: 0,
            error: None,
            warnings: Vec::new(),
            took_ms: 0,
        };
        // A bug that one file brings to light must not stop the others.
        let read = catch_unwind(AssertUnwindSafe(|| self.read_document(file, &mut outcome)));
        let read = read.unwrap_or_else(|_| Err("reading it panicked; please report it".into()));
        let (document, origin) = read.unwrap_or_else(|error| {
            outcome.set_failed(error);
            (None, None)
        });
        if let Some(document) = &document {
            outcome.chunks = document.chunks.len() as u64;
            outcome.concepts = document.concepts.len() as u64;
        }
        outcome.took_ms = started.elapsed().as_millis() as u64;
        PreparedFile {
            outcome,
            document,
            origin,
        }
    }

    /// The document of a file, unless it is stored already, and what to remember it by.
    fn read_document(
        &self,
        file: &SourceFile,
        outcome: &mut Outcome,
    ) -> Result<(Option<Box<NewDocument>>, Option<(DocumentKey, String)>), String> {
        if let Some(why) = &file.rejection {
            return Err(why.clone());
        }
        let (user, collection) = (&self.options.user[..], &self.options.collection[..]);
        let key = DocumentKey::new(user, collection, &file.key[..]);
        let key = key.map_err(|error| error.to_string())?;
        outcome.document = key.to_string();
        let bytes = open::read(&file.canonical_path, self.runner.bytes_max())?;
        let stored = self.find_stored(&key, file, &bytes, outcome);
        let stored = stored.map_err(|error| error.to_string())?;
        if let Some(other) = stored.as_ref().and_then(|stored| stored.conflict.as_ref()) {
            return Err(format!(
                "the document {key} {other}, and {} says something else: store it with --key NAME or in another --collection, or replace the document with --replace",
                file.path.display()
            ));
        }
        let origin = stored.as_ref().and_then(|stored| stored.origin.clone());
        let origin = origin.or_else(|| file.origin.clone());
        let origin = origin.map(|origin| (key.clone(), origin));
        if let Some(stored) = stored.filter(|stored| stored.is_unchanged) {
            return Ok((None, origin.filter(|_| stored.origin.is_none())));
        }
        let kind = self.options.kind.or_else(|| detect(&file.path, &bytes));
        let kind = kind.ok_or("what kind of file this is cannot be told: say what it is (--kind of the command line, kind over HTTP), or save it as one of the kinds that are read")?;
        let name = file
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let source = DocumentSource {
            key: key.key,
            user: key.user,
            collection: key.collection,
            filename: name,
            ..DocumentSource::default()
        };
        let ingested = self.build_document(kind, bytes, source)?;
        let mut document = ingested.document;
        if document.chunks.is_empty() {
            let mut why = "there is no text in it".to_owned();
            for warning in &ingested.warnings {
                why = format!("{why}; {warning}");
            }
            return Err(why);
        }
        outcome.warnings = ingested.warnings;
        document.record.embed = self.embed;
        document.record.parser.clone_from(&self.parser);
        Ok((Some(Box::new(document)), origin))
    }

    /// Makes the document; again with captions, where its pictures want some and there is who writes them.
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        mut source: DocumentSource,
    ) -> Result<IngestedDocument, String> {
        let document = |bytes, source| {
            let result = self
                .runner
                .build_document(kind, bytes, source, &self.settings);
            result.map_err(|error| error.to_string())
        };
        let Some(captioning) = self.captioning else {
            return document(bytes, source);
        };
        let mut ingested = document(bytes, source.clone())?;
        let report = captioning.caption_document(&ingested);
        let mut report = report.map_err(|error| error.to_string())?;
        if !report.captions.of.is_empty() {
            source.captions = std::mem::take(&mut report.captions);
            let bytes = std::mem::take(&mut ingested.document.original);
            ingested = document(bytes, source)?;
        }
        let mut warnings = Warnings::default();
        warnings.extend(&ingested.warnings);
        warnings.extend(report.warnings());
        ingested.warnings = warnings.finish();
        Ok(ingested)
    }

    /// Ends what is being made.
    fn stop(&self) {
        self.runner.stop();
        if let Some(captioning) = self.captioning {
            captioning.stop();
        }
    }

    /// What is stored under the key of a file; says in the outcome what becomes of it.
    fn find_stored(
        &self,
        key: &DocumentKey,
        file: &SourceFile,
        bytes: &[u8],
        outcome: &mut Outcome,
    ) -> Result<Option<StoredDocument>, locidb::Error> {
        let view = self.database.snapshot();
        let rows = view.snapshot().rows();
        outcome.status = Status::Added;
        let Some(id) = rows.document_id(key)? else {
            return Ok(None);
        };
        outcome.status = Status::Updated;
        let Some(record) = rows.document(id)? else {
            return Ok(None);
        };
        let is_same = record.content_hash == content_hash(bytes);
        let mut stored = match &file.origin {
            Some(own) => StoredDocument::new(own, file.id, view.origin(id)?, is_same),
            None => StoredDocument::default(),
        };
        if self.options.replace || self.options.key.is_some() {
            stored.conflict = None;
            stored.origin = stored.origin.filter(|of| Some(of) == file.origin.as_ref());
        }
        let is_made_so = record.parser == self.parser && record.embed == self.embed;
        stored.is_unchanged = is_same && is_made_so && !self.options.force;
        if stored.is_unchanged && stored.conflict.is_none() {
            outcome.status = Status::Unchanged;
            outcome.chunks = record.chunk_count.into();
            rows.scan_document(Table::ConceptContributions, id, &mut |_, _| {
                outcome.concepts += 1;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(Some(stored))
    }
}

/// What is said of a document without an origin.
const UNKNOWN_ORIGIN: &str = "was stored by a client, or read from a file that is not remembered";

/// A document that is stored under the key of a file.
#[derive(Default)]
struct StoredDocument {
    /// Whether it is the document that the file would become.
    is_unchanged: bool,
    /// The file that it stays remembered by; `None`: by the one that is ingested.
    origin: Option<String>,
    /// Why the file may not take its place.
    conflict: Option<String>,
}

impl StoredDocument {
    /// - `own`, `id`: the file; `is_same`: whether it has the bytes that the document was made of.
    /// - `origin`: the file that the document was read from, where that is known.
    fn new(own: &str, id: Option<FileId>, origin: Option<String>, is_same: bool) -> StoredDocument {
        let (origin, conflict) = match origin {
            Some(origin) if origin == own => (Some(origin), None),
            // It is the same file under another name.
            Some(origin) if is_same_file(&origin, id) => (None, None),
            // A copy changes nothing.
            Some(origin) if is_same && origin_exists(&origin) => (Some(origin), None),
            // The file has moved, or was not remembered.
            _ if is_same => (None, None),
            Some(origin) => (None, Some(format!("was read from {origin}"))),
            None => (None, Some(UNKNOWN_ORIGIN.into())),
        };
        StoredDocument {
            is_unchanged: false,
            origin,
            conflict,
        }
    }
}

/// Where files that are ready wait for the others of their batch.
struct PendingBatch<'s> {
    database: &'s Database,
    reporter: &'s dyn Reporter,
    summary: &'s mut IngestSummary,
    /// How many files of each batch are still to come.
    batches: VecDeque<usize>,
    prepared: Vec<PreparedFile>,
    /// Bytes of these documents.
    pending_bytes: usize,
    done: u64,
    total: u64,
    failed: Option<IngestError>,
}

impl PendingBatch<'_> {
    /// Takes the next file, and stores those that wait when it is the last of its batch or they are large.
    fn push(&mut self, prepared: PreparedFile) -> ControlFlow<()> {
        self.pending_bytes += prepared.document_bytes();
        self.prepared.push(prepared);
        let left = self.batches.front_mut().map_or(0, |left| {
            *left -= 1;
            *left
        });
        if left > 0 && self.pending_bytes < BATCH_DOCUMENT_BYTES_MAX {
            return ControlFlow::Continue(());
        }
        if left == 0 {
            self.batches.pop_front();
        }
        self.pending_bytes = 0;
        match store_batch(self.database, std::mem::take(&mut self.prepared)) {
            Ok(outcomes) => {
                for outcome in &outcomes {
                    self.reporter.report_outcome(outcome);
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
fn store_batch(database: &Database, batch: Vec<PreparedFile>) -> Result<Vec<Outcome>, IngestError> {
    let mut outcomes: Vec<Outcome> = batch.iter().map(|p| p.outcome.clone()).collect();
    let changes: Vec<(usize, FileChange)> = batch
        .into_iter()
        .map(|prepared| FileChange {
            document: prepared.document,
            origin: prepared.origin,
        })
        .enumerate()
        .filter(|(_, change)| change.document.is_some() || change.origin.is_some())
        .collect();
    if changes.len() > 1 {
        let all: Vec<FileChange> = changes.iter().map(|(_, change)| change.clone()).collect();
        let together =
            database.write(move |tx| all.into_iter().try_for_each(|change| change.apply(tx)));
        match together {
            Ok(()) => return Ok(outcomes),
            Err(error) if !is_document_rejected(&error) => return Err(error.into()),
            Err(_) => {}
        }
    }
    for (at, change) in changes {
        match database.write(move |tx| change.apply(tx)) {
            Ok(()) => {}
            Err(error) if is_document_rejected(&error) => {
                outcomes[at].set_failed(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcomes)
}

/// What a file changes in the store.
#[derive(Clone)]
struct FileChange {
    document: Option<Box<NewDocument>>,
    origin: Option<(DocumentKey, String)>,
}

impl FileChange {
    fn apply(self, tx: &mut WriteTransaction<'_, '_>) -> Result<(), locidb::Error> {
        if let Some(document) = self.document {
            tx.put_document(*document)?;
        }
        if let Some((key, origin)) = self.origin {
            tx.set_origin(&key, Some(&origin))?;
        }
        Ok(())
    }
}

/// Whether the store is sound and only this document was refused.
fn is_document_rejected(error: &locidb::Error) -> bool {
    use locidb::storage::StoreError::{Invalid, Limit};
    matches!(error, locidb::Error::Store(Invalid(_) | Limit { .. }))
}

impl IngestSummary {
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
