//! Documents in any number, with words as unequally frequent as those of a language.

use locidb::storage::DocumentKey;
use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::{NewChunk, NewConcept, NewDocument, NewRelation, SearchRequest};

use crate::documents::unique_word;
use crate::source::Source;

/// Numbers in a vector.
pub const DIM: usize = 64;
/// Different words.
const WORDS: u32 = 30_000;
/// Different concepts.
const CONCEPTS: u32 = 500;

/// How large documents are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Passages of each.
    pub passages: u32,
    /// Words of a passage.
    pub words: u32,
}

/// A few passages of a few words.
pub const SMALL: Shape = Shape {
    passages: 3,
    words: 30,
};

/// The key of a document.
pub fn key(number: u64) -> DocumentKey {
    DocumentKey {
        key: format!("b{number}"),
        ..DocumentKey::default()
    }
}

/// A version of a document: a section with passages, a vector each, two concepts and a relation.
pub fn document(number: u64, version: u64, shape: Shape) -> NewDocument {
    let mut source = Source::stream(number, version);
    let mut text = String::from("Section\n");
    let mut chunks = vec![chunk(None, Level::Section, (0, 7), "Section", None)];
    for _ in 0..shape.passages {
        let passage = words(&mut source, shape.words);
        let from = text.len() as u64;
        text.push_str(&passage);
        text.push('\n');
        let chars = (from, from + passage.len() as u64);
        let vector = Some(vector(&mut source));
        chunks.push(chunk(Some(0), Level::Paragraph, chars, &passage, vector));
    }
    let (one, other) = (concept(&mut source), concept(&mut source));
    NewDocument {
        record: DocumentRecord {
            key: key(number).key,
            title: Some(format!("Document {number}")),
            year: Some(1950 + source.below(70) as i32),
            ..DocumentRecord::default()
        },
        original: text.into_bytes(),
        text: None,
        chunks,
        relations: if one.name == other.name {
            Vec::new()
        } else {
            vec![relation(&one, &other)]
        },
        concepts: if one.name == other.name {
            vec![one]
        } else {
            vec![one, other]
        },
        ..NewDocument::default()
    }
}

/// A question by all arms: six words and a vector.
pub fn question(source: &mut Source<'_>) -> SearchRequest {
    SearchRequest {
        vector: Some(vector(source)),
        ..SearchRequest::new(words(source, 6))
    }
}

fn chunk(
    parent: Option<u32>,
    level: Level,
    chars: (u64, u64),
    text: &str,
    vector: Option<Vec<f32>>,
) -> NewChunk {
    let record = ChunkRecord {
        parent,
        level,
        text: text.into(),
        location: Location {
            chars,
            ..Location::default()
        },
        ..ChunkRecord::default()
    };
    NewChunk { record, vector }
}

fn concept(source: &mut Source<'_>) -> NewConcept {
    NewConcept {
        name: format!("concept {}", source.below(CONCEPTS)),
        mentions: vec![(1, 1)],
        ..NewConcept::default()
    }
}

fn relation(one: &NewConcept, other: &NewConcept) -> NewRelation {
    NewRelation {
        source: one.name.clone(),
        target: other.name.clone(),
        kind: "RELATED_TO".into(),
        weight: 1.0,
        chunks: vec![1],
        ..NewRelation::default()
    }
}

fn words(source: &mut Source<'_>, count: u32) -> String {
    let words: Vec<String> = (0..count).map(|_| word(source)).collect();
    words.join(" ")
}

/// A word; the first of all are the most frequent.
fn word(source: &mut Source<'_>) -> String {
    let uniform = f64::from(source.below(1 << 24)) / f64::from(1 << 24);
    unique_word(0, (f64::from(WORDS) * uniform.powi(4)) as u32)
}

fn vector(source: &mut Source<'_>) -> Vec<f32> {
    let number = |_| source.below(2001) as f32 / 1000.0 - 1.0;
    let mut vector: Vec<f32> = (0..DIM).map(number).collect();
    vector[0] += 0.5;
    vector
}
