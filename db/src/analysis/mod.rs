//! What is derived from the concept graph as a whole: ranks and communities ([`graph`]), digests of communities
//! ([`digests`]), and few types of concepts in place of many ([`types`]).

pub(crate) mod digest_rows;
pub(crate) mod digests;
pub(crate) mod graph;
pub(crate) mod types;
