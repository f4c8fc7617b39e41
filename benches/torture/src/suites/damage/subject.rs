//! The store that is damaged: rows of every table, parts in rows and in files, deleted and patched documents.

use std::fs;
use std::path::Path;

use anyhow::Result;
use locidb::storage::DocumentKey;
use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::{
    Database, NewAsset, NewChunk, NewCitation, NewClaim, NewConcept, NewDocument, NewItem,
    NewReference, NewRelation, NoProgress, Options, SearchRequest, Strategy,
};

/// Words that texts are made of: enough that vectors tell passages apart.
const WORDS: [&str; 40] = [
    "heron", "stork", "raven", "swift", "eagle", "owl", "tern", "gull", "auk", "crane", "lake",
    "river", "marsh", "harbour", "cliff", "forest", "meadow", "island", "tide", "storm", "winter",
    "summer", "dawn", "dusk", "nest", "feather", "wing", "beak", "claw", "egg", "fishes", "hunts",
    "sings", "dives", "glides", "waits", "migrates", "feeds", "sleeps", "circles",
];

/// Parts of this size and more have a file of their own.
const INLINE_LEN_MAX: usize = 4 << 10;

/// How the store is opened.
pub(super) fn options() -> Options {
    Options {
        inline_len_max: INLINE_LEN_MAX,
        ..Options::default()
    }
}

/// Builds it in `folder`.
pub(super) fn build(folder: &Path) -> Result<()> {
    let database = Database::open_with(folder, &options())?;
    database.write(|tx| {
        for n in 0..8 {
            tx.put_document(document(n, 10))?;
        }
        Ok(())
    })?;
    database.finish(&NoProgress)?;
    // Small segments of their own, in rows.
    for n in 8..12 {
        database.write(move |tx| tx.put_document(document(n, 2)).map(drop))?;
    }
    database.write(|tx| {
        tx.delete_document(&key(3))?;
        tx.delete_document(&key(9))?;
        tx.patch_document(&key(4), |record| record.year = Some(1999))?;
        tx.patch_chunk(&format!("{}#1", key(5)).parse()?, |record| {
            record.keywords = vec!["patched".into()];
        })?;
        tx.merge_concepts("stork", "heron")?;
        tx.set("context_tokens", "2000")?;
        for n in 0..6 {
            tx.put_item(NewItem {
                front: format!("What does number {n} do at dawn?"),
                back: "It fishes.".into(),
                chunk: Some(format!("{}#1", key(n % 3)).parse()?),
                concept: Some(WORDS[n as usize].into()),
                ..NewItem::default()
            })?;
        }
        Ok(())
    })?;
    database.finish(&NoProgress)?;
    // Of just what there is now, so that a fit gives the same again.
    database.refit(&NoProgress)?;
    database.analyse(&NoProgress)?;
    database.wait_for_merges()?;
    for word in &WORDS[..3] {
        let request = SearchRequest {
            strategy: Strategy::Text,
            ..SearchRequest::new(*word)
        };
        let answer = database.search(&request)?;
        database.record(&request, &answer)?;
    }
    database.close();
    Ok(())
}

fn key(n: u32) -> DocumentKey {
    DocumentKey {
        user: if n.is_multiple_of(3) {
            "anna".into()
        } else {
            String::new()
        },
        collection: if n.is_multiple_of(2) {
            "birds".into()
        } else {
            String::new()
        },
        key: format!("notes/{n}.md"),
    }
}

fn word(n: u32) -> &'static str {
    WORDS[(n as usize) % WORDS.len()]
}

/// A passage that follows from two numbers.
fn passage(n: u32, at: u32) -> String {
    let words = (0..40).map(|i| word(n * 7 + at * 11 + i * (1 + (n + at) % 5)));
    let words: Vec<&str> = words.collect();
    format!(
        "The {} of the {} {} near the {}. {}.",
        word(n),
        word(n + at + 10),
        word(30 + (n + at) % 10),
        word(at + 12),
        words.join(" ")
    )
}

fn document(n: u32, passages: u32) -> NewDocument {
    let key = key(n);
    let passages: Vec<String> = (0..passages).map(|at| passage(n, at)).collect();
    let text = passages.join("\n\n");
    let mut chunks = vec![chunk(Level::Section, &text, None, 0)];
    let mut start = 0;
    for passage in &passages {
        chunks.push(chunk(Level::Paragraph, passage, Some(0), start));
        start += passage.len() + 2;
    }
    let last = passages.len() as u32;
    NewDocument {
        record: DocumentRecord {
            user: key.user,
            collection: key.collection,
            key: key.key,
            filename: Some(format!("{n}.md")),
            title: Some(format!("On the {} and the {}", word(n), word(n + 1))),
            authors: vec!["A. Author".into()],
            year: Some(1990 + n as i32),
            venue: Some("Journal of Birds".into()),
            doi: Some(format!("10.1000/{n}")),
            topics: vec![word(n + 10).into()],
            summary: Some(format!("About the {}.", word(n))),
            metadata: vec![("shelf".into(), format!("{}", n % 4))],
            ..DocumentRecord::default()
        },
        original: text.clone().into_bytes(),
        chunks,
        concepts: (0..4).map(|at| concept(n + at, 1 + at % last)).collect(),
        relations: vec![relation(n, n + 1), relation(n + 1, n + 2)],
        references: vec![
            NewReference {
                text: format!("[1] The great book of {} and their kin.", word(n)),
                title: Some(format!("The great book of {} and their kin", word(n))),
                ..NewReference::default()
            },
            NewReference {
                text: "[2] On another".into(),
                doi: Some(format!("10.1000/{}", (n + 1) % 12)),
                ..NewReference::default()
            },
        ],
        citations: vec![citation(0, "[1]"), citation(1, "[2]")],
        claims: vec![NewClaim {
            chunk: 1,
            about: locidb::storage::ChunkKey {
                document: self::key(0),
                suffix: 1,
            },
            intent: Default::default(),
            confidence: 1.0,
            created_at_ms: 1,
        }],
        assets: vec![NewAsset {
            name: "figure.png".into(),
            bytes: b"\x89PNG\r\n".repeat(9),
        }],
        ..NewDocument::default()
    }
}

fn chunk(level: Level, text: &str, parent: Option<u32>, start: usize) -> NewChunk {
    let record = ChunkRecord {
        level,
        parent,
        text: text.into(),
        heading_path: vec!["Birds".into()],
        token_count: (text.len() / 5) as u32,
        location: Location {
            chars: (start as u64, (start + text.len()) as u64),
            ..Location::default()
        },
        ..ChunkRecord::default()
    };
    NewChunk {
        record,
        vector: None,
    }
}

fn concept(n: u32, chunk: u32) -> NewConcept {
    NewConcept {
        name: word(n).into(),
        kind: "bird".into(),
        description: format!("A {} is a bird, or near one.", word(n)),
        mentions: vec![(chunk, 2)],
        ..NewConcept::default()
    }
}

fn relation(source: u32, target: u32) -> NewRelation {
    NewRelation {
        source: word(source).into(),
        target: word(target).into(),
        kind: "lives with".into(),
        description: "They were seen together.".into(),
        weight: 1.0,
        chunks: vec![1],
    }
}

fn citation(reference: u32, text: &str) -> NewCitation {
    NewCitation {
        chunk: 1,
        reference,
        text: text.into(),
        context: "as was seen".into(),
        created_at_ms: 1,
        ..NewCitation::default()
    }
}

/// Copies a store's files to `to`, whatever was there.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    clear(to)?;
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Removes a file or folder, if it is there.
pub(super) fn clear(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => Ok(fs::remove_dir_all(path)?),
        Ok(_) => Ok(fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}
