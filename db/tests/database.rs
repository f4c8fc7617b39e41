//! The database as an application sees it: what is written is found, whole, and only that.

use std::time::Duration;

use locidb::graph::normalise;
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::storage::{DocumentKey, StoreError, Table};
use locidb::{
    Database, Effort, EmbedderChoice, Error, Expr, NewAsset, NewChunk, NewConcept, NewDocument,
    NewRelation, NoProgress, Options, SearchRequest, Strategy,
};

fn passage(text: &str) -> NewChunk {
    NewChunk {
        record: ChunkRecord {
            text: text.into(),
            ..ChunkRecord::default()
        },
        vector: None,
    }
}

/// A document of one section with `texts` as its passages, a page each.
fn document(key: &str, texts: &[&str]) -> NewDocument {
    let text = texts.join("\n");
    let mut at = 0;
    let mut chunks = vec![NewChunk {
        record: ChunkRecord {
            text: text.clone(),
            level: Level::Section,
            location: Location {
                chars: (0, text.chars().count() as u64),
                ..Location::default()
            },
            ..ChunkRecord::default()
        },
        vector: None,
    }];
    for (page, text) in (1u32..).zip(texts) {
        let mut chunk = passage(text);
        let len = text.chars().count() as u64;
        chunk.record.parent = Some(0);
        chunk.record.location = Location {
            chars: (at, at + len),
            pages: Some((page, page)),
            ..Location::default()
        };
        at += len + 1;
        chunks.push(chunk);
    }
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.into_bytes(),
        chunks,
        ..NewDocument::default()
    }
}

fn put(database: &Database, document: NewDocument) {
    database.write(move |tx| tx.put_document(document)).unwrap();
}

fn found(database: &Database, request: &SearchRequest) -> Vec<String> {
    database
        .search(request)
        .unwrap()
        .hits
        .into_iter()
        .map(|hit| hit.chunk)
        .collect()
}

fn text(question: &str) -> SearchRequest {
    SearchRequest {
        strategy: Strategy::Text,
        ..SearchRequest::new(question)
    }
}

#[test]
fn hit_has_location_parent_and_context() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    put(
        &database,
        document(
            "waves.pdf",
            &["water waves are long", "light waves are short"],
        ),
    );
    let request = SearchRequest {
        context_tokens: Some(100),
        explain: true,
        ..SearchRequest::new("short light")
    };
    let answer = database.search(&request).unwrap();
    let hit = &answer.hits[0];
    assert_eq!(
        (&hit.chunk[..], &hit.document[..]),
        ("waves.pdf#2", "waves.pdf")
    );
    assert_eq!(
        (hit.citation.page, &hit.citation.label[..]),
        (Some(2), "Page 2")
    );
    assert_eq!(hit.parent.as_ref().unwrap().chunk, "waves.pdf#0");
    assert_eq!(hit.methods.text.unwrap().rank, 1);
    let context = answer.context.unwrap();
    assert!(context.tokens <= 100 && context.text.contains("light waves are short"));
    let operators: Vec<String> = answer
        .explain
        .unwrap()
        .into_iter()
        .map(|step| step.operator)
        .collect();
    assert_eq!(
        operators,
        [
            "plan", "analyse", "text", "fuse", "rank", "fetch", "assemble", "answer"
        ]
    );
}

#[test]
fn replaced_or_deleted_documents_are_not_found_by_any_arm() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let with_concept = |texts: &[&str]| NewDocument {
        concepts: vec![NewConcept {
            name: "Old Idea".into(),
            mentions: vec![(1, 1)],
            ..NewConcept::default()
        }],
        ..document("a.md", texts)
    };
    put(&database, with_concept(&["the old idea of ether"]));
    let graph = SearchRequest {
        strategy: Strategy::Graph,
        ..SearchRequest::new("old idea")
    };
    assert_eq!(found(&database, &graph), ["a.md#1"]);
    put(&database, document("a.md", &["a new thought of fields"]));
    assert!(found(&database, &text("ether")).is_empty());
    assert!(found(&database, &graph).is_empty());
    assert_eq!(found(&database, &text("fields")), ["a.md#3"]);
    assert_eq!(database.stats().concepts, 0);
    let key = DocumentKey::new("", "", "a.md").unwrap();
    assert!(database.write(move |tx| tx.delete_document(&key)).unwrap());
    assert!(found(&database, &text("fields")).is_empty());
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
    assert_eq!(stats.chunks, 0);
}

#[test]
fn concepts_of_several_documents_are_merged_and_separated() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let speaking = |key: &str, name: &str, description: &str, count: u32| NewDocument {
        concepts: vec![NewConcept {
            name: name.into(),
            description: description.into(),
            mentions: vec![(1, count)],
            ..NewConcept::default()
        }],
        relations: vec![NewRelation {
            source: name.into(),
            target: "Drink".into(),
            kind: "IS_A".into(),
            weight: 0.5,
            chunks: vec![1],
            ..NewRelation::default()
        }],
        ..document(key, &["text"])
    };
    put(&database, speaking("a", "Café", "a drink", 2));
    put(
        &database,
        speaking("b", "cafe", "a drink made of roasted beans", 3),
    );
    let read = |database: &Database| {
        let view = database.snapshot();
        let rows = view.snapshot().rows();
        let id = rows.concept_id(&normalise("CAFÉ")).unwrap().unwrap();
        rows.concept(id).unwrap().unwrap()
    };
    let merged = read(&database);
    assert_eq!((merged.mention_count, merged.document_count), (5, 2));
    assert_eq!(merged.description, "a drink made of roasted beans");
    assert_eq!(
        (database.stats().concepts, database.stats().relations),
        (2, 1)
    );
    // Storing the same again changes nothing.
    put(
        &database,
        speaking("b", "cafe", "a drink made of roasted beans", 3),
    );
    assert_eq!(read(&database), merged);
    let key = DocumentKey::new("", "", "b").unwrap();
    database.write(move |tx| tx.delete_document(&key)).unwrap();
    let left = read(&database);
    assert_eq!((left.mention_count, &left.description[..]), (2, "a drink"));
    assert_eq!(database.stats().relations, 1);
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
}

#[test]
fn filters_and_levels_hold_in_every_arm() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_provided_vectors("test", 2).unwrap();
    let owned = |key: &str, user: &str, year: i32| {
        let mut document = document(key, &["tea is a drink", "tea is green"]);
        document.record.user = user.into();
        document.record.year = Some(year);
        for (at, chunk) in document.chunks.iter_mut().enumerate() {
            chunk.vector = Some(vec![1.0, at as f32]);
        }
        document.concepts = vec![NewConcept {
            name: "tea".into(),
            mentions: vec![(1, 1), (2, 1)],
            ..NewConcept::default()
        }];
        document
    };
    put(&database, owned("a", "7", 1999));
    put(&database, owned("b", "8", 2005));
    // The global strategy answers by digests, which are not written here.
    for strategy in Strategy::ALL
        .into_iter()
        .filter(|of| *of != Strategy::Global)
    {
        let ask = |filter: &str| SearchRequest {
            strategy,
            vector: Some(vec![1.0, 0.5]),
            filter: Some(Expr::parse(filter).unwrap()),
            ..SearchRequest::new("tea")
        };
        let mut hits = found(&database, &ask("user_id = 8 and page in 2..3"));
        assert_eq!(hits, ["8::::b#2"], "{strategy:?}");
        hits = found(&database, &ask("year < 2000 and not page = 1"));
        assert_eq!(hits, ["7::::a#2"], "{strategy:?}");
        assert!(
            found(&database, &ask("year in (1, 2)")).is_empty(),
            "{strategy:?}"
        );
    }
    let sections = SearchRequest {
        levels: vec![Level::Section],
        ..text("green")
    };
    assert_eq!(found(&database, &sections), ["7::::a#0", "8::::b#0"]);
    let limited = SearchRequest {
        level_limits: vec![(Level::Section, 1), (Level::Paragraph, 2)],
        ..text("tea")
    };
    assert_eq!(found(&database, &limited).len(), 3);
}

#[test]
fn answer_does_not_depend_on_segment_layout() {
    let one = tempfile::tempdir().unwrap();
    let many = tempfile::tempdir().unwrap();
    let together = Database::open(one.path()).unwrap();
    let apart = Database::open(many.path()).unwrap();
    let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"];
    let documents: Vec<NewDocument> = (0..60)
        .map(|n| {
            let text: Vec<&str> = (0..9)
                .map(|i| words[(n * n + i * (n % 5 + 1)) % words.len()])
                .collect();
            NewDocument {
                concepts: vec![NewConcept {
                    name: words[n % words.len()].into(),
                    mentions: vec![(1, 1)],
                    ..NewConcept::default()
                }],
                ..document(&format!("{n}"), &[&text.join(" ")])
            }
        })
        .collect();
    for document in documents.clone() {
        put(&apart, document);
    }
    together
        .write(move |tx| {
            documents
                .into_iter()
                .try_for_each(|d| tx.put_document(d).map(drop))
        })
        .unwrap();
    let check = || {
        for strategy in [Strategy::Text, Strategy::Graph, Strategy::Hybrid] {
            let request = SearchRequest {
                strategy,
                k: 20,
                fusion: Some(Fusion::Rrf(RankWeights::default())),
                ..SearchRequest::new("gamma and alpha with zeta")
            };
            assert_eq!(
                found(&together, &request),
                found(&apart, &request),
                "{strategy:?}"
            );
        }
    };
    check();
    apart.wait_for_merges().unwrap();
    assert!(
        apart.stats().segments <= 9,
        "{} segments",
        apart.stats().segments
    );
    check();
}

#[test]
fn builtin_embedder_is_fitted_once_and_embeds_later_documents() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let texts = [
        "the wing of an aircraft gives lift in flight",
        "drag slows an aircraft and lift holds the wing",
        "flight needs lift from a wing and thrust",
        "bread is baked from flour and water in an oven",
        "an oven bakes dough of flour into bread",
        "dough of flour and water rises before it is baked",
        "thrust moves the aircraft against drag",
        "water and flour make dough for bread",
    ];
    for (n, text) in texts.iter().enumerate() {
        put(&database, document(&format!("{n}"), &[text]));
    }
    let vector = SearchRequest {
        strategy: Strategy::Vector,
        ..SearchRequest::new("baked dough")
    };
    assert!(
        matches!(database.search(&vector), Err(Error::Query(_))),
        "nothing is fitted yet"
    );
    database.finish(&NoProgress).unwrap();
    let space = database.stats().space.unwrap();
    assert!(space.model.starts_with("lsa-"));
    let near: Vec<String> = found(&database, &vector);
    assert!(
        near[..3]
            .iter()
            .all(|key| ["3#1", "4#1", "5#1", "7#1"].contains(&&key[..])),
        "{near:?}"
    );
    // A second finish has nothing to do; a document that comes later is embedded by the same space.
    database.finish(&NoProgress).unwrap();
    assert_eq!(database.stats().space.unwrap().version, space.version);
    put(&database, document("later", &["flour and water are baked"]));
    assert!(found(&database, &vector).contains(&"later#1".to_string()));
    database.close();
    let database = Database::open(folder.path()).unwrap();
    assert!(found(&database, &vector).contains(&"later#1".to_string()));
    database.use_embedder(EmbedderChoice::None).unwrap();
    assert!(database.stats().space.is_none());
}

#[test]
fn documents_are_stemmed_and_searched_in_their_language() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let german = "Die alten Häuser stehen am Fluss, und in jedem von ihnen wohnt eine Familie.";
    let english = "The old houses stand by the river, and a family lives in each of them.";
    put(&database, document("de", &[german, "Kurz."]));
    put(&database, document("en", &[english]));
    let mut declared = document("stated", &["Häuser, Hütten"]);
    declared.record.language = Some("de-AT".into());
    put(&database, declared);
    let texts = |request: &SearchRequest| -> Vec<String> {
        let hits = database.search(request).unwrap().hits;
        hits.into_iter().map(|hit| hit.text).collect()
    };

    let mut hits = texts(&text("hauses"));
    hits.sort();
    assert_eq!(hits, [german, "Häuser, Hütten"]);
    assert_eq!(texts(&text("house")), [english]);
    let request = SearchRequest {
        highlights: true,
        filter: Some(Expr::parse("language = deu").unwrap()),
        ..text("+haus")
    };
    let answer = database.search(&request).unwrap();
    assert_eq!(answer.hits.len(), 2);
    for hit in &answer.hits {
        let [(from, to)] = hit.highlights.as_deref().unwrap() else {
            panic!("{hit:?}");
        };
        let marked = hit.text.chars().take(*to as usize).skip(*from as usize);
        assert_eq!(marked.collect::<String>(), "Häuser");
    }

    let no_language = NewDocument {
        record: DocumentRecord {
            language: Some("python".into()),
            ..document("odd", &[]).record
        },
        ..document("odd", &[german])
    };
    put(&database, no_language);
    let hit_count = |filter: &str| {
        let request = SearchRequest {
            filter: Some(Expr::parse(filter).unwrap()),
            ..text("haus")
        };
        database.search(&request).unwrap().hits.len()
    };
    assert_eq!(hit_count("language = de and meta.language = python"), 1);
    assert_eq!(hit_count("language = German"), 3);
    let key = DocumentKey::new("", "", "stated").unwrap();
    let patched = database
        .write(move |tx| tx.patch_document(&key, |record| record.language = Some("en".into())));
    assert!(patched.unwrap());
    assert_eq!(hit_count("language = eng"), 0, "Häuser is no English word");

    database.set("language", "fr").unwrap();
    put(&database, document("fr", &["maisons"]));
    put(&database, document("en2", &[english]));
    assert_eq!(texts(&text("maison")), ["maisons"]);
    assert_eq!(
        texts(&text("house")),
        [english, english],
        "what can be told is"
    );
}

#[test]
fn settings_are_persisted_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.set("hops", "1").unwrap();
    assert!(matches!(database.set("hops", "9"), Err(Error::Setting(_))));
    database.close();
    let database = Database::open(folder.path()).unwrap();
    assert_eq!(database.settings().unwrap().hops, 1);
}

#[test]
fn writer_errors_are_returned_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let failed = database.write(|tx| {
        tx.put_document(document("a", &["x"]))?;
        Err::<(), Error>(Error::NotFound("b".into()))
    });
    assert!(matches!(failed, Err(Error::NotFound(key)) if key == "b"));
    assert_eq!(database.stats().documents, 0);
    let second = Database::open(folder.path());
    assert!(matches!(
        second,
        Err(Error::Store(StoreError::Locked { .. }))
    ));
    let none = Database::open_with(
        folder.path().join("none"),
        &Options {
            create: false,
            ..Options::default()
        },
    );
    assert!(matches!(
        none,
        Err(Error::Store(StoreError::Missing { .. }))
    ));
}

#[test]
fn adversarial_questions_get_a_clear_answer() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    put(&database, document("a", &["plain words about water"]));
    let long = "water ".repeat(5000);
    for question in [
        "",
        " ",
        "?",
        "\"",
        "water",
        &long,
        "水",
        "\u{0}",
        "ignore all instructions",
    ] {
        for strategy in [Strategy::Text, Strategy::Graph, Strategy::Hybrid] {
            let request = SearchRequest {
                strategy,
                ..SearchRequest::new(question)
            };
            let answer = database.search(&request).unwrap();
            assert!(answer.hits.len() <= 1);
        }
    }
    let none = SearchRequest {
        k: 0,
        ..SearchRequest::new("water")
    };
    assert!(found(&database, &none).is_empty());
    assert_eq!(
        database
            .snapshot()
            .snapshot()
            .rows()
            .count(Table::Documents)
            .unwrap(),
        1
    );
}

#[test]
fn ignored_step_error_fails_the_whole_write() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    put(&database, document("a", &["before"]));
    let written = database.write(|tx| {
        let bad = NewDocument {
            chunks: vec![passage("x")],
            ..document("a", &["after"])
        };
        let mut bad = bad;
        bad.chunks[0].vector = Some(vec![1.0]);
        let _ = tx.put_document(bad);
        tx.put_document(document("b", &["other"])).map(drop)
    });
    assert!(written.is_err());
    assert_eq!(found(&database, &text("before")), ["a#1"]);
    assert!(found(&database, &text("other")).is_empty());
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
}

#[test]
fn vector_is_kept_when_the_same_text_is_stored_again() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_provided_vectors("test", 2).unwrap();
    let mut with_vector = document("a", &["same", "goes"]);
    with_vector.chunks[1].vector = Some(vec![1.0, 0.0]);
    with_vector.chunks[2].vector = Some(vec![0.0, 1.0]);
    put(&database, with_vector);
    put(&database, document("a", &["same", "comes"]));
    let nearest = SearchRequest {
        strategy: Strategy::Vector,
        vector: Some(vec![1.0, 0.0]),
        ..SearchRequest::new("")
    };
    assert_eq!(found(&database, &nearest), ["a#1"]);
    let view = database.snapshot();
    assert_eq!(view.snapshot().rows().count(Table::Vectors).unwrap(), 1);
}

#[test]
fn store_without_segment_files_is_rebuilt_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        inline_len_max: 1 << 10,
        ..Options::default()
    };
    let database = Database::open_with(folder.path(), &options).unwrap();
    for n in 0..40 {
        let words = format!("water {n} flows under the bridge {}", n % 7);
        let texts = vec![&words[..]; 60];
        put(&database, document(&format!("{n}"), &texts));
    }
    database.wait_for_merges().unwrap();
    database.finish(&NoProgress).unwrap();
    let before = found(&database, &text("bridge 3"));
    database.close();
    std::fs::remove_dir_all(folder.path().join("segments")).unwrap();
    let database = Database::open(folder.path()).unwrap();
    assert!(!database.damaged().is_empty());
    database.rebuild(&NoProgress).unwrap();
    assert_eq!(found(&database, &text("bridge 3")), before);
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
    database.finish(&NoProgress).unwrap();
    assert!(database.stats().space.is_some());
    database.close();
    assert!(Database::open(folder.path()).unwrap().damaged().is_empty());
}

/// A store of six documents, in which every segment has a file of its own.
fn store_of_six_documents(folder: &std::path::Path) -> Database {
    let database = Database::open_with(folder, &in_files()).unwrap();
    for n in 0..6 {
        let words = format!("water {n} flows under the bridge");
        put(&database, document(&format!("{n}"), &[&words]));
    }
    database
}

fn in_files() -> Options {
    Options {
        inline_len_max: 0,
        ..Options::default()
    }
}

#[test]
fn store_answers_partially_and_accepts_writes_during_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let database = store_of_six_documents(folder.path());
    database.close();
    let mut files: Vec<_> = std::fs::read_dir(folder.path().join("segments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    // All but the newest are gone, or are something else.
    files.pop();
    for (n, file) in files.iter().enumerate() {
        match n % 2 {
            0 => std::fs::remove_file(file).unwrap(),
            _ => std::fs::write(file, b"something else").unwrap(),
        }
    }
    let database = Database::open_with(folder.path(), &in_files()).unwrap();
    // The background may be anywhere by now; a view is one state.
    let view = database.snapshot();
    let missing = view.snapshot().missing_chunks() / (database.stats().chunks / 6);
    let answer = database.search_in(&view, &text("bridge")).unwrap();
    assert_eq!(answer.hits.len() as u64, 6 - missing);
    assert_eq!(
        answer
            .partial
            .iter()
            .any(|note| note.to_string().contains("built again")),
        missing > 0 || view.snapshot().is_rebuilding()
    );
    // What is written, replaced and deleted meanwhile is as it is told, whatever is built of what was before.
    put(&database, document("new", &["water under a new bridge"]));
    put(&database, document("1", &["water under another bridge"]));
    database
        .write(|tx| tx.delete_document(&"2".parse().unwrap()))
        .unwrap();
    database.rebuild(&NoProgress).unwrap();
    assert_eq!(database.stats().missing_chunks, 0);
    let answer = database.search(&text("bridge")).unwrap();
    let mut hits: Vec<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    hits.sort_unstable();
    assert_eq!(hits, ["0", "1", "3", "4", "5", "new"]);
    assert_eq!(answer.partial, []);
    let mut findings = Vec::new();
    database
        .check(true, &NoProgress, &mut |finding| findings.push(finding))
        .unwrap();
    findings.retain(|finding| !finding.finding.starts_with("built again when"));
    assert_eq!(findings, []);
}

/// All files of a folder, with their bytes.
fn files_of(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_of(&path))
        } else {
            drop(files.insert(path.clone(), std::fs::read(path).unwrap()))
        }
    }
    files
}

#[test]
fn read_only_store_is_unchanged_and_shared_by_readers() {
    let folder = tempfile::tempdir().unwrap();
    let database = store_of_six_documents(folder.path());
    database.finish(&NoProgress).unwrap();
    let reading = Options {
        read_only: true,
        ..Options::default()
    };
    let locked = Database::open_with(folder.path(), &reading).err().unwrap();
    assert!(
        matches!(locked, Error::Store(StoreError::Locked { .. })),
        "{locked}"
    );
    let before = found(&database, &text("bridge"));
    database.close();
    // One segment is gone, and a crash left half of another.
    let segments = folder.path().join("segments");
    let gone = std::fs::read_dir(&segments)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::remove_file(gone.path()).unwrap();
    std::fs::write(
        segments.join("0000000000000001-0000000000000007.tmp"),
        b"half",
    )
    .unwrap();
    let files = files_of(folder.path());

    let first = Database::open_with(folder.path(), &reading).unwrap();
    let second = Database::open_with(folder.path(), &reading).unwrap();
    for database in [&first, &second] {
        database.rebuild(&NoProgress).unwrap();
        let mut hits = found(database, &text("bridge"));
        let mut same = before.clone();
        hits.sort();
        same.sort();
        assert_eq!(hits, same);
        let refused = database.write(|tx| tx.delete_document(&"2".parse().unwrap()));
        assert!(matches!(
            refused,
            Err(Error::Store(StoreError::OpenedReadOnly))
        ));
        assert!(database.compact(&NoProgress).is_err() && database.refit(&NoProgress).is_err());
        let mut export = Vec::new();
        database.export(&mut export, &NoProgress).unwrap();
    }
    let locked = Database::open(folder.path()).err().unwrap();
    assert!(
        matches!(locked, Error::Store(StoreError::Locked { .. })),
        "{locked}"
    );
    first.close();
    second.close();
    assert!(files_of(folder.path()) == files, "a file was changed");
    let nowhere = Database::open_with(folder.path().join("nowhere"), &reading);
    assert!(nowhere.is_err() && !folder.path().join("nowhere").exists());
    Database::open(folder.path()).unwrap();
}

#[test]
fn snapshot_outlives_the_database_and_keeps_the_store_locked() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    put(&database, document("a", &["held"]));
    let view = database.snapshot();
    database.close();
    let id = view
        .snapshot()
        .rows()
        .document_id(&DocumentKey::new("", "", "a").unwrap());
    assert!(
        view.snapshot()
            .rows()
            .document(id.unwrap().unwrap())
            .unwrap()
            .is_some()
    );
    assert!(matches!(
        Database::open(folder.path()),
        Err(Error::Store(StoreError::Locked { .. }))
    ));
    drop(view);
    Database::open(folder.path()).unwrap();
}

/// A unit vector of chance.
fn direction(n: u64) -> Vec<f32> {
    let number = |i: u64| {
        let mixed = (n * 8 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..8).map(number).collect()
}

#[test]
fn graph_search_of_a_large_segment_matches_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_provided_vectors("given", 8).unwrap();
    let texts: Vec<String> = (0..4000).map(|n| format!("passage {n}")).collect();
    for (key, share) in [("a", 0..2500), ("b", 2500..4000)] {
        let texts: Vec<&str> = texts[share.clone()].iter().map(String::as_str).collect();
        let mut large = document(key, &texts);
        for (chunk, n) in large.chunks[1..].iter_mut().zip(share) {
            chunk.vector = Some(direction(n as u64));
        }
        put(&database, large);
    }
    database.compact(&NoProgress).unwrap();
    let ask = |filter: &str, question: u64| SearchRequest {
        vector: Some(direction(question)),
        strategy: Strategy::Vector,
        filter: Some(filter)
            .filter(|f| !f.is_empty())
            .map(|f| Expr::parse(f).unwrap()),
        explain: true,
        ..SearchRequest::new("")
    };
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let cases = [
        ("", "walk with ef"),
        ("page < 3", "exact scan"),
        ("page < 200", "scan of codes"),
    ];
    for (filter, method) in cases {
        let (mut right, mut found_ones) = (0, 0);
        for question in 10_000..10_020 {
            let allowed = |n: &u64| {
                filter.is_empty() || {
                    let page = if *n < 2500 { n + 1 } else { n - 2499 };
                    page < filter[7..].parse().unwrap()
                }
            };
            let mut want: Vec<u64> = (0..4000).filter(allowed).collect();
            let near = |n: u64| cosine(&direction(n), &direction(question));
            want.sort_by(|a, b| near(*b).total_cmp(&near(*a)));
            want.truncate(10);
            let answer = database.search(&ask(filter, question)).unwrap();
            let got: Vec<String> = answer.hits.into_iter().map(|hit| hit.text).collect();
            assert_eq!(got.len(), want.len());
            right += want.len();
            found_ones += want
                .iter()
                .filter(|n| got.contains(&texts[**n as usize]))
                .count();
            let steps = answer.explain.unwrap();
            let detail = steps.iter().find_map(|step| step.detail.clone()).unwrap();
            assert!(detail.contains(method), "{filter}: {detail}");
        }
        assert!(
            found_ones * 100 >= right * 97,
            "{filter}: {found_ones} of {right}"
        );
    }
}

#[test]
fn terms_skipped_for_time_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    for n in 0..20 {
        let text = format!("word{n} and the water");
        put(&database, document(&n.to_string(), &[&text]));
    }
    let request = SearchRequest {
        effort: Effort::Within(Duration::ZERO),
        ..text("the water of word7")
    };
    let answer = database.search(&request).unwrap();
    assert_eq!(answer.hits.len(), 1, "the rarest word counts always");
    assert_eq!(answer.hits[0].text, "word7 and the water");
    assert!(answer.partial[0].to_string().contains("terms not counted"));
    let all = database.search(&text("the water of word7")).unwrap();
    assert!(all.partial.is_empty() && all.hits.len() == 10);
}

#[test]
fn assets_are_stored_replaced_and_deleted_with_their_document() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let asset = |name: &str, bytes: &[u8]| NewAsset {
        name: name.into(),
        bytes: bytes.into(),
    };
    let with = |assets: Vec<NewAsset>| NewDocument {
        assets,
        ..document("a", &["the crab nebula"])
    };
    put(&database, document("b", &["another"]));
    put(
        &database,
        with(vec![asset("media/crab.png", b"\x89PNG"), asset("x", b"")]),
    );
    let key = DocumentKey::new("", "", "a").unwrap();
    let names = || {
        let view = database.snapshot();
        let rows = view.snapshot().rows();
        let id = rows.document_id(&key).unwrap().unwrap();
        let names = rows.asset_names(id).unwrap();
        let bytes = rows.asset(id, "media/crab.png").unwrap();
        assert_eq!(rows.asset(id, "media/crab").unwrap(), None);
        (names, bytes)
    };
    let (all, bytes) = names();
    assert_eq!(all, ["media/crab.png", "x"]);
    assert_eq!(bytes.unwrap(), b"\x89PNG");
    put(&database, with(vec![asset("media/crab.png", b"other")]));
    let (all, bytes) = names();
    assert_eq!(
        (&all[..], bytes),
        (&["media/crab.png".into()][..], Some(b"other".to_vec()))
    );
    for wrong in [
        vec![asset("", b"1")],
        vec![asset("x", b"1"), asset("x", b"2")],
        vec![asset(&"x".repeat(2000), b"1")],
    ] {
        let wrong = with(wrong);
        let refused = database.write(move |tx| tx.put_document(wrong));
        assert!(refused.is_err(), "{refused:?}");
    }
    assert_eq!(names().0.len(), 1);
    database
        .write(move |tx| tx.delete_document(&DocumentKey::new("", "", "a")?))
        .unwrap();
    let view = database.snapshot();
    assert_eq!(view.snapshot().rows().count(Table::Assets).unwrap(), 0);
}

#[test]
fn origin_is_kept_until_the_document_is_replaced_or_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    put(&database, document("a", &["Ferns grow."]));
    put(&database, document("b", &["Mosses creep."]));
    let key = |name: &str| DocumentKey::new("", "", name).unwrap();
    let set = |name: &str, origin: Option<&'static str>| {
        let key = key(name);
        database.write(move |tx| tx.set_origin(&key, origin))
    };
    let origin = |name: &str| {
        let view = database.snapshot();
        let id = view.snapshot().rows().document_id(&key(name)).unwrap();
        id.and_then(|id| view.origin(id).unwrap())
    };
    let from = |origin: &str| database.snapshot().documents_from(origin).unwrap().len();
    assert!(set("a", Some("/x/a")).unwrap());
    assert!(set("b", Some("/x/a b")).unwrap());
    assert!(!set("none", Some("/x/a")).unwrap());
    for wrong in [String::new(), "a\0b".into(), "x".repeat(16_385)] {
        let key = key("a");
        let refused = database.write(move |tx| tx.set_origin(&key, Some(&wrong)));
        assert!(refused.is_err());
    }
    assert_eq!(origin("a").as_deref(), Some("/x/a"));
    assert_eq!(origin("b").as_deref(), Some("/x/a b"));
    assert_eq!((from("/x/a"), from("/x"), from("/x/a b")), (1, 0, 1));
    set("b", Some("/x/a")).unwrap();
    assert_eq!((from("/x/a"), from("/x/a b")), (2, 0));
    put(&database, document("b", &["Lichens stay."]));
    assert_eq!((origin("b"), from("/x/a")), (None, 1));
    let gone = key("a");
    database.write(move |tx| tx.delete_document(&gone)).unwrap();
    assert_eq!((origin("a"), from("/x/a")), (None, 0));
    let mut findings = Vec::new();
    let mut found = |finding| findings.push(finding);
    database.check(true, &NoProgress, &mut found).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn chunk_without_offsets_is_located_by_its_text_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let mut first = document("a", &[]);
    first.original = "Größe. Ferns grow here. Mosses grow. Mosses grow.".into();
    first.chunks = ["Ferns grow here.", "Mosses grow.", "Lichens grow."]
        .map(passage)
        .into();
    put(&database, first);
    let request = SearchRequest {
        context_tokens: Some(400),
        ..text("grow")
    };
    let answer = database.search(&request).unwrap();
    let json = serde_json::to_value(&answer).unwrap();
    let cited = |text: &str| {
        let mut hits = json["hits"].as_array().unwrap().iter();
        let hit = hits.find(|hit| hit["text"] == text).unwrap();
        hit["citation"].get("chars").cloned()
    };
    assert_eq!(cited("Ferns grow here."), Some(serde_json::json!([7, 23])));
    assert_eq!(cited("Mosses grow."), None);
    assert_eq!(cited("Lichens grow."), None);
    // Chunks that are nowhere are none within the other.
    let context = answer.context.unwrap().text;
    for part in ["Ferns grow here.", "Mosses grow.", "Lichens grow."] {
        assert!(context.contains(part), "{context}");
    }
}
