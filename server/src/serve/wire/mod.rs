//! One connection of the wire protocol: handshake, calls, replies, end. `docs/protocol.md` describes the messages.
//!
//! A connection is two tasks. One reads frames and passes calls to the [`Workers`](super::Workers); the other writes
//! what these could not write at once ([`frame_sender`]). Memory is bounded before it is allocated: a payload over
//! [`FREE_LEN`] needs permits that all connections share, for the bytes received so far; a call needs a permit of its
//! connection until its last reply was written, and parts of a stream wait until those before them were written. The
//! rest of a refused large call is read and dropped.
//!
//! Start reading at [`serve`].

mod frames;
mod responder;

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_protocol::call::{Call, CallClass};
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
use super::workers;
use crate::service::{
    self, Caller, CancelToken, Reply, StreamItem, Task, TransactionPermits, TransactionSlot,
};
use frames::{FrameError, FrameReader, Received};
use responder::Responder;

/// How long a whole hello is waited for.
pub(crate) const HELLO_WAIT: Duration = Duration::from_secs(10);
/// How long a frame that began is waited for, and a write that the other side does not take.
const FRAME_WAIT: Duration = Duration::from_secs(30);
/// How long calls in flight may take after a goodbye.
const DRAIN_WAIT: Duration = Duration::from_secs(60);
/// Bytes of a payload that need no permit.
const FREE_LEN: usize = 64 << 10;
/// Parts of streams that can wait to be written.
const PARTS_MAX: usize = 16;
/// Pongs and refusals that can wait to be written: a client that does not read them is disconnected.
const CONTROL_FRAMES_MAX: usize = 256;
/// Bytes of a ping at most.
const PING_LEN_MAX: usize = 64;

fn fault_frame(call: u64, fault: &Fault) -> Vec<u8> {
    Header::new(FrameKind::Fault, call).frame(&codec::encode(fault))
}

/// Serves a connection until either side ends it. `slot`: its slot among those without a key.
pub(crate) async fn serve<R, W>(
    shared: Arc<ServerState>,
    read: R,
    write: W,
    peer: IpAddr,
    slot: PendingSlot,
) where
    R: AsyncRead + Unpin + Send,
    W: WriteTransport,
{
    let mut frames = FrameReader::new(read, Arc::clone(&shared.request_memory));
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
    let Some(_served) = slot.admit(&shared.connections) else {
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
        in_flight: Arc::default(),
        transaction: TransactionSlot::default(),
        caller,
        out,
        shared,
    };
    session.out.send(welcome, [None, None]);
    let writer = tokio::spawn(writer);
    let mut frames = session.run(frames, is_gone).await;
    // A client that was connected for long may reconnect as one that is known.
    server
        .connection_rate
        .record_valid_key(peer, Instant::now());
    frames.linger().await;
    // The writer ends once all senders are dropped.
    let _ = timeout(DRAIN_WAIT, writer).await;
}

/// Reads a hello and checks its key.
async fn greet<R: AsyncRead + Unpin>(
    shared: &ServerState,
    frames: &mut FrameReader<R>,
    peer: IpAddr,
) -> Result<Caller, Fault> {
    let malformed = |why: String| Fault::new(Code::Malformed, why);
    let frame = frames.next(HELLO_LEN_MAX, &|_, _| Ok(())).await;
    let (header, payload) = match frame {
        Ok(Some(Received::Frame(header, payload, _))) => (header, payload),
        Ok(Some(Received::SkippedCall(_, fault))) => return Err(fault),
        Ok(None) => return Err(malformed("the connection ended before its hello".into())),
        Err(FrameError::Malformed(why)) => return Err(malformed(why)),
        Err(FrameError::Gone) => return Err(malformed("the connection broke".into())),
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

/// Calls in flight, with the flag that cancels each.
type InFlightCalls = Arc<Mutex<HashMap<u64, Arc<AtomicBool>>>>;

/// A connection whose key was checked.
struct Session {
    shared: Arc<ServerState>,
    caller: Caller,
    out: FrameSender,
    /// Permits for calls.
    calls: Arc<Semaphore>,
    /// Permits for parts of streams.
    parts: Arc<Semaphore>,
    /// Permits for pongs and refusals that wait to be written.
    control: Arc<Semaphore>,
    in_flight: InFlightCalls,
    transaction: TransactionSlot,
}

impl Session {
    /// Handles frames until the connection is to be closed.
    async fn run<R: AsyncRead + Unpin>(
        mut self,
        mut frames: FrameReader<R>,
        mut gone: watch::Receiver<bool>,
    ) -> FrameReader<R> {
        let mut stopping = self.shared.stopping.clone();
        let mut is_stopping = false;
        loop {
            let check = |start: &[u8], len: usize| self.admit(start, len);
            let received = tokio::select! {
                received = frames.next(self.shared.limits.payload_len_max, &check) => received,
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
            let handled = match received {
                Ok(Some(Received::Frame(header, payload, memory))) => {
                    self.handle(header, payload, memory)
                }
                Ok(Some(Received::SkippedCall(call, fault))) => self.reject(call, fault),
                Ok(None) | Err(FrameError::Gone) => break,
                Err(FrameError::Malformed(why)) => Err(Fault::new(Code::Malformed, why)),
            };
            match handled {
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
        // Calls of this connection stop soon, and wait for no permit.
        self.parts.close();
        for cancelled in self.in_flight.lock().values() {
            cancelled.store(true, Ordering::Relaxed);
        }
        frames
    }

    /// Waits for as long as a connection may be silent, and on while a call is in flight or a transaction open.
    async fn wait_idle(&self) {
        loop {
            tokio::time::sleep(self.shared.limits.idle).await;
            if self.in_flight.lock().is_empty() && !self.transaction.is_open() {
                return;
            }
        }
    }

    /// Waits until every call was answered.
    async fn drained(&self) {
        let all = self.calls.acquire_many(self.shared.limits.calls_max).await;
        drop(all);
    }

    /// Sends a frame that belongs to no permit of a call.
    fn send_control(&self, bytes: Vec<u8>) -> Result<(), Fault> {
        let Ok(permit) = Arc::clone(&self.control).try_acquire_owned() else {
            let why = "too many frames of this connection wait to be read";
            return Err(Fault::new(Code::Overloaded, why));
        };
        self.out.send(bytes, [Some(permit), None]);
        Ok(())
    }

    fn refuse(&self, call: u64, fault: &Fault) -> Result<(), Fault> {
        self.send_control(fault_frame(call, fault))
    }

    /// Handles a frame; break after a goodbye, an error for one that ends the connection.
    fn handle(
        &mut self,
        header: Header,
        payload: Vec<u8>,
        memory: Option<OwnedSemaphorePermit>,
    ) -> Result<ControlFlow<()>, Fault> {
        let malformed = |why: &str| Err(Fault::new(Code::Malformed, why));
        match header.kind {
            FrameKind::Call => self.call(header.call, payload, memory)?,
            FrameKind::Cancel => {
                if let Some(cancelled) = self.in_flight.lock().get(&header.call) {
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
        if id != 0 && !self.in_flight.lock().contains_key(&id) {
            return Ok(());
        }
        let why = format!("call {id} is in flight, or no number of a call");
        Err(Fault::new(Code::Malformed, why))
    }

    fn call(
        &mut self,
        id: u64,
        payload: Vec<u8>,
        memory: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Fault> {
        self.check_number(id)?;
        // A larger one was checked before its payload was read.
        if payload.len() <= FREE_LEN
            && let Err(fault) = self.admit(&payload, payload.len())
        {
            return self.reject(id, fault).map(drop);
        }
        let Ok(permit) = Arc::clone(&self.calls).try_acquire_owned() else {
            let why = format!(
                "{} calls are in flight on this connection",
                self.shared.limits.calls_max
            );
            return self.refuse(id, &Fault::new(Code::Overloaded, why).with_retry_after(10));
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        self.in_flight.lock().insert(id, Arc::clone(&cancelled));
        let responder = Responder {
            id,
            out: self.out.clone(),
            in_flight: Arc::clone(&self.in_flight),
            shared: Arc::clone(&self.shared),
            permit: Some(permit),
            _memory: memory,
        };
        // Steps keep their order, so they are decoded here however long they are.
        let is_step = Call::class_of(&payload) == Some(CallClass::Transaction);
        if payload.len() > FREE_LEN && !is_step {
            self.large(payload, responder, cancelled)
        } else {
            match Call::decode(&payload) {
                Ok((deadline_ms, call)) => self.begin(deadline_ms, call, responder, cancelled),
                Err(error) => {
                    responder.send(Err(error.into()));
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
            return Err(Fault::new(Code::Unauthorized, "the key was revoked"));
        }
        // A large call that the key does not allow is not even read.
        let role = Call::role_of(start).filter(|_| len > FREE_LEN);
        service::admit(&self.caller, role, len)
    }

    /// Decodes a large call where it is performed, which is on no thread for quick calls.
    fn large(&self, payload: Vec<u8>, responder: Responder, cancelled: Arc<AtomicBool>) {
        let class = match Call::class_of(&payload) {
            Some(CallClass::Quick) | None => CallClass::Write,
            Some(class) => class,
        };
        let (caller, parts) = (self.caller.clone(), Arc::clone(&self.parts));
        let most = self.shared.limits.call_wait;
        let permit = match self
            .shared
            .workers
            .acquire(class, self.caller.store.semaphores())
        {
            Ok(permit) => permit,
            Err(fault) => return responder.send(Err(fault)),
        };
        permit.run(move || {
            let decoded = Call::decode(&payload);
            drop(payload);
            match decoded {
                Ok((deadline_ms, call)) => {
                    let deadline = deadline(deadline_ms, most);
                    perform(&caller, call, deadline, &cancelled, &parts, responder);
                }
                Err(error) => responder.send(Err(error.into())),
            }
        });
    }

    fn begin(
        &mut self,
        deadline_ms: Option<u32>,
        call: Call,
        responder: Responder,
        cancelled: Arc<AtomicBool>,
    ) {
        let deadline = deadline(deadline_ms, self.shared.limits.call_wait);
        let class = call.class();
        if class == CallClass::Transaction {
            return self.step(call, responder, deadline, cancelled);
        }
        let permit = match self
            .shared
            .workers
            .acquire(class, self.caller.store.semaphores())
        {
            Ok(permit) => permit,
            Err(fault) => return responder.send(Err(fault)),
        };
        let (caller, parts) = (self.caller.clone(), Arc::clone(&self.parts));
        permit.run(move || perform(&caller, call, deadline, &cancelled, &parts, responder));
    }

    /// A call about the connection's transaction.
    fn step(
        &mut self,
        call: Call,
        responder: Responder,
        deadline: Option<Instant>,
        cancelled: Arc<AtomicBool>,
    ) {
        let (of_store, of_server) = (
            &self.caller.store.semaphores().transactions,
            &self.shared.transactions,
        );
        let permits = || -> Result<TransactionPermits, Fault> {
            Ok([
                workers::try_acquire(of_store, "the store has too many transactions open")?,
                workers::try_acquire(of_server, "the server has too many transactions open")?,
            ])
        };
        let token = CancelToken {
            deadline,
            cancelled,
        };
        let id = responder.id;
        let reply = Reply::new(move |result| responder.send(result));
        self.transaction
            .perform(&self.caller, id, call, permits, token, reply);
    }
}

/// The deadline of a call: its own, and at most the server's limit.
fn deadline(deadline_ms: Option<u32>, most: Duration) -> Option<Instant> {
    let wait = deadline_ms.map(|ms| Duration::from_millis(u64::from(ms)));
    Instant::now().checked_add(wait.unwrap_or(most).min(most))
}

/// Performs a call on this thread, and sends its output.
fn perform(
    caller: &Caller,
    call: Call,
    deadline: Option<Instant>,
    cancelled: &AtomicBool,
    parts: &Arc<Semaphore>,
    responder: Responder,
) {
    let emit = |item: StreamItem| responder.emit(&item, parts, deadline);
    let task = Task {
        deadline,
        cancelled,
        emit: &emit,
        files: &responder.shared.workers.files,
    };
    let output = service::perform(caller, call, task);
    responder.send(output);
}
