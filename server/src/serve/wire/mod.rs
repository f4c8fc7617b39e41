//! One connection of the wire protocol: handshake, calls, replies, the end. `docs/protocol.md` says what goes over it.
//!
//! A connection is two tasks. One reads frames and hands calls to the [`Workers`](super::Workers); the other writes what
//! they could not write at once themselves ([`writer`]). Memory is bounded before it is taken: a payload over [`FREE_LEN`] needs room that all
//! connections share, for as much of it as has come; a call needs one of the connection's places until its last reply was
//! written, and parts of a stream wait until those before them are gone. Of a large call that is refused the rest is read
//! and not kept.
//!
//! Start reading at [`serve`].

mod frames;
mod waiting;

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_protocol::call::{Call, Outcome};
use loci_protocol::codec;
use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::{FrameKind, HELLO_LEN_MAX, Header};
use loci_protocol::handshake::{Hello, Welcome};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::ServerState;
use super::frame_sender::{self, FrameSender, WriteTransport};
use super::pending::PendingSlot;
use super::workers::{self, CallClass};
use crate::service::{self, CallOutput, Caller, CancelToken, Reply, StreamItem, Task, Transaction};
use frames::{Came, End, Frames};
use waiting::Waiting;

/// How long a whole hello is waited for.
pub(crate) const HELLO_WAIT: Duration = Duration::from_secs(10);
/// How long a frame that began is waited for, and a write that the other side does not take.
const FRAME_WAIT: Duration = Duration::from_secs(30);
/// How long calls under way are waited for after a goodbye.
const DRAIN_WAIT: Duration = Duration::from_secs(60);
/// Bytes of a payload that need no room of those that all connections share.
const FREE_LEN: usize = 64 << 10;
/// Parts of streams that wait to be written at most.
const PARTS_MAX: usize = 16;
/// Pongs and refusals that wait to be written at most: who does not read them is sent away.
const CONTROL_FRAMES_MAX: usize = 256;
/// Bytes of a ping at most.
const PING_LEN_MAX: usize = 64;

fn fault_frame(call: u64, fault: &Fault) -> Vec<u8> {
    Header::new(FrameKind::Fault, call).frame(&codec::encode(fault))
}

/// Serves a connection until either side ends it. `place`: its place among those who have shown no key yet.
pub(crate) async fn serve<R, W>(
    shared: Arc<ServerState>,
    read: R,
    write: W,
    peer: IpAddr,
    place: PendingSlot,
) where
    R: AsyncRead + Unpin + Send,
    W: WriteTransport,
{
    let mut frames = Frames::new(read, Arc::clone(&shared.request_memory));
    let mut write = write;
    let caller = match timeout(HELLO_WAIT, greet(&shared, &mut frames, peer)).await {
        Ok(Ok(caller)) => caller,
        Ok(Err(fault)) => {
            frame_sender::write_with_timeout(&mut write, &fault_frame(0, &fault)).await;
            let _ = timeout(FRAME_WAIT, write.shutdown()).await;
            drop(write);
            return frames.linger().await;
        }
        Err(_) => return,
    };
    // Held for as long as the connection is.
    let Some(_served) = place.admit(&shared.connections) else {
        let fault = Fault::new(Code::Overloaded, "the server has too many connections");
        frame_sender::write_with_timeout(&mut write, &fault_frame(0, &fault)).await;
        return;
    };
    let welcome = Welcome {
        version: loci_protocol::handshake::VERSION_MAX,
        server: concat!("loci ", env!("CARGO_PKG_VERSION")).into(),
        store: caller.store.name().to_owned(),
        role: caller.role,
        user: caller.user.clone(),
        payload_len_max: shared.limits.payload_len_max,
        calls_max: shared.limits.calls_max,
        idle_ms: shared
            .limits
            .idle
            .as_millis()
            .try_into()
            .unwrap_or(u32::MAX),
    };
    let welcome = Header::new(FrameKind::Welcome, 0).frame(&codec::encode(&welcome));
    let (out, writer, is_gone) = frame_sender::start(write);
    let server = Arc::clone(&shared);
    let session = Session {
        calls: Arc::new(Semaphore::new(shared.limits.calls_max as usize)),
        parts: Arc::new(Semaphore::new(PARTS_MAX)),
        control: Arc::new(Semaphore::new(CONTROL_FRAMES_MAX)),
        under_way: Arc::default(),
        transaction: None,
        caller,
        out,
        shared,
    };
    session.out.send(welcome, [None, None]);
    let writer = tokio::spawn(writer);
    let mut frames = session.run(frames, is_gone).await;
    // A client that was connected for long may come again among strangers.
    server
        .connection_rate
        .record_valid_key(peer, Instant::now());
    frames.linger().await;
    // The writer ends once all who could still give it something are gone.
    let _ = timeout(DRAIN_WAIT, writer).await;
}

/// Reads a hello and looks at its key.
async fn greet<R: AsyncRead + Unpin>(
    shared: &ServerState,
    frames: &mut Frames<R>,
    peer: IpAddr,
) -> Result<Caller, Fault> {
    let malformed = |why: String| Fault::new(Code::Malformed, why);
    let frame = frames.next(HELLO_LEN_MAX, &|_, _| Ok(())).await;
    let (header, payload) = match frame {
        Ok(Some(Came::Frame(header, payload, _))) => (header, payload),
        Ok(Some(Came::Refused(_, fault))) => return Err(fault),
        Ok(None) => return Err(malformed("the connection ended before its hello".into())),
        Err(End::Malformed(why)) => return Err(malformed(why)),
        Err(End::Gone) => return Err(malformed("the connection broke".into())),
    };
    if header.kind != FrameKind::Hello || header.call != 0 {
        return Err(malformed("the first frame is a hello".into()));
    }
    let hello: Hello = codec::decode(&payload)?;
    if hello.version().is_none() {
        let (oldest, newest) = hello.versions;
        let why = format!("the client speaks versions {oldest} to {newest}, this server version 1");
        return Err(Fault::new(Code::Version, why));
    }
    shared
        .authenticate(&hello.key, &hello.store, peer, "wire", None)
        .await
}

/// Calls under way, with what cancels each.
type UnderWay = Arc<Mutex<HashMap<u64, Arc<AtomicBool>>>>;

/// What a connection is about once its key was looked at.
struct Session {
    shared: Arc<ServerState>,
    caller: Caller,
    out: FrameSender,
    /// Places for calls.
    calls: Arc<Semaphore>,
    /// Places for parts of streams.
    parts: Arc<Semaphore>,
    /// Places for pongs and refusals that wait to be written.
    control: Arc<Semaphore>,
    under_way: UnderWay,
    transaction: Option<(u64, Transaction)>,
}

impl Session {
    /// Takes frames until the connection is to be closed.
    async fn run<R: AsyncRead + Unpin>(
        mut self,
        mut frames: Frames<R>,
        mut gone: watch::Receiver<bool>,
    ) -> Frames<R> {
        let mut stopping = self.shared.stopping.clone();
        let mut is_stopping = false;
        loop {
            let look = |start: &[u8], len: usize| self.admit(start, len);
            let came = tokio::select! {
                came = frames.next(self.shared.limits.payload_len_max, &look) => came,
                _ = gone.wait_for(|gone| *gone) => break,
                _ = stopping.wait_for(|stopping| *stopping), if !is_stopping => {
                    is_stopping = true;
                    self.out.send(Header::new(FrameKind::Goodbye, 0).frame(&[]), [None, None]);
                    continue;
                }
                () = self.wait_idle() => {
                    self.out.send(Header::new(FrameKind::Goodbye, 0).frame(&[]), [None, None]);
                    break;
                }
                () = self.drained(), if is_stopping => break,
            };
            let went_on = match came {
                Ok(Some(Came::Frame(header, payload, room))) => self.take(header, payload, room),
                Ok(Some(Came::Refused(call, fault))) => self.reject(call, fault),
                Ok(None) | Err(End::Gone) => break,
                Err(End::Malformed(why)) => Err(Fault::new(Code::Malformed, why)),
            };
            match went_on {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    let _ = timeout(DRAIN_WAIT, self.drained()).await;
                    break;
                }
                Err(fault) => {
                    self.out.send(fault_frame(0, &fault), [None, None]);
                    break;
                }
            }
        }
        // Whoever still works for this connection stops soon, and waits for no room.
        self.parts.close();
        for cancelled in self.under_way.lock().values() {
            cancelled.store(true, Ordering::Relaxed);
        }
        frames
    }

    /// Waits for as long as a connection may be silent, and on while a call is under way or a transaction open.
    async fn wait_idle(&self) {
        loop {
            tokio::time::sleep(self.shared.limits.idle).await;
            let is_open = |(_, open): &(u64, Transaction)| !open.is_over();
            if self.under_way.lock().is_empty() && !self.transaction.as_ref().is_some_and(is_open) {
                return;
            }
        }
    }

    /// Waits until every call was answered.
    async fn drained(&self) {
        let all = self.calls.acquire_many(self.shared.limits.calls_max).await;
        drop(all);
    }

    /// Sends what no call has a place for.
    fn send_control(&self, bytes: Vec<u8>) -> Result<(), Fault> {
        let Ok(place) = Arc::clone(&self.control).try_acquire_owned() else {
            let why = "too many frames of this connection wait to be read";
            return Err(Fault::new(Code::Overloaded, why));
        };
        self.out.send(bytes, [Some(place), None]);
        Ok(())
    }

    fn refuse(&self, call: u64, fault: &Fault) -> Result<(), Fault> {
        self.send_control(fault_frame(call, fault))
    }

    /// Takes a frame; break after a goodbye, an error for one that ends the connection.
    fn take(
        &mut self,
        header: Header,
        payload: Vec<u8>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<ControlFlow<()>, Fault> {
        let malformed = |why: &str| Err(Fault::new(Code::Malformed, why));
        match header.kind {
            FrameKind::Call => self.call(header.call, payload, room)?,
            FrameKind::Cancel => {
                if let Some(cancelled) = self.under_way.lock().get(&header.call) {
                    cancelled.store(true, Ordering::Relaxed);
                }
            }
            FrameKind::Ping if payload.len() <= PING_LEN_MAX => {
                let pong = Header::new(FrameKind::Pong, header.call);
                self.send_control(pong.frame(&payload))?;
            }
            FrameKind::Ping => return malformed("a ping has at most 64 bytes"),
            FrameKind::Goodbye => return Ok(ControlFlow::Break(())),
            FrameKind::Hello => return malformed("a connection has one hello"),
            FrameKind::Welcome | FrameKind::Reply | FrameKind::Fault | FrameKind::Pong => {
                return malformed("a client sends no such frame");
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Refuses a call; an error where that ends the connection.
    fn reject(&self, id: u64, fault: Fault) -> Result<ControlFlow<()>, Fault> {
        self.check_number(id)?;
        match fault.code {
            Code::Unauthorized => Err(fault),
            _ => self.refuse(id, &fault).map(ControlFlow::Continue),
        }
    }

    fn check_number(&self, id: u64) -> Result<(), Fault> {
        if id != 0 && !self.under_way.lock().contains_key(&id) {
            return Ok(());
        }
        let why = format!("call {id} is under way, or no number of a call");
        Err(Fault::new(Code::Malformed, why))
    }

    fn call(
        &mut self,
        id: u64,
        payload: Vec<u8>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Fault> {
        self.check_number(id)?;
        // A larger one was looked at before it came.
        if payload.len() <= FREE_LEN
            && let Err(fault) = self.admit(&payload, payload.len())
        {
            return self.reject(id, fault).map(drop);
        }
        let Ok(place) = Arc::clone(&self.calls).try_acquire_owned() else {
            let why = format!(
                "{} calls are under way on this connection",
                self.shared.limits.calls_max
            );
            return self.refuse(id, &Fault::new(Code::Overloaded, why).with_retry_after(10));
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        self.under_way.lock().insert(id, Arc::clone(&cancelled));
        let waiting = Waiting {
            id,
            out: self.out.clone(),
            under_way: Arc::clone(&self.under_way),
            shared: Arc::clone(&self.shared),
            place: Some(place),
            _call: room,
        };
        // Steps keep their order, so they are read here however long they are.
        let is_step = matches!(payload.get(4..6), Some([0x02..=0x05, 0x02]));
        if payload.len() > FREE_LEN && !is_step {
            self.large(payload, waiting, cancelled)
        } else {
            match Call::decode(&payload) {
                Ok((deadline_ms, call)) => self.begin(deadline_ms, call, waiting, cancelled),
                Err(error) => {
                    waiting.tell(Err(error.into()));
                }
            }
        }
        Ok(())
    }

    /// Whether the key may make a call of so many bytes now, whose payload starts so.
    fn admit(&self, start: &[u8], len: usize) -> Result<(), Fault> {
        if *self.shared.stopping.borrow() {
            return Err(Fault::new(Code::Unavailable, "the server is stopping"));
        }
        if !self.caller.store.is_key_valid(&self.caller.key) {
            return Err(Fault::new(Code::Unauthorized, "the key was taken back"));
        }
        // What a key does not allow is not read where that is long.
        let role = Call::role_of(start).filter(|_| len > FREE_LEN);
        service::admit(&self.caller, role, len)
    }

    /// A large call is decoded where it is carried out.
    fn large(&self, payload: Vec<u8>, waiting: Waiting, cancelled: Arc<AtomicBool>) {
        let class = match payload.get(4..6) {
            Some([0x08 | 0x0a, 0x02]) => CallClass::Long,
            _ => CallClass::Write,
        };
        let (caller, parts) = (self.caller.clone(), Arc::clone(&self.parts));
        let most = self.shared.limits.call_wait;
        let free = match self
            .shared
            .workers
            .acquire(class, self.caller.store.semaphores())
        {
            Ok(free) => free,
            Err(fault) => return waiting.tell(Err(fault)),
        };
        free.run(move || {
            let decoded = Call::decode(&payload);
            drop(payload);
            match decoded {
                Ok((deadline_ms, call)) => {
                    let deadline = deadline(deadline_ms, most);
                    perform(&caller, call, deadline, &cancelled, &parts, waiting);
                }
                Err(error) => waiting.tell(Err(error.into())),
            }
        });
    }

    fn begin(
        &mut self,
        deadline_ms: Option<u32>,
        call: Call,
        waiting: Waiting,
        cancelled: Arc<AtomicBool>,
    ) {
        let call = match call {
            Call::Begin(_) | Call::Step(_) | Call::Commit(_) | Call::Rollback(_) => {
                let deadline = deadline(deadline_ms, self.shared.limits.call_wait);
                let wanted = CancelToken {
                    deadline,
                    cancelled,
                };
                return self.step(call, waiting, wanted);
            }
            call => call,
        };
        let class = CallClass::from_call(&call);
        let free = match self
            .shared
            .workers
            .acquire(class, self.caller.store.semaphores())
        {
            Ok(free) => free,
            Err(fault) => return waiting.tell(Err(fault)),
        };
        let (caller, parts) = (self.caller.clone(), Arc::clone(&self.parts));
        let deadline = deadline(deadline_ms, self.shared.limits.call_wait);
        free.run(move || perform(&caller, call, deadline, &cancelled, &parts, waiting));
    }

    /// Places for a transaction: among the store's, and among the server's.
    fn acquire_transaction(&self) -> Result<[OwnedSemaphorePermit; 2], Fault> {
        let of_store = &self.caller.store.semaphores().transactions;
        Ok([
            workers::try_acquire(of_store, "the store has too many transactions open")?,
            workers::try_acquire(
                &self.shared.transactions,
                "the server has too many transactions open",
            )?,
        ])
    }

    /// A call about the connection's transaction. `wanted`: how long it is, while no work on it began.
    fn step(&mut self, call: Call, waiting: Waiting, wanted: CancelToken) {
        if let Err(fault) = service::allow(&self.caller, &call) {
            return waiting.tell(Err(fault));
        }
        let nothing = |waiting: Waiting| {
            Reply::new(move |result: Result<(), Fault>| {
                waiting.tell(result.map(|()| CallOutput::Empty))
            })
        };
        let conflict = |why: &str| Err(Fault::new(Code::Conflict, why));
        match call {
            Call::Begin(_) => {
                if self
                    .transaction
                    .as_ref()
                    .is_some_and(|(_, open)| !open.is_over())
                {
                    return waiting.tell(conflict("the connection has a transaction already"));
                }
                let places = match self.acquire_transaction() {
                    Ok(places) => places,
                    Err(fault) => return waiting.tell(Err(fault)),
                };
                let id = waiting.id;
                let open = Transaction::begin(&self.caller, places, nothing(waiting), wanted);
                self.transaction = Some((id, open));
            }
            Call::Step(step) => match &self.transaction {
                Some((id, open)) if *id == step.transaction => {
                    open.step(step.change, outcome_reply(waiting));
                }
                _ => waiting.tell(conflict("there is no such transaction on this connection")),
            },
            Call::Commit(commit) => match self
                .transaction
                .take_if(|open| open.0 == commit.transaction)
            {
                Some((_, open)) => open.commit(nothing(waiting)),
                None => waiting.tell(conflict("there is no such transaction on this connection")),
            },
            Call::Rollback(rollback) => {
                self.transaction
                    .take_if(|open| open.0 == rollback.transaction);
                waiting.tell(Ok(CallOutput::Empty));
            }
            _ => {}
        }
    }
}

fn outcome_reply(waiting: Waiting) -> Reply<Outcome> {
    Reply::new(move |result: Result<Outcome, Fault>| {
        waiting.tell(result.map(|outcome| CallOutput::Outcome(Box::new(outcome))));
    })
}

/// When a call is over: as it says, and not after the server's own limit.
fn deadline(deadline_ms: Option<u32>, most: Duration) -> Option<Instant> {
    let asked = deadline_ms.map(|ms| Duration::from_millis(u64::from(ms)));
    Instant::now().checked_add(asked.unwrap_or(most).min(most))
}

/// Carries out a call on this thread, and tells what it gave.
fn perform(
    caller: &Caller,
    call: Call,
    deadline: Option<Instant>,
    cancelled: &AtomicBool,
    parts: &Arc<Semaphore>,
    responder: Waiting,
) {
    let emit = |item: StreamItem| responder.emit(&item, parts, deadline);
    let task = Task {
        deadline,
        cancelled,
        emit: &emit,
        files: &responder.shared.workers.files,
    };
    let given = service::perform(caller, call, task);
    responder.tell(given);
}
