//! The tool `cite`: the citation of a chunk, and the citations between documents and works.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use loci_views::citations::{CoCited, Coupled};
use loci_views::documents::ShownChunk;
use locidb::storage::ChunkKey;
use locidb::{Work as StoredWork, WorkCitation};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::documents::SourceLocation;
use crate::{Dispatcher, ToolOutput, check_range, truncate};

/// Citations of a list that may be asked for.
const LISTED_MAX: u32 = 200;
/// Characters of the words around a citation at most.
const CONTEXT_CHARS: usize = 300;
/// Characters of a title, or of a reference as it is written, at most.
const NAME_CHARS: usize = 300;
/// Authors of a work that are listed at most.
const AUTHORS_MAX: usize = 10;

/// What is to be cited.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cite {
    /// A chunk's key (`guide/heaps.md#12`), a document's key, or the DOI or title of a work that documents cite.
    of: String,
    /// Citations of each list at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

fn limit() -> u32 {
    30
}

/// The citation of a chunk; or what a document or work cites, what cites it, and what is cited with it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Citations {
    /// The chunk, where one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<CitedChunk>,
    /// The work, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<Work>,
    /// Works that the document cites, and where.
    cites: Vec<Cited>,
    /// How often it cites, in all.
    cites_count: usize,
    /// Chunks that cite it.
    cited_by: Vec<Cited>,
    /// How often it is cited, in all.
    cited_by_count: usize,
    /// Works that the same documents cite.
    cited_together: Vec<CitedTogether>,
    /// Documents that cite the same works.
    citing_the_same: Vec<Coupled>,
}

/// A chunk's citation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CitedChunk {
    /// Its key.
    chunk: String,
    /// The key of its document.
    document: String,
    /// Where it is in its document.
    citation: SourceLocation,
}

/// A work that documents cite.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Work {
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
    /// As a reference to it is written.
    text: String,
    /// The key of its document, where that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
}

/// A place where a chunk cites a work.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Cited {
    /// The key of the citing chunk.
    chunk: String,
    /// Where it is in its document.
    label: String,
    /// The words around the citation.
    context: String,
    /// The work.
    work: Work,
}

/// A work that is cited together with another.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CitedTogether {
    /// The work.
    work: Work,
    /// By so many documents.
    count: usize,
}

/// The citation of a chunk, or the citations around a document or work.
pub(super) async fn cite(dispatcher: Dispatcher, args: Cite) -> Result<Citations, Fault> {
    let limit = check_range("limit", args.limit, 1..=LISTED_MAX)? as usize;
    if let Ok(key) = args.of.parse::<ChunkKey>() {
        let context = 0;
        match dispatcher.call(call::GetChunk { key, context }).await {
            // A title may look like a chunk's key.
            Err(fault) if fault.code == Code::NotFound => {}
            response => return response.map(chunk_citation),
        }
    }
    let network = dispatcher.call(call::GetCitations { of: args.of }).await?;
    let listed = |citations: Vec<WorkCitation>| -> Vec<Cited> {
        citations.into_iter().take(limit).map(Cited::from).collect()
    };
    Ok(Citations {
        passage: None,
        work: network.work.map(Work::from),
        cites_count: network.cites.len(),
        cites: listed(network.cites),
        cited_by_count: network.cited_by.len(),
        cited_by: listed(network.cited_by),
        cited_together: (network.co_cited.into_iter())
            .map(CitedTogether::from)
            .collect(),
        citing_the_same: network.coupled,
    })
}

fn chunk_citation(response: ShownChunk) -> Citations {
    Citations {
        passage: Some(CitedChunk {
            chunk: response.chunk,
            document: response.document,
            citation: response.citation.into(),
        }),
        ..Citations::default()
    }
}

impl From<WorkCitation> for Cited {
    fn from(citation: WorkCitation) -> Cited {
        Cited {
            chunk: citation.chunk,
            label: citation.label,
            context: truncate(&citation.context, CONTEXT_CHARS).0,
            work: citation.work.into(),
        }
    }
}

impl From<CoCited> for CitedTogether {
    fn from(co_cited: CoCited) -> CitedTogether {
        CitedTogether {
            work: co_cited.work.into(),
            count: co_cited.count,
        }
    }
}

impl From<StoredWork> for Work {
    fn from(work: StoredWork) -> Work {
        let name = |name: String| truncate(&name, NAME_CHARS).0;
        let authors = work.authors.into_iter().take(AUTHORS_MAX);
        Work {
            title: work.title.map(name),
            authors: authors.map(name).collect(),
            year: work.year,
            venue: work.venue.map(name),
            doi: work.doi,
            text: name(work.text),
            document: work.document,
        }
    }
}

impl Work {
    /// The work in a line.
    fn line(&self) -> String {
        let mut parts = Vec::new();
        if !self.authors.is_empty() {
            parts.push(self.authors.join(", "));
        }
        parts.push(self.title.clone().unwrap_or_else(|| self.text.clone()));
        parts.extend(self.venue.clone());
        parts.extend(self.year.map(|year| year.to_string()));
        parts.extend(self.doi.as_ref().map(|doi| format!("doi {doi}")));
        parts.extend(self.document.as_ref().map(|key| format!("document {key}")));
        parts.join(". ")
    }
}

impl ToolOutput for Citations {
    fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        if let Some(of) = &self.passage {
            let location = &of.citation;
            let _ = writeln!(out, "{}: {}", location.path.join(" > "), location.label);
            let _ = writeln!(out, "chunk {} | link {}", of.chunk, location.link);
            return out;
        }
        if let Some(work) = &self.work {
            let _ = writeln!(out, "{}", work.line());
        }
        if self.cites_count + self.cited_by_count == 0 {
            out.push_str("No citation of it, or in it, is known.\n");
            return out;
        }
        let _ = writeln!(out, "Cites ({}):", self.cites_count);
        for of in &self.cites {
            let (work, label) = (of.work.line(), &of.label);
            let _ = writeln!(out, "- {work}\n  at {label} | chunk {}", of.chunk);
        }
        let _ = writeln!(out, "\nCited by ({}):", self.cited_by_count);
        for of in &self.cited_by {
            let _ = writeln!(out, "- {} | chunk {}\n  {}", of.label, of.chunk, of.context);
        }
        for of in &self.cited_together {
            let _ = writeln!(out, "Cited together {} times: {}", of.count, of.work.line());
        }
        for of in &self.citing_the_same {
            let _ = writeln!(out, "Cites {} of the same works: {}", of.count, of.document);
        }
        out
    }
}
