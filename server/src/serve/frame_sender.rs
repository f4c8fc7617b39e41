//! What goes out over a connection: frames, one whole after the other, in the order in which they were handed over.
//!
//! Whoever hands a frame over writes it at once where nothing waits before it and the socket takes it: a reply then needs
//! no other thread. What is left waits for the connection's [`write_all`]. Only plain sockets can be written to in this
//! way; over TLS every frame waits.
//!
//! Start reading at [`Out::send`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt, WriteHalf};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

/// How long the other side may take for [`TOGETHER_LEN`] bytes.
const WRITE_WAIT: Duration = Duration::from_secs(30);
/// Bytes that are written at a time.
const BATCH_LEN: usize = 64 << 10;
/// Frames that are taken from the queue at a time.
const BATCH_FRAMES_MAX: usize = 64;

/// Where a connection's bytes go.
pub(crate) trait WriteTransport: AsyncWrite + Send + Unpin + 'static {
    /// The socket, where it may be written to without waiting.
    fn socket(&self) -> Option<Arc<OwnedWriteHalf>> {
        None
    }
}

impl<S: AsyncWrite + Send + 'static> WriteTransport for WriteHalf<S> {}

/// A socket with several writers.
#[derive(Debug)]
pub(crate) struct Socket(Arc<OwnedWriteHalf>);

impl Socket {
    pub(crate) fn new(half: OwnedWriteHalf) -> Socket {
        Socket(Arc::new(half))
    }
}

impl WriteTransport for Socket {
    fn socket(&self) -> Option<Arc<OwnedWriteHalf>> {
        Some(Arc::clone(&self.0))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.as_ref().as_ref().poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The socket is closed when the last writer is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A frame to be written, with the permits that are released afterwards.
#[derive(Debug)]
pub(crate) struct QueuedFrame {
    bytes: Vec<u8>,
    /// Bytes that were written already.
    written: usize,
    _permits: [Option<OwnedSemaphorePermit>; 2],
}

/// Where frames to be written go.
#[derive(Clone, Debug)]
pub(crate) struct FrameSender(Arc<SendQueue>);

#[derive(Debug)]
struct SendQueue {
    queue: UnboundedSender<QueuedFrame>,
    socket: Option<Arc<OwnedWriteHalf>>,
    /// Frames that were queued and are not written yet.
    queued: Mutex<usize>,
}

impl FrameSender {
    /// Sends a frame. Its permits are released once it is written.
    pub(crate) fn send(&self, bytes: Vec<u8>, permits: [Option<OwnedSemaphorePermit>; 2]) {
        let SendQueue {
            queue,
            socket,
            queued: waiting,
        } = &*self.0;
        let mut waiting = waiting.lock();
        let mut written = 0;
        if let (0, Some(socket)) = (*waiting, socket) {
            // An error is met again by the writer, which ends the connection.
            written = socket.try_write(&bytes).unwrap_or(0);
            if written == bytes.len() {
                return;
            }
        }
        let frame = QueuedFrame {
            bytes,
            written,
            _permits: permits,
        };
        *waiting += usize::from(queue.send(frame).is_ok());
    }
}

/// A sender of frames to `write`, the task that writes queued frames, and a flag that is `true` once that task ended.
pub(crate) fn start<W: WriteTransport>(
    write: W,
) -> (FrameSender, impl Future<Output = ()>, watch::Receiver<bool>) {
    let (queue, outgoing) = unbounded_channel();
    let (gone, is_gone) = watch::channel(false);
    let line = Arc::new(SendQueue {
        queue,
        socket: write.socket(),
        queued: Mutex::new(0),
    });
    // The writer holds no sender, so it ends with the last of them.
    let counted = Arc::downgrade(&line);
    let written = move |count: usize| {
        if let Some(line) = counted.upgrade() {
            *line.queued.lock() -= count;
        }
    };
    let writer = write_all(write, outgoing, written, gone);
    (FrameSender(line), writer, is_gone)
}

/// Writes frames as they come, small ones together, until no one can hand over any more or the other side takes none.
async fn write_all<W: WriteTransport>(
    mut write: W,
    mut outgoing: UnboundedReceiver<QueuedFrame>,
    written: impl Fn(usize),
    gone: watch::Sender<bool>,
) {
    let mut frames = Vec::new();
    let mut together = Vec::new();
    while outgoing.recv_many(&mut frames, BATCH_FRAMES_MAX).await > 0 {
        let count = frames.len();
        let mut failed = false;
        for frame in frames.drain(..) {
            if failed {
                continue;
            }
            let left = frame.bytes.get(frame.written..).unwrap_or_default();
            if together.len() + left.len() > BATCH_LEN {
                failed = !flush(&mut write, &mut together).await;
            }
            if left.len() > BATCH_LEN {
                failed |= !write_with_timeout(&mut write, left).await
            } else {
                together.extend_from_slice(left)
            }
        }
        if failed || !flush(&mut write, &mut together).await {
            break;
        }
        written(count);
    }
    let _ = gone.send(true);
    let _ = timeout(WRITE_WAIT, write.shutdown()).await;
}

async fn flush<W: WriteTransport>(write: &mut W, bytes: &mut Vec<u8>) -> bool {
    let written = bytes.is_empty() || write_with_timeout(write, bytes).await;
    bytes.clear();
    written
}

/// Writes bytes, and returns whether the other side read them in time.
pub(crate) async fn write_with_timeout<W: WriteTransport>(write: &mut W, bytes: &[u8]) -> bool {
    // Each write that makes progress starts the timeout anew.
    for part in bytes.chunks(BATCH_LEN) {
        if !matches!(timeout(WRITE_WAIT, write.write_all(part)).await, Ok(Ok(()))) {
            return false;
        }
    }
    matches!(timeout(WRITE_WAIT, write.flush()).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const SENDERS: u8 = 4;
    const FRAMES_OF_SENDER: u32 = 400;

    /// A frame that says whose it is, its number and its length, and is as long.
    fn frame(sender: u8, number: u32) -> Vec<u8> {
        let len = 9 + (number as usize * 7_919 + usize::from(sender) * 31) % 30_000;
        let mut bytes = vec![sender; len];
        bytes[1..5].copy_from_slice(&number.to_le_bytes());
        bytes[5..9].copy_from_slice(&(len as u32).to_le_bytes());
        bytes
    }

    /// Reads frames until the other side ends; those of a sender are whole and in their order.
    async fn check(mut read: impl tokio::io::AsyncRead + Unpin) {
        let mut next = [0; SENDERS as usize];
        let mut count = 0;
        let mut head = [0; 9];
        while read.read_exact(&mut head).await.is_ok() {
            let number = u32::from_le_bytes(*head[1..].first_chunk().unwrap());
            let len = u32::from_le_bytes(*head[5..].first_chunk().unwrap());
            let mut rest = vec![0; len as usize - 9];
            read.read_exact(&mut rest).await.unwrap();
            let whole = [&head[..], &rest].concat();
            assert!(whole == frame(head[0], number));
            let next = &mut next[usize::from(head[0])];
            assert_eq!(number, *next);
            *next += 1;
            count += 1;
            if count % 100 == 0 {
                // What is sent meanwhile has to wait.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        assert_eq!(next, [FRAMES_OF_SENDER; SENDERS as usize]);
    }

    async fn send_from_threads(write: impl WriteTransport) {
        let (out, writer, _) = start(write);
        let writer = tokio::spawn(writer);
        for sender in 0..SENDERS {
            let out = out.clone();
            std::thread::spawn(move || {
                for number in 0..FRAMES_OF_SENDER {
                    out.send(frame(sender, number), [None, None]);
                }
            });
        }
        drop(out);
        writer.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn frames_of_several_threads_arrive_whole_and_in_order_over_a_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let stream = TcpStream::connect(to).await.unwrap();
        let (other, _) = listener.accept().await.unwrap();
        let (_read, write) = stream.into_split();
        let sending = tokio::spawn(send_from_threads(Socket::new(write)));
        check(other).await;
        sending.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn frames_of_several_threads_arrive_whole_and_in_order_over_a_slow_transport() {
        let (here, there) = tokio::io::duplex(8 << 10);
        let (_read, write) = tokio::io::split(here);
        let sending = tokio::spawn(async move {
            send_from_threads(write).await;
            drop(_read);
        });
        check(there).await;
        sending.await.unwrap();
    }

    #[tokio::test]
    async fn permits_of_a_frame_are_released_when_it_is_written() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let stream = TcpStream::connect(to).await.unwrap();
        let (mut other, _) = listener.accept().await.unwrap();
        let (_read, write) = stream.into_split();
        let (out, writer, _) = start(Socket::new(write));
        let writer = tokio::spawn(writer);
        let semaphore = Arc::new(tokio::sync::Semaphore::new(2));
        let permit = || Arc::clone(&semaphore).try_acquire_owned().ok();
        out.send(vec![1; 10], [permit(), None]);
        assert_eq!(semaphore.available_permits(), 2);
        // More than the socket takes without being read.
        out.send(vec![2; 64 << 20], [permit(), None]);
        out.send(vec![3; 10], [None, permit()]);
        tokio::task::yield_now().await;
        assert_eq!(semaphore.available_permits(), 0);
        let mut all = vec![0; 10 + (64 << 20) + 10];
        other.read_exact(&mut all).await.unwrap();
        drop(out);
        writer.await.unwrap();
        assert_eq!(semaphore.available_permits(), 2);
        assert_eq!(all[all.len() - 11..][..2], [2, 3]);
    }
}
