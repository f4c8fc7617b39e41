//! Where parsers write: the text of a document and its blocks.

pub mod blocks;
pub mod inline;
pub mod lines;
pub mod running;
