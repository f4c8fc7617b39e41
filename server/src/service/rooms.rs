//! How much of a server the callers of one store may have under way, so that those of another find room.
//!
//! Start reading at [`Rooms`].

use std::sync::Arc;

use loci_protocol::fault::{Code, Fault};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// Bytes of files that are being taken, of all stores.
const FILES_LEN_MAX: usize = 256 << 20;
/// Bytes of a file that need no room.
const FREE_LEN: usize = 64 << 10;

/// Memory for files that are being taken, of all stores.
#[derive(Clone, Debug)]
pub(crate) struct FilesRoom(Arc<Semaphore>);

impl Default for FilesRoom {
    fn default() -> Self {
        FilesRoom(Arc::new(Semaphore::new(FILES_LEN_MAX >> 10)))
    }
}

impl FilesRoom {
    /// Room for so many bytes, where they are many. A file beyond all of it takes all of it.
    ///
    /// # Errors
    /// [`Code::Overloaded`].
    pub(crate) fn take(&self, len: usize) -> Result<Option<OwnedSemaphorePermit>, Fault> {
        if len <= FREE_LEN {
            return Ok(None);
        }
        let units = (len.min(FILES_LEN_MAX) >> 10) as u32;
        let room = Arc::clone(&self.0).try_acquire_many_owned(units);
        let why = "too many files wait to be taken: come again";
        room.map(Some)
            .map_err(|_| Fault::new(Code::Overloaded, why).after(1_000))
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
