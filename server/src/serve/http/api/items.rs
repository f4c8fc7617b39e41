//! Learning items.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use loci_protocol::call::{Change, GetItemFigures, ListItems, Write};
use locidb::NewItem;
use locidb::storage::ItemId;
use locidb::storage::records::{Difficulty, ItemType, ReviewState};
use serde::Deserialize;
use serde_json::json;

use super::Answered;
use super::given::{Named, Params, Sent, key};
use super::graph::limit;
use crate::serve::http::Problem;
use crate::serve::http::access::Asked;
use crate::serve::http::answer;
use crate::service::Given;

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

pub(super) async fn list(asked: Asked, Params(of): Params<Items>) -> Answered<Given> {
    let call = ListItems {
        owner: of.owner,
        document: of.document.as_deref().map(key).transpose()?,
        due_ms: of.due_ms,
        after: of.after,
        limit: of.limit,
    };
    Ok(asked.call(call).await?)
}

/// An item as [`ShownItem`](crate::views::items::ShownItem) tells it.
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
    pub(super) fn new_item(self, asked: &Asked) -> Result<NewItem, Problem> {
        if self.front.is_empty() {
            return Err(Problem::invalid("front: say what is to be recalled"));
        }
        Ok(NewItem {
            kind: self.kind,
            front: self.front,
            back: self.back,
            options: self.options,
            difficulty: self.difficulty,
            chunk: self.chunk.as_deref().map(key).transpose()?,
            concept: self.concept,
            owner: match (&asked.caller.user, self.owner) {
                (Some(user), owner) if owner.is_empty() => user.clone(),
                (_, owner) => owner,
            },
            merged_into: self.merged_into.map(ItemId),
            review: self.review,
        })
    }
}

pub(super) async fn add(asked: Asked, sent: Sent) -> Answered<Response> {
    let item: Item = sent.json(&asked).await?;
    let changes = vec![Change::PutItem(Box::new(item.new_item(&asked)?))];
    let id = asked.call(Write { changes }).await?.number()?;
    Ok((StatusCode::CREATED, answer::json(&json!({ "id": id }))).into_response())
}

pub(super) async fn replace(asked: Asked, Named(id): Named<u64>, sent: Sent) -> Answered<Given> {
    let item: Item = sent.json(&asked).await?;
    let item = Box::new(item.new_item(&asked)?);
    let changes = vec![Change::ReplaceItem(ItemId(id), item)];
    asked.call(Write { changes }).await?.was("item", id)?;
    Ok(Given::Nothing)
}

pub(super) async fn delete(asked: Asked, Named(id): Named<u64>) -> Answered<Given> {
    let changes = vec![Change::DeleteItem(ItemId(id))];
    asked.call(Write { changes }).await?.was("item", id)?;
    Ok(Given::Nothing)
}

pub(super) async fn figures(asked: Asked) -> Answered<Given> {
    Ok(asked.call(GetItemFigures {}).await?)
}
