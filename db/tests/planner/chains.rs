//! Chains: hits that a concept of a better hit leads to, compared with a slow computation over plain maps.

use std::collections::{BTreeMap, BTreeSet};

use locidb::query::Searcher;
use locidb::query::plan::Operator;
use locidb::{Answer, Database, NewDocument, Rerank, SearchRequest, Strategy};
use proptest::prelude::*;

use crate::stores::{document, filtered, paragraph, put, store, with_mentions};

const CONCEPTS: [&str; 4] = ["kappa", "sigma", "omega", "theta"];
const WORDS: [&str; 8] = [
    "amber", "cobalt", "jade", "onyx", "opal", "ruby", "topaz", "quartz",
];
const QUESTION: &str = "amber cobalt jade";

/// A document of one passage.
#[derive(Clone, Debug)]
struct Passage {
    words: Vec<&'static str>,
    /// The concept that its title names; the text mentions it, too.
    title: Option<&'static str>,
    is_deleted: bool,
    is_excluded: bool,
}

impl Passage {
    fn body(&self) -> String {
        let title = self.title.into_iter();
        self.words
            .iter()
            .copied()
            .chain(title)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn document(&self, key: &str) -> NewDocument {
        let mut new = with_mentions(document(key, vec![paragraph(&self.body())]), &CONCEPTS);
        new.record.title = self.title.map(str::to_owned);
        new.record.category = self.is_excluded.then(|| "excluded".to_owned());
        new.relations.clear();
        new
    }

    /// Words of title and text, each with its first character.
    fn placed_words(&self) -> Vec<(usize, String)> {
        let text = format!("{}\n{}", self.title.unwrap_or_default(), self.body());
        let mut at = 0;
        let words = text.split([' ', '\n']).map(|word| {
            let placed = (at, word.to_owned());
            at += word.len() + 1;
            placed
        });
        words.filter(|(_, word)| !word.is_empty()).collect()
    }

    fn mentions(&self, concept: &str) -> bool {
        self.words.contains(&concept) || self.title == Some(concept)
    }
}

fn any_passages() -> impl proptest::strategy::Strategy<Value = Vec<Passage>> {
    let word = prop_oneof![
        3 => prop::sample::select(&WORDS[..]),
        1 => prop::sample::select(&CONCEPTS[..])
    ];
    let passage = (
        prop::collection::vec(word, 1..24),
        prop::option::weighted(0.3, prop::sample::select(&CONCEPTS[..])),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
    );
    let passage = passage.prop_map(|(words, title, is_deleted, is_excluded)| Passage {
        words,
        title,
        is_deleted,
        is_excluded,
    });
    prop::collection::vec(passage, 2..16)
}

/// The scores of all hits, with chains or without.
fn scores(
    database: &Database,
    request: &SearchRequest,
    with_chains: bool,
) -> BTreeMap<String, f32> {
    let (view, searcher) = (database.snapshot(), Searcher::default());
    let mut plan = searcher.plan(view.read_view(), request.clone()).unwrap();
    if !with_chains {
        plan.operators
            .retain(|of| !matches!(of, Operator::Chain { .. }));
    }
    let answer: Answer = searcher.run(view.read_view(), &plan).unwrap();
    let hits = answer.hits.into_iter();
    hits.map(|hit| (hit.document, hit.score)).collect()
}

/// What chains make of the scores without them, by the formula of decision 0021.
fn chained(
    passages: &BTreeMap<String, Passage>,
    fused: &BTreeMap<String, f32>,
) -> BTreeMap<String, f32> {
    let live: Vec<_> = passages.iter().filter(|(_, of)| !of.is_deleted).collect();
    let idf = |word: &str| {
        let has = |of: &Passage| of.placed_words().iter().any(|(_, known)| known == word);
        let df = live.iter().filter(|(_, of)| has(of)).count() as f32;
        let share = (live.len() as f32 - df + 0.5) / (df + 0.5);
        if df > 0.0 { share.ln_1p() } else { 0.0 }
    };
    let weights: Vec<(&str, f32)> = QUESTION.split(' ').map(|word| (word, idf(word))).collect();
    let all: f32 = weights.iter().map(|(_, weight)| weight).sum();
    let mut seeds: Vec<_> = fused.iter().collect();
    // Ties go by the order of ingestion, which is that of the keys.
    seeds.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    let mut best: BTreeMap<String, f32> = BTreeMap::new();
    for (seed, score) in seeds.into_iter().take(3) {
        for concept in CONCEPTS.iter().filter(|of| passages[seed].mentions(of)) {
            let linked: Vec<_> = live.iter().filter(|(_, of)| of.mentions(concept)).collect();
            if !(2..=40).contains(&linked.len()) {
                continue;
            }
            let around = words_around(&passages[seed], concept);
            let found = weights.iter().filter(|(word, _)| around.contains(*word));
            let context = found.map(|(_, weight)| weight).sum::<f32>() / all;
            for (to, passage) in &linked {
                let link = match passage.title == Some(*concept) {
                    true => 1.0,
                    false => 0.4 / (2.0 + linked.len() as f32).ln(),
                };
                if *to != seed && !passage.is_excluded {
                    let chain = score * link * (0.2 + context);
                    let known = best.entry((*to).clone()).or_default();
                    *known = known.max(chain);
                }
            }
        }
    }
    let mut scores = fused.clone();
    for (to, chain) in best {
        *scores.entry(to).or_default() += chain;
    }
    scores
}

/// The words within 60 characters of the first mention of a concept.
fn words_around(passage: &Passage, concept: &str) -> BTreeSet<String> {
    let words = passage.placed_words();
    let (at, _) = words.iter().find(|(_, word)| word == concept).unwrap();
    let (from, to) = (at.saturating_sub(60), at + concept.len() + 60);
    let around = words
        .iter()
        .filter(|(start, word)| start + word.len() > from && *start < to);
    around
        .map(|(_, word)| word.clone())
        .filter(|word| word != concept)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn chains_agree_with_the_formula(passages in any_passages(), cut in 0usize..16) {
        let named: BTreeMap<String, Passage> = passages
            .into_iter()
            .enumerate()
            .map(|(n, passage)| (format!("d{n:02}"), passage))
            .collect();
        let mut documents: Vec<NewDocument> =
            named.iter().map(|(key, passage)| passage.document(key)).collect();
        let later = documents.split_off(cut.min(documents.len()));
        let store = store(documents);
        put(&store, later);
        let deleted = named.iter().filter(|(_, of)| of.is_deleted).map(|(key, _)| key.clone());
        let deleted: Vec<String> = deleted.collect();
        store.write(|tx| {
            for key in &deleted {
                tx.delete_document(&key.parse().unwrap())?;
            }
            Ok(())
        }).unwrap();
        let request = filtered("not category = \"excluded\"", SearchRequest {
            strategy: Strategy::Hybrid,
            k: 20,
            rerank: Rerank { types: false, ..Rerank::default() },
            ..SearchRequest::new(QUESTION)
        });
        let fused = scores(&store, &request, false);
        let found = scores(&store, &request, true);
        let expected = chained(&named, &fused);
        prop_assert_eq!(
            found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{:?}", fused
        );
        for (key, score) in &expected {
            prop_assert!((found[key] - score).abs() < 1e-4, "{key}: {} is not {score}", found[key]);
        }
    }
}

#[test]
fn second_hop_is_found_without_a_word_of_the_question() {
    let texts = [
        (
            "film",
            "The film was directed by Ann Velasco in the year after the war.",
        ),
        ("velasco", "She was born in Lima, and studied law."),
        ("other", "A film about law and the war in Lima."),
    ];
    let documents = texts.map(|(key, text)| {
        let mut new = document(key, vec![paragraph(text)]);
        new.record.title = (key == "velasco").then(|| "Ann Velasco".to_owned());
        let mut new = with_mentions(new, &["ann velasco", "lima"]);
        if key == "velasco" {
            new.concepts.push(locidb::NewConcept {
                name: "Ann Velasco".into(),
                mentions: vec![(0, 1)],
                ..locidb::NewConcept::default()
            });
        }
        new
    });
    let store = store(documents.into());
    let request = SearchRequest {
        strategy: Strategy::Hybrid,
        ..SearchRequest::new("who was the film directed by")
    };
    let with = scores(&store, &request, true);
    assert!(with["velasco"] > 0.0, "{with:?}");
    assert!(!scores(&store, &request, false).contains_key("velasco"));
}
