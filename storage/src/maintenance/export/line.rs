//! The lines of an export: a header, the rows and projections, a trailer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::database::format::FORMAT;
use crate::limits::DOCUMENT_LEN_MAX;
use crate::rows::records::ManifestRecord;
use crate::rows::tables::Table;

/// Version of the lines.
pub(super) const VERSION: u32 = 1;

/// Bytes of a line of files and texts: a document in base64 or with what is escaped in it, and its key.
pub(super) const LINE_LEN_MAX: u64 = 2 * DOCUMENT_LEN_MAX + (1 << 20);

/// Bytes of any other line.
pub(super) const ROW_LEN_MAX: usize = 256 << 20;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportHeader {
    /// Version of the lines.
    pub(super) loci_export: u32,
    /// Format of the store that was exported.
    pub(super) format: u32,
    pub(super) next: NextIds,
    pub(super) counts: ExportCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) active_space: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending_space: Option<u32>,
}

/// The next ids.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NextIds {
    pub(super) document: u64,
    pub(super) concept: u32,
    pub(super) space: u32,
    pub(super) item: u64,
    pub(super) edit: u64,
    pub(super) work: u32,
    pub(super) response: u64,
}

/// How many there are of each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportCounts {
    pub(super) documents: u64,
    pub(super) chunks: u64,
    pub(super) concepts: u64,
    pub(super) relations: u64,
    pub(super) items: u64,
}

/// Any other line but the last.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum ExportLine {
    Row {
        table: String,
        key: Vec<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<Value>,
        /// The payload itself, where JSON cannot represent it exactly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// A piece of what the built-in embedder turns text into vectors by.
    Projection { projection: u32, base64: String },
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportTrailer {
    pub(super) end: u64,
    /// Of all lines before, line feeds included, in hexadecimal.
    pub(super) xxh3: String,
}

/// Tables of segments, and of what the header contains.
pub(super) fn is_excluded(table: Table) -> bool {
    matches!(table, Table::Meta | Table::Parts | Table::Tombstones)
}

pub(super) fn export_header(manifest: &ManifestRecord) -> ExportHeader {
    ExportHeader {
        loci_export: VERSION,
        format: FORMAT,
        next: NextIds {
            document: manifest.next_document,
            concept: manifest.next_concept,
            space: manifest.next_space,
            item: manifest.next_item,
            edit: manifest.next_edit,
            work: manifest.next_work,
            response: manifest.next_response,
        },
        counts: ExportCounts {
            documents: manifest.document_count,
            chunks: manifest.chunk_count,
            concepts: manifest.concept_count,
            relations: manifest.relation_count,
            items: manifest.item_count,
        },
        active_space: manifest.active_space,
        pending_space: manifest.pending_space,
    }
}

/// The manifest that a header describes.
pub(super) fn expected_manifest(head: &ExportHeader) -> ManifestRecord {
    let ExportHeader { next, counts, .. } = head;
    ManifestRecord {
        next_document: next.document,
        next_concept: next.concept,
        next_space: next.space,
        next_item: next.item,
        next_edit: next.edit,
        next_work: next.work,
        next_response: next.response,
        document_count: counts.documents,
        chunk_count: counts.chunks,
        concept_count: counts.concepts,
        relation_count: counts.relations,
        item_count: counts.items,
        active_space: head.active_space,
        pending_space: head.pending_space,
        ..ManifestRecord::default()
    }
}

/// Whether a line is of a table whose rows may be as long as a document.
pub(super) fn is_document_line(line: &[u8]) -> bool {
    [Table::Originals, Table::Texts, Table::Assets]
        .iter()
        .any(|table| {
            let start = format!("{{\"table\":\"{}\",", table.name());
            line.starts_with(start.as_bytes())
        })
}
