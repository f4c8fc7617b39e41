//! What is concluded from the words of a text: the words themselves, key terms, summaries.

pub(crate) mod lexicon;
pub(crate) mod prose;
pub(crate) mod summary;
pub(crate) mod terms;
