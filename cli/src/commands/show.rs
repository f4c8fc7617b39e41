//! `loci show`: a document with its chunks, or one chunk.

use std::io::{IsTerminal, Write};

use locidb::query::cite::cite;
use locidb::storage::records::ChunkRecord;
use locidb::storage::{ChunkKey, DocumentKey};

use super::open;
use crate::args::Show;
use crate::output::{Printer, escape_to_one_line, note, shorten};
use crate::{CommandStatus, UsageError};
use loci_server::views::Reader;
use loci_server::views::documents::{ShownChunk, ShownDocument};

pub(crate) fn run(args: &Show, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let view = database.snapshot();
    let reader = Reader::unrestricted(&view);
    let key: DocumentKey = args
        .key
        .parse()
        .map_err(|error| UsageError(format!("{error}")))?;
    if let Some(name) = &args.asset {
        return write_asset(&reader, &key, name);
    }
    if let Some(document) = reader.show_document(&key)? {
        show_document(&document, out)?;
        return Ok(CommandStatus::Success);
    }
    let found = match args.key.parse::<ChunkKey>() {
        Ok(key) => reader.show_chunk(&key, 0)?,
        Err(_) => None,
    };
    match found {
        Some(chunk) => {
            show_chunk(&chunk, out)?;
            Ok(CommandStatus::Success)
        }
        None => {
            note!("loci: no document or chunk {:?}", args.key);
            Ok(CommandStatus::ProblemsFound)
        }
    }
}

/// Writes an embedded file of a document unchanged.
fn write_asset(
    reader: &Reader<'_>,
    key: &DocumentKey,
    name: &str,
) -> anyhow::Result<CommandStatus> {
    if std::io::stdout().is_terminal() {
        let why =
            "write an embedded file to a file or a pipe: its bytes could control the terminal";
        return Err(UsageError(why.into()).into());
    }
    if reader.find_document(key)?.is_none() {
        note!("loci: no document {key:?}", key = key.to_string());
        return Ok(CommandStatus::ProblemsFound);
    }
    let Some(bytes) = reader.asset(key, name)? else {
        note!("loci: the document has no embedded file {name:?}; `loci show` lists them");
        return Ok(CommandStatus::ProblemsFound);
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&bytes)?;
    stdout.flush()?;
    Ok(CommandStatus::Success)
}

fn show_document(shown: &ShownDocument, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        return out.json_line(shown);
    }
    let (document, chunks) = (&shown.document, &shown.records);
    let title = document.title.as_deref().unwrap_or(&document.key);
    out.line(&format!(
        "{}  ({}, {} chunks)",
        escape_to_one_line(title),
        document.file_type.name(),
        chunks.len()
    ))?;
    for chunk in chunks {
        let depth = depth(chunks, chunk);
        let label = escape_to_one_line(&cite(document, chunk).label);
        let key = format!("#{}", chunk.suffix);
        out.line(&format!(
            "{}{key} {label}: {}",
            "  ".repeat(depth),
            shorten(&chunk.text, 80)
        ))?;
    }
    for name in &shown.assets {
        out.line(&format!("  asset {}", escape_to_one_line(name)))?;
    }
    Ok(())
}

fn depth(chunks: &[ChunkRecord], chunk: &ChunkRecord) -> usize {
    let mut depth = 1;
    let mut parent = chunk.parent;
    while let Some(above) = parent.and_then(|index| chunks.get(index as usize)) {
        depth += 1;
        parent = above.parent;
    }
    depth
}

fn show_chunk(shown: &ShownChunk, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        return out.json_line(shown);
    }
    let label = escape_to_one_line(&shown.citation.label);
    out.line(&format!("{}  {label}", escape_to_one_line(&shown.chunk)))?;
    out.line(&escape_to_one_line(&shown.citation.path.join(" › ")))?;
    if let Some(parent) = &shown.parent {
        out.line(&format!("part of {parent}"))?;
    }
    for (name, key) in [("previous", &shown.previous), ("next", &shown.next)] {
        if let Some(key) = key {
            out.line(&format!("{name}: {key}"))?;
        }
    }
    for (name, value) in chunk_details(&shown.record) {
        out.line(&format!("{name}: {value}"))?;
    }
    out.line("")?;
    out.line(&shown.record.text)
}

/// Metadata of a chunk besides its text and location.
fn chunk_details(chunk: &ChunkRecord) -> impl Iterator<Item = (&'static str, String)> {
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
