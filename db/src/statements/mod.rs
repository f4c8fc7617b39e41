//! What documents state, one row per document and thing, and the records that are merged from these rows.
//!
//! | rows | module |
//! | --- | --- |
//! | what a document states of concepts and relations | [`contributions`] |
//! | references, citations and claims | [`citations`] |
//!
//! Always true: rows and merged records change in the same commit.
//!
//! Start reading at [`contributions::replace`].

pub(crate) mod citations;
pub(crate) mod contributions;
pub(crate) mod prefix;
