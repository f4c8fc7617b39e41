//! `loci bench --task graph|algorithms`: the concept graph alone, in parts as a store has them.
//!
//! A walk is what the graph arm does with the concepts of a question: two hops in both directions, the twenty
//! best concepts by hops and PageRank, then the first twenty chunks that mention them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci_storage::disk::{Disk, OsDisk};
use loci_storage::segment::{Part, PartBuilder, PartKind, Section, SectionId};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentId, SegmentReader};
use locidb::graph::{
    Adjacency, Communities, GraphReader, GraphSnapshot, HopOptions, LeidenOptions, MentionsBuilder,
    NamesBuilder, PageRankOptions, RandomWalkOptions, Ranks, RanksBuilder, RelationsBuilder,
    StoredLinks, WalkBound, adjacency, chunks_mentioning, leiden, links, pagerank, random_walk,
    two_hop,
};
use roaring::RoaringBitmap;
use serde_json::{Value, json};

use crate::BenchError;
use crate::clock::{Stopwatch, latency};
use crate::folder::GivenGraph;
use crate::line::result_line;

/// Concepts and chunks of an answer.
const K: usize = 20;

/// Measures walks over the graph of `folder`, and calls `line` with every result.
///
/// # Errors
/// [`BenchError`] when the folder has no graph, and as in [`crate::text::run`].
pub fn walks(
    folder: &Path,
    threads: usize,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let given = GivenGraph::open(folder)?;
    if given.seeds.iter().all(Vec::is_empty) {
        let why = "queries.jsonl has no seeds to walk from; peers/export.py writes them";
        return Err(BenchError::MissingInput(why.into()));
    }
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let watch = Stopwatch::start();
    let bytes = write(&given, at.path())?;
    let (wall, cpu) = watch.read();
    line(&graph_line(
        &given,
        "graph",
        threads,
        "build",
        json!({
            "build_s": wall.as_secs_f64(),
            "cpu_s": cpu.as_secs_f64(),
            "disk_bytes": bytes,
            "concepts": given.entity_count,
            "relations": given.relations.len(),
            "mentions": given.mentions.len(),
        }),
    ));
    let started = Instant::now();
    let graph = Graph::open(at.path())?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    line(&graph_line(
        &given,
        "graph",
        threads,
        "open",
        json!({ "open_ms": open_ms }),
    ));
    let walk = |graph: &Graph, question: usize| -> Vec<u32> {
        let seeds: Vec<ConceptId> = given.seeds[question]
            .iter()
            .copied()
            .map(ConceptId)
            .collect();
        graph.walk(&seeds)
    };
    let mut fields = json!(latency(
        given.seeds.len(),
        threads,
        || (),
        |(), question| {
            std::hint::black_box(walk(&graph, question));
        }
    ));
    if given.answers.len() == given.seeds.len() {
        let same = |question: &usize| walk(&graph, *question) == given.answers[*question];
        let same = (0..given.seeds.len()).filter(same).count();
        fields["same_as_reference"] = json!(same as f64 / given.seeds.len() as f64);
    }
    line(&graph_line(&given, "graph", threads, "search", fields));
    let exact = ExactWalk::new(&given);
    let seeded_queries: Vec<usize> = (0..given.seeds.len())
        .filter(|&at| !given.seeds[at].is_empty())
        .collect();
    let best: Vec<Best> = seeded_queries
        .iter()
        .map(|&at| exact.best(&given.seeds[at]))
        .collect();
    for (name, reach) in reaches() {
        let options = RandomWalkOptions {
            bound: reach,
            ..RandomWalkOptions::default()
        };
        let walk = |at: usize| graph.restart(&given.seeds[at], options);
        let mut fields = json!(latency(
            seeded_queries.len(),
            threads,
            || (),
            |(), i| {
                std::hint::black_box(walk(seeded_queries[i]));
            }
        ));
        let agreed = seeded_queries
            .iter()
            .zip(&best)
            .map(|(&at, best)| best.share(&walk(at)));
        fields["reach"] = json!(name);
        fields["agrees_with_exact"] = json!(agreed.sum::<f64>() / seeded_queries.len() as f64);
        line(&graph_line(&given, "graph", threads, "restart", fields));
    }
    Ok(())
}

/// The walks with restart that are measured: some links, and until a residual.
fn reaches() -> impl Iterator<Item = (String, WalkBound)> {
    let steps = [3, 5, 7, 9].map(|steps| (format!("{steps} links"), WalkBound::Steps(steps)));
    let push =
        [1e-4, 1e-5, 1e-6].map(|least| (format!("residual {least:e}"), WalkBound::Residual(least)));
    steps.into_iter().chain(push)
}

/// Chunks that they are compared by.
const BEST: usize = 100;
/// Rounds after which less than a millionth of the walk is on its way.
const ROUNDS: usize = 24;

/// Where an exact walk ends.
struct Best {
    /// Mass by chunk.
    chunks: Vec<f64>,
    /// That of the last of the best, and how many there are.
    least: f64,
    count: usize,
}

impl Best {
    /// The share of the best that was found, of chunks that are as good the first.
    fn share(&self, found: &[u32]) -> f64 {
        let good = found
            .iter()
            .filter(|&&chunk| self.chunks[chunk as usize] >= self.least);
        match self.count {
            0 => 1.0,
            count => good.count().min(count) as f64 / count as f64,
        }
    }
}

/// The walk with restart over concepts and chunks, to its end and without bounds: every round goes over all
/// mentions.
struct ExactWalk {
    /// (concept, chunk, 1 + ln of the mentions there), each pair once.
    links: Vec<(usize, usize, f64)>,
    /// ln(1 + chunks / chunks that mention it), by concept.
    rarity: Vec<f64>,
    /// By concept the sum over its links, by chunk that of the rarity of its concepts.
    of_concept: Vec<f64>,
    of_chunk: Vec<f64>,
}

impl ExactWalk {
    fn new(given: &GivenGraph) -> ExactWalk {
        let mut mentions = given.mentions.clone();
        mentions.sort_unstable();
        let links: Vec<(usize, usize, f64)> = mentions
            .chunk_by(|a, b| a == b)
            .map(|same| {
                let (concept, chunk) = same[0];
                (
                    concept as usize,
                    chunk as usize,
                    1.0 + (same.len() as f64).ln(),
                )
            })
            .collect();
        let (mut counts, mut of_concept) =
            (vec![0.0; given.entity_count], vec![0.0; given.entity_count]);
        for &(concept, _, pull) in &links {
            counts[concept] += 1.0;
            of_concept[concept] += pull;
        }
        let chunks = given.chunk_count as f64;
        let rarity = counts
            .iter()
            .map(|&count| (1.0 + chunks / f64::max(count, 1.0)).ln());
        let rarity: Vec<f64> = rarity.collect();
        let mut of_chunk = vec![0.0; given.chunk_count];
        for &(concept, chunk, _) in &links {
            of_chunk[chunk] += rarity[concept];
        }
        ExactWalk {
            links,
            rarity,
            of_concept,
            of_chunk,
        }
    }

    /// The chunks where the walk most likely ends.
    fn best(&self, seeds: &[u32]) -> Best {
        let mut start = vec![0.0; self.rarity.len()];
        for &seed in seeds
            .iter()
            .filter(|&&seed| self.of_concept[seed as usize] > 0.0)
        {
            start[seed as usize] += self.rarity[seed as usize];
        }
        let total: f64 = start.iter().sum();
        start
            .iter_mut()
            .for_each(|mass| *mass /= f64::max(total, f64::MIN_POSITIVE));
        let restart = RandomWalkOptions::default().restart_probability;
        let mut concepts = start.clone();
        let mut chunks = vec![0.0; self.of_chunk.len()];
        for _ in 0..ROUNDS {
            chunks.fill(0.0);
            for &(concept, chunk, pull) in &self.links {
                chunks[chunk] += concepts[concept] * pull / self.of_concept[concept];
            }
            let mut back = vec![0.0; concepts.len()];
            for &(concept, chunk, _) in &self.links {
                back[concept] += chunks[chunk] * self.rarity[concept] / self.of_chunk[chunk];
            }
            let next = start.iter().zip(&back);
            concepts = next
                .map(|(s, b)| restart * s + (1.0 - restart) * b)
                .collect();
        }
        let mut masses: Vec<f64> = chunks.iter().copied().filter(|&mass| mass > 0.0).collect();
        masses.sort_unstable_by(|a, b| b.total_cmp(a));
        masses.truncate(BEST);
        // What differs in its last bits alone is as good.
        let least = masses.last().map_or(0.0, |last| last * (1.0 - 1e-6));
        Best {
            count: masses.len(),
            chunks,
            least,
        }
    }
}

/// Measures PageRank and Leiden over the graph of `folder`, and calls `line` with every result.
///
/// # Errors
/// As [`walks`].
pub fn algorithms(folder: &Path, mut line: impl FnMut(&Value)) -> Result<(), BenchError> {
    let given = GivenGraph::open(folder)?;
    let edges = edges(&given);
    let concepts = || (0..given.entity_count as u32).map(ConceptId);
    let started = Stopwatch::start();
    let ranks = pagerank(concepts(), &edges, PageRankOptions::default());
    let (wall, cpu) = started.read();
    let further = PageRankOptions {
        iterations: 2 * PageRankOptions::default().iterations,
        ..PageRankOptions::default()
    };
    let settled = pagerank(concepts(), &edges, further);
    let pairs = ranks.iter().zip(&settled);
    let distance: f64 = pairs.map(|((_, a), (_, b))| f64::from((a - b).abs())).sum();
    let mut fields = json!({
        "s": wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "l1_to_20it": 0.0,
        "l1_to_40it": distance,
    });
    if given.ranks.len() == ranks.len() {
        let pairs = ranks.iter().zip(&given.ranks);
        let distance: f64 = pairs.map(|((_, a), b)| f64::from((a - b).abs())).sum();
        fields["l1_to_20it"] = json!(distance);
    }
    line(&graph_line(&given, "algorithms", 1, "pagerank", fields));
    let started = Stopwatch::start();
    let found = leiden(concepts(), &edges, LeidenOptions::default());
    let (wall, cpu) = started.read();
    let again = leiden(concepts(), &edges, LeidenOptions::default());
    let count = found.coarsest().iter().max().map_or(0, |&last| last + 1);
    let fields = json!({
        "s": wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "modularity": found.modularity,
        "count": count,
        "levels": found.levels.len(),
        "connected": disconnected(&edges, &found) == 0,
        "disconnected": disconnected(&edges, &found),
        "same_twice": again == found,
    });
    line(&graph_line(&given, "algorithms", 1, "communities", fields));
    Ok(())
}

/// Communities that are not connected by edges inside of them.
fn disconnected(edges: &[(ConceptId, ConceptId, f32)], found: &Communities) -> usize {
    let of = found.coarsest();
    let mut parents: Vec<u32> = (0..of.len() as u32).collect();
    fn root(parents: &mut [u32], mut at: u32) -> u32 {
        while parents[at as usize] != at {
            parents[at as usize] = parents[parents[at as usize] as usize];
            at = parents[at as usize];
        }
        at
    }
    // Concepts are lines, so their places are their ids.
    for (a, b, _) in edges
        .iter()
        .filter(|edge| of[edge.0.0 as usize] == of[edge.1.0 as usize])
    {
        let (a, b) = (root(&mut parents, a.0), root(&mut parents, b.0));
        parents[a as usize] = b;
    }
    let count = of.iter().max().map_or(0, |&last| last as usize + 1);
    let mut parts = vec![0usize; count];
    for place in 0..of.len() as u32 {
        parts[of[place as usize] as usize] += usize::from(root(&mut parents, place) == place);
    }
    parts.iter().filter(|&&parts| parts > 1).count()
}

fn graph_line(
    given: &GivenGraph,
    task: &str,
    threads: usize,
    result: &str,
    fields: Value,
) -> Value {
    result_line(
        task,
        &given.name,
        threads,
        given.entity_count,
        result,
        fields,
    )
}

fn edges(given: &GivenGraph) -> Vec<(ConceptId, ConceptId, f32)> {
    let edges = given.relations.iter();
    edges
        .map(|&(source, target, weight)| (ConceptId(source), ConceptId(target), weight))
        .collect()
}

/// Files of a segment and of its analysis.
const SEGMENT: &str = "segment";
const ANALYSIS: &str = "analysis";

/// The segment of the graph and its analysis, as files in `folder`; their bytes.
fn write(given: &GivenGraph, folder: &Path) -> Result<usize, BenchError> {
    let mut mentions = MentionsBuilder::default();
    for &(entity, chunk) in &given.mentions {
        mentions.push(ConceptId(entity), LocalOrdinal(chunk), 1);
    }
    let mut relations = RelationsBuilder::default();
    for &(source, target, weight) in &given.relations {
        relations.push(
            ConceptId(source),
            ConceptId(target),
            "RELATED_TO",
            weight,
            &[],
        );
    }
    let sections = [
        NamesBuilder::default().finish(),
        mentions.finish(),
        relations.finish(),
    ];
    let [names, mentions, relations] = sections.each_ref().map(Vec::as_slice);
    let reader = GraphReader::open(names, mentions, relations, given.chunk_count as u32)?;
    let placed = [SegmentReader {
        base: Ordinal(0),
        chunk_count: given.chunk_count as u32,
        dead: &RoaringBitmap::new(),
        reader: &reader,
    }];
    let view = GraphSnapshot {
        segments: &placed,
        ranks: None,
        adjacency: None,
        links: None,
    };
    let links = links(view, &[(SegmentId(1), 0, Ordinal(0))]);
    let mut segment = PartBuilder::new(PartKind::Segment, given.chunk_count as u32, 1);
    let ids = [SectionId::Names, SectionId::Mentions, SectionId::Relations];
    for (id, section) in ids.into_iter().zip(sections) {
        segment.push(id, 0, section);
    }
    let edges = edges(given);
    let mut ranks = RanksBuilder::default();
    if given.ranks.is_empty() {
        let concepts = (0..given.entity_count as u32).map(ConceptId);
        for (concept, rank) in pagerank(concepts, &edges, PageRankOptions::default()) {
            ranks.push(concept, rank);
        }
    }
    for (concept, &rank) in (0..).map(ConceptId).zip(&given.ranks) {
        ranks.push(concept, rank);
    }
    let ranks = ranks.finish();
    let of = Ranks::open(&ranks[..])?;
    let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
    let neighbours = adjacency(&ends, |concept| of.get(concept), &[(SegmentId(1), 0)]);
    let mut analysis = PartBuilder::new(PartKind::Analysis, 0, 0);
    analysis.push(SectionId::Ranks, 0, ranks);
    analysis.push(SectionId::Adjacency, 0, neighbours);
    analysis.push(SectionId::Links, 0, links);
    let mut bytes = 0;
    for (name, part) in [
        (SEGMENT, segment.finish(1, 1)),
        (ANALYSIS, analysis.finish(2, 1)),
    ] {
        bytes += part.len();
        std::fs::write(folder.join(name), part).map_err(|source| BenchError::io(name, source))?;
    }
    Ok(bytes)
}

/// The graph, mapped.
struct Graph {
    reader: GraphReader<Section>,
    ranks: Ranks<Section>,
    adjacency: Adjacency<Section>,
    links: StoredLinks<Section>,
    chunk_count: u32,
    dead: RoaringBitmap,
}

impl Graph {
    fn open(folder: &Path) -> Result<Graph, BenchError> {
        let part = |name: &str| -> Result<Arc<Part>, BenchError> {
            let bytes = OsDisk.map(&folder.join(name));
            let bytes = bytes.map_err(|source| BenchError::io(name, source))?;
            Ok(Arc::new(Part::new(bytes)?))
        };
        let (segment, analysis) = (part(SEGMENT)?, part(ANALYSIS)?);
        let chunk_count = segment.header().chunk_count;
        let reader = GraphReader::open(
            segment.section(SectionId::Names, 0)?,
            segment.section(SectionId::Mentions, 0)?,
            segment.section(SectionId::Relations, 0)?,
            chunk_count,
        )?;
        Ok(Graph {
            reader,
            ranks: Ranks::open(analysis.section(SectionId::Ranks, 0)?)?,
            adjacency: Adjacency::open(analysis.section(SectionId::Adjacency, 0)?)?,
            links: StoredLinks::open(analysis.section(SectionId::Links, 0)?)?,
            chunk_count,
            dead: RoaringBitmap::new(),
        })
    }

    fn segments(&self) -> [SegmentReader<'_, GraphReader<Section>>; 1] {
        [SegmentReader {
            base: Ordinal(0),
            chunk_count: self.chunk_count,
            dead: &self.dead,
            reader: &self.reader,
        }]
    }

    fn view<'v>(
        &'v self,
        segments: &'v [SegmentReader<'v, GraphReader<Section>>],
    ) -> GraphSnapshot<'v, Section> {
        GraphSnapshot {
            segments,
            ranks: Some(&self.ranks),
            adjacency: Some(&self.adjacency),
            links: Some(&self.links),
        }
    }

    /// The chunks where a walk with restart most likely ends.
    fn restart(&self, seeds: &[u32], options: RandomWalkOptions) -> Vec<u32> {
        let segments = self.segments();
        let seeds: Vec<_> = seeds.iter().map(|&seed| (ConceptId(seed), 1.0)).collect();
        let found = random_walk(self.view(&segments), &seeds, options, None, BEST);
        found.chunks.into_iter().map(|hit| hit.ordinal.0).collect()
    }

    /// The chunks of what two hops reach.
    fn walk(&self, seeds: &[ConceptId]) -> Vec<u32> {
        let segments = self.segments();
        let view = self.view(&segments);
        let options = HopOptions {
            limit: K,
            ..HopOptions::default()
        };
        let walk = two_hop(view, seeds, options);
        let chunks = chunks_mentioning(view, &walk.reached, None, K);
        chunks
            .into_iter()
            .map(|found| found.hit.ordinal.0)
            .collect()
    }
}
