//! Where there are no signals, a file that is mapped cannot be cut: nothing is registered.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Counts the maps of one store that lost pages since it was opened: none.
#[derive(Debug, Default)]
pub(crate) struct LostPages(AtomicU64);

impl LostPages {
    /// How many maps lost pages until now.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Whether a map that is open lacks pages.
pub(crate) fn any_lost() -> bool {
    false
}

/// How many maps of this process lost pages until now.
pub fn ever_lost() -> u64 {
    0
}

#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new(_: &[u8]) -> Registered {
        Registered
    }

    pub(super) fn count_with(&mut self, _: &Arc<LostPages>) {}

    pub(super) fn mark(&self) {}

    pub(super) fn has_lost_pages(&self) -> bool {
        false
    }
}
