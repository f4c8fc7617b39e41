//! Progress: a bar on a terminal, nothing when piped; and interruption by the user.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use locidb::Progress;

use crate::output::{escape_controls, is_stderr_terminal, note};

/// Whether the user asked to stop. Set by the handler of the interrupt signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes an interrupt stop long work after the current step; a second one ends the process.
pub(crate) fn catch_interrupts() {
    // Without a handler an interrupt ends the process immediately, which is just as safe for the store.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        note!("loci: stopping; stored data is kept, run the same command again to continue");
    });
}

/// A bar of steps.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let target = if is_stderr_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}{left}") {
            bar.set_style(style.with_key("left", write_time_left));
        }
        Bar { bar }
    }

    /// Runs `print` while the bar is hidden.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

/// Writes the estimated remaining time, once the first steps are measured.
fn write_time_left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    if (1..state.len().unwrap_or(0)).contains(&state.pos()) && !state.eta().is_zero() {
        // Writing to a string cannot fail.
        let _ = write!(to, ", {:#} left", HumanDuration(state.eta()));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        let step = escape_controls(step);
        if self.bar.message() != step {
            self.bar.set_message(step.into_owned());
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        if STOP.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
