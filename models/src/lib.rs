//! Embedders, generators, captioners and tokenisers: four small traits, and the built-in latent semantic analysis.
//!
//! A store turns every chunk and every question into a vector through one small trait,
//! [`Embedder`]. [`lsa`] is the one that is built in: it learns from the store's own rows, needs no
//! network and no model file, and gives the same vectors for the same rows on every run.
//!
//! Three more traits have no built-in implementation: [`Generator`] for models that write answers, [`Captioner`] for
//! programs that describe pictures, and [`Tokenizer`] for what counts tokens.
//!
//! Invariant: this crate depends on no other crate of the workspace. It knows no index and no store: callers pass the
//! terms of texts, and a fitted model is plain bytes.
//!
//! Start reading at [`Embedder`], then at [`lsa::Fitter`].

mod captioner;
mod embedder;
mod generator;
pub mod lsa;
#[cfg(feature = "minilm")]
mod minilm;
mod tokenizer;

pub use captioner::{CaptionError, Captioner, Picture};
pub use embedder::{EmbedError, Embedder};
pub use generator::{GenerateError, Generator};
#[cfg(feature = "minilm")]
pub use minilm::{FolderEmbedder, FolderError, LazyFolderEmbedder};
pub use tokenizer::{Tokenizer, TokenizerError, open_tokenizer};
