//! Files to trees: parse, chunk, classify, extract, and the pipeline that stores them.

pub mod about;
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
pub mod parse;
pub mod pipeline;
pub mod prose;
pub mod related;
pub mod runner;
pub mod sentences;
pub mod summary;
pub mod terms;
pub mod tree;
pub mod warnings;

pub use locidb::query::tokens;
