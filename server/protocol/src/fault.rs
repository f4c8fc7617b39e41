//! Why a call failed: a code for programs, a sentence for people.
//!
//! Start reading at [`Fault`].

use crate::codec::{self, MessageError, Wire, wire_struct};

/// What kind of failure it is. Numbers are never used again for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Code {
    /// Bytes that are no frame or no message. The connection is closed.
    Malformed = 1,
    /// No version is spoken by both sides. The connection is closed.
    Version = 2,
    /// The key is wrong, or there is no such store. The connection is closed.
    Unauthorized = 3,
    /// The key does not allow that.
    Forbidden = 4,
    /// There is no such document, chunk, concept, …
    NotFound = 5,
    /// The call is invalid.
    Invalid = 6,
    /// The call does not fit what is there: a transaction that is over, a store that changed meanwhile.
    Conflict = 7,
    /// A message, file or answer is larger than allowed.
    TooLarge = 8,
    /// Too many calls by this key.
    TooMany = 9,
    /// The server has too much to do.
    Overloaded = 10,
    /// The deadline passed. A write may have been performed or not.
    Deadline = 11,
    /// The call was cancelled.
    Cancelled = 12,
    /// The store takes no writes.
    ReadOnly = 13,
    /// Rows or segments are damaged.
    Damaged = 14,
    /// The server is stopping, or not ready yet.
    Unavailable = 15,
    /// A model that the store uses failed.
    Model = 16,
    /// A defect of the server; its log has details under the number in the message.
    Internal = 17,
}

impl Code {
    /// All codes, in the order of their numbers from 1.
    pub const ALL: [Code; 17] = [
        Code::Malformed,
        Code::Version,
        Code::Unauthorized,
        Code::Forbidden,
        Code::NotFound,
        Code::Invalid,
        Code::Conflict,
        Code::TooLarge,
        Code::TooMany,
        Code::Overloaded,
        Code::Deadline,
        Code::Cancelled,
        Code::ReadOnly,
        Code::Damaged,
        Code::Unavailable,
        Code::Model,
        Code::Internal,
    ];

    /// The name that JSON, logs and metrics use.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Malformed => "malformed",
            Code::Version => "version",
            Code::Unauthorized => "unauthorized",
            Code::Forbidden => "forbidden",
            Code::NotFound => "not-found",
            Code::Invalid => "invalid",
            Code::Conflict => "conflict",
            Code::TooLarge => "too-large",
            Code::TooMany => "too-many",
            Code::Overloaded => "overloaded",
            Code::Deadline => "deadline",
            Code::Cancelled => "cancelled",
            Code::ReadOnly => "read-only",
            Code::Damaged => "damaged",
            Code::Unavailable => "unavailable",
            Code::Model => "model",
            Code::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later, without anything else being done; it was not performed.
    pub const fn is_transient(self) -> bool {
        matches!(self, Code::TooMany | Code::Overloaded | Code::Unavailable)
    }
}

impl Wire for Code {
    fn put(&self, to: &mut codec::Sink) -> Result<(), codec::EncodeError> {
        (*self as u16).put(to)
    }

    fn take(from: &mut codec::Source<'_>) -> Result<Self, codec::DecodeError> {
        let number = u16::take(from)?;
        let index = usize::from(number).checked_sub(1);
        let code = index.and_then(|place| Code::ALL.get(place).copied());
        // One of a later version.
        Ok(code.unwrap_or(Code::Internal))
    }
}

/// Bytes of a message, from which on it is cut.
const MESSAGE_LEN_MAX: usize = 1 << 10;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of failure it is.
    pub code: Code,
    /// What is wrong and what to do, in words.
    pub message: String,
    /// Milliseconds after which the call may be made again, where that is known.
    pub retry_after_ms: Option<u32>,
}

wire_struct! { Fault { code, message, retry_after_ms } }

impl Fault {
    /// A fault with this message, truncated if it is long.
    pub fn new(code: Code, message: impl Into<String>) -> Fault {
        let mut message = message.into();
        if message.len() > MESSAGE_LEN_MAX {
            message.truncate(message.floor_char_boundary(MESSAGE_LEN_MAX));
            message.push('…');
        }
        Fault {
            code,
            message,
            retry_after_ms: None,
        }
    }

    /// The same, with a time after which to try again.
    pub fn with_retry_after(self, retry_after_ms: u32) -> Fault {
        Fault {
            retry_after_ms: Some(retry_after_ms),
            ..self
        }
    }
}

impl From<MessageError> for Fault {
    fn from(error: MessageError) -> Fault {
        Fault::new(Code::Malformed, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_numbers_are_stable() {
        for (number, code) in (1u16..).zip(Code::ALL) {
            assert_eq!(code as u16, number);
            let fault = Fault::new(code, "why").with_retry_after(300);
            let bytes = codec::encode(&fault);
            assert_eq!(bytes[0], number as u8);
            assert_eq!(codec::decode::<Fault>(&bytes).unwrap(), fault);
        }
        for later in [0, 18, 250] {
            assert_eq!(codec::decode::<Code>(&[later]).unwrap(), Code::Internal);
        }
    }

    #[test]
    fn long_messages_are_truncated_at_character_boundaries() {
        let fault = Fault::new(Code::Invalid, "é".repeat(100_000));
        assert_eq!(fault.message.chars().count(), 513);
        assert!(fault.message.ends_with('…'));
    }
}
