//! A file read and made a document, unless it is stored already.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use locidb::storage::records::EmbedLevels;
use locidb::storage::staging::content_hash;
use locidb::storage::{DocumentKey, Table};
use locidb::{Database, NewDocument};

use super::captioning::CaptionSession;
use super::find::SourceFile;
use super::open::{self, FileId};
use super::options::IngestOptions;
use super::origin::{is_same_file, origin_exists};
use super::outcome::{FileError, Outcome, Status};
use crate::document::{BuildSettings, DocumentSource};
use crate::runner::{IngestedDocument, ParseRunner};
use loci_documents::warnings::Warnings;
use loci_documents::{Kind, detect};

/// A file made ready to be stored.
pub(super) struct PreparedFile {
    pub(super) outcome: Outcome,
    pub(super) document: Option<Box<NewDocument>>,
    /// The file to remember for the document with this key.
    pub(super) origin: Option<(DocumentKey, String)>,
}

impl PreparedFile {
    /// About how many bytes its document takes.
    pub(super) fn document_bytes(&self) -> usize {
        let Some(document) = &self.document else {
            return 0;
        };
        let chunks = document.chunks.iter().map(|chunk| chunk.record.text.len());
        let assets = document.assets.iter().map(|asset| asset.bytes.len());
        let text = document.text.as_ref().map_or(0, String::len);
        document.original.len() + text + chunks.chain(assets).sum::<usize>()
    }
}

/// Prepares files.
pub(super) struct Worker<'w> {
    pub(super) database: &'w Database,
    pub(super) options: &'w IngestOptions,
    runner: &'w dyn ParseRunner,
    settings: BuildSettings,
    /// What `settings` are called in a document's record.
    parser: String,
    embed: EmbedLevels,
    captioning: Option<&'w CaptionSession>,
}

impl<'w> Worker<'w> {
    pub(super) fn new(
        database: &'w Database,
        options: &'w IngestOptions,
        runner: &'w dyn ParseRunner,
        captioning: Option<&'w CaptionSession>,
    ) -> Result<Self, locidb::Error> {
        let of_store = database.settings()?;
        let settings = options.build_settings(&of_store);
        // A file of a kind that the caller names is built again.
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

impl Worker<'_> {
    pub(super) fn prepare(&self, file: &SourceFile) -> PreparedFile {
        let started = Instant::now();
        let mut outcome = Outcome::new(&file.path, &file.key, Status::Failed);
        // A bug that one file brings to light must not stop the others.
        let read = catch_unwind(AssertUnwindSafe(|| self.read_document(file, &mut outcome)));
        let read = read.unwrap_or(Err(FileError::Panicked));
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
    ) -> Result<(Option<Box<NewDocument>>, Option<(DocumentKey, String)>), FileError> {
        if let Some(why) = &file.rejection {
            return Err(why.clone());
        }
        let (user, collection) = (&self.options.user[..], &self.options.collection[..]);
        let key = DocumentKey::new(user, collection, &file.key[..]);
        let key = key.map_err(FileError::other)?;
        outcome.document = key.to_string();
        let bytes = open::read(&file.canonical_path, self.runner.bytes_max());
        let bytes = bytes.map_err(FileError::Other)?;
        let stored = self.find_stored(&key, file, &bytes, outcome);
        let mut stored = stored.map_err(FileError::other)?;
        if let Some(conflict) = stored.as_mut().and_then(|stored| stored.conflict.take()) {
            return Err(FileError::Conflict {
                key,
                origin: conflict,
                path: file.path.clone(),
            });
        }
        let origin = stored.as_ref().and_then(|stored| stored.origin.clone());
        let origin = origin.or_else(|| file.origin.clone());
        let origin = origin.map(|origin| (key.clone(), origin));
        if let Some(stored) = stored.filter(|stored| stored.is_unchanged) {
            return Ok((None, origin.filter(|_| stored.origin.is_none())));
        }
        let kind = self.options.kind.or_else(|| detect(&file.path, &bytes));
        let kind = kind.ok_or(FileError::UnknownKind)?;
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
        let ingested = self.build_document(kind, bytes, source, outcome)?;
        let mut document = ingested.document;
        if document.chunks.is_empty() {
            return Err(FileError::NoText {
                warnings: ingested.warnings,
            });
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
        outcome: &mut Outcome,
    ) -> Result<IngestedDocument, FileError> {
        let document = |bytes, source| {
            self.runner
                .build_document(kind, bytes, source, &self.settings)
                .map_err(FileError::other)
        };
        let Some(captioning) = self.captioning else {
            return document(bytes, source);
        };
        let mut ingested = document(bytes, source.clone())?;
        let report = captioning.caption_document(&ingested);
        let mut report = report.map_err(FileError::other)?;
        outcome.lacks_captions = report.is_captioner_at_fault();
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
    pub(super) fn stop(&self) {
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

/// A document that is stored under the key of a file.
#[derive(Default)]
struct StoredDocument {
    /// Whether it is the document that the file would become.
    is_unchanged: bool,
    /// The file that it stays remembered by; `None`: by the one that is ingested.
    origin: Option<String>,
    /// Why the file may not take its place: the file that the document was read from, where that is known.
    conflict: Option<Option<String>>,
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
            other => (None, Some(other)),
        };
        StoredDocument {
            is_unchanged: false,
            origin,
            conflict,
        }
    }
}
