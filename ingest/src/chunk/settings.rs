//! How a file is divided, and into what sizes.

use serde::{Deserialize, Serialize};

/// How a file is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chunking {
    /// By the kind of file: source code by definitions, everything else by headings.
    #[default]
    Auto,
    /// By headings, whatever the kind of file.
    Hierarchical,
    /// A summary of the document, sections, and propositions; source code as by [`Chunking::Auto`].
    ThreeLevel,
    /// As [`Chunking::Auto`], with the sentences of each passage below it.
    Sentence,
}

/// Sizes are in tokens as [`crate::tokens::count`] estimates them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkSettings {
    /// The most that a section holds.
    pub parent_tokens: u32,
    /// What passages of prose aim at.
    pub child_tokens: u32,
    /// What passages of source code aim at.
    pub code_tokens: u32,
    /// Share of `child_tokens` that a passage may repeat of the one before, in 0..=0.5.
    pub overlap: f32,
    /// A passage of half its target ends where the cosine of the words on both sides of a gap falls
    /// below this. Corpus-independent, so that a file is always cut alike; 0 never ends one.
    pub similarity_min: f32,
    /// How files are cut.
    pub mode: Chunking,
}

impl Default for ChunkSettings {
    /// Parents of 1,024 tokens, passages of 256 with a fifth of overlap.
    fn default() -> Self {
        ChunkSettings {
            parent_tokens: 1024,
            child_tokens: 256,
            code_tokens: 512,
            overlap: 0.20,
            similarity_min: 0.08,
            mode: Chunking::Auto,
        }
    }
}

impl ChunkSettings {
    /// The preset of passages of 512 with 50 repeated, in parents of 2,048.
    pub fn large() -> Self {
        ChunkSettings {
            parent_tokens: 2048,
            child_tokens: 512,
            overlap: 50.0 / 512.0,
            ..Self::default()
        }
    }

    /// The most that a passage holds: a code block, table or equation up to this size stays whole.
    pub fn passage_tokens_max(&self) -> u32 {
        self.child_tokens
            .saturating_mul(2)
            .max(self.code_tokens)
            .min(self.parent_tokens)
    }

    /// The settings with every value brought into the range in which chunks make sense.
    pub(super) fn clamped(mut self) -> Self {
        self.child_tokens = self.child_tokens.clamp(8, 1 << 20);
        self.code_tokens = self.code_tokens.clamp(8, 1 << 20);
        self.parent_tokens = self
            .parent_tokens
            .max(self.child_tokens.max(self.code_tokens));
        self.overlap = if self.overlap.is_finite() {
            self.overlap.clamp(0.0, 0.5)
        } else {
            0.0
        };
        self
    }
}
