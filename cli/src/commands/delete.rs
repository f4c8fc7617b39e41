//! `loci delete`: deletes documents.

use std::io;

use locidb::storage::DocumentKey;
use locidb::{Database, Error, Progress};
use serde_json::json;

use super::open;
use crate::args::Delete;
use crate::output::Printer;
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

/// Documents that one transaction deletes.
const BATCH_LEN: usize = 256;

pub(crate) fn run(args: &Delete, out: &Printer) -> anyhow::Result<CommandStatus> {
    let keys = keys(args)?;
    let database = open(&args.db)?;
    let bar = Bar::new();
    let mut done = CommandStatus::Success;
    let mut deleted = 0;
    for batch in keys.chunks(BATCH_LEN) {
        if bar
            .report("deleting", deleted, keys.len() as u64)
            .is_break()
        {
            return Ok(CommandStatus::ProblemsFound);
        }
        for (key, existed) in batch.iter().zip(delete(&database, batch)?) {
            if !existed {
                done = CommandStatus::ProblemsFound;
            }
            bar.suspend(|| print_deleted(key, existed, out))?;
        }
        deleted += batch.len() as u64;
    }
    match database.finish(&bar) {
        Err(Error::Interrupted) => done = CommandStatus::ProblemsFound,
        finished => finished?,
    }
    drop(bar);
    database.close();
    Ok(done)
}

/// The keys of the documents. With a collection or a user, a key is used literally.
fn keys(args: &Delete) -> anyhow::Result<Vec<DocumentKey>> {
    let named = args.collection.is_some() || args.user.is_some();
    let user = args.user.as_deref().unwrap_or_default();
    let collection = args.collection.as_deref().unwrap_or_default();
    let key = |text: &String| {
        let key = if named {
            DocumentKey::new(user, collection, &text[..])
        } else {
            text.parse()
        };
        key.map_err(|error| UsageError(format!("{text:?}: {error}")).into())
    };
    args.keys.iter().map(key).collect()
}

/// Deletes documents in one transaction; returns whether each existed.
fn delete(database: &Database, keys: &[DocumentKey]) -> Result<Vec<bool>, Error> {
    let keys = keys.to_vec();
    database.write(move |tx| keys.iter().map(|key| tx.delete_document(key)).collect())
}

/// Prints a line. A closed pipe is ignored: documents are deleted in any case.
fn print_deleted(key: &DocumentKey, existed: bool, out: &Printer) -> io::Result<()> {
    let status = if existed { "deleted" } else { "missing" };
    let line = if out.json {
        json!({ "document": key.to_string(), "status": status }).to_string()
    } else {
        format!("{status:9}  {key}")
    };
    match out.write(&line) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
