//! Any bytes are a projection or a typed error; what opens embeds texts.
//!
//! The checksum of the header is repaired, so that the code behind the check is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_models::lsa::Projection;
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 64 {
        let checksum = xxh3_64(&bytes[..56]).to_le_bytes();
        bytes[56..64].copy_from_slice(&checksum);
    }
    let Ok(projection) = Projection::new(&bytes[..]) else {
        return;
    };
    let _ = projection.verify();
    let terms = projection.terms() as u32;
    if let Some(term) = projection.term("water") {
        assert!(term < terms);
    }
    let counts = [
        (0, 1),
        (terms / 2, u32::MAX),
        (terms - 1, 3),
        (terms, 1),
        (u32::MAX, 1),
    ];
    for counts in [&counts[..], &counts[..1], &[]] {
        if let Some(vector) = projection.project(counts) {
            assert_eq!(vector.len(), projection.dim());
        }
    }
    let _ = projection.embed_terms(["water", "a", "", "method", "water"]);
    projection.model();
});
