//! What `loci ingest` does with files: which of them is which document.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use common::{db_path, json, text, write_files};

/// Ingests, and returns the lines of the files.
fn ingest(status: i32, db: &str, args: &[&str]) -> Vec<Value> {
    let mut lines = json(status, &[&["ingest", "--db", db], args].concat());
    lines.pop();
    lines
}

/// Ingests one file, and returns its document and status.
fn ingest_one(status: i32, db: &str, args: &[&str]) -> (String, String) {
    let lines = ingest(status, db, args);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let [document, status] = ["document", "status"].map(|name| lines[0][name].as_str().unwrap());
    (document.to_owned(), status.to_owned())
}

fn document_and_status(document: &str, status: &str) -> (String, String) {
    (document.to_owned(), status.to_owned())
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// Folders `a` and `b` in `folder`, each with its own `notes.md`.
fn two_notes(folder: &Path) -> [String; 2] {
    write_files(&folder.join("a"), &[("notes.md", "# Sea\n\nSalt water.\n")]);
    write_files(&folder.join("b"), &[("notes.md", "# Sand\n\nDry dunes.\n")]);
    [path(folder, "a"), path(folder, "b")]
}

#[test]
fn file_does_not_replace_another_file_without_the_replace_option() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let [a, b] = two_notes(folder.path());
    assert_eq!(
        ingest_one(0, &db, &[&a]),
        document_and_status("notes.md", "added")
    );
    let second = path(folder.path(), "b/notes.md");
    for other in [&b, &second] {
        let refused = ingest(1, &db, &[other]).remove(0);
        assert_eq!(refused["status"], "failed", "{refused}");
        let error = refused["error"].as_str().unwrap();
        let first = fs::canonicalize(format!("{a}/notes.md")).unwrap();
        let says = [
            &second,
            first.to_str().unwrap(),
            "--key",
            "--collection",
            "--replace",
        ];
        assert!(says.iter().all(|says| error.contains(*says)), "{error}");
    }
    assert!(text(0, &["show", "--db", &db, "notes.md"]).contains("Salt"));
    // What the user says counts.
    let collection = [&b[..], "--collection", "dry"];
    assert_eq!(
        ingest_one(0, &db, &collection),
        document_and_status("dry::notes.md", "added")
    );
    let key = [&second[..], "--key", "dry.md"];
    assert_eq!(
        ingest_one(0, &db, &key),
        document_and_status("dry.md", "added")
    );
    assert_eq!(
        ingest_one(0, &db, &[&b]),
        document_and_status("dry.md", "unchanged")
    );
    let replace = [&second[..], "--key", "notes.md"];
    assert_eq!(
        ingest_one(0, &db, &replace),
        document_and_status("notes.md", "updated")
    );
    assert!(text(0, &["show", "--db", &db, "notes.md"]).contains("dunes"));
    assert_eq!(
        ingest_one(1, &db, &[&a, "--force"]),
        document_and_status("notes.md", "failed")
    );
    assert_eq!(
        ingest_one(0, &db, &[&a, "--replace"]),
        document_and_status("notes.md", "updated")
    );
    assert!(text(0, &["show", "--db", &db, "notes.md"]).contains("Salt"));
}

#[test]
fn file_has_one_key_whatever_path_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let [a, b] = two_notes(folder.path());
    let whole = path(folder.path(), ".");
    fs::create_dir(folder.path().join("links")).unwrap();
    symlink(
        format!("{a}/notes.md"),
        folder.path().join("links/other.md"),
    )
    .unwrap();
    symlink(&a, folder.path().join("links/a")).unwrap();
    assert_eq!(
        ingest_one(0, &db, &[&a]),
        document_and_status("notes.md", "added")
    );
    for name in [
        "a/notes.md",
        "./b/../a/notes.md",
        "links/other.md",
        "links/a/notes.md",
        "links/a",
    ] {
        let one = ingest_one(0, &db, &[&path(folder.path(), name)]);
        assert_eq!(one, document_and_status("notes.md", "unchanged"), "{name}");
    }
    let both = ingest(0, &db, &[&whole]);
    let reported = |line: &Value| (line["document"].to_string(), line["status"].to_string());
    let reported: Vec<_> = both.iter().map(reported).collect();
    let of = |key: &str, status: &str| (format!("{key:?}"), format!("{status:?}"));
    assert_eq!(
        reported,
        [of("notes.md", "unchanged"), of("b/notes.md", "added")]
    );
    let alone = ingest(0, &db, &[&format!("{b}/notes.md"), &whole]);
    assert_eq!(alone.len(), 2, "{alone:?}");
    assert!(alone.iter().all(|line| line["status"] == "unchanged"));
}

#[test]
fn moved_or_copied_folder_maps_to_the_same_documents() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let [a, b] = two_notes(folder.path());
    ingest(0, &db, &[&a]);
    let c = path(folder.path(), "c");
    fs::rename(&a, &c).unwrap();
    assert_eq!(
        ingest_one(0, &db, &[&c]),
        document_and_status("notes.md", "unchanged")
    );
    // From now on it is the document of the file in `c`.
    assert_eq!(
        ingest_one(1, &db, &[&b]),
        document_and_status("notes.md", "failed")
    );
    fs::rename(&c, &a).unwrap();
    fs::write(format!("{a}/notes.md"), "# Sea\n\nFresh water.\n").unwrap();
    // Moved, and changed as well: that cannot be told from another file.
    assert_eq!(
        ingest_one(1, &db, &[&a]),
        document_and_status("notes.md", "failed")
    );
    assert_eq!(
        ingest_one(0, &db, &[&a, "--replace"]),
        document_and_status("notes.md", "updated")
    );
    // A copy changes nothing, and is a file of its own once it says something else.
    fs::create_dir(&c).unwrap();
    fs::copy(format!("{a}/notes.md"), format!("{c}/notes.md")).unwrap();
    assert_eq!(
        ingest_one(0, &db, &[&c]),
        document_and_status("notes.md", "unchanged")
    );
    fs::write(format!("{c}/notes.md"), "# Sea\n\nNo water.\n").unwrap();
    assert_eq!(
        ingest_one(1, &db, &[&c]),
        document_and_status("notes.md", "failed")
    );
    assert_eq!(
        ingest_one(0, &db, &[&a]),
        document_and_status("notes.md", "unchanged")
    );
}

#[test]
fn document_of_a_removed_folder_is_not_replaced_by_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let [a, b] = two_notes(folder.path());
    ingest(0, &db, &[&a]);
    fs::remove_dir_all(&a).unwrap();
    assert_eq!(
        ingest_one(1, &db, &[&b]),
        document_and_status("notes.md", "failed")
    );
    symlink(&b, &a).unwrap();
    assert_eq!(
        ingest_one(1, &db, &[&b]),
        document_and_status("notes.md", "failed")
    );
    assert_eq!(
        ingest_one(1, &db, &[&a]),
        document_and_status("notes.md", "failed")
    );
    assert!(text(0, &["show", "--db", &db, "notes.md"]).contains("Salt"));
    assert_eq!(
        ingest_one(0, &db, &[&b, "--replace"]),
        document_and_status("notes.md", "updated")
    );
}

#[test]
fn source_path_is_in_exports_and_not_in_answers() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let [a, b] = two_notes(folder.path());
    ingest(0, &db, &[&a]);
    let source_path = fs::canonicalize(folder.path()).unwrap();
    let source_path = source_path.to_str().unwrap();
    for args in [
        &["show", "--db", &db, "notes.md"][..],
        &["search", "--db", &db, "salt water", "--explain"],
        &["stats", "--db", &db],
        &["citations", "--db", &db, "notes.md"],
    ] {
        let answer = text(0, &[args, &["--json"]].concat());
        assert!(!answer.contains(source_path), "{args:?}: {answer}");
    }
    let (out, other) = (path(folder.path(), "out"), path(folder.path(), "other"));
    text(0, &["export", "--db", &db, &out]);
    text(0, &["import", "--db", &other, &out]);
    assert_eq!(
        ingest_one(1, &other, &[&b]),
        document_and_status("notes.md", "failed")
    );
    text(0, &["delete", "--db", &db, "notes.md"]);
    text(0, &["export", "--db", &db, &format!("{out}-2")]);
    let rows = fs::read_to_string(format!("{out}-2"));
    let rows = rows.unwrap_or_default();
    assert!(!rows.contains(source_path), "{rows}");
}
