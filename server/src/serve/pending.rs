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
pub(crate) struct Pending {
    most: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    next: u64,
    /// What ends each, the oldest first; `None` until its task is known.
    places: BTreeMap<u64, Option<AbortHandle>>,
}

/// A place among them; dropped, it is free.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    of: Arc<Pending>,
}

impl Pending {
    /// Room for so many.
    pub(crate) fn new(most: usize) -> Arc<Pending> {
        Arc::new(Pending {
            most: most.max(1),
            list: Mutex::default(),
        })
    }

    /// A place for a connection; the oldest one is ended where there is no other.
    pub(crate) fn enter(self: &Arc<Pending>) -> Place {
        let mut list = self.list.lock();
        while list.places.len() >= self.most {
            if let Some((_, Some(oldest))) = list.places.pop_first() {
                oldest.abort();
            }
        }
        let number = list.next;
        list.next += 1;
        list.places.insert(number, None);
        Place {
            number,
            of: Arc::clone(self),
        }
    }

    /// Says what ends the connection of a place that was given out, which may be over.
    pub(crate) fn is_served_by(&self, number: u64, task: AbortHandle) {
        // One that is not there any more is over or admitted, or its place was taken: its task sees that.
        if let Some(place) = self.list.lock().places.get_mut(&number) {
            *place = Some(task);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.lock().places.len()
    }
}

impl Place {
    /// What it is called.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Leaves for the connections with a key, where there is room and the place was not taken by another one.
    pub(crate) fn admitted(self, room: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        self.of.list.lock().places.remove(&self.number)?;
        Arc::clone(room).try_acquire_owned().ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.list.lock().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn new_connection_evicts_the_oldest_unauthenticated_one() {
        let pending = Pending::new(2);
        let room = Arc::new(Semaphore::new(1));
        let mut tasks = Vec::new();
        let mut places = Vec::new();
        for _ in 0..2 {
            let place = pending.enter();
            let task = tokio::spawn(std::future::pending::<()>());
            pending.is_served_by(place.number(), task.abort_handle());
            tasks.push(task);
            places.push(place);
        }
        let third = pending.enter();
        assert!(tasks.remove(0).await.unwrap_err().is_cancelled());
        assert_eq!(pending.len(), 2);
        // The oldest lost its place, the others have theirs.
        assert!(places.remove(0).admitted(&room).is_none());
        let admitted = third.admitted(&room);
        assert!(admitted.is_some());
        assert!(
            places.remove(0).admitted(&room).is_none(),
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
        let pending = Pending::new(1);
        drop(pending.enter());
        assert_eq!(pending.len(), 0);
    }
}
