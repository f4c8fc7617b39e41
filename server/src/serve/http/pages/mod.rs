//! Pages for people: a search, a reader that citations lead to, a list of documents, and a form for a key.
//!
//! Always true:
//!
//! - A page is plain HTML that works without its script. It has no inline script or style, and loads nothing from other
//!   hosts.
//! - Text from a store is escaped. Of the files in a document, a browser shows only raster pictures.
//! - The cookie has a session token in place of the key. Only pages accept it, and no other site can use it.
//!
//! Start reading at [`router`], then [`principal`].

mod documents;
mod fields;
mod files;
mod layout;
mod origin;
mod outline;
mod paged_document;
mod path_params;
mod pictures;
mod principal;
mod reader;
mod search;
mod sessions;
mod sign_in;
mod text_blocks;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{self, Entry, HeaderName};
use axum::middleware::map_response;
use axum::response::Response;
use loci_protocol::fault::{Code, Fault};

use super::HttpState;
pub(super) use reader::is_browser;
pub(super) use sessions::Sessions;

/// What a browser may do with a page: show its text, its style, its script, and pictures of this server.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// What every response of a page says, unless it says otherwise itself.
///
/// A referrer goes to this server alone: with none at all, a browser would not tell where its forms come from.
const FIELDS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CACHE_CONTROL, "private, no-store"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Their routes.
pub(super) fn router() -> Router<HttpState> {
    Router::new()
        .merge(documents::router())
        .merge(files::router())
        .merge(pictures::router())
        .merge(reader::router())
        .merge(search::router())
        .merge(sign_in::router())
        .layer(map_response(with_page_headers))
}

/// A path that leads nowhere, for a person.
pub(super) fn not_found() -> Response {
    let why = "there is no such page: a document's key is percent-encoded in a path";
    add_page_headers(layout::error_page(None, &Fault::new(Code::NotFound, why)))
}

async fn with_page_headers(response: Response) -> Response {
    add_page_headers(response)
}

fn add_page_headers(mut response: Response) -> Response {
    for (name, value) in FIELDS {
        if let Entry::Vacant(field) = response.headers_mut().entry(name) {
            field.insert(HeaderValue::from_static(value));
        }
    }
    response
}
