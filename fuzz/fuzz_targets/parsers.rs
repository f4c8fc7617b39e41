//! Any bytes are a document or a typed error; ranges of the result are within its text.
#![no_main]

use std::io::{Cursor, Write};

use libfuzzer_sys::fuzz_target;
use loci_documents::{Kind, parse};
use loci_ingest::chunk::{ChunkSettings, Chunking, chunk};
use loci_ingest::cite;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The first byte selects the kind and the chunking. New kinds are added at the end, so that seeds keep their meaning.
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

/// From this first byte on, the rest is files of an archive, separated by zero bytes, each after a line with its name.
const PACKED: usize = 220;
const PACKED_KINDS: [&str; 3] = ["pptx", "docx", "epub"];

/// An archive with valid checksums, so that its files are read.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for file in bytes.split(|byte| *byte == 0) {
        let at = file
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(file.len());
        let (name, content) = file.split_at(at);
        let name = String::from_utf8_lossy(name);
        if zip.start_file(name, options).is_ok() {
            zip.write_all(content.get(1..).unwrap_or_default())
                .expect("memory");
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let kind = usize::from(first);
    let (kind, mode) = match kind {
        0..160 => (KINDS[kind % KINDS.len()], kind / KINDS.len()),
        160..PACKED => (KINDS[kind % 5], 0),
        _ => (PACKED_KINDS[kind % 3], kind / 3),
    };
    let file;
    let bytes = if usize::from(first) >= PACKED {
        file = packed(bytes);
        &file
    } else {
        bytes
    };
    let kind = Kind::from_name(kind).expect("a known name");
    if let Ok(mut parsed) = parse(kind, bytes, Some("fuzz")) {
        parsed.validate().expect("ranges are within the text");
        cite::link(&mut parsed);
        parsed.validate().expect("citations are within the text");
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
