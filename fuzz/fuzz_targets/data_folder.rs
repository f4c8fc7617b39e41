//! Any files are a prepared data folder or an error that names the file; what is read stays in bounds.
//!
//! The bytes: files one after another, each a byte for its name and its bytes with their length (u16) in front.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use loci_benches::folder::{Folder, GivenGraph};
use loci_fuzz::data::{NAMES, scratch};
use loci_fuzz::piece;

fuzz_target!(|bytes: &[u8]| {
    let folder = scratch();
    for name in NAMES {
        let _ = fs::remove_file(folder.join(name));
    }
    let mut bytes = bytes;
    while let Some((&name, rest)) = bytes.split_first() {
        let (content, rest) = piece(rest);
        let name = NAMES[usize::from(name) % NAMES.len()];
        fs::write(folder.join(name), content).expect("a file of a scratch folder");
        bytes = rest;
    }
    if let Ok(mut read) = Folder::open(folder) {
        for (vectors, lines) in [
            (&read.chunk_vectors, read.chunks.len()),
            (&read.query_vectors, read.queries.len()),
        ] {
            if let Some(vectors) = vectors {
                assert!((0..lines).all(|line| vectors.get(line).len() == vectors.dim));
            }
        }
        read.text_len();
        read.truncate(1);
        assert!(read.chunks.len() <= 1 && read.extracted.len() <= 1 && read.citations.len() <= 1);
    }
    if let Ok(graph) = GivenGraph::open(folder) {
        let entities = graph.entity_count as u32;
        assert!(
            graph
                .relations
                .iter()
                .all(|&(source, target, _)| source < entities && target < entities)
        );
        assert!(
            graph
                .mentions
                .iter()
                .all(|&(entity, chunk)| entity < entities && (chunk as usize) < graph.chunk_count)
        );
    }
});
