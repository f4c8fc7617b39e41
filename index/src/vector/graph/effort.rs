//! How far a search goes, and what recall that gives: a table measured when a graph is built.
//!
//! The questions of the sample lie between vectors of the graph, as those of users do: a vector moved
//! towards another by as much as makes it a stranger. A question that is itself a vector of the graph
//! would be found by any walk, and promise too much.

use std::time::{Duration, Instant};

use super::super::chance::mixed;
use super::super::codes::Query;
use super::super::{Metric, VectorError};
use super::EFFORTS_AT;
use super::beam::{Reach, Walk};
use super::read::GraphReader;
use crate::bytes::u32_at;

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// Keeps this many candidates (efSearch); at least `k` are kept.
    Ef(usize),
    /// As many candidates as gave this mean recall@10 when the graph was measured; the most that
    /// was measured where none did.
    Recall(f32),
    /// As far as walks come in this time, over all segments; it is checked every few steps. Scans (of
    /// small segments, under narrow filters) are not cut short, and fewer than `k` hits may be found.
    Within(Duration),
}

impl Effort {
    /// When a search that begins now must end.
    pub(in super::super) fn deadline(self) -> Option<Instant> {
        match self {
            Effort::Within(time) => Instant::now().checked_add(time),
            Effort::Ef(_) | Effort::Recall(_) => None,
        }
    }
}

impl Default for Effort {
    fn default() -> Self {
        Effort::Ef(64)
    }
}

/// What is measured.
const EFS: [u32; 12] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// Candidates of a search that has a time instead.
const EF_WITHIN: usize = 1024;

/// Questions of the sample.
const SAMPLE_LEN: usize = 128;
/// Distances that may be measured to know the right answers: fewer questions for large graphs.
const SAMPLE_WORK_MAX: usize = 16 << 20;
const K: usize = 10;
/// How far a question of the sample is moved towards a stranger.
const STRANGENESS: f32 = 0.35;

/// ef and the recall it gave, ascending by ef.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Efforts([(u32, f32); EFS.len()]);

impl Efforts {
    pub(super) fn read(bytes: &[u8]) -> Efforts {
        Efforts(std::array::from_fn(|i| {
            let number = |at| u32_at(bytes, at).unwrap_or_default();
            let ef = number(8 * i).clamp(1, EF_WITHIN as u32);
            (ef, f32::from_bits(number(8 * i + 4)))
        }))
    }

    /// How far a walk of `effort` goes, for `k` hits; `deadline` is that of an effort in time.
    pub(in super::super) fn reach(
        &self,
        effort: Effort,
        k: usize,
        deadline: Option<Instant>,
    ) -> Reach {
        let ef = match effort {
            Effort::Ef(ef) => ef,
            Effort::Recall(recall) => self.ef_for(recall),
            Effort::Within(_) => EF_WITHIN,
        };
        Reach {
            ef: ef.max(k).max(1),
            deadline,
        }
    }

    /// The least ef that reached `recall`.
    fn ef_for(&self, recall: f32) -> usize {
        let enough = self.0.iter().find(|&&(_, measured)| measured >= recall);
        enough.or(self.0.last()).map_or(0, |&(ef, _)| ef as usize)
    }

    /// The rows: ef, and the recall@10 that it gave.
    pub(in super::super) fn rows(&self) -> &[(u32, f32)] {
        &self.0
    }
}

/// `section` with its table of efforts, measured over `vectors` `[count, dim]`.
pub(in super::super) fn measured(
    mut section: Vec<u8>,
    vectors: &[f32],
    seed: u64,
) -> Result<Vec<u8>, VectorError> {
    let reader = GraphReader::new(&section[..])?;
    let (dim, metric) = (reader.dim(), reader.metric());
    let count = vectors.len() / dim;
    let questions = (SAMPLE_WORK_MAX / count).clamp(16, SAMPLE_LEN);
    let mut found = [0u32; EFS.len()];
    let mut asked = 0;
    let (mut query, mut walk) = (Query::default(), Walk::default());
    for n in 0..questions {
        let Some(question) = question(vectors, dim, metric, mixed(seed ^ n as u64)) else {
            continue;
        };
        let right = nearest(vectors, metric, &question, 0..count as u32);
        asked += right.len() as u32;
        reader.set(&question, &mut query);
        for (found, ef) in found.iter_mut().zip(EFS) {
            reader.walk(&query, Reach::full(ef as usize), None, &[], &mut walk)?;
            let again = reader.codes().ranked_again(K, ef as usize);
            let nodes = walk.pool.iter().take(again).map(|near| near.node());
            let got = nearest(vectors, metric, &question, nodes);
            *found += got.iter().filter(|node| right.contains(node)).count() as u32;
        }
    }
    for (i, (ef, found)) in EFS.into_iter().zip(found).enumerate() {
        let recall = found as f32 / asked.max(1) as f32;
        let at = EFFORTS_AT + 8 * i;
        section[at..at + 4].copy_from_slice(&ef.to_le_bytes());
        section[at + 4..at + 8].copy_from_slice(&recall.to_le_bytes());
    }
    Ok(section)
}

/// A vector moved towards another; `None` where they cancel out.
fn question(vectors: &[f32], dim: usize, metric: Metric, chance: u64) -> Option<Vec<f32>> {
    let count = vectors.len() / dim;
    let row = |chance: u64| {
        let at = chance as usize % count * dim;
        &vectors[at..at + dim]
    };
    let (own, other) = (row(chance), row(mixed(chance)));
    let between = own.iter().zip(other);
    let moved: Vec<f32> = between
        .map(|(a, b)| (1.0 - STRANGENESS) * a + STRANGENESS * b)
        .collect();
    metric.prepare(&moved, dim).ok()
}

/// The [`K`] of `nodes` that are nearest.
fn nearest(
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
