//! The background thread of a store: it rebuilds what was damaged, verifies large parts once after opening, merges
//! segments, and deletes the vectors of abandoned spaces.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use loci_storage::StoreError;

use crate::error::Error;
use crate::maintenance::merge::{merge_once, rebuild_segment, sweep_once};
use crate::maintenance::recovery::{StopOnClose, discard_damaged, parts, recover};
use crate::state::inner::Inner;
use crate::thread_pool;

/// How long the thread rests after a failure, first and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The handle of the thread.
pub(crate) struct Maintenance {
    wake: Option<Sender<()>>,
    inner: Weak<Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Maintenance, Error> {
        // One pending call is enough: the thread looks at the newest state.
        let (wake, calls) = bounded(1);
        let weak = Arc::downgrade(inner);
        let thread = std::thread::Builder::new()
            .name("loci-merge".into())
            .spawn(move || run(&weak, &calls))
            .map_err(|source| StoreError::Io {
                what: "starting the merging thread".into(),
                source,
            })?;
        Ok(Maintenance {
            wake: Some(wake),
            inner: Arc::downgrade(inner),
            thread: Some(thread),
        })
    }

    /// Asks the thread to look for work.
    pub(crate) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Full: a call is pending already.
            let _ = wake.try_send(());
        }
    }

    /// Merges here until nothing is due.
    pub(crate) fn run_until_idle(&self, inner: &Inner) -> Result<(), Error> {
        while merge_or_sweep(inner)? {}
        Ok(())
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade() {
            inner.stop.store(true, Ordering::Relaxed);
        }
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic while merging left the store as it was.
            let _ = thread.join();
        }
    }
}

fn run(inner: &Weak<Inner>, calls: &Receiver<()>) {
    thread_pool::mark_background_thread();
    if let Some(inner) = inner.upgrade() {
        rebuild_damaged(&inner);
        verify_large(&inner, &inner.stop);
    }
    // A process that ends at once starts no work that it would interrupt.
    if let Some(inner) = inner.upgrade().filter(has_lost_data) {
        wait(PAUSE_MIN, &inner.stop);
    }
    let mut pause = PAUSE_MIN;
    loop {
        let Some(inner) = inner.upgrade() else { return };
        discard_lost_pages(&inner);
        if is_rebuilding(&inner) {
            rebuild_damaged(&inner);
        }
        let mut merged = if inner.store.is_read_only() {
            Ok(false)
        } else {
            recover_and_record_error(&inner).map(|()| true)
        };
        while !inner.stop.load(Ordering::Relaxed) && matches!(merged, Ok(true)) {
            merged = merge_and_record_error(&inner);
        }
        // Retrying at once would fail again: a full disk does not become free by it.
        let is_left = has_lost_data(&inner) || is_rebuilding(&inner);
        if merged.is_err() {
            wait(pause, &inner.stop);
        }
        let until = Instant::now() + pause;
        pause = if merged.is_err() || is_left {
            (pause * 2).min(PAUSE_MAX)
        } else {
            PAUSE_MIN
        };
        let is_writable = !inner.store.is_read_only();
        drop(inner);
        let called = if is_left && is_writable {
            // Retry, even if nobody writes.
            calls.recv_deadline(until)
        } else {
            calls.recv().map_err(RecvTimeoutError::from)
        };
        if matches!(called, Err(RecvTimeoutError::Disconnected)) {
            return;
        }
    }
}

fn wait(pause: Duration, stop: &AtomicBool) {
    let until = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::sleep(PAUSE_MIN / 50);
    }
}

/// Rebuilds what was damaged when the store was opened.
fn rebuild_damaged(inner: &Inner) {
    let _turn = inner.rebuild_lock.lock();
    let mut go_on = |_, _| {
        if inner.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let rebuilt = catch("building segments again", || {
        Ok(inner.store.rebuild(&mut go_on)?)
    });
    *inner.rebuild_error.lock() = rebuilt.err();
}

/// What `work` returns; its error or panic as a text.
fn catch<T>(what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{what} panicked")),
    }
}

/// Verifies the parts that were too large to be verified when they were opened; a segment with one
/// that changed is rebuilt from rows.
fn verify_large(inner: &Inner, stop: &AtomicBool) {
    let view = inner.store.latest_snapshot();
    for segment in view.snapshot().segments() {
        let mut unverified = parts(segment).filter(|part| !part.is_verified());
        let damaged = unverified.find_map(|part| part.verify().err());
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(why) = damaged {
            let rebuilt = rebuild_segment(inner, segment.id);
            let outcome = rebuilt.map_or_else(|error| error.to_string(), |()| "rebuilt".into());
            let message = format!("segment {}: {why}; {outcome}", segment.id.0);
            *inner.rebuild_error.lock() = Some(message);
        }
    }
    drop(view);
    if let Err(error) = discard_damaged(inner, false) {
        *inner.rebuild_error.lock() = Some(error.to_string());
    }
}

/// Removes parts that lost pages while they were read, and rebuilds their segments.
fn discard_lost_pages(inner: &Inner) {
    while !inner.stop.load(Ordering::Relaxed) {
        let discarded = {
            // A concurrent rebuild must not conclude that all segments are there.
            let _turn = inner.rebuild_lock.lock();
            inner.store.drop_parts_with_lost_pages()
        };
        match discarded {
            Ok(0) => return,
            // Others may lose theirs meanwhile.
            Ok(_) => rebuild_damaged(inner),
            Err(error) => {
                *inner.rebuild_error.lock() = Some(error.to_string());
                return;
            }
        }
    }
}

fn is_rebuilding(inner: &Inner) -> bool {
    inner.store.latest_snapshot().snapshot().is_rebuilding()
}

fn has_lost_data(inner: &Arc<Inner>) -> bool {
    !inner
        .store
        .latest_snapshot()
        .snapshot()
        .lost_indexes()
        .is_empty()
}

/// Rebuilds what is derived from the whole store and damaged, unless another thread does.
fn recover_and_record_error(inner: &Arc<Inner>) -> Result<(), ()> {
    if !has_lost_data(inner) {
        return Ok(());
    }
    let Some(_turn) = inner.switch_lock.try_lock() else {
        return Ok(());
    };
    let recovered = catch("building anew what was damaged", || {
        match recover(inner, &StopOnClose(&inner.stop)) {
            Err(Error::Interrupted) => Ok(()),
            recovered => recovered,
        }
    });
    let result = recovered.as_ref().map(|()| ()).map_err(|_| ());
    *inner.rebuild_error.lock() = recovered.err();
    result
}

/// Merges or sweeps once. An error is stored for the statistics of the store; searches go on as they are.
fn merge_and_record_error(inner: &Inner) -> Result<bool, ()> {
    let merged = catch("merging segments", || merge_or_sweep(inner));
    *inner.merge_error.lock() = merged.as_ref().err().cloned();
    merged.map_err(drop)
}

fn merge_or_sweep(inner: &Inner) -> Result<bool, Error> {
    Ok(merge_once(inner)? || sweep_once(inner)?)
}
