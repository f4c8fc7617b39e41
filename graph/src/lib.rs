//! Concepts, relations and walks over them.
//!
//! A concept is one normalised name. A segment stores which of its chunks mention which concepts, and
//! which chunks are evidence for which relation. This crate builds and reads those sections, merges the
//! contributions of documents into records, and walks the graph that all segments of a snapshot form.
//! It is pure: builders return bytes, readers borrow bytes, nothing here opens a file.
//!
//! | folder | module | contents |
//! | --- | --- | --- |
//! | `linking` | [`normalise`](mod@normalise) | the form in which names are compared; the words of a text with their positions |
//! | | [`names`] | the dictionary section: normalised name → concept |
//! | | [`link`](mod@link) | the concepts that a text names, by the longest match |
//! | | [`types`] | many types of concepts consolidated to few |
//! | `evidence` | [`mentions`] | the section concept → chunks and chunk → concepts |
//! | | [`relations`] | the section of edges with type, weight and evidence |
//! | | [`citations`] | the section of chunks that cite works, in both directions |
//! | | [`merge`] | contributions of documents merged into the record of a concept or relation |
//! | `analysis` | [`pagerank`](mod@pagerank) | PageRank, and its section |
//! | | [`adjacency`](mod@adjacency) | the section of neighbours, ordered by rank |
//! | | `stored_links` | the section of the links that walks follow |
//! | | [`leiden`](mod@leiden) | communities of concepts |
//! | | [`communities`] | the section that stores them |
//! | | [`betweenness`](mod@betweenness) | how many shortest paths pass a concept, from a sample |
//! | | [`snapshot`] | the readers of all segments as one graph, without what is dead |
//! | `walks` | [`hops`] | traversal of a few hops from several seeds, and the chunks of the concepts reached |
//! | | [`links`](mod@links) | the links between concepts and chunks with their probabilities |
//! | | [`random_walk`](mod@random_walk) | random walk with restart over these links and over relations |
//! | | [`paths`] | the shortest path between two concepts |
//! | | [`prerequisites`](mod@prerequisites) | what to learn first, and cycles among it |
//!
//! Invariants:
//! - answers over a snapshot do not depend on how its documents are spread over segments;
//! - a mention in a dead chunk is invisible, and so is an edge whose evidence is all dead;
//! - bytes are checked when a reader opens them and read with bounds afterwards: hostile bytes give a
//!   [`GraphError`] or a wrong answer, never a panic.
//!
//! Start reading at [`snapshot::GraphSnapshot`].

mod analysis;
mod error;
mod evidence;
mod linking;
pub mod snapshot;
#[cfg(test)]
mod test_corpus;
mod u32_slice;
mod walks;

pub use analysis::{adjacency, betweenness, communities, leiden, pagerank};
pub use evidence::{citations, mentions, merge, relations};
pub use linking::{link, names, normalise, types};
pub use walks::{hops, links, paths, prerequisites, random_walk};

pub use adjacency::{Adjacency, adjacency};
pub use analysis::stored_links::StoredLinks;
pub use betweenness::betweenness;
pub use citations::{CitationEdge, CitationsBuilder, CitationsReader, CitationsSnapshot};
pub use communities::CommunitiesReader;
pub use error::GraphError;
pub use hops::{
    ConceptHit, HopOptions, ReachedConcept, Traversal, chunks_mentioning, two_hop, two_hop_filtered,
};
pub use leiden::{Communities, LeidenOptions, leiden};
pub use link::{EntityLink, MatchKind, link};
pub use links::links;
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
