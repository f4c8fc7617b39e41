//! Publishing, pinning and reclaiming under every interleaving of three threads, by loom.
//!
//! Reading and replacing the newest view is one step each, as arc-swap promises.

#[path = "../src/publish/published.rs"]
mod publish;
#[path = "interleavings/scenario.rs"]
mod scenario;

mod sync {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};

    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }

    pub(crate) struct Newest<T>(Mutex<Arc<T>>);

    impl<T> Newest<T> {
        pub(crate) fn new(value: Arc<T>) -> Newest<T> {
            Newest(Mutex::new(value))
        }

        pub(crate) fn load_full(&self) -> Arc<T> {
            Arc::clone(&self.0.lock())
        }

        pub(crate) fn store(&self, value: Arc<T>) {
            let before = std::mem::replace(&mut *self.0.lock(), value);
            drop(before);
        }
    }
}

mod thread {
    pub(crate) use loom::thread::spawn;
}

#[test]
fn durable_commits_reclaim_omitted_files_under_every_interleaving() {
    loom::model(|| scenario::run([true, true]));
}

#[test]
fn eventual_commits_reclaim_no_files_until_the_next_durable_commit_under_every_interleaving() {
    loom::model(|| scenario::run([false, true]));
}

#[test]
fn files_listed_by_a_durable_manifest_are_retained_under_every_interleaving() {
    loom::model(|| scenario::run([true, false]));
}
