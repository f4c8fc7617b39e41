//! D4: whole documents and paragraphs.

use locidb::storage::records::RetrievalMode;
use locidb::{Climb, SearchRequest};

use crate::stores::{ask, document, filtered, paragraph, section, store};

#[test]
fn full_document_is_returned_when_requested_and_within_budget() {
    let words = |word: &str, count: usize| vec![word; count].join(" ");
    let of = |key: &str, mode, text: &str| {
        let parts = vec![paragraph("The heron waits."), paragraph(text)];
        let mut document = document(key, vec![section("Birds", parts), paragraph("An end.")]);
        document.record.retrieval_mode = mode;
        document
    };
    let long = words("reeds", 500);
    let store = store(vec![
        of("whole", RetrievalMode::FullDoc, "The reeds are high."),
        of("part", RetrievalMode::Paragraph, "The reeds are high."),
        of("long", RetrievalMode::FullDoc, &long),
    ]);
    let parent = |key: &str, climb, budget: Option<usize>| {
        let request = SearchRequest {
            climb,
            context_tokens: budget,
            ..filtered(&format!("key = {key}"), SearchRequest::new("heron"))
        };
        let answer = ask(&store, &request);
        if let (Some(budget), Some(context)) = (budget, &answer.context) {
            assert!(
                context.tokens <= budget,
                "{key}: {} of {budget}",
                context.tokens
            );
        }
        let parent = answer.hits[0].parent.clone();
        parent.map(|parent| (parent.chunk, parent.text))
    };
    let section = "The heron waits.\nThe reeds are high.";
    let whole = format!("{section}\nAn end.");
    let cases: &[(&str, Climb, Option<usize>, Option<(&str, &str)>)] = &[
        ("whole", Climb::Document, None, Some(("whole", &whole))),
        ("part", Climb::Document, None, Some(("part#0", section))),
        ("part", Climb::FullDoc, None, Some(("part", &whole))),
        ("whole", Climb::Parent, None, Some(("whole#0", section))),
        ("whole", Climb::None, None, None),
        ("whole", Climb::Document, Some(100), Some(("whole", &whole))),
        (
            "whole",
            Climb::Document,
            Some(3),
            Some(("whole#0", section)),
        ),
    ];
    for &(key, climb, budget, want) in cases {
        let got = parent(key, climb, budget);
        let got = got.as_ref().map(|(chunk, text)| (&chunk[..], &text[..]));
        assert_eq!(got, want, "{key} {climb:?} {budget:?}");
    }
    let (chunk, _) = parent("long", Climb::Document, Some(200)).unwrap();
    assert_eq!(chunk, "long#0", "over the budget: the parent");
    let (chunk, _) = parent("long", Climb::Document, Some(2000)).unwrap();
    assert_eq!(chunk, "long");
}
