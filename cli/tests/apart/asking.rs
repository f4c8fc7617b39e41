//! Who asks, and what is said: requests made by keys of a store, answers as bytes.
//!
//! Start reading at [`Caller`].

use std::collections::BTreeSet;
use std::fmt::Debug;

use loci_client::call::{Call, Change, Method};
use loci_client::{Client, ClientError, ClientOptions};
use loci_protocol::codec;

use super::common::http::{Response, request};
use super::common::served::Served;
use super::planted::Owner;
use super::routes::{Ask, Http};

/// What was said.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Whether what was asked was done.
    pub(crate) is_done: bool,
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
    pub(crate) fn new(served: &Served, key: &str) -> Caller {
        let address = format!("loci://{key}@{}", served.address);
        // What is said is looked at, whatever it is.
        let once = ClientOptions {
            retries: 0,
            ..ClientOptions::default()
        };
        Caller {
            key: key.to_owned(),
            http: served.http,
            cookie: signed_in(served, key),
            client: Client::connect_with(address.parse().unwrap(), once).unwrap(),
        }
    }

    /// What a request is answered with.
    pub(crate) fn ask(&self, ask: &Ask) -> Said {
        match ask {
            Ask::Http(http) => whole(&self.send(http, &[])),
            Ask::Wire(call) => wire(&self.client, call),
            Ask::Steps(changes) => steps(&self.client, changes),
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
fn signed_in(served: &Served, key: &str) -> String {
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("key={key}");
    let response = request(served.http, "POST", "/sign-in", &[form], body.as_bytes());
    let cookie = response.header("set-cookie").unwrap_or_default();
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// All of a response but its date, and the length and mark of its body, which go with the times that are told in it.
pub(crate) fn whole(response: &Response) -> Said {
    let mut bytes = format!("{}\n", response.status).into_bytes();
    let differs = ["date", "content-length", "etag"];
    let headers = response.headers.iter();
    for (name, value) in headers.filter(|(name, _)| !differs.contains(&&name[..])) {
        bytes.extend_from_slice(format!("{name}: {value}\n").as_bytes());
    }
    bytes.extend_from_slice(&response.body);
    let body = String::from_utf8_lossy(&response.body);
    Said {
        // Tools and events say in their bodies what cannot be done.
        is_done: response.status < 400
            && !body.contains("\"isError\":true")
            && !body.contains("event: fault"),
        bytes,
    }
}

/// What a call gives: what comes before the last reply as it goes over the wire, and the last in words.
fn wire(client: &Client, call: &Call) -> Said {
    macro_rules! each {
        ($($Name:ident)*) => {
            match call {
                $(Call::$Name(call) => told(client, call),)*
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

fn told<M>(client: &Client, call: &M) -> Said
where
    M: Method + Sync,
    M::Last: Debug,
{
    let mut bytes = Vec::new();
    let last = client.call_each(call, |each| {
        bytes.extend_from_slice(&codec::encode(&each));
    });
    said(bytes, last)
}

fn said(mut bytes: Vec<u8>, last: Result<impl Debug, ClientError>) -> Said {
    let is_done = last.is_ok();
    match last {
        Ok(last) => bytes.extend_from_slice(format!("{last:?}").as_bytes()),
        Err(error) => bytes.extend_from_slice(format!("{error:?} {error}").as_bytes()),
    }
    Said { is_done, bytes }
}

fn steps(client: &Client, changes: &[Change]) -> Said {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = client.to_async();
    let made = runtime.block_on(async {
        let transaction = client.begin().await?;
        let mut outcomes = Vec::new();
        for change in changes {
            outcomes.push(transaction.step(change.clone()).await?);
        }
        transaction.commit().await?;
        Ok(outcomes)
    });
    said(Vec::new(), made)
}

/// What was said, with the words of `owner` that were asked for made anybody's, and without what differs each time: times,
/// and how often the store was changed.
pub(crate) fn masked(said: &Said, asked: &str, owner: Owner) -> String {
    let mut text = String::from_utf8_lossy(&said.bytes).to_ascii_lowercase();
    let (asked, mark) = (asked.to_ascii_lowercase(), owner.mark());
    let words = asked.split(|c: char| !c.is_ascii_alphabetic());
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
pub(crate) fn differ(one: &str, other: &str) -> String {
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
