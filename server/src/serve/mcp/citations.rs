//! The tool `cite`: where a chunk stands, and who cites whom.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::ChunkKey;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::documents::{ChunkResponse, SourceLocation};
use super::{CallDispatcher, ToolOutput, check_range, truncate};

/// Citations of a list that may be asked for.
const LISTED_MAX: u32 = 200;
/// Characters of the words around a citation at most.
const CONTEXT_CHARS: usize = 300;
/// Characters of a title, or of a reference as it is written, at most.
const NAME_CHARS: usize = 300;
/// Authors of a work that are told at most.
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

/// Where a chunk stands; or what a document or work cites, who cites it, and what is near it.
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
    citing_the_same: Vec<CitingTheSame>,
}

/// A chunk's citation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CitedChunk {
    /// Its key.
    chunk: String,
    /// The key of its document.
    document: String,
    /// Where it stands.
    citation: SourceLocation,
}

/// A work that documents cite.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Work {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its authors.
    #[serde(default)]
    authors: Vec<String>,
    /// When it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    year: Option<i32>,
    /// Where it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    venue: Option<String>,
    /// Its digital object identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doi: Option<String>,
    /// As a reference to it is written.
    text: String,
    /// The key of its document, where that is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<String>,
}

/// A place where a chunk cites a work.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Cited {
    /// The key of the citing chunk.
    chunk: String,
    /// Where it stands.
    label: String,
    /// The words around the citation.
    context: String,
    /// The work.
    work: Work,
}

/// A work that is cited together with another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CitedTogether {
    /// The work.
    work: Work,
    /// By so many documents.
    count: usize,
}

/// A document that cites what another cites.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CitingTheSame {
    /// Its key.
    document: String,
    /// So many works.
    count: usize,
}

/// Who cites whom, as a store tells it.
#[derive(Debug, Deserialize)]
struct Network {
    work: Option<Work>,
    cites: Vec<Cited>,
    cited_by: Vec<Cited>,
    co_cited: Vec<CitedTogether>,
    coupled: Vec<CitingTheSame>,
}

/// The citation of a chunk, or who cites whom.
pub(super) async fn cite(dispatcher: CallDispatcher, args: Cite) -> Result<Citations, Fault> {
    let limit = check_range("limit", args.limit, 1..=LISTED_MAX)? as usize;
    if let Ok(key) = args.of.parse::<ChunkKey>() {
        let context = 0;
        match dispatcher.call_json(call::GetChunk { key, context }).await {
            // A title may look like a chunk's key.
            Err(fault) if fault.code == Code::NotFound => {}
            response => return response.map(chunk_citation),
        }
    }
    let response: Network = dispatcher
        .call_json(call::GetCitations { of: args.of })
        .await?;
    let together = |of: CitedTogether| CitedTogether {
        work: work(of.work),
        ..of
    };
    Ok(Citations {
        passage: None,
        work: response.work.map(work),
        cites_count: response.cites.len(),
        cites: response
            .cites
            .into_iter()
            .take(limit)
            .map(truncate_cited)
            .collect(),
        cited_by_count: response.cited_by.len(),
        cited_by: response
            .cited_by
            .into_iter()
            .take(limit)
            .map(truncate_cited)
            .collect(),
        cited_together: response.co_cited.into_iter().map(together).collect(),
        citing_the_same: response.coupled,
    })
}

fn chunk_citation(response: ChunkResponse) -> Citations {
    Citations {
        passage: Some(CitedChunk {
            chunk: response.chunk,
            document: response.document,
            citation: response.citation.into(),
        }),
        ..Citations::default()
    }
}

fn truncate_cited(of: Cited) -> Cited {
    Cited {
        context: truncate(&of.context, CONTEXT_CHARS).0,
        work: work(of.work),
        ..of
    }
}

fn work(mut work: Work) -> Work {
    let name = |name: String| truncate(&name, NAME_CHARS).0;
    work.authors.truncate(AUTHORS_MAX);
    Work {
        title: work.title.map(name),
        authors: work.authors.into_iter().map(name).collect(),
        venue: work.venue.map(name),
        text: name(work.text),
        ..work
    }
}

impl Work {
    /// In a line.
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
