//! Files to trees: parse, chunk, classify, extract, and the pipeline that stores them.

pub mod chunk;
pub mod classify;
mod lexicon;
pub mod parse;
pub mod prose;
pub mod runner;
pub mod sentences;
pub mod terms;
pub mod tokens;
pub mod tree;
