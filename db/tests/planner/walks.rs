//! Where walks start.

use locidb::query::Walk;
use locidb::storage::ConceptId;
use locidb::{SearchRequest, Seeds, Strategy};

use crate::stores::{ask, chunks, concept, sagas, store};

#[test]
fn walk_starts_at_the_given_seeds() {
    let store = store(sagas());
    for walk in [Walk::Restart, Walk::Hops] {
        let seeded = |seeds: Seeds| SearchRequest {
            strategy: Strategy::Graph,
            walk,
            seeds,
            ..SearchRequest::new("nothing that is known")
        };
        let none = ask(&store, &seeded(Seeds::default()));
        assert!(none.hits.is_empty(), "{walk:?}");
        let given = Seeds {
            concepts: vec![concept(&store, "zinc")],
            ..Seeds::default()
        };
        let answer = ask(&store, &seeded(given));
        assert!(answer.hits[0].text.contains("zinc"), "{walk:?}");
        assert!(answer.hits.iter().all(|hit| hit.document == "metals"));
        let path = &answer.hits[0].methods.graph.as_ref().unwrap().path;
        assert_eq!(path.first().map(String::as_str), Some("zinc"));
        let unknown = Seeds {
            concepts: vec![ConceptId(u32::MAX), ConceptId(0)],
            ..Seeds::default()
        };
        let _ = ask(&store, &seeded(unknown));
    }
}

#[test]
fn walk_starts_from_the_best_hits() {
    let store = store(sagas());
    // No concept is named; the best hit by words speaks of iron and copper, whose neighbours follow.
    let request_with = |hits| SearchRequest {
        strategy: Strategy::Hybrid,
        seeds: Seeds {
            hits,
            ..Seeds::default()
        },
        ..SearchRequest::new("rock")
    };
    assert_eq!(chunks(&ask(&store, &request_with(0))), ["metals#0"]);
    let answer = ask(&store, &request_with(1));
    assert_eq!(answer.hits[0].chunk, "metals#0");
    assert!(answer.hits.len() > 1 && answer.hits.iter().all(|hit| hit.document == "metals"));
}
