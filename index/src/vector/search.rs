//! The nearest chunks, by looking at every vector that may be found.

use loci_storage::{Local, Placed, Scored};
use roaring::RoaringBitmap;

use super::flat::FlatReader;
use super::{Metric, VectorError};
use crate::top::Top;

/// The `k` chunks whose vectors lie nearest to `query`.
///
/// - `query`: `[dim]`, of any length; see [`Metric::prepare`] for what is refused.
/// - `filter`: ordinals that may be found; `None` for all. Deleted chunks are never found.
/// - returns: up to `k` chunks, best first, ties by ascending ordinal; `score` as [`Metric`] says.
///   Exact within the rounding of f32.
///
/// # Errors
/// Those of [`Metric::prepare`]; [`VectorError::Mixed`]; [`VectorError::Malformed`].
///
/// # Cost
/// `dim` multiply-adds for every vector that may be found. Vectors at unaligned addresses are
/// copied first, one at a time.
pub fn search<B: AsRef<[u8]>>(
    segments: &[Placed<'_, FlatReader<B>>],
    query: &[f32],
    filter: Option<&RoaringBitmap>,
    k: usize,
) -> Result<Vec<Scored>, VectorError> {
    let Some(first) = segments.first() else {
        return Ok(Vec::new());
    };
    let metric = first.reader.metric();
    let query = metric.prepare(query, first.reader.dim())?;
    let mut top = Top::default();
    top.reset(k);
    for placed in segments {
        check(placed, metric, query.len())?;
        scan(placed, metric, &query, filter, &mut top)?;
    }
    Ok(top.drain())
}

fn check<B: AsRef<[u8]>>(
    placed: &Placed<'_, FlatReader<B>>,
    metric: Metric,
    dim: usize,
) -> Result<(), VectorError> {
    let reader = placed.reader;
    if reader.metric() != metric {
        return Err(VectorError::Mixed(metric, reader.metric()));
    }
    if reader.dim() != dim {
        return Err(VectorError::Dimension {
            got: dim,
            expected: reader.dim(),
        });
    }
    if reader.local_end() > placed.chunk_count {
        return Err(VectorError::Malformed(
            "it speaks of more chunks than its segment has",
        ));
    }
    Ok(())
}

fn scan<B: AsRef<[u8]>>(
    placed: &Placed<'_, FlatReader<B>>,
    metric: Metric,
    query: &[f32],
    filter: Option<&RoaringBitmap>,
    top: &mut Top,
) -> Result<(), VectorError> {
    let reader = placed.reader;
    let mut offer = |local: Local, place: usize| {
        if placed.is_dead(local) {
            return Ok(());
        }
        let vector = reader
            .row(place)
            .ok_or(VectorError::Malformed("a vector is missing"))?;
        let score = metric.score(query, &vector);
        if !score.is_finite() {
            return Err(VectorError::Malformed("a stored number is not finite"));
        }
        top.push(score, placed.ordinal(local));
        Ok(())
    };
    match filter {
        None => reader
            .locals()
            .zip(0..)
            .try_for_each(|(local, place)| offer(local, place)),
        Some(filter) => filter
            .range(placed.base.0..)
            .map(|ordinal| Local(ordinal - placed.base.0))
            .take_while(|local| local.0 < reader.local_end())
            .filter_map(|local| Some((local, reader.place(local)?)))
            .try_for_each(|(local, place)| offer(local, place)),
    }
}
