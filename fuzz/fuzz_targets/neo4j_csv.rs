//! Any files are nodes and relationships or an error that names the line; what is read becomes documents that are
//! sample.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use loci_fuzz::data::scratch;
use loci_fuzz::pieces;
use loci_ingest::exchange::Neo4jImport;
use loci_storage::DocumentKey;

fuzz_target!(|bytes: &[u8]| {
    let Some((&delimiter, bytes)) = bytes.split_first() else {
        return;
    };
    let pieces: [&[u8]; 3] = pieces(bytes);
    let paths = ["nodes.csv", "more.csv", "relationships.csv"].map(|name| scratch().join(name));
    for (path, bytes) in paths.iter().zip(pieces) {
        fs::write(path, bytes).expect("a file of a scratch folder");
    }
    let delimiter = [b',', b';', b'\t', delimiter][usize::from(delimiter) % 4];
    let mut read = Neo4jImport::default();
    if read.read(&paths[..2], delimiter).is_err() {
        return;
    }
    let _ = read.read(&paths[2..], delimiter);
    let (nodes, _) = read.len();
    assert_eq!(read.is_empty(), read.len() == (0, 0));
    let key = DocumentKey::new("", "imports", "graph").expect("a valid key");
    let Ok(documents) = read.documents(&key) else {
        return;
    };
    let mut chunks = 0;
    for document in &documents {
        let text = std::str::from_utf8(&document.original).expect("passages are UTF-8");
        let written: Vec<char> = text.chars().collect();
        for chunk in &document.chunks {
            let (start, end) = chunk.record.location.chars;
            let quoted: String = written[start as usize..end as usize].iter().collect();
            assert_eq!(quoted, chunk.record.text);
        }
        let count = document.chunks.len() as u32;
        assert!(
            document
                .concepts
                .iter()
                .all(|of| of.mentions.iter().all(|&(place, _)| place < count))
        );
        assert!(
            document
                .relations
                .iter()
                .all(|of| of.weight >= 0.0 && of.chunks.iter().all(|&place| place < count))
        );
        chunks += document.chunks.len();
    }
    assert_eq!(chunks, nodes);
});
