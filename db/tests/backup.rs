//! Backups of databases that are used meanwhile: each is one committed state, whole.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use locidb::storage::StoreError;
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{
    Database, EmbedderChoice, Error, NewChunk, NewDocument, NoProgress, Options, Progress,
    SearchRequest,
};

fn document(key: &str, text: &str) -> NewDocument {
    let len = text.chars().count() as u64;
    let mut chunk = ChunkRecord {
        text: text.into(),
        token_count: 5,
        ..ChunkRecord::default()
    };
    chunk.location.chars = (0, len);
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.as_bytes().to_vec(),
        chunks: vec![NewChunk {
            record: chunk,
            vector: None,
        }],
        ..NewDocument::default()
    }
}

fn open(folder: &Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    database
}

fn put(database: &Database, key: &str, text: &str) {
    let document = document(key, text);
    database.write(move |tx| tx.put_document(document)).unwrap();
}

/// The newest state, told whole.
fn exported(database: &Database) -> String {
    let mut lines = Vec::new();
    database.export(&mut lines, &NoProgress).unwrap();
    String::from_utf8(lines).unwrap()
}

fn found(database: &Database, word: &str) -> Vec<String> {
    let answer = database.search(&SearchRequest::new(word)).unwrap();
    answer.hits.into_iter().map(|hit| hit.document).collect()
}

#[test]
fn backup_equals_the_store_and_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = open(&at("store"));
    put(&database, "a", "herons fish at dawn");
    put(&database, "b", "herons nest in trees");
    let before = exported(&database);
    let backup = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!(backup.generation, database.stats().generation);
    put(&database, "c", "herons sleep at noon");
    database
        .write(|tx| tx.delete_document(&"a".parse()?))
        .unwrap();
    let restored = Database::restore(at("backup"), at("restored"), &Options::default()).unwrap();
    assert_eq!(exported(&restored), before);
    let mut herons = found(&restored, "herons");
    herons.sort();
    assert_eq!(herons, ["a", "b"]);
    // It is written to as any other store, and neither the backup nor the first store sees it.
    put(&restored, "d", "herons wade");
    restored.close();
    let looked_up = Database::open(at("backup")).unwrap();
    assert_eq!(exported(&looked_up), before);
    assert_eq!(database.stats().documents, 2);
}

#[test]
fn second_backup_copies_new_and_removes_obsolete_segments() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // No part is small enough for a row.
    let options = Options {
        inline_len_max: 0,
        ..Options::default()
    };
    let database = Database::open_with(at("store"), &options).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    put(&database, "a", "herons fish at dawn");
    let first = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!((first.files_copied, first.files_kept), (1, 0));
    put(&database, "b", "herons nest in trees");
    let second = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!((second.files_copied, second.files_kept), (1, 1));
    let again = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!((again.files_copied, again.files_kept), (0, 2));
    database.compact(&NoProgress).unwrap();
    let merged = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!((merged.files_copied, merged.files_kept), (1, 0));
    let files = std::fs::read_dir(at("backup").join("segments")).unwrap();
    assert_eq!(files.count(), 1, "merged segments are forgotten");
    // A file of the backup that was cut is copied again.
    let file = std::fs::read_dir(at("backup").join("segments")).unwrap();
    let file = file.last().unwrap().unwrap().path();
    std::fs::write(&file, b"cut").unwrap();
    assert_eq!(
        database
            .backup(at("backup"), &NoProgress)
            .unwrap()
            .files_copied,
        1
    );
    let restored = Database::restore(at("backup"), at("restored"), &Options::default()).unwrap();
    assert_eq!(exported(&restored), exported(&database));
}

#[test]
fn foreign_folders_are_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = open(&at("store"));
    put(&database, "a", "herons fish at dawn");
    let refused = |result: Result<(), Error>, why: &str| match result {
        Err(Error::Store(StoreError::Invalid(message))) => {
            assert!(message.contains(why), "{message}")
        }
        other => panic!("{other:?}"),
    };
    std::fs::create_dir(at("papers")).unwrap();
    std::fs::write(at("papers").join("thesis.tex"), "years of work").unwrap();
    refused(
        database.backup(at("papers"), &NoProgress).map(drop),
        "thesis.tex",
    );
    let other = open(&at("other"));
    put(&other, "x", "of another store");
    other.close();
    refused(
        database.backup(at("other"), &NoProgress).map(drop),
        "another store",
    );
    assert_eq!(
        found(&Database::open(at("other")).unwrap(), "another"),
        ["x"]
    );
    for inside in ["store", "store/backup"] {
        refused(
            database.backup(at(inside), &NoProgress).map(drop),
            "own folder",
        );
        assert!(!at("store").join("backup").exists());
    }
    // A state that went on is not replaced by the one that it came from.
    database.backup(at("backup"), &NoProgress).unwrap();
    let ahead = Database::restore(at("backup"), at("ahead"), &Options::default()).unwrap();
    for n in 0..3 {
        put(&ahead, &format!("n{n}"), "more");
    }
    ahead.close();
    refused(
        database.backup(at("ahead"), &NoProgress).map(drop),
        "back in time",
    );
    let restore =
        |from: &str, to: &str| Database::restore(at(from), at(to), &Options::default()).map(drop);
    refused(restore("backup", "papers"), "not empty");
    refused(restore("backup", "ahead"), "not empty");
    let missing = restore("nowhere", "new");
    assert!(matches!(
        missing,
        Err(Error::Store(StoreError::Missing { .. }))
    ));
    assert!(
        !at("new").exists(),
        "nothing is made for a backup that is not there"
    );
}

#[test]
fn interrupted_or_damaged_backup_keeps_the_previous_one() {
    struct Stop;
    impl Progress for Stop {
        fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = open(&at("store"));
    put(&database, "a", "herons fish at dawn");
    let before = exported(&database);
    database.backup(at("backup"), &NoProgress).unwrap();
    put(&database, "b", "herons nest in trees");
    let stopped = database.backup(at("backup"), &Stop);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let restored = Database::restore(at("backup"), at("restored"), &Options::default()).unwrap();
    assert_eq!(exported(&restored), before);
}

#[test]
fn backup_contains_whole_commits_during_writes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = open(&at("store"));
    put(&database, "left-0", "pair 0");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..200 {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let pair = [
                    document(&format!("left-{n}"), "pair"),
                    document(&format!("right-{n}"), "pair"),
                ];
                let write = move |tx: &mut locidb::WriteTransaction<'_, '_>| {
                    pair.into_iter()
                        .try_for_each(|of| tx.put_document(of).map(drop))
                };
                database.write(write).unwrap();
            }
        });
        for n in 0..4 {
            database.backup(at("backup"), &NoProgress).unwrap();
            let to = at(&format!("restored-{n}"));
            let restored = Database::restore(at("backup"), to, &Options::default()).unwrap();
            let view = restored.snapshot();
            let has = |key: String| {
                let key = key.parse().unwrap();
                view.snapshot().rows().document_id(&key).unwrap().is_some()
            };
            for pair in 0..200 {
                let (left, right) = (has(format!("left-{pair}")), has(format!("right-{pair}")));
                assert!(left == right || pair == 0, "pair {pair} is torn");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
