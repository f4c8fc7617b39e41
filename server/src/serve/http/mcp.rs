//! `/mcp`: MCP over HTTP, a message a request. The crate `loci-mcp` has the tools.
//!
//! Always true: a key is checked before a message is read; nothing is retained between requests.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::Full;
use loci_mcp::{Dispatcher, MESSAGE_LEN_MAX, McpServer};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::error::Category;
use serde_json::json;

use super::access::AuthenticatedRequest;
use super::{HttpState, Problem};

type Service = StreamableHttpService<McpServer, NeverSessionManager>;

/// Its routes.
pub(super) fn router() -> Router<HttpState> {
    let tools = McpServer::per_request();
    // Names of hosts are checked by the server itself, unless the request shows a key.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_LEN_MAX)
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = Service::new(move || Ok(tools.clone()), sessions, config);
    let answer =
        move |auth: AuthenticatedRequest, request: Request| message(service.clone(), auth, request);
    Router::new().route("/mcp", post(answer))
}

/// Answers a message.
async fn message(
    service: Service,
    auth: AuthenticatedRequest,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    // Its memory is held until the message is answered.
    let mut read = auth
        .http
        .read(body, auth.body_len_max(MESSAGE_LEN_MAX))
        .await?;
    parts.extensions.insert(Dispatcher::new(auth));
    let bytes = Bytes::from(std::mem::take(&mut read.bytes));
    let body = Full::new(bytes.clone());
    let response = service.handle(Request::from_parts(parts, body)).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Err(error) = serde_json::from_slice::<ClientJsonRpcMessage>(&bytes)
    {
        return Ok(invalid_message(&error));
    }
    Ok(response.map(Body::new))
}

/// The answer of JSON-RPC to a body that is no message.
fn invalid_message(error: &serde_json::Error) -> Response {
    let code = match error.classify() {
        Category::Data => -32_600,
        _ => -32_700,
    };
    let error = json!({ "code": code, "message": format!("this is no message: {error}") });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    let kind = (header::CONTENT_TYPE, "application/json");
    (StatusCode::BAD_REQUEST, [kind], body.to_string()).into_response()
}
