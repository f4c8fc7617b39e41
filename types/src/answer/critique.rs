//! How well hits cover a question: a score, and what is missing.

use serde::{Deserialize, Serialize};

/// The least score of [`Verdict::Sufficient`], and of [`Verdict::Partial`].
pub const SUFFICIENT_MIN: f32 = 0.75;
/// See [`SUFFICIENT_MIN`].
pub const PARTIAL_MIN: f32 = 0.4;

/// How well hits cover a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Critique {
    /// 0..=1: half for what all hits together mention of the question, by weight, half for what the one that
    /// mentions most does.
    pub score: f32,
    /// What the score means.
    pub verdict: Verdict,
    /// Words and concepts of the question, in its order, words first.
    pub parts: Vec<Part>,
    /// Those that no hit mentions.
    pub missing: Vec<String>,
}

/// Whether hits are enough to answer from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A score of 0.75 and more: nearly all is mentioned, and much of it in one place.
    Sufficient,
    /// 0.4 and more: some is missing, or no hit has most of it.
    Partial,
    /// Less: the store has hardly anything about it.
    #[default]
    Insufficient,
}

impl Verdict {
    /// The verdict of a score.
    pub fn of(score: f32) -> Verdict {
        if score >= SUFFICIENT_MIN {
            Verdict::Sufficient
        } else if score >= PARTIAL_MIN {
            Verdict::Partial
        } else {
            Verdict::Insufficient
        }
    }

    /// The name that JSON uses.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Sufficient => "sufficient",
            Verdict::Partial => "partial",
            Verdict::Insufficient => "insufficient",
        }
    }
}

/// A word or concept of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// As it is written.
    pub name: String,
    /// Which of the two it is.
    pub kind: PartKind,
    /// Its share of all parts, 0..=1.
    pub weight: f32,
    /// Ranks of the hits that mention it, from 1.
    pub hits: Vec<u32>,
}

/// What a part of a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// A word of it.
    Word,
    /// A concept that it names.
    Concept,
}
