//! Storing a prepared data folder in bulk: chunks, vectors, concepts, without parsing or embedding.
//!
//! A line of `parents.jsonl` becomes a document of one section with its chunks as passages; a chunk
//! without a parent becomes a document of one passage. The document's key is the chunk's id, or
//! `parent-N`. Relations that the folder gives without evidence belong to the first document that
//! mentions one of their ends.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use loci_ingest::documents::{Block, BlockKind, ParsedDocument};
use loci_ingest::extract::{ExtractSettings, extract};
use locidb::storage::DocumentKey;
use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::{
    Database, EmbedderChoice, NewChunk, NewCitation, NewConcept, NewDocument, NewReference,
    NewRelation, Progress,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::folder::Folder;

/// Documents that one transaction stores: enough for its segments to be built on all cores, and to need
/// few merges afterwards.
const BATCH: usize = 8192;

/// Source of the vectors of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Embedder {
    /// The folder.
    Given,
    /// The store's own embedder, fitted at the end.
    Builtin,
    /// There are none.
    None,
}

/// Source of the concepts of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Concepts {
    /// The folder, where it has any.
    Given,
    /// The built-in extraction.
    Builtin,
    /// There are none.
    None,
}

/// What a load did.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// Documents stored.
    pub documents: usize,
    /// Chunks stored.
    pub chunks: usize,
    /// Seconds from the first transaction to the last durable one, with making documents of the folder, fitting and
    /// ranking.
    pub load_s: f64,
}

/// Stores `folder` in `database`, fits what is to be fitted, and ranks its concepts.
///
/// # Errors
/// As [`store`].
pub fn load(
    database: &Database,
    folder: &Folder,
    embedder: Embedder,
    concepts: Concepts,
    progress: &dyn Progress,
) -> Result<LoadReport, BenchError> {
    let started = Instant::now();
    let documents = store(database, folder, embedder, concepts, progress)?;
    database.finish(progress)?;
    Ok(LoadReport {
        documents,
        chunks: folder.chunks.len(),
        load_s: started.elapsed().as_secs_f64(),
    })
}

/// Stores `folder` in `database`, durably; returns how many documents that makes.
///
/// # Errors
/// [`BenchError::MissingInput`] when vectors were asked for that the folder does not have; whatever the
/// database says.
pub(crate) fn store(
    database: &Database,
    folder: &Folder,
    embedder: Embedder,
    concepts: Concepts,
    progress: &dyn Progress,
) -> Result<usize, BenchError> {
    let vectors = match embedder {
        Embedder::Given => Some(folder.chunk_vectors.as_ref().ok_or_else(|| {
            BenchError::MissingInput(format!(
                "{} has no vectors; try --embedder builtin",
                folder.name
            ))
        })?),
        Embedder::Builtin | Embedder::None => None,
    };
    match vectors {
        Some(vectors) => database.use_provided_vectors(&folder.name, vectors.dim)?,
        None => {
            let choice = match embedder {
                Embedder::None => EmbedderChoice::None,
                _ => EmbedderChoice::Builtin,
            };
            database.use_embedder(choice)?;
        }
    }
    let documents = documents(folder, vectors.is_some(), concepts)?;
    let count = documents.len();
    let mut stored = 0;
    let mut rest = documents.into_iter();
    loop {
        let batch: Vec<NewDocument> = rest.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        stored += batch.len();
        database.write(move |tx| {
            batch
                .into_iter()
                .try_for_each(|document| tx.put_document(document).map(drop))
        })?;
        if progress
            .report("storing", stored as u64, count as u64)
            .is_break()
        {
            return Err(locidb::Error::Interrupted.into());
        }
    }
    Ok(count)
}

/// The id in the folder of the chunk that a hit's public keys name.
pub fn line_id(folder: &Folder, document: &str, chunk: &str) -> Option<String> {
    let key: DocumentKey = document.parse().ok()?;
    let Some(parent) = parent_of(&key.key, folder) else {
        return Some(key.key);
    };
    let suffix: usize = chunk.rsplit_once('#')?.1.parse().ok()?;
    let children = folder
        .chunks
        .iter()
        .filter(|chunk| chunk.parent == Some(parent));
    children
        .map(|chunk| chunk.id.clone())
        .nth(suffix.checked_sub(1)?)
}

fn parent_of(key: &str, folder: &Folder) -> Option<usize> {
    if folder.parents.is_empty() {
        return None;
    }
    key.strip_prefix("parent-")?.parse().ok()
}

fn documents(
    folder: &Folder,
    with_vectors: bool,
    concepts: Concepts,
) -> Result<Vec<NewDocument>, BenchError> {
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (line, chunk) in folder.chunks.iter().enumerate() {
        let group = match chunk.parent.filter(|&parent| parent < folder.parents.len()) {
            Some(parent) => (0, parent),
            None => (1, line),
        };
        groups.entry(group).or_default().push(line);
    }
    let groups: Vec<((usize, usize), Vec<usize>)> = groups.into_iter().collect();
    let documents = groups.par_iter().map(|((alone, parent), lines)| {
        let parent = (*alone == 0).then_some(*parent);
        document(folder, parent, lines, with_vectors, concepts)
    });
    let mut documents: Vec<NewDocument> = documents.collect::<Result<_, _>>()?;
    if concepts == Concepts::Given {
        add_relations(folder, &mut documents);
    }
    Ok(documents)
}

fn document(
    folder: &Folder,
    parent: Option<usize>,
    lines: &[usize],
    with_vectors: bool,
    concepts: Concepts,
) -> Result<NewDocument, BenchError> {
    let mut document = NewDocument::default();
    let mut text = String::new();
    if let Some(parent) = parent {
        document.record.key = format!("parent-{parent}");
        document.chunks.push(NewChunk {
            record: section(&folder.parents[parent]),
            vector: None,
        });
    } else {
        document.record = DocumentRecord {
            key: folder.chunks[lines[0]].id.clone(),
            title: Some(folder.chunks[lines[0]].title.clone()).filter(|title| !title.is_empty()),
            ..DocumentRecord::default()
        };
    }
    let mut at = 0;
    for &line in lines {
        let chunk = &folder.chunks[line];
        let place = document.chunks.len() as u32;
        let count = chunk.text.chars().count() as u64;
        text.push_str(&chunk.text);
        text.push('\n');
        let mut record = passage(&chunk.text, (at, at + count));
        at += count + 1;
        if parent.is_some() {
            record.parent = Some(0);
            record
                .heading_path
                .extend(Some(chunk.title.clone()).filter(|t| !t.is_empty()));
        }
        let given = folder.chunk_vectors.as_ref().filter(|_| with_vectors);
        let vector = given.map(|vectors| vectors.get(line).to_vec());
        document.chunks.push(NewChunk { record, vector });
        if concepts == Concepts::Given {
            add_extracted(&mut document, folder, line, place);
        }
        add_citations(&mut document, folder, line, place)?;
    }
    if parent.is_some() {
        document.chunks[0].record.location.chars = (0, at);
    }
    document.original = text.into_bytes();
    if concepts == Concepts::Builtin {
        let parsed = parsed(&document);
        let settings = ExtractSettings::default();
        (document.concepts, document.relations) = extract(&parsed, &document.chunks, &settings);
    }
    Ok(document)
}

/// The citations of one chunk.
fn add_citations(
    document: &mut NewDocument,
    folder: &Folder,
    line: usize,
    place: u32,
) -> Result<(), BenchError> {
    for citation in folder.citations.get(line).into_iter().flatten() {
        let of = citation.reference.clone();
        let key = of.key.map(|key| key.parse()).transpose();
        let reference = NewReference {
            text: of.text,
            key: key.map_err(locidb::Error::from)?,
            doi: of.doi,
            title: of.title,
            authors: of.authors,
            year: of.year,
            venue: of.venue,
        };
        let known = document
            .references
            .iter()
            .position(|known| *known == reference);
        let number = known.unwrap_or(document.references.len());
        if known.is_none() {
            document.references.push(reference);
        }
        document.citations.push(NewCitation {
            chunk: place,
            reference: number as u32,
            text: citation.text.clone(),
            context: citation.context.clone(),
            confidence: citation.confidence.unwrap_or(1.0),
            intent: citation.intent,
            claim: citation.claim,
            created_at_ms: 0,
        });
    }
    Ok(())
}

/// The document as a parser of plain text would give it: a paragraph a passage.
fn parsed(document: &NewDocument) -> ParsedDocument {
    let text = String::from_utf8_lossy(&document.original).into_owned();
    let mut at = 0;
    let passages = document
        .chunks
        .iter()
        .filter(|c| c.record.level == Level::Paragraph);
    let blocks = passages
        .map(|passage| {
            let range = at..at + passage.record.text.len();
            at = range.end + 1;
            Block {
                kind: BlockKind::Paragraph,
                range,
                ..Block::default()
            }
        })
        .collect();
    let title = document.record.title.clone();
    ParsedDocument {
        title,
        text,
        text_is_original: true,
        blocks,
        ..ParsedDocument::default()
    }
}

fn section(text: &str) -> ChunkRecord {
    ChunkRecord {
        level: Level::Section,
        ..passage(text, (0, 0))
    }
}

fn passage(text: &str, chars: (u64, u64)) -> ChunkRecord {
    let words = text.split_whitespace().count() as u32;
    ChunkRecord {
        text: text.into(),
        location: Location {
            chars,
            ..Location::default()
        },
        token_count: loci_ingest::tokens::count(text),
        word_count: words,
        reading_time_s: Some(loci_ingest::tokens::reading_time_s(words)),
        ..ChunkRecord::default()
    }
}

/// What the folder's extractor found in one chunk.
fn add_extracted(document: &mut NewDocument, folder: &Folder, line: usize, place: u32) {
    let Some(extracted) = folder.extracted.get(line) else {
        return;
    };
    let triples = extracted
        .triples
        .iter()
        .filter_map(|triple| match &triple[..] {
            [source, kind, target] => Some((source, kind, target)),
            _ => None,
        });
    for name in &extracted.entities {
        document.concepts.push(NewConcept {
            name: name.clone(),
            mentions: vec![(place, 1)],
            ..NewConcept::default()
        });
    }
    for (source, kind, target) in triples {
        for end in [source, target] {
            document.concepts.push(NewConcept {
                name: end.clone(),
                mentions: vec![(place, 1)],
                ..NewConcept::default()
            });
        }
        document.relations.push(NewRelation {
            source: source.clone(),
            target: target.clone(),
            kind: kind.clone(),
            weight: 1.0,
            chunks: vec![place],
            ..NewRelation::default()
        });
    }
}

/// Relations that the folder gives by entity, in the first document that mentions an end.
fn add_relations(folder: &Folder, documents: &mut [NewDocument]) {
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, document) in documents.iter().enumerate() {
        for concept in &document.concepts {
            first.entry(concept.name.clone()).or_insert(at);
        }
    }
    for (source, target, weight) in &folder.relations {
        let at = first
            .get(source)
            .or_else(|| first.get(target))
            .copied()
            .unwrap_or(0);
        let Some(document) = documents.get_mut(at) else {
            return;
        };
        document.relations.push(NewRelation {
            source: source.clone(),
            target: target.clone(),
            kind: "RELATED_TO".into(),
            weight: *weight,
            ..NewRelation::default()
        });
    }
}
