//! Frames of a connection, as they come: what is large finds room first, and what is refused is read and not kept.
//!
//! Start reading at [`Frames::next`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::{self, Decoded, FrameKind, HEADER_LEN, Header};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{FRAME_WAIT, FREE_LEN};

/// Bytes of a call that tell what is asked: milliseconds that it may take, and its number.
const CALL_START_LEN: usize = 6;
/// Bytes that are read at a time.
const READ_LEN: usize = 16 << 10;
/// Bytes that a buffer keeps between frames.
const BUFFER_RETAIN_LEN: usize = 64 << 10;
/// Bytes a second that a large payload comes with at least.
const BYTES_PER_SECOND_MIN: usize = 256 << 10;
/// How long, and how much, is read of a connection that is being closed.
const LINGER_WAIT: Duration = Duration::from_secs(1);
const LINGER_LEN: usize = 64 << 10;

/// Why no frame comes any more.
pub(super) enum End {
    /// The connection broke.
    Gone,
    /// What came is no frame.
    Malformed(String),
}

/// What came next.
pub(super) enum Came {
    /// A frame and, for a large one, its room.
    Frame(Header, Vec<u8>, Option<OwnedSemaphorePermit>),
    /// The start of a large call that is refused.
    Refused(u64, Fault),
}

/// Says why a large call is refused, by the start of its payload and by its length.
pub(super) type AdmissionCheck<'l> = &'l (dyn Fn(&[u8], usize) -> Result<(), Fault> + Sync);

/// What is known of a frame that has come in part.
#[derive(Default)]
struct PartialFrame {
    started_at: Option<Instant>,
    /// Whether it is a large call that was looked at.
    is_admitted: bool,
    /// Kilobytes of the room that it takes.
    room: Option<OwnedSemaphorePermit>,
}

/// Bytes of a call that was refused.
#[derive(Default)]
struct Refused {
    /// Still to come.
    remaining: usize,
    /// Not kept.
    skipped: usize,
}

/// Frames of a connection, read one after the other.
pub(super) struct Frames<R> {
    read: R,
    bytes: Vec<u8>,
    /// Bytes at the start of `bytes` that were given out.
    taken: usize,
    partial: PartialFrame,
    refused: Refused,
    /// Kilobytes that large payloads of all connections may take.
    room: Arc<Semaphore>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(read: R, room: Arc<Semaphore>) -> Frames<R> {
        Frames {
            read,
            bytes: Vec::new(),
            taken: 0,
            partial: PartialFrame::default(),
            refused: Refused::default(),
            room,
        }
    }

    /// The next frame; `None` where the other side ended between two. What came in part is kept when nobody waits any more.
    pub(super) async fn next(
        &mut self,
        payload_len_max: u32,
        look: AdmissionCheck<'_>,
    ) -> Result<Option<Came>, End> {
        self.skip_refused().await?;
        loop {
            let unread = self.bytes.get(self.taken..).unwrap_or_default();
            let whole = match frame::decode(unread, payload_len_max) {
                Decoded::Frame { header, payload } => {
                    let len = payload.len();
                    let payload = self.take(len);
                    let room = std::mem::take(&mut self.partial).room;
                    return Ok(Some(Came::Frame(header, payload, room)));
                }
                Decoded::Malformed(why) => return Err(End::Malformed(why.to_string())),
                Decoded::Incomplete { len } => len,
            };
            let received = unread.len();
            let mut most = READ_LEN;
            if whole > HEADER_LEN + FREE_LEN {
                if let Err(fault) = self.admit(whole, look)? {
                    return Ok(Some(self.refuse(whole, fault)));
                }
                if self.partial.is_admitted {
                    most = (whole - received).min(FREE_LEN);
                }
            }
            self.bytes.drain(..self.taken);
            self.taken = 0;
            // Grown as bytes come, whatever was announced.
            self.bytes.reserve(READ_LEN.min(whole));
            let more = self.receive(most, received, received > 0).await?;
            if more == 0 {
                return match received {
                    0 => Ok(None),
                    _ => Err(End::Gone),
                };
            }
        }
    }

    /// Looks at a frame of so many bytes, which are more than come without room: a call alone may be so long, and has to be
    /// allowed and to find room for what has come and comes next.
    fn admit(&mut self, whole: usize, look: AdmissionCheck<'_>) -> Result<Result<(), Fault>, End> {
        let unread = self.bytes.get(self.taken..).unwrap_or_default();
        if unread.get(4) != Some(&(FrameKind::Call as u8)) {
            return Err(End::Malformed("a call alone may be so long".into()));
        }
        if !self.partial.is_admitted
            && let Some(start) = unread.get(HEADER_LEN..HEADER_LEN + CALL_START_LEN)
        {
            if let Err(fault) = look(start, whole - HEADER_LEN) {
                return Ok(Err(fault));
            }
            self.partial.is_admitted = true;
        }
        if unread.len() <= FREE_LEN {
            return Ok(Ok(()));
        }
        let has = self.partial.room.as_ref();
        let has = has.map_or(0, OwnedSemaphorePermit::num_permits);
        let units = (unread.len() + FREE_LEN).min(whole).div_ceil(1 << 10);
        let units = u32::try_from(units.saturating_sub(has)).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.room).try_acquire_many_owned(units) else {
            let why = "the server is reading too many large calls: come again";
            return Ok(Err(
                Fault::new(Code::Overloaded, why).with_retry_after(1_000)
            ));
        };
        match &mut self.partial.room {
            Some(room) => room.merge(more),
            none => *none = Some(more),
        }
        Ok(Ok(()))
    }

    /// Keeps nothing of the call of so many bytes that begins the unread bytes.
    fn refuse(&mut self, whole: usize, fault: Fault) -> Came {
        let unread = self.bytes.get(self.taken..).unwrap_or_default();
        let call = unread.get(8..).and_then(<[u8]>::first_chunk);
        let call = call.map_or(0, |call| u64::from_le_bytes(*call));
        self.refused = Refused {
            remaining: whole.saturating_sub(unread.len()),
            skipped: 0,
        };
        (self.bytes, self.taken) = (Vec::new(), 0);
        self.partial = PartialFrame::default();
        Came::Refused(call, fault)
    }

    /// Reads to the end of a call that was refused.
    async fn skip_refused(&mut self) -> Result<(), End> {
        while self.refused.remaining > 0 {
            let (most, passed) = (self.refused.remaining.min(READ_LEN), self.refused.skipped);
            self.bytes.reserve(most);
            let count = self.receive(most, passed, true).await?;
            self.bytes.clear();
            self.refused.remaining -= count;
            self.refused.skipped += count;
            match (count, self.refused.remaining) {
                (0, _) => return Err(End::Gone),
                (_, 0) => self.partial = PartialFrame::default(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends so many bytes at most, as far as there is room reserved, and says how many; none at the end. Waits as long as
    /// a frame may take of which `received` bytes have come, or for ever where none was begun.
    async fn receive(
        &mut self,
        most: usize,
        received: usize,
        is_begun: bool,
    ) -> Result<usize, End> {
        let mut part = (&mut self.read).take(most as u64);
        let read = part.read_buf(&mut self.bytes);
        let count = if is_begun {
            let since = *self.partial.started_at.get_or_insert_with(Instant::now);
            // A large payload is given more time, at a rate that slow lines reach.
            let wait = FRAME_WAIT + Duration::from_secs((received / BYTES_PER_SECOND_MIN) as u64);
            timeout(wait.saturating_sub(since.elapsed()), read).await
        } else {
            Ok(read.await)
        };
        match count {
            Ok(Ok(count)) => Ok(count),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    /// Reads on for a moment: a connection that is closed with bytes unread is reset, and the other side may lose what it
    /// was told last.
    pub(super) async fn linger(&mut self) {
        let mut left = LINGER_LEN;
        let mut bytes = [0; 1 << 10];
        let drained = async {
            while left > 0 {
                match self.read.read(&mut bytes).await {
                    Ok(count) if count > 0 => left = left.saturating_sub(count),
                    _ => return,
                }
            }
        };
        let _ = timeout(LINGER_WAIT, drained).await;
    }

    /// Takes the payload of the frame that begins the unread bytes. A large one is moved, not copied.
    fn take(&mut self, len: usize) -> Vec<u8> {
        let (from, to) = (self.taken + HEADER_LEN, self.taken + HEADER_LEN + len);
        if len > FREE_LEN {
            let rest = self.bytes.split_off(to);
            let mut payload = std::mem::replace(&mut self.bytes, rest);
            payload.drain(..from);
            self.taken = 0;
            return payload;
        }
        let payload = self.bytes[from..to].to_vec();
        self.taken = to;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
            if self.bytes.capacity() > BUFFER_RETAIN_LEN {
                self.bytes = Vec::new();
            }
        }
        payload
    }
}
