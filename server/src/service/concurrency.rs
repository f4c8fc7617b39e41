//! How many calls the callers of one store may have in flight, so that those of another are served, too.
//!
//! Start reading at [`Rooms`].

use std::sync::Arc;

use loci_protocol::fault::{Code, Fault};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What the callers of one store may have in flight at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrencyLimits {
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

impl Default for ConcurrencyLimits {
    /// As much as the server has.
    fn default() -> Self {
        ConcurrencyLimits {
            quick: Semaphore::MAX_PERMITS,
            writes: Semaphore::MAX_PERMITS,
            long: Semaphore::MAX_PERMITS,
            streams: Semaphore::MAX_PERMITS,
            transactions: Semaphore::MAX_PERMITS,
        }
    }
}

/// Bytes of files that are being sent, of all stores.
const FILES_LEN_MAX: usize = 256 << 20;
/// Bytes of a file that need no permit.
const UNCOUNTED_LEN_MAX: usize = 64 << 10;

/// Memory for files that are being sent, of all stores.
#[derive(Clone, Debug)]
pub(crate) struct FileMemory(Arc<Semaphore>);

impl Default for FileMemory {
    fn default() -> Self {
        FileMemory(Arc::new(Semaphore::new(FILES_LEN_MAX >> 10)))
    }
}

impl FileMemory {
    /// Room for so many bytes, where they are many. A file beyond all of it takes all of it.
    ///
    /// # Errors
    /// [`Code::Overloaded`].
    pub(crate) fn acquire(&self, len: usize) -> Result<Option<OwnedSemaphorePermit>, Fault> {
        if len <= UNCOUNTED_LEN_MAX {
            return Ok(None);
        }
        let units = (len.min(FILES_LEN_MAX) >> 10) as u32;
        let permit = Arc::clone(&self.0).try_acquire_many_owned(units);
        let why = "too many files wait to be read: try again later";
        permit
            .map(Some)
            .map_err(|_| Fault::new(Code::Overloaded, why).with_retry_after(1_000))
    }
}

/// Permits for the calls of one store. Each call also needs one of the server's.
#[derive(Debug)]
pub(crate) struct StoreSemaphores {
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

impl StoreSemaphores {
    /// All are free.
    pub(crate) fn new(options: ConcurrencyLimits) -> StoreSemaphores {
        let semaphore = |count: usize| Arc::new(Semaphore::new(count));
        StoreSemaphores {
            quick: semaphore(options.quick),
            writes: semaphore(options.writes),
            long: semaphore(options.long),
            streams: semaphore(options.streams),
            transactions: semaphore(options.transactions),
        }
    }
}
