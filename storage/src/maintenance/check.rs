//! Looking for damage: every row, every part, and whether they agree.
//!
//! Two depths. Plain: each row's checksum, the shape of its key, its record; each part's header, bounds, checksums
//! and whether its indexes open. Deep: each row that points at another points at one that is there, and is pointed
//! back at; each live document is in one segment, whole.
//!
//! Always true: nothing is changed, and what cannot be read is a finding, not an end.
//!
//! Start reading at [`Store::check`].

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use crate::database::read_tables::Tables;
use crate::database::verify::dangling_reference;
use crate::error::PartError;
use crate::error::StoreError;
use crate::files::bytes::PartBytes;
use crate::files::names::{DATABASE, SEGMENTS};
use crate::progress::ProgressFn;
use crate::rows::envelope;
use crate::rows::keys;
use crate::rows::keys::MANIFEST;
use crate::rows::records::{DocumentRecord, ManifestRecord, PartEntry};
use crate::rows::schema;
use crate::rows::tables::Table;
use crate::rows::{Rows, decode, hex};
use crate::segment::Part;
use crate::snapshot::Snapshot;
use crate::store::{IndexFactory, Store};
use loci_types::ids::{DocumentId, SpaceId};

/// Rows between two reports.
const ROWS_PER_REPORT: u64 = 4096;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, relative to the store's folder.
    pub file: String,
    /// The table, or the part or segment.
    pub section: String,
    /// The row's key, in hexadecimal; empty where it is about the whole section.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// What is wrong.
    pub finding: String,
}

impl<V: IndexFactory> Store<V> {
    /// Looks at the newest state, and calls `found` with everything that is wrong. `deep`: also whether rows agree with
    /// each other and with segments. `false`: `report` ended it.
    ///
    /// # Errors
    /// None for damage, however great: that is a finding. What the disk says else.
    ///
    /// # Cost
    /// Reads everything once, and the database's pages again, for which writers wait; deep: with a lookup or two for each row.
    pub fn check(
        &self,
        deep: bool,
        found: &mut dyn FnMut(Finding),
        report: &mut ProgressFn<'_>,
    ) -> Result<bool, StoreError> {
        let view = self.latest_snapshot();
        let snapshot = self.index_factory().snapshot(&view);
        let mut check = Checker {
            snapshot,
            found,
            report,
            deep,
            has_row_findings: false,
            seen: 0,
            total: snapshot.tables().len().unwrap_or_default(),
        };
        for table in Table::ALL {
            if check.check_table(table).is_break() {
                return Ok(false);
            }
        }
        if !check.has_row_findings {
            check.check_pages(self)?;
        }
        check.check_parts(self);
        for segment in snapshot.segments() {
            if let Err(why) = self.index_factory().check(segment) {
                let section = format!("segment {}", segment.id.0);
                check.add_finding(SEGMENTS, &section, &[], &why.to_string());
            }
        }
        if deep {
            check_segments(snapshot, check.found);
        }
        Ok(true)
    }
}

struct Checker<'c> {
    snapshot: &'c Snapshot,
    found: &'c mut dyn FnMut(Finding),
    report: &'c mut ProgressFn<'c>,
    deep: bool,
    /// Whether something is wrong in rows.
    has_row_findings: bool,
    seen: u64,
    total: u64,
}

impl Checker<'_> {
    fn add_finding(&mut self, file: &str, section: &str, key: &[u8], why: &str) {
        self.has_row_findings |= file == DATABASE;
        (self.found)(Finding {
            file: file.into(),
            section: section.into(),
            key: hex(key),
            finding: why.into(),
        });
    }

    /// A row that redb looks for in the wrong place is missing, and nothing but its pages shows it.
    fn check_pages<V: IndexFactory>(&mut self, store: &Store<V>) -> Result<(), StoreError> {
        let mut checked = store.check_pages();
        if let Err(error @ StoreError::DamagedFreePages { .. }) = checked {
            self.add_finding(DATABASE, "pages", &[], &error.to_string());
            checked = store.check_row_pages();
        }
        if let Err(StoreError::DamagedDatabase { why } | StoreError::UnreadableDatabase { why }) =
            checked
        {
            let why = format!("{why}: rows are not found; restore the store from a backup");
            self.add_finding(DATABASE, "pages", &[], &why);
            return Ok(());
        }
        checked
    }

    fn rows(&self) -> &dyn Rows {
        self.snapshot.rows()
    }

    /// Every row of a table. redb meets damage of its own tree with an error or a panic; both end the table alone.
    fn check_table(&mut self, table: Table) -> ControlFlow<()> {
        let snapshot = self.snapshot;
        let walk = AssertUnwindSafe(|| self.scan_table(table, snapshot.tables()));
        let why = match catch_unwind(walk) {
            Ok(Ok(flow)) => return flow,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the database's tree cannot be read here".into(),
        };
        self.add_finding(DATABASE, table.name(), &[], &why);
        ControlFlow::Continue(())
    }

    fn scan_table(&mut self, table: Table, tables: &Tables) -> Result<ControlFlow<()>, StoreError> {
        use redb::{ReadableTable, ReadableTableMetadata};
        let table_rows = tables.table(table);
        let mut rows = 0;
        for row in table_rows.iter()? {
            let (key, value) = row?;
            let (key, value) = (key.value(), value.value());
            rows += 1;
            self.seen += 1;
            if self.seen.is_multiple_of(ROWS_PER_REPORT)
                && (self.report)(self.seen, self.total).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            let payload = match envelope::open(table.number(), key, value) {
                Ok(payload) => payload,
                Err(why) => {
                    self.add_finding(DATABASE, table.name(), key, &why);
                    continue;
                }
            };
            if let Err(why) = validate_row(table, key, payload) {
                self.add_finding(DATABASE, table.name(), key, &why);
            } else if self.deep
                && let Some(why) =
                    dangling_reference(self.rows(), self.snapshot.manifest(), table, key, payload)?
            {
                self.add_finding(DATABASE, table.name(), key, &why);
            }
        }
        if rows != table_rows.len()? {
            let why = format!("{rows} rows can be read of {}", table_rows.len()?);
            self.add_finding(DATABASE, table.name(), &[], &why);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Every part that the manifest lists, with all checksums.
    fn check_parts<V: IndexFactory>(&mut self, store: &Store<V>) {
        let manifest = self.snapshot.manifest();
        let mut parts: Vec<PartEntry> = manifest.parts().cloned().collect();
        let spaces = [manifest.active_space, manifest.pending_space];
        for id in spaces.into_iter().flatten() {
            let space = self.rows().space(SpaceId(id)).ok().flatten();
            parts.extend(space.and_then(|space| space.projection));
        }
        for entry in parts {
            let (file, section) = match &entry.file {
                Some(name) => (format!("{SEGMENTS}/{name}"), format!("part {}", entry.id)),
                None => (DATABASE.to_owned(), format!("part {}", entry.id)),
            };
            if let Err(why) = self.check_part(store, &entry) {
                self.add_finding(&file, &section, &[], &why);
            }
        }
    }

    fn check_part<V: IndexFactory>(
        &self,
        store: &Store<V>,
        entry: &PartEntry,
    ) -> Result<(), String> {
        let bytes = match &entry.file {
            Some(name) => store.segment_dir().open_part(name).map_err(PartError::from),
            None => {
                let row = self.rows().get(Table::Parts, &entry.id.to_be_bytes());
                let row = row
                    .map_err(|why| why.to_string())?
                    .ok_or("there is no such row")?;
                Ok(PartBytes::copy(&row))
            }
        };
        let part = bytes.and_then(Part::new).map_err(|why| why.to_string())?;
        if part.header().part != entry.id || part.header().len != entry.len {
            return Err("it is another part than the manifest lists".into());
        }
        part.verify().map_err(|why| why.to_string())
    }
}

/// Each live document is in one segment with all of its chunks, and every run is of a document. While segments are
/// built again, documents may be in none.
pub(crate) fn check_segments(snapshot: &Snapshot, found: &mut dyn FnMut(Finding)) {
    let mut add_finding = |file: &str, section: &str, key: &[u8], why: &str| {
        found(Finding {
            file: file.into(),
            section: section.into(),
            key: hex(key),
            finding: why.into(),
        });
    };
    let mut runs: HashMap<DocumentId, u32> = HashMap::new();
    for segment in snapshot.segments() {
        let section = format!("segment {}", segment.id.0);
        for id in segment.live_documents() {
            let key = keys::document(id);
            let count = segment.live_run(id).map_or(0, |run| run.count);
            let record = snapshot.rows().document(id).ok().flatten();
            match record {
                None => add_finding(SEGMENTS, &section, &key, "the document has no row"),
                Some(record) if record.chunk_count != count => {
                    let why = format!("{count} chunks of the document's {}", record.chunk_count);
                    add_finding(SEGMENTS, &section, &key, &why);
                }
                Some(_) => {}
            }
            if runs.insert(id, count).is_some() {
                add_finding(
                    SEGMENTS,
                    &section,
                    &key,
                    "the document lies in another, too",
                );
            }
        }
    }
    if snapshot.is_rebuilding() {
        return;
    }
    let mut unindexed = Vec::new();
    let scan = snapshot
        .rows()
        .scan_all(Table::Documents, &mut |key, payload| {
            let record: Result<DocumentRecord, _> = decode(Table::Documents, key, payload);
            let id = keys::u64_at(key, 0).map(DocumentId);
            if let (Ok(record), Some(id)) = (record, id)
                && record.chunk_count > 0
                && !runs.contains_key(&id)
            {
                unindexed.push(id);
            }
            Ok(ControlFlow::Continue(()))
        });
    if let Err(why) = scan {
        add_finding(DATABASE, Table::Documents.name(), &[], &why.to_string());
    }
    for id in unindexed {
        let key = keys::document(id);
        add_finding(
            DATABASE,
            Table::Documents.name(),
            &key,
            "no segment has the document",
        );
    }
}

/// The shape of a row whose checksum holds. Public for the fuzz targets.
#[doc(hidden)]
pub fn validate_row(table: Table, key: &[u8], payload: &[u8]) -> Result<(), String> {
    schema::check(table, key, payload)?;
    match table {
        Table::Meta if key == MANIFEST => {
            let manifest = decode::<ManifestRecord>(table, key, payload);
            manifest.map(drop).map_err(|why| why.to_string())
        }
        _ => Ok(()),
    }
}
