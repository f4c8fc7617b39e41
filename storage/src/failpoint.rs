//! Named moments at which a test may stop the process for good.
//!
//! With the feature `failpoints`, `LOCI_FAILPOINT=NAME` or `NAME:N` in the environment makes the
//! thread that reaches the moment (for the N-th time, from 1) say so on standard error and wait for
//! ever, so that whoever started the process can kill it there. Without the feature this is nothing.

/// Every moment, in the order in which a store reaches them.
pub const NAMES: &[&str] = &[
    "opened-database",
    "cleared-orphans",
    "staged",
    "part-written",
    "part-renamed",
    "segment-built",
    "before-commit",
    "committed",
    "published",
    "merge-built",
    "space-prepared",
    "space-built",
    "rewrite-copied",
    "rewrite-caught-up",
    "rewrite-renamed",
];

/// Every moment of a copy, in the order in which the command reaches them.
pub const COPY_NAMES: &[&str] = &[
    "backup-parts-copied",
    "backup-rows-copied",
    "backup-linked",
    "backup-set-aside",
    "backup-renamed",
    "restore-marked",
    "restore-rows-copied",
    "restore-parts-copied",
    "restore-renamed",
    "import-marked",
    "import-built",
    "import-moved",
    "import-renamed",
    "upgrade-prepared",
    "upgrade-committed",
];

/// Reaches a moment.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn reach(_: &'static str) {}

/// Reaches a moment.
#[cfg(feature = "failpoints")]
pub fn reach(name: &'static str) {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, OnceLock};

    static REQUESTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static COUNT: LazyLock<AtomicU64> = LazyLock::new(AtomicU64::default);
    let requested = REQUESTED.get_or_init(|| {
        let setting = std::env::var("LOCI_FAILPOINT").ok()?;
        let (name, times) = setting.split_once(':').unwrap_or((&setting, "1"));
        Some((name.to_string(), times.parse().unwrap_or(1)))
    });
    let Some((requested_name, times)) = requested else {
        return;
    };
    if requested_name == name && COUNT.fetch_add(1, Ordering::SeqCst) + 1 == *times {
        eprintln!("failpoint {name}");
        loop {
            std::thread::park();
        }
    }
}
