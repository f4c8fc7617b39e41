//! Walks over the graph that all segments of a snapshot form.
//!
//! | to | read |
//! | --- | --- |
//! | rank chunks by a random walk with restart | [`random_walk`] |
//! | find the concepts within a few relations | [`hops`] |
//! | find the shortest path between two concepts | [`paths`] |
//! | order what to learn first | [`prerequisites`] |
//! | list the links that a walk follows | [`links`] |
//!
//! Always true: a walk ignores mentions in dead chunks, and relations whose evidence is all dead.

pub mod hops;
pub mod links;
pub mod paths;
pub mod prerequisites;
pub mod random_walk;
