//! Requests that nobody means.

use locidb::storage::records::Level;
use locidb::{Rerank, SearchRequest, Seeds, Strategy};
use std::collections::BTreeSet;

use crate::stores::{ask, chunks, library};

#[test]
fn absurd_numbers_are_answered_within_bounds() {
    let database = library();
    let huge = usize::MAX;
    let plain = SearchRequest::new("rhine and votes");
    let requests = [
        SearchRequest {
            k: huge,
            ..plain.clone()
        },
        SearchRequest {
            k: 0,
            ..plain.clone()
        },
        SearchRequest {
            k: huge,
            diversity: Some(0.5),
            ..plain.clone()
        },
        SearchRequest {
            candidates: Some(huge),
            ..plain.clone()
        },
        SearchRequest {
            candidates: Some(0),
            ..plain.clone()
        },
        SearchRequest {
            hops: Some(huge),
            neighbours: Some(huge),
            query_concepts: Some(huge),
            ..plain.clone()
        },
        SearchRequest {
            hops: Some(0),
            neighbours: Some(0),
            query_concepts: Some(0),
            ..plain.clone()
        },
        SearchRequest {
            stages: (huge, huge, huge),
            ..plain.clone()
        },
        SearchRequest {
            stages: (0, 0, 0),
            ..plain.clone()
        },
        SearchRequest {
            communities: huge,
            ..plain.clone()
        },
        SearchRequest {
            context_tokens: Some(huge),
            ..plain.clone()
        },
        SearchRequest {
            level_limits: vec![(Level::Paragraph, huge), (Level::Citation, 0)],
            ..plain.clone()
        },
        SearchRequest {
            seeds: Seeds {
                hits: huge,
                ..Seeds::default()
            },
            ..plain.clone()
        },
    ];
    let chunks_max = database.stats().chunks as usize;
    for request in requests {
        for strategy in Strategy::ALL {
            let request = SearchRequest {
                strategy,
                ..request.clone()
            };
            let answer = ask(database, &request);
            assert!(answer.hits.len() <= chunks_max, "{request:?}");
            let once: BTreeSet<&str> = chunks(&answer).into_iter().collect();
            assert_eq!(once.len(), answer.hits.len(), "{request:?}");
        }
    }
}

#[test]
fn invalid_fractions_are_refused_by_name() {
    let plain = SearchRequest::new("rhine and votes");
    let requests = [
        SearchRequest {
            diversity: Some(f32::NAN),
            ..plain.clone()
        },
        SearchRequest {
            diversity: Some(f32::INFINITY),
            ..plain.clone()
        },
        SearchRequest {
            rerank: Rerank {
                types: true,
                confidence: f32::NAN,
                citations: f32::INFINITY,
                cited: f32::INFINITY,
            },
            ..plain.clone()
        },
    ];
    for (request, name) in requests
        .iter()
        .zip(["diversity", "diversity", "rerank.confidence"])
    {
        let refused = library().search(request).err().unwrap().to_string();
        assert!(
            refused.starts_with(name) && refused.contains("between 0 and 1"),
            "{refused}"
        );
    }
}

#[test]
fn question_of_only_courtesies_is_answered() {
    for word in ["please ", "so ", "tell me "] {
        let request = SearchRequest::new(word.repeat(200_000));
        assert!(ask(library(), &request).hits.len() <= request.k);
    }
}

#[test]
fn quoted_question_with_invalid_syntax_is_searched_as_plain_text() {
    let long = format!("\"{}\"", vec!["rhine"; 100].join(" "));
    for question in ["\"?!\"", "\"rhine\\\"", "\"   \"", "\"", &long[..]] {
        let answer = ask(library(), &SearchRequest::new(question));
        assert!(answer.hits.len() <= 10, "{question}");
    }
    let exact = ask(library(), &SearchRequest::new("\"northern sea\""));
    assert_eq!((&exact.strategy[..], exact.hits.len()), ("text", 1));
}
