//! The search of one segment, a window of 65,536 chunks at a time.
//!
//! Rare terms are added up chunk by chunk, then [`select`] adds the frequent ones where that
//! can matter.

use loci_storage::{LocalOrdinal, SegmentReader};
use roaring::RoaringBitmap;

use super::bm25::{gain, points, points_or_zero};
use super::maxscore::{MaxScore, RarePart};
use super::read::{List, TextReader, Window, Windows};
use super::select::{self, Blocks, RowPart, Select, threshold_points};
use super::{POSTING_LEN, Scorer, TextError, WINDOW_LEN};
use crate::kernels::Level;
use crate::top::Top;

/// Of chunks that a filter allows, one in so many or fewer are looked at one by one.
const NARROW_FILTER_DIVISOR: u64 = 32;

/// One segment of a search. Scores in `top` are points.
pub(super) struct SegmentSearch<'a, 'b, B> {
    pub(super) placed: &'a SegmentReader<'b, TextReader<B>>,
    pub(super) filter: Option<&'a RoaringBitmap>,
    pub(super) scorer: &'a Scorer,
    pub(super) sums: &'a mut Vec<u32>,
    /// Whether all of them are 0.
    pub(super) is_clear: bool,
    pub(super) candidates: &'a mut Vec<u16>,
    pub(super) blocks: &'a mut Blocks,
    pub(super) top: &'a mut Top,
}

/// Where the chunks of something that is counted stand.
pub(super) enum PostingsSource<'a> {
    /// With the greatest tf and the least length code.
    List(List<'a>, (u8, u8)),
    Matches(&'a [(u32, u8)]),
}

/// A rare term, window by window.
struct RareTerm<'a> {
    windows: Windows<'a>,
    next: Option<Window<'a>>,
    weight: f32,
    /// Points that it adds to a chunk at most.
    max: u32,
}

impl<B: AsRef<[u8]>> SegmentSearch<'_, '_, B> {
    pub(super) fn search<'s>(
        &mut self,
        sources: impl Iterator<Item = (PostingsSource<'s>, f32)>,
    ) -> Result<(), TextError> {
        let (mut rare, mut rows, mut matched) = (Vec::new(), Vec::new(), Vec::new());
        for (source, weight) in sources {
            match source {
                PostingsSource::Matches(chunks) => matched.push((chunks, weight)),
                PostingsSource::List(List::Row(row), _) => {
                    let gains = row.bounds().map(|(tf, code)| self.scorer.gain(tf, code));
                    let max = points_max(weight, gains.fold(0.0, f32::max));
                    rows.push((row, weight, max));
                }
                PostingsSource::List(List::Windows(mut windows), (tf_max, code_min)) => {
                    let next = windows.next().transpose()?;
                    rare.push(RareTerm {
                        windows,
                        next,
                        weight,
                        max: points_max(weight, self.scorer.gain(tf_max.max(1), code_min)),
                    });
                }
            }
        }
        rows.sort_by_key(|&(_, _, max)| std::cmp::Reverse(max));
        let rows_max = rows.iter().map(|&(_, _, max)| max);
        let rows_max = rows_max.fold(0, u32::saturating_add);
        let width = self.placed.reader.lengths().len();
        let (mut parts, mut rare_parts) = (Vec::with_capacity(rows.len()), Vec::new());
        for start in (0..width).step_by(WINDOW_LEN) {
            let end = (start + WINDOW_LEN).min(width);
            parts.clear();
            for &(row, weight, max) in &rows {
                let tfs = row.tfs.get(start..end).unwrap_or_default();
                parts.push(RowPart { tfs, weight, max });
            }
            if matched.is_empty()
                && self.try_maxscore(&mut rare, &mut rare_parts, &parts, start, end)?
            {
                continue;
            }
            self.is_clear = false;
            let mut is_touched = self.add_rare(&mut rare, start, end)?;
            is_touched |= self.add_matches(&mut matched, start, end);
            if !is_touched && rows.is_empty() {
                continue;
            }
            self.collect(start, end, &parts, rows_max);
        }
        Ok(())
    }

    /// Offers the chunks of a window that may be among the best, where that is possible without adding up
    /// all that it has; whether it was.
    fn try_maxscore<'r>(
        &mut self,
        rare: &mut [RareTerm<'r>],
        parts: &mut Vec<RarePart<'r>>,
        rows: &[RowPart<'_>],
        start: usize,
        end: usize,
    ) -> Result<bool, TextError> {
        let threshold = self.top.threshold().map_or(0, threshold_points);
        if threshold == 0 || self.is_narrow(start, end) {
            return Ok(false);
        }
        let here = rare.iter().filter_map(|term| {
            let window = term.next.filter(|window| window.first as usize == start)?;
            Some(RarePart {
                window,
                weight: term.weight,
                max: term.max,
            })
        });
        parts.clear();
        parts.extend(here);
        parts.sort_unstable_by_key(|part| part.max);
        let lengths = &self.placed.reader.lengths()[start..end];
        let Some(skim) = MaxScore::new(parts, rows, lengths, self.scorer, threshold) else {
            return Ok(false);
        };
        if !std::mem::replace(&mut self.is_clear, true) {
            self.sums.clear();
        }
        self.sums.resize(end - start, 0);
        let (placed, filter, top) = (self.placed, self.filter, &mut *self.top);
        let mut offer = |local, points| offer(placed, filter, top, start + local, points);
        let offer = |local, points| threshold_points(offer(local, points));
        skim.run(self.sums, self.candidates, threshold, offer)?;
        for term in rare {
            if term
                .next
                .is_some_and(|window| window.first as usize == start)
            {
                term.next = term.windows.next().transpose()?;
            }
        }
        Ok(true)
    }

    /// Whether the filter allows so few chunks of a window that they are looked at one by one.
    fn is_narrow(&self, start: usize, end: usize) -> bool {
        let Some(filter) = self.filter else {
            return false;
        };
        let base = self.placed.base.0;
        let last = base.saturating_add((end as u32).min(self.placed.reader.local_end()));
        let allowed = filter.range_cardinality(base + start as u32..last);
        allowed * NARROW_FILTER_DIVISOR <= (end - start) as u64
    }

    /// Sums the points of rare terms in the window of locals `start..end`; whether there are any.
    fn add_rare(
        &mut self,
        rare: &mut [RareTerm<'_>],
        start: usize,
        end: usize,
    ) -> Result<bool, TextError> {
        self.sums.clear();
        self.sums.resize(end - start, 0);
        let mut is_touched = false;
        for term in rare {
            let is_here = |window: &&mut Window<'_>| window.first as usize == start;
            if let Some(window) = term.next.as_mut().filter(is_here) {
                is_touched = true;
                add(window, term.weight, self.scorer, self.sums)?;
                term.next = term.windows.next().transpose()?;
            }
        }
        Ok(is_touched)
    }

    /// Adds the points of chunks that were made; whether there are any.
    fn add_matches(
        &mut self,
        matched: &mut [(&[(u32, u8)], f32)],
        start: usize,
        end: usize,
    ) -> bool {
        let lengths = self.placed.reader.lengths();
        let mut is_touched = false;
        for (chunks, weight) in matched {
            while let Some((&(local, tf), rest)) = chunks.split_first() {
                let local = local as usize;
                if local >= end {
                    break;
                }
                *chunks = rest;
                is_touched = true;
                let norm = self.scorer.norm(f32::from_le_bytes(lengths[local]));
                let points = points(*weight, gain(f32::from(tf), norm));
                let sum = &mut self.sums[local - start];
                *sum = sum.wrapping_add(points);
            }
        }
        is_touched
    }

    /// Offers the chunks of a window that may be found.
    fn collect(&mut self, start: usize, end: usize, rows: &[RowPart<'_>], rows_max: u32) {
        let placed = self.placed;
        let first = placed.base.0 + start as u32;
        let last = placed
            .base
            .0
            .saturating_add((end as u32).min(placed.reader.local_end()));
        if let Some(filter) = self.filter
            && self.is_narrow(start, end)
        {
            return self.collect_few(filter, first..last, start, rows);
        }
        let (filter, top) = (self.filter, &mut *self.top);
        let threshold = top.threshold().unwrap_or(0.0);
        let mut offer =
            |local: usize, points: u32| offer(placed, filter, top, start + local, points);
        let window = select::Window {
            sums: self.sums,
            lengths: &placed.reader.lengths()[start..end],
            rows,
            scorer: self.scorer,
        };
        let select = Select::new(window, rows_max, threshold, self.blocks, &mut offer);
        Level::detect().run(select);
    }

    /// Offers the few chunks of a window that the filter allows.
    fn collect_few(
        &mut self,
        filter: &RoaringBitmap,
        ordinals: std::ops::Range<u32>,
        start: usize,
        rows: &[RowPart<'_>],
    ) {
        let lengths = &self.placed.reader.lengths()[start..];
        for ordinal in filter.range(ordinals.clone()) {
            let at = (ordinal - ordinals.start) as usize;
            let (Some(&sum), Some(&length)) = (self.sums.get(at), lengths.get(at)) else {
                return;
            };
            let norm = self.scorer.norm(f32::from_le_bytes(length));
            let of_rows = rows.iter().map(|row| {
                let tf = row.tfs.get(at).copied().unwrap_or(0);
                points_or_zero(row.weight, tf, norm)
            });
            let points = of_rows.fold(sum, u32::wrapping_add);
            let local = LocalOrdinal((start + at) as u32);
            let ordinal = self.placed.ordinal(local);
            let score = points as f32;
            if points > 0 && self.top.admits(score, ordinal) && !self.placed.is_dead(local) {
                self.top.push(score, ordinal);
            }
        }
    }
}

/// Points that a term adds at most, with this gain at most. One more: rounding is not monotone to the last bit.
fn points_max(weight: f32, gain: f32) -> u32 {
    points(weight, gain) + 1
}

/// Keeps a chunk if it is among the best and may be found; the score to reach from then on.
fn offer<B: AsRef<[u8]>>(
    placed: &SegmentReader<'_, TextReader<B>>,
    filter: Option<&RoaringBitmap>,
    top: &mut Top,
    local: usize,
    points: u32,
) -> f32 {
    let local = LocalOrdinal(local as u32);
    if local.0 < placed.reader.local_end() {
        let ordinal = placed.ordinal(local);
        let score = points as f32;
        let may = || filter.is_none_or(|filter| filter.contains(ordinal.0));
        if top.admits(score, ordinal) && may() && !placed.is_dead(local) {
            top.push(score, ordinal);
        }
    }
    top.threshold().unwrap_or(0.0)
}

const NO_POSTING: TextError = TextError::Malformed("a posting of no chunk or no occurrence");

/// Adds one term's points to every chunk of a window.
fn add(
    window: &Window<'_>,
    weight: f32,
    scorer: &Scorer,
    sums: &mut [u32],
) -> Result<(), TextError> {
    let (entries, _) = window.entries.as_chunks::<POSTING_LEN>();
    for &[low, high, tf, length_code] in entries {
        let local = u16::from_le_bytes([low, high]);
        let gain = match scorer.gains_for_tf(tf) {
            Some(gains) => gains[usize::from(length_code)],
            None if tf == 0 => return Err(NO_POSTING),
            None => scorer.gain(tf, length_code),
        };
        let sum = sums.get_mut(usize::from(local)).ok_or(NO_POSTING)?;
        *sum = sum.wrapping_add(points(weight, gain));
    }
    Ok(())
}
