//! Building a segment from rows.
//!
//! Storage numbers the chunks and writes what it reads itself (documents, skeleton); a
//! [`SegmentBuilder`] that the caller brings writes everything else.

use std::sync::Arc;

use crate::error::PartError;
use crate::error::StoreError;
use crate::limits::{CHUNKS_MAX, IMPORT_CHUNKS_MAX};
use crate::rows::keys;
use crate::rows::records::{ChunkRecord, DocumentRecord};
use crate::rows::tables::Table;
use crate::rows::{Rows, missing};
use crate::section::SectionId;
use crate::segment::documents::{DocumentRun, DocumentsBuilder};
use crate::segment::header::PartKind;
use crate::segment::new_part::NewPart;
use crate::segment::part::{Part, PartBuilder};
use crate::segment::skeleton::SkeletonBuilder;
use loci_types::ids::{DocumentId, LocalOrdinal, SpaceId};

/// A document as a segment holds it.
#[derive(Debug)]
pub struct SegmentDocument {
    /// The document.
    pub id: DocumentId,
    /// Local number of its first chunk.
    pub first: LocalOrdinal,
    /// Its record.
    pub record: DocumentRecord,
    /// Its chunks, in pre-order.
    pub chunks: Vec<ChunkRecord>,
}

/// What writes a segment's indexes: text, facets, names, mentions, relations, vectors.
pub trait SegmentBuilder {
    /// Takes a document. Documents come in ascending order of id.
    fn push(&mut self, rows: &dyn Rows, document: &SegmentDocument) -> Result<(), StoreError>;

    /// Adds the sections to `part`; returns the vectors and the space that they lie in.
    fn finish(
        self: Box<Self>,
        part: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError>;
}

/// Groups documents so that one segment is built of each group.
#[derive(Debug, Default)]
pub(crate) struct DocumentGroups {
    groups: Vec<Vec<DocumentId>>,
    /// Chunks of the last group.
    chunks: u64,
}

impl DocumentGroups {
    /// Adds a document to the last group, or to a new one where that would pass [`IMPORT_CHUNKS_MAX`].
    pub(crate) fn push(&mut self, document: DocumentId, chunk_count: u64) {
        self.chunks += chunk_count;
        match self.groups.last_mut() {
            Some(group) if self.chunks <= IMPORT_CHUNKS_MAX => group.push(document),
            _ => {
                self.chunks = chunk_count;
                self.groups.push(vec![document]);
            }
        }
    }

    /// The groups, in the order of their documents.
    pub(crate) fn into_groups(self) -> Vec<Vec<DocumentId>> {
        self.groups
    }
}

/// A segment that was built and is not listed yet.
#[derive(Debug)]
pub struct SegmentDraft {
    /// The documents in it, ascending, with their chunks.
    pub runs: Vec<DocumentRun>,
    /// Its chunks.
    pub chunk_count: u32,
    /// Skeleton, text, facets, names, mentions, relations.
    pub base: NewPart,
    /// Its vectors, and the space that they lie in.
    pub vectors: Option<(SpaceId, NewPart)>,
}

impl SegmentDraft {
    /// Its parts as they would be written, in memory: to be looked at, not listed. Empty for one that was written ahead.
    ///
    /// # Errors
    /// [`PartError`] for what a builder left that is no part.
    pub fn into_parts(self) -> Result<Vec<Arc<Part>>, PartError> {
        let vectors = self.vectors.map(|(_, part)| part);
        let parts = [self.base].into_iter().chain(vectors);
        parts.filter_map(NewPart::into_part).collect()
    }
}

fn read_chunks_individually(
    rows: &dyn Rows,
    id: DocumentId,
    count: u32,
) -> Result<Vec<ChunkRecord>, StoreError> {
    let chunk = |place| {
        let chunk = rows.chunk(id, place)?;
        chunk.ok_or_else(|| missing(Table::Chunks, &keys::document_entry(id, place)))
    };
    (0..count).map(chunk).collect()
}

/// Builds the segment of `documents`, which ascend and have rows.
pub fn build_segment(
    rows: &dyn Rows,
    documents: &[DocumentId],
    mut builder: Box<dyn SegmentBuilder + '_>,
) -> Result<SegmentDraft, StoreError> {
    let (mut section, mut skeleton) = (DocumentsBuilder::default(), SkeletonBuilder::default());
    let mut runs = Vec::with_capacity(documents.len());
    let mut next = 0u32;
    for (index, &id) in (0u32..).zip(documents) {
        let record = rows.document(id)?;
        let record = record.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
        let chunks = match rows.chunks(id) {
            // A row that is written over hides the damage of the one below it from a look at it alone.
            Err(error) if error.is_row_damage() => {
                read_chunks_individually(rows, id, record.chunk_count)?
            }
            chunks => chunks?,
        };
        if chunks.len() != record.chunk_count as usize {
            return Err(missing(
                Table::Chunks,
                &keys::document_entry(id, chunks.len() as u32),
            ));
        }
        let first = LocalOrdinal(next);
        next = next
            .checked_add(record.chunk_count)
            .ok_or(StoreError::Limit {
                what: "the chunks of a segment",
                limit: CHUNKS_MAX,
            })?;
        let run = DocumentRun {
            document: id,
            first,
            count: record.chunk_count,
        };
        section.push(run);
        runs.push(run);
        skeleton.push_document(first, index, &chunks);
        builder.push(
            rows,
            &SegmentDocument {
                id,
                first,
                record,
                chunks,
            },
        )?;
    }
    let mut base = PartBuilder::new(PartKind::Segment, next, documents.len() as u32);
    base.push(SectionId::Documents, 0, section.finish());
    base.push(SectionId::Skeleton, 0, skeleton.finish());
    let vectors = builder.finish(&mut base)?;
    Ok(SegmentDraft {
        runs,
        chunk_count: next,
        base: base.into(),
        vectors: vectors.map(|(space, part)| (space, part.into())),
    })
}
