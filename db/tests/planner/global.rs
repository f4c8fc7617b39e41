//! R8, R11: concepts of a question; questions about everything.

use locidb::query::QueryError;
use locidb::query::answer::ConceptSource;
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::storage::records::Level;
use locidb::{Error, NoProgress, SearchRequest, Strategy};
use std::collections::BTreeSet;

use crate::stores::{
    GLOBAL_QUESTION, Part, ask, chunks, document, filtered, library, paragraph, put, sagas, store,
    with_mentions,
};

#[test]
fn only_global_questions_are_answered_by_digests() {
    let store = store(sagas());
    store.analyse(&NoProgress).unwrap();
    let answer = ask(&store, &SearchRequest::new(GLOBAL_QUESTION));
    assert_eq!(answer.strategy, "global");
    assert!(answer.why.unwrap().contains("digests"));
    assert_eq!(answer.communities.len(), 2, "both communities are told");
    assert!(!answer.hits.is_empty());
    let documents: BTreeSet<&str> = answer.hits.iter().map(|hit| &hit.document[..]).collect();
    assert_eq!(
        documents,
        ["metals", "rivers"].into(),
        "each digest is quoted"
    );

    let request = SearchRequest {
        communities: 3,
        ..SearchRequest::new("What are the main themes across all documents about the Rhine?")
    };
    let answer = ask(&store, &request);
    assert_eq!(answer.strategy, "hybrid");
    let [community] = &answer.communities[..] else {
        panic!("{:?}", answer.communities);
    };
    assert!(community.digest.contains("danube"), "{}", community.digest);
    assert!(answer.hits.iter().any(|hit| hit.text.contains("rhine")));
    let none = ask(&store, &SearchRequest::new("rhine"));
    assert!(
        none.communities.is_empty(),
        "communities are told where they are asked for"
    );
}

#[test]
fn filter_restricts_global_questions() {
    let mut documents = sagas();
    let quiet = paragraph("The quiet book is about the main themes of chess.");
    documents.push(document("quiet", vec![quiet]));
    let store = store(documents);
    store.analyse(&NoProgress).unwrap();
    let answer = ask(
        &store,
        &filtered("key = quiet", SearchRequest::new(GLOBAL_QUESTION)),
    );
    assert_eq!(chunks(&answer), ["quiet#0"], "{}", answer.strategy);
    let global = SearchRequest {
        strategy: Strategy::Global,
        ..filtered("key = metals", SearchRequest::new(GLOBAL_QUESTION))
    };
    let answer = ask(&store, &global);
    assert!(!answer.hits.is_empty());
    assert!(answer.hits.iter().all(|hit| hit.document == "metals"));
}

#[test]
fn store_without_digests_returns_an_error_or_uses_another_strategy() {
    let store = store(sagas());
    let global = SearchRequest {
        strategy: Strategy::Global,
        ..SearchRequest::new(GLOBAL_QUESTION)
    };
    let error = store.search(&global).unwrap_err();
    assert!(
        matches!(error, Error::Query(QueryError::NoDigests)),
        "{error}"
    );
    assert!(error.to_string().contains("analyze"), "{error}");
    assert_eq!(
        ask(&store, &SearchRequest::new(GLOBAL_QUESTION)).strategy,
        "hybrid"
    );
}

#[test]
fn question_concepts_are_returned_with_their_source() {
    let mut documents = sagas();
    documents[0].concepts[0].synonyms = vec!["Rhein".into()];
    documents.push(with_mentions(
        document(
            "walk",
            vec![paragraph("A walk to the konrad adenauer bridge.")],
        ),
        &["konrad adenauer bridge"],
    ));
    let store = store(documents);
    let named_concepts = |question: &str| -> Vec<(String, String)> {
        let concepts = ask(&store, &SearchRequest::new(question)).concepts;
        let how = |how| {
            serde_json::to_value(how)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        concepts
            .into_iter()
            .map(|concept| (concept.name, how(concept.how)))
            .collect()
    };
    let pair = |name: &str, how: &str| (name.to_owned(), how.to_owned());
    assert_eq!(
        named_concepts("Where is the RHINE?"),
        [pair("rhine", "dictionary")]
    );
    assert_eq!(
        named_concepts("where is the rhein"),
        [pair("rhine", "dictionary")]
    );
    assert_eq!(
        named_concepts("What did Adenauer say?"),
        [pair("konrad adenauer bridge", "capitalised")]
    );
    assert_eq!(named_concepts("what is nothing of this?"), []);
    let one = SearchRequest {
        query_concepts: Some(1),
        ..SearchRequest::new("rhine, danube and elbe")
    };
    assert_eq!(ask(&store, &one).concepts.len(), 1);
}

#[test]
fn question_without_named_concepts_gets_near_concepts() {
    let towards = |x: f32, y: f32| Some(vec![x, y, 0.1]);
    let mut parts = Vec::new();
    for (text, vector) in [
        (
            "The rhine and the danube rise in the hills.",
            towards(1.0, 0.0),
        ),
        ("The danube flows through ten lands.", towards(0.9, 0.2)),
        ("Where iron lies there is often copper.", towards(0.0, 1.0)),
        ("Of copper wires are drawn.", towards(0.1, 0.9)),
    ] {
        parts.push(Part {
            vector,
            ..paragraph(text)
        });
    }
    let names = ["rhine", "danube", "iron", "copper"];
    let store = store(Vec::new());
    store.use_provided_vectors("test", 3).unwrap();
    put(&store, vec![with_mentions(document("all", parts), &names)]);
    let request_with = |strategy, similarity| SearchRequest {
        strategy,
        vector: towards(1.0, 0.1),
        concept_similarity_min: similarity,
        ..SearchRequest::new("which streams are there")
    };
    let near_names = |request: &SearchRequest| -> Vec<String> {
        let concepts = ask(&store, request).concepts.into_iter();
        let near = concepts.inspect(|concept| assert_eq!(concept.how, ConceptSource::Vector));
        near.map(|concept| concept.name).collect()
    };
    // Of the danube two chunks speak, which lie on both sides of the question.
    assert_eq!(
        near_names(&request_with(Strategy::Hybrid, 0.5)),
        ["danube", "rhine"]
    );
    assert_eq!(near_names(&request_with(Strategy::Hybrid, 0.05)).len(), 4);
    assert!(near_names(&request_with(Strategy::Hybrid, 1.0)).is_empty());
    let answer = ask(&store, &request_with(Strategy::Graph, 0.5));
    assert_eq!(chunks(&answer), ["all#0", "all#1"]);
    assert!(answer.hits[0].methods.graph.is_some());
    assert!(
        ask(&store, &request_with(Strategy::Graph, 1.0))
            .hits
            .is_empty()
    );
    // A name counts more than any nearness.
    let named = SearchRequest {
        question: "copper".into(),
        ..request_with(Strategy::Hybrid, 0.0)
    };
    let concepts = ask(&store, &named).concepts;
    assert_eq!(concepts.len(), 1);
    assert_eq!(concepts[0].how, ConceptSource::Dictionary);
    // And it stands in the explanation.
    let explained = SearchRequest {
        explain: true,
        ..request_with(Strategy::Hybrid, 0.5)
    };
    let steps = ask(&store, &explained).explain.unwrap();
    let near = steps.iter().find(|step| step.operator == "near").unwrap();
    assert_eq!(near.candidates, 2);
}

#[test]
fn levels_apply_to_chunks_quoted_by_digests() {
    let store = store(sagas());
    store.analyse(&NoProgress).unwrap();
    let request_for = |level| SearchRequest {
        strategy: Strategy::Global,
        levels: vec![level],
        ..SearchRequest::new(GLOBAL_QUESTION)
    };
    assert!(!ask(&store, &request_for(Level::Paragraph)).hits.is_empty());
    let none = ask(&store, &request_for(Level::Sentence));
    assert!(none.hits.is_empty() && !none.communities.is_empty());
}

#[test]
fn graph_strategy_starts_from_near_concepts() {
    let request_for = |strategy| SearchRequest {
        strategy,
        ..SearchRequest::new("hills, canal and northern sea")
    };
    let answer = ask(library(), &request_for(Strategy::Graph));
    assert!(!answer.hits.is_empty());
    assert!(
        answer
            .concepts
            .iter()
            .all(|of| of.how == ConceptSource::Vector)
    );
    // Beside other arms, what the question is near to is told and moves nothing, however arms are fused.
    let hybrid = SearchRequest {
        fusion: Some(Fusion::Rrf(RankWeights::default())),
        ..request_for(Strategy::Hybrid)
    };
    let with_concepts = ask(library(), &hybrid);
    assert!(!with_concepts.concepts.is_empty());
    assert!(
        with_concepts
            .hits
            .iter()
            .all(|hit| hit.methods.graph.is_none())
    );
    let untold = SearchRequest {
        concepts: false,
        ..hybrid
    };
    assert_eq!(chunks(&ask(library(), &untold)), chunks(&with_concepts));
}
