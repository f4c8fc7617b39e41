//! One committed state: rows of one redb read transaction, and the segments of the same generation.
//!
//! Always true: the manifest, the tombstones and the parts belong to the generation of the rows.
//! Nothing here changes once made; a snapshot pins its files for as long as it lives.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use redb::{ReadOnlyTable, ReadableDatabase, ReadableTableMetadata};
use roaring::RoaringBitmap;

use crate::database_file::Database;
use crate::dir::SegmentDir;
use crate::error::StoreError;
use crate::ids::{DocumentId, LocalOrdinal, Ordinal, SegmentId, SpaceId};
use crate::keys::Key;
use crate::limits::{CHUNKS_MAX, VERIFY_AT_OPEN_LEN_MAX, VERIFY_PART_LEN_MAX};
use crate::lock::StoreLock;
use crate::publish::{Pin, Pins};
use crate::records::{ManifestRecord, PartEntry, SegmentEntry, SpaceRecord};
use crate::repair::{DerivedIndex, LostIndex, REBUILDING_KEY};
use crate::rows::{RowCallback, Rows, Value, catch_redb_panic, get, missing, read, scan};
use crate::segment::{
    DocumentRun, Documents, Part, PartBytes, PartError, Section, SectionId, Skeleton,
};
use crate::tables::Table;

/// Name of the manifest's row.
pub(crate) const MANIFEST: &[u8] = b"manifest";

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
    /// [`StoreError::Part`] with [`PartError::LostPages`].
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

    /// The segment that `ordinal` lies in, and its local number there.
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

/// The tables of one read transaction.
pub(crate) struct Tables(Vec<ReadOnlyTable<&'static [u8], &'static [u8]>>);

impl Tables {
    pub(crate) fn open(database: &Database) -> Result<Tables, StoreError> {
        catch_redb_panic(Table::Meta, || {
            let transaction = database.begin_read()?;
            let open = |table: &Table| transaction.open_table(table.definition());
            let tables: Result<_, _> = Table::ALL.iter().map(open).collect();
            Ok(Tables(tables?))
        })
    }
}

impl Tables {
    /// One of them.
    pub(crate) fn table(&self, table: Table) -> &ReadOnlyTable<&'static [u8], &'static [u8]> {
        &self.0[table.index()]
    }

    /// Rows in all of them.
    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        let mut rows = 0;
        for table in &self.0 {
            rows += table.len()?;
        }
        Ok(rows)
    }
}

impl Rows for Tables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        get(&self.0[table.index()], table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        scan(&self.0[table.index()], table, from, to, visit)
    }
}

/// What a snapshot could be made of, and what could not be opened and must be rebuilt.
pub(crate) struct OpenedSnapshot {
    pub(crate) snapshot: Snapshot,
    pub(crate) damaged: Vec<DamagedPart>,
}

impl OpenedSnapshot {
    /// Leaves out the segments that `check` refuses.
    pub(crate) fn drop_unusable(&mut self, check: impl Fn(&OpenSegment) -> Result<(), StoreError>) {
        let mut base = 0;
        for segment in std::mem::take(&mut self.snapshot.segments) {
            match check(&segment) {
                Ok(()) => {
                    let next = base + segment.chunk_count;
                    self.snapshot.segments.push(OpenSegment {
                        base: Ordinal(base),
                        ..segment
                    });
                    base = next;
                }
                Err(error) => {
                    let segment = Some(segment.id);
                    self.damaged.push(DamagedPart {
                        segment,
                        is_vectors: false,
                        error,
                    });
                }
            }
        }
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

/// Opens the newest committed state, sharing the open parts of `previous`.
pub(crate) fn open(
    database: &Arc<Database>,
    dir: &SegmentDir,
    lock: &Arc<StoreLock>,
    pins: &Arc<Pins<Instant>>,
    previous: PreviousSnapshot<'_>,
) -> Result<OpenedSnapshot, StoreError> {
    let tables = Tables::open(database)?;
    let manifest: ManifestRecord =
        read(&tables, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))?;
    let opener = SnapshotOpener {
        rows: &tables,
        dir,
        parts: previous.parts,
        verify_len_max: verify_len_max(&manifest, previous.segments.is_empty()),
        is_opening_store: previous.segments.is_empty(),
    };
    let (mut segments, mut damaged) = (Vec::new(), Vec::new());
    let mut base = 0u64;
    for entry in &manifest.segments {
        let known = previous
            .segments
            .iter()
            .find(|known| known.id.0 == entry.id);
        let segment = match opener.open_segment(entry, known) {
            Ok(segment) => segment,
            Err(error) if !is_damage(&error) => return Err(error),
            Err(error) => {
                damaged.push(DamagedPart {
                    segment: Some(SegmentId(entry.id)),
                    is_vectors: false,
                    error,
                });
                continue;
            }
        };
        let pending = opener.open_vectors(entry.pending.as_ref(), known);
        let vectors = opener.open_vectors(entry.vectors.as_ref(), known);
        let vectors = match vectors {
            Ok(vectors) => vectors,
            Err(error) if !is_damage(&error) => return Err(error),
            Err(error) => {
                damaged.push(DamagedPart {
                    segment: Some(segment.id),
                    is_vectors: true,
                    error,
                });
                None
            }
        };
        segments.push(OpenSegment {
            base: Ordinal(base as u32),
            vectors,
            pending_vectors: pending.unwrap_or_default(),
            ..segment
        });
        base += u64::from(entry.chunk_count);
        if base > CHUNKS_MAX {
            return Err(StoreError::Limit {
                what: "the number of chunks",
                limit: CHUNKS_MAX,
            });
        }
    }
    let space = opener.open_space(manifest.active_space)?;
    let space = match space.transpose() {
        Ok(space) => space,
        Err(error) if !is_damage(&error) => return Err(error),
        Err(error) => {
            damaged.push(DamagedPart {
                segment: None,
                is_vectors: true,
                error,
            });
            None
        }
    };
    // What is being built and cannot be used is built again.
    let pending = opener
        .open_space(manifest.pending_space)
        .and_then(Option::transpose);
    let pending = pending.unwrap_or_default();
    let analysis = manifest
        .analysis
        .as_ref()
        .map(|entry| opener.open_verified_part(entry))
        .transpose();
    let analysis = match analysis {
        Ok(analysis) => analysis,
        Err(error) if !is_damage(&error) => return Err(error),
        Err(error) => {
            damaged.push(DamagedPart {
                segment: None,
                is_vectors: false,
                error,
            });
            None
        }
    };
    let rebuilding = tables.get(Table::Meta, REBUILDING_KEY)?.is_some();
    let mut lost = Vec::new();
    for what in DerivedIndex::ALL {
        if let Some(why) = tables.get(Table::Meta, what.lost_key())? {
            let why = String::from_utf8_lossy(&why).into_owned();
            lost.push(LostIndex { index: what, why });
        }
    }
    let snapshot = Snapshot {
        tables,
        manifest,
        segments,
        active_space: space,
        pending_space: pending,
        analysis,
        is_rebuilding: rebuilding,
        lost_indexes: lost,
        _database: Arc::clone(database),
        _lock: Arc::clone(lock),
        _pin: Pins::pin(pins, Instant::now()),
    };
    Ok(OpenedSnapshot { snapshot, damaged })
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

/// Whether a part is gone or is not what was written. A file that cannot be read just now, for want of handles or memory
/// or rights, is neither.
fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Part {
            source: PartError::Io(error),
            ..
        } => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory
        ),
        StoreError::Part { .. } => true,
        error => error.is_row_damage(),
    }
}

/// Up to which size parts are verified: a small store's all, when it is opened.
fn verify_len_max(manifest: &ManifestRecord, opening: bool) -> u64 {
    let lens = manifest.parts().map(|part| part.len);
    let bytes = lens.fold(0, u64::saturating_add);
    if opening && bytes <= VERIFY_AT_OPEN_LEN_MAX {
        u64::MAX
    } else {
        VERIFY_PART_LEN_MAX
    }
}

/// What the newest snapshot has open already.
#[derive(Clone, Copy, Default)]
pub(crate) struct PreviousSnapshot<'p> {
    /// Its segments.
    pub(crate) segments: &'p [OpenSegment],
    /// Its projection and analysis.
    pub(crate) parts: &'p [Arc<Part>],
}

struct SnapshotOpener<'o> {
    rows: &'o dyn Rows,
    dir: &'o SegmentDir,
    parts: &'o [Arc<Part>],
    /// Parts up to this size are verified.
    verify_len_max: u64,
    /// Whether the store is being opened.
    is_opening_store: bool,
}

impl SnapshotOpener<'_> {
    /// Opens a segment, without its place and vectors.
    fn open_segment(
        &self,
        entry: &SegmentEntry,
        known: Option<&OpenSegment>,
    ) -> Result<OpenSegment, StoreError> {
        let dead = self.read_tombstones(entry)?;
        if let Some(known) = known.filter(|known| known.part.header().part == entry.base.id) {
            let same = *known.dead == dead;
            let dead = if same {
                Arc::clone(&known.dead)
            } else {
                Arc::new(dead)
            };
            return Ok(OpenSegment {
                dead,
                ..known.clone()
            });
        }
        let part = self.open_listed_part(&entry.base)?;
        let wrong = |source| StoreError::Part {
            name: part_name(&entry.base),
            source,
        };
        let (chunks, documents) = (entry.chunk_count, entry.document_count);
        let header = part.header();
        if (header.chunk_count, header.document_count) != (chunks, documents) {
            return Err(wrong(PartError::Malformed(
                "counts differ from the manifest's".into(),
            )));
        }
        let runs = part.section(SectionId::Documents, 0).map_err(wrong)?;
        let runs = Documents::new(runs, chunks).map_err(wrong)?;
        let skeleton = part.section(SectionId::Skeleton, 0).map_err(wrong)?;
        let skeleton = Skeleton::new(skeleton, chunks, runs.len() as u32).map_err(wrong)?;
        Ok(OpenSegment {
            id: SegmentId(entry.id),
            base: Ordinal(0),
            chunk_count: chunks,
            dead: Arc::new(dead),
            part,
            documents: Arc::new(runs),
            skeleton: Arc::new(skeleton),
            vectors: None,
            pending_vectors: None,
        })
    }

    fn open_vectors(
        &self,
        listed: Option<&(u32, PartEntry)>,
        known: Option<&OpenSegment>,
    ) -> Result<Option<(SpaceId, Arc<Part>)>, StoreError> {
        let Some((space, entry)) = listed else {
            return Ok(None);
        };
        let mut open = known
            .into_iter()
            .flat_map(|known| known.vectors.iter().chain(&known.pending_vectors));
        if let Some(known) = open.find(|(_, part)| part.header().part == entry.id) {
            return Ok(Some(known.clone()));
        }
        Ok(Some((SpaceId(*space), self.open_listed_part(entry)?)))
    }

    /// A space, or what is wrong with its projection. Its record is a row: that it is gone is no
    /// damaged view.
    fn open_space(
        &self,
        id: Option<u32>,
    ) -> Result<Option<Result<OpenSpace, StoreError>>, StoreError> {
        let Some(id) = id else {
            return Ok(None);
        };
        let key = id.to_be_bytes();
        let record: SpaceRecord =
            read(self.rows, Table::Spaces, &key)?.ok_or_else(|| missing(Table::Spaces, &key))?;
        let projection = record.projection.as_ref();
        let projection = projection
            .map(|entry| self.open_verified_part(entry))
            .transpose();
        Ok(Some(projection.map(|projection| OpenSpace {
            id: SpaceId(id),
            record,
            projection,
        })))
    }

    fn read_tombstones(&self, entry: &SegmentEntry) -> Result<RoaringBitmap, StoreError> {
        let key = entry.id.to_be_bytes();
        let Some(value) = self.rows.get(Table::Tombstones, &key)? else {
            return Ok(RoaringBitmap::new());
        };
        let dead = RoaringBitmap::deserialize_from(&value[..])
            .map_err(|why| crate::rows::damaged(Table::Tombstones, &key, &why.to_string()))?;
        if dead.max().is_some_and(|last| last >= entry.chunk_count) {
            return Err(crate::rows::damaged(
                Table::Tombstones,
                &key,
                "beyond the segment",
            ));
        }
        Ok(dead)
    }

    /// A part that no segment can do without: it is verified when the store is opened, whatever its size, as what it
    /// embeds and ranks does not show that it is damaged.
    fn open_verified_part(&self, entry: &PartEntry) -> Result<Arc<Part>, StoreError> {
        let part = self.open_listed_part(entry)?;
        if self.is_opening_store && !part.is_verified() {
            part.verify().map_err(|source| StoreError::Part {
                name: part_name(entry),
                source,
            })?;
        }
        Ok(part)
    }

    fn open_listed_part(&self, entry: &PartEntry) -> Result<Arc<Part>, StoreError> {
        if let Some(known) = self
            .parts
            .iter()
            .find(|part| part.header().part == entry.id)
        {
            return Ok(Arc::clone(known));
        }
        let bytes = match &entry.file {
            Some(name) => self.dir.open_part(name).map_err(|error| StoreError::Part {
                name: part_name(entry),
                source: error.into(),
            })?,
            None => {
                let key = entry.id.to_be_bytes();
                let row = self.rows.get(Table::Parts, &key)?;
                PartBytes::copy(&row.ok_or_else(|| missing(Table::Parts, &key))?)
            }
        };
        let part =
            open_part(bytes, entry, self.verify_len_max).map_err(|source| StoreError::Part {
                name: part_name(entry),
                source,
            })?;
        Ok(Arc::new(match &entry.file {
            Some(name) => part.with_file(self.dir.clone(), name.clone()),
            None => part,
        }))
    }
}

/// Opens and, up to `verify_len_max` bytes, verifies a part that must be the listed one.
fn open_part(bytes: PartBytes, entry: &PartEntry, verify_len_max: u64) -> Result<Part, PartError> {
    let part = Part::new(bytes)?;
    let header = part.header();
    if header.part != entry.id {
        return Err(PartError::AnotherPart {
            found: header.part,
            listed: entry.id,
        });
    }
    if header.len <= verify_len_max {
        part.verify()?;
    }
    Ok(part)
}

fn part_name(entry: &PartEntry) -> String {
    entry
        .file
        .clone()
        .unwrap_or_else(|| format!("{} (in loci.redb)", entry.id))
}

/// The key of a segment's tombstones or of a part.
pub(crate) fn id_key(id: u64) -> Key {
    id.to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verify_len_max_saturates_when_part_lengths_overflow() {
        let part = |len| PartEntry {
            id: 1,
            len,
            file: None,
        };
        let segment = |len| SegmentEntry {
            id: 1,
            chunk_count: 0,
            document_count: 0,
            base: part(len),
            vectors: None,
            pending: None,
        };
        let manifest = ManifestRecord {
            segments: vec![segment(u64::MAX), segment(1)],
            analysis: Some(part(u64::MAX)),
            ..ManifestRecord::default()
        };
        assert_eq!(verify_len_max(&manifest, true), VERIFY_PART_LEN_MAX);
    }
}
