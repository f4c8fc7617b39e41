//! Retrieval quality and latency: every question of a folder asked, every answer judged.

use std::time::Instant;

use locidb::{Database, SearchRequest, Strategy};
use serde::Serialize;

use crate::BenchError;
use crate::folder::Folder;
use crate::load::line_id;
use crate::metrics::{ndcg, percentile, precision, recall, reciprocal_rank};

/// One strategy's figures: means over judged questions, values 0..=1; latencies in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evaluation {
    /// The strategy.
    pub strategy: String,
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
}

/// Asks every judged question of `folder` by `strategy` and judges the first `k` hits.
///
/// `given_vectors`: the questions' vectors are the folder's; else the store's embedder makes them,
/// within the measured time.
pub fn evaluate(
    database: &Database,
    folder: &Folder,
    strategy: Strategy,
    k: usize,
    given_vectors: bool,
) -> Result<Evaluation, BenchError> {
    let mut sum = Evaluation {
        strategy: strategy.name().into(),
        ..Evaluation::default()
    };
    let mut times_us = Vec::new();
    for (line, query) in folder.queries.iter().enumerate() {
        let judged = &folder.judgements[line];
        if !judged.values().any(|&gain| gain > 0.0) {
            continue;
        }
        let vectors = folder.query_vectors.as_ref().filter(|_| given_vectors);
        let request = SearchRequest {
            k,
            strategy,
            vector: vectors.map(|vectors| vectors.get(line).to_vec()),
            ..SearchRequest::new(&query.text[..])
        };
        let started = Instant::now();
        let answer = database.search(&request)?;
        times_us.push(started.elapsed().as_secs_f64() * 1e6);
        let id = |hit: &locidb::Hit| line_id(folder, &hit.document, &hit.chunk);
        let ranked: Vec<String> = answer.hits.iter().filter_map(id).collect();
        sum.queries += 1;
        sum.recall_2 += recall(&ranked, judged, 2);
        sum.recall_5 += recall(&ranked, judged, 5);
        sum.recall_10 += recall(&ranked, judged, 10);
        sum.precision_5 += precision(&ranked, judged, 5);
        sum.ndcg_10 += ndcg(&ranked, judged, 10);
        sum.mrr_10 += reciprocal_rank(&ranked, judged, 10);
    }
    times_us.sort_by(f64::total_cmp);
    let mean = |total: &mut f64| *total = round(*total / (sum.queries.max(1)) as f64);
    let mut totals = [
        sum.recall_2,
        sum.recall_5,
        sum.recall_10,
        sum.precision_5,
        sum.ndcg_10,
        sum.mrr_10,
    ];
    totals.iter_mut().for_each(mean);
    let [recall_2, recall_5, recall_10, precision_5, ndcg_10, mrr_10] = totals;
    Ok(Evaluation {
        recall_2,
        recall_5,
        recall_10,
        precision_5,
        ndcg_10,
        mrr_10,
        p50_us: round(percentile(&times_us, 0.50)),
        p95_us: round(percentile(&times_us, 0.95)),
        p99_us: round(percentile(&times_us, 0.99)),
        ..sum
    })
}

/// Four decimals are more than the figures mean.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
