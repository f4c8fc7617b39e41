//! Results that are derived from the whole concept graph.
//!
//! | result | module |
//! | --- | --- |
//! | PageRank, neighbours, communities, links of walks | [`graph`] |
//! | digests of communities | [`digests`], [`digest_rows`] |
//! | many types of concepts consolidated to few | [`types`] |
//!
//! Always true: each result can be computed again from rows.
//!
//! Start reading at [`graph::analyse`].

pub(crate) mod digest_rows;
pub(crate) mod digests;
pub(crate) mod graph;
pub(crate) mod types;
