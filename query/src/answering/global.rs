//! An answer to a question about the whole store, from the digests of its communities: each gives what answers
//! ([`map`]), and what is relevant of that becomes one answer ([`reduce`]).
//!
//! Always true, as of [`digest`](mod@crate::answering::extractive): sentences of documents with their citations, within the budget.
//!
//! Start reading at [`map`].

use std::collections::BTreeSet;

use crate::answering::extractive::{Candidate, Quote, no_answer, select_sentences};
use crate::answering::question::{ParsedQuestion, TermExtractor};
use crate::tokens::{TokenCounter, fit_to_budget};
use loci_types::answer::AnswerText;

/// Communities that are asked.
pub const COMMUNITIES: usize = 5;
/// Tokens of the answer of one community, and of the whole.
pub const MAP_TOKENS: usize = 300;
/// See [`MAP_TOKENS`].
pub const REDUCE_TOKENS: usize = 500;

/// Sentences of one community at most, and those that an answer has of it.
const POINTS_MAX: usize = 5;
/// What a sentence counts that names nothing of the question, in a community that does.
const NO_MATCH_WEIGHT: f32 = 0.5;
/// How much later communities count for a question about a whole: each so much of the one before.
const COMMUNITY_DECAY: f32 = 0.95;

/// What is known of a community.
#[derive(Clone, Debug)]
pub struct Community<'a> {
    /// What a reader calls it: its first members.
    pub title: &'a str,
    /// What else it is about: members, relations.
    pub about: &'a str,
    /// Sentences of documents that name most of its members.
    pub quotes: Vec<Quote>,
}

/// What one community answers to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialAnswer {
    /// What a reader calls the community.
    pub title: String,
    /// Sentences, in the order of its digest.
    pub points: Vec<Quote>,
    /// How much of the question it covers, above 0 to 100.
    pub score: f32,
}

/// What `community` answers, in `budget` tokens at most; `None` when it is not relevant: neither its
/// sentences nor what it is about have a word of the question that counts, or it has no sentence. To a question about a
/// whole ([`ParsedQuestion::is_thematic`]) every community is relevant, with a score of 100.
///
/// Costs one analysis of the digest.
pub fn map(
    question: &ParsedQuestion,
    community: &Community<'_>,
    terms: &mut TermExtractor<'_>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> Option<PartialAnswer> {
    let about = terms(&format!("{}. {}", community.title, community.about));
    let mut found = question.matched_words(&about);
    let quotes = community.quotes.iter().cloned().enumerate();
    let candidates: Vec<Candidate> = quotes
        .map(|(place, quote)| Candidate::new(question, quote, (0, place), 1.0, terms))
        .collect();
    found.extend(
        candidates
            .iter()
            .flat_map(|one| one.matched_words.iter().copied()),
    );
    let score = if question.is_thematic() {
        100.0
    } else {
        100.0 * question.matched_weight(&found)
    };
    if score <= 0.0 {
        return None;
    }
    let is_match = |one: &Candidate| question.is_thematic() || !one.matched_words.is_empty();
    let (matching, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_match);
    // A community may be about what is asked without a sentence that names it.
    let (quoted, score) = if matching.is_empty() {
        (
            first_fitting(others, budget, counter),
            NO_MATCH_WEIGHT * score,
        )
    } else {
        (
            select_sentences(question, matching, budget, POINTS_MAX, counter),
            score,
        )
    };
    let points: Vec<Quote> = quoted.into_iter().map(|one| one.quote).collect();
    (!points.is_empty()).then(|| PartialAnswer {
        title: community.title.to_owned(),
        points,
        score,
    })
}

/// The first of `candidates` that fits the budget.
fn first_fitting(
    candidates: Vec<Candidate>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> Vec<Candidate> {
    let mut candidates = candidates.into_iter();
    let first = candidates.find(|one| one.quote.tokens(counter) <= budget);
    first.into_iter().collect()
}

/// The answer from those of communities, in `budget` tokens at most: a paragraph each, led by its title, the
/// highest score first, ties as given. Each has its first sentence before any has a second; what another has already
/// is not repeated.
///
/// Costs one analysis of the points and a comparison of each with those that are chosen.
pub fn reduce(
    question: &ParsedQuestion,
    partials: &[PartialAnswer],
    terms: &mut TermExtractor<'_>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> AnswerText {
    let mut order: Vec<&PartialAnswer> = partials.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    let paragraphs: Vec<Paragraph<'_>> = order
        .into_iter()
        .enumerate()
        .map(|(place, partial)| Paragraph::new(question, partial, place, terms))
        .collect();
    let make = |budget_left| {
        let mut paragraphs = paragraphs.clone();
        distribute_budget(&mut paragraphs, budget_left, counter);
        join_paragraphs(paragraphs, budget_left, counter)
    };
    fit_to_budget(budget, counter, make, |digest| &digest.text)
}

/// Gives each paragraph a sentence, then each a second, as long as they fit.
fn distribute_budget(paragraphs: &mut [Paragraph<'_>], limit: usize, counter: TokenCounter<'_>) {
    let mut left = limit;
    for _ in 0..POINTS_MAX {
        for at in 0..paragraphs.len() {
            let selected: Vec<&Candidate> = paragraphs.iter().flat_map(|of| &of.selected).collect();
            let paragraph = &paragraphs[at];
            let heading = if paragraph.selected.is_empty() {
                counter(&paragraph.heading())
            } else {
                0
            };
            let next = paragraph.remaining.iter().position(|one| {
                one.quote.tokens(counter) + heading <= left
                    && selected.iter().all(|known| !one.is_duplicate_of(known))
            });
            if let Some(next) = next {
                let next = paragraphs[at].remaining.remove(next);
                left -= next.quote.tokens(counter) + heading;
                paragraphs[at].selected.push(next);
            }
        }
    }
}

/// The sentences of a community in an answer, and those that may be added.
#[derive(Clone)]
struct Paragraph<'p> {
    title: &'p str,
    selected: Vec<Candidate>,
    /// Best first.
    remaining: Vec<Candidate>,
}

impl Paragraph<'_> {
    fn new<'p>(
        question: &ParsedQuestion,
        partial: &'p PartialAnswer,
        place: usize,
        terms: &mut TermExtractor<'_>,
    ) -> Paragraph<'p> {
        let prior = COMMUNITY_DECAY.powi(place as i32);
        let points = partial.points.iter().cloned().enumerate();
        let mut remaining: Vec<Candidate> = points
            .map(|(at, quote)| Candidate::new(question, quote, (place, at), prior, terms))
            .collect();
        let nothing = BTreeSet::new();
        remaining.sort_by(|a, b| {
            let (left, right) = (
                a.relevance(question, &nothing),
                b.relevance(question, &nothing),
            );
            right.total_cmp(&left).then(a.position.cmp(&b.position))
        });
        Paragraph {
            title: &partial.title,
            selected: Vec::new(),
            remaining,
        }
    }

    fn heading(&self) -> String {
        if self.title.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.title)
        }
    }
}

fn join_paragraphs(
    paragraphs: Vec<Paragraph<'_>>,
    budget: usize,
    counter: TokenCounter<'_>,
) -> AnswerText {
    let mut answer = AnswerText::default();
    for mut paragraph in paragraphs {
        if paragraph.selected.is_empty() {
            continue;
        }
        if !answer.text.is_empty() {
            answer.text.push_str("\n\n");
        }
        answer.text.push_str(&paragraph.heading());
        paragraph.selected.sort_by_key(|one| one.position);
        let count = paragraph.selected.len();
        for (at, one) in paragraph.selected.into_iter().enumerate() {
            answer.citations.push(one.quote.citation);
            let reference = answer.citations.len();
            let gap = if at + 1 < count { " " } else { "" };
            answer.text += &format!("{} [{reference}]{gap}", one.quote.text);
        }
    }
    if answer.citations.is_empty() {
        no_answer(budget, counter)
    } else {
        answer
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::answering::question::sample::{parsed_unweighted, terms};
    use crate::cite::Citation;
    use crate::tokens::estimate;
    use crate::tokens::sample::superadditive_counter;

    fn quote(text: &str) -> Quote {
        Quote {
            text: text.into(),
            citation: Citation {
                label: text.into(),
                ..Citation::default()
            },
        }
    }

    fn community<'a>(title: &'a str, sentences: &[&str]) -> Community<'a> {
        Community {
            title,
            about: "",
            quotes: sentences.iter().map(|text| quote(text)).collect(),
        }
    }

    fn ask(question: &str, communities: &[Community<'_>], budget: usize) -> AnswerText {
        ask_by(question, communities, budget, &estimate)
    }

    fn ask_by(
        question: &str,
        communities: &[Community<'_>],
        budget: usize,
        counter: TokenCounter<'_>,
    ) -> AnswerText {
        let parsed = parsed_unweighted(question);
        let partials = communities
            .iter()
            .filter_map(|one| map(&parsed, one, &mut terms, MAP_TOKENS, counter));
        let partials: Vec<PartialAnswer> = partials.collect();
        reduce(&parsed, &partials, &mut terms, budget, counter)
    }

    fn communities() -> Vec<Community<'static>> {
        vec![
            community(
                "river",
                &["Rivers carry sand to a delta.", "A river rises in spring."],
            ),
            community(
                "glacier",
                &["A glacier carves valleys.", "Ice melts into the river."],
            ),
            community("volcano", &["Lava is molten rock."]),
        ]
    }

    #[test]
    fn irrelevant_communities_are_dropped() {
        let question = parsed_unweighted("How does the river shape valleys?");
        let scores: Vec<Option<f32>> = communities()
            .iter()
            .map(|one| map(&question, one, &mut terms, 300, &estimate).map(|partial| partial.score))
            .collect();
        // river of river, shape, valleys; both river and valleys; nothing
        assert_eq!(scores[2], None);
        assert!(scores[1] > scores[0], "{scores:?}");
    }

    #[test]
    fn thematic_question_matches_every_community() {
        let answer = ask("What are the main themes?", &communities(), 500);
        assert_eq!(
            answer.text,
            "river: Rivers carry sand to a delta. [1] A river rises in spring. [2]\n\n\
             glacier: A glacier carves valleys. [3] Ice melts into the river. [4]\n\n\
             volcano: Lava is molten rock. [5]"
        );
        assert_eq!(answer.citations[4].label, "Lava is molten rock.");
    }

    #[test]
    fn every_community_is_quoted_once_before_any_twice() {
        let answer = ask("What are the main themes?", &communities(), 33);
        assert_eq!(
            answer.text,
            "river: Rivers carry sand to a delta. [1]\n\n\
             glacier: A glacier carves valleys. [2]\n\n\
             volcano: Lava is molten rock. [3]"
        );
    }

    #[test]
    fn community_matches_by_description_without_a_matching_sentence() {
        let about = Community {
            about: "delta IS_PART_OF river",
            ..community("mouth", &["Sand settles where the water slows."])
        };
        let question = parsed_unweighted("delta");
        let partial = map(&question, &about, &mut terms, 300, &estimate).unwrap();
        assert_eq!(partial.score, 50.0);
        assert_eq!(partial.points.len(), 1);
        assert_eq!(
            map(
                &question,
                &community("delta", &[]),
                &mut terms,
                300,
                &estimate
            ),
            None
        );
    }

    #[test]
    fn shared_quote_appears_once() {
        let twice = [
            community("river", &["A river rises in spring."]),
            community("spring", &["A river rises in spring."]),
        ];
        let answer = ask("river", &twice, 500);
        assert_eq!(answer.text, "river: A river rises in spring. [1]");
    }

    #[test]
    fn no_answer_text_is_returned_when_nothing_is_relevant() {
        let answer = ask("What is a neutrino?", &communities(), 500);
        assert_eq!(answer, no_answer(500, &estimate));
    }

    proptest! {
        #[test]
        fn answers_keep_to_the_budget(
            all in prop::collection::vec(
                ("[a-c]{1,3}", prop::collection::vec("[a-d]{1,2}( [a-d]{1,2}){2,6}\\.", 0..4)), 0..5),
            question in "(main themes|[a-d]( [a-d]){0,2})",
            budget in 0usize..80,
        ) {
            let communities: Vec<Community<'_>> = all
                .iter()
                .map(|(title, quotes)| Community {
                    title,
                    about: "",
                    quotes: quotes.iter().map(|text| quote(text)).collect(),
                })
                .collect();
            let answer = ask(&question, &communities, budget);
            prop_assert!(estimate(&answer.text) <= budget, "{}", answer.text);
            let by_another = ask_by(&question, &communities, budget, &superadditive_counter);
            prop_assert!(superadditive_counter(&by_another.text) <= budget);
            for citation in &answer.citations {
                prop_assert!(answer.text.contains(&citation.label[..]));
            }
        }
    }
}
