//! What kind of chunk a question is after.
//!
//! "What is force?" asks for a definition, "show me an example of momentum" a worked one, "calculate the
//! net force" an exercise with its solution. Rules over the first words, no model; questions that
//! no rule knows are mixed, and then nothing is preferred.
//!
//! Start reading at [`detect_intent`].

use std::borrow::Cow;

pub use loci_types::search::Intent;

/// Phrases that decide wherever they occur; before all others, because "what is an example of" asks
/// for an example.
const EXAMPLE_ANYWHERE: &[&str] = &[
    "example",
    "examples",
    "worked problem",
    "sample problem",
    "for instance",
    "illustration of",
    "illustrate",
    "illustrates",
    "use case",
    "use cases",
];

const EXAMPLE_FIRST: &[&str] = &["demonstrate", "demonstrates", "show me", "show how"];

const QUESTION_FIRST: &[&str] = &[
    "calculate",
    "compute",
    "solve",
    "prove",
    "derive",
    "evaluate",
    "find the",
    "find a",
    "determine",
    "estimate",
    "how do i",
    "how do we",
    "how do you",
    "how can i",
    "how can we",
    "how would i",
    "how would you",
    "how to",
    "how should i",
];

const QUESTION_ANYWHERE: &[&str] = &[
    "exercise",
    "exercises",
    "practice problem",
    "practice problems",
    "practice question",
    "practice questions",
    "quiz me",
    "test me",
    "homework",
];

const CONCEPT_FIRST: &[&str] = &[
    "what is",
    "what are",
    "what was",
    "what were",
    "what does",
    "what do",
    "what's",
    "whats",
    "explain",
    "define",
    "describe",
    "definition of",
    "meaning of",
    "state the",
    "introduce",
    "tell me about",
];

const CONCEPT_ANYWHERE: &[&str] = &["definition", "what is meant by", "the meaning of"];

/// Each phrase that decides wherever it occurs has one of these.
const PHRASE_KEYWORDS: &[&str] = &[
    "example",
    "examples",
    "problem",
    "problems",
    "instance",
    "illustration",
    "illustrate",
    "illustrates",
    "case",
    "cases",
    "exercise",
    "exercises",
    "practice",
    "quiz",
    "test",
    "homework",
    "definition",
    "meant",
    "meaning",
];

/// Politeness before the question proper.
const COURTESIES: &[&str] = &[
    "please",
    "can you",
    "could you",
    "would you",
    "will you",
    "kindly",
    "i want to know",
    "i would like to know",
    "tell me",
    "help me",
    "and",
    "so",
    "then",
];

/// The intent of `question`, by its wording.
///
/// Source of the classes and of what each prefers: the patterns of tutoring systems over textbook
/// chunks ("What is…", "Show me an example…", "How do I solve…").
pub fn detect_intent(question: &str) -> Intent {
    let words = words(question);
    let stripped = without_courtesies(&words);
    // Most questions have none of these words, and so none of the phrases.
    let may_have = words.iter().any(|word| PHRASE_KEYWORDS.contains(&&**word));
    let anywhere =
        |phrases: &[&str]| may_have && phrases.iter().any(|phrase| contains_phrase(&words, phrase));
    let first = |phrases: &[&str]| {
        phrases
            .iter()
            .any(|phrase| starts_with_phrase(stripped, phrase))
    };
    let concept_first = first(CONCEPT_FIRST);
    if anywhere(EXAMPLE_ANYWHERE) || first(EXAMPLE_FIRST) {
        Intent::Example
    } else if first(QUESTION_FIRST) || (!concept_first && anywhere(QUESTION_ANYWHERE)) {
        Intent::Question
    } else if concept_first || anywhere(CONCEPT_ANYWHERE) {
        Intent::Concept
    } else {
        Intent::Mixed
    }
}

/// The words of a text in lower case.
pub(crate) fn words(text: &str) -> Vec<Cow<'_, str>> {
    let apart = |c: char| !c.is_alphanumeric() && c != '\'' && c != '’';
    let words = text.split(apart).filter(|word| !word.is_empty());
    words.map(lower).collect()
}

fn lower(word: &str) -> Cow<'_, str> {
    match word.is_ascii() {
        true if word.bytes().all(|byte| !byte.is_ascii_uppercase()) => word.into(),
        true => word.to_ascii_lowercase().into(),
        false => word.to_lowercase().replace('’', "'").into(),
    }
}

fn without_courtesies<'w, 't>(mut words: &'w [Cow<'t, str>]) -> &'w [Cow<'t, str>] {
    // "tell me about" asks, "tell me" alone is polite.
    while !starts_with_phrase(words, "tell me about") {
        let len = |phrase: &&str| phrase.split(' ').count();
        let known = |phrase: &&&str| starts_with_phrase(words, phrase) && words.len() > len(phrase);
        match COURTESIES.iter().find(known) {
            Some(phrase) => words = &words[len(phrase)..],
            None => break,
        }
    }
    words
}

pub(crate) fn starts_with_phrase(words: &[Cow<'_, str>], phrase: &str) -> bool {
    let mut words = words.iter();
    phrase
        .split(' ')
        .all(|expected| words.next().is_some_and(|word| word == expected))
}

pub(crate) fn contains_phrase(words: &[Cow<'_, str>], phrase: &str) -> bool {
    (0..words.len()).any(|at| starts_with_phrase(&words[at..], phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intent_is_detected_from_wording() {
        let cases = [
            ("What is Newton's second law?", Intent::Concept),
            ("what’s a mutex", Intent::Concept),
            ("Explain borrow checking", Intent::Concept),
            ("Could you please define entropy?", Intent::Concept),
            ("So please tell me what is entropy", Intent::Concept),
            ("Tell me about wave functions", Intent::Concept),
            ("Show me an example of momentum", Intent::Example),
            ("What is an example of a closure?", Intent::Example),
            ("Demonstrate how a ring buffer wraps", Intent::Example),
            (
                "How do I solve projectile motion problems?",
                Intent::Question,
            ),
            ("How do I calculate net force?", Intent::Question),
            ("Calculate the area under the curve", Intent::Question),
            ("practice problems on matrices", Intent::Question),
            ("What is the exercise of power?", Intent::Concept),
            (
                "Are Christopher Nolan and Sathish Kalathil both film directors?",
                Intent::Mixed,
            ),
            ("Who solves disputes between states?", Intent::Mixed),
            ("snapshot isolation", Intent::Mixed),
            ("please", Intent::Mixed),
            ("", Intent::Mixed),
        ];
        for (question, want) in cases {
            assert_eq!(detect_intent(question), want, "{question}");
        }
    }

    #[test]
    fn every_anywhere_phrase_has_a_keyword() {
        for phrase in [EXAMPLE_ANYWHERE, QUESTION_ANYWHERE, CONCEPT_ANYWHERE].concat() {
            assert!(
                phrase
                    .split(' ')
                    .any(|word| PHRASE_KEYWORDS.contains(&word)),
                "{phrase}"
            );
        }
    }
}
