//! What kind of chunk a question is after.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::records::ChunkType;

/// What kind of chunk a question is after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// A definition or explanation.
    Concept,
    /// A worked example.
    Example,
    /// An exercise, or how to solve one.
    Question,
    /// Anything.
    #[default]
    Mixed,
}

impl Intent {
    /// The name that JSON uses.
    pub const fn name(self) -> &'static str {
        match self {
            Intent::Concept => "concept",
            Intent::Example => "example",
            Intent::Question => "question",
            Intent::Mixed => "mixed",
        }
    }

    /// The chunk type that answers, and the one that supports it; each is to have half of the hits.
    /// `None` where all types are equal.
    pub const fn chunk_types(self) -> Option<(ChunkType, ChunkType)> {
        match self {
            Intent::Concept => Some((ChunkType::Concept, ChunkType::Example)),
            Intent::Example => Some((ChunkType::Example, ChunkType::Concept)),
            Intent::Question => Some((ChunkType::Question, ChunkType::Example)),
            Intent::Mixed => None,
        }
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for intent in [
            Intent::Concept,
            Intent::Example,
            Intent::Question,
            Intent::Mixed,
        ] {
            assert_eq!(serde_json::to_value(intent).unwrap(), intent.name());
        }
    }
}
