//! Trees of blocks to chunks, concepts and relations, and the pipeline that stores them.

pub mod about;
mod build_error;
pub mod captions;
pub mod chunk;
pub mod cite;
pub mod classify;
pub mod confinement;
pub mod document;
pub mod exchange;
pub mod extract;
pub mod import;
pub mod kinds;
mod lexicon;
pub mod pipeline;
pub mod prose;
pub mod related;
pub mod runner;
pub mod sentences;
mod stored;
pub mod summary;
pub mod terms;

pub use build_error::BuildError;
pub use loci_documents as documents;
pub use locidb::query::tokens;
