//! The tools `read_chunk`, `list_documents` and `read_document`.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use loci_views::documents::{
    DocumentLine as StoredDocumentLine, DocumentPage, ListedChunk, NeighbourChunk,
};
use locidb::query::cite::Citation;
use locidb::storage::records::Level;
use locidb::storage::{ChunkKey, DocumentKey};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::search::level;
use crate::{Dispatcher, ToolOutput, check_range, truncate};

/// Chunks on each side that can be requested.
const CONTEXT_MAX: u32 = 10;
/// Characters of a chunk at most.
const CHUNK_CHARS: usize = 20_000;
/// Characters of a chunk beside it at most.
const NEAR_CHARS: usize = 4_000;
/// Documents of a page, and chunks of an outline, at most.
const LISTED_MAX: u32 = 200;
/// Authors, topics and files of a document that are listed at most.
const NAMES_MAX: usize = 20;
/// Characters of a title or name at most.
const NAME_CHARS: usize = 300;
/// Characters of a summary at most.
const SUMMARY_CHARS: usize = 2_000;

/// The chunk to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadChunk {
    /// The chunk's key, as other tools return it: `guide/heaps.md#12`.
    key: String,
    /// Chunks of its level on each side that come with it.
    #[serde(default = "context")]
    #[schemars(range(max = 10))]
    context: u32,
}

fn context() -> u32 {
    1
}

/// A chunk with its neighbours.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Chunk {
    /// Its key.
    chunk: String,
    /// The key of its document.
    document: String,
    /// Where it is in its document.
    citation: SourceLocation,
    /// Its text.
    text: String,
    /// Whether its text is longer: the resource of its document has all of it.
    is_cut: bool,
    /// The key of the chunk that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The key of the chunk of its level before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// The key of the one after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Chunks before it, the farthest first.
    before: Vec<NeighbourChunk>,
    /// Chunks after it.
    after: Vec<NeighbourChunk>,
}

/// Where a chunk is, to be cited with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SourceLocation {
    /// For a reader: `Page 42, 3.2 Wave Functions`.
    pub(super) label: String,
    /// The document's title, then the headings above, outermost first.
    pub(super) path: Vec<String>,
    /// The page, from 1, if it is on one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page: Option<u32>,
    /// First and last page, if it is on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pages: Option<Vec<u32>>,
    /// Start and end in a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    /// Where to open it.
    pub(super) link: String,
}

impl From<Citation> for SourceLocation {
    fn from(citation: Citation) -> SourceLocation {
        SourceLocation {
            label: citation.label,
            path: citation.path,
            page: citation.page,
            pages: citation.pages.map(|(first, last)| vec![first, last]),
            timestamp: citation.timestamp,
            link: citation.link,
        }
    }
}

/// What is wrong with a key.
fn wrong_key(error: &impl std::fmt::Display) -> Fault {
    Fault::new(Code::Invalid, error.to_string())
}

/// A chunk with its neighbours.
pub(super) async fn chunk(dispatcher: Dispatcher, args: ReadChunk) -> Result<Chunk, Fault> {
    let key: ChunkKey = args.key.parse().map_err(|error| wrong_key(&error))?;
    let context = check_range("context", args.context, 0..=CONTEXT_MAX)?;
    let response = dispatcher.call(call::GetChunk { key, context }).await?;
    let (text, is_cut) = truncate(&response.record.text, CHUNK_CHARS);
    Ok(Chunk {
        chunk: response.chunk,
        document: response.document,
        citation: response.citation.into(),
        text,
        is_cut,
        parent: response.parent,
        previous: response.previous,
        next: response.next,
        before: response
            .before
            .into_iter()
            .map(truncate_neighbour)
            .collect(),
        after: response.after.into_iter().map(truncate_neighbour).collect(),
    })
}

fn truncate_neighbour(neighbour: NeighbourChunk) -> NeighbourChunk {
    let text = truncate(&neighbour.text, NEAR_CHARS).0;
    NeighbourChunk { text, ..neighbour }
}

impl ToolOutput for Chunk {
    fn text(&self) -> String {
        let mut out = String::new();
        let write_neighbour = |out: &mut String, near: &NeighbourChunk| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}\nchunk {}\n{}\n", near.label, near.chunk, near.text);
        };
        self.before
            .iter()
            .for_each(|near| write_neighbour(&mut out, near));
        let location = &self.citation;
        let path = location.path.join(" > ");
        let _ = writeln!(out, "{path}: {}", location.label);
        let _ = writeln!(out, "chunk {} | link {}", self.chunk, location.link);
        let _ = writeln!(out, "{}\n", self.text);
        self.after
            .iter()
            .for_each(|near| write_neighbour(&mut out, near));
        let keys = [
            ("parent", &self.parent),
            ("previous", &self.previous),
            ("next", &self.next),
        ];
        let keys = keys.into_iter();
        let keys = keys.filter_map(|(name, key)| Some(format!("{name} {}", key.as_ref()?)));
        let _ = writeln!(out, "{}", keys.collect::<Vec<_>>().join(" | "));
        out
    }
}

/// The documents to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDocuments {
    /// Only those of this named collection.
    #[serde(default)]
    collection: Option<String>,
    /// Only those after this one: `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    /// So many at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

fn limit() -> u32 {
    50
}

/// A page of documents.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Documents {
    /// By key.
    documents: Vec<DocumentLine>,
    /// What to give as `after` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A document in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DocumentLine {
    /// Its key.
    document: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What kind of file it was read from.
    file_type: String,
    /// Its authors.
    authors: Vec<String>,
    /// When it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<i32>,
    /// How many chunks it has.
    chunks: u32,
}

/// A page of documents.
pub(super) async fn documents(
    dispatcher: Dispatcher,
    args: ListDocuments,
) -> Result<Documents, Fault> {
    let call = call::ListDocuments {
        collection: args.collection,
        user: None,
        after: args.after,
        limit: check_range("limit", args.limit, 1..=LISTED_MAX)?,
    };
    let page: DocumentPage = dispatcher.call(call).await?;
    Ok(Documents {
        documents: page.documents.into_iter().map(DocumentLine::from).collect(),
        next: page.next,
    })
}

impl From<StoredDocumentLine> for DocumentLine {
    fn from(line: StoredDocumentLine) -> DocumentLine {
        DocumentLine {
            document: line.document,
            title: line.title.map(name),
            file_type: line.file_type.name().to_owned(),
            authors: names(line.authors),
            year: line.year,
            chunks: line.chunks,
        }
    }
}

fn name(name: String) -> String {
    truncate(&name, NAME_CHARS).0
}

fn names(names: Vec<String>) -> Vec<String> {
    names.into_iter().take(NAMES_MAX).map(name).collect()
}

impl ToolOutput for Documents {
    fn text(&self) -> String {
        let mut out = String::new();
        if self.documents.is_empty() {
            out.push_str("There are no such documents.\n");
        }
        for line in &self.documents {
            let title = line.title.as_deref().unwrap_or("without a title");
            let _ = write!(out, "{}: {title}", line.document);
            if !line.authors.is_empty() {
                let _ = write!(out, ", by {}", line.authors.join(", "));
            }
            if let Some(year) = line.year {
                let _ = write!(out, ", {year}");
            }
            let _ = writeln!(out, " ({}, {} chunks)", line.file_type, line.chunks);
        }
        if let Some(next) = &self.next {
            let _ = writeln!(out, "There are more: after = {next}");
        }
        out
    }
}

/// The document to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadDocument {
    /// The document's key, as other tools return it: `guide/heaps.md`.
    key: String,
    /// Only chunks of this level; else its sections and its topmost chunks.
    #[serde(default)]
    level: Option<String>,
    /// Leave out so many chunks of the outline: `next` of the page before.
    #[serde(default)]
    after: u32,
    /// So many chunks at most.
    #[serde(default = "outline_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

fn outline_limit() -> u32 {
    100
}

/// A document with its outline.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Document {
    /// Its key.
    document: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its authors.
    authors: Vec<String>,
    /// When it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<i32>,
    /// Where it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    venue: Option<String>,
    /// Its digital object identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    doi: Option<String>,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// What kind of file it was read from.
    file_type: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Its topics.
    topics: Vec<String>,
    /// How many chunks it has.
    chunks: u32,
    /// Its outline, in reading order.
    outline: Vec<OutlineLine>,
    /// What to give as `after` for the rest of the outline; absent at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
    /// The resource that has its whole text.
    resource: String,
}

/// A chunk in an outline.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OutlineLine {
    /// Its key.
    chunk: String,
    /// How many chunks it is within.
    depth: u32,
    /// Its level: summary, section, paragraph, proposition, sentence.
    level: String,
    /// Where it is in its document.
    label: String,
    /// How long it is, estimated.
    tokens: u32,
}

/// A document with its outline.
pub(super) async fn document(
    dispatcher: Dispatcher,
    args: ReadDocument,
) -> Result<Document, Fault> {
    let key: DocumentKey = args.key.parse().map_err(|error| wrong_key(&error))?;
    let limit = check_range("limit", args.limit, 1..=LISTED_MAX)?;
    let level_filter = args.level.as_deref().map(level).transpose()?;
    let printed = key.to_string();
    let response = dispatcher.call(call::GetDocument { key }).await?;
    let chunks = u32::try_from(response.chunks.len()).unwrap_or(u32::MAX);
    let depths = depths(&response.chunks);
    let lines =
        response
            .chunks
            .into_iter()
            .zip(depths)
            .filter(|(line, depth)| match level_filter {
                Some(level) => line.level == level,
                None => *depth == 0 || matches!(line.level, Level::Section | Level::Summary),
            });
    let mut lines = lines.skip(args.after as usize);
    let outline: Vec<OutlineLine> = lines
        .by_ref()
        .take(limit as usize)
        .map(outline_line)
        .collect();
    let next = lines.next().map(|_| args.after + limit);
    let record = response.document;
    Ok(Document {
        resource: super::resources::uri(&printed),
        document: printed,
        title: record.title.map(name),
        authors: names(record.authors),
        year: record.year,
        venue: record.venue.map(name),
        doi: record.doi.map(name),
        address: record.address.map(name),
        file_type: record.file_type.name().to_owned(),
        summary: record.summary.map(|text| truncate(&text, SUMMARY_CHARS).0),
        topics: names(record.topics),
        chunks,
        outline,
        next,
    })
}

/// How many chunks each is within. A parent comes before its children.
fn depths(chunks: &[ListedChunk]) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let above = chunk.parent.and_then(|index| depths.get(index as usize));
        depths.push(above.map_or(0, |depth| depth + 1));
    }
    depths
}

fn outline_line((line, depth): (ListedChunk, u32)) -> OutlineLine {
    OutlineLine {
        chunk: line.chunk,
        depth,
        level: line.level.name().to_owned(),
        label: name(line.citation.label),
        tokens: line.tokens,
    }
}

impl ToolOutput for Document {
    fn text(&self) -> String {
        let mut out = String::new();
        let title = self.title.as_deref().unwrap_or("without a title");
        let _ = writeln!(out, "{}: {title} ({})", self.document, self.file_type);
        if !self.authors.is_empty() {
            let _ = writeln!(out, "by {}", self.authors.join(", "));
        }
        let year = self.year.map(|year| year.to_string());
        let facts = [&year, &self.venue, &self.doi, &self.address];
        let facts: Vec<&str> = facts.into_iter().filter_map(Option::as_deref).collect();
        if !facts.is_empty() {
            let _ = writeln!(out, "{}", facts.join(", "));
        }
        if let Some(summary) = &self.summary {
            let _ = writeln!(out, "{summary}");
        }
        if !self.topics.is_empty() {
            let _ = writeln!(out, "Topics: {}", self.topics.join(", "));
        }
        let _ = writeln!(out, "\nOutline, of {} chunks:", self.chunks);
        for line in &self.outline {
            let indent = "  ".repeat(line.depth.min(8) as usize);
            let OutlineLine {
                chunk,
                label,
                tokens,
                ..
            } = line;
            let _ = writeln!(out, "{indent}{label} | chunk {chunk} | {tokens} tokens");
        }
        if let Some(next) = self.next {
            let _ = writeln!(out, "There are more: after = {next}");
        }
        let _ = writeln!(out, "Whole text: resource {}", self.resource);
        out
    }
}
