//! What the operator of a server has: configuration, a look at everything before it starts, metrics, traces.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use common::test_server::TestServer;
use common::{db_path, json, json_lines, refused, store};
use loci_client::call::Role;
use locidb::storage::StoreError;
use locidb::{Database, Error, SearchRequest};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Writes a file beside the store of a test; its path.
fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Makes a store, which is of English.
fn make(path: &Path) {
    let path = path.to_str().unwrap();
    json(0, &["config", "--db", path, "set", "language", "en"]);
}

/// The finding about something.
fn finding<'f>(found: &'f [Value], what: &str) -> &'f Value {
    let is_about = |of: &&Value| of["what"].as_str().is_some_and(|of| of.starts_with(what));
    found
        .iter()
        .find(is_about)
        .unwrap_or_else(|| panic!("{what}: {found:?}"))
}

#[test]
fn flags_override_environment_and_environment_overrides_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\nslow_ms = 1\nlog = \"json\"\n[limits]\ncalls_max = 3\n",
    );
    let output = Command::cargo_bin("loci")
        .unwrap()
        .args(["serve", "--show-config", "--json", "--slow-ms", "3"])
        .env("LOCI_CONFIG", &config)
        .env("LOCI_SLOW_MS", "2")
        .env("LOCI_LOG", "none")
        .env("LOCI_METRICS_TOKEN", "0123456789abcdef")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("0123456789abcdef"), "{text}");
    let shown = json_lines(&text).remove(0);
    let (settings, from) = (&shown["config"], &shown["from"]);
    assert_eq!(settings["db"], db_path(folder.path()));
    assert_eq!(
        (&settings["slow_ms"], &from["slow_ms"]),
        (&json!(3), &json!("--slow-ms"))
    );
    assert_eq!(
        (&settings["log"], &from["log"]),
        (&json!("none"), &json!("LOCI_LOG"))
    );
    assert_eq!(
        (&settings["limits"]["calls_max"], &from["limits.calls_max"]),
        (&json!(3), &json!(config))
    );
    assert_eq!(settings["http"], "127.0.0.1:7626");
    assert_eq!(from["http"], Value::Null);
}

#[test]
fn server_applies_its_configuration_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\nlisten = \"127.0.0.1:0\"\n[limits]\ncalls_max = 3\n",
    );
    let served = TestServer::start(&["--config", &config]);
    assert_eq!(served.admin().session().unwrap().calls_max, 3);
    assert_eq!(served.get("/healthz", None).status, 200);
}

#[test]
fn invalid_configuration_is_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\ntls_crt = \"c\"\n",
    );
    refused(
        2,
        &["serve", "--config", &config],
        "loci.toml: there is no setting tls_crt: was tls_cert or tls_key meant?",
    );
    refused(2, &["serve", "--config", "nowhere.toml"], "nowhere.toml: ");
    refused(
        2,
        &["serve", "--db", &db, "--http", "off"],
        "--http: http: give an address",
    );
    refused(2, &["serve", "--db", &db, "--root", &db], "--root");
    refused(2, &["serve"], "give --db DIR");
    let environment = Command::cargo_bin("loci")
        .unwrap()
        .args(["serve", "--db", &db])
        .env("LOCI_INSECURE_LOCAL", "true")
        .output()
        .unwrap();
    assert_eq!(environment.status.code(), Some(2));
    assert!(!Path::new(&db).exists());
}

#[test]
fn check_reports_everything_that_starting_needs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("stores");
    for name in ["one", "two"] {
        make(&root.join(name));
    }
    let root = root.to_str().unwrap();
    let check = [
        "serve",
        "--check",
        "--root",
        root,
        "--http",
        "none",
        "--listen",
        "127.0.0.1:0",
    ];
    let found = json(0, &check);
    assert_eq!(found[0]["config"]["root"], root);
    assert_eq!(found[0]["config"]["http"], "none");
    for what in [
        "listen",
        "keys of one",
        "store one",
        "keys of two",
        "store two",
    ] {
        assert_eq!(finding(&found, what)["level"], "ok", "{what}");
    }
    fs::write(folder.path().join("stores/one/keys.json"), "{").unwrap();
    fs::write(folder.path().join("stores/two/loci.redb"), "no database").unwrap();
    let pem = file(folder.path(), "cert.pem", "no certificate");
    let audit = folder.path().join("none/audit.log").display().to_string();
    let wrong = [
        &check[..],
        &["--tls-cert", &pem, "--tls-key", &pem, "--audit-log", &audit],
    ]
    .concat();
    let found = json(1, &wrong);
    for what in ["keys of one", "store two", "tls", "audit_log"] {
        assert_eq!(finding(&found, what)["level"], "wrong", "{what}");
    }
    for what in ["store one", "keys of two"] {
        assert_eq!(finding(&found, what)["level"], "ok", "{what}");
    }
}

#[test]
fn check_reports_a_store_with_damaged_free_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    make(&store);
    let path = store.join("loci.redb");
    let sound = fs::read(&path).unwrap();
    // The first bytes of a page say how many entries it has.
    let is_refused = |page: &usize| {
        let mut bytes = sound.clone();
        bytes[page * 4096 + 2] ^= 1;
        fs::write(&path, bytes).unwrap();
        matches!(
            Database::open(&store),
            Err(Error::Store(StoreError::DamagedFreePages { .. }))
        )
    };
    assert!((1..sound.len() / 4096).any(|page| is_refused(&page)));
    let db = db_path(folder.path());
    let check = ["serve", "--check", "--db", &db, "--http", "none"];
    let found = json(1, &[&check[..], &["--listen", "127.0.0.1:0"]].concat());
    let found = finding(&found, "store store");
    assert_eq!(found["level"], "wrong");
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains("free pages"), "{detail}");
    assert!(
        detail.contains("restore the store from a backup"),
        "{detail}"
    );
}

#[test]
fn check_creates_no_missing_store_and_reports_a_store_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let check = ["serve", "--check", "--db", &db, "--http", "none"];
    let listen = ["--listen", "127.0.0.1:0"];
    let found = json(0, &[&check[..], &listen].concat());
    assert_eq!(finding(&found, "store store")["level"], "ok");
    assert!(!Path::new(&db).exists());
    let served = TestServer::for_folder(folder.path());
    let address = served.address.to_string();
    let found = json(1, &[&check[..], &["--listen", &address]].concat());
    assert_eq!(finding(&found, "listen")["level"], "wrong");
    assert_eq!(finding(&found, "store store")["level"], "wrong");
    assert_eq!(finding(&found, "keys of store")["detail"], "1 are read");
}

#[test]
fn only_configured_cors_origins_may_call() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let (page, other) = ("https://notes.example", "https://elsewhere.example");
    let served = TestServer::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--cors-origins",
        page,
    ]);
    let preflight = |origin: &str| {
        let head = [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization,loci-store"),
        ];
        served.request("OPTIONS", "/v1/stats", &head)
    };
    let reply = preflight(page);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.field("access-control-allow-origin"), Some(page));
    let allowed = reply.field("access-control-allow-headers").unwrap();
    for name in [
        "authorization",
        "content-type",
        "if-match",
        "if-none-match",
        "loci-store",
    ] {
        assert!(allowed.contains(name), "{allowed}");
    }
    assert_eq!(reply.field("access-control-allow-credentials"), None);
    assert_eq!(preflight(other).field("access-control-allow-origin"), None);
    // A page needs a key as everybody does, and may read what programs go by.
    let reply = served.request("GET", "/v1/stats", &[("origin", page)]);
    assert_eq!(reply.status, 401);
    let exposed = reply.field("access-control-expose-headers").unwrap();
    assert!(
        exposed.contains("etag") && exposed.contains("retry-after"),
        "{exposed}"
    );
    let silent = tempfile::tempdir().unwrap();
    let silent = TestServer::for_folder(silent.path());
    let reply = silent.request("GET", "/healthz", &[("origin", page)]);
    assert_eq!(reply.field("access-control-allow-origin"), None);
}

/// A file of those that a server is set up from.
fn deploy_file(name: &str) -> String {
    format!("{}/../docs/deploy/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn example_configuration_is_complete_and_valid() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let example = deploy_file("loci.toml");
    let flags = ["--db", &db, "--listen", "127.0.0.1:0", "--http", "none"];
    let found = json(
        0,
        &[&["serve", "--check", "--config", &example], &flags[..]].concat(),
    );
    assert_eq!(finding(&found, "store store")["level"], "ok");
    // With all that is commented out, too, but for what stands for something else.
    let text = fs::read_to_string(&example).unwrap();
    let uncomment = |line: &str| {
        let setting = line.strip_prefix("# ").filter(|rest| {
            let name = rest.split_once(" = ").map_or("", |(name, _)| name);
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            !name.is_empty() && name.chars().all(is_name)
        });
        match setting {
            Some(rest) if !rest.starts_with("root") && !rest.starts_with("metrics_token_") => {
                rest.to_owned()
            }
            _ => line.to_owned(),
        }
    };
    let all: Vec<String> = text.lines().map(uncomment).collect();
    let all = file(folder.path(), "all.toml", &all.join("\n"));
    let shown = json(0, &["serve", "--show-config", "--config", &all]).remove(0);
    let default = json(0, &["serve", "--show-config", "--db", &db]).remove(0);
    assert_eq!(shown["config"]["limits"], default["config"]["limits"]);
    let settings = shown["config"].as_object().unwrap();
    let limits = settings["limits"].as_object().unwrap();
    let guide = fs::read_to_string(deploy_file("../guide/operating.md")).unwrap();
    for name in settings
        .keys()
        .chain(limits.keys())
        .filter(|name| *name != "limits")
    {
        assert!(
            text.contains(&format!("{name} = ")),
            "{name} is not in the example"
        );
        assert!(
            guide.contains(&format!("`{name}`")),
            "{name} is not in the guide"
        );
    }
    // What is commented out is the default, or there is none.
    for (name, value) in default["config"].as_object().unwrap() {
        let is_none = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        assert!(
            is_none || name == "db" || *value == settings[name],
            "{name}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_is_notified_on_start_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let next_message = || {
        let mut bytes = [0; 64];
        let len = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..len]).trim().to_owned()
    };
    let db = db_path(folder.path());
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let mut served =
        TestServer::start_with(&["--db", &db, "--listen", "127.0.0.1:0"], &environment);
    assert_eq!(next_message(), "READY=1");
    served.stop();
    assert_eq!(next_message(), "STOPPING=1");
}

/// The value of a figure, with its labels as they are written.
fn metric_value(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

#[test]
fn metrics_of_one_store_need_an_admin_key_or_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = "a token of sixteen";
    let token = token.replace(' ', "-");
    let path = file(folder.path(), "token", &format!("{token}\n"));
    let db = db_path(folder.path());
    let served = TestServer::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--metrics-token-file",
        &path,
    ]);
    let admin = served.keys[0].1.clone();
    let (reader, key) = served.with_key(Role::Read, None);
    reader.search(&SearchRequest::new("heron")).unwrap();
    assert_eq!(served.get("/v1/stats", Some(&admin)).status, 200);
    assert_eq!(served.get("/no/such/secret-path", None).status, 404);
    let bearer = format!("Bearer {key}");
    let shown = [("authorization", &bearer[..])];
    let refused = served.request("PUT", "/v1/documents/x.txt", &shown);
    assert_eq!(refused.status, 403);
    assert_eq!(served.get("/metrics", Some(&key)).status, 403);
    assert_eq!(served.get("/metrics", None).status, 401);
    assert_eq!(
        served.get("/metrics", Some("another-token-of-16")).status,
        401
    );
    assert_eq!(served.get("/metrics", Some(&admin)).status, 200);
    let reply = served.get("/metrics", Some(&token));
    assert_eq!(reply.status, 200);
    let text = reply.body;
    for (name, expected) in [
        ("loci_calls_total{call=\"Search\",code=\"ok\"}", 1.0),
        ("loci_calls_total{call=\"Ingest\",code=\"forbidden\"}", 1.0),
        ("loci_call_seconds_count{call=\"Search\"}", 1.0),
        ("loci_call_seconds_bucket{call=\"Search\",le=\"60\"}", 1.0),
        (
            "loci_http_requests_total{method=\"GET\",route=\"/v1/stats\",status=\"200\"}",
            1.0,
        ),
        (
            "loci_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"}",
            1.0,
        ),
        ("loci_stores", 1.0),
        ("loci_stores_open", 1.0),
        ("loci_documents", 0.0),
    ] {
        assert_eq!(metric_value(&text, name), Some(expected), "{name}\n{text}");
    }
    if cfg!(target_os = "linux") {
        for name in [
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_cpu_seconds_total",
        ] {
            assert!(
                metric_value(&text, name).is_some_and(|value| value > 0.0),
                "{name}\n{text}"
            );
        }
    }
    assert!(
        !text.contains("secret-path") && !text.contains("heron"),
        "{text}"
    );
    check_every_metric_is_documented(&text);
}

/// Each has a line of help, and stands in the guide.
fn check_every_metric_is_documented(text: &str) {
    let guide = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/guide/operating.md"
    ));
    let guide = guide.unwrap();
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<&str> = kinds.filter_map(|kind| kind.split(' ').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("# HELP {name} ")), "{name}\n{text}");
        assert!(
            guide.contains(&format!("`{name}`")),
            "{name} is not in the guide"
        );
    }
}

#[test]
fn metrics_of_several_stores_need_the_token() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        make(&folder.path().join(name));
    }
    let root = folder.path().to_str().unwrap();
    let args = ["--root", root, "--listen", "127.0.0.1:0"];
    let without = TestServer::start(&args);
    let key = without.keys[0].1.clone();
    for shown in [None, Some(&key[..])] {
        assert_eq!(without.get("/metrics", shown).status, 404);
    }
    drop(without);
    let token = "0123456789abcdef";
    let config = file(
        folder.path(),
        "loci.toml",
        &format!("metrics_token = \"{token}\""),
    );
    let with = TestServer::start(&[&args[..], &["--config", &config]].concat());
    for shown in [None, Some(&key[..])] {
        assert_eq!(with.get("/metrics", shown).status, 401);
    }
    let reply = with.get("/metrics", Some(token));
    assert_eq!(metric_value(&reply.body, "loci_stores"), Some(2.0));
    assert!(
        !reply.body.contains("loci_documents") && !reply.body.contains("one\""),
        "{}",
        reply.body
    );
}

#[test]
fn metrics_are_public_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = TestServer::start(&["--db", &db, "--listen", "127.0.0.1:0", "--insecure-local"]);
    assert_eq!(served.get("/metrics", None).status, 200);
}

/// A collector that takes what is sent to it.
struct Collector {
    address: String,
    requests: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    fn start() -> Collector {
        Self::accept_with("http", read_export::<TcpStream>)
    }

    /// One that speaks TLS, with this certificate and key.
    fn with_tls(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Collector {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
        Self::accept_with("https", move |stream| {
            let secured = ServerConnection::new(Arc::clone(&config)).unwrap();
            read_export(StreamOwned::new(secured, stream))
        })
    }

    fn accept_with(
        scheme: &str,
        mut take: impl FnMut(TcpStream) -> (String, Vec<u8>) + Send + 'static,
    ) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (give, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = give.send(take(stream.unwrap()));
            }
        });
        Collector {
            address: format!("{scheme}://localhost:{port}"),
            requests,
        }
    }

    /// The spans of the next message.
    fn spans(&self) -> (Vec<u8>, Vec<Span>) {
        let (head, body) = self.requests.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
        assert!(
            head.to_lowercase()
                .contains("content-type: application/x-protobuf")
        );
        let message = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        let of = message.resource_spans.into_iter();
        let scopes = of.flat_map(|of| of.scope_spans);
        (body, scopes.flat_map(|of| of.spans).collect())
    }
}

/// Reads a request whose length it tells, and says that all is well.
fn read_export<S: Read + Write>(stream: S) -> (String, Vec<u8>) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut len) = (String::new(), 0);
    loop {
        let begun = head.len();
        stream.read_line(&mut head).unwrap();
        let line = head[begun..].trim().to_lowercase();
        match line.strip_prefix("content-length: ") {
            Some(length) => len = length.parse().unwrap(),
            None if line.is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    stream.get_mut().write_all(answer.as_bytes()).unwrap();
    stream.get_mut().flush().unwrap();
    (head, body)
}

/// The text of an attribute.
fn attribute<'s>(span: &'s Span, name: &str) -> &'s str {
    let of = span.attributes.iter().find(|of| of.key == name);
    let value = of.and_then(|of| of.value.as_ref()?.value.as_ref());
    match value {
        Some(any_value::Value::StringValue(text)) => text,
        other => panic!("{name}: {other:?}"),
    }
}

/// A connection from this address of the machine; `None` where it was reset before it was used.
#[cfg(target_os = "linux")]
fn connect_from(from: &str, to: std::net::SocketAddr) -> Option<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    runtime.unwrap().block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(to).await.ok()?.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        Some(stream)
    })
}

/// Whether the server has closed a connection without a word.
#[cfg(target_os = "linux")]
fn is_closed(mut stream: &TcpStream) -> bool {
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[cfg(target_os = "linux")]
#[test]
fn network_over_its_connection_rate_is_refused_and_others_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let limits = [
        "accept_unlimited=",
        "accept_per_second=1",
        "accept_burst=20",
    ];
    let limits = limits.iter().flat_map(|limit| ["--limit", limit]);
    let args: Vec<&str> = ["--db", &db, "--listen", "127.0.0.1:0"]
        .into_iter()
        .chain(limits)
        .collect();
    let served = TestServer::start(&args);
    for to in [served.address, served.http] {
        let network = if to == served.address {
            "127.1.1"
        } else {
            "127.1.2"
        };
        let connect = |n| connect_from(&format!("{network}.{n}"), to);
        let connections: Vec<Option<TcpStream>> = (1..=60).map(connect).collect();
        let is_refused = |of: &&Option<TcpStream>| of.as_ref().is_none_or(is_closed);
        let refused = connections.iter().filter(is_refused).count();
        assert!((30..=40).contains(&refused), "{refused} of 60 were closed");
    }
    // Another network is served, and so are the connections that are open.
    let mut other = connect_from("127.1.3.1", served.http).unwrap();
    let key = &served.keys[0].1;
    write!(other, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n").unwrap();
    let mut response = String::new();
    other.read_to_string(&mut response).unwrap();
    let count = |port: &str| -> u64 {
        let line = format!("loci_connections_refused_total{{port=\"{port}\",limit=\"network\"}} ");
        let line = response.lines().find_map(|of| of.strip_prefix(&line));
        line.unwrap_or_else(|| panic!("{response}"))
            .parse()
            .unwrap()
    };
    assert!(
        (30..=40).contains(&count("wire")) && (30..=40).contains(&count("http")),
        "{response}"
    );
}

#[test]
fn sampled_search_exports_a_span_with_child_operators_and_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let db = store(
        folder.path(),
        &[("heron.txt", "A heron waits in shallow water.")],
    );
    let collector = Collector::start();
    let args = [
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--otlp-endpoint",
        &collector.address,
    ];
    let mut served = TestServer::start(&[&args[..], &["--otlp-sample", "1"]].concat());
    let (client, key) = served.with_key(Role::Read, None);
    let question = "Which heron waits in zanzibar?";
    let answer = client.search(&SearchRequest::new(question)).unwrap();
    assert_eq!((answer.explain, answer.plan), (None, None), "nobody asked");
    let request = SearchRequest {
        explain: true,
        ..SearchRequest::new(question)
    };
    let steps = client.search(&request).unwrap().explain.unwrap();
    // Whoever is bound to a user is told no steps, and the operator is.
    let (bound, _) = served.with_key(Role::Read, Some("one"));
    let answer = bound.ask(&request).unwrap();
    assert_eq!((answer.explain, answer.plan), (None, None));
    served.stop();
    let (body, spans) = collector.spans();
    let searches: Vec<&Span> = spans.iter().filter(|span| span.name == "Search").collect();
    assert_eq!(searches.len(), 2, "{spans:?}");
    for search in &searches {
        assert_eq!(attribute(search, "loci.store"), "store");
        assert_eq!(attribute(search, "loci.code"), "ok");
        assert_eq!(
            attribute(search, "loci.key"),
            key.split('_').nth(1).unwrap()
        );
        let below = spans
            .iter()
            .filter(|span| span.parent_span_id == search.span_id);
        let below: Vec<&Span> = below.collect();
        let names: Vec<&str> = below.iter().map(|span| &span.name[..]).collect();
        let operators: Vec<&str> = steps.iter().map(|step| &step.operator[..]).collect();
        assert_eq!(names, operators);
        assert!(!names.is_empty());
        for pair in below.windows(2) {
            assert_eq!(pair[0].end_time_unix_nano, pair[1].start_time_unix_nano);
        }
        assert!(below[0].start_time_unix_nano >= search.start_time_unix_nano);
    }
    let ask = spans.iter().find(|span| span.name == "Ask").unwrap();
    assert!(spans.iter().any(|span| span.parent_span_id == ask.span_id));
    assert!(spans.iter().any(|span| span.name == "AddKey"));
    let body = String::from_utf8_lossy(&body);
    let secret = key.rsplit_once('_').unwrap().1;
    for word in ["zanzibar", "shallow", "heron", secret] {
        assert!(!body.contains(word), "{word}");
    }
}

#[test]
fn http_request_joins_the_trace_of_its_traceparent() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let db = db_path(folder.path());
    let args = [
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--otlp-endpoint",
        &collector.address,
    ];
    let mut served = TestServer::start(&[&args[..], &["--otlp-sample", "0"]].concat());
    let bearer = format!("Bearer {}", served.keys[0].1);
    let ask = |flags: &str| {
        let trace = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
        let head = [("authorization", &bearer[..]), ("traceparent", &trace)];
        assert_eq!(served.request("GET", "/v1/stats", &head).status, 200);
    };
    ask("00");
    ask("01");
    served.stop();
    let (_, spans) = collector.spans();
    let [span] = &spans[..] else {
        panic!("one is sampled: {spans:?}");
    };
    assert_eq!(span.name, "GetStats");
    assert_eq!(span.parent_span_id, 0xb7ad_6b71_6920_3331u64.to_be_bytes());
    assert_eq!(
        span.trace_id,
        0x0af7_6519_16cd_43dd_8448_eb21_1c80_319cu128.to_be_bytes()
    );
}

#[test]
fn collector_certificate_is_verified_and_environment_headers_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let trusted = file(folder.path(), "roots.pem", &own.cert.pem());
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let collector = Collector::with_tls(own.cert.der().clone(), key);
    let db = db_path(folder.path());
    let args = [
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--otlp-endpoint",
        &collector.address,
    ];
    let environment = [
        ("SSL_CERT_FILE", &trusted[..]),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "x-collector-key=a-key-of-the-collector",
        ),
        ("LOCI_OTLP_SAMPLE", "1"),
    ];
    let mut served = TestServer::start_with(&args, &environment);
    drop(served.admin().settings().unwrap());
    served.stop();
    let (head, body) = collector
        .requests
        .recv_timeout(Duration::from_secs(20))
        .unwrap();
    assert!(
        head.contains("x-collector-key: a-key-of-the-collector"),
        "{head}"
    );
    ExportTraceServiceRequest::decode(&body[..]).unwrap();
}

#[test]
fn unreachable_collector_does_not_delay_calls_or_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    // One takes connections and never answers, at the other nobody listens.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (address, wait) in [(silent.local_addr().unwrap(), 10), (gone, 10)] {
        let endpoint = format!("http://{address}");
        let args = [
            "--db",
            &db,
            "--listen",
            "127.0.0.1:0",
            "--otlp-endpoint",
            &endpoint,
        ];
        let mut served =
            TestServer::start(&[&args[..], &["--otlp-sample", "1", "--insecure-local"]].concat());
        let client = served.client("").unwrap();
        let begun = Instant::now();
        for _ in 0..200 {
            client.search(&SearchRequest::new("heron")).unwrap();
        }
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        drop(client);
        let begun = Instant::now();
        served.stop();
        assert!(
            begun.elapsed() < Duration::from_secs(wait),
            "{:?}",
            begun.elapsed()
        );
    }
}
