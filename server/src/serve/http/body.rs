//! Bodies of requests, read within bounds of memory and time, and permits for those of responses.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use loci_protocol::fault::{Code, Fault};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::{HttpState, Problem};

/// Bytes of a body of JSON at most.
pub(crate) const JSON_LEN_MAX: usize = 2 << 20;
/// Bytes of a body that need no permit.
const UNCOUNTED_LEN_MAX: usize = 64 << 10;
/// How long a body is waited for, beside the time that its length allows.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// Lowest rate of a long body, in bytes a second.
const BYTES_PER_SECOND_MIN: usize = 256 << 10;

/// The bytes of a body, and the permit of their memory.
#[derive(Debug)]
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// Holds a permit for each large response to a read until it was sent. A response to a write is sent without one. Files,
/// which are sent in parts, hold a permit where they are read.
pub(super) async fn limit_response_memory(
    State(http): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
    let response = next.run(request).await;
    let len = response.body().size_hint().exact();
    let Some(len) = len.filter(|len| is_look && *len > UNCOUNTED_LEN_MAX as u64) else {
        return response;
    };
    match http.shared.acquire_response_memory(len) {
        Ok(permit) => response.map(|body| {
            let permit = Arc::new(permit);
            Body::new(LimitedBody { body, permit })
        }),
        Err(fault) => Problem::from(fault).into_response(),
    }
}

/// A body whose bytes hold its permit while they wait.
struct LimitedBody {
    body: Body,
    permit: Arc<OwnedSemaphorePermit>,
}

/// Bytes with their permit.
struct LimitedBytes {
    bytes: Bytes,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for LimitedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let attach_permit = |bytes: Bytes| {
            let permit = Arc::clone(&self.permit);
            Bytes::from_owner(LimitedBytes {
                bytes,
                _permit: permit,
            })
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(attach_permit))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpState {
    /// Reads a body of so many bytes at most. Permits are acquired as bytes arrive, whatever length was announced.
    ///
    /// # Errors
    /// [`Code::TooLarge`], [`Code::Overloaded`] where no permit is free, [`Code::Deadline`] for one that arrives too slowly,
    /// [`Code::Malformed`] for one that breaks off.
    pub(crate) async fn read(&self, body: Body, most: usize) -> Result<ReadBody, Fault> {
        let mut body = body;
        let begun = Instant::now();
        let mut read = self.empty_body();
        loop {
            let by_length = Duration::from_secs((read.bytes.len() / BYTES_PER_SECOND_MIN) as u64);
            let part = match timeout_at(begun + BODY_WAIT + by_length, body.frame()).await {
                Ok(None) => return Ok(read),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Ok(Some(Err(_))) => {
                    return Err(Fault::new(Code::Malformed, "the body ended too early"));
                }
                Err(_) => return Err(Fault::new(Code::Deadline, "the body arrived too slowly")),
            };
            self.append(&mut read, &part, most)?;
        }
    }

    /// What a body is before its first byte.
    pub(crate) fn empty_body(&self) -> ReadBody {
        ReadBody {
            bytes: Vec::new(),
            permit: None,
        }
    }

    /// Appends a part, if a permit is free.
    ///
    /// # Errors
    /// [`Code::TooLarge`] and [`Code::Overloaded`].
    pub(crate) fn append(
        &self,
        read: &mut ReadBody,
        part: &[u8],
        most: usize,
    ) -> Result<(), Fault> {
        let len = read.bytes.len() + part.len();
        if len > most {
            let why = format!("the body has more than {most} bytes");
            return Err(Fault::new(Code::TooLarge, why));
        }
        if len > UNCOUNTED_LEN_MAX {
            self.reserve(read, len)?;
        }
        read.bytes.extend_from_slice(part);
        Ok(())
    }

    /// Acquires permits for so many times the length of a long body.
    ///
    /// # Errors
    /// [`Code::Overloaded`].
    pub(crate) fn grow_permit(&self, read: &mut ReadBody, factor: usize) -> Result<(), Fault> {
        let len = read.bytes.len();
        if len > UNCOUNTED_LEN_MAX {
            self.reserve(read, len * factor)
        } else {
            Ok(())
        }
    }

    /// Acquires the permits that a body of so many bytes still needs.
    fn reserve(&self, read: &mut ReadBody, len: usize) -> Result<(), Fault> {
        let has = read
            .permit
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let units = len.div_ceil(1 << 10).saturating_sub(has);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.shared.request_memory).try_acquire_many_owned(units);
        let Ok(more) = more else {
            let why = "the server is reading too many large bodies: try again later";
            return Err(Fault::new(Code::Overloaded, why).with_retry_after(1_000));
        };
        match &mut read.permit {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }

    /// Bytes of a file at most.
    pub(crate) fn file_len_max(&self) -> usize {
        self.shared.limits.payload_len_max as usize
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn response_memory_is_released_when_the_body_bytes_are_dropped() {
        let memory = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&memory).try_acquire_owned().unwrap();
        let mut limited = LimitedBody {
            body: Body::from("answer"),
            permit: Arc::new(permit),
        };
        assert_eq!(limited.size_hint().exact(), Some(6));
        let bytes = limited.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(limited);
        // They wait to be sent.
        assert_eq!(memory.available_permits(), 0);
        assert_eq!(&bytes[..], b"answer");
        drop(bytes);
        assert_eq!(memory.available_permits(), 1);
    }
}
