//! What holds for every route: a request names one host, and no response is more than data to a browser.

use axum::extract::Request;
use axum::http::header::{self, Entry, HeaderName};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Problem;

/// A response runs nothing, loads nothing and is embedded in no page, however it is opened.
pub(super) const POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// Fields of every response, unless it sets them itself, as pages do.
const FIELDS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Has a browser take a response for data: bytes of a store may be HTML or a drawing with a script.
pub(super) async fn set_default_headers(mut response: Response) -> Response {
    for (name, value) in FIELDS {
        if let Entry::Vacant(field) = response.headers_mut().entry(name) {
            field.insert(HeaderValue::from_static(value));
        }
    }
    response
}

/// Refuses a request that does not name one host, as whatever stands before the server may have gone by another one
/// (RFC 9112, 3.2).
pub(super) async fn require_one_host(request: Request, next: Next) -> Response {
    let why = match host_error(&request) {
        None => return next.run(request).await,
        Some(why) => why,
    };
    let close = [(header::CONNECTION, "close")];
    (close, Problem::invalid(why)).into_response()
}

/// What is wrong with the field `Host`.
fn host_error(request: &Request) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Some("Host: give one, not several"),
        (Some(host), None) if !is_host(host) => {
            Some("Host: give a name or an address, and a port where it is not the usual one")
        }
        (Some(host), None) if is_different_host(host, request.uri().authority()) => {
            Some("Host: the request line names another host")
        }
        (None, None) if request.version() >= Version::HTTP_11 => Some("Host: give the field"),
        _ => None,
    }
}

/// Whether it is a host with or without a port; it is empty where a path has none.
fn is_host(host: &HeaderValue) -> bool {
    host.is_empty()
        || Authority::try_from(host.as_bytes()).is_ok_and(|of| !of.as_str().contains('@'))
}

/// Whether a request line with a host of its own names another.
fn is_different_host(host: &HeaderValue, target: Option<&Authority>) -> bool {
    target.is_some_and(|target| {
        !target
            .as_str()
            .as_bytes()
            .eq_ignore_ascii_case(host.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn request_line_host_must_match_the_host_header() {
        for (uri, host, is_right) in [
            ("http://a/x", "a", true),
            ("http://a:80/x", "A:80", true),
            ("http://a/x", "b", false),
            ("http://a:80/x", "a", false),
        ] {
            let request = Request::builder().uri(uri).header(header::HOST, host);
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(host_error(&request).is_none(), is_right, "{uri} {host}");
        }
    }

    #[test]
    fn requests_must_have_exactly_one_host() {
        for (version, hosts, is_right) in [
            (Version::HTTP_11, &["localhost:7626"][..], true),
            (Version::HTTP_11, &["[::1]:7626"], true),
            (Version::HTTP_11, &[""], true),
            (Version::HTTP_11, &[], false),
            (Version::HTTP_11, &["a", "a"], false),
            (Version::HTTP_11, &["a", "b"], false),
            (Version::HTTP_11, &["a, b"], false),
            (Version::HTTP_11, &["a b"], false),
            (Version::HTTP_11, &["me@a"], false),
            (Version::HTTP_11, &["a/b"], false),
            (Version::HTTP_10, &[], true),
            (Version::HTTP_10, &["a"], true),
            (Version::HTTP_10, &["a", "b"], false),
        ] {
            let mut request = Request::builder().version(version).uri("/");
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let request = request.body(Body::empty()).unwrap();
            let wrong = host_error(&request);
            assert_eq!(
                wrong.is_none(),
                is_right,
                "{version:?} {hosts:?}: {wrong:?}"
            );
        }
    }
}
