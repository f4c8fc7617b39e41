//! What the limits of a process (`ulimit`) do to it: they end in errors with advice, not in signals and panics.
//!
//! | limit | without this | here |
//! | --- | --- | --- |
//! | `-f`, length of a file | SIGXFSZ ends the process | the write fails, as on a full disk |
//! | `-v`, memory | SIGABRT, or a panic of a pool that gets no threads | exit status 1, and what was wanted; fewer threads |
//! | `-s`, stack | SIGSEGV or SIGABRT in the first thread | work has a stack of its own |
//!
//! A process that the system cannot even load into its memory is ended by the system.
//!
//! Start reading at [`within`].

use std::io;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread;

use loci_server::threads::{ADVICE, startable};
use rayon::ThreadPoolBuilder;

use crate::output::note;

/// Bytes of the stack that a command runs on.
const STACK_LEN: usize = 8 << 20;
/// Bytes of the stack of each thread of the pool.
const POOL_STACK_LEN: usize = 2 << 20;

/// Runs a command on a stack of its own, with the limits' signals made errors.
pub(crate) fn run_with_limits(run: fn() -> ExitCode) -> ExitCode {
    catch_signals();
    let thread = thread::Builder::new().name("loci".into());
    match thread.stack_size(STACK_LEN).spawn(run) {
        // A panic has been printed, and its status is what a process that panics ends with.
        Ok(command) => command.join().unwrap_or(ExitCode::from(101)),
        Err(error) => report_thread_error(&error),
    }
}

/// Makes the pool that heavy work of this process shares, with fewer threads where there are not as many to be had.
///
/// # Errors
/// Where there is none to be had.
pub(crate) fn start_pool() -> io::Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| build_pool().map_err(|error| error.to_string()));
    started.clone().map_err(io::Error::other)
}

fn build_pool() -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // The pool can be asked for once only, and is not made by half.
    let threads = match startable(cores, POOL_STACK_LEN) {
        all if all == cores => all,
        // The store needs some, too.
        some => (some / 2).max(1),
    };
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.thread_name(|n| format!("loci-pool-{n}"));
    let built = builder.stack_size(POOL_STACK_LEN).build_global();
    built.map_err(|error| io::Error::other(format!("{ADVICE}: {error}")))
}

fn report_thread_error(error: &io::Error) -> ExitCode {
    note!("loci: {ADVICE}: {error}");
    ExitCode::from(1)
}

#[cfg(unix)]
fn catch_signals() {
    use signal_hook::consts::{SIGABRT, SIGXFSZ};
    use signal_hook::flag;
    // Caught, it does nothing, and the write that caused it fails. A child that is started has the default again.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    // What wants memory that is not there, or overflows its stack, has said so.
    let _ = flag::register_conditional_shutdown(SIGABRT, 1, Arc::new(AtomicBool::new(true)));
}

#[cfg(not(unix))]
fn catch_signals() {}
