//! Recorded answers: questions with their hits and the feedback on them, and replaying them after a change.
//!
//! An answer is recorded when the caller requests it, never by itself. A record names chunks by their public keys: it
//! outlives them, and a replay reports which are gone.
//!
//! Start reading at [`Database::record`], then [`Database::replay`].

use std::collections::HashSet;
use std::ops::ControlFlow;

use loci_query::answer::{ArmScores, PartialReason};
use loci_query::{Answer, QueryError, SearchRequest};
use loci_storage::records::{Feedback, RetrievalRecord, RetrievedRecord};
use loci_storage::{ResponseId, StoreError, Table, keys};
pub use loci_types::answer::HitRef;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::clock::now_ms;
use crate::database::handle::Database;
use crate::error::Error;
use crate::progress::{self, Progress};
use crate::state::snapshot::DatabaseSnapshot;

/// Ranks within which a wrong chunk disturbs a reader.
const WRONG_RANK_MAX: u32 = 5;

/// A recorded answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retrieval {
    /// Its id.
    pub response: u64,
    /// Milliseconds since 1970 when it was recorded.
    pub at_ms: u64,
    /// The question as asked.
    pub question: String,
    /// The strategy that answered.
    pub strategy: String,
    /// Generation of the snapshot that answered.
    pub snapshot: u64,
    /// The options of the request, by name.
    pub options: Map<String, Value>,
    /// Hits, best first.
    pub hits: Vec<RetrievedHit>,
    /// The vector that came with the question, and the space that it is of.
    #[serde(skip)]
    vector: Option<(Vec<f32>, Option<u32>)>,
}

/// A hit of a recorded answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetrievedHit {
    /// From 1.
    pub rank: u32,
    /// The chunk's public key.
    pub chunk: String,
    /// No unit; compares within one answer.
    pub score: f32,
    /// What found it, summarised.
    pub method: RetrievalMethod,
    /// The arms that found it: text, vector, graph.
    pub methods: Vec<&'static str>,
    /// The feedback on it.
    pub feedback: Feedback,
}

/// What found a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetrievalMethod {
    /// Vectors alone.
    Semantic,
    /// Text alone.
    Keyword,
    /// The concept graph alone.
    Graph,
    /// Several of these, or stages and digests that use them.
    Hybrid,
}

impl RetrievalMethod {
    /// The name that JSON and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            RetrievalMethod::Semantic => "semantic",
            RetrievalMethod::Keyword => "keyword",
            RetrievalMethod::Graph => "graph",
            RetrievalMethod::Hybrid => "hybrid",
        }
    }
}

/// Recorded questions asked again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replay {
    /// Each answer, in the order given.
    pub records: Vec<ReplayedAnswer>,
    /// All answers together.
    pub figures: ReplayMetrics,
}

/// One recorded answer, compared with the answer now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayedAnswer {
    /// The answer's id.
    pub response: u64,
    /// The question.
    pub question: String,
    /// The strategy that answered then.
    pub strategy_then: String,
    /// The strategy that answers now.
    pub strategy_now: String,
    /// Chunks that were found and are found again.
    pub kept: Vec<String>,
    /// Chunks that are found only now.
    pub new: Vec<String>,
    /// Chunks that were found, are still stored, and are not found any more.
    pub lost: Vec<String>,
    /// Chunks that were found and are not stored any more.
    pub gone: Vec<String>,
    /// The chunks with feedback.
    pub judged: Vec<JudgedChunk>,
    /// What could not be searched now, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<PartialReason>,
    /// Why the question cannot be asked any more; then nothing counts as found now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The ranks of a chunk with feedback, then and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedChunk {
    /// The chunk's public key.
    pub chunk: String,
    /// The feedback on it.
    pub feedback: Feedback,
    /// Its rank then, from 1.
    pub then: u32,
    /// Its rank now; `None` where it is not among the hits.
    pub now: Option<u32>,
    /// Whether it is not stored any more.
    pub gone: bool,
}

/// Metrics of all replayed answers. Those of judged chunks leave out chunks that are gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayMetrics {
    /// Answers that were asked for again.
    pub records: usize,
    /// Those that cannot be asked any more.
    pub failed: usize,
    /// Hits that are found again.
    pub kept: usize,
    /// Hits that are found only now.
    pub new: usize,
    /// Hits that are not found any more, though stored.
    pub lost: usize,
    /// Hits whose chunks are not stored any more.
    pub gone: usize,
    /// Chunks that were used or helpful.
    pub liked: usize,
    /// Mean reciprocal rank of these then; `None` where there are none.
    pub mrr_then: Option<f64>,
    /// Mean reciprocal rank of these now, 0 for one that is not found.
    pub mrr_now: Option<f64>,
    /// Chunks that were wrong.
    pub wrong: usize,
    /// Share of these that were among the first 5 then; `None` where there are none.
    pub wrong_in_5_then: Option<f64>,
    /// Share of these that are among the first 5 now.
    pub wrong_in_5_now: Option<f64>,
}

impl Database {
    /// Records an answer with its request, durably, so that it can get feedback and be replayed.
    ///
    /// `request`: the one that `answer` answers, as it was given to [`Database::search`].
    pub fn record(&self, request: &SearchRequest, answer: &Answer) -> Result<ResponseId, Error> {
        let request = self.snapshot().settings()?.over(request.clone());
        let record = build_record(&request, answer)?;
        self.write(move |tx| tx.put_retrieval(record))
    }

    /// Stores feedback on a hit, in the place of any before; [`Feedback::None`] removes it.
    ///
    /// # Errors
    /// [`Error::NotFound`] when no such answer was recorded, or it has no such hit.
    pub fn feedback(
        &self,
        response: ResponseId,
        hit: HitRef,
        feedback: Feedback,
    ) -> Result<(), Error> {
        self.write(move |tx| tx.set_feedback(response, &hit, feedback))
    }

    /// Deletes the answers that were recorded before a time, in milliseconds since 1970, and returns how many.
    /// Their ids are not used again.
    pub fn forget_records(&self, before_ms: u64) -> Result<u64, Error> {
        let (mut forgotten, mut from) = (0, Some(Vec::new()));
        while let Some(key) = from {
            let (some, next) = self.write(move |tx| tx.forget_retrievals(before_ms, &key))?;
            (forgotten, from) = (forgotten + some, next);
        }
        Ok(forgotten)
    }

    /// Asks recorded questions again over the newest state, each as changed by `change`, and compares.
    ///
    /// A vector that came with a question is used while the store is in the space that it is of; else the store's
    /// embedder computes one, where there is any. A question that cannot be asked any more is reported as failed.
    ///
    /// # Errors
    /// What `change` returns; [`Error::Interrupted`] when `progress` says so.
    pub fn replay(
        &self,
        records: &[Retrieval],
        change: impl Fn(&SearchRequest) -> Result<SearchRequest, QueryError>,
        progress: &dyn Progress,
    ) -> Result<Replay, Error> {
        let view = self.snapshot();
        let mut replayed = Vec::with_capacity(records.len());
        for (done, record) in (1u64..).zip(records) {
            let answer = match record.request(&view) {
                // A record has the settings that were in force.
                Ok(request) => self.search_without_settings(&view, change(&request)?),
                Err(error) => Err(error.into()),
            };
            replayed.push(compare_answers(&view, record, answer)?);
            progress::report(progress, "replaying", done, records.len() as u64)?;
        }
        Ok(Replay {
            figures: replay_metrics(&replayed),
            records: replayed,
        })
    }
}

impl DatabaseSnapshot {
    /// A recorded answer; `None` when there is none of this id, or it was deleted.
    pub fn record(&self, id: ResponseId) -> Result<Option<Retrieval>, Error> {
        let record = self.rows().retrieval(id)?;
        Ok(record
            .map(|record| Retrieval::new(id, record))
            .transpose()?)
    }

    /// The last `limit` recorded answers, newest first.
    pub fn records(&self, limit: usize) -> Result<Vec<Retrieval>, Error> {
        let mut ids = Vec::new();
        self.rows().scan_all(Table::Retrievals, &mut |key, _| {
            ids.extend(keys::u64_at(key, 0));
            Ok(ControlFlow::Continue(()))
        })?;
        let ids = ids.into_iter().rev();
        let records = ids.filter_map(|id| self.record(ResponseId(id)).transpose());
        records.take(limit).collect()
    }
}

impl Retrieval {
    fn new(id: ResponseId, record: RetrievalRecord) -> Result<Retrieval, StoreError> {
        let options = serde_json::from_str(&record.request)
            .map_err(|why| StoreError::Invalid(format!("options of response {}: {why}", id.0)))?;
        let space = record.space;
        Ok(Retrieval {
            response: id.0,
            at_ms: record.at_ms,
            question: record.question,
            strategy: record.strategy,
            snapshot: record.generation,
            options,
            hits: (1..).zip(record.hits).map(RetrievedHit::new).collect(),
            vector: record.vector.map(|vector| (vector, space)),
        })
    }

    /// The request as it was, with its vector where that is of the active space.
    ///
    /// # Errors
    /// [`QueryError::Option`] when it has an option that this version does not know.
    pub fn request(&self, view: &DatabaseSnapshot) -> Result<SearchRequest, QueryError> {
        let request = serde_json::from_value(Value::Object(self.options.clone()));
        let request: SearchRequest = request.map_err(|why| {
            QueryError::Option(format!("response {} was asked with {why}", self.response))
        })?;
        let active = view.snapshot().manifest().active_space;
        let vector = self.vector.as_ref().filter(|(_, of)| *of == active);
        Ok(SearchRequest {
            question: self.question.clone(),
            vector: vector.map(|(vector, _)| vector.clone()),
            ..request
        })
    }
}

impl RetrievedHit {
    fn new((rank, record): (u32, RetrievedRecord)) -> RetrievedHit {
        let arms = [
            ("text", record.by_text),
            ("vector", record.by_vector),
            ("graph", record.by_graph),
        ];
        let found = arms.into_iter().filter(|(_, found)| *found);
        let methods: Vec<&str> = found.map(|(name, _)| name).collect();
        RetrievedHit {
            rank,
            chunk: record.chunk,
            score: record.score,
            method: match methods[..] {
                ["vector"] => RetrievalMethod::Semantic,
                ["text"] => RetrievalMethod::Keyword,
                ["graph"] => RetrievalMethod::Graph,
                _ => RetrievalMethod::Hybrid,
            },
            methods,
            feedback: record.feedback,
        }
    }
}

/// The record of an answer, without its space.
fn build_record(request: &SearchRequest, answer: &Answer) -> Result<RetrievalRecord, Error> {
    let wrong = |why: serde_json::Error| Error::Query(QueryError::Option(why.to_string()));
    let mut options = serde_json::to_value(request).map_err(wrong)?;
    if let Value::Object(options) = &mut options {
        options.remove("question");
        options.remove("vector");
    }
    let hit = |hit: &loci_query::Hit| {
        let ArmScores {
            text,
            vector,
            graph,
        } = &hit.methods;
        RetrievedRecord {
            chunk: hit.chunk.clone(),
            score: hit.score,
            by_text: text.is_some(),
            by_vector: vector.is_some(),
            by_graph: graph.is_some(),
            feedback: Feedback::None,
        }
    };
    Ok(RetrievalRecord {
        at_ms: now_ms(),
        question: request.question.clone(),
        request: options.to_string(),
        vector: request.vector.clone(),
        space: None,
        strategy: answer.strategy.clone(),
        generation: answer.snapshot,
        hits: answer.hits.iter().map(hit).collect(),
    })
}

/// Compares a recorded answer with the answer now.
fn compare_answers(
    view: &DatabaseSnapshot,
    record: &Retrieval,
    answer: Result<Answer, Error>,
) -> Result<ReplayedAnswer, Error> {
    let mut replayed = ReplayedAnswer {
        response: record.response,
        question: record.question.clone(),
        strategy_then: record.strategy.clone(),
        ..ReplayedAnswer::default()
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error @ (Error::Query(QueryError::Store(_)) | Error::Store(_))) => return Err(error),
        Err(error) => {
            replayed.failed = Some(error.to_string());
            Answer::default()
        }
    };
    let now: Vec<&str> = answer.hits.iter().map(|hit| &hit.chunk[..]).collect();
    let then: HashSet<&str> = record.hits.iter().map(|hit| &hit.chunk[..]).collect();
    for hit in &record.hits {
        let rank = now.iter().position(|&chunk| chunk == hit.chunk);
        let rank = rank.map(|place| place as u32 + 1);
        let gone = rank.is_none() && !is_stored(view, &hit.chunk)?;
        let list = match (rank, gone) {
            (Some(_), _) => &mut replayed.kept,
            (None, false) => &mut replayed.lost,
            (None, true) => &mut replayed.gone,
        };
        list.push(hit.chunk.clone());
        if hit.feedback != Feedback::None {
            replayed.judged.push(JudgedChunk {
                chunk: hit.chunk.clone(),
                feedback: hit.feedback,
                then: hit.rank,
                now: rank,
                gone,
            });
        }
    }
    let new = now.iter().filter(|chunk| !then.contains(*chunk));
    replayed.new = new.map(|&chunk| chunk.to_owned()).collect();
    replayed.strategy_now = answer.strategy;
    replayed.partial = answer.partial;
    Ok(replayed)
}

fn is_stored(view: &DatabaseSnapshot, chunk: &str) -> Result<bool, StoreError> {
    Ok(view.rows().find_chunk(&chunk.parse()?)?.is_some())
}

fn replay_metrics(replayed: &[ReplayedAnswer]) -> ReplayMetrics {
    let count =
        |of: fn(&ReplayedAnswer) -> &Vec<String>| replayed.iter().map(|r| of(r).len()).sum();
    let judged = || replayed.iter().flat_map(|r| &r.judged).filter(|j| !j.gone);
    let is_liked = |j: &&JudgedChunk| matches!(j.feedback, Feedback::Used | Feedback::Helpful);
    let liked: Vec<&JudgedChunk> = judged().filter(is_liked).collect();
    let wrong: Vec<&JudgedChunk> = judged().filter(|j| j.feedback == Feedback::Wrong).collect();
    let reciprocal = |rank: Option<u32>| rank.map_or(0.0, |rank| 1.0 / f64::from(rank));
    let is_first = |rank: Option<u32>| f64::from(rank.is_some_and(|rank| rank <= WRONG_RANK_MAX));
    ReplayMetrics {
        records: replayed.len(),
        failed: replayed.iter().filter(|r| r.failed.is_some()).count(),
        kept: count(|r| &r.kept),
        new: count(|r| &r.new),
        lost: count(|r| &r.lost),
        gone: count(|r| &r.gone),
        liked: liked.len(),
        mrr_then: mean(liked.iter().map(|j| reciprocal(Some(j.then)))),
        mrr_now: mean(liked.iter().map(|j| reciprocal(j.now))),
        wrong: wrong.len(),
        wrong_in_5_then: mean(wrong.iter().map(|j| is_first(Some(j.then)))),
        wrong_in_5_now: mean(wrong.iter().map(|j| is_first(j.now))),
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(feedback: Feedback, then: u32, now: Option<u32>, gone: bool) -> JudgedChunk {
        let chunk = format!("a#{then}");
        JudgedChunk {
            chunk,
            feedback,
            then,
            now,
            gone,
        }
    }

    #[test]
    fn metrics_average_judged_chunks_that_are_still_stored() {
        let replayed = ReplayedAnswer {
            judged: vec![
                judged(Feedback::Used, 2, Some(1), false),
                judged(Feedback::Helpful, 4, None, false),
                judged(Feedback::Helpful, 1, None, true),
                judged(Feedback::Wrong, 1, Some(6), false),
                judged(Feedback::Wrong, 7, Some(5), false),
                judged(Feedback::Wrong, 3, None, false),
            ],
            ..ReplayedAnswer::default()
        };
        let figures = replay_metrics(&[replayed]);
        assert_eq!((figures.liked, figures.wrong), (2, 3));
        assert_eq!(
            (figures.mrr_then, figures.mrr_now),
            (Some(0.375), Some(0.5))
        );
        assert_eq!(figures.wrong_in_5_then, Some(2.0 / 3.0));
        assert_eq!(figures.wrong_in_5_now, Some(1.0 / 3.0));
        assert_eq!(super::replay_metrics(&[]), ReplayMetrics::default());
    }

    #[test]
    fn retrieval_method_is_hybrid_when_several_arms_match() {
        let cases = [
            ([true, false, false], RetrievalMethod::Keyword),
            ([false, true, false], RetrievalMethod::Semantic),
            ([false, false, true], RetrievalMethod::Graph),
            ([true, false, true], RetrievalMethod::Hybrid),
        ];
        for ([by_text, by_vector, by_graph], method) in cases {
            let record = RetrievedRecord {
                by_text,
                by_vector,
                by_graph,
                ..RetrievedRecord::default()
            };
            assert_eq!(RetrievedHit::new((1, record)).method, method);
        }
    }
}
