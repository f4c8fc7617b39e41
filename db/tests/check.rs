//! Damage is found: bits that flip, files that are cut or swapped, rows that point at nothing.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use locidb::storage::Table;
use locidb::storage::keys::ChunkKey;
use locidb::{Database, Finding, NoProgress, Options, SearchRequest};

mod common;

use common::fill;

fn findings(database: &Database) -> Vec<Finding> {
    let mut all = Vec::new();
    database
        .check(true, &NoProgress, &mut |finding| all.push(finding))
        .unwrap();
    all
}

/// What a reader sees: rows but for those that say where views lie, and answers.
fn visible_state(database: &Database) -> (BTreeMap<(Table, Vec<u8>), Vec<u8>>, Vec<String>) {
    let view = database.snapshot();
    let mut rows = BTreeMap::new();
    for table in Table::ALL {
        if matches!(
            table,
            Table::Meta | Table::Parts | Table::Tombstones | Table::Spaces
        ) {
            continue;
        }
        let scan = view.snapshot().rows().scan_all(table, &mut |key, value| {
            rows.insert((table, key.to_vec()), value.to_vec());
            Ok(ControlFlow::Continue(()))
        });
        scan.unwrap();
    }
    let mut hits = Vec::new();
    for question in ["herons", "what do owls and eagles do", "passage of swifts"] {
        // All of them, as equal scores stand in the order of segments.
        let request = SearchRequest {
            k: 100,
            ..SearchRequest::new(question)
        };
        let answer = database.search(&request).unwrap();
        hits.extend(
            answer
                .hits
                .iter()
                .map(|hit| format!("{} {}", hit.chunk, hit.text)),
        );
    }
    (rows, hits)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("segments")).unwrap();
    for name in ["loci.redb", "LOCK"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    for entry in fs::read_dir(from.join("segments")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join("segments").join(entry.file_name())).unwrap();
    }
}

/// All files of a store that hold bytes.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("loci.redb")];
    let segments = fs::read_dir(folder.join("segments")).unwrap();
    files.extend(segments.map(|entry| entry.unwrap().path()));
    files.sort();
    files
}

/// Damages copies of a store `rounds` times; each must be refused, found, or harmless. Returns how many of each.
fn damage_outcomes(
    options: &Options,
    rounds: u64,
    damage: impl Fn(&mut Vec<u8>, u64),
) -> [usize; 3] {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    fill(&whole, options);
    let database = Database::open_with(&whole, options).unwrap();
    assert_eq!(findings(&database), [], "a sound store has nothing wrong");
    let right = visible_state(&database);
    database.close();
    let mut outcomes = [0; 3];
    for round in 0..rounds {
        let to = folder.path().join("damaged");
        let _ = fs::remove_dir_all(&to);
        copy(&whole, &to);
        let files = files(&to);
        let file = &files[round as usize % files.len()];
        let mut bytes = fs::read(file).unwrap();
        damage(&mut bytes, round);
        fs::write(file, &bytes).unwrap();
        let outcome = match Database::open_with(&to, options) {
            Err(_) => 0,
            Ok(database) => {
                let is_found = !findings(&database).is_empty();
                let is_right = || visible_state(&database) == right;
                assert!(
                    is_found || is_right(),
                    "round {round}, {file:?}: silently wrong"
                );
                database.close();
                if is_found { 1 } else { 2 }
            }
        };
        outcomes[outcome] += 1;
    }
    outcomes
}

/// Numbers of chance, the same in every run.
fn random(round: u64) -> u64 {
    let mut x = round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn flip(bytes: &mut [u8], round: u64) {
    let at = random(round) % (bytes.len() as u64 * 8);
    bytes[at as usize / 8] ^= 1 << (at % 8);
}

/// Parts in files, and parts in rows.
fn part_storage_options() -> [Options; 2] {
    let files = Options {
        inline_len_max: 0,
        ..Options::default()
    };
    [files, Options::default()]
}

#[test]
fn flipped_bit_is_found_refused_or_harmless() {
    for options in part_storage_options() {
        let outcomes = damage_outcomes(&options, 60, |bytes, round| flip(bytes, round));
        assert!(outcomes[0] + outcomes[1] > 0, "{outcomes:?}");
    }
}

#[test]
#[ignore = "20,000 stores are made and opened: half an hour"]
fn twenty_thousand_flipped_bits_are_found_refused_or_harmless() {
    for options in part_storage_options() {
        println!(
            "refused, found, harmless: {:?}",
            damage_outcomes(&options, 10_000, |bytes, round| flip(bytes, round))
        );
    }
}

#[test]
fn truncated_file_is_found_refused_or_harmless() {
    for options in part_storage_options() {
        let cut = |bytes: &mut Vec<u8>, round: u64| {
            let len = random(round) as usize % bytes.len() / 4096 * 4096;
            bytes.truncate(len);
        };
        let outcomes = damage_outcomes(&options, 40, cut);
        assert!(outcomes[0] + outcomes[1] > 0, "{outcomes:?}");
    }
}

#[test]
fn dangling_row_is_found_only_by_deep_check() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &Options::default());
    let path = folder.path().join("loci.redb");
    {
        // A program of ours that forgot a row: all checksums hold.
        let database = redb::Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        let definition = redb::TableDefinition::<&[u8], &[u8]>::new("chunk_suffixes");
        let mut table = write.open_table(definition).unwrap();
        assert!(table.pop_first().unwrap().is_some());
        drop(table);
        write.commit().unwrap();
    }
    let database = Database::open(folder.path()).unwrap();
    let mut plain = Vec::new();
    database
        .check(false, &NoProgress, &mut |finding| plain.push(finding))
        .unwrap();
    assert_eq!(plain, []);
    let deep = findings(&database);
    assert_eq!(deep.len(), 1, "{deep:?}");
    assert_eq!(
        (&deep[0].file[..], &deep[0].section[..]),
        ("loci.redb", "chunks")
    );
    assert!(deep[0].finding.contains("suffix") && !deep[0].key.is_empty());
}

/// The reasons why an answer is partial, a line each.
fn reasons(answer: &locidb::Answer) -> String {
    let lines: Vec<String> = answer.partial.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn hit_with_damaged_row_is_omitted_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &Options::default());
    let database = Database::open(folder.path()).unwrap();
    let request = SearchRequest::new("passage at length");
    let before = database.search(&request).unwrap();
    assert!(before.hits.len() > 3 && before.partial.is_empty());
    let worst = before.hits.last().unwrap().chunk.clone();
    let (id, place) = {
        let view = database.snapshot();
        let found = view.snapshot().rows().find_chunk(&worst.parse().unwrap());
        found.unwrap().unwrap()
    };
    database.close();
    let key = locidb::storage::keys::document_entry(id, place);
    {
        let file = redb::Database::open(folder.path().join("loci.redb")).unwrap();
        let transaction = file.begin_write().unwrap();
        let definition: redb::TableDefinition<'_, &[u8], &[u8]> =
            redb::TableDefinition::new("chunks");
        let mut table = transaction.open_table(definition).unwrap();
        let mut row = table.remove(&key[..]).unwrap().unwrap().value().to_vec();
        row[20] ^= 4;
        table.insert(&key[..], &row[..]).unwrap();
        drop(table);
        transaction.commit().unwrap();
    }
    let database = Database::open(folder.path()).unwrap();
    let after = database.search(&request).unwrap();
    let chunks = |of: &locidb::Answer| -> Vec<(u32, String)> {
        let hits = of.hits.iter();
        hits.map(|hit| (hit.rank, hit.chunk.clone())).collect()
    };
    let (mut same, left) = (chunks(&before), chunks(&after));
    same.pop();
    assert_eq!(left, same);
    let reasons = reasons(&after);
    assert!(
        reasons.contains("left out") && reasons.contains("chunks"),
        "{reasons}"
    );
    let found = findings(&database);
    let row = |finding: &&Finding| finding.section == "chunks" && !finding.key.is_empty();
    assert_eq!(found.iter().filter(row).count(), 1, "{found:?}");

    database.close();

    // What has a damaged row can be put again, and deleted.
    let document = worst.parse::<ChunkKey>().unwrap().document;
    let again = common::document(&document.key, ["wholly", "new"]);
    for again in [Some(again), None] {
        let other = tempfile::tempdir().unwrap();
        copy(folder.path(), other.path());
        let database = Database::open(other.path()).unwrap();
        let document = document.clone();
        let write = database.write(move |tx| match again {
            Some(again) => tx.put_document(again).map(drop),
            None => tx.delete_document(&document).map(drop),
        });
        write.unwrap();
        assert_eq!(findings(&database), []);
        database.close();
    }
}

/// What `file` was replaced by must be refused, found, or change nothing that a reader sees.
fn replacement_outcome(sound: &Path, file: &Path, by: &[u8]) -> &'static str {
    let folder = tempfile::tempdir().unwrap();
    copy(sound, folder.path());
    let before = {
        let database = Database::open(sound).unwrap();
        let seen = visible_state(&database);
        database.close();
        seen
    };
    fs::write(folder.path().join(file), by).unwrap();
    let Ok(database) = Database::open(folder.path()) else {
        return "refused";
    };
    database.rebuild(&NoProgress).unwrap();
    let mut after = visible_state(&database);
    let mut before = before;
    // Equal scores stand in the order of segments, which are others after a rebuild.
    before.1.sort();
    after.1.sort();
    let is_reported = !database.damaged().is_empty() && !findings(&database).is_empty();
    // A projection cannot be built again: until the next `finish`, questions go without vectors.
    let is_same = before.0 == after.0 && (before.1 == after.1 || database.stats().space.is_none());
    match (is_reported, is_same) {
        (true, true) => "found",
        (false, true) => "harmless",
        (_, false) => "wrong",
    }
}

#[test]
fn swapped_file_is_refused_or_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Every part has a file of its own.
    let options = Options {
        inline_len_max: 0,
        ..Options::default()
    };
    fill(&at("store"), &options);
    copy(&at("store"), &at("older"));
    let database = Database::open_with(at("store"), &options).unwrap();
    for pair in [["terns", "gulls"], ["gulls", "auks"]] {
        let document = common::document(pair[0], pair);
        database.write(move |tx| tx.put_document(document)).unwrap();
    }
    database.finish(&NoProgress).unwrap();
    database.wait_for_merges().unwrap();
    database.close();
    let rows = fs::read(at("older").join("loci.redb")).unwrap();
    let how = replacement_outcome(&at("store"), Path::new("loci.redb"), &rows);
    assert_eq!(how, "refused", "an older copy of the rows");
    let entries = fs::read_dir(at("store").join("segments")).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() > 2);
    for name in &names {
        let file = Path::new("segments").join(name.file_name().unwrap());
        for other in names.iter().filter(|other| *other != name) {
            let how = replacement_outcome(&at("store"), &file, &fs::read(other).unwrap());
            assert_eq!(how, "found", "{} is {}", name.display(), other.display());
        }
    }
}

#[test]
fn swapped_database_page_is_found_when_every_row_is_intact() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &Options::default());
    let path = folder.path().join("loci.redb");
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() / 4096;
    let mut refused = 0;
    for round in 1..60 {
        let (a, b) = (1 + round * 7 % (pages - 1), 1 + round * 13 % (pages - 1));
        let mut bytes = whole.clone();
        bytes.copy_within(b * 4096..(b + 1) * 4096, a * 4096);
        fs::write(&path, bytes).unwrap();
        let Ok(database) = Database::open(folder.path()) else {
            continue;
        };
        let is_found = !findings(&database).is_empty();
        let backup = tempfile::tempdir().unwrap();
        let is_refused = database.backup(backup.path(), &NoProgress).is_err();
        assert!(is_found || !is_refused, "page {b} in the place of {a}");
        refused += usize::from(is_refused);
        database.close();
    }
    assert!(refused > 0);
}
