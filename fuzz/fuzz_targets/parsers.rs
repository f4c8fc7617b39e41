//! Any bytes are a document or a typed error; ranges of what comes out lie in its text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::chunk::{ChunkSettings, chunk};
use loci_ingest::parse::{Kind, parse};

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let names = ["markdown", "text", "html", "rust", "python"];
    let kind = Kind::from_name(names[usize::from(kind) % names.len()]).expect("a known name");
    if let Ok(parsed) = parse(kind, bytes, Some("fuzz")) {
        parsed.validate().expect("ranges lie in the text");
        chunk(&parsed, &ChunkSettings::default());
    }
});
