//! Compaction on request: as few segments as possible, no dead chunk, and disk space returned.
//!
//! Start reading at [`Database::compact`].

use loci_storage::store::RewriteReport;
use serde::Serialize;

use crate::database::handle::Database;
use crate::error::Error;
use crate::maintenance::merge::{has_outdated_weights, merge, pack_segments, sweep_once};
use crate::progress::{self, Progress};
use crate::settings;
use crate::state::inner::Inner;

/// Times that a forced merge is tried while a switch of the vector space makes it come too late.
const PASSES_MAX: usize = 3;

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionReport {
    /// Segments before.
    pub segments_before: usize,
    /// Segments after.
    pub segments_after: usize,
    /// Dead chunks that were purged.
    pub chunks_purged: u64,
    /// Bytes of the store's files before.
    pub bytes_before: u64,
    /// Bytes of the store's files after. Snapshots that are held may pin more until they are dropped, and
    /// closing the database cuts what its file was grown ahead.
    pub bytes_after: u64,
}

impl Database {
    /// Merges segments as far as possible, purges dead chunks, and rewrites the database file, which returns unused
    /// disk space.
    ///
    /// Searches go on; writers wait only for the short commits that list what was merged and for the
    /// rows that changed while the database was copied. Needs disk space for a second copy.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; what was merged until then stays.
    pub fn compact(&self, progress: &dyn Progress) -> Result<CompactionReport, Error> {
        self.recover(progress)?;
        let inner = self.inner();
        let before = self.stats();
        let bytes_before = before.segment_file_bytes + before.database_bytes;
        {
            let _turn = inner.merge_lock.lock();
            merge_all(inner, progress)?;
            sweep_all(inner, progress)?;
        }
        rewrite(inner, progress)?;
        let after = self.stats();
        Ok(CompactionReport {
            segments_before: before.segments,
            segments_after: after.segments,
            chunks_purged: before.dead_chunks.saturating_sub(after.dead_chunks),
            bytes_before,
            bytes_after: after.segment_file_bytes + after.database_bytes,
        })
    }
}

/// Merges until as few segments as may be are left and none has a dead chunk.
fn merge_all(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    for _ in 0..PASSES_MAX {
        let view = inner.store.latest_snapshot();
        let weights = settings::weights(view.rows())?;
        let groups = pack_segments(view.snapshot().segments(), |segment| {
            !segment.dead.is_empty() || has_outdated_weights(&view, segment, weights)
        });
        let (total, mut all) = (groups.len() as u64, true);
        for (done, group) in (0..).zip(groups) {
            progress::report(progress, "merging segments", done, total)?;
            all &= merge(inner, &view, &group)?;
        }
        if all {
            break;
        }
    }
    progress::report(progress, "merging segments", 1, 1)
}

fn sweep_all(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    progress::report(progress, "sweeping", 0, 1)?;
    while sweep_once(inner)? {}
    let mut after = Some(Vec::new());
    while let Some(from) = after.take() {
        after = inner.edit(move |staging| staging.sweep_unused_concepts(&from))?;
    }
    progress::report(progress, "sweeping", 1, 1)
}

fn rewrite(inner: &Inner, progress: &dyn Progress) -> Result<RewriteReport, Error> {
    let mut report = |done, total| progress.report("copying rows", done, total);
    let rewritten = inner.store.rewrite(&mut report)?;
    rewritten.ok_or(Error::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use loci_storage::build::{SegmentBuilder, SegmentDocument};
    use loci_storage::segment::PartBuilder;
    use loci_storage::snapshot::OpenSegment;
    use loci_storage::{DocumentId, Rows};

    use super::*;
    use crate::maintenance::merge::merge_sources;
    use crate::segments::merge_sources::MergeSources;

    /// The bytes of both parts of a segment of `documents`.
    fn parts_of(
        rows: &dyn Rows,
        documents: &[DocumentId],
        mut builder: Box<dyn SegmentBuilder + '_>,
    ) -> (Vec<u8>, Vec<u8>) {
        let mut next = 0;
        for &id in documents {
            let chunks = rows.chunks(id).unwrap();
            let first = loci_storage::LocalOrdinal(next);
            next += chunks.len() as u32;
            let document = SegmentDocument {
                id,
                first,
                record: rows.document(id).unwrap().unwrap(),
                chunks,
            };
            builder.push(rows, &document).unwrap();
        }
        let kind = loci_storage::segment::PartKind::Segment;
        let mut base = PartBuilder::new(kind, next, documents.len() as u32);
        let (_, vectors) = builder.finish(&mut base).unwrap().unwrap();
        (base.finish(1, 1), vectors.finish(2, 1))
    }

    #[test]
    fn merge_copies_text_and_vectors_of_intact_segments() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path()).unwrap();
        let put = |range: std::ops::Range<usize>| {
            for n in range {
                let text = format!("passage {n} speaks of water and {} of fire", n % 3);
                let document = crate::NewDocument {
                    record: loci_storage::records::DocumentRecord {
                        key: n.to_string(),
                        ..Default::default()
                    },
                    chunks: vec![crate::NewChunk {
                        record: loci_storage::records::ChunkRecord {
                            text,
                            ..Default::default()
                        },
                        vector: None,
                    }],
                    ..Default::default()
                };
                database
                    .write(move |tx| tx.put_document(document).map(drop))
                    .unwrap();
            }
        };
        put(0..20);
        database.finish(&crate::NoProgress).unwrap();
        put(20..24);
        let view = database.inner().store.latest_snapshot();
        let segments: Vec<&OpenSegment> = view.snapshot().segments().iter().collect();
        let weights = settings::weights(view.rows()).unwrap();
        assert!(view.projector.is_some() && segments.len() > 1);
        let mut documents: Vec<DocumentId> = segments
            .iter()
            .flat_map(|segment| segment.live_documents())
            .collect();
        documents.sort_unstable();
        let built = |sources: Option<MergeSources<'_>>| {
            let stop = AtomicBool::new(false);
            let views = database.inner().store.index_factory();
            let builder = views.merge_builder(&view, sources, None, &stop);
            let (mut base, vectors) = parts_of(view.rows(), &documents, builder);
            base.extend(vectors);
            base
        };
        let copied = merge_sources(&view, &segments, weights);
        assert!(copied.is_some());
        assert!(
            built(copied) == built(None),
            "the copy is not what analysis gives"
        );
        let other = [1, 2, 1, 1, 1];
        assert!(merge_sources(&view, &segments, other).is_none());
    }
}
