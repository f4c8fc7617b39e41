//! Who makes a request: the key that it shows.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, FromRequestParts};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH};
use axum::http::request::Parts;
use loci_protocol::call::{Call, Role};
use loci_protocol::fault::{Code, Fault};

use super::{Connection, Http, Problem, UnderWay};
use crate::service::traces::Parent;
use crate::service::{self, Caller, Given};

/// The store that is meant, where callers need no key or several stores have theirs.
const STORE_FIELD: &str = "loci-store";
/// How long the request may take, in milliseconds.
const TIMEOUT_FIELD: &str = "loci-timeout-ms";
/// The trace that the request is part of, as W3C Trace Context says.
const TRACE_FIELD: &str = "traceparent";

/// A request that shows a key in `Authorization: Bearer KEY`, which was looked at; it was counted.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// What all requests share.
    pub(crate) http: Http,
    /// Who makes it.
    pub(crate) caller: Caller,
    /// How long it may take, where it says so.
    wait: Option<Duration>,
}

impl Asked {
    /// Whether the key may do what needs this role.
    ///
    /// # Errors
    /// [`Code::Forbidden`].
    pub(crate) fn may(&self, role: Role) -> Result<(), Fault> {
        service::check_role(&self.caller, role)
    }

    /// Has a call carried out.
    ///
    /// # Errors
    /// Those of [`Http::begin`].
    pub(crate) fn begin(&self, call: impl Into<Call>) -> Result<UnderWay, Fault> {
        self.http.begin(&self.caller, call.into(), self.wait)
    }

    /// What a call gives in the end.
    ///
    /// # Errors
    /// Those of [`Http::begin`] and [`service::perform`].
    pub(crate) async fn call(&self, call: impl Into<Call>) -> Result<Given, Fault> {
        self.begin(call)?.last().await
    }
}

impl FromRequestParts<Http> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Asked, Problem> {
        let key = bearer(parts)?.to_owned();
        let caller = http.caller(parts, &key).await?;
        Ok(Asked {
            http: http.clone(),
            caller,
            wait: wait(parts)?,
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

impl Http {
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
        let known = connection.state.lock().key.clone();
        let caller = self
            .shared
            .authenticate(key, store, connection.peer, "http", known.as_deref())
            .await?;
        if known.as_ref() != Some(&caller.key) {
            connection.state.lock().key = Some(caller.key.clone());
        }
        connection.admit(&self.shared)?;
        let length = parts.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        service::admit(&caller, None, length.unwrap_or(0))?;
        let trace = parts.headers.get(TRACE_FIELD);
        let trace = trace.and_then(|trace| Parent::read(trace.to_str().ok()?));
        Ok(Caller { trace, ..caller })
    }
}
