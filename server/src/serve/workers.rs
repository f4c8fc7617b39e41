//! The threads that carry calls out: a fixed number for questions, others for what waits on disks, models and readers.
//! None of them serves connections.
//!
//! Nothing queues without bound: a call that finds no room on the server, or among those of its store, is refused at once,
//! and its caller is told to come again.
//!
//! Start reading at [`Workers::room`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Sender, unbounded};
use loci_protocol::call::CallClass;
use loci_protocol::fault::{Code, Fault};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::{FileMemory, StoreSemaphores};
use crate::threads;

/// Milliseconds after which a call that found no room may come again.
const RETRY_AFTER_MS: u32 = 100;
/// Threads for what the server itself waits for, beside those of calls.
const SERVER_THREADS_MAX: usize = 64;

/// Threads that can be started beside those of the runtime, or it is not begun.
const THREADS_SPARE: usize = 4;

/// How much is done at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerOptions {
    /// Threads for questions; 0: as many as there are cores.
    pub(crate) threads: usize,
    /// Questions that wait for one at most.
    pub(crate) queue_max: usize,
    /// Writes under way at most.
    pub(crate) writes_max: usize,
    /// Long calls under way at most.
    pub(crate) long_max: usize,
    /// Files under way at most.
    pub(crate) streams_max: usize,
}

impl WorkerOptions {
    /// Questions that are answered, or wait for it, at most.
    pub(crate) fn quick_max(&self) -> usize {
        self.queue_max + self.thread_count()
    }

    /// A runtime for connections, with as many threads beside as calls may wait in.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub(crate) fn runtime(&self) -> std::io::Result<tokio::runtime::Runtime> {
        let waits = self.writes_max + self.long_max + self.streams_max;
        // Where it cannot start one of its threads, it waits for ever for the others.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        threads::check(cores + THREADS_SPARE, STACK_LEN)?;
        let mut runtime = Builder::new_multi_thread();
        runtime
            .worker_threads(cores)
            .max_blocking_threads(waits + SERVER_THREADS_MAX)
            .thread_stack_size(STACK_LEN)
            .enable_all();
        // Of a thread that cannot be started it makes a panic.
        let built = catch_unwind(AssertUnwindSafe(|| runtime.build()));
        built.unwrap_or_else(|_| Err(std::io::Error::other("the runtime's threads do not start")))
    }

    fn thread_count(&self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            threads: 0,
            queue_max: 1_024,
            writes_max: 256,
            long_max: 32,
            streams_max: 64,
        }
    }
}

/// Bytes of a thread's stack, whatever the process is limited to.
const STACK_LEN: usize = 4 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of a server. Dropped, they end once the queue is empty.
#[derive(Debug)]
pub(crate) struct Workers {
    jobs: Sender<Job>,
    quick: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    long: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// Memory for files that are being taken.
    pub(crate) files: FileMemory,
    runtime: Handle,
}

/// Room for one call.
#[derive(Debug)]
pub(crate) struct WorkerPermit<'w> {
    workers: &'w Workers,
    class: CallClass,
    /// Its places: among the store's calls, and among the server's.
    permits: [OwnedSemaphorePermit; 2],
}

impl Workers {
    /// Starts the threads. `runtime`: one of [`WorkerOptions::runtime`], where calls wait that wait for something else.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub(crate) fn start(options: WorkerOptions, runtime: Handle) -> std::io::Result<Workers> {
        let (jobs, queue) = unbounded::<Job>();
        for number in 0..options.thread_count() {
            let queue = queue.clone();
            let name = format!("answer-{number}");
            let thread = thread::Builder::new().name(name).stack_size(STACK_LEN);
            thread.spawn(move || {
                for job in queue {
                    // Who waits for the job is told by what it drops.
                    let _ = catch_unwind(AssertUnwindSafe(job));
                }
            })?;
        }
        let semaphore = |count: usize| Arc::new(Semaphore::new(count));
        Ok(Workers {
            jobs,
            quick: semaphore(options.quick_max()),
            writes: semaphore(options.writes_max),
            long: semaphore(options.long_max),
            streams: semaphore(options.streams_max),
            files: FileMemory::default(),
            runtime,
        })
    }

    /// Room for a call of this class, of a store whose places are `store`.
    ///
    /// # Errors
    /// [`Code::Overloaded`] when there is none.
    pub(crate) fn acquire(
        &self,
        class: CallClass,
        store: &StoreSemaphores,
    ) -> Result<WorkerPermit<'_>, Fault> {
        let (of_store, of_all) = match class {
            CallClass::Quick => (&store.quick, &self.quick),
            CallClass::Write | CallClass::Transaction => (&store.writes, &self.writes),
            CallClass::Long => (&store.long, &self.long),
            CallClass::Stream => (&store.streams, &self.streams),
        };
        Ok(WorkerPermit {
            workers: self,
            class,
            permits: [
                try_acquire(of_store, "the store has too much to do")?,
                try_acquire(of_all, "the server has too much to do")?,
            ],
        })
    }

    /// Questions that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.jobs.len()
    }
}

/// A place among these.
///
/// # Errors
/// [`Code::Overloaded`] when there is none; `why`.
pub(crate) fn try_acquire(
    semaphore: &Arc<Semaphore>,
    why: &str,
) -> Result<OwnedSemaphorePermit, Fault> {
    let permit = Arc::clone(semaphore).try_acquire_owned();
    let overloaded = |_| Fault::new(Code::Overloaded, format!("{why}: come again"));
    permit.map_err(|full| overloaded(full).with_retry_after(RETRY_AFTER_MS))
}

impl WorkerPermit<'_> {
    /// Has `job` done. A job that panics is dropped.
    pub(crate) fn run(self, job: impl FnOnce() + Send + 'static) {
        let (permits, workers) = (self.permits, self.workers);
        let job = move || {
            job();
            drop(permits);
        };
        match self.class {
            CallClass::Quick => {
                // The threads end after this handle to them.
                let _ = workers.jobs.send(Box::new(job));
            }
            CallClass::Write | CallClass::Long | CallClass::Stream | CallClass::Transaction => {
                workers.runtime.spawn_blocking(job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::service::ConcurrencyLimits;

    #[test]
    fn calls_over_the_limit_are_refused_and_a_panicking_job_does_not_kill_a_worker() {
        let options = WorkerOptions {
            threads: 1,
            queue_max: 1,
            writes_max: 1,
            long_max: 1,
            streams_max: 1,
        };
        let runtime = options.runtime().unwrap();
        let workers = Workers::start(options, runtime.handle().clone()).unwrap();
        let store = StoreSemaphores::new(ConcurrencyLimits::default());
        for class in [
            CallClass::Quick,
            CallClass::Write,
            CallClass::Long,
            CallClass::Stream,
        ] {
            let (end, ended) = mpsc::channel::<()>();
            workers.acquire(class, &store).unwrap().run(move || {
                let _ = ended.recv();
            });
            if class == CallClass::Quick {
                // One is at work, and one may wait.
                let panics = || panic!("a job that panics");
                workers.acquire(class, &store).unwrap().run(panics);
            }
            let refused = workers.acquire(class, &store).unwrap_err();
            assert_eq!(refused.code, Code::Overloaded);
            end.send(()).unwrap();
            let permit = loop {
                match workers.acquire(class, &store) {
                    Ok(permit) => break permit,
                    Err(_) => thread::yield_now(),
                }
            };
            let (done, is_done) = mpsc::channel();
            permit.run(move || done.send(()).unwrap());
            is_done.recv().unwrap();
        }
    }

    #[test]
    fn store_at_its_limit_does_not_block_other_stores() {
        let options = WorkerOptions::default();
        let runtime = options.runtime().unwrap();
        let workers = Workers::start(options, runtime.handle().clone()).unwrap();
        let one_each = ConcurrencyLimits {
            quick: 1,
            writes: 1,
            long: 1,
            streams: 1,
            transactions: 1,
        };
        let (one, other) = (
            StoreSemaphores::new(one_each),
            StoreSemaphores::new(one_each),
        );
        for class in [
            CallClass::Quick,
            CallClass::Write,
            CallClass::Long,
            CallClass::Stream,
        ] {
            let permit = workers.acquire(class, &one).unwrap();
            let refused = workers.acquire(class, &one).unwrap_err();
            assert_eq!(refused.code, Code::Overloaded);
            assert!(refused.message.contains("the store"), "{}", refused.message);
            assert!(workers.acquire(class, &other).is_ok());
            drop(permit);
            assert!(workers.acquire(class, &one).is_ok());
        }
    }
}
