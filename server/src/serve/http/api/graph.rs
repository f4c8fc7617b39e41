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

use super::Answered;
use super::events::{events, file, wants_events};
use super::form::{Form, FormFile};
use super::given::{Named, Params, Sent, key};
use crate::serve::http::Problem;
use crate::serve::http::access::Asked;
use crate::service::{GRAPH_LEN_MAX, Given};

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

pub(super) async fn concepts(asked: Asked, Params(of): Params<Concepts>) -> Answered<Given> {
    let Concepts { prefix, limit } = of;
    Ok(asked.call(ListConcepts { prefix, limit }).await?)
}

pub(super) async fn concept(asked: Asked, Named(name): Named<String>) -> Answered<Given> {
    Ok(asked.call(GetConcept { name }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Way {
    from: String,
    to: String,
    /// Types of relations, with commas between them.
    #[serde(default)]
    along: String,
}

pub(super) async fn path(asked: Asked, Params(way): Params<Way>) -> Answered<Given> {
    let along = way
        .along
        .split(',')
        .map(str::trim)
        .filter(|kind| !kind.is_empty());
    let along = along.map(str::to_owned).collect();
    let (from, to) = (way.from, way.to);
    Ok(asked.call(GetPath { from, to, along }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Citations {
    of: String,
}

pub(super) async fn citations(asked: Asked, Params(of): Params<Citations>) -> Answered<Given> {
    Ok(asked.call(GetCitations { of: of.of }).await?)
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

pub(super) async fn works(asked: Asked, Params(of): Params<Works>) -> Answered<Given> {
    let call = ListWorks {
        author: of.author,
        year: of.year,
        stubs: of.stubs,
        limit: of.limit,
    };
    Ok(asked.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Communities {
    level: Option<u32>,
    of: Option<String>,
}

pub(super) async fn communities(asked: Asked, Params(of): Params<Communities>) -> Answered<Given> {
    let Communities { level, of } = of;
    Ok(asked.call(ListCommunities { level, of }).await?)
}

pub(super) async fn types(asked: Asked) -> Answered<Given> {
    Ok(asked.call(ListTypes {}).await?)
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

pub(super) async fn export(asked: Asked, Params(of): Params<Export>) -> Answered<Response> {
    let (kind, extension) = match of.format {
        GraphFormat::Graphml => ("application/graphml+xml", "graphml"),
        GraphFormat::Cypher => ("text/plain; charset=utf-8", "cypher"),
    };
    let name = format!("{}.{extension}", asked.caller.store.name());
    let format = of.format;
    file(asked.begin(ExportGraph { format })?, kind, &name).await
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
const GOES_ON: &str = "more";

/// One file as it is, or a form with several.
pub(super) async fn import(
    asked: Asked,
    Params(of): Params<Import>,
    sent: Sent,
) -> Answered<Response> {
    asked.may("ImportGraph", Role::Write)?;
    let delimiter = of.delimiter()?;
    let (headers, is_form) = (sent.headers.clone(), sent.is_form());
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let read = asked
        .http
        .read(sent.body, asked.body_len_max(GRAPH_LEN_MAX))
        .await?;
    let (bytes, room) = (read.bytes, read.room);
    let files = if is_form {
        Form::of(kind, bytes, &[])?.files
    } else {
        vec![FormFile {
            field: "file".into(),
            name: "graph.csv".into(),
            bytes,
        }]
    };
    let files = files.into_iter().map(|file| GraphFile {
        goes_on: file.field == GOES_ON,
        name: file.name,
        bytes: file.bytes,
    });
    let graph = Box::new(GraphFiles {
        files: files.collect(),
        key: of.key,
        collection: of.collection,
        user: of.user,
        delimiter,
    });
    let under_way = asked.begin_holding(ImportGraph { graph }, room)?;
    if wants_events(&headers) {
        return Ok(events(under_way, Ok));
    }
    match under_way.last().await {
        Ok(given) => Ok(given.into_response()),
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
                let documents = split.documents.iter().map(|document| key(document));
                let documents = documents.collect::<Result<Vec<DocumentKey>, Problem>>()?;
                Ok(Change::SplitConcept(split.concept, documents, split.into))
            }
            _ => Err(Problem::invalid("the body: give merge, or split")),
        }
    }
}

pub(super) async fn edit(asked: Asked, sent: Sent) -> Answered<Given> {
    let edit: Edit = sent.json(&asked).await?;
    let changes = vec![edit.change()?];
    let given = asked.call(Write { changes }).await?;
    Ok(Given::json(
        &serde_json::json!({ "edit": given.number()? }),
    )?)
}

pub(super) async fn undo(asked: Asked, Named(edit): Named<u64>) -> Answered<Given> {
    let changes = vec![Change::UndoConceptEdit(edit)];
    asked.call(Write { changes }).await?.was("edit", edit)?;
    Ok(Given::Nothing)
}
