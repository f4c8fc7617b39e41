//! Vectors → the bytes of a graph section.
//!
//! Nodes are inserted in batches (as in ParlayANN: Dobson et al., PPoPP 2024): each node of a batch
//! looks for its neighbours in the graph as it was before the batch, on all cores; then the links
//! back are added, each node's at once, on all cores again. Nothing depends on which thread did what,
//! so the bytes follow from vectors, options and seed alone. Walks and selections run on byte codes
//! whatever the codes of the section: four times less memory to read than full vectors.

use std::num::NonZeroUsize;

use rayon::prelude::*;

use super::super::codes::{Codes, Quantiser, TransformScratch};
use super::super::{Metric, VectorError};
use super::beam::{
    Candidate, EarlyStop, NODES_MAX, SearchSpace, VisitedSet, WalkLimits, WalkState,
};
use super::read::GraphReader;
use super::reuse::ReusedGraph;
use super::select::{NodeCodes, NodeQuery, select};
use super::{GraphOptions, LAYERS_MAX, NO_LINK, effort, write};
use crate::kernels::{Job, Level, Simd};
use crate::random::splitmix64;

/// Vectors that one thread encodes at once.
pub(super) const ENCODED_AT_ONCE: usize = 1024;

/// A batch has at most this share of the nodes that are in the graph before it,
const BATCH_DIVISOR: usize = 128;
/// and at most this many.
const BATCH_MAX: usize = 1024;

/// How many times as far (in squared distance) as the first `2m` candidates further ones may be: the
/// rest of efConstruction is for nodes whose neighbours are hard to distinguish.
const SLACK: f32 = 1.1;

/// One layer of the graph while it is built, and as it is written. Layer 0 has all nodes, by their
/// own numbers; a layer above has some, numbered anew in ascending order.
#[derive(Debug)]
pub(super) struct Layer {
    /// Own number → node; empty for layer 0.
    pub(super) nodes: Vec<u32>,
    /// Own number → number in the layer below; empty for layer 0.
    pub(super) below: Vec<u32>,
    /// `[len, degree_max]`, filled up with [`NO_LINK`].
    pub(super) links: Vec<u32>,
    pub(super) degree_max: usize,
}

impl Layer {
    pub(super) fn len(&self) -> usize {
        self.links.len() / self.degree_max
    }

    #[inline(always)]
    pub(super) fn node(&self, own: u32) -> u32 {
        match self.nodes.get(own as usize) {
            Some(&node) => node,
            None => own,
        }
    }

    /// The number of a node here.
    pub(super) fn number(&self, node: u32) -> u32 {
        if self.nodes.is_empty() {
            return node;
        }
        self.nodes
            .binary_search(&node)
            .map_or(NO_LINK, |at| at as u32)
    }

    #[inline(always)]
    pub(super) fn links(&self, own: u32) -> &[u32] {
        let start = own as usize * self.degree_max;
        let links = self.links.get(start..start + self.degree_max);
        let links = links.unwrap_or_default();
        let len = links.iter().position(|&link| link == NO_LINK);
        &links[..len.unwrap_or(links.len())]
    }

    /// The bytes that [`Layer::links`] reads.
    #[inline(always)]
    fn link_bytes(&self, own: u32) -> &[u8] {
        let start = own as usize * self.degree_max;
        let links = self.links.get(start..start + self.degree_max);
        bytemuck::cast_slice(links.unwrap_or_default())
    }

    pub(super) fn set_links(&mut self, own: u32, links: &[u32]) {
        let start = own as usize * self.degree_max;
        let row = &mut self.links[start..start + self.degree_max];
        row.fill(NO_LINK);
        row[..links.len()].copy_from_slice(links);
    }
}

/// A graph, whole.
#[derive(Debug)]
pub(super) struct Graph {
    /// Layer 0 first.
    pub(super) layers: Vec<Layer>,
    /// A number of the last layer.
    pub(super) entry: u32,
}

/// A layer as a walk sees it.
struct LayerSpace<'a> {
    bytes: &'a NodeCodes,
    own: &'a NodeQuery,
    least: f32,
    layer: &'a Layer,
}

impl SearchSpace for LayerSpace<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, simd: S, node: u32) -> f32 {
        self.bytes.distance(simd, self.own, self.layer.node(node))
    }

    #[inline(always)]
    fn excess(&self, distance: f32) -> f32 {
        (distance - self.least).max(0.0)
    }

    #[inline(always)]
    fn distance_error(&self) -> f32 {
        0.0
    }

    #[inline(always)]
    fn push_unvisited(&self, node: u32, seen: &mut VisitedSet, found: &mut Vec<u32>) {
        found.extend(
            self.layer
                .links(node)
                .iter()
                .filter(|&&link| seen.insert(link)),
        );
    }

    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, node: u32) {
        simd.prefetch(self.bytes.code(self.layer.node(node)));
    }

    #[inline(always)]
    fn code_len(&self) -> usize {
        self.own.len()
    }

    #[inline(always)]
    fn prefetch_links<S: Simd>(&self, simd: S, node: u32) {
        simd.prefetch(self.layer.link_bytes(node));
    }
}

/// Links in a layer that a batch found.
struct NewLinks {
    layer: usize,
    /// Of the node in the layer.
    number: u32,
    /// Numbers in the layer.
    links: Vec<u32>,
}

#[derive(Default)]
struct Scratch {
    walk: WalkState,
    own: NodeQuery,
    other: NodeQuery,
}

/// The graph of `vectors` `[any number, dim]`, which the metric prepared.
/// - `donor`: a graph to begin with, and where its nodes are now; see [`ReusedGraph::new`].
pub(in super::super) fn build<B: AsRef<[u8]>>(
    vectors: &[f32],
    dim: usize,
    metric: Metric,
    options: &GraphOptions,
    node_source: Option<(&GraphReader<B>, &[u32])>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<u8>, VectorError> {
    options.check()?;
    let count = vectors.len() / dim;
    if count == 0 || count >= NODES_MAX as usize {
        return Err(VectorError::NodeCount(count));
    }
    // A damaged graph is not copied.
    let reused = node_source.and_then(|(reader, node_map)| {
        ReusedGraph::new(reader, node_map, options.m, count)
            .ok()
            .flatten()
    });
    let bytes = byte_codes(vectors, dim, metric);
    let graph = insert_nodes(
        &bytes,
        count as u32,
        options,
        reused.as_ref(),
        should_continue,
    )?;
    let section = write::write_section(vectors, dim, metric, options, &graph);
    effort::with_measured_efforts(section, vectors, options.seed, should_continue)
}

fn byte_codes(vectors: &[f32], dim: usize, metric: Metric) -> NodeCodes {
    let quantiser = Quantiser::fit_bytes(vectors, dim);
    let stride = Codes::I8.len(dim);
    let encoded = vectors.par_chunks(dim * ENCODED_AT_ONCE).map(|vectors| {
        let mut codes = Vec::with_capacity(vectors.len() / dim * stride);
        let mut scratch = TransformScratch::default();
        for vector in vectors.chunks_exact(dim) {
            quantiser.encode(vector, &mut scratch, &mut codes);
            let end = codes.len();
            codes[end - (stride - dim)..].fill(128);
        }
        codes
    });
    NodeCodes::new(encoded.collect::<Vec<_>>().concat(), stride, metric)
}

/// Inserts all nodes, or those that the donor does not bring.
fn insert_nodes(
    bytes: &NodeCodes,
    count: u32,
    options: &GraphOptions,
    reused: Option<&ReusedGraph<'_>>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Graph, VectorError> {
    let mut heights: Vec<u8> = (0..count).map(|node| height(node, options)).collect();
    let mut order = shuffled(count, options.seed);
    let reused_nodes = reused.map(|reused| reused.set_heights(&mut heights));
    let mut graph = empty_graph(&heights, options);
    let mut top;
    let mut done;
    match reused {
        Some(reused) => {
            order.retain(|node| {
                reused_nodes
                    .as_ref()
                    .is_none_or(|reused_nodes| !reused_nodes.contains(node))
            });
            top = reused.copy_into(&mut graph, bytes);
            done = reused.reused_count();
        }
        None => {
            let first = order.remove(0);
            top = usize::from(heights[first as usize]);
            graph.entry = graph.layers[top].number(first);
            done = 1;
        }
    }
    let mut rest = &order[..];
    while !rest.is_empty() {
        if !should_continue() {
            return Err(VectorError::Stopped);
        }
        let (batch, later) = rest.split_at(batch_len(rest, done, top, &heights));
        let found = find_neighbours(bytes, &graph, top, batch, &heights, options);
        link_nodes(bytes, &mut graph, found);
        let highest = usize::from(heights[batch[0] as usize]);
        if highest > top {
            top = highest;
            graph.entry = graph.layers[top].number(batch[0]);
        }
        done += batch.len();
        rest = later;
    }
    Ok(graph)
}

/// How many nodes are inserted next: one that rises above the top comes alone.
fn batch_len(rest: &[u32], done: usize, top: usize, heights: &[u8]) -> usize {
    let len = (done / BATCH_DIVISOR).clamp(1, BATCH_MAX).min(rest.len());
    let rises = |&node: &u32| usize::from(heights[node as usize]) > top;
    let risen = rest[..len].iter().position(rises);
    risen.map_or(len, |at| at.max(1))
}

/// All layers without links.
fn empty_graph(heights: &[u8], options: &GraphOptions) -> Graph {
    let layer = |nodes: Vec<u32>, below: Vec<u32>, len: usize, degree_max: usize| Layer {
        nodes,
        below,
        links: vec![NO_LINK; len * degree_max],
        degree_max,
    };
    let count = heights.len();
    let mut layers = vec![layer(Vec::new(), Vec::new(), count, 2 * options.m)];
    let mut nodes: Vec<u32> = (0..count as u32).collect();
    loop {
        let level = layers.len();
        nodes.retain(|&node| usize::from(heights[node as usize]) >= level);
        if nodes.is_empty() {
            return Graph { layers, entry: 0 };
        }
        let below = nodes.iter().map(|&node| layers[level - 1].number(node));
        layers.push(layer(
            nodes.clone(),
            below.collect(),
            nodes.len(),
            options.m,
        ));
    }
}

/// The highest layer of a new node: each layer has one of `m` nodes of the layer below.
fn height(node: u32, options: &GraphOptions) -> u8 {
    let bits = splitmix64(options.seed ^ u64::from(node)) >> 11;
    let uniform = (bits + 1) as f64 / (1u64 << 53) as f64;
    let height = -uniform.ln() / (options.m as f64).ln();
    (height as u8).min(LAYERS_MAX as u8 - 1)
}

/// Nodes in an order of chance: neighbours in a document are near, and would miss each other in a
/// batch.
fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_cached_key(|&node| splitmix64(splitmix64(seed) ^ u64::from(node)));
    order
}

/// What each node of `batch` will be linked to.
fn find_neighbours(
    bytes: &NodeCodes,
    graph: &Graph,
    top: usize,
    batch: &[u32],
    heights: &[u8],
    options: &GraphOptions,
) -> Vec<NewLinks> {
    let level = Level::detect();
    let insert = |scratch: &mut Scratch, &node: &u32| {
        level.run(Insert {
            bytes,
            graph,
            top,
            node,
            height: usize::from(heights[node as usize]),
            options,
            scratch,
        })
    };
    if batch.len() == 1 {
        return insert(&mut Scratch::default(), &batch[0]);
    }
    let each: Vec<Vec<NewLinks>> = batch
        .par_iter()
        .with_min_len(8)
        .map_init(Scratch::default, insert)
        .collect();
    each.into_iter().flatten().collect()
}

/// Finds the neighbours of one node (algorithm 1 of Malkov and Yashunin, up to its links back).
struct Insert<'a> {
    bytes: &'a NodeCodes,
    graph: &'a Graph,
    top: usize,
    node: u32,
    height: usize,
    options: &'a GraphOptions,
    scratch: &'a mut Scratch,
}

impl Job for Insert<'_> {
    type Output = Vec<NewLinks>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<NewLinks> {
        let Scratch { walk, own, other } = self.scratch;
        self.bytes.load_query(own, self.node);
        let height = self.height;
        let mut all = Vec::with_capacity(height + 1);
        let mut start = self.graph.entry;
        let least = self.bytes.distance_min(own);
        let stop =
            NonZeroUsize::new(2 * self.options.m).map(|hits| EarlyStop { hits, slack: SLACK });
        for at in (0..=self.top).rev() {
            let layer = &self.graph.layers[at];
            let field = LayerSpace {
                bytes: self.bytes,
                own,
                least,
                layer,
            };
            walk.visited.reset(layer.len() as u32);
            let reach = if at > height {
                WalkLimits::full(1)
            } else {
                WalkLimits {
                    stop,
                    ..WalkLimits::full(self.options.ef_construction)
                }
            };
            walk.run(simd, &field, [start], reach);
            if at <= height {
                all.push(NewLinks {
                    layer: at,
                    number: layer.number(self.node),
                    links: select_links(
                        simd,
                        self.bytes,
                        layer,
                        self.node,
                        &walk.candidates,
                        self.options.m,
                        other,
                    ),
                });
            }
            let nearest = walk.candidates.first().map_or(start, |near| near.node());
            start = layer
                .below
                .get(nearest as usize)
                .copied()
                .unwrap_or(nearest);
        }
        all
    }
}

/// [`select`] by numbers of a layer, for `node`. Of candidates at equal distances, chance says who comes
/// first: else of many equal vectors all would link to the same few, and none to the others.
#[inline(always)]
pub(super) fn select_links<S: Simd>(
    simd: S,
    bytes: &NodeCodes,
    layer: &Layer,
    node: u32,
    candidates: &[Candidate],
    count: usize,
    own: &mut NodeQuery,
) -> Vec<u32> {
    let nodes = candidates
        .iter()
        .map(|near| Candidate::new(near.distance(), layer.node(near.node())));
    let mut nodes: Vec<Candidate> = nodes.collect();
    for ties in nodes.chunk_by_mut(|a, b| a.distance() == b.distance()) {
        if ties.len() > 1 {
            let chance =
                |near: &Candidate| splitmix64(u64::from(node) << 32 | u64::from(near.node()));
            ties.sort_unstable_by_key(chance);
        }
    }
    let selected = select(simd, bytes, &nodes, count, own);
    selected
        .into_iter()
        .map(|node| layer.number(node))
        .collect()
}

/// Sets the links that were found, and the links back.
fn link_nodes(bytes: &NodeCodes, graph: &mut Graph, found: Vec<NewLinks>) {
    let mut back: Vec<(usize, u32, u32)> = Vec::new();
    for NewLinks {
        layer,
        number,
        links,
    } in found
    {
        back.extend(links.iter().map(|&target| (layer, target, number)));
        graph.layers[layer].set_links(number, &links);
    }
    back.sort_unstable();
    let groups: Vec<&[(usize, u32, u32)]> =
        back.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).collect();
    let level = Level::detect();
    let shrink = |scratch: &mut Scratch, &group: &&[(usize, u32, u32)]| {
        level.run(Shrink {
            bytes,
            layer: &graph.layers[group[0].0],
            target: group[0].1,
            sources: group,
            scratch,
        })
    };
    let rows: Vec<Vec<u32>> = groups
        .par_iter()
        .with_min_len(16)
        .map_init(Scratch::default, shrink)
        .collect();
    for (group, row) in groups.iter().zip(rows) {
        graph.layers[group[0].0].set_links(group[0].1, &row);
    }
}

/// The links of a node with those back to `sources`; where they are too many, those that
/// [`select`] keeps.
struct Shrink<'a> {
    bytes: &'a NodeCodes,
    layer: &'a Layer,
    target: u32,
    sources: &'a [(usize, u32, u32)],
    scratch: &'a mut Scratch,
}

impl Job for Shrink<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<u32> {
        let mut links = self.layer.links(self.target).to_vec();
        links.extend(self.sources.iter().map(|&(_, _, source)| source));
        if links.len() <= self.layer.degree_max {
            return links;
        }
        let Scratch { own, other, .. } = self.scratch;
        self.bytes.load_query(own, self.layer.node(self.target));
        let mut near = Vec::with_capacity(links.len());
        for &link in &links {
            let distance = self.bytes.distance(simd, own, self.layer.node(link));
            near.push(Candidate::new(distance, link));
        }
        near.sort_unstable();
        select_links(
            simd,
            self.bytes,
            self.layer,
            self.layer.node(self.target),
            &near,
            self.layer.degree_max,
            other,
        )
    }
}
