//! `loci export` and `loci import`: a store as lines of JSON, and a new store from them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use locidb::storage::StoreError;
use locidb::{Database, Error, Options};
use serde_json::json;

use super::open;
use super::partial_file::PartialFile;
use crate::args::{Export, Import};
use crate::output::{Printer, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

/// The name for standard input and output.
const STANDARD: &str = "-";

pub(crate) fn export(args: &Export, out: &Printer) -> anyhow::Result<CommandStatus> {
    let to = &args.to;
    if to.as_os_str() != STANDARD && to.try_exists()? {
        let why = format!("{} exists already: give another name", to.display());
        return Err(UsageError(why).into());
    }
    if to.as_os_str() == STANDARD && io::stdout().is_terminal() {
        let why = "write an export to a file or a pipe: stored text could control the terminal";
        return Err(UsageError(why.into()).into());
    }
    let database = open(&args.db)?;
    let bar = Bar::new();
    let done = if to.as_os_str() == STANDARD {
        database.export(&mut BufWriter::new(io::stdout().lock()), &bar)
    } else {
        to_file(&database, to, &bar)?
    };
    drop(bar);
    database.close();
    let rows = match done {
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; the unfinished file was deleted");
            return Ok(CommandStatus::ProblemsFound);
        }
        done => done?,
    };
    if to.as_os_str() == STANDARD {
        return Ok(CommandStatus::Success);
    }
    if out.json {
        out.json_line(&json!({ "exported": { "rows": rows } }))?
    } else {
        out.line(&format!("{}: {rows} rows", to.display()))?
    }
    Ok(CommandStatus::Success)
}

/// Writes to a file that gets its name once it is complete and verified.
fn to_file(database: &Database, to: &Path, bar: &Bar) -> anyhow::Result<Result<u64, Error>> {
    let file = PartialFile::create(to)?;
    let failed = || format!("writing {}", to.display());
    let mut lines = BufWriter::new(file.file());
    let done = database.export(&mut lines, bar);
    if done.is_ok() {
        lines.flush().with_context(failed)?;
        drop(lines);
        file.publish_new(to).with_context(failed)?;
    }
    Ok(done)
}

pub(crate) fn import(args: &Import, out: &Printer) -> anyhow::Result<CommandStatus> {
    let mut lines: Box<dyn BufRead> = match args.from.as_os_str() == STANDARD {
        true => Box::new(io::stdin().lock()),
        false if args.from.is_dir() => {
            let why = format!(
                "{} is a folder: give the file of an export",
                args.from.display()
            );
            return Err(UsageError(why).into());
        }
        false => {
            let file = File::open(&args.from);
            let file =
                file.map_err(|error| UsageError(format!("{}: {error}", args.from.display())));
            Box::new(BufReader::with_capacity(1 << 20, file?))
        }
    };
    let bar = Bar::new();
    let result = Database::import(&mut *lines, &args.db, &Options::default(), &bar);
    drop(bar);
    let database = match result {
        Err(Error::Store(error @ (StoreError::Invalid(_) | StoreError::Export { .. }))) => {
            return Err(UsageError(error.to_string()).into());
        }
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; the folder contains no store");
            return Ok(CommandStatus::ProblemsFound);
        }
        result => result?,
    };
    let stats = database.stats();
    database.close();
    if out.json {
        let (documents, chunks) = (stats.documents, stats.chunks);
        out.json_line(&json!({ "imported": { "documents": documents, "chunks": chunks } }))?;
    } else {
        out.line(&format!(
            "{}: {} documents, {} chunks",
            args.db.display(),
            stats.documents,
            stats.chunks
        ))?;
    }
    Ok(CommandStatus::Success)
}
