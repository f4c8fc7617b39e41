//! The files of a data folder, and a temporary folder that targets write them to.

use std::path::Path;
use std::sync::LazyLock;

use tempfile::TempDir;

/// The files of a prepared data folder, by number.
pub const NAMES: [&str; 16] = [
    "chunks.jsonl",
    "corpus.jsonl",
    "parents.jsonl",
    "queries.jsonl",
    "vectors.f32",
    "corpus.f32",
    "queries.f32",
    "qrels.tsv",
    "meta.json",
    "openie.jsonl",
    "concepts.jsonl",
    "entities.jsonl",
    "relations.tsv",
    "mentions.tsv",
    "citations.jsonl",
    "graph20.jsonl",
];

/// A temporary folder of this process.
pub fn scratch() -> &'static Path {
    static FOLDER: LazyLock<TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));
    FOLDER.path()
}
