//! How much of a server the callers of one store may have under way, so that those of another find room.
//!
//! Start reading at [`Rooms`].

use std::sync::Arc;

use tokio::sync::Semaphore;

/// What the callers of one store may have under way at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomOptions {
    /// Questions that are answered, or wait for it.
    pub(crate) quick: usize,
    /// Writes.
    pub(crate) writes: usize,
    /// Long calls.
    pub(crate) long: usize,
    /// Files that are taken, part by part.
    pub(crate) streams: usize,
    /// Transactions that are open, or wait for it.
    pub(crate) transactions: usize,
}

impl Default for RoomOptions {
    /// As much as the server has.
    fn default() -> Self {
        RoomOptions {
            quick: Semaphore::MAX_PERMITS,
            writes: Semaphore::MAX_PERMITS,
            long: Semaphore::MAX_PERMITS,
            streams: Semaphore::MAX_PERMITS,
            transactions: Semaphore::MAX_PERMITS,
        }
    }
}

/// Places for what the callers of one store have under way. Each also takes one of the server's.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// For questions.
    pub(crate) quick: Arc<Semaphore>,
    /// For writes.
    pub(crate) writes: Arc<Semaphore>,
    /// For long calls.
    pub(crate) long: Arc<Semaphore>,
    /// For files.
    pub(crate) streams: Arc<Semaphore>,
    /// For transactions.
    pub(crate) transactions: Arc<Semaphore>,
}

impl Rooms {
    /// All are free.
    pub(crate) fn new(options: RoomOptions) -> Rooms {
        let places = |count: usize| Arc::new(Semaphore::new(count));
        Rooms {
            quick: places(options.quick),
            writes: places(options.writes),
            long: places(options.long),
            streams: places(options.streams),
            transactions: places(options.transactions),
        }
    }
}
