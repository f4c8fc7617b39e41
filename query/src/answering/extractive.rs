//! An answer made of sentences of the hits, each with its citation: the answer where no generator writes one.
//!
//! Sentences are chosen one after another by maximal marginal relevance (Carbonell, Goldstein, SIGIR 1998): what
//! a sentence has of the question, by weight, words that the answer has already counting less, times how good its hit
//! is; less how much it is like a sentence that is chosen.
//!
//! Always true: every sentence is in the text of a hit, but for white space, which is one space, and for `…` where a
//! sentence had to be cut; its citation's `chars` are those of that very sentence. The answer never costs more
//! than its budget by the counter that it is given. Equal inputs give equal answers.
//!
//! Start reading at [`extractive_answer`].

use std::collections::BTreeSet;

use loci_graph::normalise::is_stop_word;
use loci_index::analysis::untagged;

use crate::answering::question::{ParsedQuestion, TermExtractor};
use crate::cite::Citation;
use crate::sentences::quotable;
use crate::tokens::{self, TokenCounter, fit_to_budget};
use loci_types::answer::AnswerText;

/// Tokens of an answer by default.
pub const ANSWER_TOKENS_DEFAULT: usize = 300;
/// The answer when nothing answers.
pub const NO_ANSWER: &str = "The store has no passage that answers this question.";

/// Hits whose sentences are read, and the best sentences that are compared with each other.
const HITS_MAX: usize = 50;
const CANDIDATES_MAX: usize = 200;
/// Sentences of an answer at most.
const SENTENCES_MAX: usize = 5;
/// How much a word counts that the answer has already.
const REPEAT_WEIGHT: f32 = 0.5;
/// How much relevance counts, and the rest of 1 unlikeness.
const RELEVANCE_WEIGHT: f32 = 0.7;
/// Shared terms, by those of the shorter sentence, from which on one sentence repeats the other.
const DUPLICATE_SIMILARITY_MIN: f32 = 0.8;
/// Share of the best sentence's relevance below which a sentence is not worth telling.
const RELEVANCE_RATIO_MIN: f32 = 0.35;
/// How much a question in the text counts as an answer, and how much what does not end as a sentence does: a row of
/// a table, a line of code, a title.
const QUESTION_WEIGHT: f32 = 0.4;
const FRAGMENT_WEIGHT: f32 = 0.4;
/// Tokens of a sentence beyond which it counts less, by the root of how much longer it is.
const LONG_TOKENS: usize = 60;
/// What a sentence gains that opens its passage, and one that has a word of the question among its first.
const FIRST_SENTENCE_BOOST: f32 = 1.05;
const LEADING_MATCH_BOOST: f32 = 1.15;
const LEADING_WORDS: usize = 3;

/// A hit, as an answer is made of it.
#[derive(Clone, Copy, Debug)]
pub struct AnswerSource<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its location; `chars` are those of the text.
    pub citation: &'a Citation,
    /// Its rank, from 1.
    pub rank: u32,
    /// Its score.
    pub score: f32,
}

/// The answer to a question from `hits`, best first, in `budget` tokens at most.
///
/// Sentences are ordered by the rank of their hit, then as they are read. Where no sentence has a word of the
/// question, the text is [`NO_ANSWER`] (nothing, when that is over the budget) and there are no citations.
///
/// Costs one analysis of the hits' texts, and a comparison of up to 200 sentences with each that is chosen.
pub fn extractive_answer(
    question: &ParsedQuestion,
    hits: &[AnswerSource<'_>],
    terms: &mut TermExtractor<'_>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> AnswerText {
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let mut candidates = Vec::new();
    for (position, hit) in hits.iter().take(HITS_MAX).enumerate() {
        let prior = if best > 0.0 {
            (hit.score / best).clamp(0.0, 1.0)
        } else {
            1.0 / hit.rank.max(1) as f32
        };
        for (at, text) in quotable(hit.text) {
            if is_heading(text, hit.citation) {
                continue;
            }
            let quote = Quote::from_hit(hit, at, text);
            // The beginning of a passage introduces its subject.
            let opens = if at == 0 { FIRST_SENTENCE_BOOST } else { 1.0 };
            let prior = (0.5 + 0.5 * prior) * opens;
            candidates.push(Candidate::new(
                question,
                quote,
                (position, at),
                prior,
                terms,
            ));
        }
    }
    candidates.retain(|candidate| !candidate.matched_words.is_empty());
    let make = |budget_left| {
        let chosen = select_sentences(
            question,
            candidates.clone(),
            budget_left,
            SENTENCES_MAX,
            counter,
        );
        let quotes = chosen.into_iter().map(|candidate| candidate.quote);
        join_quotes(quotes, budget_left, counter)
    };
    fit_to_budget(budget, counter, make, |digest| &digest.text)
}

/// A sentence with its citation.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// The sentence, without line breaks.
    pub text: String,
    /// Its location; `chars` are its own.
    pub citation: Citation,
}

impl Quote {
    /// A sentence with its citation.
    pub fn new(text: &str, citation: Citation) -> Quote {
        Quote {
            text: collapse_whitespace(text),
            citation,
        }
    }

    /// A sentence `text` at the byte `at` of a hit.
    fn from_hit(hit: &AnswerSource<'_>, at: usize, text: &str) -> Quote {
        Quote::new(text, cite_part(hit.citation, hit.text, at, text))
    }

    /// What it costs in an answer: itself and its reference.
    pub(crate) fn tokens(&self, counter: TokenCounter<'_>) -> usize {
        counter(&self.text) + REFERENCE_TOKENS
    }

    /// Its longest beginning of at most `budget` tokens in an answer, cut between words. It is still cited whole.
    fn truncate(&self, budget: usize, counter: TokenCounter<'_>) -> Option<Quote> {
        let ends = self.text.match_indices(' ').map(|(at, _)| at);
        let ends: Vec<usize> = ends.collect();
        let fits = |&end: &usize| {
            let cost = counter(&self.text[..end]);
            cost + CUT_TOKENS + REFERENCE_TOKENS <= budget
        };
        let last = ends.partition_point(fits).checked_sub(1)?;
        Some(Quote {
            text: format!("{}…", &self.text[..ends[last]]),
            citation: self.citation.clone(),
        })
    }
}

/// What `[12]` costs, and what `…` does.
const REFERENCE_TOKENS: usize = 3;
const CUT_TOKENS: usize = 1;

/// The citation of the part of a chunk that starts at the byte `at` of its text. A chunk that does not state which
/// characters it has is cited whole.
fn cite_part(citation: &Citation, whole: &str, at: usize, part: &str) -> Citation {
    let mut citation = citation.clone();
    let (start, end) = citation.chars;
    let len = whole.chars().count() as u64;
    if end.checked_sub(start) == Some(len) {
        let start = start + whole[..at].chars().count() as u64;
        citation.chars = (start, start + part.chars().count() as u64);
    }
    citation
}

/// Whether a sentence of a passage is a heading above it.
fn is_heading(text: &str, citation: &Citation) -> bool {
    let text = collapse_whitespace(text);
    citation
        .path
        .iter()
        .any(|heading| collapse_whitespace(heading) == text)
}

/// `text` with one space for all white space.
fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence that the answer may have.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) quote: Quote,
    /// Words of the question that it has.
    pub(crate) matched_words: BTreeSet<usize>,
    /// Its place in the answer, by its hit and its byte there.
    pub(crate) position: (usize, usize),
    /// Its terms but for stop words.
    terms: BTreeSet<String>,
    prior: f32,
}

impl Candidate {
    pub(crate) fn new(
        question: &ParsedQuestion,
        quote: Quote,
        position: (usize, usize),
        prior: f32,
        terms: &mut TermExtractor<'_>,
    ) -> Candidate {
        let beginning: Vec<&str> = quote.text.split(' ').take(LEADING_WORDS).collect();
        let beginning = terms(&beginning.join(" "));
        let terms = terms(&quote.text);
        let long = tokens::count(&quote.text) as f32 / LONG_TOKENS as f32;
        let mut prior = prior / long.max(1.0).sqrt();
        let trimmed = quote
            .text
            .trim_end_matches(['"', '”', '\'', '’', ')', ']', '*', '_', '`']);
        prior *= match trimmed.chars().next_back() {
            Some('?' | '？') => QUESTION_WEIGHT,
            Some('.' | '!' | '…' | ':' | ';' | '。' | '！') => 1.0,
            _ => FRAGMENT_WEIGHT,
        };
        let matched_words = question.matched_words(&terms);
        if !question.matched_words(&beginning).is_empty() {
            prior *= LEADING_MATCH_BOOST;
        }
        let terms = terms
            .into_iter()
            .filter(|term| !is_stop_word(untagged(term)));
        Candidate {
            quote,
            matched_words,
            position,
            terms: terms.collect(),
            prior,
        }
    }

    /// How much of the question it matches; words in `covered`, which the answer has already, count less. The same for
    /// all sentences if the question asks for a whole.
    pub(crate) fn relevance(&self, question: &ParsedQuestion, covered: &BTreeSet<usize>) -> f32 {
        if question.is_thematic() {
            return self.prior;
        }
        let new: BTreeSet<usize> = self.matched_words.difference(covered).copied().collect();
        let again = question.matched_weight(&self.matched_words) - question.matched_weight(&new);
        self.prior * (question.matched_weight(&new) + REPEAT_WEIGHT * again)
    }

    /// Terms that both have, by those of the shorter: 1 where one has all terms of the other.
    fn similarity(&self, other: &Candidate) -> f32 {
        let shorter = self.terms.len().min(other.terms.len());
        let shared = self.terms.intersection(&other.terms).count();
        shared as f32 / shorter.max(1) as f32
    }

    /// Whether one has no more than the other.
    pub(crate) fn is_duplicate_of(&self, other: &Candidate) -> bool {
        self.similarity(other) >= DUPLICATE_SIMILARITY_MIN
    }
}

/// Up to `count` of `candidates` that cost `budget` at most, by their places.
pub(crate) fn select_sentences(
    question: &ParsedQuestion,
    mut candidates: Vec<Candidate>,
    budget: usize,
    count: usize,
    counter: TokenCounter<'_>,
) -> Vec<Candidate> {
    let nothing = BTreeSet::new();
    let order = |a: &Candidate, b: &Candidate| {
        let (left, right) = (
            a.relevance(question, &nothing),
            b.relevance(question, &nothing),
        );
        right.total_cmp(&left).then(a.position.cmp(&b.position))
    };
    candidates.sort_by(order);
    candidates.truncate(CANDIDATES_MAX);
    let Some(best) = candidates
        .first()
        .map(|best| best.relevance(question, &nothing))
    else {
        return Vec::new();
    };
    let mut chosen: Vec<Candidate> = Vec::new();
    let (mut covered, mut left) = (BTreeSet::new(), budget);
    // The best sentence that is over the budget, if none fits it.
    let over = candidates.first().map(|best| best.quote.clone());
    candidates.retain(|one| one.quote.tokens(counter) <= budget);
    if candidates.is_empty() {
        return truncate_candidate(question, over, budget, counter);
    }
    while chosen.len() < count {
        candidates.retain(|one| {
            one.quote.tokens(counter) <= left
                && chosen.iter().all(|known| !one.is_duplicate_of(known))
        });
        let value = |one: &Candidate| {
            let like = chosen.iter().map(|known| one.similarity(known));
            let like = like.fold(0.0, f32::max);
            RELEVANCE_WEIGHT * one.relevance(question, &covered)
                - (1.0 - RELEVANCE_WEIGHT) * best * like
        };
        let next = (0..candidates.len()).max_by(|&a, &b| {
            let (left, right) = (value(&candidates[a]), value(&candidates[b]));
            left.total_cmp(&right).then(b.cmp(&a))
        });
        let Some(next) = next else { break };
        if !chosen.is_empty()
            && candidates[next].relevance(question, &covered) < RELEVANCE_RATIO_MIN * best
        {
            break;
        }
        let next = candidates.remove(next);
        left -= next.quote.tokens(counter);
        covered.extend(&next.matched_words);
        chosen.push(next);
    }
    chosen.sort_by_key(|candidate| candidate.position);
    chosen
}

/// A sentence that is over the budget, cut.
fn truncate_candidate(
    question: &ParsedQuestion,
    oversized: Option<Quote>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> Vec<Candidate> {
    let cut = oversized.and_then(|quote| quote.truncate(budget, counter));
    let cut = cut.map(|quote| Candidate::new(question, quote, (0, 0), 1.0, &mut |_| Vec::new()));
    cut.into_iter().collect()
}

/// An answer of `quotes`, in this order.
fn join_quotes(
    quotes: impl Iterator<Item = Quote>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> AnswerText {
    let mut answer = AnswerText::default();
    for quote in quotes {
        let gap = if answer.text.is_empty() { "" } else { " " };
        answer.citations.push(quote.citation);
        let reference = answer.citations.len();
        answer.text += &format!("{gap}{} [{reference}]", quote.text);
    }
    if answer.citations.is_empty() {
        no_answer(budget, counter)
    } else {
        answer
    }
}

/// The answer when nothing answers, where it fits the budget.
pub(crate) fn no_answer(budget: usize, counter: TokenCounter<'_>) -> AnswerText {
    let fits = counter(NO_ANSWER) <= budget;
    AnswerText {
        text: if fits {
            NO_ANSWER.into()
        } else {
            String::new()
        },
        citations: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::answering::question::sample::{parsed_unweighted, terms};
    use crate::tokens::estimate;
    use crate::tokens::sample::superadditive_counter;

    fn cited(start: u64, text: &str) -> Citation {
        Citation {
            label: "Page 1".into(),
            chars: (start, start + text.chars().count() as u64),
            ..Citation::default()
        }
    }

    fn answer(question: &str, texts: &[&str], budget: usize) -> AnswerText {
        answer_by(question, texts, budget, &estimate)
    }

    /// An answer from texts of one document, a character apart.
    fn answer_by(
        question: &str,
        texts: &[&str],
        budget: usize,
        counter: TokenCounter<'_>,
    ) -> AnswerText {
        let mut start = 0;
        let mut citations = Vec::new();
        for text in texts {
            citations.push(cited(start, text));
            start += text.chars().count() as u64 + 1;
        }
        let hits = (1u32..).zip(texts).zip(&citations);
        let hits: Vec<AnswerSource<'_>> = hits
            .map(|((rank, text), citation)| AnswerSource {
                text,
                citation,
                rank,
                score: 1.0 / rank as f32,
            })
            .collect();
        extractive_answer(
            &parsed_unweighted(question),
            &hits,
            &mut terms,
            budget,
            counter,
        )
    }

    #[test]
    fn sentences_matching_most_of_the_question_are_selected() {
        let cases: &[(&str, &str, &[&str], usize, &str)] = &[
            (
                "one sentence of many",
                "When does the river rise?",
                &["Lakes are deep and cold. The river will rise in spring. Fish like it."],
                300,
                "The river will rise in spring. [1]",
            ),
            (
                "two sentences for two halves, by hit",
                "river delta, glacier valley",
                &[
                    "A glacier carves a wide valley.",
                    "The river builds a delta there.",
                ],
                300,
                "A glacier carves a wide valley. [1] The river builds a delta there. [2]",
            ),
            (
                "the same said twice is told once",
                "river delta",
                &[
                    "The river builds a delta.",
                    "As we said, the river builds a delta.",
                ],
                300,
                "The river builds a delta. [1]",
            ),
            (
                "a question in the text is no answer",
                "river delta",
                &["Does the river build a delta? Sand makes a delta of a river mouth."],
                300,
                "Sand makes a delta of a river mouth. [1]",
            ),
            (
                "what is over the budget is left out",
                "river delta, glacier valley",
                &[
                    "A glacier carves a wide valley.",
                    "The river builds a delta there.",
                ],
                15,
                "A glacier carves a wide valley. [1]",
            ),
            (
                "one that is too long is cut",
                "river",
                &["The river goes a long way down to the sea in the west."],
                10,
                "The river goes a long way… [1]",
            ),
            (
                "line breaks are spaces",
                "river delta",
                &["The river\nbuilds a delta."],
                300,
                "The river builds a delta. [1]",
            ),
        ];
        for (name, question, texts, budget, want) in cases {
            assert_eq!(answer(question, texts, *budget).text, *want, "{name}");
        }
    }

    #[test]
    fn citation_covers_only_the_quoted_sentence() {
        let texts = [
            "Önly this. Nothing of it here.",
            "Größe zählt. The delta of a river grows.",
        ];
        let answer = answer("river delta", &texts, 300);
        let document: Vec<char> = texts.join(" ").chars().collect();
        let (start, end) = answer.citations[0].chars;
        let quoted_text: String = document[start as usize..end as usize].iter().collect();
        assert_eq!(quoted_text, "The delta of a river grows.");
        assert_eq!(answer.citations[0].label, "Page 1");
    }

    #[test]
    fn sentences_rank_above_headings_and_fragments() {
        let citation = Citation {
            path: vec!["Rivers".into(), "2.1 The river delta".into()],
            ..Citation::default()
        };
        let hit = AnswerSource {
            text: "2.1 The river delta\n\n| river | delta | sand |\n\nA delta is made by a river.",
            citation: &citation,
            rank: 1,
            score: 1.0,
        };
        let answer = extractive_answer(
            &parsed_unweighted("river delta"),
            &[hit],
            &mut terms,
            300,
            &estimate,
        );
        assert_eq!(answer.text, "A delta is made by a river. [1]");
    }

    #[test]
    fn chunk_without_offsets_is_cited_whole() {
        let citation = Citation::default();
        let hit = AnswerSource {
            text: "Lakes are deep. The river rises.",
            citation: &citation,
            rank: 1,
            score: 0.0,
        };
        let answer = extractive_answer(
            &parsed_unweighted("river"),
            &[hit],
            &mut terms,
            300,
            &estimate,
        );
        assert_eq!(answer.text, "The river rises. [1]");
        assert_eq!(answer.citations[0].chars, (0, 0));
    }

    #[test]
    fn no_answer_text_is_returned_when_nothing_matches() {
        for texts in [&[][..], &["Lakes are deep and cold."]] {
            let answer = answer("What is a volcano?", texts, 300);
            assert_eq!(answer.text, NO_ANSWER);
            assert!(answer.citations.is_empty());
        }
        assert_eq!(answer("volcano", &[], 3).text, "");
    }

    /// The answer without its references.
    fn sentences_of(answer: &AnswerText) -> Vec<String> {
        let mut rest = &answer.text[..];
        let mut all = Vec::new();
        for reference in 1..=answer.citations.len() {
            let (sentence, after) = rest.split_once(&format!(" [{reference}]")).unwrap();
            all.push(sentence.trim_start().to_owned());
            rest = after;
        }
        assert_eq!(rest, "");
        all
    }

    proptest! {
        #[test]
        fn answers_keep_to_the_budget_and_to_the_texts(
            texts in prop::collection::vec("([A-D][a-d]{0,3}( [a-d]{1,3}){1,8}[.?] ?){0,4}", 0..5),
            question in "[a-d]{1,2}( [a-d]{1,2}){0,4}",
            budget in 0usize..60,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let answered = answer(&question, &texts, budget);
            prop_assert!(estimate(&answered.text) <= budget);
            let by_another = answer_by(&question, &texts, budget, &superadditive_counter);
            prop_assert!(superadditive_counter(&by_another.text) <= budget);
            prop_assert_eq!(&answered, &answer(&question, &texts, budget));
            let document: Vec<char> = texts.join("\n").chars().collect();
            if answered.citations.is_empty() {
                return Ok(());
            }
            for (sentence, citation) in sentences_of(&answered).iter().zip(&answered.citations) {
                let (start, end) = citation.chars;
                let there: String = document[start as usize..end as usize].iter().collect();
                let sentence = sentence.trim_end_matches('…');
                prop_assert!(there == sentence || there.starts_with(sentence), "{} / {}", there, sentence);
            }
        }
    }
}
