//! Embedders: each turns a text into a vector of the active space.
//!
//! | embedder | module |
//! | --- | --- |
//! | built-in, fitted on the store's text | [`projector`] |
//! | a model that the application passes | [`external_model`] |
//! | the model in the folder that the settings name | [`folder_model`] |
//!
//! Start reading at [`projector::Projector`], which embeds questions with the built-in model.

pub(crate) mod external_model;
pub(crate) mod folder_model;
pub(crate) mod projector;
