//! The search of one segment: a walk through its graph, or a comparison with its flat vectors.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use loci_storage::{LocalOrdinal, SegmentReader};
use roaring::RoaringBitmap;

use super::byte_codes::{Bounds, ByteCodes};
use super::graph::{GraphReader, NodeFilter, WalkLimits};
use super::plan::{PlanInput, SearchStrategy, plan};
use super::query::{SegmentSearchStats, VectorQuery, VectorScratch};
use super::reader::VectorReader;
use super::{Metric, VectorError};
use crate::top::Top;

/// Nodes from which a filtered walk starts besides the entry: what may be found need not hang
/// together.
const FILTERED_START_NODES: u32 = 8;

/// Vectors that are asked for before they are compared.
const ROWS_AHEAD: usize = 2;

/// Likewise, of those that a scan by codes leaves.
const SCANNED_AHEAD: usize = 16;

/// Vectors that are compared between two looks at the clock.
const ROWS_BETWEEN_LOOKS: usize = 8;

/// Codes that a scan keeps for each hit, at least: of these the hits are taken at full precision.
const SCANNED_PER_HIT: usize = 8;

/// What comparing a code takes at most.
const CODE_TIME: Duration = Duration::from_nanos(60);

/// Where no more than one of so many vectors may be found, these are compared as they are, not all by their codes.
const EXACT_SHARE_DIVISOR: usize = 16;

/// Vectors by which is estimated how many a filter allows.
const SAMPLE_LEN: usize = 128;

const MISSING_VECTOR: VectorError = VectorError::Malformed("a vector is missing");

/// Scores that are looked at together.
const ROW_LEN: usize = 16;

/// The greatest of every row of `scores`.
fn row_maxima(scores: &[f32], greatest: &mut Vec<f32>) {
    greatest.clear();
    greatest.extend(scores.chunks(ROW_LEN).map(|row| {
        let Ok(row) = <&[f32; ROW_LEN]>::try_from(row) else {
            return row.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
        };
        // By halves, so that a step is one instruction.
        let mut row = *row;
        let mut half = ROW_LEN / 2;
        while half > 0 {
            for i in 0..half {
                row[i] = if row[half + i] > row[i] {
                    row[half + i]
                } else {
                    row[i]
                };
            }
            half /= 2;
        }
        row[0]
    }));
}

/// A score that at least `k` of `scores` reach: the `k`-th greatest of rows, or of all where rows are few; less than
/// all where there are fewer.
fn nth_greatest(rows: &[f32], scores: &[f32], k: usize, scratch: &mut Vec<f32>) -> f32 {
    let candidates = if k <= rows.len() / 2 { rows } else { scores };
    let Some(at) = k.checked_sub(1).filter(|&at| at < candidates.len()) else {
        return f32::NEG_INFINITY;
    };
    scratch.clear();
    scratch.extend_from_slice(candidates);
    *scratch.select_nth_unstable_by(at, |a, b| b.total_cmp(a)).1
}

/// The places of a row.
fn row_range(row: usize, scores: &[f32]) -> std::ops::Range<usize> {
    row * ROW_LEN..((row + 1) * ROW_LEN).min(scores.len())
}

/// Whether a score may be found, and is no less than `least`.
fn is_candidate(score: f32, least: f32) -> bool {
    score > f32::NEG_INFINITY && score >= least
}

/// One segment of a search.
pub(super) struct SegmentSearch<'a, B> {
    pub(super) placed: &'a SegmentReader<'a, VectorReader<B>>,
    pub(super) query: &'a VectorQuery<'a>,
}

impl<B: AsRef<[u8]>> SegmentSearch<'_, B> {
    pub(super) fn search(
        &self,
        deadline: Option<Instant>,
        scratch: &mut VectorScratch,
    ) -> Result<(), VectorError> {
        let eligible = self.eligible_count();
        let before = scratch.walk.distance_count;
        let mut damaged = false;
        let strategy = match &self.placed.reader.graph {
            Some(graph) if eligible > 0 => self.find_candidates(graph, eligible, deadline, scratch),
            _ => Ok(SearchStrategy::Exact),
        };
        // The flat vectors are sound where the graph is not.
        let strategy = strategy.unwrap_or_else(|_| {
            damaged = true;
            SearchStrategy::Exact
        });
        match (strategy, &self.placed.reader.graph) {
            _ if eligible == 0 => {}
            (SearchStrategy::Exact, _) | (_, None) => self.search_exact(eligible, scratch)?,
            (_, Some(graph)) if self.query.rescore => {
                self.rescore(graph, deadline, scratch)?;
            }
            _ => self.rank_by_codes(scratch)?,
        }
        let measured = match strategy {
            SearchStrategy::Exact => eligible as u64,
            _ => scratch.walk.distance_count - before,
        };
        scratch.segment_stats.push(SegmentSearchStats {
            base: self.placed.base,
            strategy,
            eligible,
            distance_count: measured,
            is_graph_damaged: damaged,
        });
        Ok(())
    }

    /// How many vectors may be found: an estimate where chunks are deleted or some have no vector, but
    /// 0 only for none.
    fn eligible_count(&self) -> usize {
        let flat = &self.placed.reader.flat;
        let chunks = u64::from(self.placed.chunk_count.max(1));
        let dead = self
            .placed
            .dead
            .range_cardinality(0..self.placed.chunk_count);
        let live = chunks.saturating_sub(dead);
        let Some(filter) = self.query.filter else {
            return ((flat.len() as u64 * live).div_ceil(chunks) as usize).min(flat.len());
        };
        let allowed = self.allowed_count(filter);
        if flat.is_dense() || allowed == 0 {
            return allowed.min(flat.len());
        }
        // Others than those with vectors may be allowed too: a sample estimates how many.
        let step = (flat.len() / SAMPLE_LEN).max(1);
        let sample = || (0..flat.len() as u32).step_by(step);
        let hits = sample().filter(|&place| self.is_eligible(place)).count();
        let estimate = (hits * flat.len()).div_ceil(sample().count().max(1));
        estimate.clamp(1, allowed.min(flat.len()))
    }

    /// How many chunks of the segment, up to the last with a vector, the filter allows.
    fn allowed_count(&self, filter: &RoaringBitmap) -> usize {
        let base = self.placed.base.0;
        let end = base.saturating_add(self.placed.reader.flat.local_end());
        filter.range_cardinality(base..end) as usize
    }

    fn is_eligible(&self, place: u32) -> bool {
        let Some(local) = self.placed.reader.flat.local(place) else {
            return false;
        };
        !self.placed.is_dead(local)
            && self
                .query
                .filter
                .is_none_or(|filter| filter.contains(self.placed.ordinal(local).0))
    }

    /// Leaves in the pool the nearest that may be found; `SearchStrategy::Exact` where nothing was done.
    fn find_candidates(
        &self,
        graph: &GraphReader<B>,
        eligible: usize,
        deadline: Option<Instant>,
        scratch: &mut VectorScratch,
    ) -> Result<SearchStrategy, VectorError> {
        let k = self.query.k;
        let efforts = graph.efforts();
        let ef = efforts.ef(self.query.effort).max(k);
        let strategy = plan(PlanInput {
            count: self.placed.reader.flat.len(),
            eligible,
            ef,
            degree_max: graph.degree_max(),
        });
        if strategy == SearchStrategy::Exact {
            return Ok(strategy);
        }
        // What comparing everything has time for needs no walk.
        let has_time = deadline.is_some_and(|deadline| {
            let time = deadline.saturating_duration_since(Instant::now());
            CODE_TIME * eligible as u32 <= time
        });
        let strategy = if has_time {
            SearchStrategy::Scan
        } else {
            strategy
        };
        graph.prepare_query(&scratch.prepared, &mut scratch.query);
        let found = match strategy {
            SearchStrategy::Walk { ef: wide } => {
                let mut reach = efforts.walk_limits(ef, k, deadline);
                reach.ef = reach.ef / ef * wide;
                self.walk(graph, reach, scratch)?
            }
            SearchStrategy::FilteredWalk { ef } => {
                self.filtered_walk(graph, efforts.walk_limits(ef, k, deadline), scratch)?
            }
            SearchStrategy::Exact | SearchStrategy::Scan => 0,
        };
        // Far from all that may be found, a walk meets too few of it.
        let too_few = deadline.is_none() && found < k.min(eligible);
        if strategy == SearchStrategy::Scan || too_few {
            self.scan(graph, ef.max(SCANNED_PER_HIT * k), scratch)?;
            return Ok(SearchStrategy::Scan);
        }
        Ok(strategy)
    }

    /// Leaves in the pool what may be found; returns how many.
    fn walk(
        &self,
        graph: &GraphReader<B>,
        reach: WalkLimits,
        scratch: &mut VectorScratch,
    ) -> Result<usize, VectorError> {
        let accept = |place| self.is_eligible(place);
        let all = self.query.filter.is_none() && self.placed.dead.is_empty();
        let filter = if all {
            NodeFilter::All
        } else {
            NodeFilter::PostFilter(&accept)
        };
        graph.walk(&scratch.query, reach, filter, &mut scratch.walk)?;
        let pool = &mut scratch.walk.candidates;
        if !all {
            pool.retain(|near| accept(near.node()));
        }
        Ok(pool.len())
    }

    fn filtered_walk(
        &self,
        graph: &GraphReader<B>,
        reach: WalkLimits,
        scratch: &mut VectorScratch,
    ) -> Result<usize, VectorError> {
        self.start_nodes(&mut scratch.nodes);
        let accept = |place| self.is_eligible(place);
        let filter = NodeFilter::PreFilter(&accept, &scratch.nodes);
        graph.walk(&scratch.query, reach, filter, &mut scratch.walk)?;
        Ok(scratch.walk.candidates.len())
    }

    /// Some places that may be found, spread over the segment.
    fn start_nodes(&self, places: &mut Vec<u32>) {
        places.clear();
        let Some(filter) = self.query.filter else {
            return;
        };
        let base = self.placed.base.0;
        let flat = &self.placed.reader.flat;
        let before = base.checked_sub(1).map_or(0, |last| filter.rank(last));
        let inside = filter.range_cardinality(base..base.saturating_add(flat.local_end()));
        let at = |n: u32| before + u64::from(n) * inside / u64::from(FILTERED_START_NODES);
        let ordinals =
            (0..FILTERED_START_NODES).filter_map(|n| filter.select(u32::try_from(at(n)).ok()?));
        let locals = ordinals.filter_map(|ordinal| Some(LocalOrdinal(ordinal.checked_sub(base)?)));
        places.extend(locals.filter_map(|local| Some(flat.position_of(local)? as u32)));
        places.retain(|&place| self.is_eligible(place));
    }

    fn scan(
        &self,
        graph: &GraphReader<B>,
        keep: usize,
        scratch: &mut VectorScratch,
    ) -> Result<(), VectorError> {
        scratch.nodes.clear();
        self.for_each_eligible(|place, _| {
            scratch.nodes.push(place as u32);
            Ok(())
        })?;
        graph.scan(&scratch.query, &scratch.nodes, keep, &mut scratch.walk)
    }

    /// Offers the nearest of the pool at full precision, until the next seems too far by more than codes
    /// err, or time is over and there are `k`.
    fn rescore(
        &self,
        graph: &GraphReader<B>,
        deadline: Option<Instant>,
        scratch: &mut VectorScratch,
    ) -> Result<(), VectorError> {
        let VectorScratch {
            prepared,
            query,
            walk,
            top,
            ..
        } = scratch;
        let flat = &self.placed.reader.flat;
        let error = graph.error(query) - self.distance_offset(prepared);
        for near in walk.candidates.iter().take(ROWS_AHEAD) {
            flat.prefetch(near.node() as usize);
        }
        for (at, near) in walk.candidates.iter().enumerate() {
            let is_late = || {
                let looks = at >= self.query.k && at % ROWS_BETWEEN_LOOKS == 0;
                looks && deadline.is_some_and(|deadline| Instant::now() >= deadline)
            };
            let worst = top.threshold();
            if worst.is_some_and(|worst| near.distance() > error - worst) || is_late() {
                break;
            }
            if let Some(later) = walk.candidates.get(at + ROWS_AHEAD) {
                flat.prefetch(later.node() as usize);
            }
            let local = flat.local(near.node()).ok_or(MISSING_VECTOR)?;
            self.offer(local, near.node() as usize, prepared, top)?;
        }
        Ok(())
    }

    /// Offers the pool with the scores of its codes.
    fn rank_by_codes(&self, scratch: &mut VectorScratch) -> Result<(), VectorError> {
        let flat = &self.placed.reader.flat;
        let own = self.distance_offset(&scratch.prepared);
        for near in scratch.walk.candidates.iter().take(self.query.k) {
            let local = flat.local(near.node()).ok_or(MISSING_VECTOR)?;
            let score = -(near.distance() + own);
            scratch.top.push(score, self.placed.ordinal(local));
        }
        Ok(())
    }

    /// What distances of codes lack to be those of the metric.
    fn distance_offset(&self, prepared: &[f32]) -> f32 {
        match self.placed.reader.flat.metric() {
            Metric::Cosine | Metric::Dot => 0.0,
            Metric::L2 => prepared.iter().map(|x| x * x).sum(),
        }
    }

    /// Offers the vectors that may be found: all of them, or those that codes cannot rule out.
    fn search_exact(
        &self,
        eligible: usize,
        scratch: &mut VectorScratch,
    ) -> Result<(), VectorError> {
        let reader = self.placed.reader;
        let is_many = eligible > reader.flat.len() / EXACT_SHARE_DIVISOR;
        if is_many && reader.graph.is_none() && reader.was_searched.swap(true, Ordering::Relaxed) {
            let byte_codes = reader
                .byte_codes
                .get_or_init(|| ByteCodes::new(&reader.flat));
            if let Some(byte_codes) = byte_codes
                && self.search_by_codes(byte_codes, scratch)?
            {
                return Ok(());
            }
        }
        let VectorScratch { prepared, top, .. } = scratch;
        self.for_each_eligible(|place, local| self.offer(local, place, prepared, top))
    }

    /// Offers the `k` that seem nearest by their codes, then those that may be nearer than the worst of these; `false`
    /// where codes cannot represent the query.
    fn search_by_codes(
        &self,
        byte_codes: &ByteCodes,
        scratch: &mut VectorScratch,
    ) -> Result<bool, VectorError> {
        let VectorScratch {
            prepared,
            query,
            eligible_flags: eligible,
            bounds,
            row_maxima: greatest,
            sample,
            nearest,
            top,
            ..
        } = scratch;
        let flat = &self.placed.reader.flat;
        if !byte_codes.scores(prepared, flat.metric(), query, bounds) {
            return Ok(false);
        }
        let Bounds {
            scores,
            upper_bounds: most,
        } = bounds;
        if self.query.filter.is_some() || !self.placed.dead.is_empty() {
            eligible.clear();
            eligible.resize(scores.len(), false);
            self.for_each_eligible(|place, _| {
                eligible[place] = true;
                Ok(())
            })?;
            for (at, _) in eligible.iter().enumerate().filter(|(_, is)| !**is) {
                (scores[at], most[at]) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            }
        }
        let offer = |place: usize, top: &mut Top| {
            let local = flat.local(place as u32).ok_or(MISSING_VECTOR)?;
            self.offer(local, place, prepared, top)
        };
        row_maxima(scores, greatest);
        let least = nth_greatest(greatest, scores, self.query.k, sample);
        nearest.clear();
        for (row, _) in (0..).zip(&*greatest).filter(|(_, of)| **of >= least) {
            let places = row_range(row, scores);
            nearest.extend(places.filter_map(|place| {
                let score = scores[place];
                is_candidate(score, least).then_some((score, place))
            }));
        }
        if let Some(last) = self.query.k.checked_sub(1).filter(|&k| k < nearest.len()) {
            nearest.select_nth_unstable_by(last, |a, b| b.0.total_cmp(&a.0));
            nearest.truncate(self.query.k);
        }
        for &(_, place) in nearest.iter().take(SCANNED_AHEAD) {
            flat.prefetch(place);
        }
        for (at, &(_, place)) in nearest.iter().enumerate() {
            if let Some(&(_, later)) = nearest.get(at + SCANNED_AHEAD) {
                flat.prefetch(later);
            }
            offer(place, top)?;
            most[place] = f32::NEG_INFINITY;
        }
        row_maxima(most, greatest);
        for (row, of) in (0..).zip(&*greatest) {
            if top.threshold().is_some_and(|worst| *of < worst) {
                continue;
            }
            for place in row_range(row, most) {
                let worst = top.threshold().unwrap_or(f32::NEG_INFINITY);
                if is_candidate(most[place], worst) {
                    offer(place, top)?;
                }
            }
        }
        Ok(true)
    }

    fn offer(
        &self,
        local: LocalOrdinal,
        place: usize,
        prepared: &[f32],
        top: &mut Top,
    ) -> Result<(), VectorError> {
        let flat = &self.placed.reader.flat;
        let vector = flat.row(place).ok_or(MISSING_VECTOR)?;
        let score = flat.metric().score(prepared, &vector);
        if !score.is_finite() {
            return Err(VectorError::Malformed("a stored number is not finite"));
        }
        top.push(score, self.placed.ordinal(local));
        Ok(())
    }

    /// Calls `f` with place and local of every vector that may be found, ascending.
    fn for_each_eligible(
        &self,
        mut f: impl FnMut(usize, LocalOrdinal) -> Result<(), VectorError>,
    ) -> Result<(), VectorError> {
        let flat = &self.placed.reader.flat;
        let mut live = |place: usize, local: LocalOrdinal| {
            if self.placed.is_dead(local) {
                Ok(())
            } else {
                f(place, local)
            }
        };
        match self.query.filter {
            None => flat
                .locals()
                .zip(0..)
                .try_for_each(|(local, place)| live(place, local)),
            // Whichever has fewer, as long as finding the place of a chunk costs a search.
            Some(filter) if !flat.is_dense() && self.allowed_count(filter) > flat.len() / 8 => flat
                .locals()
                .zip(0..)
                .filter(|&(local, _)| filter.contains(self.placed.ordinal(local).0))
                .try_for_each(|(local, place)| live(place, local)),
            Some(filter) => filter
                .range(self.placed.base.0..)
                .map(|ordinal| LocalOrdinal(ordinal - self.placed.base.0))
                .take_while(|local| local.0 < flat.local_end())
                .filter_map(|local| Some((flat.position_of(local)?, local)))
                .try_for_each(|(place, local)| live(place, local)),
        }
    }
}
