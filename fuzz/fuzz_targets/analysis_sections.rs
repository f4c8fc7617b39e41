//! Any bytes are ranks, neighbours, communities and links or typed errors; walks go by what opens.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_fuzz::pieces;
use loci_graph::{
    Adjacency, CommunitiesReader, GraphReader, GraphView, HopOptions, MentionsBuilder,
    NamesBuilder, Ranks, Reach, RelationsBuilder, RestartOptions, StoredLinks, communities,
    restart_walk, two_hop,
};
use loci_storage::{ConceptId, Local, Ordinal, Placed, SegmentId};
use roaring::RoaringBitmap;

const CHUNKS: u32 = 8;
/// Concepts that are asked for, and one beyond.
const CONCEPTS: u32 = 9;

static SOUND: LazyLock<GraphReader<Vec<u8>>> = LazyLock::new(sound);

fn sound() -> GraphReader<Vec<u8>> {
    let (mut mentions, mut relations) = (MentionsBuilder::default(), RelationsBuilder::default());
    for concept in 0..CONCEPTS - 1 {
        mentions.push(ConceptId(concept), Local(concept), 2);
        let next = ConceptId((concept + 1) % (CONCEPTS - 1));
        relations.push(ConceptId(concept), next, "uses", 1.0, &[Local(concept)]);
    }
    let names = NamesBuilder::default().finish();
    GraphReader::open(names, mentions.finish(), relations.finish(), CHUNKS).unwrap()
}

fn told(found: &CommunitiesReader<Vec<u8>>) {
    for concept in (0..CONCEPTS).map(ConceptId) {
        for (level, community) in found.path(concept) {
            assert!(found.of(concept, level) == Some(community));
            communities::key(level, found.members(level, community));
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
        told(&found);
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
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: CHUNKS,
        dead: &dead,
        reader: &*SOUND,
    }];
    let view = GraphView {
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
                paths: true,
            },
        );
    }
    let weighted: Vec<(ConceptId, f32)> = seeds.iter().map(|&seed| (seed, 0.5)).collect();
    for reach in [
        Reach::Steps(1),
        Reach::Steps(5),
        Reach::Residual(1e-3),
        Reach::Residual(0.0),
    ] {
        for relations in [0.0, 0.5] {
            let options = RestartOptions {
                reach,
                relations,
                links_max: 64,
                ..RestartOptions::default()
            };
            let found = restart_walk(view, &weighted, options, None, 5);
            assert!(found.chunks.len() <= 5);
        }
    }
});
