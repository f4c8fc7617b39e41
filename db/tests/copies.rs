//! Copies of a store that were stopped, and copies of a damaged one: backups, restores, imports, exports.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use locidb::storage::{FolderOperation, StoreError};
use locidb::{Database, Error, NoProgress, Options};
use xxhash_rust::xxh3::xxh3_64_with_seed;

mod common;

/// No part is small enough for a row, so that all have files.
fn in_files() -> Options {
    Options {
        inline_len_max: 0,
        ..Options::default()
    }
}

fn exported(database: &Database) -> Vec<u8> {
    let mut lines = Vec::new();
    database.export(&mut lines, &NoProgress).unwrap();
    lines
}

fn put(database: &Database, key: &str, text: &str) {
    let document = common::document(key, [text, text]);
    database.write(move |tx| tx.put_document(document)).unwrap();
}

fn part_names(store: &Path) -> Vec<String> {
    let names = fs::read_dir(store.join("segments")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// The folder as a killed copy leaves it: cut files, and the mark of the command, if it makes one.
fn leave_partial_copy(folder: &Path, parts: &[String], mark: Option<&str>) {
    fs::create_dir_all(folder.join("segments")).unwrap();
    for name in parts {
        let name = name.replace(".seg", ".tmp");
        fs::write(folder.join("segments").join(name), "half").unwrap();
    }
    fs::write(folder.join("loci.redb.new"), "half").unwrap();
    if let Some(mark) = mark {
        fs::write(folder.join("UNFINISHED"), mark).unwrap();
    }
}

fn is_unfinished(opened: Result<Database, Error>, expected: FolderOperation) -> bool {
    match opened {
        Err(Error::Store(StoreError::Unfinished { by, .. })) => by == expected,
        _ => false,
    }
}

#[test]
fn killed_backup_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = Database::open_with(at("store"), &in_files()).unwrap();
    put(&database, "a", "herons fish at dawn");
    let parts = part_names(&at("store"));
    assert!(!parts.is_empty());
    // The first one, as this build and as earlier ones leave it; then one over a whole one.
    for (to, mark) in [
        ("first", Some("backup\n")),
        ("earlier", None),
        ("again", None),
    ] {
        if to == "again" {
            database.backup(at(to), &NoProgress).unwrap();
            put(&database, "b", "herons nest in trees");
        }
        leave_partial_copy(&at(to), &part_names(&at("store")), mark);
        database.backup(at(to), &NoProgress).unwrap();
        assert!(!at(to).join("UNFINISHED").exists());
        assert!(
            part_names(&at(to))
                .iter()
                .all(|name| name.ends_with(".seg"))
        );
        let restored = at(&format!("{to}-restored"));
        let restored = Database::restore(at(to), restored, &Options::default()).unwrap();
        assert_eq!(exported(&restored), exported(&database));
    }
}

#[test]
fn partial_restore_is_refused_on_open_and_can_be_restored_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = Database::open_with(at("store"), &in_files()).unwrap();
    put(&database, "a", "herons fish at dawn");
    database.backup(at("backup"), &NoProgress).unwrap();
    leave_partial_copy(&at("again"), &part_names(&at("store")), Some("restore\n"));
    let read_only = Options {
        read_only: true,
        ..Options::default()
    };
    let only_there = Options {
        create: false,
        ..Options::default()
    };
    for options in [Options::default(), read_only, only_there] {
        let opened = Database::open_with(at("again"), &options);
        assert!(is_unfinished(opened, FolderOperation::Restore));
    }
    let backed_up = database.backup(at("again"), &NoProgress).map(drop);
    assert!(matches!(
        backed_up,
        Err(Error::Store(StoreError::Unfinished { .. }))
    ));
    let restored = Database::restore(at("backup"), at("again"), &Options::default()).unwrap();
    assert_eq!(exported(&restored), exported(&database));
    assert!(!at("again").join("UNFINISHED").exists());
    restored.close();
    // Stopped after its last step it is whole, and a store like any other once it was opened.
    fs::write(at("again").join("UNFINISHED"), "restore\n").unwrap();
    let again = Database::restore(at("backup"), at("again"), &Options::default()).unwrap();
    again.close();
    fs::write(at("again").join("UNFINISHED"), "restore\n").unwrap();
    Database::open(at("again")).unwrap().close();
    let refused = Database::restore(at("backup"), at("again"), &Options::default());
    assert!(matches!(
        refused.map(drop),
        Err(Error::Store(StoreError::Invalid(_)))
    ));
}

#[test]
fn partial_import_is_refused_on_open_and_can_be_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = Database::open_with(at("store"), &in_files()).unwrap();
    put(&database, "a", "herons fish at dawn");
    let lines = exported(&database);
    for (to, mark) in [("marked", Some("import\n")), ("earlier", None)] {
        leave_partial_copy(&at(to).join("importing"), &part_names(&at("store")), None);
        fs::create_dir_all(at(to).join("segments")).unwrap();
        if let Some(mark) = mark {
            fs::write(at(to).join("UNFINISHED"), mark).unwrap();
        }
        assert!(is_unfinished(
            Database::open(at(to)),
            FolderOperation::Import
        ));
        let options = Options::default();
        let imported = Database::import(&mut &lines[..], at(to), &options, &NoProgress).unwrap();
        assert_eq!(exported(&imported), lines);
        imported.close();
        assert!(!at(to).join("importing").exists());
        Database::open(at(to)).unwrap().close();
    }
}

#[test]
fn segments_without_a_database_are_not_opened_as_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let database = Database::open_with(&store, &in_files()).unwrap();
    put(&database, "a", "herons fish at dawn");
    database.close();
    let before = part_names(&store);
    fs::remove_file(store.join("loci.redb")).unwrap();
    let refused = Database::open(&store).map(drop);
    assert!(matches!(
        refused,
        Err(Error::Store(StoreError::NoDatabase { .. }))
    ));
    assert_eq!(part_names(&store), before);
    assert!(!store.join("loci.redb").exists());
}

#[test]
fn backup_retains_the_requested_generations_and_each_can_be_restored() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = Database::open_with(at("store"), &in_files()).unwrap();
    let three = NonZeroUsize::new(3).unwrap();
    let mut states: Vec<(u64, Vec<u8>)> = Vec::new();
    for n in 0..5 {
        put(&database, &format!("d{n}"), "herons fish at dawn");
        if n == 3 {
            database.compact(&NoProgress).unwrap();
        }
        let done = database
            .backup_with_retention(at("backup"), three, &NoProgress)
            .unwrap();
        let earlier: Vec<u64> = states.iter().rev().take(2).map(|(of, _)| *of).collect();
        assert_eq!(done.earlier, earlier);
        states.push((done.generation, exported(&database)));
    }
    // The same state again sets nothing aside.
    let again = database
        .backup_with_retention(at("backup"), three, &NoProgress)
        .unwrap();
    assert_eq!(again.earlier, [states[3].0, states[2].0]);
    let restore = |generation: Option<u64>, to: PathBuf| match generation {
        None => Database::restore(at("backup"), to, &Options::default()),
        Some(of) => Database::restore_generation(at("backup"), of, to, &Options::default()),
    };
    for (generation, lines) in &states[2..] {
        let to = at(&format!("of-{generation}"));
        let restored = restore(Some(*generation), to).unwrap();
        assert_eq!(exported(&restored), *lines);
    }
    assert_eq!(exported(&restore(None, at("newest")).unwrap()), states[4].1);
    let gone = restore(Some(states[0].0), at("gone")).map(drop);
    let Err(Error::Store(StoreError::Invalid(why))) = gone else {
        panic!("{gone:?}");
    };
    assert!(why.contains(&states[4].0.to_string()), "{why}");
    // A plain backup replaces the newest alone; fewer are kept when fewer are asked for.
    put(&database, "last", "herons sleep");
    let plain = database.backup(at("backup"), &NoProgress).unwrap();
    assert_eq!(plain.earlier, [states[3].0, states[2].0]);
    let two = NonZeroUsize::new(2).unwrap();
    put(&database, "more", "herons wade");
    let fewer = database
        .backup_with_retention(at("backup"), two, &NoProgress)
        .unwrap();
    assert_eq!(fewer.earlier, [plain.generation]);
    // An earlier state is a store of its own.
    let looked_up = at("backup")
        .join("generations")
        .join(plain.generation.to_string());
    assert_eq!(Database::open(looked_up).unwrap().stats().documents, 6);
    // Stopped between setting aside and taking the place, the state before is what is restored.
    fs::remove_file(at("backup").join("loci.redb")).unwrap();
    fs::write(at("backup").join("UNFINISHED"), "backup\n").unwrap();
    assert!(is_unfinished(
        Database::open(at("backup")),
        FolderOperation::Backup
    ));
    let before = restore(None, at("before")).unwrap();
    assert_eq!(before.stats().generation, plain.generation);
    before.close();
    database
        .backup_with_retention(at("backup"), two, &NoProgress)
        .unwrap();
    let restored = restore(None, at("after")).unwrap();
    assert_eq!(exported(&restored), exported(&database));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("segments")).unwrap();
    fs::copy(from.join("loci.redb"), to.join("loci.redb")).unwrap();
    for name in part_names(from) {
        let name = Path::new("segments").join(name);
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// What one page of the database over another does to backups and exports.
struct SwapOutcomes {
    backups: u32,
    exports: u32,
    refused: u32,
}

/// Copies one page over another, `rounds` times, each in a copy of a store; whatever is then backed up or exported without
/// an error must be what was there before.
fn swap_pages(rounds: u64) -> SwapOutcomes {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let database = common::every_table(&at("store"));
    for n in 0..40 {
        put(&database, &format!("more-{n}"), "herons fish at dawn");
    }
    let lines = exported(&database);
    database.backup(at("backup"), &NoProgress).unwrap();
    // The backup of a damaged store must not take the place of this one.
    let good = fs::read(at("backup").join("loci.redb")).unwrap();
    database.close();
    let mut seen = SwapOutcomes {
        backups: 0,
        exports: 0,
        refused: 0,
    };
    for round in 0..rounds {
        let to = at(&format!("round-{round}"));
        copy(&at("store"), &to);
        let mut bytes = fs::read(to.join("loci.redb")).unwrap();
        let pages = bytes.len() / 4096;
        // Page 0 is redb's own head.
        let page = |of: &[u8]| 1 + xxh3_64_with_seed(of, round) as usize % (pages - 1);
        let (from, over) = (page(b"from"), page(b"over"));
        bytes.copy_within(from * 4096..(from + 1) * 4096, over * 4096);
        fs::write(to.join("loci.redb"), bytes).unwrap();
        let Ok(damaged) = Database::open(&to) else {
            seen.refused += 1;
            fs::remove_dir_all(to).unwrap();
            continue;
        };
        let mut export = Vec::new();
        if damaged.export(&mut export, &NoProgress).is_ok() {
            assert!(export == lines, "round {round}: the export is another");
            seen.exports += 1;
        }
        match damaged.backup(at("backup"), &NoProgress) {
            Ok(_) => seen.backups += 1,
            Err(_) => {
                let earlier_backup = fs::read(at("backup").join("loci.redb")).unwrap();
                assert!(
                    earlier_backup == good,
                    "round {round}: the earlier backup is another"
                );
            }
        }
        drop(damaged);
        let restored = at(&format!("restored-{round}"));
        let back = Database::restore(at("backup"), &restored, &Options::default()).unwrap();
        assert!(
            exported(&back) == lines,
            "round {round}: the backup is another"
        );
        back.close();
        fs::remove_dir_all(at("backup")).unwrap();
        copy(&restored, &at("backup"));
        fs::write(at("backup").join("loci.redb"), &good).unwrap();
        fs::remove_dir_all(restored).unwrap();
        fs::remove_dir_all(to).unwrap();
    }
    seen
}

#[test]
fn database_with_a_swapped_page_is_neither_backed_up_nor_exported() {
    let seen = swap_pages(60);
    // Pages that are free may hold anything.
    assert!(seen.backups >= 1 && seen.exports >= 1);
    assert!(seen.backups < 60 && seen.refused < 60);
}

#[test]
#[ignore = "long: two thousand damaged stores; run by name"]
fn two_thousand_damaged_databases_are_neither_backed_up_nor_exported() {
    let seen = swap_pages(2000);
    println!(
        "{} backups and {} exports were whole, {} stores were refused",
        seen.backups, seen.exports, seen.refused
    );
}
