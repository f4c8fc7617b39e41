//! What the tests of the `loci` binary share: calls of it, files to give it, and stores made from them.
//!
//! A test runs the binary as a person or a script would, and looks only at its exit status and at what it prints.

#![allow(
    dead_code,
    reason = "each test file compiles this module for itself and calls a part of it"
)]

pub(crate) mod http;
pub(crate) mod test_server;
pub(crate) mod wire;

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};

/// Runs `loci`, whatever comes of it.
pub(crate) fn loci(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loci").unwrap();
    command.args(args).output().unwrap()
}

/// Runs `loci`, expects this exit status, and gives standard output.
pub(crate) fn text(status: i32, args: &[&str]) -> String {
    let output = loci(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `loci … --json`, expects this exit status, and gives a value for each line.
pub(crate) fn json(status: i32, args: &[&str]) -> Vec<Value> {
    json_lines(&text(status, &[args, &["--json"]].concat()))
}

/// A value for each line of `text`.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Runs `loci`, expects this exit status, and `says` somewhere in standard error.
pub(crate) fn refused(status: i32, args: &[&str], says: &str) {
    let output = loci(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
    assert!(errors.contains(says), "{args:?}: {errors}");
}

/// Where the store of a test stands in its folder, as `--db` takes it. Makes nothing.
pub(crate) fn db_path(folder: &Path) -> String {
    folder.join("store").display().to_string()
}

/// What the store says of itself; panics unless a full recount agrees.
pub(crate) fn recount(db: &str) -> Value {
    let mut report = json(0, &["stats", "--db", db, "--recount"]).remove(0);
    assert_eq!(report["differences"], json!([]), "{report}");
    report["stats"].take()
}

/// The folder of the sample documents.
pub(crate) fn samples() -> String {
    format!("{}/samples", env!("CARGO_MANIFEST_DIR"))
}

/// Writes files, each a name and a text, into `folder`, which is made if it is missing.
pub(crate) fn write_files(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// A store at [`db_path`] of files, each a name and a text. The name is the document's key.
pub(crate) fn store(folder: &Path, files: &[(&str, &str)]) -> String {
    let documents = folder.join("documents");
    write_files(&documents, files);
    let db = db_path(folder);
    text(0, &["ingest", "--db", &db, documents.to_str().unwrap()]);
    db
}

/// A data folder `tiny` of three chunks with vectors, concepts and two judged questions.
pub(crate) fn data_folder(folder: &Path) -> String {
    let path = folder.join("tiny");
    fs::create_dir(&path).unwrap();
    let chunks = [
        r#"{"id":"c1","title":"Sea","text":"Salt water covers the sea."}"#,
        r#"{"id":"c2","title":"Desert","text":"Sand covers the desert."}"#,
        r#"{"id":"c3","title":"Camel","text":"A camel crosses sand."}"#,
    ];
    fs::write(path.join("corpus.jsonl"), chunks.join("\n")).unwrap();
    let queries = [
        r#"{"id":"q1","text":"salt water"}"#,
        r#"{"id":"q2","text":"Who walks in the Desert?"}"#,
    ];
    fs::write(path.join("queries.jsonl"), queries.join("\n")).unwrap();
    fs::write(path.join("qrels.tsv"), "q1\tc1\t1\nq2\tc3\t1\n").unwrap();
    let concepts = [
        r#"{"id":"c1","entities":["Sea"]}"#,
        r#"{"id":"c2","entities":["Desert","Sand"],"triples":[["Desert","is covered by","Sand"]]}"#,
        r#"{"id":"c3","entities":["Camel","Sand"]}"#,
    ];
    fs::write(path.join("concepts.jsonl"), concepts.join("\n")).unwrap();
    let floats = |rows: &[[f32; 2]]| {
        rows.iter()
            .flatten()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    fs::write(
        path.join("corpus.f32"),
        floats(&[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]),
    )
    .unwrap();
    fs::write(path.join("queries.f32"), floats(&[[1.0, 0.0], [0.6, 0.8]])).unwrap();
    path.display().to_string()
}
