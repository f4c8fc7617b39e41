//! Where parsers write: the text of a document and its blocks.

pub mod blocks;
pub mod running;
pub mod writer;
