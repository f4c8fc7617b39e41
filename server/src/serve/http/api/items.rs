//! Learning items.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{Change, GetItemFigures, ListItems, Write};
use locidb::NewItem;
use locidb::storage::ItemId;
use locidb::storage::records::{Difficulty, ItemType, ReviewState};
use serde::Deserialize;
use serde_json::json;

use super::ApiResult;
use super::extract::{PathParams, QueryParams, RequestBody, parse_key};
use super::graph::limit;
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::call;
use crate::service::CallOutput;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Items {
    owner: Option<String>,
    document: Option<String>,
    due_ms: Option<u64>,
    after: Option<u64>,
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn list(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Items>,
) -> ApiResult<CallOutput> {
    let call = ListItems {
        owner: params.owner,
        document: params.document.as_deref().map(parse_key).transpose()?,
        due_ms: params.due_ms,
        after: params.after,
        limit: params.limit,
    };
    Ok(auth.call(call).await?)
}

/// An item as [`ShownItem`](loci_views::items::ShownItem) tells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    #[serde(rename = "type", default)]
    kind: ItemType,
    front: String,
    #[serde(default)]
    back: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    difficulty: Difficulty,
    chunk: Option<String>,
    concept: Option<String>,
    #[serde(default)]
    owner: String,
    merged_into: Option<u64>,
    review: Option<ReviewState>,
}

impl Item {
    pub(super) fn new_item(self, auth: &AuthenticatedRequest) -> Result<NewItem, Problem> {
        if self.front.is_empty() {
            return Err(Problem::invalid("front: say what is to be recalled"));
        }
        Ok(NewItem {
            kind: self.kind,
            front: self.front,
            back: self.back,
            options: self.options,
            difficulty: self.difficulty,
            chunk: self.chunk.as_deref().map(parse_key).transpose()?,
            concept: self.concept,
            owner: match (&auth.caller.user, self.owner) {
                (Some(user), owner) if owner.is_empty() => user.clone(),
                (_, owner) => owner,
            },
            merged_into: self.merged_into.map(ItemId),
            review: self.review,
        })
    }
}

pub(super) async fn add(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<Response> {
    let item: Item = sent.json(&auth).await?;
    let changes = vec![Change::PutItem(Box::new(item.new_item(&auth)?))];
    let id = auth.call(Write { changes }).await?.number()?;
    Ok((StatusCode::CREATED, call::json(&json!({ "id": id }))).into_response())
}

pub(super) async fn replace(
    auth: AuthenticatedRequest,
    PathParams(id): PathParams<u64>,
    sent: RequestBody,
) -> ApiResult<CallOutput> {
    let item: Item = sent.json(&auth).await?;
    let item = Box::new(item.new_item(&auth)?);
    let changes = vec![Change::ReplaceItem(ItemId(id), item)];
    auth.call(Write { changes })
        .await?
        .require_existed("item", id)?;
    Ok(CallOutput::Empty)
}

pub(super) async fn delete(
    auth: AuthenticatedRequest,
    PathParams(id): PathParams<u64>,
) -> ApiResult<CallOutput> {
    let changes = vec![Change::DeleteItem(ItemId(id))];
    auth.call(Write { changes })
        .await?
        .require_existed("item", id)?;
    Ok(CallOutput::Empty)
}

pub(super) async fn stats(auth: AuthenticatedRequest) -> ApiResult<CallOutput> {
    Ok(auth.call(GetItemFigures {}).await?)
}
