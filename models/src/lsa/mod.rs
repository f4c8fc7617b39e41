//! Latent semantic analysis: vectors learned from the store's own rows.
//!
//! A row is a bag of terms. Its weights are `(1 + ln tf) · ln(1 + rows / df)`, scaled to length 1;
//! the weighted rows `A [rows × terms]` are factored as `U Σ Vᵀ`, and the vector of a text is `a · V`, scaled
//! to length 1, where `a` is its bag of terms under the same weights. So a question and a text that
//! comes later are *folded in* by the same sum that places the rows of the fit.
//!
//! ```text
//! Fitter::push (rows of terms) → Fitter::fit → Fitted ── vector(row)
//!                                                └── into_bytes() → Projection::new(bytes)
//!                                                                     └── LsaEmbedder: Embedder
//! ```
//!
//! # The recipe, and what was tried
//! nDCG@10 with the cosine alone, on stemmed English words. The first line is this code
//! (`examples/lsa_quality.rs`); the others are an exact decomposition:
//!
//! | choice | cranfield | hotpotqa_train | musique_train |
//! | --- | --- | --- | --- |
//! | **as built** (dimensions: 256, 319, 512; one byte a number) | 41.5 | 80.4 | 53.3 |
//! | same, four bytes a number | 41.5 | 80.6 | 52.8 |
//! | same, four bits a number | 40.9 | 79.9 | 51.9 |
//! | terms of two or more rows only, `ln(rows / df)`, 256 dimensions | 39.9 | 75.8 | 37.0 |
//! | ... 512 dimensions | 36.9 | 76.5 | 40.4 |
//! | stop words removed (same dimensions as built) | 41.2 | 79.9 | 52.1 |
//! | rows at `U Σ^½` | 38.5 | 81.7 | 54.7 |
//! | 512 dimensions throughout | 37.8 | 81.8 | 52.8 |
//!
//! - Terms of a single row stay in. They tie a question to its one row, and without them a row's
//!   length is wrong. A vocabulary limit drops the rarest first, so a large store loses them.
//! - The number of dimensions follows the energy, not the number of rows: narrow corpora (aerodynamics
//!   abstracts) are best at 256 and lose with every further one, broad ones gain up to 512 and beyond.
//!   The fewest dimensions that keep 55 % of the energy, between 256 and 512, fits all three; they are also
//!   the sets on which it was chosen.
//! - `ln(1 + rows / df)` is positive for a term of every row, so equal rows are no special case.
//! - Stop words need no list: their weight is low, and removing them lost on all three.
//!
//! # Memory
//! While rows are pushed: 6 bytes for each pair of row and term (up to twice that as the lists
//! grow), and about 80 bytes and the text for each distinct term. During the fit: 4 bytes more for
//! each pair (12 when there are fewer rows than terms), `2 · 4 · 544 · min(rows, vocabulary)` bytes
//! for the dense blocks, and `4 · dim · vocabulary` for the result before it is quantised: at most
//! 430 MB for the dense parts at the default vocabulary of 65,536 terms. The bytes of the projection
//! are `(dim + 8) · vocabulary` and the terms' texts: at most 34 MB and texts.
//!
//! 40,000 rows with 23,096 terms took 28 s of processor time and 175 MB, texts included.
//!
//! Invariant: for the same rows in the same order and the same options, the bytes are the same on
//! the same kind of machine, whatever the number of threads.
//!
//! Sources: Deerwester, Dumais, Furnas, Landauer, Harshman, "Indexing by latent semantic analysis",
//! JASIS 1990; Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 2011.
//!
//! Start reading at [`Fitter`].

mod counts;
mod dense;
mod eigen;
mod embedder;
mod fitter;
mod layout;
mod projection;
mod sparse;
mod svd;
mod tiles;

pub use embedder::{LsaEmbedder, TokenizeFn};
pub use fitter::{DIM_MAX, FitError, FitOptions, Fitted, Fitter, VOCABULARY_MAX};
pub use layout::ProjectionError;
pub use projection::Projection;
