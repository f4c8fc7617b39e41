//! The vectors of a segment: flat, and where there is one, the graph over them.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::byte_codes::ByteCodes;
use super::codes::Codes;
use super::flat::FlatReader;
use super::graph::GraphReader;
use super::{Metric, VectorError};
use crate::kernels;

/// The step of four bits over numbers from -2 to 2, which differences of unit vectors cannot exceed.
const FOUR_BIT_STEP_MAX: f32 = 2.0 / 7.5;

/// The vectors of a segment, over any bytes.
#[derive(Debug)]
pub struct VectorReader<B> {
    pub(super) flat: FlatReader<B>,
    pub(super) graph: Option<GraphReader<B>>,
    /// Codes of the flat vectors, where there is no graph to have them; made by the second search: the first, which
    /// may be the only one, compares the vectors as they are in a tenth of the time.
    pub(super) byte_codes: OnceLock<Option<ByteCodes>>,
    pub(super) was_searched: AtomicBool,
}

impl<B: AsRef<[u8]>> VectorReader<B> {
    /// Opens the flat vectors and, where there is one, the graph over them.
    ///
    /// # Errors
    /// [`VectorError::Version`]; [`VectorError::Malformed`], also when the two are not of the same
    /// vectors.
    pub fn new(flat: B, graph: Option<B>) -> Result<Self, VectorError> {
        let flat = FlatReader::new(flat)?;
        let graph = graph.map(GraphReader::new).transpose()?;
        let same = graph.as_ref().is_none_or(|graph| {
            let of_graph = (graph.count() as usize, graph.dim(), graph.metric());
            of_graph == (flat.len(), flat.dim(), flat.metric())
        });
        if !same {
            return Err(VectorError::Malformed("the graph is of other vectors"));
        }
        Ok(VectorReader {
            flat,
            graph,
            byte_codes: OnceLock::new(),
            was_searched: AtomicBool::new(false),
        })
    }

    /// The vectors at full precision.
    pub fn flat(&self) -> &FlatReader<B> {
        &self.flat
    }

    #[cfg(test)]
    pub(super) fn byte_codes(&self) -> Option<&ByteCodes> {
        self.byte_codes.get().and_then(Option::as_ref)
    }

    /// The graph, where its codes have four bits and represent unit vectors: a greater step than unit vectors can have
    /// is that of a segment whose vectors are all the same.
    pub(super) fn four_bit_graph(&self) -> Option<&GraphReader<B>> {
        let graph = self.graph.as_ref()?;
        let quantiser = graph.quantiser();
        let fits = graph.metric() == Metric::Cosine && quantiser.step <= FOUR_BIT_STEP_MAX;
        (fits && quantiser.codes == Codes::I4).then_some(graph)
    }

    pub(super) fn graph(&self) -> Option<&GraphReader<B>> {
        self.graph.as_ref()
    }

    /// Asks for what [`MeanCosine::add`](super::MeanCosine::add) reads of a place: reads of it soon after wait less.
    pub fn prefetch(&self, place: usize) {
        match self.four_bit_graph() {
            Some(graph) => kernels::prefetch(graph.code(place).unwrap_or_default()),
            None => self.flat.prefetch(place),
        }
    }

    /// Whether there is a graph.
    pub fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// Bytes of the graph: codes and links. 0 without one.
    pub fn graph_bytes(&self) -> usize {
        self.graph.as_ref().map_or(0, GraphReader::byte_len)
    }

    /// ef, and the recall@10 that it gave when the graph was built; empty without a graph.
    pub fn efforts(&self) -> impl Iterator<Item = (u32, f32)> {
        let graph = self.graph.iter();
        graph.flat_map(|graph| graph.efforts().rows())
    }
}
