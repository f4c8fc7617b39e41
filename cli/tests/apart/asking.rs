//! Who asks, and what is said: requests made by keys of a store, answers as bytes.
//!
//! Start reading at [`Caller`].

use std::collections::BTreeSet;
use std::fmt::Debug;

use loci_client::call::{Call, Change, Method};
use loci_client::{Client, ClientError, ClientOptions};
use loci_protocol::codec;

use super::common::http::{Response, request};
use super::common::test_server::TestServer;
use super::planted::Owner;
use super::routes::{Http, TestRequest};

/// What was said.
#[derive(Clone, Debug)]
pub(crate) struct RawResponse {
    /// Whether what was asked was done.
    pub(crate) succeeded: bool,
    /// All of it: status, head and body, or everything that a call gave.
    pub(crate) bytes: Vec<u8>,
}

/// One who has a key.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) key: String,
    pub(crate) http: std::net::SocketAddr,
    /// What a browser keeps of it.
    cookie: String,
    client: Client,
}

impl Caller {
    pub(crate) fn new(served: &TestServer, key: &str) -> Caller {
        let address = format!("loci://{key}@{}", served.address);
        // What is said is looked at, whatever it is.
        let once = ClientOptions {
            retries: 0,
            ..ClientOptions::default()
        };
        Caller {
            key: key.to_owned(),
            http: served.http,
            cookie: sign_in(served, key),
            client: Client::connect_with(address.parse().unwrap(), once).unwrap(),
        }
    }

    /// What a request is answered with.
    pub(crate) fn ask(&self, ask: &TestRequest) -> RawResponse {
        match ask {
            TestRequest::Http(http) => raw_response(&self.send(http, &[])),
            TestRequest::Wire(call) => wire(&self.client, call),
            TestRequest::Steps(changes) => run_steps(&self.client, changes),
        }
    }

    /// Makes a request over HTTP with these lines beside those that it has.
    pub(crate) fn send(&self, http: &Http, more: &[String]) -> Response {
        let key = if http.is_page {
            format!("Cookie: {}", self.cookie)
        } else {
            format!("Authorization: Bearer {}", self.key)
        };
        let lines = [&key].into_iter().chain(&http.fields).chain(more);
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        let body = http.body.as_bytes();
        request(self.http, http.method, &http.path, &lines, body)
    }

    /// What is told at a path, as JSON.
    pub(crate) fn get(&self, path: &str) -> serde_json::Value {
        let lines = [format!("Authorization: Bearer {}", self.key)];
        request(self.http, "GET", path, &[&lines[0]], b"").json()
    }
}

/// The cookie of a browser that signs in with the key.
fn sign_in(served: &TestServer, key: &str) -> String {
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("key={key}");
    let response = request(served.http, "POST", "/sign-in", &[form], body.as_bytes());
    let cookie = response.header("set-cookie").unwrap_or_default();
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// All of a response but its date, and the length and mark of its body, which go with the times that are told in it.
pub(crate) fn raw_response(response: &Response) -> RawResponse {
    let mut bytes = format!("{}\n", response.status).into_bytes();
    let differs = ["date", "content-length", "etag"];
    let headers = response.headers.iter();
    for (name, value) in headers.filter(|(name, _)| !differs.contains(&&name[..])) {
        bytes.extend_from_slice(format!("{name}: {value}\n").as_bytes());
    }
    bytes.extend_from_slice(&response.body);
    let body = String::from_utf8_lossy(&response.body);
    RawResponse {
        // Tools and events say in their bodies what cannot be done.
        succeeded: response.status < 400
            && !body.contains("\"isError\":true")
            && !body.contains("event: fault"),
        bytes,
    }
}

/// What a call gives: what comes before the last reply as it goes over the wire, and the last in words.
fn wire(client: &Client, call: &Call) -> RawResponse {
    macro_rules! each {
        ($($Name:ident)*) => {
            match call {
                $(Call::$Name(call) => call_and_record(client, call),)*
            }
        };
    }
    each! {
        Search Ask AskPrompt GetSettings GetStats GetUsage ListDocuments GetDocument GetChunk GetOriginal GetAsset
        GetText GetConcept ListConcepts GetPath ExportGraph GetCitations ListWorks ListCommunities ListTypes ListRecords ListItems
        GetItemFigures ImportGraph Write Begin Step Commit Rollback Record GiveFeedback Ingest Finish SetSetting Analyse Compact
        Check Repair Backup Export Refit ConsolidateTypes ForgetTypes ForgetRecords Replay ListKeys AddKey RevokeKey
    }
}

fn call_and_record<M>(client: &Client, call: &M) -> RawResponse
where
    M: Method + Sync,
    M::Last: Debug,
{
    let mut bytes = Vec::new();
    let last = client.call_each(call, |each| {
        bytes.extend_from_slice(&codec::encode(&each));
    });
    record_outcome(bytes, last)
}

fn record_outcome(mut bytes: Vec<u8>, last: Result<impl Debug, ClientError>) -> RawResponse {
    let is_done = last.is_ok();
    match last {
        Ok(last) => bytes.extend_from_slice(format!("{last:?}").as_bytes()),
        Err(error) => bytes.extend_from_slice(format!("{error:?} {error}").as_bytes()),
    }
    RawResponse {
        succeeded: is_done,
        bytes,
    }
}

fn run_steps(client: &Client, changes: &[Change]) -> RawResponse {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = client.to_async();
    let result = runtime.block_on(async {
        let transaction = client.begin().await?;
        let mut outcomes = Vec::new();
        for change in changes {
            outcomes.push(transaction.step(change.clone()).await?);
        }
        transaction.commit().await?;
        Ok(outcomes)
    });
    record_outcome(Vec::new(), result)
}

/// What was said, with the words of `owner` that were asked for made anybody's, and without what differs each time: times,
/// and how often the store was changed.
pub(crate) fn masked(response: &RawResponse, request_text: &str, owner: Owner) -> String {
    let mut text = String::from_utf8_lossy(&response.bytes).to_ascii_lowercase();
    let (request_text, mark) = (request_text.to_ascii_lowercase(), owner.mark());
    let words = request_text.split(|c: char| !c.is_ascii_alphabetic());
    let words: BTreeSet<&str> = words.filter(|word| word.ends_with(&mark)).collect();
    for word in words {
        text = text.replace(word, &word.replace(&mark, "(mark)"));
    }
    // Pages say how long it took below the count of passages.
    for number in [
        "took_us",
        "took_ms",
        "snapshot",
        "generation",
        "incident",
        "<p class=\"soft small\">",
    ] {
        text = without_number(&text, number);
    }
    text
}

/// Where two texts begin to differ, with what stands around it.
pub(crate) fn first_difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes());
    let at = same.take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let from = at.saturating_sub(60);
        let shown = text.as_bytes().iter().skip(from).take(160).copied();
        String::from_utf8_lossy(&shown.collect::<Vec<u8>>()).into_owned()
    };
    format!("{:?} and {:?}", around(one), around(other))
}

/// `text` without the number after each `name`.
fn without_number(text: &str, name: &str) -> String {
    let mut parts = text.split(name);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let at = part.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let is_near = at <= 12;
        let rest = if is_near {
            part[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        } else {
            part
        };
        masked.push_str(name);
        masked.push_str(rest);
    }
    masked
}
