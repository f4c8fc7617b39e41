//! The first message of each side: who is there, and which version of the protocol is spoken.
//!
//! The bytes of a [`Hello`] up to its versions, and of a fault, stay the same in all versions.

use crate::call::Role;
use crate::codec::{DecodeError, EncodeError, Sink, Source, Wire, wire_enum, wire_struct, wrong};

/// What a hello begins with.
pub const MAGIC: [u8; 4] = *b"LOCI";
/// The oldest version that this build speaks.
pub const VERSION_MIN: u16 = 1;
/// The newest version that this build speaks.
pub const VERSION_MAX: u16 = 1;

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The oldest and the newest version that it speaks.
    pub versions: (u16, u16),
    /// The key, as it was handed out; empty for none.
    pub key: String,
    /// The store that it expects; empty for the one that the key is of.
    pub store: String,
    /// What it is, for logs: `loci-client 0.1.0`.
    pub client: String,
}

impl Wire for Hello {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        MAGIC.put(to)?;
        self.versions.0.to_le_bytes().put(to)?;
        self.versions.1.to_le_bytes().put(to)?;
        self.key.put(to)?;
        self.store.put(to)?;
        self.client.put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        if <[u8; 4]>::take(from)? != MAGIC {
            return Err(wrong("a hello begins with LOCI"));
        }
        let oldest = u16::from_le_bytes(Wire::take(from)?);
        let newest = u16::from_le_bytes(Wire::take(from)?);
        Ok(Hello {
            versions: (oldest, newest),
            key: Wire::take(from)?,
            store: Wire::take(from)?,
            client: Wire::take(from)?,
        })
    }
}

impl Hello {
    /// The newest version that both sides speak.
    pub fn version(&self) -> Option<u16> {
        let (oldest, newest) = self.versions;
        let version = newest.min(VERSION_MAX);
        (version >= oldest.max(VERSION_MIN)).then_some(version)
    }
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version that is spoken from here on.
    pub version: u16,
    /// What the server is: `loci 0.1.0`.
    pub server: String,
    /// The store that calls are about.
    pub store: String,
    /// What the key allows.
    pub role: Role,
    /// The user whose documents alone are there for this key, where it is bound to one.
    pub user: Option<String>,
    /// Bytes of a payload at most, either way.
    pub payload_len_max: u32,
    /// Calls in flight at a time at most.
    pub calls_max: u32,
    /// Milliseconds without a frame from the client after which the server closes the connection, unless calls are
    /// in flight.
    pub idle_ms: u32,
}

wire_struct! { Welcome { version, server, store, role, user, payload_len_max, calls_max, idle_ms } }
wire_enum! { Role { 1 => Read, 2 => Write, 3 => Admin } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};

    #[test]
    fn hello_has_a_fixed_encoding() {
        let hello = Hello {
            versions: (1, 0x0203),
            key: "k".into(),
            store: String::new(),
            client: "me".into(),
        };
        let bytes = b"LOCI\x01\x00\x03\x02\x01k\x00\x02me";
        assert_eq!(encode(&hello), bytes);
        assert_eq!(decode::<Hello>(bytes).unwrap(), hello);
        assert!(decode::<Hello>(b"GET / HTTP/1.1\r\n\r\n").is_err());
    }

    #[test]
    fn newest_common_version_is_chosen() {
        let hello = |oldest, newest| Hello {
            versions: (oldest, newest),
            key: String::new(),
            store: String::new(),
            client: String::new(),
        };
        assert_eq!(hello(1, 1).version(), Some(1));
        assert_eq!(hello(1, 9).version(), Some(VERSION_MAX));
        assert_eq!(hello(VERSION_MAX + 1, 9).version(), None);
        assert_eq!(hello(0, 0).version(), None);
        assert_eq!(hello(5, 1).version(), None);
    }
}
