//! The nearest chunks of all segments, each searched by the strategy that costs least.

use std::time::Instant;

use loci_storage::{ScoredChunk, SegmentReader};

#[cfg(doc)]
use super::graph::Effort;
use super::graph::deadline;
use super::query::{VectorQuery, VectorScratch};
use super::reader::VectorReader;
use super::segment_search::SegmentSearch;
use super::{Metric, VectorError};

/// The `k` chunks whose vectors lie nearest.
///
/// - returns: `k` chunks, or all that may be found if they are fewer (or time ends the search); best
///   first, ties by ascending ordinal; `score` as [`Metric`] says, measured at full precision. Exact in
///   segments without a graph; near the recall that [`Effort`] asks for in others.
///
/// # Errors
/// Those of [`Metric::prepare`]; [`VectorError::Mixed`]; [`VectorError::Malformed`].
///
/// # Cost
/// In segments with a graph some 20 distances between codes for each of `ef` candidates, and more of
/// them the fewer may be found, up to one for each vector that may, then one at full precision for each
/// that codes do not distinguish from the hits, `2 · ef` at most; in others, one between codes for each vector,
/// then one at full precision for each that these cannot rule out (for all that may be found under L2, below 64
/// vectors, and where that is no more than one of 16; the second search makes the codes, a byte a number). A walk
/// that meets fewer than `k` is followed by a scan. No allocation in the steady state but the answer and, under a
/// filter, two short lists.
pub fn search<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, VectorReader<B>>],
    query: &VectorQuery<'_>,
    scratch: &mut VectorScratch,
) -> Result<Vec<ScoredChunk>, VectorError> {
    scratch.segment_stats.clear();
    scratch.top.reset(query.k);
    let Some(first) = segments.first() else {
        return Ok(Vec::new());
    };
    let (metric, dim) = (first.reader.flat.metric(), first.reader.flat.dim());
    scratch.prepared.clear();
    metric.prepare_into(query.vector, dim, &mut scratch.prepared)?;
    let deadline = deadline(query.effort);
    let mut left: usize = segments.iter().map(|placed| placed.reader.flat.len()).sum();
    for placed in segments {
        check(placed, metric, dim)?;
        let len = placed.reader.flat.len();
        if query.k > 0 && len > 0 {
            let deadline = deadline.map(|deadline| segment_deadline(deadline, len, left));
            SegmentSearch { placed, query }.search(deadline, scratch)?;
        }
        left -= len;
    }
    Ok(scratch.top.drain())
}

/// When a segment of `len` vectors must be done, of `left` that are still to be searched.
fn segment_deadline(deadline: Instant, len: usize, left: usize) -> Instant {
    let now = Instant::now();
    let time = deadline.saturating_duration_since(now);
    now + time.mul_f64(len as f64 / left.max(1) as f64)
}

fn check<B: AsRef<[u8]>>(
    placed: &SegmentReader<'_, VectorReader<B>>,
    metric: Metric,
    dim: usize,
) -> Result<(), VectorError> {
    let flat = &placed.reader.flat;
    if flat.metric() != metric {
        return Err(VectorError::Mixed(metric, flat.metric()));
    }
    if flat.dim() != dim {
        return Err(VectorError::Dimension {
            got: dim,
            expected: flat.dim(),
        });
    }
    if flat.local_end() > placed.chunk_count {
        return Err(VectorError::Malformed(
            "it speaks of more chunks than its segment has",
        ));
    }
    Ok(())
}
