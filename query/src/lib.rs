//! A question, planned, answered and cited over one read view.
//!
//! | module | what |
//! | --- | --- |
//! | [`request`] | the question, and the options of a search (of `loci-types`) |
//! | [`plan`] | everything that is decided before anything is run, with [`scope`] and [`intent`] of the question |
//! | [`search`] | a plan run over one view: arms, fusion, rows, citations |
//! | [`view`] | a snapshot with its indexes open, and the digests of [`community`] |
//! | [`filter`] | the filter language: parsed, printed, evaluated to a bitmap |
//! | `ranking` | [`fuse`], [`rank`], [`calibrate`]: lists of chunks combined and reordered |
//! | [`cite`] | the location of a chunk, in words and numbers; the [`context`] that hits are assembled to |
//! | `answering` | [`extractive`], [`global`], [`prompt`], [`critic`]: an answer in words to a [`question`] |
//! | [`answer`] | the answer, as it is printed (of `loci-types`) |
//! | [`sentences`] | the sentences of a text |
//! | [`tokens`] | the estimate that budgets are counted in |
//!
//! ```text
//! search -> view -> plan -> ranking
//! search -> view -> cite -> tokens
//! search -> filter
//! answering -> cite, sentences -> tokens
//! ```
//!
//! This crate only reads. Everything but [`search`] and [`view`] is pure: it gets its input as arguments
//! and opens nothing. Start reading at [`search::Searcher::search`].

mod answering;
pub mod cite;
mod error;
pub mod filter;
pub mod plan;
mod ranking;
pub mod search;
pub mod sentences;
pub mod tokens;
pub mod view;

pub use answering::{critic, extractive, global, prompt, question};
pub use cite::context;
pub use error::QueryError;
pub use loci_types::answer::{self, Answer, Hit};
pub use loci_types::search as request;
pub use loci_types::search::{Climb, Effort, Rerank, SearchRequest, Seeds, Strategy, Walk};
pub use plan::{Plan, intent, scope};
pub use ranking::{calibrate, fuse, rank};
pub use search::Searcher;
pub use view::{ReadView, community};
