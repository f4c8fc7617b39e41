//! Digests of communities as they are read: what a community of concepts is about, without what was deleted since.
//!
//! Always true: a digest that is read has nothing that was deleted.
//!
//! Start reading at [`CommunityDigest::read`].

use std::collections::BTreeMap;

use loci_graph::communities;
use loci_storage::records::DigestRecord;
use loci_storage::rows::read;
use loci_storage::{ConceptId, DocumentId, Rows, StoreError, Table, keys};
use loci_types::answer::CommunityHit;
use serde::Serialize;

use crate::cite::{Citation, chunk_key, cite};
use crate::view::ReadView;

/// Members in a title.
const TITLE_MAX: usize = 3;

/// What a community of concepts is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommunityDigest {
    /// The community: 32 hexadecimal digits, the same for as long as its level and members are.
    pub id: String,
    /// Its level, from the finest.
    pub level: usize,
    /// Its first members' names.
    pub title: String,
    /// How many members it has.
    pub member_count: usize,
    /// The first of them by PageRank.
    pub members: Vec<String>,
    /// The relations among these of most weight.
    pub relations: Vec<DigestRelation>,
    /// The sentences that name most of these.
    pub sentences: Vec<DigestQuote>,
    /// Sentences that it was written with and that are not in the rows: damage, as those of documents that are deleted
    /// leave it with them.
    #[serde(skip)]
    pub missing: usize,
    /// Its vector, if it is of the active space.
    #[serde(skip)]
    pub vector: Option<Vec<f32>>,
}

/// A relation in a digest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DigestRelation {
    /// The concept that it starts from.
    pub source: String,
    /// What it is called.
    #[serde(rename = "type")]
    pub kind: String,
    /// The concept that it leads to.
    pub target: String,
}

/// A sentence in a digest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DigestQuote {
    /// The sentence.
    pub text: String,
    /// The key of its chunk.
    pub chunk: String,
    /// Its location; `chars` are those of the sentence.
    pub citation: Citation,
}

impl From<CommunityDigest> for CommunityHit {
    fn from(digest: CommunityDigest) -> CommunityHit {
        CommunityHit {
            digest: digest.text(),
            id: digest.id,
            level: digest.level as u32,
        }
    }
}

impl CommunityDigest {
    /// The digest of a community of the analysis, where one was written.
    pub fn read(
        view: &ReadView,
        level: usize,
        community: u32,
    ) -> Result<Option<CommunityDigest>, StoreError> {
        let Some(known) = view.communities() else {
            return Ok(None);
        };
        let key = communities::stable_key(level, known.members(level, community));
        let record: Option<DigestRecord> = read(view.snapshot().rows(), Table::Digests, &key)?;
        record
            .map(|record| resolve_digest(view, &key, &record))
            .transpose()
    }

    /// The digest as one text: title, relations, sentences.
    pub fn text(&self) -> String {
        let mut text = format!("{}.", self.title);
        for relation in &self.relations {
            let kind = relation.kind.to_lowercase().replace('_', " ");
            text.push_str(&format!(" {} {kind} {}.", relation.source, relation.target));
        }
        for quote in &self.sentences {
            text.push(' ');
            text.push_str(&quote.text);
        }
        text
    }
}

/// The sentences of a digest that are still at their locations.
pub fn quotes(rows: &dyn Rows, record: &DigestRecord) -> Result<Vec<DigestQuote>, StoreError> {
    let mut quotes = Vec::new();
    for sentence in &record.sentences {
        let id = DocumentId(sentence.document);
        let Some(document) = rows.document(id)? else {
            continue;
        };
        let key = chunk_key(&document, sentence.suffix);
        let Some((found, place)) = rows.find_chunk(&key)? else {
            continue;
        };
        let chunk = rows.chunk(found, place)?;
        let Some(chunk) = chunk.filter(|_| found == id) else {
            continue;
        };
        let (start, end) = sentence.chars;
        let Some(skip) = start.checked_sub(chunk.location.chars.0) else {
            continue;
        };
        let mut written = chunk.text.chars().skip(skip as usize);
        if !sentence.text.chars().all(|c| written.next() == Some(c)) {
            continue;
        }
        let mut citation = cite(&document, &chunk);
        // A chunk without a location has none for its sentences.
        let chars = citation.known_chars().map(|_| (start, end));
        citation.chars = chars.unwrap_or_default();
        quotes.push(DigestQuote {
            text: sentence.text.clone(),
            chunk: key.to_string(),
            citation,
        });
    }
    Ok(quotes)
}

/// A digest in names, without what is gone.
pub fn resolve_digest(
    view: &ReadView,
    key: &[u8],
    record: &DigestRecord,
) -> Result<CommunityDigest, StoreError> {
    let rows = view.snapshot().rows();
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let ends = record.relations.iter().flat_map(|of| [of.0, of.2]);
    for id in record.members.iter().copied().chain(ends) {
        let concept = rows.concept(ConceptId(id))?;
        let concept = concept.filter(|concept| concept.document_count > 0);
        names.extend(concept.map(|concept| (id, concept.name)));
    }
    let name = |id: &u32| names.get(id).cloned();
    let members: Vec<String> = record.members.iter().filter_map(name).collect();
    let mut relations = Vec::new();
    for (source, kind, target) in &record.relations {
        let row = keys::relation(ConceptId(*source), ConceptId(*target), kind);
        let is_stated = rows.get(Table::Relations, &row)?.is_some();
        let ends = name(source).zip(name(target)).filter(|_| is_stated);
        relations.extend(ends.map(|(source, target)| DigestRelation {
            source,
            kind: kind.clone(),
            target,
        }));
    }
    let active = view.snapshot().active_space().map(|space| space.id.0);
    let vector = record.vector.as_ref();
    let vector = vector.filter(|vector| Some(vector.0) == active && !vector.1.is_empty());
    let sentences = quotes(rows, record)?;
    Ok(CommunityDigest {
        id: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        level: usize::from(record.level),
        title: members[..members.len().min(TITLE_MAX)].join(", "),
        member_count: record.member_count as usize,
        members,
        relations,
        missing: record.sentences.len() - sentences.len(),
        sentences,
        vector: vector.map(|vector| vector.1.clone()),
    })
}
