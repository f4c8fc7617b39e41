//! Vectors one after another: written once, read in place.

use std::borrow::Cow;

use loci_storage::LocalOrdinal;

use super::metric::check_dim;
use super::{DIM_MAX, GraphOptions, Metric, VectorError, VectorReader, graph};
use crate::bytes::{slice, u16_at, u32_at};
use crate::kernels;

const VERSION: u16 = 1;
const HEADER_LEN: usize = 16;
const ALIGNMENT: usize = 64;

const TRUNCATED: VectorError = VectorError::Malformed("it is shorter than its header says");

/// Collects the vectors of a segment's chunks.
#[derive(Debug)]
pub struct FlatBuilder {
    dim: usize,
    metric: Metric,
    locals: Vec<u32>,
    /// `[locals, dim]`
    vectors: Vec<f32>,
}

impl FlatBuilder {
    /// A builder without vectors.
    ///
    /// # Errors
    /// [`VectorError::Dimensions`] unless `dim` is in 1..=[`DIM_MAX`].
    pub fn new(dim: usize, metric: Metric) -> Result<Self, VectorError> {
        check_dim(dim)?;
        Ok(FlatBuilder {
            dim,
            metric,
            locals: Vec::new(),
            vectors: Vec::new(),
        })
    }

    /// Adds the vector `[dim]` of a chunk. Chunks may be left out.
    ///
    /// # Errors
    /// [`VectorError::Order`] unless locals ascend, and those of [`Metric::prepare`]. Nothing is
    /// kept then.
    pub fn push(
        &mut self,
        LocalOrdinal(local): LocalOrdinal,
        vector: &[f32],
    ) -> Result<(), VectorError> {
        if let Some(&last) = self.locals.last().filter(|&&last| last >= local) {
            return Err(VectorError::Order { local, last });
        }
        self.metric
            .prepare_into(vector, self.dim, &mut self.vectors)?;
        self.locals.push(local);
        Ok(())
    }

    /// As [`FlatBuilder::push`], for a vector that comes from a section of the same metric: it is kept as it is.
    ///
    /// # Errors
    /// As there.
    pub fn push_prepared(
        &mut self,
        LocalOrdinal(local): LocalOrdinal,
        vector: &[f32],
    ) -> Result<(), VectorError> {
        let start = self.vectors.len();
        self.push(LocalOrdinal(local), vector)?;
        self.vectors[start..].copy_from_slice(vector);
        Ok(())
    }

    /// The graph section over these vectors; `None` for fewer than `count_min`.
    ///
    /// # Errors
    /// [`VectorError::NodeCount`] for 2^31 vectors and more; [`VectorError::Options`].
    ///
    /// # Cost
    /// Some 100 µs of processor time a vector of 384 numbers, spread over the threads of the rayon
    /// pool that it is called in; in memory, a byte a number and 150 bytes a vector besides the section.
    pub fn build_graph(
        &self,
        options: &GraphOptions,
        count_min: usize,
    ) -> Result<Option<Vec<u8>>, VectorError> {
        self.build_graph_from::<Vec<u8>>(options, count_min, None, &|| true)
    }

    /// As [`FlatBuilder::build_graph`], beginning with the graph of another section: its vectors that are
    /// here too are copied with their links, the others inserted. Built anew where that is better:
    /// where over a fifth of the old vectors is gone, over nine tenths are new, or the old graph is damaged.
    /// - `before`: the other section, and for each of its vectors the place that it has here, or
    ///   [`REMOVED_NODE`](super::REMOVED_NODE). A vector that is kept is the same.
    /// - `go_on`: asked now and then; `false` ends the build.
    ///
    /// # Errors
    /// Those of [`FlatBuilder::build_graph`]; [`VectorError::Stopped`].
    pub fn build_graph_from<B: AsRef<[u8]>>(
        &self,
        options: &GraphOptions,
        count_min: usize,
        before: Option<(&VectorReader<B>, &[u32])>,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, VectorError> {
        if self.locals.len() < count_min.max(1) {
            return Ok(None);
        }
        let donor = before.and_then(|(reader, node_map)| Some((reader.graph()?, node_map)));
        graph::build(
            &self.vectors,
            self.dim,
            self.metric,
            options,
            donor,
            should_continue,
        )
        .map(Some)
    }

    /// Numbers in every vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The chunk whose vector was pushed last.
    pub fn last(&self) -> Option<LocalOrdinal> {
        self.locals.last().copied().map(LocalOrdinal)
    }

    /// How many vectors were pushed: the place of the next.
    pub fn len(&self) -> usize {
        self.locals.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.locals.is_empty()
    }

    /// The vector at a place, as it is stored.
    pub fn vector_at(&self, place: usize) -> Option<&[f32]> {
        self.vectors.get(place * self.dim..(place + 1) * self.dim)
    }

    /// The bytes of the section.
    pub fn finish(self) -> Vec<u8> {
        let count = self.locals.len() as u32;
        let local_end = self.locals.last().map_or(0, |&last| last.saturating_add(1));
        let dense = local_end == count;
        let listed: &[u32] = if dense { &[] } else { &self.locals };

        let mut out =
            Vec::with_capacity(HEADER_LEN + listed.len() * 4 + ALIGNMENT + self.vectors.len() * 4);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[self.metric as u8, u8::from(dense)]);
        out.extend_from_slice(&(self.dim as u32).to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&local_end.to_le_bytes());
        out.extend(listed.iter().flat_map(|local| local.to_le_bytes()));
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        out.extend(self.vectors.iter().flat_map(|x| x.to_le_bytes()));
        out
    }
}

/// A vector section over any bytes: a map in production, a `Vec` in a test.
#[derive(Debug)]
pub struct FlatReader<B> {
    bytes: B,
    metric: Metric,
    dim: usize,
    count: u32,
    local_end: u32,
    is_dense: bool,
    vectors_start: usize,
}

impl<B: AsRef<[u8]>> FlatReader<B> {
    /// Checks the header, all lengths and all locals. Cost: 4 bytes a vector, none when dense.
    ///
    /// # Errors
    /// [`VectorError::Version`], [`VectorError::Malformed`].
    pub fn new(bytes: B) -> Result<Self, VectorError> {
        let head = bytes.as_ref();
        let version = u16_at(head, 0).ok_or(TRUNCATED)?;
        if version != VERSION {
            return Err(VectorError::Version {
                found: version,
                known: VERSION,
            });
        }
        let &[_, _, metric, dense, ..] = head else {
            return Err(TRUNCATED);
        };
        let metric = Metric::from_number(metric).ok_or(VectorError::Malformed("unknown metric"))?;
        let dim = u32_at(head, 4).ok_or(TRUNCATED)? as usize;
        if dense > 1 || check_dim(dim).is_err() {
            return Err(VectorError::Malformed(
                "a flag or a dimension that cannot be",
            ));
        }
        let count = u32_at(head, 8).ok_or(TRUNCATED)?;
        let local_end = u32_at(head, 12).ok_or(TRUNCATED)?;
        let listed = if dense == 1 { 0 } else { count as usize * 4 };
        let vectors_start = (HEADER_LEN + listed).next_multiple_of(ALIGNMENT);
        let reader = FlatReader {
            bytes,
            metric,
            dim,
            count,
            local_end,
            is_dense: dense == 1,
            vectors_start,
        };
        reader.check()?;
        Ok(reader)
    }

    fn check(&self) -> Result<(), VectorError> {
        let len = self.vectors_start as u64 + u64::from(self.count) * self.row_len() as u64;
        if self.bytes.as_ref().len() as u64 != len {
            return Err(VectorError::Malformed(
                "its parts do not add up to its length",
            ));
        }
        let end = self.listed_locals().try_fold(0, |end, local| {
            (local >= end).then(|| local.checked_add(1)).flatten()
        });
        let end = if self.is_dense { Some(self.count) } else { end };
        if end != Some(self.local_end) {
            return Err(VectorError::Malformed("locals do not ascend to their end"));
        }
        Ok(())
    }

    /// Numbers in every vector: 1..=[`DIM_MAX`].
    pub fn dim(&self) -> usize {
        debug_assert!(self.dim <= DIM_MAX);
        self.dim
    }

    /// The metric of its vectors.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Vectors, those of deleted chunks included.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether no chunk has a vector.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// 1 + the greatest local number of a chunk with a vector; 0 when there is none.
    pub fn local_end(&self) -> u32 {
        self.local_end
    }

    /// The vector `[dim]` of a chunk as it is stored: of length 1 for cosine. Borrowed where the
    /// bytes lie aligned. Cost: a binary search, or nothing when dense.
    pub fn vector(&self, local: LocalOrdinal) -> Option<Cow<'_, [f32]>> {
        self.row(self.position_of(local)?)
    }

    /// Whether the vectors are those of chunks 0, 1, 2 …
    pub(super) fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// Chunks with a vector, ascending.
    pub fn locals(&self) -> impl Iterator<Item = LocalOrdinal> {
        let dense = 0..if self.is_dense { self.count } else { 0 };
        dense.chain(self.listed_locals()).map(LocalOrdinal)
    }

    /// Which vector is the chunk's, from 0.
    pub fn position_of(&self, LocalOrdinal(local): LocalOrdinal) -> Option<usize> {
        if self.is_dense {
            return (local < self.count).then_some(local as usize);
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.listed_local(middle)?.cmp(&local) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whose vector is at a place.
    pub(super) fn local(&self, place: u32) -> Option<LocalOrdinal> {
        if place >= self.count {
            return None;
        }
        if self.is_dense {
            return Some(LocalOrdinal(place));
        }
        self.listed_local(place as usize).map(LocalOrdinal)
    }

    /// The vector `[dim]` at a place below `len`, as it is stored.
    pub fn row(&self, place: usize) -> Option<Cow<'_, [f32]>> {
        let start = self.vectors_start as u64 + place as u64 * self.row_len() as u64;
        Some(floats(slice(
            self.bytes.as_ref(),
            start,
            self.row_len() as u64,
        )?))
    }

    /// Asks for the vector at a place: reads of it soon after wait less.
    pub fn prefetch(&self, place: usize) {
        let start = self.vectors_start as u64 + place as u64 * self.row_len() as u64;
        kernels::prefetch(
            slice(self.bytes.as_ref(), start, self.row_len() as u64).unwrap_or_default(),
        );
    }

    fn row_len(&self) -> usize {
        self.dim * size_of::<f32>()
    }

    fn listed_locals(&self) -> impl Iterator<Item = u32> {
        let count = if self.is_dense { 0 } else { self.len() };
        (0..count).map_while(|place| self.listed_local(place))
    }

    fn listed_local(&self, place: usize) -> Option<u32> {
        u32_at(self.bytes.as_ref(), HEADER_LEN + place * 4)
    }
}

/// Little-endian floats, in place where alignment and machine allow it.
fn floats(bytes: &[u8]) -> Cow<'_, [f32]> {
    if cfg!(target_endian = "little")
        && let Ok(floats) = bytemuck::try_cast_slice(bytes)
    {
        return Cow::Borrowed(floats);
    }
    let (numbers, _) = bytes.as_chunks();
    Cow::Owned(
        numbers
            .iter()
            .map(|&number| f32::from_le_bytes(number))
            .collect(),
    )
}
