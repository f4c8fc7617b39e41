//! Keys: the public ones that callers see, and the byte strings that sort in redb.

use std::fmt;
use std::str::FromStr;

use crate::error::StoreError;
use crate::ids::{ConceptId, DocumentId, EditId, ItemId, ResponseId, SpaceId, WorkId};
use crate::limits::KEY_LEN_MAX;

/// What a document is called outside of the store: unique by user, collection and key.
///
/// Printed as the key alone in the default collection of nobody, else `collection::key` or
/// `user::collection::key`. A key that itself contains `::` is always printed in the last form, so
/// that every printed key is parsed back to the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// Who owns it; empty for nobody in particular.
    pub user: String,
    /// The named collection; empty for the default one.
    pub collection: String,
    /// The caller's name for it.
    pub key: String,
}

impl DocumentKey {
    /// Checks the rules: a key that is not empty, no `:` in user or collection, lengths in bounds.
    pub fn new(
        user: impl Into<String>,
        collection: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<DocumentKey, StoreError> {
        let new = DocumentKey {
            user: user.into(),
            collection: collection.into(),
            key: key.into(),
        };
        if new.key.is_empty() {
            return Err(StoreError::Invalid("a document's key is empty".into()));
        }
        if new.user.contains(':') || new.collection.contains(':') {
            return Err(StoreError::Invalid(
                "user and collection may not contain ':'".into(),
            ));
        }
        let longest = new.user.len().max(new.collection.len()).max(new.key.len());
        if longest > KEY_LEN_MAX {
            return Err(StoreError::Limit {
                what: "a document's key",
                limit: KEY_LEN_MAX as u64,
            });
        }
        Ok(new)
    }
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.user.is_empty() || self.key.contains("::") {
            write!(f, "{}::{}::", self.user, self.collection)?;
        } else if !self.collection.is_empty() {
            write!(f, "{}::", self.collection)?;
        }
        f.write_str(&self.key)
    }
}

impl FromStr for DocumentKey {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let parts: Vec<&str> = text.splitn(3, "::").collect();
        match parts[..] {
            [key] => DocumentKey::new("", "", key),
            [collection, key] => DocumentKey::new("", collection, key),
            [user, collection, key] => DocumentKey::new(user, collection, key),
            _ => Err(StoreError::Invalid("a document's key is empty".into())),
        }
    }
}

/// What a chunk is called outside of the store: its document and a number that stays with it for
/// as long as its text does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkKey {
    /// The document.
    pub document: DocumentKey,
    /// The number, unique in the document.
    pub suffix: u32,
}

impl fmt::Display for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.document, self.suffix)
    }
}

impl FromStr for ChunkKey {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let wrong = || StoreError::Invalid(format!("{text:?} is no chunk's key (KEY#NUMBER)"));
        let (document, suffix) = text.rsplit_once('#').ok_or_else(wrong)?;
        let suffix = suffix.parse().map_err(|_| wrong())?;
        Ok(ChunkKey {
            document: document.parse()?,
            suffix,
        })
    }
}

/// A row's key.
pub type Key = Vec<u8>;

/// Key of rows that a document has one of.
pub fn document(id: DocumentId) -> Key {
    id.0.to_be_bytes().to_vec()
}

/// Key of an asset of a document.
pub fn asset(id: DocumentId, name: &str) -> Key {
    [&document(id)[..], name.as_bytes()].concat()
}

/// Key of rows that a document has many of, by number.
pub fn in_document(id: DocumentId, number: u32) -> Key {
    [&id.0.to_be_bytes()[..], &number.to_be_bytes()].concat()
}

/// The keys of all rows of a document: from the first, and up to but without the second.
/// The last id is never given out, so the second exists.
pub fn of_document(id: DocumentId) -> (Key, Key) {
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
    [&in_document(document, suffix)[..], &id.0.to_be_bytes()].concat()
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
pub fn edit(id: EditId) -> Key {
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
    [&work.0.to_be_bytes()[..], &in_document(document, number)].concat()
}

/// Key in `document_works`.
pub fn document_work(document: DocumentId, work: WorkId) -> Key {
    in_document(document, work.0)
}

/// Start of the keys in `document_identities` and `work_identities` of one identity, which has no byte 0.
pub fn identity(identity: &str) -> Key {
    [identity.as_bytes(), &[0]].concat()
}

/// Key in `document_identities`.
pub fn document_identity(of: &str, document: DocumentId) -> Key {
    [identity(of), document.0.to_be_bytes().to_vec()].concat()
}

/// Key in `work_identities`.
pub fn work_identity(of: &str, work: WorkId) -> Key {
    [identity(of), work.0.to_be_bytes().to_vec()].concat()
}

/// Start of the keys in `claims_on` of one chunk, by its public key.
pub fn claims_on(chunk: &str) -> Key {
    [chunk.as_bytes(), &[0]].concat()
}

/// Key in `claims_on`.
pub fn claim_on(chunk: &str, document: DocumentId, number: u32) -> Key {
    [claims_on(chunk), in_document(document, number)].concat()
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
pub fn relation_in_document(id: DocumentId, relation: &[u8]) -> Key {
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

    fn any_key() -> impl Strategy<Value = DocumentKey> {
        ("[a-z]{0,3}", "[a-z]{0,3}", "[a-c:#/]{1,8}").prop_map(|(user, collection, key)| {
            DocumentKey {
                user,
                collection,
                key,
            }
        })
    }

    proptest! {
        #[test]
        fn a_printed_document_key_is_parsed_back(key in any_key()) {
            prop_assert_eq!(key.to_string().parse::<DocumentKey>().unwrap(), key);
        }

        #[test]
        fn a_printed_chunk_key_is_parsed_back(document in any_key(), suffix: u32) {
            let key = ChunkKey { document, suffix };
            prop_assert_eq!(key.to_string().parse::<ChunkKey>().unwrap(), key);
        }

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

    #[test]
    fn invalid_keys_are_rejected() {
        assert!(DocumentKey::new("", "", "").is_err());
        assert!(DocumentKey::new("a:b", "", "k").is_err());
        assert!(DocumentKey::new("", "", "k".repeat(KEY_LEN_MAX + 1)).is_err());
    }
}
