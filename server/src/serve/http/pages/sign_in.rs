//! Signing in: a form for a key, and the cookie that keeps it.
//!
//! The form is the one request with a body that is read before a key was looked at: of a few kilobytes, which are the key.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use loci_protocol::fault::{Code, Fault};
use maud::{Markup, html};

use super::fields::Fields;
use super::frame::{self, Frame};
use super::origin;
use super::visitor::{self, COOKIE};
use crate::serve::http::{Connection, Http};

/// Bytes of the form at most.
const FORM_LEN_MAX: usize = 4 << 10;
/// Seconds that a browser keeps the key: 30 days.
const KEPT_S: u32 = 30 * 24 * 3_600;

/// Its routes.
pub(super) fn router() -> Router<Http> {
    Router::new()
        .route("/sign-in", get(form).post(sign_in))
        .route("/sign-out", post(sign_out))
}

async fn form(State(http): State<Http>, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::read(query.as_deref().unwrap_or_default());
    let to = origin::local(fields.get("to"));
    match http.shared.stores.ask_for_keys() {
        true => page(StatusCode::OK, to, None),
        false => Redirect::to(to).into_response(),
    }
}

/// Looks at the key of the form, and gives it to the browser to keep.
async fn sign_in(State(http): State<Http>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let form = match own_form(&parts) {
        Ok(()) => http.read(body, FORM_LEN_MAX).await,
        Err(fault) => Err(fault),
    };
    let form = match form {
        Ok(form) => form,
        Err(fault) => return page(visitor::status(&fault), "/", Some(&fault)),
    };
    let fields = Fields::read(&String::from_utf8_lossy(&form.bytes));
    let (key, to) = (fields.get("key"), origin::local(fields.get("to")));
    let looked_at = match key {
        "" => Err(Fault::new(Code::Invalid, "give the key that you were told")),
        key => http.caller(&mut parts, key).await.map(|_| ()),
    };
    match looked_at {
        Ok(()) => (kept(&parts, key, KEPT_S), Redirect::to(to)).into_response(),
        Err(fault) => {
            let status = visitor::status(&fault);
            let asks = (status == StatusCode::UNAUTHORIZED)
                .then_some([(header::WWW_AUTHENTICATE, "Bearer")]);
            (asks, frame::after(&fault), page(status, to, Some(&fault))).into_response()
        }
    }
}

async fn sign_out(request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match own_form(&parts) {
        Ok(()) => (forgotten(&parts), Redirect::to("/sign-in")).into_response(),
        Err(fault) => frame::failed(None, &fault),
    }
}

/// Refuses a form that another site sends.
fn own_form(parts: &Parts) -> Result<(), Fault> {
    match origin::is_own(&parts.headers) {
        true => Ok(()),
        false => Err(Fault::new(
            Code::Forbidden,
            "another site sent this form: send it from here",
        )),
    }
}

/// Has the browser keep the key for so many seconds, and send it from pages of this server alone.
fn kept(parts: &Parts, key: &str, seconds: u32) -> [(HeaderName, String); 1] {
    let connection = parts.extensions.get::<Arc<Connection>>();
    let secure = match connection.is_some_and(|connection| connection.is_secure) {
        true => "; Secure",
        false => "",
    };
    let cookie =
        format!("{COOKIE}={key}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    [(header::SET_COOKIE, cookie)]
}

/// Has the browser forget the key.
pub(super) fn forgotten(parts: &Parts) -> [(HeaderName, String); 1] {
    kept(parts, "", 0)
}

fn page(status: StatusCode, to: &str, fault: Option<&Fault>) -> Response {
    let main: Markup = html! {
        div class="narrow sign-in" {
            h1 { "Sign in" }
            p class="soft" { "This server asks for a key. Whoever runs it makes one with " code { "loci key add" } "." }
            @if let Some(fault) = fault { (frame::notice(fault)) }
            form action="/sign-in" method="post" {
                input type="hidden" name="to" value=(to);
                label for="key" { "Key" }
                input id="key" name="key" type="password" autocomplete="current-password" required autofocus
                    spellcheck="false" autocapitalize="none" placeholder="loci_…"
                    aria-invalid=[fault.map(|_| "true")];
                button { "Sign in" }
            }
            p class="soft small" { "The browser keeps the key for 30 days, until you sign out." }
        }
    };
    Frame::bare("Sign in").page(status, &main)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use parking_lot::Mutex;

    use super::*;
    use crate::serve::http::ConnectionState;

    #[test]
    fn the_cookie_is_for_this_server_alone_and_for_tls_where_that_is_spoken() {
        for (is_secure, end) in [
            (false, "SameSite=Strict"),
            (true, "SameSite=Strict; Secure"),
        ] {
            let connection = Connection {
                peer: [127, 0, 0, 1].into(),
                is_secure,
                state: Mutex::new(ConnectionState::default()),
                is_refused: Default::default(),
            };
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(Arc::new(connection));
            let (parts, _) = request.into_parts();
            let [(_, cookie)] = kept(&parts, "loci_k", 60);
            let want = format!("loci_key=loci_k; Path=/; Max-Age=60; HttpOnly; {end}");
            assert_eq!(cookie, want);
        }
    }
}
