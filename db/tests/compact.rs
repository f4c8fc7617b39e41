//! Writing with less durability, changing metadata, and compaction of a store that is in use.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_storage::records::{ChunkRecord, DocumentRecord, Location};
use loci_storage::{ChunkKey, DocumentKey, Table};
use locidb::{
    Database, Durability, EmbedderChoice, Error, NewChunk, NewConcept, NewDocument, NewItem,
    NoProgress, SearchRequest, Strategy,
};

fn key(n: usize) -> DocumentKey {
    DocumentKey::new("", "", n.to_string()).unwrap()
}

/// A document of one passage with a word of its own, that speaks of a concept of its own.
fn document(n: usize) -> NewDocument {
    let text = format!("word{n} is what tells this passage from all others that are stored here");
    let passage = ChunkRecord {
        location: Location {
            chars: (0, text.len() as u64),
            ..Location::default()
        },
        text: text.clone(),
        ..ChunkRecord::default()
    };
    NewDocument {
        record: DocumentRecord {
            key: n.to_string(),
            year: Some(1900 + n as i32 % 100),
            ..DocumentRecord::default()
        },
        original: text.into_bytes(),
        chunks: vec![NewChunk {
            record: passage,
            vector: None,
        }],
        concepts: vec![NewConcept {
            name: format!("Concept {n}"),
            mentions: vec![(0, 1)],
            ..NewConcept::default()
        }],
        ..NewDocument::default()
    }
}

fn open(folder: &Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    database
}

fn put(database: &Database, n: usize) {
    database
        .write(move |tx| tx.put_document(document(n)).map(drop))
        .unwrap();
}

fn delete(database: &Database, n: usize) {
    let gone = database.write(move |tx| tx.delete_document(&key(n)));
    assert!(gone.unwrap());
}

fn search(database: &Database, question: &str, filter: Option<&str>) -> BTreeSet<String> {
    let request = SearchRequest {
        strategy: Strategy::Text,
        k: 10_000,
        filter: filter.map(|filter| filter.parse().unwrap()),
        ..SearchRequest::new(question)
    };
    let answer = database.search(&request).unwrap();
    answer.hits.into_iter().map(|hit| hit.document).collect()
}

fn assert_counts_match(database: &Database) {
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
}

#[test]
fn eventual_write_is_visible_at_once_and_durable_after_flush() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    for n in 0..20 {
        database
            .write_with(Durability::Eventual, move |tx| tx.put_document(document(n)))
            .unwrap();
        assert_eq!(search(&database, &format!("word{n}"), None).len(), 1);
    }
    database.flush().unwrap();
    database.close();
    let database = open(folder.path());
    assert_eq!(search(&database, "passage", None).len(), 20);
    assert_counts_match(&database);
}

#[test]
fn closing_makes_eventual_writes_durable() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    database
        .write_with(Durability::Eventual, |tx| tx.put_document(document(1)))
        .unwrap();
    database.close();
    let database = open(folder.path());
    assert_eq!(search(&database, "word1", None).len(), 1);
}

#[test]
fn metadata_is_changed_without_losing_keys_or_concepts() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    (0..3).for_each(|n| put(&database, n));
    let patched = database.write(|tx| {
        let changed = tx.patch_document(&key(1), |record| {
            record.year = Some(2024);
            record.title = Some("A title to find it by".into());
            record.key = "not to be changed".into();
            record.chunk_count = 77;
        })?;
        let missing = tx.patch_document(&key(9), |_| ())?;
        Ok((changed, missing))
    });
    assert_eq!(patched.unwrap(), (true, false));
    let found = |filter| search(&database, "passage", Some(filter));
    assert_eq!(found("year = 2024"), BTreeSet::from(["1".into()]));
    assert!(found("year = 1901").is_empty());
    assert_eq!(
        search(&database, "title", None),
        BTreeSet::from(["1".into()])
    );
    let chunk: ChunkKey = "1#0".parse().unwrap();
    let place = database.snapshot().snapshot().rows().find_chunk(&chunk);
    assert!(place.unwrap().is_some());
    assert_counts_match(&database);
}

#[test]
fn a_chunk_is_changed_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    put(&database, 1);
    let chunk: ChunkKey = "1#0".parse().unwrap();
    let patched = database.write(move |tx| {
        tx.patch_chunk(&chunk, |chunk| {
            chunk.metadata = vec![("seen".into(), "yes".into())];
            chunk.text = "not to be changed".into();
        })
    });
    assert!(patched.unwrap());
    assert_eq!(
        search(&database, "word1", Some("meta.seen = \"yes\"")).len(),
        1
    );
    assert_counts_match(&database);
}

#[test]
fn set_graph_replaces_all_contributions_of_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    put(&database, 1);
    let concepts = vec![NewConcept {
        name: "Another".into(),
        mentions: vec![(0, 2)],
        ..NewConcept::default()
    }];
    let replaced = database.write(move |tx| tx.set_graph(&key(1), concepts, Vec::new()));
    assert!(replaced.unwrap());
    assert_eq!(database.stats().concepts, 1);
    let rows = database.snapshot();
    let id = rows
        .snapshot()
        .rows()
        .concept_id("another")
        .unwrap()
        .unwrap();
    let concept = rows.snapshot().rows().concept(id).unwrap().unwrap();
    assert_eq!((concept.document_count, concept.mention_count), (1, 2));
    assert_counts_match(&database);
}

#[test]
fn compaction_frees_space_of_deleted_documents() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    (0..200).for_each(|n| put(&database, n));
    (0..200)
        .filter(|n| n % 2 == 0)
        .for_each(|n| delete(&database, n));
    let before = database.stats();
    let compacted = database.compact(&NoProgress).unwrap();
    let after = database.stats();
    assert_eq!((after.segments, after.dead_chunks), (1, 0));
    assert_eq!(compacted.segments_before, before.segments);
    assert!(
        after.database_bytes < before.database_bytes,
        "{compacted:?}"
    );
    assert_eq!(search(&database, "passage", None).len(), 100);
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    assert_eq!(
        rows.count(Table::Concepts).unwrap(),
        100,
        "unspoken concepts are gone"
    );
    assert_eq!(rows.count(Table::ConceptNames).unwrap(), 100);
    assert_counts_match(&database);
    drop(view);
    database.close();
    let database = open(folder.path());
    assert_eq!(search(&database, "passage", None).len(), 100);
    put(&database, 0);
    assert_eq!(search(&database, "word0", None).len(), 1);
    assert_counts_match(&database);
}

#[test]
fn reads_and_writes_continue_during_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(open(folder.path()));
    (0..300).for_each(|n| put(&database, n));
    let snapshot = database.snapshot();
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (database, done) = (Arc::clone(&database), Arc::clone(&done));
        std::thread::spawn(move || {
            let mut n = 300;
            while !done.load(Ordering::SeqCst) {
                put(&database, n);
                delete(&database, n - 300);
                n += 1;
            }
            n
        })
    };
    for _ in 0..3 {
        database.compact(&NoProgress).unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let written = writer.join().unwrap();
    let want: BTreeSet<String> = (written - 300..written).map(|n| n.to_string()).collect();
    assert_eq!(search(&database, "passage", None), want);
    assert_counts_match(&database);
    let request = SearchRequest::new("word0");
    let answer = database.search_in(&snapshot, &request).unwrap();
    assert_eq!(
        answer.hits[0].document, "0",
        "a view that is held stays as it was"
    );
    assert!(database.stats().old_views >= 1);
    drop(snapshot);
    assert_eq!(database.stats().old_views, 0);
    drop(database);
    let database = open(folder.path());
    assert_eq!(search(&database, "passage", None), want);
    assert_counts_match(&database);
}

#[test]
fn interrupted_compaction_leaves_the_store_unchanged() {
    struct StopAtCopy;
    impl locidb::Progress for StopAtCopy {
        fn report(&self, step: &str, _: u64, _: u64) -> std::ops::ControlFlow<()> {
            match step {
                "copying rows" => std::ops::ControlFlow::Break(()),
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    (0..50).for_each(|n| put(&database, n));
    assert!(matches!(
        database.compact(&StopAtCopy),
        Err(Error::Interrupted)
    ));
    put(&database, 50);
    assert_eq!(search(&database, "passage", None).len(), 51);
    let files = std::fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert!(
        !names.iter().any(|name| name == "loci.redb.new"),
        "{names:?}"
    );
    assert_counts_match(&database);
}

#[test]
fn item_follows_its_chunk_and_survives_its_deletion() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    put(&database, 1);
    let about = |chunk: Option<&str>, concept: Option<&str>| NewItem {
        front: "What tells it?".into(),
        back: "A word".into(),
        chunk: chunk.map(|key| key.parse().unwrap()),
        concept: concept.map(Into::into),
        ..NewItem::default()
    };
    let (of_chunk, of_concept) = (about(Some("1#0"), None), about(None, Some("concept 1")));
    let ids = database
        .write(move |tx| Ok((tx.put_item(of_chunk)?, tx.put_item(of_concept)?)))
        .unwrap();
    let wrong = about(Some("9#0"), None);
    let refused = database.write(move |tx| tx.put_item(wrong));
    assert!(matches!(refused, Err(Error::NotFound(_))));

    put(&database, 1);
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    let id = rows.document_id(&key(1)).unwrap().unwrap();
    assert_eq!(
        rows.items_of_chunk(id, 0).unwrap(),
        [ids.0],
        "the text is the same"
    );

    delete(&database, 1);
    database.compact(&NoProgress).unwrap();
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    let item = rows.item(ids.0).unwrap().unwrap();
    assert_eq!((item.chunk, &item.front[..]), (None, "What tells it?"));
    assert!(rows.items_of_chunk(id, 0).unwrap().is_empty());
    let concept = rows.concept_id("concept 1").unwrap().unwrap();
    assert_eq!(rows.items_of_concept(concept).unwrap(), [ids.1]);
    assert_counts_match(&database);

    let gone = database.write(move |tx| Ok((tx.delete_item(ids.0)?, tx.delete_item(ids.0)?)));
    assert_eq!(gone.unwrap(), (true, false));
    assert_eq!(database.stats().items, 1);
    assert_counts_match(&database);
}

#[test]
fn concurrent_compactions_run_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(open(folder.path()));
    (0..200).for_each(|n| put(&database, n));
    let compactors: Vec<_> = (0..2)
        .map(|_| {
            let database = Arc::clone(&database);
            std::thread::spawn(move || {
                (0..3).for_each(|_| {
                    assert!(database.compact(&NoProgress).unwrap().segments_after > 0)
                })
            })
        })
        .collect();
    (200..300).for_each(|n| put(&database, n));
    compactors
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    put(&database, 300);
    drop(database);
    let database = open(folder.path());
    assert_eq!(search(&database, "passage", None).len(), 301);
    assert_counts_match(&database);
}

#[test]
fn flush_inside_a_write_returns_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(open(folder.path()));
    let inner = Arc::clone(&database);
    let result = database.write(move |_| inner.flush());
    assert!(matches!(result, Err(Error::Store(_))), "{result:?}");
    put(&database, 1);
    assert_eq!(search(&database, "word1", None).len(), 1);
}

#[test]
fn patched_title_keeps_the_provided_vector() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    database.use_provided_vectors("mine", 2).unwrap();
    let titled = |n: usize, title: &str, vector: [f32; 2]| {
        let mut document = document(n);
        document.record.title = Some(title.into());
        document.chunks[0].record.text = "the same text".into();
        document.original = b"the same text".to_vec();
        document.chunks[0].record.location.chars = (0, 13);
        document.chunks[0].vector = Some(vector.into());
        document
    };
    let (first, second) = (titled(1, "One", [1.0, 0.0]), titled(2, "Two", [0.0, 1.0]));
    database
        .write(move |tx| {
            tx.put_document(first)?;
            tx.put_document(second)?;
            tx.patch_document(&key(1), |record| record.title = Some("Two".into()))
        })
        .unwrap();
    let request = SearchRequest {
        strategy: Strategy::Vector,
        vector: Some(vec![0.0, 1.0]),
        ..SearchRequest::new("")
    };
    let answer = database.search(&request).unwrap();
    assert!(
        answer.hits.iter().all(|hit| hit.score > 0.99),
        "{:?}",
        answer.hits
    );
    assert_eq!(answer.hits.len(), 2);
}

#[test]
fn answers_are_the_same_before_and_after_segments_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    for n in 0..40 {
        put(&database, n);
    }
    database.finish(&NoProgress).unwrap();
    for n in 40..60 {
        put(&database, n);
    }
    for n in (0..60).step_by(7) {
        delete(&database, n);
    }
    let answers = || -> Vec<Vec<(String, f32)>> {
        let ask = |strategy, question: String| {
            let request = SearchRequest {
                strategy,
                ..SearchRequest::new(question)
            };
            let hits = database.search(&request).unwrap().hits;
            hits.into_iter().map(|hit| (hit.chunk, hit.score)).collect()
        };
        (0..60)
            .flat_map(|n| {
                [
                    ask(Strategy::Vector, format!("word{n} passage")),
                    ask(Strategy::Text, format!("\"word{n} is what\" stored")),
                ]
            })
            .collect()
    };
    let before = answers();
    assert!(before.iter().filter(|hits| !hits.is_empty()).count() > 60);
    let compacted = database.compact(&NoProgress).unwrap();
    assert_eq!(compacted.segments_after, 1);
    let after = answers();
    for (before, after) in before.iter().zip(&after) {
        let hits = |hits: &[(String, f32)]| -> BTreeSet<String> {
            hits.iter().map(|(chunk, _)| chunk.clone()).collect()
        };
        assert_eq!(hits(before), hits(after));
        for (chunk, score) in before {
            let (_, now) = after.iter().find(|(known, _)| known == chunk).unwrap();
            assert!(
                (score - now).abs() < 0.05 * score.abs().max(0.1),
                "{chunk} {score} {now}"
            );
        }
    }
}

#[test]
fn field_weights_apply_to_stored_documents() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let stored = |n: usize, title: &str, text: &str| {
        let mut document = document(n);
        document.record.title = Some(title.into());
        document.chunks[0].record.text = text.into();
        database
            .write(move |tx| tx.put_document(document).map(drop))
            .unwrap();
    };
    stored(
        0,
        "rivers",
        "boats and ships and their sails and their crews",
    );
    stored(
        1,
        "boats",
        "the rivers are long and wide, and rivers are deep too",
    );
    database.compact(&NoProgress).unwrap();
    assert_eq!(database.stats().segments, 1);
    let first = || {
        let request = SearchRequest {
            strategy: Strategy::Text,
            ..SearchRequest::new("rivers")
        };
        database.search(&request).unwrap().hits[0].document.clone()
    };
    let body = first();
    database.set("weight_title", "9").unwrap();
    database.compact(&NoProgress).unwrap();
    let title = first();
    assert_ne!(body, title, "the title counts more now");
    database.set("weight_title", "1").unwrap();
    database.wait_for_merges().unwrap();
    assert_eq!(first(), body, "without being told to compact");
    for wrong in ["0", "300", "much"] {
        assert!(matches!(
            database.set("weight_title", wrong),
            Err(Error::Setting(_))
        ));
    }
}
