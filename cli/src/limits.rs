//! Resource limits of the process (`ulimit`) lead to errors with advice, not to signals and panics.
//!
//! | limit | without this | here |
//! | --- | --- | --- |
//! | `-f`, length of a file | SIGXFSZ ends the process | the write fails, as on a full disk |
//! | `-v`, memory | SIGABRT, or a panic of a pool that gets no threads | exit status 1 with a message; fewer threads |
//! | `-s`, stack | SIGSEGV or SIGABRT in the first thread | commands run on a stack of their own |
//!
//! If the system cannot load the process into memory, it ends the process itself.
//!
//! Start reading at [`run_with_limits`].

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

/// Runs a command on a stack of its own, with the signals of limits turned into errors.
pub(crate) fn run_with_limits(run: fn() -> ExitCode) -> ExitCode {
    catch_signals();
    let thread = thread::Builder::new().name("loci".into());
    match thread.stack_size(STACK_LEN).spawn(run) {
        // The panic is printed already; 101 is the exit status of a process that panics.
        Ok(command) => command.join().unwrap_or(ExitCode::from(101)),
        Err(error) => report_thread_error(&error),
    }
}

/// Starts the thread pool of this process, with fewer threads if the limits allow no more.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn start_pool() -> io::Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| build_pool().map_err(|error| error.to_string()));
    started.clone().map_err(io::Error::other)
}

fn build_pool() -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // The pool can be built only once, and building it fails as a whole.
    let threads = match startable(cores, POOL_STACK_LEN) {
        all if all == cores => all,
        // The store needs threads, too.
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
    // A handler that does nothing makes the write fail instead. Children start with the default handler.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    // Failed allocations and stack overflows print a message before they abort.
    let _ = flag::register_conditional_shutdown(SIGABRT, 1, Arc::new(AtomicBool::new(true)));
}

#[cfg(not(unix))]
fn catch_signals() {}
