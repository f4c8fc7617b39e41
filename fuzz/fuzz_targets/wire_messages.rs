//! Any bytes are a message of each kind or an error; a message that is read is written as bytes that read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_protocol::call::{Call, Outcome, Progress};
use loci_protocol::codec::{Wire, decode, encode};
use loci_protocol::fault::Fault;
use loci_protocol::handshake::{Hello, Welcome};
use locidb::query::answer::Answer;
use locidb::{NewDocument, Prompt, SearchRequest};

/// Reads a value, writes it, and reads it again. Numbers that are none compare as they are printed.
fn round<T: Wire + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(value) = decode::<T>(bytes) {
        let again = decode::<T>(&encode(&value)).expect("what is written is read");
        assert_eq!(format!("{value:?}"), format!("{again:?}"));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 10 {
        0 => round::<Hello>(bytes),
        1 => round::<Welcome>(bytes),
        2 => round::<Fault>(bytes),
        3 => round::<Answer>(bytes),
        4 => round::<SearchRequest>(bytes),
        5 => round::<NewDocument>(bytes),
        6 => round::<Vec<Outcome>>(bytes),
        7 => round::<(Prompt, Progress)>(bytes),
        _ => {
            if let Ok((deadline, call)) = Call::decode(bytes) {
                let payload = call.encode(deadline.unwrap_or(0));
                let (_, again) = Call::decode(&payload).expect("what is written is read");
                assert_eq!(format!("{call:?}"), format!("{again:?}"));
            }
        }
    }
});
