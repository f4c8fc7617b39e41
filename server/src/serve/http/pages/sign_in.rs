//! Signing in: a form for a key, and the cookie that stands for it.
//!
//! The form is the one request with a body that is read before a key was checked: of a few kilobytes, which are the key.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use loci_protocol::fault::{Code, Fault};
use maud::{Markup, html};

use super::fields::Fields;
use super::layout::{self, Layout};
use super::origin;
use super::principal::{self, COOKIE, COOKIE_OF_HOST};
use super::sessions::SESSION_TTL;
use crate::serve::http::{Connection, HttpState};

/// Bytes of the form at most.
const FORM_LEN_MAX: usize = 4 << 10;

/// Its routes.
pub(super) fn router() -> Router<HttpState> {
    Router::new()
        .route("/sign-in", get(form).post(sign_in))
        .route("/sign-out", post(sign_out))
}

async fn form(State(http): State<HttpState>, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::read(query.as_deref().unwrap_or_default());
    let to = origin::local_path(fields.get("to"));
    if http.shared.stores.requires_keys() {
        page(StatusCode::OK, to, None)
    } else {
        Redirect::to(to).into_response()
    }
}

/// Looks at the key of the form, and gives the browser something to keep in its place.
async fn sign_in(State(http): State<HttpState>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let form = match check_form_origin(&parts) {
        Ok(()) => http.read(body, FORM_LEN_MAX).await,
        Err(fault) => Err(fault),
    };
    let form = match form {
        Ok(form) => form,
        Err(fault) => return page(principal::status(&fault), "/", Some(&fault)),
    };
    let fields = Fields::read(&String::from_utf8_lossy(&form.bytes));
    let (key, to) = (fields.get("key"), origin::local_path(fields.get("to")));
    let looked_at = match key {
        "" => Err(Fault::new(Code::Invalid, "give your access key")),
        key => http
            .caller(&mut parts, key)
            .await
            .and_then(|_| http.sessions.begin(key)),
    };
    match looked_at {
        Ok(token) => {
            // The one before is of no use any more.
            principal::token(&parts).inspect(|before| http.sessions.end(before));
            (
                session_cookie(&parts, &token, SESSION_TTL),
                Redirect::to(to),
            )
                .into_response()
        }
        Err(fault) => {
            let status = principal::status(&fault);
            let asks = (status == StatusCode::UNAUTHORIZED)
                .then_some([(header::WWW_AUTHENTICATE, "Bearer")]);
            (
                asks,
                layout::retry_after(&fault),
                page(status, to, Some(&fault)),
            )
                .into_response()
        }
    }
}

async fn sign_out(State(http): State<HttpState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match check_form_origin(&parts) {
        Ok(()) => {
            principal::token(&parts).inspect(|token| http.sessions.end(token));
            (expired_cookie(&parts), Redirect::to("/sign-in")).into_response()
        }
        Err(fault) => layout::error_page(None, &fault),
    }
}

/// Refuses a form that another site sends.
fn check_form_origin(parts: &Parts) -> Result<(), Fault> {
    if origin::is_same_origin(&parts.headers) {
        Ok(())
    } else {
        Err(Fault::new(
            Code::Forbidden,
            "another site sent this form: send it from here",
        ))
    }
}

/// Has the browser keep the token for so long, and send it from pages of this server alone.
fn session_cookie(parts: &Parts, token: &str, long: Duration) -> [(HeaderName, String); 1] {
    let (name, secure) = if is_secure(parts) {
        // No other name of the domain can set a cookie that is called so.
        (COOKIE_OF_HOST, "; Secure")
    } else {
        (COOKIE, "")
    };
    let seconds = long.as_secs();
    let cookie =
        format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    [(header::SET_COOKIE, cookie)]
}

/// Whether the browser speaks TLS: to this server, or, as is said, to one before it. Whoever says so wrongly gets a cookie
/// that their browser keeps back.
pub(super) fn is_secure(parts: &Parts) -> bool {
    let connection = parts.extensions.get::<Arc<Connection>>();
    let is_said = || {
        let proto = parts.headers.get("x-forwarded-proto")?.to_str().ok()?;
        // Several servers on the way say so one after the other, the browser's first.
        let first = proto.split(',').next().unwrap_or_default();
        Some(first.trim().eq_ignore_ascii_case("https"))
    };
    connection.is_some_and(|connection| connection.is_secure) || is_said() == Some(true)
}

/// Has the browser forget the token.
pub(super) fn expired_cookie(parts: &Parts) -> [(HeaderName, String); 1] {
    session_cookie(parts, "", Duration::ZERO)
}

fn page(status: StatusCode, to: &str, fault: Option<&Fault>) -> Response {
    let main: Markup = html! {
        div class="narrow sign-in" {
            h1 { "Sign in" }
            p class="soft" { "This server asks for a key. Whoever runs it makes one with " code { "loci key add" } "." }
            @if let Some(fault) = fault { (layout::notice(fault)) }
            form action="/sign-in" method="post" {
                input type="hidden" name="to" value=(to);
                label for="key" { "Key" }
                input id="key" name="key" type="password" autocomplete="current-password" required autofocus
                    spellcheck="false" autocapitalize="none" placeholder="loci_…"
                    aria-invalid=[fault.map(|_| "true")];
                button { "Sign in" }
            }
            p class="soft small" { "You stay signed in for 30 days, until you sign out or the server starts again." }
        }
    };
    Layout::signed_out("Sign in").render(status, &main)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::HeaderValue;
    use parking_lot::Mutex;

    use super::*;
    use crate::serve::http::ConnectionState;

    #[test]
    fn session_cookie_is_host_only_and_secure_over_tls() {
        for (is_secure, forwarded_proto, name, end) in [
            (false, None, "loci_session", "SameSite=Strict"),
            (false, Some("http"), "loci_session", "SameSite=Strict"),
            (true, None, "__Host-loci_session", "SameSite=Strict; Secure"),
            (
                false,
                Some("HTTPS, http"),
                "__Host-loci_session",
                "SameSite=Strict; Secure",
            ),
        ] {
            let connection = Connection {
                peer: [127, 0, 0, 1].into(),
                is_secure,
                state: Mutex::new(ConnectionState::default()),
                is_refused: Default::default(),
            };
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(Arc::new(connection));
            let headers = request.headers_mut();
            headers.extend(forwarded_proto.map(|proto| {
                let name = HeaderName::from_static("x-forwarded-proto");
                (name, HeaderValue::from_static(proto))
            }));
            let (parts, _) = request.into_parts();
            let [(_, cookie)] = session_cookie(&parts, "token", Duration::from_secs(60));
            let want = format!("{name}=token; Path=/; Max-Age=60; HttpOnly; {end}");
            assert_eq!(cookie, want);
        }
    }
}
