//! Access keys of a store: their roles and limits, and the file that stores them.
//!
//! A key is a random secret of 256 bits with an id. It is shown once, when it is created; its SHA-256 is stored,
//! which needs no salt and no stretching, as no one can guess such a secret. Secrets are compared in constant time,
//! also against none, so that a wrong secret and an unknown id take the same work.
//!
//! Start reading at [`Keys`].

pub(crate) mod connection_rate;
mod key_file;
pub(crate) mod limits;

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_protocol::call::Role;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub use key_file::KeyFile;
pub(crate) use key_file::Stamp;

/// What every key begins with, so that it is known for one where it leaks.
const PREFIX: &str = "loci_";
/// Random bytes of an id, and hex digits.
const ID_LEN: usize = 8;
/// Random bytes of a secret.
const SECRET_LEN: usize = 32;
/// Bytes of a user at most, as of a document's.
const USER_LEN_MAX: usize = 1_024;
/// Characters of a key's note at most.
const NOTE_CHARS_MAX: usize = 200;

/// A key as its owner has it: `loci_ID_SECRET`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    id: String,
    secret: [u8; SECRET_LEN],
}

impl Key {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn random() -> Result<Key, AccessError> {
        let (mut id, mut secret) = ([0; ID_LEN], [0; SECRET_LEN]);
        for bytes in [&mut id[..], &mut secret[..]] {
            getrandom::fill(bytes).map_err(|error| AccessError::Random(error.to_string()))?;
        }
        let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Key { id, secret })
    }

    /// Its id, which is no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }
}

/// The whole key, secret and all.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = URL_SAFE_NO_PAD.encode(self.secret);
        write!(f, "{PREFIX}{}_{secret}", self.id)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl FromStr for Key {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Key, AccessError> {
        let parts = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.ok_or(AccessError::Malformed)?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if id.len() != 2 * ID_LEN || !id.bytes().all(is_hex) {
            return Err(AccessError::Malformed);
        }
        let secret = URL_SAFE_NO_PAD.decode(secret).ok();
        let secret = secret.and_then(|bytes| bytes.try_into().ok());
        Ok(Key {
            id: id.to_owned(),
            secret: secret.ok_or(AccessError::Malformed)?,
        })
    }
}

/// What a store keeps of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    /// Its id.
    pub id: String,
    /// SHA-256 of its secret, in hex.
    hash: String,
    /// What it allows.
    pub role: Role,
    /// The user whose documents alone are there for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// How much it may ask.
    #[serde(default, skip_serializing_if = "KeyLimits::is_default")]
    pub limits: KeyLimits,
}

/// How much a key may call; where it is silent, the server's configuration decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyLimits {
    /// Calls a second, in the long run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_second: Option<u32>,
    /// Calls at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Bytes of a call at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_bytes_max: Option<u32>,
}

impl KeyLimits {
    fn is_default(&self) -> bool {
        *self == KeyLimits::default()
    }
}

/// What a new key is to allow.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Its role.
    pub role: Role,
    /// The user that it is bound to.
    pub user: Option<String>,
    /// What it is for.
    pub note: String,
    /// How much it may ask.
    pub limits: KeyLimits,
}

impl NewKey {
    /// A key with this role and nothing else.
    pub(crate) fn new(role: Role, note: &str) -> NewKey {
        NewKey {
            role,
            user: None,
            note: note.to_owned(),
            limits: KeyLimits::default(),
        }
    }
}

/// The keys of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys {
    records: Vec<KeyRecord>,
}

impl Keys {
    /// All of them, the oldest first.
    pub fn records(&self) -> &[KeyRecord] {
        &self.records
    }

    /// Creates a key, which is shown only now.
    ///
    /// # Errors
    /// [`AccessError::Invalid`] for an admin that is bound to a user, or a note or user that cannot be stored.
    pub fn add(&mut self, new: NewKey, now_ms: u64) -> Result<Key, AccessError> {
        let invalid = |why: &str| Err(AccessError::Invalid(why.to_owned()));
        if new.user.is_some() && new.role == Role::Admin {
            return invalid(
                "a key that is bound to a user reads or writes; an admin's sees all of the store",
            );
        }
        if new.user.as_ref().is_some_and(|user| user.is_empty()) {
            return invalid("the user that a key is bound to needs a name");
        }
        let user = new.user.as_deref().unwrap_or_default();
        if user.contains(':') || user.len() > USER_LEN_MAX {
            return invalid("a user has no ':' and at most 1,024 bytes");
        }
        if new.note.chars().count() > NOTE_CHARS_MAX {
            return invalid("a note has at most 200 characters");
        }
        if new.limits.calls_per_second == Some(0) || new.limits.burst == Some(0) {
            return invalid("a key that may ask nothing is of no use: give limits above 0");
        }
        let key = Key::random()?;
        let hash = key.hash().into_iter().map(|byte| format!("{byte:02x}"));
        self.records.push(KeyRecord {
            id: key.id.clone(),
            hash: hash.collect(),
            role: new.role,
            user: new.user,
            note: new.note,
            created_at_ms: now_ms,
            limits: new.limits,
        });
        Ok(key)
    }

    /// Takes one back; whether it was there.
    pub fn revoke(&mut self, id: &str) -> bool {
        let before = self.records.len();
        self.records.retain(|record| record.id != id);
        self.records.len() < before
    }

    /// The record of a key, if it is one of these. Takes the same work for a wrong secret as for an unknown id.
    pub(crate) fn check(&self, key: &Key) -> Option<&KeyRecord> {
        let record = self.records.iter().find(|record| record.id == key.id);
        let stored_hash = record.and_then(KeyRecord::hash_bytes);
        let is_right = key.hash().ct_eq(&stored_hash.unwrap_or_default());
        record.filter(|_| stored_hash.is_some() && bool::from(is_right))
    }
}

impl KeyRecord {
    /// Everything but the hash, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "id": self.id, "role": self.role, "user": self.user, "note": self.note,
            "created_at_ms": self.created_at_ms, "limits": self.limits,
        })
    }

    fn hash_bytes(&self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        if self.hash.len() != 2 * bytes.len() || !self.hash.is_ascii() {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            let digits = self.hash.get(2 * place..2 * place + 2)?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(bytes)
    }
}

/// Why keys cannot be used or stored.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Text that is no key.
    #[error("that is no key: keys look like loci_1f2e3d4c5b6a7988_…")]
    Malformed,
    /// A key that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The store that the keys are of is not there any more.
    #[error("the store was removed, or another is in its place")]
    Gone,
    /// No random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
    /// The file of keys.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Others may write the file of keys, and let themselves in.
    #[error(
        "{path} may be written by others than its owner: look at its keys, then run `chmod go-w {path}`"
    )]
    Writable {
        /// The file.
        path: String,
    },
    /// The file of keys is none.
    #[error("{path} is damaged ({why}): mend it, or remove it and make new keys")]
    Damaged {
        /// The file.
        path: String,
        /// Why it cannot be read.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_verified_by_its_secret() {
        let mut keys = Keys::default();
        let reader = keys.add(NewKey::new(Role::Read, "app"), 1).unwrap();
        let admin = keys.add(NewKey::new(Role::Admin, ""), 2).unwrap();
        let parsed: Key = reader.to_string().parse().unwrap();
        assert_eq!(keys.check(&parsed).unwrap().role, Role::Read);
        assert_eq!(keys.check(&admin).unwrap().role, Role::Admin);
        let mixed = Key {
            id: reader.id.clone(),
            secret: admin.secret,
        };
        assert_eq!(keys.check(&mixed), None);
        assert_eq!(keys.check(&Key::random().unwrap()), None);
        assert!(keys.revoke(reader.id()));
        assert!(!keys.revoke(reader.id()));
        assert_eq!(keys.check(&reader), None);
    }

    #[test]
    fn stored_records_do_not_contain_the_secret() {
        let mut keys = Keys::default();
        let key = keys.add(NewKey::new(Role::Write, "app"), 1).unwrap();
        let stored = serde_json::to_string(keys.records()).unwrap();
        let secret = key.to_string().rsplit_once('_').unwrap().1.to_owned();
        assert!(!stored.contains(&secret) && !format!("{key:?}").contains(&secret));
    }

    #[test]
    fn malformed_keys_are_rejected() {
        let key = Key::random().unwrap().to_string();
        let cut = &key[..key.len() - 1];
        let upper = key.to_uppercase();
        for wrong in [
            "",
            "loci_",
            "loci__",
            cut,
            &upper,
            "loci_0123456789abcdef_é",
            &format!("{key}A"),
        ] {
            assert!(
                matches!(wrong.parse::<Key>(), Err(AccessError::Malformed)),
                "{wrong}"
            );
        }
    }

    #[test]
    fn record_with_a_different_hash_authenticates_nobody() {
        let mut keys = Keys::default();
        let key = keys.add(NewKey::new(Role::Read, ""), 1).unwrap();
        for wrong in ["", "zz", &"é".repeat(32), &"0".repeat(64), &"g".repeat(64)] {
            keys.records[0].hash = wrong.to_owned();
            assert_eq!(keys.check(&key), None, "{wrong}");
        }
    }

    #[test]
    fn invalid_key_options_are_rejected() {
        let mut keys = Keys::default();
        let bound = NewKey {
            user: Some("u".into()),
            ..NewKey::new(Role::Admin, "")
        };
        let nobody = NewKey {
            user: Some(String::new()),
            ..NewKey::new(Role::Read, "")
        };
        let long = NewKey::new(Role::Read, &"x".repeat(201));
        let never = NewKey {
            user: Some("a:b".into()),
            ..NewKey::new(Role::Read, "")
        };
        for new in [bound, nobody, never, long] {
            assert!(matches!(keys.add(new, 1), Err(AccessError::Invalid(_))));
        }
        assert!(keys.records().is_empty());
    }
}
