//! Merging segments, so that they stay few and dead chunks are purged.
//!
//! A segment's tier is the power of 8 that its number of chunks reaches. More than 8 segments of one tier, or below,
//! are merged into one; a segment with a quarter of its chunks dead is rebuilt, and so is one that was written with
//! other weights of fields. Text and vectors of the built-in embedder are copied from the old segments where possible,
//! all else follows from rows. A merge runs outside of the committing thread, from a snapshot, on one core (on all for
//! [`crate::Database::compact`]). It also writes the new segment to disk; one short commit then lists it and marks the
//! chunks that died meanwhile.
//! Memory grows with the largest merge, which [`MERGE_CHUNKS_MAX`] bounds: segments larger than half of
//! that are left alone. So a chunk is rebuilt about once a tier, and a store has at most 8 segments in
//! each tier below, and one large segment for every 100,000 chunks or so.
//!
//! Start reading at [`merge_once`].

use std::sync::atomic::{AtomicBool, Ordering};

use loci_index::text::FieldWeights;
use loci_storage::build::{SegmentBuilder, SegmentDocument, SegmentDraft, build_segment};
use loci_storage::segment::{Layer, PartBuilder};
use loci_storage::snapshot::OpenSegment;
use loci_storage::staging::ManifestEdit;
use loci_storage::{DocumentId, Durability, Rows, SegmentId, SpaceId, StoreError, failpoint};

use crate::error::Error;
use crate::progress::{self, Progress};
use crate::segments::merge_sources::MergeSources;
use crate::segments::vectors::GraphSource;
use crate::settings;
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Segments of one tier that are not merged.
const SEGMENTS_MAX: usize = 8;
/// Chunks below which a segment is of the lowest tier.
const TIER_CHUNKS: u64 = 256;
/// A segment is rebuilt when one in this many of its chunks is dead.
const DEAD_RATIO: u64 = 4;
/// Live chunks that one merge brings together at most.
const MERGE_CHUNKS_MAX: u64 = 1 << 18;
/// Live chunks that a merge after a bulk of writes brings together at most: some seconds of one core.
const RECENT_CHUNKS_MAX: u64 = 1 << 16;
/// Such a merge takes a segment when the smaller ones have at least one in so many of its chunks.
const RECENT_RATIO: u64 = 4;

/// Merges what is due now: the lowest tier that has too many segments, or else a segment with much
/// that is dead. Returns whether there was anything.
pub(crate) fn merge_once(inner: &Inner) -> Result<bool, Error> {
    let _turn = inner.merge_lock.lock();
    let view = inner.store.latest_snapshot();
    let segments = view.snapshot().segments();
    let sizes: Vec<SegmentSize> = segments.iter().map(SegmentSize::from_segment).collect();
    let mut old: Vec<&OpenSegment> = segments_to_merge(&sizes)
        .into_iter()
        .map(|at| &segments[at])
        .collect();
    if old.is_empty() {
        let weights = settings::weights(view.rows())?;
        let outdated = |segment: &&OpenSegment| has_outdated_weights(&view, segment, weights);
        old.extend(segments.iter().find(outdated));
    }
    Ok(!old.is_empty() && merge(inner, &view, &old)?)
}

/// Merges what was written lately into few segments, on all cores: what is due, then every segment that is small
/// beside those it is merged with ([`recent_segments`]). A store that was filled by one ingest then has one segment,
/// or one for every [`RECENT_CHUNKS_MAX`] chunks.
pub(crate) fn merge_recent(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    while merge_once(inner)? {
        progress::report(progress, "merging segments", 0, 1)?;
    }
    let _turn = inner.merge_lock.lock();
    let view = inner.store.latest_snapshot();
    let segments = view.snapshot().segments();
    let sizes: Vec<u64> = segments.iter().map(live_chunks).collect();
    let old: Vec<&OpenSegment> = recent_segments(&sizes)
        .into_iter()
        .map(|at| &segments[at])
        .collect();
    if !old.is_empty() {
        progress::report(progress, "merging segments", 0, 1)?;
        merge(inner, &view, &old)?;
    }
    Ok(())
}

/// Positions of the segments to merge into one after a bulk of writes, given their live chunks: the longest run of
/// the smaller ones in which those below the largest have at least a quarter of its chunks, so that each chunk is
/// merged a number of times that is logarithmic in the size of the store.
fn recent_segments(sizes: &[u64]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|&at| sizes[at]);
    let (mut chunks, mut merge_count) = (0, 0);
    for (count, &at) in by_size.iter().enumerate() {
        let below = chunks;
        chunks += sizes[at];
        if chunks > RECENT_CHUNKS_MAX {
            break;
        }
        if count > 0 && below >= sizes[at] / RECENT_RATIO {
            merge_count = count + 1;
        }
    }
    by_size.truncate(merge_count);
    by_size
}

/// Deletes some vectors of abandoned spaces; `false` when none are left.
pub(crate) fn sweep_once(inner: &Inner) -> Result<bool, Error> {
    let manifest = inner.store.latest_snapshot().snapshot().manifest().clone();
    if manifest.dropped_spaces.is_empty() {
        return Ok(false);
    }
    inner.write(Durability::Immediate, |staging| {
        staging.sweep_dropped_vectors()
    })
}

/// Builds one segment of several of `view`. `false` when what was built came too late: the
/// segments are gone, or the vector space was switched.
pub(crate) fn merge(
    inner: &Inner,
    view: &DatabaseSnapshot,
    old: &[&OpenSegment],
) -> Result<bool, Error> {
    let live = old.iter().flat_map(|segment| segment.live_documents());
    let mut documents: Vec<DocumentId> = live.collect();
    documents.sort_unstable();
    let draft = if documents.is_empty() {
        None
    } else {
        Some(inner.with_page_check(view, || Ok(build(inner, view, old, &documents)?))?)
    };
    failpoint::reach("merge-built");
    let old: Vec<SegmentId> = old.iter().map(|segment| segment.id).collect();
    let space = view.snapshot().manifest().active_space;
    let merged = old.clone();
    inner.edit_manifest(vec![ManifestEdit::Merge { old, draft, space }])?;
    let view = inner.store.latest_snapshot();
    let mut listed = view.snapshot().segments().iter();
    Ok(!listed.any(|segment| merged.contains(&segment.id)))
}

fn build(
    inner: &Inner,
    view: &DatabaseSnapshot,
    old: &[&OpenSegment],
    documents: &[DocumentId],
) -> Result<SegmentDraft, StoreError> {
    let weights = settings::weights(view.rows())?;
    let build = |sources: Option<MergeSources<'_>>| {
        let largest = old.iter().max_by_key(|segment| segment.chunk_count);
        let graph_source = largest.and_then(|segment| graph_source(view, segment));
        let views = inner.store.index_factory();
        let builder = Box::new(CancellableBuilder {
            builder: views.merge_builder(view, sources, graph_source, &inner.stop),
            stop: &inner.stop,
        });
        build_segment(view.rows(), documents, builder)
    };
    let sources = merge_sources(view, old, weights);
    let copies = sources.is_some();
    let draft = match build(sources) {
        // Rows have what damaged sections lack.
        Err(StoreError::Index(why)) if copies => {
            *inner.merge_error.lock() = Some(format!("text was analysed again: {why}"));
            build(None)?
        }
        draft => draft?,
    };
    inner.store.prepare(draft)
}

/// What can be copied of `old`, segments of `view`, into the one that replaces them.
pub(crate) fn merge_sources<'v>(
    view: &'v DatabaseSnapshot,
    old: &[&'v OpenSegment],
    weights: FieldWeights,
) -> Option<MergeSources<'v>> {
    MergeSources::new(&view.read_view, view.projector.is_some(), old, weights)
}

/// The vector graphs of `segment`, where its bytes are as they were written: those of a segment that is
/// rebuilt because it was damaged are not copied.
pub(crate) fn graph_source<'v>(
    view: &'v DatabaseSnapshot,
    segment: &'v OpenSegment,
) -> Option<GraphSource<'v>> {
    let (_, part) = segment.vectors.as_ref()?;
    part.verify().ok()?;
    let [leaves, inner] = Layer::ALL.map(|layer| view.read_view.vectors_of(segment, layer));
    Some(GraphSource::new(segment, [leaves?, inner?]))
}

/// Builds a segment again from rows.
pub(crate) fn rebuild_segment(inner: &Inner, id: SegmentId) -> Result<(), Error> {
    let _turn = inner.merge_lock.lock();
    let view = inner.store.latest_snapshot();
    let Some(segment) = view.snapshot().segments().iter().find(|s| s.id == id) else {
        return Ok(());
    };
    merge(inner, &view, &[segment]).map(drop)
}

/// A builder that stops when the database is being closed.
struct CancellableBuilder<'b> {
    builder: Box<dyn SegmentBuilder + 'b>,
    stop: &'b AtomicBool,
}

impl SegmentBuilder for CancellableBuilder<'_> {
    fn push(&mut self, rows: &dyn Rows, document: &SegmentDocument) -> Result<(), StoreError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(StoreError::Closed)
        } else {
            self.builder.push(rows, document)
        }
    }

    fn finish(
        self: Box<Self>,
        part: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError> {
        self.builder.finish(part)
    }
}

/// Whether the text of a segment was written with other weights of fields than are set now.
pub(crate) fn has_outdated_weights(
    view: &DatabaseSnapshot,
    segment: &OpenSegment,
    weights: FieldWeights,
) -> bool {
    let text = view.read_view.text_of(segment, Layer::Leaves);
    text.is_some_and(|text| text.reader.weights() != weights)
}

/// Segments in groups that become one each; those alone that are not `outdated` are left out.
pub(crate) fn pack_segments(
    segments: &[OpenSegment],
    outdated: impl Fn(&OpenSegment) -> bool,
) -> Vec<Vec<&OpenSegment>> {
    let mut by_size: Vec<&OpenSegment> = segments.iter().collect();
    by_size.sort_by_key(|segment| live_chunks(segment));
    let mut groups: Vec<(u64, Vec<&OpenSegment>)> = Vec::new();
    for segment in by_size {
        let chunks = live_chunks(segment);
        match groups.last_mut() {
            Some((group_chunks, group)) if *group_chunks + chunks <= MERGE_CHUNKS_MAX => {
                *group_chunks += chunks;
                group.push(segment);
            }
            _ => groups.push((chunks, vec![segment])),
        }
    }
    let groups = groups.into_iter().map(|(_, group)| group);
    groups
        .filter(|group| group.len() > 1 || group.iter().any(|segment| outdated(segment)))
        .collect()
}

fn live_chunks(segment: &OpenSegment) -> u64 {
    u64::from(segment.chunk_count) - segment.dead.len()
}

/// The size of a segment.
#[derive(Clone, Copy, Debug)]
struct SegmentSize {
    chunks: u64,
    dead: u64,
}

impl SegmentSize {
    fn from_segment(segment: &OpenSegment) -> SegmentSize {
        SegmentSize {
            chunks: u64::from(segment.chunk_count),
            dead: segment.dead.len(),
        }
    }

    fn live_chunks(self) -> u64 {
        self.chunks - self.dead
    }

    fn tier(self) -> u32 {
        match self.chunks / TIER_CHUNKS {
            0 => 0,
            tiers => 1 + tiers.ilog(8),
        }
    }

    fn is_mergeable(self) -> bool {
        self.live_chunks() <= MERGE_CHUNKS_MAX / 2
    }
}

/// Positions of the segments to merge into one: the lowest tier that has too many, with all below it; or else
/// one with much that is dead.
fn segments_to_merge(sizes: &[SegmentSize]) -> Vec<usize> {
    let of = |tier: u32, at: &usize| sizes[*at].is_mergeable() && sizes[*at].tier() == tier;
    let tiers = sizes.iter().map(|size| size.tier());
    for tier in 0..=tiers.max().unwrap_or(0) {
        if (0..sizes.len()).filter(|at| of(tier, at)).count() <= SEGMENTS_MAX {
            continue;
        }
        let mut small: Vec<usize> = (0..sizes.len())
            .filter(|&at| sizes[at].is_mergeable() && sizes[at].tier() <= tier)
            .collect();
        small.sort_by_key(|&at| sizes[at].live_chunks());
        let mut chunks = 0;
        small.retain(|&at| {
            chunks += sizes[at].live_chunks();
            chunks <= MERGE_CHUNKS_MAX
        });
        // Fewer would rebuild a large segment again and again for the sake of small ones.
        if small.iter().filter(|at| of(tier, at)).count() >= 2 {
            return small;
        }
    }
    let much_dead = |size: &SegmentSize| size.dead * DEAD_RATIO >= size.chunks;
    sizes.iter().position(much_dead).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_segments_merge_only_with_segments_of_similar_size() {
        let cases: &[(&str, &[u64], &[usize])] = &[
            ("nothing to merge", &[], &[]),
            ("one segment stays", &[900], &[]),
            ("two of a size become one", &[1000, 900], &[1, 0]),
            (
                "a small one does not rebuild a large one",
                &[30_000, 5],
                &[],
            ),
            (
                "small ones become one beside a large one",
                &[30_000, 5, 4],
                &[2, 1],
            ),
            (
                "many small ones reach the large one",
                &[100, 8, 9, 8],
                &[1, 3, 2, 0],
            ),
            ("together they are too large", &[60_000, 59_000], &[]),
            ("empty ones go", &[0, 0], &[0, 1]),
        ];
        for (name, sizes, expected) in cases {
            assert_eq!(&recent_segments(sizes)[..], *expected, "{name}");
        }
    }

    fn sizes(chunks: &[u64]) -> Vec<SegmentSize> {
        let size = |&chunks| SegmentSize { chunks, dead: 0 };
        chunks.iter().map(size).collect()
    }

    #[test]
    fn tier_with_more_than_eight_segments_merges_with_lower_tiers() {
        assert!(segments_to_merge(&[]).is_empty());
        assert!(segments_to_merge(&sizes(&[1; 8])).is_empty());
        assert_eq!(segments_to_merge(&sizes(&[1; 9])).len(), 9);
        let mut mixed = vec![300; 9];
        mixed.extend([5000, 1, 2]);
        let mut merged = segments_to_merge(&sizes(&mixed));
        merged.sort_unstable();
        assert_eq!(merged, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]);
    }

    #[test]
    fn large_segments_are_never_merged() {
        let large = MERGE_CHUNKS_MAX / 2 + 1;
        let mut stored = vec![large; 40];
        stored.extend([1, 1, 1]);
        assert!(segments_to_merge(&sizes(&stored)).is_empty());
        let growing = vec![MERGE_CHUNKS_MAX / 2; 9];
        assert_eq!(
            segments_to_merge(&sizes(&growing)).len(),
            2,
            "as many as one merge may bring together"
        );
    }

    #[test]
    fn a_segment_with_a_quarter_dead_is_rebuilt() {
        let mut stored = sizes(&[1000, 1000]);
        stored[1].dead = 249;
        assert!(segments_to_merge(&stored).is_empty());
        stored[1].dead = 250;
        assert_eq!(segments_to_merge(&stored), [1]);
    }

    #[test]
    fn repeated_small_inserts_rewrite_each_chunk_few_times() {
        let (mut stored, mut rebuilt) = (Vec::new(), 0);
        for _ in 0..40_000 {
            stored.push(SegmentSize {
                chunks: 50,
                dead: 0,
            });
            loop {
                let merged = segments_to_merge(&stored);
                if merged.is_empty() {
                    break;
                }
                let chunks = merged.iter().map(|&at| stored[at].chunks).sum();
                rebuilt += chunks;
                let mut at = 0;
                stored.retain(|_| {
                    at += 1;
                    !merged.contains(&(at - 1))
                });
                stored.push(SegmentSize { chunks, dead: 0 });
            }
        }
        let chunks: u64 = stored.iter().map(|size| size.chunks).sum();
        assert_eq!(chunks, 2_000_000);
        assert!(rebuilt < 8 * chunks, "{rebuilt}");
        assert!(stored.len() < 60, "{}", stored.len());
    }
}
