//! The hnsw_rs crate: a graph of reference-counted points in memory, in Rust.
//!
//! Full precision. On x86-64 its `simdeez_f` feature is on: without it, it compares vectors a
//! number at a time.
//!
//! Start reading at [`HnswRs::build`].

use ::hnsw_rs::prelude::{DistDot, Hnsw};
use anyhow::Result;

use crate::data::{Data, K};
use crate::system::{EF_CONSTRUCTION, M, System};

/// Layers at most; the highest layer of a vector is drawn from an exponential distribution.
const LAYER_MAX: usize = 16;

/// A graph in memory.
pub(crate) struct HnswRs {
    graph: Hnsw<'static, f32, DistDot>,
}

impl HnswRs {
    /// Inserts all vectors, one after the other.
    pub(crate) fn build(data: &Data) -> HnswRs {
        let mut graph = Hnsw::new(M, data.count(), LAYER_MAX, EF_CONSTRUCTION, DistDot);
        for (row, vector) in data.vectors().enumerate() {
            graph.insert((vector, row));
        }
        graph.set_searching_mode(true);
        HnswRs { graph }
    }
}

impl System for HnswRs {
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()> {
        let found = self.graph.search(query, K, ef);
        hits.extend(found.iter().map(|hit| hit.d_id as u32));
        Ok(())
    }

    fn bytes(&self) -> Option<u64> {
        None
    }
}
