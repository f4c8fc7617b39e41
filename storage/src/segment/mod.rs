//! Parts: the immutable containers that everything searchable lies in.
//!
//! A part is built once ([`PartBuilder`]), placed in a row or a file, opened with its header, table
//! and bounds checked ([`Part::new`]), and never changed. `docs/format.md` has the bytes.
//!
//! Start reading at [`Part::new`].

mod documents;
mod header;
mod part;
mod skeleton;

pub use documents::{DocumentRun, Documents, DocumentsBuilder};
pub use header::{Header, PartKind};
pub use part::{Part, PartBuilder, PartBytes, Section};
pub use skeleton::{NO_PARENT, Skeleton, SkeletonBuilder, SkeletonRow};

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

/// Why a part cannot be used. Every variant tells its reader what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The first bytes are not ours: a wrong path, or a damaged copy.
    #[error("not a LociDB part")]
    NotAPart,
    /// A newer release wrote it. Upgrade, or let this release rebuild it from rows.
    #[error("version {found}; this build reads version {known}")]
    Version {
        /// What the part says.
        found: u16,
        /// What this build knows.
        known: u16,
    },
    /// It is shorter than it says. It is rebuilt from rows; suspect the disk.
    #[error("{got} bytes where {need} are needed")]
    Truncated {
        /// Bytes needed.
        need: u64,
        /// Bytes there.
        got: u64,
    },
    /// Its bytes changed after they were written. It is rebuilt from rows; suspect the disk.
    #[error("checksum of {part} is {got:#018x}, written as {written:#018x}")]
    Checksum {
        /// `header`, `section table`, or the section.
        part: String,
        /// The checksum that was written.
        written: u64,
        /// The checksum of what is there.
        got: u64,
    },
    /// A field breaks the format. It is rebuilt from rows.
    #[error("{0}")]
    Malformed(String),
    /// A section that this kind of part must have is not there. It is rebuilt from rows.
    #[error("section {id:?} ({argument}) is missing")]
    MissingSection {
        /// The section.
        id: SectionId,
        /// Its argument.
        argument: u32,
    },
    /// It is not the part that the manifest lists. Restore the folder from one backup.
    #[error("it is part {found} where the manifest lists part {listed}")]
    AnotherPart {
        /// The id in the header.
        found: u64,
        /// The id in the manifest.
        listed: u64,
    },
    /// Pages of its file vanished while it was open: the file was cut, or its disk failed. It is rebuilt from rows;
    /// suspect the disk.
    #[error("its file lost pages while it was read: it was cut, or its disk fails")]
    LostPages,
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
