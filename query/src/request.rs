//! What is asked: the question and how to answer it.

pub use loci_index::vector::Effort;
use loci_storage::records::Level;
use serde::{Deserialize, Serialize};

use crate::filter::Expr;
use crate::fuse::Fusion;

/// Which arms answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// All arms that the store has, fused.
    #[default]
    Hybrid,
    /// Text alone: BM25.
    Text,
    /// Vectors alone.
    Vector,
    /// The concept graph alone: a walk from the concepts of the question.
    Graph,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Strategy; 4] = [
        Strategy::Hybrid,
        Strategy::Text,
        Strategy::Vector,
        Strategy::Graph,
    ];

    /// The name that JSON and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Hybrid => "hybrid",
            Strategy::Text => "text",
            Strategy::Vector => "vector",
            Strategy::Graph => "graph",
        }
    }

    /// Whether the vector arm runs.
    pub const fn uses_vectors(self) -> bool {
        matches!(self, Strategy::Hybrid | Strategy::Vector)
    }

    /// The strategy with this name; `auto` is `hybrid`.
    pub fn from_name(name: &str) -> Option<Strategy> {
        match name {
            "auto" => Some(Strategy::Hybrid),
            _ => Self::ALL
                .into_iter()
                .find(|strategy| strategy.name() == name),
        }
    }
}

/// A question with everything that says how to answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// The question, in words.
    pub question: String,
    /// Its vector in the store's active space; `None` leaves the vector arm out.
    pub vector: Option<Vec<f32>>,
    /// How many hits to return at most.
    pub k: usize,
    /// How many hits of a level to return at most. Not empty: only these levels are searched.
    pub level_limits: Vec<(Level, usize)>,
    /// Levels to search; empty for passages: the leaves of the chunk trees.
    pub levels: Vec<Level>,
    /// Which arms answer.
    pub strategy: Strategy,
    /// Which chunks may be hits.
    pub filter: Option<Expr>,
    /// Tokens of the assembled context at most; `None` assembles none.
    pub context_tokens: Option<usize>,
    /// How the arms become one list; `None`: by the store's calibrated share.
    pub fusion: Option<Fusion>,
    /// Concepts recognised in the question at most.
    pub query_concepts: usize,
    /// Hops of a walk from them, 1 to 3.
    pub hops: usize,
    /// Concepts that the walk returns at most.
    pub neighbours: usize,
    /// Whether the question is written in the language of [`TextQuery`](loci_index::text::TextQuery), for
    /// [`Strategy::Text`]; else, and for other strategies, all signs in it are text.
    pub syntax: bool,
    /// Whether hits say which of their characters the question asked for.
    pub highlights: bool,
    /// How far the search for near vectors goes in large segments.
    pub effort: Effort,
    /// Whether the answer says what each operator did.
    pub explain: bool,
}

impl SearchRequest {
    /// The ten best passages for `question`, by all arms.
    pub fn new(question: impl Into<String>) -> SearchRequest {
        SearchRequest {
            question: question.into(),
            vector: None,
            k: 10,
            level_limits: Vec::new(),
            levels: Vec::new(),
            strategy: Strategy::Hybrid,
            filter: None,
            context_tokens: None,
            fusion: None,
            query_concepts: 10,
            hops: 2,
            neighbours: 20,
            syntax: false,
            highlights: false,
            effort: Effort::default(),
            explain: false,
        }
    }
}
