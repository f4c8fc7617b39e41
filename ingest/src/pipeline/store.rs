//! Documents that are ready, stored batch by batch.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use locidb::storage::DocumentKey;
use locidb::{Database, NewDocument, WriteTransaction};

use super::find::SourceFile;
use super::outcome::{FileError, IngestError, IngestSummary, Outcome, Reporter};
use super::prepare::PreparedFile;

/// Files that one transaction stores at most.
pub(super) const BATCH_FILES: usize = 64;
/// Bytes of files that one transaction stores, one file excepted.
const BATCH_BYTES: u64 = 1 << 20;
/// Bytes of documents with which a transaction is full: a small archive may hold much.
const BATCH_DOCUMENT_BYTES_MAX: usize = 16 << 20;

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

/// Where files that are ready wait for the others of their batch.
pub(super) struct PendingBatch<'s> {
    database: &'s Database,
    reporter: &'s dyn Reporter,
    summary: &'s mut IngestSummary,
    /// How many files of each batch are still to come.
    batches: VecDeque<usize>,
    prepared: Vec<PreparedFile>,
    /// Bytes of these documents.
    pending_bytes: usize,
    pub(super) done: u64,
    total: u64,
    pub(super) failed: Option<IngestError>,
}

impl<'s> PendingBatch<'s> {
    pub(super) fn new(
        database: &'s Database,
        files: &[SourceFile],
        reporter: &'s dyn Reporter,
        summary: &'s mut IngestSummary,
    ) -> PendingBatch<'s> {
        PendingBatch {
            database,
            reporter,
            summary,
            batches: batches(files).map(<[SourceFile]>::len).collect(),
            prepared: Vec::new(),
            pending_bytes: 0,
            done: 0,
            total: files.len() as u64,
            failed: None,
        }
    }

    /// Takes the next file, and stores those that wait when it is the last of its batch or they are large.
    pub(super) fn push(&mut self, prepared: PreparedFile) -> ControlFlow<()> {
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
                outcomes[at].set_failed(FileError::other(error));
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
