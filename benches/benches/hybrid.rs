//! A whole search: words, vectors and concepts of a store, fused and fetched.
//!
//! Documents are the same on every machine: sections of four passages, words of a vocabulary in which a few make
//! up most of a text, vectors near the place of their section, and a concept for each section that is linked to
//! the next.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::storage::ConceptId;
use locidb::storage::records::{ChunkRecord, DocumentRecord, Level};
use locidb::{
    Climb, Database, Effort, NewChunk, NewConcept, NewDocument, NewRelation, NoProgress, Rerank,
    SearchRequest, Seeds, Strategy, Walk,
};

const DIM: usize = 64;
const PASSAGES: usize = 4;

/// Numbers from 0 to 1, from a seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        // xorshift64 (Marsaglia, 2003)
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn text(&mut self) -> String {
        let word = |_| format!("word{}", (self.next().powi(4) * 20_000.0) as u32);
        (0..60).map(word).collect::<Vec<_>>().join(" ")
    }

    /// A vector of length 1, near one of the axes.
    fn vector(&mut self, near: usize) -> Vec<f32> {
        let mut vector: Vec<f64> = (0..DIM).map(|_| self.next() * 0.2 - 0.1).collect();
        vector[near % DIM] += 1.0;
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter().map(|x| (x / length) as f32).collect()
    }
}

fn document(number: usize, numbers: &mut Numbers) -> NewDocument {
    let section = ChunkRecord {
        text: format!("section {number}"),
        level: Level::Section,
        ..ChunkRecord::default()
    };
    let mut document = NewDocument {
        record: DocumentRecord {
            key: format!("document-{number}"),
            ..DocumentRecord::default()
        },
        chunks: vec![NewChunk {
            record: section,
            vector: None,
        }],
        concepts: vec![NewConcept {
            name: format!("concept {number}"),
            mentions: (1..=PASSAGES as u32).map(|place| (place, 1)).collect(),
            ..NewConcept::default()
        }],
        relations: vec![NewRelation {
            source: format!("concept {number}"),
            target: format!("concept {}", number / 2),
            kind: "RELATED_TO".into(),
            weight: 1.0,
            ..NewRelation::default()
        }],
        ..NewDocument::default()
    };
    for _ in 0..PASSAGES {
        let record = ChunkRecord {
            text: numbers.text(),
            parent: Some(0),
            ..ChunkRecord::default()
        };
        let vector = Some(numbers.vector(number));
        document.chunks.push(NewChunk { record, vector });
    }
    document
}

/// A store of `chunks` passages, and a question for each hundredth document.
fn store(folder: &std::path::Path, chunks: usize) -> (Database, Vec<SearchRequest>) {
    let database = Database::open(folder).expect("an empty folder");
    database
        .use_provided_vectors("axes", DIM)
        .expect("a new space");
    let mut numbers = Numbers(0x853c_49e6_748f_ea9b);
    let documents = 0..chunks / PASSAGES;
    let documents: Vec<_> = documents.map(|n| document(n, &mut numbers)).collect();
    let samples = documents.iter().enumerate().step_by(100);
    let requests: Vec<SearchRequest> = samples
        .map(|(number, document)| {
            let words = document.chunks[1].record.text.split(' ').take(8);
            SearchRequest {
                vector: document.chunks[1].vector.clone(),
                strategy: Strategy::Hybrid,
                candidates: Some(20),
                fusion: Some(Fusion::Rrf(RankWeights::default())),
                seeds: Seeds {
                    question: false,
                    concepts: vec![ConceptId(number as u32)],
                    hits: 0,
                },
                walk: Walk::Hops,
                climb: Climb::Parent,
                effort: Effort::Ef(64),
                rerank: Rerank::NONE,
                ..SearchRequest::new(words.collect::<Vec<_>>().join(" "))
            }
        })
        .collect();
    database
        .write(move |tx| {
            let mut documents = documents.into_iter();
            documents.try_for_each(|document| tx.put_document(document).map(drop))
        })
        .expect("documents are sound");
    database.finish(&NoProgress).expect("nobody interrupts");
    database.wait_for_merges().expect("segments merge");
    (database, requests)
}

fn questions(c: &mut Criterion) {
    let mut group = c.benchmark_group("hybrid/search");
    for chunks in [2_000, 10_000] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (database, requests) = store(folder.path(), chunks);
        for (number, request) in requests.iter().enumerate() {
            let answer = database.search(request).expect("the store is sound");
            let own = format!("document-{}", number * 100);
            assert!(
                answer.hits.iter().any(|hit| hit.document == own),
                "{own} is not found"
            );
        }
        let legs = [
            ("hybrid", Strategy::Hybrid),
            ("text", Strategy::Text),
            ("vector", Strategy::Vector),
            ("graph", Strategy::Graph),
        ];
        for (name, strategy) in legs {
            let text_requests = requests.iter().map(|request| SearchRequest {
                strategy,
                ..request.clone()
            });
            let text_requests: Vec<SearchRequest> = text_requests.collect();
            let mut next = text_requests.iter().cycle();
            group.bench_function(BenchmarkId::new(name, chunks), |b| {
                b.iter(|| {
                    let request = next.next().expect("it goes round");
                    black_box(database.search(request).expect("the store is sound"))
                });
            });
        }
        database.close();
    }
    group.finish();
}

criterion_group!(benches, questions);
criterion_main!(benches);
