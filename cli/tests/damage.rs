//! Files of a store that are cut while a server has them open: an error of that store alone, for a moment.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::test_server::TestServer;
use loci_client::{Client, ClientError, Code};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{
    Answer, Database, NewChunk, NewConcept, NewDocument, NoProgress, Options, SearchRequest,
    Strategy,
};

const WORDS: [&str; 16] = [
    "heron", "stork", "raven", "swift", "eagle", "owl", "tern", "gull", "lake", "river", "marsh",
    "cliff", "forest", "island", "storm", "winter",
];
/// How long a store that was damaged may take until it is whole again.
const REPAIR_WAIT: Duration = Duration::from_secs(120);

fn word(n: usize) -> &'static str {
    WORDS[n % WORDS.len()]
}

/// A document whose segment is too large for a row.
fn document(n: usize) -> NewDocument {
    let chunk = |at: usize| {
        let words: Vec<String> = (0..60)
            .map(|i| match i % 3 {
                0 => format!("{}{}", word(n + at * i), (n * 31 + at * 7 + i) % 997),
                _ => word(n * at + i).to_owned(),
            })
            .collect();
        NewChunk {
            record: ChunkRecord {
                text: format!("The {} of {}. {}", word(n), word(at), words.join(" ")),
                token_count: 60,
                ..ChunkRecord::default()
            },
            vector: None,
        }
    };
    let concept = |at: usize| NewConcept {
        name: word(n + at).into(),
        mentions: vec![(at as u32, 1)],
        ..NewConcept::default()
    };
    NewDocument {
        record: DocumentRecord {
            key: format!("{n}.md"),
            title: Some(format!("On the {}", word(n))),
            ..DocumentRecord::default()
        },
        original: b"a file".to_vec(),
        chunks: (0..30).map(chunk).collect(),
        concepts: (0..4).map(concept).collect(),
        ..NewDocument::default()
    }
}

fn make(folder: &Path) {
    let options = Options {
        inline_len_max: 0,
        ..Options::default()
    };
    let database = Database::open_with(folder, &options).unwrap();
    database
        .write(|tx| (0..40).try_for_each(|n| tx.put_document(document(n)).map(drop)))
        .unwrap();
    database.finish(&NoProgress).unwrap();
    database.wait_for_merges().unwrap();
    database.close();
}

fn question(n: u64) -> SearchRequest {
    let strategies = [Strategy::Hybrid, Strategy::Text, Strategy::Graph];
    SearchRequest {
        strategy: strategies[n as usize % 3],
        k: 20,
        ..SearchRequest::new(format!(
            "the {} by the {}",
            word(n as usize),
            word(n as usize * 5 + 3)
        ))
    }
}

fn hits(answer: &Answer) -> BTreeSet<String> {
    let hits = answer.hits.iter();
    hits.map(|hit| format!("{} {:.3}", hit.chunk, hit.score))
        .collect()
}

/// All segment files of a store that hold bytes.
fn files(store: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(store.join("segments")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let is_full = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() > 0);
    let mut files: Vec<PathBuf> = files.filter(is_full).collect();
    files.sort();
    files
}

/// Cuts a file: to some of its pages, within a page, by some bytes, or to nothing.
fn cut(file: &Path, round: u64) {
    let Ok(about) = fs::metadata(file) else {
        return;
    };
    let pages = about.len() / 4096;
    let page = (round * 7919) % (pages + 1) * 4096;
    let len = match round % 5 {
        0 => 0,
        1 | 2 => page,
        3 => page + round % 4096,
        _ => about.len().saturating_sub(1 + round % 200),
    };
    // It may have been given up and removed meanwhile.
    if let Ok(file) = fs::OpenOptions::new().write(true).open(file) {
        file.set_len(len.min(about.len())).unwrap();
    }
}

/// Asks a store that is damaged: what it answers and does not call partial is right.
fn ask(client: &Client, right: &[BTreeSet<String>], n: u64, refused: &AtomicU64) {
    match client.search(&question(n)) {
        Ok(answer) if answer.partial.is_empty() => {
            assert_eq!(hits(&answer), right[n as usize % right.len()], "{n}");
        }
        Ok(_) => {}
        Err(ClientError::Fault(fault)) => {
            let is_typed = matches!(fault.code, Code::Unavailable | Code::Damaged);
            assert!(is_typed, "{fault}");
            refused.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => panic!("{error}"),
    }
}

/// Asks until every answer is whole and right.
fn wait_until_whole(client: &Client, right: &[BTreeSet<String>]) {
    let started = Instant::now();
    let is_right = |n: u64| {
        let answer = client.search(&question(n));
        answer.is_ok_and(|answer| answer.partial.is_empty() && hits(&answer) == right[n as usize])
    };
    while !(0..right.len() as u64).all(is_right) {
        assert!(started.elapsed() < REPAIR_WAIT, "it does not become whole");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn torture(rounds: u64) -> u64 {
    let root = tempfile::tempdir().unwrap();
    let stores = ["damaged", "sound"].map(|name| root.path().join(name));
    stores.iter().for_each(|store| make(store));
    let root = root.path().to_str().unwrap();
    let mut served = TestServer::start(&["--root", root, "--listen", "127.0.0.1:0"]);
    let key = |name: &str| {
        let mut keys = served.keys.iter();
        keys.find(|(store, _)| store == name).unwrap().1.clone()
    };
    let keys = ["damaged", "sound"].map(key);
    let client = |at: usize| served.client(&keys[at]).unwrap();
    let right: Vec<BTreeSet<String>> = (0..12)
        .map(|n| hits(&client(1).search(&question(n)).unwrap()))
        .collect();
    assert!(right.iter().all(|hits| hits.len() > 5));
    let (damaged, sound) = (client(0), client(1));
    let (stop, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                // Whatever happens to the other store is nothing to this one.
                let answer = sound.search(&question(n % 12)).unwrap();
                assert_eq!(answer.partial, []);
                assert_eq!(hits(&answer), right[n as usize % 12]);
                n += 1;
            }
            assert!(n > rounds);
        });
        for round in 0..rounds {
            let files = files(&stores[0]);
            cut(&files[round as usize % files.len()], round);
            (0..24).for_each(|n| ask(&damaged, &right, n % 12, &refused));
            wait_until_whole(&damaged, &right);
            if (round + 1).is_multiple_of(50) {
                let refused = refused.load(Ordering::Relaxed);
                println!(
                    "{} of {rounds} rounds, {refused} calls were refused",
                    round + 1
                );
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    served.stop();
    refused.into_inner()
}

#[test]
fn truncated_segment_file_fails_only_its_store_until_rebuilt() {
    torture(6);
}

#[test]
#[ignore = "a thousand files are cut and built again: half an hour"]
fn thousand_truncated_segment_files_do_not_stop_the_server() {
    println!("{} calls were refused", torture(1000));
}
