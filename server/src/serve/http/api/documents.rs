//! Documents, their chunks and their files.

use axum::http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, LINK, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{
    Change, File, GetAsset, GetChunk, GetDocument, GetOriginal, GetText, Ingest, ListDocuments,
    Role, Write,
};
use loci_protocol::fault::Code;
use locidb::storage::{ChunkKey, DocumentKey};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::Answered;
use super::events::{events, file, wants_events};
use super::form::Form;
use super::given::{Compared, Named, Params, Sent, find_mark, key, mark_of};
use super::graph::limit;
use crate::serve::http::Problem;
use crate::serve::http::access::Asked;
use crate::serve::http::answer;
use crate::service::Given;

/// Fields of a form that are no files.
const FIELDS: [&str; 5] = ["collection", "user", "kind", "chunking", "force"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Documents {
    collection: Option<String>,
    user: Option<String>,
    after: Option<String>,
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn list(asked: Asked, Params(of): Params<Documents>) -> Answered<Response> {
    let mut query = Vec::new();
    for (name, value) in [("collection", &of.collection), ("user", &of.user)] {
        query.extend(
            value
                .as_ref()
                .map(|value| format!("{name}={}", encoded(value))),
        );
    }
    query.push(format!("limit={}", of.limit));
    let call = ListDocuments {
        collection: of.collection,
        user: of.user,
        after: of.after,
        limit: of.limit,
    };
    let given = asked.call(call).await?;
    let page: Value = given.value()?;
    let mut response = answer::json(&page);
    if let Some(next) = page["next"].as_str() {
        query.push(format!("after={}", encoded(next)));
        let link = format!("</v1/documents?{}>; rel=\"next\"", query.join("&"));
        response
            .headers_mut()
            .extend(HeaderValue::try_from(link).ok().map(|link| (LINK, link)));
    }
    Ok(response)
}

fn encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

pub(super) async fn show(asked: Asked, Named(document): Named<String>) -> Answered<Given> {
    let key = key(&document)?;
    Ok(asked.call(GetDocument { key }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    #[serde(default)]
    context: u32,
}

pub(super) async fn chunk(
    asked: Asked,
    Named(chunk): Named<String>,
    Params(around): Params<Around>,
) -> Answered<Given> {
    let key = key::<ChunkKey>(&chunk)?;
    let context = around.context;
    Ok(asked.call(GetChunk { key, context }).await?)
}

pub(super) async fn original(asked: Asked, Named(document): Named<String>) -> Answered<Response> {
    let key = key::<DocumentKey>(&document)?;
    let name = last_part(&key.key).to_owned();
    let kind = mime_guess::from_path(&name).first_or_octet_stream();
    file(asked.begin(GetOriginal { key })?, kind.as_ref(), &name).await
}

pub(super) async fn text(asked: Asked, Named(document): Named<String>) -> Answered<Response> {
    let key = key::<DocumentKey>(&document)?;
    let name = format!("{}.txt", last_part(&key.key));
    let under_way = asked.begin(GetText { key })?;
    file(under_way, "text/plain; charset=utf-8", &name).await
}

pub(super) async fn asset(
    asked: Asked,
    Named((document, name)): Named<(String, String)>,
) -> Answered<Response> {
    let key = key::<DocumentKey>(&document)?;
    let kind = mime_guess::from_path(&name).first_or_octet_stream();
    let last = last_part(&name).to_owned();
    file(asked.begin(GetAsset { key, name })?, kind.as_ref(), &last).await
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How a file is taken in; the fields of a form, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Taken {
    /// The file's name; one made of its content where it has none.
    name: Option<String>,
    #[serde(default)]
    collection: String,
    #[serde(default)]
    user: String,
    kind: Option<String>,
    chunking: Option<String>,
    #[serde(default)]
    force: bool,
}

impl Taken {
    fn file(self, name: String, bytes: Vec<u8>) -> File {
        File {
            name,
            bytes,
            key: None,
            collection: self.collection,
            user: self.user,
            kind: self.kind,
            chunking: self.chunking,
            force: self.force,
        }
    }

    /// The files of a form. Its fields count for each of them.
    fn files(mut self, form: Form) -> Result<Vec<File>, Problem> {
        for (name, value) in form.fields {
            self.set(&name, value)?;
        }
        let files = form.files.into_iter();
        Ok(files
            .map(|file| self.clone().file(file.name, file.bytes))
            .collect())
    }

    /// A field of a form.
    fn set(&mut self, name: &str, value: String) -> Result<(), Problem> {
        match name {
            // A form has fields that nobody filled in.
            _ if value.is_empty() => {}
            "collection" => self.collection = value,
            "user" => self.user = value,
            "kind" => self.kind = Some(value),
            "chunking" => self.chunking = Some(value),
            "force" if value == "true" || value == "false" => self.force = value == "true",
            "force" => return Err(Problem::invalid("force: give true or false")),
            _ => {}
        }
        Ok(())
    }
}

/// Bytes of a file that this caller may send.
fn file_len_max(asked: &Asked) -> usize {
    asked.body_len_max(asked.http.file_len_max())
}

pub(super) async fn put(
    asked: Asked,
    Named(document): Named<String>,
    Params(taken): Params<Taken>,
    sent: Sent,
) -> Answered<Response> {
    asked.may("Ingest", Role::Write)?;
    let of: DocumentKey = key(&document)?;
    if !taken.collection.is_empty() || !taken.user.is_empty() {
        return Err(Problem::invalid("collection, user: the path says them"));
    }
    check_state(&asked, &of, &sent.headers).await?;
    let read = asked.http.read(sent.body, file_len_max(&asked)).await?;
    let name = taken.name.clone();
    let name = name.unwrap_or_else(|| last_part(&of.key).to_owned());
    let file = File {
        key: Some(of.key),
        collection: of.collection,
        user: of.user,
        ..taken.file(name, read.bytes)
    };
    store(asked, file, read.room, &sent.headers).await
}

/// Takes one file in, whose bytes have this room, and tells of it as its request wants to hear.
async fn store(
    asked: Asked,
    file: File,
    room: Option<OwnedSemaphorePermit>,
    headers: &HeaderMap,
) -> Answered<Response> {
    let file = Box::new(file);
    let under_way = asked.begin_holding(Ingest { file }, room)?;
    if wants_events(headers) {
        Ok(events(under_way, readable))
    } else {
        stored(under_way.last().await?.value()?)
    }
}

/// Refuses what tells of a file that cannot be read.
fn readable(given: Given) -> Answered<Given> {
    let told = given.told();
    let outcome: Value = Given::Json(told.clone()).value()?;
    check_readable(&outcome)?;
    Ok(Given::Json(told))
}

fn check_readable(outcome: &Value) -> Answered<()> {
    match outcome["status"].as_str() {
        Some("failed") => {
            let why = outcome["error"].as_str();
            Err(Problem::unreadable(
                why.unwrap_or("the file cannot be read"),
            ))
        }
        _ => Ok(()),
    }
}

/// What became of one file.
fn stored(outcome: Value) -> Answered<Response> {
    check_readable(&outcome)?;
    if outcome["status"] != "added" {
        return Ok(answer::json(&outcome));
    }
    let document = outcome["document"].as_str().unwrap_or_default();
    let place = format!("/v1/documents/{}", encoded(document));
    let place = [(LOCATION, place)];
    Ok((StatusCode::CREATED, place, answer::json(&outcome)).into_response())
}

/// Whether what is there is as `If-Match` and `If-None-Match` ask. It is looked at before the work begins.
async fn check_state(asked: &Asked, of: &DocumentKey, headers: &HeaderMap) -> Result<(), Problem> {
    let [is_wanted, is_unwanted] = [IF_MATCH, IF_NONE_MATCH].map(|of| headers.contains_key(of));
    if !is_wanted && !is_unwanted {
        return Ok(());
    }
    let now = match asked.call(GetDocument { key: of.clone() }).await {
        Ok(given) => Some(mark_of(given.told().as_bytes())),
        Err(fault) if fault.code == Code::NotFound => None,
        Err(fault) => return Err(fault.into()),
    };
    let is_in = |field, compared| {
        let now = now.as_ref();
        now.is_some_and(|now| find_mark(headers, field, now, compared).is_some())
    };
    let holds = (!is_wanted || is_in(IF_MATCH, Compared::Strongly))
        && !is_in(IF_NONE_MATCH, Compared::Weakly);
    if holds {
        Ok(())
    } else {
        Err(Problem::of(StatusCode::PRECONDITION_FAILED))
    }
}

pub(super) async fn delete(
    asked: Asked,
    Named(document): Named<String>,
    headers: HeaderMap,
) -> Answered<Given> {
    let of: DocumentKey = key(&document)?;
    asked.may("Write", Role::Write)?;
    check_state(&asked, &of, &headers).await?;
    let changes = vec![Change::DeleteDocument(of)];
    asked
        .call(Write { changes })
        .await?
        .was("document", document)?;
    Ok(Given::Nothing)
}

/// One file as it is, or a form with several.
pub(super) async fn post(
    asked: Asked,
    Params(taken): Params<Taken>,
    sent: Sent,
) -> Answered<Response> {
    asked.may("Ingest", Role::Write)?;
    let read = |body| asked.http.read(body, file_len_max(&asked));
    if sent.is_form() {
        let kind = sent.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let read = read(sent.body).await?;
        let form = Form::of(kind, read.bytes, &FIELDS)?;
        let made = many(asked, taken.files(form)?).await;
        // The room of all of them.
        drop(read.room);
        return made;
    }
    let read = read(sent.body).await?;
    if read.bytes.is_empty() {
        return Err(Problem::invalid(
            "the body is empty: send the file's bytes, or a form with files",
        ));
    }
    let name = taken.name.clone();
    let name = name.unwrap_or_else(|| mark_of(&read.bytes).trim_matches('"').to_owned());
    let file = taken.file(name, read.bytes);
    store(asked, file, read.room, &sent.headers).await
}

/// Takes files in, one after the other; tells what became of each.
async fn many(asked: Asked, files: Vec<File>) -> Answered<Response> {
    let mut outcomes = Vec::new();
    for (number, file) in files.into_iter().enumerate() {
        if number > 0 {
            asked.count()?;
        }
        let file = Box::new(file);
        outcomes.push(asked.call(Ingest { file }).await?.value()?);
    }
    if let [_] = &outcomes[..] {
        return stored(outcomes.remove(0));
    }
    Ok(answer::json(&json!({ "files": outcomes })))
}
