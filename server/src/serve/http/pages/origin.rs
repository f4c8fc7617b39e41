//! Where a request comes from: another site may send a browser here, and may not act in its name.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};

use crate::serve::http::access;

/// Whether a form was sent by a page of this server, as far as the browser tells. Programs tell nothing, and have no
/// cookie that another site could use.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let origin = origin.to_str().unwrap_or_default();
    let host = origin.split_once("://").map(|(_, host)| host);
    host.is_some_and(|host| !host.is_empty() && Some(host) == self::host(headers))
}

/// Whether another site sent the browser here: then it keeps back the cookie, though it may have one.
pub(super) fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| site == "cross-site" || site == "same-site")
}

/// Whether the request names this machine as its host. Any other name may be a stranger's that leads here.
pub(super) fn is_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = host(headers) else {
        return false;
    };
    let authority: Option<Authority> = host.parse().ok();
    authority.is_some_and(|authority| access::is_loopback(authority.host()))
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// The path itself where it leads to this server, else the search. A browser takes `//host`, `/\host` and what has
/// control characters between for another server.
pub(super) fn local_path(path: &str) -> &str {
    let is_plain = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if path.starts_with('/') && !path.starts_with("//") && is_plain {
        path
    } else {
        "/"
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        fields.iter().map(field).collect()
    }

    #[test]
    fn forms_from_other_origins_are_refused() {
        let host = ("host", "loci.test:7626");
        let cases = [
            (vec![host], true),
            (vec![host, ("origin", "https://loci.test:7626")], true),
            (vec![host, ("origin", "https://loci.test")], false),
            (vec![host, ("origin", "https://evil.test:7626")], false),
            (vec![host, ("origin", "null")], false),
            (vec![("origin", "https://")], false),
            (vec![host, ("sec-fetch-site", "same-origin")], true),
            (vec![host, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ("sec-fetch-site", "same-site")], false),
        ];
        for (fields, want) in cases {
            assert_eq!(is_same_origin(&headers(&fields)), want, "{fields:?}");
        }
    }

    #[test]
    fn only_loopback_host_names_are_loopback() {
        let cases = [
            ("localhost:80", true),
            ("LOCALHOST", true),
            ("a.localhost", true),
            ("127.0.0.1:7626", true),
            ("127.9.9.9", true),
            ("[::1]:7626", true),
            ("[::1", false),
            ("10.0.0.1", false),
            ("127.0.0.1.evil.test", false),
            ("evil.test:80", false),
            ("localhost.evil.test", false),
            ("", false),
        ];
        for (host, want) in cases {
            assert_eq!(is_loopback(&headers(&[("host", host)])), want, "{host}");
        }
        assert!(!is_loopback(&HeaderMap::new()));
    }

    #[test]
    fn redirect_paths_stay_on_this_server() {
        let local_paths = [
            "/",
            "/note/a%2Fb/chunk/a%2Fb%233?context=2",
            "/?q=a+b",
            "/a//b",
        ];
        for path in local_paths {
            assert_eq!(local_path(path), path);
        }
        let others = [
            "",
            "x",
            "//evil",
            "/\\evil",
            "\\/evil",
            "/\t/evil",
            "/a\\b",
            "/ä",
            "https://evil",
            "/a\r\nb",
            " /",
        ];
        for path in others {
            assert_eq!(local_path(path), "/", "{path:?}");
        }
    }
}
