//! How much of the store a question is about: one fact, a passage in its context, the structure of documents,
//! whole documents, or everything.
//!
//! Rules over the words, no model. They are strict: a question that none of them knows asks for passages.
//!
//! Sources: the levels of an answer (precise facts from sentences, context from paragraphs and sentences, structure
//! from sections), and the split of questions into local and global ones of Edge et al., "From Local to
//! Global", 2024.
//!
//! Start reading at [`detect_scope`].

use serde::{Deserialize, Serialize};

use crate::plan::intent::{contains_phrase, starts_with_phrase, words};

/// How much of the store a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// No more is known: the leaves of the chunk trees answer.
    #[default]
    Passage,
    /// One fact: sentences and propositions answer, which are leaves where documents have them.
    Fact,
    /// Something in its context: paragraphs with their sentences answer.
    Context,
    /// How documents are built: sections answer.
    Structure,
    /// Which documents are about something.
    Documents,
    /// Everything in the store: the digests of communities answer.
    Global,
}

const GLOBAL_ANYWHERE: &[&str] = &[
    "main themes",
    "major themes",
    "key themes",
    "common themes",
    "recurring themes",
    "overall themes",
    "main topics",
    "major topics",
    "key topics",
    "which topics",
    "what topics",
    "what themes",
    "which themes",
    "across all documents",
    "across all the documents",
    "across the documents",
    "across the corpus",
    "across the collection",
    "across the whole",
    "across all books",
    "in all documents",
    "of all documents",
    "the entire corpus",
    "the whole corpus",
    "the entire collection",
    "the whole collection",
    "the entire dataset",
    "the whole dataset",
    "summarize everything",
    "summarise everything",
    "overview of everything",
    "overview of the collection",
    "overview of the corpus",
    "overview of the documents",
    "summary of the collection",
    "summary of the corpus",
    "summary of the documents",
    "summarize the documents",
    "summarise the documents",
    "summarize the collection",
    "summarise the collection",
    "what are these documents about",
    "what are the documents about",
    "what is this collection about",
    "what is the collection about",
    "what is this corpus about",
];

/// Each phrase above has one of these.
const GLOBAL_KEYWORDS: &[&str] = &[
    "themes",
    "topics",
    "documents",
    "corpus",
    "collection",
    "dataset",
    "books",
    "whole",
    "everything",
];

const DOCUMENTS_FIRST: &[&str] = &[
    "which documents",
    "which document",
    "which papers",
    "which paper",
    "which files",
    "which file",
    "which notes",
    "which articles",
    "which article",
    "which books",
    "what documents",
    "what papers",
    "list documents",
    "list the documents",
    "list papers",
    "list the papers",
    "find documents",
    "find papers",
];

const STRUCTURE_FIRST: &[&str] = &[
    "which section",
    "which sections",
    "what sections",
    "which chapter",
    "which chapters",
    "what chapters",
    "where in the document",
    "where in the paper",
    "outline",
    "give me an outline",
    "give an outline",
];

const STRUCTURE_ANYWHERE: &[&str] = &[
    "table of contents",
    "outline of",
    "structure of the document",
    "structure of the paper",
    "structure of the chapter",
    "structure of this document",
    "how is the document organized",
    "how is the document organised",
    "how is the paper organized",
    "how is the paper organised",
    "how is the paper structured",
    "how is the document structured",
];

/// Each phrase above has one of these.
const STRUCTURE_KEYWORDS: &[&str] = &[
    "contents",
    "outline",
    "structure",
    "structured",
    "organized",
    "organised",
];

const FACT_FIRST: &[&str] = &[
    "who",
    "whose",
    "whom",
    "when",
    "where",
    "how many",
    "how much",
    "how old",
    "how long",
    "how tall",
    "how far",
    "what year",
    "which year",
    "in what year",
    "in which year",
    "what date",
    "on what date",
    "what percentage",
    "what number",
    "what is the name",
    "what is the value",
    "is it true",
];

const CONTEXT_FIRST: &[&str] = &[
    "explain",
    "describe",
    "discuss",
    "why",
    "how does",
    "how do",
    "how did",
    "how is",
    "how are",
    "compare",
    "contrast",
    "tell me about",
    "what is the difference",
    "what are the differences",
];

/// How much of the store `question` is about, by its words.
pub fn detect_scope(question: &str) -> Scope {
    let words = words(question);
    let anywhere = |phrases: &[&str]| phrases.iter().any(|phrase| contains_phrase(&words, phrase));
    let first = |phrases: &[&str]| {
        phrases
            .iter()
            .any(|phrase| starts_with_phrase(&words, phrase))
    };
    // Most questions have none of these words, and so none of the phrases.
    let has = |some: &[&str]| words.iter().any(|word| some.contains(&&**word));
    if has(GLOBAL_KEYWORDS) && anywhere(GLOBAL_ANYWHERE) {
        Scope::Global
    } else if first(DOCUMENTS_FIRST) {
        Scope::Documents
    } else if first(STRUCTURE_FIRST) || (has(STRUCTURE_KEYWORDS) && anywhere(STRUCTURE_ANYWHERE)) {
        Scope::Structure
    } else if first(FACT_FIRST) {
        Scope::Fact
    } else if first(CONTEXT_FIRST) {
        Scope::Context
    } else {
        Scope::Passage
    }
}

/// Whether the whole question is in quotation marks and asks for just these words.
pub fn is_quoted(question: &str) -> bool {
    let question = question.trim();
    let inside = question.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
    inside.is_some_and(|inside| !inside.trim().is_empty() && !inside.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_is_detected_from_wording() {
        let cases = [
            (
                "What are the main themes across all 19 books?",
                Scope::Global,
            ),
            ("Summarize the collection", Scope::Global),
            ("Which papers discuss attention?", Scope::Documents),
            ("Which sections cover wave functions?", Scope::Structure),
            ("Give me an outline of chapter 3", Scope::Structure),
            ("When was the transistor invented?", Scope::Fact),
            ("How many Publix stores are in the state?", Scope::Fact),
            ("Explain how snapshots work", Scope::Context),
            ("Why does compaction renumber?", Scope::Context),
            ("snapshot isolation", Scope::Passage),
            ("What theory did he found?", Scope::Passage),
            ("", Scope::Passage),
        ];
        for (question, want) in cases {
            assert_eq!(detect_scope(question), want, "{question}");
        }
    }

    #[test]
    fn every_anywhere_phrase_has_a_keyword() {
        for (phrases, some) in [
            (GLOBAL_ANYWHERE, GLOBAL_KEYWORDS),
            (STRUCTURE_ANYWHERE, STRUCTURE_KEYWORDS),
        ] {
            for phrase in phrases {
                assert!(
                    phrase.split(' ').any(|word| some.contains(&word)),
                    "{phrase}"
                );
            }
        }
    }

    #[test]
    fn only_fully_quoted_questions_are_quoted() {
        assert!(is_quoted(" \"snapshot isolation\" "));
        for question in ["\"a\" and \"b\"", "\"", "\"\"", "say \"it\"", "plain"] {
            assert!(!is_quoted(question), "{question}");
        }
    }
}
