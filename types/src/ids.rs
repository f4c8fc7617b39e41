//! The number spaces. Each is its own type, because an [`Ordinal`] is not a row and not a concept.

/// A chunk's place in one view: dense, in reading order. Means nothing outside that view.
///
/// `Ordinal` = the base of the chunk's segment in this view + its [`LocalOrdinal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(pub u32);

/// A chunk's place in its segment: documents one after another, each in pre-order, so that a
/// subtree is a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalOrdinal(pub u32);

/// A document, for the life of the store. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub u64);

/// A concept: one per normalised name, for the life of the store. Never reused.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ConceptId(pub u32);

/// A segment, for the life of the store. Never reused, so that a file's name never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u64);

/// A vector space: a model with its parameters and the time it was fitted. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// A merge or split of concepts by hand, for the life of the store. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConceptEditId(pub u64);

/// A cited work, whether its document is stored or not, for the life of the store. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u32);

/// A learning item, for the life of the store. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u64);

/// What a recorded answer is called, for the life of the store. Never reused.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ResponseId(pub u64);
