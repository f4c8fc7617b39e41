//! One connection: a handshake, then calls and replies in any order.
//!
//! One task reads and one writes; calls wait for their replies by number. When the connection breaks, all that wait are
//! told.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use loci_protocol::call::Method;
use loci_protocol::codec;
use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::{self, Decoded, FrameKind, HEADER_LEN, Header, PAYLOAD_LEN_MAX};
use loci_protocol::handshake::{Hello, VERSION_MAX, VERSION_MIN, Welcome};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::address::Address;
use crate::error::ClientError;

/// Bytes that are read at a time.
const READ_LEN: usize = 16 << 10;

/// What the server says about the connection.
pub type Session = Welcome;

/// A frame that answers a call.
type ReplyFrame = (Header, Vec<u8>);

#[derive(Debug, Default)]
struct PendingCalls {
    calls: HashMap<u64, UnboundedSender<ReplyFrame>>,
    /// Why there are no answers any more.
    close_reason: Option<CloseReason>,
}

#[derive(Clone, Debug)]
enum CloseReason {
    /// The connection broke.
    Io(io::ErrorKind, String),
    /// The server gave the reason.
    Fault(Fault),
}

impl From<CloseReason> for ClientError {
    fn from(ended: CloseReason) -> ClientError {
        match ended {
            CloseReason::Io(kind, why) => ClientError::Io {
                what: "the connection broke",
                source: io::Error::new(kind, why),
            },
            CloseReason::Fault(fault) => ClientError::Fault(fault),
        }
    }
}

/// A connection whose handshake is over.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) session: Session,
    next: AtomicU64,
    in_flight: AtomicUsize,
    out: UnboundedSender<Vec<u8>>,
    pending: Arc<Mutex<PendingCalls>>,
    /// Whether the server takes no new calls here.
    is_draining: Arc<AtomicBool>,
}

impl Connection {
    /// Connects and shows the key, within `wait`.
    pub(crate) async fn open(
        address: &Address,
        tls: Option<&TlsConnector>,
        wait: Duration,
    ) -> Result<Connection, ClientError> {
        timeout(wait, Self::connect(address, tls))
            .await
            .map_err(|_| ClientError::Timeout)?
    }

    async fn connect(
        address: &Address,
        tls: Option<&TlsConnector>,
    ) -> Result<Connection, ClientError> {
        let stream = TcpStream::connect((&address.host[..], address.port)).await;
        let stream = stream.map_err(ClientError::io("connecting"))?;
        stream
            .set_nodelay(true)
            .map_err(ClientError::io("connecting"))?;
        match tls {
            None => {
                let (read, write) = stream.into_split();
                Self::handshake(address, read, write).await
            }
            Some(tls) => {
                let name = ServerName::try_from(address.host.clone())
                    .map_err(|error| ClientError::Tls(error.to_string()))?;
                let stream = tls.connect(name, stream).await;
                let stream = stream.map_err(ClientError::io("securing the connection"))?;
                let (read, write) = tokio::io::split(stream);
                Self::handshake(address, read, write).await
            }
        }
    }

    async fn handshake<R, W>(
        address: &Address,
        read: R,
        mut write: W,
    ) -> Result<Connection, ClientError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let hello = codec::encode(&Hello {
            versions: (VERSION_MIN, VERSION_MAX),
            key: address.key.clone(),
            store: address.store.clone(),
            client: concat!("loci-client ", env!("CARGO_PKG_VERSION")).into(),
        });
        let greeting = Header::new(FrameKind::Hello, 0).frame(&hello);
        let sent = write.write_all(&greeting).await;
        sent.map_err(ClientError::io("greeting the server"))?;
        let mut frames = FrameReader::new(read);
        let (header, payload) = frames
            .next(PAYLOAD_LEN_MAX)
            .await
            .map_err(ClientError::from)?;
        let session: Session = match header.kind {
            FrameKind::Welcome => codec::decode(&payload)?,
            FrameKind::Fault => return Err(codec::decode::<Fault>(&payload)?.into()),
            kind => return Err(ClientError::Protocol(format!("a {kind:?} for a welcome"))),
        };
        let (out, outgoing) = unbounded_channel();
        let waiting = Arc::new(Mutex::new(PendingCalls::default()));
        let leaving = Arc::new(AtomicBool::new(false));
        tokio::spawn(write_all(write, outgoing));
        tokio::spawn(read_all(
            frames,
            session.payload_len_max,
            Arc::clone(&waiting),
            Arc::clone(&leaving),
        ));
        Ok(Connection {
            session,
            next: AtomicU64::new(1),
            in_flight: AtomicUsize::new(0),
            out,
            pending: waiting,
            is_draining: leaving,
        })
    }

    /// Whether new calls can be made on it.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_draining.load(Ordering::Relaxed) && self.pending.lock().close_reason.is_none()
    }

    /// Calls in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Makes a call; `each` is given what comes before the last reply. Dropped, the call is cancelled.
    pub(crate) async fn call<M: Method>(
        &self,
        method: &M,
        deadline: Duration,
        each: &mut (dyn FnMut(M::Each) + Send),
    ) -> Result<(u64, M::Last), ClientError> {
        // Each reply starts the timeout of long work anew.
        let deadline_ms = if M::streams() {
            0
        } else {
            u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX)
        };
        let payload = method.encode(deadline_ms);
        if payload.len() > self.session.payload_len_max as usize {
            let most = self.session.payload_len_max;
            let why = format!("a call of {} bytes; the server takes {most}", payload.len());
            return Err(Fault::new(Code::TooLarge, why).into());
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answers, mut answered) = unbounded_channel();
        {
            let mut waiting = self.pending.lock();
            if let Some(ended) = &waiting.close_reason {
                return Err(ended.clone().into());
            }
            waiting.calls.insert(id, answers);
        }
        let mut call = InFlightCall::new(self, id);
        let frame = Header::new(FrameKind::Call, id).frame(&payload);
        // If the writer ended, the reader has the reason.
        let _ = self.out.send(frame);
        loop {
            let answer = timeout(deadline, answered.recv()).await;
            let (header, payload) = match answer {
                Ok(Some(answer)) => answer,
                Ok(None) => {
                    call.is_over = true;
                    let ended = self.pending.lock().close_reason.clone();
                    let broke = CloseReason::Io(io::ErrorKind::BrokenPipe, "it ended".into());
                    return Err(ended.unwrap_or(broke).into());
                }
                Err(_) => {
                    // A connection that is silent may be dead: others are made.
                    self.is_draining.store(true, Ordering::Relaxed);
                    return Err(ClientError::Timeout);
                }
            };
            if header.kind == FrameKind::Fault {
                call.is_over = true;
                return Err(codec::decode::<Fault>(&payload)?.into());
            }
            if !header.more {
                call.is_over = true;
                return Ok((id, codec::decode(&payload)?));
            }
            each(codec::decode(&payload)?);
        }
    }
}

/// Says goodbye; the server closes.
impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.out.send(Header::new(FrameKind::Goodbye, 0).frame(&[]));
    }
}

/// A call in flight: cancelled when the client does not wait any more.
struct InFlightCall<'c> {
    connection: &'c Connection,
    id: u64,
    is_over: bool,
}

impl<'c> InFlightCall<'c> {
    fn new(connection: &'c Connection, id: u64) -> InFlightCall<'c> {
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlightCall {
            connection,
            id,
            is_over: false,
        }
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        let connection = self.connection;
        connection.in_flight.fetch_sub(1, Ordering::Relaxed);
        connection.pending.lock().calls.remove(&self.id);
        if !self.is_over {
            let cancel = Header::new(FrameKind::Cancel, self.id);
            let _ = connection.out.send(cancel.frame(&[]));
        }
    }
}

async fn write_all<W: AsyncWrite + Unpin>(mut write: W, mut outgoing: UnboundedReceiver<Vec<u8>>) {
    while let Some(mut bytes) = outgoing.recv().await {
        // Frames that were queued meanwhile are written together.
        while let Ok(more) = outgoing.try_recv() {
            bytes.extend(more);
        }
        if write.write_all(&bytes).await.is_err() || write.flush().await.is_err() {
            return;
        }
    }
    let _ = write.shutdown().await;
}

async fn read_all<R: AsyncRead + Unpin>(
    mut frames: FrameReader<R>,
    payload_len_max: u32,
    waiting: Arc<Mutex<PendingCalls>>,
    leaving: Arc<AtomicBool>,
) {
    let ended = loop {
        let (header, payload) = match frames.next(payload_len_max).await {
            Ok(frame) => frame,
            Err(ended) => break ended,
        };
        match header.kind {
            FrameKind::Reply | FrameKind::Fault if header.call != 0 => {
                let waiting = waiting.lock();
                if let Some(call) = waiting.calls.get(&header.call) {
                    let _ = call.send((header, payload));
                }
            }
            FrameKind::Fault => match codec::decode(&payload) {
                Ok(fault) => break CloseReason::Fault(fault),
                Err(error) => break CloseReason::Io(io::ErrorKind::InvalidData, error.to_string()),
            },
            FrameKind::Goodbye => leaving.store(true, Ordering::Relaxed),
            _ => {}
        }
    };
    let mut waiting = waiting.lock();
    waiting.close_reason = Some(ended);
    waiting.calls.clear();
}

/// Frames of a connection, read one after the other.
struct FrameReader<R> {
    read: R,
    bytes: Vec<u8>,
    consumed: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    fn new(read: R) -> FrameReader<R> {
        FrameReader {
            read,
            bytes: Vec::new(),
            consumed: 0,
        }
    }

    async fn next(&mut self, payload_len_max: u32) -> Result<ReplyFrame, CloseReason> {
        loop {
            let unread = self.bytes.get(self.consumed..).unwrap_or_default();
            match frame::decode(unread, payload_len_max) {
                Decoded::Frame { header, payload } => {
                    let payload = payload.to_vec();
                    self.consumed += HEADER_LEN + payload.len();
                    return Ok((header, payload));
                }
                Decoded::Malformed(why) => {
                    return Err(CloseReason::Io(io::ErrorKind::InvalidData, why.to_string()));
                }
                Decoded::Incomplete { .. } => {}
            }
            self.bytes.drain(..self.consumed);
            self.consumed = 0;
            self.bytes.reserve(READ_LEN);
            match self.read.read_buf(&mut self.bytes).await {
                Ok(0) => {
                    let why = "the server closed the connection".into();
                    return Err(CloseReason::Io(io::ErrorKind::UnexpectedEof, why));
                }
                Ok(_) => {}
                Err(error) => return Err(CloseReason::Io(error.kind(), error.to_string())),
            }
        }
    }
}
