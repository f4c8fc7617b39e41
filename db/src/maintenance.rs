//! Merging small segments in the background.
//!
//! A segment's tier is the power of 8 that its number of chunks reaches. More than 8 segments of one
//! tier, or below, are merged into one by rebuilding from rows: outside of the committing thread, from
//! a snapshot, switched in one short commit that marks what died meanwhile. So a chunk is rebuilt once a
//! tier, and a store of n chunks has at most 8 segments for each of log8(n) tiers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use loci_storage::build::build_segment;
use loci_storage::limits::VERIFY_AT_OPEN_LEN_MAX;
use loci_storage::segment::Part;
use loci_storage::snapshot::{OpenSegment, Snapshot};
use loci_storage::staging::Edit;
use loci_storage::{DocumentId, SegmentId, StoreError, Views};

use crate::database::Inner;
use crate::error::Error;

/// Segments of one tier that may stand side by side.
const SEGMENTS_MAX: usize = 8;
/// Chunks below which a segment is of the lowest tier.
const TIER_CHUNKS: u32 = 256;

/// The thread that merges.
pub(crate) struct Maintenance {
    wake: Option<Sender<()>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Maintenance, Error> {
        // One pending call is enough: the thread looks at the newest state.
        let (wake, calls) = bounded(1);
        let weak = Arc::downgrade(inner);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("loci-merge".into())
            .spawn(move || run(&weak, &calls, &stopped))
            .map_err(|source| StoreError::Io {
                what: "starting the merging thread".into(),
                source,
            })?;
        Ok(Maintenance {
            wake: Some(wake),
            stop,
            thread: Some(thread),
        })
    }

    /// Asks the thread to look whether something is due.
    pub(crate) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Full: it is going to look anyway.
            let _ = wake.try_send(());
        }
    }

    /// Merges here until nothing is due.
    pub(crate) fn settle(&self, inner: &Inner) -> Result<(), Error> {
        while merge_once(inner)? {}
        Ok(())
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic while merging left the store as it was.
            let _ = thread.join();
        }
    }
}

fn run(inner: &Weak<Inner>, calls: &Receiver<()>, stop: &AtomicBool) {
    if let Some(inner) = inner.upgrade() {
        verify_large(&inner, stop);
    }
    while calls.recv().is_ok() {
        let Some(inner) = inner.upgrade() else { return };
        while !stop.load(Ordering::Relaxed) && merge_and_note(&inner) {}
    }
}

/// Verifies the parts that are too large to be verified when they are opened; a segment with one
/// that changed is rebuilt from rows.
fn verify_large(inner: &Inner, stop: &AtomicBool) {
    let view = inner.store.view();
    for segment in view.snapshot().segments() {
        let vectors = segment.vectors.iter().map(|(_, part)| part);
        let large = |part: &&Arc<Part>| part.header().len > VERIFY_AT_OPEN_LEN_MAX as u64;
        let damaged = [&segment.part]
            .into_iter()
            .chain(vectors)
            .filter(large)
            .find_map(|p| p.verify().err());
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(why) = damaged {
            let rebuilt = rebuild(inner, segment.id);
            let told = rebuilt.map_or_else(|error| error.to_string(), |()| "rebuilt".into());
            *inner.merge_error.lock() = Some(format!("segment {}: {why}; {told}", segment.id.0));
        }
    }
}

/// Builds a segment again from rows.
fn rebuild(inner: &Inner, id: SegmentId) -> Result<(), Error> {
    let _turn = inner.upkeep.lock();
    let view = inner.store.view();
    let Some(segment) = view.snapshot().segments().iter().find(|s| s.id == id) else {
        return Ok(());
    };
    let documents: Vec<DocumentId> = segment.live_documents().collect();
    let builder = inner.store.views().builder(&view);
    let draft = build_segment(view.snapshot().rows(), &documents, builder)?;
    inner.edit(vec![Edit::Merge {
        old: vec![id],
        draft,
    }])
}

/// Merges once. A failure is kept for the figures of the store; searches go on as they are.
fn merge_and_note(inner: &Inner) -> bool {
    let merged = merge_once(inner);
    *inner.merge_error.lock() = merged.as_ref().err().map(ToString::to_string);
    merged.unwrap_or(false)
}

/// Merges the lowest tier that has too many segments. Returns whether there was one.
fn merge_once(inner: &Inner) -> Result<bool, Error> {
    let _turn = inner.upkeep.lock();
    let view = inner.store.view();
    let old = due(view.snapshot());
    if old.is_empty() {
        return Ok(false);
    }
    let mut documents: Vec<DocumentId> = old
        .iter()
        .flat_map(|segment| segment.live_documents())
        .collect();
    documents.sort_unstable();
    let builder = inner.store.views().builder(&view);
    let draft = build_segment(view.snapshot().rows(), &documents, builder)?;
    let old = old.iter().map(|segment| segment.id).collect();
    inner.edit(vec![Edit::Merge { old, draft }])?;
    Ok(true)
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
        let small: Vec<_> = segments
            .iter()
            .filter(|segment| tier(segment) <= limit)
            .collect();
        if small
            .iter()
            .filter(|segment| tier(segment) == limit)
            .count()
            > SEGMENTS_MAX
        {
            return small;
        }
    }
    Vec::new()
}
