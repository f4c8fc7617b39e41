//! A question, planned, answered and cited over one read view.
//!
//! | module | what |
//! | --- | --- |
//! | [`request`] | what is asked, and how to answer it |
//! | [`search`] | one question over one view: arms, fusion, fetch, citations |
//! | [`view`] | a snapshot with its indexes open |
//! | [`filter`] | the filter language: parsed, printed, evaluated to a bitmap |
//! | [`intent`] | what kind of chunk a question is after |
//! | [`fuse`] | the lists of several arms made one |
//! | [`calibrate`] | how much vectors count beside text, without labels |
//! | [`cite`] | where a chunk stands, in words and numbers |
//! | [`context`] | hits assembled into a text within a budget |
//! | [`answer`] | the answer, as it is printed |
//! | [`tokens`] | the estimate that budgets are counted in |
//!
//! This crate reads only. Everything but [`search`] and [`view`] is pure: it is given what it needs
//! and opens nothing. Start reading at [`search::Searcher::search`].

pub mod answer;
mod arms;
pub mod calibrate;
pub mod cite;
pub mod context;
mod error;
pub mod filter;
pub mod fuse;
pub mod intent;
pub mod request;
pub mod search;
pub mod tokens;
pub mod view;

pub use answer::{Answer, Hit};
pub use error::QueryError;
pub use request::{Effort, SearchRequest, Strategy};
pub use search::Searcher;
pub use view::ReadView;
