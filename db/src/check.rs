//! Looking for damage, and building segments again that have any.
//!
//! Start reading at [`Database::check`].

use loci_storage::SegmentId;
use loci_storage::check::Finding;

use crate::database::Database;
use crate::error::Error;
use crate::maintenance;
use crate::progress::Progress;

impl Database {
    /// Looks at everything that is stored for damage, and calls `found` with each finding: checksums, bounds, records
    /// and counts of rows, manifest and segments. What was damaged and built again when the store was opened comes
    /// first. `deep`: also whether every row points at rows that are there and is pointed back at, every document lies
    /// in one segment, and concepts, relations and documents are as many as the store says.
    ///
    /// Searches and writes go on; one committed state is looked at.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so. Damage is no error but a finding.
    pub fn check(
        &self,
        deep: bool,
        progress: &dyn Progress,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Error> {
        for damaged in self.inner().store.repaired() {
            let segment = damaged.segment;
            found(Finding {
                file: "segments".into(),
                section: segment.map_or("analysis".into(), |id| format!("segment {}", id.0)),
                key: String::new(),
                finding: format!("built again when the store was opened: {}", damaged.error),
            });
        }
        let mut report = |done, total| progress.report("checking rows", done, total);
        if !self.inner().store.check(deep, found, &mut report)? {
            return Err(Error::Interrupted);
        }
        if deep {
            self.check_counts(found);
        }
        Ok(())
    }

    /// Whether there is as much as the store says.
    fn check_counts(&self, found: &mut dyn FnMut(Finding)) {
        let mut tell = |finding: String| {
            found(Finding {
                file: "loci.redb".into(),
                section: "meta".into(),
                key: String::new(),
                finding,
            });
        };
        match self.recount() {
            Ok((stats, counted)) => counted
                .differences(&stats)
                .into_iter()
                .for_each(|difference| tell(difference.to_string())),
            Err(error) => tell(format!("it cannot be counted: {error}")),
        }
    }

    /// Builds segments again from their rows: all of those that have damage. Returns how many.
    ///
    /// # Errors
    /// [`Error::Store`] where rows that a segment is built from are damaged; the others are built.
    pub fn repair(&self) -> Result<usize, Error> {
        let inner = self.inner();
        let damaged: Vec<SegmentId> = {
            let view = inner.store.view();
            let segments = view.snapshot().segments().iter();
            let is_damaged = |segment: &&loci_storage::snapshot::OpenSegment| {
                let vectors = segment.vectors.iter().map(|(_, part)| part);
                let mut parts = std::iter::once(&segment.part).chain(vectors);
                parts.any(|part| part.verify().is_err())
            };
            segments
                .filter(is_damaged)
                .map(|segment| segment.id)
                .collect()
        };
        let mut failed = None;
        let mut count = 0;
        for id in damaged {
            match maintenance::rebuild(inner, id) {
                Ok(()) => count += 1,
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(count), Err)
    }
}
