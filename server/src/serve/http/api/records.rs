//! Recorded answers, feedback, and how the same questions are answered with other options.

use axum::http::HeaderMap;
use axum::response::Response;
use loci_protocol::call::{ForgetRecords, GiveFeedback, ListRecords, Replay};
use locidb::storage::records::Feedback;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Answered;
use super::events::long;
use super::given::{Named, Params, Sent};
use super::graph::limit;
use crate::serve::http::access::Asked;
use crate::service::Given;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Records {
    #[serde(default = "limit")]
    limit: u32,
}

pub(super) async fn list(asked: Asked, Params(of): Params<Records>) -> Answered<Given> {
    let call = ListRecords {
        response: None,
        limit: of.limit,
    };
    Ok(asked.call(call).await?)
}

pub(super) async fn show(asked: Asked, Named(record): Named<u64>) -> Answered<Given> {
    let call = ListRecords {
        response: Some(record),
        limit: 1,
    };
    Ok(asked.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Before {
    before_ms: u64,
}

pub(super) async fn forget(asked: Asked, Params(of): Params<Before>) -> Answered<Given> {
    let before_ms = of.before_ms;
    Ok(asked.call(ForgetRecords { before_ms }).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judged {
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
    asked: Asked,
    Named(response): Named<u64>,
    sent: Sent,
) -> Answered<Given> {
    let judged: Judged = sent.json(&asked).await?;
    let call = GiveFeedback {
        response,
        hit: match judged.hit {
            Hit::Rank(rank) => rank.to_string(),
            Hit::Chunk(key) => key,
        },
        feedback: judged.feedback,
    };
    Ok(asked.call(call).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Again {
    #[serde(default = "limit")]
    limit: u32,
    /// Options of searches, by name.
    #[serde(default)]
    set: Map<String, Value>,
}

pub(super) async fn replay(asked: Asked, headers: HeaderMap, sent: Sent) -> Answered<Response> {
    let again: Again = sent.json(&asked).await?;
    let set = again.set.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, text),
        value => (name, value.to_string()),
    });
    let call = Replay {
        limit: again.limit,
        set: set.collect(),
    };
    long(asked, &headers, call).await
}
