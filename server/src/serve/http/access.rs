//! Who makes a request: the key that it shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Extension, FromRequestParts};
use axum::http::header::{self, AUTHORIZATION, CONTENT_LENGTH};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Uri};
use loci_mcp::{Reading, StoreReader};
use loci_protocol::call::{Call, Role};
use loci_protocol::fault::{Code, Fault};
use loci_views::{ReadCall, View};
use tokio::sync::OwnedSemaphorePermit;

use super::{Connection, HttpState, OutputForm, PendingCall, Problem};
use crate::service::traces::ParentSpan;
use crate::service::{self, CallOutput, Caller, audit};

/// The store that is meant, where callers need no key or several stores have theirs.
const STORE_FIELD: &str = "loci-store";
/// How long the request may take, in milliseconds.
const TIMEOUT_FIELD: &str = "loci-timeout-ms";
/// The trace that the request is part of, as W3C Trace Context says.
const TRACE_FIELD: &str = "traceparent";

/// A request that shows a key in `Authorization: Bearer KEY`, which was looked at; it was counted.
#[derive(Clone, Debug)]
pub(crate) struct AuthenticatedRequest {
    /// What all requests share.
    pub(crate) http: HttpState,
    /// Who makes it.
    pub(crate) caller: Caller,
    /// When nobody waits for it any more, where it says so.
    deadline: Option<Instant>,
}

impl AuthenticatedRequest {
    /// A request of this caller.
    pub(crate) fn new(http: HttpState, caller: Caller) -> AuthenticatedRequest {
        AuthenticatedRequest {
            http,
            caller,
            deadline: None,
        }
    }

    /// Whether the key may make this call, which needs this role: asked before its body is read. A refusal is noted as that
    /// of a call.
    ///
    /// # Errors
    /// [`Code::Forbidden`].
    pub(crate) fn check_role(&self, call: &'static str, role: Role) -> Result<(), Fault> {
        let allowed = service::check_role(&self.caller, role);
        if let Err(fault) = &allowed {
            audit::record_call(&self.caller, call, role, Duration::ZERO, Some(fault));
        }
        allowed
    }

    /// Counts another call of the same request.
    ///
    /// # Errors
    /// [`Code::TooMany`].
    pub(crate) fn count_call(&self) -> Result<(), Fault> {
        service::admit(&self.caller, None, 0)
    }

    /// Bytes that the key lets a body have, and no more than `most`.
    pub(crate) fn body_len_max(&self, most: usize) -> usize {
        match self.caller.call_bytes_max {
            Some(of_key) => most.min(of_key as usize),
            None => most,
        }
    }

    /// Starts a call, whose output becomes JSON.
    ///
    /// # Errors
    /// Those of [`HttpState::begin`].
    pub(crate) fn begin(&self, call: impl Into<Call>) -> Result<PendingCall, Fault> {
        self.begin_with_permit(call, None)
    }

    /// Starts a call whose body holds this permit for memory.
    ///
    /// # Errors
    /// Those of [`HttpState::begin`].
    pub(crate) fn begin_with_permit(
        &self,
        call: impl Into<Call>,
        body_permit: Option<OwnedSemaphorePermit>,
    ) -> Result<PendingCall, Fault> {
        self.begin_as(call.into(), body_permit, OutputForm::Json)
    }

    fn begin_as(
        &self,
        call: Call,
        body_permit: Option<OwnedSemaphorePermit>,
        form: OutputForm,
    ) -> Result<PendingCall, Fault> {
        let wait = self
            .deadline
            .map(|at| at.saturating_duration_since(Instant::now()));
        self.http.begin(&self.caller, call, wait, body_permit, form)
    }

    /// The output of a call.
    ///
    /// # Errors
    /// Those of [`HttpState::begin`] and [`service::perform`].
    pub(crate) async fn call(&self, call: impl Into<Call>) -> Result<CallOutput, Fault> {
        self.begin(call)?.output().await
    }

    /// The view that a call gives.
    ///
    /// # Errors
    /// Those of [`HttpState::begin`] and [`service::perform`].
    pub(crate) async fn view<C: ReadCall>(&self, call: C) -> Result<C::View, Fault> {
        let pending = self.begin_as(call.into(), None, OutputForm::View)?;
        C::downcast(pending.view().await?)
    }
}

impl StoreReader for AuthenticatedRequest {
    fn read(&self, call: Call) -> Reading<Box<dyn View>> {
        let pending = self.begin_as(call, None, OutputForm::View);
        Box::pin(async { pending?.view().await })
    }

    fn read_file(&self, call: Call, len_max: usize) -> Reading<(Vec<u8>, bool)> {
        let pending = self.begin(call);
        Box::pin(async move { pending?.bytes(len_max).await })
    }
}

impl FromRequestParts<HttpState> for AuthenticatedRequest {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        http: &HttpState,
    ) -> Result<AuthenticatedRequest, Problem> {
        let deadline = wait(parts)?.and_then(|wait| Instant::now().checked_add(wait));
        let key = bearer(parts)?.to_owned();
        let caller = http.caller(parts, &key).await?;
        Ok(AuthenticatedRequest {
            http: http.clone(),
            caller,
            deadline,
        })
    }
}

/// How long a request may take, where it says so.
fn wait(parts: &Parts) -> Result<Option<Duration>, Fault> {
    let Some(value) = parts.headers.get(TIMEOUT_FIELD) else {
        return Ok(None);
    };
    let wait_ms: Option<u32> = value.to_str().ok().and_then(|value| value.parse().ok());
    match wait_ms.filter(|ms| *ms > 0) {
        Some(ms) => Ok(Some(Duration::from_millis(ms.into()))),
        None => {
            let why = "Loci-Timeout-Ms: give a number of milliseconds, 1 or more";
            Err(Fault::new(Code::Invalid, why))
        }
    }
}

/// The key of a request, empty where it shows none.
pub(super) fn bearer(parts: &Parts) -> Result<&str, Fault> {
    let Some(value) = parts.headers.get(AUTHORIZATION) else {
        return Ok("");
    };
    let value = value.to_str().ok().and_then(|value| value.split_once(' '));
    match value {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(key.trim()),
        _ => {
            let why = "Authorization: give Bearer and the key";
            Err(Fault::new(Code::Unauthorized, why))
        }
    }
}

impl HttpState {
    /// Who has this key; counts the request.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] for a wrong key, [`Code::TooMany`] and [`Code::TooLarge`] as the key's limits say, and
    /// [`Code::Overloaded`] where the server has too many connections.
    pub(crate) async fn caller(&self, parts: &mut Parts, key: &str) -> Result<Caller, Fault> {
        let connection = Extension::<Arc<Connection>>::from_request_parts(parts, self).await;
        let Ok(Extension(connection)) = connection else {
            return Err(Fault::new(
                Code::Internal,
                "the request is of no connection",
            ));
        };
        let store = parts.headers.get(STORE_FIELD);
        let store = store
            .and_then(|name| name.to_str().ok())
            .unwrap_or_default();
        if key.is_empty() && self.shared.stores.requires_keys() {
            let why = "show a key: Authorization: Bearer KEY";
            return Err(Fault::new(Code::Unauthorized, why));
        }
        let known = connection.state.lock().key.clone();
        let caller = self
            .shared
            .authenticate(key, store, connection.peer, "http", known.as_deref())
            .await?;
        if known.as_ref() != Some(&caller.key) {
            connection.state.lock().key = Some(caller.key.clone());
        }
        if caller.is_local() {
            check_local(parts, &self.options.cors_origins)?;
        }
        connection.admit(&self.shared)?;
        let length = parts.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        service::admit(&caller, None, length.unwrap_or(0))?;
        let trace = parts.headers.get(TRACE_FIELD);
        let trace = trace.and_then(|trace| ParentSpan::from_traceparent(trace.to_str().ok()?));
        Ok(Caller { trace, ..caller })
    }
}

/// Refuses what a page of another site may have asked a browser on this machine to send, where no keys are asked for.
/// `allowed`: origins that may call all the same.
pub(super) fn check_local(parts: &Parts, allowed: &[String]) -> Result<(), Fault> {
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let origin = parts.headers.get(header::ORIGIN);
    let is_allowed = |origin: &&HeaderValue| allowed.iter().any(|of| of == *origin);
    let origin = origin.filter(|origin| !is_allowed(origin));
    let origin = origin.map(|origin| Uri::try_from(origin.as_bytes()).ok());
    let is_origin = |origin: &Option<Uri>| {
        let host = origin.as_ref().and_then(Uri::host);
        host.is_some_and(is_loopback)
    };
    let site = parts.headers.get("sec-fetch-site");
    let is_foreign = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    let has_origin = parts.headers.get(header::ORIGIN).is_some();
    if is_foreign && !has_origin {
        let why = "no keys are asked for here: pages of other sites may not ask";
        return Err(Fault::new(Code::Forbidden, why));
    }
    if host.is_some_and(|host| is_loopback(host.host())) && origin.as_ref().is_none_or(is_origin) {
        return Ok(());
    }
    let why =
        "no keys are asked for here: Host and Origin must be of this machine, as localhost is";
    Err(Fault::new(Code::Forbidden, why))
}

/// Whether a name of a host is of this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = |address: std::net::IpAddr| address.is_loopback();
    let name = host.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || host.parse().is_ok_and(is_address)
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;

    fn check_origin(host: &str, origin: Option<&str>) -> Result<(), Fault> {
        let request = Request::builder().header(header::HOST, host);
        let request = match origin {
            Some(origin) => request.header(header::ORIGIN, origin),
            None => request,
        };
        check_local(
            &request.body(()).unwrap().into_parts().0,
            &["https://app.example".into()],
        )
    }

    #[test]
    fn cross_site_requests_are_refused_without_keys() {
        for (host, origin) in [
            ("localhost:7626", None),
            ("127.0.0.1:7626", Some("http://localhost:6274")),
            ("[::1]:7626", Some("http://127.0.0.1")),
            ("LOCALHOST", Some("https://[::1]:8443")),
            ("localhost", Some("https://app.example")),
        ] {
            assert!(check_origin(host, origin).is_ok(), "{host} {origin:?}");
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
            let refused = check_origin(host, origin).unwrap_err();
            assert_eq!(refused.code, Code::Forbidden, "{host} {origin:?}");
        }
    }
}
