//! Any bytes are a request to a parsing child or an error; any parsed document is sound or refused, and a sound one is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::chunk::{ChunkSettings, chunk};
use loci_ingest::parse::ParseError;
use loci_ingest::runner::child_main;
use loci_ingest::tree::ParsedDocument;

fuzz_target!(init: loci_fuzz::forgive_caught_panics(), |bytes: &[u8]| {
    let mut answer = Vec::new();
    if child_main(bytes, &mut answer).is_ok() {
        let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let _ = serde_json::from_slice::<Result<serde_json::Value, ParseError>>(line)
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
