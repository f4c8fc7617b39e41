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

use super::Answered;
use crate::serve::http::access::Asked;
use crate::serve::http::{Problem, UnderWay};
use crate::service::{Given, Item};

/// How often a silent stream says that it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Events and parts that wait for whoever reads them, at most.
const WAITING_MAX: usize = 4;

/// Whether events are asked for.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|kinds| kinds.to_str().ok());
    accepts.is_some_and(|kinds| kinds.contains("text/event-stream"))
}

/// Carries out a long call as its request wants to hear of it.
pub(super) async fn long(
    asked: Asked,
    headers: &HeaderMap,
    call: impl Into<Call>,
) -> Answered<Response> {
    let under_way = asked.begin(call)?;
    if wants_events(headers) {
        Ok(events(under_way, Ok))
    } else {
        Ok(under_way.last().await?.into_response())
    }
}

/// What a call tells, as events. `last`: what is to be told of what it gives in the end.
pub(super) fn events(under_way: UnderWay, last: fn(Given) -> Answered<Given>) -> Response {
    let (send, events) = mpsc::channel::<Result<Event, Infallible>>(WAITING_MAX);
    tokio::spawn(async move {
        let mut under_way = under_way;
        while let Some(item) = under_way.item().await {
            let Item::Progress(progress) = item else {
                continue;
            };
            let told = serde_json::to_string(&progress).unwrap_or_default();
            let event = Event::default().event("progress").data(told);
            // Who hears no more wants no more: the call is cancelled as it goes.
            if send.send(Ok(event)).await.is_err() {
                return;
            }
        }
        let last = match under_way.last().await.map_err(Problem::from).and_then(last) {
            Ok(given) => Event::default().event("done").data(given.told()),
            Err(problem) => Event::default()
                .event("fault")
                .data(problem.told().to_string()),
        };
        let _ = send.send(Ok(last)).await;
    });
    let alive = KeepAlive::new().interval(ALIVE_EVERY);
    Sse::new(ReceiverStream::new(events))
        .keep_alive(alive)
        .into_response()
}

/// A file that a call gives in parts.
pub(super) async fn file(mut under_way: UnderWay, kind: &str, name: &str) -> Answered<Response> {
    // What is wrong is told before the head is.
    let Some(first) = under_way.item().await else {
        let (Given::Nothing | Given::Number(_) | Given::Json(_)) = under_way.last().await? else {
            let why = "the call gave something else than a file";
            return Err(Fault::new(Code::Internal, why).into());
        };
        return Ok(with_head(Body::empty(), kind, name));
    };
    let (send, parts) = mpsc::channel::<Result<Bytes, std::io::Error>>(WAITING_MAX);
    tokio::spawn(async move {
        let mut next = Some(first);
        while let Some(item) = next {
            if let Item::Bytes(bytes) = item
                && send.send(Ok(bytes.into())).await.is_err()
            {
                return;
            }
            next = under_way.item().await;
        }
        if let Err(fault) = under_way.last().await {
            // The connection ends before the file does, so that nobody takes a part of it for the whole.
            let _ = send.send(Err(std::io::Error::other(fault.message))).await;
        }
    });
    Ok(with_head(
        Body::from_stream(ReceiverStream::new(parts)),
        kind,
        name,
    ))
}

/// A body that is kept rather than shown, whatever it holds.
fn with_head(body: Body, kind: &str, name: &str) -> Response {
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
    response.unwrap_or_else(|_| Problem::of(StatusCode::INTERNAL_SERVER_ERROR).into_response())
}
