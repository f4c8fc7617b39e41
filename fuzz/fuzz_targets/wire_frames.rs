//! Any bytes are frames, the beginning of one, or malformed; a truncated frame is incomplete.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_protocol::frame::{Decoded, HEADER_LEN, decode};

fuzz_target!(|bytes: &[u8]| {
    let Some((&max, mut rest)) = bytes.split_first() else {
        return;
    };
    let max = u32::from(max) * 16;
    loop {
        match decode(rest, max) {
            Decoded::Frame { header, payload } => {
                assert!(payload.len() as u32 <= max);
                let again = header.encode(payload.len() as u32);
                assert_eq!(&again[..], &rest[..HEADER_LEN]);
                let whole = HEADER_LEN + payload.len();
                let cut = decode(&rest[..whole - 1], max);
                assert!(matches!(cut, Decoded::Incomplete { len } if len <= whole));
                rest = &rest[whole..];
            }
            Decoded::Incomplete { len } => {
                assert!(len > rest.len());
                return;
            }
            Decoded::Malformed(_) => return,
        }
    }
});
