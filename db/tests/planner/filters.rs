//! G6: filters in every strategy.

use locidb::storage::records::{
    ChunkRecord, ChunkType, ContentType, DocumentRecord, FileType, Level, Location,
};
use locidb::{Database, SearchRequest, Strategy};

use crate::stores::{
    Part, Store, ask, chunks, document, filtered, leaf, paragraph, put, section, with_mentions,
};

const SOURCE_TEXT: &str = "\
user_id = 7|collection = shelf|key = target|key prefix tar|filename = \"t.pdf\"|address prefix \"https://\"|\
title = \"The Target\"|title prefix The|year = 1987|year < 1990|year in 1980..1989|venue = Journal|\
doi = \"10.1/x\"|author = Knuth|authors has Knuth|file_type = pdf|category = physics|topic = waves|topics has waves|\
difficulty = hard|prerequisite = algebra|prerequisites has algebra|learning_outcome = insight|learning_outcomes has insight|\
language = deu|language = German|level = paragraph and user_id = 7|content_type = code|chunk_type = example|page = 42|\
page in 40..45|slide = 3|line = 17|chapter_number = 5|chapter_title = Forces|section_number = 5.4|\
section_title = \"Second law\"|keyword = push|keywords has push|key_term = inertia|key_terms has inertia|\
symbol = push_all|has_equations = true|has_diagrams = true|citation_count = 9|citation_count > 3|\
token_count = 777|token_count > 700|word_count = 555|confidence <= 0.6|meta.course = cs186|meta.week < 4|meta.course prefix cs";

/// A document that many others would hide, all of whose passages have every field.
fn hidden() -> Store {
    let vector = |x: f32, y: f32| Some(vec![x, y]);
    let own = |n: usize| {
        let text = format!("word and very many others beside it, passage {n} of the plain one");
        let mut part = paragraph(&text).with_record(|record| {
            *record = ChunkRecord {
                content_type: ContentType::Code,
                chunk_type: ChunkType::Example,
                chapter_number: Some("5".into()),
                chapter_title: Some("Forces".into()),
                section_number: Some("5.4".into()),
                section_title: Some("Second law".into()),
                keywords: vec!["push".into()],
                key_terms: vec!["inertia".into()],
                equations: vec!["F = ma".into()],
                has_diagrams: true,
                symbol: Some("push_all".into()),
                citation_count: 9,
                token_count: 777,
                word_count: 555,
                confidence: 0.5,
                metadata: vec![
                    ("course".into(), "cs186".into()),
                    ("week".into(), "3".into()),
                ],
                location: Location {
                    pages: Some((42, 42)),
                    slide: Some(3),
                    lines: Some((16, 18)),
                    ..Location::default()
                },
                ..record.clone()
            }
        });
        part.vector = vector(0.1, 1.0);
        part
    };
    let mut target = document(
        "target",
        vec![
            leaf(Level::Summary, "one word of it"),
            section("S", (0..4).map(own).collect()),
        ],
    );
    target.record = DocumentRecord {
        user: "7".into(),
        collection: "shelf".into(),
        filename: Some("t.pdf".into()),
        address: Some("https://example.org/t.pdf".into()),
        title: Some("The Target".into()),
        year: Some(1987),
        venue: Some("Journal".into()),
        doi: Some("10.1/x".into()),
        authors: vec!["Dijkstra".into(), "Knuth".into()],
        file_type: FileType::Pdf,
        category: Some("physics".into()),
        topics: vec!["waves".into()],
        difficulty: Some("hard".into()),
        prerequisites: vec!["algebra".into()],
        learning_outcomes: vec!["insight".into()],
        language: Some("de".into()),
        ..target.record
    };
    let mut documents = vec![with_mentions(target, &["word"])];
    for n in 0..40 {
        let parts = (0..5).map(|_| Part {
            vector: vector(1.0, 0.0),
            ..paragraph("word word word")
        });
        let summary = leaf(Level::Summary, "word word");
        let decoy = document(
            &format!("decoy{n}"),
            vec![summary, section("D", parts.collect())],
        );
        documents.push(with_mentions(decoy, &["word"]));
    }
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_provided_vectors("test", 2).unwrap();
    put(&database, documents);
    Store {
        database,
        _folder: folder,
    }
}

#[test]
fn filters_apply_in_every_strategy_and_fill_k_hits() {
    let store = hidden();
    // Digests are of the whole store; what the global strategy keeps of them has a test of its own.
    let strategies = Strategy::ALL
        .into_iter()
        .filter(|of| *of != Strategy::Global);
    for strategy in strategies {
        for filter in SOURCE_TEXT.split('|') {
            let request = SearchRequest {
                strategy,
                k: 4,
                vector: Some(vec![1.0, 0.0]),
                ..filtered(
                    &format!("{filter} and not level = summary"),
                    SearchRequest::new("word"),
                )
            };
            let answer = ask(&store, &request);
            let own = answer
                .hits
                .iter()
                .all(|hit| hit.document == "7:shelf::target");
            let own = own
                || answer
                    .hits
                    .iter()
                    .all(|hit| hit.document == "7::shelf::target");
            assert!(own, "{strategy:?} {filter}: {:?}", chunks(&answer));
            assert_eq!(answer.hits.len(), 4, "{strategy:?} {filter}");
        }
    }
}
