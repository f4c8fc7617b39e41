//! The `loci` command line.
//!
//! Standard output carries answers (one JSON object a line with `--json`), standard error carries
//! progress and messages. Exit status: 0 done; 1 it ran and something is wrong; 2 the call itself is wrong.
//!
//! Start reading at [`args::Command`], then the module of a command in [`commands`].

// What is printed goes through `output`, which lets nothing control the terminal.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod advice;
mod args;
mod commands;
mod limits;
mod logs;
mod output;
mod progress;

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use locidb::storage::permissions::{self, UMASK_ENV};
use output::{Printer, note};

/// A question asks for some 200 small pieces of memory; the system's allocator took a sixth of its time:
/// `docs/decisions/0012-allocator.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandStatus {
    /// All is well.
    Well,
    /// It ran, and something is wrong that it has told.
    Wrong,
}

/// A call that cannot be carried out as it was made: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

fn main() -> ExitCode {
    limits::run_with_limits(carry_out)
}

fn carry_out() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return say(&refused),
    };
    if let Command::Parse(args) = &cli.command {
        return commands::parse::child(args);
    }
    silence_caught_panics();
    disable_huge_pages();
    if let Err(error) = make_files_private() {
        note!("loci: {error}");
        return ExitCode::from(2);
    }
    let out = Printer::new(cli.json);
    match commands::run(cli.command, &out) {
        Ok(CommandStatus::Well) => ExitCode::SUCCESS,
        Ok(CommandStatus::Wrong) => ExitCode::from(1),
        Err(error) => {
            match advice::for_error(&error) {
                Some(advice) => note!("loci: {}: {advice}", output::message(&error)),
                None => note!("loci: {}", output::message(&error)),
            }
            let wrong_call = error.chain().any(|cause| cause.is::<UsageError>());
            ExitCode::from(if wrong_call { 2 } else { 1 })
        }
    }
}

/// Prints help, or what is wrong with the arguments, which may be names of files that a stranger chose.
fn say(refused: &clap::Error) -> ExitCode {
    let text = refused.to_string();
    let text = output::escape_controls(&text);
    let written = if refused.use_stderr() {
        write!(std::io::stderr(), "{text}")
    } else {
        write!(std::io::stdout(), "{text}")
    };
    let status = written.map_or(1, |()| refused.exit_code());
    ExitCode::from(status as u8)
}

/// Has all that this process makes, and its children do, be its owner's alone, or as `LOCI_UMASK` says.
fn make_files_private() -> Result<(), UsageError> {
    let given = std::env::var_os(UMASK_ENV).filter(|given| !given.is_empty());
    let is_mask =
        |given: &std::ffi::OsStr| given.to_str().and_then(permissions::parse_umask).is_some();
    if given.is_some_and(|given| !is_mask(&given)) {
        let why = "give up to three octal digits that leave the owner all, as 077, 027 or 007";
        return Err(UsageError(format!("{UMASK_ENV}: {why}")));
    }
    #[cfg(unix)]
    {
        use rustix::fs::Mode;
        use rustix::process::umask;
        let before = umask(Mode::from_raw_mode(permissions::umask()));
        umask(before | Mode::from_raw_mode(permissions::umask()));
    }
    Ok(())
}

/// Has the kernel give this process no huge pages unasked, as some systems are set to: memory that was given back would
/// be resident again (`docs/decisions/0018-huge-pages.md`). Its children inherit it.
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // A kernel that has no such switch gives them as it likes, which costs memory only.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// redb panics over some damage of its file; the store makes typed errors of it, which tell more than a backtrace.
fn silence_caught_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_of_redb = |path: &str| {
            path.split(['/', '\\'])
                .any(|part| part.starts_with("redb-"))
        };
        if panic.location().is_some_and(|at| is_of_redb(at.file())) {
            note!("loci: loci.redb is damaged")
        } else {
            // Its message may quote what a stranger wrote.
            match output::escape_controls(&panic.to_string()) {
                Cow::Borrowed(_) => tell(panic),
                Cow::Owned(message) => note!("{message}"),
            }
        }
    }));
}
