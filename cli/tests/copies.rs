//! Copies of a store by the real binary: what a killed one left, earlier states, and exports that take their name when
//! they are whole.

mod common;

use std::fs;
use std::path::Path;

use common::{json, loci, refused, store, text};

/// Documents of which one is large enough for a segment in a file.
fn notes() -> Vec<(&'static str, &'static str)> {
    let large = "# Large\n\n".to_owned()
        + &"The heron waits, and the tide turns in the bay.\n\n".repeat(6000);
    vec![
        ("a.md", "# Herons\n\nHerons fish at dawn.\n"),
        ("large.md", large.leak()),
    ]
}

fn exported(db: &str) -> String {
    let out = loci(&["export", "--db", db, "-"]);
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap()
}

fn parts(store: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(store).join("segments")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn backup_succeeds_after_a_killed_backup() {
    let folder = tempfile::tempdir().unwrap();
    let db = store(folder.path(), &notes());
    let backup = folder.path().join("backup");
    fs::create_dir_all(backup.join("segments")).unwrap();
    let parts = parts(&db);
    assert!(!parts.is_empty());
    for name in &parts {
        let half = name.replace(".seg", ".tmp");
        fs::write(backup.join("segments").join(half), "half").unwrap();
    }
    fs::write(backup.join("loci.redb.new"), "half").unwrap();
    fs::write(backup.join("LOCK"), "").unwrap();
    let backup = backup.to_str().unwrap();
    text(0, &["backup", "--db", &db, backup]);
    let restored = folder.path().join("restored");
    text(0, &["restore", backup, "--db", restored.to_str().unwrap()]);
    assert_eq!(exported(restored.to_str().unwrap()), exported(&db));
}

#[test]
fn leftovers_of_a_killed_restore_are_no_store_and_restore_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let db = store(folder.path(), &notes());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    text(0, &["backup", "--db", &db, &at("backup")]);
    let again = folder.path().join("again");
    fs::create_dir_all(again.join("segments")).unwrap();
    fs::write(again.join("UNFINISHED"), "restore\n").unwrap();
    fs::write(again.join("loci.redb.new"), "half").unwrap();
    for name in parts(&db) {
        fs::write(again.join("segments").join(name), "half").unwrap();
    }
    let again = at("again");
    let says = "`loci restore` has not finished in this folder; run it again";
    for call in [
        &["ingest", "--db", &again, &at("documents")][..],
        &["search", "--db", &again, "herons"],
        &["backup", "--db", &again, &at("other")],
        &["backup", "--db", &db, &again],
        &["upgrade", "--db", &again],
    ] {
        refused(1, call, says);
    }
    text(0, &["restore", &at("backup"), "--db", &again]);
    assert_eq!(exported(&again), exported(&db));
}

#[test]
fn earlier_generations_are_retained_and_restored_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let db = store(folder.path(), &notes());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let first = json(0, &["backup", "--db", &db, &at("backup"), "--keep", "2"]);
    let before = exported(&db);
    let generation = first[0]["backup"]["generation"].to_string();
    text(0, &["delete", "--db", &db, "a.md"]);
    let second = json(0, &["backup", "--db", &db, &at("backup"), "--keep", "2"]);
    assert_eq!(second[0]["backup"]["earlier"][0].to_string(), generation);
    text(
        0,
        &[
            "restore",
            &at("backup"),
            "--db",
            &at("old"),
            "--generation",
            &generation,
        ],
    );
    assert_eq!(exported(&at("old")), before);
    text(0, &["restore", &at("backup"), "--db", &at("new")]);
    assert_eq!(exported(&at("new")), exported(&db));
    refused(
        2,
        &[
            "restore",
            &at("backup"),
            "--db",
            &at("none"),
            "--generation",
            "999",
        ],
        "has no generation 999; there are:",
    );
    refused(
        2,
        &["backup", "--db", &db, &at("backup"), "--keep", "0"],
        "--keep",
    );
}

#[test]
fn export_file_appears_only_when_complete() {
    let folder = tempfile::tempdir().unwrap();
    let db = store(folder.path(), &notes());
    let out = folder.path().join("out.jsonl");
    // What a killed export left, what one writes at this moment, and a file of somebody's.
    let [left, written, other] = [
        ".out.jsonl.abc123.export-tmp",
        ".out.jsonl.def456.export-tmp",
        "out.jsonl.tmp",
    ]
    .map(|name| folder.path().join(name));
    for path in [&left, &written, &other] {
        fs::write(path, "half, and longer than what comes".repeat(100_000)).unwrap();
    }
    let writer = fs::File::open(&written).unwrap();
    writer.lock().unwrap();
    let out = out.to_str().unwrap();
    text(0, &["export", "--db", &db, out]);
    assert_eq!(fs::read_to_string(out).unwrap(), exported(&db));
    assert!(!left.exists() && written.exists() && other.exists());
    fs::remove_file(out).unwrap();
    drop(writer);
    fs::remove_file(&written).unwrap();
    let unfinished = || {
        let mut entries = fs::read_dir(folder.path()).unwrap();
        entries.any(|of| {
            of.unwrap()
                .path()
                .extension()
                .is_some_and(|of| of == "export-tmp")
        })
    };
    // A store with a page over another is not exported, and leaves nothing.
    let path = Path::new(&db).join("loci.redb");
    let whole = fs::read(&path).unwrap();
    let mut refused_count = 0;
    for page in 1..whole.len() / 4096 - 1 {
        let mut bytes = whole.clone();
        bytes.copy_within((page + 1) * 4096..(page + 2) * 4096, page * 4096);
        fs::write(&path, bytes).unwrap();
        if loci(&["export", "--db", &db, out]).status.success() {
            fs::remove_file(out).unwrap()
        } else {
            refused_count += 1
        }
        assert!(!unfinished() && !Path::new(out).exists());
        if refused_count == 3 {
            break;
        }
    }
    assert!(refused_count > 0, "no page mattered");
}
