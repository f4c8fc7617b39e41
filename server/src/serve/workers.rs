//! The threads that carry calls out: a fixed number for questions, others for what waits on disks and models.
//!
//! Nothing queues without bound: a call that finds no room is refused at once, and its caller is told to come again.
//!
//! Start reading at [`Workers::room`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Sender, unbounded};
use loci_protocol::call::Call;
use loci_protocol::fault::{Code, Fault};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Milliseconds after which a call that found no room may come again.
const AGAIN_MS: u32 = 100;

/// What a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A processor for a moment: questions, looks.
    Quick,
    /// A wait for the store's writer and for the disk.
    Write,
    /// A processor for long, or memory, or a model: files, analyses, copies, answers in words.
    Long,
}

impl Class {
    /// That of a call.
    pub(crate) fn of(call: &Call) -> Class {
        match call {
            Call::Search(call) if call.record => Class::Write,
            Call::Ask(_)
            | Call::AskPrompt(_)
            | Call::GetOriginal(_)
            | Call::GetAsset(_)
            | Call::GetText(_)
            | Call::ExportGraph(_)
            | Call::GetUsage(_)
            | Call::Ingest(_)
            | Call::Finish(_)
            | Call::SetSetting(_)
            | Call::Analyse(_)
            | Call::Compact(_)
            | Call::Check(_)
            | Call::Repair(_)
            | Call::Backup(_)
            | Call::Export(_)
            | Call::Refit(_)
            | Call::ConsolidateTypes(_)
            | Call::ForgetTypes(_)
            | Call::ForgetRecords(_)
            | Call::Replay(_) => Class::Long,
            Call::Write(_)
            | Call::Begin(_)
            | Call::Step(_)
            | Call::Commit(_)
            | Call::Rollback(_)
            | Call::Record(_)
            | Call::GiveFeedback(_)
            | Call::ListKeys(_)
            | Call::AddKey(_)
            | Call::RevokeKey(_) => Class::Write,
            _ => Class::Quick,
        }
    }
}

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
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            threads: 0,
            queue_max: 1_024,
            writes_max: 256,
            long_max: 32,
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads of a server. Dropped, they end once the queue is empty.
#[derive(Debug)]
pub(crate) struct Workers {
    jobs: Sender<Job>,
    quick: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    long: Arc<Semaphore>,
    runtime: tokio::runtime::Handle,
}

/// Room for one call.
#[derive(Debug)]
pub(crate) struct Room<'w> {
    workers: &'w Workers,
    class: Class,
    permit: OwnedSemaphorePermit,
}

impl Workers {
    /// Starts the threads. `runtime`: where calls wait that wait for something else.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub(crate) fn start(
        options: WorkerOptions,
        runtime: tokio::runtime::Handle,
    ) -> std::io::Result<Workers> {
        let (jobs, queue) = unbounded::<Job>();
        let threads = match options.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        for number in 0..threads {
            let queue = queue.clone();
            let name = format!("answer-{number}");
            thread::Builder::new().name(name).spawn(move || {
                for job in queue {
                    // Who waits for the job is told by what it drops.
                    let _ = catch_unwind(AssertUnwindSafe(job));
                }
            })?;
        }
        Ok(Workers {
            jobs,
            quick: Arc::new(Semaphore::new(options.queue_max + threads)),
            writes: Arc::new(Semaphore::new(options.writes_max)),
            long: Arc::new(Semaphore::new(options.long_max)),
            runtime,
        })
    }

    /// Room for a call of this class.
    ///
    /// # Errors
    /// [`Code::Overloaded`] when there is none.
    pub(crate) fn room(&self, class: Class) -> Result<Room<'_>, Fault> {
        let room = match class {
            Class::Quick => &self.quick,
            Class::Write => &self.writes,
            Class::Long => &self.long,
        };
        let permit = Arc::clone(room).try_acquire_owned();
        let overloaded = |_| {
            Fault::new(
                Code::Overloaded,
                "the server has too much to do: come again",
            )
            .after(AGAIN_MS)
        };
        Ok(Room {
            workers: self,
            class,
            permit: permit.map_err(overloaded)?,
        })
    }

    /// Questions that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.jobs.len()
    }
}

impl Room<'_> {
    /// Has `job` done. A job that panics is dropped.
    pub(crate) fn run(self, job: impl FnOnce() + Send + 'static) {
        let permit = self.permit;
        let job = move || {
            job();
            drop(permit);
        };
        match self.class {
            Class::Quick => {
                // The threads end after this handle to them.
                let _ = self.workers.jobs.send(Box::new(job));
            }
            Class::Write | Class::Long => {
                self.workers.runtime.spawn_blocking(job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_call_without_room_is_refused_and_a_panic_takes_no_thread() {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).build().unwrap();
        let options = WorkerOptions {
            threads: 1,
            queue_max: 1,
            writes_max: 1,
            long_max: 1,
        };
        let workers = Workers::start(options, runtime.handle().clone()).unwrap();
        for class in [Class::Quick, Class::Write, Class::Long] {
            let (end, ended) = mpsc::channel::<()>();
            workers.room(class).unwrap().run(move || {
                let _ = ended.recv();
            });
            if class == Class::Quick {
                // One is at work, and one may wait.
                let panics = || panic!("a job that panics");
                workers.room(class).unwrap().run(panics);
            }
            let refused = workers.room(class).unwrap_err();
            assert_eq!(refused.code, Code::Overloaded);
            end.send(()).unwrap();
            let room = loop {
                match workers.room(class) {
                    Ok(room) => break room,
                    Err(_) => thread::yield_now(),
                }
            };
            let (done, is_done) = mpsc::channel();
            room.run(move || done.send(()).unwrap());
            is_done.recv().unwrap();
        }
    }
}
