//! A fixed-width row a chunk: what ranking and range arithmetic read instead of redb.
//! `docs/format.md` has the bytes.

use crate::error::PartError;
use crate::rows::records::{ChunkRecord, ChunkType, ContentType, Level};
use loci_types::ids::LocalOrdinal;

const ROW_LEN: usize = 32;

/// Parent of a chunk that has none, on disk.
pub const NO_PARENT: u32 = u32::MAX;

/// One chunk's row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkeletonRow {
    /// Its parent.
    pub parent: Option<LocalOrdinal>,
    /// One past the last chunk of its subtree.
    pub subtree_end: LocalOrdinal,
    /// Index of its document in the segment's documents.
    pub document: u32,
    /// What it stands for.
    pub level: Level,
    /// What it is for.
    pub chunk_type: ChunkType,
    /// What it consists of.
    pub content_type: ContentType,
    /// Estimated tokens.
    pub token_count: u32,
    /// How many citations it makes.
    pub citation_count: u32,
    /// How sure the extractor was.
    pub confidence: f32,
    /// The number in its key.
    pub suffix: u32,
}

/// Collects the rows of a segment.
#[derive(Debug, Default)]
pub struct SkeletonBuilder {
    bytes: Vec<u8>,
}

impl SkeletonBuilder {
    /// Adds the chunks of one document, which starts at `first` and is the `document`-th of the
    /// segment. Places in the records count from the document's first chunk.
    pub fn push_document(&mut self, first: LocalOrdinal, document: u32, chunks: &[ChunkRecord]) {
        for chunk in chunks {
            let parent = chunk.parent.map_or(NO_PARENT, |place| first.0 + place);
            self.bytes.extend(parent.to_le_bytes());
            self.bytes
                .extend((first.0 + chunk.subtree_end).to_le_bytes());
            self.bytes.extend(document.to_le_bytes());
            self.bytes.extend([
                chunk.level as u8,
                chunk.chunk_type as u8,
                chunk.content_type as u8,
                0,
            ]);
            self.bytes.extend(chunk.token_count.to_le_bytes());
            self.bytes.extend(chunk.citation_count.to_le_bytes());
            self.bytes.extend(chunk.confidence.to_le_bytes());
            self.bytes.extend(chunk.suffix.to_le_bytes());
        }
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The rows of a segment, checked.
#[derive(Debug)]
pub struct Skeleton<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> Skeleton<B> {
    /// Checks every row: parents before children, subtrees inside their parent's, documents and
    /// enums in range. Costs one pass.
    pub fn new(bytes: B, chunks: u32, documents: u32) -> Result<Skeleton<B>, PartError> {
        if bytes.as_ref().len() != chunks as usize * ROW_LEN {
            return Err(PartError::Malformed("skeleton: wrong length".into()));
        }
        let skeleton = Skeleton { bytes };
        for local in (0..chunks).map(LocalOrdinal) {
            let malformed = || PartError::Malformed(format!("skeleton: row {}", local.0));
            let row = skeleton.get(local).ok_or_else(malformed)?;
            let end_max = match row.parent {
                None => chunks,
                Some(parent) if parent < local => {
                    skeleton.get(parent).ok_or_else(malformed)?.subtree_end.0
                }
                Some(_) => return Err(malformed()),
            };
            let end = row.subtree_end.0;
            if row.document >= documents || end <= local.0 || end > end_max {
                return Err(malformed());
            }
        }
        Ok(skeleton)
    }

    /// How many chunks there are.
    pub fn len(&self) -> u32 {
        (self.bytes.as_ref().len() / ROW_LEN) as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of a chunk; `None` when there is no such chunk.
    pub fn get(&self, local: LocalOrdinal) -> Option<SkeletonRow> {
        let at = local.0 as usize * ROW_LEN;
        let row = self.bytes.as_ref().get(at..)?.first_chunk::<ROW_LEN>()?;
        let word = |at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        Some(SkeletonRow {
            parent: (word(0) != NO_PARENT).then(|| LocalOrdinal(word(0))),
            subtree_end: LocalOrdinal(word(4)),
            document: word(8),
            level: Level::from_number(row[12])?,
            chunk_type: ChunkType::from_number(row[13])?,
            content_type: ContentType::from_number(row[14])?,
            token_count: word(16),
            citation_count: word(20),
            confidence: f32::from_bits(word(24)),
            suffix: word(28),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(parent: Option<u32>, subtree_end: u32) -> ChunkRecord {
        ChunkRecord {
            parent,
            subtree_end,
            suffix: 4,
            confidence: 0.5,
            ..ChunkRecord::default()
        }
    }

    fn sample() -> Vec<u8> {
        let mut builder = SkeletonBuilder::default();
        builder.push_document(LocalOrdinal(0), 0, &[chunk(None, 1)]);
        let tree = [chunk(None, 3), chunk(Some(0), 2), chunk(Some(0), 3)];
        builder.push_document(LocalOrdinal(1), 1, &tree);
        builder.finish()
    }

    #[test]
    fn skeleton_rows_use_segment_local_ordinals() {
        let skeleton = Skeleton::new(sample(), 4, 2).unwrap();
        let row = skeleton.get(LocalOrdinal(3)).unwrap();
        assert_eq!(
            (row.parent, row.subtree_end),
            (Some(LocalOrdinal(1)), LocalOrdinal(4))
        );
        assert_eq!((row.document, row.suffix, row.confidence), (1, 4, 0.5));
        assert_eq!(skeleton.get(LocalOrdinal(4)), None);
    }

    proptest! {
        #[test]
        fn changed_bytes_are_answered_with_an_error_or_with_rows_in_bounds(
            at in 0..4 * ROW_LEN, byte: u8,
        ) {
            let mut bytes = sample();
            bytes[at] = byte;
            if let Ok(skeleton) = Skeleton::new(bytes, 4, 2) {
                for local in (0..4).map(LocalOrdinal) {
                    let row = skeleton.get(local).unwrap();
                    prop_assert!(row.subtree_end.0 <= 4 && row.document < 2);
                    prop_assert!(row.parent.is_none_or(|parent| parent < local));
                }
            }
        }
    }
}
