//! Sections of a segment with what its chunks state: mentions, relations and citations.
//!
//! [`merge`] combines what several documents state about a concept or relation to one record. Always true: the result
//! does not depend on the order of documents.
//!
//! Start reading at [`mentions::MentionsReader`]; the other sections have the same form.

pub mod citations;
pub mod mentions;
pub mod merge;
pub mod relations;
