//! Analysis of a text by its words, without a model.
//!
//! | to | read |
//! | --- | --- |
//! | get the visible text and its words | [`prose`] |
//! | look up a word in lists of English | [`lexicon`] |
//! | find key terms, equations, figures and keywords | [`terms`] |
//! | choose sentences for a summary | [`summary`] |
//!
//! Start reading at [`terms::terms`].

pub(crate) mod lexicon;
pub(crate) mod prose;
pub(crate) mod summary;
pub(crate) mod terms;
