//! Concepts, and paths between them.

use locidb::Error;
use locidb::graph::paths::VISITED_MAX;
use locidb::graph::{EdgeFilter, PathOutcome, normalise, prerequisites, shortest_path};
use locidb::query::cite::{chunk_key, cite};
use locidb::storage::records::{ChunkRecord, ConceptRecord, DocumentRecord, Level};
use locidb::storage::{ConceptId, DocumentId, DocumentKey, Ordinal, Table};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Reader, missing, shorten};

/// Relations and chunks of a concept that are listed at most.
const LISTED_MAX: usize = 50;
/// Mentions that are read at most to find those that a bound reader sees.
const SCANNED_MAX: usize = 5_000;
/// Members of a community that are listed at most.
const MEMBERS_MAX: usize = 10;
/// Prerequisites that are followed at most.
const PREREQUISITES_MAX: usize = 200;
/// Characters of a chunk's text that are shown.
const TEXT_CHARS: usize = 200;

/// A concept. What would reveal other users' documents is absent for a reader that is bound to a user.
#[derive(Debug, Serialize)]
pub struct ShownConcept {
    /// Its name.
    pub name: String,
    /// Its name as names are compared.
    pub normalised: String,
    /// Its type, as types were consolidated.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its type, as documents write it.
    pub type_written: String,
    /// The longest that documents give of it.
    pub description: String,
    /// Other names of it.
    pub synonyms: Vec<String>,
    /// How often chunks mention it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mentions: Option<u64>,
    /// How many documents mention it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Its rank among all concepts, once they were ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagerank: Option<f32>,
    /// How many relations it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<usize>,
    /// What is to be learnt first, in that order.
    pub prerequisites: Vec<String>,
    /// Prerequisites that need each other.
    pub cycles: Vec<Vec<String>>,
    /// Those that it is in.
    pub communities: Vec<ConceptCommunity>,
    /// Where it appears first.
    pub first: Option<FirstMention>,
    /// Those that it is an end of.
    pub relations: Vec<ShownRelation>,
    /// Propositions that mention it.
    pub supported_by: Vec<String>,
    /// Those that mention it.
    pub chunks: Vec<Mention>,
}

/// A community that a concept is in.
#[derive(Debug, Serialize)]
pub struct ConceptCommunity {
    /// Its level, 0 the finest.
    pub level: usize,
    /// Its number.
    pub id: u32,
    /// How many concepts are in it.
    pub size: usize,
    /// Names of some of these.
    pub members: Vec<String>,
}

/// Where a concept appears first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FirstMention {
    /// The document's key.
    pub document: String,
    /// The chunk's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// The label of the chunk's citation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A relation of a concept.
#[derive(Debug, Serialize)]
pub struct ShownRelation {
    /// Name of the concept that it leads from.
    pub source: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the concept that it leads to.
    pub target: String,
    /// How much speaks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
}

/// A chunk that mentions a concept.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mention {
    /// The chunk's key.
    pub chunk: String,
    /// The label of the chunk's citation.
    pub label: String,
    /// How often it mentions the concept.
    pub mentions: u32,
    /// The beginning of its text.
    pub text: String,
}

/// Concepts by PageRank.
#[derive(Debug, Serialize)]
pub struct ConceptList {
    /// The highest first.
    #[serde(serialize_with = "through_value")]
    pub concepts: Vec<ConceptLine>,
}

/// Serialises as [`serde_json::Value`] does, whose numbers are of 64 bits: clients know ranks printed that way.
fn through_value<S: Serializer>(lines: &[ConceptLine], to: S) -> Result<S::Ok, S::Error> {
    let value = serde_json::to_value(lines).map_err(serde::ser::Error::custom)?;
    value.serialize(to)
}

/// A concept in a list.
#[derive(Debug, Serialize)]
pub struct ConceptLine {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How often chunks mention it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mentions: Option<u64>,
    /// Its rank among all concepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagerank: Option<f32>,
}

/// The path from a concept to another.
#[derive(Debug, Serialize)]
pub struct ShownPath {
    /// Names, from end to end.
    pub path: Vec<String>,
    /// What leads from each to the next.
    pub relations: Vec<ShownRelation>,
}

/// The outcome of a search for a path.
#[derive(Debug)]
pub enum PathResult {
    /// The path.
    Found(ShownPath),
    /// There is no such concept.
    UnknownConcept(String),
    /// No relations connect the two.
    NotConnected,
    /// No path was found among so many concepts.
    LimitReached(usize),
}

impl Reader<'_> {
    /// Whether the reader sees everything.
    fn can_see_all(&self) -> bool {
        self.user().is_none()
    }

    fn record(&self, id: ConceptId) -> Result<ConceptRecord, Error> {
        let found = self.rows().concept(id)?;
        found.ok_or_else(|| missing(Table::Concepts, format!("{}", id.0)))
    }

    fn names(&self, ids: &[ConceptId]) -> Result<Vec<String>, Error> {
        ids.iter().map(|&id| Ok(self.record(id)?.name)).collect()
    }

    /// What is known of a concept. For a bound reader, a concept that none of its documents mentions does not exist.
    pub fn concept(&self, name: &str) -> Result<Option<ShownConcept>, Error> {
        let read = self.view.read_view();
        let segments = read.graph_segments();
        let graph = read.graph(&segments);
        let found = graph.lookup(&normalise(name));
        let Some(id) = found.filter(|id| graph.is_visible(*id)) else {
            return Ok(None);
        };
        let (chunks, supported_by) = self.mentions(graph.chunks(id))?;
        if !self.can_see_all() && chunks.is_empty() {
            return Ok(None);
        }
        let concept = self.record(id)?;
        let whole = self.can_see_all();
        let before = prerequisites(graph, id, PREREQUISITES_MAX);
        let cycles = before.cycles.iter().map(|cycle| self.names(cycle));
        let types = self.view.type_map()?.unwrap_or_default();
        Ok(Some(ShownConcept {
            kind: types.resolve(&concept.kind).to_owned(),
            mentions: whole.then_some(concept.mention_count),
            documents: whole.then_some(concept.document_count),
            pagerank: whole.then(|| graph.rank(id)),
            degree: whole.then(|| graph.neighbours(id).len()),
            prerequisites: self.names(&before.order)?,
            cycles: cycles.collect::<Result<_, _>>()?,
            communities: self.communities_of(id)?,
            first: self.first_mention(&concept, id)?,
            relations: self.relations(graph.edges(id), id)?,
            supported_by,
            chunks,
            // The words of some document, which may be another user's.
            description: if whole {
                concept.description
            } else {
                String::new()
            },
            name: concept.name,
            normalised: concept.normalised,
            type_written: concept.kind,
            synonyms: concept.synonyms,
        }))
    }

    /// Chunks that mention a concept, and those of them that are propositions.
    fn mentions(
        &self,
        occurrences: impl Iterator<Item = (Ordinal, u32)>,
    ) -> Result<(Vec<Mention>, Vec<String>), Error> {
        let (mut chunks, mut supported_by) = (Vec::new(), Vec::new());
        for (ordinal, mentions) in occurrences.take(SCANNED_MAX) {
            if chunks.len() == LISTED_MAX {
                break;
            }
            let Some((document, chunk)) = self.chunk_at(ordinal)? else {
                continue;
            };
            let key = chunk_key(&document, chunk.suffix).to_string();
            if chunk.level == Level::Proposition {
                supported_by.push(key.clone());
            }
            chunks.push(Mention {
                chunk: key,
                label: cite(&document, &chunk).label,
                mentions,
                text: shorten(&chunk.text, TEXT_CHARS),
            });
        }
        Ok((chunks, supported_by))
    }

    /// A chunk and its document, where it is there for this reader.
    fn chunk_at(&self, ordinal: Ordinal) -> Result<Option<(DocumentRecord, ChunkRecord)>, Error> {
        let gone = || missing(Table::Chunks, format!("of ordinal {}", ordinal.0));
        let location = self.view.snapshot().position(ordinal).ok_or_else(gone)?;
        let Some(document) = self.document(location.document)? else {
            return Ok(None);
        };
        let chunk = self.rows().chunk(location.document, location.index)?;
        Ok(Some((document, chunk.ok_or_else(gone)?)))
    }

    fn relations(
        &self,
        mut edges: Vec<locidb::graph::SnapshotEdge<'_>>,
        id: ConceptId,
    ) -> Result<Vec<ShownRelation>, Error> {
        edges.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.other.cmp(&b.other)));
        edges.truncate(LISTED_MAX);
        let shown = edges.iter().map(|edge| {
            let (source, target) = if edge.outgoing {
                (id, edge.other)
            } else {
                (edge.other, id)
            };
            Ok(ShownRelation {
                source: self.record(source)?.name,
                kind: edge.kind.to_owned(),
                target: self.record(target)?.name,
                weight: self.can_see_all().then_some(edge.weight),
            })
        });
        shown.collect()
    }

    fn communities_of(&self, id: ConceptId) -> Result<Vec<ConceptCommunity>, Error> {
        let read = self.view.read_view();
        let Some(known) = read.communities().filter(|_| self.can_see_all()) else {
            return Ok(Vec::new());
        };
        let segments = read.graph_segments();
        let graph = read.graph(&segments);
        let path = known.path(id).into_iter();
        let communities = path.map(|(level, community)| {
            let members = known.members(level, community);
            let size = members.len();
            let others = members.filter(|&other| other != id && graph.is_visible(other));
            let others: Vec<ConceptId> = others.take(MEMBERS_MAX).collect();
            Ok(ConceptCommunity {
                level,
                id: community,
                size,
                members: self.names(&others)?,
            })
        });
        communities.collect()
    }

    /// The place where a concept appears first: in the document that came first, its first chunk.
    fn first_mention(
        &self,
        concept: &ConceptRecord,
        id: ConceptId,
    ) -> Result<Option<FirstMention>, Error> {
        let Some(document) = concept.first_document.map(DocumentId) else {
            return Ok(None);
        };
        let Some(record) = self.document(document)? else {
            return Ok(None);
        };
        let mut first_index: Option<u32> = None;
        for (contributed, of) in self.rows().concept_contributions(document)? {
            if self.rows().resolve(contributed, Some(document))?.concept == id {
                let indexes = of.mentions.iter().map(|mention| mention.0);
                first_index = indexes.chain(first_index).min();
            }
        }
        let key = DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])?;
        let chunk = match first_index {
            Some(place) => {
                let chunk = self.rows().chunk(document, place)?;
                Some(chunk.ok_or_else(|| missing(Table::Chunks, format!("{key}, {place}")))?)
            }
            None => None,
        };
        let printed = |chunk: &ChunkRecord| chunk_key(&record, chunk.suffix).to_string();
        Ok(Some(FirstMention {
            document: key.to_string(),
            chunk: chunk.as_ref().map(printed),
            label: chunk.as_ref().map(|chunk| cite(&record, chunk).label),
        }))
    }

    /// The concepts of highest PageRank whose normalised names begin with what `prefix` normalises to. For a reader that is
    /// bound to a user, those of the most central that its documents mention, among the first 5,000 mentions.
    pub fn concepts(&self, prefix: &str, limit: usize) -> Result<ConceptList, Error> {
        let read = self.view.read_view();
        let segments = read.graph_segments();
        let graph = read.graph(&segments);
        let prefix = normalise(prefix);
        let types = self.view.type_map()?.unwrap_or_default();
        let mut ids: Vec<ConceptId> = graph.concept_ids().into_iter().collect();
        graph.sort_by_rank(&mut ids);
        let (mut found, mut reads_left) = (Vec::new(), SCANNED_MAX);
        for id in ids {
            if found.len() == limit || reads_left == 0 {
                break;
            }
            let concept = self.record(id)?;
            let is_named = concept.normalised.starts_with(&prefix);
            if !is_named || !self.is_mentioned(graph.chunks(id), &mut reads_left)? {
                continue;
            }
            found.push(ConceptLine {
                kind: types.resolve(&concept.kind).to_owned(),
                name: concept.name,
                mentions: self.can_see_all().then_some(concept.mention_count),
                pagerank: self.can_see_all().then(|| graph.rank(id)),
            });
        }
        Ok(ConceptList { concepts: found })
    }

    /// Whether this reader sees one of these chunks; `reads_left` are the reads that are left.
    fn is_mentioned(
        &self,
        occurrences: impl Iterator<Item = (Ordinal, u32)>,
        reads_left: &mut usize,
    ) -> Result<bool, Error> {
        if self.can_see_all() {
            return Ok(true);
        }
        for (ordinal, _) in occurrences {
            let Some(left) = reads_left.checked_sub(1) else {
                return Ok(false);
            };
            *reads_left = left;
            if self.chunk_at(ordinal)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The shortest path from a concept to another, over relations of these types, or of all.
    pub fn path(&self, from: &str, to: &str, kinds: &[String]) -> Result<PathResult, Error> {
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        let mut ends = Vec::new();
        for name in [from, to] {
            let found = graph.lookup(&normalise(name));
            match found.filter(|id| graph.is_visible(*id)) {
                Some(id) => ends.push(id),
                None => return Ok(PathResult::UnknownConcept(name.to_owned())),
            }
        }
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let along = EdgeFilter {
            kinds: &kinds,
            ..EdgeFilter::default()
        };
        let path = match shortest_path(graph, ends[0], ends[1], along, VISITED_MAX) {
            PathOutcome::Path(path) => path,
            PathOutcome::NotConnected => return Ok(PathResult::NotConnected),
            PathOutcome::LimitReached => return Ok(PathResult::LimitReached(VISITED_MAX)),
        };
        let steps = path.concepts.windows(2).zip(&path.edges);
        let relations = steps.map(|(ends, edge)| {
            let (source, target) = if edge.outgoing {
                (ends[0], ends[1])
            } else {
                (ends[1], ends[0])
            };
            Ok(ShownRelation {
                source: self.record(source)?.name,
                kind: edge.kind.to_owned(),
                target: self.record(target)?.name,
                weight: None,
            })
        });
        Ok(PathResult::Found(ShownPath {
            relations: relations.collect::<Result<_, Error>>()?,
            path: self.names(&path.concepts)?,
        }))
    }
}
