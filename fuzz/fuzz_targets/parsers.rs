//! Any bytes are a document or a typed error; ranges of what comes out lie in its text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_ingest::chunk::{ChunkSettings, Chunking, chunk};
use loci_ingest::cite;
use loci_ingest::parse::{Kind, parse};

/// The first byte chooses: the kind, and how the document is cut. New ones come last, so that seeds stay what they are.
const KINDS: [&str; 20] = [
    "markdown",
    "text",
    "html",
    "rust",
    "python",
    "pptx",
    "docx",
    "epub",
    "latex",
    "jats",
    "chat",
    "subtitles",
    "image",
    "javascript",
    "typescript",
    "go",
    "c",
    "cpp",
    "java",
    "sql",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let kind = usize::from(kind);
    let (kind, mode) = match kind < 160 {
        true => (kind % KINDS.len(), kind / KINDS.len()),
        false => (kind % 5, 0),
    };
    let kind = Kind::from_name(KINDS[kind]).expect("a known name");
    if let Ok(mut parsed) = parse(kind, bytes, Some("fuzz")) {
        parsed.validate().expect("ranges lie in the text");
        cite::link(&mut parsed);
        parsed.validate().expect("citations lie in the text");
        let mode = [
            Chunking::Auto,
            Chunking::Hierarchical,
            Chunking::ThreeLevel,
            Chunking::Sentence,
        ][mode % 4];
        let settings = ChunkSettings {
            mode,
            ..ChunkSettings::default()
        };
        let chunks = chunk(&parsed, &settings);
        cite::citations(&parsed, &chunks);
    }
});
