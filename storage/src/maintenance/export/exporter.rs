//! Writing an export.

use std::io::Write;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::ROWS_PER_REPORT;
use super::line::{
    ExportLine, ExportTrailer, ROW_LEN_MAX, export_header, is_document_line, is_excluded,
};
use super::payload::payload_to_json;
use crate::database::verify::Verifier;
use crate::error::StoreError;
use crate::limits::EXPORT_PIECE_LEN;
use crate::progress::ProgressFn;
use crate::rows::records::SpaceRecord;
use crate::rows::tables::Table;
use crate::rows::{damaged, decode, encode, keys, schema};
use crate::section::SectionId;
use crate::snapshot::Snapshot;
use crate::store::{IndexFactory, Store};

impl<V: IndexFactory> Store<V> {
    /// Writes the newest state to `out`, a line each row. Searches and writes go on.
    ///
    /// Returns the rows that were written; `None` where `report`, called with (rows written, rows in all), ended it.
    ///
    /// # Errors
    /// What is damaged in the rows, and what `out` says; [`StoreError::Limit`] for a row that no import would take.
    pub fn export(
        &self,
        out: &mut dyn Write,
        report: &mut ProgressFn<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let view = self.latest_snapshot();
        let snapshot = self.index_factory().snapshot(&view);
        self.check_row_pages()?;
        let mut export = Exporter {
            snapshot,
            verifier: Verifier::new(snapshot.tables(), snapshot.manifest()),
            out,
            hash: Xxh3::new(),
            lines: 0,
            rows: 0,
            total: snapshot.tables().len()?,
        };
        export.write_line(&export_header(snapshot.manifest()))?;
        for table in Table::ALL {
            if export.write_table(table, report)?.is_break() {
                return Ok(None);
            }
        }
        export.write_projections()?;
        export.finish()
    }
}

struct Exporter<'e> {
    snapshot: &'e Snapshot,
    verifier: Verifier<'e>,
    out: &'e mut dyn Write,
    hash: Xxh3,
    lines: u64,
    rows: u64,
    total: u64,
}

impl Exporter<'_> {
    fn write_line(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let text = serde_json::to_vec(line);
        let mut text = text.map_err(|why| StoreError::Invalid(why.to_string()))?;
        text.push(b'\n');
        if text.len() > ROW_LEN_MAX && !is_document_line(&text) {
            return Err(StoreError::Limit {
                what: "a line of the export",
                limit: ROW_LEN_MAX as u64,
            });
        }
        self.hash.update(&text);
        self.lines += 1;
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> Result<(), StoreError> {
        let written = self.out.write_all(text);
        written.map_err(StoreError::io("writing the export"))
    }

    fn write_table(
        &mut self,
        table: Table,
        report: &mut ProgressFn<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let snapshot = self.snapshot;
        let mut flow = ControlFlow::Continue(());
        snapshot.rows().scan_all(table, &mut |key, payload| {
            self.verifier.verify_row(table, key, payload)?;
            if !is_excluded(table) {
                self.write_row(table, key, payload)?;
            }
            if self.rows.is_multiple_of(ROWS_PER_REPORT) {
                flow = report(self.rows, self.total);
            }
            Ok(flow)
        })?;
        if flow.is_continue() {
            self.verifier.finish_table(table)?;
        }
        Ok(flow)
    }

    fn write_row(&mut self, table: Table, key: &[u8], payload: &[u8]) -> Result<(), StoreError> {
        let payload = match table {
            // The rows of a dropped space are deleted gradually.
            Table::Vectors | Table::Spaces if !self.is_live_space(key) => return Ok(()),
            // The location of a projection is internal to the store.
            Table::Spaces => &encode(&SpaceRecord {
                projection: None,
                ..decode::<SpaceRecord>(table, key, payload)?
            })?,
            _ => payload,
        };
        let wrong = |why: String| damaged(table, key, &why);
        let (row, base64) = payload_to_json(table, payload).map_err(wrong)?;
        let line = ExportLine::Row {
            table: table.name().to_owned(),
            key: schema::key_to_json(table, key).map_err(wrong)?,
            row,
            base64,
        };
        self.rows += 1;
        self.write_line(&line)
    }

    /// Whether the space that a key begins with is active or being built.
    fn is_live_space(&self, key: &[u8]) -> bool {
        let manifest = self.snapshot.manifest();
        let used = [manifest.active_space, manifest.pending_space];
        used.contains(&keys::u32_at(key, 0))
    }

    fn write_projections(&mut self) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        for space in [snapshot.active_space(), snapshot.pending_space()]
            .into_iter()
            .flatten()
        {
            let Some(part) = &space.projection else {
                continue;
            };
            let fails = |source| StoreError::Part {
                name: part.header().part.to_string(),
                source,
            };
            part.verify().map_err(fails)?;
            let section = part.section(SectionId::Projection, 0).map_err(fails)?;
            for piece in section.as_ref().chunks(EXPORT_PIECE_LEN) {
                self.write_line(&ExportLine::Projection {
                    projection: space.id.0,
                    base64: BASE64.encode(piece),
                })?;
            }
        }
        Ok(())
    }

    /// The last line, without which no import takes the others: not before all that was read is verified.
    fn finish(mut self) -> Result<Option<u64>, StoreError> {
        self.verifier.finish()?;
        let end = ExportTrailer {
            end: self.lines,
            xxh3: format!("{:016x}", self.hash.digest()),
        };
        self.write_line(&end)?;
        let flushed = self.out.flush();
        flushed.map_err(StoreError::io("writing the export"))?;
        Ok(Some(self.rows))
    }
}
