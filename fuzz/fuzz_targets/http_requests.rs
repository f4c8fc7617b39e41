//! Any bytes over a connection of HTTP, and any query or body on every route, are answered or refused in time; no
//! response has status 500.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_server::fuzzing::InMemoryServer;

static SERVER: LazyLock<InMemoryServer> = LazyLock::new(InMemoryServer::new);

/// Method, path and kind of the body.
const ROUTES: &[(&str, &str, &str)] = &[
    ("POST", "/v1/search", "application/json"),
    ("POST", "/v1/ask", "application/json"),
    ("POST", "/v1/prompt", "application/json"),
    ("POST", "/v1/write", "application/json"),
    ("POST", "/v1/items", "application/json"),
    ("PUT", "/v1/items/1", "application/json"),
    ("POST", "/v1/concept-edits", "application/json"),
    ("POST", "/v1/records/1/feedback", "application/json"),
    ("POST", "/v1/replay", "application/json"),
    ("POST", "/v1/keys", "application/json"),
    ("PUT", "/v1/settings/hops", "application/json"),
    ("POST", "/collections/c/link", "application/json"),
    ("POST", "/mcp", "application/json"),
    ("POST", "/v1/documents", "multipart/form-data; boundary=B"),
    ("POST", "/sign-in", "application/x-www-form-urlencoded"),
    ("GET", "/v1/search?", ""),
    ("GET", "/v1/documents?", ""),
    ("GET", "/v1/documents/", ""),
    ("GET", "/v1/chunks/", ""),
    ("GET", "/v1/concepts/", ""),
    ("GET", "/v1/paths?", ""),
    ("GET", "/v1/citations?", ""),
    ("GET", "/v1/items?", ""),
    ("GET", "/?", ""),
    ("GET", "/read/", ""),
    ("GET", "/note/", ""),
    ("GET", "/documents?", ""),
    ("DELETE", "/v1/documents/", ""),
    ("PUT", "/v1/graph", "text/csv"),
    ("PUT", "/v1/graph", "multipart/form-data; boundary=B"),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&route, bytes)) = bytes.split_first() else {
        return;
    };
    let response = match ROUTES.get(usize::from(route)) {
        None => return drop(SERVER.http(bytes)),
        Some((method, path, "")) => {
            // Spaces and ends of lines end a path.
            let rest: Vec<u8> = bytes
                .iter()
                .map(|byte| if *byte <= b' ' { b'+' } else { *byte })
                .collect();
            let head = format!("{method} {path}");
            let fields = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            SERVER.request(&[head.as_bytes(), &rest, fields.as_bytes()].concat())
        }
        Some((method, path, kind)) => {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
                bytes.len()
            );
            SERVER.request(&[head.as_bytes(), bytes].concat())
        }
    };
    assert!(response.starts_with(b"HTTP/1."), "a request is answered");
    assert!(
        !response.starts_with(b"HTTP/1.1 500"),
        "no response has status 500"
    );
});
