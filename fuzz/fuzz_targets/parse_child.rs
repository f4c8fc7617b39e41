//! Any bytes are a request to a parsing child or an error; any bytes are its answer, and a document in it is sound or
//! refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::chunk::{ChunkSettings, chunk};
use loci_ingest::parse::ParseError;
use loci_ingest::runner::child_main;
use loci_ingest::tree::ParsedDocument;

fuzz_target!(init: loci_fuzz::forgive_caught_panics(), |bytes: &[u8]| {
    let mut answer = Vec::new();
    if child_main(bytes, &mut answer).is_ok() {
        let _ = serde_json::from_slice::<Result<ParsedDocument, ParseError>>(&answer)
            .expect("an answer is read");
    }
    if let Ok(Ok(document)) = serde_json::from_slice::<Result<ParsedDocument, ParseError>>(bytes)
        && document.validate().is_ok()
    {
        for chunk in chunk(&document, &ChunkSettings::default()) {
            let (start, end) = chunk.record.location.chars;
            assert!(start <= end);
        }
    }
});
