//! The words of a question: which of them a text has, and how much each counts.
//!
//! A text has a word by any of its terms: a word has one in each language of a store. Function words do not
//! count, unless the question has no others; nor do words that ask for a whole (*main themes*), for no
//! passage answers by having them.
//!
//! Start reading at [`ParsedQuestion::new`].

use std::collections::{BTreeMap, BTreeSet};

use loci_graph::normalise::{is_stop_word, normalise};

/// Makes terms of a text, as those of the question were made.
pub type TermExtractor<'t> = dyn FnMut(&str) -> Vec<String> + 't;

/// Words that put a question and are not stop words.
const QUESTION_VERBS: &[&str] = &[
    "actually",
    "around",
    "calculate",
    "define",
    "describe",
    "discuss",
    "does",
    "example",
    "examples",
    "exactly",
    "explain",
    "find",
    "get",
    "give",
    "got",
    "happen",
    "happened",
    "happens",
    "instead",
    "know",
    "like",
    "list",
    "mean",
    "meaning",
    "means",
    "name",
    "please",
    "really",
    "say",
    "says",
    "show",
    "simply",
    "tell",
    "us",
    "want",
    "what's",
    "whats",
    "work",
    "works",
];
/// Words of questions about a whole store.
const THEMATIC_WORDS: &[&str] = &[
    "across",
    "authors",
    "book",
    "books",
    "central",
    "collection",
    "common",
    "content",
    "contents",
    "corpus",
    "document",
    "documents",
    "emerge",
    "everything",
    "files",
    "general",
    "key",
    "library",
    "main",
    "major",
    "notes",
    "overall",
    "overview",
    "pattern",
    "patterns",
    "recurring",
    "store",
    "subject",
    "subjects",
    "summarise",
    "summarize",
    "summary",
    "text",
    "texts",
    "theme",
    "themes",
    "topic",
    "topics",
    "whole",
];
/// What the rarest word may count more than any other.
const WEIGHT_RATIO_MAX: f32 = 10.0;

/// A term of a question, as an analyser gives it.
#[derive(Clone, Copy, Debug)]
pub struct QuestionTerm<'a> {
    /// The term.
    pub term: &'a str,
    /// The number of its word: terms of one word have one.
    pub position: u32,
    /// The word as it is written.
    pub written: &'a str,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// As it is written.
    pub written: String,
    /// Its terms; a text has the word by any of them.
    pub terms: BTreeSet<String>,
    /// How much it counts, above 0.
    pub weight: f32,
    /// Whether it asks for a whole rather than for something.
    pub is_thematic: bool,
}

/// A question, as its words are searched in texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedQuestion {
    words: Vec<Word>,
    by_term: BTreeMap<String, Vec<usize>>,
}

impl ParsedQuestion {
    /// The words of a question that count, in its order.
    ///
    /// `weight` of a term: how much it counts, such as its inverse document frequency; 0 and less for what no
    /// text has. A word counts as its heaviest term, and no word less than a tenth of another; one that no text
    /// has is as rare as any, so it counts as the heaviest does.
    pub fn new(terms: &[QuestionTerm<'_>], weight: &dyn Fn(&str) -> f32) -> ParsedQuestion {
        let mut all: Vec<(u32, Word)> = Vec::new();
        for term in terms {
            let of_term = weight(term.term).max(0.0);
            match all.iter_mut().find(|(at, _)| *at == term.position) {
                Some((_, word)) => {
                    word.terms.insert(term.term.to_owned());
                    word.weight = word.weight.max(of_term);
                }
                None => all.push((term.position, Word::new(term, of_term))),
            }
        }
        let mut words: Vec<Word> = Vec::new();
        for (_, word) in all {
            if words.iter().all(|known| known.terms != word.terms) {
                words.push(word);
            }
        }
        let counts = |word: &Word| !is_function_word(&word.written);
        if words.iter().any(counts) {
            words.retain(counts);
        }
        let most = words.iter().fold(0.0, |most, word| word.weight.max(most));
        let most = if most > 0.0 { most } else { 1.0 };
        let mut by_term: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, word) in words.iter_mut().enumerate() {
            word.weight = if word.weight > 0.0 {
                word.weight.max(most / WEIGHT_RATIO_MAX)
            } else {
                most
            };
            for term in &word.terms {
                by_term.entry(term.clone()).or_default().push(index);
            }
        }
        ParsedQuestion { words, by_term }
    }

    /// The words that count.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Whether it asks for a whole and for nothing in it: *what are the main themes?*
    pub fn is_thematic(&self) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| word.is_thematic)
    }

    /// Numbers of the words that a text with `terms` has, ascending; words that ask for a whole are not found.
    pub fn matched_words<'t>(
        &self,
        terms: impl IntoIterator<Item = &'t String>,
    ) -> BTreeSet<usize> {
        let found = terms.into_iter().filter_map(|term| self.by_term.get(term));
        let found = found.flatten().copied();
        found
            .filter(|&index| !self.words[index].is_thematic)
            .collect()
    }

    /// How much of the question some of its words are, 0..=1, by weight; words that ask for a whole aside.
    pub fn matched_weight(&self, found: &BTreeSet<usize>) -> f32 {
        let counted = self.words.iter().filter(|word| !word.is_thematic);
        let total: f32 = counted.map(|word| word.weight).sum();
        let found: f32 = found.iter().map(|&index| self.words[index].weight).sum();
        if total > 0.0 {
            (found / total).min(1.0)
        } else {
            0.0
        }
    }
}

impl Word {
    fn new(term: &QuestionTerm<'_>, weight: f32) -> Word {
        let is_thematic = THEMATIC_WORDS.contains(&term.written.to_lowercase().as_str());
        Word {
            written: term.written.to_owned(),
            terms: BTreeSet::from([term.term.to_owned()]),
            weight,
            is_thematic,
        }
    }
}

fn is_function_word(written: &str) -> bool {
    let folded = normalise(written);
    is_stop_word(&folded) || QUESTION_VERBS.contains(&written.to_lowercase().as_str())
}

/// A question and an analyser for tests: words in lower case, of equal weight or of that which is given.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) fn terms(text: &str) -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    }

    pub(crate) fn parsed(question: &str, weight: &dyn Fn(&str) -> f32) -> ParsedQuestion {
        let terms = terms(question);
        let numbered = (0u32..).zip(&terms);
        let question_terms: Vec<QuestionTerm<'_>> = numbered
            .map(|(position, term)| QuestionTerm {
                term,
                position,
                written: term,
            })
            .collect();
        ParsedQuestion::new(&question_terms, weight)
    }

    pub(crate) fn parsed_unweighted(question: &str) -> ParsedQuestion {
        parsed(question, &|_| 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{parsed, parsed_unweighted, terms};
    use super::*;

    fn written(question: &ParsedQuestion) -> Vec<&str> {
        question
            .words()
            .iter()
            .map(|word| &word.written[..])
            .collect()
    }

    #[test]
    fn function_words_do_not_count_unless_there_are_no_others() {
        let cases: &[(&str, &[&str])] = &[
            ("What is the water level?", &["water", "level"]),
            ("Explain borrowing, please", &["borrowing"]),
            ("water and water", &["water"]),
            ("to be or not to be", &["to", "be", "or", "not"]),
            ("", &[]),
        ];
        for (question, want) in cases {
            assert_eq!(written(&parsed_unweighted(question)), *want, "{question}");
        }
    }

    #[test]
    fn matched_weight_is_weighted_and_counts_unknown_words() {
        let rare = parsed("river level", &|term| {
            if term == "level" { 100.0 } else { 1.0 }
        });
        let share = |text: &str| rare.matched_weight(&rare.matched_words(&terms(text)));
        assert_eq!(share("the level of the river"), 1.0);
        assert_eq!(share("the level"), 100.0 / 110.0);
        assert_eq!(share("a river"), 10.0 / 110.0);
        assert_eq!(share("nothing of it"), 0.0);
        let unknown = parsed("river level", &|term| {
            if term == "level" { 3.0 } else { 0.0 }
        });
        assert_eq!(
            unknown.matched_weight(&unknown.matched_words(&terms("river"))),
            0.5
        );
    }

    #[test]
    fn word_matches_by_any_of_its_terms() {
        let one = |term| QuestionTerm {
            term,
            position: 0,
            written: "Häuser",
        };
        let question = ParsedQuestion::new(&[one("haus"), one("hauser")], &|_| 1.0);
        assert_eq!(question.words().len(), 1);
        assert_eq!(
            question.matched_words(&terms("hauser")),
            BTreeSet::from([0])
        );
        assert_eq!(question.matched_words(&terms("haus")), BTreeSet::from([0]));
    }

    #[test]
    fn thematic_questions_are_detected() {
        let cases = [
            ("What are the main themes across all books?", true),
            ("Give me an overview", true),
            ("What are the main themes of stoicism?", false),
            ("What is stoicism?", false),
            ("", false),
        ];
        for (question, want) in cases {
            assert_eq!(
                parsed_unweighted(question).is_thematic(),
                want,
                "{question}"
            );
        }
        let question = parsed_unweighted("main themes of stoicism");
        assert_eq!(
            question.matched_weight(&question.matched_words(&terms("stoicism"))),
            1.0
        );
        assert!(question.matched_words(&terms("the main themes")).is_empty());
    }
}
