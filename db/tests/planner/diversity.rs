//! Maximal marginal relevance.

use locidb::SearchRequest;

use crate::stores::{ask, document, paragraph, store};

#[test]
fn duplicate_hits_are_displaced_when_diversity_is_set() {
    let copies = (0..5).map(|n| paragraph(&format!("the heron stands in the reeds at dawn {n}")));
    let other = paragraph("a heron was painted on the old wooden door of an inn");
    let store = store(vec![document("birds", copies.chain([other]).collect())]);
    let request_with = |diversity| SearchRequest {
        k: 2,
        diversity,
        ..SearchRequest::new("heron")
    };
    let plain = ask(&store, &request_with(None));
    assert!(
        plain
            .hits
            .iter()
            .all(|hit| hit.text.starts_with("the heron"))
    );
    let unlike = ask(&store, &request_with(Some(0.5)));
    assert_eq!(unlike.hits[0].chunk, plain.hits[0].chunk);
    assert!(unlike.hits[1].text.starts_with("a heron"));
    let all = ask(
        &store,
        &SearchRequest {
            k: 10,
            ..request_with(Some(1.0))
        },
    );
    assert_eq!(all.hits.len(), 6, "none is left out where there is room");
}
