//! Results that are computed over the whole concept graph, and the sections that store them.
//!
//! | result | module |
//! | --- | --- |
//! | PageRank | [`pagerank`] |
//! | neighbours of each concept, ordered by rank | [`adjacency`] |
//! | communities, and the section that stores them | [`leiden`], [`communities`] |
//! | betweenness, from a sample of shortest paths | [`betweenness`] |
//! | links of random walks with their probabilities | [`stored_links`] |
//!
//! Start reading at [`pagerank::pagerank`].

pub mod adjacency;
pub mod betweenness;
pub mod communities;
pub mod leiden;
mod network;
pub mod pagerank;
pub(crate) mod segment_list;
pub(crate) mod stored_links;
