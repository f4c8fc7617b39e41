//! Hits assembled into one text, for a reader or a model.

use serde::{Deserialize, Serialize};

/// A context: the text, and its sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// What `text` costs, by the counter of the database.
    pub tokens: usize,
    /// Headed by documents and sections; `[3]` in a heading names the hits that it answers.
    pub text: String,
    /// The sections, in the order of the text.
    pub sections: Vec<ContextSection>,
}

/// One section of a context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextSection {
    /// The document's public key.
    pub document: String,
    /// What a reader calls the document.
    pub title: String,
    /// The section's public key.
    pub chunk: String,
    /// Its location.
    pub label: String,
    /// What is shown of it; `…` marks what is left out.
    pub text: String,
    /// Ranks of the hits in it, best first.
    pub hits: Vec<u32>,
    /// Characters of `text` that are the hits' own, ascending.
    pub highlights: Vec<(u64, u64)>,
}
