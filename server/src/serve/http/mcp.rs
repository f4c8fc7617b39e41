//! `/mcp`: MCP over HTTP, a message a request. `serve/mcp` has the tools.
//!
//! Always true: a key is looked at before a message is read; nothing is kept between requests.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::Full;
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
    // Its room is taken until the message is answered.
    let mut read = asked
        .http
        .read(body, asked.body_len_max(MESSAGE_LEN_MAX))
        .await?;
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
