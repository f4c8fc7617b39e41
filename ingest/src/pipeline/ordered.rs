//! Work on all cores whose results are taken in order, with a bound on what waits to be taken.
//!
//! Threads take the next item as soon as they are free, so that a large one holds up nobody; what is done before its turn
//! waits. Always true: at most `ahead_max` items, and items of at most `weight_max` together or a single one, are begun
//! and not taken yet.
//!
//! Start reading at [`in_order`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How often `idle` is asked while nothing is to be taken.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How much is done at a time.
pub(super) struct Bounds {
    /// Threads that work.
    pub(super) jobs: usize,
    /// Items that are begun and not taken.
    pub(super) ahead_max: usize,
    /// Their weights together, where there is more than one.
    pub(super) weight_max: u64,
}

/// What is begun and not taken.
#[derive(Default)]
struct Ahead {
    next: usize,
    count: usize,
    weight: u64,
    is_over: bool,
}

struct Work<'w, T, W> {
    items: &'w [T],
    weight: fn(&T) -> u64,
    work: &'w W,
    bounds: &'w Bounds,
    ahead: Mutex<Ahead>,
    room: Condvar,
}

/// Calls `work` for every item on `bounds.jobs` threads, and `take` in this thread with what comes of each, in the order
/// of the items. `idle` is asked now and then while nothing can be taken. Either may break: no item is begun after that,
/// and the answer is whether it happened. A panic of `work` goes on in this thread.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    weight: fn(&T) -> u64,
    bounds: &Bounds,
    work: &(impl Fn(&T) -> R + Sync),
    idle: impl Fn() -> ControlFlow<()>,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let work = Work {
        items,
        weight,
        work,
        bounds,
        ahead: Mutex::default(),
        room: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let (sender, done) = channel();
        for _ in 0..bounds.jobs.clamp(1, items.len().max(1)) {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        // However this ends, threads that wait for room are told.
        let _over = Over(&work, false);
        let mut early = BTreeMap::new();
        for at in 0..items.len() {
            let result = loop {
                if let Some(result) = early.remove(&at) {
                    break result;
                }
                match done.recv_timeout(ASK_EVERY) {
                    Ok((other, result)) => drop(early.insert(other, result)),
                    Err(RecvTimeoutError::Timeout) => idle()?,
                    // A thread panicked; the scope tells it on.
                    Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(()),
                }
            };
            take(result)?;
            work.taken(at);
        }
        ControlFlow::Continue(())
    })
}

impl<T: Sync, R: Send, W: Fn(&T) -> R + Sync> Work<'_, T, W> {
    fn run(&self, to: &Sender<(usize, R)>) {
        // A thread that panics must not leave the others waiting for what it holds.
        let _over = Over(self, true);
        while let Some(at) = self.begin() {
            if to.send((at, (self.work)(&self.items[at]))).is_err() {
                return;
            }
        }
    }
}

impl<T, W> Work<'_, T, W> {
    /// The next item, once there is room for it.
    fn begin(&self) -> Option<usize> {
        let mut ahead = self.ahead.lock();
        loop {
            let item = self.items.get(ahead.next).filter(|_| !ahead.is_over)?;
            let weight = ahead.weight.saturating_add((self.weight)(item));
            let fits = ahead.count < self.bounds.ahead_max && weight <= self.bounds.weight_max;
            if fits || ahead.count == 0 {
                ahead.weight = weight;
                ahead.count += 1;
                ahead.next += 1;
                return Some(ahead.next - 1);
            }
            self.room.wait(&mut ahead);
        }
    }

    fn taken(&self, at: usize) {
        let mut ahead = self.ahead.lock();
        ahead.count -= 1;
        ahead.weight = ahead.weight.saturating_sub((self.weight)(&self.items[at]));
        self.room.notify_all();
    }
}

/// Lets no item be begun any more when it is dropped, or only when that is by a panic.
struct Over<'w, T, W>(&'w Work<'w, T, W>, bool);

impl<T, W> Drop for Over<'_, T, W> {
    fn drop(&mut self) {
        if !self.1 || std::thread::panicking() {
            self.0.ahead.lock().is_over = true;
            self.0.room.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

    fn bounds(jobs: usize, ahead_max: usize, weight_max: u64) -> Bounds {
        Bounds {
            jobs,
            ahead_max,
            weight_max,
        }
    }

    proptest! {
        #[test]
        fn results_come_in_order_within_bounds(
            items in prop::collection::vec(0u64..9, 0..60),
            jobs in 1usize..5,
            ahead_max in 1usize..6,
            weight_max in 0u64..12,
        ) {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |&item: &u64| {
                let ahead = begun.fetch_add(1, Ordering::SeqCst) - ended.load(Ordering::SeqCst);
                if item % 3 == 0 {
                    std::thread::yield_now();
                }
                (item, ahead)
            };
            let mut taken = Vec::new();
            let flow = in_order(&items, |&item| item, &bounds(jobs, ahead_max, weight_max), &work, || GO_ON, |(item, ahead)| {
                assert!(ahead < ahead_max, "{ahead}");
                ended.fetch_add(1, Ordering::SeqCst);
                taken.push(item);
                GO_ON
            });
            prop_assert_eq!(flow, GO_ON);
            prop_assert_eq!(taken, items);
        }
    }

    #[test]
    fn who_stops_taking_or_waiting_ends_the_work() {
        let items: Vec<u64> = (0..100).collect();
        let begun = AtomicUsize::new(0);
        let count = |_: &u64| begun.fetch_add(1, Ordering::SeqCst);
        let of = bounds(2, 4, u64::MAX);
        let stop = |_| ControlFlow::Break(());
        assert!(in_order(&items, |_| 1, &of, &count, || GO_ON, stop).is_break());
        assert!(begun.load(Ordering::SeqCst) <= 5);
        let slow = |_: &u64| std::thread::sleep(3 * ASK_EVERY);
        let idle = || ControlFlow::Break(());
        assert!(in_order(&items, |_| 1, &of, &slow, idle, |()| GO_ON).is_break());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_told_on() {
        let items: Vec<u64> = (0..100).collect();
        let work = |&item: &u64| assert!(item != 7, "seven");
        let _ = in_order(&items, |_| 1, &bounds(3, 4, 9), &work, || GO_ON, |()| GO_ON);
    }
}
