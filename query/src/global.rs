//! An answer to a question about the whole store, from the digests of its communities: each says what it has to
//! say ([`map`]), and what is relevant of that becomes one answer ([`reduce`]).
//!
//! Always true, as of [`digest`](mod@crate::extractive): sentences of documents with their citations, within the budget.
//!
//! Start reading at [`map`].

use std::collections::BTreeSet;

use crate::answer::Digest;
use crate::extractive::{Candidate, Quote, choose, no_answer};
use crate::question::{Asked, Terms};
use crate::tokens::{Counter, within};

/// Communities that are asked.
pub const COMMUNITIES: usize = 5;
/// Tokens of what one community says, and of the answer.
pub const MAP_TOKENS: usize = 300;
/// See [`MAP_TOKENS`].
pub const REDUCE_TOKENS: usize = 500;

/// Sentences that one community says at most, and an answer has of it.
const POINTS_MAX: usize = 5;
/// What a sentence counts that names nothing of the question, in a community that does.
const BESIDE: f32 = 0.5;
/// How much later communities count for a question about a whole: each so much of the one before.
const LATER: f32 = 0.95;

/// What is known of a community.
#[derive(Clone, Debug)]
pub struct Community<'a> {
    /// What a reader calls it: its first members.
    pub title: &'a str,
    /// What else it is about: members, relations.
    pub about: &'a str,
    /// Sentences of documents that say most of it.
    pub quotes: Vec<Quote>,
}

/// What one community has to say about a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// What a reader calls the community.
    pub title: String,
    /// Sentences, in the order of its digest.
    pub points: Vec<Quote>,
    /// How much of the question it speaks of, above 0 to 100.
    pub score: f32,
}

/// What `community` has to say, in `budget` tokens at most; `None` when it is not relevant: neither its
/// sentences nor what it is about have a word of the question that counts, or it has no sentence. To a question about a
/// whole ([`Asked::is_thematic`]) every community is relevant, with a score of 100.
///
/// Costs one analysis of the digest.
pub fn map(
    asked: &Asked,
    community: &Community<'_>,
    terms: &mut Terms<'_>,
    budget: usize,
    counter: Counter<'_>,
) -> Option<Partial> {
    let about = terms(&format!("{}. {}", community.title, community.about));
    let mut found = asked.found(&about);
    let quotes = community.quotes.iter().cloned().enumerate();
    let candidates: Vec<Candidate> = quotes
        .map(|(place, quote)| Candidate::new(asked, quote, (0, place), 1.0, terms))
        .collect();
    found.extend(candidates.iter().flat_map(|one| one.found.iter().copied()));
    let score = if asked.is_thematic() {
        100.0
    } else {
        100.0 * asked.share(&found)
    };
    if score <= 0.0 {
        return None;
    }
    let speaks = |one: &Candidate| asked.is_thematic() || !one.found.is_empty();
    let (speaking, beside): (Vec<_>, Vec<_>) = candidates.into_iter().partition(speaks);
    // A community may be about what is asked without a sentence that names it.
    let (quoted, score) = if speaking.is_empty() {
        (first(beside, budget, counter), BESIDE * score)
    } else {
        (choose(asked, speaking, budget, POINTS_MAX, counter), score)
    };
    let points: Vec<Quote> = quoted.into_iter().map(|one| one.quote).collect();
    (!points.is_empty()).then(|| Partial {
        title: community.title.to_owned(),
        points,
        score,
    })
}

/// The first of `candidates`, where the budget has room.
fn first(candidates: Vec<Candidate>, budget: usize, counter: Counter<'_>) -> Vec<Candidate> {
    let mut candidates = candidates.into_iter();
    let first = candidates.find(|one| one.quote.tokens(counter) <= budget);
    first.into_iter().collect()
}

/// The answer from what communities say, in `budget` tokens at most: a paragraph each, led by its title, the
/// highest score first, ties as given. Each has its first say before any has a second; what another says already
/// is not said again.
///
/// Costs one analysis of the points and a comparison of each with those that are chosen.
pub fn reduce(
    asked: &Asked,
    partials: &[Partial],
    terms: &mut Terms<'_>,
    budget: usize,
    counter: Counter<'_>,
) -> Digest {
    let mut order: Vec<&Partial> = partials.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    let paragraphs: Vec<Paragraph<'_>> = order
        .into_iter()
        .enumerate()
        .map(|(place, partial)| Paragraph::new(asked, partial, place, terms))
        .collect();
    let make = |room| {
        let mut paragraphs = paragraphs.clone();
        share_out(&mut paragraphs, room, counter);
        told(paragraphs, room, counter)
    };
    within(budget, counter, make, |digest| &digest.text)
}

/// Gives each paragraph a say, then each a second, as long as there is room.
fn share_out(paragraphs: &mut [Paragraph<'_>], room: usize, counter: Counter<'_>) {
    let mut left = room;
    for _ in 0..POINTS_MAX {
        for at in 0..paragraphs.len() {
            let said: Vec<&Candidate> = paragraphs.iter().flat_map(|of| &of.told).collect();
            let paragraph = &paragraphs[at];
            let heading = if paragraph.told.is_empty() {
                counter(&paragraph.heading())
            } else {
                0
            };
            let next = paragraph.waiting.iter().position(|one| {
                one.quote.tokens(counter) + heading <= left
                    && said.iter().all(|known| !one.repeats(known))
            });
            if let Some(next) = next {
                let next = paragraphs[at].waiting.remove(next);
                left -= next.quote.tokens(counter) + heading;
                paragraphs[at].told.push(next);
            }
        }
    }
}

/// What a community says in an answer, and what it might.
#[derive(Clone)]
struct Paragraph<'p> {
    title: &'p str,
    told: Vec<Candidate>,
    /// Best first.
    waiting: Vec<Candidate>,
}

impl Paragraph<'_> {
    fn new<'p>(
        asked: &Asked,
        partial: &'p Partial,
        place: usize,
        terms: &mut Terms<'_>,
    ) -> Paragraph<'p> {
        let prior = LATER.powi(place as i32);
        let points = partial.points.iter().cloned().enumerate();
        let mut waiting: Vec<Candidate> = points
            .map(|(at, quote)| Candidate::new(asked, quote, (place, at), prior, terms))
            .collect();
        let nothing = BTreeSet::new();
        waiting.sort_by(|a, b| {
            let (left, right) = (a.relevance(asked, &nothing), b.relevance(asked, &nothing));
            right.total_cmp(&left).then(a.place.cmp(&b.place))
        });
        Paragraph {
            title: &partial.title,
            told: Vec::new(),
            waiting,
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

fn told(paragraphs: Vec<Paragraph<'_>>, budget: usize, counter: Counter<'_>) -> Digest {
    let mut answer = Digest::default();
    for mut paragraph in paragraphs {
        if paragraph.told.is_empty() {
            continue;
        }
        if !answer.text.is_empty() {
            answer.text.push_str("\n\n");
        }
        answer.text.push_str(&paragraph.heading());
        paragraph.told.sort_by_key(|one| one.place);
        let count = paragraph.told.len();
        for (at, one) in paragraph.told.into_iter().enumerate() {
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
    use crate::cite::Citation;
    use crate::question::sample::{plain, terms};
    use crate::tokens::estimate;
    use crate::tokens::sample::jealous;

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

    fn ask(question: &str, communities: &[Community<'_>], budget: usize) -> Digest {
        ask_by(question, communities, budget, &estimate)
    }

    fn ask_by(
        question: &str,
        communities: &[Community<'_>],
        budget: usize,
        counter: Counter<'_>,
    ) -> Digest {
        let asked = plain(question);
        let partials = communities
            .iter()
            .filter_map(|one| map(&asked, one, &mut terms, MAP_TOKENS, counter));
        let partials: Vec<Partial> = partials.collect();
        reduce(&asked, &partials, &mut terms, budget, counter)
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
        let asked = plain("How does the river shape valleys?");
        let scores: Vec<Option<f32>> = communities()
            .iter()
            .map(|one| map(&asked, one, &mut terms, 300, &estimate).map(|partial| partial.score))
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
        let asked = plain("delta");
        let partial = map(&asked, &about, &mut terms, 300, &estimate).unwrap();
        assert_eq!(partial.score, 50.0);
        assert_eq!(partial.points.len(), 1);
        assert_eq!(
            map(&asked, &community("delta", &[]), &mut terms, 300, &estimate),
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
            let by_another = ask_by(&question, &communities, budget, &jealous);
            prop_assert!(jealous(&by_another.text) <= budget);
            for citation in &answer.citations {
                prop_assert!(answer.text.contains(&citation.label[..]));
            }
        }
    }
}
