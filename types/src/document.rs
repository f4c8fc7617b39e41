//! What a caller hands over to be stored: a document with its chunk tree, concepts and relations.

use serde::{Deserialize, Serialize};

use crate::ids::ItemId;
use crate::keys::{ChunkKey, DocumentKey};
use crate::records::{ChunkRecord, Difficulty, DocumentRecord, Intent, ItemType, ReviewState};

/// A document to be stored whole: inserted, or put in the place of the one with the same user,
/// collection and key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewDocument {
    /// User, collection, key and whatever else is known. The store fills in `ingested_at_ms` (when
    /// 0), `content_hash`, `chunk_count`, `next_suffix`, `char_count` and `original_len`.
    pub record: DocumentRecord,
    /// The file's bytes, unchanged.
    pub original: Vec<u8>,
    /// The text that character positions refer to; `None` when it is the original itself.
    pub text: Option<String>,
    /// The chunk trees in pre-order: a parent precedes its children, and a subtree is a run.
    pub chunks: Vec<NewChunk>,
    /// Concepts that the document mentions or defines. One entry a name.
    pub concepts: Vec<NewConcept>,
    /// Relations that it states between concepts. Names not among `concepts` are added.
    pub relations: Vec<NewRelation>,
    /// The works that it lists.
    pub references: Vec<NewReference>,
    /// Where it cites them.
    pub citations: Vec<NewCitation>,
    /// What its chunks claim about chunks, of this or other documents.
    pub claims: Vec<NewClaim>,
    /// Pictures and other files within it, each name once.
    pub assets: Vec<NewAsset>,
}

/// A picture or other file within a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAsset {
    /// What the document calls it.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// A work in a document's list of references. It is identified by the best of: key, DOI, title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewReference {
    /// As it is written there.
    pub text: String,
    /// The key of its document, where that is known.
    pub key: Option<DocumentKey>,
    /// Digital object identifier.
    pub doi: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Authors, in order.
    pub authors: Vec<String>,
    /// Year of publication.
    pub year: Option<i32>,
    /// Journal, conference or publisher.
    pub venue: Option<String>,
}

/// A place where a document cites a work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewCitation {
    /// Index of the citing chunk, a sentence where there are any, in the document's list.
    pub chunk: u32,
    /// The reference, by its place in the document's list.
    pub reference: u32,
    /// As it is written: `[12]`, `(Author, 2020)`.
    pub text: String,
    /// The words around it.
    pub context: String,
    /// How sure it is that this reference is meant, in 0..=1.
    pub confidence: f32,
    /// What it is for.
    pub intent: Intent,
    /// Whether the chunk makes a claim about the work, rather than just citing it.
    pub claim: bool,
    /// Milliseconds since 1970; 0: now, or when the same citation was stored first.
    pub created_at_ms: u64,
}

impl Default for NewCitation {
    /// Of the first reference by the first chunk, for sure.
    fn default() -> Self {
        NewCitation {
            chunk: 0,
            reference: 0,
            text: String::new(),
            context: String::new(),
            confidence: 1.0,
            intent: Intent::default(),
            claim: false,
            created_at_ms: 0,
        }
    }
}

/// What a chunk claims about another chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct NewClaim {
    /// Place of the chunk that claims it, in the document's list.
    pub chunk: u32,
    /// The other chunk, which need not be stored yet.
    pub about: ChunkKey,
    /// The relation of the claim to the cited one.
    pub intent: Intent,
    /// How sure that is, in 0..=1.
    pub confidence: f32,
    /// Milliseconds since 1970; 0: now, or when the same claim was stored first.
    pub created_at_ms: u64,
}

/// One chunk of a [`NewDocument`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewChunk {
    /// The chunk. `parent` is a place in the same list; the store fills in `suffix`,
    /// `subtree_end` and `content_hash`.
    pub record: ChunkRecord,
    /// Its vector in the store's active space. `None`: the store's own embedder makes it, where
    /// there is one.
    pub vector: Option<Vec<f32>>,
}

/// A concept as one document states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewConcept {
    /// The name as written. Two names that normalise alike are one concept.
    pub name: String,
    /// Its type, or empty.
    pub kind: String,
    /// A definition or description, or empty.
    pub description: String,
    /// Other names, as written.
    pub synonyms: Vec<String>,
    /// (chunk's place in the document's list, mentions there).
    pub mentions: Vec<(u32, u32)>,
}

/// A relation as one document states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewRelation {
    /// Name of the concept that it starts from.
    pub source: String,
    /// Name of the concept that it leads to.
    pub target: String,
    /// `PREREQUISITE_FOR`, `RELATED_TO`, or any verb.
    pub kind: String,
    /// A description, or empty.
    pub description: String,
    /// How strong: finite, ≥ 0. Weights of several documents add up.
    pub weight: f32,
    /// Places in the document's list of the chunks that are its evidence.
    pub chunks: Vec<u32>,
}

/// A learning item to be stored, or put in the place of another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewItem {
    /// What kind of question it puts.
    pub kind: ItemType,
    /// The question.
    pub front: String,
    /// What is the answer.
    pub back: String,
    /// Answers to choose from.
    pub options: Vec<String>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// The chunk that it is about.
    pub chunk: Option<ChunkKey>,
    /// Name of the concept that it is about.
    pub concept: Option<String>,
    /// The owner; empty for a shared item.
    pub owner: String,
    /// The item that it is merged into.
    pub merged_into: Option<ItemId>,
    /// The state of its reviews.
    pub review: Option<ReviewState>,
}
