//! A graph that begins as a copy of another: the nodes that are kept, in new numbers, with their links.
//!
//! What was linked to a node that is gone is linked to the neighbours of that node instead, as far as
//! they are near and in different directions. Copying costs a fraction of inserting; but each copy
//! leaves out what was gone, so where more than [`REMOVED_RATIO_MAX`] is, the graph is built anew.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::super::VectorError;
use super::beam::Candidate;
use super::build::{Graph, Layer, select_links};
use super::read::{GraphReader, LayerLinks};
use super::select::NodeCodes;
use super::{NO_LINK, REMOVED_NODE};
use crate::kernels::{Job, Level, Simd};

/// A copy pays while at most this share of the old nodes is gone,
const REMOVED_RATIO_MAX: f64 = 0.2;
/// and at least this share of the new ones is copied.
const REUSED_RATIO_MIN: f64 = 0.1;

/// Nodes of another graph that are kept, with their links.
#[derive(Debug)]
pub(super) struct ReusedGraph<'a> {
    layers: Vec<LayerLinks>,
    entry: u32,
    /// Old node → new node or [`REMOVED_NODE`].
    node_map: &'a [u32],
    reused_count: usize,
}

impl<'a> ReusedGraph<'a> {
    /// What `reader` can give to a graph of `count` nodes; `None` where building anew is better.
    /// - `kept`: `[count of the reader]`, new nodes below `count`, each once, or [`REMOVED_NODE`].
    pub(super) fn new<B: AsRef<[u8]>>(
        reader: &GraphReader<B>,
        node_map: &'a [u32],
        m: usize,
        count: usize,
    ) -> Result<Option<ReusedGraph<'a>>, VectorError> {
        let reused_count = node_map.iter().filter(|&&new| new != REMOVED_NODE).count();
        let gone = node_map.len() - reused_count;
        let pays = gone as f64 <= REMOVED_RATIO_MAX * node_map.len() as f64
            && reused_count as f64 >= REUSED_RATIO_MIN * count as f64;
        if !pays || reader.degree_max() != 2 * m || node_map.len() != reader.count() as usize {
            return Ok(None);
        }
        Ok(Some(ReusedGraph {
            layers: reader.layers()?,
            entry: reader.entry(),
            node_map,
            reused_count,
        }))
    }

    pub(super) fn reused_count(&self) -> usize {
        self.reused_count
    }

    fn new_node(&self, old: u32) -> Option<u32> {
        let new = self.node_map.get(old as usize).copied();
        new.filter(|&new| new != REMOVED_NODE)
    }

    /// Sets the heights of the nodes that are kept. Returns which they are.
    pub(super) fn set_heights(&self, heights: &mut [u8]) -> BTreeSet<u32> {
        let mut reused = BTreeSet::new();
        for (height, layer) in (0..).zip(&self.layers) {
            for new in layer.nodes().filter_map(|old| self.new_node(old)) {
                reused.insert(new);
                if let Some(known) = heights.get_mut(new as usize) {
                    *known = height;
                }
            }
        }
        reused
    }

    /// Copies the links into `graph`, which has none. Returns the height of its entry.
    pub(super) fn copy_into(&self, graph: &mut Graph, bytes: &NodeCodes) -> usize {
        for (old, new) in self.layers.iter().zip(&mut graph.layers) {
            let level = Level::detect();
            let numbers: Vec<u32> = (0..old.len() as u32).collect();
            let rows: Vec<Option<(u32, Vec<u32>)>> = numbers
                .par_iter()
                .with_min_len(64)
                .map(|&number| {
                    level.run(CopyLinks {
                        reused: self,
                        old,
                        new,
                        number,
                        bytes,
                    })
                })
                .collect();
            for (number, links) in rows.into_iter().flatten() {
                new.set_links(number, &links);
            }
        }
        self.set_entry(graph)
    }

    /// The old entry, or another node of the highest layer that has one.
    fn set_entry(&self, graph: &mut Graph) -> usize {
        for (height, old) in self.layers.iter().enumerate().rev() {
            let entry = old
                .node(self.entry)
                .filter(|_| height + 1 == self.layers.len());
            let mut nodes = entry.into_iter().chain(old.nodes());
            if let Some(new) = nodes.find_map(|old| self.new_node(old)) {
                graph.entry = graph.layers[height].number(new);
                return height;
            }
        }
        0
    }
}

/// The links of one node, in new numbers.
struct CopyLinks<'a> {
    reused: &'a ReusedGraph<'a>,
    old: &'a LayerLinks,
    new: &'a Layer,
    number: u32,
    bytes: &'a NodeCodes,
}

impl Job for CopyLinks<'_> {
    type Output = Option<(u32, Vec<u32>)>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let node = self.reused.new_node(self.old.node(self.number)?)?;
        let own = self.new.number(node);
        let mut links = Vec::with_capacity(self.new.degree_max);
        let mut lost = false;
        for link in self.old.links(self.number) {
            match self.number_of(link) {
                Some(number) => links.push(number),
                None => {
                    lost = true;
                    let beyond = self.old.links(link);
                    links.extend(beyond.filter_map(|link| self.number_of(link)));
                }
            }
        }
        if lost {
            links.sort_unstable();
            links.dedup();
            links.retain(|&link| link != own);
            links = self.nearest_links(simd, node, &links);
        }
        Some((own, links))
    }
}

impl CopyLinks<'_> {
    fn number_of(&self, link: u32) -> Option<u32> {
        let number = self.new.number(self.reused.new_node(self.old.node(link)?)?);
        Some(number).filter(|&number| number != NO_LINK)
    }

    #[inline(always)]
    fn nearest_links<S: Simd>(&self, simd: S, node: u32, links: &[u32]) -> Vec<u32> {
        let (mut own, mut other) = Default::default();
        self.bytes.load_query(&mut own, node);
        let mut near = Vec::with_capacity(links.len());
        for &link in links {
            let distance = self.bytes.distance(simd, &own, self.new.node(link));
            near.push(Candidate::new(distance, link));
        }
        near.sort_unstable();
        select_links(
            simd,
            self.bytes,
            self.new,
            node,
            &near,
            self.new.degree_max,
            &mut other,
        )
    }
}
