//! Contexts within their budgets.

use locidb::{SearchRequest, Strategy};
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use crate::stores::{CLIMBS, ask, library};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_context_never_costs_more_than_its_budget(
        budget in 0usize..300, climb in 0usize..4, strategy in 0usize..7, words in 0usize..5, k in 1usize..30, is_unlike in any::<bool>(),
    ) {
        let question = ["rhine", "vote for producers", "main themes of all documents", "莱茵河", "🦀 the रा"][words];
        let request = SearchRequest {
            strategy: Strategy::ALL[strategy],
            k,
            context_tokens: Some(budget),
            climb: CLIMBS[climb],
            diversity: is_unlike.then_some(0.5),
            highlights: true,
            ..SearchRequest::new(question)
        };
        let answer = ask(library(), &request);
        let context = answer.context.unwrap();
        prop_assert!(answer.hits.len() <= k);
        prop_assert!(context.tokens <= budget, "{} of {budget}", context.tokens);
        prop_assert!(locidb::query::tokens::count(&context.text) as usize == context.tokens);
        let shown = context.sections.iter().flat_map(|section| &section.hits);
        prop_assert!(shown.into_iter().all(|&rank| rank >= 1 && rank as usize <= answer.hits.len()));
    }
}

#[test]
fn hit_is_truncated_in_scripts_without_spaces() {
    let request = SearchRequest {
        context_tokens: Some(30),
        ..SearchRequest::new("莱茵河")
    };
    let answer = ask(library(), &request);
    assert!(!answer.hits.is_empty());
    let context = answer.context.unwrap();
    assert!(
        context.tokens > 0 && context.text.contains('莱'),
        "{}",
        context.text
    );
}
