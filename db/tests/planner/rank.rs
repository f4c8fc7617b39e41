//! C4, D6: citations and doubt move chunks.

use locidb::storage::records::Level;
use locidb::{NewCitation, NewReference, Rerank, SearchRequest};

use crate::stores::{ask, chunks, document, filtered, leaf, paragraph, store};

#[test]
fn citing_chunk_rises_by_the_configured_weight() {
    let bare = paragraph("Tides follow the moon, and tides follow the sun.");
    let citing = paragraph("Tides follow the moon [1], the sun [2] and the shape of bays [3].")
        .with_record(|record| record.citation_count = 3);
    let store = store(vec![document("tides", vec![bare, citing])]);
    let request = |citations| SearchRequest {
        rerank: Rerank {
            citations,
            ..Rerank::default()
        },
        ..SearchRequest::new("tides")
    };
    assert_eq!(chunks(&ask(&store, &request(0.0))), ["tides#0", "tides#1"]);
    assert_eq!(chunks(&ask(&store, &request(1.0))), ["tides#1", "tides#0"]);
    let named = SearchRequest::new("tides")
        .with("rerank.citations", "1")
        .unwrap();
    assert_eq!(chunks(&ask(&store, &named)), ["tides#1", "tides#0"]);
    let only = filtered("citation_count >= 1", request(0.0));
    assert_eq!(chunks(&ask(&store, &only)), ["tides#1"]);
}

#[test]
fn low_confidence_demotes_a_statement_unless_disabled() {
    let doubtful =
        leaf(Level::Proposition, "Tides obey the moon.").with_record(|r| r.confidence = 0.1);
    let sure = leaf(Level::Proposition, "Tides obey the moon and the sun.")
        .with_record(|r| r.confidence = 1.0);
    let store = store(vec![document("tides", vec![doubtful, sure])]);
    let request = |confidence| SearchRequest {
        rerank: Rerank {
            confidence,
            ..Rerank::default()
        },
        ..SearchRequest::new("tides")
    };
    assert_eq!(chunks(&ask(&store, &request(0.0))), ["tides#0", "tides#1"]);
    assert_eq!(
        chunks(&ask(&store, &SearchRequest::new("tides"))),
        ["tides#1", "tides#0"]
    );
    let only = filtered("confidence >= 0.5", SearchRequest::new("tides"));
    assert_eq!(chunks(&ask(&store, &only)), ["tides#1"]);
}

#[test]
fn cited_document_rises_by_the_configured_weight() {
    let plain = document("a", vec![paragraph("Tides follow the moon and the sun.")]);
    let mut cited = document(
        "b",
        vec![paragraph("Tides follow the moon, the sun and the wind.")],
    );
    cited.record.title = Some("On the tides of bays".into());
    let citing = |n: u32| {
        let mut citing = document(&format!("paper{n}"), vec![paragraph("As was shown [1].")]);
        citing.references = vec![NewReference {
            title: Some("On the tides of bays".into()),
            ..NewReference::default()
        }];
        citing.citations = vec![NewCitation {
            text: "[1]".into(),
            confidence: 1.0,
            ..NewCitation::default()
        }];
        citing
    };
    let mut documents = vec![plain, cited];
    documents.extend((0..9).map(citing));
    let store = store(documents);
    let request_with = |cited| SearchRequest {
        rerank: Rerank {
            cited,
            ..Rerank::default()
        },
        ..SearchRequest::new("tides moon sun")
    };
    assert_eq!(chunks(&ask(&store, &request_with(0.0))), ["a#0", "b#0"]);
    assert_eq!(chunks(&ask(&store, &request_with(1.0))), ["b#0", "a#0"]);
}
