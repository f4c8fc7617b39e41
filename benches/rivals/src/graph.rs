//! `rivals-graph`: LociDB's concept graph beside petgraph and leiden-rs, over the same graph in the same process.
//!
//! Traversal: two hops from the seeds of each question in both directions, the 20 best concepts by hops, PageRank and id,
//! then the first 20 chunks that mention them; petgraph's graph is traversed by code here, with mentions and ranks in vectors,
//! and both must return the same chunks. Communities: Leiden by modularity at resolution 1; modularity of both is computed
//! here. Systems take turns, one thread; results are lines of JSON, medians of the rounds.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use leiden_rs::{GraphDataBuilder, Leiden, LeidenConfig};
use loci_graph::{
    Adjacency, GraphReader, GraphSnapshot, HopOptions, LeidenOptions, MentionsBuilder,
    NamesBuilder, Ranks, RanksBuilder, RelationsBuilder, adjacency, chunks_mentioning, leiden,
    two_hop,
};
use loci_storage::{ConceptId, LocalOrdinal, Ordinal, SegmentReader};
use petgraph::graph::{NodeIndex, UnGraph};
use roaring::RoaringBitmap;
use serde_json::{Value, json};

const K: usize = 20;

/// Measures traversal and communities on the same graph.
#[derive(Debug, Parser)]
struct Args {
    /// Folder with entities.jsonl, relations.tsv, mentions.tsv, queries.jsonl.
    #[arg(long)]
    data: PathBuf,
    /// Turns that each system has.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Passes over the questions in a turn.
    #[arg(long, default_value_t = 20)]
    passes: usize,
}

/// The graph of the data folder.
struct DataGraph {
    ranks: Vec<f32>,
    relations: Vec<(u32, u32, f32)>,
    mentions: Vec<(u32, u32)>,
    chunk_count: u32,
    seeds: Vec<Vec<u32>>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    ensure!(
        args.rounds > 0 && args.passes > 0,
        "--rounds and --passes must be 1 or more"
    );
    let data = read(&args.data)?;
    walks(&data, &args)?;
    communities(&data, &args)
}

fn read(folder: &Path) -> Result<DataGraph> {
    let entities = lines(folder, "entities.jsonl")?;
    let rank = |line: &String| -> Result<f32> {
        let entity: Value = serde_json::from_str(line)?;
        Ok(entity["pagerank"].as_f64().unwrap_or(0.0) as f32)
    };
    let ranks: Vec<f32> = entities.iter().map(rank).collect::<Result<_>>()?;
    let row = |line: &String| -> Result<Vec<f64>> {
        let fields = line.split('\t').map(|field| Ok(field.trim().parse()?));
        fields.collect()
    };
    let rows =
        |name: &str| -> Result<Vec<Vec<f64>>> { lines(folder, name)?.iter().map(row).collect() };
    let relations = rows("relations.tsv")?;
    let relations = relations
        .iter()
        .map(|of| (of[0] as u32, of[1] as u32, of[2] as f32));
    let mentions = rows("mentions.tsv")?;
    let mentions: Vec<(u32, u32)> = mentions
        .iter()
        .map(|of| (of[0] as u32, of[1] as u32))
        .collect();
    let seeds = lines(folder, "queries.jsonl")?
        .iter()
        .map(|line| -> Result<Vec<u32>> {
            let query: Value = serde_json::from_str(line)?;
            let seeds = query["seeds"].as_array().into_iter().flatten();
            Ok(seeds
                .filter_map(|seed| seed.as_u64().map(|seed| seed as u32))
                .collect())
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(DataGraph {
        ranks,
        relations: relations.collect(),
        chunk_count: mentions.iter().map(|of| of.1 + 1).max().unwrap_or(0),
        mentions,
        seeds,
    })
}

fn lines(folder: &Path, name: &str) -> Result<Vec<String>> {
    let file = folder.join(name);
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(str::to_owned).collect())
}

fn walks(data: &DataGraph, args: &Args) -> Result<()> {
    let (mut mentions, mut relations) = (MentionsBuilder::default(), RelationsBuilder::default());
    for &(entity, chunk) in &data.mentions {
        mentions.push(ConceptId(entity), LocalOrdinal(chunk), 1);
    }
    for &(source, target, weight) in &data.relations {
        relations.push(
            ConceptId(source),
            ConceptId(target),
            "RELATED_TO",
            weight,
            &[],
        );
    }
    let names = NamesBuilder::default().finish();
    let reader = GraphReader::open(
        names,
        mentions.finish(),
        relations.finish(),
        data.chunk_count,
    )?;
    let mut ranks = RanksBuilder::default();
    for (id, &rank) in (0..).zip(&data.ranks) {
        ranks.push(ConceptId(id), rank);
    }
    let ranks = Ranks::open(ranks.finish())?;
    let ends: Vec<_> = data
        .relations
        .iter()
        .map(|of| (ConceptId(of.0), ConceptId(of.1)))
        .collect();
    let neighbours = Adjacency::open(adjacency(&ends, |id| ranks.get(id), &[]))?;
    let dead = RoaringBitmap::new();
    let segments = [SegmentReader {
        base: Ordinal(0),
        chunk_count: data.chunk_count,
        dead: &dead,
        reader: &reader,
    }];
    let view = GraphSnapshot {
        segments: &segments,
        ranks: Some(&ranks),
        adjacency: Some(&neighbours),
        links: None,
    };
    let options = HopOptions {
        limit: K,
        ..HopOptions::default()
    };
    let ours = |seeds: &[u32]| -> Vec<u32> {
        let seeds: Vec<ConceptId> = seeds.iter().copied().map(ConceptId).collect();
        let walk = two_hop(view, &seeds, options);
        let chunks = chunks_mentioning(view, &walk.reached, None, K).into_iter();
        chunks.map(|found| found.hit.ordinal.0).collect()
    };
    let rival = Petgraph::new(data);
    let theirs = |seeds: &[u32]| rival.walk(seeds);
    let same = data
        .seeds
        .iter()
        .filter(|seeds| ours(seeds) == theirs(seeds))
        .count();
    let mut took: [Vec<f64>; 2] = Default::default();
    for _ in 0..args.rounds {
        let systems: [&dyn Fn(&[u32]) -> Vec<u32>; 2] = [&ours, &theirs];
        for (system, took) in systems.into_iter().zip(&mut took) {
            let mut each = Vec::new();
            for _ in 0..args.passes {
                for seeds in &data.seeds {
                    let started = Instant::now();
                    std::hint::black_box(system(seeds));
                    each.push(started.elapsed().as_secs_f64() * 1e6);
                }
            }
            took.push(median(&mut each));
        }
    }
    let [ours, theirs] = took.each_mut().map(|took| median(took));
    let agree = same as f64 / data.seeds.len().max(1) as f64;
    println!(
        "{}",
        json!({"task": "walk", "system": "loci", "p50_us": ours, "agree": agree})
    );
    println!(
        "{}",
        json!({"task": "walk", "system": "petgraph", "p50_us": theirs})
    );
    println!("{}", json!({"task": "walk", "ratio": ours / theirs}));
    Ok(())
}

/// The graph in petgraph.
struct Petgraph<'g> {
    data: &'g DataGraph,
    graph: UnGraph<(), ()>,
    chunks: Vec<Vec<u32>>,
}

impl Petgraph<'_> {
    fn new(data: &DataGraph) -> Petgraph<'_> {
        let mut graph = UnGraph::with_capacity(data.ranks.len(), data.relations.len());
        let nodes: Vec<NodeIndex> = data.ranks.iter().map(|_| graph.add_node(())).collect();
        for &(source, target, _) in &data.relations {
            graph.add_edge(nodes[source as usize], nodes[target as usize], ());
        }
        let mut chunks: Vec<Vec<u32>> = vec![Vec::new(); data.ranks.len()];
        for &(entity, chunk) in &data.mentions {
            chunks[entity as usize].push(chunk);
        }
        for row in &mut chunks {
            row.sort_unstable();
            row.dedup();
        }
        Petgraph {
            data,
            graph,
            chunks,
        }
    }

    fn walk(&self, seeds: &[u32]) -> Vec<u32> {
        let order = |level: &mut Vec<u32>| {
            let rank = |id: &u32| self.data.ranks[*id as usize];
            level.sort_unstable_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.cmp(b)));
        };
        let is_visible = |id: &u32| {
            let node = NodeIndex::new(*id as usize);
            !self.chunks[*id as usize].is_empty() || self.graph.neighbors(node).next().is_some()
        };
        let mut seen = HashSet::new();
        let mut level: Vec<u32> = seeds
            .iter()
            .copied()
            .filter(is_visible)
            .filter(|id| seen.insert(*id))
            .collect();
        order(&mut level);
        let mut reached = Vec::new();
        for _ in 0..3 {
            let mut next = Vec::new();
            for &id in &level {
                for other in self.graph.neighbors(NodeIndex::new(id as usize)) {
                    let other = other.index() as u32;
                    if seen.insert(other) {
                        next.push(other);
                    }
                }
            }
            order(&mut next);
            reached.append(&mut level);
            if reached.len() >= K {
                break;
            }
            level = next;
        }
        reached.truncate(K);
        let mut chunks: Vec<u32> = Vec::with_capacity(K);
        for id in reached {
            for &chunk in &self.chunks[id as usize] {
                if chunks.len() == K {
                    return chunks;
                }
                if !chunks.contains(&chunk) {
                    chunks.push(chunk);
                }
            }
        }
        chunks
    }
}

fn communities(data: &DataGraph, args: &Args) -> Result<()> {
    let edges: Vec<_> = data
        .relations
        .iter()
        .map(|&(source, target, weight)| (ConceptId(source), ConceptId(target), weight))
        .collect();
    let nodes = data.ranks.len() as u32;
    let mut summed: HashMap<(u32, u32), f64> = HashMap::new();
    for &(a, b, weight) in &data.relations {
        *summed.entry((a.min(b), a.max(b))).or_default() += f64::from(weight);
    }
    let mut summed: Vec<((u32, u32), f64)> = summed.into_iter().collect();
    summed.sort_by_key(|edge| edge.0);
    let mut builder = GraphDataBuilder::new(nodes as usize);
    for &((a, b), weight) in &summed {
        builder.add_edge(a as usize, b as usize, weight)?;
    }
    let graph = builder.build()?;
    let config = LeidenConfig {
        seed: Some(42),
        ..LeidenConfig::default()
    };
    let (mut took, mut found): ([Vec<f64>; 2], _) = Default::default();
    for _ in 0..args.rounds {
        let started = Instant::now();
        let ours = leiden((0..nodes).map(ConceptId), &edges, LeidenOptions::default());
        took[0].push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        let theirs = Leiden::new(config.clone()).run(&graph)?;
        took[1].push(started.elapsed().as_secs_f64() * 1e3);
        let theirs = (0..nodes as usize).map(|node| theirs.partition.community_of(node) as u32);
        found = [ours.coarsest().to_vec(), theirs.collect()];
    }
    let [ours, theirs] = took.each_mut().map(|took| median(took));
    for (name, ms, of) in [("loci", ours, &found[0]), ("leiden-rs", theirs, &found[1])] {
        let modularity = modularity(&summed, of);
        println!(
            "{}",
            json!({"task": "communities", "system": name, "ms": ms, "modularity": modularity})
        );
    }
    println!("{}", json!({"task": "communities", "ratio": ours / theirs}));
    Ok(())
}

/// Modularity at resolution 1; each edge is listed once.
fn modularity(edges: &[((u32, u32), f64)], of: &[u32]) -> f64 {
    let (mut inside, mut total) = (0.0, 0.0);
    let mut strength: HashMap<u32, f64> = HashMap::new();
    for &((a, b), weight) in edges {
        let (x, y) = (of[a as usize], of[b as usize]);
        *strength.entry(x).or_default() += weight;
        *strength.entry(y).or_default() += weight;
        total += 2.0 * weight;
        inside += if x == y { 2.0 * weight } else { 0.0 };
    }
    let expected: f64 = strength.values().map(|sum| (sum / total).powi(2)).sum();
    inside / total - expected
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
