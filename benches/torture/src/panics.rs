//! Notices panics in any thread: the store's threads catch their own, so nothing else would show them.

use std::panic;
use std::sync::Once;

use anyhow::{Result, ensure};
use parking_lot::Mutex;

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
static WATCHING: Once = Once::new();

/// Notes every panic of this process from now on.
pub fn watch() {
    WATCHING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            SEEN.lock().push(info.to_string());
            before(info);
        }));
    });
}

/// Nothing panicked since the last call.
///
/// # Errors
/// What did.
pub fn expect_none() -> Result<()> {
    let seen = std::mem::take(&mut *SEEN.lock());
    ensure!(seen.is_empty(), "a thread panicked: {}", seen.join("; "));
    Ok(())
}
