//! Disk space is freed: a store that half of its documents were deleted from, beside one that never
//! held them.
//!
//! Promise: compacted, the one takes at most a tenth more than the other.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use locidb::storage::DocumentKey;
use locidb::{Database, Durability, NoProgress};

use super::rates;
use crate::bulk::{self, DIM, Shape};
use crate::integrity::verify_counts;
use crate::report::{Report, ReportBuilder};

/// Passages of some length, as documents have.
pub(crate) const SHAPE: Shape = Shape {
    passages: 12,
    words: 120,
};
/// Documents of one transaction.
const BATCH: u64 = 64;
/// How much more a compacted store may take, in thousandths.
const MORE_MAX: u64 = 100;

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct DiskArgs {
    /// The seed of what is written
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// MiB on disk of what stays
    #[arg(long, default_value_t = 256)]
    pub mib: u64,
    /// Where the files lie; else where temporary files do
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs it.
pub fn run(args: &DiskArgs) -> Result<Report> {
    let mut running = ReportBuilder::start("disk", args.seed);
    let result = halve(args, &mut running);
    running.round(0, result);
    Ok(running.finish())
}

fn halve(args: &DiskArgs, running: &mut ReportBuilder) -> Result<()> {
    let folder = rates::folder(args.folder.as_ref())?;
    let (baseline, shrunk) = (folder.path().join("never"), folder.path().join("held"));
    let documents = {
        // Even documents, until they have the requested size.
        let database = open(&baseline)?;
        let mut next = 0;
        while bytes_of(&baseline)? < args.mib << 20 {
            write(&database, args.seed, (next..next + BATCH).map(|n| 2 * n))?;
            next += BATCH;
        }
        database.wait_for_merges()?;
        running.count("never_held_bytes_as_written", bytes_of(&baseline)?);
        timed_compact(&database, "never_held_compact_ms", running)?;
        next
    };
    running.count("documents_kept", documents);
    running.count("never_held_bytes_compacted", bytes_of(&baseline)?);
    {
        let database = open(&shrunk)?;
        for first in (0..documents * 2).step_by(BATCH as usize) {
            write(&database, args.seed, first..first + BATCH)?;
        }
        database.wait_for_merges()?;
        running.count("held_bytes_as_written", bytes_of(&shrunk)?);
        let started = Instant::now();
        for first in (0..documents).step_by(BATCH as usize) {
            delete(&database, (first..first + BATCH).map(|n| 2 * n + 1))?;
        }
        database.wait_for_merges()?;
        running.count("delete_ms", started.elapsed().as_millis() as u64);
        running.count("held_bytes_after_delete", bytes_of(&shrunk)?);
        timed_compact(&database, "held_compact_ms", running)?;
        let stats = verify_counts(&database)?;
        ensure!(
            stats.documents == documents,
            "{} documents",
            stats.documents
        );
    }
    let (shrunk_bytes, baseline_bytes) = (bytes_of(&shrunk)?, bytes_of(&baseline)?);
    running.count("held_bytes_compacted", shrunk_bytes);
    let more = (shrunk_bytes * 1000 / baseline_bytes).saturating_sub(1000);
    running.count("held_more_permille", more);
    ensure!(
        more <= MORE_MAX,
        "{shrunk_bytes} bytes, {baseline_bytes} had it never held what was deleted"
    );
    Ok(())
}

fn open(folder: &Path) -> Result<Database> {
    let database = Database::open(folder)?;
    database.use_provided_vectors("torture", DIM)?;
    Ok(database)
}

/// Stores documents in one transaction, without waiting for the disk.
pub(crate) fn write(
    database: &Database,
    seed: u64,
    numbers: impl Iterator<Item = u64>,
) -> Result<()> {
    let documents: Vec<_> = numbers.map(|n| bulk::document(n, seed, SHAPE)).collect();
    database.write_with(Durability::Eventual, move |tx| {
        documents
            .into_iter()
            .try_for_each(|document| tx.put_document(document).map(drop))
    })?;
    Ok(())
}

fn delete(database: &Database, numbers: impl Iterator<Item = u64>) -> Result<()> {
    let keys: Vec<DocumentKey> = numbers.map(bulk::key).collect();
    let all = database.write(move |tx| {
        let deleted = keys.iter().map(|key| tx.delete_document(key));
        Ok(deleted
            .collect::<Result<Vec<bool>, _>>()?
            .into_iter()
            .all(|there| there))
    })?;
    ensure!(all, "a document was not there");
    Ok(())
}

fn timed_compact(database: &Database, name: &str, running: &mut ReportBuilder) -> Result<()> {
    let started = Instant::now();
    database.compact(&NoProgress)?;
    running.count(name, started.elapsed().as_millis() as u64);
    Ok(())
}

/// Bytes that all files in a folder and those below take on disk: a file may have holes.
pub(crate) fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A file may have been removed since.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        bytes += if metadata.is_dir() {
            bytes_of(&entry.path())?
        } else {
            metadata.blocks() * 512
        };
    }
    Ok(bytes)
}
