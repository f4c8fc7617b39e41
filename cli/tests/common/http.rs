//! HTTP as tests speak it: one request a connection, and what came back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| &value[..])
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }
}

/// Makes a request over a connection of its own. `headers`: whole lines.
pub(crate) fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &[u8],
) -> Response {
    let mut lines = vec![format!("{method} {path} HTTP/1.1")];
    lines.push(format!("Host: {to}"));
    lines.push("Connection: close".into());
    lines.push(format!("Content-Length: {}", body.len()));
    lines.extend(headers.iter().map(ToString::to_string));
    let head = format!("{}\r\n\r\n", lines.join("\r\n"));
    raw(to, &[head.as_bytes(), body].concat())
}

/// Sends bytes, and reads a response until the other side ends.
pub(crate) fn raw(to: SocketAddr, bytes: &[u8]) -> Response {
    let mut stream = TcpStream::connect(to).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // A request that is refused early is not read to its end.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    parse(&all)
}

/// A whole response.
pub(crate) fn parse(all: &[u8]) -> Response {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(all)));
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let body = &all[end + 4..];
    Response {
        status: status.parse().unwrap(),
        headers,
        body: if is_chunked {
            decode_chunked(body)
        } else {
            body.to_vec()
        },
    }
}

fn decode_chunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let len = std::str::from_utf8(&body[..end]).unwrap();
        let len = usize::from_str_radix(len, 16).unwrap();
        if len == 0 {
            break;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + len]);
        body = &body[end + 2 + len + 2..];
    }
    whole
}

/// A caller with a key.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) to: SocketAddr,
    pub(crate) key: String,
}

impl Api {
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &[u8],
    ) -> Response {
        let key = format!("Authorization: Bearer {}", self.key);
        let headers = [&[&key[..]][..], headers].concat();
        request(self.to, method, path, &headers, body)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn delete(&self, path: &str) -> Response {
        self.request("DELETE", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        let kind = "Content-Type: application/json";
        self.request("POST", path, &[kind], body.to_string().as_bytes())
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Response {
        self.request(
            "PUT",
            path,
            &["Content-Type: application/octet-stream"],
            body,
        )
    }
}
