//! `loci export` and `loci import`: a store as lines of JSON, and a store made of them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use locidb::storage::StoreError;
use locidb::{Database, Error, Options};
use serde_json::json;
use tempfile::NamedTempFile;

use super::open;
use crate::args::{Export, Import};
use crate::output::{Out, note};
use crate::progress::Bar;
use crate::{Done, WrongCall};

/// What stands for standard input and output.
const STANDARD: &str = "-";
/// How the name of an export that is being written ends, behind the characters that the library `tempfile` draws.
const SUFFIX: &str = ".export-tmp";
const RANDOM_LEN: usize = 6;

pub(crate) fn export(args: &Export, out: &Out) -> anyhow::Result<Done> {
    let to = &args.to;
    if to.as_os_str() != STANDARD && to.try_exists()? {
        let why = format!("{} is there already: give another name", to.display());
        return Err(WrongCall(why).into());
    }
    if to.as_os_str() == STANDARD && io::stdout().is_terminal() {
        let why = "an export is for a file or a pipe, not for a terminal: what is stored could control it";
        return Err(WrongCall(why.into()).into());
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
    let mut lines = BufWriter::new(file.file.as_file());
    let done = database.export(&mut lines, bar);
    if done.is_ok() {
        lines.flush().with_context(failed)?;
        drop(lines);
        file.take_place(to).with_context(failed)?;
    }
    Ok(done)
}

/// A new file beside `OUT`, which becomes `OUT`. Dropped before, it is deleted.
struct Unfinished {
    file: NamedTempFile,
}

impl Unfinished {
    fn create(to: &Path) -> anyhow::Result<Unfinished> {
        let failed = || format!("writing {}", to.display());
        let name = to.file_name().unwrap_or_default();
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let folder = folder_of(to);
        delete_left(folder, &prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).with_context(failed)?;
        // Held while it is written: who finds it without has found what a stopped export left.
        file.as_file().lock().with_context(failed)?;
        Ok(Unfinished { file })
    }

    /// Gives it its name, durably; fails where there is a file of that name by now.
    fn take_place(self, to: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file
            .persist_noclobber(to)
            .map_err(|error| error.error)?;
        #[cfg(unix)]
        File::open(folder_of(to))?.sync_all()?;
        Ok(())
    }
}

fn folder_of(to: &Path) -> &Path {
    match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Deletes what exports to the same name left that were killed; as far as it can be.
fn delete_left(folder: &Path, prefix: &OsStr) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let prefix = prefix.as_encoded_bytes();
    for entry in entries {
        let name = entry.file_name();
        let random = name.as_encoded_bytes().strip_prefix(prefix);
        let random = random.and_then(|name| name.strip_suffix(SUFFIX.as_bytes()));
        let is_ours = random.is_some_and(|random| {
            random.len() == RANDOM_LEN && random.iter().all(u8::is_ascii_alphanumeric)
        });
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) && is_left(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether nobody writes the file any more.
fn is_left(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
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
