//! Documents and chunks.

use std::ops::ControlFlow;

use locidb::query::cite::{Citation, chunk_key, cite};
use locidb::storage::keys::after_prefix;
use locidb::storage::records::{ChunkRecord, ChunkType, DocumentRecord, FileType, Level};
use locidb::storage::{ChunkKey, DocumentId, DocumentKey, Table};
use locidb::{Error, Stats};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Reader, missing};

/// A page of documents.
#[derive(Debug, Default, Serialize)]
pub struct DocumentPage {
    /// By key.
    pub documents: Vec<DocumentLine>,
    /// What to ask for the next page after; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A document in a list.
#[derive(Debug, Serialize)]
pub struct DocumentLine {
    /// Its public key.
    pub document: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of file that it was read from.
    pub file_type: FileType,
    /// The name of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its authors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// The year in which it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// How many chunks it has.
    pub chunks: u32,
    /// Milliseconds since 1970.
    pub ingested_at_ms: u64,
}

/// A document with its outline.
#[derive(Debug, Serialize)]
pub struct ShownDocument {
    /// What is stored of it.
    pub document: DocumentRecord,
    /// Its chunks in reading order.
    pub chunks: Vec<ListedChunk>,
    /// Names of the pictures and other files within it.
    pub assets: Vec<String>,
    /// Its chunks with their texts, for those who print them.
    #[serde(skip)]
    pub records: Vec<ChunkRecord>,
}

/// A chunk of a document, without its text.
#[derive(Debug, Serialize)]
pub struct ListedChunk {
    /// Its key.
    pub chunk: String,
    /// Place of its parent among the chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// How much of the document it spans.
    pub level: Level,
    /// What it is.
    pub chunk_type: ChunkType,
    /// About how many tokens its text has.
    pub tokens: u32,
    /// Names of the pictures that it shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// How it is cited.
    pub citation: Citation,
}

/// A chunk and what stands around it.
#[derive(Debug, Serialize)]
pub struct ShownChunk {
    /// Its key.
    pub chunk: String,
    /// The document's key.
    pub document: String,
    /// Key of the chunk that it is part of.
    pub parent: Option<String>,
    /// Key of the chunk of its level before it in the document.
    pub previous: Option<String>,
    /// Key of the one after it.
    pub next: Option<String>,
    /// How it is cited.
    pub citation: Citation,
    /// What is stored of it.
    pub record: ChunkRecord,
    /// Chunks of its level before it, the farthest first, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<NeighbourChunk>,
    /// Those after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<NeighbourChunk>,
}

/// A chunk beside another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NeighbourChunk {
    /// Its key.
    pub chunk: String,
    /// The label of its citation.
    pub label: String,
    /// Its text, or the beginning of it.
    pub text: String,
}

/// How much a store holds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum StoreStats {
    /// All of it, for a caller that may see the whole store.
    Whole(Box<Stats>),
    /// What a caller that is bound to a user sees.
    Visible {
        /// Chunks.
        chunks: u64,
        /// Documents.
        documents: u64,
    },
}

impl StoreStats {
    /// How many documents and chunks there are for the caller.
    pub fn counts(&self) -> (u64, u64) {
        match self {
            StoreStats::Whole(stats) => (stats.documents, stats.chunks),
            StoreStats::Visible { chunks, documents } => (*documents, *chunks),
        }
    }
}

/// Which documents are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentFilter<'l> {
    /// Of this collection alone.
    pub collection: Option<&'l str>,
    /// Of this user alone.
    pub user: Option<&'l str>,
    /// Those after this one: [`DocumentPage::next`] of the page before.
    pub after: Option<&'l str>,
    /// So many at most.
    pub limit: usize,
}

impl Reader<'_> {
    /// A page of documents by key. Costs a read for each of them, and a scan of the keys between them.
    pub fn documents(&self, filter: DocumentFilter<'_>) -> Result<DocumentPage, Error> {
        let user = self.user().or(filter.user);
        // All keys of a user stand together.
        let prefix = user.filter(|user| !user.is_empty());
        let prefix = prefix.map(|user| format!("{user}::")).unwrap_or_default();
        let from = filter.after.unwrap_or_default().max(&prefix[..]);
        let to = after_prefix(prefix.as_bytes()).filter(|_| !prefix.is_empty());
        let (mut found, mut more) = (Vec::new(), false);
        let mut visit = |row: &[u8], _: &[u8]| {
            let key = std::str::from_utf8(row).ok();
            let Some(key) = key.and_then(|key| key.parse::<DocumentKey>().ok()) else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_after = filter.after.is_none_or(|after| row > after.as_bytes());
            let is_of =
                |expected: Option<&str>, is: &str| expected.is_none_or(|expected| expected == is);
            if !is_after || !is_of(user, &key.user) || !is_of(filter.collection, &key.collection) {
                return Ok(ControlFlow::Continue(()));
            }
            if found.len() == filter.limit {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            found.push(key);
            Ok(ControlFlow::Continue(()))
        };
        let table = Table::DocumentKeys;
        self.rows()
            .scan(table, from.as_bytes(), to.as_deref(), &mut visit)?;
        let next = found.last().filter(|_| more).map(ToString::to_string);
        let lines = found.iter().map(|key| self.line(key));
        Ok(DocumentPage {
            documents: lines.collect::<Result<_, _>>()?,
            next,
        })
    }

    fn line(&self, key: &DocumentKey) -> Result<DocumentLine, Error> {
        let printed = key.to_string();
        let gone = || missing(Table::Documents, printed.clone());
        let id = self.rows().document_id(key)?.ok_or_else(gone)?;
        let record = self.rows().document(id)?.ok_or_else(gone)?;
        Ok(DocumentLine {
            document: printed,
            title: record.title,
            file_type: record.file_type,
            filename: record.filename,
            authors: record.authors,
            year: record.year,
            chunks: record.chunk_count,
            ingested_at_ms: record.ingested_at_ms,
        })
    }

    /// The number and record of a document, where it is there for this reader.
    pub fn find_document(
        &self,
        key: &DocumentKey,
    ) -> Result<Option<(DocumentId, DocumentRecord)>, Error> {
        let Some(id) = self.rows().document_id(key)? else {
            return Ok(None);
        };
        Ok(self.document(id)?.map(|document| (id, document)))
    }

    /// How many documents and chunks there are for a reader that is bound to a user.
    pub fn count_visible(&self) -> Result<(u64, u64), Error> {
        let (mut documents, mut chunks, mut after) = (0, 0, None);
        loop {
            let page = self.documents(DocumentFilter {
                after: after.as_deref(),
                limit: 1_000,
                ..DocumentFilter::default()
            })?;
            documents += page.documents.len() as u64;
            chunks += page
                .documents
                .iter()
                .map(|of| u64::from(of.chunks))
                .sum::<u64>();
            after = page.next;
            if after.is_none() {
                return Ok((documents, chunks));
            }
        }
    }

    /// A document with its outline.
    pub fn show_document(&self, key: &DocumentKey) -> Result<Option<ShownDocument>, Error> {
        let Some((id, document)) = self.find_document(key)? else {
            return Ok(None);
        };
        let records = self.rows().chunks(id)?;
        let listed = |chunk: &ChunkRecord| ListedChunk {
            chunk: chunk_key(&document, chunk.suffix).to_string(),
            parent: chunk.parent,
            level: chunk.level,
            chunk_type: chunk.chunk_type,
            tokens: chunk.token_count,
            images: chunk.images.clone(),
            citation: cite(&document, chunk),
        };
        Ok(Some(ShownDocument {
            chunks: records.iter().map(listed).collect(),
            assets: self.rows().asset_names(id)?,
            document,
            records,
        }))
    }

    /// A chunk with up to `context` chunks of its level to each side.
    pub fn show_chunk(&self, key: &ChunkKey, context: usize) -> Result<Option<ShownChunk>, Error> {
        let rows = self.rows();
        let Some((id, index)) = rows.find_chunk(key)? else {
            return Ok(None);
        };
        let Some(document) = self.document(id)? else {
            return Ok(None);
        };
        let chunks = rows.chunks(id)?;
        let gone = || missing(Table::Chunks, format!("{key}"));
        let (before, rest) = chunks.split_at_checked(index as usize).ok_or_else(gone)?;
        let (chunk, after) = rest.split_first().ok_or_else(gone)?;
        let key = |other: &ChunkRecord| chunk_key(&document, other.suffix).to_string();
        let is_near = |other: &&ChunkRecord| other.level == chunk.level;
        let near = |other: &ChunkRecord| NeighbourChunk {
            chunk: key(other),
            label: cite(&document, other).label,
            text: other.text.clone(),
        };
        let mut earlier: Vec<NeighbourChunk> = before
            .iter()
            .rev()
            .filter(is_near)
            .take(context)
            .map(near)
            .collect();
        earlier.reverse();
        let parent = chunk.parent.and_then(|place| chunks.get(place as usize));
        Ok(Some(ShownChunk {
            chunk: key(chunk),
            document: chunk_key(&document, 0).document.to_string(),
            parent: parent.map(key),
            previous: before.iter().rev().find(is_near).map(key),
            next: after.iter().find(is_near).map(key),
            citation: cite(&document, chunk),
            before: earlier,
            after: after
                .iter()
                .filter(is_near)
                .take(context)
                .map(near)
                .collect(),
            record: chunk.clone(),
        }))
    }

    /// The file that a document was read from.
    pub fn original(&self, key: &DocumentKey) -> Result<Option<Vec<u8>>, Error> {
        match self.find_document(key)? {
            Some((id, _)) => Ok(self.rows().original(id)?),
            None => Ok(None),
        }
    }

    /// The text that character positions of citations refer to.
    pub fn text(&self, key: &DocumentKey) -> Result<Option<String>, Error> {
        let Some((id, _)) = self.find_document(key)? else {
            return Ok(None);
        };
        if let Some(text) = self.rows().text(id)? {
            return Ok(Some(text));
        }
        let original = self.rows().original(id)?;
        Ok(original.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// A picture or other file within a document.
    pub fn asset(&self, key: &DocumentKey, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.find_document(key)? {
            Some((id, _)) => Ok(self.rows().asset(id, name)?),
            None => Ok(None),
        }
    }
}
