//! Formats that stores were written in: each that there was is opened, searched and upgraded, for ever.
//!
//! A fixture in `tests/formats` is a store as the release that wrote its format left it, with its export and what
//! questions found. A new format gets one by
//! `cargo test -p locidb --test format -- --ignored the_fixture_of_this_format_is_written`.

use std::fs;
use std::path::{Path, PathBuf};

use locidb::storage::rows::seal_row;
use locidb::storage::store::FORMAT;
use locidb::storage::{StoreError, Table};
use locidb::{Database, Error, NoProgress, Options, SearchRequest};

mod common;

const QUESTIONS: [&str; 4] = [
    "herons",
    "what do owls and eagles do",
    "passage of swifts",
    "the great book of terns",
];

fn fixture(format: u32) -> PathBuf {
    let name = format!("tests/formats/{format}.lz4");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn lines(database: &Database) -> String {
    let mut out = Vec::new();
    database.export(&mut out, &NoProgress).unwrap();
    String::from_utf8(out).unwrap()
}

fn answers(database: &Database) -> String {
    let of = |question: &&str| {
        let answer = database.search(&SearchRequest::new(*question)).unwrap();
        let hits = answer
            .hits
            .iter()
            .map(|hit| format!("{} {}", hit.chunk, hit.text));
        format!("{question}\n{}\n", hits.collect::<Vec<_>>().join("\n"))
    };
    QUESTIONS.iter().map(of).collect()
}

/// Rows of an export: all but its first and last line, which tell the format and a hash.
fn rows(export: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = export.lines().collect();
    lines.pop();
    lines.split_off(1)
}

/// Files in one: name, length, bytes of each.
fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (name, bytes) in files {
        packed.extend(format!("{name}\n{}\n", bytes.len()).into_bytes());
        packed.extend(bytes);
    }
    lz4_flex::compress_prepend_size(&packed)
}

fn unpack(packed: &[u8]) -> Vec<(String, Vec<u8>)> {
    let bytes = lz4_flex::decompress_size_prepended(packed).unwrap();
    let mut rest = &bytes[..];
    let mut files = Vec::new();
    let line = |rest: &mut &[u8]| {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap();
        let line = String::from_utf8(rest[..end].to_vec()).unwrap();
        *rest = &rest[end + 1..];
        line
    };
    while !rest.is_empty() {
        let (name, len) = (line(&mut rest), line(&mut rest).parse().unwrap());
        let (bytes, after) = rest.split_at(len);
        files.push((name, bytes.to_vec()));
        rest = after;
    }
    files
}

/// Puts the fixture of a format into `folder`; returns its export and answers.
fn unpack_fixture(format: u32, folder: &Path) -> (String, String) {
    let packed = fs::read(fixture(format)).unwrap();
    let mut expected = [String::new(), String::new()];
    fs::create_dir_all(folder.join("segments")).unwrap();
    for (name, bytes) in unpack(&packed) {
        match &name[..] {
            "export" => expected[0] = String::from_utf8(bytes).unwrap(),
            "answers" => expected[1] = String::from_utf8(bytes).unwrap(),
            _ => fs::write(folder.join(name), bytes).unwrap(),
        }
    }
    expected.into()
}

fn open(folder: &Path) -> Result<Database, Error> {
    Database::open(folder)
}

fn upgrade(folder: &Path, dry_run: bool) -> Result<(u32, u32), Error> {
    let done = Database::upgrade(folder, dry_run, &Options::default(), &NoProgress)?;
    Ok((done.from, done.to))
}

/// Puts another payload in the place of a row's, with a right checksum.
fn put_raw_row(folder: &Path, table: Table, key: &[u8], payload: &[u8]) {
    let database = redb::Database::open(folder.join("loci.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let definition: redb::TableDefinition<'_, &[u8], &[u8]> =
        redb::TableDefinition::new(table.name());
    let value = seal_row(table, key, payload);
    transaction
        .open_table(definition)
        .unwrap()
        .insert(key, &value[..])
        .unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_store_of_every_format_is_upgraded_opened_and_answers_as_it_did() {
    for format in 0..=FORMAT {
        let folder = tempfile::tempdir().unwrap();
        let (export, expected_answers) = unpack_fixture(format, folder.path());
        if format < FORMAT {
            let refused = open(folder.path()).err().unwrap();
            assert!(refused.to_string().contains("loci upgrade"), "{refused}");
            let before = fs::read(folder.path().join("loci.redb")).unwrap();
            assert_eq!(upgrade(folder.path(), true).unwrap(), (format, FORMAT));
            let after = fs::read(folder.path().join("loci.redb")).unwrap();
            assert!(before == after, "trying it changed the store");
            assert!(open(folder.path()).is_err());
        }
        assert_eq!(upgrade(folder.path(), false).unwrap(), (format, FORMAT));
        assert_eq!(upgrade(folder.path(), false).unwrap(), (FORMAT, FORMAT));
        let database = open(folder.path()).unwrap();
        let mut findings = Vec::new();
        database
            .check(true, &NoProgress, &mut |finding| findings.push(finding))
            .unwrap();
        assert_eq!(findings, [], "format {format}");
        assert_eq!(rows(&lines(&database)), rows(&export), "format {format}");
        assert_eq!(answers(&database), expected_answers, "format {format}");
        // It is written to as any other.
        database
            .write(|tx| tx.put_document(common::document("new", ["terns", "gulls"])))
            .unwrap();
    }
}

#[test]
fn later_format_is_refused_by_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    unpack_fixture(FORMAT, folder.path());
    let later = FORMAT + 1;
    put_raw_row(folder.path(), Table::Meta, b"format", &later.to_le_bytes());
    for refused in [
        open(folder.path()).err(),
        upgrade(folder.path(), true).err(),
    ] {
        let refused = refused.unwrap();
        assert!(
            matches!(refused, Error::Store(StoreError::Format { found, ours }) if (found, ours) == (later, FORMAT)),
            "{refused}"
        );
        assert!(
            refused.to_string().contains("release that wrote it"),
            "{refused}"
        );
    }
}

#[test]
fn inconsistent_store_is_not_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    unpack_fixture(0, folder.path());
    // A suffix that leads to no chunk.
    let key = [&1u64.to_be_bytes()[..], &9u32.to_be_bytes()].concat();
    put_raw_row(
        folder.path(),
        Table::ChunkSuffixes,
        &key,
        &77u32.to_le_bytes(),
    );
    let before = fs::read(folder.path().join("loci.redb")).unwrap();
    let refused = upgrade(folder.path(), false).err().unwrap().to_string();
    assert!(refused.contains("chunk_suffixes"), "{refused}");
    let after = fs::read(folder.path().join("loci.redb")).unwrap();
    assert!(before == after, "it was changed");
}

#[test]
#[ignore = "writes a file of the repository: for a new format"]
fn the_fixture_of_this_format_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("store");
    let database = common::every_table(&at);
    // A part in a file, and rows of a switch of space that is half done.
    database.compact(&NoProgress).unwrap();
    let mut files = vec![
        ("export".to_owned(), lines(&database).into_bytes()),
        ("answers".to_owned(), answers(&database).into_bytes()),
    ];
    database.close();
    files.push((
        "loci.redb".to_owned(),
        fs::read(at.join("loci.redb")).unwrap(),
    ));
    for entry in fs::read_dir(at.join("segments")).unwrap() {
        let entry = entry.unwrap();
        let name = format!("segments/{}", entry.file_name().into_string().unwrap());
        files.push((name, fs::read(entry.path()).unwrap()));
    }
    fs::create_dir_all(fixture(FORMAT).parent().unwrap()).unwrap();
    fs::write(fixture(FORMAT), pack(&files)).unwrap();
}
