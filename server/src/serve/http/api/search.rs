//! Questions: passages, answers in words, prompts for models.

use axum::response::Response;
use loci_protocol::call::{Ask, AskPrompt, Search};
use locidb::{Effort, Expr, SearchRequest, Strategy};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ApiResult;
use super::extract::{QueryParams, RequestBody};
use crate::serve::http::Problem;
use crate::serve::http::access::AuthenticatedRequest;
use crate::service::CallOutput;

/// Characters of a question in a query at most.
const QUESTION_CHARS_MAX: usize = 4_096;

/// A question as its query says it; a body says more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    q: String,
    k: Option<usize>,
    strategy: Option<String>,
    filter: Option<String>,
    /// Names, with commas between them.
    level: Option<String>,
    /// Tokens of a context.
    budget: Option<usize>,
    effort: Option<String>,
    #[serde(default)]
    highlights: bool,
    #[serde(default)]
    explain: bool,
}

impl Question {
    fn request(self) -> Result<SearchRequest, Problem> {
        if self.q.chars().count() > QUESTION_CHARS_MAX {
            let why = format!(
                "q: a question of a query has {QUESTION_CHARS_MAX} characters at most; POST longer ones"
            );
            return Err(Problem::invalid(why));
        }
        let wrong =
            |name: &str, why: &dyn std::fmt::Display| Problem::invalid(format!("{name}: {why}"));
        let mut request = SearchRequest::new(self.q);
        request.k = self.k.unwrap_or(request.k);
        if let Some(name) = self.strategy {
            let name = Value::String(name).to_string();
            request = request
                .with("strategy", &name)
                .map_err(|error| wrong("strategy", &error))?;
        }
        if let Some(levels) = self.level {
            let levels = levels
                .split(',')
                .map(|name| Value::String(name.trim().into()));
            let levels = Value::Array(levels.collect()).to_string();
            request = request
                .with("levels", &levels)
                .map_err(|error| wrong("level", &error))?;
        }
        let filter = self.filter.as_deref().map(Expr::parse).transpose();
        request.filter = filter.map_err(|error| wrong("filter", &error))?;
        if let Some(effort) = self.effort {
            let effort = effort.parse::<Effort>();
            request.effort = effort.map_err(|error| wrong("effort", &error))?;
        }
        Ok(SearchRequest {
            context_tokens: self.budget,
            highlights: self.highlights,
            explain: self.explain,
            syntax: request.strategy == Strategy::Text,
            ..request
        })
    }
}

/// A question as a body says it: the fields of a [`SearchRequest`], and `record`.
fn parse_body(body: Map<String, Value>) -> Result<(SearchRequest, bool), Problem> {
    let mut body = body;
    let record = match body.remove("record") {
        None => false,
        Some(Value::Bool(record)) => record,
        Some(_) => return Err(Problem::invalid("record: give true or false")),
    };
    let request = loci_views::parse_request(body);
    let request = request.map_err(|error| Problem::invalid(format!("the body: {error}")))?;
    check_question(&request)?;
    Ok((request, record))
}

fn check_question(request: &SearchRequest) -> Result<(), Problem> {
    if request.question.trim().is_empty() && request.vector.is_none() {
        Err(Problem::invalid("question: ask something"))
    } else {
        Ok(())
    }
}

pub(super) async fn get(
    auth: AuthenticatedRequest,
    QueryParams(question): QueryParams<Question>,
) -> ApiResult<CallOutput> {
    let request = question.request()?;
    check_question(&request)?;
    // Nothing is changed by looking.
    let call = Search {
        request: Box::new(request),
        record: false,
    };
    Ok(auth.call(call).await?)
}

pub(super) async fn search(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<CallOutput> {
    let (request, record) = parse_body(sent.json(&auth).await?)?;
    let request = Box::new(request);
    Ok(auth.call(Search { request, record }).await?)
}

pub(super) async fn ask(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<Response> {
    let headers = sent.headers.clone();
    let (request, record) = parse_body(sent.json(&auth).await?)?;
    let request = Box::new(request);
    super::events::run_long_call(auth, &headers, Ask { request, record }).await
}

pub(super) async fn prompt(auth: AuthenticatedRequest, sent: RequestBody) -> ApiResult<CallOutput> {
    let (request, record) = parse_body(sent.json(&auth).await?)?;
    if record {
        return Err(Problem::invalid("record: a prompt has no answer to record"));
    }
    let request = Box::new(request);
    Ok(auth.call(AskPrompt { request }).await?)
}
