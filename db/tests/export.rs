//! A store told as lines of JSON, and made of them again.

use std::path::Path;

use locidb::storage::StoreError;
use locidb::{Database, Error, NoProgress, Options, SearchRequest};

mod common;

fn lines(database: &Database) -> Vec<u8> {
    let mut out = Vec::new();
    let rows = database.export(&mut out, &NoProgress).unwrap();
    let count = out.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert!(rows > 0 && rows < count);
    out
}

fn import(lines: &[u8], to: &Path) -> Result<Database, Error> {
    Database::import(&mut &lines[..], to, &Options::default(), &NoProgress)
}

fn refused(lines: &[u8], to: &Path) -> String {
    let error = import(lines, to).err().expect("it was imported");
    let left: Vec<_> = std::fs::read_dir(to).unwrap().collect();
    let names = left.into_iter().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name != "LOCK").collect();
    assert!(names.is_empty(), "{error}: and yet there is {names:?}");
    error.to_string()
}

fn answers(database: &Database) -> Vec<(String, Vec<String>)> {
    ["herons", "what do owls and eagles do", "passage of swifts"]
        .map(|question| {
            let answer = database.search(&SearchRequest::new(question)).unwrap();
            // Equal scores stand in the order of segments, which are others after an import.
            let best = answer.hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
            let hits = answer.hits.into_iter().filter(|hit| hit.score == best);
            let mut hits: Vec<String> = hits.map(|hit| hit.chunk).collect();
            hits.sort();
            (answer.strategy, hits)
        })
        .into()
}

#[test]
fn imported_store_equals_the_exported_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = common::every_table(&at("store"));
    let exported = lines(&database);
    let imported = import(&exported, &at("imported")).unwrap();
    assert!(
        lines(&imported) == exported,
        "the export of the import differs"
    );
    assert_eq!(answers(&imported), answers(&database));
    assert_eq!(imported.stats().documents, database.stats().documents);
    let space = |of: &Database| {
        of.snapshot()
            .snapshot()
            .active_space()
            .map(|space| space.record.dim)
    };
    assert!(space(&database).is_some());
    assert_eq!(space(&imported), space(&database));
    // What is made next has an id of its own.
    let next = |of: &Database| {
        of.write(|tx| tx.put_document(common::document("new", ["terns", "gulls"])))
            .unwrap()
    };
    assert_eq!(next(&imported), next(&database));
    assert!(!at("imported").join("importing").exists());
    imported.close();
    let again = Database::open(at("imported")).unwrap();
    assert_eq!(again.stats().documents, database.stats().documents);
}

#[test]
fn every_table_has_a_row_in_the_export() {
    let folder = tempfile::tempdir().unwrap();
    let exported = lines(&common::every_table(&folder.path().join("store")));
    let text = String::from_utf8(exported).unwrap();
    for table in locidb::storage::Table::ALL {
        let is_exported = text.contains(&format!("\"table\":\"{}\"", table.name()));
        let is_elsewhere = ["meta", "parts", "tombstones"].contains(&table.name());
        // Vectors of the built-in embedder are views; nobody makes claims here.
        let is_absent = ["vectors", "claims", "claims_on"].contains(&table.name());
        assert_eq!(is_exported, !is_elsewhere && !is_absent, "{}", table.name());
    }
}

#[test]
fn provided_vectors_round_trip_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = Database::open(at("store")).unwrap();
    database.use_provided_vectors("mine", 3).unwrap();
    let vector = vec![0.1f32, f32::MIN_POSITIVE / 3.0, -1.0 / 3.0];
    let given = vector.clone();
    database
        .write(move |tx| {
            let mut document = common::document("a", ["herons", "owls"]);
            document.chunks[1].vector = Some(given);
            tx.put_document(document)
        })
        .unwrap();
    let exported = lines(&database);
    let imported = import(&exported, &at("imported")).unwrap();
    assert!(lines(&imported) == exported);
    let request = SearchRequest {
        vector: Some(vector),
        strategy: locidb::Strategy::Vector,
        ..SearchRequest::new("")
    };
    let hits = imported.search(&request).unwrap().hits;
    assert_eq!(hits[0].chunk, "a#1");
}

#[test]
fn truncated_or_changed_export_is_refused_and_complete_one_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = common::every_table(&at("store"));
    let exported = lines(&database);
    let to = at("imported");
    let starts: Vec<usize> = (0..exported.len())
        .filter(|&at| at == 0 || exported[at - 1] == b'\n')
        .collect();
    // Each line in turn is missing, and the export is cut at its start and in its middle.
    for pair in starts.windows(2).step_by(17) {
        let (from, end) = (pair[0], pair[1]);
        let without = [&exported[..from], &exported[end..]].concat();
        refused(&without, &to);
        refused(&exported[..from], &to);
        refused(&exported[..(from + end) / 2], &to);
    }
    // A byte is another.
    for at in (0..exported.len()).step_by(exported.len() / 40) {
        let mut changed = exported.clone();
        changed[at] ^= 1;
        refused(&changed, &to);
    }
    let twice = [&exported[..], &exported[..]].concat();
    assert!(refused(&twice, &to).contains("ended before"));
    assert!(refused(b"", &to).contains("empty"));
    assert!(refused(b"{}\n", &to).contains("not the head"));
    // An editor leaves empty lines.
    let saved = [&exported[..], b"\n \r\n"].concat();
    let imported = import(&saved, &to).unwrap();
    assert!(lines(&imported) == exported);
}

#[test]
fn inconsistent_rows_are_refused_when_every_line_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = common::every_table(&at("store"));
    let text = String::from_utf8(lines(&database)).unwrap();
    // A chunk is gone, and the last line says so.
    let mut lines_left: Vec<&str> = text.lines().collect();
    lines_left.pop();
    let gone = lines_left
        .iter()
        .position(|line| line.contains("\"table\":\"chunks\""));
    lines_left.remove(gone.unwrap());
    let mut forged = lines_left.join("\n") + "\n";
    let hash = xxhash_rust::xxh3::xxh3_64(forged.as_bytes());
    forged += &format!(
        "{{\"end\":{},\"xxh3\":\"{hash:016x}\"}}\n",
        lines_left.len()
    );
    let why = refused(forged.as_bytes(), &at("imported"));
    assert!(why.contains("chunks"), "{why}");
}

#[test]
fn import_leaves_a_non_empty_folder_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = common::every_table(&at("store"));
    let exported = lines(&database);
    database.close();
    let error = import(&exported, &at("store")).err().unwrap();
    assert!(
        matches!(error, Error::Store(StoreError::Invalid(_))),
        "{error}"
    );
    let database = Database::open(at("store")).unwrap();
    assert!(lines(&database) == exported);
}

#[test]
fn import_restarts_after_being_stopped_during_the_final_move() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let exported = lines(&common::every_table(&at("store")));
    import(&exported, &at("done")).unwrap().close();
    // As it is left where the power fails after segments were moved, and before the database was.
    let to = at("stopped");
    std::fs::create_dir_all(to.join("importing/segments")).unwrap();
    std::fs::create_dir_all(to.join("segments")).unwrap();
    std::fs::copy(at("done").join("loci.redb"), to.join("importing/loci.redb")).unwrap();
    for place in ["segments", "importing/segments"] {
        let name = "0000000000000002-0123456789abcdef.seg";
        std::fs::write(to.join(place).join(name), b"moved").unwrap();
    }
    let imported = import(&exported, &to).unwrap();
    assert!(lines(&imported) == exported);
    imported.close();
    assert_eq!(std::fs::read_dir(to.join("segments")).unwrap().count(), {
        std::fs::read_dir(at("done").join("segments"))
            .unwrap()
            .count()
    });
}

#[test]
fn new_ids_are_above_imported_ids_after_import() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        String::from_utf8(lines(&common::every_table(&folder.path().join("store")))).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let (rows, _) = rows.trim_end().rsplit_once('\n').unwrap();
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    for (name, next) in [
        ("document", 1),
        ("document", u64::MAX),
        ("concept", 0),
        ("response", u64::MAX),
        ("space", u64::from(u32::MAX)),
    ] {
        let before = head["next"][name].take();
        head["next"][name] = next.into();
        let mut forged = format!("{head}\n{rows}\n");
        let hash = xxhash_rust::xxh3::xxh3_64(forged.as_bytes());
        let count = forged.lines().count();
        forged += &format!("{{\"end\":{count},\"xxh3\":\"{hash:016x}\"}}\n");
        let why = refused(forged.as_bytes(), &folder.path().join("imported"));
        assert!(why.contains(name), "{why}");
        head["next"][name] = before;
    }
}
