//! Where work on all cores runs: in threads of this crate's own, which do nothing else.
//!
//! A caller may be a thread of rayon's global pool, waiting for the committing thread. Work of that
//! thread must then not need the global pool, or neither would ever go on. And a thread that waits here does
//! nothing else meanwhile: a thread of a pool that waited inside of it could take up a task that asks
//! for a lock which it holds itself.

use std::cell::Cell;
use std::sync::OnceLock;

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Bytes of a thread's stack, whatever the process is limited to.
const STACK_LEN: usize = 4 << 20;

thread_local! {
    static BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// From now on this thread builds on one core, and leaves the others to searches and writes.
pub(crate) fn mark_background_thread() {
    BACKGROUND.set(true);
}

/// Runs `work` on all cores, or on one for a thread in the background.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static ALL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    static ONE: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let pool = if BACKGROUND.get() {
        ONE.get_or_init(|| pool(1))
    } else {
        ALL.get_or_init(|| pool(0))
    };
    let Some(pool) = pool else {
        // No thread can be started: use the caller's pool.
        return work();
    };
    // The thread that runs first performs it.
    let work = Mutex::new(Some(work));
    let take = || work.lock().take().map(|work| work());
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("loci-wait".into());
        match thread
            .spawn_scoped(scope, || pool.install(take))
            .map(|waiting| waiting.join())
        {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => take(),
        }
    });
    done.expect("nobody has taken it before")
}

fn pool(threads: usize) -> Option<ThreadPool> {
    let build = |threads: usize| {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let builder = builder.thread_name(|n| format!("loci-build-{n}"));
        builder.stack_size(STACK_LEN).build().ok()
    };
    // One thread is slower than many, and better than none.
    build(threads).or_else(|| build(1))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn run_completes_while_global_pool_is_blocked() {
        let turn = Mutex::new(0);
        let wait = |n: u64| {
            let mut turn = turn.lock().unwrap();
            *turn += run(|| (0..1000).into_par_iter().map(|x| x % (n + 1)).sum::<u64>());
        };
        let global = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        global.install(|| (0..16).into_par_iter().for_each(wait));
        let want: u64 = (0..16)
            .map(|n| (0..1000).map(|x| x % (n + 1)).sum::<u64>())
            .sum();
        assert_eq!(*turn.lock().unwrap(), want);
    }

    #[test]
    fn background_thread_uses_one_core() {
        let threads = || run(rayon::current_num_threads);
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(threads(), cores);
        std::thread::spawn(move || {
            mark_background_thread();
            assert_eq!(threads(), 1);
        })
        .join()
        .unwrap();
    }
}
