//! How far a search goes, and what recall that gives: a table measured when a graph is built.
//!
//! A walk of a given ef ends when the next candidate is farther than a slack times the hits it has, and
//! the slack is the one with which walks of the sample follow the links of ef nodes on average. So easy
//! questions leave their time to hard ones: at an equal mean, recall is higher than with a list of a
//! fixed length.
//!
//! The questions of the sample lie between vectors of the graph, as those of users do: a vector moved
//! towards another by as much as makes it a stranger. A question that is itself a vector of the graph
//! would be found by any walk, and promise too much.

use std::num::NonZeroUsize;
use std::time::Instant;

use loci_types::search::Effort;
use rayon::prelude::*;

use super::super::codes::Query;
use super::super::{Metric, VectorError};
use super::beam::{EarlyStop, WalkLimits, WalkState};
use super::read::{GraphReader, NodeFilter};
use super::{EFFORTS_OFFSET, ERROR_OFFSET};
use crate::bytes::u32_at;
use crate::random::splitmix64;

/// When a search that begins now must end.
pub(in super::super) fn deadline(effort: Effort) -> Option<Instant> {
    match effort {
        Effort::Within(time) => Instant::now().checked_add(time),
        Effort::Ef(_) | Effort::Recall(_) => None,
    }
}

/// What is measured.
const EFS: [u32; 12] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Candidates of a search that has a time instead.
const EF_WITH_DEADLINE: usize = 512;
/// Candidates that a table speaks of at most.
const EF_MAX: u32 = 1024;
/// Candidates of a walk as it usually is, by which the way of one with a deadline is planned.
const EF_TYPICAL: usize = 64;
/// A question that is hard may take so many times as long as the average.
const EF_FACTOR_MAX: usize = 2;

/// Questions of the sample, and those of them by which slacks are chosen.
const SAMPLE_LEN: usize = 128;
const SLACK_SAMPLE_LEN: usize = 24;
/// Distances that are measured to know the right answers: fewer questions for large graphs, but as many as
/// mean something.
const SAMPLE_WORK: usize = 16 << 20;
const SAMPLE_LEN_MIN: usize = 64;
const K: usize = 10;
/// How far a question of the sample is moved towards a stranger.
const SAMPLE_QUERY_MIX: f32 = 0.35;

/// Standard deviations of codes' errors that are allowed for: all but a few of a normal
/// distribution, of which many would be missed near the end of a hard question's hits.
const ERROR_DEVIATIONS: f64 = 4.0;

/// Slacks that are tried, less 1; each try halves the ratio of the bounds' logarithms.
const SLACK_RANGE: std::ops::RangeInclusive<f32> = 1e-3..=8.0;
const SLACK_TRIES: usize = 8;

/// Share of ef above which walks follow too many.
const EXPANSION_TOLERANCE: f32 = 1.25;

/// What was measured with one ef.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EffortRow {
    ef: u32,
    /// That of [`EarlyStop`], with which walks follow the links of `ef` nodes on average; infinite where the
    /// least is too much, and a list of `ef` ends the walk.
    slack: f32,
    /// recall@10.
    recall: f32,
}

const ROW_LEN: usize = 12;

/// The table, ascending by ef.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct EffortTable([EffortRow; EFS.len()]);

impl EffortTable {
    pub(super) fn read(bytes: &[u8]) -> EffortTable {
        EffortTable(std::array::from_fn(|i| {
            let number = |at| u32_at(bytes, ROW_LEN * i + at).unwrap_or_default();
            let slack = f32::from_bits(number(4));
            EffortRow {
                ef: number(0).clamp(1, EF_MAX),
                slack: if slack >= 1.0 { slack } else { f32::INFINITY },
                recall: f32::from_bits(number(8)),
            }
        }))
    }

    /// The candidates that `effort` asks for.
    pub(in super::super) fn ef(&self, effort: Effort) -> usize {
        match effort {
            Effort::Ef(ef) => ef,
            Effort::Recall(recall) => self.ef_for(recall),
            Effort::Within(_) => EF_TYPICAL,
        }
    }

    /// How far a walk goes that follows the links of `ef` candidates on average, for `k` hits;
    /// as far as it comes until `deadline`, if there is one.
    pub(in super::super) fn walk_limits(
        &self,
        ef: usize,
        k: usize,
        deadline: Option<Instant>,
    ) -> WalkLimits {
        let hits = k.max(K);
        if deadline.is_some() {
            let ef = EF_WITH_DEADLINE.max(ef).max(k);
            let slack = self.slack(ef as f32 * K as f32 / hits as f32);
            return WalkLimits {
                deadline,
                ..walk_limits_for(ef, hits, slack)
            };
        }
        // What was measured for ten hits holds for as many candidates a hit.
        walk_limits_for(
            ef.max(k).max(1),
            hits,
            self.slack(ef as f32 * K as f32 / hits as f32),
        )
    }

    /// Between the two rows around `ef` in proportion, and beyond the last as between the last two.
    fn slack(&self, ef: f32) -> f32 {
        let above = self.0.iter().position(|row| row.ef as f32 >= ef);
        let above = above.unwrap_or(EFS.len() - 1).max(1);
        let (low, high) = (&self.0[above - 1], &self.0[above]);
        let (from, to) = (low.ef as f32, high.ef as f32);
        if to <= from || ef <= from {
            return low.slack;
        }
        if ef == to {
            return high.slack;
        }
        let slack = low.slack + (high.slack - low.slack) * (ef - from) / (to - from);
        if slack >= 1.0 { slack } else { f32::INFINITY }
    }

    /// The least ef that reaches `recall`, between rows in proportion.
    fn ef_for(&self, recall: f32) -> usize {
        let enough = self.0.iter().position(|row| row.recall >= recall);
        let above = enough.unwrap_or(EFS.len() - 1);
        let (low, high) = (self.0[above.saturating_sub(1)], self.0[above]);
        let gained = high.recall - low.recall;
        if enough.is_none() || gained.is_nan() || gained <= 0.0 {
            return high.ef as usize;
        }
        let part = ((recall - low.recall) / gained).clamp(0.0, 1.0);
        (low.ef as f32 + part * high.ef.saturating_sub(low.ef) as f32).ceil() as usize
    }

    /// The rows: ef, and the recall@10 that it gave.
    pub(in super::super) fn rows(&self) -> impl Iterator<Item = (u32, f32)> {
        self.0.iter().map(|row| (row.ef, row.recall))
    }
}

/// `section` with its table of efforts and the error of its codes, measured over `vectors` `[count, dim]`.
///
/// # Errors
/// [`VectorError::Stopped`] when `go_on` stops it.
pub(in super::super) fn with_measured_efforts(
    mut section: Vec<u8>,
    vectors: &[f32],
    seed: u64,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<u8>, VectorError> {
    let reader = GraphReader::new(&section[..])?;
    let questions = sample_queries(&reader, vectors, seed, should_continue)?;
    let error = QuerySample::new(&reader, vectors, &questions).error()?;
    section[ERROR_OFFSET..ERROR_OFFSET + 4].copy_from_slice(&error.to_le_bytes());
    // Walks heed the error: the table is measured with walks as they will be.
    let reader = GraphReader::new(&section[..])?;
    let rows = QuerySample::new(&reader, vectors, &questions).rows(should_continue)?;
    for (i, row) in rows.into_iter().enumerate() {
        let numbers = [row.ef, row.slack.to_bits(), row.recall.to_bits()];
        let at = EFFORTS_OFFSET + ROW_LEN * i;
        let bytes = numbers.into_iter().flat_map(u32::to_le_bytes);
        for (to, from) in section[at..at + ROW_LEN].iter_mut().zip(bytes) {
            *to = from;
        }
    }
    Ok(section)
}

/// A walk for `hits` hits that follows the links of `ef` candidates, of [`EF_FACTOR_MAX`] times as many at most.
fn walk_limits_for(ef: usize, hits: usize, slack: f32) -> WalkLimits {
    let stop = NonZeroUsize::new(hits).filter(|_| slack < f32::INFINITY);
    let factor = if stop.is_some() { EF_FACTOR_MAX } else { 1 };
    WalkLimits {
        ef: ef.saturating_mul(factor),
        stop: stop.map(|hits| EarlyStop { hits, slack }),
        deadline: None,
    }
}

/// A question and the nodes that are nearest to it.
pub(super) type SampleQuery = (Vec<f32>, Vec<u32>);

pub(super) fn sample_queries<B: AsRef<[u8]>>(
    reader: &GraphReader<B>,
    vectors: &[f32],
    seed: u64,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<SampleQuery>, VectorError> {
    let (dim, metric) = (reader.dim(), reader.metric());
    let count = vectors.len() / dim;
    let query_count = (SAMPLE_WORK / count).clamp(SAMPLE_LEN_MIN, SAMPLE_LEN) as u64;
    let numbers: Vec<u64> = (0..query_count).collect();
    let mut questions = Vec::with_capacity(numbers.len());
    for some in numbers.chunks(SAMPLE_LEN_MIN / 4) {
        if !should_continue() {
            return Err(VectorError::Stopped);
        }
        let answered = some.par_iter().filter_map(|&n| {
            let question = sample_query(vectors, dim, metric, splitmix64(seed ^ n))?;
            let right = exact_nearest(vectors, metric, &question, 0..count as u32);
            Some((question, right))
        });
        questions.par_extend(answered);
    }
    Ok(questions)
}

/// Questions to a graph.
struct QuerySample<'a> {
    reader: &'a GraphReader<&'a [u8]>,
    vectors: &'a [f32],
    questions: &'a [SampleQuery],
}

/// Memory to ask them, for one thread.
#[derive(Default)]
struct QueryScratch {
    query: Query,
    walk: WalkState,
}

impl<'a> QuerySample<'a> {
    fn new(
        reader: &'a GraphReader<&'a [u8]>,
        vectors: &'a [f32],
        questions: &'a [SampleQuery],
    ) -> QuerySample<'a> {
        QuerySample {
            reader,
            vectors,
            questions,
        }
    }

    fn rows(&self, should_continue: &dyn Fn() -> bool) -> Result<Vec<EffortRow>, VectorError> {
        let mut rows = Vec::with_capacity(EFS.len());
        let mut least = *SLACK_RANGE.start();
        for ef in EFS {
            if !should_continue() {
                return Err(VectorError::Stopped);
            }
            let slack = self.slack(ef, least)?;
            if slack < f32::INFINITY {
                least = slack - 1.0;
            }
            let recall = self.recall(walk_limits_for(ef as usize, K, slack))?;
            rows.push(EffortRow { ef, slack, recall });
        }
        Ok(rows)
    }

    /// The slack, more than 1 by at least `least`, with which walks follow the links of `ef` nodes on
    /// average; infinite where the least makes them follow clearly more.
    fn slack(&self, ef: u32, least: f32) -> Result<f32, VectorError> {
        let (mut low, mut high) = (least, *SLACK_RANGE.end());
        let follow = |more: f32| self.mean_expanded(walk_limits_for(ef as usize, K, 1.0 + more));
        if follow(low)? > EXPANSION_TOLERANCE * ef as f32 {
            return Ok(f32::INFINITY);
        }
        for _ in 0..SLACK_TRIES {
            let middle = (low * high).sqrt();
            if follow(middle)? < ef as f32 {
                low = middle
            } else {
                high = middle
            }
        }
        Ok(1.0 + high)
    }

    /// How many nodes' links walks follow on average.
    fn mean_expanded(&self, reach: WalkLimits) -> Result<f32, VectorError> {
        let len = self.questions.len().min(SLACK_SAMPLE_LEN);
        let queries = self.questions[..len].par_iter();
        let each = queries.map_init(QueryScratch::default, |asker, (question, _)| {
            self.walk(question, reach, asker)?;
            Ok(asker.walk.expanded_count)
        });
        let expanded = each.try_reduce(|| 0, |a, b| Ok(a + b))?;
        Ok(expanded as f32 / len.max(1) as f32)
    }

    fn walk(
        &self,
        question: &[f32],
        reach: WalkLimits,
        asker: &mut QueryScratch,
    ) -> Result<(), VectorError> {
        self.reader.prepare_query(question, &mut asker.query);
        self.reader
            .walk(&asker.query, reach, NodeFilter::All, &mut asker.walk)
    }

    /// How much farther from a question of length 1 right answers seem by their codes than they are, but
    /// for a few.
    fn error(&self) -> Result<f32, VectorError> {
        let mut asker = QueryScratch::default();
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (question, right) in self.questions {
            self.reader.prepare_query(question, &mut asker.query);
            self.reader
                .scan(&asker.query, right, right.len(), &mut asker.walk)?;
            let distance = ExactDistance::new(self, question);
            for near in &asker.walk.candidates {
                let error = near.distance() - distance.to(near.node());
                let error = f64::from(error / asker.query.length().max(f32::MIN_POSITIVE));
                count += 1.0;
                sum += error;
                squares += error * error;
            }
        }
        let mean: f64 = sum / f64::max(count, 1.0);
        let variance = (squares / f64::max(count, 1.0) - mean * mean).max(0.0);
        let error = mean + ERROR_DEVIATIONS * variance.sqrt();
        Ok(error.clamp(0.0, f64::from(f32::MAX)) as f32)
    }

    /// recall@10 of walks whose best are ranked again.
    fn recall(&self, reach: WalkLimits) -> Result<f32, VectorError> {
        let queries = self.questions.par_iter();
        let each = queries.map_init(QueryScratch::default, |asker, (question, right)| {
            self.walk(question, reach, asker)?;
            let got = self.rescored(question, asker);
            let found = got.iter().filter(|(_, node)| right.contains(node)).count();
            Ok((found, right.len()))
        });
        let (found, expected) = each.try_reduce(|| (0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1)))?;
        Ok(found as f32 / expected.max(1) as f32)
    }

    /// The [`K`] nearest of the pool, with their distances, as a search ranks them.
    fn rescored(&self, question: &[f32], asker: &QueryScratch) -> Vec<(f32, u32)> {
        let distance = ExactDistance::new(self, question);
        let error = self.reader.error(&asker.query);
        let mut best: Vec<(f32, u32)> = Vec::with_capacity(K + 1);
        for near in &asker.walk.candidates {
            let worst = best.get(K - 1).map(|&(distance, _)| distance);
            if worst.is_some_and(|worst| near.distance() > worst + error) {
                break;
            }
            let exact = distance.to(near.node());
            let place = best.partition_point(|&(distance, _)| distance <= exact);
            best.insert(place, (exact, near.node()));
            best.truncate(K);
        }
        best
    }
}

/// Distances to a question, as codes have them, at full precision.
struct ExactDistance<'a> {
    vectors: &'a [f32],
    metric: Metric,
    question: &'a [f32],
    /// What the metric counts and codes do not.
    constant: f32,
}

impl<'a> ExactDistance<'a> {
    fn new(sample: &QuerySample<'a>, question: &'a [f32]) -> ExactDistance<'a> {
        let metric = sample.reader.metric();
        ExactDistance {
            vectors: sample.vectors,
            metric,
            question,
            constant: match metric {
                Metric::Cosine | Metric::Dot => 0.0,
                Metric::L2 => question.iter().map(|x| x * x).sum(),
            },
        }
    }

    fn to(&self, node: u32) -> f32 {
        let dim = self.question.len();
        let at = node as usize * dim;
        let score = self
            .metric
            .score(self.question, &self.vectors[at..at + dim]);
        -score - self.constant
    }
}

/// A vector moved towards another; `None` where they cancel out.
fn sample_query(vectors: &[f32], dim: usize, metric: Metric, random: u64) -> Option<Vec<f32>> {
    let count = vectors.len() / dim;
    let row = |random: u64| {
        let at = random as usize % count * dim;
        &vectors[at..at + dim]
    };
    let (own, other) = (row(random), row(splitmix64(random)));
    let between = own.iter().zip(other);
    let moved: Vec<f32> = between
        .map(|(a, b)| (1.0 - SAMPLE_QUERY_MIX) * a + SAMPLE_QUERY_MIX * b)
        .collect();
    metric.prepare(&moved, dim).ok()
}

/// The [`K`] of `nodes` that are nearest.
fn exact_nearest(
    vectors: &[f32],
    metric: Metric,
    question: &[f32],
    nodes: impl Iterator<Item = u32>,
) -> Vec<u32> {
    let dim = question.len();
    let score = |node: u32| {
        let at = node as usize * dim;
        metric.score(question, &vectors[at..at + dim])
    };
    let mut scored: Vec<(f32, u32)> = nodes.map(|node| (score(node), node)).collect();
    let better = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if scored.len() > K {
        scored.select_nth_unstable_by(K, better);
        scored.truncate(K);
    }
    scored.into_iter().map(|(_, node)| node).collect()
}
