//! Opening the newest committed state.
//!
//! A part that is damaged or gone does not fail the opening: the snapshot goes without it, and the part is listed as
//! damaged. Start reading at [`open`].

use std::io;
use std::sync::Arc;
use std::time::Instant;

use loci_types::ids::{Ordinal, SegmentId, SpaceId};
use roaring::RoaringBitmap;

use super::derived::{DerivedIndex, LostIndex};
use super::{DamagedPart, OpenSegment, OpenSpace, Snapshot};
use crate::database::file::Database;
use crate::database::read_tables::Tables;
use crate::error::{PartError, StoreError};
use crate::files::bytes::PartBytes;
use crate::files::lock::StoreLock;
use crate::files::segment_dir::SegmentDir;
use crate::limits::{CHUNKS_MAX, VERIFY_AT_OPEN_LEN_MAX, VERIFY_PART_LEN_MAX};
use crate::publish::Pins;
use crate::rows::keys::{MANIFEST, REBUILDING_KEY};
use crate::rows::records::{ManifestRecord, PartEntry, SegmentEntry, SpaceRecord};
use crate::rows::tables::Table;
use crate::rows::{Rows, damaged, missing, read};
use crate::section::SectionId;
use crate::segment::{Documents, Part, Skeleton};

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
    let mut damaged = Vec::new();
    let segments = opener.open_segments(&manifest, previous.segments, &mut damaged)?;
    let active_space = match opener.open_space(manifest.active_space)? {
        Some(space) => usable_or_damaged(space, (None, true), &mut damaged)?,
        None => None,
    };
    // What is being built and cannot be used is built again.
    let pending_space = opener
        .open_space(manifest.pending_space)
        .and_then(Option::transpose)
        .unwrap_or_default();
    let analysis = match &manifest.analysis {
        Some(entry) => {
            let analysis = opener.open_verified_part(entry);
            usable_or_damaged(analysis, (None, false), &mut damaged)?
        }
        None => None,
    };
    let is_rebuilding = tables.get(Table::Meta, REBUILDING_KEY)?.is_some();
    let mut lost_indexes = Vec::new();
    for index in DerivedIndex::ALL {
        if let Some(why) = tables.get(Table::Meta, index.lost_key())? {
            let why = String::from_utf8_lossy(&why).into_owned();
            lost_indexes.push(LostIndex { index, why });
        }
    }
    let snapshot = Snapshot {
        tables,
        manifest,
        segments,
        active_space,
        pending_space,
        analysis,
        is_rebuilding,
        lost_indexes,
        _database: Arc::clone(database),
        _lock: Arc::clone(lock),
        _pin: Pins::pin(pins, Instant::now()),
    };
    Ok(OpenedSnapshot { snapshot, damaged })
}

/// What was opened; `None`, and an entry in `damaged`, where it is damaged. `part`: its segment, and whether it holds
/// vectors.
fn usable_or_damaged<T>(
    opened: Result<T, StoreError>,
    (segment, is_vectors): (Option<SegmentId>, bool),
    damaged: &mut Vec<DamagedPart>,
) -> Result<Option<T>, StoreError> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_damage(&error) => {
            damaged.push(DamagedPart {
                segment,
                is_vectors,
                error,
            });
            Ok(None)
        }
        Err(error) => Err(error),
    }
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
    /// Opens the listed segments, each at its base and with its vectors.
    fn open_segments(
        &self,
        manifest: &ManifestRecord,
        previous: &[OpenSegment],
        damaged: &mut Vec<DamagedPart>,
    ) -> Result<Vec<OpenSegment>, StoreError> {
        let (mut segments, mut base) = (Vec::new(), 0u64);
        for entry in &manifest.segments {
            let id = SegmentId(entry.id);
            let known = previous.iter().find(|known| known.id == id);
            let segment = self.open_segment(entry, known);
            let Some(segment) = usable_or_damaged(segment, (Some(id), false), damaged)? else {
                continue;
            };
            let pending = self.open_vectors(entry.pending.as_ref(), known);
            let vectors = self.open_vectors(entry.vectors.as_ref(), known);
            let vectors = usable_or_damaged(vectors, (Some(id), true), damaged)?;
            segments.push(OpenSegment {
                base: Ordinal(base as u32),
                vectors: vectors.flatten(),
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
        Ok(segments)
    }

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
            .map_err(|why| damaged(Table::Tombstones, &key, &why.to_string()))?;
        if dead.max().is_some_and(|last| last >= entry.chunk_count) {
            return Err(damaged(Table::Tombstones, &key, "beyond the segment"));
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
