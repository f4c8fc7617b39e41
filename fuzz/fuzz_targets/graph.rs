//! Any bytes are names, mentions and relations or a typed error; a graph that opens is walked in every direction.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_fuzz::{pieces, repair_transducer_checksum};
use loci_graph::{
    ConceptHit, Direction, EdgeFilter, GraphReader, GraphSnapshot, HopOptions, LeidenOptions,
    MentionsReader, NamesBuilder, NamesReader, PageRankOptions, RandomWalkOptions, RelationsReader,
    WalkBound, betweenness, chunks_mentioning, leiden, pagerank, prerequisites, random_walk,
    shortest_path, two_hop, two_hop_filtered,
};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;

const CHUNKS: u32 = 64;
/// Concepts that are looked up.
const CONCEPTS: usize = 6;

fn read(mentions: &MentionsReader<&[u8]>, relations: &RelationsReader<&[u8]>) -> Vec<ConceptId> {
    let ids: Vec<ConceptId> = mentions
        .concept_ids()
        .chain(relations.concept_ids())
        .collect();
    for &id in &ids {
        assert!(mentions.chunks(id).all(|(chunk, _)| chunk.0 < CHUNKS));
        for edge in relations.edges(id) {
            assert!(edge.weight >= 0.0 && edge.evidence.clone().all(|chunk| chunk.0 < CHUNKS));
        }
    }
    (0..CHUNKS).for_each(|chunk| mentions.concepts(LocalOrdinal(chunk)).for_each(drop));
    assert_eq!(relations.relations().count(), relations.edge_count());
    ids
}

fn walk(view: GraphSnapshot<'_, &[u8]>, ids: &[ConceptId]) {
    let filter: RoaringBitmap = (0..CHUNKS + 9).collect();
    let along = [
        EdgeFilter::default(),
        EdgeFilter {
            direction: Direction::Outgoing,
            kinds: &["uses"],
        },
        EdgeFilter {
            direction: Direction::Incoming,
            kinds: &[],
        },
    ];
    for along in along {
        for (hops, fan_out) in [(1, 1), (3, 8)] {
            let options = HopOptions {
                hops,
                limit: 12,
                fan_out,
                with_paths: true,
            };
            let walk = two_hop_filtered(view, ids, options, along);
            let hits: Vec<ConceptHit> = chunks_mentioning(view, &walk.reached, Some(&filter), 80);
            assert!(hits.iter().all(|hit| hit.hit.ordinal.0 < 2 * CHUNKS));
        }
        for pair in ids.windows(2) {
            shortest_path(view, pair[0], pair[1], along, 50);
        }
    }
    two_hop(view, ids, HopOptions::default());
    for bound in [WalkBound::Steps(5), WalkBound::Residual(1e-3)] {
        let options = RandomWalkOptions {
            bound,
            relation_probability: 0.5,
            links_max: 1 << 10,
            ..RandomWalkOptions::default()
        };
        let seeds: Vec<(ConceptId, f32)> = ids.iter().map(|&id| (id, 1.0)).collect();
        random_walk(view, &seeds, options, Some(&filter), 5);
    }
    for &id in ids {
        prerequisites(view, id, 10);
        view.neighbours(id);
        view.rank(id);
    }
    view.live_chunk_count();
    let (concepts, edges) = (view.concept_ids(), view.weighted_edges());
    pagerank(
        concepts.iter().copied(),
        &edges,
        PageRankOptions {
            iterations: 3,
            ..PageRankOptions::default()
        },
    );
    leiden(concepts.iter().copied(), &edges, LeidenOptions::default());
    betweenness(concepts, &edges, 4, 1);
    view.link_question("Water and the method of Loci");
}

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let [mentions, relations, names] = pieces(bytes);
    let mut names = match names {
        [] => NamesBuilder::default().finish(),
        names => names.to_vec(),
    };
    if let Some(transducer) = names.get_mut(16..) {
        repair_transducer_checksum(transducer);
    }
    let names = NamesReader::open(&names[..]);
    let (mentions, relations) = (MentionsReader::open(mentions, CHUNKS), RelationsReader::open(relations, CHUNKS));
    let (Ok(names), Ok(mentions), Ok(relations)) = (names, mentions, relations) else { return };
    let mut ids = read(&mentions, &relations);
    ids.truncate(CONCEPTS);
    let reader = GraphReader { names, mentions, relations };
    let dead: RoaringBitmap = [2].into();
    let one = SegmentReader { base: Ordinal(0), chunk_count: CHUNKS, dead: &dead, reader: &reader };
    let segments = [one, SegmentReader { base: Ordinal(CHUNKS), ..one }];
    walk(GraphSnapshot { segments: &segments, ranks: None, adjacency: None, links: None }, &ids);
});
