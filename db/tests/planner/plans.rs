//! Plans as data.

use locidb::query::Searcher;
use locidb::query::fuse::Fusion;
use locidb::query::plan::{Operator, Plan};
use locidb::{Answer, Expr, SearchRequest, Strategy};

use crate::stores::{GLOBAL_QUESTION, ask, library, store, without_timings};

#[test]
fn plan_restored_from_json_gives_the_same_answer() {
    let database = library();
    let view = database.snapshot();
    let searcher = Searcher::default();
    let vector: Vec<f32> = {
        let near = SearchRequest {
            strategy: Strategy::Vector,
            ..SearchRequest::new("rhine and danube")
        };
        assert!(!ask(database, &near).hits.is_empty());
        let dim = view.snapshot().active_space().unwrap().record.dim as usize;
        (0..dim).map(|n| 1.0 / (n as f32 + 1.7)).collect()
    };
    for strategy in Strategy::ALL {
        for question in [
            "rhine and danube",
            GLOBAL_QUESTION,
            "\"northern sea\"",
            "Which documents explain consensus?",
        ] {
            let request = SearchRequest {
                strategy,
                vector: Some(vector.clone()),
                filter: Some(Expr::parse("not key = \"no such\" and not page = 7").unwrap()),
                context_tokens: Some(200),
                communities: 2,
                diversity: Some(0.3),
                highlights: true,
                explain: true,
                ..SearchRequest::new(question)
            };
            let plan = searcher.plan(view.read_view(), request.clone()).unwrap();
            assert_ne!(plan.strategy, Strategy::Auto);
            let json = serde_json::to_string(&plan).unwrap();
            let back: Plan = serde_json::from_str(&json).unwrap();
            assert_eq!(back, plan, "{strategy:?} {question}");
            let replayed = searcher.run(view.read_view(), &back).unwrap();
            let searched = database.search_in(&view, &request).unwrap();
            let without_planning = |answer: &Answer| {
                let mut answer = without_timings(answer);
                if let Some(steps) = answer["explain"].as_array_mut() {
                    steps.retain(|step| step["operator"] != "plan");
                }
                answer
            };
            assert_eq!(
                without_planning(&replayed),
                without_planning(&searched),
                "{strategy:?} {question}"
            );
            let is_known = question.contains("rhine");
            assert!(
                !is_known || !searched.hits.is_empty(),
                "{strategy:?} {question}"
            );
        }
    }
}

/// What `explain` calls an operator; `None` for those that take no time of their own.
fn name(operator: &Operator) -> Option<&'static str> {
    match operator {
        Operator::Embed => Some("embed"),
        Operator::Analyse { .. } => Some("analyse"),
        Operator::Filter => Some("filter"),
        Operator::Within { levels, .. } => (!levels.is_empty()).then_some("levels"),
        Operator::Text { .. } => Some("text"),
        Operator::Vector { .. } => Some("vector"),
        Operator::Near { .. } => Some("near"),
        Operator::Graph { .. } => Some("graph"),
        Operator::Fuse { .. } => Some("fuse"),
        Operator::Narrow { .. } => Some("narrow"),
        Operator::Communities { .. } => Some("communities"),
        Operator::Rank { .. } => Some("rank"),
        Operator::Quote => Some("quote"),
        Operator::Diversify { .. } => Some("diversify"),
        Operator::Take { .. } => None,
        Operator::Fetch => Some("fetch"),
        Operator::Assemble { .. } => Some("assemble"),
    }
}

#[test]
fn every_operator_is_explained_with_its_candidates_and_its_time() {
    for strategy in Strategy::ALL {
        let request = SearchRequest {
            strategy,
            filter: Some(Expr::parse("not page = 7").unwrap()),
            context_tokens: Some(200),
            communities: 2,
            diversity: Some(0.3),
            explain: true,
            ..SearchRequest::new("the rhine and consensus by votes")
        };
        let answer = ask(library(), &request);
        let steps = answer.explain.iter().flatten();
        let accounted_us: u64 = steps.map(|step| step.took_us).sum();
        assert!(
            accounted_us <= answer.took_us,
            "{strategy:?}: {accounted_us} µs of {} µs",
            answer.took_us
        );
        let planned: Vec<&str> = answer
            .plan
            .as_ref()
            .unwrap()
            .iter()
            .filter_map(name)
            .collect();
        let explain = serde_json::to_value(answer.explain.unwrap()).unwrap();
        let steps = explain.as_array().unwrap();
        let ran: Vec<&str> = steps
            .iter()
            .map(|step| step["operator"].as_str().unwrap())
            .filter(|name| !["plan", "relations", "answer"].contains(name))
            .collect();
        assert_eq!(ran, planned, "{strategy:?}");
        assert!(
            steps
                .iter()
                .all(|step| step["candidates"].is_u64() && step["took_us"].is_u64())
        );
        let of = |name: &str| {
            let step = steps.iter().rfind(|step| step["operator"] == name).unwrap();
            step["candidates"].as_u64().unwrap()
        };
        assert_eq!(of("fetch"), answer.hits.len() as u64);
        assert_eq!(of("filter"), library().stats().chunks);
    }
}

#[test]
fn question_is_embedded_where_an_operator_needs_its_vector() {
    let embeds = |request: &SearchRequest| {
        let plan = ask(library(), request).plan.unwrap();
        plan.contains(&Operator::Embed)
    };
    let dim = {
        let view = library().snapshot();
        view.snapshot().active_space().unwrap().record.dim as usize
    };
    for strategy in Strategy::ALL {
        let request = SearchRequest {
            strategy,
            explain: true,
            ..SearchRequest::new("the rhine and consensus by votes")
        };
        assert_eq!(embeds(&request), strategy.uses_vectors(), "{strategy:?}");
        let with_vector = SearchRequest {
            vector: Some(vec![0.1; dim]),
            ..request
        };
        assert!(!embeds(&with_vector), "{strategy:?}");
    }
    // The planner reads it as a phrase, which is searched by words alone.
    let quoted = SearchRequest {
        explain: true,
        ..SearchRequest::new("\"northern sea\"")
    };
    assert!(!embeds(&quoted));
}

#[test]
fn settings_of_the_store_apply_where_the_request_gives_no_value() {
    let database = store(Vec::new());
    database.set("hops", "3").unwrap();
    database.set("fusion", "rrf").unwrap();
    let planned = |request: SearchRequest| {
        let request = SearchRequest {
            strategy: Strategy::Hybrid,
            explain: true,
            ..request
        };
        let plan = ask(&database, &request).plan.unwrap();
        let hops = plan.iter().find_map(|operator| match operator {
            Operator::Graph { hops, .. } => Some(*hops),
            _ => None,
        });
        let fusion = plan.into_iter().find_map(|operator| match operator {
            Operator::Fuse { fusion } => Some(fusion),
            _ => None,
        });
        (hops.unwrap(), fusion.unwrap())
    };
    let (hops, fusion) = planned(SearchRequest::new("q"));
    assert_eq!(hops, 3);
    assert!(matches!(fusion, Fusion::Rrf(_)), "{fusion:?}");
    let request = SearchRequest {
        hops: Some(SearchRequest::HOPS),
        fusion: Some(Fusion::default()),
        ..SearchRequest::new("q")
    };
    assert_eq!(planned(request), (SearchRequest::HOPS, Fusion::default()));
}
