//! Publishing, pinning and reclaiming under 10,000 random schedules each, by shuttle.
//!
//! Reading and replacing the newest view is one step each, as arc-swap promises.

#[path = "../src/publish/published.rs"]
mod publish;
#[path = "interleavings/scenario.rs"]
mod scenario;

mod sync {
    pub(crate) use shuttle::sync::Arc;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, Ordering};

    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
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
    pub(crate) use shuttle::thread::spawn;
}

#[test]
fn durable_commits_reclaim_omitted_files_under_random_schedules() {
    shuttle::check_random(|| scenario::run([true, true]), 10_000);
}

#[test]
fn eventual_commits_reclaim_no_files_until_the_next_durable_commit_under_random_schedules() {
    shuttle::check_random(|| scenario::run([false, true]), 10_000);
}

#[test]
fn files_listed_by_a_durable_manifest_are_retained_under_random_schedules() {
    shuttle::check_random(|| scenario::run([true, false]), 10_000);
}
