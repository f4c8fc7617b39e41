//! From files to plans: what the binary makes of a textbook, and how questions of several kinds are answered from it.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use common::{db_path, json, samples, store};

const TOPICS: [(&str, &str, &str); 4] = [
    ("Force", "push or pull upon a body", "A horse pulls a cart"),
    (
        "Momentum",
        "product of mass and velocity",
        "A truck rolls down a hill",
    ),
    (
        "Energy",
        "capacity to do work",
        "A stone falls from a tower",
    ),
    (
        "Power",
        "rate at which work is done",
        "A pump lifts water from a well",
    ),
];

/// A textbook in Markdown: of each topic a definition, an example and an exercise.
fn textbook() -> String {
    let mut text = String::from("# Mechanics\n");
    for (name, definition, story) in TOPICS {
        let low = name.to_lowercase();
        text.push_str(&format!(
            "\n## Chapter {name}\n\n\
             ### Definition of {low}\n\n**{name}** is defined as the {definition}. This principle is fundamental: the law of {low} holds in every frame of rest.\n\n\
             ### Worked example of {low}\n\nFor example, consider how {low} acts in practice. {story}, and the {low} is found from what was measured. This demonstration shows {low} at work.\n\n\
             ### Exercises on {low}\n\nExercise 1. Calculate the {low} of a moving cart. Determine how the {low} changes with time. Find the {low} at rest.\n",
        ));
    }
    text
}

/// A store of the textbook and of a letter that has no sections.
fn library(folder: &Path) -> String {
    let letter = "My father wrote that the momentum of a river turns the mill.\n";
    store(
        folder,
        &[("mechanics.md", &textbook()), ("letter.txt", letter)],
    )
}

fn types(answer: &Value) -> BTreeSet<&str> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.filter_map(|hit| hit["chunk_type"].as_str()).collect()
}

#[test]
fn textbook_questions_prefer_matching_section_types() {
    let folder = tempfile::tempdir().unwrap();
    let db = library(folder.path());
    for (question, intent, want) in [
        ("What is momentum?", "concept", ["concept", "example"]),
        (
            "Show me an example of momentum",
            "example",
            ["concept", "example"],
        ),
        (
            "How do I calculate momentum?",
            "question",
            ["example", "question"],
        ),
    ] {
        let answer = &json(0, &["search", "--db", &db, question, "-k", "2"])[0];
        assert_eq!(answer["intent"], intent, "{question}");
        assert_eq!(types(answer), want.into(), "{question}: {answer:#}");
        let hits = answer["hits"].as_array().unwrap();
        assert!(
            hits[0]["score"].as_f64() >= hits[1]["score"].as_f64(),
            "{question}"
        );
    }
}

#[test]
fn structural_questions_are_answered_by_sections_or_documents_without_any() {
    let folder = tempfile::tempdir().unwrap();
    let db = library(folder.path());
    let answer = &json(
        0,
        &[
            "search",
            "--db",
            &db,
            "Which sections cover momentum?",
            "--explain",
        ],
    )[0];
    assert!(answer["why"].as_str().unwrap().contains("sections"));
    let hits = answer["hits"].as_array().unwrap();
    assert_eq!(hits[0]["level"], "section");
    let documents: BTreeSet<&str> = hits
        .iter()
        .filter_map(|hit| hit["document"].as_str())
        .collect();
    assert_eq!(documents, ["letter.txt", "mechanics.md"].into());
}

#[test]
fn hits_of_files_are_cited_by_heading_line_and_link() {
    let folder = tempfile::tempdir().unwrap();
    let db = library(folder.path());
    let answer = &json(0, &["search", "--db", &db, "What is energy?", "-k", "1"])[0];
    let hit = &answer["hits"][0];
    let citation = &hit["citation"];
    let label = citation["label"].as_str().unwrap();
    assert!(
        label.contains("Definition of energy") || label.contains("Energy"),
        "{label}"
    );
    assert_eq!(citation["path"][0], "Mechanics");
    let text = textbook();
    let (start, end) = (
        citation["chars"][0].as_u64().unwrap(),
        citation["chars"][1].as_u64().unwrap(),
    );
    let cited: String = text
        .chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect();
    assert_eq!(hit["text"], Value::String(cited));
    assert!(
        citation["link"]
            .as_str()
            .unwrap()
            .starts_with("/note/mechanics.md/chunk/")
    );
}

#[test]
fn global_questions_use_digests_when_available() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = ["memory-palaces.md", "inverted-index.html", "ring_buffer.rs"];
    let files = files.map(|name| format!("{}/{name}", samples()));
    json(0, &["ingest", "--db", &db, &files[0], &files[1], &files[2]]);
    let question = "What are the main themes across all documents?";
    let before = &json(0, &["search", "--db", &db, question])[0];
    assert_eq!(before["strategy"], "hybrid");
    json(0, &["analyze", "--db", &db]);
    let after = &json(0, &["search", "--db", &db, question, "--explain"])[0];
    assert_eq!(after["strategy"], "global", "{:#}", after["why"]);
    let digests = json(0, &["communities", "--db", &db]).len();
    assert_eq!(
        after["communities"].as_array().unwrap().len(),
        digests.min(5)
    );
    assert!(!after["hits"].as_array().unwrap().is_empty());
    let local = format!("{} on the inverted index?", question.trim_end_matches('?'));
    let local = &json(0, &["search", "--db", &db, &local])[0];
    assert_eq!(
        local["strategy"], "hybrid",
        "it names a concept: {}",
        local["concepts"]
    );
    let filtered = &json(
        0,
        &[
            "search",
            "--db",
            &db,
            question,
            "--filter",
            "file_type = code",
        ],
    )[0];
    assert_eq!(filtered["strategy"], "hybrid");
    assert!(!filtered["hits"].as_array().unwrap().is_empty());
}

#[test]
fn staged_search_works_without_summaries_or_propositions() {
    let folder = tempfile::tempdir().unwrap();
    let db = library(folder.path());
    let answer = &json(
        0,
        &[
            "search",
            "--db",
            &db,
            "momentum",
            "--strategy",
            "staged",
            "--explain",
        ],
    )[0];
    let hits = answer["hits"].as_array().unwrap();
    let documents: BTreeSet<&str> = hits
        .iter()
        .filter_map(|hit| hit["document"].as_str())
        .collect();
    assert_eq!(documents, ["letter.txt", "mechanics.md"].into());
    let steps = answer["explain"].as_array().unwrap();
    let narrowed = steps.iter().filter(|step| step["operator"] == "narrow");
    let details: Vec<&str> = narrowed
        .filter_map(|step| step["detail"].as_str())
        .collect();
    // Sections of documents that have some, then those that passages stand for.
    assert_eq!(details, ["documents", "sections", "sections"]);
}
