//! Compaction: segments kept few, tombstones purged, disk given back.
//!
//! A segment's tier is the power of 8 that its number of chunks reaches. More than 8 segments of one
//! tier, or below, are merged into one by rebuilding from rows; a segment with a quarter of its chunks
//! dead is rebuilt. That happens outside of the committing thread, on one core, from a snapshot; the new
//! segment is written to disk there too, and listed in one short commit that marks what died meanwhile.
//! So a chunk is rebuilt once a tier, and a store of n chunks has at most 8 segments for each of
//! log8(n) tiers. Memory grows with the largest merge, which [`MERGE_CHUNKS_MAX`] bounds.
//!
//! Start reading at [`merge_once`] and [`Database::compact`].

use std::ops::ControlFlow;

use loci_storage::build::{SegmentDraft, build_segment};
use loci_storage::snapshot::{OpenSegment, Snapshot};
use loci_storage::staging::Edit;
use loci_storage::store::DatabaseBytes;
use loci_storage::{DocumentId, SegmentId, StoreError, Views, failpoint};
use serde::Serialize;

use crate::database::{Database, Inner};
use crate::error::Error;
use crate::progress::Progress;
use crate::views::View;

/// Segments of one tier that may stand side by side.
const SEGMENTS_MAX: usize = 8;
/// Chunks below which a segment is of the lowest tier.
const TIER_CHUNKS: u32 = 256;
/// A segment is rebuilt when one in this many of its chunks is dead.
const DEAD_SHARE: u64 = 4;
/// Live chunks that one merge brings together at most.
pub const MERGE_CHUNKS_MAX: u64 = 1 << 18;

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// Segments before.
    pub segments_before: usize,
    /// Segments after.
    pub segments_after: usize,
    /// Dead chunks that were purged.
    pub chunks_purged: u64,
    /// Bytes of the store's files before.
    pub bytes_before: u64,
    /// Bytes of the store's files after. Views that are held may keep more until they are dropped.
    pub bytes_after: u64,
}

impl Database {
    /// Merges segments as far as they go, purges what is dead, and writes the database anew, so
    /// that the disk gets back what the store does not need.
    ///
    /// Searches go on; writers wait only for the short commits that list what was merged and for the
    /// rows that changed while the database was copied. Needs room on disk for a second copy.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; what was merged until then stays.
    pub fn compact(&self, progress: &dyn Progress) -> Result<Compacted, Error> {
        let inner = self.inner();
        let before = self.stats();
        let bytes_before = before.segment_file_bytes + before.database_bytes;
        {
            let _turn = inner.upkeep.lock();
            merge_all(inner, progress)?;
        }
        sweep_all(inner, progress)?;
        rewrite(inner, progress)?;
        let after = self.stats();
        Ok(Compacted {
            segments_before: before.segments,
            segments_after: after.segments,
            chunks_purged: before.dead_chunks.saturating_sub(after.dead_chunks),
            bytes_before,
            bytes_after: after.segment_file_bytes + after.database_bytes,
        })
    }
}

/// Merges what is due now: the lowest tier that has too many segments, or else a segment with much
/// that is dead. Returns whether there was anything.
pub(crate) fn merge_once(inner: &Inner) -> Result<bool, Error> {
    let _turn = inner.upkeep.lock();
    let view = inner.store.view();
    let old = due(view.snapshot());
    if old.is_empty() {
        return Ok(false);
    }
    merge(inner, &view, &old)?;
    Ok(true)
}

/// Deletes some of what spaces that were given up left behind; `false` when nothing is left.
pub(crate) fn sweep_once(inner: &Inner) -> Result<bool, Error> {
    let manifest = inner.store.view().snapshot().manifest().clone();
    if manifest.dropped_spaces.is_empty() {
        return Ok(false);
    }
    let swept = inner.store.write(|staging| staging.sweep());
    swept.map_err(Error::unwrap)
}

/// Builds the segments of `view` with these ids again from rows, as one.
pub(crate) fn merge(inner: &Inner, view: &View, old: &[&OpenSegment]) -> Result<(), Error> {
    let live = old.iter().flat_map(|segment| segment.live_documents());
    let mut documents: Vec<DocumentId> = live.collect();
    documents.sort_unstable();
    let draft = match documents.is_empty() {
        true => None,
        false => Some(build(inner, view, &documents)?),
    };
    failpoint::reach("merge-built");
    let old: Vec<SegmentId> = old.iter().map(|segment| segment.id).collect();
    inner.edit(vec![Edit::Merge { old, draft }])
}

fn build(inner: &Inner, view: &View, documents: &[DocumentId]) -> Result<SegmentDraft, StoreError> {
    let builder = inner.store.views().builder(view);
    let draft = build_segment(view.rows(), documents, builder)?;
    inner.store.prepare(draft)
}

/// Merges until as few segments as may be are left and none has a dead chunk.
fn merge_all(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    let view = inner.store.view();
    let groups = packed(view.snapshot().segments());
    let total = groups.len() as u64;
    for (done, group) in (0..).zip(groups) {
        go_on(progress.report("merging segments", done, total))?;
        merge(inner, &view, &group)?;
    }
    go_on(progress.report("merging segments", total, total))
}

/// Segments in groups that become one each; those that are as they should be are left out.
fn packed(segments: &[OpenSegment]) -> Vec<Vec<&OpenSegment>> {
    let mut by_size: Vec<&OpenSegment> = segments.iter().collect();
    by_size.sort_by_key(|segment| live(segment));
    let mut groups: Vec<(u64, Vec<&OpenSegment>)> = Vec::new();
    for segment in by_size {
        let chunks = live(segment);
        match groups.last_mut() {
            Some((held, group)) if *held + chunks <= MERGE_CHUNKS_MAX => {
                *held += chunks;
                group.push(segment);
            }
            _ => groups.push((chunks, vec![segment])),
        }
    }
    let groups = groups.into_iter().map(|(_, group)| group);
    groups
        .filter(|group| group.len() > 1 || group.iter().any(|segment| !segment.dead.is_empty()))
        .collect()
}

fn sweep_all(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    go_on(progress.report("sweeping", 0, 1))?;
    while sweep_once(inner)? {}
    let mut after = Some(Vec::new());
    while let Some(from) = after.take() {
        let next = inner
            .store
            .edit(move |staging| staging.sweep_concepts(&from));
        after = next.map_err(Error::unwrap)?;
    }
    go_on(progress.report("sweeping", 1, 1))
}

fn rewrite(inner: &Inner, progress: &dyn Progress) -> Result<DatabaseBytes, Error> {
    let mut report = |done, total| progress.report("copying rows", done, total);
    let rewritten = inner.store.rewrite(&mut report)?;
    rewritten.ok_or(Error::Interrupted)
}

fn go_on(said: ControlFlow<()>) -> Result<(), Error> {
    match said {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted),
    }
}

fn live(segment: &OpenSegment) -> u64 {
    u64::from(segment.chunk_count) - segment.dead.len()
}

fn tier(segment: &OpenSegment) -> u32 {
    (segment.chunk_count / TIER_CHUNKS).max(1).ilog(8)
        + u32::from(segment.chunk_count >= TIER_CHUNKS)
}

/// The segments to merge into one.
fn due(snapshot: &Snapshot) -> Vec<&OpenSegment> {
    let segments = snapshot.segments();
    let highest = segments.iter().map(tier).max().unwrap_or(0);
    for limit in 0..=highest {
        let of_tier = segments.iter().filter(|segment| tier(segment) == limit);
        if of_tier.count() > SEGMENTS_MAX {
            let small = segments.iter().filter(|segment| tier(segment) <= limit);
            let small = smallest(small.collect());
            if small.len() > 1 {
                return small;
            }
        }
    }
    let much_dead =
        |segment: &&OpenSegment| segment.dead.len() * DEAD_SHARE >= u64::from(segment.chunk_count);
    segments.iter().find(much_dead).into_iter().collect()
}

/// The smallest of `segments`, as many as one merge may bring together.
fn smallest(mut segments: Vec<&OpenSegment>) -> Vec<&OpenSegment> {
    segments.sort_by_key(|segment| live(segment));
    let mut chunks = 0;
    segments.retain(|segment| {
        chunks += live(segment);
        chunks <= MERGE_CHUNKS_MAX
    });
    segments
}
