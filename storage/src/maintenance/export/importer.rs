//! Reading an export into an empty store.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use loci_types::ids::{DocumentId, SpaceId};
use serde_json::Value;

use super::ROWS_PER_REPORT;
use super::line::{
    ExportHeader, ExportLine, ExportTrailer, ROW_LEN_MAX, VERSION, expected_manifest,
    is_document_line, is_excluded,
};
use super::line_reader::LineReader;
use super::payload::payload_from_json;
use crate::commit::host::Durability;
use crate::database::format::FORMAT;
use crate::database::verify::{check_next_id, next_ids};
use crate::error::StoreError;
use crate::limits::IMPORT_BYTES_MAX;
use crate::progress::ProgressFn;
use crate::rows::keys::{self, Key};
use crate::rows::records::DocumentRecord;
use crate::rows::tables::Table;
use crate::rows::{decode, schema};
use crate::section::SectionId;
use crate::segment::build::{DocumentGroups, build_segment};
use crate::segment::{PartBuilder, PartKind};
use crate::staging::ManifestEdit;
use crate::store::{IndexFactory, Store};

/// Bytes of a projection.
const PROJECTION_LEN_MAX: usize = 4 << 30;

impl<V: IndexFactory> Store<V> {
    /// Fills this store, which is empty, with the lines of an export, and builds segments of them. The analysis of the
    /// graph is not made again.
    ///
    /// Returns the rows that were read; `None` where `report`, called with (rows read, 0), ended it. After that, or an error,
    /// the store is of no use.
    ///
    /// # Errors
    /// [`StoreError::Export`] for lines that are no export, or not a whole one; [`StoreError::Invalid`] where this store
    /// is not empty.
    pub fn import(
        &self,
        lines: &mut dyn BufRead,
        report: &mut ProgressFn<'_>,
    ) -> Result<Option<u64>, StoreError> {
        if self
            .index_factory()
            .snapshot(&self.latest_snapshot())
            .manifest()
            .generation
            > 0
        {
            let why = "only a store that was never written to takes an import";
            return Err(StoreError::Invalid(why.into()));
        }
        let mut import = Importer {
            store: self,
            lines: LineReader::new(lines),
            rows: 0,
            pending_rows: Vec::new(),
            pending_bytes: 0,
            last: None,
            projections: BTreeMap::new(),
        };
        let head = import.read_header()?;
        if import.read_rows(&head, report)?.is_break() {
            return Ok(None);
        }
        import.check_next_ids(&head)?;
        import.adopt_header(head)?;
        Ok(match import.build_segments(report)? {
            ControlFlow::Break(()) => None,
            ControlFlow::Continue(()) => Some(import.rows),
        })
    }
}

struct Importer<'i, V: IndexFactory> {
    store: &'i Store<V>,
    lines: LineReader<'i>,
    rows: u64,
    /// Rows that no commit has yet, and their bytes.
    pending_rows: Vec<(Table, Key, Vec<u8>)>,
    pending_bytes: usize,
    /// The row before.
    last: Option<(Table, Key)>,
    projections: BTreeMap<u32, Vec<u8>>,
}

impl<V: IndexFactory> Importer<'_, V> {
    fn read_header(&mut self) -> Result<ExportHeader, StoreError> {
        if !self.lines.advance()? {
            return Err(self.lines.line_error("there is none: the export is empty"));
        }
        let head: Value = serde_json::from_slice(&self.lines.line).unwrap_or_default();
        match head["loci_export"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                let why = format!("the export has version {version}; this build reads {VERSION}");
                return Err(self.lines.line_error(why));
            }
            None => return Err(self.lines.line_error("this is not the head of an export")),
        }
        let head: Result<ExportHeader, _> = serde_json::from_value(head);
        let head = head.map_err(|why| self.lines.line_error(why))?;
        if head.format > FORMAT {
            let why = format!(
                "it is of a store of format {}; this build reads up to {FORMAT}",
                head.format
            );
            return Err(self.lines.line_error(why));
        }
        self.lines.accept_line();
        Ok(head)
    }

    /// All lines up to the last.
    fn read_rows(
        &mut self,
        head: &ExportHeader,
        report: &mut ProgressFn<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        loop {
            if !self.lines.advance()? {
                return Err(self.lines.line_error("there is none: the export was cut"));
            }
            if self.lines.line.len() > ROW_LEN_MAX && !is_document_line(&self.lines.line) {
                return Err(self
                    .lines
                    .line_error(format!("it is longer than {ROW_LEN_MAX} bytes")));
            }
            match serde_json::from_slice(&self.lines.line) {
                Ok(ExportLine::Row {
                    table,
                    key,
                    row,
                    base64,
                }) => self.read_row(&table, &key, row, base64)?,
                Ok(ExportLine::Projection { projection, base64 }) => {
                    if ![head.active_space, head.pending_space].contains(&Some(projection)) {
                        return Err(self
                            .lines
                            .line_error("no space of the head has this projection"));
                    }
                    let bytes = BASE64
                        .decode(base64)
                        .map_err(|why| self.lines.line_error(why))?;
                    let whole = self.projections.entry(projection).or_default();
                    if whole.len() + bytes.len() > PROJECTION_LEN_MAX {
                        return Err(self.lines.line_error("a projection of more than can be"));
                    }
                    whole.extend(bytes);
                }
                Err(why) => {
                    let end: ExportTrailer = match serde_json::from_slice(&self.lines.line) {
                        Ok(end) => end,
                        Err(_) => return Err(self.lines.line_error(why)),
                    };
                    self.check_trailer(&end)?;
                    return Ok(ControlFlow::Continue(()));
                }
            }
            self.lines.accept_line();
            if self.rows.is_multiple_of(ROWS_PER_REPORT) && report(self.rows, 0).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn read_row(
        &mut self,
        table: &str,
        key: &[Value],
        row: Option<Value>,
        base64: Option<String>,
    ) -> Result<(), StoreError> {
        let known = Table::from_name(table).filter(|&table| !is_excluded(table));
        let table =
            known.ok_or_else(|| self.lines.line_error(format!("there is no table {table}")))?;
        let key = schema::key_from_json(table, key).map_err(|why| self.lines.line_error(why))?;
        let payload =
            payload_from_json(table, row, base64).map_err(|why| self.lines.line_error(why))?;
        if let Some((before, last)) = &self.last
            && (before.number(), last) >= (table.number(), &key)
        {
            return Err(self
                .lines
                .line_error("it does not come after the row before it"));
        }
        self.last = Some((table, key.clone()));
        self.rows += 1;
        self.pending_bytes += key.len() + payload.len();
        self.pending_rows.push((table, key, payload));
        if self.pending_bytes >= IMPORT_BYTES_MAX {
            self.commit_pending()
        } else {
            Ok(())
        }
    }

    /// Commits the rows that wait.
    fn commit_pending(&mut self) -> Result<(), StoreError> {
        self.pending_bytes = 0;
        let rows = std::mem::take(&mut self.pending_rows);
        self.store.write_with(Durability::Eventual, move |staging| {
            for (table, key, payload) in rows {
                staging.put(table, key, payload);
            }
            Ok(())
        })
    }

    /// Compares the last line with those before it.
    fn check_trailer(&mut self, end: &ExportTrailer) -> Result<(), StoreError> {
        let hash = format!("{:016x}", self.lines.hash.digest());
        if end.end + 1 != self.lines.number || end.xxh3 != hash {
            return Err(self.lines.line_error(format!(
                "the export was changed: it ends after {} lines with hash {}, and these are {} with {hash}",
                end.end,
                end.xxh3,
                self.lines.number - 1
            )));
        }
        // An editor may have left empty lines.
        while self.lines.advance()? {
            if !self.lines.line.trim_ascii().is_empty() {
                return Err(self.lines.line_error("the export ended before it"));
            }
        }
        self.commit_pending()
    }

    /// The next ids of the header are greater than all ids in use, and leave ids for later.
    fn check_next_ids(&self, head: &ExportHeader) -> Result<(), StoreError> {
        let view = self.store.latest_snapshot();
        let tables = self.store.index_factory().snapshot(&view).tables();
        for (name, table, next, first) in next_ids(&expected_manifest(head)) {
            if let Some(why) = check_next_id(tables, name, table, next, first)? {
                return Err(StoreError::Export { line: 1, why });
            }
        }
        Ok(())
    }

    /// Takes over what the head says, and the projections.
    fn adopt_header(&mut self, head: ExportHeader) -> Result<(), StoreError> {
        let manifest = expected_manifest(&head);
        let projections = std::mem::take(&mut self.projections);
        let projections = projections.into_iter().map(|(space, bytes)| {
            let mut part = PartBuilder::new(PartKind::Projection, 0, 0);
            part.push(SectionId::Projection, 0, bytes);
            (SpaceId(space), part.into())
        });
        let edit = ManifestEdit::AdoptManifest {
            manifest: Box::new(manifest),
            projections: projections.collect(),
        };
        self.store.edit(move |staging| {
            staging.edit(edit);
            Ok(())
        })
    }

    /// Builds segments of all documents that have chunks.
    fn build_segments(&self, report: &mut ProgressFn<'_>) -> Result<ControlFlow<()>, StoreError> {
        let mut groups = DocumentGroups::default();
        let view = self.store.latest_snapshot();
        let rows = self.store.index_factory().snapshot(&view).rows();
        rows.scan_all(Table::Documents, &mut |key, payload| {
            let record: DocumentRecord = decode(Table::Documents, key, payload)?;
            let Some(id) = keys::u64_at(key, 0).filter(|_| record.chunk_count > 0) else {
                return Ok(ControlFlow::Continue(()));
            };
            groups.push(DocumentId(id), record.chunk_count.into());
            Ok(ControlFlow::Continue(()))
        })?;
        for documents in groups.into_groups() {
            if report(self.rows, 0).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let view = self.store.latest_snapshot();
            let rows = self.store.index_factory().snapshot(&view).rows();
            let builder = self.store.index_factory().builder(&view);
            let draft = build_segment(rows, &documents, builder)?;
            self.store.edit(move |staging| {
                staging.edit(ManifestEdit::AddRebuiltSegment(draft));
                Ok(())
            })?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
