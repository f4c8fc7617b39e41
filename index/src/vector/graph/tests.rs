use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;

use super::super::codes::Query;
use super::super::{FlatBuilder, SearchStrategy, VectorQuery, VectorReader, VectorScratch, search};
use super::*;
use crate::random::splitmix64;

const DIM: usize = 24;

/// Vectors around some centres, as those of texts are.
fn clustered(count: usize, seed: u64) -> Vec<Vec<f32>> {
    let number = |chance: u64| (splitmix64(chance) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    let vector = |chance: u64| (0..DIM as u64).map(move |i| number(splitmix64(chance) ^ i));
    let one = |n: u64| {
        let centre = vector(splitmix64(seed ^ n) % 20);
        let own = vector(splitmix64(seed ^ n << 20));
        centre.zip(own).map(|(c, x)| c + 0.7 * x).collect()
    };
    (0..count as u64).map(one).collect()
}

fn build_sections(
    vectors: &[Vec<f32>],
    metric: Metric,
    options: &GraphOptions,
) -> (Vec<u8>, Vec<u8>) {
    let mut flat = FlatBuilder::new(vectors[0].len(), metric).unwrap();
    for (local, vector) in (0..).zip(vectors) {
        flat.push(LocalOrdinal(local), vector).unwrap();
    }
    let graph = flat.build_graph(options, 1).unwrap().unwrap();
    (flat.finish(), graph)
}

/// A segment of a test, with and without its graph.
struct Segment {
    flat: VectorReader<Vec<u8>>,
    graph: VectorReader<Vec<u8>>,
    count: u32,
    dead: RoaringBitmap,
}

impl Segment {
    fn new(vectors: &[Vec<f32>], metric: Metric, codes: Codes) -> Segment {
        let options = GraphOptions {
            codes,
            ..GraphOptions::default()
        };
        Segment::with(vectors, metric, &options)
    }

    fn with(vectors: &[Vec<f32>], metric: Metric, options: &GraphOptions) -> Segment {
        let (flat, graph) = build_sections(vectors, metric, options);
        Segment {
            flat: VectorReader::new(flat.clone(), None).unwrap(),
            graph: VectorReader::new(flat, Some(graph)).unwrap(),
            count: vectors.len() as u32,
            dead: RoaringBitmap::new(),
        }
    }

    fn placed<'a>(
        &'a self,
        reader: &'a VectorReader<Vec<u8>>,
    ) -> SegmentReader<'a, VectorReader<Vec<u8>>> {
        SegmentReader {
            base: Ordinal(100),
            chunk_count: self.count,
            dead: &self.dead,
            reader,
        }
    }

    fn search(
        &self,
        reader: &VectorReader<Vec<u8>>,
        query: &VectorQuery<'_>,
    ) -> (Vec<ScoredChunk>, SearchStrategy) {
        let mut scratch = VectorScratch::default();
        let hits = search(&[self.placed(reader)], query, &mut scratch).unwrap();
        (hits, scratch.segment_stats()[0].strategy)
    }

    /// Share of the right answers that are found, over `questions`; and the way of the last.
    fn recall(
        &self,
        questions: &[Vec<f32>],
        filter: Option<&RoaringBitmap>,
        ef: usize,
    ) -> (f64, SearchStrategy) {
        let (mut right, mut found, mut strategy) = (0, 0, SearchStrategy::Exact);
        for question in questions {
            let query = VectorQuery {
                filter,
                effort: Effort::Ef(ef),
                ..VectorQuery::new(question, 10)
            };
            let (want, _) = self.search(&self.flat, &query);
            let (got, used) = self.search(&self.graph, &query);
            assert_eq!(got.len(), want.len(), "as many hits as without a graph");
            for hit in &got {
                let Ordinal(ordinal) = hit.ordinal;
                assert!(
                    filter.is_none_or(|f| f.contains(ordinal)),
                    "{ordinal} is filtered out"
                );
                assert!(!self.dead.contains(ordinal - 100), "{ordinal} is deleted");
            }
            right += want.len();
            found += got.iter().filter(|hit| want.contains(hit)).count();
            strategy = used;
        }
        (
            if right == 0 {
                1.0
            } else {
                found as f64 / right as f64
            },
            strategy,
        )
    }
}

#[test]
fn walks_reach_recall_for_every_code_and_metric() {
    let (vectors, questions) = (clustered(3000, 1), clustered(50, 2));
    let floors = [0.97, 0.97, 0.97, 0.97, 0.95, 0.5];
    for metric in [Metric::Cosine, Metric::Dot, Metric::L2] {
        for (codes, floor) in Codes::ALL.into_iter().zip(floors) {
            let segment = Segment::new(&vectors, metric, codes);
            let (recall, strategy) = segment.recall(&questions, None, 100);
            assert_eq!(strategy, SearchStrategy::Walk { ef: 100 });
            assert!(recall >= floor, "{metric:?} {codes:?}: {recall}");
        }
    }
}

#[test]
fn recall_holds_for_filters_of_every_selectivity() {
    const COUNT: u32 = 24_000;
    let (vectors, questions) = (clustered(COUNT as usize, 3), clustered(40, 4));
    let options = GraphOptions {
        m: 8,
        codes: Codes::I8,
        ..GraphOptions::default()
    };
    let segment = Segment::with(&vectors, Metric::Cosine, &options);
    let mut ways = Vec::new();
    for one_of in [1u64, 2, 4, 7, 40, 100, 1000, 14_000] {
        let allowed = |&n: &u32| splitmix64(u64::from(n) ^ 77).is_multiple_of(one_of);
        let filter: RoaringBitmap = (0..COUNT).filter(allowed).map(|n| n + 100).collect();
        for ef in [16, 64] {
            let (recall, strategy) = segment.recall(&questions, Some(&filter), ef);
            let floor = if ef == 16 { 0.5 } else { 0.9 };
            assert!(
                recall >= floor,
                "1 of {one_of}, ef {ef}, {strategy}: {recall}"
            );
            ways.push(strategy);
        }
    }
    let seen = |is: fn(&SearchStrategy) -> bool| assert!(ways.iter().any(is), "{ways:?}");
    seen(|strategy| matches!(strategy, SearchStrategy::Exact));
    seen(|strategy| matches!(strategy, SearchStrategy::Scan));
    seen(|strategy| matches!(strategy, SearchStrategy::Walk { .. }));
    seen(|strategy| matches!(strategy, SearchStrategy::FilteredWalk { .. }));
}

#[test]
fn deleted_neighbours_do_not_cost_hits() {
    let (vectors, questions) = (clustered(3000, 5), clustered(30, 6));
    let mut segment = Segment::new(&vectors, Metric::Dot, Codes::I8);
    // All that is near the first questions, and half of the rest: too few are left to walk.
    for question in &questions[..5] {
        let (near, _) = segment.search(&segment.flat, &VectorQuery::new(question, 200));
        segment
            .dead
            .extend(near.iter().map(|hit| hit.ordinal.0 - 100));
    }
    segment
        .dead
        .extend((0..3000).filter(|n| splitmix64(*n as u64).is_multiple_of(2)));
    let (recall, _) = segment.recall(&questions, None, 64);
    assert!(recall >= 0.95, "{recall}");
    segment.dead.insert_range(0..3000);
    assert_eq!(
        segment
            .search(&segment.graph, &VectorQuery::new(&questions[0], 10))
            .0,
        []
    );
}

/// The dead are still walked through: they must not end a walk.
#[test]
fn walk_continues_past_deleted_copies_of_the_query() {
    let mut vectors = clustered(8000, 30);
    let question = vectors[17].clone();
    for (n, copy) in vectors.iter_mut().step_by(100).enumerate() {
        let noise = |i: usize| (splitmix64((n * DIM + i) as u64) >> 40) as f32 / 1e9;
        *copy = (0..DIM).map(|i| question[i] + noise(i)).collect();
    }
    let mut segment = Segment::new(&vectors, Metric::Cosine, Codes::I8);
    segment.dead.extend((0..8000).step_by(100));
    let questions: Vec<Vec<f32>> = vectors.iter().step_by(400).cloned().collect();
    let (recall, strategy) = segment.recall(&questions, None, 64);
    assert!(
        matches!(strategy, SearchStrategy::Walk { .. }),
        "{strategy}"
    );
    assert!(recall >= 0.75, "{recall}");
}

#[test]
fn query_length_does_not_change_hits() {
    let vectors = clustered(3000, 31);
    for metric in [Metric::Dot, Metric::Cosine] {
        let segment = Segment::new(&vectors, metric, Codes::I4);
        let hits = |question: &[f32], times: f32| -> Vec<Ordinal> {
            let question: Vec<f32> = question.iter().map(|x| x * times).collect();
            let (hits, _) = segment.search(&segment.graph, &VectorQuery::new(&question, 10));
            hits.iter().map(|hit| hit.ordinal).collect()
        };
        for question in &vectors[..20] {
            let once = hits(question, 1.0);
            assert_eq!(once, hits(question, 128.0), "{metric:?}");
            assert_eq!(once, hits(question, 1.0 / 128.0), "{metric:?}");
        }
    }
}

#[test]
fn inner_products_with_vectors_of_any_length_are_found() {
    let stretched = |count, seed| -> Vec<Vec<f32>> {
        let each = (0..).zip(clustered(count, seed));
        let times = |n: u64| 1.0 + (splitmix64(n ^ seed) % 10) as f32;
        each.map(|(n, vector)| vector.iter().map(|x| x * times(n)).collect())
            .collect()
    };
    let segment = Segment::new(&stretched(4000, 32), Metric::Dot, Codes::I8);
    let (recall, strategy) = segment.recall(&stretched(40, 33), None, 64);
    assert!(
        matches!(strategy, SearchStrategy::Walk { .. }),
        "{strategy}"
    );
    assert!(recall >= 0.95, "{recall}");
}

#[test]
fn effort_table_recall_matches_searches() {
    let vectors = clustered(5000, 34);
    let segment = Segment::new(&vectors, Metric::Cosine, Codes::I4);
    let prepared: Vec<f32> = vectors
        .iter()
        .flat_map(|vector| Metric::Cosine.prepare(vector, DIM).unwrap())
        .collect();
    let graph = segment.graph.graph().unwrap();
    let seed = GraphOptions::default().seed;
    let sample = effort::sample_queries(graph, &prepared, seed, &|| true).unwrap();
    for (ef, promised) in segment.graph.efforts() {
        let (mut found, mut expected) = (0, 0);
        for (question, right) in &sample {
            let query = VectorQuery {
                effort: Effort::Ef(ef as usize),
                ..VectorQuery::new(question, 10)
            };
            let (hits, strategy) = segment.search(&segment.graph, &query);
            if !matches!(strategy, SearchStrategy::Walk { .. }) {
                return assert!(ef >= 128, "{ef} candidates of 5,000 are walked to");
            }
            let is_right = |hit: &&ScoredChunk| right.contains(&(hit.ordinal.0 - 100));
            found += hits.iter().filter(is_right).count();
            expected += right.len();
        }
        let recall = found as f32 / expected as f32;
        assert!(
            (recall - promised).abs() < 1e-3,
            "ef {ef}: {recall}, {promised}"
        );
    }
}

#[test]
fn higher_ef_never_shortens_the_candidate_list() {
    let segment = Segment::new(&clustered(5000, 35), Metric::Cosine, Codes::I8);
    let efforts = segment.graph.graph().unwrap().efforts();
    let list_lens: Vec<usize> = (1..2000)
        .map(|ef| efforts.walk_limits(ef, 10, None).ef)
        .collect();
    assert!(list_lens.is_sorted(), "{list_lens:?}");
    let slack = |ef| {
        efforts
            .walk_limits(ef, 10, None)
            .stop
            .map(|stop| stop.slack)
    };
    assert!(slack(64) < slack(256) && slack(512) < slack(1000));
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let vectors = clustered(5000, 7);
    let build = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| build_sections(&vectors, Metric::Dot, &GraphOptions::default()).1)
    };
    let alone = build(1);
    assert!(alone == build(4), "other bytes with four threads");
    let other = GraphOptions {
        seed: 1,
        ..GraphOptions::default()
    };
    assert!(
        alone != build_sections(&vectors, Metric::Dot, &other).1,
        "the seed says nothing"
    );
}

#[test]
fn higher_effort_raises_recall_as_tabulated() {
    let (vectors, questions) = (clustered(5000, 8), clustered(60, 9));
    let segment = Segment::new(&vectors, Metric::Dot, Codes::I8);
    let efforts: Vec<(u32, f32)> = segment.graph.efforts().collect();
    assert!(
        efforts.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1 + 0.02),
        "{efforts:?}"
    );
    let strategy = |effort, k| {
        let query = VectorQuery {
            effort,
            ..VectorQuery::new(&questions[0], k)
        };
        segment.search(&segment.graph, &query).1
    };
    for row in efforts.windows(2).filter(|rows| rows[0].1 < rows[1].1) {
        let ef = row[1].0 as usize;
        let found = strategy(Effort::Recall(row[1].1), 1);
        assert!(
            found == SearchStrategy::Walk { ef } || found == SearchStrategy::Scan,
            "{row:?} {found:?}"
        );
    }
    assert_eq!(
        strategy(Effort::Recall(2.0), 1),
        SearchStrategy::Scan,
        "512 candidates of 5,000 cost more"
    );
    assert_eq!(
        strategy(Effort::Ef(1), 70),
        SearchStrategy::Walk { ef: 70 },
        "k hits need k candidates"
    );
    let query = VectorQuery {
        effort: Effort::Within(std::time::Duration::ZERO),
        ..VectorQuery::new(&questions[0], 5)
    };
    assert_eq!(
        segment.search(&segment.graph, &query).0.len(),
        5,
        "no time gives hits all the same"
    );
}

/// What differs little is told apart by full vectors: codes alone cannot.
#[test]
fn four_bit_codes_reach_recall_in_tight_clusters() {
    let tight = |count: usize, seed: u64| -> Vec<Vec<f32>> {
        let (centres, noise) = (clustered(50, 20), clustered(count, seed));
        let near = |(n, noise): (usize, &Vec<f32>)| {
            let centre = &centres[n % centres.len()];
            let moved = centre.iter().zip(noise);
            moved.map(|(c, x)| c + 0.1 * x).collect()
        };
        noise.iter().enumerate().map(near).collect()
    };
    let (vectors, questions) = (tight(3000, 21), tight(50, 22));
    let recall = |codes| {
        let segment = Segment::new(&vectors, Metric::Cosine, codes);
        segment.recall(&questions, None, 80).0
    };
    let (half_bytes, full) = (recall(Codes::I4), recall(Codes::F32));
    assert!(
        half_bytes >= full - 0.03,
        "{half_bytes} against {full} of full vectors"
    );
}

#[test]
fn walks_stop_early_when_hits_are_well_separated() {
    let vectors = clustered(3000, 23);
    let segment = Segment::new(&vectors, Metric::Cosine, Codes::I8);
    let measured = |question: &[f32]| {
        let query = VectorQuery {
            effort: Effort::Ef(48),
            ..VectorQuery::new(question, 10)
        };
        let mut scratch = VectorScratch::default();
        search(&[segment.placed(&segment.graph)], &query, &mut scratch).unwrap();
        scratch.segment_stats()[0].distance_count
    };
    let total = |questions: &[Vec<f32>]| questions.iter().map(|q| measured(q)).sum::<u64>();
    let strangers: Vec<Vec<f32>> = vectors[..40]
        .iter()
        .zip(&vectors[1000..])
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect())
        .collect();
    let (easy, hard) = (total(&vectors[..40]), total(&strangers));
    assert!(4 * easy < 3 * hard, "{easy} against {hard} distances");
}

#[test]
fn ranking_by_codes_approximates_exact_ranking() {
    let (vectors, questions) = (clustered(2000, 10), clustered(20, 11));
    for metric in [Metric::Cosine, Metric::L2] {
        let segment = Segment::new(&vectors, metric, Codes::I8);
        for question in &questions {
            let query = VectorQuery {
                rescore: false,
                ..VectorQuery::new(question, 5)
            };
            let (hits, _) = segment.search(&segment.graph, &query);
            let (want, _) = segment.search(&segment.flat, &query);
            for (hit, want) in hits.iter().zip(want) {
                let slack = 0.05 * want.score.abs().max(1.0);
                assert!(
                    (hit.score - want.score).abs() < slack,
                    "{metric:?} {hit:?} {want:?}"
                );
            }
        }
    }
}

#[test]
fn equal_vectors_hide_neither_each_other_nor_the_rest() {
    let mut vectors = clustered(4000, 15);
    let twin = vectors[0].clone();
    for n in 0..400 {
        vectors[n * 7] = twin.clone();
    }
    let segment = Segment::new(&vectors, Metric::Cosine, Codes::I8);
    let query = VectorQuery {
        effort: Effort::Ef(100),
        ..VectorQuery::new(&twin, 20)
    };
    let (hits, strategy) = segment.search(&segment.graph, &query);
    assert!(matches!(strategy, SearchStrategy::Walk { .. }));
    assert!(
        hits.iter()
            .all(|hit| vectors[hit.ordinal.0 as usize - 100] == twin)
    );
    let mut met = RoaringBitmap::new();
    let reader = segment.graph.graph().unwrap();
    let (mut question, mut walk) = (Query::default(), WalkState::default());
    reader.prepare_query(&Metric::Cosine.prepare(&twin, DIM).unwrap(), &mut question);
    reader
        .walk(&question, WalkLimits::full(450), NodeFilter::All, &mut walk)
        .unwrap();
    met.extend(
        walk.candidates
            .iter()
            .map(|near| near.node())
            .filter(|&n| vectors[n as usize] == twin),
    );
    assert!(
        met.len() >= 396,
        "{} of 400 twins can be reached",
        met.len()
    );
}

#[test]
fn searches_do_not_leak_scratch_state() {
    let vectors = clustered(10_000, 16);
    let segment = Segment::new(&vectors, Metric::Cosine, Codes::I8);
    let mut scratch = VectorScratch::default();
    let placed = [SegmentReader {
        base: Ordinal(100),
        chunk_count: 10_000,
        dead: &segment.dead,
        reader: &segment.graph,
    }];
    for one_of in [1u64, 2, 5, 10, 100, 1000] {
        let allowed = |&n: &u32| splitmix64(u64::from(n) ^ 5).is_multiple_of(one_of);
        let filter: RoaringBitmap = (0..10_000).filter(allowed).map(|n| n + 100).collect();
        let micros = std::time::Duration::from_micros;
        let efforts = [
            Effort::Within(micros(0)),
            Effort::Within(micros(10_000)),
            Effort::Ef(30),
        ];
        for effort in efforts {
            let query = VectorQuery {
                filter: Some(&filter),
                effort,
                ..VectorQuery::new(&vectors[9], 10)
            };
            let hits = search(&placed, &query, &mut scratch).unwrap();
            assert!(
                hits.iter().all(|hit| filter.contains(hit.ordinal.0)),
                "{one_of} {effort:?}"
            );
            if effort != efforts[0] {
                assert_eq!(
                    hits.len() as u64,
                    filter.len().min(10),
                    "{one_of} {effort:?}"
                );
            }
        }
    }
}

#[test]
fn invalid_graph_options_are_refused() {
    let mut flat = FlatBuilder::new(2, Metric::Dot).unwrap();
    flat.push(LocalOrdinal(0), &[1.0, 0.0]).unwrap();
    for (m, ef_construction) in [(0, 100), (1, 100), (65, 100), (16, 15), (16, 10_001)] {
        let options = GraphOptions {
            m,
            ef_construction,
            ..GraphOptions::default()
        };
        let refused = flat.build_graph(&options, 1);
        assert!(
            matches!(refused, Err(VectorError::Options { .. })),
            "{m} {ef_construction}"
        );
    }
    let given_up = flat.build_graph_from::<Vec<u8>>(&GraphOptions::default(), 1, None, &|| false);
    assert!(matches!(given_up, Err(VectorError::Stopped)));
}

#[test]
fn equal_vectors_and_few_vectors_are_found() {
    for count in [1, 2, 17, 300] {
        let segment = Segment::new(&vec![vec![0.5; 3]; count], Metric::L2, Codes::I8);
        let (hits, _) = segment.search(&segment.graph, &VectorQuery::new(&[0.5; 3], 300));
        assert_eq!(hits.len(), count);
    }
}

#[test]
fn reused_graph_drops_removed_and_adds_new_nodes() {
    let (vectors, questions) = (clustered(4000, 13), clustered(40, 14));
    let options = GraphOptions::default();
    let (flat, graph) = build_sections(&vectors[..3000], Metric::Cosine, &options);
    let before = VectorReader::new(flat, Some(graph)).unwrap();
    for (one_gone_of, copied) in [(10u64, true), (3, false)] {
        // New ones come between the old ones; those that are gone leave no gap.
        let stays = |n: &usize| *n >= 3000 || !splitmix64(*n as u64).is_multiple_of(one_gone_of);
        let mut order: Vec<usize> = (0..4000).filter(stays).collect();
        order.sort_by_key(|&n| if n < 3000 { n } else { (n - 3000) * 3 });
        let mut node_map = vec![REMOVED_NODE; 3000];
        for (new, &old) in order.iter().enumerate().filter(|&(_, &old)| old < 3000) {
            node_map[old] = new as u32;
        }
        let now: Vec<Vec<f32>> = order.iter().map(|&n| vectors[n].clone()).collect();
        let mut flat = FlatBuilder::new(DIM, Metric::Cosine).unwrap();
        for (local, vector) in (0..).zip(&now) {
            flat.push(LocalOrdinal(local), vector).unwrap();
        }
        let after = flat.build_graph_from(&options, 1, Some((&before, &node_map)), &|| true);
        let after = after.unwrap().unwrap();
        let anew = flat.build_graph(&options, 1).unwrap().unwrap();
        assert_eq!(after != anew, copied, "1 of {one_gone_of} gone");
        let segment = Segment {
            flat: VectorReader::new(flat.finish(), None).unwrap(),
            graph: VectorReader::new(
                build_sections(&now, Metric::Cosine, &options).0,
                Some(after),
            )
            .unwrap(),
            count: now.len() as u32,
            dead: RoaringBitmap::new(),
        };
        let (recall, strategy) = segment.recall(&questions, None, 64);
        assert!(
            recall >= 0.95 && matches!(strategy, SearchStrategy::Walk { .. }),
            "{recall} {strategy}"
        );
        // Every node can be reached: each is the best answer to itself.
        let own = now.iter().filter(|vector| {
            let query = VectorQuery {
                effort: Effort::Ef(100),
                ..VectorQuery::new(vector, 1)
            };
            let (got, _) = segment.search(&segment.graph, &query);
            let (want, _) = segment.search(&segment.flat, &query);
            got == want
        });
        assert!(own.count() * 100 >= now.len() * 99);
    }
}

/// A change here is a new format version, not a new expectation.
#[test]
fn bytes_are_those_of_version_2() {
    let options = GraphOptions {
        m: 64,
        ef_construction: 100,
        codes: Codes::I8,
        seed: 3,
    };
    let (_, bytes) = build_sections(&[vec![1.0], vec![-1.0]], Metric::L2, &options);
    let head = [
        2, 0, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 64, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(bytes[..24], head);
    assert_eq!(
        bytes[28..40],
        [4, 2, 1, 60, 3, 0, 0, 0, 0, 0, 0, 0],
        "step, seed"
    );
    assert_eq!(bytes[40..44], 1f32.to_le_bytes(), "long");
    let error = f32::from_le_bytes(bytes[44..48].try_into().unwrap());
    assert!((0.0..0.01).contains(&error), "{error}");
    let efforts: Vec<u8> = [10u32, 16]
        .iter()
        .flat_map(|ef| [ef.to_le_bytes(), 9f32.to_le_bytes(), 1f32.to_le_bytes()].concat())
        .collect();
    assert_eq!(bytes[48..72], efforts);
    assert_eq!(bytes.len(), 256 + 2 * 640);
    let record = &bytes[256..256 + 640];
    assert_eq!((record[0], &record[1..64]), (255, &[0; 63][..]));
    assert_eq!(record[64..68], 1f32.to_le_bytes(), "norm");
    assert_eq!(record[68..72], [1, 0, 0, 0], "its only link");
    assert_eq!(
        (&record[72..580], &record[580..]),
        (&[255; 508][..], &[0; 60][..])
    );
}

proptest::proptest! {
    #[test]
    fn altered_or_cut_bytes_are_searched_without_a_panic(
        changes in proptest::collection::vec((0usize..40_000, proptest::prelude::any::<u8>()), 1..20),
        heads in proptest::collection::vec((0usize..200, proptest::prelude::any::<u8>()), 0..3),
        keep in proptest::prelude::any::<proptest::sample::Index>(),
        codes in proptest::sample::select(Codes::ALL.to_vec()),
    ) {
        let vectors = clustered(150, 12);
        let options = GraphOptions { m: 4, ef_construction: 20, codes, seed: 1 };
        let (flat, graph) = build_sections(&vectors, Metric::Dot, &options);
        proptest::prop_assert!(GraphReader::new(&graph[..keep.index(graph.len())]).is_err());
        let mut bytes = graph;
        for (at, value) in changes.into_iter().chain(heads) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        if let Ok(graph) = GraphReader::new(&bytes[..]) {
            let (mut query, mut walk) = (Query::default(), WalkState::default());
            let question: Vec<f32> = vectors[3].clone();
            graph.prepare_query(&question, &mut query);
            let even = |node: u32| node.is_multiple_of(2);
            let efforts = graph.efforts();
            let reaches = [
                WalkLimits::full(20),
                efforts.walk_limits(efforts.ef(Effort::Recall(0.9)), 10, None),
                efforts.walk_limits(16, 1, None),
                efforts.walk_limits(600, 20, None),
            ];
            for reach in reaches {
                for among in [NodeFilter::All, NodeFilter::PostFilter(&even), NodeFilter::PreFilter(&even, &[7, 900])] {
                    if graph.walk(&query, reach, among, &mut walk).is_ok() {
                        proptest::prop_assert!(walk.candidates.iter().all(|near| near.node() < 150));
                    }
                }
            }
            let _ = graph.scan(&query, &[0, 149, 150, u32::MAX >> 1], 3, &mut walk);
            let _ = graph.layers();
        }
        let Ok(reader) = VectorReader::new(flat, Some(bytes)) else { return Ok(()) };
        let dead = RoaringBitmap::new();
        let placed = [SegmentReader { base: Ordinal(0), chunk_count: 150, dead: &dead, reader: &reader }];
        let filter: RoaringBitmap = (0..150).filter(|n| n % 2 == 0).collect();
        for filter in [None, Some(&filter)] {
            let query = VectorQuery { filter, effort: Effort::Ef(5), ..VectorQuery::new(&vectors[3], 5) };
            let _ = search(&placed, &query, &mut VectorScratch::default());
        }
    }
}
