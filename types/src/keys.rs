//! The public keys of documents and chunks: parsed, checked and printed.

use std::fmt;
use std::str::FromStr;

/// Bytes of a document's key, user or collection at most.
pub const KEY_LEN_MAX: usize = 1024;

/// Why something cannot be a key. Nothing was looked up; correct the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A document has a name of at least one character.
    #[error("a document's key is empty")]
    Empty,
    /// A colon parts user, collection and key.
    #[error("user and collection may not contain ':'")]
    Colon,
    /// One of the three is longer than [`KEY_LEN_MAX`]. Shorten it.
    #[error("a document's key would pass the limit of {KEY_LEN_MAX}")]
    TooLong,
    /// A chunk's key is that of its document, `#`, and its number.
    #[error("{0:?} is no chunk's key (KEY#NUMBER)")]
    NotAChunk(String),
}

/// What a document is called outside of the store: unique by user, collection and key.
///
/// Printed as the key alone in the default collection without an owner, else `collection::key` or
/// `user::collection::key`. A key that itself contains `::` is always printed in the last form, so
/// that every printed key is parsed back to the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// The owner; empty for a shared document.
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
    ) -> Result<DocumentKey, KeyError> {
        let new = DocumentKey {
            user: user.into(),
            collection: collection.into(),
            key: key.into(),
        };
        if new.key.is_empty() {
            return Err(KeyError::Empty);
        }
        if new.user.contains(':') || new.collection.contains(':') {
            return Err(KeyError::Colon);
        }
        let longest = new.user.len().max(new.collection.len()).max(new.key.len());
        if longest > KEY_LEN_MAX {
            return Err(KeyError::TooLong);
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
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let parts: Vec<&str> = text.splitn(3, "::").collect();
        match parts[..] {
            [key] => DocumentKey::new("", "", key),
            [collection, key] => DocumentKey::new("", collection, key),
            [user, collection, key] => DocumentKey::new(user, collection, key),
            _ => Err(KeyError::Empty),
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
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError::NotAChunk(text.to_owned());
        let (document, suffix) = text.rsplit_once('#').ok_or_else(wrong)?;
        let suffix = suffix.parse().map_err(|_| wrong())?;
        Ok(ChunkKey {
            document: document.parse()?,
            suffix,
        })
    }
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
    }

    #[test]
    fn rules_for_keys_are_checked() {
        let cases = [
            (DocumentKey::new("", "", ""), KeyError::Empty),
            (DocumentKey::new("a:b", "", "k"), KeyError::Colon),
            (
                DocumentKey::new("", "", "k".repeat(KEY_LEN_MAX + 1)),
                KeyError::TooLong,
            ),
        ];
        for (key, error) in cases {
            assert_eq!(key, Err(error));
        }
        assert!("k".parse::<ChunkKey>().is_err());
    }
}
