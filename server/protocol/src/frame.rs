//! Frames: what bytes on a connection are parted into.
//!
//! A frame is a header of [`HEADER_LEN`] bytes and a payload. [`decode`] is a pure function over the bytes that have
//! come so far; it looks at the announced length before anything is allocated for it, and reads nothing beyond its frame.
//!
//! Start reading at [`decode`].

/// Bytes of a frame before its payload.
pub const HEADER_LEN: usize = 16;

/// Bytes of a payload at most before the handshake is over.
pub const HELLO_LEN_MAX: u32 = 4 << 10;

/// Bytes of a payload at most, unless the server's handshake says another number.
pub const PAYLOAD_LEN_MAX: u32 = 80 << 20;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// From the client, first on a connection: who it is.
    Hello = 1,
    /// From the server: the answer to a hello.
    Welcome = 2,
    /// From the client: something to be done.
    Call = 3,
    /// From the server: a value that a call gives.
    Reply = 4,
    /// From the server: why a call, or the connection, failed.
    Fault = 5,
    /// From the client: a call is cancelled.
    Cancel = 6,
    /// From the client: whether the server is there.
    Ping = 7,
    /// From the server: it is.
    Pong = 8,
    /// From either: the sender sends nothing more.
    Goodbye = 9,
}

impl FrameKind {
    /// All kinds, in the order of their numbers from 1.
    pub const ALL: [FrameKind; 9] = [
        FrameKind::Hello,
        FrameKind::Welcome,
        FrameKind::Call,
        FrameKind::Reply,
        FrameKind::Fault,
        FrameKind::Cancel,
        FrameKind::Ping,
        FrameKind::Pong,
        FrameKind::Goodbye,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<FrameKind> {
        let index = usize::from(number).checked_sub(1)?;
        Self::ALL.get(index).copied()
    }
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame is.
    pub kind: FrameKind,
    /// Whether more replies to the same call follow; only a [`FrameKind::Reply`] may say so.
    pub more: bool,
    /// The call that it belongs to, as the client numbered it; 0 for the connection as a whole.
    pub call: u64,
}

/// The flag of [`Header::more`].
const MORE: u8 = 1;

impl Header {
    /// The header of a frame that nothing follows.
    pub fn new(kind: FrameKind, call: u64) -> Header {
        Header {
            kind,
            more: false,
            call,
        }
    }

    /// The bytes of a header before a payload of `len` bytes.
    pub fn encode(self, len: u32) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&len.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = if self.more { MORE } else { 0 };
        bytes[8..16].copy_from_slice(&self.call.to_le_bytes());
        bytes
    }

    /// The bytes of a whole frame.
    pub fn frame(self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len());
        bytes.extend(self.encode(payload.len() as u32));
        bytes.extend(payload);
        bytes
    }
}

/// What the first bytes on a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded<'b> {
    /// A whole frame.
    Frame {
        /// Its header.
        header: Header,
        /// Its payload.
        payload: &'b [u8],
    },
    /// The beginning of one.
    Incomplete {
        /// Bytes that the frame takes in all, as far as that is known: its header's at least.
        len: usize,
    },
    /// None, and none will come: the connection is to be closed.
    Malformed(Malformed),
}

impl Decoded<'_> {
    /// Bytes that a whole frame took.
    pub fn consumed(&self) -> usize {
        match self {
            Decoded::Frame { payload, .. } => HEADER_LEN + payload.len(),
            Decoded::Incomplete { .. } | Decoded::Malformed(_) => 0,
        }
    }
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A payload that is longer than both sides agreed on.
    #[error("a frame of {len} bytes; at most {max} are allowed")]
    TooLong {
        /// Bytes that it announces.
        len: u32,
        /// Bytes that it may have.
        max: u32,
    },
    /// A kind that there is not.
    #[error("frame kind {0} is unknown")]
    Kind(u8),
    /// Flags that there are not, or that a frame of this kind does not have.
    #[error("flags {0:#04x} are unknown here")]
    Flags(u8),
    /// Bytes that are to be zero and are not.
    #[error("the reserved bytes of a header are not zero")]
    Reserved,
}

/// Reads the first frame of `bytes`, whose payload may have `payload_len_max` bytes.
///
/// A wrong header is reported as soon as its byte is there. Costs nothing beyond the header.
pub fn decode(bytes: &[u8], payload_len_max: u32) -> Decoded<'_> {
    let header = match read_header(bytes, payload_len_max) {
        Ok(Some(header)) => header,
        Ok(None) => return Decoded::Incomplete { len: HEADER_LEN },
        Err(why) => return Decoded::Malformed(why),
    };
    let (header, len) = header;
    let whole = HEADER_LEN + len as usize;
    match bytes.get(HEADER_LEN..whole) {
        Some(payload) => Decoded::Frame { header, payload },
        None => Decoded::Incomplete { len: whole },
    }
}

/// The header and the payload's length, or `None` where bytes of it are missing.
fn read_header(bytes: &[u8], max: u32) -> Result<Option<(Header, u32)>, Malformed> {
    let Some(len) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let len = u32::from_le_bytes(*len);
    if len > max {
        return Err(Malformed::TooLong { len, max });
    }
    let Some(&number) = bytes.get(4) else {
        return Ok(None);
    };
    let kind = FrameKind::from_number(number).ok_or(Malformed::Kind(number))?;
    let Some(&flags) = bytes.get(5) else {
        return Ok(None);
    };
    let more = flags == MORE && kind == FrameKind::Reply;
    if flags != 0 && !more {
        return Err(Malformed::Flags(flags));
    }
    let Some(rest) = bytes.get(6..HEADER_LEN) else {
        return Ok(None);
    };
    let (reserved, call) = rest.split_at(2);
    if reserved != [0, 0] {
        return Err(Malformed::Reserved);
    }
    let call = call
        .first_chunk()
        .map_or(0, |call| u64::from_le_bytes(*call));
    Ok(Some((Header { kind, more, call }, len)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> impl Strategy<Value = Header> {
        (0..9usize, any::<bool>(), any::<u64>()).prop_map(|(kind, more, call)| {
            let kind = FrameKind::ALL[kind];
            let more = more && kind == FrameKind::Reply;
            Header { kind, more, call }
        })
    }

    #[test]
    fn frame_has_a_fixed_encoding() {
        let header = Header {
            kind: FrameKind::Reply,
            more: true,
            call: 0x0102_0304_0506_0708,
        };
        let bytes = header.encode(3);
        assert_eq!(bytes, [3, 0, 0, 0, 4, 1, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn malformed_header_is_detected_before_the_payload_arrives() {
        let wrong: [(&[u8], Malformed); 4] = [
            (
                &[1, 16, 0, 0],
                Malformed::TooLong {
                    len: 4097,
                    max: 4096,
                },
            ),
            (&[0, 0, 0, 0, 77], Malformed::Kind(77)),
            (&[0, 0, 0, 0, 3, 1], Malformed::Flags(1)),
            (
                &[0, 0, 0, 0, 3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0],
                Malformed::Reserved,
            ),
        ];
        for (bytes, why) in wrong {
            assert_eq!(decode(bytes, HELLO_LEN_MAX), Decoded::Malformed(why));
        }
        let zero = [0, 0, 0, 0, 0];
        assert_eq!(decode(&zero, 10), Decoded::Malformed(Malformed::Kind(0)));
    }

    proptest! {
        #[test]
        fn frames_are_read_back_however_they_come(
            header in header(),
            payload in prop::collection::vec(any::<u8>(), 0..200),
            after in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut bytes = header.encode(payload.len() as u32).to_vec();
            bytes.extend(&payload);
            let whole = bytes.len();
            for cut in 0..whole {
                let Decoded::Incomplete { len } = decode(&bytes[..cut], 200) else {
                    panic!("cut at {cut}");
                };
                prop_assert!(len > cut && len <= whole.max(HEADER_LEN));
            }
            bytes.extend(&after);
            let read = decode(&bytes, 200);
            prop_assert_eq!(read.consumed(), whole);
            prop_assert_eq!(read, Decoded::Frame { header, payload: &payload });
        }

        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..64), max in 0u32..64) {
            match decode(&bytes, max) {
                Decoded::Frame { payload, .. } => prop_assert!(payload.len() as u32 <= max),
                Decoded::Incomplete { len } => prop_assert!(len > bytes.len()),
                Decoded::Malformed(_) => {}
            }
        }
    }
}
