//! The options of a request that are chosen by name or have parts of their own.

use serde::{Deserialize, Serialize};

use crate::ids::ConceptId;

/// An option of a request has no such name or value. The message lists the names or values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionError(pub String);

/// Which arms answer, and in how many stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// The one of the others that suits the question and the store; the answer has which, and why.
    #[default]
    Auto,
    /// All arms that the store has, fused.
    Hybrid,
    /// Documents by their summaries, then sections within these, then propositions within those.
    Staged,
    /// The digests of communities, for questions about the whole store.
    Global,
    /// Text alone: BM25.
    Text,
    /// Vectors alone.
    Vector,
    /// The concept graph alone: a walk from the concepts of the question.
    Graph,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 7] = [
        Strategy::Auto,
        Strategy::Hybrid,
        Strategy::Staged,
        Strategy::Global,
        Strategy::Text,
        Strategy::Vector,
        Strategy::Graph,
    ];

    /// The name that JSON and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Hybrid => "hybrid",
            Strategy::Staged => "staged",
            Strategy::Global => "global",
            Strategy::Text => "text",
            Strategy::Vector => "vector",
            Strategy::Graph => "graph",
        }
    }

    /// Whether the question's vector can be of use.
    pub const fn uses_vectors(self) -> bool {
        !matches!(self, Strategy::Text)
    }

    /// The strategy with this name.
    pub fn from_name(name: &str) -> Option<Strategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
    }
}

/// Where the graph arm starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seeds {
    /// Whether it starts at the concepts of the question: those that it names, and those whose vectors
    /// are near to it.
    pub question: bool,
    /// It starts at these, too.
    pub concepts: Vec<ConceptId>,
    /// It starts at the concepts of so many of the best chunks by text and vectors, too.
    pub hits: usize,
}

impl Default for Seeds {
    /// The question's concepts alone.
    fn default() -> Seeds {
        Seeds {
            question: true,
            concepts: Vec::new(),
            hits: 0,
        }
    }
}

/// How graph search gets from its seeds to chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Walk {
    /// A walk with restart over the links of concepts and chunks; then, where it finds fewer chunks than
    /// wanted, as [`Walk::Hops`].
    #[default]
    Restart,
    /// Concepts within some hops by distance, then PageRank; then their chunks.
    Hops,
}

/// What the chunks of an answer are returned with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Climb {
    /// As each document states: its parent, or the whole document.
    #[default]
    Document,
    /// The parent.
    Parent,
    /// The whole document, within the budget.
    FullDoc,
    /// Nothing.
    None,
}

/// Adjustments of scores after fusion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rerank {
    /// Whether a question with an intent gets half of its hits from the chunk type that answers it and
    /// half from the one that supports it, as far as enough good hits of these types exist.
    pub types: bool,
    /// Weight of the doubt in a chunk, 0..=1: its score is multiplied by
    /// `1 - weight · (1 - confidence)`.
    pub confidence: f32,
    /// Weight of the citations in a chunk, 0..=1: its score is multiplied by
    /// `1 + weight · density`, the citations it makes for every 50 tokens, 1 at most.
    pub citations: f32,
    /// Weight of being cited, 0..=1: the score is multiplied by `1 + weight · renown`, which grows with the logarithm
    /// of the number of documents that cite the chunk's document, 1 from 99 on. Costs a read for each document among the
    /// candidates, and one for each citation of it.
    pub cited: f32,
}

impl Default for Rerank {
    /// By type, a third of the score for doubt, no weight for citations made or received.
    fn default() -> Rerank {
        Rerank {
            types: true,
            confidence: 0.33,
            citations: 0.0,
            cited: 0.0,
        }
    }
}

impl Rerank {
    /// No adjustments.
    pub const NONE: Rerank = Rerank {
        types: false,
        confidence: 0.0,
        citations: 0.0,
        cited: 0.0,
    };
}
