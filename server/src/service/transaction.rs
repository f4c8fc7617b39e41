//! Transactions that a client steps through, one change at a time.
//!
//! The store's writer is held while one is open, so it ends by itself: when its owner goes away, when no step comes for
//! [`STEP_WAIT`], and [`LIFETIME`] after it began. Then nothing of it is stored.
//!
//! Always true: a store has one at a time, and no other write is committed or dropped with it. Whoever writes meanwhile
//! waits for that one alone, as the next begins behind them. One that waits for its turn costs no thread.
//!
//! Start reading at [`Transaction::begin`].

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use loci_protocol::call::{Change, Outcome};
use loci_protocol::fault::{Code, Fault};
use locidb::{Error, WriteTransaction};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use super::writes::{ChangeError, WriteScope, apply, error_from_fault, fault_from_error};
use super::{Caller, faults};

/// How long the next step may take to come.
const STEP_WAIT: Duration = Duration::from_secs(5);
/// How long a transaction may be open.
const LIFETIME: Duration = Duration::from_secs(60);
/// How often is asked whether one that is not open yet is still wanted.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Who is told what a step gave. Told nothing else, it is told that the transaction is over.
pub(crate) struct Reply<T>(Option<Box<dyn FnOnce(Result<T, Fault>) + Send>>);

impl<T> Reply<T> {
    /// Calls `tell` once.
    pub(crate) fn new(callback: impl FnOnce(Result<T, Fault>) + Send + 'static) -> Reply<T> {
        Reply(Some(Box::new(callback)))
    }

    fn send(mut self, result: Result<T, Fault>) {
        if let Some(tell) = self.0.take() {
            tell(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(transaction_over()));
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Places among the transactions of the store and of the server.
type TransactionPermits = [OwnedSemaphorePermit; 2];

/// A transaction that is open, or about to be. Dropped, it is rolled back.
#[derive(Debug)]
pub(crate) struct Transaction {
    steps: Sender<Step>,
    /// Held until it is over.
    alive: Weak<TransactionPermits>,
}

#[derive(Debug)]
enum Step {
    Change(Box<Change>, Reply<Outcome>),
    Commit(Reply<()>),
}

/// How long an opening is wanted.
#[derive(Debug)]
pub(crate) struct CancelToken {
    /// Until then.
    pub(crate) deadline: Option<Instant>,
    /// And as long as this is not set.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl CancelToken {
    /// Why it is wanted no more.
    fn cancel_reason(&self) -> Option<Fault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(Fault::new(Code::Cancelled, "the call was cancelled"));
        }
        let is_late = self.deadline.is_some_and(|at| at <= Instant::now());
        is_late.then(|| {
            let why = "other writers of the store took too long: the transaction was not begun";
            Fault::new(Code::Deadline, why)
        })
    }

    /// Waits until a transaction is open, or wanted no more: then it is given up.
    async fn watch(&self, opening: &PendingOpen) {
        while opening.lock().is_some() {
            if let Some(fault) = self.cancel_reason() {
                let given_up = opening.lock().take();
                if let Some((opened, permits)) = given_up {
                    drop(permits);
                    opened.send(Err(fault));
                }
                return;
            }
            tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
        }
    }
}

/// Who is told that a transaction is open, and its places. Whoever takes it first decides: the writer, or who gives it up.
type PendingOpen = Arc<Mutex<Option<(Reply<()>, Arc<TransactionPermits>)>>>;

impl Transaction {
    /// Opens one on a thread of its own, once it is the store's next and the store's writer is free; `opened` is told
    /// when it is, or that it was given up. Steps may be handed over before. `places`: given back when it is over.
    pub(crate) fn begin(
        caller: &Caller,
        permits: TransactionPermits,
        opened: Reply<()>,
        cancel_token: CancelToken,
    ) -> Transaction {
        let (steps, received) = channel();
        let permits = Arc::new(permits);
        let alive = Arc::downgrade(&permits);
        let opening = Arc::new(Mutex::new(Some((opened, permits))));
        tokio::spawn(begin_in_turn(
            caller.clone(),
            opening,
            received,
            cancel_token,
        ));
        Transaction { steps, alive }
    }

    /// Whether nothing can be done in it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.alive.strong_count() == 0
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

fn transaction_over() -> Fault {
    Fault::new(
        Code::Conflict,
        "the transaction is over, and nothing of it is stored: it failed, or took too long",
    )
}

/// Has a transaction carried out when it is the store's next, as long as it is wanted.
async fn begin_in_turn(
    caller: Caller,
    opening: PendingOpen,
    steps: Receiver<Step>,
    cancel_token: CancelToken,
) {
    let turn = tokio::select! {
        turn = Arc::clone(caller.store.transaction_turn()).acquire_owned() => turn,
        () = cancel_token.watch(&opening) => return,
    };
    let opens = Arc::clone(&opening);
    let work = move || {
        work(&caller, &opens, steps);
        drop(turn);
    };
    let worker = thread::Builder::new().name("transaction".into());
    if let Err(error) = worker.spawn(work) {
        // The reply goes with the opening, and says that the transaction is over.
        faults::internal(&error);
        return;
    }
    cancel_token.watch(&opening).await;
}

fn work(caller: &Caller, opening: &PendingOpen, steps: Receiver<Step>) {
    let (writer, opens) = (WriteScope::from_caller(caller), Arc::clone(opening));
    let (committing, committed) = sync_channel(1);
    let written = caller.store.database().and_then(|database| {
        let written = database.write_alone(move |tx| {
            let Some((opened, permits)) = opens.lock().take() else {
                return Err(error_from_fault(transaction_over()));
            };
            opened.send(Ok(()));
            let _ = committing.send((run(&writer, tx, &steps)?, permits));
            Ok(())
        });
        written.map_err(fault_from_error)
    });
    let committed: Option<(Reply<()>, _)> = committed.try_recv().ok();
    if let Some((reply, permits)) = committed {
        drop(permits);
        return reply.send(written);
    }
    // Where it was not opened, the store says why.
    let unopened = opening.lock().take();
    if let (Some((opened, permits)), Err(fault)) = (unopened, written) {
        drop(permits);
        opened.send(Err(fault));
    }
}

/// Makes changes until the commit comes; whom to tell of it.
fn run(
    writer: &WriteScope,
    tx: &mut WriteTransaction<'_, '_>,
    steps: &Receiver<Step>,
) -> Result<Reply<()>, Error> {
    let until = Instant::now() + LIFETIME;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match steps.recv_timeout(left.min(STEP_WAIT)) {
            Ok(Step::Change(change, reply)) => {
                let outcome = apply(writer, tx, *change);
                let failed = outcome.is_err();
                reply.send(outcome.map_err(ChangeError::into));
                if failed {
                    return Err(error_from_fault(transaction_over()));
                }
            }
            Ok(Step::Commit(reply)) => return Ok(reply),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(error_from_fault(transaction_over()));
            }
        }
    }
}
