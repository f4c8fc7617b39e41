//! `loci show`: a document with its chunks, or one chunk.

use std::io::Write;

use anyhow::Context;
use locidb::query::cite::{Citation, chunk_key, cite};
use locidb::storage::records::{ChunkRecord, ChunkType, DocumentRecord, Level};
use locidb::storage::{ChunkKey, DocumentId, DocumentKey, Rows};
use serde::Serialize;

use super::open;
use crate::args::Show;
use crate::output::{Out, shorten};
use crate::{Done, WrongCall};

/// A document, as JSON.
#[derive(Serialize)]
struct ShownDocument<'d> {
    document: &'d DocumentRecord,
    chunks: Vec<ListedChunk>,
    /// Names of the pictures and other files within it.
    assets: Vec<String>,
}

/// A chunk of a document, without its text.
#[derive(Serialize)]
struct ListedChunk {
    chunk: String,
    level: Level,
    chunk_type: ChunkType,
    tokens: u32,
    citation: Citation,
}

/// A chunk, as JSON.
#[derive(Serialize)]
struct ShownChunk<'c> {
    chunk: String,
    document: String,
    parent: Option<String>,
    /// The chunks of its level before and after it in the document.
    previous: Option<String>,
    next: Option<String>,
    citation: Citation,
    record: &'c ChunkRecord,
}

pub(crate) fn run(args: &Show, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let view = database.view();
    let rows = view.snapshot().rows();
    let key: DocumentKey = args
        .key
        .parse()
        .map_err(|error| WrongCall(format!("{error}")))?;
    if let Some(id) = rows.document_id(&key)? {
        if let Some(name) = &args.asset {
            return write_asset(rows, id, name);
        }
        let document = rows
            .document(id)?
            .context("the document's row is missing")?;
        show_document(&document, &rows.chunks(id)?, rows.asset_names(id)?, out)?;
        return Ok(Done::Well);
    }
    let found = match args.key.parse::<ChunkKey>() {
        Ok(key) => rows.find_chunk(&key)?,
        Err(_) => None,
    };
    let Some((id, place)) = found else {
        eprintln!("loci: no document or chunk {:?}", args.key);
        return Ok(Done::Wrong);
    };
    let document = rows
        .document(id)?
        .context("the document's row is missing")?;
    let chunk = rows
        .chunk(id, place)?
        .context("the chunk's row is missing")?;
    let chunks = rows.chunks(id)?;
    let (before, after) = chunks.split_at_checked(place as usize).unwrap_or_default();
    let is_near = |other: &&ChunkRecord| other.level == chunk.level;
    let previous = before.iter().rev().find(is_near);
    let next = after.iter().skip(1).find(is_near);
    let key = |other: &ChunkRecord| chunk_key(&document, other.suffix).to_string();
    let beside = (previous.map(key), next.map(key));
    show_chunk(rows, &document, &chunk, id, beside, out)?;
    Ok(Done::Well)
}

/// Writes a file within a document as it is.
fn write_asset(rows: &dyn Rows, id: DocumentId, name: &str) -> anyhow::Result<Done> {
    let Some(bytes) = rows.asset(id, name)? else {
        eprintln!("loci: there is no {name:?} in it; `loci show` lists what there is");
        return Ok(Done::Wrong);
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&bytes)?;
    stdout.flush()?;
    Ok(Done::Well)
}

fn show_document(
    document: &DocumentRecord,
    chunks: &[ChunkRecord],
    assets: Vec<String>,
    out: &Out,
) -> anyhow::Result<()> {
    if out.json {
        let listed = |chunk: &ChunkRecord| ListedChunk {
            chunk: chunk_key(document, chunk.suffix).to_string(),
            level: chunk.level,
            chunk_type: chunk.chunk_type,
            tokens: chunk.token_count,
            citation: cite(document, chunk),
        };
        let chunks = chunks.iter().map(listed).collect();
        return out.json_line(&ShownDocument {
            document,
            chunks,
            assets,
        });
    }
    let title = document.title.as_deref().unwrap_or(&document.key);
    out.line(&format!(
        "{title}  ({}, {} chunks)",
        document.file_type.name(),
        chunks.len()
    ))?;
    for chunk in chunks {
        let depth = depth(chunks, chunk);
        let label = cite(document, chunk).label;
        let key = format!("#{}", chunk.suffix);
        out.line(&format!(
            "{}{key} {label}: {}",
            "  ".repeat(depth),
            shorten(&chunk.text, 80)
        ))?;
    }
    for name in assets {
        out.line(&format!("  asset {name}"))?;
    }
    Ok(())
}

fn depth(chunks: &[ChunkRecord], chunk: &ChunkRecord) -> usize {
    let mut depth = 1;
    let mut parent = chunk.parent;
    while let Some(above) = parent.and_then(|place| chunks.get(place as usize)) {
        depth += 1;
        parent = above.parent;
    }
    depth
}

fn show_chunk(
    rows: &dyn Rows,
    document: &DocumentRecord,
    chunk: &ChunkRecord,
    id: locidb::storage::DocumentId,
    (previous, next): (Option<String>, Option<String>),
    out: &Out,
) -> anyhow::Result<()> {
    let citation = cite(document, chunk);
    let key = chunk_key(document, chunk.suffix);
    let parent = match chunk.parent {
        Some(place) => rows
            .chunk(id, place)?
            .map(|parent| chunk_key(document, parent.suffix)),
        None => None,
    };
    if out.json {
        return out.json_line(&ShownChunk {
            chunk: key.to_string(),
            document: key.document.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            previous,
            next,
            citation,
            record: chunk,
        });
    }
    out.line(&format!("{key}  {}", citation.label))?;
    out.line(&citation.path.join(" › "))?;
    if let Some(parent) = parent {
        out.line(&format!("part of {parent}"))?;
    }
    for (name, key) in [("before it", previous), ("after it", next)] {
        if let Some(key) = key {
            out.line(&format!("{name}: {key}"))?;
        }
    }
    for (name, value) in told(chunk) {
        out.line(&format!("{name}: {value}"))?;
    }
    out.line("")?;
    out.line(&chunk.text)
}

/// What is known of a chunk beside its text and place, where it is.
fn told(chunk: &ChunkRecord) -> impl Iterator<Item = (&'static str, String)> {
    let list = |values: &[String]| (!values.is_empty()).then(|| values.join("; "));
    let seconds = |seconds: u32| format!("{seconds} s");
    let kinds = [
        ("section type", chunk.section_type.map(|kind| kind.name())),
        ("sentence type", chunk.sentence_type.map(|kind| kind.name())),
        (
            "proposition type",
            chunk.proposition_type.map(|kind| kind.name()),
        ),
    ];
    let rest = [
        ("summary", chunk.summary.clone()),
        ("topics", list(&chunk.topics)),
        ("keywords", list(&chunk.keywords)),
        ("entities", list(&chunk.entities)),
        ("images", list(&chunk.images)),
        ("related sections", list(&chunk.related_sections)),
        ("verifiable", chunk.verifiable.map(|is| is.to_string())),
        ("reading time", chunk.reading_time_s.map(seconds)),
    ];
    let kinds = kinds.map(|(name, kind)| (name, kind.map(str::to_owned)));
    let all = kinds.into_iter().chain(rest);
    all.filter_map(|(name, value)| Some((name, value?)))
}
