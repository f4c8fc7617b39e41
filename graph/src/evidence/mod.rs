//! What the chunks of a segment state: mentions, relations, citations; and contributions merged into records.

pub mod citations;
pub mod mentions;
pub mod merge;
pub mod relations;
