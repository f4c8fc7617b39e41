//! A server that tests start and call: the real binary, on any port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use loci_client::call::{AddKey, Role};
use loci_client::{Client, ClientError};
use serde_json::Value;

use super::http::Api;
use super::{db_path, json};

/// A server that is killed on drop.
pub(crate) struct TestServer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// Address of HTTP.
    pub(crate) http: SocketAddr,
    /// Keys that it printed, by store.
    pub(crate) keys: Vec<(String, String)>,
}

/// The response to a request over HTTP.
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl HttpReply {
    /// A header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(of, _)| of.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }
}

impl TestServer {
    /// Starts `loci serve` with these arguments, and waits until it listens.
    pub(crate) fn start(args: &[&str]) -> TestServer {
        Self::start_with(args, &[])
    }

    /// Starts it with these variables in its environment, too.
    pub(crate) fn start_with(args: &[&str], environment: &[(&str, &str)]) -> TestServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loci"))
            .env("LOCI_LOG", "none")
            .args(["serve", "--json", "--http", "127.0.0.1:0"])
            .args(args)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut keys = Vec::new();
        let (address, http) = loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            let text = |name: &str| line[name].as_str().map(str::to_owned);
            match (text("listening"), text("http")) {
                (Some(wire), Some(http)) => break (wire.parse().unwrap(), http.parse().unwrap()),
                _ => keys.push((text("store").unwrap(), text("key").unwrap())),
            }
        };
        TestServer {
            child,
            address,
            http,
            keys,
        }
    }

    /// A server of one store in `folder`, on any port.
    pub(crate) fn for_folder(folder: &Path) -> TestServer {
        Self::start(&["--db", &db_path(folder), "--listen", "127.0.0.1:0"])
    }

    /// A server of the stores `one` and `two` in `root`, which it creates, on any port.
    pub(crate) fn with_two_stores(root: &Path) -> TestServer {
        for name in ["one", "two"] {
            let path = root.join(name).display().to_string();
            json(0, &["config", "--db", &path, "set", "language", "en"]);
        }
        let root = root.display().to_string();
        Self::start(&["--root", &root, "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn client(&self, key: &str) -> Result<Client, ClientError> {
        Client::connect(&format!("loci://{key}@{}", self.address))
    }

    pub(crate) fn admin(&self) -> Client {
        self.client(&self.keys[0].1).unwrap()
    }

    /// A client with a new key.
    pub(crate) fn with_key(&self, role: Role, user: Option<&str>) -> (Client, String) {
        let created = self.admin().call(&AddKey {
            role,
            user: user.map(str::to_owned),
            note: "test".into(),
        });
        let key = created.unwrap().0["key"].as_str().unwrap().to_owned();
        (self.client(&key).unwrap(), key)
    }

    /// A caller of the HTTP API with the admin's key.
    pub(crate) fn api(&self) -> Api {
        self.api_with(&self.keys[0].1)
    }

    pub(crate) fn api_with(&self, key: &str) -> Api {
        Api {
            to: self.http,
            key: key.to_owned(),
        }
    }

    /// Sends a request over HTTP with these header fields, and no body.
    pub(crate) fn request(&self, method: &str, path: &str, head: &[(&str, &str)]) -> HttpReply {
        let mut stream = TcpStream::connect(self.http).unwrap();
        let fields = head.iter();
        let fields: String = fields
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let begin = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        write!(stream, "{begin}{fields}\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        HttpReply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Gets a path over HTTP, with a key or without one.
    pub(crate) fn get(&self, path: &str, key: Option<&str>) -> HttpReply {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let field = bearer.as_deref().map(|bearer| ("authorization", bearer));
        self.request("GET", path, field.as_slice())
    }

    /// Sends a signal to the process: `TERM`, `HUP`.
    pub(crate) fn send_signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it with SIGTERM, and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.send_signal("TERM");
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
