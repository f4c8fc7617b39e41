//! A graph that begins as a copy of another: the nodes that are kept, in new numbers, with their links.
//!
//! What was linked to a node that is gone is linked to the neighbours of that node instead, as far as
//! they are near and in different directions. Copying costs a fraction of inserting; but each copy
//! leaves out what was gone, so where more than [`GONE_SHARE_MAX`] is, the graph is built anew.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::super::VectorError;
use super::beam::Near;
use super::build::{Graph, Layer, chosen};
use super::read::{GraphReader, OldLayer};
use super::select::Bytes;
use super::{NO_LINK, NOT_KEPT};
use crate::kernels::{Job, Level, Simd};

/// A copy pays while at most this share of the old nodes is gone,
const GONE_SHARE_MAX: f64 = 0.2;
/// and at least this share of the new ones is copied.
const KEPT_SHARE_MIN: f64 = 0.1;

/// Nodes of another graph that are kept, with their links.
#[derive(Debug)]
pub(super) struct Donor<'a> {
    layers: Vec<OldLayer>,
    entry: u32,
    /// Old node → new node or [`NOT_KEPT`].
    kept: &'a [u32],
    kept_count: usize,
}

impl<'a> Donor<'a> {
    /// What `reader` can give to a graph of `count` nodes; `None` where building anew is better.
    /// - `kept`: `[count of the reader]`, new nodes below `count`, each once, or [`NOT_KEPT`].
    pub(super) fn new<B: AsRef<[u8]>>(
        reader: &GraphReader<B>,
        kept: &'a [u32],
        m: usize,
        count: usize,
    ) -> Result<Option<Donor<'a>>, VectorError> {
        let kept_count = kept.iter().filter(|&&new| new != NOT_KEPT).count();
        let gone = kept.len() - kept_count;
        let pays = gone as f64 <= GONE_SHARE_MAX * kept.len() as f64
            && kept_count as f64 >= KEPT_SHARE_MIN * count as f64;
        if !pays || reader.degree_max() != 2 * m || kept.len() != reader.count() as usize {
            return Ok(None);
        }
        Ok(Some(Donor {
            layers: reader.layers()?,
            entry: reader.entry(),
            kept,
            kept_count,
        }))
    }

    pub(super) fn kept_count(&self) -> usize {
        self.kept_count
    }

    fn new_node(&self, old: u32) -> Option<u32> {
        let new = self.kept.get(old as usize).copied();
        new.filter(|&new| new != NOT_KEPT)
    }

    /// Sets the heights of the nodes that are kept. Returns which they are.
    pub(super) fn set_heights(&self, heights: &mut [u8]) -> BTreeSet<u32> {
        let mut kept = BTreeSet::new();
        for (height, layer) in (0..).zip(&self.layers) {
            for new in layer.nodes().filter_map(|old| self.new_node(old)) {
                kept.insert(new);
                if let Some(known) = heights.get_mut(new as usize) {
                    *known = height;
                }
            }
        }
        kept
    }

    /// Copies the links into `graph`, which has none. Returns the height of its entry.
    pub(super) fn copy_into(&self, graph: &mut Graph, bytes: &Bytes) -> usize {
        for (old, new) in self.layers.iter().zip(&mut graph.layers) {
            let level = Level::detect();
            let numbers: Vec<u32> = (0..old.len() as u32).collect();
            let rows: Vec<Option<(u32, Vec<u32>)>> = numbers
                .par_iter()
                .with_min_len(64)
                .map(|&number| {
                    level.run(Copy {
                        donor: self,
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
struct Copy<'a> {
    donor: &'a Donor<'a>,
    old: &'a OldLayer,
    new: &'a Layer,
    number: u32,
    bytes: &'a Bytes,
}

impl Job for Copy<'_> {
    type Output = Option<(u32, Vec<u32>)>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let node = self.donor.new_node(self.old.node(self.number)?)?;
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
            links = self.nearest(simd, node, &links);
        }
        Some((own, links))
    }
}

impl Copy<'_> {
    fn number_of(&self, link: u32) -> Option<u32> {
        let number = self.new.number(self.donor.new_node(self.old.node(link)?)?);
        Some(number).filter(|&number| number != NO_LINK)
    }

    #[inline(always)]
    fn nearest<S: Simd>(&self, simd: S, node: u32, links: &[u32]) -> Vec<u32> {
        let (mut own, mut other) = Default::default();
        self.bytes.set(&mut own, node);
        let mut near = Vec::with_capacity(links.len());
        for &link in links {
            let distance = self.bytes.distance(simd, &own, self.new.node(link));
            near.push(Near::new(distance, link));
        }
        near.sort_unstable();
        chosen(
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
