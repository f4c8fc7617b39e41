//! `loci export` and `loci import`: a store as lines of JSON, and a store made of them.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use locidb::storage::StoreError;
use locidb::{Database, Error, Options};
use serde_json::json;
use tempfile::TempPath;

use super::open;
use crate::args::{Export, Import};
use crate::output::{Out, note};
use crate::progress::Bar;
use crate::{Done, WrongCall};

/// What stands for standard input and output.
const STANDARD: &str = "-";

pub(crate) fn export(args: &Export, out: &Out) -> anyhow::Result<Done> {
    let to = &args.to;
    if to.as_os_str() != STANDARD && to.try_exists()? {
        let why = format!("{} is there already: give another name", to.display());
        return Err(WrongCall(why).into());
    }
    let database = open(&args.db)?;
    let bar = Bar::new();
    let done = match to.as_os_str() == STANDARD {
        true => database.export(&mut BufWriter::new(io::stdout().lock()), &bar),
        false => to_file(&database, to, &bar)?,
    };
    drop(bar);
    database.close();
    let rows = match done {
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; nothing is kept of it");
            return Ok(Done::Wrong);
        }
        done => done?,
    };
    if to.as_os_str() == STANDARD {
        return Ok(Done::Well);
    }
    match out.json {
        true => out.json_line(&json!({ "exported": { "rows": rows } }))?,
        false => out.line(&format!("{}: {rows} rows", to.display()))?,
    }
    Ok(Done::Well)
}

/// Writes to a file that has its name once it is whole and verified.
fn to_file(database: &Database, to: &Path, bar: &Bar) -> anyhow::Result<Result<u64, Error>> {
    let file = Unfinished::create(to)?;
    let failed = || format!("writing {}", to.display());
    let mut lines = BufWriter::new(&file.file);
    let done = database.export(&mut lines, bar);
    if done.is_ok() {
        lines.flush().with_context(failed)?;
        drop(lines);
        file.take_place(to).with_context(failed)?;
    }
    Ok(done)
}

/// `OUT.tmp`, which becomes `OUT`. Dropped before, it is deleted; one that a stopped export left is written anew.
struct Unfinished {
    file: File,
    path: TempPath,
}

impl Unfinished {
    fn create(to: &Path) -> anyhow::Result<Unfinished> {
        let path = to.with_added_extension("tmp");
        let failed = || format!("writing {}", path.display());
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        loop {
            let file = options.open(&path).with_context(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let why = format!("another export writes {}: give another name", to.display());
                    return Err(WrongCall(why).into());
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
            }
            // The export that had it may have ended between, and taken or deleted it.
            if is_at(&file, &path) {
                file.set_len(0).with_context(failed)?;
                let path = TempPath::try_from_path(&path).with_context(failed)?;
                return Ok(Unfinished { file, path });
            }
        }
    }

    /// Gives it its name, durably; fails where there is a file of that name by now.
    fn take_place(self, to: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        self.path
            .persist_noclobber(to)
            .map_err(|error| error.error)?;
        let folder = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        #[cfg(unix)]
        File::open(folder)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = folder;
        Ok(())
    }
}

/// Whether `path` still names `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let both = file.metadata().ok().zip(path.metadata().ok());
    both.is_some_and(|(ours, there)| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// Whether `path` still names `file`. An open file cannot be deleted here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

pub(crate) fn import(args: &Import, out: &Out) -> anyhow::Result<Done> {
    let mut lines: Box<dyn BufRead> = match args.from.as_os_str() == STANDARD {
        true => Box::new(io::stdin().lock()),
        false if args.from.is_dir() => {
            let why = format!(
                "{} is a folder: give the file of an export",
                args.from.display()
            );
            return Err(WrongCall(why).into());
        }
        false => {
            let file = File::open(&args.from);
            let file = file.map_err(|error| WrongCall(format!("{}: {error}", args.from.display())));
            Box::new(BufReader::with_capacity(1 << 20, file?))
        }
    };
    let bar = Bar::new();
    let made = Database::import(&mut *lines, &args.db, &Options::default(), &bar);
    drop(bar);
    let database = match made {
        Err(Error::Store(error @ (StoreError::Invalid(_) | StoreError::Export { .. }))) => {
            return Err(WrongCall(error.to_string()).into());
        }
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; the folder holds no store");
            return Ok(Done::Wrong);
        }
        made => made?,
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
    Ok(Done::Well)
}
