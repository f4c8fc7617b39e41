//! What a reader of each source expects of a search, asked of documents in a store.
//!
//! | tests | source |
//! | --- | --- |
//! | `half_…`, `mixed_…` | H5: halves by chunk type |
//! | `facts_…`, `a_document_without_…` | C3: levels by question |
//! | `a_chunk_that_cites_…`, `doubt_…` | C4, D6: density of citations, confidence |
//! | `stages_…`, `a_document_without_a_summary_…` | D3: documents, sections, statements |
//! | `a_whole_document_…` | D4: full-doc and paragraph mode |
//! | `questions_about_everything_…`, `a_store_without_digests_…` | R11: local and global questions |
//! | `filters_…` | G6: filters in every strategy |
//! | `a_citation_…` | G12: labels, paths, ranges, links |

use std::collections::BTreeSet;
use std::sync::OnceLock;

use locidb::graph::normalise;
use locidb::query::plan::{Operator, Plan};
use locidb::query::{QueryError, Searcher, Walk};
use locidb::storage::ConceptId;
use locidb::storage::records::{
    ChunkRecord, ChunkType, ContentType, DocumentRecord, FileType, Level, Location, RetrievalMode,
};
use locidb::{
    Answer, Climb, Database, EmbedderChoice, Error, Expr, NewChunk, NewConcept, NewDocument,
    NewRelation, Options, Rerank, SearchRequest, Seeds, Silent, Strategy,
};
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

/// A chunk with those in it.
#[derive(Clone)]
struct Part {
    record: ChunkRecord,
    vector: Option<Vec<f32>>,
    parts: Vec<Part>,
}

fn leaf(level: Level, text: &str) -> Part {
    let tokens = locidb::query::tokens::count(text);
    Part {
        record: ChunkRecord {
            level,
            text: text.into(),
            token_count: tokens,
            ..ChunkRecord::default()
        },
        vector: None,
        parts: Vec::new(),
    }
}

fn paragraph(text: &str) -> Part {
    leaf(Level::Paragraph, text)
}

fn inner(level: Level, parts: Vec<Part>) -> Part {
    Part {
        parts,
        ..leaf(level, "")
    }
}

fn section(title: &str, parts: Vec<Part>) -> Part {
    let mut section = inner(Level::Section, parts);
    section.record.section_title = Some(title.into());
    section
}

impl Part {
    fn but(mut self, change: impl FnOnce(&mut ChunkRecord)) -> Part {
        change(&mut self.record);
        self
    }

    /// Writes the part down behind `text`, its own text being that of its parts where it has any.
    fn grow(self, parent: Option<u32>, text: &mut String, chunks: &mut Vec<NewChunk>) {
        let (start, start_chars) = (text.len(), text.chars().count() as u64);
        let place = chunks.len();
        chunks.push(NewChunk {
            record: ChunkRecord {
                parent,
                ..self.record
            },
            vector: self.vector,
        });
        if self.parts.is_empty() {
            text.push_str(&chunks[place].record.text);
        }
        for (n, part) in self.parts.into_iter().enumerate() {
            text.push_str(if n == 0 { "" } else { "\n" });
            part.grow(Some(place as u32), text, chunks);
        }
        let record = &mut chunks[place].record;
        record.text = text[start..].into();
        record.location.chars = (start_chars, text.chars().count() as u64);
    }
}

fn document(key: &str, parts: Vec<Part>) -> NewDocument {
    let (mut text, mut chunks) = (String::new(), Vec::new());
    for (n, part) in parts.into_iter().enumerate() {
        text.push_str(if n == 0 { "" } else { "\n" });
        part.grow(None, &mut text, &mut chunks);
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

/// The document, with every chunk that names one of `concepts` mentioning it, and those of one chunk related.
fn speaking_of(mut document: NewDocument, concepts: &[&str]) -> NewDocument {
    for concept in concepts {
        let names = |of: &(usize, &NewChunk)| of.1.record.text.to_lowercase().contains(concept);
        let chunks = document.chunks.iter().enumerate();
        let leaves = chunks.filter(|of| {
            !document
                .chunks
                .iter()
                .any(|c| c.record.parent == Some(of.0 as u32))
        });
        let mentions: Vec<(u32, u32)> = leaves.filter(names).map(|of| (of.0 as u32, 1)).collect();
        if !mentions.is_empty() {
            document.concepts.push(NewConcept {
                name: (*concept).into(),
                mentions,
                ..NewConcept::default()
            });
        }
    }
    for (n, a) in document.concepts.iter().enumerate() {
        for b in &document.concepts[n + 1..] {
            let both = |at: &&(u32, u32)| b.mentions.iter().any(|of| of.0 == at.0);
            if let Some(at) = a.mentions.iter().find(both) {
                document.relations.push(NewRelation {
                    source: a.name.clone(),
                    target: b.name.clone(),
                    kind: "RELATED_TO".into(),
                    weight: 1.0,
                    chunks: vec![at.0],
                    ..NewRelation::default()
                });
            }
        }
    }
    document
}

/// A store in a folder that goes with it.
struct Store {
    database: Database,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// A store of `documents`, without an embedder.
fn store(documents: Vec<NewDocument>) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open_with(folder.path(), &Options::default()).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    put(&database, documents);
    Store {
        database,
        _folder: folder,
    }
}

fn put(database: &Database, documents: Vec<NewDocument>) {
    let all = move |tx: &mut locidb::WriteTransaction<'_, '_>| {
        documents
            .into_iter()
            .try_for_each(|document| tx.put_document(document).map(drop))
    };
    database.write(all).unwrap();
}

fn ask(database: &Database, request: &SearchRequest) -> Answer {
    database.search(request).unwrap()
}

fn chunks(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| &hit.chunk[..]).collect()
}

fn types(answer: &Answer) -> (usize, usize, usize, usize) {
    let count = |kind| {
        answer
            .hits
            .iter()
            .filter(|hit| hit.chunk_type == kind)
            .count()
    };
    (
        count(ChunkType::Concept),
        count(ChunkType::Example),
        count(ChunkType::Question),
        count(ChunkType::Other),
    )
}

fn levels(answer: &Answer) -> BTreeSet<Level> {
    answer.hits.iter().map(|hit| hit.level).collect()
}

fn filtered(filter: &str, request: SearchRequest) -> SearchRequest {
    SearchRequest {
        filter: Some(Expr::parse(filter).unwrap()),
        ..request
    }
}

// H5

/// Eight chunks of each type, those of no type the best by words.
fn textbook() -> Store {
    let mut parts = Vec::new();
    for n in 0..8 {
        let filler = "so ".repeat(n);
        for (kind, text) in [
            (ChunkType::Other, "force force force"),
            (ChunkType::Concept, "bodies under push feel force"),
            (ChunkType::Example, "horses pulling carts use force"),
            (ChunkType::Question, "which force holds lamps up"),
        ] {
            let text = format!("{text} {filler}{n}");
            parts.push(paragraph(&text).but(|record| record.chunk_type = kind));
        }
    }
    store(vec![document("physics", vec![section("Forces", parts)])])
}

#[test]
fn half_of_the_hits_answer_by_type_and_half_support_them_all_by_relevance() {
    let store = textbook();
    for (question, intent, want) in [
        ("What is force?", "concept", (5, 5, 0, 0)),
        ("Explain the force", "concept", (5, 5, 0, 0)),
        ("Show me an example of a force", "example", (5, 5, 0, 0)),
        ("Calculate the force", "question", (0, 5, 5, 0)),
        ("How do I solve force problems?", "question", (0, 5, 5, 0)),
    ] {
        for strategy in [
            Strategy::Auto,
            Strategy::Hybrid,
            Strategy::Text,
            Strategy::Staged,
        ] {
            let request = SearchRequest {
                strategy,
                ..SearchRequest::new(question)
            };
            let answer = ask(&store, &request);
            assert_eq!(answer.intent.name(), intent, "{question}");
            assert_eq!(types(&answer), want, "{question} {strategy:?}");
            let falling = answer
                .hits
                .windows(2)
                .all(|pair| pair[0].score >= pair[1].score);
            assert!(falling, "{question} {strategy:?}: by relevance");
        }
    }
    let odd = SearchRequest {
        k: 5,
        ..SearchRequest::new("What is force?")
    };
    assert_eq!(
        types(&ask(&store, &odd)),
        (3, 2, 0, 0),
        "the odd one answers"
    );
}

#[test]
fn mixed_questions_and_those_that_do_not_want_it_keep_their_order() {
    let store = textbook();
    let plain = |question: &str| SearchRequest {
        rerank: Rerank {
            types: false,
            ..Rerank::default()
        },
        ..SearchRequest::new(question)
    };
    let mixed = ask(&store, &SearchRequest::new("force"));
    assert_eq!(mixed.intent.name(), "mixed");
    assert_eq!(chunks(&mixed), chunks(&ask(&store, &plain("force"))));
    assert_eq!(
        types(&ask(&store, &plain("What is force?"))).3,
        8,
        "the best by words"
    );
}

#[test]
fn a_type_that_a_store_lacks_leaves_its_half_to_the_best_of_the_rest() {
    let part = |n: usize, kind| {
        paragraph(&format!("force number {n}")).but(|record| record.chunk_type = kind)
    };
    let kinds = [
        ChunkType::Concept,
        ChunkType::Other,
        ChunkType::Other,
        ChunkType::Other,
    ];
    let parts = (0..).zip(kinds).map(|(n, kind)| part(n, kind)).collect();
    let store = store(vec![document("few", parts)]);
    let request = SearchRequest {
        k: 3,
        ..SearchRequest::new("What is force?")
    };
    assert_eq!(types(&ask(&store, &request)), (1, 0, 0, 2));
}

// C3

/// A paper down to sentences, notes down to statements, a letter of paragraphs alone.
fn papers() -> Store {
    let sentences = |texts: &[&str]| {
        let sentences = texts
            .iter()
            .map(|text| leaf(Level::Sentence, text))
            .collect();
        inner(Level::Paragraph, sentences)
    };
    let paper = section(
        "The lamp",
        vec![
            sentences(&["The lamp was lit in 1854.", "Oil fed the lamp for years."]),
            sentences(&[
                "A keeper trimmed the lamp.",
                "The wick of the lamp was flat.",
            ]),
        ],
    );
    let notes = section(
        "Notes on the lamp",
        vec![
            leaf(Level::Proposition, "The lamp of the tower burns oil."),
            leaf(
                Level::Proposition,
                "The lamp of the tower was lit first in 1854.",
            ),
        ],
    );
    store(vec![
        document("paper", vec![paper]),
        document("notes", vec![notes]),
        document(
            "letter",
            vec![paragraph("They say the lamp was lit by my father.")],
        ),
    ])
}

fn of<'a>(answer: &'a Answer, document: &'a str) -> impl Iterator<Item = Level> + 'a {
    let hits = answer.hits.iter();
    hits.filter(move |hit| hit.document == document)
        .map(|hit| hit.level)
}

#[test]
fn facts_come_from_sentences_contexts_from_paragraphs_structures_from_sections() {
    let store = papers();
    let fact = ask(&store, &SearchRequest::new("When was the lamp lit?"));
    assert!(
        fact.why.as_ref().unwrap().contains("fact"),
        "{:?}",
        fact.why
    );
    assert!(of(&fact, "paper").all(|level| level == Level::Sentence));
    assert!(of(&fact, "notes").all(|level| level == Level::Proposition));
    assert_eq!(
        (of(&fact, "paper").count(), of(&fact, "notes").count()),
        (4, 2)
    );

    let context = ask(&store, &SearchRequest::new("Explain how the lamp was lit"));
    let found: BTreeSet<Level> = of(&context, "paper").collect();
    assert_eq!(found, [Level::Paragraph, Level::Sentence].into());

    let structure = ask(
        &store,
        &SearchRequest::new("Which sections describe the lamp?"),
    );
    assert_eq!(
        of(&structure, "paper").collect::<Vec<_>>(),
        [Level::Section]
    );
    assert_eq!(
        of(&structure, "notes").collect::<Vec<_>>(),
        [Level::Section]
    );
}

#[test]
fn a_document_without_the_levels_that_suit_a_question_answers_all_the_same() {
    let store = papers();
    let flat = document(
        "slides",
        vec![leaf(Level::Section, "The lamp: oil, wick, glass.")],
    );
    put(&store, vec![flat]);
    for question in [
        "When was the lamp lit?",
        "Explain how the lamp was lit",
        "Which sections describe the lamp?",
        "lamp",
    ] {
        let answer = ask(
            &store,
            &SearchRequest {
                k: 20,
                ..SearchRequest::new(question)
            },
        );
        let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
        assert_eq!(
            found,
            ["letter", "notes", "paper", "slides"].into(),
            "{question}"
        );
    }
    let given = SearchRequest {
        levels: vec![Level::Section],
        ..SearchRequest::new("Which sections describe the lamp?")
    };
    assert_eq!(
        levels(&ask(&store, &given)),
        [Level::Section].into(),
        "levels that are given hold"
    );
}

#[test]
fn limits_of_levels_hold_each_for_itself() {
    let store = papers();
    let request = SearchRequest {
        level_limits: vec![
            (Level::Sentence, 3),
            (Level::Section, 1),
            (Level::Paragraph, 2),
        ],
        ..SearchRequest::new("lamp")
    };
    let answer = ask(&store, &request);
    let count = |level| answer.hits.iter().filter(|hit| hit.level == level).count();
    assert_eq!(
        (
            count(Level::Sentence),
            count(Level::Section),
            count(Level::Paragraph)
        ),
        (3, 1, 2)
    );
    assert_eq!(answer.hits.len(), 6);
    assert!(
        answer
            .hits
            .windows(2)
            .all(|pair| pair[0].score >= pair[1].score)
    );
    let ranks: Vec<u32> = answer.hits.iter().map(|hit| hit.rank).collect();
    assert_eq!(ranks, [1, 2, 3, 4, 5, 6]);

    let twice = SearchRequest {
        level_limits: vec![(Level::Sentence, 3), (Level::Sentence, 3)],
        ..SearchRequest::new("lamp")
    };
    let answer = ask(&store, &twice);
    let once: BTreeSet<&str> = chunks(&answer).into_iter().collect();
    assert_eq!(once.len(), answer.hits.len(), "no hit stands twice");
}

// C4, D6

#[test]
fn a_chunk_that_cites_much_moves_up_as_far_as_it_is_told_to() {
    let bare = paragraph("Tides follow the moon, and tides follow the sun.");
    let citing = paragraph("Tides follow the moon [1], the sun [2] and the shape of bays [3].")
        .but(|record| record.citation_count = 3);
    let store = store(vec![document("tides", vec![bare, citing])]);
    let request = |citations| SearchRequest {
        rerank: Rerank {
            citations,
            ..Rerank::default()
        },
        ..SearchRequest::new("tides")
    };
    assert_eq!(chunks(&ask(&store, &request(0.0))), ["tides#0", "tides#1"]);
    assert_eq!(chunks(&ask(&store, &request(1.0))), ["tides#1", "tides#0"]);
    let named = SearchRequest::new("tides")
        .with("rerank.citations", "1")
        .unwrap();
    assert_eq!(chunks(&ask(&store, &named)), ["tides#1", "tides#0"]);
    let only = filtered("citation_count >= 1", request(0.0));
    assert_eq!(chunks(&ask(&store, &only)), ["tides#1"]);
}

#[test]
fn doubt_moves_a_statement_down_and_can_be_left_out() {
    let doubtful = leaf(Level::Proposition, "Tides obey the moon.").but(|r| r.confidence = 0.1);
    let sure =
        leaf(Level::Proposition, "Tides obey the moon and the sun.").but(|r| r.confidence = 1.0);
    let store = store(vec![document("tides", vec![doubtful, sure])]);
    let request = |confidence| SearchRequest {
        rerank: Rerank {
            confidence,
            ..Rerank::default()
        },
        ..SearchRequest::new("tides")
    };
    assert_eq!(chunks(&ask(&store, &request(0.0))), ["tides#0", "tides#1"]);
    assert_eq!(
        chunks(&ask(&store, &SearchRequest::new("tides"))),
        ["tides#1", "tides#0"]
    );
    let only = filtered("confidence >= 0.5", SearchRequest::new("tides"));
    assert_eq!(chunks(&ask(&store, &only)), ["tides#1"]);
}

// D3

/// A document with a summary, and sections of statements.
fn guide(key: &str, summary: Option<&str>, sections: &[(&str, &[&str])]) -> NewDocument {
    let summary = summary.map(|text| leaf(Level::Summary, text));
    let sections = sections.iter().map(|(title, statements)| {
        let statements = statements.iter().map(|text| leaf(Level::Proposition, text));
        section(title, statements.collect())
    });
    document(key, summary.into_iter().chain(sections).collect())
}

fn guides() -> Vec<NewDocument> {
    vec![
        guide(
            "consensus",
            Some("How the network reaches consensus by votes."),
            &[
                (
                    "Votes",
                    &[
                        "Holders vote for producers.",
                        "Votes are counted every minute.",
                    ],
                ),
                (
                    "Fees",
                    &["A fee is paid in tokens.", "Fees go to producers."],
                ),
            ],
        ),
        guide(
            "wallets",
            Some("How keys are kept in wallets."),
            &[(
                "Keys",
                &[
                    "A key is kept in a wallet.",
                    "Holders vote with their key by consensus.",
                ],
            )],
        ),
    ]
}

fn staged(question: &str, stages: (usize, usize, usize)) -> SearchRequest {
    SearchRequest {
        strategy: Strategy::Staged,
        stages,
        ..SearchRequest::new(question)
    }
}

#[test]
fn stages_lead_from_documents_to_sections_to_statements_and_nowhere_else() {
    let store = store(guides());
    // One document by its summary: nothing of the other one, whatever its statements say.
    let answer = ask(&store, &staged("consensus vote", (1, 20, 30)));
    assert!(!answer.hits.is_empty());
    assert!(
        answer.hits.iter().all(|hit| hit.document == "consensus"),
        "{:#?}",
        chunks(&answer)
    );
    // One section within it, and only statements are hits.
    let answer = ask(&store, &staged("consensus vote producers", (1, 1, 30)));
    assert_eq!(chunks(&answer), ["consensus#2", "consensus#3"]);
    assert_eq!(answer.hits[0].parent.as_ref().unwrap().chunk, "consensus#1");
    // Both documents: both speak.
    let answer = ask(&store, &staged("consensus vote keys", (10, 20, 30)));
    assert_eq!(levels(&answer), [Level::Proposition].into());
    let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(found, ["consensus", "wallets"].into());
    // As many statements as the last stage keeps.
    let answer = ask(&store, &staged("consensus vote producers key", (10, 20, 2)));
    assert_eq!(answer.hits.len(), 2);
}

#[test]
fn a_question_for_documents_is_staged_where_documents_have_summaries() {
    let store = store(guides());
    let question = "Which documents explain consensus?";
    let answer = ask(&store, &SearchRequest::new(question));
    assert_eq!(answer.strategy, "staged");
    assert!(answer.why.unwrap().contains("summaries"));
    let flat = textbook();
    assert_eq!(ask(&flat, &SearchRequest::new(question)).strategy, "hybrid");
}

#[test]
fn filters_hold_in_every_stage() {
    let mut documents = guides();
    for (year, document) in (2001..).zip(&mut documents) {
        document.record.year = Some(year);
    }
    let store = store(documents);
    let request = filtered("year = 2002", staged("consensus votes", (1, 20, 30)));
    let answer = ask(&store, &request);
    assert!(!answer.hits.is_empty());
    assert!(answer.hits.iter().all(|hit| hit.document == "wallets"));
    // A filter that a statement satisfies, and its section and summary do not.
    let request = filtered(
        "level = proposition",
        staged("consensus votes", (1, 20, 30)),
    );
    assert!(!ask(&store, &request).hits.is_empty());
}

#[test]
fn a_document_without_a_summary_fills_the_places_that_summaries_leave() {
    // More matching statements in the first than one arm brings.
    let many: Vec<String> = (0..150)
        .map(|n| format!("Consensus by votes, rule {n}."))
        .collect();
    let many: Vec<&str> = many.iter().map(|text| &text[..]).collect();
    let store = store(vec![
        guide("rules", Some("Consensus by votes."), &[("Rules", &many)]),
        guide(
            "remark",
            None,
            &[(
                "Remark",
                &["One long remark says a word on consensus beside all else."],
            )],
        ),
    ]);
    let answer = ask(
        &store,
        &SearchRequest {
            k: 1000,
            ..staged("consensus", (10, 20, 1000))
        },
    );
    let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(found, ["remark", "rules"].into());
}

// D4

#[test]
fn a_whole_document_comes_with_a_hit_where_it_wants_and_fits() {
    let words = |word: &str, count: usize| vec![word; count].join(" ");
    let of = |key: &str, mode, text: &str| {
        let parts = vec![paragraph("The heron waits."), paragraph(text)];
        let mut document = document(key, vec![section("Birds", parts), paragraph("An end.")]);
        document.record.retrieval_mode = mode;
        document
    };
    let long = words("reeds", 500);
    let store = store(vec![
        of("whole", RetrievalMode::FullDoc, "The reeds are high."),
        of("part", RetrievalMode::Paragraph, "The reeds are high."),
        of("long", RetrievalMode::FullDoc, &long),
    ]);
    let parent = |key: &str, climb, budget: Option<usize>| {
        let request = SearchRequest {
            climb,
            context_tokens: budget,
            ..filtered(&format!("key = {key}"), SearchRequest::new("heron"))
        };
        let answer = ask(&store, &request);
        if let (Some(budget), Some(context)) = (budget, &answer.context) {
            assert!(
                context.tokens <= budget,
                "{key}: {} of {budget}",
                context.tokens
            );
        }
        let parent = answer.hits[0].parent.clone();
        parent.map(|parent| (parent.chunk, parent.text))
    };
    let section = "The heron waits.\nThe reeds are high.";
    let whole = format!("{section}\nAn end.");
    let cases: &[(&str, Climb, Option<usize>, Option<(&str, &str)>)] = &[
        ("whole", Climb::Document, None, Some(("whole", &whole))),
        ("part", Climb::Document, None, Some(("part#0", section))),
        ("part", Climb::FullDoc, None, Some(("part", &whole))),
        ("whole", Climb::Parent, None, Some(("whole#0", section))),
        ("whole", Climb::None, None, None),
        ("whole", Climb::Document, Some(100), Some(("whole", &whole))),
        (
            "whole",
            Climb::Document,
            Some(3),
            Some(("whole#0", section)),
        ),
    ];
    for &(key, climb, budget, want) in cases {
        let got = parent(key, climb, budget);
        let got = got.as_ref().map(|(chunk, text)| (&chunk[..], &text[..]));
        assert_eq!(got, want, "{key} {climb:?} {budget:?}");
    }
    let (chunk, _) = parent("long", Climb::Document, Some(200)).unwrap();
    assert_eq!(chunk, "long#0", "over the budget: the parent");
    let (chunk, _) = parent("long", Climb::Document, Some(2000)).unwrap();
    assert_eq!(chunk, "long");
}

// R8, R11

fn sagas() -> Vec<NewDocument> {
    let rivers = [
        "The rhine and the danube rise near each other in the hills.",
        "From the danube a canal leads to the elbe, and back.",
        "The elbe and the rhine both reach the northern sea.",
    ];
    let metals = [
        "Where iron lies there is often copper in the rock.",
        "Alloys of copper and zinc are known as brass to all.",
        "A coat of zinc keeps iron from rust for many years.",
    ];
    let names = ["rhine", "danube", "elbe", "iron", "copper", "zinc"];
    let of = |key, texts: &[&str]| {
        let parts = texts.iter().map(|text| paragraph(text)).collect();
        speaking_of(document(key, parts), &names)
    };
    vec![of("rivers", &rivers), of("metals", &metals)]
}

const EVERYTHING: &str = "What are the main themes across all documents?";

#[test]
fn questions_about_everything_are_answered_by_digests_and_those_about_something_are_not() {
    let store = store(sagas());
    store.analyse(&Silent).unwrap();
    let answer = ask(&store, &SearchRequest::new(EVERYTHING));
    assert_eq!(answer.strategy, "global");
    assert!(answer.why.unwrap().contains("digests"));
    assert_eq!(answer.communities.len(), 2, "both communities are told");
    assert!(!answer.hits.is_empty());
    let documents: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(
        documents,
        ["metals", "rivers"].into(),
        "each digest is quoted"
    );

    let request = SearchRequest {
        communities: 3,
        ..SearchRequest::new("What are the main themes across all documents about the Rhine?")
    };
    let answer = ask(&store, &request);
    assert_eq!(answer.strategy, "hybrid");
    let [community] = &answer.communities[..] else {
        panic!("{:?}", answer.communities);
    };
    assert!(community.digest.contains("danube"), "{}", community.digest);
    assert!(answer.hits.iter().any(|hit| hit.text.contains("rhine")));
    let none = ask(&store, &SearchRequest::new("rhine"));
    assert!(
        none.communities.is_empty(),
        "communities are told where they are asked for"
    );
}

#[test]
fn a_filter_keeps_a_question_about_everything_to_what_it_allows() {
    let mut documents = sagas();
    let quiet = paragraph("The quiet book is about the main themes of chess.");
    documents.push(document("quiet", vec![quiet]));
    let store = store(documents);
    store.analyse(&Silent).unwrap();
    let answer = ask(
        &store,
        &filtered("key = quiet", SearchRequest::new(EVERYTHING)),
    );
    assert_eq!(chunks(&answer), ["quiet#0"], "{}", answer.strategy);
    let global = SearchRequest {
        strategy: Strategy::Global,
        ..filtered("key = metals", SearchRequest::new(EVERYTHING))
    };
    let answer = ask(&store, &global);
    assert!(!answer.hits.is_empty());
    assert!(answer.hits.iter().all(|hit| hit.document == "metals"));
}

#[test]
fn a_store_without_digests_says_so_or_takes_another_way() {
    let store = store(sagas());
    let global = SearchRequest {
        strategy: Strategy::Global,
        ..SearchRequest::new(EVERYTHING)
    };
    let error = store.search(&global).unwrap_err();
    assert!(
        matches!(error, Error::Query(QueryError::NoDigests)),
        "{error}"
    );
    assert!(error.to_string().contains("analyze"), "{error}");
    assert_eq!(
        ask(&store, &SearchRequest::new(EVERYTHING)).strategy,
        "hybrid"
    );
}

#[test]
fn concepts_of_the_question_are_told_with_what_found_them() {
    let mut documents = sagas();
    documents[0].concepts[0].synonyms = vec!["Rhein".into()];
    documents.push(speaking_of(
        document(
            "walk",
            vec![paragraph("A walk to the konrad adenauer bridge.")],
        ),
        &["konrad adenauer bridge"],
    ));
    let store = store(documents);
    let told = |question: &str| -> Vec<(String, String)> {
        let concepts = ask(&store, &SearchRequest::new(question)).concepts;
        let how = |how| {
            serde_json::to_value(how)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        concepts
            .into_iter()
            .map(|concept| (concept.name, how(concept.how)))
            .collect()
    };
    let pair = |name: &str, how: &str| (name.to_owned(), how.to_owned());
    assert_eq!(told("Where is the RHINE?"), [pair("rhine", "dictionary")]);
    assert_eq!(told("where is the rhein"), [pair("rhine", "dictionary")]);
    assert_eq!(
        told("What did Adenauer say?"),
        [pair("konrad adenauer bridge", "capitalised")]
    );
    assert_eq!(told("what is nothing of this?"), []);
    let one = SearchRequest {
        query_concepts: 1,
        ..SearchRequest::new("rhine, danube and elbe")
    };
    assert_eq!(ask(&store, &one).concepts.len(), 1);
}

// Seeds and walks

fn concept(database: &Database, name: &str) -> ConceptId {
    let view = database.view();
    view.snapshot()
        .rows()
        .concept_id(&normalise(name))
        .unwrap()
        .unwrap()
}

#[test]
fn a_walk_starts_where_it_is_told_to() {
    let store = store(sagas());
    for walk in [Walk::Restart, Walk::Hops] {
        let seeded = |seeds: Seeds| SearchRequest {
            strategy: Strategy::Graph,
            walk,
            seeds,
            ..SearchRequest::new("nothing that is known")
        };
        let none = ask(&store, &seeded(Seeds::default()));
        assert!(none.hits.is_empty(), "{walk:?}");
        let given = Seeds {
            concepts: vec![concept(&store, "zinc")],
            ..Seeds::default()
        };
        let answer = ask(&store, &seeded(given));
        assert!(answer.hits[0].text.contains("zinc"), "{walk:?}");
        assert!(answer.hits.iter().all(|hit| hit.document == "metals"));
        let path = &answer.hits[0].methods.graph.as_ref().unwrap().path;
        assert_eq!(path.first().map(String::as_str), Some("zinc"));
        let unknown = Seeds {
            concepts: vec![ConceptId(u32::MAX), ConceptId(0)],
            ..Seeds::default()
        };
        let _ = ask(&store, &seeded(unknown));
    }
}

#[test]
fn a_walk_goes_on_from_the_best_hits() {
    let store = store(sagas());
    // No concept is named; the best hit by words speaks of iron and copper, whose neighbours follow.
    let asked = |hits| SearchRequest {
        strategy: Strategy::Hybrid,
        seeds: Seeds {
            hits,
            ..Seeds::default()
        },
        ..SearchRequest::new("rock")
    };
    assert_eq!(chunks(&ask(&store, &asked(0))), ["metals#0"]);
    let answer = ask(&store, &asked(1));
    assert_eq!(answer.hits[0].chunk, "metals#0");
    assert!(answer.hits.len() > 1 && answer.hits.iter().all(|hit| hit.document == "metals"));
}

// G6

const KNOWN: &str = "\
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
        let mut part = paragraph(&text).but(|record| {
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
    let mut documents = vec![speaking_of(target, &["word"])];
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
        documents.push(speaking_of(decoy, &["word"]));
    }
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_given_space("test", 2).unwrap();
    put(&database, documents);
    Store {
        database,
        _folder: folder,
    }
}

#[test]
fn filters_on_every_field_hold_in_every_strategy_and_fill_all_places() {
    let store = hidden();
    // Digests are of the whole store; what the global strategy keeps of them has a test of its own.
    let strategies = Strategy::ALL
        .into_iter()
        .filter(|of| *of != Strategy::Global);
    for strategy in strategies {
        for filter in KNOWN.split('|') {
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

// G11, G12

#[test]
fn a_citation_names_the_place_in_words_and_numbers() {
    let text = "Die Welle ist überall zugleich.";
    let passage = paragraph(text).but(|record| {
        record.heading_path = vec!["3 Quanten".into(), "Wave Functions".into()];
        record.section_number = Some("3.2".into());
        record.section_title = Some("Wave Functions".into());
        record.location.pages = Some((42, 42));
    });
    let mut book = document(
        "a/b c.pdf",
        vec![section(
            "Wave Functions",
            vec![paragraph("Vorab: ümlaut."), passage],
        )],
    );
    book.record.title = Some("Waves".into());
    book.record.collection = "physics".into();
    let whole = String::from_utf8(book.original.clone()).unwrap();
    let store = store(vec![book]);
    let answer = ask(&store, &SearchRequest::new("Welle"));
    let hit = &answer.hits[0];
    assert_eq!(hit.citation.label, "Page 42, 3.2 Wave Functions");
    assert_eq!(hit.citation.path, ["Waves", "3 Quanten", "Wave Functions"]);
    assert_eq!(hit.citation.page, Some(42));
    let (start, end) = hit.citation.chars;
    let cited: String = whole
        .chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect();
    assert_eq!((&cited[..], &hit.text[..]), (text, text));
    let parts: Vec<&str> = hit.citation.link.split('/').collect();
    assert!(
        matches!(parts[..], ["", "note", _, "chunk", _]),
        "{}",
        hit.citation.link
    );
    assert!(hit.citation.link.is_ascii() && !hit.citation.link.contains(' '));
    let methods = hit.methods.text.unwrap();
    assert_eq!(methods.rank, 1);
    assert_eq!(
        hit.parent.as_ref().unwrap().text,
        whole,
        "the parent is the section"
    );
}

// Maximal marginal relevance

#[test]
fn hits_that_say_the_same_make_room_when_that_is_asked_for() {
    let copies = (0..5).map(|n| paragraph(&format!("the heron stands in the reeds at dawn {n}")));
    let other = paragraph("a heron was painted on the old wooden door of an inn");
    let store = store(vec![document("birds", copies.chain([other]).collect())]);
    let asked = |diversity| SearchRequest {
        k: 2,
        diversity,
        ..SearchRequest::new("heron")
    };
    let plain = ask(&store, &asked(None));
    assert!(
        plain
            .hits
            .iter()
            .all(|hit| hit.text.starts_with("the heron"))
    );
    let unlike = ask(&store, &asked(Some(0.5)));
    assert_eq!(unlike.hits[0].chunk, plain.hits[0].chunk);
    assert!(unlike.hits[1].text.starts_with("a heron"));
    let all = ask(
        &store,
        &SearchRequest {
            k: 10,
            ..asked(Some(1.0))
        },
    );
    assert_eq!(all.hits.len(), 6, "none is left out where there is room");
}

// Budgets

/// A store with all that answers tell: levels, concepts, digests, whole documents, other scripts.
fn library() -> &'static Store {
    static LIBRARY: OnceLock<Store> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut documents = sagas();
        documents.extend(guides());
        documents[0].record.retrieval_mode = RetrievalMode::FullDoc;
        documents.push(document(
            "chinese",
            vec![
                paragraph("莱茵河和多瑙河都发源于山区。两条河流之间有一条运河。"),
                paragraph("铁和铜常常一起出现在岩石中。"),
            ],
        ));
        documents.push(document(
            "other",
            vec![
                paragraph("الراين نهر طويل في أوروبا ويصب في البحر."),
                paragraph("राइन यूरोप की एक लंबी नदी है।"),
                paragraph("🦀 crabs 🦀 live by the rhine 🦀"),
            ],
        ));
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path()).unwrap();
        put(&database, documents);
        database.finish(&Silent).unwrap();
        database.analyse(&Silent).unwrap();
        Store {
            database,
            _folder: folder,
        }
    })
}

const CLIMBS: [Climb; 4] = [Climb::Document, Climb::Parent, Climb::FullDoc, Climb::None];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_context_never_costs_more_than_its_budget(
        budget in 0usize..300, climb in 0usize..4, strategy in 0usize..7, words in 0usize..5, k in 1usize..30, is_unlike in any::<bool>(),
    ) {
        let question = ["rhine", "vote for producers", "main themes of all documents", "莱茵河", "🦀 the रा"][words];
        let request = SearchRequest {
            strategy: Strategy::ALL[strategy],
            k,
            context_tokens: Some(budget),
            climb: CLIMBS[climb],
            diversity: is_unlike.then_some(0.5),
            highlights: true,
            ..SearchRequest::new(question)
        };
        let answer = ask(library(), &request);
        let context = answer.context.unwrap();
        prop_assert!(answer.hits.len() <= k);
        prop_assert!(context.tokens <= budget, "{} of {budget}", context.tokens);
        prop_assert!(locidb::query::tokens::count(&context.text) as usize == context.tokens);
        let shown = context.sections.iter().flat_map(|section| &section.hits);
        prop_assert!(shown.into_iter().all(|&rank| rank >= 1 && rank as usize <= answer.hits.len()));
    }
}

#[test]
fn the_beginning_of_a_hit_is_shown_also_where_words_are_not_parted() {
    let request = SearchRequest {
        context_tokens: Some(30),
        ..SearchRequest::new("莱茵河")
    };
    let answer = ask(library(), &request);
    assert!(!answer.hits.is_empty());
    let context = answer.context.unwrap();
    assert!(
        context.tokens > 0 && context.text.contains('莱'),
        "{}",
        context.text
    );
}

// Plans

/// The answer, but for its times.
fn timeless(answer: &Answer) -> serde_json::Value {
    let mut answer = serde_json::to_value(answer).unwrap();
    answer["took_us"] = 0.into();
    if let Some(steps) = answer["explain"].as_array_mut() {
        steps.iter_mut().for_each(|step| step["took_us"] = 0.into());
    }
    answer
}

#[test]
fn a_plan_that_was_kept_as_json_answers_as_the_search_did() {
    let database = library();
    let view = database.view();
    let searcher = Searcher::default();
    let vector: Vec<f32> = {
        let near = SearchRequest {
            strategy: Strategy::Vector,
            ..SearchRequest::new("rhine and danube")
        };
        assert!(!ask(database, &near).hits.is_empty());
        let dim = view.snapshot().space().unwrap().record.dim as usize;
        (0..dim).map(|n| 1.0 / (n as f32 + 1.7)).collect()
    };
    for strategy in Strategy::ALL {
        for question in [
            "rhine and danube",
            EVERYTHING,
            "\"northern sea\"",
            "Which documents explain consensus?",
        ] {
            let request = SearchRequest {
                strategy,
                vector: Some(vector.clone()),
                filter: Some(Expr::parse("not key = \"no such\" and not page = 7").unwrap()),
                context_tokens: Some(200),
                communities: 2,
                diversity: Some(0.3),
                highlights: true,
                explain: true,
                ..SearchRequest::new(question)
            };
            let plan = searcher.plan(view.read(), &request).unwrap();
            assert_ne!(plan.strategy, Strategy::Auto);
            let kept = serde_json::to_string(&plan).unwrap();
            let back: Plan = serde_json::from_str(&kept).unwrap();
            assert_eq!(back, plan, "{strategy:?} {question}");
            let replayed = searcher.run(view.read(), &back).unwrap();
            let searched = database.search_in(&view, &request).unwrap();
            assert_eq!(
                timeless(&replayed),
                timeless(&searched),
                "{strategy:?} {question}"
            );
            let is_known = question.contains("rhine");
            assert!(
                !is_known || !searched.hits.is_empty(),
                "{strategy:?} {question}"
            );
        }
    }
}

/// What `explain` calls an operator; `None` for those that take no time of their own.
fn name(operator: &Operator) -> Option<&'static str> {
    match operator {
        Operator::Analyse { .. } => Some("analyse"),
        Operator::Filter => Some("filter"),
        Operator::Within { levels, .. } => (!levels.is_empty()).then_some("levels"),
        Operator::Text { .. } => Some("text"),
        Operator::Vector { .. } => Some("vector"),
        Operator::Graph { .. } => Some("graph"),
        Operator::Fuse { .. } => Some("fuse"),
        Operator::Narrow { .. } => Some("narrow"),
        Operator::Communities { .. } => Some("communities"),
        Operator::Rank { .. } => Some("rank"),
        Operator::Diversify { .. } => Some("diversify"),
        Operator::Take { .. } => None,
        Operator::Fetch => Some("fetch"),
        Operator::Assemble { .. } => Some("assemble"),
    }
}

#[test]
fn every_operator_is_explained_with_its_candidates_and_its_time() {
    for strategy in Strategy::ALL {
        let request = SearchRequest {
            strategy,
            filter: Some(Expr::parse("not page = 7").unwrap()),
            context_tokens: Some(200),
            communities: 2,
            diversity: Some(0.3),
            explain: true,
            ..SearchRequest::new("the rhine and consensus by votes")
        };
        let answer = ask(library(), &request);
        let planned: Vec<&str> = answer
            .plan
            .as_ref()
            .unwrap()
            .iter()
            .filter_map(name)
            .collect();
        let explain = serde_json::to_value(answer.explain.unwrap()).unwrap();
        let steps = explain.as_array().unwrap();
        let ran: Vec<&str> = steps
            .iter()
            .map(|step| step["operator"].as_str().unwrap())
            .collect();
        assert_eq!(ran, planned, "{strategy:?}");
        assert!(
            steps
                .iter()
                .all(|step| step["candidates"].is_u64() && step["took_us"].is_u64())
        );
        let of = |name: &str| {
            let step = steps.iter().rfind(|step| step["operator"] == name).unwrap();
            step["candidates"].as_u64().unwrap()
        };
        assert_eq!(of("fetch"), answer.hits.len() as u64);
        assert_eq!(of("filter"), library().stats().chunks);
    }
}

// Hostile requests

#[test]
fn numbers_that_nobody_means_are_answered_within_bounds() {
    let database = library();
    let huge = usize::MAX;
    let plain = SearchRequest::new("rhine and votes");
    let requests = [
        SearchRequest {
            k: huge,
            ..plain.clone()
        },
        SearchRequest {
            k: 0,
            ..plain.clone()
        },
        SearchRequest {
            k: huge,
            diversity: Some(0.5),
            ..plain.clone()
        },
        SearchRequest {
            candidates: Some(huge),
            ..plain.clone()
        },
        SearchRequest {
            candidates: Some(0),
            ..plain.clone()
        },
        SearchRequest {
            hops: huge,
            neighbours: huge,
            query_concepts: huge,
            ..plain.clone()
        },
        SearchRequest {
            hops: 0,
            neighbours: 0,
            query_concepts: 0,
            ..plain.clone()
        },
        SearchRequest {
            stages: (huge, huge, huge),
            ..plain.clone()
        },
        SearchRequest {
            stages: (0, 0, 0),
            ..plain.clone()
        },
        SearchRequest {
            communities: huge,
            ..plain.clone()
        },
        SearchRequest {
            context_tokens: Some(huge),
            ..plain.clone()
        },
        SearchRequest {
            level_limits: vec![(Level::Paragraph, huge), (Level::Citation, 0)],
            ..plain.clone()
        },
        SearchRequest {
            seeds: Seeds {
                hits: huge,
                ..Seeds::default()
            },
            ..plain.clone()
        },
        SearchRequest {
            diversity: Some(f32::NAN),
            ..plain.clone()
        },
        SearchRequest {
            diversity: Some(f32::INFINITY),
            ..plain.clone()
        },
        SearchRequest {
            rerank: Rerank {
                types: true,
                confidence: f32::NAN,
                citations: f32::INFINITY,
            },
            ..plain.clone()
        },
    ];
    let chunks_max = database.stats().chunks as usize;
    for request in requests {
        for strategy in Strategy::ALL {
            let request = SearchRequest {
                strategy,
                ..request.clone()
            };
            let answer = ask(database, &request);
            assert!(answer.hits.len() <= chunks_max, "{request:?}");
            let once: BTreeSet<&str> = chunks(&answer).into_iter().collect();
            assert_eq!(once.len(), answer.hits.len(), "{request:?}");
        }
    }
}

#[test]
fn politeness_without_end_is_no_question() {
    for word in ["please ", "so ", "tell me "] {
        let request = SearchRequest::new(word.repeat(200_000));
        assert!(ask(library(), &request).hits.len() <= request.k);
    }
}

#[test]
fn a_question_in_quotation_marks_that_is_no_text_question_is_asked_as_it_stands() {
    let long = format!("\"{}\"", vec!["rhine"; 100].join(" "));
    for question in ["\"?!\"", "\"rhine\\\"", "\"   \"", "\"", &long[..]] {
        let answer = ask(library(), &SearchRequest::new(question));
        assert!(answer.hits.len() <= 10, "{question}");
    }
    let exact = ask(library(), &SearchRequest::new("\"northern sea\""));
    assert_eq!((&exact.strategy[..], exact.hits.len()), ("text", 1));
}
