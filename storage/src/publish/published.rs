//! Publishing views, pinning them, and reclaiming the files that none of them needs.
//!
//! The committing thread alone publishes and retires; any thread pins and lets go. Always true:
//! - a view that is held has all its files;
//! - a file goes once: after a durable manifest omits it, and with the last view that has it open;
//! - [`Pins`] counts each view that is alive, once.
//!
//! This file knows the rest of the crate only by `sync`, so that loom and shuttle run it as
//! it is (`storage/tests/{loom,shuttle}.rs`).

use std::collections::BTreeMap;
use std::fmt;

use super::sync::{Arc, AtomicBool, Mutex, Newest, Ordering};

/// The newest view. Reading it costs one atomic read; each reader keeps what it read.
pub(crate) struct Published<V> {
    newest: Newest<V>,
}

impl<V> Published<V> {
    pub(crate) fn new(view: V) -> Published<V> {
        Published {
            newest: Newest::new(Arc::new(view)),
        }
    }

    /// The newest view. Holding it pins its files.
    pub(crate) fn pin(&self) -> Arc<V> {
        self.newest.load_full()
    }

    /// Puts `view` in the place of the newest one, which lives on with those who hold it.
    pub(crate) fn publish(&self, view: V) {
        self.newest.store(Arc::new(view));
    }
}

/// Which views are alive, and since when others have taken their place. `T` is a moment.
pub(crate) struct Pins<T> {
    alive: Mutex<LiveSnapshots<T>>,
}

struct LiveSnapshots<T> {
    next: u64,
    /// When the view was superseded; `None` for one that was not.
    views: BTreeMap<u64, Option<T>>,
}

/// Counts a view for as long as it lives.
pub(crate) struct Pin<T: Copy + Ord> {
    pins: Arc<Pins<T>>,
    number: u64,
}

/// Views that are held although newer ones were published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superseded<T> {
    /// How many.
    pub(crate) count: usize,
    /// When the oldest of them was superseded.
    pub(crate) oldest: Option<T>,
}

impl<T: Copy + Ord> Pins<T> {
    pub(crate) fn new() -> Arc<Pins<T>> {
        let (next, views) = (0, BTreeMap::new());
        Arc::new(Pins {
            alive: Mutex::new(LiveSnapshots { next, views }),
        })
    }

    /// Counts a new view. It supersedes, from `now` on, all that were counted before.
    pub(crate) fn pin(pins: &Arc<Self>, now: T) -> Pin<T> {
        let mut alive = pins.alive.lock();
        let number = alive.next;
        alive.next += 1;
        for superseded in alive.views.values_mut() {
            superseded.get_or_insert(now);
        }
        alive.views.insert(number, None);
        Pin {
            pins: Arc::clone(pins),
            number,
        }
    }

    /// Views that are held although newer ones were published.
    pub(crate) fn superseded(&self) -> Superseded<T> {
        let alive = self.alive.lock();
        let superseded = alive.views.values().flatten();
        Superseded {
            count: superseded.clone().count(),
            oldest: superseded.min().copied(),
        }
    }
}

impl<T: Copy + Ord> Drop for Pin<T> {
    fn drop(&mut self) {
        self.pins.alive.lock().views.remove(&self.number);
    }
}

impl<T: Copy + Ord> fmt::Debug for Pin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({})", self.number)
    }
}

/// Something on disk that is deleted with its last reader once it was retired. `R` deletes it.
pub(crate) struct Reclaim<R: Fn()> {
    retired: AtomicBool,
    remove: R,
}

impl<R: Fn()> Reclaim<R> {
    pub(crate) fn new(remove: R) -> Reclaim<R> {
        Reclaim {
            retired: AtomicBool::new(false),
            remove,
        }
    }

    /// Says that no durable manifest lists it any more.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

impl<R: Fn()> Drop for Reclaim<R> {
    fn drop(&mut self) {
        if self.retired.load(Ordering::Acquire) {
            (self.remove)();
        }
    }
}

/// What the newest manifest no longer lists while one on disk still may.
pub(crate) struct Unlisted<P> {
    waiting: Vec<P>,
}

impl<P> Unlisted<P> {
    pub(crate) fn new() -> Unlisted<P> {
        Unlisted {
            waiting: Vec::new(),
        }
    }

    /// Takes parts that a published manifest omits; when it is durable, they and those that waited
    /// are retired.
    pub(crate) fn add(
        &mut self,
        parts: impl IntoIterator<Item = P>,
        durable: bool,
        retire: impl Fn(&P),
    ) {
        self.waiting.extend(parts);
        if durable {
            self.waiting.drain(..).for_each(|part| retire(&part));
        }
    }
}
