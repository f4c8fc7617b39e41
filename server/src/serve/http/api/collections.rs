//! Stored files, taken into a collection: `POST /collections/{name}/link`.
//!
//! A file is told by the key of a document that is stored already. Its original is taken in again as a document of the
//! collection, cut as files of that type are.

use loci_protocol::call::{File, GetOriginal, Ingest, Role};
use loci_protocol::fault::{Code, Fault};
use locidb::storage::DocumentKey;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ApiResult;
use super::extract::{PathParams, RequestBody, parse_key};
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::{CallOutput, StreamItem, fault_of};

/// Bytes of a file's name at most.
const NAME_LEN_MAX: usize = 255;
/// Files of one request at most.
const FILES_MAX: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkRequest {
    files: Vec<Link>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    /// Its name, which becomes the document's key within the collection.
    name: String,
    /// The key of the stored document.
    file_id: String,
    /// What it is, by the names of kinds of files; else told from its content.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// A link whose names are within bounds, with the document that it tells.
fn check_link(link: Link) -> Result<(DocumentKey, Link), Problem> {
    parse_key::<DocumentKey>(&link.name)?;
    if link.name.len() > NAME_LEN_MAX {
        let why = format!("name: a file's name has {NAME_LEN_MAX} bytes at most");
        return Err(Fault::new(Code::TooLarge, why).into());
    }
    Ok((parse_key(&link.file_id)?, link))
}

pub(super) async fn link(
    auth: AuthenticatedRequest,
    PathParams(collection): PathParams<String>,
    sent: RequestBody,
) -> ApiResult<CallOutput> {
    auth.check_role("Ingest", Role::Write)?;
    let LinkRequest { files } = sent.json(&auth).await?;
    DocumentKey::new("", &collection[..], "any").map_err(|error| fault_of(error.into()))?;
    if files.is_empty() || files.len() > FILES_MAX {
        return Err(Problem::invalid(format!("files: give 1 to {FILES_MAX}")));
    }
    let files = files.into_iter().map(check_link);
    let files = files.collect::<Result<Vec<_>, Problem>>()?;
    let mut outcomes = Vec::new();
    for (number, (of, link)) in files.into_iter().enumerate() {
        if number > 0 {
            auth.count_call()?;
        }
        let file_id = of.to_string();
        let mut outcome = match ingest_link(&auth, &collection, of, link).await {
            Ok(outcome) => outcome,
            // One that is not there does not keep the others from being taken in.
            Err(problem) if problem.is_request_error() => {
                json!({ "status": "failed", "error": problem.detail() })
            }
            Err(problem) => return Err(problem),
        };
        outcome["file_id"] = file_id.into();
        outcomes.push(outcome);
    }
    Ok(CallOutput::view(
        json!({ "collection": collection, "files": outcomes }),
    ))
}

/// Takes one file in.
async fn ingest_link(
    auth: &AuthenticatedRequest,
    collection: &str,
    of: DocumentKey,
    link: Link,
) -> Result<Value, Problem> {
    let mut pending = auth.begin(GetOriginal { key: of.clone() })?;
    let mut read = auth.http.empty_body();
    while let Some(item) = pending.next_item().await {
        if let StreamItem::Bytes(part) = item {
            auth.http
                .append(&mut read, &part, auth.http.file_len_max())?;
        }
    }
    pending.output().await?;
    let file = File {
        key: Some(link.name.clone()),
        name: link.name,
        bytes: read.bytes,
        collection: collection.to_owned(),
        user: of.user,
        kind: link.kind,
        ..File::default()
    };
    let file = Box::new(file);
    auth.call(Ingest { file })
        .await?
        .into_value()
        .map_err(Into::into)
}
