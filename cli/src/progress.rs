//! Progress: a bar on a terminal, nothing when piped; and the wish to stop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use locidb::Progress;

use crate::output::{escape_controls, is_stderr_terminal, note};

/// Whether the user asked to stop. Set by the handler of the interrupt signal.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes an interrupt stop long work after the step it is at; a second one ends the process.
pub(crate) fn catch_interrupts() {
    // Without a handler an interrupt ends the process at once, and the store is as safe.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        note!("loci: stopping; what is stored stays, run the same command to go on");
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

    /// Runs `print` with the bar out of the way.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

/// Writes how long the rest will take, once the first steps have shown how long a step takes.
fn write_time_left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    if (1..state.len().unwrap_or(0)).contains(&state.pos()) && !state.eta().is_zero() {
        // A string takes all that is written to it.
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
