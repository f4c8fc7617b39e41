//! Building and opening a part.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::header::{Entry, Header, PartKind, check, decode_table};
use crate::error::PartError;
use crate::files::bytes::{ALIGN, PartBytes};
use crate::files::segment_dir::SegmentDir;
use crate::publish::Reclaim;
use crate::section::SectionId;

/// An open part: header, section table and bounds are checked.
///
/// A part that is stored in a file and retired deletes the file when the last reader releases it.
pub struct Part {
    bytes: PartBytes,
    header: Header,
    sections: Vec<Entry>,
    file: Option<Reclaim<RemoveFn>>,
    verified: AtomicBool,
}

type RemoveFn = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Part {
    /// Checks header, table and bounds of `bytes`, which may be anything at all. Costs nothing
    /// that grows with the part; [`Part::verify`] reads it whole.
    pub fn new(bytes: PartBytes) -> Result<Part, PartError> {
        let header = Header::decode(bytes.as_ref())?;
        let sections = decode_table(&header, bytes.as_ref())?;
        Ok(Part {
            bytes,
            header,
            sections,
            file: None,
            verified: AtomicBool::new(false),
        })
    }

    /// Says which file the bytes were opened from.
    pub(crate) fn with_file(self, dir: SegmentDir, name: String) -> Part {
        // What cannot be removed is an orphan that the next open deletes.
        let remove: RemoveFn = Box::new(move || drop(dir.remove(&name)));
        Part {
            file: Some(Reclaim::new(remove)),
            ..self
        }
    }

    /// Marks the part as no longer listed by a durable manifest: its file is deleted with its
    /// last reader. A crash before that leaves an orphan, which the next open deletes.
    pub(crate) fn retire(&self) {
        if let Some(file) = &self.file {
            file.retire();
        }
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// An error when pages of its file vanished since it was opened: whatever was read from it is to be thrown away.
    pub fn check_pages(&self) -> Result<(), PartError> {
        if self.bytes.has_lost_pages() {
            Err(PartError::LostPages)
        } else {
            Ok(())
        }
    }

    /// Compares every section with its checksum.
    pub fn verify(&self) -> Result<(), PartError> {
        for entry in &self.sections {
            let name = format!("section {} ({})", entry.id, entry.argument);
            check(&name, entry.xxh3, &self.bytes.as_ref()[range(entry)])?;
        }
        self.verified.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether [`Part::verify`] found it as it was written.
    pub fn is_verified(&self) -> bool {
        self.verified.load(Ordering::Relaxed)
    }

    /// Its sections: id, argument and length.
    pub fn sections(&self) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
        let sections = self.sections.iter();
        sections.map(|entry| (entry.id, entry.argument, entry.len))
    }

    /// The bytes of a section; `None` when it has none.
    pub fn section_bytes(&self, id: u32, argument: u32) -> Option<&[u8]> {
        let mut sections = self.sections.iter();
        let entry = sections.find(|entry| (entry.id, entry.argument) == (id, argument))?;
        Some(&self.bytes.as_ref()[range(entry)])
    }

    /// A section, which keeps the part open for as long as it lives. `None` when it has none.
    pub fn find(self: &Arc<Self>, id: SectionId, argument: u32) -> Option<Section> {
        let entry = self
            .sections
            .iter()
            .find(|entry| entry.matches(id, argument))?;
        Some(Section {
            part: Arc::clone(self),
            range: range(entry),
        })
    }

    /// A section that must be there.
    pub fn section(self: &Arc<Self>, id: SectionId, argument: u32) -> Result<Section, PartError> {
        self.find(id, argument)
            .ok_or(PartError::MissingSection { id, argument })
    }
}

fn range(entry: &Entry) -> Range<usize> {
    entry.offset..entry.offset + entry.len
}

/// The bytes of one section; they start on a cache line.
#[derive(Clone, Debug)]
pub struct Section {
    part: Arc<Part>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Section {
    fn as_ref(&self) -> &[u8] {
        &self.part.bytes.as_ref()[self.range.clone()]
    }
}

/// Collects sections and writes the part.
#[derive(Debug)]
pub struct PartBuilder {
    kind: PartKind,
    chunk_count: u32,
    document_count: u32,
    sections: Vec<(SectionId, u32, Vec<u8>)>,
}

impl PartBuilder {
    /// An empty part.
    pub fn new(kind: PartKind, chunk_count: u32, document_count: u32) -> PartBuilder {
        PartBuilder {
            kind,
            chunk_count,
            document_count,
            sections: Vec::new(),
        }
    }

    /// Adds a section; each (id, argument) once, in any order.
    pub fn push(&mut self, id: SectionId, argument: u32, bytes: Vec<u8>) {
        self.sections.push((id, argument, bytes));
    }

    /// Chunks of the part.
    pub fn chunk_count(&self) -> u32 {
        self.chunk_count
    }

    /// Documents of the part.
    pub fn document_count(&self) -> u32 {
        self.document_count
    }

    /// Bytes of the whole part.
    #[expect(clippy::len_without_is_empty, reason = "a part has a header at least")]
    pub fn len(&self) -> usize {
        let head = (Header::LEN + Entry::LEN * self.sections.len()).next_multiple_of(ALIGN);
        let sections = self.sections.iter();
        head + sections
            .map(|(_, _, bytes)| bytes.len().next_multiple_of(ALIGN))
            .sum::<usize>()
    }

    /// The part's bytes.
    pub fn finish(self, part: u64, generation: u64) -> Vec<u8> {
        self.layout(part, generation).to_vec()
    }

    /// Lays the sections out, without copying them.
    pub(crate) fn layout(mut self, part: u64, generation: u64) -> Layout {
        self.sections
            .sort_by_key(|(id, argument, _)| (*id, *argument));
        let mut at = (Header::LEN + Entry::LEN * self.sections.len()).next_multiple_of(ALIGN);
        let mut entries = Vec::with_capacity(self.sections.len());
        for (id, argument, bytes) in &self.sections {
            entries.push(Entry {
                id: *id as u32,
                argument: *argument,
                offset: at,
                len: bytes.len(),
                xxh3: xxh3_64(bytes),
            });
            at = (at + bytes.len()).next_multiple_of(ALIGN);
        }
        let table: Vec<u8> = entries.iter().flat_map(Entry::encode).collect();
        let header = Header {
            kind: self.kind,
            section_count: entries.len() as u32,
            part,
            generation,
            chunk_count: self.chunk_count,
            document_count: self.document_count,
            len: at as u64,
            table_xxh3: xxh3_64(&table),
        };
        let mut head = header.encode().to_vec();
        head.extend(table);
        Layout {
            len: at,
            head,
            sections: self
                .sections
                .into_iter()
                .map(|(_, _, bytes)| bytes)
                .collect(),
        }
    }
}

/// A part's bytes, in the pieces that they lie in.
pub(crate) struct Layout {
    /// Bytes of the whole part.
    pub(crate) len: usize,
    head: Vec<u8>,
    sections: Vec<Vec<u8>>,
}

impl Layout {
    /// All of it in one buffer.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len);
        self.pieces()
            .for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// The pieces, in order: between sections there are zeros.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let sections = self.sections.iter().map(Vec::as_slice);
        [&self.head[..]]
            .into_iter()
            .chain(sections)
            .flat_map(|piece| {
                let pad = piece.len().next_multiple_of(ALIGN) - piece.len();
                [piece, &[0; ALIGN][..pad]]
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut part = PartBuilder::new(PartKind::Segment, 3, 1);
        part.push(SectionId::Text, 1, b"inner".to_vec());
        part.push(SectionId::Text, 0, vec![7; 100]);
        part.push(SectionId::Skeleton, 0, Vec::new());
        part.finish(9, 4)
    }

    fn open(bytes: &[u8]) -> Result<Arc<Part>, PartError> {
        let part = Part::new(PartBytes::copy(bytes))?;
        part.verify()?;
        Ok(Arc::new(part))
    }

    #[test]
    fn sections_round_trip_and_are_aligned() {
        let part = open(&sample()).unwrap();
        assert_eq!(part.header().part, 9);
        assert_eq!(part.section(SectionId::Text, 1).unwrap().as_ref(), b"inner");
        let text = part.section(SectionId::Text, 0).unwrap();
        assert_eq!(text.as_ref(), [7; 100]);
        assert_eq!(text.as_ref().as_ptr() as usize % ALIGN, 0);
        assert!(
            part.section(SectionId::Skeleton, 0)
                .unwrap()
                .as_ref()
                .is_empty()
        );
        assert!(matches!(
            part.section(SectionId::Names, 0),
            Err(PartError::MissingSection {
                id: SectionId::Names,
                ..
            })
        ));
    }

    #[test]
    fn truncated_part_is_rejected_at_every_length() {
        let bytes = sample();
        for len in 0..bytes.len() {
            assert!(
                open(&bytes[..len]).is_err(),
                "a cut at {len} was not noticed"
            );
        }
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed_or_lies_between_sections(bit: prop::sample::Index) {
            let good = sample();
            let mut bytes = good.clone();
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(part) = open(&bytes) {
                let text = part.section(SectionId::Text, 0).unwrap();
                prop_assert_eq!(text.as_ref(), [7; 100]);
                let inner = part.section(SectionId::Text, 1).unwrap();
                prop_assert_eq!(inner.as_ref(), b"inner");
            }
        }

        #[test]
        fn a_table_that_lies_is_answered_with_an_error_or_with_bytes(at in 64usize..160, byte: u8) {
            // The checksums are made right again, so only the bounds stand between us and a panic.
            let mut bytes = sample();
            bytes[at] = byte;
            let mut header = Header::decode(&bytes).unwrap();
            header.table_xxh3 = xxh3_64(&bytes[64..160]);
            bytes[..64].copy_from_slice(&header.encode());
            if let Ok(part) = Part::new(PartBytes::copy(&bytes)) {
                let _ = part.verify();
            }
        }
    }
}
