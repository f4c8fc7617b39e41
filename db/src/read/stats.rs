//! Statistics of a database, and a recount of them from its rows.
//!
//! Start reading at [`Database::stats`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use loci_storage::Table;
use loci_storage::records::{DocumentRecord, PartEntry, SpaceRecord};
use loci_storage::rows::decode;
use loci_storage::segment::Layer;
use loci_storage::snapshot::OpenSegment;
use loci_storage::usage::Usage;
use serde::Serialize;

use crate::database::handle::Database;
use crate::error::Error;
use crate::statements::contributions;

/// Statistics of one committed state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Counts commits.
    pub generation: u64,
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Concepts with a contribution.
    pub concepts: u64,
    /// Relations with a contribution.
    pub relations: u64,
    /// Learning items.
    pub items: u64,
    /// Live segments.
    pub segments: usize,
    /// Chunks in segments that are dead and wait for a merge.
    pub dead_chunks: u64,
    /// Chunks that no search finds yet, as the segments that had them were damaged and are being built again.
    pub missing_chunks: u64,
    /// Bytes of segments and of what else is searched, in files and in rows.
    pub segment_bytes: u64,
    /// Bytes of those in files of their own.
    pub segment_file_bytes: u64,
    /// Bytes of the database's file, which holds the rows.
    pub database_bytes: u64,
    /// Views that readers hold although newer ones were published.
    pub old_views: usize,
    /// Milliseconds since the oldest of those was superseded: since then it keeps files on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_view_ms: Option<u64>,
    /// Whether concepts are ranked.
    pub ranked: bool,
    /// Why the last merge of segments in the background failed; searches are right without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_error: Option<String>,
    /// Why segments that were damaged could not all be built again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_error: Option<String>,
    /// What is derived from the whole store, was damaged, and is to be built anew: `projection`, `analysis`. Searches
    /// go without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<&'static str>,
    /// Chunks that have a vector in that space, those that are deleted and wait for a merge among them.
    pub embedded_chunks: u64,
    /// The vector space that searches use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceStats>,
    /// The vector space that is being built, to be switched to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_space: Option<PendingStats>,
}

/// Progress of a switch of the vector space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PendingStats {
    /// Name and version of the model.
    pub model: String,
    /// Numbers in a vector.
    pub dim: u32,
    /// Live segments whose vectors are built.
    pub segments_built: usize,
}

/// Statistics of a vector space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpaceStats {
    /// Counts spaces.
    pub version: u32,
    /// Name and version of the model.
    pub model: String,
    /// Numbers in a vector.
    pub dim: u32,
    /// Passages that it was fitted on.
    pub fitted_chunks: u64,
    /// The weight of vectors beside text, where calibration measured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_share: Option<f32>,
    /// Known-item questions that calibration asked.
    pub calibration_questions: u32,
    /// (share, mean reciprocal rank) that calibration measured.
    pub calibration: Vec<(f32, f32)>,
}

impl SpaceStats {
    fn new(version: u32, record: &SpaceRecord) -> SpaceStats {
        SpaceStats {
            version,
            model: record.model.clone(),
            dim: record.dim,
            fitted_chunks: record.fitted_chunks,
            vector_share: record.vector_share,
            calibration_questions: record.calibration_questions,
            calibration: record.calibration.clone(),
        }
    }
}

/// Counts made from the rows and segments themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recount {
    /// Rows of documents.
    pub documents: u64,
    /// Rows of chunks.
    pub chunks: u64,
    /// Concepts with a contribution.
    pub concepts: u64,
    /// Relations with a contribution.
    pub relations: u64,
    /// Rows of learning items.
    pub items: u64,
    /// Documents that are alive in a segment, or have no chunk to be found by.
    pub documents_in_segments: u64,
    /// Chunks that are alive in a segment.
    pub chunks_in_segments: u64,
}

impl Recount {
    /// Where `stats` has another number, in words; empty when all agree.
    pub fn differences(&self, stats: &Stats) -> Vec<String> {
        let pairs = [
            ("documents", stats.documents, self.documents),
            ("chunks", stats.chunks, self.chunks),
            ("concepts", stats.concepts, self.concepts),
            ("relations", stats.relations, self.relations),
            ("items", stats.items, self.items),
            (
                "documents in segments",
                stats.documents,
                self.documents_in_segments,
            ),
            ("chunks in segments", stats.chunks, self.chunks_in_segments),
        ];
        let differ = pairs
            .iter()
            .filter(|(_, reported, counted)| reported != counted);
        differ
            .map(|(what, reported, counted)| {
                format!("{what}: {reported} recorded, {counted} counted")
            })
            .collect()
    }
}

impl Database {
    /// Statistics of the newest committed state. Costs nothing that grows with the store.
    pub fn stats(&self) -> Stats {
        let view = self.snapshot();
        let snapshot = view.snapshot();
        let manifest = snapshot.manifest();
        let old_views = self.inner().store.superseded_snapshots();
        let spaces = [snapshot.active_space(), snapshot.pending_space()];
        let projections = spaces.into_iter().flatten();
        let projections = projections.filter_map(|space| space.record.projection.as_ref());
        let parts: Vec<&PartEntry> = manifest.parts().chain(projections).collect();
        let in_files = parts.iter().filter(|part| part.file.is_some());
        let dead = snapshot
            .segments()
            .iter()
            .map(|segment| segment.dead.len())
            .sum();
        Stats {
            generation: manifest.generation,
            documents: manifest.document_count,
            chunks: manifest.chunk_count,
            concepts: manifest.concept_count,
            relations: manifest.relation_count,
            items: manifest.item_count,
            segments: manifest.segments.len(),
            dead_chunks: dead,
            missing_chunks: snapshot.missing_chunks(),
            segment_bytes: saturating_sum(parts.iter().map(|part| part.len)),
            segment_file_bytes: saturating_sum(in_files.map(|part| part.len)),
            // A file whose length cannot be read is reported by whatever reads it next.
            database_bytes: self.inner().store.database_bytes().unwrap_or_default(),
            old_views: old_views.count,
            oldest_view_ms: old_views.oldest.map(|age| age.as_millis() as u64),
            ranked: manifest.analysis.is_some(),
            merge_error: self.merge_error(),
            rebuild_error: self.rebuild_error(),
            lost: snapshot
                .lost_indexes()
                .iter()
                .map(|lost| lost.index.name())
                .collect(),
            embedded_chunks: Layer::ALL
                .into_iter()
                .flat_map(|layer| view.read_view.vectors(layer))
                .map(|segment| segment.reader.flat().len() as u64)
                .sum(),
            space: snapshot
                .active_space()
                .map(|space| SpaceStats::new(space.id.0, &space.record)),
            pending_space: snapshot.pending_space().map(|space| PendingStats {
                model: space.record.model.clone(),
                dim: space.record.dim,
                segments_built: manifest
                    .segments
                    .iter()
                    .filter(|entry| entry.pending.is_some())
                    .count(),
            }),
        }
    }

    /// The bytes of the newest committed state, by kind. Costs a pass over the pages of all tables.
    pub fn usage(&self) -> Result<Usage, Error> {
        Ok(self.snapshot().snapshot().usage()?)
    }

    /// Counts everything from rows and segments. Costs a pass over the tables.
    pub fn recount(&self) -> Result<(Stats, Recount), Error> {
        let stats = self.stats();
        let view = self.snapshot();
        let rows = view.rows();
        let (concepts, relations) = contributions::count_concepts_and_relations(rows)?;
        let segments = view.snapshot().segments().iter();
        let in_segments: BTreeSet<_> = segments.flat_map(OpenSegment::live_documents).collect();
        let live = |segment: &OpenSegment| u64::from(segment.chunk_count) - segment.dead.len();
        let mut without_chunks = 0;
        rows.scan_all(Table::Documents, &mut |key, payload| {
            let document: DocumentRecord = decode(Table::Documents, key, payload)?;
            without_chunks += u64::from(document.chunk_count == 0);
            Ok(ControlFlow::Continue(()))
        })?;
        let counted = Recount {
            documents: rows.count(Table::Documents)?,
            chunks: rows.count(Table::Chunks)?,
            concepts,
            relations,
            items: rows.count(Table::Items)?,
            documents_in_segments: in_segments.len() as u64 + without_chunks,
            chunks_in_segments: view.snapshot().segments().iter().map(live).sum(),
        };
        Ok((stats, counted))
    }
}

/// A sum of lengths that a manifest lists; that of a damaged one may overflow.
fn saturating_sum(lens: impl Iterator<Item = u64>) -> u64 {
    lens.fold(0, u64::saturating_add)
}
