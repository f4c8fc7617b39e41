//! What is computed over the whole graph, and the sections that store it.

pub mod adjacency;
pub mod betweenness;
pub mod communities;
pub mod leiden;
mod network;
pub mod pagerank;
pub(crate) mod segment_list;
pub(crate) mod stored_links;
