//! H5: halves by chunk type.

use locidb::storage::records::ChunkType;
use locidb::{Rerank, SearchRequest, Strategy};

use crate::stores::{ask, chunks, document, paragraph, store, textbook, types};

#[test]
fn hits_are_split_between_primary_and_supporting_type() {
    let store = textbook();
    for (question, intent, want) in [
        ("What is force?", "concept", (5, 5, 0, 0)),
        ("Explain the force", "concept", (5, 5, 0, 0)),
        ("Show me an example of a force", "example", (5, 5, 0, 0)),
        ("Calculate the force", "question", (0, 5, 5, 0)),
        ("How do I solve force problems?", "question", (0, 5, 5, 0)),
    ] {
        for strategy in [
            Strategy::Auto,
            Strategy::Hybrid,
            Strategy::Text,
            Strategy::Staged,
        ] {
            let request = SearchRequest {
                strategy,
                ..SearchRequest::new(question)
            };
            let answer = ask(&store, &request);
            assert_eq!(answer.intent.name(), intent, "{question}");
            assert_eq!(types(&answer), want, "{question} {strategy:?}");
            let falling = answer
                .hits
                .windows(2)
                .all(|pair| pair[0].score >= pair[1].score);
            assert!(falling, "{question} {strategy:?}: by relevance");
        }
    }
    let odd = SearchRequest {
        k: 5,
        ..SearchRequest::new("What is force?")
    };
    assert_eq!(
        types(&ask(&store, &odd)),
        (3, 2, 0, 0),
        "the odd one answers"
    );
}

#[test]
fn type_balancing_is_skipped_for_mixed_intent_or_when_disabled() {
    let store = textbook();
    let plain = |question: &str| SearchRequest {
        rerank: Rerank {
            types: false,
            ..Rerank::default()
        },
        ..SearchRequest::new(question)
    };
    let mixed = ask(&store, &SearchRequest::new("force"));
    assert_eq!(mixed.intent.name(), "mixed");
    assert_eq!(chunks(&mixed), chunks(&ask(&store, &plain("force"))));
    assert_eq!(
        types(&ask(&store, &plain("What is force?"))).3,
        8,
        "the best by words"
    );
}

#[test]
fn missing_type_is_filled_with_the_best_hits() {
    let part = |n: usize, kind| {
        paragraph(&format!("force number {n}")).with_record(|record| record.chunk_type = kind)
    };
    let kinds = [
        ChunkType::Concept,
        ChunkType::Other,
        ChunkType::Other,
        ChunkType::Other,
    ];
    let parts = (0..).zip(kinds).map(|(n, kind)| part(n, kind)).collect();
    let store = store(vec![document("few", parts)]);
    let request = SearchRequest {
        k: 3,
        ..SearchRequest::new("What is force?")
    };
    assert_eq!(types(&ask(&store, &request)), (1, 0, 0, 2));
}
