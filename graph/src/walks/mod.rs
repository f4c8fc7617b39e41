//! Walks over the graph of a snapshot.

pub mod hops;
pub mod links;
pub mod paths;
pub mod prerequisites;
pub mod random_walk;
