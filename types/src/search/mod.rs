//! A request: the question and how to answer it.
//!
//! Start reading at [`SearchRequest`].

mod as_text;
mod effort;
mod fusion;
mod intent;
mod options;
mod request;

pub use effort::Effort;
pub use fusion::{Fusion, Mixture, RRF_K, RankWeights, ScoreWeights};
pub use intent::Intent;
pub use options::{Climb, OptionError, Rerank, Seeds, Strategy, Walk};
pub use request::SearchRequest;
