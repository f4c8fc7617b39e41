//! A question, planned, answered and cited over one read view.
//!
//! | module | what |
//! | --- | --- |
//! | [`request`] | what is asked, and how to answer it |
//! | [`plan`] | everything that is decided before anything is run |
//! | [`scope`] | how much of the store a question is about |
//! | [`search`] | a plan run over one view: arms, fusion, fetch, citations |
//! | [`rank`] | what moves chunks after fusion |
//! | [`community`] | digests of communities, as they are read |
//! | [`view`] | a snapshot with its indexes open |
//! | [`filter`] | the filter language: parsed, printed, evaluated to a bitmap |
//! | [`intent`] | what kind of chunk a question is after |
//! | [`fuse`] | the lists of several arms made one |
//! | [`calibrate`] | how much vectors count beside text, without labels |
//! | [`cite`] | where a chunk stands, in words and numbers |
//! | [`context`] | hits assembled into a text within a budget |
//! | [`question`] | a question as its words are looked for in texts |
//! | [`extractive`] | an answer made of sentences of the hits |
//! | [`global`] | an answer to a question about the whole store, from its communities |
//! | [`critic`] | how well the hits cover a question |
//! | [`prompt`] | what a model is asked, and what it answers |
//! | [`answer`] | the answer, as it is printed |
//! | [`sentences`] | the sentences of a text |
//! | [`tokens`] | the estimate that budgets are counted in |
//!
//! This crate reads only. Everything but [`search`] and [`view`] is pure: it is given what it needs
//! and opens nothing. Start reading at [`search::Searcher::search`].

pub mod answer;
mod arms;
pub mod calibrate;
pub mod cite;
pub mod community;
mod concept_similarity;
pub mod context;
pub mod critic;
mod digest_search;
mod error;
pub mod extractive;
mod fetch;
pub mod filter;
pub mod fuse;
pub mod global;
pub mod intent;
pub mod plan;
pub mod prompt;
pub mod question;
mod quotation;
pub mod rank;
mod row_cache;
pub mod scope;
pub mod search;
pub mod sentences;
pub mod tokens;
pub mod view;

pub use answer::{Answer, Hit};
pub use error::QueryError;
pub use loci_types::search as request;
pub use loci_types::search::{Climb, Effort, Rerank, SearchRequest, Seeds, Strategy, Walk};
pub use plan::Plan;
pub use search::Searcher;
pub use view::ReadView;
