//! The manifest: which segments are live, and where their parts lie.

use loci_types::record;

record! {
    /// Which segments are live: the row that redb's commit switches.
    #[derive(Default)]
    pub struct ManifestRecord {
        /// Counts commits.
        pub generation: u64,
        /// The next document id; from 1.
        pub next_document: u64,
        /// The next concept id; from 0.
        pub next_concept: u32,
        /// The next segment id; from 1.
        pub next_segment: u64,
        /// The next part id; from 1.
        pub next_part: u64,
        /// The next space id; from 1.
        pub next_space: u32,
        /// The next item id; from 1.
        pub next_item: u64,
        /// Learning items.
        pub item_count: u64,
        /// Documents.
        pub document_count: u64,
        /// Chunks.
        pub chunk_count: u64,
        /// Visible concepts.
        pub concept_count: u64,
        /// Visible relations.
        pub relation_count: u64,
        /// Live segments, in the order of their ordinals.
        pub segments: Vec<SegmentEntry>,
        /// The space that searches use.
        pub active_space: Option<u32>,
        /// The space that is being built and will be switched to.
        pub pending_space: Option<u32>,
        /// Spaces given up, whose vectors are not all deleted yet.
        pub dropped_spaces: Vec<u32>,
        /// PageRank and what else `analyze` computes.
        pub analysis: Option<PartEntry>,
        /// The next id of a merge or split of concepts; from 1.
        pub next_edit: u64,
        /// The next id of a cited work; from 0.
        pub next_work: u32,
        /// The next id of a recorded answer; from 1.
        pub next_response: u64,
    }
}

impl ManifestRecord {
    /// All parts that it lists; projections are listed by their spaces.
    pub fn parts(&self) -> impl Iterator<Item = &PartEntry> {
        let segments = self.segments.iter().flat_map(SegmentEntry::parts);
        segments.chain(&self.analysis)
    }
}

record! {
    /// A live segment.
    pub struct SegmentEntry {
        /// Its id.
        pub id: u64,
        /// Its chunks, dead ones included.
        pub chunk_count: u32,
        /// Its documents, dead ones included.
        pub document_count: u32,
        /// Skeleton, text, facets, names, mentions, relations.
        pub base: PartEntry,
        /// Its vectors, and the space that they lie in.
        pub vectors: Option<(u32, PartEntry)>,
        /// Its vectors in the space that is being built.
        pub pending: Option<(u32, PartEntry)>,
    }
}

impl SegmentEntry {
    /// All its parts.
    pub fn parts(&self) -> impl Iterator<Item = &PartEntry> {
        let spaces = [&self.vectors, &self.pending];
        let vectors = spaces.into_iter().flatten().map(|(_, part)| part);
        [&self.base].into_iter().chain(vectors)
    }
}

record! {
    /// A part and its location.
    pub struct PartEntry {
        /// Its id.
        pub id: u64,
        /// Its length in bytes.
        pub len: u64,
        /// The name of its file; `None` when it is a row of the table `parts`.
        pub file: Option<String>,
    }
}
