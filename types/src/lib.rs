//! The plain data that engine, protocol, client and bindings share. Depends on no other crate of the workspace, and
//! opens, reads and searches nothing.
//!
//! | module | what |
//! | --- | --- |
//! | [`ids`] | the number spaces |
//! | [`keys`] | the public keys of documents and chunks |
//! | [`records`] | contents of rows |
//! | [`document`] | a document to store |
//! | [`search`] | the request of a search: the question and its options |
//! | [`filter`] | the filter language: parsed and printed |
//! | [`answer`] | the answer to a search |
//! | [`settings`] | the settings of a store |
//! | [`text`] | rules of text that all crates share |
//!
//! Start reading at [`search::SearchRequest`] and [`answer::Answer`].

pub mod answer;
pub mod document;
pub mod filter;
pub mod ids;
pub mod keys;
pub mod records;
pub mod search;
pub mod settings;
pub mod text;
