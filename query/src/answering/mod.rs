//! Answers in words, made of texts that are given: nothing here reads a store.
//!
//! | module | what |
//! | --- | --- |
//! | [`question`] | the question's words, and which of them a text has |
//! | [`extractive`] | an answer made of sentences of the hits |
//! | [`global`] | an answer about the whole store, made of digests of communities |
//! | [`prompt`] | the prompt of a generator, and its reply |
//! | [`critic`] | how well the hits cover a question |
//!
//! Start reading at [`extractive::extractive_answer`].

pub mod critic;
pub mod extractive;
pub mod global;
pub mod prompt;
pub mod question;
