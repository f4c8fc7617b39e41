//! Work on all cores whose results are taken in order, with a bound on what waits to be taken.
//!
//! Threads take the next item as soon as they are free, so that a large one holds up nobody; what is done before its turn
//! waits. Always true: at most `ahead_max` items are begun and not taken yet, and none is begun that would make them and
//! their results weigh more than `weight_max`, unless it is the only one.
//!
//! Start reading at [`in_order`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How often `idle` is asked while nothing is to be taken.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Threads that work at most.
const JOBS_MAX: usize = 256;

/// How much is done at a time.
pub(super) struct WorkLimits {
    /// Threads that work.
    pub(super) jobs: usize,
    /// Items that are begun and not taken.
    pub(super) in_flight_max: usize,
    /// Weight of these, and of the results that wait.
    pub(super) weight_max: u64,
}

/// What is to be done.
pub(super) struct OrderedWork<'w, T, R, W> {
    /// To what, in order.
    pub(super) items: &'w [T],
    /// What an item weighs while it is worked at.
    pub(super) weight: fn(&T) -> u64,
    /// What is done to each.
    pub(super) work: W,
    /// What a result weighs until it is taken.
    pub(super) result_weight: fn(&R) -> u64,
}

/// What is begun and not taken.
#[derive(Default)]
struct InFlight {
    next: usize,
    count: usize,
    weight: u64,
    is_stopped: bool,
}

struct WorkQueue<'w, T, R, W> {
    work: &'w OrderedWork<'w, T, R, W>,
    bounds: &'w WorkLimits,
    in_flight: Mutex<InFlight>,
    not_full: Condvar,
}

/// Does the work on `bounds.jobs` threads, and calls `take` in this thread with what comes of each item, in the order
/// of the items. `idle` is asked now and then while nothing can be taken. Either may break: no item is begun after that,
/// and the answer is whether it happened. A panic of `work` goes on in this thread.
pub(super) fn run_in_order<T: Sync, R: Send>(
    work: &OrderedWork<'_, T, R, impl Fn(&T) -> R + Sync>,
    bounds: &WorkLimits,
    idle: impl Fn() -> ControlFlow<()>,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let desk = WorkQueue {
        work,
        bounds,
        in_flight: Mutex::default(),
        not_full: Condvar::new(),
    };
    std::thread::scope(|scope| {
        // However this ends, threads that wait for capacity are notified.
        let _over = StopGuard(&desk, false);
        let (sender, done) = channel();
        let mut threads = 0;
        for _ in 0..bounds.jobs.min(work.items.len()).clamp(1, JOBS_MAX) {
            let (desk, sender) = (&desk, sender.clone());
            let thread = std::thread::Builder::new().name("loci-parse".into());
            let spawned = thread.spawn_scoped(scope, move || desk.run(&sender));
            threads += usize::from(spawned.is_ok());
        }
        drop(sender);
        if threads == 0 {
            // No thread can be started: this one does all of it.
            for item in work.items {
                idle()?;
                take((work.work)(item))?;
            }
            return ControlFlow::Continue(());
        }
        let mut early = BTreeMap::new();
        for at in 0..work.items.len() {
            let result = loop {
                if let Some(result) = early.remove(&at) {
                    break result;
                }
                match done.recv_timeout(POLL_INTERVAL) {
                    Ok((other, result)) => drop(early.insert(other, result)),
                    Err(RecvTimeoutError::Timeout) => idle()?,
                    // A thread panicked; the scope tells it on.
                    Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(()),
                }
            };
            let weight = (work.result_weight)(&result);
            take(result)?;
            desk.release(1, weight, 0);
        }
        ControlFlow::Continue(())
    })
}

impl<T: Sync, R: Send, W: Fn(&T) -> R + Sync> WorkQueue<'_, T, R, W> {
    fn run(&self, to: &Sender<(usize, R)>) {
        // A thread that panics must not leave the others waiting for what it holds.
        let _over = StopGuard(self, true);
        while let Some(at) = self.next_item() {
            let item = &self.work.items[at];
            let result = (self.work.work)(item);
            self.release(
                0,
                (self.work.weight)(item),
                (self.work.result_weight)(&result),
            );
            if to.send((at, result)).is_err() {
                return;
            }
        }
    }
}

impl<T, R, W> WorkQueue<'_, T, R, W> {
    /// The next item, once there is room for it.
    fn next_item(&self) -> Option<usize> {
        let mut ahead = self.in_flight.lock();
        loop {
            let item = self
                .work
                .items
                .get(ahead.next)
                .filter(|_| !ahead.is_stopped)?;
            let weight = ahead.weight.saturating_add((self.work.weight)(item));
            let fits = ahead.count < self.bounds.in_flight_max && weight <= self.bounds.weight_max;
            if fits || ahead.count == 0 {
                ahead.weight = weight;
                ahead.count += 1;
                ahead.next += 1;
                return Some(ahead.next - 1);
            }
            self.not_full.wait(&mut ahead);
        }
    }

    /// Notes that so many items were taken, and that so much weighs no more and so much instead.
    fn release(&self, count: usize, freed_weight: u64, added_weight: u64) {
        let mut ahead = self.in_flight.lock();
        ahead.count -= count;
        ahead.weight = ahead
            .weight
            .saturating_sub(freed_weight)
            .saturating_add(added_weight);
        self.not_full.notify_all();
    }
}

/// Lets no item be begun any more when it is dropped, or only when that is by a panic.
struct StopGuard<'w, T, R, W>(&'w WorkQueue<'w, T, R, W>, bool);

impl<T, R, W> Drop for StopGuard<'_, T, R, W> {
    fn drop(&mut self) {
        if !self.1 || std::thread::panicking() {
            self.0.in_flight.lock().is_stopped = true;
            self.0.not_full.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

    fn bounds(jobs: usize, ahead_max: usize, weight_max: u64) -> WorkLimits {
        WorkLimits {
            jobs,
            in_flight_max: ahead_max,
            weight_max,
        }
    }

    /// Work at items that weigh what they are, whose results weigh nothing.
    fn work<R, W: Fn(&u64) -> R>(items: &[u64], work: W) -> OrderedWork<'_, u64, R, W> {
        OrderedWork {
            items,
            weight: |&item| item,
            work,
            result_weight: |_| 0,
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
            let work = OrderedWork {
                result_weight: |&(item, _)| item / 2,
                ..work(&items, |&item: &u64| {
                    let before = begun.fetch_add(1, Ordering::SeqCst);
                    // Those that are taken meanwhile make it less, never more.
                    let ahead = before.saturating_sub(ended.load(Ordering::SeqCst));
                    if item % 3 == 0 {
                        std::thread::yield_now();
                    }
                    (item, ahead)
                })
            };
            let mut taken = Vec::new();
            let flow = run_in_order(&work, &bounds(jobs, ahead_max, weight_max), || GO_ON, |(item, ahead)| {
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
    fn nothing_is_begun_while_results_that_wait_weigh_too_much() {
        let items = [1u64; 50];
        let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = OrderedWork {
            result_weight: |_| 100,
            ..work(&items, |_: &u64| begun.fetch_add(1, Ordering::SeqCst))
        };
        let mut received = 0;
        let flow = run_in_order(
            &work,
            &bounds(3, 50, 250),
            || GO_ON,
            |_| {
                most.fetch_max(begun.load(Ordering::SeqCst) - received, Ordering::SeqCst);
                received += 1;
                GO_ON
            },
        );
        assert!(flow.is_continue());
        // Two results and a third, and those that were begun before they were known to be heavy.
        assert!(most.load(Ordering::SeqCst) <= 6, "{most:?}");
    }

    #[test]
    fn who_stops_taking_or_waiting_ends_the_work() {
        let items: Vec<u64> = (0..100).collect();
        let begun = AtomicUsize::new(0);
        let count = work(&items, |_: &u64| begun.fetch_add(1, Ordering::SeqCst));
        let of = bounds(2, 4, u64::MAX);
        let stop = |_| ControlFlow::Break(());
        assert!(run_in_order(&count, &of, || GO_ON, stop).is_break());
        assert!(begun.load(Ordering::SeqCst) <= 5);
        let slow = work(&items, |_: &u64| std::thread::sleep(3 * POLL_INTERVAL));
        let idle = || ControlFlow::Break(());
        assert!(run_in_order(&slow, &of, idle, |()| GO_ON).is_break());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        let items: Vec<u64> = (0..100).collect();
        let work = work(&items, |&item: &u64| assert!(item != 7, "seven"));
        let _ = run_in_order(&work, &bounds(3, 4, 9), || GO_ON, |()| GO_ON);
    }
}
