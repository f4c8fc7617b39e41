//! The description of the API: OpenAPI 3.1.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The description, as it is served. Tests hold it against the routes and against what they answer.
pub(crate) const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn show() -> Response {
    let kind = (header::CONTENT_TYPE, "application/json");
    ([kind], DOCUMENT).into_response()
}
