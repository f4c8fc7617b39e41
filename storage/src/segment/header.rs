//! The header of a part and its section table: read from bytes that may be anything at all.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::PartError;
use crate::files::bytes::ALIGN;
use crate::section::SectionId;

pub(super) const MAGIC: [u8; 8] = *b"\x89LOC\r\n\x1a\n";
pub(super) const VERSION: u16 = 0;
pub(super) const SECTIONS_MAX: u32 = 1024;

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum PartKind {
    /// A segment: skeleton, text, facets, names, mentions, relations.
    Segment = 1,
    /// A segment's vectors in one space.
    Vectors = 2,
    /// A vector space's projection.
    Projection = 3,
    /// PageRank and what else is computed over the whole store.
    Analysis = 4,
}

impl PartKind {
    fn from_number(number: u16) -> Option<PartKind> {
        use PartKind::{Analysis, Projection, Segment, Vectors};
        [Segment, Vectors, Projection, Analysis]
            .into_iter()
            .find(|&kind| kind as u16 == number)
    }
}

/// The first 64 bytes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the part is for.
    pub kind: PartKind,
    /// Entries in the section table.
    pub section_count: u32,
    /// The part's id.
    pub part: u64,
    /// Generation of the commit that lists it.
    pub generation: u64,
    /// Chunks.
    pub chunk_count: u32,
    /// Documents.
    pub document_count: u32,
    /// Bytes of the whole part.
    pub len: u64,
    /// Checksum of the section table.
    pub table_xxh3: u64,
}

impl Header {
    /// Bytes on disk.
    pub const LEN: usize = 64;

    /// The bytes of the header.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&(self.kind as u16).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.section_count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.part.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.generation.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.chunk_count.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.document_count.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.len.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.table_xxh3.to_le_bytes());
        let checksum = xxh3_64(&bytes[..56]);
        bytes[56..64].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header from the start of `bytes`, which may be anything at all.
    pub fn decode(bytes: &[u8]) -> Result<Header, PartError> {
        let got = bytes.len() as u64;
        let Some(head) = bytes.first_chunk::<{ Self::LEN }>() else {
            return Err(PartError::Truncated {
                need: Self::LEN as u64,
                got,
            });
        };
        if head[0..8] != MAGIC {
            return Err(PartError::NotAPart);
        }
        // Before the checksum: a later version may place its checksum elsewhere.
        let found = u16::from_le_bytes([head[8], head[9]]);
        if found != VERSION {
            return Err(PartError::Version {
                found,
                known: VERSION,
            });
        }
        check("header", u64_at(head, 56), &head[..56])?;
        let kind = u16::from_le_bytes([head[10], head[11]]);
        let header = Header {
            kind: PartKind::from_number(kind)
                .ok_or_else(|| PartError::Malformed(format!("unknown kind {kind}")))?,
            section_count: u32_at(head, 12),
            part: u64_at(head, 16),
            generation: u64_at(head, 24),
            chunk_count: u32_at(head, 32),
            document_count: u32_at(head, 36),
            len: u64_at(head, 40),
            table_xxh3: u64_at(head, 48),
        };
        if header.section_count > SECTIONS_MAX {
            return Err(PartError::Malformed(format!(
                "{} sections",
                header.section_count
            )));
        }
        if header.len != got {
            return Err(PartError::Truncated {
                need: header.len,
                got,
            });
        }
        Ok(header)
    }
}

/// One line of the section table, its range checked to lie in the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: u32,
    pub(super) argument: u32,
    pub(super) offset: usize,
    pub(super) len: usize,
    pub(super) xxh3: u64,
}

impl Entry {
    pub(super) const LEN: usize = 32;

    pub(super) fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[0..4].copy_from_slice(&self.id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.argument.to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.offset as u64).to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.len as u64).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.xxh3.to_le_bytes());
        bytes
    }

    pub(super) fn matches(&self, id: SectionId, argument: u32) -> bool {
        (self.id, self.argument) == (id as u32, argument)
    }
}

/// Reads the section table of the part `bytes`, whose header is `header`.
pub(super) fn decode_table(header: &Header, bytes: &[u8]) -> Result<Vec<Entry>, PartError> {
    let end = Header::LEN + Entry::LEN * header.section_count as usize;
    let truncated = || PartError::Truncated {
        need: end as u64,
        got: bytes.len() as u64,
    };
    let table = bytes.get(Header::LEN..end).ok_or_else(truncated)?;
    check("section table", header.table_xxh3, table)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(header.section_count as usize);
    let mut free = end;
    for line in table.chunks_exact(Entry::LEN) {
        let entry = decode_entry(line, free, bytes.len())?;
        if let Some(last) = entries.last()
            && (last.id, last.argument) >= (entry.id, entry.argument)
        {
            return Err(PartError::Malformed("sections are out of order".into()));
        }
        free = entry.offset + entry.len;
        entries.push(entry);
    }
    Ok(entries)
}

fn decode_entry(line: &[u8], free: usize, len: usize) -> Result<Entry, PartError> {
    let malformed = || PartError::Malformed("a section lies outside of the part".into());
    let offset = usize::try_from(u64_at(line, 8)).map_err(|_| malformed())?;
    let size = usize::try_from(u64_at(line, 16)).map_err(|_| malformed())?;
    let end = offset.checked_add(size).ok_or_else(malformed)?;
    if offset < free || !offset.is_multiple_of(ALIGN) || end > len {
        return Err(malformed());
    }
    Ok(Entry {
        id: u32_at(line, 0),
        argument: u32_at(line, 4),
        offset,
        len: size,
        xxh3: u64_at(line, 24),
    })
}

/// Compares a written checksum with that of `bytes`.
pub(super) fn check(part: &str, written: u64, bytes: &[u8]) -> Result<(), PartError> {
    let got = xxh3_64(bytes);
    if written != got {
        return Err(PartError::Checksum {
            part: part.into(),
            written,
            got,
        });
    }
    Ok(())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Header {
        Header {
            kind: PartKind::Segment,
            section_count: 2,
            part: 3,
            generation: 4,
            chunk_count: 5,
            document_count: 6,
            len: 64,
            table_xxh3: 8,
        }
    }

    #[test]
    fn golden_bytes_of_a_header() {
        // A change here is a new version, not a new expectation.
        let bytes = sample().encode();
        assert_eq!(&bytes[..16], b"\x89LOC\r\n\x1a\n\0\0\x01\0\x02\0\0\0");
        assert_eq!(bytes[56..], xxh3_64(&bytes[..56]).to_le_bytes());
    }

    #[test]
    fn header_round_trips() {
        assert_eq!(Header::decode(&sample().encode()).unwrap(), sample());
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(bit in 0..Header::LEN * 8) {
            let mut bytes = sample().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_answered(bytes: Vec<u8>) {
            let _ = Header::decode(&bytes);
        }
    }
}
