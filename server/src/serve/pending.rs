//! Connections that have presented no key yet: their number is bounded, and a new one replaces the oldest.
//!
//! A client with a key presents it within milliseconds; idle connections are the first to be closed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The connections that have shown no key.
#[derive(Debug)]
pub(crate) struct PendingConnections {
    capacity: usize,
    slots: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    next: u64,
    /// What ends each, the oldest first; `None` until its task is known.
    tasks: BTreeMap<u64, Option<AbortHandle>>,
}

/// A slot among them, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct PendingSlot {
    number: u64,
    pending: Arc<PendingConnections>,
}

impl PendingConnections {
    /// A table of so many slots.
    pub(crate) fn new(most: usize) -> Arc<PendingConnections> {
        Arc::new(PendingConnections {
            capacity: most.max(1),
            slots: Mutex::default(),
        })
    }

    /// A slot for a connection; if none is free, the oldest connection is closed.
    pub(crate) fn register(self: &Arc<PendingConnections>) -> PendingSlot {
        let mut list = self.slots.lock();
        while list.tasks.len() >= self.capacity {
            if let Some((_, Some(oldest))) = list.tasks.pop_first() {
                oldest.abort();
            }
        }
        let number = list.next;
        list.next += 1;
        list.tasks.insert(number, None);
        PendingSlot {
            number,
            pending: Arc::clone(self),
        }
    }

    /// Sets the task that serves the connection of a slot; both may be gone already.
    pub(crate) fn set_task(&self, number: u64, task: AbortHandle) {
        // A missing slot is over, admitted or evicted: its task notices.
        if let Some(slot_task) = self.slots.lock().tasks.get_mut(&number) {
            *slot_task = Some(task);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().tasks.len()
    }
}

impl PendingSlot {
    /// What it is called.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Moves on to the connections with a key, if a permit is free and the slot was not evicted.
    pub(crate) fn admit(self, permits: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        self.pending.slots.lock().tasks.remove(&self.number)?;
        Arc::clone(permits).try_acquire_owned().ok()
    }
}

impl Drop for PendingSlot {
    fn drop(&mut self) {
        self.pending.slots.lock().tasks.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn new_connection_evicts_the_oldest_unauthenticated_one() {
        let pending = PendingConnections::new(2);
        let permits = Arc::new(Semaphore::new(1));
        let mut tasks = Vec::new();
        let mut slots = Vec::new();
        for _ in 0..2 {
            let slot = pending.register();
            let task = tokio::spawn(std::future::pending::<()>());
            pending.set_task(slot.number(), task.abort_handle());
            tasks.push(task);
            slots.push(slot);
        }
        let third = pending.register();
        assert!(tasks.remove(0).await.unwrap_err().is_cancelled());
        assert_eq!(pending.len(), 2);
        // The oldest was evicted, the others were not.
        assert!(slots.remove(0).admit(&permits).is_none());
        let admitted = third.admit(&permits);
        assert!(admitted.is_some());
        assert!(
            slots.remove(0).admit(&permits).is_none(),
            "no permit is free"
        );
        assert_eq!(pending.len(), 0);
        assert!(
            !tasks[0].is_finished(),
            "who was admitted or refused is not ended from here"
        );
    }

    #[test]
    fn dropping_a_slot_frees_it() {
        let pending = PendingConnections::new(1);
        drop(pending.register());
        assert_eq!(pending.len(), 0);
    }
}
