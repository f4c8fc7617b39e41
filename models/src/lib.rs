//! Embedders: the trait and the built-in latent semantic analysis.
