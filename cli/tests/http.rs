//! The HTTP API end to end: the real binary, spoken to over plain connections.

mod common;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use common::db_path;
use common::http::{Api, Response, raw, request};
use common::test_server::TestServer;
use loci_client::call::{Change, Role};
use locidb::storage::records::DocumentRecord;
use locidb::{NewAsset, NewDocument};
use serde_json::{Value, json};

const HERON: &str = "# Herons\n\nA heron waits in shallow water. Herons eat fish.\n\n## Nests\n\nHerons nest in trees near rivers.\n";

/// A server with a document about herons.
fn served() -> (tempfile::TempDir, TestServer) {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let stored = served
        .api()
        .put("/v1/documents/birds%2Fheron.md", HERON.as_bytes());
    assert_eq!(stored.status, 201, "{}", stored.text());
    assert_eq!(
        stored.header("location"),
        Some("/v1/documents/birds%2Fheron%2Emd")
    );
    (folder, served)
}

fn with_key(served: &TestServer, role: Role, user: Option<&str>) -> Api {
    let created = served.api().post(
        "/v1/keys",
        &json!({ "role": role.name(), "user": user, "note": "test" }),
    );
    assert_eq!(created.status, 201, "{}", created.text());
    served.api_with(created.json()["key"].as_str().unwrap())
}

/// Of a fault, its status and its code.
fn problem(response: &Response) -> (u16, String) {
    assert_eq!(
        response.header("content-type"),
        Some("application/problem+json")
    );
    let body = response.json();
    assert_eq!(body["status"], response.status);
    (response.status, body["code"].as_str().unwrap().to_owned())
}

#[test]
fn a_document_is_stored_found_read_and_deleted() {
    let (_folder, served) = served();
    let api = served.api();
    let found = api
        .get("/v1/search?q=where+do+herons+nest&k=1&highlights=true")
        .json();
    assert!(
        found["hits"][0]["text"]
            .as_str()
            .unwrap()
            .contains("nest in trees")
    );
    assert!(
        !found["hits"][0]["highlights"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let by_body = api.post(
        "/v1/search",
        &json!({ "question": "where do herons nest", "k": 1 }),
    );
    assert_eq!(
        by_body.json()["hits"][0]["chunk"],
        found["hits"][0]["chunk"]
    );
    let answer = api
        .post("/v1/ask", &json!({ "question": "What do herons eat?" }))
        .json();
    assert!(answer["answer"]["text"].as_str().unwrap().contains("fish"));

    let document = api.get("/v1/documents/birds%2Fheron.md").json();
    assert_eq!(document["document"]["title"], "Herons");
    let chunk = found["hits"][0]["chunk"]
        .as_str()
        .unwrap()
        .replace('#', "%23")
        .replace('/', "%2F");
    let chunk = api.get(&format!("/v1/chunks/{chunk}?context=2")).json();
    assert!(
        chunk["record"]["text"]
            .as_str()
            .unwrap()
            .contains("nest in trees")
    );
    let original = api.get("/v1/documents/birds%2Fheron.md/original");
    assert_eq!(original.text(), HERON);
    assert_eq!(original.header("content-type"), Some("text/markdown"));
    assert!(
        original
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    assert_eq!(api.get("/v1/documents/birds%2Fheron.md/text").text(), HERON);
    assert_eq!(api.get("/v1/stats").json()["documents"], 1);

    assert_eq!(api.delete("/v1/documents/birds%2Fheron.md").status, 204);
    let gone = api.get("/v1/documents/birds%2Fheron.md");
    assert_eq!(problem(&gone), (404, "not-found".into()));
    assert_eq!(
        problem(&api.delete("/v1/documents/birds%2Fheron.md")).0,
        404
    );
}

#[test]
fn several_files_of_a_form_are_stored_and_linked_into_a_collection() {
    let (_folder, served) = served();
    let api = served.api();
    let form = "--B\r\nContent-Disposition: form-data; name=\"collection\"\r\n\r\nzoo\r\n\
        --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"otter.txt\"\r\n\r\nAn otter sleeps on its back.\r\n\
        --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"lynx.txt\"\r\n\r\nA lynx hunts hares at night.\r\n--B--\r\n";
    let kind = "Content-Type: multipart/form-data; boundary=B";
    let stored = api
        .request("POST", "/v1/documents", &[kind], form.as_bytes())
        .json();
    let documents: Vec<&str> = stored["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["document"].as_str().unwrap())
        .collect();
    assert_eq!(documents, ["zoo::otter.txt", "zoo::lynx.txt"]);

    let linked = api.post(
        "/collections/river/link",
        &json!({ "files": [
            { "name": "heron.md", "file_id": "birds/heron.md", "type": "markdown" },
            { "name": "none.md", "file_id": "birds/none.md" },
        ] }),
    );
    let linked = linked.json();
    assert_eq!(linked["files"][0]["document"], "river::heron.md");
    assert_eq!(linked["files"][0]["status"], "added");
    assert_eq!(linked["files"][1]["status"], "failed");
    let listed = api.get("/v1/documents?collection=river").json();
    assert_eq!(listed["documents"].as_array().unwrap().len(), 1);
}

#[test]
fn unreadable_file_is_reported_as_unprocessable() {
    let (_folder, served) = served();
    let refused = served
        .api()
        .put("/v1/documents/broken.pdf", b"%PDF-1.7 and then nothing");
    assert_eq!(problem(&refused), (422, "invalid".into()));
    assert!(served.api().get("/v1/documents/broken.pdf").status == 404);
}

#[test]
fn long_calls_stream_progress_as_events() {
    let (_folder, served) = served();
    let events = ["Accept: text/event-stream"];
    let analysed = served.api().request("POST", "/v1/analyse", &events, b"");
    assert_eq!(analysed.header("content-type"), Some("text/event-stream"));
    let text = analysed.text();
    assert!(text.contains("event: progress\ndata: {\"step\""), "{text}");
    let done = text.split("event: done\ndata: ").nth(1).unwrap();
    let done: Value = serde_json::from_str(done.lines().next().unwrap()).unwrap();
    assert!(done["concepts"].is_u64());
    let headers = [events[0], "Content-Type: application/octet-stream"];
    let stored = served.api().request(
        "PUT",
        "/v1/documents/otter.txt",
        &headers,
        b"An otter sleeps.",
    );
    assert!(stored.text().contains("\"status\":\"added\""));
    let refused = served.api().request("PUT", "/v1/backups/one", &events, b"");
    assert!(
        refused
            .text()
            .contains("event: fault\ndata: {\"code\":\"invalid\""),
        "{}",
        refused.text()
    );
}

#[test]
fn conditional_requests_avoid_resending_and_overwriting() {
    let (_folder, served) = served();
    let api = served.api();
    let first = api.get("/v1/documents/birds%2Fheron.md");
    let mark = first.header("etag").unwrap();
    let known = format!("If-None-Match: {mark}");
    let again = api.request("GET", "/v1/documents/birds%2Fheron.md", &[&known], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(mark));

    let put = |condition: &str, text: &str| {
        let kind = "Content-Type: application/octet-stream";
        api.request(
            "PUT",
            "/v1/documents/birds%2Fheron.md",
            &[kind, condition],
            text.as_bytes(),
        )
    };
    assert_eq!(
        problem(&put("If-None-Match: *", "x")),
        (412, "conflict".into())
    );
    assert_eq!(
        put(&format!("If-Match: {mark}"), "Herons are grey.").status,
        200
    );
    assert_eq!(
        put(&format!("If-Match: {mark}"), "Herons are blue.").status,
        412
    );
    let changed = api.request("GET", "/v1/documents/birds%2Fheron.md", &[&known], b"");
    assert_eq!(changed.status, 200);
    let kind = "If-Match: \"other\"";
    assert_eq!(
        api.request("DELETE", "/v1/documents/birds%2Fheron.md", &[kind], b"")
            .status,
        412
    );
    assert_eq!(
        api.get("/v1/documents/birds%2Fheron.md/text").text(),
        "Herons are grey."
    );
}

#[test]
fn pagination_visits_every_document() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let api = served.api();
    let document = |name: String| json!({ "put_document": { "record": { "key": name }, "text": "x", "chunks": [] } });
    let changes: Vec<Value> = (0..7).map(|n| document(format!("d {n}&?#/ü"))).collect();
    let written = api.post("/v1/write", &json!({ "changes": changes }));
    assert_eq!(written.json()["outcomes"].as_array().unwrap().len(), 7);
    let mut next = Some("/v1/documents?limit=3".to_owned());
    let mut found = Vec::new();
    while let Some(path) = next {
        let page = api.get(&path);
        for document in page.json()["documents"].as_array().unwrap() {
            found.push(document["document"].as_str().unwrap().to_owned());
        }
        let link = page.header("link").map(str::to_owned);
        next = link.map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
    }
    assert_eq!(
        found,
        (0..7).map(|n| format!("d {n}&?#/ü")).collect::<Vec<_>>()
    );
}

#[test]
fn changes_of_one_request_are_atomic() {
    let (_folder, served) = served();
    let api = served.api();
    let put = json!({ "put_document": {
        "record": { "key": "own.txt", "title": "Own", "topics": ["a"] },
        "text": "Ferns grow. Mosses creep.",
        "chunks": [
            { "record": { "text": "Ferns grow.", "location": { "chars": [0, 11] } } },
            { "record": { "text": "Mosses creep.", "location": { "chars": [12, 25] } } },
        ],
        "concepts": [{ "name": "fern", "mentions": [[0, 1]] }, { "name": "moss", "mentions": [[1, 1]] }],
        "relations": [{ "source": "fern", "target": "moss", "kind": "RELATED_TO", "weight": 1.0 }],
    } });
    let wrong = api.post("/v1/write", &json!({ "changes": [put, { "replace_item": [99, { "front": "x" }] }, { "delete_document": "birds/heron.md" }, { "set": { "name": "no such", "value": "1" } }] }));
    assert_eq!(problem(&wrong).0, 400);
    assert_eq!(api.get("/v1/stats").json()["documents"], 1);
    let response = api.post(
        "/v1/write",
        &json!({ "changes": [put, { "delete_document": "birds/heron.md" }] }),
    );
    assert_eq!(response.json()["outcomes"][1], json!({ "was": true }));
    assert!(api.get("/v1/concepts/fern").text().contains("moss"));
    assert!(api.get("/v1/graph").text().contains("<graphml"));
    assert!(api.get("/v1/graph?format=cypher").text().contains("fern"));
    let found = api.get("/v1/search?q=mosses&k=1").json();
    assert_eq!(found["hits"][0]["citation"]["chars"], json!([12, 25]));
    let unknown = api.post("/v1/write", &json!({ "changes": [{ "put_document": { "record": { "key": "k", "titel": "x" }, "text": "", "chunks": [] } }] }));
    assert!(
        unknown.json()["detail"]
            .as_str()
            .unwrap()
            .contains("\"titel\"")
    );
}

#[test]
fn csv_graph_replaces_the_previous_one() {
    let (_folder, served) = served();
    let api = served.api();
    let csv = ["Content-Type: text/csv"];
    let nodes = ":ID,name,:LABEL\n1,Curlew,Bird\n2,Mudflat,Place\n";
    let stored = api.request("PUT", "/v1/graph", &csv, nodes.as_bytes());
    assert_eq!(
        stored.json(),
        json!({ "nodes": 2, "relationships": 0 }),
        "{}",
        stored.text()
    );
    let part = |field: &str, name: &str, text: &str| {
        format!(
            "--B\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\r\n{text}\r\n"
        )
    };
    let form = [
        part("file", "nodes.csv", ":ID;name;:LABEL\n1;Curlew;Bird"),
        part("more", "nodes2.csv", "2;Estuary;Place"),
        part(
            "file",
            "relations.csv",
            ":START_ID;:END_ID;:TYPE\n1;2;LIVES_IN",
        ),
        "--B--\r\n".into(),
    ];
    let kind = ["Content-Type: multipart/form-data; boundary=B"];
    let form = form.concat();
    let stored = api.request("PUT", "/v1/graph?delimiter=;", &kind, form.as_bytes());
    assert_eq!(stored.json(), json!({ "nodes": 2, "relationships": 1 }));
    assert!(api.get("/v1/concepts/Curlew").text().contains("Estuary"));
    assert_eq!(api.get("/v1/concepts/Mudflat").status, 404);
    let events = api.request(
        "PUT",
        "/v1/graph",
        &[csv[0], "Accept: text/event-stream"],
        nodes.as_bytes(),
    );
    assert!(events.text().contains("event: done"), "{}", events.text());

    let wrong = api.request("PUT", "/v1/graph", &csv, b":ID,name\n,Curlew\n");
    let why = wrong.json()["detail"].as_str().unwrap().to_owned();
    assert_eq!(wrong.status, 422);
    assert!(why.starts_with("graph.csv, line 2:"), "{why}");
    let conflict = api.request(
        "PUT",
        "/v1/graph?key=birds/heron.md",
        &csv,
        nodes.as_bytes(),
    );
    assert_eq!(problem(&conflict), (409, "conflict".into()));
    let wrong = api.request("PUT", "/v1/graph?delimiter=xy", &csv, nodes.as_bytes());
    assert_eq!(wrong.status, 400);
    assert!(api.get("/v1/concepts/Mudflat").status == 200);
}

#[test]
fn learning_items_and_records_are_stored() {
    let (_folder, served) = served();
    let api = served.api();
    let item = json!({ "front": "What do herons eat?", "back": "Fish.", "chunk": "birds/heron.md#1", "owner": "ann" });
    let created = api.post("/v1/items", &item);
    assert_eq!(created.status, 201);
    let id = created.json()["id"].as_u64().unwrap();
    let empty = api.post("/v1/items", &json!({ "front": "" }));
    assert_eq!(problem(&empty).0, 400);
    let listed = api.get("/v1/items?owner=ann").json();
    assert_eq!(listed["items"][0]["front"], "What do herons eat?");
    let path = format!("/v1/items/{id}");
    let kind = ["Content-Type: application/json"];
    let other = json!({ "front": "What do herons eat at dawn?", "owner": "ann" }).to_string();
    assert_eq!(
        api.request("PUT", &path, &kind, other.as_bytes()).status,
        204
    );
    assert_eq!(api.get("/v1/item-figures").json()["items"], 1);
    assert_eq!(api.delete(&path).status, 204);
    assert_eq!(problem(&api.delete(&path)).0, 404);

    let answer = api
        .post(
            "/v1/search",
            &json!({ "question": "herons", "record": true }),
        )
        .json();
    let response = answer["response"].as_u64().unwrap();
    let judged = json!({ "hit": 1, "feedback": "helpful" });
    assert_eq!(
        api.post(&format!("/v1/records/{response}/feedback"), &judged)
            .status,
        204
    );
    let record = api.get(&format!("/v1/records/{response}")).json();
    assert_eq!(record["records"][0]["hits"][0]["feedback"], "helpful");
    let unknown = api.post("/v1/replay", &json!({ "set": { "no such": 3 } }));
    assert_eq!(problem(&unknown).0, 400);
    let replayed = api.post("/v1/replay", &json!({ "set": { "k": 3 } }));
    assert_eq!(replayed.status, 200, "{}", replayed.text());
    assert_eq!(
        api.delete("/v1/records?before_ms=9999999999999").json()["count"],
        1
    );
}

#[test]
fn maintenance_calls_work_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let served = TestServer::start(&[
        "--db",
        &db_path(folder.path()),
        "--listen",
        "127.0.0.1:0",
        "--backups",
        backups.to_str().unwrap(),
    ]);
    let api = served.api();
    assert_eq!(
        api.put("/v1/documents/heron.md", HERON.as_bytes()).status,
        201
    );
    let set = api.request(
        "PUT",
        "/v1/settings/hops",
        &["Content-Type: application/json"],
        br#"{"value":3}"#,
    );
    assert_eq!(set.status, 204);
    assert_eq!(api.get("/v1/settings").json()["hops"], 3);
    assert_eq!(api.request("POST", "/v1/finish", &[], b"").status, 204);
    assert_eq!(
        api.request("POST", "/v1/check?deep=true", &[], b"").json()["count"],
        0
    );
    assert!(api.request("POST", "/v1/compact", &[], b"").json()["bytes_after"].is_u64());
    assert_eq!(api.request("POST", "/v1/repair", &[], b"").status, 200);
    assert!(api.get("/v1/usage").json()["tables"].is_array());
    let copied = api.request("PUT", "/v1/backups/monday", &[], b"");
    assert!(copied.json()["backup"]["rows"].as_u64().unwrap() > 0);
    let export = api.get("/v1/export");
    assert_eq!(export.header("content-type"), Some("application/jsonl"));
    assert!(
        export
            .text()
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
    assert!(export.text().contains("Herons nest"));
}

#[test]
fn key_allows_only_what_its_role_and_user_permit() {
    let (_folder, served) = served();
    let read = with_key(&served, Role::Read, None);
    assert_eq!(read.get("/v1/search?q=herons").status, 200);
    assert_eq!(
        problem(&read.put("/v1/documents/x.txt", b"x")),
        (403, "forbidden".into())
    );
    assert_eq!(
        problem(&read.post(
            "/v1/search",
            &json!({ "question": "herons", "record": true })
        ))
        .0,
        403
    );
    assert_eq!(problem(&read.get("/v1/keys")).0, 403);
    assert_eq!(problem(&read.get("/v1/export")).0, 403);

    let ann = with_key(&served, Role::Write, Some("ann"));
    assert_eq!(
        ann.put(
            "/v1/documents/ann%3A%3A%3A%3Aotter.txt",
            b"An otter sleeps on its back."
        )
        .status,
        201
    );
    assert_eq!(ann.get("/v1/stats").json()["documents"], 1);
    assert_eq!(problem(&ann.get("/v1/documents/birds%2Fheron.md")).0, 404);
    assert_eq!(ann.get("/v1/search?q=herons").json()["hits"], json!([]));
    assert_eq!(
        problem(&ann.put("/v1/documents/bob%3A%3A%3A%3Ax.txt", b"x")).0,
        403
    );
    assert_eq!(problem(&ann.get("/v1/works")).0, 403);
    let linked = ann.post(
        "/collections/c/link",
        &json!({ "files": [{ "name": "n", "file_id": "birds/heron.md" }] }),
    );
    assert_eq!(linked.json()["files"][0]["status"], "failed");

    let id = ann.key.split('_').nth(1).unwrap();
    assert_eq!(served.api().delete(&format!("/v1/keys/{id}")).status, 204);
    assert_eq!(problem(&ann.get("/v1/stats")), (401, "unauthorized".into()));
    let none = request(served.http, "GET", "/v1/stats", &[], b"");
    assert_eq!(none.header("www-authenticate"), Some("Bearer"));
    assert_eq!(
        request(served.http, "GET", "/healthz", &[], b"").text(),
        "ok\n"
    );
    assert_eq!(request(served.http, "GET", "/readyz", &[], b"").status, 200);
}

#[test]
fn invalid_requests_report_the_error() {
    let (_folder, served) = served();
    let api = served.api();
    let detail = |response: Response| {
        let (status, _) = problem(&response);
        (
            status,
            response.json()["detail"].as_str().unwrap().to_owned(),
        )
    };
    let cases = [
        (api.get("/v1/search"), 400, "missing field `q`"),
        (api.get("/v1/search?q=+"), 400, "ask something"),
        (api.get("/v1/search?q=x&k=many"), 400, "invalid digit"),
        (api.get("/v1/search?q=x&filter=year+%3E"), 400, "filter"),
        (api.get("/v1/search?q=x&strategy=best"), 400, "strategy"),
        (api.get("/v1/documents?limit=0"), 400, "limit"),
        (api.get("/v1/documents?limt=1"), 400, "limt"),
        (api.get("/v1/chunks/heron"), 400, "KEY#NUMBER"),
        (api.get("/v1/items?document=a%3Ab%3A%3Ac"), 400, "':'"),
        (api.get("/v2/stats"), 404, "/openapi.json"),
        (api.post("/v1/stats", &json!({})), 405, "method"),
        (
            api.post("/v1/search", &json!({ "question": "x", "kk": 1 })),
            400,
            "kk",
        ),
        (api.post("/v1/search", &json!([1])), 400, "the body"),
        (api.request("POST", "/v1/search", &[], b"{}"), 415, "kind"),
        (
            api.request("GET", "/v1/stats", &["Loci-Timeout-Ms: soon"], b""),
            400,
            "milliseconds",
        ),
        (
            api.request(
                "POST",
                "/v1/documents?name=x",
                &["Content-Type: multipart/form-data"],
                b"",
            ),
            400,
            "form",
        ),
    ];
    for (response, status, says) in cases {
        let (is, detail_text) = detail(response);
        assert_eq!(is, status, "{detail_text}");
        assert!(
            detail_text.contains(says),
            "{detail_text:?} does not say {says:?}"
        );
    }
}

#[test]
fn large_answers_are_compressed_for_those_who_take_it() {
    let (_folder, served) = served();
    let plain = served.api().get("/openapi.json");
    let packed = served
        .api()
        .request("GET", "/openapi.json", &["Accept-Encoding: gzip"], b"");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < plain.body.len() / 5);
    // Other bytes have another mark, and either stands for the state.
    let marks = [&plain, &packed].map(|answer| answer.header("etag").unwrap().to_owned());
    assert_ne!(marks[0], marks[1]);
    for mark in marks {
        let lines = [
            &format!("If-None-Match: {mark}")[..],
            "Accept-Encoding: gzip",
        ];
        let known = served.api().request("GET", "/openapi.json", &lines, b"");
        assert_eq!(known.status, 304);
        assert_eq!(known.header("etag"), Some(&mark[..]));
        assert_eq!(known.header("vary"), Some("accept-encoding"));
    }
}

#[test]
fn oversized_bodies_are_refused_before_they_are_buffered() {
    let (_folder, served) = served();
    let api = served.api();
    let long = format!("{{\"question\":\"{}\"}}", "x".repeat(3 << 20));
    let refused = api.request(
        "POST",
        "/v1/search",
        &["Content-Type: application/json"],
        long.as_bytes(),
    );
    assert_eq!(problem(&refused), (413, "too-large".into()));
    // A body without a right key is not read at all.
    let head = format!(
        "PUT /v1/documents/x HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 70000000\r\n\r\n",
        served.http
    );
    assert_eq!(problem(&raw(served.http, head.as_bytes())).0, 401);
    // A head has bounds as well.
    let head = format!(
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "x".repeat(64 << 10)
    );
    assert_eq!(raw(served.http, head.as_bytes()).status, 431);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = api.request(
        "POST",
        "/v1/search",
        &["Content-Type: application/json"],
        deep.as_bytes(),
    );
    assert_eq!(problem(&deep).0, 400);
}

/// How many calls ended so, as the server's figures tell.
fn ended(served: &TestServer, call: &str, code: &str) -> u64 {
    let metrics = served.api().get("/metrics").text();
    let line = format!("loci_calls_total{{call=\"{call}\",code=\"{code}\"}} ");
    let found = metrics.lines().find_map(|of| of.strip_prefix(&line));
    found.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn a_request_that_nobody_waits_for_is_cancelled_and_a_deadline_holds() {
    let (_folder, served) = served();
    let api = served.api();
    // A file that takes longer than anybody waits for it here.
    let text = "Herons of the northern rivers wait. ".repeat(100_000);
    let late = ["Loci-Timeout-Ms: 20", "Content-Type: text/plain"];
    let late = api.request("PUT", "/v1/documents/late.txt", &late, text.as_bytes());
    assert_eq!(problem(&late), (504, "deadline".into()));
    let mut stream = TcpStream::connect(served.http).unwrap();
    let head = format!(
        "PUT /v1/documents/left.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        api.key,
        text.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    // The call has begun by then.
    std::thread::sleep(Duration::from_millis(500));
    drop(stream);
    let until = Instant::now() + Duration::from_secs(30);
    while ended(&served, "Ingest", "cancelled") == 0 {
        assert!(Instant::now() < until, "the call was not cancelled");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(api.get("/v1/stats").json()["documents"], 1);
}

#[test]
fn connection_over_the_limit_gets_an_error_and_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let env = [("LOCI_LIMITS__CONNECTIONS_MAX", "1")];
    let served = TestServer::start_with(
        &["--db", &db_path(folder.path()), "--listen", "127.0.0.1:0"],
        &env,
    );
    let get = format!(
        "GET /v1/stats HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
        served.keys[0].1
    );
    let mut first = TcpStream::connect(served.http).unwrap();
    first.write_all(get.as_bytes()).unwrap();
    let mut some = [0; 12];
    first.read_exact(&mut some).unwrap();
    assert_eq!(&some, b"HTTP/1.1 200");
    // Its answer is read to the end of the connection.
    let refused = raw(served.http, get.as_bytes());
    assert_eq!(problem(&refused), (503, "overloaded".into()));
    assert_eq!(refused.header("connection"), Some("close"));
    drop(first);
    let until = Instant::now() + Duration::from_secs(10);
    while served.api().get("/v1/stats").status != 200 {
        assert!(Instant::now() < until, "the place was not given back");
    }
}

#[test]
fn oversized_form_fields_are_refused() {
    let (_folder, served) = served();
    let long = "x".repeat(4_096);
    let form = format!(
        "--B\r\nContent-Disposition: form-data; name=\"collection\"\r\n\r\n{long}\r\n\
         --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\na\r\n--B--\r\n"
    );
    let kind = "Content-Type: multipart/form-data; boundary=B";
    let refused = served
        .api()
        .request("POST", "/v1/documents", &[kind], form.as_bytes());
    assert_eq!(problem(&refused).0, 400);
    assert_eq!(served.api().get("/v1/stats").json()["documents"], 1);
}

#[test]
fn cross_site_requests_are_refused_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = TestServer::start(&["--db", &db, "--insecure-local", "--listen", "127.0.0.1:0"]);
    let ask = |path: &str, headers: &[&str]| request(served.http, "GET", path, headers, b"").status;
    assert_eq!(ask("/v1/stats", &[]), 200);
    assert_eq!(ask("/v1/stats", &["Sec-Fetch-Site: cross-site"]), 403);
    assert_eq!(ask("/v1/stats", &["Origin: https://evil.example"]), 403);
    assert_eq!(ask("/metrics", &["Sec-Fetch-Site: cross-site"]), 403);
    let head = "GET /v1/stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(served.http, head.as_bytes()).status, 403);
}

#[test]
fn stored_files_are_not_executed_by_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let html = b"<html><script>alert(1)</script><p>A heron waits.</p></html>";
    let drawing = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    let document = NewDocument {
        record: DocumentRecord {
            key: "page.html".into(),
            ..DocumentRecord::default()
        },
        original: html.to_vec(),
        assets: vec![NewAsset {
            name: "a.svg".into(),
            bytes: drawing.to_vec(),
        }],
        ..NewDocument::default()
    };
    let change = Change::PutDocument(Box::new(document));
    served.admin().apply(vec![change]).unwrap();
    let api = served.api();
    let files =
        ["original", "text", "assets/a.svg"].map(|of| format!("/v1/documents/page.html/{of}"));
    let files = files.iter().map(|path| (&path[..], true));
    let others = ["/v1/graph?format=graphml", "/v1/export"].map(|path| (path, true));
    let answers = [
        "/v1/documents/page.html",
        "/v1/documents",
        "/v1/search?q=heron",
        "/v1/documents/none",
        "/nowhere",
        "/openapi.json",
    ];
    let answers = answers.map(|path| (path, false));
    for (path, is_file) in files.chain(others).chain(answers) {
        let response = api.get(path);
        let field = |name: &str| response.header(name).unwrap_or_default();
        assert_eq!(
            field("content-security-policy"),
            "default-src 'none'; sandbox; frame-ancestors 'none'",
            "{path}"
        );
        assert_eq!(field("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(
            field("cross-origin-resource-policy"),
            "same-origin",
            "{path}"
        );
        let is_kept = field("content-disposition").starts_with("attachment; ");
        assert_eq!(is_kept, is_file, "{path}: {response:?}");
        assert_eq!(
            response.status == 200,
            !matches!(path, "/v1/documents/none" | "/nowhere"),
            "{path}"
        );
    }
}

#[test]
fn a_request_that_names_no_host_or_several_is_refused_on_every_route() {
    let (_folder, served) = served();
    let api = served.api();
    let key = format!("Authorization: Bearer {}\r\n", api.key);
    let to = served.http;
    let paths = api.get("/openapi.json").json()["paths"]
        .as_object()
        .unwrap()
        .clone();
    let paths = paths.keys().map(|path| path.replace(['{', '}'], ""));
    let others = [
        "/",
        "/sign-in",
        "/read/x",
        "/picture/x/y",
        "/mcp",
        "/metrics",
        "/healthz",
        "/readyz",
        "/nowhere",
    ];
    let paths: Vec<String> = paths.chain(others.map(str::to_owned)).collect();
    for path in &paths {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            for hosts in [
                "Host: a\r\nHost: b\r\n",
                "Host: a\r\nhost: a\r\n",
                "",
                "Host: a b\r\n",
            ] {
                let head =
                    format!("{method} {path} HTTP/1.1\r\n{hosts}{key}Content-Length: 0\r\n\r\n");
                let refused = raw(to, head.as_bytes());
                assert_eq!(problem(&refused), (400, "invalid".into()), "{head}");
                assert!(
                    refused.json()["detail"]
                        .as_str()
                        .unwrap()
                        .starts_with("Host: "),
                    "{head}"
                );
                assert_eq!(refused.header("connection"), Some("close"), "{head}");
            }
        }
    }
    let old = raw(to, b"GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(old.status, 200, "HTTP/1.0 has no such field");
    assert_eq!(
        api.get("/v1/documents/birds%2Fheron.md").status,
        200,
        "nothing was deleted"
    );
}

#[test]
fn several_requests_go_over_one_connection() {
    let (_folder, served) = served();
    let key = &served.keys[0].1;
    let mut stream = TcpStream::connect(served.http).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let get = |path: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n")
    };
    let both = format!("{}{}", get("/v1/stats"), get("/v1/settings"));
    stream.write_all(both.as_bytes()).unwrap();
    let (mut all, mut part) = (String::new(), [0; 4096]);
    while !(all.contains("\"documents\":1") && all.contains("\"hops\"")) {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{all}");
        all.push_str(&String::from_utf8_lossy(&part[..count]));
    }
}

#[test]
fn openapi_describes_exactly_the_served_routes() {
    let description: Value =
        serde_json::from_str(include_str!("../../server/src/serve/http/api/openapi.json")).unwrap();
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    let (_folder, served) = served();
    // It may look, and change nothing.
    let api = with_key(&served, Role::Read, None);
    let mut described = BTreeSet::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        let path_here = path.replace(['{', '}'], "0");
        for method in ["get", "put", "post", "delete", "patch"] {
            let is_told = operations.get(method).is_some();
            let response = api.request(&method.to_uppercase(), &path_here, &[], b"");
            let is_nowhere = response.text().contains("there is no such path");
            let is_there = !is_nowhere && response.status != 405;
            assert_eq!(is_told, is_there, "{method} {path}: {}", response.status);
            if is_told {
                let status = response.status.to_string();
                let statuses = &operations[method]["responses"];
                assert!(statuses.get(&status).is_some(), "{method} {path}: {status}");
                described.insert(format!("{method} {path}"));
            }
        }
    }
    let source = include_str!("../../server/src/serve/http/api/mod.rs");
    let routes = source
        .split("\"/")
        .skip(1)
        .filter(|rest| !rest.starts_with('/'));
    for route in routes {
        let path = format!("/{}", route.split('"').next().unwrap());
        assert!(
            description["paths"].get(&path).is_some(),
            "{path} is not described"
        );
    }
    assert!(described.len() > 50);
}

#[test]
fn key_access_is_logged_once_a_minute_and_wrong_keys_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let served = TestServer::start(&[
        "--db",
        &db_path(folder.path()),
        "--listen",
        "127.0.0.1:0",
        "--audit-log",
        log.to_str().unwrap(),
    ]);
    for _ in 0..5 {
        assert_eq!(served.api().get("/v1/stats").status, 200);
    }
    for _ in 0..3 {
        assert_eq!(served.api_with("wrong").get("/v1/stats").status, 401);
    }
    let text = std::fs::read_to_string(log).unwrap();
    let count_lines = |says: &str| text.lines().filter(|line| line.contains(says)).count();
    assert_eq!(count_lines(r#""message":"access""#), 1, "{text}");
    assert_eq!(count_lines("no access"), 3, "{text}");
}

/// What the other side says until it ends the connection, and after how long that is. `drop`: sent once a second.
fn until_ended(stream: &mut TcpStream, drop: &[u8]) -> (Duration, String) {
    let (began, mut received) = (Instant::now(), Vec::new());
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    loop {
        let mut part = [0; 4_096];
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => received.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        if stream.write_all(drop).is_err() || began.elapsed() > Duration::from_secs(90) {
            break;
        }
    }
    (
        began.elapsed(),
        String::from_utf8_lossy(&received).into_owned(),
    )
}

#[test]
#[ignore = "waits until connections are ended, which takes half a minute"]
fn slow_senders_and_readers_are_disconnected_within_bounds() {
    let (_folder, served) = served();
    let (api, to) = (served.api(), served.http);
    let len = 32 << 20;
    let large: Vec<u8> = b"A heron waits. "
        .iter()
        .copied()
        .cycle()
        .take(len)
        .collect();
    let document = NewDocument {
        record: DocumentRecord {
            key: "large".into(),
            ..DocumentRecord::default()
        },
        original: large,
        ..NewDocument::default()
    };
    let change = Change::PutDocument(Box::new(document));
    served.admin().apply(vec![change]).unwrap();
    let key = &api.key;
    let begin = |text: String| {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let field = format!("Host: x\r\nAuthorization: Bearer {key}\r\n");
    let (half, most) = (Duration::from_secs(25), Duration::from_secs(40));
    thread::scope(|scope| {
        let cases = [
            (
                "a head",
                "GET /v1/stats HTTP/1.1\r\nX-Slow: ".to_owned(),
                "x",
                None,
            ),
            ("nothing", String::new(), "", None),
            (
                "keep-alive",
                "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".into(),
                "",
                Some("200 OK"),
            ),
            (
                "keep-alive with a key",
                format!("GET /v1/stats HTTP/1.1\r\n{field}\r\n"),
                "",
                Some("200 OK"),
            ),
            (
                "a body",
                format!(
                    "PUT /v1/documents/slow HTTP/1.1\r\n{field}Content-Length: 1000000\r\n\r\n"
                ),
                "x",
                Some("came too slowly"),
            ),
        ];
        for (what, begins, drop, says) in cases {
            let mut stream = begin(begins);
            scope.spawn(move || {
                let (took, received) = until_ended(&mut stream, drop.as_bytes());
                println!(
                    "{what}: ended after {took:?}: {:?}",
                    received.lines().next()
                );
                assert!(took > half && took < most, "{what}: {took:?}");
                assert!(
                    says.is_none_or(|says| received.contains(says)),
                    "{what}: {received}"
                );
            });
        }
        let mut unread = begin(format!(
            "GET /v1/documents/large/original HTTP/1.1\r\n{field}\r\n"
        ));
        scope.spawn(move || {
            thread::sleep(most);
            let mut all = Vec::new();
            let ended = unread.read_to_end(&mut all);
            println!("not read: {} of {len} bytes, {ended:?}", all.len());
            assert!(all.len() < len);
        });
    });
}
