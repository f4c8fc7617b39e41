//! How well hits cover a question: a score, and what is missing.
//!
//! The critic checks what the hits contain, not what is true: it searches them for the words and concepts of the question.
//! Hits that express the same in other words cover less here than they do for a reader.
//!
//! Start reading at [`critique`].

use std::collections::BTreeSet;

pub use loci_types::answer::{Critique, PARTIAL_MIN, Part, PartKind, SUFFICIENT_MIN, Verdict};

use crate::answering::question::{ParsedQuestion, TermExtractor};

/// A part of the question, and the hits that have it.
struct WeightedPart {
    part: Part,
    /// Terms for each of which there must be one in the text: one set a word.
    terms: Vec<BTreeSet<String>>,
}

impl WeightedPart {
    fn is_mentioned_in(&self, text: &BTreeSet<String>) -> bool {
        !self.terms.is_empty() && self.terms.iter().all(|word| !word.is_disjoint(text))
    }
}

/// How well `hits`, best first, cover a question; `concepts`: names of those that it names.
///
/// A word counts by its weight, a concept as the heaviest word does; a concept that has no more than the words
/// of the question do is not counted twice. A question that asks for a whole, and one in which no word counts,
/// is covered by any hit. Without hits the score is 0.
///
/// Costs one analysis of the hits' texts.
pub fn critique(
    asked: &ParsedQuestion,
    concepts: &[&str],
    hits: &[&str],
    terms: &mut TermExtractor<'_>,
) -> Critique {
    let mut items = weighted_parts(asked, concepts, terms);
    let total: f32 = items.iter().map(|item| item.part.weight).sum();
    let mut best = 0.0f32;
    for (rank, text) in (1u32..).zip(hits) {
        let text: BTreeSet<String> = terms(text).into_iter().collect();
        let mut mentioned = 0.0;
        for item in &mut items {
            if item.is_mentioned_in(&text) {
                item.part.hits.push(rank);
                mentioned += item.part.weight;
            }
        }
        best = best.max(mentioned);
    }
    let found = items.iter().filter(|item| !item.part.hits.is_empty());
    let union: f32 = found.map(|item| item.part.weight).sum();
    let score = match (hits.is_empty(), total > 0.0) {
        (true, _) => 0.0,
        (false, true) => ((union + best) / (2.0 * total)).min(1.0),
        (false, false) => 1.0,
    };
    let parts: Vec<Part> = items
        .into_iter()
        .map(|WeightedPart { part, .. }| Part {
            weight: part.weight / total,
            ..part
        })
        .collect();
    Critique {
        score,
        verdict: Verdict::of(score),
        missing: missing_parts(&parts),
        parts,
    }
}

fn weighted_parts(
    question: &ParsedQuestion,
    concepts: &[&str],
    terms: &mut TermExtractor<'_>,
) -> Vec<WeightedPart> {
    let item = |name: &str, kind, weight, terms| WeightedPart {
        part: Part {
            name: name.to_owned(),
            kind,
            weight,
            hits: Vec::new(),
        },
        terms,
    };
    let words = question.words().iter().filter(|word| !word.is_thematic);
    let mut items: Vec<WeightedPart> = words
        .map(|word| {
            let terms = vec![word.terms.clone()];
            item(&word.written, PartKind::Word, word.weight, terms)
        })
        .collect();
    let known: BTreeSet<String> = items
        .iter()
        .flat_map(|item| item.terms[0].clone())
        .collect();
    let weights = items.iter().map(|item| item.part.weight);
    let heaviest = weights.fold(0.0, f32::max);
    let heaviest = if heaviest > 0.0 { heaviest } else { 1.0 };
    for name in concepts {
        let words = name.split_whitespace().map(|word| terms(word).into_iter());
        let words = words.map(|terms| terms.collect::<BTreeSet<String>>());
        let of_name: Vec<_> = words.filter(|terms| !terms.is_empty()).collect();
        let is_covered = of_name.iter().all(|terms| !terms.is_disjoint(&known));
        let again = items.iter().any(|item| item.part.name == *name);
        if !is_covered && !again {
            items.push(item(name, PartKind::Concept, heaviest, of_name));
        }
    }
    items
}

/// Names of parts that no hit mentions; a word that is written in several parts is missing when all of them are.
fn missing_parts(parts: &[Part]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for part in parts {
        let mut same = parts.iter().filter(|other| other.name == part.name);
        if same.all(|same| same.hits.is_empty()) && !missing.contains(&part.name) {
            missing.push(part.name.clone());
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answering::question::sample::{parsed, parsed_unweighted, terms};

    fn judge(question: &str, concepts: &[&str], hits: &[&str]) -> Critique {
        critique(&parsed_unweighted(question), concepts, hits, &mut terms)
    }

    #[test]
    fn score_reflects_coverage_and_proximity() {
        let cases: &[(&str, &str, &[&str], f32, Verdict, &[&str])] = &[
            (
                "all in one hit",
                "river delta",
                &["A river has a delta."],
                1.0,
                Verdict::Sufficient,
                &[],
            ),
            (
                "all, but apart",
                "river delta",
                &["A river.", "A delta."],
                0.75,
                Verdict::Sufficient,
                &[],
            ),
            (
                "half of it",
                "river delta",
                &["A river.", "Rivers and more."],
                0.5,
                Verdict::Partial,
                &["delta"],
            ),
            (
                "a third",
                "river delta sand",
                &["A river."],
                1.0 / 3.0,
                Verdict::Insufficient,
                &["delta", "sand"],
            ),
            (
                "no hit",
                "river delta",
                &[],
                0.0,
                Verdict::Insufficient,
                &["river", "delta"],
            ),
            (
                "a whole is covered by any hit",
                "What are the main themes?",
                &["A river."],
                1.0,
                Verdict::Sufficient,
                &[],
            ),
            (
                "nothing asked",
                "",
                &["A river."],
                1.0,
                Verdict::Sufficient,
                &[],
            ),
            ("nothing at all", "", &[], 0.0, Verdict::Insufficient, &[]),
        ];
        for (name, question, hits, score, verdict, missing) in cases {
            let got = judge(question, &[], hits);
            assert!((got.score - score).abs() < 1e-6, "{name}: {}", got.score);
            assert_eq!(got.verdict, *verdict, "{name}");
            assert_eq!(got.missing, *missing, "{name}");
        }
    }

    #[test]
    fn concepts_count_when_words_do_not_cover_them() {
        let got = judge(
            "nn training",
            &["neural network", "training"],
            &["A neural network is fitted.", "Training of networks."],
        );
        let names: Vec<&str> = got.parts.iter().map(|part| &part.name[..]).collect();
        assert_eq!(names, ["nn", "training", "neural network"]);
        assert_eq!(got.missing, ["nn"]);
        assert_eq!(got.parts[2].hits, [1]);
        assert_eq!(got.parts[2].kind, PartKind::Concept);
    }

    #[test]
    fn rare_words_count_more() {
        let weigh = |term: &str| if term == "delta" { 9.0 } else { 1.0 };
        let question = parsed("river delta", &weigh);
        let with = |text: &str| critique(&question, &[], &[text], &mut terms).score;
        assert!((with("a delta") - 0.9).abs() < 1e-6);
        assert!((with("a river") - 0.1).abs() < 1e-6);
    }

    #[test]
    fn critique_round_trips_through_json() {
        let critique = judge("river delta", &["sea"], &["A river."]);
        let json = serde_json::to_string(&critique).unwrap();
        assert!(json.contains(r#""verdict":"insufficient""#), "{json}");
        assert!(json.contains(r#""missing":["delta","sea"]"#), "{json}");
        assert_eq!(serde_json::from_str::<Critique>(&json).unwrap(), critique);
    }
}
