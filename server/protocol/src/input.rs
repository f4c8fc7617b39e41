//! What calls carry: files, graphs and changes, and what changes give.

use loci_types::document::{
    NewCitation, NewClaim, NewConcept, NewDocument, NewItem, NewReference, NewRelation,
};
use loci_types::ids::ItemId;
use loci_types::keys::{ChunkKey, DocumentKey};
use loci_types::records::{ChunkRecord, DocumentRecord};

use crate::codec::{wire_enum, wire_struct};

/// What a graph is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphFormat {
    /// GraphML.
    Graphml,
    /// A Cypher script.
    Cypher,
}

wire_enum! { GraphFormat { 0 => Graphml, 1 => Cypher } }

/// Nodes and relationships in CSV, as neo4j-admin imports it or apoc.export.csv writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphFiles {
    /// The files, of 32 MiB together at most.
    pub files: Vec<GraphFile>,
    /// Key of the document that states them.
    pub key: String,
    /// Named collection.
    pub collection: String,
    /// Who owns it.
    pub user: String,
    /// The byte between fields; 0: a comma.
    pub delimiter: u8,
}

wire_struct! { GraphFiles { files, key, collection, user, delimiter } }

/// A file of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphFile {
    /// Its name, for errors.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether its rows go on under the header of the file before, rather than under its first line.
    pub continues_previous: bool,
}

wire_struct! { GraphFile { name, bytes, continues_previous } }

/// A file to be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Its name, whose extension decides the kind if its content does not.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Key of the document; else the name.
    pub key: Option<String>,
    /// Named collection.
    pub collection: String,
    /// Who owns it.
    pub user: String,
    /// What it is, by the names of `loci ingest --kind`; else detected from its content.
    pub kind: Option<String>,
    /// How it is chunked, by the names of `loci ingest --chunking`; else by its kind.
    pub chunking: Option<String>,
    /// Whether an unchanged file is read again.
    pub force: bool,
}

wire_struct! { File { name, bytes, key, collection, user, kind, chunking, force } }

/// A change of the store: what a writer may do.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Stores a document; gives its number.
    PutDocument(Box<NewDocument>),
    /// Deletes one; gives whether it was there.
    DeleteDocument(DocumentKey),
    /// Reads one; gives its record.
    ReadDocument(DocumentKey),
    /// Changes what is known of one; gives whether it was there.
    PatchDocument(DocumentKey, Box<DocumentRecord>),
    /// Reads a chunk; gives its record.
    ReadChunk(ChunkKey),
    /// Changes what is known of one; gives whether it was there.
    PatchChunk(ChunkKey, Box<ChunkRecord>),
    /// Replaces what a document states about concepts and relations; gives whether it was there.
    SetGraph(DocumentKey, Vec<NewConcept>, Vec<NewRelation>),
    /// Replaces what a document lists, cites and claims; gives whether it was there.
    SetCitations(
        DocumentKey,
        Vec<NewReference>,
        Vec<NewCitation>,
        Vec<NewClaim>,
    ),
    /// Has everything stated about a concept count for another; gives the edit's number.
    MergeConcepts(String, String),
    /// Has what some documents state about a concept count for another; gives the edit's number.
    SplitConcept(String, Vec<DocumentKey>, String),
    /// Undoes an edit; gives whether it was there.
    UndoConceptEdit(u64),
    /// Stores a learning item; gives its number.
    PutItem(Box<NewItem>),
    /// Replaces one; gives whether it was there.
    ReplaceItem(ItemId, Box<NewItem>),
    /// Deletes one; gives whether it was there.
    DeleteItem(ItemId),
    /// Changes a setting; needs a key of an admin.
    Set(String, String),
}

wire_enum! {
    Change {
        1 => PutDocument(document),
        2 => DeleteDocument(key),
        3 => ReadDocument(key),
        4 => PatchDocument(key, record),
        5 => ReadChunk(key),
        6 => PatchChunk(key, record),
        7 => SetGraph(key, concepts, relations),
        8 => SetCitations(key, references, citations, claims),
        9 => MergeConcepts(from, into),
        10 => SplitConcept(name, documents, into),
        11 => UndoConceptEdit(id),
        12 => PutItem(item),
        13 => ReplaceItem(id, item),
        14 => DeleteItem(id),
        15 => Set(name, value),
    }
}

/// What a change gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing.
    Done,
    /// Whether it was there.
    Existed(bool),
    /// The number of what was stored.
    Number(u64),
    /// A document's number and record, where it is there.
    Document(Option<(u64, DocumentRecord)>),
    /// A chunk's record, where it is there.
    Chunk(Option<ChunkRecord>),
}

wire_enum! {
    Outcome {
        0 => Done,
        1 => Existed(there),
        2 => Number(number),
        3 => Document(record),
        4 => Chunk(record),
    }
}
