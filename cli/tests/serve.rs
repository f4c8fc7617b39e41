//! The server end to end: the real binary, called by the real client over real connections.

mod common;

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::http::parse;
use common::test_server::TestServer;
use common::wire::WireConnection;
use common::{db_path, json};
use loci_client::call::{
    self, Begin, Change, GetCitations, GetDocument, GetOriginal, GetSettings, GetText,
    ListDocuments, Method, Role, Rollback,
};
use loci_client::{Address, Client, ClientError, ClientOptions, Code};
use loci_protocol::codec;
use loci_protocol::frame::{FrameKind, HEADER_LEN, Header};
use locidb::storage::DocumentKey;
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{Database, NewChunk, NewCitation, NewDocument, NewReference, SearchRequest, Strategy};

fn document(user: &str, key: &str, text: &str) -> NewDocument {
    let record = ChunkRecord {
        text: text.into(),
        ..ChunkRecord::default()
    };
    NewDocument {
        record: DocumentRecord {
            user: user.into(),
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.into(),
        chunks: vec![NewChunk {
            record,
            vector: None,
        }],
        ..NewDocument::default()
    }
}

fn put(document: NewDocument) -> Change {
    Change::PutDocument(Box::new(document))
}

fn by_words(question: &str) -> SearchRequest {
    SearchRequest {
        strategy: Strategy::Text,
        ..SearchRequest::new(question)
    }
}

fn code(result: Result<impl std::fmt::Debug, ClientError>) -> Code {
    let error = result.unwrap_err();
    error.code().unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn embedded_and_client_apis_are_interchangeable() {
    // The same words over both handles: only how they are opened differs.
    macro_rules! program {
        ($database:expr) => {{
            let database = $database;
            database
                .write(|tx| {
                    tx.put_document(document("", "heron.txt", "A heron waits in shallow water."))?;
                    tx.put_document(document("", "otter.txt", "An otter sleeps on its back."))?;
                    tx.delete_document(&DocumentKey::new("", "", "otter.txt").unwrap())
                })
                .unwrap();
            let key = DocumentKey::new("", "", "heron.txt").unwrap();
            database
                .write(move |tx| tx.patch_document(&key, |record| record.year = Some(1998)))
                .unwrap();
            let mut request = by_words("heron");
            request.explain = true;
            request.filter = Some("year = 1998".parse().unwrap());
            let answer = database.search(&request).unwrap();
            let asked = database.ask(&by_words("What waits in water?")).unwrap();
            (answer.hits, asked.answer, database.settings().unwrap())
        }};
    }
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let remote = program!(served.admin());
    let own = tempfile::tempdir().unwrap();
    let embedded = program!(Database::open(own.path()).unwrap());
    assert_eq!(remote.0.len(), 1);
    assert_eq!(remote, embedded);
}

#[test]
fn transactions_are_atomic() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let client = served.admin();
    let failed = client.write(|tx| {
        tx.put_document(document("", "a", "heron"))?;
        assert!(
            tx.document_id(&"a".parse().unwrap())?.is_some(),
            "it sees its own changes"
        );
        Err::<(), _>(ClientError::Caller("on second thoughts".into()))
    });
    assert!(failed.unwrap_err().to_string().contains("second thoughts"));
    let broken = document("", "", "no key");
    let all = vec![put(document("", "b", "heron")), put(broken)];
    assert_eq!(code(client.apply(all)), Code::Invalid);
    // A step that fails ends its transaction, also when its error is passed over.
    let passed = client.write(|tx| {
        tx.put_document(document("", "c", "heron"))?;
        let _ = tx.put_document(document("", "", "no key"));
        Ok(())
    });
    assert_eq!(code(passed), Code::Conflict);
    assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 0);
    let large = "heron ".repeat(100_000);
    client
        .write(|tx| tx.put_document(document("", "large", &large)))
        .unwrap();
    assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
}

#[test]
fn transaction_does_not_block_earlier_writers() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let (first, other, last) = (served.admin(), served.admin(), served.admin());
    // Each stands in the queue before the next one comes.
    let (queued, slow) = (Duration::from_millis(200), Duration::from_secs(3));
    thread::scope(|scope| {
        let started = Instant::now();
        scope.spawn(|| {
            first.write(|tx| {
                tx.put_document(document("", "a", "heron"))?;
                thread::sleep(3 * queued);
                Ok(())
            })
        });
        thread::sleep(queued);
        let written = scope.spawn(move || {
            other
                .apply(vec![put(document("", "b", "heron"))])
                .map(|_| started.elapsed())
        });
        thread::sleep(queued);
        let open = scope.spawn(|| {
            last.write(|tx| {
                thread::sleep(slow);
                tx.put_document(document("", "c", "heron"))
            })
        });
        let waited = written.join().unwrap().unwrap();
        assert!(waited < slow, "{waited:?}");
        open.join().unwrap().unwrap();
    });
    assert_eq!(first.search(&by_words("heron")).unwrap().hits.len(), 3);
}

#[test]
fn transaction_cancelled_before_it_opens_releases_its_permit() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let two = ["--limit", "transactions_max=2"];
    let served = TestServer::start(&[&["--db", &db, "--listen", "127.0.0.1:0"][..], &two].concat());
    let key = &served.keys[0].1;
    let open = || WireConnection::open(served.address, key);
    let (mut first, mut other) = (open(), open());
    first.call(1, 0, &Begin {});
    assert_eq!(first.wait_for_end(1), None);
    other.call(1, 100, &Begin {});
    assert_eq!(other.wait_for_end(1), Some(Code::Deadline));
    other.call(2, 0, &Begin {});
    other.cancel(2);
    assert_eq!(other.wait_for_end(2), Some(Code::Cancelled));
    other.call(3, 0, &Begin {});
    let mut third = open();
    third.call(1, 0, &Begin {});
    assert_eq!(
        third.wait_for_end(1),
        Some(Code::Overloaded),
        "both places are taken"
    );
    drop(other);
    let until = Instant::now() + Duration::from_secs(3);
    for id in 2.. {
        third.call(id, 50, &Begin {});
        if third.wait_for_end(id) == Some(Code::Deadline) {
            break;
        }
        assert!(Instant::now() < until, "the place is still taken");
    }
    // The writer is free for the next one at once.
    third.call(1_000, 0, &Begin {});
    drop(first);
    assert_eq!(third.wait_for_end(1_000), None);
}

/// A folder of stores with these names.
fn stores(names: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in names {
        Database::open(root.path().join(name)).unwrap().close();
    }
    root
}

#[test]
fn busy_store_does_not_block_other_stores() {
    let root = stores(&["one", "two"]);
    let served = TestServer::start(&[
        "--root",
        root.path().to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
        "--limit",
        "transactions_max=2",
        "--limit",
        "writes_max=2",
    ]);
    let open = |store: usize| WireConnection::open(served.address, &served.keys[store].1);
    let (mut first, mut second, mut other) = (open(0), open(0), open(1));
    let write = || call::Write {
        changes: vec![put(document("", "a", "heron"))],
    };
    first.call(1, 0, &Begin {});
    assert_eq!(first.wait_for_end(1), None);
    second.call(1, 0, &Begin {});
    assert_eq!(second.wait_for_end(1), Some(Code::Overloaded));
    // One write waits for the transaction, and another is one too many.
    second.call(2, 0, &write());
    thread::sleep(Duration::from_millis(300));
    first.call(2, 0, &write());
    assert_eq!(first.wait_for_end(2), Some(Code::Overloaded));
    other.call(1, 0, &Begin {});
    assert_eq!(other.wait_for_end(1), None);
    other.call(2, 0, &Rollback { transaction: 1 });
    assert_eq!(other.wait_for_end(2), None);
    other.call(3, 0, &write());
    assert_eq!(other.wait_for_end(3), None);
    first.call(3, 0, &Rollback { transaction: 1 });
    assert_eq!(first.wait_for_end(3), None);
    assert_eq!(second.wait_for_end(2), None);
}

#[test]
fn wrong_key_and_missing_store_give_the_same_error() {
    let root = tempfile::tempdir().unwrap();
    let served = TestServer::with_two_stores(root.path());
    assert_eq!(served.keys.len(), 2, "a store without keys gets one");
    let (name, key) = &served.keys[0];
    let client = served.client(key).unwrap();
    assert_eq!(&client.session().unwrap().store, name);
    let other = &served.keys[1].0;
    // The same id with another secret.
    let (id, secret) = key.rsplit_once('_').unwrap();
    let first = if secret.starts_with('A') { 'B' } else { 'A' };
    let wrong = format!("{id}_{first}{}", &secret[1..]);
    let tries = [
        format!("loci://{key}@{}/{other}", served.address),
        format!("loci://{key}@{}/three", served.address),
        format!("loci://{wrong}@{}", served.address),
        format!(
            "loci://loci_0000000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA@{}",
            served.address
        ),
        format!("loci://{}", served.address),
        format!("loci://nonsense@{}", served.address),
    ];
    let mut errors: Vec<String> = Vec::new();
    for address in tries {
        let error = Client::connect(&address).unwrap_err();
        assert_eq!(error.code(), Some(Code::Unauthorized));
        errors.push(error.to_string());
    }
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn key_allows_its_role_until_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let (reader, key) = served.with_key(Role::Read, None);
    let (writer, _) = served.with_key(Role::Write, None);
    writer.apply(vec![put(document("", "a", "heron"))]).unwrap();
    assert_eq!(reader.search(&by_words("heron")).unwrap().hits.len(), 1);
    assert_eq!(
        code(reader.apply(vec![put(document("", "b", "heron"))])),
        Code::Forbidden
    );
    assert_eq!(
        code(reader.write(|tx| tx.put_document(document("", "b", "heron")))),
        Code::Forbidden
    );
    assert_eq!(code(writer.set("hops", "3")), Code::Forbidden);
    assert_eq!(
        code(writer.apply(vec![Change::Set("hops".into(), "3".into())])),
        Code::Forbidden
    );
    served.admin().set("hops", "3").unwrap();
    assert_eq!(reader.settings().unwrap().hops, 3);
    let id = key.split('_').nth(1).unwrap();
    // From the command line, beside the running server.
    json(0, &["key", "revoke", "--db", &db_path(folder.path()), id]);
    let until = Instant::now() + Duration::from_secs(10);
    while reader.search(&by_words("heron")).is_ok() {
        assert!(Instant::now() < until, "the key is still good");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(code(served.client(&key)), Code::Unauthorized);
    assert_eq!(
        served
            .admin()
            .search(&by_words("heron"))
            .unwrap()
            .hits
            .len(),
        1
    );
}

#[test]
fn bound_key_reads_and_writes_only_its_users_documents() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let admin = served.admin();
    let (one, _) = served.with_key(Role::Write, Some("one"));
    admin
        .apply(vec![
            put(document("one", "a", "A heron of mine.")),
            put(document("two", "b", "A heron of somebody else.")),
        ])
        .unwrap();
    for strategy in [
        Strategy::Auto,
        Strategy::Hybrid,
        Strategy::Text,
        Strategy::Staged,
        Strategy::Graph,
    ] {
        let request = SearchRequest {
            strategy,
            explain: true,
            ..SearchRequest::new("heron")
        };
        let answer = match one.search(&request) {
            Ok(answer) => answer,
            // There are no vectors and no concepts here.
            Err(error) => {
                assert_eq!(error.code(), Some(Code::Invalid), "{strategy:?}: {error}");
                continue;
            }
        };
        let found: Vec<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
        assert!(found.is_empty() || found == ["one::::a"], "{strategy:?}");
        assert!(strategy != Strategy::Text || !found.is_empty());
        assert_eq!(answer.explain, None);
    }
    let reply = one.ask(&by_words("Whose heron is it?")).unwrap();
    let answer_json = serde_json::to_string(&reply).unwrap();
    assert!(
        answer_json.contains("of mine") && !answer_json.contains("somebody"),
        "{answer_json}"
    );
    // A document of its own cites somebody else's, and is told nothing of it.
    let mut citing = document("one", "citing", "As they say (Heron, 1998).");
    citing.references = vec![NewReference {
        text: "Heron 1998".into(),
        key: Some("two::::b".parse().unwrap()),
        ..NewReference::default()
    }];
    citing.citations = vec![NewCitation::default()];
    one.apply(vec![put(citing)]).unwrap();
    let network = |client: &Client| {
        let of = "one::::citing".to_owned();
        client.call(&GetCitations { of }).unwrap().0
    };
    assert_eq!(network(&admin)["cites"][0]["work"]["document"], "two::::b");
    let citations = network(&one);
    assert_eq!(citations["cites"].as_array().unwrap().len(), 1);
    assert!(!citations.to_string().contains("two::"), "{citations}");
    let deleted = one.write(|tx| tx.delete_document(&"one::::citing".parse().unwrap()));
    assert!(deleted.unwrap());
    let request = SearchRequest {
        filter: Some("user_id = two or year = 7".parse().unwrap()),
        ..by_words("heron")
    };
    assert_eq!(one.search(&request).unwrap().hits.len(), 0);
    let listed = |user: Option<&str>| {
        let user = user.map(str::to_owned);
        let page = one.call(&ListDocuments {
            collection: None,
            user,
            after: None,
            limit: 10,
        });
        page.unwrap().0["documents"].clone()
    };
    assert_eq!(listed(None), listed(Some("two")));
    assert_eq!(listed(None).as_array().unwrap().len(), 1);
    assert_eq!(one.stats().unwrap()["documents"], 1);
    let foreign: DocumentKey = "two::::b".parse().unwrap();
    assert_eq!(
        code(one.call(&GetDocument {
            key: foreign.clone()
        })),
        Code::NotFound
    );
    assert_eq!(
        code(one.call(&GetOriginal {
            key: foreign.clone()
        })),
        Code::NotFound
    );
    assert!(!one.write(|tx| tx.delete_document(&foreign)).unwrap());
    assert_eq!(one.write(|tx| tx.document(&foreign)).unwrap(), None);
    assert_eq!(
        code(one.apply(vec![put(document("two", "c", "x"))])),
        Code::Forbidden
    );
    assert_eq!(
        code(one.apply(vec![Change::MergeConcepts("a".into(), "b".into())])),
        Code::Forbidden
    );
    assert_eq!(admin.stats().unwrap()["documents"], 2);
}

#[test]
fn files_are_streamed_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let client = served.admin();
    let text: String = (0..40_000).map(|n| format!("Line {n}. ")).collect();
    client
        .apply(vec![put(document("", "long", &text))])
        .unwrap();
    let key: DocumentKey = "long".parse().unwrap();
    let mut parts = Vec::new();
    client
        .call_each(&GetOriginal { key: key.clone() }, |part| parts.push(part))
        .unwrap();
    assert!(parts.len() > 1);
    assert_eq!(parts.concat(), text.as_bytes());
    let mut received = Vec::new();
    client
        .call_each(&GetText { key }, |part: Vec<u8>| received.extend(part))
        .unwrap();
    assert_eq!(received, text.as_bytes());
}

#[test]
fn malformed_bytes_close_only_their_own_connection() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let client = served.admin();
    client.apply(vec![put(document("", "a", "heron"))]).unwrap();
    let wrong: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        &[0xff; 64],
        &[0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        &[
            4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'L', b'O', b'C', b'I',
        ],
        &[0, 0, 0, 0, 9, 0, 0, 0],
        &[],
    ];
    for bytes in wrong {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(bytes).unwrap();
        // The server may have closed it already.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        // A fault of the connection as a whole, with the code for malformed bytes.
        assert_eq!(received.get(4), Some(&5), "{bytes:?}");
        assert_eq!(
            received.get(16),
            Some(&(Code::Malformed as u8)),
            "{bytes:?}"
        );
    }
    assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
}

#[test]
fn acknowledged_writes_survive_a_kill_and_clients_reconnect() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = TestServer::for_folder(folder.path());
    let (address, key) = (served.address.to_string(), served.keys[0].1.clone());
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (address, key) = (address.clone(), key.clone());
            thread::spawn(move || {
                let url = format!("loci://{key}@{address}");
                let options = ClientOptions {
                    retries: 12,
                    ..ClientOptions::default()
                };
                let client =
                    Client::connect_with(url.parse::<Address>().unwrap(), options).unwrap();
                let mut acknowledged = Vec::new();
                let until = Instant::now() + Duration::from_secs(4);
                for number in 0.. {
                    if Instant::now() > until {
                        break;
                    }
                    let name = format!("d{writer}-{number}");
                    let change = put(document("", &name, "heron"));
                    if client.apply(vec![change]).is_ok() {
                        acknowledged.push(name);
                    }
                    // What may be made again is, across the kill.
                    client.search(&by_words("heron")).unwrap();
                }
                acknowledged
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(1_500));
    served.kill();
    let again = TestServer::start(&["--db", &db_path(folder.path()), "--listen", &address]);
    assert!(again.keys.is_empty(), "a first key is told once");
    let acknowledged: Vec<String> = writers
        .into_iter()
        .flat_map(|of| of.join().unwrap())
        .collect();
    assert!(acknowledged.len() > 8, "{acknowledged:?}");
    let client = again.client(&key).unwrap();
    for name in acknowledged {
        let key = name.parse().unwrap();
        client
            .call(&GetDocument { key })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn forbidden_large_call_is_refused_before_it_is_received() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = TestServer::for_folder(folder.path());
    let small = ["--call-bytes-max", "100000", "--role", "write"];
    let created = json(0, &[&["key", "add", "--db", &db][..], &small].concat());
    let text = "heron ".repeat(100_000);
    let write = call::Write {
        changes: vec![put(document("", "a", &text))],
    };
    let frame = Header::new(FrameKind::Call, 1).frame(&write.encode(0));
    let reader = served.with_key(Role::Read, None).1;
    let of_small_calls = created[0]["key"].as_str().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while served.client(of_small_calls).is_err() {
        assert!(Instant::now() < until, "the key is not known");
    }
    for (key, refused) in [
        (&reader[..], Code::Forbidden),
        (of_small_calls, Code::TooLarge),
    ] {
        let mut wire = WireConnection::open(served.address, key);
        let (start, rest) = frame.split_at(HEADER_LEN + 6);
        wire.stream.write_all(start).unwrap();
        assert_eq!(wire.wait_for_end(1), Some(refused));
        // The connection goes on behind the rest.
        wire.stream.write_all(rest).unwrap();
        wire.call(2, 0, &GetSettings {});
        assert_eq!(wire.wait_for_end(2), None);
    }
}

#[test]
fn slow_large_calls_do_not_reserve_memory_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::start(&[
        "--db",
        &db_path(folder.path()),
        "--listen",
        "127.0.0.1:0",
        "--limit",
        "payload_len_max=1048576",
        "--limit",
        "room_bytes=1048576",
    ]);
    let text = "heron ".repeat(60_000);
    let frame = |name: &str| {
        let changes = vec![put(document("", name, &text))];
        Header::new(FrameKind::Call, 1).frame(&call::Write { changes }.encode(0))
    };
    let mut slow: Vec<(WireConnection, Vec<u8>)> = (0..8)
        .map(|n| {
            let mut wire = WireConnection::open(served.address, &served.keys[0].1);
            let frame = frame(&format!("slow-{n}"));
            wire.stream.write_all(&frame[..20_000]).unwrap();
            (wire, frame[20_000..].to_vec())
        })
        .collect();
    let client = served.admin();
    let (started, quick) = (Instant::now(), Duration::from_secs(10));
    client
        .apply(vec![put(document("", "quick", &text))])
        .unwrap();
    assert!(started.elapsed() < quick, "{:?}", started.elapsed());
    // Whoever holds much keeps others out, who are told at once, and may come again.
    let (mut first, rest) = slow.pop().unwrap();
    first.stream.write_all(&rest[..rest.len() - 1]).unwrap();
    let (mut other, other_rest) = slow.pop().unwrap();
    // The server has read what the first sent, on a busy machine too.
    thread::sleep(Duration::from_secs(2));
    other.stream.write_all(&other_rest).unwrap();
    assert_eq!(other.wait_for_end(1), Some(Code::Overloaded));
    first.stream.write_all(&rest[rest.len() - 1..]).unwrap();
    assert_eq!(first.wait_for_end(1), None);
    // The reply may arrive a moment before the memory of its call is free.
    let again = frame("again");
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        other.stream.write_all(&again).unwrap();
        match other.wait_for_end(1) {
            Some(Code::Overloaded) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(50));
            }
            end => break assert_eq!(end, None),
        }
    }
    assert_eq!(client.stats().unwrap()["documents"], 3);
}

#[cfg(unix)]
#[test]
fn stopping_server_drains_calls_and_accepts_no_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = TestServer::for_folder(folder.path());
    let (key, client) = (served.keys[0].1.clone(), served.admin());
    // More than connections hold that nobody reads, so that it is under way until it is read.
    let original: Vec<u8> = (0..32u32 << 20).map(|n| b' ' + (n % 95) as u8).collect();
    let long = NewDocument {
        original: original.clone(),
        ..document("", "long", "heron")
    };
    client.apply(vec![put(long)]).unwrap();
    let mut over_wire = WireConnection::open(served.address, &key);
    let of = "long".parse().unwrap();
    over_wire.call(1, 0, &GetOriginal { key: of });
    let mut parts = vec![over_wire.read_frame()];
    let mut over_http = TcpStream::connect(served.http).unwrap();
    let path = "/v1/documents/long/original";
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
    over_http.write_all(request.as_bytes()).unwrap();
    let mut read = vec![0; 1_000];
    over_http.read_exact(&mut read).unwrap();
    // A transaction that is open is dropped whole, and a write that waits for it is made.
    let mut open = WireConnection::open(served.address, &key);
    open.call(1, 0, &Begin {});
    assert_eq!(open.wait_for_end(1), None);
    let change = put(document("", "dropped", "heron"));
    open.call(
        2,
        0,
        &call::Step {
            transaction: 1,
            change,
        },
    );
    assert_eq!(open.wait_for_end(2), None);
    let writing = thread::spawn(move || client.apply(vec![put(document("", "made", "heron"))]));
    thread::sleep(Duration::from_millis(300));
    served.send_signal("TERM");
    let until = Instant::now() + Duration::from_secs(5);
    for address in [served.address, served.http] {
        while TcpStream::connect(address).is_ok() {
            assert!(Instant::now() < until, "{address} takes new connections");
            thread::sleep(Duration::from_millis(10));
        }
    }
    writing.join().unwrap().unwrap();
    assert_eq!(
        served.child.try_wait().unwrap(),
        None,
        "calls are under way"
    );
    while parts.last().unwrap().0.more || parts.last().unwrap().0.call == 0 {
        parts.push(over_wire.read_frame());
    }
    let parts = parts.iter().filter(|(header, _)| header.more);
    let bytes = parts.flat_map(|(_, payload)| codec::decode::<Vec<u8>>(payload).unwrap());
    assert!(bytes.eq(original.iter().copied()));
    drop(over_wire);
    over_http.read_to_end(&mut read).unwrap();
    let response = parse(&read);
    assert_eq!(response.status, 200);
    assert!(response.body == original);
    assert!(served.child.wait().unwrap().success());
    let database = Database::open(db_path(folder.path())).unwrap();
    let hits = database.search(&by_words("heron")).unwrap().hits;
    let mut found: Vec<&str> = hits.iter().map(|hit| &hit.document[..]).collect();
    found.sort_unstable();
    assert_eq!(found, ["long", "made"]);
}

#[test]
fn server_without_keys_listens_only_on_loopback() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    common::refused(
        2,
        &[
            "serve",
            "--db",
            &db,
            "--insecure-local",
            "--listen",
            "0.0.0.0:0",
        ],
        "reached from elsewhere",
    );
    let served = TestServer::start(&["--db", &db, "--insecure-local", "--listen", "127.0.0.1:0"]);
    assert!(served.keys.is_empty());
    let client = Client::connect(&format!("loci://{}", served.address)).unwrap();
    client.apply(vec![put(document("", "a", "heron"))]).unwrap();
    assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
}

/// A certificate for this machine that is its own authority, written to two files.
fn certificate(folder: &Path, name: &str) -> (String, String) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
    let (certificate, key) = (path("crt"), path("key"));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

#[cfg(unix)]
#[test]
fn tls_certificate_is_verified_and_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, secret) = certificate(folder.path(), "first");
    let db = db_path(folder.path());
    let served = TestServer::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &certificate,
        "--tls-key",
        &secret,
    ]);
    let (key, port) = (&served.keys[0].1, served.address.port());
    let connect = |authorities: &str| {
        let address = format!("locis://{key}@localhost:{port}")
            .parse::<Address>()
            .unwrap();
        let options = ClientOptions {
            authorities: Some(authorities.into()),
            ..ClientOptions::default()
        };
        Client::connect_with(address, options)
    };
    let first = folder.path().join("authority.crt");
    std::fs::copy(&certificate, &first).unwrap();
    let first = first.to_str().unwrap();
    let client = connect(first).unwrap();
    client
        .apply(vec![put(document("", "a", &"heron ".repeat(50_000)))])
        .unwrap();
    assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
    assert!(served.client(key).is_err(), "nothing is said without TLS");
    let (other, other_secret) = self::certificate(folder.path(), "second");
    assert!(connect(&other).is_err(), "the authority is another one");
    std::fs::copy(&other, &certificate).unwrap();
    std::fs::copy(&other_secret, &secret).unwrap();
    served.send_signal("HUP");
    let until = Instant::now() + Duration::from_secs(10);
    while connect(&other).is_err() {
        assert!(Instant::now() < until, "the certificate is still the first");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(connect(first).is_err());
    assert_eq!(
        client.search(&by_words("heron")).unwrap().hits.len(),
        1,
        "open connections go on"
    );
}

#[test]
fn audit_log_records_calls_without_texts_or_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (db, log) = (db_path(folder.path()), folder.path().join("audit.log"));
    let served = TestServer::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--audit-log",
        log.to_str().unwrap(),
        "--log",
        "none",
    ]);
    let (writer, key) = served.with_key(Role::Write, None);
    writer
        .apply(vec![put(document("", "a", "plumage"))])
        .unwrap();
    writer.search(&by_words("plumage")).unwrap();
    assert_eq!(code(writer.set("hops", "3")), Code::Forbidden);
    assert!(served.client("loci_0000000000000000_AAAA").is_err());
    let text = std::fs::read_to_string(log).unwrap();
    let (id, secret) = key.strip_prefix("loci_").unwrap().split_once('_').unwrap();
    let lines = common::json_lines(&text);
    let calls = lines
        .iter()
        .filter(|line| line["key"] == id && line["message"] == "call");
    let calls: Vec<_> = calls
        .map(|line| (line["call"].clone(), line["code"].clone()))
        .collect();
    assert_eq!(
        calls,
        [
            ("Write".into(), "ok".into()),
            ("SetSetting".into(), "forbidden".into())
        ]
    );
    assert!(
        lines
            .iter()
            .any(|line| line["level"] == "WARN" && line["route"] == "wire")
    );
    assert!(!text.contains(secret) && !text.contains("plumage"));
}

#[test]
fn steps_of_a_transaction_are_in_metrics_and_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let (db, log) = (db_path(folder.path()), folder.path().join("audit.log"));
    let served = TestServer::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--audit-log",
        log.to_str().unwrap(),
    ]);
    let (writer, key) = served.with_key(Role::Write, None);
    writer
        .write(|tx| tx.put_document(document("", "a", "plumage")))
        .unwrap();
    let (reader, _) = served.with_key(Role::Read, None);
    let refused = reader.write(|tx| tx.put_document(document("", "b", "plumage")));
    assert_eq!(code(refused), Code::Forbidden);
    let mut other = WireConnection::open(served.address, &key);
    other.call(1, 0, &call::Commit { transaction: 7 });
    assert_eq!(other.wait_for_end(1), Some(Code::Conflict));
    let metrics = served.get("/metrics", Some(&served.keys[0].1)).body;
    for (call, code) in [
        ("Begin", "ok"),
        ("Begin", "forbidden"),
        ("Step", "ok"),
        ("Commit", "ok"),
        ("Commit", "conflict"),
    ] {
        let line = format!("loci_calls_total{{call=\"{call}\",code=\"{code}\"}} 1");
        assert!(metrics.lines().any(|of| of == line), "{line}\n{metrics}");
    }
    assert!(metrics.contains("loci_call_seconds_count{call=\"Step\"} 1"));
    let id = key.split('_').nth(1).unwrap();
    let lines = common::json_lines(&std::fs::read_to_string(log).unwrap());
    let calls = lines.iter().filter(|line| line["key"] == id);
    let calls: Vec<&str> = calls.filter_map(|line| line["call"].as_str()).collect();
    assert_eq!(calls, ["Begin", "Step", "Commit", "Commit"]);
    assert!(
        lines
            .iter()
            .any(|line| line["call"] == "Begin" && line["code"] == "forbidden")
    );
}

/// What Linux tells of a process under a name, as `VmRSS`; `None` where it knows no such thing.
#[cfg(target_os = "linux")]
fn status_of(pid: u32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut fields = status.lines().filter_map(|line| line.split_once(':'));
    let field = fields.find(|(field, _)| *field == name);
    field.map(|(_, value)| value.trim().to_owned())
}

/// Kilobytes of memory that a process has.
#[cfg(target_os = "linux")]
fn resident_kib(pid: u32) -> u64 {
    let resident = status_of(pid, "VmRSS").unwrap();
    resident.trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn server_runs_without_transparent_huge_pages() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = TestServer::start(&["--db", &db, "--insecure-local", "--listen", "127.0.0.1:0"]);
    // Kernels before 5.0 do not tell.
    if let Some(enabled) = status_of(served.child.id(), "THP_enabled") {
        assert_eq!(enabled, "0");
    }
}

/// Held by tests that open very many connections and measure what others see of it.
#[cfg(target_os = "linux")]
static MEASURES: Mutex<()> = Mutex::new(());

/// Searches of a good client for so long: how many, and the latency that 99 of 100 keep.
#[cfg(target_os = "linux")]
fn search_for(client: &Client, time: Duration) -> (usize, Duration) {
    let until = Instant::now() + time;
    let mut times = Vec::new();
    while Instant::now() < until {
        let started = Instant::now();
        assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
        times.push(started.elapsed());
        thread::sleep(Duration::from_millis(1));
    }
    times.sort_unstable();
    (times.len(), times[times.len() * 99 / 100])
}

/// Connects so many times, each with bytes that are no frame.
#[cfg(target_os = "linux")]
fn noise(to: std::net::SocketAddr, count: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut state = 7u64;
        for _ in 0..count {
            let mut bytes = [0; 48];
            for byte in &mut bytes {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            // Lengths that are allowed, so that more than the length is looked at.
            bytes[1..4].fill(0);
            if let Ok(mut stream) = TcpStream::connect(to) {
                let _ = stream.write_all(&bytes);
            }
        }
    })
}

/// Where connections are taken, read from, answered and ended, and nothing is made of them.
#[cfg(target_os = "linux")]
fn start_sink() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut bytes = [0; 48];
            let _ = stream.read_exact(&mut bytes);
            let _ = stream.write_all(&bytes);
        }
    });
    address
}

/// Searches until it is over: as [`asked_for`], every two seconds.
#[cfg(target_os = "linux")]
fn search_during(client: &Client, over: thread::JoinHandle<()>) -> Vec<(usize, Duration)> {
    let mut during = Vec::new();
    while !over.is_finished() {
        during.push(search_for(client, Duration::from_secs(2)));
    }
    over.join().unwrap();
    during
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "10,000 connections and 100,000 frames take half a minute"]
fn silent_connections_and_malformed_frames_use_little_memory() {
    let _alone = MEASURES.lock().unwrap_or_else(PoisonError::into_inner);
    rlimit::increase_nofile_limit(20_000).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::start(&[
        "--db",
        &db_path(folder.path()),
        "--listen",
        "127.0.0.1:0",
        "--log",
        "none",
    ]);
    let client = served.admin();
    client.apply(vec![put(document("", "a", "heron"))]).unwrap();
    let calm = search_for(&client, Duration::from_secs(3));
    let before = resident_kib(served.child.id());
    let address = served.address;
    let slow = thread::spawn(move || {
        // The first half of a hello, and then nothing.
        let open = |_| {
            let mut stream = TcpStream::connect(address).ok()?;
            stream
                .write_all(&[40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'L'])
                .ok()?;
            Some(stream)
        };
        (0..10_000).filter_map(open).collect::<Vec<_>>()
    });
    let during_slow = search_for(&client, Duration::from_secs(3));
    let open_connections = slow.join().unwrap();
    let with_slow = resident_kib(served.child.id());
    let during_noise = search_during(&client, noise(address, 100_000));
    let after = resident_kib(served.child.id());
    println!(
        "calm {calm:?}; {} connections held: {during_slow:?}, {before} to {with_slow} KiB; noise: {during_noise:?}, {after} KiB",
        open_connections.len()
    );
    drop(open_connections);
    // What the same noise costs on this machine when it is another program's.
    let elsewhere = search_during(&client, noise(start_sink(), 50_000));
    println!("noise for another program: {elsewhere:?}");
    assert!(
        with_slow.max(after) < before + 64 * 1024,
        "{before} {with_slow} {after}"
    );
    // A client that comes now is served.
    assert_eq!(
        served
            .admin()
            .search(&by_words("heron"))
            .unwrap()
            .hits
            .len(),
        1
    );
}

/// Connects so many times a second for so long, from 200 addresses of one network, each with bytes that are no frame. How
/// often that was.
#[cfg(target_os = "linux")]
fn noise_of_a_network(to: std::net::SocketAddr, a_second: u32, time: Duration) -> u32 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let began = Instant::now();
        let mut count = 0;
        while began.elapsed() < time {
            let due = (began.elapsed().as_secs_f64() * f64::from(a_second)) as u32;
            if count >= due {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            while count < due {
                count += 1;
                let socket = tokio::net::TcpSocket::new_v4().unwrap();
                let from = format!("127.7.7.{}:0", 1 + count % 200);
                // Refused connections may be reset at any moment.
                if socket.bind(from.parse().unwrap()).is_ok()
                    && let Ok(stream) = socket.connect(to).await
                {
                    let _ = stream.try_write(&[7; 48]);
                    let _ = stream.set_zero_linger();
                }
            }
        }
        count
    })
}

/// Seconds of processor time that the threads of a process took, as Linux tells them.
#[cfg(target_os = "linux")]
fn processor_s(pid: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let ns = threads.map(|thread| {
        let stat = std::fs::read_to_string(thread.unwrap().path().join("schedstat"));
        let first = stat
            .ok()
            .and_then(|stat| stat.split(' ').next()?.parse().ok());
        first.unwrap_or(0)
    });
    ns.sum::<u64>() as f64 / 1e9
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "connections for a minute"]
fn rate_limited_connections_cost_no_more_than_others() {
    let _alone = MEASURES.lock().unwrap_or_else(PoisonError::into_inner);
    let time = Duration::from_secs(10);
    let mut costs = Vec::new();
    for limits in [&["accept_per_second=0", "accept_per_second_all=0"][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        let db = db_path(folder.path());
        let mut args = vec!["--db", &db, "--listen", "127.0.0.1:0", "--log", "none"];
        for limit in limits.iter().chain(&["accept_unlimited=127.0.0.0/16"]) {
            args.extend(["--limit", limit]);
        }
        let served = TestServer::start(&args);
        let client = served.admin();
        client.apply(vec![put(document("", "a", "heron"))]).unwrap();
        let calm = search_for(&client, Duration::from_secs(3));
        let address = served.address;
        // What the client's own questions take.
        let cpu_s = processor_s(served.child.id());
        search_for(&client, time);
        let cpu_s = processor_s(served.child.id()) - cpu_s;
        let before = processor_s(served.child.id());
        let noise = thread::spawn(move || noise_of_a_network(address, 7_500, time));
        let beside = search_for(&client, time);
        let count = noise.join().unwrap();
        let took = processor_s(served.child.id()) - before;
        let each_us = (took - cpu_s).max(0.0) * 1e6 / f64::from(count);
        println!(
            "{limits:?}: calm {calm:?}, beside {count} connections in {time:?} {beside:?}; {each_us:.1} µs of the server's processor time a connection"
        );
        costs.push(each_us);
        assert_eq!(client.search(&by_words("heron")).unwrap().hits.len(), 1);
    }
    // Of both, most is what the system takes for a connection.
    assert!(costs[1] < costs[0] * 1.2, "{costs:?}");
}

/// Searches over one connection of HTTP for so long: as [`asked_for`].
#[cfg(target_os = "linux")]
fn search_over_http(stream: &mut TcpStream, key: &str, time: Duration) -> (usize, Duration) {
    let request = format!(
        "GET /v1/search?q=heron&strategy=text HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    let until = Instant::now() + time;
    let mut times = Vec::new();
    while Instant::now() < until {
        let started = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let mut read = Vec::new();
        let end = |read: &[u8]| read.windows(4).position(|four| four == b"\r\n\r\n");
        while end(&read).is_none() {
            let mut part = [0; 4_096];
            let count = stream.read(&mut part).unwrap();
            assert!(count > 0, "the good client was sent away");
            read.extend_from_slice(&part[..count]);
        }
        let response = parse(&read);
        assert_eq!(response.status, 200);
        let len: usize = response.header("content-length").unwrap().parse().unwrap();
        let mut rest = vec![0; len - response.body.len()];
        stream.read_exact(&mut rest).unwrap();
        times.push(started.elapsed());
        thread::sleep(Duration::from_millis(1));
    }
    times.sort_unstable();
    (times.len(), times[times.len() * 99 / 100])
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "10,000 connections, 20,000 heads that are none and 800 halves of bodies take half a minute"]
fn silent_or_malformed_http_connections_use_little_memory() {
    let _alone = MEASURES.lock().unwrap_or_else(PoisonError::into_inner);
    rlimit::increase_nofile_limit(20_000).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let (address, key, pid) = (served.http, &served.keys[0].1, served.child.id());
    let change = put(document("", "a", "heron"));
    served.admin().apply(vec![change]).unwrap();
    let mut good = TcpStream::connect(address).unwrap();
    let mut search = |time| search_over_http(&mut good, key, time);
    let calm = search(Duration::from_secs(3));
    let before = resident_kib(pid);
    println!("calm: {calm:?}, {before} KiB");
    let begin = |bytes: Vec<u8>| {
        move |_: usize| {
            let mut stream = TcpStream::connect(address).ok()?;
            stream.write_all(&bytes).ok()?;
            Some(stream)
        }
    };
    let half_head = b"GET /v1/search?q=heron HTTP/1.1\r\nHost: x\r\nX-Half: ".to_vec();
    let open = begin(half_head);
    let slow = thread::spawn(move || (0..10_000).filter_map(open).collect::<Vec<_>>());
    let most = Cell::new(before);
    let mut beside = |what: &str, is_over: &dyn Fn() -> bool| {
        while !is_over() {
            let latency = search(Duration::from_secs(2));
            let now = resident_kib(pid);
            most.set(most.get().max(now));
            println!("{what}: {latency:?}, {now} KiB");
        }
    };
    beside("half heads", &|| slow.is_finished());
    let open_connections = slow.join().unwrap();
    println!("{} connections were opened", open_connections.len());
    let noise = thread::spawn(move || {
        let mut state = 7u64;
        for number in 0..20_000 {
            let mut bytes = b"GET / HTTP/1.1\r\nHost: x\r\n".to_vec();
            // Bytes at random, or a head without an end.
            let (from, len) = if number % 2 == 0 {
                (0, 200)
            } else {
                (bytes.len(), 40_000)
            };
            bytes.truncate(from);
            bytes.extend((0..len).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            }));
            if let Ok(mut stream) = TcpStream::connect(address) {
                let _ = stream.write_all(&bytes);
            }
        }
    });
    beside("heads that are none", &|| noise.is_finished());
    assert!(most.get() < before + 64 * 1024, "{before} {most:?}");
    // Who has a key may hold more, as far as there are connections.
    let head = format!(
        "PUT /v1/documents/half HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: 50000000\r\n\r\n"
    );
    let open = begin([head.as_bytes(), &[b'x'; 32 << 10]].concat());
    let halves = thread::spawn(move || (0..800).filter_map(open).collect::<Vec<_>>());
    beside("half bodies", &|| halves.is_finished());
    let halves = halves.join().unwrap();
    let started = Instant::now();
    beside("half bodies that are held", &|| {
        started.elapsed() > Duration::from_secs(5)
    });
    assert!(most.get() < before + 192 * 1024, "{before} {most:?}");
    drop((open_connections, halves));
    // A client that comes now is served.
    assert_eq!(served.api().get("/v1/stats").status, 200);
}
