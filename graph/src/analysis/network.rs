//! An undirected weighted graph in memory: what whole-graph algorithms run on.
//!
//! Always true: rows ascend by neighbour, then weight, so that sums over them do not depend on the order in
//! which edges came.

use loci_storage::ConceptId;
use rayon::prelude::*;

/// Compressed sparse rows over nodes 0, 1, …: each edge at both of its ends, one to itself once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    starts: Vec<usize>,
    arcs: Vec<(u32, f32)>,
}

impl Network {
    /// - `edges`: between nodes below `nodes`; parallel ones stay apart.
    pub(crate) fn new(nodes: usize, edges: &[(u32, u32, f32)]) -> Network {
        let mut starts = vec![0usize; nodes + 1];
        for &(a, b, _) in edges {
            starts[a as usize + 1] += 1;
            if a != b {
                starts[b as usize + 1] += 1;
            }
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut arcs = vec![(0, 0.0); starts[nodes]];
        let mut put = |from: u32, to: u32, weight: f32| {
            arcs[next[from as usize]] = (to, weight);
            next[from as usize] += 1;
        };
        for &(a, b, weight) in edges {
            put(a, b, weight);
            if a != b {
                put(b, a, weight);
            }
        }
        let mut rows: Vec<&mut [(u32, f32)]> = Vec::with_capacity(nodes);
        let mut rest = &mut arcs[..];
        for node in 0..nodes {
            let (row, after) = rest.split_at_mut(starts[node + 1] - starts[node]);
            rest = after;
            rows.push(row);
        }
        rows.into_par_iter().for_each(|row| {
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        });
        Network { starts, arcs }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Neighbours of a node with the weights of the edges to them.
    pub(crate) fn row(&self, node: usize) -> &[(u32, f32)] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    /// Sum of the weights at each node.
    pub(crate) fn strengths(&self) -> Vec<f64> {
        let sum = |node: usize| -> f64 { self.row(node).iter().map(|arc| f64::from(arc.1)).sum() };
        (0..self.len()).into_par_iter().map(sum).collect()
    }
}

/// Ids up to which a table is always made.
const TABLE_LEN_MIN: usize = 1 << 16;

/// The concepts of a graph, ascending, and its edges between their places. A weight that is not finite and
/// positive is no edge.
pub(crate) fn numbered(
    concepts: impl IntoIterator<Item = ConceptId>,
    edges: &[(ConceptId, ConceptId, f32)],
) -> (Vec<ConceptId>, Vec<(u32, u32, f32)>) {
    let is_edge = |edge: &&(ConceptId, ConceptId, f32)| edge.2.is_finite() && edge.2 > 0.0;
    let edges = || edges.iter().filter(is_edge);
    let mut ids: Vec<ConceptId> = concepts
        .into_iter()
        .chain(edges().flat_map(|edge| [edge.0, edge.1]))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    // Ids are given out one after another, so a table is hardly larger than the concepts; damaged ones
    // are looked up.
    let end = ids.last().map_or(0, |last| last.0 as usize + 1);
    let has_table = end <= 4 * ids.len() + TABLE_LEN_MIN;
    let mut places = vec![0u32; if has_table { end } else { 0 }];
    for (place, id) in (0..).zip(&ids).filter(|_| has_table) {
        places[id.0 as usize] = place;
    }
    let place = |id: ConceptId| match places.get(id.0 as usize) {
        Some(&place) => place,
        None => ids.partition_point(|&other| other < id) as u32,
    };
    let edges = edges()
        .map(|edge| (place(edge.0), place(edge.1), edge.2))
        .collect();
    (ids, edges)
}
