//! A stream whose other side has to take what is written to it, at a rate that slow lines reach.
//!
//! Always true: once a write has to wait, [`PART_LEN`] bytes are taken within [`PART_WAIT`], or all that there was to write;
//! else the stream fails.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that are taken within [`PART_WAIT`] at least.
const PART_LEN: usize = 64 << 10;
/// How long a part may take.
const PART_WAIT: Duration = Duration::from_secs(30);

/// A stream that fails when the other side does not read.
#[derive(Debug)]
pub(super) struct StallTimeout<S> {
    stream: S,
    /// When the current part must be written.
    end: Pin<Box<Sleep>>,
    is_waiting: bool,
    /// Bytes of that part that were written.
    accepted_len: usize,
}

impl<S> StallTimeout<S> {
    pub(super) fn new(stream: S) -> StallTimeout<S> {
        StallTimeout {
            stream,
            end: Box::pin(sleep(PART_WAIT)),
            is_waiting: false,
            accepted_len: 0,
        }
    }

    /// What becomes of a write that went so.
    fn track_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        went: Poll<T>,
        len: impl Fn(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match went {
            Poll::Ready(went) => {
                self.accepted_len = self.accepted_len.saturating_add(len(&went));
                if self.accepted_len >= PART_LEN {
                    self.is_waiting = false;
                }
                Poll::Ready(Ok(went))
            }
            Poll::Pending => {
                if !self.is_waiting {
                    (self.is_waiting, self.accepted_len) = (true, 0);
                    self.end.as_mut().reset(Instant::now() + PART_WAIT);
                }
                ready!(self.end.as_mut().poll(cx));
                let why = "the client does not read the response";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
        }
    }
}

/// How much a write took.
fn accepted(written: &io::Result<usize>) -> usize {
    *written.as_ref().unwrap_or(&0)
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.track_write(cx, went, accepted).map(Result::flatten)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.track_write(cx, went, accepted).map(Result::flatten)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let went = Pin::new(&mut self.stream).poll_flush(cx);
        // Nothing is left to be taken.
        self.track_write(cx, went, |_| PART_LEN)
            .map(Result::flatten)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let went = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.track_write(cx, went, |_| PART_LEN)
            .map(Result::flatten)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    /// How long a file of so many bytes is written, of which `part` bytes are read every `wait`; an error's kind where it
    /// ended so.
    async fn write_to_slow_peer(
        len: usize,
        part: usize,
        wait: Duration,
    ) -> (Duration, Option<io::ErrorKind>) {
        let (here, mut there) = duplex(1 << 10);
        let started = Instant::now();
        let reading = tokio::spawn(async move {
            let mut bytes = vec![0; part];
            while there.read_exact(&mut bytes).await.is_ok() {
                sleep(wait).await;
            }
        });
        let mut paced = StallTimeout::new(here);
        let sent = async {
            paced.write_all(&vec![1; len]).await?;
            paced.flush().await
        };
        let failed = sent.await.err().map(|error| error.kind());
        reading.abort();
        (started.elapsed(), failed)
    }

    #[tokio::test(start_paused = true)]
    async fn write_times_out_when_the_peer_reads_one_byte_at_a_time() {
        let (took, failed) = write_to_slow_peer(1 << 20, 1, Duration::from_secs(1)).await;
        assert_eq!(failed, Some(io::ErrorKind::TimedOut));
        assert!(took <= PART_WAIT + Duration::from_secs(2), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn write_to_a_slow_but_steady_peer_does_not_time_out() {
        // 4 KiB a second: twice what is asked.
        let (took, failed) = write_to_slow_peer(1 << 20, 4 << 10, Duration::from_secs(1)).await;
        assert_eq!(failed, None);
        assert!(took > Duration::from_secs(200), "{took:?}");
    }
}
