//! The `loci` command line.
//!
//! Standard output carries answers (one JSON object a line with `--json`), standard error carries
//! progress and messages. Exit status: 0 success; 1 the command ran and found a problem or failed; 2 wrong arguments.
//!
//! Start reading at [`args::Command`], then the module of a command in [`commands`].

// All printing goes through `output`, which escapes terminal control characters.
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
use loci_server::config::unknown_variables;
use locidb::storage::permissions::{self, UMASK_ENV};
use output::{Printer, note};

/// A search makes some 200 small allocations; the system's allocator took a sixth of its time:
/// `docs/decisions/0012-allocator.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandStatus {
    /// Exit status 0.
    Success,
    /// The command ran and printed a problem: exit status 1.
    ProblemsFound,
}

/// Wrong arguments: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

fn main() -> ExitCode {
    limits::run_with_limits(run_command)
}

fn run_command() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return print_parse_error(&error),
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
    print_unknown_variables(&cli.command);
    let out = Printer::new(cli.json);
    match commands::run(cli.command, &out) {
        Ok(CommandStatus::Success) => ExitCode::SUCCESS,
        Ok(CommandStatus::ProblemsFound) => ExitCode::from(1),
        Err(error) => {
            match advice::for_error(&error) {
                Some(advice) => note!("loci: {}: {advice}", output::message(&error)),
                None => note!("loci: {}", output::message(&error)),
            }
            let is_usage_error = error.chain().any(|cause| cause.is::<UsageError>());
            ExitCode::from(if is_usage_error { 2 } else { 1 })
        }
    }
}

/// Prints help, or the error in the arguments, which may contain untrusted file names.
fn print_parse_error(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let text = output::escape_controls(&text);
    let written = if error.use_stderr() {
        write!(std::io::stderr(), "{text}")
    } else {
        write!(std::io::stdout(), "{text}")
    };
    let status = written.map_or(1, |()| error.exit_code());
    ExitCode::from(status as u8)
}

/// Prints a note for each environment variable that starts with `LOCI_` and has no meaning.
fn print_unknown_variables(command: &Command) {
    // Servers write it to their log, and the parent of `__first` has printed it.
    if !matches!(
        command,
        Command::Serve(_) | Command::Mcp(_) | Command::First(_)
    ) {
        for variable in unknown_variables(std::env::vars_os().map(|(name, _)| name)) {
            note!("loci: {variable}");
        }
    }
}

/// Makes new files of this process and its children private to the owner, or sets the mask in `LOCI_UMASK`.
fn make_files_private() -> Result<(), UsageError> {
    let given = std::env::var_os(UMASK_ENV).filter(|given| !given.is_empty());
    let is_mask =
        |given: &std::ffi::OsStr| given.to_str().and_then(permissions::parse_umask).is_some();
    if given.is_some_and(|given| !is_mask(&given)) {
        let why = "give up to three octal digits that leave all rights to the owner, such as 077, 027 or 007";
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

/// Disables transparent huge pages for this process and its children: with them, freed memory would stay resident
/// (`docs/decisions/0018-huge-pages.md`).
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    // On a kernel without this switch, huge pages only cost memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// redb panics on some damage of its file; the store turns these panics into typed errors, which say more than a
/// backtrace.
fn silence_caught_panics() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_of_redb = |path: &str| {
            path.split(['/', '\\'])
                .any(|part| part.starts_with("redb-"))
        };
        if panic.location().is_some_and(|at| is_of_redb(at.file())) {
            note!("loci: loci.redb is damaged")
        } else {
            // Its message may quote untrusted text.
            match output::escape_controls(&panic.to_string()) {
                Cow::Borrowed(_) => previous(panic),
                Cow::Owned(message) => note!("{message}"),
            }
        }
    }));
}
