//! Who looks at a page: the key that a browser's cookie stands for.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use loci_protocol::fault::{Code, Fault};
use loci_views::ReadCall;
use maud::html;

use super::layout::{self, Layout};
use super::{fields, origin, sign_in};
use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::{HttpState, Problem};

/// The cookie that has the token of whoever signed in.
pub(super) const COOKIE: &str = "loci_session";
/// The same, where the browser speaks TLS.
pub(super) const COOKIE_OF_HOST: &str = "__Host-loci_session";

/// Somebody whose key is right, or who needs none.
#[derive(Clone, Debug)]
pub(super) struct Principal {
    auth: AuthenticatedRequest,
    /// Whether there is a key that could be given up.
    pub(super) has_key: bool,
}

impl Principal {
    /// The store's name.
    pub(super) fn store(&self) -> &str {
        self.auth.caller.store.name()
    }

    /// Whether other users' documents are not there for this visitor.
    pub(super) fn is_bound(&self) -> bool {
        self.auth.caller.user.is_some()
    }

    /// The request, for its calls.
    pub(super) fn auth(&self) -> &AuthenticatedRequest {
        &self.auth
    }

    /// The view that a call gives.
    ///
    /// # Errors
    /// Those of [`AuthenticatedRequest::view`].
    pub(super) async fn view<C: ReadCall>(&self, call: C) -> Result<C::View, Fault> {
        self.auth.view(call).await
    }
}

impl FromRequestParts<HttpState> for Principal {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        http: &HttpState,
    ) -> Result<Principal, Response> {
        let asks_for_keys = http.shared.stores.requires_keys();
        let token = token(parts).map(str::to_owned);
        let key = token.as_deref().and_then(|token| http.sessions.key(token));
        let key = match (asks_for_keys, key) {
            (true, None) if token.is_some() => {
                return Err((sign_in::expired_cookie(parts), sign_in_first(parts)).into_response());
            }
            (true, None) => return Err(no_cookie_response(parts)),
            (true, Some(key)) => key,
            (false, _) if origin::is_loopback(&parts.headers) => String::new(),
            (false, _) => return Err(layout::error_page(None, &foreign_host())),
        };
        match http.caller(parts, &key).await {
            Ok(caller) => Ok(Principal {
                auth: AuthenticatedRequest::new(http.clone(), caller),
                has_key: asks_for_keys,
            }),
            Err(fault) if fault.code == Code::Unauthorized && asks_for_keys => {
                // The key was taken back.
                token.iter().for_each(|token| http.sessions.end(token));
                Err((sign_in::expired_cookie(parts), sign_in_first(parts)).into_response())
            }
            Err(fault) if fault.code == Code::Unauthorized => {
                Err(layout::error_page(None, &ambiguous_store()))
            }
            Err(fault) => Err(layout::error_page(None, &fault)),
        }
    }
}

/// The token in the cookie. Where the browser speaks TLS, only the cookie counts that no other name of the domain can set.
pub(super) fn token(parts: &Parts) -> Option<&str> {
    let cookie_name = if sign_in::is_secure(parts) {
        COOKIE_OF_HOST
    } else {
        COOKIE
    };
    let lines = parts.headers.get_all(header::COOKIE).into_iter();
    let cookies = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    let found = named.find(|(name, token)| *name == cookie_name && !token.is_empty());
    found.map(|(_, token)| token)
}

/// A browser without the cookie: it has none, or keeps it back as another site sent it here. In the second case a page
/// of this server that leads to the same place brings it.
fn no_cookie_response(parts: &Parts) -> Response {
    if !origin::is_cross_site(&parts.headers) {
        return sign_in_first(parts);
    }
    let path = path(parts);
    let again = (header::REFRESH, format!("0; url={path}"));
    let body = html! {
        p { "One moment. " a href=(path) { "Go on" } }
    };
    let page = Layout::signed_out("One moment").render(StatusCode::OK, &body);
    ([again], page).into_response()
}

/// To the form for a key, and back here from there.
fn sign_in_first(parts: &Parts) -> Response {
    let to = format!("/sign-in?to={}", fields::percent_encode(path(parts)));
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

/// What was asked for, as a path of this server.
fn path(parts: &Parts) -> &str {
    let path = parts.uri.path_and_query();
    origin::local_path(path.map_or("/", |path| path.as_str()))
}

fn foreign_host() -> Fault {
    let why = "this server asks for no keys, and answers to localhost alone: open it by that name";
    Fault::new(Code::Forbidden, why)
}

fn ambiguous_store() -> Fault {
    let why = "this server has several stores and asks for no keys, so that no page can tell which is meant: start it with --db";
    Fault::new(Code::Invalid, why)
}

/// The status of a fault.
pub(super) fn status(fault: &Fault) -> StatusCode {
    Problem::from(fault.clone()).status()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_token_is_found_among_other_cookies() {
        let cases = [
            ("loci_session=t", None, Some("t")),
            ("a=b; loci_session=t; c=d", None, Some("t")),
            ("__Host-loci_session=s; loci_session=t", None, Some("t")),
            (
                "loci_session=t; __Host-loci_session=s",
                Some("https"),
                Some("s"),
            ),
            ("loci_session=t", Some("https"), None),
            ("loci_session2=t", None, None),
            ("loci_session=", None, None),
            ("xloci_session=t", None, None),
            ("", None, None),
        ];
        for (line, cookie_header, want) in cases {
            let mut request = axum::http::Request::builder().header(header::COOKIE, line);
            if let Some(cookie_header) = cookie_header {
                request = request.header("x-forwarded-proto", cookie_header);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(token(&parts), want, "{line} {cookie_header:?}");
        }
    }
}
