//! One embedded transactional store for retrieval: documents, vectors, text and graph.

mod document;

pub use document::{NewChunk, NewConcept, NewDocument, NewRelation};
pub use loci_storage as storage;
