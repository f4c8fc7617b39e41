//! `/mcp`: MCP over HTTP, a message a request. The crate `loci-mcp` has the tools.
//!
//! Always true: a key is checked before a message is read; nothing is retained between requests.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use loci_mcp::{Dispatcher, HttpService, MESSAGE_LEN_MAX};
use serde_json::error::Category;
use serde_json::json;

use super::access::AuthenticatedRequest;
use super::{HttpState, Problem};

/// Its routes. Names of hosts are checked by the server itself, unless the request shows a key.
pub(super) fn router() -> Router<HttpState> {
    let service = HttpService::default();
    let answer =
        move |auth: AuthenticatedRequest, request: Request| message(service.clone(), auth, request);
    Router::new().route("/mcp", post(answer))
}

/// Answers a message.
async fn message(
    service: HttpService,
    auth: AuthenticatedRequest,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    // Its memory is held until the message is answered.
    let mut read = auth
        .http
        .read(body, auth.body_len_max(MESSAGE_LEN_MAX))
        .await?;
    let bytes = Bytes::from(std::mem::take(&mut read.bytes));
    let request = Request::from_parts(parts, bytes);
    match service.answer(request, Dispatcher::new(auth)).await {
        Ok(response) => Ok(response.map(Body::new)),
        Err(error) => Ok(invalid_message(&error)),
    }
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
