//! The prompt for a model.

use serde::{Deserialize, Serialize};

use super::Citation;

/// A prompt, and what its passages are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The prompt.
    pub text: String,
    /// What it costs.
    pub tokens: usize,
    /// The locations of the passages, in the order of their numbers.
    pub citations: Vec<Citation>,
}
