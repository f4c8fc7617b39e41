//! Answers in words. Always true: nothing here reads a store; the caller passes the texts.
//!
//! | module | what |
//! | --- | --- |
//! | [`question`] | the question's words, and which of them a text has |
//! | [`extractive`] | an answer that quotes sentences of the hits |
//! | [`global`] | an answer about the whole store, from digests of communities |
//! | [`prompt`] | the prompt of a generator, and its reply |
//! | [`critic`] | how well the hits cover a question |
//!
//! Start reading at [`extractive::extractive_answer`].

pub mod critic;
pub mod extractive;
pub mod global;
pub mod prompt;
pub mod question;
