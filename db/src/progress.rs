//! How long work reports its progress, and is asked to stop.

use std::ops::ControlFlow;

use crate::error::Error;

/// Receives the progress of long work. It is called from the working thread, which may block merges and
/// switches meanwhile: return soon, and call nothing of the database that works in the background.
pub trait Progress {
    /// `done` of `total` units of `step` are done. Break asks the work to stop soon.
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()>;
}

/// Ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Reports that `done` of `total` units of `step` are done.
///
/// # Errors
/// [`Error::Interrupted`] when `progress` asks to stop.
pub(crate) fn report(
    progress: &dyn Progress,
    step: &str,
    done: u64,
    total: u64,
) -> Result<(), Error> {
    if progress.report(step, done, total).is_break() {
        Err(Error::Interrupted)
    } else {
        Ok(())
    }
}
