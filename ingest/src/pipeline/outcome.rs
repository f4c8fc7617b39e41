//! What became of the files, and why one is not stored.

use std::fmt;
use std::path::{Path, PathBuf};

use locidb::Progress;
use locidb::storage::DocumentKey;
use serde::{Serialize, Serializer};

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
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_error"
    )]
    pub error: Option<FileError>,
    /// What of it is not stored, though the rest is: sentences that say what to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether a picture has no caption because the captioner failed. Ingest the file again with
    /// [`force`](super::IngestOptions::force) once it works.
    #[serde(skip)]
    pub lacks_captions: bool,
    /// Milliseconds that parsing and chunking took.
    pub took_ms: u64,
}

fn serialize_error<S: Serializer>(error: &Option<FileError>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(error.as_ref().map_or(&"" as &dyn fmt::Display, |it| it))
}

impl Outcome {
    pub(super) fn new(path: &Path, document: &str, status: Status) -> Outcome {
        Outcome {
            path: path.display().to_string(),
            document: document.to_owned(),
            status,
            chunks: 0,
            concepts: 0,
            items: 0,
            error: None,
            warnings: Vec::new(),
            lacks_captions: false,
            took_ms: 0,
        }
    }

    /// Records that nothing of it is stored.
    pub(super) fn set_failed(&mut self, error: FileError) {
        self.status = Status::Failed;
        self.chunks = 0;
        self.concepts = 0;
        self.warnings.clear();
        self.lacks_captions = false;
        self.error = Some(error);
    }
}

/// Why a file is not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Two of the files have one key, and the other is stored under it. Ingest this one with a
    /// [`key`](super::IngestOptions::key) of its own, into another collection, or both by a folder that holds both.
    #[error("its key {key} is that of {} too", other.display())]
    KeyCollision {
        /// The key.
        key: String,
        /// The other file.
        other: PathBuf,
    },
    /// The document with its key was not read from this file. Ingest it with another key or collection, or
    /// [`replace`](super::IngestOptions::replace) the document.
    #[error("the document {key} {}, and {} has another content", origin_clause(origin.as_deref()), path.display())]
    Conflict {
        /// The document.
        key: DocumentKey,
        /// The file that the document was read from, where that is known.
        origin: Option<String>,
        /// This file.
        path: PathBuf,
    },
    /// Neither name nor content tells what kind of file it is. Give its [`kind`](super::IngestOptions::kind), or save it
    /// as one of the kinds that are read.
    #[error("its kind of file is unknown")]
    UnknownKind,
    /// It has no text.
    #[error("there is no text in it{}", warnings.iter().map(|it| format!("; {it}")).collect::<String>())]
    NoText {
        /// What of it was left out.
        warnings: Vec<String>,
    },
    /// A parser or the pipeline has a bug.
    #[error("reading it panicked; please report it")]
    Panicked,
    /// It cannot be read, parsed or stored: a sentence that says why.
    #[error("{0}")]
    Other(String),
}

impl FileError {
    pub(super) fn other(error: impl fmt::Display) -> FileError {
        FileError::Other(error.to_string())
    }
}

fn origin_clause(origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("was read from {origin}"),
        None => "was stored by a client, or read from an unknown file".to_owned(),
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

impl IngestSummary {
    pub(super) fn add(&mut self, outcome: &Outcome) {
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

/// Receives what happens. [`Progress::report`] may stop the ingest at any moment: what was stored stays.
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
    #[error("one key was given for {0} files")]
    OneKey(usize),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] locidb::Error),
}
