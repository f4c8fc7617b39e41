//! `/mcp`: MCP over HTTP, a message a request. `serve/mcp` has the tools.
//!
//! Always true: a key is looked at before a message is read; nothing is kept between requests; where no keys are asked
//! for, a request that a page of another site made is refused.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::Full;
use loci_protocol::fault::{Code, Fault};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::error::Category;
use serde_json::json;

use super::access::Asked;
use super::{Http, Problem};
use crate::serve::mcp::{Assistant, Door, MESSAGE_LEN_MAX};

type Service = StreamableHttpService<Assistant, NeverSessionManager>;

/// Its routes.
pub(super) fn router() -> Router<Http> {
    let assistant = Assistant::of_requests();
    // Names of hosts are looked at here, by whether a key was shown.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_LEN_MAX)
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = Service::new(move || Ok(assistant.clone()), sessions, config);
    let answer = move |asked: Asked, request: Request| message(service.clone(), asked, request);
    Router::new().route("/mcp", post(answer))
}

/// Answers a message.
async fn message(service: Service, asked: Asked, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    if asked.caller.is_local() {
        check_local(&parts)?;
    }
    // Its room is taken until the message is answered.
    let mut read = asked.http.read(body, MESSAGE_LEN_MAX).await?;
    let door = Door::new(move |call| asked.begin(call));
    parts.extensions.insert(door);
    let bytes = Bytes::from(std::mem::take(&mut read.bytes));
    let body = Full::new(bytes.clone());
    let response = service.handle(Request::from_parts(parts, body)).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Err(error) = serde_json::from_slice::<ClientJsonRpcMessage>(&bytes)
    {
        return Ok(no_message(&error));
    }
    Ok(response.map(Body::new))
}

/// What JSON-RPC says of a body that is no message.
fn no_message(error: &serde_json::Error) -> Response {
    let code = match error.classify() {
        Category::Data => -32_600,
        _ => -32_700,
    };
    let error = json!({ "code": code, "message": format!("this is no message: {error}") });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    let kind = (header::CONTENT_TYPE, "application/json");
    (StatusCode::BAD_REQUEST, [kind], body.to_string()).into_response()
}

/// Refuses what a page of another site may have asked a browser on this machine to send.
fn check_local(parts: &Parts) -> Result<(), Fault> {
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let origin = parts.headers.get(header::ORIGIN);
    let origin = origin.map(|origin| Uri::try_from(origin.as_bytes()).ok());
    let is_origin = |origin: &Option<Uri>| {
        let host = origin.as_ref().and_then(Uri::host);
        host.is_some_and(is_loopback)
    };
    if host.is_some_and(|host| is_loopback(host.host())) && origin.as_ref().is_none_or(is_origin) {
        return Ok(());
    }
    let why =
        "no keys are asked for here: Host and Origin must be of this machine, as localhost is";
    Err(Fault::new(Code::Forbidden, why))
}

/// Whether a name of a host is of the loopback.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = |address: std::net::IpAddr| address.is_loopback();
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &str, origin: Option<&str>) -> Result<(), Fault> {
        let request = Request::builder().header(header::HOST, host);
        let request = match origin {
            Some(origin) => request.header(header::ORIGIN, origin),
            None => request,
        };
        check_local(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn without_keys_a_page_of_another_site_is_refused() {
        for (host, origin) in [
            ("localhost:7626", None),
            ("127.0.0.1:7626", Some("http://localhost:6274")),
            ("[::1]:7626", Some("http://127.0.0.1")),
            ("LOCALHOST", Some("https://[::1]:8443")),
        ] {
            assert!(of(host, origin).is_ok(), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("example.org", None),
            ("example.org:7626", Some("http://localhost")),
            ("localhost:7626", Some("https://example.org")),
            ("localhost", Some("null")),
            ("localhost", Some("file://")),
            ("localhost.example.org", None),
            ("127.0.0.1.example.org", None),
            ("", None),
        ] {
            let refused = of(host, origin).unwrap_err();
            assert_eq!(refused.code, Code::Forbidden, "{host} {origin:?}");
        }
    }
}
