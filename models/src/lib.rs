//! Embedders, generators, captioners and tokenisers: four small traits, and the built-in latent semantic analysis.
//!
//! A store turns every chunk and every question into a vector through one small trait,
//! [`Embedder`]. [`lsa`] is the one that is built in: it learns from the store's own rows, needs no
//! network and no model file, and gives the same vectors for the same rows on every run.
//!
//! Models that write answers implement another, [`Generator`], programs that describe pictures a third,
//! [`Captioner`], and what counts tokens through a fourth, [`Tokenizer`]; none is built in.
//!
//! Invariant: this crate depends on no other crate of the workspace. It knows no index and no store; the
//! tokeniser is handed in, and what it learns leaves as plain bytes.
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
pub use tokenizer::Tokenizer;
#[cfg(feature = "tokenizer")]
pub use tokenizer::{TokenizerError, TokenizerFile};
