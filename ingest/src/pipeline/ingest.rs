//! Runs an ingest: files prepared in parallel, stored in order.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use locidb::Database;

use super::captioning::CaptionSession;
use super::find::{SourceFile, find_files};
use super::options::IngestOptions;
use super::ordered::{OrderedWork, WorkLimits, run_in_order};
use super::outcome::{IngestError, IngestSummary, Reporter};
use super::prepare::{PreparedFile, Worker};
use super::store::{BATCH_FILES, PendingBatch};
use crate::runner::ParseRunner;

/// Files that are read and not stored yet.
const IN_FLIGHT_FILES_MAX: usize = 4 * BATCH_FILES;
/// Bytes of these, and of the documents that were made of them, above which no other is begun.
const IN_FLIGHT_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a file at work counts for at least: what comes of it may be larger than it is.
const FILE_WEIGHT_MIN: u64 = 4 << 20;

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
pub(super) fn store_files(
    worker: &Worker<'_>,
    files: &[SourceFile],
    reporter: &(dyn Reporter + Sync),
    summary: &mut IngestSummary,
) -> Result<(), IngestError> {
    let mut pending = PendingBatch::new(worker.database, files, reporter, summary);
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
        let flow = pending.push(prepared);
        done.store(pending.done, Ordering::Relaxed);
        if flow.is_break() {
            worker.stop();
        }
        flow
    });
    if let Some(error) = pending.failed {
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
