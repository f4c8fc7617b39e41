//! How several ranked lists become one: the rules, as plain data.
//!
//! `docs/decisions/0001-fusion.md` has the measurements and the reasons.

use serde::{Deserialize, Serialize};

/// How the lists of three arms become one. Plain data: it is stored and printed as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rule")]
pub enum Fusion {
    /// Shares of normalised scores for text and vector, reciprocal ranks for the graph.
    Mixture(Mixture),
    /// Reciprocal ranks for all three.
    Rrf(RankWeights),
    /// Normalised scores for all three.
    Scores(ScoreWeights),
}

impl Default for Fusion {
    fn default() -> Self {
        Fusion::Mixture(Mixture::default())
    }
}

/// The default rule's numbers.
///
/// A chunk's score is `(1 - v) · text + v · vector + g · (k + 1) / (k + graph rank)`, where `text` and
/// `vector` are its scores from 0 to 1 of the list's best, 0 where the list lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mixture {
    /// `v`, in 0..=1: how much vectors count beside text. Calibration sets it per vector space.
    /// Where one of the two arms finds nothing, the other has the whole.
    pub vector_share: f32,
    /// `g` where the graph is trusted fully, ≥ 0.
    pub graph_weight: f32,
    /// The concentration of a graph list, in 0..=1, from which it is trusted fully; below, its
    /// weight falls in proportion. 0 trusts every list.
    ///
    /// Concentration is the best score as a share of all: a walk from a rare name ends in few
    /// chunks and knows something, one from common words ends everywhere and knows nothing.
    pub graph_trust: f32,
    /// `k`, ≥ 0: larger flattens the head of the graph's list.
    pub graph_k: f32,
    /// The share of a graph list's scores, in 0..=1, that must fall on the 20 best chunks by text and vectors for
    /// the list to be trusted fully; below, its weight falls in proportion. 0 trusts every list, and where text
    /// and vectors found nothing the graph's is trusted.
    pub graph_agreement: f32,
    /// The share of a question, in 0..=1 of the weight of its terms, that the concepts it names must cover for
    /// the graph to be trusted fully: see [`Mixture::covered`].
    pub graph_coverage: f32,
}

impl Mixture {
    /// This rule for a question of which named concepts cover the share `coverage`: the graph weighs less in
    /// proportion where they cover less. A question about something that is not a concept of
    /// the store walks from words that it only mentions by the way.
    pub fn covered(self, coverage: f32) -> Mixture {
        let trusted = if self.graph_coverage > 0.0 {
            (coverage / self.graph_coverage).clamp(0.0, 1.0)
        } else {
            1.0
        };
        Mixture {
            graph_weight: self.graph_weight * trusted,
            ..self
        }
    }
}

impl Default for Mixture {
    /// 70 parts vector to 30 text, ¾ of a share of graph, trusted from a concentration of ½, an agreement of a
    /// fifth and a coverage of ½, `k` 20.
    fn default() -> Self {
        Mixture {
            vector_share: 0.7,
            graph_weight: 0.75,
            graph_trust: 0.5,
            graph_k: 20.0,
            graph_agreement: 0.2,
            graph_coverage: 0.5,
        }
    }
}

/// Weights of reciprocal ranks: a chunk's score is the sum of `weight / (k + rank)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankWeights {
    /// ≥ 1; larger flattens the head.
    pub k: f32,
    /// Weight of the text arm.
    pub text: f32,
    /// Weight of the vector arm.
    pub vector: f32,
    /// Weight of the graph arm.
    pub graph: f32,
}

impl Default for RankWeights {
    /// `k` 60, all arms alike.
    fn default() -> Self {
        RankWeights {
            k: RRF_K,
            text: 1.0,
            vector: 1.0,
            graph: 1.0,
        }
    }
}

/// Weights of normalised scores: a chunk's score is the sum of `weight · score`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreWeights {
    /// Weight of the text arm.
    pub text: f32,
    /// Weight of the vector arm.
    pub vector: f32,
    /// Weight of the graph arm.
    pub graph: f32,
}

/// The `k` of reciprocal ranks.
pub const RRF_K: f32 = 60.0;
