//! `/metrics`: who may read the server's metrics; and how requests are counted in them.
//!
//! Always true: metrics of several stores need the operator's token, and no key of a store reads them; a path is counted by
//! its pattern, never literally.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Method, Response as Plain, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use loci_protocol::call::Role;
use loci_protocol::fault::{Code, Fault};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::access::{bearer, check_local};
use super::{Connection, HttpState, Problem};
use crate::service::{self, audit};

/// The form that Prometheus reads.
const EXPOSITION_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics, for clients that may read them.
pub(super) async fn show_metrics(
    State(http): State<HttpState>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    allow(&http, &connection, &mut parts).await?;
    let text = http.exporter.render(&http.shared.stores);
    let mut response = Plain::new(text.into());
    let kind = axum::http::HeaderValue::from_static(EXPOSITION_FORMAT);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Whether who asks may read them: everybody where no keys are asked for, else who has the token; and of a server with one
/// store also its admins.
async fn allow(
    http: &HttpState,
    connection: &Connection,
    parts: &mut Parts,
) -> Result<(), Problem> {
    let (shared, token) = (&http.shared, &http.options.metrics_token);
    if shared.stores.is_without_keys() {
        check_local(parts, &http.options.cors_origins)?;
        return Ok(connection.admit(shared)?);
    }
    let shown = bearer(parts)?.to_owned();
    if let Some(token) = token
        && is_same(token.bytes(), shown.as_bytes())
    {
        shared.record_valid_key(connection.peer);
        return Ok(connection.admit(shared)?);
    }
    if shared.stores.is_single() {
        let caller = http.caller(parts, &shown).await?;
        service::check_role(&caller, Role::Admin)?;
        return Ok(());
    }
    match token {
        Some(_) => {
            audit::record_access(connection.peer, "metrics", None);
            shared.delay_failure(connection.peer).await;
            let why = "give the token for metrics: Authorization: Bearer TOKEN";
            Err(Fault::new(Code::Unauthorized, why).into())
        }
        None => Err(Problem::no_such_route()),
    }
}

/// Compares in a time that reveals neither where they differ nor how long they are.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}

/// Counts a request by the pattern of its path.
pub(super) async fn count_request(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = method_label(request.method());
    let begun = Instant::now();
    let response = next.run(request).await;
    let route = match &route {
        Some(route) if response.status() != StatusCode::METHOD_NOT_ALLOWED => route.as_str(),
        _ => "none",
    };
    audit::record_request(method, route, response.status().as_u16(), begun.elapsed());
    response
}

/// A method's name, if it is one that has a meaning here.
fn method_label(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let mut known = known.into_iter();
    known
        .find(|name| *name == method.as_str())
        .unwrap_or("other")
}
