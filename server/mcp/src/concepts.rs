//! The tool `walk_concepts`: concepts, their surroundings, and paths between them.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use loci_views::concepts::{
    ConceptLine as StoredConceptLine, FirstMention, Mention, ShownConcept, ShownPath,
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::search::Relation;
use crate::{Dispatcher, ToolOutput, check_range, truncate};

/// Relations, passages and concepts that are listed at most.
const LISTED_MAX: u32 = 50;
/// Characters of a description at most.
const DESCRIPTION_CHARS: usize = 2_000;
/// Types of relations that a path can be restricted to.
const ALONG_MAX: usize = 50;

/// Where to walk.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WalkConcepts {
    /// A concept, in any spelling. Leave it out to list the concepts.
    #[serde(default)]
    name: Option<String>,
    /// Another concept: the shortest path to it is returned.
    #[serde(default)]
    to: Option<String>,
    /// Types of relations that the path may take; else all.
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

/// The result of a walk: a concept, a path, or a list of concepts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Walk {
    /// The concept that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    concept: Option<Concept>,
    /// The path to another concept.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<ConceptPath>,
    /// Concepts, the most central first.
    #[serde(skip_serializing_if = "Option::is_none")]
    concepts: Option<Vec<ConceptLine>>,
}

/// A concept.
#[derive(Debug, Serialize, JsonSchema)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    mentions: Option<u64>,
    /// How many documents mention it.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    /// What is to be learnt first, in that order.
    prerequisites: Vec<String>,
    /// Where it appears first.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<FirstMention>,
    /// Its relations to others, the strongest first.
    relations: Vec<Relation>,
    /// Passages that mention it.
    passages: Vec<Mention>,
}

/// A path from a concept to another.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConceptPath {
    /// Names, from end to end.
    path: Vec<String>,
    /// What leads from each to the next.
    relations: Vec<Relation>,
}

/// A concept in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConceptLine {
    /// Its name.
    name: String,
    /// What it is.
    #[serde(rename = "type")]
    kind: String,
    /// How often it is mentioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    mentions: Option<u64>,
}

/// Reads the concept, the path or the list that `args` names.
pub(super) async fn walk(dispatcher: Dispatcher, args: WalkConcepts) -> Result<Walk, Fault> {
    let limit = check_range("limit", args.limit, 1..=LISTED_MAX)?;
    let invalid = |why: &str| Err(Fault::new(Code::Invalid, why));
    let non_empty = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    match (non_empty(args.name), non_empty(args.to)) {
        (None, Some(_)) => invalid("to: give the concept where the path starts as name"),
        (Some(from), Some(to)) => {
            if args.along.len() > ALONG_MAX {
                return invalid("along: give fewer types of relations");
            }
            let along = args.along;
            let path = dispatcher.call(call::GetPath { from, to, along }).await?;
            Ok(Walk {
                way: Some(path.into()),
                ..Walk::default()
            })
        }
        (Some(name), None) => {
            let concept = dispatcher.call(call::GetConcept { name }).await?;
            Ok(Walk {
                concept: Some(truncate_concept(concept, limit as usize)),
                ..Walk::default()
            })
        }
        (None, None) => {
            let prefix = args.prefix.unwrap_or_default();
            let list = dispatcher
                .call(call::ListConcepts { prefix, limit })
                .await?;
            let lines = list.concepts.into_iter().map(ConceptLine::from);
            Ok(Walk {
                concepts: Some(lines.collect()),
                ..Walk::default()
            })
        }
    }
}

/// A concept with so many relations and passages at most.
fn truncate_concept(mut concept: ShownConcept, limit: usize) -> Concept {
    concept.synonyms.truncate(LISTED_MAX as usize);
    concept.prerequisites.truncate(LISTED_MAX as usize);
    concept.chunks.truncate(limit);
    let relations = concept.relations.into_iter().take(limit);
    Concept {
        name: concept.name,
        kind: concept.kind,
        description: truncate(&concept.description, DESCRIPTION_CHARS).0,
        synonyms: concept.synonyms,
        mentions: concept.mentions,
        documents: concept.documents,
        prerequisites: concept.prerequisites,
        first: concept.first,
        relations: relations.map(Relation::from).collect(),
        passages: concept.chunks,
    }
}

impl From<ShownPath> for ConceptPath {
    fn from(path: ShownPath) -> ConceptPath {
        ConceptPath {
            path: path.path,
            relations: path.relations.into_iter().map(Relation::from).collect(),
        }
    }
}

impl From<StoredConceptLine> for ConceptLine {
    fn from(line: StoredConceptLine) -> ConceptLine {
        ConceptLine {
            name: line.name,
            kind: line.kind,
            mentions: line.mentions,
        }
    }
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
