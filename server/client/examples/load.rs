//! Load on a server, and the same questions asked of a store in this process.
//!
//! `load FOLDER --server ADDRESS [--pid PID] [--clients N] [--seconds S] [--rate R] [--writes SHARE]` asks the questions of
//! a prepared data folder (`queries.jsonl`, `queries.f32`) over N connections for S seconds, as fast as they are answered
//! or R a second in all, and stores a document in place of each question by that share. `--http HOST:PORT --key KEY` in the
//! place of `--server` asks over HTTP; `--db DIR` asks the store itself from N threads. Prints one line of JSON: calls,
//! errors, latencies in microseconds, and processor microseconds a call, of the process PID or of this one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use loci_client::call::Change;
use loci_client::{Client, ClientOptions};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{Database, NewChunk, NewDocument, SearchRequest, Strategy};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What is asked, and how.
struct Args {
    folder: PathBuf,
    server: Option<String>,
    http: Option<String>,
    key: String,
    db: Option<PathBuf>,
    pid: u32,
    clients: usize,
    seconds: u64,
    rate: Option<f64>,
    writes: f64,
}

fn args() -> Args {
    let mut of = std::env::args().skip(1);
    let mut args = Args {
        folder: of.next().expect("a data folder").into(),
        server: None,
        http: None,
        key: String::new(),
        db: None,
        pid: process::id(),
        clients: 64,
        seconds: 30,
        rate: None,
        writes: 0.0,
    };
    while let Some(name) = of.next() {
        let value = of.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match &name[..] {
            "--server" => args.server = Some(value),
            "--http" => args.http = Some(value),
            "--key" => args.key = value,
            "--db" => args.db = Some(value.into()),
            "--pid" => args.pid = value.parse().expect("--pid"),
            "--clients" => args.clients = value.parse().expect("--clients"),
            "--seconds" => args.seconds = value.parse().expect("--seconds"),
            "--rate" => args.rate = Some(value.parse().expect("--rate")),
            "--writes" => args.writes = value.parse().expect("--writes"),
            name => panic!("{name}: unknown"),
        }
    }
    args
}

/// The questions of a folder, with their vectors where it has any.
fn questions(folder: &Path) -> Vec<SearchRequest> {
    let lines = fs::read_to_string(folder.join("queries.jsonl")).expect("queries.jsonl");
    let texts: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
        .map(|line| line["text"].as_str().expect("text").to_owned())
        .collect();
    let bytes = fs::read(folder.join("queries.f32")).unwrap_or_default();
    let dim = bytes.len() / 4 / texts.len().max(1);
    let vector = |number: usize| {
        let row = bytes.get(number * dim * 4..(number + 1) * dim * 4)?;
        let words = row.chunks_exact(4);
        let numbers = words.map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        (dim > 0).then(|| numbers.collect())
    };
    let request = |(number, text): (usize, &String)| SearchRequest {
        strategy: Strategy::Hybrid,
        vector: vector(number),
        ..SearchRequest::new(&text[..])
    };
    texts.iter().enumerate().map(request).collect()
}

fn document(number: u64) -> NewDocument {
    let text = format!("Note {number} of a load, stored while questions are asked.");
    NewDocument {
        record: DocumentRecord {
            collection: "load".into(),
            key: format!("note-{}", number % 10_000),
            ..DocumentRecord::default()
        },
        original: text.clone().into(),
        chunks: vec![NewChunk {
            record: ChunkRecord {
                text,
                ..ChunkRecord::default()
            },
            vector: None,
        }],
        ..NewDocument::default()
    }
}

/// Whoever answers.
enum Target {
    Server(Client),
    Http(Mutex<Http>),
    Store(std::sync::Arc<Database>),
}

impl Target {
    fn ask(&self, request: &SearchRequest) -> Result<usize, String> {
        match self {
            Target::Server(client) => client.search(request).map_err(|error| error.to_string()),
            Target::Store(database) => database.search(request).map_err(|error| error.to_string()),
            Target::Http(http) => {
                let body = json!({ "question": request.question, "vector": request.vector, "strategy": "hybrid" });
                let response = http.lock().ask("/v1/search", &body)?;
                return Ok(response["hits"].as_array().map_or(0, Vec::len));
            }
        }
        .map(|answer| answer.hits.len())
    }

    fn store(&self, number: u64) -> Result<(), String> {
        let document = document(number);
        match self {
            Target::Server(client) => {
                let change = Change::PutDocument(Box::new(document));
                client
                    .apply(vec![change])
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
            Target::Http(http) => {
                let NewDocument {
                    record, original, ..
                } = document;
                let text = String::from_utf8(original).unwrap_or_default();
                let document = json!({
                    "record": { "collection": record.collection, "key": record.key },
                    "chunks": [{ "record": { "text": text } }], "text": text,
                });
                let body = json!({ "changes": [{ "put_document": document }] });
                http.lock().ask("/v1/write", &body).map(drop)
            }
            Target::Store(database) => {
                let stored = database.write(move |tx| tx.put_document(document));
                stored.map(drop).map_err(|error| error.to_string())
            }
        }
    }
}

/// A connection of HTTP that is kept.
struct Http {
    stream: BufReader<TcpStream>,
    host: String,
    key: String,
}

impl Http {
    fn connect(host: &str, key: &str) -> Http {
        let stream = TcpStream::connect(host).expect("a server");
        stream.set_nodelay(true).expect("a stream");
        Http {
            stream: BufReader::new(stream),
            host: host.to_owned(),
            key: key.to_owned(),
        }
    }

    fn ask(&mut self, path: &str, body: &Value) -> Result<Value, String> {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.host,
            self.key,
            body.len()
        );
        let failed = |error: std::io::Error| error.to_string();
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let (mut line, mut status, mut len) = (String::new(), String::new(), 0);
        loop {
            line.clear();
            self.stream.read_line(&mut line).map_err(failed)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    len = value.trim().parse().map_err(|_| line.clone())?;
                }
                Some(_) => {}
                None if status.is_empty() => status = line.trim_end().to_owned(),
                None => break,
            }
        }
        let mut response = vec![0; len];
        self.stream.read_exact(&mut response).map_err(failed)?;
        if status.contains(" 200 ") {
            serde_json::from_slice(&response).map_err(|error| error.to_string())
        } else {
            Err(format!("{status}: {}", String::from_utf8_lossy(&response)))
        }
    }
}

/// Processor time of a process so far, as Linux tells it.
fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn main() {
    let args = args();
    let requests = questions(&args.folder);
    let store = args
        .db
        .as_ref()
        .map(|folder| std::sync::Arc::new(Database::open(folder).expect("a store")));
    let begun = Instant::now() + Duration::from_millis(500);
    let until = begun + Duration::from_secs(args.seconds);
    let (next, errors, hits) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let mut reads: Vec<u64> = Vec::new();
    let mut writes: Vec<u64> = Vec::new();
    let before = cpu(args.pid);
    thread::scope(|scope| {
        let ask = || {
            let target = match (&store, &args.server, &args.http) {
                (Some(store), _, _) => Target::Store(std::sync::Arc::clone(store)),
                (None, None, Some(host)) => {
                    Target::Http(Mutex::new(Http::connect(host, &args.key)))
                }
                (None, Some(address), _) => {
                    let options = ClientOptions {
                        connections_max: 1,
                        ..ClientOptions::default()
                    };
                    let address = address.parse().expect("an address");
                    Target::Server(Client::connect_with(address, options).expect("a server"))
                }
                (None, None, None) => panic!("give --server, --http or --db"),
            };
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                // With a rate, a call's latency counts from when it was due.
                let due = match args.rate {
                    Some(rate) => begun + Duration::from_secs_f64(number as f64 / rate),
                    None => Instant::now(),
                };
                if due.max(Instant::now()) >= until {
                    return (reads, writes);
                }
                thread::sleep(due.saturating_duration_since(Instant::now()));
                // The same calls write in every run.
                let is_write =
                    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
                let is_write = is_write < args.writes;
                let done = if is_write {
                    target.store(number)
                } else {
                    let request = &requests[number as usize % requests.len()];
                    target.ask(request).map(|count| {
                        hits.fetch_add(count as u64, Ordering::Relaxed);
                    })
                };
                if let Err(error) = done {
                    errors.fetch_add(1, Ordering::Relaxed);
                    eprintln!("{error}");
                }
                let took = due.elapsed().as_micros() as u64;
                if is_write { &mut writes } else { &mut reads }.push(took);
            }
        };
        let threads: Vec<_> = (0..args.clients).map(|_| scope.spawn(ask)).collect();
        for thread in threads {
            let (some_reads, some_writes) = thread.join().expect("a client");
            reads.extend(some_reads);
            writes.extend(some_writes);
        }
    });
    let cpu = cpu(args.pid).saturating_sub(before);
    let calls = reads.len() + writes.len();
    let percentiles = |times: &mut Vec<u64>| {
        times.sort_unstable();
        let at = |fraction: f64| times.get((times.len() as f64 * fraction) as usize).copied();
        json!({ "calls": times.len(), "p50_us": at(0.5), "p95_us": at(0.95), "p99_us": at(0.99), "max_us": times.last() })
    };
    println!(
        "{}",
        json!({
            "clients": args.clients, "seconds": args.seconds, "calls_per_s": calls as f64 / args.seconds as f64,
            "errors": errors.into_inner(), "hits": hits.into_inner(), "reads": percentiles(&mut reads), "writes": percentiles(&mut writes),
            "cpu_us_per_call": cpu.as_micros() as f64 / calls.max(1) as f64,
        })
    );
}
