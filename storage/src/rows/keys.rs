//! Keys: the public ones that callers see, and the byte strings that sort in redb.

pub use loci_types::keys::{ChunkKey, DocumentKey, KeyError};

use loci_types::ids::{ConceptEditId, ConceptId, DocumentId, ItemId, ResponseId, SpaceId, WorkId};

/// A row's key.
pub type Key = Vec<u8>;

/// Key in `meta` of the format's number.
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Key in `meta` of the manifest.
pub(crate) const MANIFEST: &[u8] = b"manifest";
/// Key in `meta` of the store's identity: 16 random bytes.
pub(crate) const STORE_ID_KEY: &[u8] = b"identity";
/// Key in `meta` of a row that is present while segments are rebuilt from rows.
pub(crate) const REBUILDING_KEY: &[u8] = b"rebuilding";

/// The key of a segment's tombstones or of a part.
pub(crate) fn id_key(id: u64) -> Key {
    id.to_be_bytes().to_vec()
}

/// Key of rows that a document has one of.
pub fn document(id: DocumentId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key of an asset of a document.
pub fn asset(id: DocumentId, name: &str) -> Key {
    [&document(id)[..], name.as_bytes()].concat()
}

/// Key of rows that a document has many of, by number.
pub fn document_entry(id: DocumentId, number: u32) -> Key {
    [&id.0.to_be_bytes()[..], &number.to_be_bytes()].concat()
}

/// The keys of all rows of a document: from the first, and up to but without the second.
/// The last id is never given out, so the second exists.
pub fn document_range(id: DocumentId) -> (Key, Key) {
    (document(id), document(DocumentId(id.0.saturating_add(1))))
}

/// Key of a vector.
pub fn vector(space: SpaceId, content_hash: [u8; 16]) -> Key {
    [&space.0.to_be_bytes()[..], &content_hash].concat()
}

/// Key of rows that a concept has one of.
pub fn concept(id: ConceptId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key in `concept_documents`.
pub fn concept_document(concept: ConceptId, document: DocumentId) -> Key {
    [&concept.0.to_be_bytes()[..], &document.0.to_be_bytes()].concat()
}

/// Key in `items`.
pub fn item(id: ItemId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key in `chunk_items`: the chunk by its document and suffix.
pub fn chunk_item(document: DocumentId, suffix: u32, id: ItemId) -> Key {
    [&document_entry(document, suffix)[..], &id.0.to_be_bytes()].concat()
}

/// Key in `concept_items`.
pub fn concept_item(concept: ConceptId, id: ItemId) -> Key {
    [&concept.0.to_be_bytes()[..], &id.0.to_be_bytes()].concat()
}

/// Key in `concept_sources`.
pub fn concept_source(to: ConceptId, from: ConceptId, document: DocumentId) -> Key {
    [
        &to.0.to_be_bytes()[..],
        &from.0.to_be_bytes(),
        &document.0.to_be_bytes(),
    ]
    .concat()
}

/// Key in `concept_edits`.
pub fn concept_edit(id: ConceptEditId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key in `retrievals`.
pub fn retrieval(id: ResponseId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key of rows that a cited work has one of.
pub fn work(id: WorkId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key in `work_references`.
pub fn work_reference(work: WorkId, document: DocumentId, number: u32) -> Key {
    [&work.0.to_be_bytes()[..], &document_entry(document, number)].concat()
}

/// Key in `document_works`.
pub fn document_work(document: DocumentId, work: WorkId) -> Key {
    document_entry(document, work.0)
}

/// Start of the keys in `document_identities` and `work_identities` of one identity, which has no byte 0.
pub fn identity(identity: &str) -> Key {
    [identity.as_bytes(), &[0]].concat()
}

/// Key in `document_identities`.
pub fn document_identity(identity_text: &str, document: DocumentId) -> Key {
    [identity(identity_text), document.0.to_be_bytes().to_vec()].concat()
}

/// Key in `work_identities`.
pub fn work_identity(identity_text: &str, work: WorkId) -> Key {
    [identity(identity_text), work.0.to_be_bytes().to_vec()].concat()
}

/// Start of the keys in `claims_on` of one chunk, by its public key.
pub fn claims_on(chunk: &str) -> Key {
    [chunk.as_bytes(), &[0]].concat()
}

/// Key in `claims_on`.
pub fn claim_on(chunk: &str, document: DocumentId, number: u32) -> Key {
    [claims_on(chunk), document_entry(document, number)].concat()
}

/// Key in `relations`.
pub fn relation(source: ConceptId, target: ConceptId, kind: &str) -> Key {
    [
        &source.0.to_be_bytes()[..],
        &target.0.to_be_bytes(),
        kind.as_bytes(),
    ]
    .concat()
}

/// Key in `relation_contributions`.
pub fn document_relation(id: DocumentId, relation: &[u8]) -> Key {
    [&id.0.to_be_bytes()[..], relation].concat()
}

/// Start of the keys in `relation_documents` of one relation. `kind` is at most 65,535 bytes.
pub fn relation_documents(source: ConceptId, target: ConceptId, kind: &str) -> Key {
    let len = kind.len() as u16;
    [
        &source.0.to_be_bytes()[..],
        &target.0.to_be_bytes(),
        &len.to_be_bytes(),
        kind.as_bytes(),
    ]
    .concat()
}

/// Key in `relation_documents`.
pub fn relation_document(
    source: ConceptId,
    target: ConceptId,
    kind: &str,
    document: DocumentId,
) -> Key {
    let mut key = relation_documents(source, target, kind);
    key.extend(document.0.to_be_bytes());
    key
}

/// The first key that does not start with `prefix`, or `None` when there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Key> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

/// The big-endian number at `at` in a key; `None` when the key is too short.
pub fn u32_at(key: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(at..at + 4)?.try_into().ok()?))
}

/// The big-endian number at `at` in a key; `None` when the key is too short.
pub fn u64_at(key: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(at..at + 8)?.try_into().ok()?))
}

/// Source, target and type in a key of `relations`.
pub fn parse_relation(key: &[u8]) -> Option<(ConceptId, ConceptId, &str)> {
    let (source, target) = (u32_at(key, 0)?, u32_at(key, 4)?);
    Some((
        ConceptId(source),
        ConceptId(target),
        std::str::from_utf8(key.get(8..)?).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn after_prefix_is_the_first_key_without_it(prefix: Vec<u8>, rest: Vec<u8>) {
            let key = [&prefix[..], &rest].concat();
            match after_prefix(&prefix) {
                Some(after) => prop_assert!(key < after && !after.starts_with(&prefix)),
                None => prop_assert!(prefix.iter().all(|&b| b == 0xff)),
            }
        }
    }

    #[test]
    fn parse_relation_returns_the_parts_the_key_was_built_from() {
        let key = relation(ConceptId(7), ConceptId(9), "uses");
        assert_eq!(
            parse_relation(&key),
            Some((ConceptId(7), ConceptId(9), "uses"))
        );
        assert_eq!(parse_relation(&key[..6]), None);
    }
}
