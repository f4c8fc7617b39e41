//! Retrieval quality and latency: asks every judged question of a folder, and evaluates every answer.
//!
//! | to | read |
//! | --- | --- |
//! | ask, and compute the means | [`ask`], [`Evaluation`] |
//! | compute the confidence of a mean | [`bootstrap`] |
//! | compare two sets of options | [`mod@compare`] |
//! | check citations against the store | [`citations`] |
//! | measure the effect of a chunk's position | [`position`] |
//! | measure time from file to answer | [`timing`] |
//!
//! Questions without a relevant chunk are not asked. A document that is found twice counts once, at its first
//! place.

pub mod bootstrap;
pub mod citations;
pub mod compare;
pub mod position;
pub mod timing;

use std::collections::HashSet;
use std::time::Instant;

use locidb::{Database, DatabaseSnapshot, SearchRequest};
use serde::Serialize;

pub use compare::{Comparison, compare};
pub use position::{LostInTheMiddle, lost_in_the_middle};
pub use timing::Timing;

use crate::BenchError;
use crate::folder::Folder;
use crate::load::line_id;
use crate::metrics::{Judgements, ndcg, percentile, precision, recall, reciprocal_rank};

/// The metrics of a ranked list, by name.
const METRICS: [(&str, fn(&[String], &Judgements) -> f64); 6] = [
    ("recall@2", |ranked, judged| recall(ranked, judged, 2)),
    ("recall@5", |ranked, judged| recall(ranked, judged, 5)),
    ("recall@10", |ranked, judged| recall(ranked, judged, 10)),
    ("precision@5", |ranked, judged| precision(ranked, judged, 5)),
    ("ndcg@10", |ranked, judged| ndcg(ranked, judged, 10)),
    ("mrr@10", |ranked, judged| {
        reciprocal_rank(ranked, judged, 10)
    }),
];

/// The values of one question, in the order of the metrics' names.
type Scores = [f64; METRICS.len()];

/// The metrics of one strategy: means over judged questions, values 0..=1; latencies in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// The requested strategy.
    pub strategy: String,
    /// Options that were changed, as `name=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Questions that were judged.
    pub queries: usize,
    /// Share of the relevant among the first 2.
    #[serde(rename = "recall@2")]
    pub recall_2: f64,
    /// Share of the relevant among the first 5.
    #[serde(rename = "recall@5")]
    pub recall_5: f64,
    /// Share of the relevant among the first 10.
    #[serde(rename = "recall@10")]
    pub recall_10: f64,
    /// Share of the first 5 that are relevant.
    #[serde(rename = "precision@5")]
    pub precision_5: f64,
    /// Normalised discounted cumulative gain at 10, linear gain.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: f64,
    /// Mean reciprocal rank within 10.
    #[serde(rename = "mrr@10")]
    pub mrr_10: f64,
    /// Median of the time from question to answer.
    pub p50_us: f64,
    /// 95th percentile of it.
    pub p95_us: f64,
    /// 99th percentile of it.
    pub p99_us: f64,
    /// 95 % interval of `recall_5`, from drawing questions again.
    #[serde(rename = "recall@5_ci")]
    pub recall_5_ci: [f64; 2],
    /// As `recall_5_ci`, of `recall_10`.
    #[serde(rename = "recall@10_ci")]
    pub recall_10_ci: [f64; 2],
    /// As `recall_5_ci`, of `ndcg_10`.
    #[serde(rename = "ndcg@10_ci")]
    pub ndcg_10_ci: [f64; 2],
    /// Share of the hits whose text is what their document has at the cited characters; `None` without hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation_exact: Option<f64>,
    /// Share of the hits whose link names the chunk that has their text; `None` without hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation_resolves: Option<f64>,
}

/// Every judged question of a folder, asked with the same options.
#[derive(Clone, Debug, Default)]
pub struct StrategyRun {
    /// The requested strategy.
    pub strategy: String,
    questions: Vec<Question>,
}

/// One question and its answer.
#[derive(Clone, Debug)]
struct Question {
    /// Its line in the folder.
    line: usize,
    /// Ids of the folder's chunks, best first, each once.
    ranked: Vec<String>,
    scores: Scores,
    took_us: f64,
    hits: usize,
    exact: usize,
    resolving: usize,
}

/// Asks every judged question of `folder` as `template` says, but for its words and vector, over the newest state.
///
/// `given_vectors`: the questions' vectors are the folder's; else the store's embedder makes them,
/// within the measured time.
pub fn ask(
    database: &Database,
    folder: &Folder,
    template: &SearchRequest,
    given_vectors: bool,
) -> Result<StrategyRun, BenchError> {
    let view = database.snapshot();
    let vectors = folder.query_vectors.as_ref().filter(|_| given_vectors);
    let mut questions = Vec::new();
    for (line, query) in folder.queries.iter().enumerate() {
        if !folder.judgements[line].values().any(|&gain| gain > 0.0) {
            continue;
        }
        let request = SearchRequest {
            question: query.text.clone(),
            vector: vectors.map(|vectors| vectors.get(line).to_vec()),
            ..template.clone()
        };
        questions.push(Question::ask(database, &view, folder, line, &request)?);
    }
    Ok(StrategyRun {
        strategy: template.strategy.name().into(),
        questions,
    })
}

impl Question {
    fn ask(
        database: &Database,
        view: &DatabaseSnapshot,
        folder: &Folder,
        line: usize,
        request: &SearchRequest,
    ) -> Result<Question, BenchError> {
        let started = Instant::now();
        let answer = database.search_in(view, request)?;
        let took_us = started.elapsed().as_secs_f64() * 1e6;
        let mut seen = HashSet::new();
        let ids = answer.hits.iter();
        let ids = ids.filter_map(|hit| line_id(folder, &hit.document, &hit.chunk));
        let ranked: Vec<String> = ids.filter(|id| seen.insert(id.clone())).collect();
        let (mut exact, mut resolving) = (0, 0);
        for hit in &answer.hits {
            let checked = citations::check(view, hit)?;
            exact += usize::from(checked.is_exact);
            resolving += usize::from(checked.resolves);
        }
        let judged = &folder.judgements[line];
        Ok(Question {
            line,
            scores: METRICS.map(|(_, score)| score(&ranked, judged)),
            ranked,
            took_us,
            hits: answer.hits.len(),
            exact,
            resolving,
        })
    }
}

impl StrategyRun {
    fn scores(&self) -> Vec<Scores> {
        self.questions
            .iter()
            .map(|question| question.scores)
            .collect()
    }

    /// Means, their intervals, and latencies. `options` are for the record.
    pub fn evaluation(&self, options: &[(String, String)]) -> Evaluation {
        let scores = self.scores();
        let intervals = bootstrap::intervals(&scores).map(|ends| ends.map(round));
        let [recall_2, recall_5, recall_10, precision_5, ndcg_10, mrr_10] = means(&scores);
        let [_, recall_5_ci, recall_10_ci, _, ndcg_10_ci, _] = intervals;
        let mut times: Vec<f64> = self.questions.iter().map(|result| result.took_us).collect();
        times.sort_by(f64::total_cmp);
        let sum = |of: fn(&Question) -> usize| self.questions.iter().map(of).sum::<usize>();
        let hits = sum(|question| question.hits);
        let share = |part: usize| (hits > 0).then(|| round(part as f64 / hits as f64));
        Evaluation {
            strategy: self.strategy.clone(),
            options: options
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            queries: self.questions.len(),
            recall_2,
            recall_5,
            recall_10,
            precision_5,
            ndcg_10,
            mrr_10,
            p50_us: round(percentile(&times, 0.50)),
            p95_us: round(percentile(&times, 0.95)),
            p99_us: round(percentile(&times, 0.99)),
            recall_5_ci,
            recall_10_ci,
            ndcg_10_ci,
            citation_exact: share(sum(|question| question.exact)),
            citation_resolves: share(sum(|question| question.resolving)),
        }
    }
}

/// Means of columns, rounded; 0 where there are no rows.
fn means<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|column| {
        let total: f64 = rows.iter().map(|row| row[column]).sum();
        round(total / rows.len().max(1) as f64)
    })
}

/// Four decimals are more precise than the metrics.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
