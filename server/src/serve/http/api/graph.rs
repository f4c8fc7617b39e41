//! Concepts and how they hang together, citations, communities.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{
    Change, ExportGraph, GetCitations, GetConcept, GetPath, GraphFile, GraphFiles, GraphFormat,
    ImportGraph, ListCommunities, ListConcepts, ListTypes, ListWorks, Role, Write,
};
use loci_protocol::fault::Code;
use locidb::storage::DocumentKey;
use serde::Deserialize;

use super::ApiResult;
use super::events::{event_stream, file_stream, wants_events};
use super::extract::{PathParams, QueryParams, RequestBody, parse_key};
use super::form::{Form, FormFile};
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::{CallOutput, GRAPH_LEN_MAX};

/// Rows of a page, where a request does not say.
pub(super) const LIMIT: u32 = 100;

pub(super) fn limit() -> u32 {
    LIMIT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Concepts {
    #[serde(default)]
    prefix: String,
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn concepts(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Concepts>,
) -> ApiResult<CallOutput> {
    let Concepts { prefix, limit } = params;
    Ok(auth.call(ListConcepts { prefix, limit }).await?)
}

pub(super) async fn concept(
    auth: AuthenticatedRequest,
    PathParams(name): PathParams<String>,
) -> ApiResult<CallOutput> {
    Ok(auth.call(GetConcept { name }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathQuery {
    from: String,
    to: String,
    /// Types of relations, with commas between them.
    #[serde(default)]
    along: String,
}

pub(super) async fn path(
    auth: AuthenticatedRequest,
    QueryParams(query): QueryParams<PathQuery>,
) -> ApiResult<CallOutput> {
    let along = query
        .along
        .split(',')
        .map(str::trim)
        .filter(|kind| !kind.is_empty());
    let along = along.map(str::to_owned).collect();
    let (from, to) = (query.from, query.to);
    Ok(auth.call(GetPath { from, to, along }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Citations {
    of: String,
}

pub(super) async fn citations(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Citations>,
) -> ApiResult<CallOutput> {
    Ok(auth.call(GetCitations { of: params.of }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Works {
    author: Option<String>,
    year: Option<i32>,
    #[serde(default)]
    stubs: bool,
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn works(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Works>,
) -> ApiResult<CallOutput> {
    let call = ListWorks {
        author: params.author,
        year: params.year,
        stubs: params.stubs,
        limit: params.limit,
    };
    Ok(auth.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Communities {
    level: Option<u32>,
    of: Option<String>,
}

pub(super) async fn communities(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Communities>,
) -> ApiResult<CallOutput> {
    let Communities { level, of } = params;
    Ok(auth.call(ListCommunities { level, of }).await?)
}

pub(super) async fn types(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(ListTypes {}).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Export {
    #[serde(default = "graphml")]
    format: GraphFormat,
}

fn graphml() -> GraphFormat {
    GraphFormat::Graphml
}

pub(super) async fn export(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Export>,
) -> ApiResult<Response> {
    let (kind, extension) = match params.format {
        GraphFormat::Graphml => ("application/graphml+xml", "graphml"),
        GraphFormat::Cypher => ("text/plain; charset=utf-8", "cypher"),
    };
    let name = format!("{}.{extension}", auth.caller.store.name());
    let format = params.format;
    file_stream(auth.begin(ExportGraph { format })?, kind, &name).await
}

/// How a graph is taken in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Import {
    #[serde(default = "named_graph")]
    key: String,
    #[serde(default)]
    collection: String,
    #[serde(default)]
    user: String,
    /// One character, or `TAB`.
    #[serde(default)]
    delimiter: String,
}

fn named_graph() -> String {
    "graph".into()
}

impl Import {
    fn delimiter(&self) -> Result<u8, Problem> {
        match self.delimiter.as_bytes() {
            [] => Ok(b','),
            [one] if one.is_ascii() => Ok(*one),
            b"TAB" => Ok(b'\t'),
            _ => Err(Problem::invalid("delimiter: give one character, or TAB")),
        }
    }
}

/// The file of a form whose rows go on under the header of the file before.
const CONTINUED_FIELD: &str = "more";

/// One file as it is, or a form with several.
pub(super) async fn import(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Import>,
    sent: RequestBody,
) -> ApiResult<Response> {
    auth.check_role("ImportGraph", Role::Write)?;
    let delimiter = params.delimiter()?;
    let (headers, is_form) = (sent.headers.clone(), sent.is_form());
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let read = auth
        .http
        .read(sent.body, auth.body_len_max(GRAPH_LEN_MAX))
        .await?;
    let (bytes, permit) = (read.bytes, read.permit);
    let files = if is_form {
        Form::parse(kind, bytes, &[])?.files
    } else {
        vec![FormFile {
            field: "file".into(),
            name: "graph.csv".into(),
            bytes,
        }]
    };
    let files = files.into_iter().map(|file| GraphFile {
        continues_previous: file.field == CONTINUED_FIELD,
        name: file.name,
        bytes: file.bytes,
    });
    let graph = Box::new(GraphFiles {
        files: files.collect(),
        key: params.key,
        collection: params.collection,
        user: params.user,
        delimiter,
    });
    let pending = auth.begin_with_permit(ImportGraph { graph }, permit)?;
    if wants_events(&headers) {
        return Ok(event_stream(pending, Ok));
    }
    match pending.output().await {
        Ok(output) => Ok(output.into_response()),
        Err(fault) if fault.code == Code::Invalid => Err(Problem::unreadable(&fault.message)),
        Err(fault) => Err(fault.into()),
    }
}

/// A change of what concepts are, which can be undone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    merge: Option<Merge>,
    split: Option<Split>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Merge {
    from: String,
    into: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    concept: String,
    documents: Vec<String>,
    into: String,
}

impl Edit {
    fn change(self) -> Result<Change, Problem> {
        match self {
            Edit {
                merge: Some(Merge { from, into }),
                split: None,
            } => Ok(Change::MergeConcepts(from, into)),
            Edit {
                merge: None,
                split: Some(split),
            } => {
                let documents = split.documents.iter().map(|document| parse_key(document));
                let documents = documents.collect::<Result<Vec<DocumentKey>, Problem>>()?;
                Ok(Change::SplitConcept(split.concept, documents, split.into))
            }
            _ => Err(Problem::invalid("the body: give merge, or split")),
        }
    }
}

pub(super) async fn edit(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<CallOutput> {
    let edit: Edit = sent.json(&auth).await?;
    let changes = vec![edit.change()?];
    let output = auth.call(Write { changes }).await?;
    Ok(CallOutput::view(
        serde_json::json!({ "edit": output.number()? }),
    ))
}

pub(super) async fn undo(
    auth: AuthenticatedRequest,
    PathParams(edit): PathParams<u64>,
) -> ApiResult<CallOutput> {
    let changes = vec![Change::UndoConceptEdit(edit)];
    auth.call(Write { changes })
        .await?
        .require_existed("edit", edit)?;
    Ok(CallOutput::Empty)
}
