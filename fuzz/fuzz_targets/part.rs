//! Any bytes are a part or a typed error; a part's sections are read in bounds.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use loci_storage::segment::{Documents, Part, PartBytes, SectionId, Skeleton};

fuzz_target!(|bytes: &[u8]| {
    let Ok(part) = Part::new(PartBytes::copy(bytes)) else { return };
    let _ = part.verify();
    let part = Arc::new(part);
    let (chunks, documents) = (part.header().chunk_count, part.header().document_count);
    if let Some(section) = part.find(SectionId::Documents, 0) {
        let _ = Documents::new(section, chunks);
    }
    if let Some(section) = part.find(SectionId::Skeleton, 0) {
        let _ = Skeleton::new(section, chunks, documents);
    }
});
