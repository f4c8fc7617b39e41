//! Any bytes are ranks, neighbours, communities and links or typed errors; sections that open are walked.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_fuzz::pieces;
use loci_graph::{
    Adjacency, CommunitiesReader, GraphReader, GraphSnapshot, HopOptions, MentionsBuilder,
    NamesBuilder, RandomWalkOptions, Ranks, RelationsBuilder, StoredLinks, WalkBound, communities,
    random_walk, two_hop,
};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentId, SegmentReader};
use roaring::RoaringBitmap;

const CHUNKS: u32 = 8;
/// Concepts that are looked up: all of them, and one more.
const CONCEPTS: u32 = 9;

static SAMPLE: LazyLock<GraphReader<Vec<u8>>> = LazyLock::new(sample);

fn sample() -> GraphReader<Vec<u8>> {
    let (mut mentions, mut relations) = (MentionsBuilder::default(), RelationsBuilder::default());
    for concept in 0..CONCEPTS - 1 {
        mentions.push(ConceptId(concept), LocalOrdinal(concept), 2);
        let next = ConceptId((concept + 1) % (CONCEPTS - 1));
        relations.push(
            ConceptId(concept),
            next,
            "uses",
            1.0,
            &[LocalOrdinal(concept)],
        );
    }
    let names = NamesBuilder::default().finish();
    GraphReader::open(names, mentions.finish(), relations.finish(), CHUNKS).unwrap()
}

fn read(found: &CommunitiesReader<Vec<u8>>) {
    for concept in (0..CONCEPTS).map(ConceptId) {
        for (level, community) in found.path(concept) {
            assert!(found.community_of(concept, level) == Some(community));
            communities::stable_key(level, found.members(level, community));
        }
    }
    for level in 0..=found.level_count() {
        let count = found.count(level);
        for community in (0..count as u32).take(32).chain([count as u32, u32::MAX]) {
            found.members(level, community).for_each(drop);
            found.parent(level, community);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [ranks, adjacency, found, links] = pieces(bytes).map(<[u8]>::to_vec);
    let (ranks, adjacency) = (Ranks::open(ranks).ok(), Adjacency::open(adjacency).ok());
    let links = StoredLinks::open(links).ok();
    if let Ok(found) = CommunitiesReader::open(found) {
        read(&found);
    }
    if let Some(adjacency) = &adjacency {
        (0..CONCEPTS).for_each(|id| adjacency.neighbours(ConceptId(id)).for_each(drop));
        adjacency.neighbours(ConceptId(u32::MAX)).for_each(drop);
        adjacency.covers([(SegmentId(1), 0)].into_iter());
    }
    if let Some(links) = &links {
        links.covers([(SegmentId(1), 0, Ordinal(0))].into_iter());
    }
    let dead: RoaringBitmap = [2].into();
    let segments = [SegmentReader {
        base: Ordinal(0),
        chunk_count: CHUNKS,
        dead: &dead,
        reader: &*SAMPLE,
    }];
    let view = GraphSnapshot {
        segments: &segments,
        ranks: ranks.as_ref(),
        adjacency: adjacency.as_ref(),
        links: links.as_ref(),
    };
    let seeds: Vec<ConceptId> = (0..CONCEPTS).map(ConceptId).collect();
    for fan_out in [1, 100] {
        two_hop(
            view,
            &seeds,
            HopOptions {
                hops: 3,
                limit: 20,
                fan_out,
                with_paths: true,
            },
        );
    }
    let weighted: Vec<(ConceptId, f32)> = seeds.iter().map(|&seed| (seed, 0.5)).collect();
    for bound in [
        WalkBound::Steps(1),
        WalkBound::Steps(5),
        WalkBound::Residual(1e-3),
        WalkBound::Residual(0.0),
    ] {
        for relation_probability in [0.0, 0.5] {
            let options = RandomWalkOptions {
                bound,
                relation_probability,
                links_max: 64,
                ..RandomWalkOptions::default()
            };
            let found = random_walk(view, &weighted, options, None, 5);
            assert!(found.chunks.len() <= 5);
        }
    }
});
