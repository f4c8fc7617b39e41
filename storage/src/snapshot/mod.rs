//! One committed state: rows of one redb read transaction, and the segments of the same generation.
//!
//! Always true: the manifest, the tombstones and the parts belong to the generation of the rows. A snapshot never
//! changes. While it exists, its files are not deleted.
//!
//! Start reading at [`Snapshot`]; `opener.rs` opens one.

mod derived;
mod opener;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use loci_types::ids::{DocumentId, LocalOrdinal, Ordinal, SegmentId, SpaceId};
use roaring::RoaringBitmap;

use crate::database::file::Database;
use crate::database::read_tables::Tables;
use crate::error::StoreError;
use crate::files::lock::StoreLock;
use crate::publish::Pin;
use crate::rows::Rows;
use crate::rows::records::{ManifestRecord, SpaceRecord};
use crate::segment::{DocumentRun, Documents, Part, Section, Skeleton};

pub use derived::{DerivedIndex, LostIndex};
pub(crate) use opener::{PreviousSnapshot, open};

/// One committed state of the store.
pub struct Snapshot {
    tables: Tables,
    manifest: ManifestRecord,
    segments: Vec<OpenSegment>,
    active_space: Option<OpenSpace>,
    pending_space: Option<OpenSpace>,
    analysis: Option<Arc<Part>>,
    is_rebuilding: bool,
    lost_indexes: Vec<LostIndex>,
    // A read transaction ends with its database.
    _database: Arc<Database>,
    // Its pages and files must not be another process's to change while it is read.
    _lock: Arc<StoreLock>,
    _pin: Pin<Instant>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}

/// A live segment, open.
#[derive(Clone, Debug)]
pub struct OpenSegment {
    /// Its id.
    pub id: SegmentId,
    /// The ordinal of its first chunk in this snapshot.
    pub base: Ordinal,
    /// Its chunks, dead ones included.
    pub chunk_count: u32,
    /// Local numbers of dead chunks.
    pub dead: Arc<RoaringBitmap>,
    /// Skeleton, text, facets, names, mentions, relations.
    pub part: Arc<Part>,
    /// Which run of chunks belongs to which document.
    pub documents: Arc<Documents<Section>>,
    /// A row a chunk.
    pub skeleton: Arc<Skeleton<Section>>,
    /// Its vectors, and the space that they lie in.
    pub vectors: Option<(SpaceId, Arc<Part>)>,
    /// Its vectors in the space that is being built.
    pub pending_vectors: Option<(SpaceId, Arc<Part>)>,
}

impl OpenSegment {
    /// The run of `document`, when it is here and alive.
    pub fn live_run(&self, document: DocumentId) -> Option<DocumentRun> {
        self.documents
            .find(document)
            .filter(|run| self.is_live(run))
    }

    /// Documents that are alive here, by ascending id.
    pub fn live_documents(&self) -> impl Iterator<Item = DocumentId> + '_ {
        self.documents
            .iter()
            .filter(|run| self.is_live(run))
            .map(|run| run.document)
    }

    /// All chunks of a document die together.
    fn is_live(&self, run: &DocumentRun) -> bool {
        run.count > 0 && !self.dead.contains(run.first.0)
    }

    /// One past the ordinal of its last chunk.
    pub fn end(&self) -> Ordinal {
        Ordinal(self.base.0 + self.chunk_count)
    }
}

/// A vector space, open.
#[derive(Clone, Debug)]
pub struct OpenSpace {
    /// Its id.
    pub id: SpaceId,
    /// What is known of it.
    pub record: SpaceRecord,
    /// The projection of text into it, for the built-in embedder.
    pub projection: Option<Arc<Part>>,
}

/// A chunk's place in its document, found from its ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPosition {
    /// The document.
    pub document: DocumentId,
    /// Its place in the document, in pre-order.
    pub index: u32,
}

impl Snapshot {
    /// What the manifest says.
    pub fn manifest(&self) -> &ManifestRecord {
        &self.manifest
    }

    /// The generation of the commit.
    pub fn generation(&self) -> u64 {
        self.manifest.generation
    }

    /// Live segments, by ascending base.
    pub fn segments(&self) -> &[OpenSegment] {
        &self.segments
    }

    /// The vector space that searches use.
    pub fn active_space(&self) -> Option<&OpenSpace> {
        self.active_space.as_ref()
    }

    /// The vector space that is being built.
    pub fn pending_space(&self) -> Option<&OpenSpace> {
        self.pending_space.as_ref()
    }

    /// What `analyze` computed over the whole store.
    pub fn analysis(&self) -> Option<&Arc<Part>> {
        self.analysis.as_ref()
    }

    /// Whether segments are being built again from rows.
    pub fn is_rebuilding(&self) -> bool {
        self.is_rebuilding
    }

    /// What was damaged and given up, and is not built anew yet: searches go without it.
    pub fn lost_indexes(&self) -> &[LostIndex] {
        &self.lost_indexes
    }

    /// Whether this was damaged and given up, and is not built anew yet.
    pub fn has_lost_index(&self, what: DerivedIndex) -> bool {
        self.lost_indexes.iter().any(|lost| lost.index == what)
    }

    /// Chunks that are in no segment, as those that had them are being built again: no search finds them yet.
    pub fn missing_chunks(&self) -> u64 {
        if !self.is_rebuilding {
            return 0;
        }
        let segments = self.segments.iter();
        let live = segments.map(|segment| u64::from(segment.chunk_count) - segment.dead.len());
        self.manifest.chunk_count.saturating_sub(live.sum())
    }

    /// An error when pages of a file that is open here vanished: whatever was read from it is to be thrown away. Costs
    /// a system call for each mapped file, to ask for its length.
    ///
    /// # Errors
    /// [`StoreError::Part`] with [`PartError::LostPages`](crate::segment::PartError::LostPages).
    pub fn check_pages(&self) -> Result<(), StoreError> {
        check_pages(self.parts().map(|(_, part)| part))
    }

    /// Parts that lost pages while they were open.
    pub(crate) fn parts_with_lost_pages(&self) -> Vec<DamagedPart> {
        let parts = self.parts();
        let damaged = parts.filter_map(|((segment, vectors), part)| {
            let error = check_pages([part]).err()?;
            Some(DamagedPart {
                segment,
                is_vectors: vectors,
                error,
            })
        });
        damaged.collect()
    }

    /// All open parts, each with its segment and whether it is of vectors. What is only being built comes with no
    /// other.
    fn parts(&self) -> impl Iterator<Item = ((Option<SegmentId>, bool), &Arc<Part>)> {
        let segments = self.segments.iter().flat_map(|segment| {
            let vectors = segment.vectors.iter().map(|(_, part)| (true, part));
            let parts = [(false, &segment.part)].into_iter().chain(vectors);
            parts.map(|(vectors, part)| ((Some(segment.id), vectors), part))
        });
        let projection = self
            .active_space
            .iter()
            .filter_map(|space| space.projection.as_ref());
        let projection = projection.map(|part| ((None, true), part));
        let analysis = self.analysis.iter().map(|part| ((None, false), part));
        segments.chain(projection).chain(analysis)
    }

    /// Whether pages vanished of what is only being built.
    pub(crate) fn has_lost_pending_pages(&self) -> bool {
        let pending = self
            .segments
            .iter()
            .filter_map(|segment| segment.pending_vectors.as_ref());
        let projection = self
            .pending_space
            .iter()
            .filter_map(|space| space.projection.as_ref());
        let mut parts = pending.map(|(_, part)| part).chain(projection);
        parts.any(|part| part.check_pages().is_err())
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The rows.
    pub fn rows(&self) -> &dyn Rows {
        &self.tables
    }

    /// The segment that contains `ordinal`, and its local ordinal there.
    pub fn locate(&self, ordinal: Ordinal) -> Option<(&OpenSegment, LocalOrdinal)> {
        let after = self
            .segments
            .partition_point(|segment| segment.base <= ordinal);
        let segment = &self.segments[after.checked_sub(1)?];
        let local = ordinal.0 - segment.base.0;
        (local < segment.chunk_count).then_some((segment, LocalOrdinal(local)))
    }

    /// The document of a chunk and the chunk's place in it.
    pub fn position(&self, ordinal: Ordinal) -> Option<ChunkPosition> {
        let (segment, local) = self.locate(ordinal)?;
        let row = segment.skeleton.get(local)?;
        let run = segment.documents.get(row.document as usize)?;
        let index = local.0.checked_sub(run.first.0)?;
        Some(ChunkPosition {
            document: run.document,
            index,
        })
    }

    /// The ordinal of a chunk; `None` when its document is not alive.
    pub fn ordinal(&self, position: ChunkPosition) -> Option<Ordinal> {
        self.segments.iter().find_map(|segment| {
            let run = segment.live_run(position.document)?;
            (position.index < run.count)
                .then(|| Ordinal(segment.base.0 + run.first.0 + position.index))
        })
    }
}

/// A part that could not be used.
#[derive(Debug)]
pub struct DamagedPart {
    /// The segment that it belongs to; `None` for the projection and the analysis.
    pub segment: Option<SegmentId>,
    /// Whether it holds the segment's vectors only.
    pub is_vectors: bool,
    /// Why.
    pub error: StoreError,
}

impl DamagedPart {
    /// What it is, where it is no segment's.
    pub fn derived_index(&self) -> Option<DerivedIndex> {
        match (self.segment, self.is_vectors) {
            (Some(_), _) => None,
            (None, true) => Some(DerivedIndex::Projection),
            (None, false) => Some(DerivedIndex::Analysis),
        }
    }
}

/// The first part that lost pages.
pub(crate) fn check_pages<'p>(
    parts: impl IntoIterator<Item = &'p Arc<Part>>,
) -> Result<(), StoreError> {
    for part in parts {
        part.check_pages().map_err(|source| StoreError::Part {
            name: part.header().part.to_string(),
            source,
        })?;
    }
    Ok(())
}
