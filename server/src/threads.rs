//! Whether as many threads can be started as something needs.
//!
//! Some libraries neither fail nor go on where they cannot start their threads, so it is tried before they are asked.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What to do where threads cannot be started.
pub const ADVICE: &str =
    "no thread can be started; allow more memory (ulimit -v) or processes (ulimit -u)";

/// Fails where `count` threads with such stacks cannot be there at once: some libraries neither fail nor go on then.
///
/// # Errors
/// With advice.
pub fn check(count: usize, stack_len: usize) -> io::Result<()> {
    if startable(count, stack_len) < count {
        return Err(io::Error::other(ADVICE));
    }
    Ok(())
}

/// How many of `count` threads with such stacks can be there at once.
pub fn startable(count: usize, stack_len: usize) -> usize {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let wait = || {
            while !over.load(Ordering::Acquire) {
                thread::park();
            }
        };
        let spawn = |_| {
            let thread = thread::Builder::new().stack_size(stack_len);
            thread.spawn_scoped(scope, wait)
        };
        let threads: Vec<_> = (0..count).map_while(|n| spawn(n).ok()).collect();
        over.store(true, Ordering::Release);
        threads.iter().for_each(|thread| thread.thread().unpark());
        threads.len()
    })
}
