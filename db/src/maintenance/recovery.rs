//! Rebuilding what is derived from the whole store and was damaged: the built-in embedder's projection with all
//! vectors, and the analysis of the concept graph.
//!
//! Opening the store removed it, and wrote a row with the reason ([`loci_storage::LostIndex`]). The commit that lists
//! what was rebuilt deletes that row, or the next one when there is nothing to build any more.
//!
//! Start reading at [`recover`].

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_storage::segment::Part;
use loci_storage::snapshot::OpenSegment;
use loci_storage::staging::ManifestEdit;
use loci_storage::{DerivedIndex, StoreError};

use crate::analysis::{digests, graph};
use crate::error::Error;
use crate::progress::Progress;
use crate::spaces::fit::needs_fit;
use crate::spaces::switch::{self, Target};
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Whether something is to be rebuilt.
pub(crate) fn needs_recovery(view: &DatabaseSnapshot) -> Result<bool, Error> {
    Ok(!view.snapshot().lost_indexes().is_empty() || digests::have_outdated_vectors(view)?)
}

/// Rebuilds what is lost. The caller holds `switch_lock`. Digests are last, and due when their vectors are of another
/// space, so the next call continues with them when this one is stopped.
pub(crate) fn recover(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    if is_lost(inner, DerivedIndex::Projection) {
        if needs_fit(&inner.store.latest_snapshot())? {
            switch::switch(inner, &Target::Builtin, progress)?;
        }
        mark_recovered(inner, DerivedIndex::Projection)?;
    }
    if is_lost(inner, DerivedIndex::Analysis) {
        graph::update(inner, progress)?;
        mark_recovered(inner, DerivedIndex::Analysis)?;
    }
    if digests::have_outdated_vectors(&inner.store.latest_snapshot())? {
        digests::update(inner, &inner.store.latest_snapshot(), progress)?;
    }
    Ok(())
}

/// Deletes the row that lists `what` as lost, where there is one.
pub(crate) fn mark_recovered(inner: &Inner, what: DerivedIndex) -> Result<(), Error> {
    if is_lost(inner, what) {
        inner.edit_manifest(vec![ManifestEdit::ClearLost(what)])
    } else {
        Ok(())
    }
}

fn is_lost(inner: &Inner, what: DerivedIndex) -> bool {
    inner
        .store
        .latest_snapshot()
        .snapshot()
        .has_lost_index(what)
}

/// Removes what is derived from the whole store and is damaged. `all`: verifies also what was verified when it was
/// opened. Returns how many parts that are.
pub(crate) fn discard_damaged(inner: &Inner, all: bool) -> Result<usize, Error> {
    let damaged = damaged_parts(&inner.store.latest_snapshot(), all);
    let count = damaged.len();
    let edits = damaged.into_iter();
    let edits: Vec<ManifestEdit> = edits
        .map(|(what, why)| ManifestEdit::MarkLost { index: what, why })
        .collect();
    if edits.is_empty() {
        Ok(0)
    } else {
        inner.edit_manifest(edits).map(|()| count)
    }
}

/// The parts of a segment that searches read.
pub(crate) fn parts(segment: &OpenSegment) -> impl Iterator<Item = &Arc<Part>> {
    let vectors = segment.vectors.iter().map(|(_, part)| part);
    std::iter::once(&segment.part).chain(vectors)
}

fn damaged_parts(view: &DatabaseSnapshot, all: bool) -> Vec<(DerivedIndex, String)> {
    let snapshot = view.snapshot();
    let projection = snapshot
        .active_space()
        .and_then(|space| space.projection.as_ref());
    let parts = [
        (DerivedIndex::Projection, projection),
        (DerivedIndex::Analysis, snapshot.analysis()),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(what, part)| Some((what, part?)));
    let looked_at = parts.filter(|(_, part)| all || !part.is_verified());
    let damaged = looked_at.filter_map(|(what, part)| {
        let source = part.verify().err()?;
        let name = format!("{} ({})", part.header().part, what.name());
        let why = StoreError::Part { name, source };
        Some((what, why.to_string()))
    });
    damaged.collect()
}

/// Asks work to stop when the database is being closed.
pub(crate) struct StopOnClose<'s>(pub(crate) &'s AtomicBool);

impl Progress for StopOnClose<'_> {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
