//! A graph section, read in place.

use std::marker::PhantomData;

use super::super::codes::{B1, Bf16, Code, Codes, F16, F32, I4, I8, Quantiser, Query};
use super::super::metric::check_dim;
use super::super::{Metric, VectorError};
use super::beam::{NODES_MAX, SearchSpace, VisitedSet, WalkLimits, WalkState};
use super::effort::EffortTable;
use super::{
    ALIGNMENT, EFFORTS_OFFSET, HEADER_LEN, LAYERS_MAX, M_RANGE, NO_LINK, RecordLayout, VERSION,
};
use crate::bytes::{slice, u16_at, u32_at};
use crate::kernels::{Job, Level, Simd};

const TRUNCATED: VectorError = VectorError::Malformed("the graph is shorter than its header says");
const INVALID_LINK: VectorError = VectorError::Malformed("a link of the graph leads nowhere");

/// A graph over any bytes.
#[derive(Debug)]
pub(in super::super) struct GraphReader<B> {
    bytes: B,
    metric: Metric,
    /// The length that all but one in a hundred vectors have at most.
    typical_length_max: f32,
    error: f32,
    quantiser: Quantiser,
    dim: usize,
    count: u32,
    m: usize,
    entry: u32,
    record: RecordLayout,
    records_start: u64,
    /// Layer 1 first.
    upper: Vec<UpperLayer>,
    efforts: EffortTable,
}

#[derive(Clone, Copy, Debug)]
struct UpperLayer {
    start: u64,
    len: u32,
}

/// Share of [`GraphReader::error`] that is the [`SearchSpace::distance_error`] of a walk.
const DISTANCE_ERROR_RATIO: f32 = 0.5;

/// What may be found, as a walk asks for each node.
pub(in super::super) type AcceptFn<'a> = &'a dyn Fn(u32) -> bool;

/// What a walk goes through, and what it is for.
#[derive(Clone, Copy)]
pub(in super::super) enum NodeFilter<'a> {
    /// All nodes may be found.
    All,
    /// Through all nodes, until those that are accepted are found; the pool has others too.
    PostFilter(AcceptFn<'a>),
    /// Through accepted nodes alone, links leading on through one that is not; starts at these besides.
    PreFilter(AcceptFn<'a>, &'a [u32]),
}

impl<B: AsRef<[u8]>> GraphReader<B> {
    /// Checks the header and all lengths. Links are checked when they are followed. Cost: the same
    /// for graphs of any size.
    pub(in super::super) fn new(bytes: B) -> Result<Self, VectorError> {
        let head = bytes.as_ref();
        let version = u16_at(head, 0).ok_or(TRUNCATED)?;
        if version != VERSION {
            return Err(VectorError::Version {
                found: version,
                known: VERSION,
            });
        }
        let number = |at| u32_at(head, at).ok_or(TRUNCATED);
        let &[_, _, metric, codes, ..] = head else {
            return Err(TRUNCATED);
        };
        let metric = Metric::from_number(metric).ok_or(VectorError::Malformed("unknown metric"))?;
        let codes = Codes::from_number(codes).ok_or(VectorError::Malformed("unknown codes"))?;
        let (dim, count, m) = (number(4)? as usize, number(8)?, number(12)?);
        let (layers, entry) = (number(20)? as usize, number(24)?);
        let float = |at| number(at).map(f32::from_bits);
        let (step, long, error) = (float(28)?, float(40)?, float(44)?);
        if check_dim(dim).is_err() || !(1..NODES_MAX).contains(&count) || !M_RANGE.contains(&m) {
            return Err(VectorError::Malformed("a number of the graph cannot be"));
        }
        let is_length = |x: f32| x.is_finite() && x >= 0.0;
        if layers >= LAYERS_MAX
            || !is_length(step)
            || step == 0.0
            || !is_length(long)
            || !is_length(error)
        {
            return Err(VectorError::Malformed("a number of the graph cannot be"));
        }
        let m = m as usize;
        let efforts = EffortTable::read(head.get(EFFORTS_OFFSET..HEADER_LEN).ok_or(TRUNCATED)?);
        let record = RecordLayout::new(codes, dim, metric, 2 * m);
        let mean_start = HEADER_LEN + 4 * layers;
        let mean = read_mean(head, mean_start, if codes.is_centred() { dim } else { 0 })?;
        let records_start = (mean_start + 4 * mean.len()).next_multiple_of(ALIGNMENT) as u64;
        let mut end = records_start + u64::from(count) * record.len as u64;
        let mut upper = Vec::with_capacity(layers);
        for layer in 0..layers {
            let len = number(HEADER_LEN + 4 * layer)?;
            upper.push(UpperLayer { start: end, len });
            end += u64::from(len) * (8 + 4 * m as u64);
        }
        let last = upper.last().map_or(count, |layer| layer.len);
        if bytes.as_ref().len() as u64 != end || entry >= last {
            return Err(VectorError::Malformed(
                "the parts of the graph do not add up to its length",
            ));
        }
        Ok(GraphReader {
            bytes,
            metric,
            typical_length_max: long,
            error,
            dim,
            count,
            m,
            entry,
            quantiser: Quantiser::new(codes, step, mean, dim),
            record,
            records_start,
            upper,
            efforts,
        })
    }

    pub(in super::super) fn metric(&self) -> Metric {
        self.metric
    }

    pub(in super::super) fn dim(&self) -> usize {
        self.dim
    }

    pub(in super::super) fn count(&self) -> u32 {
        self.count
    }

    pub(in super::super) fn quantiser(&self) -> &Quantiser {
        &self.quantiser
    }

    /// The code of a node's vector.
    pub(in super::super) fn code(&self, node: usize) -> Option<&[u8]> {
        if node >= self.count as usize {
            return None;
        }
        let start = self.records_start + node as u64 * self.record.len as u64;
        slice(self.bytes.as_ref(), start, self.record.code_len as u64)
    }

    /// Links that a node has at most in layer 0.
    pub(in super::super) fn degree_max(&self) -> usize {
        2 * self.m
    }

    pub(in super::super) fn efforts(&self) -> &EffortTable {
        &self.efforts
    }

    /// How much farther from `query` a vector may seem by its code than it is; few of the nearest do
    /// more.
    pub(in super::super) fn error(&self, query: &Query) -> f32 {
        self.error * query.length()
    }

    /// Where walks start: a number of the highest layer.
    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// All links, checked. Copies 4 bytes a link.
    pub(super) fn layers(&self) -> Result<Vec<LayerLinks>, VectorError> {
        let query = Query::default();
        let bottom = self.base_space::<I8>(&query);
        let mut links = Vec::with_capacity(self.count as usize * self.degree_max());
        for node in 0..self.count {
            links.extend(
                bottom
                    .links(node)
                    .iter()
                    .map(|&link| u32::from_le_bytes(link)),
            );
        }
        let mut layers = vec![LayerLinks {
            nodes: Vec::new(),
            links,
            degree_max: self.degree_max(),
        }];
        for &layer in &self.upper {
            let field = self.upper_space::<I8>(&query, layer);
            let numbers = |bytes: &[u8]| -> Vec<u32> {
                let (numbers, _) = bytes.as_chunks();
                numbers
                    .iter()
                    .map(|&number| u32::from_le_bytes(number))
                    .collect()
            };
            layers.push(LayerLinks {
                nodes: numbers(field.nodes),
                links: numbers(field.links),
                degree_max: self.m,
            });
        }
        let sound = layers.iter().all(|layer| layer.is_valid(self.count));
        if sound { Ok(layers) } else { Err(INVALID_LINK) }
    }

    /// Bytes of all.
    pub(in super::super) fn byte_len(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// Makes `query`, prepared by the metric, ready for [`GraphReader::walk`].
    pub(in super::super) fn prepare_query(&self, query: &[f32], into: &mut Query) {
        into.prepare(query, &self.quantiser, self.metric, self.typical_length_max);
    }

    /// Walks down to layer 0 and there as far as `reach` says; `walk.pool` has what was found.
    pub(in super::super) fn walk(
        &self,
        query: &Query,
        reach: WalkLimits,
        filter: NodeFilter<'_>,
        walk: &mut WalkState,
    ) -> Result<(), VectorError> {
        let task = Search {
            reader: self,
            query,
            reach,
            filter,
        };
        self.run(task, walk)
    }

    /// Measures `nodes`, all that exist; `walk.pool` has the nearest `keep` of them.
    pub(in super::super) fn scan(
        &self,
        query: &Query,
        nodes: &[u32],
        keep: usize,
        walk: &mut WalkState,
    ) -> Result<(), VectorError> {
        let task = Scan {
            reader: self,
            query,
            nodes,
            keep,
        };
        self.run(task, walk)
    }

    fn run<T: CodeJob<B>>(&self, task: T, walk: &mut WalkState) -> Result<(), VectorError> {
        let level = Level::detect();
        match self.quantiser.codes {
            Codes::F32 => level.run(TypedJob(task, walk, PhantomData::<(F32, B)>)),
            Codes::F16 => level.run(TypedJob(task, walk, PhantomData::<(F16, B)>)),
            Codes::Bf16 => level.run(TypedJob(task, walk, PhantomData::<(Bf16, B)>)),
            Codes::I8 => level.run(TypedJob(task, walk, PhantomData::<(I8, B)>)),
            Codes::I4 => level.run(TypedJob(task, walk, PhantomData::<(I4, B)>)),
            Codes::B1 => level.run(TypedJob(task, walk, PhantomData::<(B1, B)>)),
        }
    }

    fn records(&self) -> &[u8] {
        let len = u64::from(self.count) * self.record.len as u64;
        slice(self.bytes.as_ref(), self.records_start, len).unwrap_or_default()
    }

    fn base_space<'a, C: Code>(&'a self, query: &'a Query) -> BaseSpace<'a, C> {
        BaseSpace {
            records: self.records(),
            record: self.record,
            query,
            distance_error: DISTANCE_ERROR_RATIO * self.error(query),
            code: PhantomData,
        }
    }

    fn upper_space<'a, C: Code>(
        &'a self,
        query: &'a Query,
        layer: UpperLayer,
    ) -> UpperSpace<'a, C> {
        let part = |at: u64, width: u64| {
            let start = layer.start + u64::from(layer.len) * at;
            slice(self.bytes.as_ref(), start, u64::from(layer.len) * width).unwrap_or_default()
        };
        UpperSpace {
            bottom: self.base_space(query),
            nodes: part(0, 4),
            below: part(4, 4),
            links: part(8, 4 * self.m as u64),
            m: self.m,
        }
    }
}

/// `[len]` finite numbers.
fn read_mean(head: &[u8], start: usize, len: usize) -> Result<Vec<f32>, VectorError> {
    let bytes = head.get(start..start + 4 * len).ok_or(TRUNCATED)?;
    let (numbers, _) = bytes.as_chunks();
    let mean: Vec<f32> = numbers.iter().map(|&x| f32::from_le_bytes(x)).collect();
    if mean.iter().all(|x| x.is_finite()) {
        Ok(mean)
    } else {
        Err(VectorError::Malformed("the mean is not finite"))
    }
}

/// The links of a layer, in memory.
#[derive(Debug)]
pub(super) struct LayerLinks {
    /// Own number → node; empty for layer 0.
    nodes: Vec<u32>,
    links: Vec<u32>,
    degree_max: usize,
}

impl LayerLinks {
    pub(super) fn len(&self) -> usize {
        self.links.len() / self.degree_max
    }

    pub(super) fn node(&self, own: u32) -> Option<u32> {
        if self.nodes.is_empty() {
            Some(own)
        } else {
            self.nodes.get(own as usize).copied()
        }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        (0..self.len() as u32).filter_map(|own| self.node(own))
    }

    pub(super) fn links(&self, own: u32) -> impl Iterator<Item = u32> {
        let start = own as usize * self.degree_max;
        let links = self.links.get(start..start + self.degree_max);
        let links = links.unwrap_or_default().iter().copied();
        links.take_while(|&link| link != NO_LINK)
    }

    /// Whether every number is that of a node: those of layer 0 are below `count`.
    fn is_valid(&self, count: u32) -> bool {
        let (len, mut ascending) = (self.len() as u32, self.nodes.windows(2));
        self.nodes.iter().all(|&node| node < count)
            && ascending.all(|pair| pair[0] < pair[1])
            && self.links.iter().all(|&link| link < len || link == NO_LINK)
    }
}

/// Something that is compiled for each kind of code and each instruction set.
trait CodeJob<B> {
    fn run<C: Code, S: Simd>(self, simd: S, walk: &mut WalkState) -> Result<(), VectorError>;
}

struct TypedJob<'w, T, C, B>(T, &'w mut WalkState, PhantomData<(C, B)>);

impl<T: CodeJob<B>, C: Code, B> Job for TypedJob<'_, T, C, B> {
    type Output = Result<(), VectorError>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        self.0.run::<C, S>(simd, self.1)
    }
}

struct Search<'a, B> {
    reader: &'a GraphReader<B>,
    query: &'a Query,
    reach: WalkLimits,
    filter: NodeFilter<'a>,
}

impl<B: AsRef<[u8]>> CodeJob<B> for Search<'_, B> {
    #[inline(always)]
    fn run<C: Code, S: Simd>(self, simd: S, walk: &mut WalkState) -> Result<(), VectorError> {
        let entry = self.descend::<C, S>(simd, walk)?;
        let bottom = self.reader.base_space::<C>(self.query);
        walk.visited.reset(self.reader.count);
        match self.filter {
            NodeFilter::All => walk.run(simd, &bottom, [entry], self.reach),
            NodeFilter::PostFilter(accept) => {
                walk.run(
                    simd,
                    &FilteredSpace::<C, true> { bottom, accept },
                    [entry],
                    self.reach,
                );
            }
            NodeFilter::PreFilter(accept, given) => {
                let field = FilteredSpace::<C, false> { bottom, accept };
                let mut starts = Vec::with_capacity(2 * given.len());
                starts.extend_from_slice(given);
                starts.extend(Some(entry).filter(|&entry| accept(entry)));
                let mut near = Vec::new();
                field.push_unvisited(entry, &mut walk.visited, &mut near);
                walk.visited.reset(self.reader.count);
                starts.extend(near);
                walk.run(simd, &field, starts, self.reach);
            }
        }
        if walk.visited.has_invalid_node() {
            Err(INVALID_LINK)
        } else {
            Ok(())
        }
    }
}

impl<B: AsRef<[u8]>> Search<'_, B> {
    /// The node of layer 0 below the nearest that is found on the way down.
    #[inline(always)]
    fn descend<C: Code, S: Simd>(&self, simd: S, walk: &mut WalkState) -> Result<u32, VectorError> {
        let mut at = self.reader.entry;
        for &layer in self.reader.upper.iter().rev() {
            let field = self.reader.upper_space::<C>(self.query, layer);
            walk.visited.reset(layer.len);
            walk.run(simd, &field, [at], WalkLimits::full(1));
            if walk.visited.has_invalid_node() {
                return Err(INVALID_LINK);
            }
            let nearest = walk.candidates.first().map_or(at, |near| near.node());
            at = u32_at(field.below, nearest as usize * 4).ok_or(TRUNCATED)?;
        }
        Ok(at)
    }
}

struct Scan<'a, B> {
    reader: &'a GraphReader<B>,
    query: &'a Query,
    nodes: &'a [u32],
    keep: usize,
}

impl<B: AsRef<[u8]>> CodeJob<B> for Scan<'_, B> {
    #[inline(always)]
    fn run<C: Code, S: Simd>(self, simd: S, walk: &mut WalkState) -> Result<(), VectorError> {
        let bottom = self.reader.base_space::<C>(self.query);
        walk.scan(simd, &bottom, self.nodes, self.keep);
        Ok(())
    }
}

/// Layer 0.
struct BaseSpace<'a, C> {
    records: &'a [u8],
    record: RecordLayout,
    query: &'a Query,
    distance_error: f32,
    code: PhantomData<C>,
}

impl<C> BaseSpace<'_, C> {
    #[inline(always)]
    fn record(&self, node: u32) -> Option<&[u8]> {
        let start = node as usize * self.record.len;
        self.records.get(start..start + self.record.len)
    }

    #[inline(always)]
    fn links(&self, node: u32) -> &[[u8; 4]] {
        let links = self.record(node).and_then(|record| {
            record.get(self.record.links_at..self.record.links_at + self.record.links_len)
        });
        links.unwrap_or_default().as_chunks().0
    }
}

/// The links of a row, up to the first that is none.
#[inline(always)]
fn present_links(links: &[[u8; 4]]) -> impl Iterator<Item = u32> {
    let links = links.iter().map(|&link| u32::from_le_bytes(link));
    links.take_while(|&link| link != NO_LINK)
}

impl<C: Code> SearchSpace for BaseSpace<'_, C> {
    #[inline(always)]
    fn distance<S: Simd>(&self, simd: S, node: u32) -> f32 {
        let Some(record) = self.record(node) else {
            return f32::INFINITY;
        };
        let norm = if self.record.has_norm() {
            u32_at(record, self.record.code_len).map_or(0.0, f32::from_bits)
        } else {
            0.0
        };
        let code = record.get(..self.record.code_len).unwrap_or_default();
        self.query.distance::<S, C>(simd, code, norm)
    }

    #[inline(always)]
    fn excess(&self, distance: f32) -> f32 {
        self.query.excess(distance)
    }

    #[inline(always)]
    fn distance_error(&self) -> f32 {
        self.distance_error
    }

    #[inline(always)]
    fn push_unvisited(&self, node: u32, seen: &mut VisitedSet, found: &mut Vec<u32>) {
        found.extend(present_links(self.links(node)).filter(|&link| seen.insert(link)));
    }

    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, node: u32) {
        let code = self
            .record(node)
            .and_then(|record| record.get(..self.record.code_len));
        simd.prefetch(code.unwrap_or_default());
    }

    #[inline(always)]
    fn code_len(&self) -> usize {
        self.record.code_len
    }

    #[inline(always)]
    fn prefetch_links<S: Simd>(&self, simd: S, node: u32) {
        simd.prefetch(self.links(node).as_flattened());
    }
}

/// Layer 0 as a walk under a filter sees it. `WIDE`: through everything, looking for what is accepted. Else
/// from a node to all accepted ones that are linked to it, or to a linked node that is not accepted
/// (ACORN-1; Patel et al., SIGMOD 2024).
struct FilteredSpace<'a, C, const WIDE: bool> {
    bottom: BaseSpace<'a, C>,
    accept: AcceptFn<'a>,
}

impl<C: Code, const WIDE: bool> SearchSpace for FilteredSpace<'_, C, WIDE> {
    const ALL_ELIGIBLE: bool = !WIDE;

    #[inline(always)]
    fn is_eligible(&self, node: u32) -> bool {
        (self.accept)(node)
    }

    #[inline(always)]
    fn distance<S: Simd>(&self, simd: S, node: u32) -> f32 {
        self.bottom.distance(simd, node)
    }

    #[inline(always)]
    fn excess(&self, distance: f32) -> f32 {
        self.bottom.excess(distance)
    }

    #[inline(always)]
    fn distance_error(&self) -> f32 {
        self.bottom.distance_error
    }

    #[inline(always)]
    fn push_unvisited(&self, node: u32, seen: &mut VisitedSet, found: &mut Vec<u32>) {
        if WIDE {
            return self.bottom.push_unvisited(node, seen, found);
        }
        for link in present_links(self.bottom.links(node)) {
            if !seen.insert(link) {
                continue;
            }
            if (self.accept)(link) {
                found.push(link);
                continue;
            }
            for next in present_links(self.bottom.links(link)) {
                // What is not accepted is not marked: its own links are not followed yet.
                if (self.accept)(next) && seen.insert(next) {
                    found.push(next);
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, node: u32) {
        self.bottom.prefetch(simd, node);
    }

    #[inline(always)]
    fn code_len(&self) -> usize {
        self.bottom.code_len()
    }

    #[inline(always)]
    fn prefetch_links<S: Simd>(&self, simd: S, node: u32) {
        self.bottom.prefetch_links(simd, node);
    }
}

/// A layer above 0.
struct UpperSpace<'a, C> {
    bottom: BaseSpace<'a, C>,
    nodes: &'a [u8],
    below: &'a [u8],
    links: &'a [u8],
    m: usize,
}

impl<C> UpperSpace<'_, C> {
    #[inline(always)]
    fn node(&self, number: u32) -> u32 {
        u32_at(self.nodes, number as usize * 4).unwrap_or(NO_LINK)
    }
}

impl<C: Code> SearchSpace for UpperSpace<'_, C> {
    #[inline(always)]
    fn distance<S: Simd>(&self, simd: S, number: u32) -> f32 {
        self.bottom.distance(simd, self.node(number))
    }

    #[inline(always)]
    fn excess(&self, distance: f32) -> f32 {
        self.bottom.excess(distance)
    }

    #[inline(always)]
    fn distance_error(&self) -> f32 {
        self.bottom.distance_error
    }

    #[inline(always)]
    fn push_unvisited(&self, number: u32, seen: &mut VisitedSet, found: &mut Vec<u32>) {
        let start = number as usize * self.m * 4;
        let links = self.links.get(start..start + self.m * 4);
        let (links, _) = links.unwrap_or_default().as_chunks();
        found.extend(present_links(links).filter(|&link| seen.insert(link)));
    }

    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, number: u32) {
        self.bottom.prefetch(simd, self.node(number));
    }

    #[inline(always)]
    fn code_len(&self) -> usize {
        self.bottom.code_len()
    }

    #[inline(always)]
    fn prefetch_links<S: Simd>(&self, _: S, _: u32) {}
}
