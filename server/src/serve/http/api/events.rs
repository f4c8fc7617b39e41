//! Long calls: waited for, or told as server-sent events (`Accept: text/event-stream`), and files as they come.
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

/// How often a silent stream says that it is there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Events and parts that wait for whoever reads them, at most.
const QUEUED_MAX: usize = 4;

/// Whether events are asked for.
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

/// What a call tells, as events. `last`: what is to be told of what it gives in the end.
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
            // Who hears no more wants no more: the call is cancelled as it goes.
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
    // What is wrong is told before the head is.
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
            // The connection ends before the file does, so that nobody takes a part of it for the whole.
            let _ = send.send(Err(std::io::Error::other(fault.message))).await;
        }
    });
    Ok(attachment(
        Body::from_stream(ReceiverStream::new(parts)),
        kind,
        name,
    ))
}

/// A body that is kept rather than shown, whatever it holds.
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
