//! Reads the frames of a connection: a large frame needs memory of all connections first, and a refused call is read and
//! dropped.
//!
//! Start reading at [`FrameReader::next`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::{self, Decoded, FrameKind, HEADER_LEN, Header};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{FRAME_WAIT, FREE_LEN};

/// Bytes at the start of a call's payload: its deadline in milliseconds, and its number.
const CALL_START_LEN: usize = 6;
/// Bytes that are read at a time.
const READ_LEN: usize = 16 << 10;
/// Capacity in bytes that a buffer retains between frames.
const BUFFER_RETAIN_LEN: usize = 64 << 10;
/// Lowest rate of a large payload, in bytes a second.
const BYTES_PER_SECOND_MIN: usize = 256 << 10;
/// How long, and how much, is read from a connection that is being closed.
const LINGER_WAIT: Duration = Duration::from_secs(1);
const LINGER_LEN: usize = 64 << 10;

/// Why no frame follows.
pub(super) enum FrameError {
    /// The connection broke.
    Gone,
    /// The bytes are no frame.
    Malformed(String),
}

/// What was received next.
pub(super) enum Received {
    /// A frame and, for a large one, the permit of its memory.
    Frame(Header, Vec<u8>, Option<OwnedSemaphorePermit>),
    /// A large call that is refused; its payload is skipped.
    SkippedCall(u64, Fault),
}

/// Refuses a large call, by the start of its payload and by its length.
pub(super) type AdmissionCheck<'l> = &'l (dyn Fn(&[u8], usize) -> Result<(), Fault> + Sync);

/// A frame that was received in part.
#[derive(Default)]
struct PartialFrame {
    started_at: Option<Instant>,
    /// Whether it is a large call that was admitted.
    is_admitted: bool,
    /// Kilobytes of memory that it holds.
    memory: Option<OwnedSemaphorePermit>,
}

/// Bytes of a call that was refused.
#[derive(Default)]
struct SkippedCall {
    /// Still to be received.
    remaining: usize,
    /// Received and dropped.
    skipped: usize,
}

/// Reads the frames of a connection one after the other.
pub(super) struct FrameReader<R> {
    read: R,
    bytes: Vec<u8>,
    /// Bytes at the start of `bytes` that were returned already.
    consumed: usize,
    partial: PartialFrame,
    skipped_call: SkippedCall,
    /// Kilobytes that large payloads of all connections may hold.
    memory: Arc<Semaphore>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(super) fn new(read: R, memory: Arc<Semaphore>) -> FrameReader<R> {
        FrameReader {
            read,
            bytes: Vec::new(),
            consumed: 0,
            partial: PartialFrame::default(),
            skipped_call: SkippedCall::default(),
            memory,
        }
    }

    /// The next frame; `None` where the other side closed between two. Cancel-safe: a frame received in part is retained.
    pub(super) async fn next(
        &mut self,
        payload_len_max: u32,
        check: AdmissionCheck<'_>,
    ) -> Result<Option<Received>, FrameError> {
        self.skip_refused().await?;
        loop {
            let unread = self.bytes.get(self.consumed..).unwrap_or_default();
            let whole = match frame::decode(unread, payload_len_max) {
                Decoded::Frame { header, payload } => {
                    let len = payload.len();
                    let payload = self.consume(len);
                    let memory = std::mem::take(&mut self.partial).memory;
                    return Ok(Some(Received::Frame(header, payload, memory)));
                }
                Decoded::Malformed(why) => return Err(FrameError::Malformed(why.to_string())),
                Decoded::Incomplete { len } => len,
            };
            let received = unread.len();
            let mut most = READ_LEN;
            if whole > HEADER_LEN + FREE_LEN {
                if let Err(fault) = self.admit(whole, check)? {
                    return Ok(Some(self.refuse(whole, fault)));
                }
                if self.partial.is_admitted {
                    most = (whole - received).min(FREE_LEN);
                }
            }
            self.bytes.drain(..self.consumed);
            self.consumed = 0;
            // Grows with the bytes received, whatever length was announced.
            self.bytes.reserve(READ_LEN.min(whole));
            let more = self.receive(most, received, received > 0).await?;
            if more == 0 {
                return match received {
                    0 => Ok(None),
                    _ => Err(FrameError::Gone),
                };
            }
        }
    }

    /// Checks a frame of so many bytes, which are more than need no permit: only a call may be so long, and it must be allowed
    /// and get a permit for the bytes received and the next ones.
    fn admit(
        &mut self,
        whole: usize,
        check: AdmissionCheck<'_>,
    ) -> Result<Result<(), Fault>, FrameError> {
        let unread = self.bytes.get(self.consumed..).unwrap_or_default();
        if unread.get(4) != Some(&(FrameKind::Call as u8)) {
            return Err(FrameError::Malformed("only a call may be so long".into()));
        }
        if !self.partial.is_admitted
            && let Some(start) = unread.get(HEADER_LEN..HEADER_LEN + CALL_START_LEN)
        {
            if let Err(fault) = check(start, whole - HEADER_LEN) {
                return Ok(Err(fault));
            }
            self.partial.is_admitted = true;
        }
        if unread.len() <= FREE_LEN {
            return Ok(Ok(()));
        }
        let has = self.partial.memory.as_ref();
        let has = has.map_or(0, OwnedSemaphorePermit::num_permits);
        let units = (unread.len() + FREE_LEN).min(whole).div_ceil(1 << 10);
        let units = u32::try_from(units.saturating_sub(has)).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.memory).try_acquire_many_owned(units) else {
            let why = "the server is reading too many large calls: try again later";
            return Ok(Err(
                Fault::new(Code::Overloaded, why).with_retry_after(1_000)
            ));
        };
        match &mut self.partial.memory {
            Some(memory) => memory.merge(more),
            none => *none = Some(more),
        }
        Ok(Ok(()))
    }

    /// Skips the call of so many bytes at the start of the unread bytes.
    fn refuse(&mut self, whole: usize, fault: Fault) -> Received {
        let unread = self.bytes.get(self.consumed..).unwrap_or_default();
        let call = unread.get(8..).and_then(<[u8]>::first_chunk);
        let call = call.map_or(0, |call| u64::from_le_bytes(*call));
        self.skipped_call = SkippedCall {
            remaining: whole.saturating_sub(unread.len()),
            skipped: 0,
        };
        (self.bytes, self.consumed) = (Vec::new(), 0);
        self.partial = PartialFrame::default();
        Received::SkippedCall(call, fault)
    }

    /// Reads to the end of a refused call.
    async fn skip_refused(&mut self) -> Result<(), FrameError> {
        while self.skipped_call.remaining > 0 {
            let (most, passed) = (
                self.skipped_call.remaining.min(READ_LEN),
                self.skipped_call.skipped,
            );
            self.bytes.reserve(most);
            let count = self.receive(most, passed, true).await?;
            self.bytes.clear();
            self.skipped_call.remaining -= count;
            self.skipped_call.skipped += count;
            match (count, self.skipped_call.remaining) {
                (0, _) => return Err(FrameError::Gone),
                (_, 0) => self.partial = PartialFrame::default(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends up to so many bytes, within the reserved capacity, and returns how many; 0 at the end. Waits as long as a frame
    /// may take of which `received` bytes are here, or without limit before a frame begins.
    async fn receive(
        &mut self,
        most: usize,
        received: usize,
        is_begun: bool,
    ) -> Result<usize, FrameError> {
        let mut part = (&mut self.read).take(most as u64);
        let read = part.read_buf(&mut self.bytes);
        let count = if is_begun {
            let since = *self.partial.started_at.get_or_insert_with(Instant::now);
            // A large payload gets more time, at a rate that slow lines reach.
            let wait = FRAME_WAIT + Duration::from_secs((received / BYTES_PER_SECOND_MIN) as u64);
            timeout(wait.saturating_sub(since.elapsed()), read).await
        } else {
            Ok(read.await)
        };
        match count {
            Ok(Ok(count)) => Ok(count),
            Ok(Err(_)) | Err(_) => Err(FrameError::Gone),
        }
    }

    /// Reads on for a moment: a connection that is closed with unread bytes is reset, and the other side may lose the last
    /// frame that it was sent.
    pub(super) async fn linger(&mut self) {
        let mut remaining = LINGER_LEN;
        let mut bytes = [0; 1 << 10];
        let drained = async {
            while remaining > 0 {
                match self.read.read(&mut bytes).await {
                    Ok(count) if count > 0 => remaining = remaining.saturating_sub(count),
                    _ => return,
                }
            }
        };
        let _ = timeout(LINGER_WAIT, drained).await;
    }

    /// Consumes the frame at the start of the unread bytes, and returns its payload. A large one is moved, not copied.
    fn consume(&mut self, len: usize) -> Vec<u8> {
        let (from, to) = (self.consumed + HEADER_LEN, self.consumed + HEADER_LEN + len);
        if len > FREE_LEN {
            let rest = self.bytes.split_off(to);
            let mut payload = std::mem::replace(&mut self.bytes, rest);
            payload.drain(..from);
            self.consumed = 0;
            return payload;
        }
        let payload = self.bytes[from..to].to_vec();
        self.consumed = to;
        if self.consumed == self.bytes.len() {
            self.bytes.clear();
            self.consumed = 0;
            if self.bytes.capacity() > BUFFER_RETAIN_LEN {
                self.bytes = Vec::new();
            }
        }
        payload
    }
}
