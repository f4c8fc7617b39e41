//! Transactions that a client steps through, one change at a time.
//!
//! The store's writer is held while one is open, so it ends by itself: when its owner goes away, when no step comes for
//! [`STEP_WAIT`], and [`LIFETIME`] after it began. Then nothing of it is stored.
//!
//! Start reading at [`Transaction`].

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use loci_protocol::call::{Change, Outcome};
use loci_protocol::fault::{Code, Fault};
use locidb::{Error, WriteTransaction};
use tokio::sync::OwnedSemaphorePermit;

use super::writing::{Failed, Writer, apply, carried, uncarried};
use super::{Caller, faults};

/// How long the next step may take to come.
const STEP_WAIT: Duration = Duration::from_secs(5);
/// How long a transaction may be open.
const LIFETIME: Duration = Duration::from_secs(60);

/// Who is told what a step gave. Told nothing else, it is told that the transaction is over.
pub(crate) struct Reply<T>(Option<Box<dyn FnOnce(Result<T, Fault>) + Send>>);

impl<T> Reply<T> {
    /// Calls `tell` once.
    pub(crate) fn new(tell: impl FnOnce(Result<T, Fault>) + Send + 'static) -> Reply<T> {
        Reply(Some(Box::new(tell)))
    }

    fn tell(mut self, result: Result<T, Fault>) {
        if let Some(tell) = self.0.take() {
            tell(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(over()));
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// A transaction that is open, or about to be. Dropped, it is rolled back.
#[derive(Debug)]
pub(crate) struct Transaction {
    steps: Sender<Step>,
    /// Held by its thread.
    at_work: Weak<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Step {
    Change(Box<Change>, Reply<Outcome>),
    Commit(Reply<()>),
}

impl Transaction {
    /// Opens one on a thread of its own, which waits until the store's writer is free; `opened` is told when it is.
    /// Steps may be handed over before. `room`: given back when it is over.
    pub(crate) fn begin(
        caller: &Caller,
        room: OwnedSemaphorePermit,
        opened: Reply<()>,
    ) -> Transaction {
        let (steps, received) = channel();
        let caller = caller.clone();
        let room = Arc::new(room);
        let at_work = Arc::downgrade(&room);
        let worker = thread::Builder::new().name("transaction".into());
        let work = move || {
            work(&caller, opened, received);
            drop(room);
        };
        if let Err(error) = worker.spawn(work) {
            // The reply went with the work, and said that the transaction is over.
            faults::internal(&error);
        }
        Transaction { steps, at_work }
    }

    /// Whether nothing can be done in it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.at_work.strong_count() == 0
    }

    /// Makes a change; it sees those before it. After a failure the transaction is over.
    pub(crate) fn step(&self, change: Change, reply: Reply<Outcome>) {
        // Where nobody takes it, the reply says that the transaction is over.
        let _ = self.steps.send(Step::Change(Box::new(change), reply));
    }

    /// Makes all changes durable.
    pub(crate) fn commit(self, reply: Reply<()>) {
        let _ = self.steps.send(Step::Commit(reply));
    }
}

fn over() -> Fault {
    Fault::new(
        Code::Conflict,
        "the transaction is over, and nothing of it is stored: it failed, or took too long",
    )
}

fn work(caller: &Caller, opened: Reply<()>, steps: Receiver<Step>) {
    let database = match caller.store.database() {
        Ok(database) => database,
        Err(fault) => return opened.tell(Err(fault)),
    };
    let writer = Writer::of(caller);
    let (committing, committed) = sync_channel(1);
    let written = database.write(move |tx| {
        opened.tell(Ok(()));
        let _ = committing.send(run(&writer, tx, &steps)?);
        Ok(())
    });
    let reply: Option<Reply<()>> = committed.try_recv().ok();
    if let Some(reply) = reply {
        reply.tell(written.map_err(uncarried));
    }
}

/// Makes changes until the commit comes; whom to tell of it.
fn run(
    writer: &Writer,
    tx: &mut WriteTransaction<'_, '_>,
    steps: &Receiver<Step>,
) -> Result<Reply<()>, Error> {
    let until = Instant::now() + LIFETIME;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match steps.recv_timeout(left.min(STEP_WAIT)) {
            Ok(Step::Change(change, reply)) => {
                let made = apply(writer, tx, *change);
                let failed = made.is_err();
                reply.tell(made.map_err(Failed::into));
                if failed {
                    return Err(carried(over()));
                }
            }
            Ok(Step::Commit(reply)) => return Ok(reply),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(carried(over()));
            }
        }
    }
}
