//! Files that targets write and have read.

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

/// A folder of this process.
pub fn scratch() -> &'static Path {
    static FOLDER: LazyLock<TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("a scratch folder"));
    FOLDER.path()
}
