//! Stores that the tests ask, and how they are made.

use locidb::graph::normalise;
use locidb::storage::ConceptId;
use locidb::storage::records::{ChunkRecord, ChunkType, DocumentRecord, Level, RetrievalMode};
use locidb::{
    Answer, Climb, Database, EmbedderChoice, Expr, NewChunk, NewConcept, NewDocument, NewRelation,
    NoProgress, Options, SearchRequest, Strategy,
};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A chunk with those in it.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) record: ChunkRecord,
    pub(crate) vector: Option<Vec<f32>>,
    pub(crate) parts: Vec<Part>,
}

pub(crate) fn leaf(level: Level, text: &str) -> Part {
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

pub(crate) fn paragraph(text: &str) -> Part {
    leaf(Level::Paragraph, text)
}

pub(crate) fn inner(level: Level, parts: Vec<Part>) -> Part {
    Part {
        parts,
        ..leaf(level, "")
    }
}

pub(crate) fn section(title: &str, parts: Vec<Part>) -> Part {
    let mut section = inner(Level::Section, parts);
    section.record.section_title = Some(title.into());
    section
}

impl Part {
    pub(crate) fn with_record(mut self, change: impl FnOnce(&mut ChunkRecord)) -> Part {
        change(&mut self.record);
        self
    }

    /// Writes the part down behind `text`, its own text being that of its parts where it has any.
    pub(crate) fn push_chunks(
        self,
        parent: Option<u32>,
        text: &mut String,
        chunks: &mut Vec<NewChunk>,
    ) {
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
            part.push_chunks(Some(place as u32), text, chunks);
        }
        let record = &mut chunks[place].record;
        record.text = text[start..].into();
        record.location.chars = (start_chars, text.chars().count() as u64);
    }
}

pub(crate) fn document(key: &str, parts: Vec<Part>) -> NewDocument {
    let (mut text, mut chunks) = (String::new(), Vec::new());
    for (n, part) in parts.into_iter().enumerate() {
        text.push_str(if n == 0 { "" } else { "\n" });
        part.push_chunks(None, &mut text, &mut chunks);
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
pub(crate) fn with_mentions(mut document: NewDocument, concepts: &[&str]) -> NewDocument {
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
pub(crate) struct Store {
    pub(crate) database: Database,
    pub(crate) _folder: tempfile::TempDir,
}

impl std::ops::Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// A store of `documents`, without an embedder.
pub(crate) fn store(documents: Vec<NewDocument>) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open_with(folder.path(), &Options::default()).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    put(&database, documents);
    Store {
        database,
        _folder: folder,
    }
}

pub(crate) fn put(database: &Database, documents: Vec<NewDocument>) {
    let all = move |tx: &mut locidb::WriteTransaction<'_, '_>| {
        documents
            .into_iter()
            .try_for_each(|document| tx.put_document(document).map(drop))
    };
    database.write(all).unwrap();
}

pub(crate) fn ask(database: &Database, request: &SearchRequest) -> Answer {
    database.search(request).unwrap()
}

pub(crate) fn chunks(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| &hit.chunk[..]).collect()
}

pub(crate) fn types(answer: &Answer) -> (usize, usize, usize, usize) {
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

pub(crate) fn levels(answer: &Answer) -> BTreeSet<Level> {
    answer.hits.iter().map(|hit| hit.level).collect()
}

pub(crate) fn filtered(filter: &str, request: SearchRequest) -> SearchRequest {
    SearchRequest {
        filter: Some(Expr::parse(filter).unwrap()),
        ..request
    }
}

/// Eight chunks of each type, those of no type the best by words.
pub(crate) fn textbook() -> Store {
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
            parts.push(paragraph(&text).with_record(|record| record.chunk_type = kind));
        }
    }
    store(vec![document("physics", vec![section("Forces", parts)])])
}

/// A paper down to sentences, notes down to statements, a letter of paragraphs alone.
pub(crate) fn papers() -> Store {
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

pub(crate) fn levels_of_document<'a>(
    answer: &'a Answer,
    document: &'a str,
) -> impl Iterator<Item = Level> + 'a {
    let hits = answer.hits.iter();
    hits.filter(move |hit| hit.document == document)
        .map(|hit| hit.level)
}

/// A document with a summary, and sections of statements.
pub(crate) fn guide(key: &str, summary: Option<&str>, sections: &[(&str, &[&str])]) -> NewDocument {
    let summary = summary.map(|text| leaf(Level::Summary, text));
    let sections = sections.iter().map(|(title, statements)| {
        let statements = statements.iter().map(|text| leaf(Level::Proposition, text));
        section(title, statements.collect())
    });
    document(key, summary.into_iter().chain(sections).collect())
}

pub(crate) fn guides() -> Vec<NewDocument> {
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

pub(crate) fn staged(question: &str, stages: (usize, usize, usize)) -> SearchRequest {
    SearchRequest {
        strategy: Strategy::Staged,
        stages,
        ..SearchRequest::new(question)
    }
}

pub(crate) fn sagas() -> Vec<NewDocument> {
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
        with_mentions(document(key, parts), &names)
    };
    vec![of("rivers", &rivers), of("metals", &metals)]
}

pub(crate) const GLOBAL_QUESTION: &str = "What are the main themes across all documents?";

pub(crate) fn concept(database: &Database, name: &str) -> ConceptId {
    let view = database.snapshot();
    view.snapshot()
        .rows()
        .concept_id(&normalise(name))
        .unwrap()
        .unwrap()
}

/// A store with all that answers tell: levels, concepts, digests, whole documents, other scripts.
pub(crate) fn library() -> &'static Store {
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
        database.finish(&NoProgress).unwrap();
        database.analyse(&NoProgress).unwrap();
        Store {
            database,
            _folder: folder,
        }
    })
}

pub(crate) const CLIMBS: [Climb; 4] = [Climb::Document, Climb::Parent, Climb::FullDoc, Climb::None];

/// The answer, but for its times.
pub(crate) fn without_timings(answer: &Answer) -> serde_json::Value {
    let mut answer = serde_json::to_value(answer).unwrap();
    answer["took_us"] = 0.into();
    if let Some(steps) = answer["explain"].as_array_mut() {
        steps.iter_mut().for_each(|step| step["took_us"] = 0.into());
    }
    answer
}
