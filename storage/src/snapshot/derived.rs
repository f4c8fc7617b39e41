//! What is derived from the whole store, and cannot be rebuilt segment by segment.

/// What is derived from the whole store, and cannot be built again segment by segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DerivedIndex {
    /// The projection of the built-in embedder, and with it all vectors.
    Projection,
    /// Ranks and communities of concepts.
    Analysis,
}

impl DerivedIndex {
    /// Both of them.
    pub const ALL: [DerivedIndex; 2] = [DerivedIndex::Projection, DerivedIndex::Analysis];

    /// What it is called in findings.
    pub const fn name(self) -> &'static str {
        match self {
            DerivedIndex::Projection => "projection",
            DerivedIndex::Analysis => "analysis",
        }
    }

    /// The key in `meta` of the row that says why it was given up, until it is built anew.
    pub(crate) const fn lost_key(self) -> &'static [u8] {
        match self {
            DerivedIndex::Projection => b"lost_projection",
            DerivedIndex::Analysis => b"lost_analysis",
        }
    }
}

/// Something derived that was damaged and given up, and is not built anew yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostIndex {
    /// What.
    pub index: DerivedIndex,
    /// Why it could not be used.
    pub why: String,
}
