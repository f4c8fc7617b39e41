//! Recorded answers, feedback, and how the same questions are answered with other options.

use axum::http::HeaderMap;
use axum::response::Response;
use loci_protocol::call::{ForgetRecords, GiveFeedback, ListRecords, Replay};
use locidb::storage::records::Feedback;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ApiResult;
use super::events::run_long_call;
use super::extract::{PathParams, QueryParams, RequestBody};
use super::graph::limit;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::CallOutput;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Records {
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn list(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<Records>,
) -> ApiResult<CallOutput> {
    let call = ListRecords {
        response: None,
        limit: params.limit,
    };
    Ok(auth.call(call).await?)
}

pub(super) async fn show(
    auth: AuthenticatedRequest,
    PathParams(record): PathParams<u64>,
) -> ApiResult<CallOutput> {
    let call = ListRecords {
        response: Some(record),
        limit: 1,
    };
    Ok(auth.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgetQuery {
    before_ms: u64,
}

pub(super) async fn forget(
    auth: AuthenticatedRequest,
    QueryParams(params): QueryParams<ForgetQuery>,
) -> ApiResult<CallOutput> {
    let before_ms = params.before_ms;
    Ok(auth.call(ForgetRecords { before_ms }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedbackRequest {
    hit: Hit,
    feedback: Feedback,
}

/// A hit by its rank, or by its chunk's key.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Hit {
    Rank(u32),
    Chunk(String),
}

pub(super) async fn feedback(
    auth: AuthenticatedRequest,
    PathParams(response): PathParams<u64>,
    sent: RequestBody,
) -> ApiResult<CallOutput> {
    let judged: FeedbackRequest = sent.json(&auth).await?;
    let call = GiveFeedback {
        response,
        hit: match judged.hit {
            Hit::Rank(rank) => rank.to_string(),
            Hit::Chunk(key) => key,
        },
        feedback: judged.feedback,
    };
    Ok(auth.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayRequest {
    #[serde(default = "limit")]
    limit: u32,
    /// Options of searches, by name.
    #[serde(default)]
    set: Map<String, Value>,
}

pub(super) async fn replay(
    auth: AuthenticatedRequest,
    headers: HeaderMap,
    sent: RequestBody,
) -> ApiResult<Response> {
    let again: ReplayRequest = sent.json(&auth).await?;
    let set = again.set.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, text),
        value => (name, value.to_string()),
    });
    let call = Replay {
        limit: again.limit,
        set: set.collect(),
    };
    run_long_call(auth, &headers, call).await
}
