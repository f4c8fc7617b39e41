//! Runs a program to its end: input written and output read at the same time, within limits.
//!
//! Always true: a call ends soon after its time is over or it is stopped, and then the program and what it started, as
//! far as that stayed in its process group, are gone. What a program that ended by itself leaves behind stays.
//!
//! Start reading at [`run`].

use std::io::{self, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A longer timeout is shortened to this one, which a clock can always count: a year.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How often a call checks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a program that has closed its output is checked for its end.
const REAP_INTERVAL: Duration = Duration::from_millis(2);
/// How long the end of a failed program's error output is waited for.
const ERRORS_TIMEOUT: Duration = Duration::from_millis(200);
/// Bytes of error output that are read at a time.
const ERRORS_BUFFER_BYTES: usize = 4 << 10;

/// What a program may use.
pub(crate) struct RunLimits<'a> {
    /// How long it may run.
    pub(crate) timeout: Duration,
    /// Bytes of output.
    pub(crate) output_bytes_max: u64,
    /// Bytes that [`RunError::Failed`] holds of the end of its error output; 0: it has none.
    pub(crate) error_bytes_max: usize,
    /// Ends it when it becomes true.
    pub(crate) stopped: &'a AtomicBool,
}

/// Why a program gave no output.
#[derive(Debug)]
pub(crate) enum RunError {
    /// It does not start.
    Start(io::Error),
    /// There is no thread for its pipes.
    Thread(io::Error),
    /// It was stopped.
    Stopped,
    /// Its time was over.
    TimedOut,
    /// It wrote more than [`RunLimits::output_bytes_max`].
    OutputTooLarge,
    /// Its output or status cannot be read.
    Unreadable(io::Error),
    /// It ended without success.
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// The end of its error output.
        errors: Vec<u8>,
    },
}

/// Runs `command` and returns what it writes to its standard output. It has a process group of its own: an interrupt of
/// the terminal is for this process, which then stops it.
///
/// `input` writes to its standard input. A program that does not read all of it may succeed nonetheless.
///
/// # Errors
/// [`RunError`].
pub(crate) fn run(
    mut command: Command,
    input: impl FnOnce(ChildStdin) -> io::Result<()> + Send + 'static,
    limits: &RunLimits<'_>,
) -> Result<Vec<u8>, RunError> {
    if limits.stopped.load(Ordering::Relaxed) {
        return Err(RunError::Stopped);
    }
    let deadline = Instant::now() + limits.timeout.min(TIMEOUT_MAX);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(match limits.error_bytes_max {
            0 => Stdio::null(),
            _ => Stdio::piped(),
        })
        .spawn()
        .map_err(RunError::Start)?;
    let mut running = ChildGuard {
        child,
        is_reaped: false,
    };
    let child = &mut running.child;
    if let Some(stdin) = child.stdin.take() {
        start_thread(move || input(stdin))?;
    }
    let most = limits.output_bytes_max;
    let output = child.stdout.take();
    let output = start_thread(move || output.map_or(Ok(Vec::new()), |it| read_head(it, most)))?;
    let (errors, most) = (child.stderr.take(), limits.error_bytes_max);
    let errors = errors
        .map(|errors| start_thread(move || read_tail(errors, most)))
        .transpose()?;
    let output = limits.wait_for_output(&output, deadline)?;
    if output.len() as u64 > limits.output_bytes_max {
        return Err(RunError::OutputTooLarge);
    }
    let status = limits.wait_for_exit(&mut running, deadline)?;
    if status.success() {
        return Ok(output);
    }
    let errors = errors.and_then(|errors| errors.recv_timeout(ERRORS_TIMEOUT).ok());
    let errors = errors.unwrap_or_default();
    Err(RunError::Failed { status, errors })
}

impl RunLimits<'_> {
    /// All output, or one byte more than allowed.
    fn wait_for_output(
        &self,
        output: &Receiver<io::Result<Vec<u8>>>,
        deadline: Instant,
    ) -> Result<Vec<u8>, RunError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let received = output.recv_timeout(left.min(POLL_INTERVAL));
            if self.stopped.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
            match received {
                Ok(bytes) => return bytes.map_err(RunError::Unreadable),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(RecvTimeoutError::Timeout) => return Err(RunError::TimedOut),
                Err(RecvTimeoutError::Disconnected) => {
                    let error = io::Error::other("the thread that reads it panicked");
                    return Err(RunError::Unreadable(error));
                }
            }
        }
    }

    /// Waits for a program whose output has ended.
    fn wait_for_exit(
        &self,
        running: &mut ChildGuard,
        deadline: Instant,
    ) -> Result<ExitStatus, RunError> {
        loop {
            if let Some(status) = running.child.try_wait().map_err(RunError::Unreadable)? {
                running.is_reaped = true;
                return Ok(status);
            }
            if self.stopped.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
            if Instant::now() >= deadline {
                return Err(RunError::TimedOut);
            }
            thread::sleep(REAP_INTERVAL);
        }
    }
}

/// A program that does not outlive its owner, nor does its process group, unless it ended by itself.
struct ChildGuard {
    child: Child,
    /// Whether it was waited for: its group may be another's then.
    is_reaped: bool,
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        // Both fail only when it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `work` on a thread that nobody waits for: what a program started may hold a pipe open after its end.
fn start_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Receiver<T>, RunError> {
    let (sender, receiver) = channel();
    thread::Builder::new()
        .spawn(move || sender.send(work()))
        .map_err(RunError::Thread)?;
    Ok(receiver)
}

/// The first bytes of an output, one more than `most`.
fn read_head(output: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    output
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last bytes of an output, when it ends.
fn read_tail(mut output: impl Read, most: usize) -> Vec<u8> {
    let (mut tail, mut part) = (Vec::new(), [0; ERRORS_BUFFER_BYTES]);
    while let Ok(len @ 1..) = output.read(&mut part) {
        tail.extend_from_slice(&part[..len]);
        let over = tail.len().saturating_sub(most);
        tail.drain(..over);
    }
    tail
}
