use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn list(hits: &[(u32, f32)]) -> Vec<ScoredChunk> {
    hits.iter()
        .map(|&(ordinal, score)| ScoredChunk {
            ordinal: Ordinal(ordinal),
            score,
        })
        .collect()
}

fn ordinals(hits: &[Fused]) -> Vec<u32> {
    hits.iter().map(|hit| hit.ordinal.0).collect()
}

#[test]
fn reciprocal_rank_fusion_matches_examples() {
    type Case = (
        &'static str,
        &'static [&'static [u32]],
        &'static [f32],
        &'static [u32],
    );
    let cases: &[Case] = &[
        ("nothing in", &[], &[], &[]),
        ("one list is kept", &[&[3, 1, 2]], &[], &[3, 1, 2]),
        ("two votes beat one", &[&[1, 2], &[2, 3]], &[], &[2, 1, 3]),
        ("a tie goes by ordinal", &[&[9], &[4]], &[], &[4, 9]),
        ("weight counts", &[&[9], &[4]], &[2.0, 1.0], &[9, 4]),
    ];
    for (name, lists, weights, want) in cases {
        let lists: Vec<Vec<Ordinal>> = lists
            .iter()
            .map(|list| list.iter().copied().map(Ordinal).collect())
            .collect();
        let lists: Vec<&[Ordinal]> = lists.iter().map(Vec::as_slice).collect();
        let got: Vec<u32> = rrf(&lists, 60.0, weights)
            .iter()
            .map(|hit| hit.ordinal.0)
            .collect();
        assert_eq!(&got, want, "{name}");
    }
}

#[test]
fn mixture_uses_text_and_vector_scores_and_graph_ranks() {
    let (text, vector, graph) = (
        list(&[(1, 8.0), (2, 4.0)]),
        list(&[(2, 0.9), (3, 0.45)]),
        list(&[(3, 0.2)]),
    );
    let arms = Arms {
        text: &text,
        vector: &vector,
        graph: &graph,
    };
    let mut scratch = Accumulator::default();
    let hits = scratch.fuse(&Fusion::default(), arms);
    assert_eq!(ordinals(hits), [3, 2, 1]);
    let want = [0.7 * 0.5 + 0.75, 0.3 * 0.5 + 0.7, 0.3];
    for (hit, want) in hits.iter().zip(want) {
        assert!((hit.score - want).abs() < 1e-6, "{hit:?} {want}");
    }
    assert_eq!(
        hits[0].graph,
        Some(ArmHit {
            rank: 1,
            score: 0.2
        })
    );
    assert_eq!(
        hits[0].vector,
        Some(ArmHit {
            rank: 2,
            score: 0.45
        })
    );
    assert_eq!(hits[0].text, None);
}

#[test]
fn graph_without_agreement_weighs_less() {
    let text = list(&[(1, 8.0), (2, 4.0)]);
    let weight_of = |graph: &[(u32, f32)]| {
        let graph = list(graph);
        let arms = Arms {
            text: &text,
            vector: &[],
            graph: &graph,
        };
        let mixture = Mixture {
            graph_trust: 0.0,
            graph_agreement: 0.5,
            ..Mixture::default()
        };
        let mut scratch = Accumulator::default();
        let hits = scratch.fuse(&Fusion::Mixture(mixture), arms);
        hits.iter()
            .find(|hit| hit.ordinal == Ordinal(9))
            .unwrap()
            .score
    };
    assert_eq!(weight_of(&[(9, 0.5), (1, 0.5)]), 0.75, "half of it agrees");
    let less = weight_of(&[(9, 0.75), (1, 0.25)]);
    assert!((less - 0.375).abs() < 1e-6, "{less}");
    let mixture = Mixture::default();
    assert_eq!(mixture.covered(0.5), mixture);
    assert_eq!(
        mixture.covered(0.25).graph_weight,
        mixture.graph_weight / 2.0
    );
}

#[test]
fn arm_with_zero_weight_counts_only_when_alone() {
    let (text, vector) = (list(&[(1, 8.0)]), list(&[(2, 0.9), (1, 0.8)]));
    let fusion = Fusion::Mixture(Mixture {
        vector_share: 0.0,
        ..Mixture::default()
    });
    let mut scratch = Accumulator::default();
    let both = scratch.fuse(
        &fusion,
        Arms {
            text: &text,
            vector: &vector,
            graph: &[],
        },
    );
    assert_eq!(ordinals(both), [1]);
    let alone = scratch.fuse(
        &fusion,
        Arms {
            vector: &vector,
            ..Arms::default()
        },
    );
    assert_eq!(ordinals(alone), [2, 1]);
}

#[test]
fn graph_with_low_concentration_weighs_less() {
    let text = list(&[(1, 1.0), (2, 0.8)]);
    let sharp = list(&[(2, 0.5), (3, 0.1)]);
    let scattered: Vec<ScoredChunk> = list(&(2..52).map(|i| (i, 0.01)).collect::<Vec<_>>());
    let mut scratch = Accumulator::default();
    let mut best = |graph: &[ScoredChunk]| {
        let arms = Arms {
            text: &text,
            vector: &[],
            graph,
        };
        scratch.fuse(&Fusion::default(), arms)[0].ordinal.0
    };
    assert_eq!(best(&sharp), 2);
    assert_eq!(best(&scattered), 1);
}

#[test]
fn fusion_round_trips_through_json() {
    for fusion in [
        Fusion::default(),
        Fusion::Rrf(RankWeights::default()),
        Fusion::Scores(ScoreWeights {
            text: 1.0,
            vector: 0.5,
            graph: 0.0,
        }),
    ] {
        let json = serde_json::to_string(&fusion).unwrap();
        assert_eq!(
            serde_json::from_str::<Fusion>(&json).unwrap(),
            fusion,
            "{json}"
        );
    }
    let partial = r#"{"rule":"mixture","vector_share":0.2}"#;
    let want = Fusion::Mixture(Mixture {
        vector_share: 0.2,
        ..Mixture::default()
    });
    assert_eq!(serde_json::from_str::<Fusion>(partial).unwrap(), want);
}

/// Plainly right: a map, and the formulas as the documentation has them.
fn reference(fusion: &Fusion, arms: Arms<'_>) -> Vec<(u32, f64)> {
    let lists = [arms.text, arms.vector, arms.graph];
    let normal = |list: &[ScoredChunk], score: f32| {
        let floor = list.iter().map(|hit| hit.score).fold(0.0, f32::min);
        let best = list.iter().map(|hit| hit.score).fold(f32::MIN, f32::max);
        if best > floor {
            f64::from(score - floor) / f64::from(best - floor)
        } else {
            1.0
        }
    };
    let share = |v: f32| match (arms.text.is_empty(), arms.vector.is_empty()) {
        (false, true) => [1.0, 0.0],
        (true, false) => [0.0, 1.0],
        _ => [1.0 - f64::from(v), f64::from(v)],
    };
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for (arm, list) in lists.into_iter().enumerate() {
        let concentration: f64 = 1.0 / list.iter().map(|h| normal(list, h.score)).sum::<f64>();
        for (rank, hit) in (1u32..).zip(list) {
            let (rank, normal) = (f64::from(rank), normal(list, hit.score));
            let (weight, gain) = match fusion {
                Fusion::Rrf(w) => (
                    f64::from([w.text, w.vector, w.graph][arm]),
                    1.0 / (f64::from(w.k) + rank),
                ),
                Fusion::Scores(w) => (f64::from([w.text, w.vector, w.graph][arm]), normal),
                Fusion::Mixture(m) if arm < 2 => (share(m.vector_share)[arm], normal),
                Fusion::Mixture(m) => {
                    let trust = (concentration / f64::from(m.graph_trust)).min(1.0);
                    (
                        f64::from(m.graph_weight) * trust,
                        f64::from(m.graph_k + 1.0) / (f64::from(m.graph_k) + rank),
                    )
                }
            };
            if weight > 0.0 {
                *sums.entry(hit.ordinal.0).or_default() += weight * gain;
            }
        }
    }
    sums.into_iter().collect()
}

fn any_list() -> impl Strategy<Value = Vec<ScoredChunk>> {
    prop::collection::btree_map(0u32..60, -0.3f32..1.0, 0..20).prop_map(|hits| {
        let mut hits = list(&hits.into_iter().collect::<Vec<_>>());
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits
    })
}

fn any_fusion() -> impl Strategy<Value = Fusion> {
    let weight = || prop_oneof![Just(0.0f32), 0.0f32..2.0];
    prop_oneof![
        (0.0f32..=1.0, weight(), 0.0f32..=1.0, 0.0f32..100.0).prop_map(
            |(vector_share, graph_weight, graph_trust, graph_k)| {
                Fusion::Mixture(Mixture {
                    vector_share,
                    graph_weight,
                    graph_trust,
                    graph_k,
                    // Who is among the best may hang on the last bit: tested apart.
                    graph_agreement: 0.0,
                    graph_coverage: 0.5,
                })
            }
        ),
        (1.0f32..100.0, weight(), weight(), weight()).prop_map(|(k, text, vector, graph)| {
            Fusion::Rrf(RankWeights {
                k,
                text,
                vector,
                graph,
            })
        }),
        (weight(), weight(), weight()).prop_map(|(text, vector, graph)| Fusion::Scores(
            ScoreWeights {
                text,
                vector,
                graph
            }
        )),
    ]
}

proptest! {
    #[test]
    fn fusion_agrees_with_the_reference(
        fusion in any_fusion(),
        text in any_list(), vector in any_list(), graph in any_list(),
        other in any_list(), count in 0usize..40,
    ) {
        let arms = Arms { text: &text, vector: &vector, graph: &graph };
        let mut scratch = Accumulator::default();
        scratch.fuse(&Fusion::default(), Arms { text: &other, ..Arms::default() });
        let best = scratch.fuse_best(&fusion, arms, count).to_vec();
        let got = scratch.fuse(&fusion, arms);
        prop_assert_eq!(&best[..], &got[..count.min(got.len())]);
        // The graph's list may come later.
        let (mut scratch, no_graph) = (Accumulator::default(), Arms { graph: &[], ..arms });
        scratch.fuse_best(&fusion, no_graph, count);
        prop_assert_eq!(&scratch.fuse_graph(&fusion, arms, count).to_vec(), &best);
        let want = reference(&fusion, arms);
        prop_assert_eq!(got.len(), want.len());
        for hit in got {
            let want = want[want.binary_search_by_key(&hit.ordinal.0, |&(o, _)| o).unwrap()].1;
            prop_assert!((f64::from(hit.score) - want).abs() < 1e-4, "{:?} {}", hit, want);
        }
        let before = |a: &Fused, b: &Fused| {
            a.score > b.score || (a.score == b.score && a.ordinal < b.ordinal)
        };
        prop_assert!(got.is_sorted_by(before));
    }

    #[test]
    fn one_arm_alone_keeps_its_order(hits in any_list()) {
        let mut scratch = Accumulator::default();
        for arms in [
            Arms { text: &hits, ..Arms::default() },
            Arms { vector: &hits, ..Arms::default() },
            Arms { graph: &hits, ..Arms::default() },
        ] {
            let got = scratch.fuse(&Fusion::default(), arms);
            let ranks = got.iter().map(|h| h.text.or(h.vector).or(h.graph).unwrap().score);
            prop_assert!(ranks.is_sorted_by(|a, b| a >= b));
            prop_assert_eq!(got.len(), hits.len());
        }
    }

    #[test]
    fn the_two_reciprocal_rank_fusions_agree(text in any_list(), vector in any_list(), graph in any_list()) {
        let lists = [&text, &vector, &graph].map(|l| l.iter().map(|h| h.ordinal).collect::<Vec<_>>());
        let plain = rrf(&lists.each_ref().map(Vec::as_slice), RRF_K, &[]);
        let mut scratch = Accumulator::default();
        let arms = Arms { text: &text, vector: &vector, graph: &graph };
        let fused = scratch.fuse(&Fusion::Rrf(RankWeights::default()), arms);
        let fused: Vec<ScoredChunk> =
            fused.iter().map(|hit| ScoredChunk { ordinal: hit.ordinal, score: hit.score }).collect();
        prop_assert_eq!(plain, fused);
    }

    #[test]
    fn any_scores_at_all_give_an_order(bits in prop::collection::vec((0u32..9, any::<f32>()), 0..12)) {
        let hits = list(&bits);
        let mut scratch = Accumulator::default();
        let got = scratch.fuse(&Fusion::default(), Arms { text: &hits, vector: &hits, graph: &hits });
        prop_assert!(got.iter().all(|hit| !hit.score.is_nan()));
    }
}
