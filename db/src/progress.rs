//! How long work tells where it is, and is asked to stop.

use std::ops::ControlFlow;

/// Told of the steps of long work. Called from the thread that works, which may hold back merges and
/// switches meanwhile: keep it short, and call nothing of the database that works in the background.
pub trait Progress {
    /// `done` of `total` units of `step` are done. Break asks the work to stop soon.
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()>;
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
