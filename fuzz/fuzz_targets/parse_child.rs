//! Any bytes are a request to a parser process or an error; its response is decoded, and any bytes are a response or an
//! error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::runner::{child_main, decode_response};

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let mut answer = Vec::new();
    if child_main(bytes, &mut answer).is_ok() {
        let decoded = decode_response(&answer);
        let is_parser_error = |why: &str| !why.contains("not what a parser says");
        assert!(decoded.as_ref().err().is_none_or(|error| is_parser_error(&error.to_string())));
        for chunk in decoded.iter().flat_map(|decoded| &decoded.document.chunks) {
            let (start, end) = chunk.record.location.chars;
            assert!(start <= end);
        }
    }
    let _ = decode_response(bytes);
});
