//! Connections that have shown no key yet: so many are kept, and a new one takes the place of the oldest.
//!
//! Whoever has a key shows it in milliseconds; who opens connections and says nothing loses them first.

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

/// A place among them; dropped, it is free.
#[derive(Debug)]
pub(crate) struct PendingSlot {
    number: u64,
    pending: Arc<PendingConnections>,
}

impl PendingConnections {
    /// Room for so many.
    pub(crate) fn new(most: usize) -> Arc<PendingConnections> {
        Arc::new(PendingConnections {
            capacity: most.max(1),
            slots: Mutex::default(),
        })
    }

    /// A place for a connection; the oldest one is ended where there is no other.
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

    /// Says what ends the connection of a place that was given out, which may be over.
    pub(crate) fn set_task(&self, number: u64, task: AbortHandle) {
        // One that is not there any more is over or admitted, or its place was taken: its task sees that.
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

    /// Leaves for the connections with a key, where there is room and the place was not taken by another one.
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
        // The oldest lost its place, the others have theirs.
        assert!(slots.remove(0).admit(&permits).is_none());
        let admitted = third.admit(&permits);
        assert!(admitted.is_some());
        assert!(
            slots.remove(0).admit(&permits).is_none(),
            "there is no room"
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
