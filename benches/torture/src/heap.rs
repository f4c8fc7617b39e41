//! The binary's allocator, which counts allocated bytes.
//!
//! Memory of a process grows for two reasons: more is asked for, or what was freed is not used again. This count is the
//! first alone; resident memory beside it shows the second.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use mimalloc::MiMalloc;

/// Counters, so that threads seldom share one.
const SHARDS: usize = 32;

/// A counter with a cache line of its own.
#[repr(align(64))]
struct Shard(AtomicI64);

static LIVE: [Shard; SHARDS] = [const { Shard(AtomicI64::new(0)) }; SHARDS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The allocator of `loci`, counted.
#[derive(Debug)]
pub struct CountedHeap;

/// Bytes allocated now; 0 if the program has another allocator.
pub fn live_bytes() -> u64 {
    let live: i64 = LIVE.iter().map(|of| of.0.load(Ordering::Relaxed)).sum();
    live.max(0) as u64
}

fn count(bytes: i64) {
    // A thread that is ending has no place any more, and takes the first.
    let shard = MINE.try_with(|mine| {
        if mine.get() == usize::MAX {
            mine.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        mine.get()
    });
    LIVE[shard.unwrap_or(0)]
        .0
        .fetch_add(bytes, Ordering::Relaxed);
}

// SAFETY: every call is handed on to `MiMalloc` as it came, whose contract is the same, and what it gives is handed back
// unchanged. Counting allocates nothing: the counters are static, and `MINE` is initialised by a constant and has no
// destructor, so that it needs no registration.
#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
unsafe impl GlobalAlloc for CountedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises of `layout`.
        let given = unsafe { MiMalloc.alloc(layout) };
        if !given.is_null() {
            count(layout.size() as i64);
        }
        given
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises of `layout`.
        let given = unsafe { MiMalloc.alloc_zeroed(layout) };
        if !given.is_null() {
            count(layout.size() as i64);
        }
        given
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises of `given` and `layout`; `MiMalloc` gave it.
        unsafe { MiMalloc.dealloc(given, layout) };
        count(-(layout.size() as i64));
    }

    unsafe fn realloc(&self, given: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises of all three; `MiMalloc` gave it.
        let moved = unsafe { MiMalloc.realloc(given, layout, size) };
        if !moved.is_null() {
            count(size as i64 - layout.size() as i64);
        }
        moved
    }
}
