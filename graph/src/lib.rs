//! Concepts, relations and walks over them.
//!
//! A concept is one normalised name; a segment knows which of its chunks mention which concepts and
//! which chunks are evidence for which relation. This crate builds and reads those sections, merges
//! what documents say of a concept, and walks the graph that all segments of a view form together.
//! It is pure: builders make bytes, readers borrow bytes, nothing here opens a file.
//!
//! | module | what |
//! | --- | --- |
//! | [`normalise`](mod@normalise) | a name as the store compares it; words with their places in a text |
//! | [`merge`] | contributions of documents folded into the record of a concept or relation |
//! | [`names`] | the dictionary section: normalised name → concept |
//! | [`link`](mod@link) | the concepts that a text names, by the longest match |
//! | [`mentions`] | the section concept → chunks and chunk → concepts |
//! | [`relations`] | the section of edges with kind, weight and evidence |
//! | [`pagerank`](mod@pagerank) | PageRank, and the section that holds it |
//! | [`adjacency`](mod@adjacency) | the neighbours of concepts by rank, as one section |
//! | [`links`](mod@links) | the steps of walks with restart and their chances, as one section |
//! | [`leiden`](mod@leiden) | communities of concepts |
//! | [`communities`] | the section that keeps them |
//! | [`citations`] | the section of chunks that cite works, in both directions |
//! | [`types`] | few types of concepts of many |
//! | [`view`] | the readers of all segments as one graph, without what is dead |
//! | [`hops`] | traversal of a few hops from several seeds, and the chunks of what it reached |
//! | [`restart`] | random walk with restart over links of concepts and chunks, and over relations |
//! | [`paths`] | the shortest way between two concepts |
//! | [`betweenness`](mod@betweenness) | how many shortest ways lead over a concept, from a sample |
//! | [`prerequisites`](mod@prerequisites) | what to learn first, with the cycles among it |
//!
//! Invariants:
//! - what a view answers does not depend on how its documents fell into segments;
//! - a mention in a dead chunk is invisible, and so is an edge whose evidence is all dead;
//! - bytes are checked when a reader opens them and read with bounds afterwards: hostile bytes give a
//!   [`GraphError`] or a wrong answer, never a panic.
//!
//! Start reading at [`view::GraphView`].

pub mod adjacency;
pub mod betweenness;
pub mod citations;
pub mod communities;
mod error;
pub mod hops;
pub mod leiden;
pub mod link;
pub mod links;
pub mod mentions;
pub mod merge;
pub mod names;
mod network;
pub mod normalise;
pub mod pagerank;
pub mod paths;
pub mod prerequisites;
pub mod random_walk;
pub mod relations;
pub mod snapshot;
#[cfg(test)]
mod test_corpus;
pub mod types;
mod u32_slice;

pub use adjacency::{Adjacency, adjacency};
pub use betweenness::betweenness;
pub use citations::{CitationEdge, CitationsBuilder, CitationsReader, CitationsSnapshot};
pub use communities::CommunitiesReader;
pub use error::GraphError;
pub use hops::{
    ConceptHit, HopOptions, ReachedConcept, Traversal, chunks_mentioning, two_hop, two_hop_filtered,
};
pub use leiden::{Communities, LeidenOptions, leiden};
pub use link::{EntityLink, MatchKind, link};
pub use links::{StoredLinks, links};
pub use mentions::{MentionsBuilder, MentionsReader};
pub use merge::WithdrawOutcome;
pub use names::{NamesBuilder, NamesReader};
pub use normalise::normalise;
pub use pagerank::{PageRankOptions, Ranks, RanksBuilder, pagerank};
pub use paths::{ConceptPath, PathOutcome, shortest_path};
pub use prerequisites::{PREREQUISITE_FOR, Prerequisites, prerequisites};
pub use random_walk::{RandomWalkOptions, RandomWalkResult, WalkBound, random_walk};
pub use relations::{Edge, Evidence, Relation, RelationsBuilder, RelationsReader};
pub use snapshot::{Direction, EdgeFilter, GraphReader, GraphSnapshot, SnapshotEdge};
