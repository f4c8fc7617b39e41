//! Lines of an export: whatever they are, an import refuses them or makes a store of them that is sample.
//!
//! The first byte says whether the lines are taken as they are, or with the head of a valid export before them and the last
//! line that they must have, so that what is checked first does not keep the rest from being reached.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use loci_fuzz::store::exported;
use loci_torture::sim::SimDisk;
use locidb::{Database, NoProgress, Options, SearchRequest};
use xxhash_rust::xxh3::xxh3_64;

/// Lines of the export of a small store.
static LINES: LazyLock<Vec<String>> =
    LazyLock::new(|| exported().lines().map(String::from).collect());

fn framed(lines: &[u8]) -> Vec<u8> {
    let mut framed = LINES[0].clone().into_bytes();
    framed.push(b'\n');
    framed.extend(lines);
    if !framed.ends_with(b"\n") {
        framed.push(b'\n');
    }
    let (count, hash) = (
        framed.iter().filter(|&&byte| byte == b'\n').count(),
        xxh3_64(&framed),
    );
    framed.extend(format!("{{\"end\":{count},\"xxh3\":\"{hash:016x}\"}}\n").into_bytes());
    framed
}

/// The sample export with one line in the place of another.
fn replaced(place: usize, line: &[u8]) -> Vec<u8> {
    let rows = &LINES[1..LINES.len() - 1];
    let place = place % rows.len();
    let mut lines = rows[..place].join("\n").into_bytes();
    lines.push(b'\n');
    lines.extend(line);
    lines.push(b'\n');
    lines.extend(rows[place + 1..].join("\n").into_bytes());
    framed(&lines)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[how, place], rest)) = data.split_first_chunk() else {
        return;
    };
    let lines = match how % 4 {
        0 => rest.to_vec(),
        1 => framed(rest),
        _ => replaced(place.into(), rest),
    };
    let options = Options {
        cache_bytes: 1 << 20,
        disk: Arc::new(SimDisk::new()),
        ..Options::default()
    };
    let Ok(database) = Database::import(&mut &lines[..], "/store", &options, &NoProgress) else {
        return;
    };
    let mut again = Vec::new();
    database
        .export(&mut again, &NoProgress)
        .expect("what was imported is exported");
    let _ = database.search(&SearchRequest::new("echo basalt"));
});
