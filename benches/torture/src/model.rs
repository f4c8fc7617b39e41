//! The expected content of a store, in plain maps: the oracle that stores are compared with.
//!
//! Nothing here is clever. A model is a value: a write makes a new one, so the states before and
//! after a commit stand side by side.
//!
//! Start reading at [`Model::after`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use locidb::storage::DocumentKey;
use locidb::storage::records::{
    ChunkRecord, ConceptContribution, ConceptRecord, DocumentRecord, RelationContribution,
    RelationRecord,
};
use locidb::storage::staging::{content_hash, indexed_text};
use locidb::{NewConcept, NewDocument, NewReference, NewRelation};

use crate::documents::NAMES;
use crate::ops::Change;

/// What a store must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The documents, by number.
    pub documents: BTreeMap<u8, Arc<Document>>,
    /// The vector space that is active.
    pub space: Option<u8>,
    /// Merges and splits of concepts that were not undone.
    pub edits: Vec<Edit>,
    /// How many there ever were.
    pub edit_count: u64,
}

/// A merge or split of concepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Its number in the store.
    pub id: u64,
    /// The name that documents use.
    pub from: String,
    /// What it counts as.
    pub to: String,
    /// In which documents; `None`: in all.
    pub documents: Option<BTreeSet<u8>>,
}

/// The contributions of a document to concepts, by normalised name, and to relations.
pub type Contributions = (
    BTreeMap<String, ConceptContribution>,
    BTreeMap<RelationName, RelationContribution>,
);

/// A document as it must be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its record, with everything that the store fills in.
    pub record: DocumentRecord,
    /// The file.
    pub original: Vec<u8>,
    /// Its chunks, with everything that the store fills in.
    pub chunks: Vec<ChunkRecord>,
    /// The words of each chunk as it is indexed: title, headings, text.
    pub words: Vec<Vec<String>>,
    /// The public key of each chunk.
    pub keys: Vec<String>,
    /// The vectors of its contents in the active space.
    pub vectors: BTreeMap<[u8; 16], Vec<f32>>,
    /// Its contributions to concepts, by normalised name.
    pub concepts: BTreeMap<String, ConceptContribution>,
    /// Its contributions to relations.
    pub relations: BTreeMap<RelationName, RelationContribution>,
    /// The keys of the documents that it lists.
    pub lists: Vec<String>,
    /// (chunk's place, key of the document) of what it cites.
    pub cites: Vec<(usize, String)>,
}

/// Normalised names of both ends, and the kind.
pub type RelationName = (String, String, String);

/// The name of a space that callers bring vectors for.
pub fn space_name(space: u8) -> String {
    format!("given-{space}")
}

impl Model {
    /// This state after a write.
    pub fn after(&self, changes: &[Change]) -> Model {
        let mut next = self.clone();
        for change in changes {
            next.apply(change);
        }
        next
    }

    /// This state after a switch of the vector space: vectors go with the space they lie in.
    pub fn in_space(&self, space: Option<u8>) -> Model {
        if self.space == space {
            return self.clone();
        }
        let documents = self.documents.iter().map(|(&number, document)| {
            let vectors = BTreeMap::new();
            let document = Document {
                vectors,
                ..Document::clone(document)
            };
            (number, Arc::new(document))
        });
        Model {
            documents: documents.collect(),
            space,
            ..self.clone()
        }
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Put { document, .. } => {
                let new = change.document(self.space);
                let old = self.documents.get(&document);
                let stored = Document::from_new(new, old.map(Arc::as_ref));
                self.documents.insert(document, Arc::new(stored));
            }
            Change::Delete { document } => {
                self.documents.remove(&document);
                let documents = self.edits.iter_mut().flat_map(|edit| &mut edit.documents);
                for documents in documents {
                    documents.remove(&document);
                }
                let acts = |edit: &Edit| edit.documents.as_ref().is_none_or(|of| !of.is_empty());
                self.edits.retain(acts);
            }
            Change::Move { .. } => {
                if let Some(edit) = self.edit_of(change) {
                    self.edit_count += 1;
                    self.edits.push(edit);
                }
            }
            Change::Undo { .. } => {
                let undone = self.undone_by(change);
                self.edits.retain(|edit| Some(edit.id) != undone);
            }
            Change::Patch { document, .. } => {
                if let Some(document) = self.documents.get_mut(&document) {
                    change.patch(&mut Arc::make_mut(document).record);
                }
            }
            Change::Graph { document, .. } => {
                if let Some(document) = self.documents.get_mut(&document) {
                    let document = Arc::make_mut(document);
                    let (concepts, relations) = change.graph(document.chunks.len() as u32);
                    document.set_contributions(concepts, relations);
                }
            }
        }
    }

    /// How many chunks all documents have.
    pub fn chunk_count(&self) -> u64 {
        self.documents.values().map(|d| d.chunks.len() as u64).sum()
    }

    /// What a change merges or splits; `None` where that would be refused.
    pub fn edit_of(&self, change: &Change) -> Option<Edit> {
        let Change::Move {
            from,
            to,
            documents,
        } = *change
        else {
            return None;
        };
        let from = self.resolve(NAMES[usize::from(from)], None);
        let to = self.resolve(NAMES[usize::from(to)], None);
        let speaks = |number: &u8| self.contributions(*number).0.contains_key(&from);
        let mut speaking: BTreeSet<u8> = self.documents.keys().copied().filter(speaks).collect();
        if speaking.is_empty() || self.leads(&to, &from) {
            return None;
        }
        speaking.retain(|number| documents & (1 << (number % 8)) != 0);
        if speaking.is_empty() && documents != 0 {
            return None;
        }
        Some(Edit {
            id: self.edit_count + 1,
            from,
            to,
            documents: (documents != 0).then_some(speaking),
        })
    }

    /// The edit that a change undoes.
    pub fn undone_by(&self, change: &Change) -> Option<u64> {
        let Change::Undo { edit } = *change else {
            return None;
        };
        let at = usize::from(edit).checked_rem(self.edits.len())?;
        Some(self.edits[at].id)
    }

    /// What a concept counts as in a document, or where there is none.
    fn resolve(&self, name: &str, document: Option<u8>) -> String {
        let of = |is_own: bool| {
            self.edits.iter().find(|edit| {
                let here = match &edit.documents {
                    Some(documents) => is_own && document.is_some_and(|of| documents.contains(&of)),
                    None => !is_own,
                };
                here && edit.from == name
            })
        };
        match of(true).or_else(|| of(false)) {
            Some(edit) => self.resolve(&edit.to, document),
            None => name.to_string(),
        }
    }

    /// Whether edits of whatever documents lead from one concept to another, or both are one.
    fn leads(&self, from: &str, to: &str) -> bool {
        let acts = |edit: &Edit| edit.documents.as_ref().is_none_or(|of| !of.is_empty());
        let mut next = self
            .edits
            .iter()
            .filter(|edit| acts(edit) && edit.from == from);
        from == to || next.any(|edit| self.leads(&edit.to, to))
    }

    /// The contributions of a document.
    pub fn contributions(&self, number: u8) -> Contributions {
        let (mut concepts, mut relations) = Contributions::default();
        let document = &self.documents[&number];
        for (name, contribution) in &document.concepts {
            let counted = self.resolve(name, Some(number));
            let entry: &mut ConceptContribution = concepts.entry(counted.clone()).or_default();
            if entry.name.is_empty() || counted == *name {
                entry.name = if counted == *name {
                    contribution.name.clone()
                } else {
                    counted.clone()
                };
            }
            let kinds = [&entry.kind, &contribution.kind]
                .into_iter()
                .filter(|kind| !kind.is_empty());
            entry.kind = kinds.min().cloned().unwrap_or_default();
            entry.description =
                longest([&entry.description, &contribution.description].into_iter());
            let all = entry
                .synonyms
                .iter()
                .chain(&contribution.synonyms)
                .chain([name]);
            let all: BTreeSet<String> = all.filter(|name| **name != counted).cloned().collect();
            entry.synonyms = all.into_iter().collect();
            let mut mentions: BTreeMap<u32, u32> = entry.mentions.iter().copied().collect();
            for &(place, count) in &contribution.mentions {
                *mentions.entry(place).or_default() += count;
            }
            entry.mentions = mentions.into_iter().collect();
        }
        for ((source, target, kind), contribution) in &document.relations {
            let [source, target] = [source, target].map(|end| self.resolve(end, Some(number)));
            if source == target {
                continue;
            }
            let entry: &mut RelationContribution =
                relations.entry((source, target, kind.clone())).or_default();
            entry.description =
                longest([&entry.description, &contribution.description].into_iter());
            entry.weight_micro += contribution.weight_micro;
            let chunks: BTreeSet<u32> = entry
                .chunks
                .iter()
                .chain(&contribution.chunks)
                .copied()
                .collect();
            entry.chunks = chunks.into_iter().collect();
        }
        (concepts, relations)
    }

    /// The contributions of each document.
    pub fn all_contributions(&self) -> BTreeMap<u8, Contributions> {
        let numbers = self.documents.keys();
        numbers
            .map(|&number| (number, self.contributions(number)))
            .collect()
    }
}

/// Concepts merged from all contributions.
pub trait MergedRecords {
    /// A concept. `ids`: the store's id of each document.
    fn concept(&self, name: &str, ids: &BTreeMap<u8, u64>) -> ConceptRecord;
    /// A relation.
    fn relation(&self, name: &RelationName) -> RelationRecord;
}

impl MergedRecords for BTreeMap<u8, Contributions> {
    fn concept(&self, name: &str, ids: &BTreeMap<u8, u64>) -> ConceptRecord {
        let mut contributions: Vec<(u64, &ConceptContribution)> = Vec::new();
        for (number, (concepts, _)) in self {
            if let Some(of) = concepts.get(name) {
                contributions.push((ids[number], of));
            }
        }
        contributions.sort_by_key(|&(id, _)| id);
        let all = || contributions.iter().map(|&(_, of)| of);
        let synonyms: BTreeSet<String> = all().flat_map(|of| of.synonyms.clone()).collect();
        let kinds = all().map(|of| &of.kind).filter(|kind| !kind.is_empty());
        ConceptRecord {
            name: contributions
                .first()
                .map(|(_, of)| of.name.clone())
                .unwrap_or_default(),
            normalised: name.into(),
            kind: kinds.min().cloned().unwrap_or_default(),
            description: longest(all().map(|of| &of.description)),
            synonyms: synonyms.into_iter().collect(),
            mention_count: all()
                .flat_map(|of| &of.mentions)
                .map(|m| u64::from(m.1))
                .sum(),
            document_count: contributions.len() as u64,
            first_document: contributions.first().map(|&(id, _)| id),
        }
    }

    fn relation(&self, name: &RelationName) -> RelationRecord {
        let contributions = || {
            self.values()
                .filter_map(|(_, relations)| relations.get(name))
        };
        RelationRecord {
            description: longest(contributions().map(|of| &of.description)),
            weight_micro: contributions().map(|of| of.weight_micro).sum(),
            document_count: contributions().count() as u64,
        }
    }
}

/// The longest; of equally long ones the first in byte order.
fn longest<'s>(texts: impl Iterator<Item = &'s String>) -> String {
    let best = texts.min_by_key(|text| (std::cmp::Reverse(text.len()), text.as_str()));
    best.cloned().unwrap_or_default()
}

impl Document {
    /// The document as it is stored in the place of `old`.
    fn from_new(new: NewDocument, old: Option<&Document>) -> Document {
        let mut chunks: Vec<ChunkRecord> = new.chunks.iter().map(|c| c.record.clone()).collect();
        let key = |reference: &NewReference| reference.key.clone().unwrap_or_default().to_string();
        let lists: Vec<String> = new.references.iter().map(key).collect();
        let cites = new.citations.iter().map(|citation| {
            let of = lists[citation.reference as usize].clone();
            (citation.chunk as usize, of)
        });
        let cites: Vec<(usize, String)> = cites.collect();
        for place in 0..chunks.len() {
            chunks[place].subtree_end = subtree_end(&chunks, place);
            let below = place..chunks[place].subtree_end as usize;
            let cited = cites.iter().filter(|(at, _)| below.contains(at));
            chunks[place].citation_count = cited.count() as u32;
            let text = indexed_text(&new.record, &chunks[place]);
            chunks[place].content_hash = content_hash(text.as_bytes());
        }
        let next_suffix = give_suffixes(&mut chunks, old);
        let mut vectors = BTreeMap::new();
        for (chunk, given) in chunks.iter().zip(&new.chunks) {
            let old_vector = old.and_then(|old| old.vectors.get(&chunk.content_hash));
            if let Some(vector) = given.vector.as_ref() {
                vectors.insert(chunk.content_hash, vector.clone());
            } else if let Some(old_vector) = old_vector {
                vectors
                    .entry(chunk.content_hash)
                    .or_insert_with(|| old_vector.clone());
            }
        }
        let words = chunks.iter().map(|chunk| {
            let text = indexed_text(&new.record, chunk);
            text.split_whitespace().map(ToString::to_string).collect()
        });
        let words = words.collect();
        let document = DocumentKey {
            user: new.record.user.clone(),
            collection: new.record.collection.clone(),
            key: new.record.key.clone(),
        };
        let keys = chunks
            .iter()
            .map(|chunk| format!("{document}#{}", chunk.suffix));
        let keys = keys.collect();
        let record = DocumentRecord {
            content_hash: content_hash(&new.original),
            chunk_count: chunks.len() as u32,
            next_suffix,
            char_count: new.original.len() as u64, // it is ASCII
            original_len: new.original.len() as u64,
            ..new.record
        };
        let mut document = Document {
            record,
            original: new.original,
            chunks,
            words,
            keys,
            vectors,
            concepts: BTreeMap::new(),
            relations: BTreeMap::new(),
            lists,
            cites,
        };
        document.set_contributions(new.concepts, new.relations);
        document
    }

    /// Replaces its concepts and relations.
    fn set_contributions(&mut self, concepts: Vec<NewConcept>, relations: Vec<NewRelation>) {
        self.concepts.clear();
        self.relations.clear();
        for concept in concepts {
            let name = concept.name.to_lowercase();
            let contribution = ConceptContribution {
                name: concept.name,
                kind: concept.kind,
                description: concept.description,
                synonyms: concept.synonyms,
                mentions: concept.mentions,
            };
            self.concepts.insert(name, contribution);
        }
        for relation in relations {
            self.relate(relation);
        }
    }

    fn relate(&mut self, relation: NewRelation) {
        for end in [&relation.source, &relation.target] {
            let named = || ConceptContribution {
                name: end.clone(),
                ..ConceptContribution::default()
            };
            self.concepts.entry(end.clone()).or_insert_with(named);
        }
        let name = (relation.source, relation.target, relation.kind);
        let contribution = self.relations.entry(name).or_default();
        if relation.description.len() > contribution.description.len() {
            contribution.description = relation.description;
        }
        contribution.weight_micro += (f64::from(relation.weight) * 1e6) as u64;
        let chunks: BTreeSet<u32> = contribution
            .chunks
            .drain(..)
            .chain(relation.chunks)
            .collect();
        contribution.chunks = chunks.into_iter().collect();
    }

    /// Whether a chunk has no children.
    pub fn is_leaf(&self, place: usize) -> bool {
        self.chunks[place].subtree_end as usize == place + 1
    }
}

/// One past the last chunk that has `place` among its ancestors.
fn subtree_end(chunks: &[ChunkRecord], place: usize) -> u32 {
    let is_below = |mut at: usize| loop {
        match chunks[at].parent {
            Some(parent) if parent as usize == place => return true,
            Some(parent) => at = parent as usize,
            None => return false,
        }
    };
    let below = (place + 1..chunks.len()).take_while(|&at| is_below(at));
    (place + 1 + below.count()) as u32
}

/// Chunks whose content an older one had keep its suffix, in order; others get a new one.
fn give_suffixes(chunks: &mut [ChunkRecord], old: Option<&Document>) -> u32 {
    let mut free: BTreeMap<[u8; 16], VecDeque<u32>> = BTreeMap::new();
    for chunk in old.iter().flat_map(|old| &old.chunks) {
        free.entry(chunk.content_hash)
            .or_default()
            .push_back(chunk.suffix);
    }
    let mut next = old.map_or(0, |old| old.record.next_suffix);
    for chunk in chunks {
        let reused = free
            .get_mut(&chunk.content_hash)
            .and_then(VecDeque::pop_front);
        chunk.suffix = reused.unwrap_or(next);
        next += u32::from(reused.is_none());
    }
    next
}
