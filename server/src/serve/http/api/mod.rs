//! The HTTP API for programs: the calls of the wire protocol as resources with JSON. `/openapi.json` describes every
//! route.
//!
//! Always true: a handler reads its path, query and body, makes one call, and returns its result.
//!
//! Start reading at [`router`].

mod admin;
mod collections;
mod documents;
mod events;
mod extract;
mod form;
mod graph;
mod items;
mod openapi;
mod records;
mod search;
mod write;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{delete, get, post, put};

use super::{HttpState, Problem};
pub(super) use extract::add_encoding_to_etag;

/// What a handler gives.
type ApiResult<T> = Result<T, Problem>;

/// Its routes.
pub(super) fn router() -> Router<HttpState> {
    // Reads have an entity tag, so that an unchanged answer is not sent twice.
    let looks = Router::new()
        .route("/v1/documents", get(documents::list).post(documents::post))
        .route(
            "/v1/documents/{document}",
            get(documents::show)
                .put(documents::put)
                .delete(documents::delete),
        )
        .route("/v1/chunks/{chunk}", get(documents::chunk))
        .route("/v1/concepts", get(graph::concepts))
        .route("/v1/concepts/{name}", get(graph::concept))
        .route("/v1/paths", get(graph::path))
        .route("/v1/citations", get(graph::citations))
        .route("/v1/works", get(graph::works))
        .route("/v1/communities", get(graph::communities))
        .route("/v1/types", get(graph::types).delete(admin::forget_types))
        .route("/v1/items", get(items::list).post(items::add))
        .route(
            "/v1/items/{item}",
            put(items::replace).delete(items::delete),
        )
        .route("/v1/item-figures", get(items::stats))
        .route("/v1/records", get(records::list).delete(records::forget))
        .route("/v1/records/{record}", get(records::show))
        .route("/v1/stats", get(admin::stats))
        .route("/v1/usage", get(admin::usage))
        .route("/v1/settings", get(admin::settings))
        .route("/v1/settings/{name}", put(admin::set))
        .route("/v1/keys", get(admin::keys).post(admin::add_key))
        .route("/openapi.json", get(openapi::show))
        .layer(from_fn(extract::conditional));
    Router::new()
        .merge(looks)
        .route("/v1/search", get(search::get).post(search::search))
        .route("/v1/ask", post(search::ask))
        .route("/v1/prompt", post(search::prompt))
        .route(
            "/v1/documents/{document}/original",
            get(documents::original),
        )
        .route("/v1/documents/{document}/text", get(documents::text))
        .route(
            "/v1/documents/{document}/assets/{name}",
            get(documents::asset),
        )
        .route("/v1/graph", get(graph::export).put(graph::import))
        .route("/v1/concept-edits", post(graph::edit))
        .route("/v1/concept-edits/{edit}", delete(graph::undo))
        .route("/v1/records/{record}/feedback", post(records::feedback))
        .route("/v1/replay", post(records::replay))
        .route("/v1/write", post(write::write))
        .route("/v1/finish", post(admin::finish))
        .route("/v1/analyse", post(admin::analyse))
        .route("/v1/compact", post(admin::compact))
        .route("/v1/check", post(admin::check))
        .route("/v1/repair", post(admin::repair))
        .route("/v1/refit", post(admin::refit))
        .route("/v1/backups/{name}", put(admin::backup))
        .route("/v1/export", get(admin::export))
        .route("/v1/types/consolidate", post(admin::consolidate_types))
        .route("/v1/keys/{id}", delete(admin::revoke_key))
        .route("/collections/{name}/link", post(collections::link))
}
