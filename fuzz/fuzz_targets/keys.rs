//! Any bytes are a row's key or none; any text is a public key or an error, and is printed as it is parsed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_storage::keys::{after_prefix, parse_relation, relation, u32_at, u64_at};
use loci_storage::{ChunkKey, DocumentId, DocumentKey, keys};

fuzz_target!(|bytes: &[u8]| {
    if let Some((source, target, kind)) = parse_relation(bytes) {
        assert_eq!(relation(source, target, kind), bytes);
    }
    for at in [0, 4, 8, bytes.len(), bytes.len().saturating_sub(4)] {
        let (short, long) = (u32_at(bytes, at), u64_at(bytes, at));
        assert!(long.is_none() || short.map(u64::from) == long.map(|long| long >> 32));
    }
    if let Some(after) = after_prefix(bytes) {
        assert!(bytes < &after[..] && !after.starts_with(bytes));
    }
    if let Some(id) = u64_at(bytes, 0) {
        let (from, to) = keys::document_range(DocumentId(id));
        assert!(from < to || id == u64::MAX);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(key) = text.parse::<DocumentKey>() {
        assert_eq!(key.to_string().parse::<DocumentKey>().ok(), Some(key));
    }
    if let Ok(key) = text.parse::<ChunkKey>() {
        assert_eq!(key.to_string().parse::<ChunkKey>().ok(), Some(key));
    }
});
