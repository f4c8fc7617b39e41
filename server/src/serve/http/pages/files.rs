//! The style and the script of pages, which are part of the binary.
//!
//! Their paths hold a hash of their content, so that a browser keeps them for good and asks for new ones when they change.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::serve::http::{HttpState, Problem};

/// Bytes of a hash that a path shows.
const HASH_LEN: usize = 8;

/// Each file's name, kind and content.
const FILES: [(&str, &str, &str); 3] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("style.css"),
    ),
    (
        "script.js",
        "text/javascript; charset=utf-8",
        include_str!("script.js"),
    ),
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
];

/// The hash of all of them.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, content) in FILES {
        hash.update(name);
        hash.update(content);
    }
    let bytes = hash.finalize();
    let digits = bytes
        .iter()
        .take(HASH_LEN)
        .map(|byte| format!("{byte:02x}"));
    digits.collect()
});

/// Their routes.
pub(super) fn router() -> Router<HttpState> {
    Router::new().route("/pages/{hash}/{name}", get(file))
}

/// The path of a file.
pub(super) fn path(name: &str) -> String {
    format!("/pages/{}/{name}", *HASH)
}

/// A file, or nothing new where the browser has it.
async fn file(Path((hash, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let Some((_, kind, content)) = found.filter(|_| hash == *HASH) else {
        return Problem::from_status(StatusCode::NOT_FOUND).into_response();
    };
    let tag = format!("\"{}\"", *HASH);
    let if_none_match = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|if_none_match| if_none_match.to_str().ok());
    let is_held = if_none_match.is_some_and(|held| held.contains(&tag));
    let fields = [
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::ETAG, &tag),
        (header::CONTENT_TYPE, kind),
    ];
    if is_held {
        (StatusCode::NOT_MODIFIED, fields).into_response()
    } else {
        (fields, *content).into_response()
    }
}
