//! Any bytes are a request to a parsing child or an error; what a child answers is read, and any bytes are an answer or an
//! error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::runner::{child_main, read_answer};

fuzz_target!(init: loci_fuzz::forgive_caught_panics(), |bytes: &[u8]| {
    let mut answer = Vec::new();
    if child_main(bytes, &mut answer).is_ok() {
        let made = read_answer(&answer);
        let is_told = |why: &str| !why.contains("not what a parser says");
        assert!(made.as_ref().err().is_none_or(|error| is_told(&error.to_string())));
        for chunk in made.iter().flat_map(|made| &made.document.chunks) {
            let (start, end) = chunk.record.location.chars;
            assert!(start <= end);
        }
    }
    let _ = read_answer(bytes);
});
