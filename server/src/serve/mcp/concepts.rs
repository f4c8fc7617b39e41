//! The tool `walk_concepts`: concepts, what is around them, and ways between them.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::search::Relation;
use super::{CallDispatcher, ToolOutput, check_range, truncate};

/// Relations, passages and concepts that are told at most.
const LISTED_MAX: u32 = 50;
/// Characters of a description at most.
const DESCRIPTION_CHARS: usize = 2_000;
/// Types of relations that a way may be asked for with.
const ALONG_MAX: usize = 50;

/// Where to walk.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WalkConcepts {
    /// A concept, however written. Leave it out to be told which there are.
    #[serde(default)]
    name: Option<String>,
    /// Another concept: the shortest way there is told.
    #[serde(default)]
    to: Option<String>,
    /// Types of relations that the way may take; else all.
    #[serde(default)]
    along: Vec<String>,
    /// Without `name`: how the names of concepts begin.
    #[serde(default)]
    prefix: Option<String>,
    /// Relations, passages or concepts at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
}

fn limit() -> u32 {
    20
}

/// What was found on the walk: a concept, a way, or a list of concepts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Walk {
    /// The concept that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    concept: Option<Concept>,
    /// The way to another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<ConceptPath>,
    /// Concepts, the most central first.
    #[serde(skip_serializing_if = "Option::is_none")]
    concepts: Option<Vec<ConceptLine>>,
}

/// A concept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Concept {
    /// Its name.
    name: String,
    /// What it is.
    #[serde(rename = "type")]
    kind: String,
    /// What it means.
    description: String,
    /// Other names.
    synonyms: Vec<String>,
    /// How often it is mentioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mentions: Option<u64>,
    /// How many documents mention it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    /// What is to be learnt first, in that order.
    prerequisites: Vec<String>,
    /// Where it appears first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<First>,
    /// Its relations to others, the strongest first.
    relations: Vec<Relation>,
    /// Passages that mention it.
    #[serde(rename(deserialize = "chunks"))]
    passages: Vec<Mention>,
}

/// Where a concept appears first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct First {
    /// The document's key.
    document: String,
    /// The chunk's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunk: Option<String>,
    /// Where that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// A passage that mentions a concept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Mention {
    /// The key of its chunk.
    chunk: String,
    /// Where it stands.
    label: String,
    /// How often it does.
    mentions: u32,
    /// How it begins.
    text: String,
}

/// A way from a concept to another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ConceptPath {
    /// Names, from end to end.
    path: Vec<String>,
    /// What leads from each to the next.
    relations: Vec<Relation>,
}

/// A concept in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ConceptLine {
    /// Its name.
    name: String,
    /// What it is.
    #[serde(rename = "type")]
    kind: String,
    /// How often it is mentioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mentions: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Concepts {
    concepts: Vec<ConceptLine>,
}

/// Walks as is asked.
pub(super) async fn walk(dispatcher: CallDispatcher, args: WalkConcepts) -> Result<Walk, Fault> {
    let limit = check_range("limit", args.limit, 1..=LISTED_MAX)?;
    let invalid = |why: &str| Err(Fault::new(Code::Invalid, why));
    let non_empty = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    match (non_empty(args.name), non_empty(args.to)) {
        (None, Some(_)) => invalid("to: give the concept where the way starts as name"),
        (Some(from), Some(to)) => {
            if args.along.len() > ALONG_MAX {
                return invalid("along: give fewer types of relations");
            }
            let along = args.along;
            let concept_path = dispatcher
                .call_json(call::GetPath { from, to, along })
                .await?;
            Ok(Walk {
                way: Some(concept_path),
                ..Walk::default()
            })
        }
        (Some(name), None) => {
            let response = dispatcher.call_json(call::GetConcept { name }).await?;
            Ok(Walk {
                concept: Some(truncate_concept(response, limit as usize)),
                ..Walk::default()
            })
        }
        (None, None) => {
            let prefix = args.prefix.unwrap_or_default();
            let response: Concepts = dispatcher
                .call_json(call::ListConcepts { prefix, limit })
                .await?;
            Ok(Walk {
                concepts: Some(response.concepts),
                ..Walk::default()
            })
        }
    }
}

/// A concept with so many relations and passages at most.
fn truncate_concept(mut concept: Concept, limit: usize) -> Concept {
    concept.description = truncate(&concept.description, DESCRIPTION_CHARS).0;
    concept.synonyms.truncate(LISTED_MAX as usize);
    concept.prerequisites.truncate(LISTED_MAX as usize);
    concept.relations.truncate(limit);
    concept.passages.truncate(limit);
    concept
}

impl ToolOutput for Walk {
    fn text(&self) -> String {
        let mut out = String::new();
        if let Some(concept) = &self.concept {
            concept.write_to(&mut out);
        }
        if let Some(concept_path) = &self.way {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", concept_path.path.join(" > "));
            write_relations(&concept_path.relations, &mut out);
        }
        if let Some(concepts) = &self.concepts {
            if concepts.is_empty() {
                out.push_str("There are no such concepts.\n");
            }
            for line in concepts {
                let _ = writeln!(out, "{} ({})", line.name, line.kind);
            }
        }
        out
    }
}

impl Concept {
    fn write_to(&self, out: &mut String) {
        let _ = writeln!(out, "{} ({})", self.name, self.kind);
        if !self.description.is_empty() {
            let _ = writeln!(out, "{}", self.description);
        }
        if !self.synonyms.is_empty() {
            let _ = writeln!(out, "Also: {}", self.synonyms.join(", "));
        }
        if let Some(first) = &self.first {
            let chunk = first.chunk.as_deref().unwrap_or(&first.document);
            let label = first.label.as_deref().unwrap_or_default();
            let _ = writeln!(out, "First: {label} | chunk {chunk}");
        }
        if !self.prerequisites.is_empty() {
            let _ = writeln!(out, "Learn first: {}", self.prerequisites.join(", "));
        }
        write_relations(&self.relations, out);
        for passage in &self.passages {
            let Mention {
                chunk, label, text, ..
            } = passage;
            let _ = writeln!(out, "\n{label}\nchunk {chunk}\n{text}");
        }
    }
}

fn write_relations(relations: &[Relation], out: &mut String) {
    for Relation {
        source,
        kind,
        target,
    } in relations
    {
        let _ = writeln!(out, "- {source} --{kind}--> {target}");
    }
}
