//! The sections of a part: what each holds, by numbers that are part of the format.

/// What a section holds. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum SectionId {
    /// Runs of chunks by document.
    Documents = 1,
    /// A fixed-width row a chunk.
    Skeleton = 2,
    /// Terms and postings of a layer.
    Text = 16,
    /// Values of metadata.
    Facets = 32,
    /// Names of concepts.
    Names = 48,
    /// Concepts in chunks.
    Mentions = 49,
    /// Relations between concepts.
    Relations = 50,
    /// Citations of works.
    Citations = 51,
    /// Vectors of a layer.
    Vectors = 64,
    /// HNSW over the vectors of a layer.
    VectorGraph = 65,
    /// Text to vector.
    Projection = 80,
    /// PageRank of concepts.
    Ranks = 96,
    /// Neighbours of concepts by rank, in the analysis of the store.
    Adjacency = 97,
    /// Communities of concepts, in the analysis of the store.
    Communities = 98,
    /// Links of walks with restart, in the analysis of the store.
    Links = 99,
}

impl SectionId {
    /// All sections, by number.
    pub const ALL: [SectionId; 15] = [
        SectionId::Documents,
        SectionId::Skeleton,
        SectionId::Text,
        SectionId::Facets,
        SectionId::Names,
        SectionId::Mentions,
        SectionId::Relations,
        SectionId::Citations,
        SectionId::Vectors,
        SectionId::VectorGraph,
        SectionId::Projection,
        SectionId::Ranks,
        SectionId::Adjacency,
        SectionId::Communities,
        SectionId::Links,
    ];

    /// The section with this number in the format.
    pub fn from_number(number: u32) -> Option<SectionId> {
        SectionId::ALL.into_iter().find(|&id| id as u32 == number)
    }

    /// What it is called in findings and figures.
    pub const fn name(self) -> &'static str {
        match self {
            SectionId::Documents => "documents",
            SectionId::Skeleton => "skeleton",
            SectionId::Text => "text",
            SectionId::Facets => "facets",
            SectionId::Names => "names",
            SectionId::Mentions => "mentions",
            SectionId::Relations => "relations",
            SectionId::Citations => "citations",
            SectionId::Vectors => "vectors",
            SectionId::VectorGraph => "vector graph",
            SectionId::Projection => "projection",
            SectionId::Ranks => "ranks",
            SectionId::Adjacency => "adjacency",
            SectionId::Communities => "communities",
            SectionId::Links => "links",
        }
    }
}

/// Which chunks a section speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Layer {
    /// Leaves of the chunk trees: what a search finds by default.
    Leaves = 0,
    /// Chunks that have children.
    Inner = 1,
}

impl Layer {
    /// Both layers.
    pub const ALL: [Layer; 2] = [Layer::Leaves, Layer::Inner];
}
