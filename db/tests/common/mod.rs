//! A small store with something of every kind of row, for tests of its care.

// Each test uses some of it.
#![allow(dead_code)]

use std::path::Path;

use locidb::storage::records::{ChunkRecord, DocumentRecord, Level};
use locidb::{
    Database, NewAsset, NewChunk, NewCitation, NewConcept, NewDocument, NewItem, NewReference,
    NewRelation, NoProgress, Options, SearchRequest,
};

/// A document with a section, two passages, concepts, a relation, and a work that it cites.
pub(crate) fn document(key: &str, words: [&str; 2]) -> NewDocument {
    let passages =
        words.map(|word| format!("The {word} of {key} is described at length in this passage."));
    let text = passages.join("\n");
    let chunk = |level, text: &str, parent, start: usize| {
        let mut record = ChunkRecord {
            level,
            parent,
            text: text.into(),
            token_count: 12,
            ..ChunkRecord::default()
        };
        record.location.chars = (start as u64, (start + text.len()) as u64);
        NewChunk {
            record,
            vector: None,
        }
    };
    let concept = |name: &str, chunk| NewConcept {
        name: name.into(),
        mentions: vec![(chunk, 1)],
        ..NewConcept::default()
    };
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            title: Some(format!("On {} and {}", words[0], words[1])),
            ..DocumentRecord::default()
        },
        original: text.clone().into_bytes(),
        chunks: vec![
            chunk(Level::Section, &text, None, 0),
            chunk(Level::Paragraph, &passages[0], Some(0), 0),
            chunk(
                Level::Paragraph,
                &passages[1],
                Some(0),
                passages[0].len() + 1,
            ),
        ],
        concepts: vec![concept(words[0], 1), concept(words[1], 2)],
        relations: vec![NewRelation {
            source: words[0].into(),
            target: words[1].into(),
            kind: "NEAR".into(),
            weight: 1.0,
            chunks: vec![1],
            ..NewRelation::default()
        }],
        references: vec![NewReference {
            title: Some(format!("The great book of {} and their kin", words[0])),
            ..NewReference::default()
        }],
        citations: vec![NewCitation {
            chunk: 1,
            text: "[1]".into(),
            confidence: 1.0,
            ..NewCitation::default()
        }],
        ..NewDocument::default()
    }
}

/// Fills a store, finishes and analyses it, and closes it.
pub(crate) fn fill(folder: &Path, options: &Options) {
    let database = Database::open_with(folder, options).unwrap();
    let words = ["herons", "storks", "ravens", "swifts", "eagles", "owls"];
    for (n, pair) in words.windows(2).enumerate() {
        let document = document(&format!("d{n}"), [pair[0], pair[1]]);
        database.write(move |tx| tx.put_document(document)).unwrap();
    }
    database
        .write(|tx| tx.delete_document(&"d1".parse().unwrap()))
        .unwrap();
    database.finish(&NoProgress).unwrap();
    database.analyse(&NoProgress).unwrap();
    database.wait_for_merges().unwrap();
    database.close();
}

/// A store with rows of every table.
pub(crate) fn every_table(folder: &Path) -> Database {
    fill(folder, &Options::default());
    let database = Database::open(folder).unwrap();
    // Three that are near each other are a community, with a digest.
    for pair in [["terns", "gulls"], ["gulls", "auks"], ["auks", "terns"]] {
        let document = document(pair[0], pair);
        database.write(move |tx| tx.put_document(document)).unwrap();
    }
    database.analyse(&NoProgress).unwrap();
    database
        .write(|tx| {
            tx.merge_concepts("storks", "herons")?;
            tx.set("context_tokens", "3000")?;
            tx.put_item(NewItem {
                front: "What fishes at dawn?".into(),
                back: "A heron.".into(),
                chunk: Some("d0#1".parse()?),
                concept: Some("owls".into()),
                ..NewItem::default()
            })?;
            let mut bytes = NewDocument {
                record: DocumentRecord {
                    key: "bytes\u{0} of: a #file".into(),
                    // What others cite.
                    title: Some("The great book of terns and their kin".into()),
                    ..DocumentRecord::default()
                },
                original: vec![0xff, 0, 0xfe],
                assets: vec![NewAsset {
                    name: "figures/tern & gull.png".into(),
                    bytes: b"\x89PNG\r\n".repeat(9),
                }],
                text: Some("Pages of a file.".into()),
                ..NewDocument::default()
            };
            let mut record = ChunkRecord {
                text: "Pages of a file.".into(),
                confidence: 0.1 + 0.2,
                ..ChunkRecord::default()
            };
            record.location.chars = (0, 16);
            bytes.chunks = vec![NewChunk {
                record,
                vector: None,
            }];
            tx.put_document(bytes)
        })
        .unwrap();
    let request = SearchRequest::new("herons");
    let answer = database.search(&request).unwrap();
    database.record(&request, &answer).unwrap();
    database
}
