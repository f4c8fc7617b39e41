//! Checking a store for damage, and rebuilding damaged segments.
//!
//! Start reading at [`Database::check`].

use std::sync::Arc;
use std::time::Duration;

use loci_index::vector::FlatReader;
use loci_storage::build::build_segment;
use loci_storage::check::Finding;
use loci_storage::segment::{Part, SectionId};
use loci_storage::snapshot::OpenSegment;
use loci_storage::{DerivedIndex, DocumentId, LocalOrdinal, LostIndex, SegmentId, StoreError};

use crate::database::handle::Database;
use crate::error::Error;
use crate::maintenance::merge::{graph_source, merge_sources, rebuild_segment};
use crate::maintenance::recovery::{discard_damaged, parts};
use crate::progress::{self, NoProgress, Progress};
use crate::segments::merge_sources::MergeSources;
use crate::settings;
use crate::state::snapshot::DatabaseSnapshot;

/// The name of the step that rebuilds segments.
const REBUILD_STEP: &str = "building segments again";
/// Time between two polls of the background's progress.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Database {
    /// Checks everything that is stored for damage, and calls `found` with each finding: checksums, bounds, records
    /// and counts of rows, manifest and segments. Waits for segments that are being rebuilt; what was damaged when
    /// the store was opened is reported first. `deep`: also whether every reference between rows has both ends, every
    /// document is in one segment, the store's counts of concepts, relations and documents are right, and every
    /// segment is what its rows give: each posting, vector, mention, relation, citation and value of metadata.
    ///
    /// Searches go on, and so do writes except while the pages of the database are read. One committed state is
    /// checked.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so. Damage is no error but a finding.
    pub fn check(
        &self,
        deep: bool,
        progress: &dyn Progress,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Error> {
        match self.rebuild(progress) {
            // What keeps a document from being found is a finding of its own.
            Ok(()) | Err(Error::Store(_)) => {}
            Err(error) => return Err(error),
        }
        self.check_damaged(found);
        self.check_lost(found);
        let missing = self.stats().missing_chunks;
        if missing > 0 {
            let why = self.rebuild_error().unwrap_or_default();
            let what =
                format!("{missing} chunks are in no segment; building them again failed: {why}");
            found(finding("segments", "all", what));
        }
        self.check_snapshot(deep, progress, found)
    }

    /// Segments that were damaged when the store was opened.
    pub(crate) fn check_damaged(&self, found: &mut dyn FnMut(Finding)) {
        for damaged in self.inner().store.damaged() {
            let Some(segment) = damaged.segment else {
                continue;
            };
            let what = format!("built again when the store was opened: {}", damaged.error);
            found(finding("segments", format!("segment {}", segment.0), what));
        }
    }

    /// What is derived from the whole store and is missing, or was when the store was opened.
    fn check_lost(&self, found: &mut dyn FnMut(Finding)) {
        let view = self.snapshot();
        let now = view.snapshot().lost_indexes();
        let before = self.lost().iter();
        let before = before.filter(|lost| now.iter().all(|now| now.index != lost.index));
        for LostIndex { index: what, why } in now.iter().chain(before) {
            let state = match (what, view.snapshot().has_lost_index(*what)) {
                (_, false) => "it has been built anew",
                (DerivedIndex::Projection, true) => {
                    "questions go without vectors until the embedder is fitted anew"
                }
                (DerivedIndex::Analysis, true) => {
                    "concepts have no ranks and no communities until they are computed anew"
                }
            };
            let damage = format!("it was damaged and given up ({why}); {state}");
            found(finding("segments", what.name(), damage));
        }
    }

    /// As [`Database::check`], of the newest state as it is.
    pub(crate) fn check_snapshot(
        &self,
        deep: bool,
        progress: &dyn Progress,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Error> {
        let mut report = |done, total| progress.report("checking rows", done, total);
        if !self.inner().store.check(deep, found, &mut report)? {
            return Err(Error::Interrupted);
        }
        if deep {
            self.check_counts(found);
            self.check_segments(progress, found)?;
        }
        Ok(())
    }

    /// Builds every segment again in memory, and compares.
    fn check_segments(
        &self,
        progress: &dyn Progress,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Error> {
        let view = self.inner().store.latest_snapshot();
        let segments = view.snapshot().segments();
        for (done, segment) in (0..).zip(segments) {
            let total = segments.len() as u64;
            progress::report(progress, "building segments to compare", done, total)?;
            let messages = match self.differing_sections(&view, segment) {
                Ok(sections) => sections
                    .into_iter()
                    .map(|section| format!("its {section} are not what the rows give"))
                    .collect(),
                Err(error) => vec![format!("it cannot be built again: {error}")],
            };
            for message in messages {
                let section = format!("segment {}", segment.id.0);
                found(finding("segments", section, message));
            }
        }
        Ok(())
    }

    /// Sections of a segment that are not what its rows give, by name.
    ///
    /// Where chunks of it are dead, what a merge would make of it is compared.
    fn differing_sections(
        &self,
        view: &DatabaseSnapshot,
        segment: &OpenSegment,
    ) -> Result<Vec<String>, StoreError> {
        let mut documents: Vec<DocumentId> = segment.live_documents().collect();
        documents.sort_unstable();
        let inner = self.inner();
        let build = |sources: Option<MergeSources<'_>>| {
            let views = inner.store.index_factory();
            let builder =
                views.merge_builder(view, sources, graph_source(view, segment), &inner.stop);
            let draft = build_segment(view.rows(), &documents, builder)?;
            draft.into_parts().map_err(StoreError::index)
        };
        let weights = settings::weights(view.rows())?;
        let copies = || merge_sources(view, &[segment], weights);
        let stored: Vec<Arc<Part>> = if segment.dead.is_empty() {
            parts(segment).cloned().collect()
        } else {
            match copies() {
                Some(sources) => build(Some(sources))?,
                None => return Ok(Vec::new()),
            }
        };
        let fresh = build(None)?;
        let is_compared = |id: u32| match SectionId::from_number(id) {
            // A graph that grew by merges differs from one that was built at once, and is as good.
            Some(SectionId::VectorGraph) => false,
            // Text with other weights of fields is written anew when it is merged.
            Some(SectionId::Text) => copies().is_some(),
            _ => true,
        };
        let is_builtin = view.projector.is_some();
        let differ = |part: &Part, id, argument| {
            let is_of_vectors = id == SectionId::Vectors as u32;
            let fresh = part.section_bytes(id, argument);
            match section(&stored, id, argument) {
                // Vectors of an external model that were computed after the segment was written are in rows alone.
                Some(stored) if is_of_vectors && !is_builtin => !is_vector_subset(stored, fresh),
                // What an earlier build wrote is read as it is.
                Some(stored)
                    if id == SectionId::Names as u32 && is_earlier_version(stored, fresh) =>
                {
                    false
                }
                Some(stored) => Some(stored) != fresh,
                // A segment that was written before there was a space has no vectors, nor any to have.
                None if is_of_vectors => is_builtin && has_vectors(part, argument),
                None => true,
            }
        };
        let sections = fresh.iter().flat_map(|part| {
            let sections = part.sections();
            sections.filter(|&(id, argument, _)| is_compared(id) && differ(part, id, argument))
        });
        let name = |(id, argument, _)| {
            let name = SectionId::from_number(id).map_or("unknown", SectionId::name);
            format!("{name} (layer {argument})")
        };
        Ok(sections.map(name).collect())
    }

    /// Whether the store's counts are right.
    fn check_counts(&self, found: &mut dyn FnMut(Finding)) {
        let mut report_finding = |what: String| found(finding("loci.redb", "meta", what));
        match self.recount() {
            Ok((stats, counted)) => counted
                .differences(&stats)
                .into_iter()
                .for_each(report_finding),
            Err(error) => report_finding(format!("it cannot be counted: {error}")),
        }
    }

    /// Waits until all segments that were damaged when the store was opened are built again from rows, or builds them
    /// here. Costs nothing where none was.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so: it goes on in the background. What is damaged in the rows of a
    /// document, after all others are built.
    pub fn rebuild(&self, progress: &dyn Progress) -> Result<(), Error> {
        let inner = self.inner();
        let total = self.stats().missing_chunks;
        let mut report = |done, total| progress.report(REBUILD_STEP, done, total);
        let _turn = loop {
            if let Some(turn) = inner.rebuild_lock.try_lock_for(POLL_INTERVAL) {
                break turn;
            }
            let left = self.stats().missing_chunks;
            if report(total.saturating_sub(left), total).is_break() {
                return Err(Error::Interrupted);
            }
        };
        let rebuilt = inner.store.rebuild(&mut report);
        *inner.rebuild_error.lock() = rebuilt.as_ref().err().map(ToString::to_string);
        if rebuilt? {
            Ok(())
        } else {
            Err(Error::Interrupted)
        }
    }

    /// Builds segments again from their rows: all of those that have damage; and what is derived from the whole store,
    /// where that is damaged or was given up. Returns how many were built.
    ///
    /// # Errors
    /// [`Error::Store`] where rows that a segment is built from are damaged; the others are built.
    pub fn repair(&self) -> Result<usize, Error> {
        let inner = self.inner();
        let damaged: Vec<SegmentId> = {
            let view = inner.store.latest_snapshot();
            let segments = view.snapshot().segments().iter();
            let is_damaged =
                |segment: &&OpenSegment| parts(segment).any(|part| part.verify().is_err());
            segments
                .filter(is_damaged)
                .map(|segment| segment.id)
                .collect()
        };
        discard_damaged(inner, true)?;
        let mut count = inner
            .store
            .latest_snapshot()
            .snapshot()
            .lost_indexes()
            .len();
        let mut failed = None;
        for id in damaged {
            match rebuild_segment(inner, id) {
                Ok(()) => count += 1,
                Err(error) => failed = Some(error),
            }
        }
        // What is derived from the whole store is computed from segments that are intact by now.
        self.recover(&NoProgress)?;
        failed.map_or(Ok(count), Err)
    }
}

/// A finding about no single row.
fn finding(file: &str, section: impl Into<String>, finding: String) -> Finding {
    Finding {
        file: file.into(),
        section: section.into(),
        key: String::new(),
        finding,
    }
}

/// A section of the part that has it.
fn section(parts: &[Arc<Part>], id: u32, argument: u32) -> Option<&[u8]> {
    parts
        .iter()
        .find_map(|part| part.section_bytes(id, argument))
}

/// Whether a part has vectors of a layer.
fn has_vectors(part: &Part, layer: u32) -> bool {
    let bytes = part.section_bytes(SectionId::Vectors as u32, layer);
    let reader = bytes.map(FlatReader::new);
    reader.is_some_and(|reader| !reader.is_ok_and(|reader| reader.is_empty()))
}

/// Whether a section begins with the number of an earlier version than another.
fn is_earlier_version(stored: &[u8], fresh: Option<&[u8]>) -> bool {
    let version = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    version(stored).is_some() && version(stored) < fresh.and_then(version)
}

/// Whether every vector of `stored` is that of the same chunk in `fresh`.
fn is_vector_subset(stored: &[u8], fresh: Option<&[u8]>) -> bool {
    let readers = fresh.map(|fresh| (FlatReader::new(stored), FlatReader::new(fresh)));
    let Some((Ok(stored), Ok(fresh))) = readers else {
        return false;
    };
    (0..stored.local_end()).map(LocalOrdinal).all(|local| {
        let vector = stored.vector(local);
        vector.is_none() || vector == fresh.vector(local)
    })
}
