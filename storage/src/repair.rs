//! Rebuilding views that could not be opened, from rows, before the store is handed out.
//!
//! A missing or damaged view is never a reason not to open. Nobody writes yet, so what is built
//! from the newest snapshot is still right when it is listed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::build::{SegmentDraft, build_segment};
use crate::error::StoreError;
use crate::ids::{DocumentId, SegmentId};
use crate::keys;
use crate::records::DocumentRecord;
use crate::rows::decode;
use crate::snapshot::{Damaged, OpenSegment, Snapshot};
use crate::staging::Edit;
use crate::store::{Store, Views};
use crate::tables::Table;

/// Puts what `store` found damaged right.
pub(crate) fn rebuild<V: Views>(store: &mut Store<V>) -> Result<(), StoreError> {
    let edits = {
        let view = store.view();
        let snapshot = store.views().snapshot(&view);
        plan(store.repaired(), snapshot, |documents| {
            build_segment(snapshot.rows(), documents, store.views().builder(&view))
        })?
    };
    store.edit(move |staging| {
        edits.into_iter().for_each(|edit| staging.edit(edit));
        Ok(())
    })
}

fn plan(
    damaged: &[Damaged],
    snapshot: &Snapshot,
    build: impl Fn(&[DocumentId]) -> Result<SegmentDraft, StoreError>,
) -> Result<Vec<Edit>, StoreError> {
    let mut edits = Vec::new();
    let whole = |d: &&Damaged| d.segment.is_some() && !d.vectors;
    let old: Vec<SegmentId> = damaged
        .iter()
        .filter(whole)
        .filter_map(|d| d.segment)
        .collect();
    if !old.is_empty() {
        let lost = lost_documents(snapshot)?;
        let draft = if lost.is_empty() {
            None
        } else {
            Some(build(&lost)?)
        };
        edits.push(Edit::Replace { old, draft });
    }
    if damaged.iter().any(|d| d.segment.is_none() && !d.vectors) {
        edits.push(Edit::DropAnalysis);
    }
    if damaged.iter().any(|d| d.segment.is_none() && d.vectors) {
        // No vectors are left to rebuild.
        edits.push(Edit::Deactivate);
        return Ok(edits);
    }
    for id in damaged
        .iter()
        .filter(|d| d.vectors)
        .filter_map(|d| d.segment)
    {
        let segment = snapshot.segments().iter().find(|segment| segment.id == id);
        let documents: Vec<DocumentId> = segment
            .into_iter()
            .flat_map(OpenSegment::live_documents)
            .collect();
        edits.push(Edit::Merge {
            old: vec![id],
            draft: Some(build(&documents)?),
            space: snapshot.manifest().active_space,
        });
    }
    Ok(edits)
}

/// Documents that have chunks and are in no segment that could be opened.
fn lost_documents(snapshot: &Snapshot) -> Result<Vec<DocumentId>, StoreError> {
    let segments = snapshot.segments().iter();
    let seen: BTreeSet<DocumentId> = segments.flat_map(OpenSegment::live_documents).collect();
    let mut lost = Vec::new();
    snapshot
        .rows()
        .scan_all(Table::Documents, &mut |key, payload| {
            let record: DocumentRecord = decode(Table::Documents, key, payload)?;
            let id = keys::u64_at(key, 0)
                .filter(|_| record.chunk_count > 0)
                .map(DocumentId);
            lost.extend(id.filter(|id| !seen.contains(id)));
            Ok(ControlFlow::Continue(()))
        })?;
    Ok(lost)
}
