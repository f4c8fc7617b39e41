//! MCP through the real binary: over standard input and output, and over HTTP with keys.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::test_server::TestServer;
use common::{db_path, refused, store, text, write_files};
use loci_client::call::Role;
use serde_json::{Value, json};

const HEAPS: &str = "# Heaps\n\nA heap is a tree in an array. Heap sort builds a heap and takes its root away.\n\n\
## Binary heaps\n\nA binary heap keeps the smallest key at the root. A priority queue is a binary heap.\n";

const TREES: &str = "# Trees\n\nA tree has a root and leaves. A binary heap is a tree whose parents are smaller than \
their children, as Williams showed [1].\n\n## References\n\n[1] J. Williams. Algorithm 232: Heapsort. Communications of \
the ACM, 1964.\n";

/// Bytes of a message at most.
const MESSAGE_LEN_MAX: usize = 512 << 10;

fn documents(folder: &Path) -> String {
    store(folder, &[("heaps.md", HEAPS), ("trees.md", TREES)])
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    })
}

/// One who can ask a server of MCP.
trait McpClient {
    /// The reply to a request.
    fn request(&mut self, method: &str, params: Value) -> Value;

    /// What a tool gives.
    fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.request("tools/call", params)["result"].take()
    }

    /// What a tool tells in words, and as a value.
    fn tool_output(&mut self, name: &str, arguments: Value) -> (String, Value) {
        let mut result = self.call_tool(name, arguments);
        assert_eq!(result["isError"], json!(false), "{name}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["structuredContent"].take())
    }

    /// What a tool says no with.
    fn tool_error(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call_tool(name, arguments);
        assert_eq!(result["isError"], json!(true), "{name}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// A process that speaks MCP over its standard input and output; killed when it goes.
struct StdioServer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl StdioServer {
    fn start(db: &str) -> StdioServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loci"))
            .args(["mcp", "--db", db])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = StdioServer {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
        };
        let hello = started.request("initialize", hello());
        assert_eq!(hello["result"]["serverInfo"]["name"], "loci");
        started.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        started
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl McpClient for StdioServer {
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&request(id, method, params));
        let reply = self.reply();
        assert_eq!(reply["id"], json!(id));
        reply
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status, head and body of the answer to a message that is posted to `/mcp`.
fn post(http: SocketAddr, fields: &[(&str, &str)], body: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(http).unwrap();
    let mut head = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    let usual = [
        ("Host", "store.example.org"),
        ("Connection", "close"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let is_given = |name: &str| fields.iter().any(|(given, _)| *given == name);
    for (name, value) in usual
        .iter()
        .filter(|(name, _)| !is_given(name))
        .chain(fields)
    {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // A server that refuses it need not read it all.
    let _ = stream.write_all(body);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

/// One who shows a key over HTTP.
struct HttpMcpClient {
    http: SocketAddr,
    authorization: String,
}

impl HttpMcpClient {
    fn with_key(served: &TestServer, key: &str) -> HttpMcpClient {
        HttpMcpClient {
            http: served.http,
            authorization: format!("Bearer {key}"),
        }
    }
}

impl McpClient for HttpMcpClient {
    fn request(&mut self, method: &str, params: Value) -> Value {
        let fields = [
            ("Authorization", &self.authorization[..]),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        let body = request(7, method, params);
        let (status, head, body) = post(self.http, &fields, body.as_bytes());
        assert_eq!(status, 200, "{head}: {body}");
        assert!(!head.to_lowercase().contains("mcp-session-id"), "{head}");
        serde_json::from_str(&body).unwrap()
    }
}

fn check_every_tool(by: &mut impl McpClient) {
    let listed = by.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    let expected = [
        "cite",
        "list_documents",
        "read_chunk",
        "read_document",
        "search",
        "walk_concepts",
    ];
    assert_eq!(names, expected);

    let (text, found) = by.tool_output(
        "search",
        json!({ "question": "What is a binary heap?", "k": 3 }),
    );
    let first = &found["passages"][0];
    let (chunk, document) = (first["chunk"].as_str().unwrap(), &first["document"]);
    assert!(text.contains("binary heap keeps the smallest"), "{text}");
    assert!(text.contains(&format!(
        "chunk {chunk} | link {}",
        first["link"].as_str().unwrap()
    )));
    let filter = json!({ "question": "heap", "filter": "key = \"trees.md\"", "strategy": "text" });
    let (_, narrow) = by.tool_output("search", filter);
    assert_eq!(narrow["passages"][0]["document"], "trees.md");
    let whole = json!({ "question": "heap", "context_tokens": 300 });
    let (text, whole) = by.tool_output("search", whole);
    assert!(text.contains(whole["context"].as_str().unwrap()));
    assert_eq!(whole["passages"][0]["text"], Value::Null);

    let (text, read) = by.tool_output("read_chunk", json!({ "key": chunk }));
    assert!(text.contains(read["text"].as_str().unwrap()));
    assert_eq!(
        (&read["chunk"], &read["document"]),
        (&json!(chunk), document)
    );
    let (_, cited) = by.tool_output("cite", json!({ "of": chunk }));
    assert_eq!(cited["passage"]["citation"], read["citation"]);
    let (text, network) = by.tool_output("cite", json!({ "of": "trees.md" }));
    assert_eq!(network["cites_count"], 1, "{network}");
    assert!(text.contains("Algorithm 232"), "{text}");

    let (_, concepts) = by.tool_output("walk_concepts", json!({}));
    let name = &concepts["concepts"][0]["name"];
    let (text, walk) = by.tool_output("walk_concepts", json!({ "name": name }));
    assert!(!walk["concept"]["passages"].as_array().unwrap().is_empty());
    assert!(text.starts_with(name.as_str().unwrap()), "{text}");
    let other = &walk["concept"]["relations"][0];
    let other = [&other["source"], &other["target"]]
        .into_iter()
        .find(|of| *of != name);
    let (_, path) = by.tool_output(
        "walk_concepts",
        json!({ "name": name, "to": other.unwrap() }),
    );
    assert_eq!(path["way"]["path"], json!([name, other]));

    let (_, page) = by.tool_output("list_documents", json!({ "limit": 1 }));
    assert_eq!(page["documents"][0]["document"], "heaps.md");
    let (_, page) = by.tool_output("list_documents", json!({ "after": page["next"] }));
    assert_eq!(page["documents"][0]["document"], "trees.md");
    let (text, outline) = by.tool_output("read_document", json!({ "key": "heaps.md" }));
    assert_eq!(outline["title"], "Heaps");
    assert!(
        text.contains(outline["outline"][0]["chunk"].as_str().unwrap()),
        "{text}"
    );
    let resource = json!({ "uri": outline["resource"] });
    let resource = by.request("resources/read", resource);
    assert_eq!(resource["result"]["contents"][0]["text"], HEAPS);
    let listed = by.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], outline["resource"]);
}

fn check_invalid_calls(by: &mut impl McpClient) {
    for (name, arguments, says) in [
        (
            "read_chunk",
            json!({ "key": "otters.md#1" }),
            "not-found: there is no chunk",
        ),
        ("read_chunk", json!({ "key": "otters.md" }), "KEY#NUMBER"),
        (
            "read_document",
            json!({ "key": "otters.md" }),
            "no document",
        ),
        ("walk_concepts", json!({ "name": "otter" }), "no concept"),
        (
            "cite",
            json!({ "of": "otters.md" }),
            "no document or cited work",
        ),
        (
            "search",
            json!({ "question": "heap", "filter": "year >" }),
            "filter: ",
        ),
        (
            "search",
            json!({ "question": "heap", "k": 1_000 }),
            "between 1 and 50",
        ),
        (
            "search",
            json!({ "question": "x".repeat(70_000) }),
            "invalid",
        ),
        ("search", json!({ "question": 1 }), "expected a string"),
        ("search", json!({}), "question"),
        (
            "list_documents",
            json!({ "limit": 5_000 }),
            "between 1 and 200",
        ),
    ] {
        let error = by.tool_error(name, arguments);
        assert!(error.contains(says), "{name}: {error}");
    }
    let unknown = by.request(
        "tools/call",
        json!({ "name": "delete_document", "arguments": {} }),
    );
    assert_eq!(unknown["error"]["code"], -32_602, "{unknown}");
    assert!(by.request("stores/drop", json!({}))["error"]["code"].is_i64());
    let gone = by.request("resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert!(gone["error"]["code"].is_i64(), "{gone}");
}

#[test]
fn an_assistant_uses_every_tool_of_a_process_that_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = StdioServer::start(&documents(folder.path()));
    check_every_tool(&mut started);
    check_invalid_calls(&mut started);
    // What is no message, or is none that it knows, ends nothing.
    started.send("no message");
    started.send(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)));
    started.send(&"x".repeat(MESSAGE_LEN_MAX + 1));
    started.tool_output("list_documents", json!({}));
    started.send("[1,2]");
    assert_eq!(started.reply()["error"]["code"], -32_600);
    started.input = None;
    let mut rest = String::new();
    started.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(started.child.wait().unwrap().success());
}

#[test]
fn requests_sent_before_end_of_input_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = StdioServer::start(&documents(folder.path()));
    let call = json!({ "name": "search", "arguments": { "question": "heap" } });
    for id in 100..120 {
        started.send(&request(id, "tools/call", call.clone()));
    }
    started.input = None;
    let mut ids: Vec<u64> = (0..20)
        .map(|_| started.reply()["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (100..120).collect::<Vec<u64>>());
    assert!(started.child.wait().unwrap().success());
}

#[test]
#[ignore = "waits for half a minute"]
fn idle_store_can_be_written_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let db = documents(folder.path());
    let mut started = StdioServer::start(&db);
    started.tool_output("list_documents", json!({}));
    let more = folder.path().join("more");
    write_files(&more, &[("otters.md", "An otter sleeps on its back.")]);
    let ingest = ["ingest", "--db", &db, more.to_str().unwrap()];
    refused(1, &ingest, "open in another process");
    std::thread::sleep(std::time::Duration::from_secs(33));
    text(0, &ingest);
    let (_, page) = started.tool_output("list_documents", json!({}));
    assert_eq!(page["documents"][1]["document"], "otters.md");
}

#[test]
fn process_without_a_store_or_a_client_exits() {
    let folder = tempfile::tempdir().unwrap();
    let none = db_path(folder.path());
    refused(2, &["mcp", "--db", &none], "there is no store");
    let db = documents(folder.path());
    assert_eq!(text(0, &["mcp", "--db", &db]), "");
}

#[test]
fn an_assistant_with_a_key_uses_every_tool_over_http() {
    let folder = tempfile::tempdir().unwrap();
    documents(folder.path());
    let served = TestServer::for_folder(folder.path());
    let (_, key) = served.with_key(Role::Read, None);
    let mut reader = HttpMcpClient::with_key(&served, &key);
    let hello = reader.request("initialize", hello());
    assert_eq!(hello["result"]["serverInfo"]["title"], "LociDB");
    check_every_tool(&mut reader);
    check_invalid_calls(&mut reader);
}

#[test]
fn message_without_a_valid_key_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    documents(folder.path());
    let served = TestServer::for_folder(folder.path());
    let wrong = format!("Bearer {}x", served.keys[0].1);
    let basic = format!("Basic {}", served.keys[0].1);
    let list = request(1, "tools/list", json!({}));
    for fields in [
        &[][..],
        &[("Authorization", &wrong[..])],
        &[("Authorization", &basic[..])],
        &[("Authorization", "Bearer")],
    ] {
        for body in [list.as_bytes(), b"no message"] {
            let (status, head, body) = post(served.http, fields, body);
            assert_eq!(status, 401, "{body}");
            assert!(head.to_lowercase().contains("www-authenticate: bearer"));
            assert!(!body.contains("search"), "{body}");
        }
    }
}

#[test]
fn bound_key_sees_nothing_of_other_users() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    for (user, name, words) in [
        ("ann", "heaps.md", HEAPS),
        (
            "ben",
            "secret.md",
            "# Secret\n\nBen hides a Zweistein heap in the Nautilus.\n",
        ),
    ] {
        let files = folder.path().join(user);
        write_files(&files, &[(name, words)]);
        text(
            0,
            &[
                "ingest",
                "--db",
                &db,
                "--user",
                user,
                files.to_str().unwrap(),
            ],
        );
    }
    let served = TestServer::for_folder(folder.path());
    let (_, key) = served.with_key(Role::Read, Some("ann"));
    let mut ann = HttpMcpClient::with_key(&served, &key);
    let (_, all) = HttpMcpClient::with_key(&served, &served.keys[0].1)
        .tool_output("list_documents", json!({}));
    let keys: Vec<&Value> = all["documents"].as_array().unwrap().iter().collect();
    let secret = keys[1]["document"].as_str().unwrap();
    assert!(secret.contains("secret.md"));
    for (name, arguments) in [
        (
            "search",
            json!({ "question": "heap Zweistein Nautilus", "strategy": "text" }),
        ),
        (
            "search",
            json!({ "question": "heap", "filter": "user_id = ben", "context_tokens": 500 }),
        ),
        ("list_documents", json!({})),
        ("walk_concepts", json!({})),
        ("walk_concepts", json!({ "prefix": "Z" })),
    ] {
        let (text, value) = ann.tool_output(name, arguments);
        for output in [text, value.to_string()] {
            for of_ben in ["secret.md", "hides", "Nautilus"] {
                assert!(!output.contains(of_ben), "{name}: {output}");
            }
        }
    }
    for (name, arguments) in [
        ("read_document", json!({ "key": secret })),
        ("read_chunk", json!({ "key": format!("{secret}#1") })),
        ("cite", json!({ "of": format!("{secret}#1") })),
        ("cite", json!({ "of": secret })),
        ("walk_concepts", json!({ "name": "Nautilus" })),
    ] {
        let error = ann.tool_error(name, arguments);
        assert!(error.starts_with("not-found"), "{error}");
    }
    let uri = format!("loci://document/{secret}");
    let read = ann.request("resources/read", json!({ "uri": uri }));
    assert!(read["error"]["code"].is_i64() && read["result"].is_null());
    let listed = ann.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1);
}

#[test]
fn hostile_messages_are_refused_and_the_next_one_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    documents(folder.path());
    let served = TestServer::for_folder(folder.path());
    let mut shows = HttpMcpClient::with_key(&served, &served.keys[0].1);
    let authorization = shows.authorization.clone();
    let fields = [("Authorization", &authorization[..])];
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(60_000), close.repeat(60_000));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{open}1{close}}}"#)
    };
    for (body, code) in [
        (String::new(), -32_700),
        ("{".into(), -32_700),
        ("\u{0}\u{1}".into(), -32_700),
        (nested("[", "]"), -32_700),
        (nested(r#"{"a":"#, "}"), -32_700),
        ("[]".into(), -32_600),
        (
            format!("[{}]", request(1, "tools/list", json!({}))),
            -32_600,
        ),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#.into(),
            -32_600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}"#.into(),
            -32_600,
        ),
    ] {
        let (status, _, reply) = post(served.http, &fields, body.as_bytes());
        let shown: String = body.chars().take(80).collect();
        assert_eq!(status, 400, "{shown}: {reply}");
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["error"]["code"], code, "{shown}: {reply}");
    }
    let huge = vec![b' '; MESSAGE_LEN_MAX + 1];
    let (status, _, reply) = post(served.http, &fields, &huge);
    assert_eq!(status, 413, "{reply}");
    let list = request(1, "tools/list", json!({}));
    for (name, value, expected) in [
        ("Content-Type", "text/plain", 415),
        ("Accept", "text/html", 406),
        ("MCP-Protocol-Version", "1999-01-01", 400),
    ] {
        let fields = [fields[0], (name, value)];
        let (status, _, reply) = post(served.http, &fields, list.as_bytes());
        assert_eq!(status, expected, "{name}: {reply}");
    }
    shows.tool_output("list_documents", json!({}));
}

#[test]
fn only_loopback_requests_are_answered_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let db = documents(folder.path());
    let args = ["--db", &db, "--listen", "127.0.0.1:0", "--insecure-local"];
    let served = TestServer::start(&args);
    let list = request(1, "tools/list", json!({}));
    for (host, origin, expected) in [
        ("localhost:7626", "http://localhost:6274", 200),
        ("127.0.0.1", "http://127.0.0.1", 200),
        ("rebound.example.org", "http://localhost", 403),
        ("localhost", "https://example.org", 403),
        ("localhost", "null", 403),
    ] {
        let fields = [("Host", host), ("Origin", origin)];
        let (status, _, body) = post(served.http, &fields, list.as_bytes());
        assert_eq!(status, expected, "{host} {origin}: {body}");
    }
}
