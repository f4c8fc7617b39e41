//! Any bytes are a part or a typed error; a part's sections are read in bounds.
//!
//! The checksums of header and section table are repaired, so that the code behind the check is reached.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use loci_storage::segment::{Documents, Part, PartBytes, SectionId, Skeleton};
use loci_storage::{DocumentId, LocalOrdinal};
use xxhash_rust::xxh3::xxh3_64;

const HEADER_LEN: usize = 64;
const ENTRY_LEN: usize = 32;

fn with_repaired_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Some(count) = bytes.get(12..16).and_then(|count| count.first_chunk()) else {
        return bytes;
    };
    let table_end = (u32::from_le_bytes(*count) as usize)
        .saturating_mul(ENTRY_LEN)
        .saturating_add(HEADER_LEN);
    let Some(table) = bytes.get(HEADER_LEN..table_end) else {
        return bytes;
    };
    let table = xxh3_64(table).to_le_bytes();
    let len = (bytes.len() as u64).to_le_bytes();
    bytes[40..48].copy_from_slice(&len);
    bytes[48..56].copy_from_slice(&table);
    let header = xxh3_64(&bytes[..56]).to_le_bytes();
    bytes[56..64].copy_from_slice(&header);
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Part::new(PartBytes::copy(bytes));
    let Ok(part) = Part::new(PartBytes::copy(&with_repaired_checksums(bytes))) else {
        return;
    };
    let _ = part.verify();
    let part = Arc::new(part);
    let (chunks, documents) = (part.header().chunk_count, part.header().document_count);
    if let Some(runs) = part
        .find(SectionId::Documents, 0)
        .and_then(|section| Documents::new(section, chunks).ok())
    {
        for run in runs.iter() {
            assert!(run.end().0 <= chunks && runs.find(run.document) == Some(run));
        }
        let _ = runs.find(DocumentId(u64::MAX));
    }
    if let Some(rows) = part
        .find(SectionId::Skeleton, 0)
        .and_then(|section| Skeleton::new(section, chunks, documents).ok())
    {
        for local in (0..rows.len()).map(LocalOrdinal) {
            let row = rows.get(local).expect("it was checked");
            assert!(
                row.document < documents && row.subtree_end.0 <= chunks && row.parent < Some(local)
            );
        }
        assert!(rows.get(LocalOrdinal(chunks)).is_none());
    }
    let others = [
        SectionId::Text,
        SectionId::Facets,
        SectionId::Names,
        SectionId::Vectors,
        SectionId::Links,
    ];
    for (id, argument) in others.into_iter().zip([0, 1, 0, 1, 0]) {
        if let Ok(section) = part.section(id, argument) {
            assert!(section.as_ref().len() <= bytes.len());
        }
    }
});
