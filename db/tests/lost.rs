//! What is derived from the whole store and damaged stays known until it is built anew: in answers, findings and
//! figures, over restarts, and whatever the next command is.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use locidb::query::QueryError;
use locidb::storage::metadata::digest_metadata;
use locidb::storage::records::DigestRecord;
use locidb::storage::rows::decode;
use locidb::storage::{DerivedIndex, DocumentId, StoreError, Table};
use locidb::{Database, Error, Finding, NoProgress, Options, SearchRequest, Strategy};

mod common;

use common::fill;

/// Every part has a file of its own.
fn in_files() -> Options {
    Options {
        inline_len_max: 0,
        ..Options::default()
    }
}

/// The file of what is derived.
fn derived_part_file(folder: &Path, what: DerivedIndex) -> PathBuf {
    let database = Database::open(folder).unwrap();
    let view = database.snapshot();
    let snapshot = view.snapshot();
    let part = match what {
        DerivedIndex::Projection => snapshot.active_space().unwrap().record.projection.clone(),
        DerivedIndex::Analysis => snapshot.manifest().analysis.clone(),
    };
    let name = part.unwrap().file.unwrap();
    folder.join("segments").join(name)
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    fs::write(file, bytes).unwrap();
}

/// The reasons why an answer is partial, a line each.
fn reasons(answer: &locidb::Answer) -> String {
    let lines: Vec<String> = answer.partial.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn findings(database: &Database, deep: bool) -> Vec<Finding> {
    let mut all = Vec::new();
    database
        .check(deep, &NoProgress, &mut |finding| all.push(finding))
        .unwrap();
    all
}

/// A store whose `what` is damaged, and was given up by a process that ended at once.
fn create_damaged_store(folder: &Path, what: DerivedIndex) {
    fill(folder, &in_files());
    flip(&derived_part_file(folder, what));
    Database::open(folder).unwrap().close();
}

#[test]
fn damaged_projection_is_reported_by_answers_and_check_until_refit() {
    let folder = tempfile::tempdir().unwrap();
    create_damaged_store(folder.path(), DerivedIndex::Projection);
    for deep in [false, true] {
        let database = Database::open(folder.path()).unwrap();
        // The background may have fitted it anew by the next line; a view is one state.
        let view = database.snapshot();
        assert_eq!(database.lost().len(), 1);
        let reason = database.lost()[0].why.clone();
        assert!(reason.contains("checksum"), "{reason}");
        for strategy in [Strategy::Hybrid, Strategy::Graph, Strategy::Staged] {
            let request = SearchRequest {
                strategy,
                ..SearchRequest::new("what do owls and eagles do")
            };
            let answer = database.search_in(&view, &request).unwrap();
            let reasons = reasons(&answer);
            assert!(
                reasons.contains("vectors: the embedder's projection"),
                "{strategy:?}: {reasons}"
            );
        }
        let request = SearchRequest {
            strategy: Strategy::Text,
            ..SearchRequest::new("owls")
        };
        let answer = database.search_in(&view, &request).unwrap();
        assert_eq!(answer.partial, [], "text goes without nothing");
        let request = SearchRequest {
            strategy: Strategy::Vector,
            ..SearchRequest::new("owls")
        };
        let refused = database.search_in(&view, &request).unwrap_err();
        let says_why =
            matches!(&refused, Error::Query(QueryError::NoVector(why)) if why.contains("damaged"));
        assert!(says_why, "{refused}");
        let found = findings(&database, deep);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].section, "projection");
        assert!(found[0].finding.contains("checksum"), "{found:?}");
        database.close();
    }
}

#[test]
fn damaged_analysis_is_reported_by_graph_answers_and_check() {
    let folder = tempfile::tempdir().unwrap();
    create_damaged_store(folder.path(), DerivedIndex::Analysis);
    let database = Database::open(folder.path()).unwrap();
    let view = database.snapshot();
    let request = SearchRequest {
        strategy: Strategy::Hybrid,
        ..SearchRequest::new("what do owls and eagles do")
    };
    let answer = database.search_in(&view, &request).unwrap();
    let reasons = reasons(&answer);
    assert!(reasons.contains("graph: ranks"), "{reasons}");
    let found = findings(&database, true);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].section, "analysis");
    database.close();
}

type Work = fn(&Database);

#[test]
fn next_write_rebuilds_lost_data() {
    let works: [(&str, Work); 4] = [
        ("finish", |database| database.finish(&NoProgress).unwrap()),
        ("compact", |database| {
            database.compact(&NoProgress).unwrap();
        }),
        ("analyse", |database| {
            database.analyse(&NoProgress).unwrap();
        }),
        ("repair", |database| {
            database.repair().unwrap();
        }),
    ];
    for what in DerivedIndex::ALL {
        for (name, work) in works {
            let folder = tempfile::tempdir().unwrap();
            create_damaged_store(folder.path(), what);
            let database = Database::open(folder.path()).unwrap();
            work(&database);
            let stats = database.stats();
            assert!(stats.lost.is_empty(), "{name}: {:?}", stats.lost);
            assert!(stats.space.is_some() && stats.ranked, "{name}");
            database.close();
            let database = Database::open(folder.path()).unwrap();
            assert_eq!(findings(&database, true), [], "{name}");
            let answer = database.search(&SearchRequest::new("owls")).unwrap();
            assert_eq!(answer.partial, [], "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        create_damaged_store(folder.path(), what);
        let options = Options::default();
        Database::upgrade(folder.path(), true, &options, &NoProgress).unwrap();
        let database = Database::open(folder.path()).unwrap();
        assert_eq!(database.lost().len(), 1, "a dry run changes nothing");
        database.close();
        Database::upgrade(folder.path(), false, &options, &NoProgress).unwrap();
        let database = Database::open(folder.path()).unwrap();
        assert_eq!(findings(&database, true), []);
        assert!(database.stats().space.is_some());
    }
}

#[test]
fn background_thread_rebuilds_lost_data() {
    let folder = tempfile::tempdir().unwrap();
    create_damaged_store(folder.path(), DerivedIndex::Projection);
    let database = Database::open(folder.path()).unwrap();
    let started = std::time::Instant::now();
    while !database.stats().lost.is_empty() {
        assert!(started.elapsed().as_secs() < 60, "{:?}", database.stats());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(database.stats().space.is_some());
    database.close();
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(findings(&database, true), []);
}

#[test]
fn read_only_store_reports_lost_data_and_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    flip(&derived_part_file(folder.path(), DerivedIndex::Projection));
    let reading = Options {
        read_only: true,
        ..Options::default()
    };
    for _ in 0..2 {
        let database = Database::open_with(folder.path(), &reading).unwrap();
        let answer = database.search(&SearchRequest::new("owls")).unwrap();
        let reasons = reasons(&answer);
        assert!(
            reasons.contains("vectors: the embedder's projection"),
            "{reasons}"
        );
        database.close();
    }
}

/// All lines of an export.
fn export(database: &Database) -> String {
    let mut lines = Vec::new();
    database.export(&mut lines, &NoProgress).unwrap();
    String::from_utf8(lines).unwrap()
}

#[test]
fn concept_name_is_removed_with_the_last_document_that_mentions_it() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("store"), &Options::default());
    let database = Database::open(folder.path().join("store")).unwrap();
    let secret = common::document("secret", ["xylophones", "owls"]);
    database.write(move |tx| tx.put_document(secret)).unwrap();
    assert!(export(&database).contains("xylophone"));
    let key = "secret".parse().unwrap();
    database.write(move |tx| tx.delete_document(&key)).unwrap();
    assert!(!export(&database).contains("xylophone"));
    assert!(export(&database).contains("owl"), "others speak of these");
    let request = SearchRequest {
        concepts: true,
        ..SearchRequest::new("what are xylophones to owls")
    };
    let answer = database.search(&request).unwrap();
    assert_eq!(answer.partial, []);
    assert!(
        answer
            .concepts
            .iter()
            .all(|of| !of.name.contains("xylophone"))
    );
    database.analyse(&NoProgress).unwrap();
    assert_eq!(findings(&database, true), []);
    // A document that is replaced forgets likewise, and one that comes again is found by the name.
    for words in [["zithers", "owls"], ["xylophones", "owls"]] {
        let secret = common::document("secret", words);
        database.write(move |tx| tx.put_document(secret)).unwrap();
    }
    assert!(!export(&database).contains("zither"));
    let answer = database.search(&request).unwrap();
    assert!(
        answer
            .concepts
            .iter()
            .any(|of| of.name.contains("xylophone"))
    );
    assert_eq!(answer.partial, []);
    database.finish(&NoProgress).unwrap();
    database.wait_for_merges().unwrap();
    assert_eq!(findings(&database, true), []);
    let lines = export(&database);
    let to = folder.path().join("imported");
    let options = Options::default();
    let imported = Database::import(&mut lines.as_bytes(), to, &options, &NoProgress).unwrap();
    assert_eq!(export(&imported), lines);
}

/// The spaces that the vectors of digests are in.
fn spaces_of_digests(database: &Database) -> BTreeSet<Option<u32>> {
    let mut spaces = BTreeSet::new();
    for_each_digest(database, &mut |key, row| {
        let record: DigestRecord = decode(Table::Digests, key, row).unwrap();
        spaces.insert(record.vector.map(|(space, _)| space));
    });
    spaces
}

fn for_each_digest(database: &Database, look: &mut dyn FnMut(&[u8], &[u8])) {
    let view = database.snapshot();
    let mut visit = |key: &[u8], row: &[u8]| {
        look(key, row);
        Ok(ControlFlow::Continue(()))
    };
    let rows = view.snapshot().rows();
    rows.scan_all(Table::Digests, &mut visit).unwrap();
}

#[test]
fn digests_get_vectors_again_after_refit() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let database = Database::open(folder.path()).unwrap();
    put_community(&database);
    database.analyse(&NoProgress).unwrap();
    database.close();
    flip(&derived_part_file(folder.path(), DerivedIndex::Projection));
    let database = Database::open(folder.path()).unwrap();
    database.recover(&NoProgress).unwrap();
    let active = database
        .snapshot()
        .snapshot()
        .active_space()
        .map(|space| space.id.0);
    assert!(active.is_some());
    assert_eq!(spaces_of_digests(&database), BTreeSet::from([active]));
}

/// Stores three documents that are near each other: a community, with a digest.
fn put_community(database: &Database) {
    for (key, words) in [
        ("one", ["terns", "gulls"]),
        ("two", ["gulls", "auks"]),
        ("three", ["auks", "terns"]),
    ] {
        let document = common::document(key, words);
        database.write(move |tx| tx.put_document(document)).unwrap();
    }
}

/// The rows of digests of a store that is closed, as its file has them; each is put back as `change` leaves it.
fn change_digests(folder: &Path, change: &mut dyn FnMut(&[u8], &mut Vec<u8>)) {
    let file = redb::Database::open(folder.join("loci.redb")).unwrap();
    let transaction = file.begin_write().unwrap();
    let definition: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("digests");
    let mut table = transaction.open_table(definition).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = redb::ReadableTable::iter(&table)
        .unwrap()
        .map(|row| {
            let (key, row) = row.unwrap();
            (key.value().to_vec(), row.value().to_vec())
        })
        .collect();
    assert!(!rows.is_empty());
    for (key, mut row) in rows {
        change(&key, &mut row);
        table.insert(&key[..], &row[..]).unwrap();
    }
    drop(table);
    transaction.commit().unwrap();
}

#[test]
fn interrupted_recovery_resumes_with_the_digests() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let database = Database::open(folder.path()).unwrap();
    put_community(&database);
    database.analyse(&NoProgress).unwrap();
    database.close();
    let mut before = Vec::new();
    change_digests(folder.path(), &mut |key, row| {
        before.push((key.to_vec(), row.clone()));
    });
    flip(&derived_part_file(folder.path(), DerivedIndex::Projection));
    let database = Database::open(folder.path()).unwrap();
    database.recover(&NoProgress).unwrap();
    database.close();
    // As they are while the projection is fitted anew already.
    change_digests(folder.path(), &mut |key, row| {
        let old = before.iter().find(|(of, _)| of == key);
        *row = old.unwrap().1.clone();
    });
    let database = Database::open(folder.path()).unwrap();
    assert!(database.snapshot().snapshot().lost_indexes().is_empty());
    database.recover(&NoProgress).unwrap();
    let active = database
        .snapshot()
        .snapshot()
        .active_space()
        .map(|space| space.id.0);
    assert!(active.is_some());
    assert_eq!(spaces_of_digests(&database), BTreeSet::from([active]));
}

#[test]
fn damaged_digest_is_reported_and_rewritten_without_blocking_writes() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &Options::default());
    let database = Database::open(folder.path()).unwrap();
    put_community(&database);
    database.analyse(&NoProgress).unwrap();
    database.close();
    change_digests(folder.path(), &mut |_, row| row[20] ^= 4);
    let database = Database::open(folder.path()).unwrap();
    assert!(!findings(&database, false).is_empty());
    let again = common::document("one", ["skuas", "puffins"]);
    database.write(move |tx| tx.put_document(again)).unwrap();
    let other = "two".parse().unwrap();
    let is_deleted = database.write(move |tx| tx.delete_document(&other));
    assert!(is_deleted.unwrap());
    assert!(!findings(&database, false).is_empty(), "it is not hidden");
    database.recover(&NoProgress).unwrap();
    put_community(&database);
    database.analyse(&NoProgress).unwrap();
    assert_eq!(findings(&database, true), []);
    let active = database
        .snapshot()
        .snapshot()
        .active_space()
        .map(|space| space.id.0);
    assert_eq!(spaces_of_digests(&database), BTreeSet::from([active]));
}

/// Whether a digest has the word in a sentence.
fn is_in_digests(database: &Database, word: &str) -> bool {
    let mut found = false;
    for_each_digest(database, &mut |_, row| {
        found |= row.windows(word.len()).any(|of| of == word.as_bytes());
    });
    found
}

#[test]
fn digests_have_no_sentences_of_deleted_or_replaced_documents() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("store"), &Options::default());
    let database = Database::open(folder.path().join("store")).unwrap();
    let put = |key: &str, words: [&'static str; 2]| {
        let document = common::document(key, words);
        database.write(move |tx| tx.put_document(document)).unwrap();
    };
    // Three that are near each other are a community, with a digest.
    put("one", ["terns", "gulls"]);
    put("two", ["gulls", "auks"]);
    put("three", ["auks", "terns"]);
    database.analyse(&NoProgress).unwrap();
    let is_quoted = |key: &&str| is_in_digests(&database, &format!("of {key} is described"));
    let mut quoted: Vec<&str> = ["one", "two", "three"]
        .into_iter()
        .filter(is_quoted)
        .collect();
    let replaced = quoted.pop().expect("a digest quotes something");
    put(replaced, ["skuas", "puffins"]);
    let is_of_it = |word| is_in_digests(&database, &format!("{word} of {replaced} is described"));
    assert!(!["terns", "gulls", "auks"].into_iter().any(is_of_it));
    assert!(
        quoted.iter().all(is_quoted),
        "what it does not concern stays"
    );
    for key in quoted {
        let document = key.parse().unwrap();
        database
            .write(move |tx| tx.delete_document(&document))
            .unwrap();
        assert!(!is_quoted(&key), "{key}");
    }
    database.analyse(&NoProgress).unwrap();
    assert_eq!(findings(&database, true), []);
}

#[test]
fn lost_data_is_cleared_when_there_is_nothing_to_rebuild_from() {
    let folder = tempfile::tempdir().unwrap();
    create_damaged_store(folder.path(), DerivedIndex::Projection);
    let database = Database::open(folder.path()).unwrap();
    database.set("embedder", "none").unwrap();
    database.finish(&NoProgress).unwrap();
    assert!(database.stats().lost.is_empty());
    database.close();
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(findings(&database, true), []);
}

#[test]
fn call_is_refused_when_a_file_is_truncated_within_a_page() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let file = derived_part_file(folder.path(), DerivedIndex::Analysis);
    let database = Database::open(folder.path()).unwrap();
    let watch = database.watch_pages().unwrap();
    database.check_pages(watch).unwrap();
    let file = fs::File::options().write(true).open(file).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len - 3).unwrap();
    assert!(database.check_pages(watch).is_err());
}

#[cfg(unix)]
#[test]
fn fifo_in_place_of_a_segment_is_repaired_without_blocking() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let file = derived_part_file(folder.path(), DerivedIndex::Analysis);
    fs::remove_file(&file).unwrap();
    let status = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(status.unwrap().success());
    let database = Database::open(folder.path()).unwrap();
    database.recover(&NoProgress).unwrap();
    database.close();
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(findings(&database, true), []);
}

#[test]
fn read_only_store_can_be_backed_up_to_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fill(&store, &in_files());
    let options = Options {
        read_only: true,
        ..Options::default()
    };
    let database = Database::open_with(&store, &options).unwrap();
    let lines = export(&database);
    let backup = folder.path().join("backup");
    database.backup(&backup, &NoProgress).unwrap();
    database.close();
    let restored = folder.path().join("restored");
    let restored = Database::restore(backup, restored, &Options::default()).unwrap();
    assert_eq!(export(&restored), lines);
}

#[cfg(unix)]
#[test]
fn segments_overwritten_while_open_are_repaired_with_derived_data() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let database = Database::open(folder.path()).unwrap();
    let request = SearchRequest::new("passage at length");
    let before = database.search(&request).unwrap();
    for entry in fs::read_dir(folder.path().join("segments")).unwrap() {
        let file = fs::File::options()
            .write(true)
            .open(entry.unwrap().path())
            .unwrap();
        let len = file.metadata().unwrap().len() as usize;
        let zeros = vec![0; (len / 2).min(64 << 10)];
        file.write_all_at(&zeros, len as u64 / 3).unwrap();
    }
    database.repair().unwrap();
    assert_eq!(findings(&database, true), []);
    let after = database.search(&request).unwrap();
    assert_eq!(after.partial, []);
    let chunks = |of: &locidb::Answer| -> Vec<String> {
        of.hits.iter().map(|hit| hit.chunk.clone()).collect()
    };
    assert_eq!(chunks(&after), chunks(&before));
}

#[test]
fn partial_records_match_full_records() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &Options::default());
    let database = Database::open(folder.path()).unwrap();
    put_community(&database);
    database.analyse(&NoProgress).unwrap();
    let (view, mut seen) = (database.snapshot(), 0);
    let rows = view.snapshot().rows();
    for key in ["d0", "one", "two", "three"] {
        let id = rows.document_id(&key.parse().unwrap()).unwrap().unwrap();
        let (head, record) = (rows.document_metadata(id), rows.document(id));
        let (head, record) = (head.unwrap().unwrap(), record.unwrap().unwrap());
        assert_eq!((head.key, head.title), (record.key, record.title));
        assert_eq!(head.language, record.language);
        for place in 0..record.chunk_count {
            let (head, record) = (rows.chunk_metadata(id, place), rows.chunk(id, place));
            let (head, record) = (head.unwrap().unwrap(), record.unwrap().unwrap());
            assert_eq!((head.suffix, head.parent), (record.suffix, record.parent));
            assert_eq!((head.text, head.location), (record.text, record.location));
            assert_eq!(head.heading_path, record.heading_path);
            seen += 1;
        }
    }
    for_each_digest(&database, &mut |key, row| {
        let record: DigestRecord = decode(Table::Digests, key, row).unwrap();
        let head = digest_metadata(key, row).unwrap();
        let documents = record.sentences.iter().map(|of| DocumentId(of.document));
        assert_eq!(head.documents, documents.collect::<Vec<_>>());
        assert_eq!(head.space, record.vector.map(|vector| vector.0));
        seen += 1;
    });
    assert!(seen > 8);
}

/// Files of a store's database in each of which a page of redb's own is damaged.
fn with_damaged_free_pages(store: &Path) -> Vec<Vec<u8>> {
    let sound = fs::read(store.join("loci.redb")).unwrap();
    // The first bytes of a page say how many entries it has.
    let pages = (1..sound.len() / 4096).filter(|page| sound[page * 4096] != 0);
    let damaged = pages.map(|page| {
        let mut bytes = sound.clone();
        bytes[page * 4096 + 2] ^= 1;
        bytes
    });
    let is_refused = |bytes: &Vec<u8>| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loci.redb");
        fs::write(&path, bytes).unwrap();
        let opened = Database::open(folder.path());
        let free_pages = |error| matches!(error, Error::Store(StoreError::DamagedFreePages { .. }));
        let is_refused = opened.err().is_some_and(free_pages);
        assert!(
            !is_refused || fs::read(&path).unwrap() == *bytes,
            "it was written to"
        );
        is_refused
    };
    damaged.filter(is_refused).collect()
}

fn read_only() -> Options {
    Options {
        read_only: true,
        ..Options::default()
    }
}

#[test]
fn store_with_damaged_free_pages_is_readable_exportable_and_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fill(&store, &in_files());
    let database = Database::open(&store).unwrap();
    let lines = export(&database);
    let request = SearchRequest::new("owls");
    let hits = database.search(&request).unwrap().hits.len();
    assert!(hits > 0);
    database.close();
    let damaged = with_damaged_free_pages(&store);
    // The root of redb's own tables is among them.
    assert!(damaged.len() > 2, "{}", damaged.len());
    for bytes in damaged {
        fs::write(store.join("loci.redb"), &bytes).unwrap();
        let database = Database::open_with(&store, &read_only()).unwrap();
        assert!(database.damaged_free_pages().is_some());
        assert!(database.flush().is_err());
        assert_eq!(database.search(&request).unwrap().hits.len(), hits);
        let findings = findings(&database, false);
        let of_pages = |finding: &Finding| finding.section == "pages";
        assert!(findings.iter().any(of_pages), "{findings:?}");
        assert!(export(&database) == lines);
        let backup = folder.path().join("backup");
        database.backup(&backup, &NoProgress).unwrap();
        database.close();
        let restored = folder.path().join("restored");
        let restored = Database::restore(&backup, &restored, &Options::default()).unwrap();
        assert!(export(&restored) == lines);
        drop(restored);
        fs::remove_dir_all(folder.path().join("restored")).unwrap();
        fs::remove_dir_all(backup).unwrap();
        assert!(fs::read(store.join("loci.redb")).unwrap() == bytes);
    }
}

#[test]
fn store_with_damaged_free_pages_and_no_segments_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &in_files());
    let damaged = with_damaged_free_pages(folder.path());
    fs::write(folder.path().join("loci.redb"), &damaged[0]).unwrap();
    for entry in fs::read_dir(folder.path().join("segments")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let database = Database::open_with(folder.path(), &read_only()).unwrap();
    database.rebuild(&NoProgress).unwrap();
    let request = SearchRequest {
        strategy: Strategy::Text,
        ..SearchRequest::new("owls")
    };
    let answer = database.search(&request).unwrap();
    assert!(!answer.hits.is_empty() && answer.partial.is_empty());
    assert!(export(&database).contains("The owls of d4"));
}

#[test]
fn writes_stop_when_damaged_free_pages_are_found_while_open() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fill(&store, &Options::default());
    let path = store.join("loci.redb");
    let sound = fs::read(&path).unwrap();
    for damaged in with_damaged_free_pages(&store) {
        fs::write(&path, &sound).unwrap();
        let database = Database::open(&store).unwrap();
        let lines = export(&database);
        let at = (0..sound.len())
            .find(|&at| sound[at] != damaged[at])
            .unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&damaged[at..=at], at as u64).unwrap();
        let backup = folder.path().join("backup");
        // What redb writes over since the store was opened is another page.
        if database.backup(&backup, &NoProgress).is_ok() && database.damaged_free_pages().is_some()
        {
            let before = fs::read(&path).unwrap();
            let more = common::document("more", ["larks", "wrens"]);
            let refused = database.write(move |tx| tx.put_document(more)).unwrap_err();
            assert!(refused.to_string().contains("free pages"), "{refused}");
            assert_eq!(export(&database), lines);
            assert!(!findings(&database, false).is_empty());
            database.close();
            assert!(fs::read(&path).unwrap() == before, "it was written to");
            let restored = folder.path().join("restored");
            let restored = Database::restore(&backup, &restored, &Options::default()).unwrap();
            assert_eq!(export(&restored), lines);
            return;
        }
        drop(database);
        let _ = fs::remove_dir_all(backup);
    }
    panic!("no damage was found while the store was open");
}
