//! Long calls: awaited, or followed by server-sent events (`Accept: text/event-stream`), and files as they are read.
//!
//! Events are `progress` with `{"step","done","total"}`, and at the end `done` with what the call gives, or `fault` with
//! the problem.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use loci_protocol::call::Call;
use loci_protocol::fault::{Code, Fault};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::ApiResult;
use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::{PendingCall, Problem};
use crate::service::{CallOutput, StreamItem};

/// How often a silent stream sends a keep-alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Events and parts that can wait to be read.
const QUEUED_MAX: usize = 4;

/// Whether the client accepts events.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|kinds| kinds.to_str().ok());
    accepts.is_some_and(|kinds| kinds.contains("text/event-stream"))
}

/// Carries out a long call as its request wants to hear of it.
pub(super) async fn run_long_call(
    auth: AuthenticatedRequest,
    headers: &HeaderMap,
    call: impl Into<Call>,
) -> ApiResult<Response> {
    let pending = auth.begin(call)?;
    if wants_events(headers) {
        Ok(event_stream(pending, Ok))
    } else {
        Ok(pending.output().await?.into_response())
    }
}

/// The progress and output of a call as events. `last`: turns its output into that of the last event.
pub(super) fn event_stream(
    pending: PendingCall,
    last: fn(CallOutput) -> ApiResult<CallOutput>,
) -> Response {
    let (send, events) = mpsc::channel::<Result<Event, Infallible>>(QUEUED_MAX);
    tokio::spawn(async move {
        let mut pending = pending;
        while let Some(item) = pending.next_item().await {
            let StreamItem::Progress(progress) = item else {
                continue;
            };
            let data = serde_json::to_string(&progress).unwrap_or_default();
            let event = Event::default().event("progress").data(data);
            // The client is gone: dropping the call cancels it.
            if send.send(Ok(event)).await.is_err() {
                return;
            }
        }
        let last = match pending.output().await.map_err(Problem::from).and_then(last) {
            Ok(output) => Event::default().event("done").data(output.into_json()),
            Err(problem) => Event::default()
                .event("fault")
                .data(problem.to_json().to_string()),
        };
        let _ = send.send(Ok(last)).await;
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE_INTERVAL);
    Sse::new(ReceiverStream::new(events))
        .keep_alive(alive)
        .into_response()
}

/// A file that a call gives in parts.
pub(super) async fn file_stream(
    mut pending: PendingCall,
    kind: &str,
    name: &str,
) -> ApiResult<Response> {
    // A fault is returned before the head of the response.
    let Some(first) = pending.next_item().await else {
        let (CallOutput::Empty | CallOutput::Number(_) | CallOutput::Json(_)) =
            pending.output().await?
        else {
            let why = "the call gave something else than a file";
            return Err(Fault::new(Code::Internal, why).into());
        };
        return Ok(attachment(Body::empty(), kind, name));
    };
    let (send, parts) = mpsc::channel::<Result<Bytes, std::io::Error>>(QUEUED_MAX);
    tokio::spawn(async move {
        let mut next = Some(first);
        while let Some(item) = next {
            if let StreamItem::Bytes(bytes) = item
                && send.send(Ok(bytes.into())).await.is_err()
            {
                return;
            }
            next = pending.next_item().await;
        }
        if let Err(fault) = pending.output().await {
            // The connection ends early, so that the client does not take a part for the whole.
            let _ = send.send(Err(std::io::Error::other(fault.message))).await;
        }
    });
    Ok(attachment(
        Body::from_stream(ReceiverStream::new(parts)),
        kind,
        name,
    ))
}

/// A body that browsers save and do not show.
fn attachment(body: Body, kind: &str, name: &str) -> Response {
    let name = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    let response = Response::builder()
        .status(StatusCode::OK)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, "private, no-cache")
        .header(
            header::CONTENT_DISPOSITION,
            format!("attachment; filename*=UTF-8''{name}"),
        )
        .body(body);
    response
        .unwrap_or_else(|_| Problem::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response())
}
