//! How long-running work reports its progress, and is stopped.

use std::ops::ControlFlow;

/// Called with (done, in all); 0 where the total is not known. Break ends the work.
pub(crate) type ProgressFn<'r> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'r;
