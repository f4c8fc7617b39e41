//! The concept graph: walks with and without written neighbours, PageRank, communities.
//!
//! Graphs are the same on every machine: 4 relations a concept, to concepts of which a few have most of them, from a
//! seed; every concept is mentioned in two chunks.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};
use locidb::graph::{
    Adjacency, GraphReader, GraphSnapshot, HopOptions, LeidenOptions, MentionsBuilder,
    NamesBuilder, PageRankOptions, RandomWalkOptions, Ranks, RanksBuilder, RelationsBuilder,
    StoredLinks, adjacency, chunks_mentioning, leiden, links, pagerank, random_walk, two_hop,
};
use roaring::RoaringBitmap;

type Edge = (ConceptId, ConceptId, f32);

fn edges(concepts: u32) -> Vec<Edge> {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut other = move || {
        // xorshift64 (Marsaglia, 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = (state >> 11) as f64 / (1u64 << 53) as f64;
        ConceptId((share.powi(3) * f64::from(concepts)) as u32)
    };
    (0..4 * concepts)
        .map(|n| (ConceptId(n / 4), other(), 1.0 + (n % 3) as f32))
        .collect()
}

struct Graph {
    reader: GraphReader<Vec<u8>>,
    ranks: Ranks<Vec<u8>>,
    adjacency: Adjacency<Vec<u8>>,
    chunk_count: u32,
}

fn built(concepts: u32) -> Graph {
    let edges = edges(concepts);
    let chunk_count = concepts / 4 + 2;
    let (mut mentions, mut relations) = (MentionsBuilder::default(), RelationsBuilder::default());
    for concept in 0..concepts {
        for chunk in [concept / 4, (concept / 4 + 1 + concept % 7) % chunk_count] {
            mentions.push(ConceptId(concept), LocalOrdinal(chunk), 1);
        }
    }
    for &(source, target, weight) in &edges {
        relations.push(
            source,
            target,
            "RELATED_TO",
            weight,
            &[LocalOrdinal(source.0 / 4)],
        );
    }
    let names = NamesBuilder::default().finish();
    let reader = GraphReader::open(names, mentions.finish(), relations.finish(), chunk_count);
    let mut ranks = RanksBuilder::default();
    for (concept, rank) in pagerank([], &edges, PageRankOptions::default()) {
        ranks.push(concept, rank);
    }
    let ranks = Ranks::open(ranks.finish()).expect("it was just built");
    let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
    let neighbours = adjacency(&ends, |concept| ranks.get(concept), &[]);
    Graph {
        reader: reader.expect("it was just built"),
        adjacency: Adjacency::open(neighbours).expect("it was just built"),
        ranks,
        chunk_count,
    }
}

fn walks(c: &mut Criterion) {
    let mut group = c.benchmark_group("graph/walk");
    let dead = RoaringBitmap::new();
    for concepts in [1000, 20_000, 100_000] {
        let graph = built(concepts);
        let segments = [SegmentReader {
            base: Ordinal(0),
            chunk_count: graph.chunk_count,
            dead: &dead,
            reader: &graph.reader,
        }];
        let seeds = |n: u32| [n, n * 7, n * 31].map(|n| ConceptId(n % concepts));
        for (name, adjacency) in [("written", Some(&graph.adjacency)), ("gathered", None)] {
            let view = GraphSnapshot {
                segments: &segments,
                ranks: Some(&graph.ranks),
                adjacency,
                links: None,
            };
            let mut n = 0;
            group.bench_function(BenchmarkId::new(name, concepts), |b| {
                b.iter(|| {
                    n += 1;
                    let walk = two_hop(view, &seeds(n), HopOptions::default());
                    chunks_mentioning(view, &walk.reached, None, 20)
                });
            });
        }
        let view = GraphSnapshot {
            segments: &segments,
            ranks: Some(&graph.ranks),
            adjacency: Some(&graph.adjacency),
            links: None,
        };
        let stored = StoredLinks::open(links(view, &[])).expect("it was just built");
        for (name, links) in [
            ("restart/written", Some(&stored)),
            ("restart/gathered", None),
        ] {
            let view = GraphSnapshot { links, ..view };
            let mut n = 0;
            group.bench_function(BenchmarkId::new(name, concepts), |b| {
                b.iter(|| {
                    n += 1;
                    let seeds = seeds(n).map(|seed| (seed, 1.0));
                    random_walk(view, &seeds, RandomWalkOptions::default(), None, 20)
                });
            });
        }
    }
    group.finish();
}

fn algorithms(c: &mut Criterion) {
    let mut group = c.benchmark_group("graph/algorithms");
    group.sample_size(10);
    let edges = edges(20_000);
    group.bench_function("pagerank/20000", |b| {
        b.iter(|| pagerank([], black_box(&edges), PageRankOptions::default()));
    });
    group.bench_function("leiden/20000", |b| {
        b.iter(|| leiden([], black_box(&edges), LeidenOptions::default()));
    });
    group.finish();
}

criterion_group!(benches, walks, algorithms);
criterion_main!(benches);
