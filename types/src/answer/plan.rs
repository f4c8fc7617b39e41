//! The steps of a search, as an answer shows them and as a plan has them.

use serde::{Deserialize, Serialize};

use crate::records::Level;
use crate::search::{Fusion, Intent, Rerank, Walk};

/// One step of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "operator")]
pub enum Operator {
    /// The vector of the question, by the embedder of the store.
    Embed,
    /// Terms and concepts of the question.
    Analyse {
        /// Whether the question is linked to concepts.
        link: bool,
    },
    /// Restricts the search to the live chunks that the request's filter allows.
    Filter,
    /// Restricts the search to chunks of these levels, until the next of its kind; none: to the leaves of the chunk trees.
    Within {
        /// The levels.
        levels: Vec<Level>,
        /// Whether the filter holds for a chunk when it holds for any in the same document, or section: what
        /// stages search that only lead to the chunks that are found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<Extent>,
        /// Whether documents that have no chunk of these levels are searched whole, beside the others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        others: bool,
    },
    /// The best by words.
    Text {
        /// Hits at most.
        k: usize,
    },
    /// The best by similarity of vectors.
    Vector {
        /// Hits at most.
        k: usize,
    },
    /// Where the question names no concept: those whose vectors are nearest to its own.
    Near {
        /// Concepts at most.
        k: usize,
        /// The least similarity, -1..=1.
        similarity_min: f32,
        /// The nearest chunks whose concepts are compared.
        chunks: usize,
    },
    /// The best by concepts.
    Graph {
        /// Hits at most.
        k: usize,
        /// How it walks.
        walk: Walk,
        /// Whether the question's concepts are where it starts.
        question: bool,
        /// How many of the best chunks so far give it concepts to start from.
        #[serde(rename = "heads")]
        seed_hits: usize,
        /// The share of its start that these have, where the question has concepts too.
        #[serde(rename = "heads_share")]
        seed_hits_weight: f32,
        /// Hops, and concepts that they return.
        hops: usize,
        /// Concepts at most.
        neighbours: usize,
    },
    /// Fusion of the lists.
    Fuse {
        /// How.
        fusion: Fusion,
    },
    /// Restricts the search to the documents, or sections, of the best so far, for the operators that follow.
    Narrow {
        /// To which of the two.
        to: Extent,
        /// How many of them.
        keep: usize,
        /// Whether the next of its kind fills what is left of these.
        more: bool,
    },
    /// The communities whose digests answer best, and the chunks that these quote.
    Communities {
        /// How many.
        keep: usize,
        /// Whether they are the whole answer: all of the coarsest level are considered. Else only those
        /// of the question's concepts, of the finest.
        all: bool,
    },
    /// Moves the fused chunks by type, doubt and citations.
    Rank {
        /// What counts.
        rerank: Rerank,
        /// What the question is after.
        intent: Intent,
        /// Hits that are returned.
        k: usize,
    },
    /// Moves the chunks that have the question word for word before all others.
    Quote,
    /// Chooses hits that are unlike each other.
    Diversify {
        /// How much that counts, 0..=1.
        weight: f32,
        /// Hits that are returned.
        k: usize,
    },
    /// Adds the best so far to the hits.
    Take {
        /// How many at most.
        k: usize,
    },
    /// Reads the rows of the hits, and of their parents, cites.
    Fetch,
    /// Puts the hits together as one text.
    Assemble {
        /// Tokens at most.
        tokens: usize,
    },
}

/// What a stage restricts the search to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Whole documents.
    Document,
    /// Sections: a chunk's nearest ancestor that is one, or the chunk itself.
    Section,
}

impl Extent {
    /// The name that JSON uses.
    pub const fn name(self) -> &'static str {
        match self {
            Extent::Document => "document",
            Extent::Section => "section",
        }
    }
}
