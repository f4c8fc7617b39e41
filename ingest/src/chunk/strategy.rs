//! How the units of a file become parents and passages: by its kind and the settings.

use loci_documents::{Kind, ParsedDocument};

use super::exchanges;
use super::pack::PackLimits;
use super::settings::{ChunkSettings, Chunking};
use super::units::UnitLimits;

/// Tokens from which on a passage of a page ends before a heading.
const HEADED_TOKENS_MIN: u32 = 30;

/// Sections of the three-level mode.
const SECTION_LIMITS: PackLimits = PackLimits {
    target_tokens: 400,
    tokens_max: 500,
    overlap: 50,
    similarity_min: 0.0,
    heading_min: 150,
    tail_min: 150,
    merges_headed_tail: true,
};

/// How the units of a file become parents and passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkStrategy {
    Hierarchical,
    WebPages,
    Slides,
    Exchanges,
    Definitions,
    ThreeLevel,
}

impl ChunkStrategy {
    pub(super) fn for_document(parsed: &ParsedDocument, mode: Chunking) -> ChunkStrategy {
        match (mode, parsed.kind) {
            (Chunking::Hierarchical, _) => ChunkStrategy::Hierarchical,
            (_, Kind::Code(_)) => ChunkStrategy::Definitions,
            (Chunking::ThreeLevel, _) => ChunkStrategy::ThreeLevel,
            (_, Kind::Pptx) => ChunkStrategy::Slides,
            (_, Kind::Markdown | Kind::Html) => ChunkStrategy::WebPages,
            _ if exchanges::is_conversation(parsed) => ChunkStrategy::Exchanges,
            _ => ChunkStrategy::Hierarchical,
        }
    }

    /// The sizes of units.
    pub(super) fn unit_limits(self, settings: &ChunkSettings) -> UnitLimits {
        match self {
            ChunkStrategy::Definitions => UnitLimits {
                tokens_max: settings.code_tokens,
                split_tokens: settings.code_tokens,
            },
            ChunkStrategy::ThreeLevel => UnitLimits {
                tokens_max: SECTION_LIMITS.tokens_max,
                split_tokens: SECTION_LIMITS.target_tokens,
            },
            _ => UnitLimits {
                tokens_max: settings.passage_tokens_max(),
                split_tokens: settings.child_tokens,
            },
        }
    }

    /// The sizes of passages.
    pub(super) fn pack_limits(self, settings: &ChunkSettings) -> PackLimits {
        let child_tokens_part = |part: f32| (settings.child_tokens as f32 * part) as u32;
        let prose = PackLimits {
            target_tokens: settings.child_tokens,
            tokens_max: settings.passage_tokens_max(),
            overlap: child_tokens_part(settings.overlap),
            similarity_min: settings.similarity_min,
            heading_min: settings.child_tokens / 4,
            tail_min: settings.child_tokens / 8,
            merges_headed_tail: false,
        };
        match self {
            ChunkStrategy::Hierarchical => prose,
            ChunkStrategy::WebPages => PackLimits {
                heading_min: HEADED_TOKENS_MIN.min(prose.heading_min),
                ..prose
            },
            ChunkStrategy::Slides | ChunkStrategy::Exchanges => PackLimits {
                overlap: 0,
                ..prose
            },
            ChunkStrategy::Definitions => PackLimits {
                target_tokens: settings.code_tokens,
                tokens_max: settings.code_tokens,
                overlap: 0,
                similarity_min: 0.0,
                heading_min: settings.code_tokens / 4,
                tail_min: settings.code_tokens / 8,
                merges_headed_tail: false,
            },
            ChunkStrategy::ThreeLevel => PackLimits {
                similarity_min: settings.similarity_min,
                ..SECTION_LIMITS
            },
        }
    }
}
