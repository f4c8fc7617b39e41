//! Every field of metadata is a filter, in every strategy, and the guide names it.

use locidb::query::filter::{FIELDS, META};
use locidb::storage::records::{
    ChunkRecord, ChunkType, ContentType, DocumentRecord, FileType, Level, Location, PageBox,
    PropositionType, RetrievalMode, SectionType, SentenceType,
};
use locidb::storage::staging::content_hash;
use locidb::storage::{ChunkKey, DocumentKey};
use locidb::{
    Database, Expr, NewChunk, NewConcept, NewDocument, NoProgress, SearchRequest, Strategy,
};

const TEXT: &str = "A locus is a place.";

/// How a document comes to have a value.
#[derive(Clone, Copy)]
enum Set {
    /// Known of it; a patch can change it.
    Document(fn(&mut DocumentRecord)),
    /// Known of its last chunk; a patch can change it.
    Chunk(fn(&mut ChunkRecord)),
    /// What it is; only storing it anew changes it.
    Whole(fn(&mut NewDocument)),
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn list(text: &str) -> Vec<String> {
    vec!["other".to_owned(), text.to_owned()]
}

fn location(document: &mut NewDocument) -> &mut Location {
    &mut document.chunks.last_mut().unwrap().record.location
}

/// Puts a copy of the last chunk behind it.
fn double(document: &mut NewDocument) {
    let copy = document.chunks.last().unwrap().clone();
    document.chunks.push(copy);
}

/// Filters, and how to make a document that satisfies each; one without the value does not.
fn cases() -> Vec<(&'static str, Set)> {
    use Set::{Chunk, Document, Whole};
    vec![
        ("user_id = 7", Whole(|d| d.record.user = "7".into())),
        (
            "collection = notes",
            Whole(|d| d.record.collection = "notes".into()),
        ),
        (
            "document prefix \"in folder\"",
            Whole(|d| d.record.key = "in folder".into()),
        ),
        ("content_hash = HASH", Whole(|d| d.original.push(b'!'))),
        ("filename = a.md", Document(|d| d.filename = some("a.md"))),
        (
            "address prefix \"https://\"",
            Document(|d| d.address = some("https://a.example")),
        ),
        ("title = Places", Document(|d| d.title = some("Places"))),
        ("year < 2000", Document(|d| d.year = Some(1999))),
        ("venue = JML", Document(|d| d.venue = some("JML"))),
        ("doi has", Document(|d| d.doi = some("10.1000/1"))),
        ("author has Yates", Document(|d| d.authors = list("Yates"))),
        (
            "file_type = html",
            Document(|d| d.file_type = FileType::Html),
        ),
        ("category = art", Document(|d| d.category = some("art"))),
        ("topic has memory", Document(|d| d.topics = list("memory"))),
        ("topic has recall", Chunk(|c| c.topics = list("recall"))),
        (
            "difficulty = hard",
            Document(|d| d.difficulty = some("hard")),
        ),
        (
            "prerequisite has logic",
            Document(|d| d.prerequisites = list("logic")),
        ),
        (
            "learning_outcome has recall",
            Document(|d| d.learning_outcomes = list("recall")),
        ),
        ("language = German", Document(|d| d.language = some("de"))),
        (
            "document_summary prefix Of",
            Document(|d| d.summary = some("Of places.")),
        ),
        (
            "ingested_at = 1970-01-02",
            Document(|d| d.ingested_at_ms = 90_000_000),
        ),
        (
            "ingested_at < 1970-02",
            Document(|d| d.ingested_at_ms = 90_000_000),
        ),
        (
            "parser_version prefix mine",
            Document(|d| d.parser = "mine 2".into()),
        ),
        (
            "retrieval_mode = full-doc",
            Document(|d| d.retrieval_mode = RetrievalMode::FullDoc),
        ),
        ("stub = true", Document(|d| d.stub = true)),
        (
            "meta.course = \"CS 186\"",
            Document(|d| d.metadata = vec![("course".into(), "CS 186".into())]),
        ),
        (
            "meta.week < 3",
            Chunk(|c| c.metadata = vec![("week".into(), "2".into())]),
        ),
        (
            "level = proposition",
            Chunk(|c| c.level = Level::Proposition),
        ),
        ("is_summary = true", Chunk(|c| c.level = Level::Summary)),
        (
            "content_type = table",
            Chunk(|c| c.content_type = ContentType::Table),
        ),
        (
            "chunk_type = concept",
            Chunk(|c| c.chunk_type = ChunkType::Concept),
        ),
        (
            "section_type = tutorial",
            Chunk(|c| c.section_type = Some(SectionType::Tutorial)),
        ),
        (
            "sentence_type = claim",
            Chunk(|c| c.sentence_type = Some(SentenceType::Claim)),
        ),
        (
            "proposition_type = procedure",
            Chunk(|c| c.proposition_type = Some(PropositionType::Procedure)),
        ),
        (
            "parent = 1",
            Whole(|d| {
                double(d);
                d.chunks[2].record.parent = Some(1);
            }),
        ),
        ("index_in_parent = 1", Whole(double)),
        ("page = 5", Whole(|d| location(d).pages = Some((4, 6)))),
        ("slide in 3..5", Whole(|d| location(d).slide = Some(3))),
        (
            "time in 60..120",
            Whole(|d| location(d).time_ms = Some((115_000, 130_500))),
        ),
        (
            "time > 130.25",
            Whole(|d| location(d).time_ms = Some((115_000, 130_500))),
        ),
        (
            "line in 9..12",
            Whole(|d| location(d).lines = Some((1, 10))),
        ),
        ("char in 30..50", Whole(|d| location(d).chars = (20, 39))),
        (
            "has_boxes = true",
            Whole(|d| {
                location(d).boxes = vec![PageBox {
                    page: 1,
                    x0: 0.0,
                    y0: 0.0,
                    x1: 1.0,
                    y1: 0.5,
                }];
            }),
        ),
        (
            "chapter_number = 3",
            Chunk(|c| c.chapter_number = some("3")),
        ),
        (
            "chapter_title = Loci",
            Chunk(|c| c.chapter_title = some("Loci")),
        ),
        (
            "section_number = 3.2",
            Chunk(|c| c.section_number = some("3.2")),
        ),
        (
            "section_title = Loci",
            Chunk(|c| c.section_title = some("Loci")),
        ),
        (
            "heading has Method",
            Chunk(|c| c.heading_path = list("Method")),
        ),
        (
            "related_section has 4.1",
            Chunk(|c| c.related_sections = list("4.1")),
        ),
        (
            "summary prefix \"Of a\"",
            Chunk(|c| c.summary = some("Of a place.")),
        ),
        ("keyword has loci", Chunk(|c| c.keywords = list("loci"))),
        ("key_term has loci", Chunk(|c| c.key_terms = list("loci"))),
        ("entity has Cicero", Chunk(|c| c.entities = list("Cicero"))),
        (
            "symbol prefix \"Ring::\"",
            Chunk(|c| c.symbol = some("Ring::push")),
        ),
        (
            "equation has \"a = b\"",
            Chunk(|c| c.equations = list("a = b")),
        ),
        (
            "has_equations = true",
            Chunk(|c| c.equations = list("a = b")),
        ),
        (
            "figure_ref has \"Figure 3.1\"",
            Chunk(|c| c.figure_refs = list("Figure 3.1")),
        ),
        ("has_diagrams = true", Chunk(|c| c.has_diagrams = true)),
        ("image has fig1.png", Chunk(|c| c.images = list("fig1.png"))),
        ("has_images = true", Chunk(|c| c.images = list("fig1.png"))),
        ("citation_count > 0", Chunk(|c| c.citation_count = 2)),
        ("token_count = 77", Chunk(|c| c.token_count = 77)),
        ("word_count = 78", Chunk(|c| c.word_count = 78)),
        (
            "char_count = 20",
            Whole(|d| d.chunks.last_mut().unwrap().record.text.push('.')),
        ),
        (
            "reading_time in 60..90",
            Chunk(|c| c.reading_time_s = Some(75)),
        ),
        ("verifiable = false", Chunk(|c| c.verifiable = Some(false))),
        // A float is a little off; thousandths are not.
        ("confidence = 0.7", Chunk(|c| c.confidence = 0.7)),
    ]
}

/// A section and a passage, with text, vectors and a concept.
fn document(key: &str) -> NewDocument {
    let chunk = |parent, level| NewChunk {
        record: ChunkRecord {
            parent,
            level,
            text: TEXT.into(),
            location: Location {
                chars: (0, 19),
                ..Location::default()
            },
            ..ChunkRecord::default()
        },
        vector: Some(vec![1.0, 0.5]),
    };
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: format!("{TEXT}\n{TEXT}").into_bytes(),
        chunks: vec![
            chunk(None, Level::Section),
            chunk(Some(0), Level::Paragraph),
        ],
        ..NewDocument::default()
    }
}

/// Mentions a concept in the last chunk, and stores the document.
fn put(database: &Database, mut document: NewDocument) -> ChunkKey {
    let last = document.chunks.len() as u32 - 1;
    document.concepts = vec![NewConcept {
        name: "locus".into(),
        mentions: vec![(last, 1)],
        ..NewConcept::default()
    }];
    let record = &document.record;
    let (user, collection) = (record.user.clone(), record.collection.clone());
    let key = DocumentKey::new(user, collection, record.key.clone()).unwrap();
    database.write(move |tx| tx.put_document(document)).unwrap();
    ChunkKey {
        document: key,
        suffix: last,
    }
}

fn store(folder: &std::path::Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_provided_vectors("test", 2).unwrap();
    put(&database, document("without"));
    database
}

fn found(database: &Database, filter: &str, strategy: Strategy) -> Vec<String> {
    let request = SearchRequest {
        strategy,
        vector: Some(vec![1.0, 0.5]),
        levels: Level::ALL.to_vec(),
        filter: Some(Expr::parse(filter).unwrap()),
        ..SearchRequest::new("locus")
    };
    let hits = database.search(&request).unwrap().hits;
    hits.into_iter().map(|hit| hit.chunk).collect()
}

/// Asks in all strategies that do not need digests.
fn check(database: &Database, filter: &str, want: &ChunkKey) {
    for strategy in Strategy::ALL {
        if strategy == Strategy::Global {
            continue;
        }
        let hits = found(database, filter, strategy);
        assert!(
            hits.contains(&want.to_string()),
            "{filter} by {strategy:?} finds {hits:?}"
        );
        let others = hits.iter().filter(|hit| hit.starts_with("without"));
        assert_eq!(others.count(), 0, "{filter} by {strategy:?} finds {hits:?}");
    }
}

#[test]
fn each_field_is_filtered_on_in_each_strategy() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut stored = Vec::new();
    for (at, (filter, set)) in cases().into_iter().enumerate() {
        let mut document = document(&format!("with {at}"));
        match set {
            Set::Document(set) => set(&mut document.record),
            Set::Chunk(set) => set(&mut document.chunks[1].record),
            Set::Whole(set) => set(&mut document),
        }
        let hash = u128::from_be_bytes(content_hash(&document.original));
        let filter = filter.replace("HASH", &format!("{hash:032x}"));
        stored.push((filter, put(&database, document)));
    }
    for (filter, key) in &stored {
        check(&database, filter, key);
    }
    for field in FIELDS {
        let named =
            |(filter, _): &&(String, ChunkKey)| filter.split(' ').next() == Some(field.name);
        let (filter, _) = stored.iter().find(named).expect(field.name);
        let hits = found(&database, filter, Strategy::Text);
        for alias in field.aliases {
            let other = filter.replacen(field.name, alias, 1);
            assert_eq!(found(&database, &other, Strategy::Text), hits, "{other}");
        }
    }
    // What segments say is the same after they are merged.
    database.compact(&NoProgress).unwrap();
    for (filter, key) in &stored {
        check(&database, filter, key);
    }
}

#[test]
fn a_patch_changes_what_filters_find() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    for (at, (filter, set)) in cases().into_iter().enumerate() {
        if matches!(set, Set::Whole(_)) {
            continue;
        }
        let key = put(&database, document(&format!("with {at}")));
        let before = found(&database, filter, Strategy::Text);
        assert!(
            !before.contains(&key.to_string()),
            "{filter} finds {before:?}"
        );
        let of = key.clone();
        let patched = database.write(move |tx| match set {
            Set::Document(set) => tx.patch_document(&of.document, set),
            Set::Chunk(set) => tx.patch_chunk(&of, set),
            Set::Whole(_) => Ok(false),
        });
        assert!(patched.unwrap(), "{filter}");
        check(&database, filter, &key);
    }
}

#[test]
fn the_guide_names_each_field() {
    let guide = include_str!("../../docs/guide/filters.md");
    let tables: Vec<&str> = guide
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    for field in FIELDS {
        for name in field.aliases.iter().chain([&field.name]) {
            let cell = format!("`{name}`");
            let is_listed = tables
                .iter()
                .any(|row| row.split('|').nth(1).unwrap().contains(&cell));
            assert!(is_listed, "{name} is not in the guide");
        }
    }
    assert!(guide.contains(&format!("`{META}KEY`")));
}
