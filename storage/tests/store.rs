//! The store as its callers see it, with indexes left out: views are bare snapshots.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use loci_storage::build::{SegmentBuilder, SegmentDocument, build_segment};
use loci_storage::limits::SWEEP_ROWS_MAX;
use loci_storage::records::{
    ChunkRecord, DocumentRecord, Feedback, RetrievalRecord, RetrievedRecord,
};
use loci_storage::segment::PartBuilder;
use loci_storage::snapshot::{ChunkPosition, OpenSegment};
use loci_storage::staging::{DocumentRows, ManifestEdit};
use loci_storage::{
    ChunkKey, DocumentId, DocumentKey, Durability, IndexFactory, ResponseId, Rows, Snapshot,
    SpaceId, Store, StoreError, StoreOptions, Table,
};

/// Views without indexes.
struct NoIndexFactory;

impl IndexFactory for NoIndexFactory {
    type IndexedSnapshot = Snapshot;

    fn check(&self, _: &OpenSegment) -> Result<(), StoreError> {
        Ok(())
    }

    fn open(&self, snapshot: Snapshot, _: Option<&Snapshot>) -> Result<Snapshot, StoreError> {
        Ok(snapshot)
    }

    fn snapshot<'v>(&self, view: &'v Snapshot) -> &'v Snapshot {
        view
    }

    fn builder<'v>(&'v self, _: &'v Snapshot) -> Box<dyn SegmentBuilder + 'v> {
        Box::new(NoIndex)
    }
}

struct NoIndex;

impl SegmentBuilder for NoIndex {
    fn push(&mut self, _: &dyn Rows, _: &SegmentDocument) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(
        self: Box<Self>,
        _: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError> {
        Ok(None)
    }
}

fn open(folder: &Path) -> Result<Store<NoIndexFactory>, StoreError> {
    let options = StoreOptions {
        inline_len_max: 64 << 10,
        ..StoreOptions::default()
    };
    Store::open(folder, &options, |_| Ok(NoIndexFactory))
}

fn key(name: &str) -> DocumentKey {
    DocumentKey::new("", "", name).unwrap()
}

/// A document of one section that holds `paragraphs`.
fn document(name: &str, paragraphs: &[&str]) -> DocumentRows {
    let text = paragraphs.join("\n");
    let section = ChunkRecord {
        text: text.clone(),
        ..ChunkRecord::default()
    };
    let children = paragraphs.iter().map(|text| ChunkRecord {
        parent: Some(0),
        text: (*text).to_string(),
        ..ChunkRecord::default()
    });
    DocumentRows {
        record: DocumentRecord {
            key: name.into(),
            ..DocumentRecord::default()
        },
        original: text.into_bytes(),
        chunks: std::iter::once(section).chain(children).collect(),
        ..DocumentRows::default()
    }
}

fn put(store: &Store<NoIndexFactory>, name: &str, paragraphs: &[&str]) -> DocumentId {
    let rows = document(name, paragraphs);
    store
        .write(move |staging| staging.put_document(rows))
        .unwrap()
}

/// What every state of the store must satisfy: rows, counts and segments tell the same.
fn check(snapshot: &Snapshot) {
    let rows = snapshot.rows();
    let manifest = snapshot.manifest();
    assert_eq!(
        rows.count(Table::Documents).unwrap(),
        manifest.document_count
    );
    assert_eq!(
        rows.count(Table::DocumentKeys).unwrap(),
        manifest.document_count
    );
    assert_eq!(rows.count(Table::Chunks).unwrap(), manifest.chunk_count);
    assert_eq!(
        rows.count(Table::ChunkSuffixes).unwrap(),
        manifest.chunk_count
    );
    let mut live = Vec::new();
    for segment in snapshot.segments() {
        for id in segment.live_documents() {
            let record = rows.document(id).unwrap().expect("a live run has a row");
            assert_eq!(segment.live_run(id).unwrap().count, record.chunk_count);
            live.push(id);
        }
    }
    live.sort();
    live.dedup();
    assert_eq!(live.len() as u64, manifest.document_count);
}

#[test]
fn document_is_readable_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let id = put(&store, "a.md", &["one", "two"]);
    check(&store.latest_snapshot());
    store.close();

    let store = open(folder.path()).unwrap();
    let view = store.latest_snapshot();
    check(&view);
    assert_eq!(view.rows().document_id(&key("a.md")).unwrap(), Some(id));
    assert_eq!(view.rows().original(id).unwrap().unwrap(), b"one\ntwo");
    let chunk = ChunkKey {
        document: key("a.md"),
        suffix: 2,
    };
    let (document, index) = view.rows().find_chunk(&chunk).unwrap().unwrap();
    assert_eq!(
        view.rows().chunk(document, index).unwrap().unwrap().text,
        "two"
    );
    let ordinal = view.ordinal(ChunkPosition { document, index }).unwrap();
    assert_eq!(
        view.position(ordinal),
        Some(ChunkPosition { document, index })
    );
}

#[test]
fn replacing_a_document_keeps_its_id_and_the_keys_of_unchanged_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let first = put(&store, "a.md", &["one", "two", "three"]);
    let second = put(&store, "a.md", &["zero", "two", "three"]);
    assert_eq!(first, second);
    let view = store.latest_snapshot();
    check(&view);
    let suffix_of = |text: &str| {
        let chunks = view.rows().chunks(first).unwrap();
        chunks
            .iter()
            .find(|chunk| chunk.text == text)
            .map(|chunk| chunk.suffix)
    };
    assert_eq!((suffix_of("two"), suffix_of("three")), (Some(2), Some(3)));
    assert_eq!(suffix_of("zero"), Some(5), "4 is the new section's");
    assert_eq!(view.manifest().document_count, 1);
}

#[test]
fn deleting_a_document_tombstones_its_chunks_and_removes_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let rows = [document("a.md", &["one"]), document("b.md", &["two"])];
    store
        .write(move |staging| {
            rows.into_iter()
                .try_for_each(|r| staging.put_document(r).map(drop))
        })
        .unwrap();
    let older_snapshot = store.latest_snapshot();
    assert!(
        store
            .write(|staging| staging.delete_document(&key("a.md")))
            .unwrap()
    );
    assert!(
        !store
            .write(|staging| staging.delete_document(&key("a.md")))
            .unwrap()
    );
    let view = store.latest_snapshot();
    check(&view);
    assert_eq!(view.segments()[0].dead.len(), 2);
    assert_eq!(view.rows().count(Table::Contents).unwrap(), 1);
    // The view that was held still sees it.
    check(&older_snapshot);
    assert_eq!(older_snapshot.manifest().document_count, 2);
    // A segment that is all dead is no longer listed.
    store
        .write(|staging| staging.delete_document(&key("b.md")))
        .unwrap();
    assert!(store.latest_snapshot().segments().is_empty());
}

#[test]
fn failing_writer_does_not_affect_others_in_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    let writers: Vec<_> = (0..12)
        .map(|n| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                store.write(move |staging| {
                    staging.put_document(document(&format!("{n}.md"), &["text"]))?;
                    match n % 3 {
                        0 => Err(StoreError::Invalid("no".into())),
                        1 => panic!("a writer that panics"),
                        _ => Ok(()),
                    }
                })
            })
        })
        .collect();
    let results: Vec<_> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .collect();
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.is_ok(), n % 3 == 2, "{result:?}");
    }
    let view = store.latest_snapshot();
    check(&view);
    assert_eq!(view.manifest().document_count, 4);
}

#[test]
fn exclusive_writer_does_not_block_earlier_writers_from_committing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (go, goes_on) = std::sync::mpsc::channel::<()>();
    let (stored, is_stored) = std::sync::mpsc::channel::<()>();
    let wait = std::time::Duration::from_secs(10);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            store.write(move |_| {
                begun.send(()).unwrap();
                goes_on.recv_timeout(wait).unwrap();
                Ok(())
            })
        });
        has_begun.recv().unwrap();
        let before = scope.spawn(|| {
            put(&store, "before.md", &["text"]);
            stored.send(()).unwrap();
        });
        // Each stands in the queue before the next one comes.
        std::thread::sleep(wait / 100);
        let alone = scope.spawn(|| {
            store.edit(move |_| {
                let is_stored = is_stored.recv_timeout(wait);
                is_stored.map_err(|_| StoreError::Invalid("nobody was stored".into()))
            })
        });
        std::thread::sleep(wait / 100);
        go.send(()).unwrap();
        before.join().unwrap();
        alone.join().unwrap().unwrap();
    });
}

#[test]
fn acknowledged_writes_are_durable_before_an_exclusive_writer_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let rows = document("soon.md", &["text"]);
    store
        .write_with(Durability::Eventual, |staging| staging.put_document(rows))
        .unwrap();
    let from = folder.path().to_path_buf();
    let copy = tempfile::tempdir().unwrap();
    let to = copy.path().to_path_buf();
    store
        .edit(move |_| {
            // What a power cut would leave now.
            fs::copy(from.join("loci.redb"), to.join("loci.redb")).unwrap();
            Ok(())
        })
        .unwrap();
    assert!(copy.path().join("loci.redb").exists());
    let left = open(copy.path()).unwrap();
    assert_eq!(left.latest_snapshot().manifest().document_count, 1);
}

#[test]
fn writer_sees_its_own_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    store
        .write(|staging| {
            let id = staging.put_document(document("a.md", &["one"]))?;
            assert_eq!(staging.rows().document_id(&key("a.md"))?, Some(id));
            assert_eq!(staging.rows().chunks(id)?.len(), 2);
            assert!(staging.delete_document(&key("a.md"))?);
            assert_eq!(staging.rows().document_id(&key("a.md"))?, None);
            assert!(staging.rows().chunks(id)?.is_empty());
            Ok(())
        })
        .unwrap();
    check(&store.latest_snapshot());
    assert!(store.latest_snapshot().segments().is_empty());
}

#[test]
fn invalid_documents_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let refuse = |rows: DocumentRows| {
        let result = store.write(move |staging| staging.put_document(rows));
        assert!(matches!(result, Err(StoreError::Invalid(_))), "{result:?}");
    };
    refuse(document("", &["x"]));
    refuse(DocumentRows {
        original: vec![0xff],
        ..document("a", &["x"])
    });
    refuse(DocumentRows {
        vectors: vec![None],
        ..document("a", &["x"])
    });
    refuse(DocumentRows {
        vectors: vec![None, Some(vec![1.0])],
        ..document("a", &["x"])
    });
    let mut beyond = document("a", &["x"]);
    beyond.chunks[1].location.chars = (0, 2);
    refuse(beyond);
    let mut orphan = document("a", &["x"]);
    orphan.chunks[0].parent = Some(1);
    refuse(orphan);
    check(&store.latest_snapshot());
}

#[test]
fn second_open_fails_with_locked() {
    let folder = tempfile::tempdir().unwrap();
    let _store = open(folder.path()).unwrap();
    assert!(matches!(
        open(folder.path()),
        Err(StoreError::Locked { .. })
    ));
}

#[test]
fn opening_a_missing_store_fails_without_create() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        create: false,
        ..StoreOptions::default()
    };
    let path = folder.path().join("none");
    let opened = Store::open(&path, &options, |_| Ok(NoIndexFactory));
    assert!(matches!(opened, Err(StoreError::Missing { .. })));
    assert!(!path.exists());
}

/// Puts documents that are too large for a row, so that their segment is a file.
fn put_large(store: &Store<NoIndexFactory>, count: usize) {
    let rows: Vec<_> = (0..count)
        .map(|n| document(&format!("{n}.md"), &vec!["paragraph"; 300]))
        .collect();
    store
        .write(move |staging| {
            rows.into_iter()
                .try_for_each(|r| staging.put_document(r).map(drop))
        })
        .unwrap();
}

fn segment_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder.join("segments")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn damaged_and_vanished_segments_are_rebuilt_from_rows() {
    for damage in ["flip", "cut", "remove"] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        put_large(&store, 20);
        put(&store, "small.md", &["stays"]);
        store.close();
        let file = segment_files(folder.path())
            .pop()
            .expect("a large segment is a file");
        let mut bytes = fs::read(&file).unwrap();
        match damage {
            "flip" => bytes[5000] ^= 1,
            "cut" => bytes.truncate(5000),
            _ => bytes.clear(),
        }
        fs::remove_file(&file).unwrap();
        if damage != "remove" {
            fs::write(&file, bytes).unwrap();
        }
        let store = open(folder.path()).unwrap();
        assert_eq!(store.damaged().len(), 1, "{damage}");
        let missing = |store: &Store<NoIndexFactory>| store.latest_snapshot().missing_chunks();
        assert!(missing(&store) > 0, "{damage}");
        // A rebuild that is stopped goes on with the next open.
        let mut stop = |_, _| ControlFlow::Break(());
        assert!(!store.rebuild(&mut stop).unwrap());
        store.close();
        let store = open(folder.path()).unwrap();
        assert!(
            missing(&store) > 0 && store.damaged().is_empty(),
            "{damage}"
        );
        let mut go_on = |_, _| ControlFlow::Continue(());
        assert!(store.rebuild(&mut go_on).unwrap());
        assert_eq!(missing(&store), 0, "{damage}");
        check(&store.latest_snapshot());
        store.close();
        let store = open(folder.path()).unwrap();
        assert!(store.damaged().is_empty(), "{damage}");
        check(&store.latest_snapshot());
    }
}

#[test]
fn orphan_files_are_deleted_on_open_and_a_stale_database_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    put_large(&store, 20);
    let generation = store.latest_snapshot().generation();
    store.close();
    let segments = folder.path().join("segments");
    let orphan = segments.join(format!("{:016x}-{:016x}.seg", generation + 1, 7));
    let unfinished = segments.join(format!("{:016x}-{:016x}.tmp", generation + 1, 8));
    fs::write(&orphan, b"half").unwrap();
    fs::write(&unfinished, b"half").unwrap();
    open(folder.path()).unwrap().close();
    assert!(!orphan.exists() && !unfinished.exists());
    assert_eq!(segment_files(folder.path()).len(), 1);

    let newer = segments.join(format!("{:016x}-{:016x}.seg", generation + 2, 9));
    fs::write(&newer, b"of another time").unwrap();
    assert!(matches!(
        open(folder.path()),
        Err(StoreError::StaleDatabase { .. })
    ));
    assert!(newer.exists());
}

#[test]
fn merge_drops_dead_chunks_and_preserves_concurrent_deletes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    for n in 0..4 {
        let rows = [
            document(&format!("{n}.md"), &["text"]),
            document(&format!("{n}.txt"), &["t"]),
        ];
        store
            .write(move |s| {
                rows.into_iter()
                    .try_for_each(|r| s.put_document(r).map(drop))
            })
            .unwrap();
    }
    store
        .write(|staging| staging.delete_document(&key("1.md")))
        .unwrap();
    let before = store.latest_snapshot();
    let old: Vec<_> = before.segments().iter().map(|segment| segment.id).collect();
    let mut documents: Vec<_> = before
        .segments()
        .iter()
        .flat_map(|segment| segment.live_documents())
        .collect();
    documents.sort();
    let draft = build_segment(before.rows(), &documents, Box::new(NoIndex)).unwrap();
    // Between the build and the switch one document goes and one is replaced.
    store
        .write(|staging| staging.delete_document(&key("2.md")))
        .unwrap();
    put(&store, "3.md", &["changed"]);
    let edit = ManifestEdit::Merge {
        old,
        draft: Some(draft),
        space: None,
    };
    store
        .edit(move |staging| {
            staging.edit(edit);
            Ok(())
        })
        .unwrap();
    let view = store.latest_snapshot();
    check(&view);
    assert_eq!(view.segments().len(), 2);
    assert_eq!(view.segments()[0].documents.len(), 7);
    assert_eq!(view.segments()[0].live_documents().count(), 5);
    check(&before);
}

#[test]
fn merged_segment_files_are_deleted_with_their_last_reader() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    put_large(&store, 20);
    let pinned_snapshot = store.latest_snapshot();
    let documents: Vec<_> = pinned_snapshot.segments()[0].live_documents().collect();
    let draft = build_segment(pinned_snapshot.rows(), &documents, Box::new(NoIndex)).unwrap();
    let edit = ManifestEdit::Merge {
        old: vec![pinned_snapshot.segments()[0].id],
        draft: Some(draft),
        space: None,
    };
    store
        .edit(move |staging| {
            staging.edit(edit);
            Ok(())
        })
        .unwrap();
    assert_eq!(
        segment_files(folder.path()).len(),
        2,
        "the held view pins the old file"
    );
    check(&pinned_snapshot);
    drop(pinned_snapshot);
    assert_eq!(segment_files(folder.path()).len(), 1);
    check(&store.latest_snapshot());
}

#[test]
fn a_flipped_bit_in_the_database_never_gives_a_wrong_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    put(&store, "a.md", &["alpha beta gamma", "delta"]);
    store.close();
    let path = folder.path().join("loci.redb");
    let good = fs::read(&path).unwrap();
    let at = good
        .windows(16)
        .position(|bytes| bytes == b"alpha beta gamma")
        .unwrap();
    let mut bytes = good.clone();
    bytes[at + 3] ^= 4;
    fs::write(&path, bytes).unwrap();
    // Whether redb or our checksum notices it, no changed text is read.
    if let Ok(store) = open(folder.path()) {
        let view = store.latest_snapshot();
        let chunks = view.rows().chunks(DocumentId(1));
        assert!(
            matches!(
                chunks,
                Err(StoreError::DamagedRow {
                    table: "chunks",
                    ..
                })
            ) || view.rows().original(DocumentId(1)).is_err(),
        );
    }
}

#[test]
fn document_without_chunks_is_stored_and_has_no_segment() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let empty = || DocumentRows {
        chunks: Vec::new(),
        ..document("empty", &["text"])
    };
    store
        .write(move |staging| staging.put_document(empty()))
        .unwrap();
    assert!(store.latest_snapshot().segments().is_empty());
    let id = store
        .latest_snapshot()
        .rows()
        .document_id(&key("empty"))
        .unwrap()
        .unwrap();
    assert_eq!(
        store
            .latest_snapshot()
            .rows()
            .document(id)
            .unwrap()
            .unwrap()
            .chunk_count,
        0
    );
    // It gains chunks, loses them, and goes.
    put(&store, "empty", &["text"]);
    check(&store.latest_snapshot());
    store
        .write(move |staging| staging.put_document(empty()))
        .unwrap();
    assert!(store.latest_snapshot().segments().is_empty());
    assert!(
        store
            .write(|staging| staging.delete_document(&key("empty")))
            .unwrap()
    );
    check(&store.latest_snapshot());
}

#[test]
fn manifest_edits_are_rejected_in_shared_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let refused = store.write(|staging| {
        staging.edit(ManifestEdit::DropAnalysis);
        Ok(())
    });
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    let refused = store.write(|staging| staging.sweep_unused_concepts(&[]));
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    store
        .edit(|staging| staging.sweep_unused_concepts(&[]))
        .unwrap();
}

#[test]
fn second_open_fails_with_locked_when_the_lock_file_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let _store = open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("LOCK")).unwrap();
    assert!(matches!(
        open(folder.path()),
        Err(StoreError::Locked { .. })
    ));
}

fn retrieval(at_ms: u64) -> RetrievalRecord {
    let hit = |chunk: &str| RetrievedRecord {
        chunk: chunk.into(),
        score: 0.5,
        by_text: true,
        ..RetrievedRecord::default()
    };
    RetrievalRecord {
        at_ms,
        question: "why?".into(),
        request: "{}".into(),
        vector: Some(vec![0.5, -1.0]),
        hits: vec![hit("a#0"), hit("a#1")],
        ..RetrievalRecord::default()
    }
}

#[test]
fn retrievals_keep_feedback_and_ids_are_never_reused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let record = |store: &Store<NoIndexFactory>, at_ms| {
        let put = store.write(move |staging| staging.put_retrieval(&retrieval(at_ms)));
        put.unwrap()
    };
    let forget = |store: &Store<NoIndexFactory>, before_ms| {
        let forgotten =
            store.write(move |staging| staging.delete_retrievals_before(before_ms, &[]));
        forgotten.unwrap()
    };
    let (first, second) = (record(&store, 10), record(&store, 20));
    assert!(first < second);
    let give_feedback = |store: &Store<NoIndexFactory>, id, place| {
        let set = store.write(move |staging| staging.set_feedback(id, place, Feedback::Used));
        set.unwrap()
    };
    assert!(give_feedback(&store, second, 1));
    assert!(!give_feedback(&store, second, 2), "there is no third hit");
    assert!(!give_feedback(&store, ResponseId(99), 0));
    assert_eq!(forget(&store, 15), (1, None));
    assert_eq!(forget(&store, 100), (1, None));
    drop(store);

    let store = open(folder.path()).unwrap();
    let third = record(&store, 30);
    assert!(second < third, "a forgotten id is not given out again");
    give_feedback(&store, third, 0);
    drop(store);
    let view = open(folder.path()).unwrap().latest_snapshot();
    assert_eq!(view.rows().retrieval_ids().unwrap(), [third]);
    let mut expected = retrieval(30);
    expected.hits[0].feedback = Feedback::Used;
    assert_eq!(view.rows().retrieval(third).unwrap(), Some(expected));
}

#[test]
fn old_retrievals_are_deleted_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let count = SWEEP_ROWS_MAX as u64 + 10;
    let put = store.write(move |staging| {
        (0..count).try_for_each(|at_ms| staging.put_retrieval(&retrieval(at_ms)).map(drop))
    });
    put.unwrap();
    let (mut forgotten, mut from) = (0, Some(Vec::new()));
    while let Some(key) = from {
        let step = store.write(move |staging| staging.delete_retrievals_before(count - 3, &key));
        let (some, next) = step.unwrap();
        (forgotten, from) = (forgotten + some, next);
    }
    assert_eq!(forgotten, count - 3);
    assert_eq!(
        store
            .latest_snapshot()
            .rows()
            .retrieval_ids()
            .unwrap()
            .len(),
        3
    );
}
