//! `loci backup` and `loci restore`: copies a store to another folder, and creates a store from the copy.

use locidb::{Database, Error, Options};
use serde_json::json;

use super::open;
use crate::args::{Backup, Restore};
use crate::output::{Printer, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn backup(args: &Backup, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let bar = Bar::new();
    let done = match args.keep {
        Some(keep) => database.backup_with_retention(&args.to, keep, &bar),
        None => database.backup(&args.to, &bar),
    };
    drop(bar);
    database.close();
    let done = match done {
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; an earlier backup in the folder is unchanged");
            return Ok(CommandStatus::ProblemsFound);
        }
        done => as_usage_error(done)?,
    };
    if out.json {
        out.json_line(&json!({ "backup": done }))?;
    } else {
        out.line(&format!(
            "{}: generation {}, {} rows; segments: {} files with {} bytes copied, {} unchanged",
            args.to.display(),
            done.generation,
            done.rows,
            done.files_copied,
            done.bytes_copied,
            done.files_kept
        ))?;
        if !done.earlier.is_empty() {
            let earlier: Vec<String> = done.earlier.iter().map(u64::to_string).collect();
            out.line(&format!("earlier generations: {}", earlier.join(", ")))?;
        }
    }
    Ok(CommandStatus::Success)
}

pub(crate) fn restore(args: &Restore, out: &Printer) -> anyhow::Result<CommandStatus> {
    let options = Options::default();
    let database = as_usage_error(match args.generation {
        Some(of) => Database::restore_generation(&args.from, of, &args.db, &options),
        None => Database::restore(&args.from, &args.db, &options),
    })?;
    let stats = database.stats();
    database.close();
    if out.json {
        out.json_line(&json!({
            "restored": {
                "generation": stats.generation,
                "documents": stats.documents,
                "chunks": stats.chunks,
            }
        }))?;
    } else {
        out.line(&format!(
            "{}: generation {}, {} documents, {} chunks",
            args.db.display(),
            stats.generation,
            stats.documents,
            stats.chunks
        ))?;
    }
    Ok(CommandStatus::Success)
}

/// A folder that cannot be used is a usage error.
fn as_usage_error<T>(result: Result<T, Error>) -> anyhow::Result<T> {
    match result {
        Err(Error::Store(locidb::storage::StoreError::Invalid(why))) => Err(UsageError(why).into()),
        result => Ok(result?),
    }
}
