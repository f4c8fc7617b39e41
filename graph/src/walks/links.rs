//! The links of a walk with restart: concept → chunk, chunk → concept, concept → concept, with the probability of
//! each step. Written with the analysis as one section, or read off the segments where that is older than
//! they are.
//!
//! With rarity(c) = ln(1 + live chunks / live chunks that mention c):
//! - from a concept to a chunk that mentions it, the probability is proportional to 1 + ln(mentions there);
//! - from a chunk to a concept that it mentions, the probability is proportional to the concept's rarity;
//! - from a concept to a neighbour, the probability is proportional to the weight of the relations between them;
//!   where all weigh nothing, each neighbour is as likely as the others.
//!
//! A concept that one chunk alone mentions sends back what that chunk sent: a walk that takes no relations
//! counts such concepts as the chunk's *own* share and need not visit them.
//!
//! The bytes are those of [`StoredLinks`].
//!
//! Start reading at [`links`].

use std::collections::{BTreeMap, HashMap};

use loci_storage::{ConceptId, Ordinal, SegmentId};

use crate::analysis::segment_list;
#[cfg(doc)]
use crate::analysis::stored_links::StoredLinks;
use crate::analysis::stored_links::{VERSION, WalkLinks};
use crate::snapshot::GraphSnapshot;
use crate::u32_slice::{count, extend, starts};

fn rarity(live: f64, chunks: usize) -> f32 {
    match chunks {
        0 => 0.0,
        chunks => (1.0 + live / chunks as f64).ln() as f32,
    }
}

fn mention_weight(mentions: u32) -> f64 {
    1.0 + f64::from(mentions.max(1)).ln()
}

/// Shares of the neighbours of a concept, from the weights of its edges.
fn arc_weights(edges: impl Iterator<Item = (u32, f32)>) -> Vec<(u32, f32)> {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    for (other, weight) in edges {
        *weights.entry(other).or_default() += f64::from(weight);
    }
    let total: f64 = weights.values().sum();
    let even = 1.0 / weights.len().max(1) as f64;
    let share = |weight: f64| {
        if total > 0.0 && total.is_finite() {
            weight / total
        } else {
            even
        }
    };
    let shares = weights.into_iter();
    shares
        .map(|(other, weight)| (other, share(weight) as f32))
        .collect()
}

/// Links read off the segments of a view. Slow: each concept and chunk is counted when it is met.
pub(crate) struct SnapshotLinks<'a, B> {
    snapshot: GraphSnapshot<'a, B>,
    live: f64,
    /// Live chunks that mention a concept.
    chunk_counts: HashMap<u32, usize>,
    /// Concepts of a chunk: those of other chunks too, then its own.
    rows: HashMap<u32, (Vec<u32>, Vec<u32>)>,
}

impl<'a, B: AsRef<[u8]>> SnapshotLinks<'a, B> {
    pub(crate) fn new(snapshot: GraphSnapshot<'a, B>) -> SnapshotLinks<'a, B> {
        SnapshotLinks {
            snapshot,
            live: snapshot.live_chunk_count() as f64,
            chunk_counts: HashMap::new(),
            rows: HashMap::new(),
        }
    }

    fn live_chunk_count(&mut self, concept: u32) -> usize {
        let snapshot = self.snapshot;
        let count = self.chunk_counts.entry(concept);
        *count.or_insert_with(|| snapshot.chunk_count(ConceptId(concept)))
    }

    fn row(&mut self, chunk: u32) -> (Vec<u32>, Vec<u32>) {
        if let Some(row) = self.rows.get(&chunk) {
            return row.clone();
        }
        let concepts = self.snapshot.concepts(Ordinal(chunk));
        let row: (Vec<u32>, Vec<u32>) = concepts
            .map(|(concept, _)| concept.0)
            .partition(|&concept| self.live_chunk_count(concept) > 1);
        self.rows.insert(chunk, row.clone());
        row
    }

    /// The sum of the rarities of some concepts.
    fn sum(&mut self, concepts: &[u32]) -> f64 {
        let rarities = concepts
            .iter()
            .map(|&concept| f64::from(self.rarity(concept)));
        rarities.sum()
    }
}

impl<B: AsRef<[u8]>> WalkLinks for SnapshotLinks<'_, B> {
    fn rarity(&mut self, concept: u32) -> f32 {
        rarity(self.live, self.live_chunk_count(concept))
    }

    fn concept_degree(&mut self, concept: u32) -> usize {
        self.live_chunk_count(concept)
    }

    fn chunk_degree(&mut self, chunk: u32) -> usize {
        self.row(chunk).0.len()
    }

    fn chunks(&mut self, concept: u32, mut step: impl FnMut(u32, f32)) {
        let pulls = self.snapshot.chunks(ConceptId(concept));
        let pulls: f64 = pulls.map(|(_, mentions)| mention_weight(mentions)).sum();
        for (chunk, mentions) in self.snapshot.chunks(ConceptId(concept)) {
            step(chunk.0, (mention_weight(mentions) / pulls) as f32);
        }
    }

    fn concepts(&mut self, chunk: u32, with_own: bool, step: impl FnMut(u32)) {
        let (shared, own) = self.row(chunk);
        let own = own.into_iter().filter(|_| with_own);
        shared.into_iter().chain(own).for_each(step);
    }

    fn rarity_sum(&mut self, chunk: u32) -> f32 {
        let (shared, own) = self.row(chunk);
        (self.sum(&shared) + self.sum(&own)) as f32
    }

    fn own_weight(&mut self, chunk: u32) -> f32 {
        let (shared, own) = self.row(chunk);
        let (shared, own) = (self.sum(&shared), self.sum(&own));
        weight_ratio(own, shared + own)
    }

    fn neighbours(&mut self, concept: u32, mut step: impl FnMut(u32, f32)) {
        let edges = self.snapshot.live_edges(ConceptId(concept));
        let edges = edges.map(|(_, edge)| (edge.other.0, edge.weight));
        for (other, share) in arc_weights(edges.filter(|edge| edge.0 != concept)) {
            step(other, share);
        }
    }
}

fn weight_ratio(own: f64, total: f64) -> f32 {
    if total > 0.0 {
        (own / total) as f32
    } else {
        0.0
    }
}

/// The bytes of the section: the links of `view`, whose segments are `segments`, in its order, each with its
/// number of dead chunks and the ordinal of its first.
///
/// Costs a pass over all mentions and relations. Memory: some 24 bytes a link and an arc.
pub fn links<B: AsRef<[u8]>>(
    snapshot: GraphSnapshot<'_, B>,
    segments: &[(SegmentId, u32, Ordinal)],
) -> Vec<u8> {
    let last = snapshot.segments.last();
    let chunks = last.map_or(0, |last| last.base.0 + last.chunk_count);
    let live = snapshot.live_chunk_count() as f64;
    let concepts = snapshot.concept_ids();
    let edges = snapshot.weighted_edges();
    let ends = edges.iter().flat_map(|(a, b, _)| [a.0, b.0]);
    let last = concepts.last().map(|last| last.0);
    let nodes = ends.chain(last).max().map_or(0, |last| last + 1);
    let rows = (0..nodes).map(|concept| snapshot.chunks(ConceptId(concept)));
    let rows = rows.map(|row| row.map(|(chunk, mentions)| (chunk.0, mentions)));
    let rows: Vec<Vec<(u32, u32)>> = rows.map(Iterator::collect).collect();
    let rarities: Vec<f32> = rows.iter().map(|row| rarity(live, row.len())).collect();
    let ends = edges.iter().filter(|(a, b, _)| a != b);
    let mut arcs: Vec<Vec<(u32, f32)>> = vec![Vec::new(); nodes as usize];
    for &(source, target, weight) in ends {
        arcs[source.0 as usize].push((target.0, weight));
        arcs[target.0 as usize].push((source.0, weight));
    }
    let arcs = arcs.into_iter().map(|row| arc_weights(row.into_iter()));
    let arcs: Vec<Vec<(u32, f32)>> = arcs.collect();
    let of_chunks =
        (0..chunks).map(|chunk| ChunkRow::new(snapshot, Ordinal(chunk), &rows, &rarities));
    let of_chunks: Vec<ChunkRow> = of_chunks.collect();
    let mut bytes = Vec::new();
    let header = [
        VERSION,
        nodes,
        chunks,
        count(rows.iter().map(Vec::len).sum()),
        count(arcs.iter().map(Vec::len).sum()),
        count(segments.len()),
    ];
    extend(&mut bytes, header);
    for (id, dead, base) in segments {
        extend(&mut bytes, segment_list::encode(*id, *dead, base.0));
    }
    extend(&mut bytes, rarities.iter().map(|rarity| rarity.to_bits()));
    extend(&mut bytes, starts(rows.iter().map(Vec::len)));
    extend(&mut bytes, rows.iter().flatten().map(|(chunk, _)| *chunk));
    for row in &rows {
        let pulls: f64 = row.iter().map(|link| mention_weight(link.1)).sum();
        let shares = row
            .iter()
            .map(|link| (mention_weight(link.1) / pulls) as f32);
        extend(&mut bytes, shares.map(f32::to_bits));
    }
    extend(
        &mut bytes,
        of_chunks.iter().map(|row| row.rarity_sum.to_bits()),
    );
    extend(
        &mut bytes,
        of_chunks.iter().map(|row| row.own_weight.to_bits()),
    );
    extend(
        &mut bytes,
        starts(of_chunks.iter().map(|row| row.concepts.len())),
    );
    let concepts = of_chunks.iter().flat_map(|row| &row.concepts);
    extend(&mut bytes, concepts.copied());
    extend(&mut bytes, of_chunks.iter().map(|row| row.own_count));
    extend(&mut bytes, starts(arcs.iter().map(Vec::len)));
    extend(&mut bytes, arcs.iter().flatten().map(|(other, _)| *other));
    let shares = arcs.iter().flatten().map(|(_, share)| share.to_bits());
    extend(&mut bytes, shares);
    bytes
}

/// The links of a chunk.
struct ChunkRow {
    concepts: Vec<u32>,
    own_count: u32,
    rarity_sum: f32,
    own_weight: f32,
}

impl ChunkRow {
    fn new<B: AsRef<[u8]>>(
        snapshot: GraphSnapshot<'_, B>,
        chunk: Ordinal,
        rows: &[Vec<(u32, u32)>],
        rarities: &[f32],
    ) -> ChunkRow {
        // One that no chunk is listed for, in damaged bytes, is no link.
        let is_known = |concept: &u32| rows.get(*concept as usize).is_some_and(|of| !of.is_empty());
        let concepts = snapshot.concepts(chunk).map(|(concept, _)| concept.0);
        let concepts = concepts.filter(is_known);
        let (mut concepts, own): (Vec<u32>, Vec<u32>) = concepts
            .partition(|&concept| rows.get(concept as usize).is_some_and(|of| of.len() > 1));
        let total = |concepts: &[u32]| -> f64 {
            let rarities = concepts
                .iter()
                .map(|&concept| rarities.get(concept as usize).copied().unwrap_or(0.0));
            rarities.map(f64::from).sum()
        };
        let (of_shared, of_own) = (total(&concepts), total(&own));
        concepts.extend(&own);
        ChunkRow {
            concepts,
            own_count: count(own.len()),
            rarity_sum: (of_shared + of_own) as f32,
            own_weight: weight_ratio(of_own, of_shared + of_own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stored_links::StoredLinks;
    use crate::test_corpus::{any_corpus, any_cuts};
    use proptest::prelude::*;

    type LinksDump = (Vec<f32>, Vec<Vec<(u32, f32)>>, Vec<Vec<u32>>, Vec<[f32; 2]>);

    /// All that links say of 12 concepts and 20 chunks.
    fn dump(mut links: impl WalkLinks) -> LinksDump {
        let mut dumped = LinksDump::default();
        for concept in 0..12 {
            dumped.0.push(links.rarity(concept));
            let (mut chunks, mut neighbours) = (Vec::new(), Vec::new());
            links.chunks(concept, |chunk, share| chunks.push((chunk, share)));
            assert_eq!(links.concept_degree(concept), chunks.len());
            links.neighbours(concept, |other, share| neighbours.push((other, share)));
            dumped.1.extend([chunks, neighbours]);
        }
        for chunk in 0..20 {
            let (mut all, mut shared) = (Vec::new(), Vec::new());
            links.concepts(chunk, true, |concept| all.push(concept));
            links.concepts(chunk, false, |concept| shared.push(concept));
            assert_eq!(links.chunk_degree(chunk), shared.len());
            dumped.2.extend([all, shared]);
            dumped
                .3
                .push([links.rarity_sum(chunk), links.own_weight(chunk)]);
        }
        dumped
    }

    proptest! {
        #[test]
        fn stored_links_equal_links_read_from_segments(corpus in any_corpus(), cuts in any_cuts()) {
            corpus.with_snapshot(&cuts, |view| {
                let stored = StoredLinks::open(links(view, &[])).unwrap();
                assert_eq!(dump(stored.open_links()), dump(SnapshotLinks::new(view)));
            });
        }

        #[test]
        fn any_bytes_open_as_a_section_or_fail(
            corpus in any_corpus(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = corpus.with_snapshot(&[false; 5], |view| links(view, &[(SegmentId(1), 0, Ordinal(0))]));
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
                let Ok(stored) = StoredLinks::open(bytes) else { continue };
                let mut links = stored.open_links();
                for id in 0..40 {
                    links.chunks(id, |_, _| ());
                    links.concepts(id, true, |_| ());
                    links.neighbours(id, |_, _| ());
                }
                stored.covers([(SegmentId(1), 0, Ordinal(0))].into_iter());
            }
        }
    }

    #[test]
    fn covers_only_equal_segments_at_equal_ordinals() {
        let segments: [_; 0] = [];
        let snapshot: GraphSnapshot<'_, Vec<u8>> = GraphSnapshot {
            segments: &segments,
            ranks: None,
            adjacency: None,
            links: None,
        };
        let written = [
            (SegmentId(3), 0, Ordinal(0)),
            (SegmentId(1 << 40), 5, Ordinal(9)),
        ];
        let stored = StoredLinks::open(links(snapshot, &written)).unwrap();
        let covers = |segments: &[(u64, u64, u32)]| {
            let segments = segments.iter();
            stored.covers(segments.map(|&(id, dead, base)| (SegmentId(id), dead, Ordinal(base))))
        };
        assert!(covers(&[(3, 0, 0), (1 << 40, 5, 9)]));
        assert!(!covers(&[(1 << 40, 5, 9), (3, 0, 0)]));
        assert!(!covers(&[(3, 0, 0), (1 << 40, 6, 9)]));
        assert!(!covers(&[(3, 0, 0), (1 << 40, 5, 8)]));
        assert!(!covers(&[(3, 0, 0)]));
    }

    #[test]
    fn bytes_are_those_of_version_1() {
        let segments: [_; 0] = [];
        let snapshot: GraphSnapshot<'_, Vec<u8>> = GraphSnapshot {
            segments: &segments,
            ranks: None,
            adjacency: None,
            links: None,
        };
        let words = [1, 0, 0, 0, 0, 1, 7, 0, 3, 2, 0, 0, 0u32];
        let bytes = links(snapshot, &[(SegmentId(7), 3, Ordinal(2))]);
        assert_eq!(bytes, words.map(u32::to_le_bytes).concat());
    }
}
