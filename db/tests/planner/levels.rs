//! C3: levels by question.

use locidb::SearchRequest;
use locidb::storage::records::Level;
use std::collections::BTreeSet;

use crate::stores::{ask, chunks, document, leaf, levels, levels_of_document, papers, put};

#[test]
fn facts_come_from_sentences_contexts_from_paragraphs_structures_from_sections() {
    let store = papers();
    let fact = ask(&store, &SearchRequest::new("When was the lamp lit?"));
    assert!(
        fact.why.as_ref().unwrap().contains("fact"),
        "{:?}",
        fact.why
    );
    assert!(levels_of_document(&fact, "paper").all(|level| level == Level::Sentence));
    assert!(levels_of_document(&fact, "notes").all(|level| level == Level::Proposition));
    assert_eq!(
        (
            levels_of_document(&fact, "paper").count(),
            levels_of_document(&fact, "notes").count()
        ),
        (4, 2)
    );

    let context = ask(&store, &SearchRequest::new("Explain how the lamp was lit"));
    let found: BTreeSet<Level> = levels_of_document(&context, "paper").collect();
    assert_eq!(found, [Level::Paragraph, Level::Sentence].into());

    let structure = ask(
        &store,
        &SearchRequest::new("Which sections describe the lamp?"),
    );
    assert_eq!(
        levels_of_document(&structure, "paper").collect::<Vec<_>>(),
        [Level::Section]
    );
    assert_eq!(
        levels_of_document(&structure, "notes").collect::<Vec<_>>(),
        [Level::Section]
    );
}

#[test]
fn document_without_the_chosen_levels_is_still_searched() {
    let store = papers();
    let flat = document(
        "slides",
        vec![leaf(Level::Section, "The lamp: oil, wick, glass.")],
    );
    put(&store, vec![flat]);
    for question in [
        "When was the lamp lit?",
        "Explain how the lamp was lit",
        "Which sections describe the lamp?",
        "lamp",
    ] {
        let answer = ask(
            &store,
            &SearchRequest {
                k: 20,
                ..SearchRequest::new(question)
            },
        );
        let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
        assert_eq!(
            found,
            ["letter", "notes", "paper", "slides"].into(),
            "{question}"
        );
    }
    let given = SearchRequest {
        levels: vec![Level::Section],
        ..SearchRequest::new("Which sections describe the lamp?")
    };
    assert_eq!(
        levels(&ask(&store, &given)),
        [Level::Section].into(),
        "levels that are given hold"
    );
}

#[test]
fn level_limits_apply_independently() {
    let store = papers();
    let request = SearchRequest {
        level_limits: vec![
            (Level::Sentence, 3),
            (Level::Section, 1),
            (Level::Paragraph, 2),
        ],
        ..SearchRequest::new("lamp")
    };
    let answer = ask(&store, &request);
    let count = |level| answer.hits.iter().filter(|hit| hit.level == level).count();
    assert_eq!(
        (
            count(Level::Sentence),
            count(Level::Section),
            count(Level::Paragraph)
        ),
        (3, 1, 2)
    );
    assert_eq!(answer.hits.len(), 6);
    assert!(
        answer
            .hits
            .windows(2)
            .all(|pair| pair[0].score >= pair[1].score)
    );
    let ranks: Vec<u32> = answer.hits.iter().map(|hit| hit.rank).collect();
    assert_eq!(ranks, [1, 2, 3, 4, 5, 6]);

    let twice = SearchRequest {
        level_limits: vec![(Level::Sentence, 3), (Level::Sentence, 3)],
        ..SearchRequest::new("lamp")
    };
    let answer = ask(&store, &twice);
    let once: BTreeSet<&str> = chunks(&answer).into_iter().collect();
    assert_eq!(once.len(), answer.hits.len(), "no hit stands twice");
}
