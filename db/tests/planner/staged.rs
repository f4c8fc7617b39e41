//! D3: documents, sections, statements.

use locidb::SearchRequest;
use locidb::storage::records::Level;
use std::collections::BTreeSet;

use crate::stores::{ask, chunks, filtered, guide, guides, levels, staged, store, textbook};

#[test]
fn staged_search_narrows_from_documents_to_sections_to_statements() {
    let store = store(guides());
    // One document by its summary: nothing of the other one, whatever its statements say.
    let answer = ask(&store, &staged("consensus vote", (1, 20, 30)));
    assert!(!answer.hits.is_empty());
    assert!(
        answer.hits.iter().all(|hit| hit.document == "consensus"),
        "{:#?}",
        chunks(&answer)
    );
    // One section within it, and only statements are hits.
    let answer = ask(&store, &staged("consensus vote producers", (1, 1, 30)));
    assert_eq!(chunks(&answer), ["consensus#2", "consensus#3"]);
    assert_eq!(answer.hits[0].parent.as_ref().unwrap().chunk, "consensus#1");
    // Both documents: both speak.
    let answer = ask(&store, &staged("consensus vote keys", (10, 20, 30)));
    assert_eq!(levels(&answer), [Level::Proposition].into());
    let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(found, ["consensus", "wallets"].into());
    // As many statements as the last stage keeps.
    let answer = ask(&store, &staged("consensus vote producers key", (10, 20, 2)));
    assert_eq!(answer.hits.len(), 2);
}

#[test]
fn a_question_for_documents_is_staged_where_documents_have_summaries() {
    let store = store(guides());
    let question = "Which documents explain consensus?";
    let answer = ask(&store, &SearchRequest::new(question));
    assert_eq!(answer.strategy, "staged");
    assert!(answer.why.unwrap().contains("summaries"));
    let flat = textbook();
    assert_eq!(ask(&flat, &SearchRequest::new(question)).strategy, "hybrid");
}

#[test]
fn filters_apply_in_every_stage() {
    let mut documents = guides();
    for (year, document) in (2001..).zip(&mut documents) {
        document.record.year = Some(year);
    }
    let store = store(documents);
    let request = filtered("year = 2002", staged("consensus votes", (1, 20, 30)));
    let answer = ask(&store, &request);
    assert!(!answer.hits.is_empty());
    assert!(answer.hits.iter().all(|hit| hit.document == "wallets"));
    // A filter that a statement satisfies, and its section and summary do not.
    let request = filtered(
        "level = proposition",
        staged("consensus votes", (1, 20, 30)),
    );
    assert!(!ask(&store, &request).hits.is_empty());
}

#[test]
fn documents_without_summary_fill_the_remaining_slots() {
    // More matching statements in the first than one arm brings.
    let many: Vec<String> = (0..150)
        .map(|n| format!("Consensus by votes, rule {n}."))
        .collect();
    let many: Vec<&str> = many.iter().map(|text| &text[..]).collect();
    let store = store(vec![
        guide("rules", Some("Consensus by votes."), &[("Rules", &many)]),
        guide(
            "remark",
            None,
            &[(
                "Remark",
                &["One long remark says a word on consensus beside all else."],
            )],
        ),
    ]);
    let answer = ask(
        &store,
        &SearchRequest {
            k: 1000,
            ..staged("consensus", (10, 20, 1000))
        },
    );
    let found: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(found, ["remark", "rules"].into());
}

#[test]
fn the_last_stage_searches_the_levels_that_are_given() {
    let store = store(guides());
    let request = SearchRequest {
        levels: vec![Level::Section],
        ..staged("consensus vote producers", (1, 20, 30))
    };
    let answer = ask(&store, &request);
    assert_eq!(levels(&answer), [Level::Section].into());
    assert!(answer.hits.iter().all(|hit| hit.document == "consensus"));
    let summaries = SearchRequest {
        levels: vec![Level::Summary],
        ..staged("consensus by votes", (1, 20, 30))
    };
    assert_eq!(chunks(&ask(&store, &summaries)), ["consensus#0"]);
    let limited = SearchRequest {
        level_limits: vec![(Level::Section, 1), (Level::Proposition, 1)],
        ..staged("consensus vote producers", (1, 20, 30))
    };
    let answer = ask(&store, &limited);
    assert_eq!(answer.hits.len(), 2);
    assert_eq!(levels(&answer), [Level::Section, Level::Proposition].into());
}
