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

use super::ApiResult;
use super::events::{event_stream, file_stream, wants_events};
use super::extract::{
    EtagComparison, PathParams, QueryParams, RequestBody, etag, find_etag, parse_key,
};
use super::form::Form;
use super::graph::limit;
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::call;
use crate::service::CallOutput;

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

pub(super) async fn list(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Documents>,
) -> ApiResult<Response> {
    let mut query = Vec::new();
    for (name, value) in [("collection", &params.collection), ("user", &params.user)] {
        query.extend(
            value
                .as_ref()
                .map(|value| format!("{name}={}", percent_encode(value))),
        );
    }
    query.push(format!("limit={}", params.limit));
    let call = ListDocuments {
        collection: params.collection,
        user: params.user,
        after: params.after,
        limit: params.limit,
    };
    let output = auth.call(call).await?;
    let page: Value = output.into_value()?;
    let mut response = call::json(&page);
    if let Some(next) = page["next"].as_str() {
        query.push(format!("after={}", percent_encode(next)));
        let link = format!("</v1/documents?{}>; rel=\"next\"", query.join("&"));
        response
            .headers_mut()
            .extend(HeaderValue::try_from(link).ok().map(|link| (LINK, link)));
    }
    Ok(response)
}

fn percent_encode(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

pub(super) async fn show(
    auth: AuthenticatedRequest,
    PathParams(document): PathParams<String>,
) -> ApiResult<CallOutput> {
    let key = parse_key(&document)?;
    Ok(auth.call(GetDocument { key }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextQuery {
    #[serde(default)]
    context: u32,
}

pub(super) async fn chunk(
    auth: AuthenticatedRequest,
    PathParams(chunk): PathParams<String>,
    QueryParams(around): QueryParams<ContextQuery>,
) -> ApiResult<CallOutput> {
    let key = parse_key::<ChunkKey>(&chunk)?;
    let context = around.context;
    Ok(auth.call(GetChunk { key, context }).await?)
}

pub(super) async fn original(
    auth: AuthenticatedRequest,
    PathParams(document): PathParams<String>,
) -> ApiResult<Response> {
    let key = parse_key::<DocumentKey>(&document)?;
    let name = last_part(&key.key).to_owned();
    let kind = mime_guess::from_path(&name).first_or_octet_stream();
    file_stream(auth.begin(GetOriginal { key })?, kind.as_ref(), &name).await
}

pub(super) async fn text(
    auth: AuthenticatedRequest,
    PathParams(document): PathParams<String>,
) -> ApiResult<Response> {
    let key = parse_key::<DocumentKey>(&document)?;
    let name = format!("{}.txt", last_part(&key.key));
    let pending = auth.begin(GetText { key })?;
    file_stream(pending, "text/plain; charset=utf-8", &name).await
}

pub(super) async fn asset(
    auth: AuthenticatedRequest,
    PathParams((document, name)): PathParams<(String, String)>,
) -> ApiResult<Response> {
    let key = parse_key::<DocumentKey>(&document)?;
    let kind = mime_guess::from_path(&name).first_or_octet_stream();
    let last = last_part(&name).to_owned();
    file_stream(auth.begin(GetAsset { key, name })?, kind.as_ref(), &last).await
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How a file is ingested; the fields of a form, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestParams {
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

impl IngestParams {
    fn into_file(self, name: String, bytes: Vec<u8>) -> File {
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
    fn into_files(mut self, form: Form) -> Result<Vec<File>, Problem> {
        for (name, value) in form.fields {
            self.set(&name, value)?;
        }
        let files = form.files.into_iter();
        Ok(files
            .map(|file| self.clone().into_file(file.name, file.bytes))
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
fn file_len_max(auth: &AuthenticatedRequest) -> usize {
    auth.body_len_max(auth.http.file_len_max())
}

pub(super) async fn put(
    auth: AuthenticatedRequest,
    PathParams(document): PathParams<String>,
    QueryParams(params): QueryParams<IngestParams>,
    sent: RequestBody,
) -> ApiResult<Response> {
    auth.check_role("Ingest", Role::Write)?;
    let of: DocumentKey = parse_key(&document)?;
    if !params.collection.is_empty() || !params.user.is_empty() {
        return Err(Problem::invalid("collection, user: the path says them"));
    }
    check_preconditions(&auth, &of, &sent.headers).await?;
    let read = auth.http.read(sent.body, file_len_max(&auth)).await?;
    let name = params.name.clone();
    let name = name.unwrap_or_else(|| last_part(&of.key).to_owned());
    let file = File {
        key: Some(of.key),
        collection: of.collection,
        user: of.user,
        ..params.into_file(name, read.bytes)
    };
    ingest_file(auth, file, read.permit, &sent.headers).await
}

/// Ingests one file, whose bytes hold this permit, and answers with events if the client accepts them.
async fn ingest_file(
    auth: AuthenticatedRequest,
    file: File,
    permit: Option<OwnedSemaphorePermit>,
    headers: &HeaderMap,
) -> ApiResult<Response> {
    let file = Box::new(file);
    let pending = auth.begin_with_permit(Ingest { file }, permit)?;
    if wants_events(headers) {
        Ok(event_stream(pending, require_readable))
    } else {
        stored_response(pending.output().await?.into_value()?)
    }
}

/// Turns the outcome of an unreadable file into a problem.
fn require_readable(output: CallOutput) -> ApiResult<CallOutput> {
    let body = output.into_json();
    let outcome: Value = CallOutput::Json(body.clone()).into_value()?;
    check_readable(&outcome)?;
    Ok(CallOutput::Json(body))
}

fn check_readable(outcome: &Value) -> ApiResult<()> {
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
fn stored_response(outcome: Value) -> ApiResult<Response> {
    check_readable(&outcome)?;
    if outcome["status"] != "added" {
        return Ok(call::json(&outcome));
    }
    let document = outcome["document"].as_str().unwrap_or_default();
    let location = format!("/v1/documents/{}", percent_encode(document));
    let location = [(LOCATION, location)];
    Ok((StatusCode::CREATED, location, call::json(&outcome)).into_response())
}

/// Whether what is there is as `If-Match` and `If-None-Match` ask. It is looked at before the work begins.
async fn check_preconditions(
    auth: &AuthenticatedRequest,
    of: &DocumentKey,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let [has_if_match, has_if_none_match] =
        [IF_MATCH, IF_NONE_MATCH].map(|of| headers.contains_key(of));
    if !has_if_match && !has_if_none_match {
        return Ok(());
    }
    let now = match auth.call(GetDocument { key: of.clone() }).await {
        Ok(output) => Some(etag(output.into_json().as_bytes())),
        Err(fault) if fault.code == Code::NotFound => None,
        Err(fault) => return Err(fault.into()),
    };
    let is_in = |field, compared| {
        let now = now.as_ref();
        now.is_some_and(|now| find_etag(headers, field, now, compared).is_some())
    };
    let holds = (!has_if_match || is_in(IF_MATCH, EtagComparison::Strong))
        && !is_in(IF_NONE_MATCH, EtagComparison::Weak);
    if holds {
        Ok(())
    } else {
        Err(Problem::from_status(StatusCode::PRECONDITION_FAILED))
    }
}

pub(super) async fn delete(
    auth: AuthenticatedRequest,
    PathParams(document): PathParams<String>,
    headers: HeaderMap,
) -> ApiResult<CallOutput> {
    let of: DocumentKey = parse_key(&document)?;
    auth.check_role("Write", Role::Write)?;
    check_preconditions(&auth, &of, &headers).await?;
    let changes = vec![Change::DeleteDocument(of)];
    auth.call(Write { changes })
        .await?
        .require_existed("document", document)?;
    Ok(CallOutput::Empty)
}

/// One file as it is, or a form with several.
pub(super) async fn post(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<IngestParams>,
    sent: RequestBody,
) -> ApiResult<Response> {
    auth.check_role("Ingest", Role::Write)?;
    let read = |body| auth.http.read(body, file_len_max(&auth));
    if sent.is_form() {
        let kind = sent.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let read = read(sent.body).await?;
        let form = Form::parse(kind, read.bytes, &FIELDS)?;
        let response = ingest_many(auth, params.into_files(form)?).await;
        // The permit of all of them.
        drop(read.permit);
        return response;
    }
    let read = read(sent.body).await?;
    if read.bytes.is_empty() {
        return Err(Problem::invalid(
            "the body is empty: send the file's bytes, or a form with files",
        ));
    }
    let name = params.name.clone();
    let name = name.unwrap_or_else(|| etag(&read.bytes).trim_matches('"').to_owned());
    let file = params.into_file(name, read.bytes);
    ingest_file(auth, file, read.permit, &sent.headers).await
}

/// Ingests files one after the other; returns the outcome of each.
async fn ingest_many(auth: AuthenticatedRequest, files: Vec<File>) -> ApiResult<Response> {
    let mut outcomes = Vec::new();
    for (number, file) in files.into_iter().enumerate() {
        if number > 0 {
            auth.count_call()?;
        }
        let file = Box::new(file);
        outcomes.push(auth.call(Ingest { file }).await?.into_value()?);
    }
    if let [_] = &outcomes[..] {
        return stored_response(outcomes.remove(0));
    }
    Ok(call::json(&json!({ "files": outcomes })))
}
