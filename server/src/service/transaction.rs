//! Transactions that a client steps through, one change at a time.
//!
//! The store's writer is held while a transaction is open, so it ends by itself: when its connection ends, without a step
//! for [`STEP_WAIT`], and [`LIFETIME`] after it began. Then nothing of it is stored.
//!
//! Always true: a store has one at a time, and no other write is committed or dropped with it. Other writers wait for that
//! one alone, as the next begins behind them. A transaction that waits for its turn costs no thread. Every call about one is
//! recorded as [`perform`](super::perform) records calls.
//!
//! Start reading at [`TransactionSlot::perform`].

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use loci_protocol::call::{Call, Change};
use loci_protocol::fault::{Code, Fault};
use locidb::{Error, WriteTransaction};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use super::writes::{ChangeError, WriteScope, apply, error_from_fault, fault_from_error};
use super::{CallOutput, Caller, MeasuredCall, allow, faults};

/// How long the next step may take to come.
const STEP_WAIT: Duration = Duration::from_secs(5);
/// How long a transaction may be open.
const LIFETIME: Duration = Duration::from_secs(60);
/// How often is checked whether the client still waits for one that is not open yet.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Takes the output of a call once. Dropped without one, it takes the fault that the transaction is over.
pub(crate) struct Reply(Option<Box<dyn FnOnce(Result<CallOutput, Fault>) + Send>>);

impl Reply {
    /// Calls `callback` once.
    pub(crate) fn new(callback: impl FnOnce(Result<CallOutput, Fault>) + Send + 'static) -> Reply {
        Reply(Some(Box::new(callback)))
    }

    /// A reply that also records the call.
    fn recorded(self, caller: &Caller, call: &Call) -> Reply {
        let (measured, caller) = (MeasuredCall::start(caller, call), caller.clone());
        Reply::new(move |result| {
            measured.end(&caller, None, result.as_ref().err());
            self.send(result);
        })
    }

    fn send(mut self, result: Result<CallOutput, Fault>) {
        if let Some(callback) = self.0.take() {
            callback(result);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback(Err(transaction_over()));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

/// Permits of the store and of the server for a transaction.
pub(crate) type TransactionPermits = [OwnedSemaphorePermit; 2];

/// A transaction that is open, or about to be. Dropped, it is rolled back.
#[derive(Debug)]
struct Transaction {
    steps: Sender<Step>,
    /// Held until it is over.
    alive: Weak<TransactionPermits>,
}

#[derive(Debug)]
enum Step {
    Change(Box<Change>, Reply),
    Commit(Reply),
}

/// How long a client waits for its transaction to open.
#[derive(Debug)]
pub(crate) struct CancelToken {
    /// Until when.
    pub(crate) deadline: Option<Instant>,
    /// Whether it cancelled the call.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl CancelToken {
    /// Why the client does not wait any more.
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

    /// Waits until a transaction is open, or the client does not wait any more: then it is abandoned.
    async fn watch(&self, opening: &PendingOpen) {
        while opening.lock().is_some() {
            if let Some(fault) = self.cancel_reason() {
                let abandoned = opening.lock().take();
                if let Some((opened, permits)) = abandoned {
                    drop(permits);
                    opened.send(Err(fault));
                }
                return;
            }
            tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
        }
    }
}

/// The reply to the call that opens a transaction, and its permits. Whoever takes them first decides: the writer, which
/// opens it, or [`CancelToken::watch`], which abandons it.
type PendingOpen = Arc<Mutex<Option<(Reply, Arc<TransactionPermits>)>>>;

/// The transaction of one connection, which has one at a time.
#[derive(Debug, Default)]
pub(crate) struct TransactionSlot(Option<(u64, Transaction)>);

impl TransactionSlot {
    /// Whether a transaction is open, or about to be.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|(_, open)| !open.is_over())
    }

    /// Performs a call about the transaction, and records it as [`perform`](super::perform) does. `id`: the number of the
    /// call, by which a transaction that it begins is known; `permits`: takes the permits of a transaction; `token`: how
    /// long the client waits, while no work on it began.
    pub(crate) fn perform(
        &mut self,
        caller: &Caller,
        id: u64,
        call: Call,
        permits: impl FnOnce() -> Result<TransactionPermits, Fault>,
        token: CancelToken,
        reply: Reply,
    ) {
        let reply = reply.recorded(caller, &call);
        if let Err(fault) = allow(caller, &call) {
            return reply.send(Err(fault));
        }
        let conflict = |why: &str| Err(Fault::new(Code::Conflict, why));
        let unknown = || conflict("there is no such transaction on this connection");
        match call {
            Call::Begin(_) if self.is_open() => {
                reply.send(conflict("the connection has a transaction already"));
            }
            Call::Begin(_) => match permits() {
                Ok(permits) => {
                    self.0 = Some((id, Transaction::begin(caller, permits, reply, token)));
                }
                Err(fault) => reply.send(Err(fault)),
            },
            Call::Step(step) => match &self.0 {
                Some((id, open)) if *id == step.transaction => open.step(step.change, reply),
                _ => reply.send(unknown()),
            },
            Call::Commit(commit) => match self.0.take_if(|open| open.0 == commit.transaction) {
                Some((_, open)) => open.commit(reply),
                None => reply.send(unknown()),
            },
            Call::Rollback(rollback) => {
                self.0.take_if(|open| open.0 == rollback.transaction);
                reply.send(Ok(CallOutput::Empty));
            }
            call => {
                let why = format!("{} is no call about a transaction", call.name());
                reply.send(Err(faults::internal(&why)));
            }
        }
    }
}

impl Transaction {
    /// Opens a transaction on a thread of its own, once it is the store's next and the store's writer is free; then
    /// `opened` is answered, or when it is abandoned. Steps can be sent before. `permits`: released when it is over.
    fn begin(
        caller: &Caller,
        permits: TransactionPermits,
        opened: Reply,
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
    fn is_over(&self) -> bool {
        self.alive.strong_count() == 0
    }

    /// Makes a change; it sees those before it. After a failure the transaction is over.
    fn step(&self, change: Change, reply: Reply) {
        // A step that nobody receives is dropped, and its reply says that the transaction is over.
        let _ = self.steps.send(Step::Change(Box::new(change), reply));
    }

    /// Makes all changes durable.
    fn commit(self, reply: Reply) {
        let _ = self.steps.send(Step::Commit(reply));
    }
}

fn transaction_over() -> Fault {
    Fault::new(
        Code::Conflict,
        "the transaction is over, and nothing of it is stored: it failed, or took too long",
    )
}

/// Runs a transaction when it is the store's next, as long as its client waits for it.
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
        // The reply is dropped, and says that the transaction is over.
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
            opened.send(Ok(CallOutput::Empty));
            let _ = committing.send((run(&writer, tx, &steps)?, permits));
            Ok(())
        });
        written.map_err(fault_from_error)
    });
    let committed: Option<(Reply, _)> = committed.try_recv().ok();
    if let Some((reply, permits)) = committed {
        drop(permits);
        return reply.send(written.map(|()| CallOutput::Empty));
    }
    // It was not opened, and the store says why.
    let unopened = opening.lock().take();
    if let (Some((opened, permits)), Err(fault)) = (unopened, written) {
        drop(permits);
        opened.send(Err(fault));
    }
}

/// Makes changes until the commit, whose reply it returns.
fn run(
    writer: &WriteScope,
    tx: &mut WriteTransaction<'_, '_>,
    steps: &Receiver<Step>,
) -> Result<Reply, Error> {
    let until = Instant::now() + LIFETIME;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match steps.recv_timeout(left.min(STEP_WAIT)) {
            Ok(Step::Change(change, reply)) => {
                let outcome = apply(writer, tx, *change);
                let failed = outcome.is_err();
                let output = outcome.map(|outcome| CallOutput::Outcome(Box::new(outcome)));
                reply.send(output.map_err(ChangeError::into));
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
