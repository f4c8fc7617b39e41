//! Where parsers write: the text of a document and its blocks.

pub(crate) mod blocks;
pub(crate) mod inline;
pub(crate) mod lines;
pub(crate) mod running;
