//! The commands of `loci`, one module each: it reads its arguments, calls the library and prints.
//!
//! Always true: answers go to standard output, messages and progress to standard error.
//!
//! Start reading at [`run`], then at the module with the name of the command.

mod about;
mod analyze;
mod ask;
mod backup;
mod check;
mod citations;
mod communities;
mod compact;
mod concept;
mod config;
mod data;
mod delete;
mod demo;
mod eval;
mod export;
mod feedback;
mod graph;
mod ingest;
mod key;
mod mcp;
mod options;
pub(crate) mod parse;
mod partial_file;
mod records;
mod search;
mod serve;
mod show;
mod stats;
mod types;
mod upgrade;

use std::io;
use std::path::Path;

use locidb::storage::StoreError;
use locidb::{Database, Error, Options, open_tokenizer};

use crate::args::{Command, Graph, Search};
use crate::output::{Printer, note};
use crate::progress::{Bar, catch_interrupts};
use crate::{CommandStatus, UsageError, limits};

/// Runs a command.
pub(crate) fn run(command: Command, out: &Printer) -> anyhow::Result<CommandStatus> {
    catch_interrupts();
    if needs_pool(&command) {
        limits::start_pool()?;
    }
    // A server reports this to each caller.
    let is_server = matches!(command, Command::Serve(_) | Command::Mcp(_));
    let done = dispatch(command, out);
    if is_server || locidb::storage::ever_lost_pages() == 0 {
        return done;
    }
    Err(anyhow::anyhow!(
        "a file of the store was truncated, or its disk failed, while it was read: do not rely on the output, and run the \
         command again"
    ))
}

fn dispatch(command: Command, out: &Printer) -> anyhow::Result<CommandStatus> {
    match command {
        Command::Demo(args) => demo::run(&args, out),
        Command::Ingest(args) => ingest::run(&args, out),
        Command::Search(args) => search::run(&args, out),
        Command::Ask(args) => ask::run(&args, out),
        Command::Feedback(args) => feedback::run(&args, out),
        Command::Records(args) => records::run(&args, out),
        Command::Show(args) => show::run(&args, out),
        Command::Concept(args) => concept::run(&args, out),
        Command::Stats(args) => stats::run(&args, out),
        Command::Delete(args) => delete::run(&args, out),
        Command::Compact(args) => compact::run(&args, out),
        Command::Check(args) => check::run(&args, out),
        Command::Backup(args) => backup::backup(&args, out),
        Command::Restore(args) => backup::restore(&args, out),
        Command::Upgrade(args) => upgrade::run(&args, out),
        Command::Export(args) => export::export(&args, out),
        Command::Import(args) => export::import(&args, out),
        Command::Analyze(args) => analyze::run(&args, out),
        Command::Communities(args) => communities::run(&args, out),
        Command::Types(args) => types::run(&args, out),
        Command::Citations(args) => citations::run(&args, out),
        Command::Graph(Graph::Export(args)) => graph::export(&args, out),
        Command::Graph(Graph::Import(args)) => graph::import(&args, out),
        Command::Config(args) => config::run(&args, out),
        Command::Serve(args) => serve::run(&args, out),
        Command::Key(key) => key::run(&key, out),
        Command::Mcp(args) => mcp::run(&args),
        Command::Load(args) => data::load(&args, out),
        Command::Eval(args) => eval::run(&args, out),
        Command::Bench(args) => data::bench(&args, out),
        Command::First(args) => data::first(&args, out),
        Command::About => about::run(out),
        Command::Parse(_) => Ok(CommandStatus::Success),
    }
}

/// Whether a command uses all cores, so that the thread pool is started first.
fn needs_pool(command: &Command) -> bool {
    !matches!(
        command,
        Command::Search(_)
            | Command::Ask(_)
            | Command::Show(_)
            | Command::Concept(_)
            | Command::Stats(_)
            | Command::First(_)
            | Command::Key(_)
            | Command::Parse(_)
    )
}

/// Opens a store, created if missing; prints what had to be rebuilt.
fn open_or_create(folder: &Path) -> anyhow::Result<Database> {
    open_with(folder, &Options::default())
}

/// Opens an existing store.
fn open(folder: &Path) -> anyhow::Result<Database> {
    open_with(
        folder,
        &Options {
            create: false,
            ..Options::default()
        },
    )
}

/// Opens an existing store for the search in `args`. It does not wait until damaged parts are rebuilt: answers
/// list what could not be searched; [`wait_for_rebuild`] waits.
fn open_for_search(args: &Search) -> anyhow::Result<Database> {
    let mut options = Options {
        create: false,
        ..Options::default()
    };
    if let Some(path) = &args.tokenizer {
        let tokenizer = open_tokenizer(path);
        let tokenizer = tokenizer.map_err(|error| UsageError(format!("--tokenizer: {error}")))?;
        options.tokenizer = Some(tokenizer);
    }
    open_or_read_only(&args.db, &options)
}

fn open_with(folder: &Path, options: &Options) -> anyhow::Result<Database> {
    let database = open_or_read_only(folder, options)?;
    wait_for_rebuild(&database)?;
    Ok(database)
}

/// Opens a store; damaged parts are rebuilt in the background.
fn open_or_read_only(folder: &Path, options: &Options) -> anyhow::Result<Database> {
    let database = match Database::open_with(folder, options) {
        Err(Error::Store(error)) if is_unwritable(&error) => {
            let options = Options {
                read_only: true,
                ..options.clone()
            };
            let database = Database::open_with(folder, &options)?;
            let why = match error {
                StoreError::Io { .. } => format!("{} cannot be written to", folder.display()),
                error => error.to_string(),
            };
            note!("loci: the store is opened read-only: {why}");
            database
        }
        opened => opened?,
    };
    for damaged in database.damaged() {
        if damaged.segment.is_some() {
            note!("loci: rebuilding from rows: {}", damaged.error);
        }
    }
    for lost in database.lost() {
        note!(
            "loci: the {} is damaged and will be rebuilt: {}",
            lost.index.name(),
            lost.why
        );
    }
    Ok(database)
}

/// Whether a store that failed to open can be read nevertheless: the file system forbids writing, or its list of free
/// pages is damaged.
fn is_unwritable(error: &StoreError) -> bool {
    let kinds = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ];
    match error {
        StoreError::Io { source, .. } => kinds.contains(&source.kind()),
        error => matches!(error, StoreError::DamagedFreePages { .. }),
    }
}

/// Waits until damaged parts are rebuilt. After an interrupt, the next command continues.
fn wait_for_rebuild(database: &Database) -> anyhow::Result<()> {
    if !database.lost().is_empty() {
        limits::start_pool()?;
    }
    let bar = Bar::new();
    // Parts that depend on the whole store are rebuilt from all of it.
    let done = database.rebuild(&bar);
    let done = done.and_then(|()| {
        if database.is_read_only() {
            Ok(())
        } else {
            database.recover(&bar)
        }
    });
    drop(bar);
    match done {
        // Documents with missing rows do not prevent the use of the others.
        Err(Error::Store(error)) => {
            note!("loci: some documents cannot be found: {error}; `loci check` prints details");
            Ok(())
        }
        done => Ok(done?),
    }
}
