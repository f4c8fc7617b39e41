//! Exports: a whole state as lines of JSON, and making a store of them.
//!
//! Views are left out, as they are built from rows. What is told is the rows, table by table and key by key, under a
//! head with the numbers that are given out next; the last line counts and hashes those before it, so a cut or
//! changed export is refused. `docs/format.md` has the lines.
//!
//! Always true: equal states have equal exports; the export of a store that was made of an export is that export. An
//! import takes any bytes: a line that is not as it must be is refused with its number.
//!
//! Start reading at [`Store::export`] and [`Store::import`]; [`Room`] is where an import is made until it is whole.

use std::collections::BTreeMap;
use std::io::{BufRead, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use crate::build::build_segment;
use crate::commit::Durability;
use crate::dir::create_folder;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::ids::{DocumentId, SpaceId};
use crate::keys::{self, Key};
use crate::limits::{DOCUMENT_LEN_MAX, EXPORT_PIECE_LEN, IMPORT_BYTES_MAX, IMPORT_CHUNKS_MAX};
use crate::lock::StoreLock;
use crate::records::{DocumentRecord, ManifestRecord, SpaceRecord};
use crate::rows::{damaged, decode, encode, pack, unpack};
use crate::schema::{self, Payload, table_schema};
use crate::segment::{PartBuilder, PartKind, SectionId};
use crate::snapshot::Snapshot;
use crate::staging::ManifestEdit;
use crate::store::{DATABASE, FORMAT, IndexFactory, SEGMENTS, Store};
use crate::tables::Table;
use crate::unfinished::{self, FolderOperation, IMPORT_FOLDER};
use crate::verify::{Verifier, check_next_id, next_ids};

/// Version of the lines.
const VERSION: u32 = 1;
/// Rows between two reports.
const ROWS_PER_REPORT: u64 = 4096;
/// Bytes of a line of files and texts: a document in base64 or with what is escaped in it, and its key.
const LINE_LEN_MAX: u64 = 2 * DOCUMENT_LEN_MAX + (1 << 20);
/// Bytes of any other line.
const ROW_LEN_MAX: usize = 256 << 20;
/// Bytes of a projection.
const PROJECTION_LEN_MAX: usize = 4 << 30;

/// Told (rows done, rows in all, 0 where that is not known); break ends the work.
type ProgressFn<'r> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'r;

/// A place beside which nothing is, for a store that is being made.
///
/// Until [`Room::take_place`], the folder holds no database; what an import that was stopped left there goes with the
/// next one.
pub struct ImportFolder {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    _lock: StoreLock,
}

impl ImportFolder {
    /// Makes room in `folder`, which is missing, empty, or was left by an import or a restore that was stopped.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] where it holds anything else; [`StoreError::Locked`] where another import is at work.
    pub fn prepare(disk: &Arc<dyn Disk>, folder: &Path) -> Result<ImportFolder, StoreError> {
        create_folder(&**disk, folder)?;
        let lock = StoreLock::acquire(&**disk, folder)?;
        unfinished::delete_leftovers(&**disk, folder, FolderOperation::Import)?;
        unfinished::write_marker(&**disk, folder, FolderOperation::Import)?;
        reach("import-marked");
        Ok(ImportFolder {
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            _lock: lock,
        })
    }

    /// Where the store is to be made.
    pub fn store_path(&self) -> PathBuf {
        self.folder.join(IMPORT_FOLDER)
    }

    /// Puts the store that was made here, and is closed, in its place, durably.
    pub fn install(self) -> Result<(), StoreError> {
        reach("import-built");
        let (disk, from, to) = (&self.disk, self.store_path(), &self.folder);
        let move_files = || {
            create_folder(&**disk, &to.join(SEGMENTS))?;
            let segments = disk.names(&from.join(SEGMENTS));
            let segments = segments.map_err(StoreError::io("listing segments"))?;
            let segment_names = segments.iter().map(|name| format!("{SEGMENTS}/{name}"));
            // The database comes last: with it the store is there.
            for name in segment_names.chain([DATABASE.to_owned()]) {
                if name == DATABASE {
                    let synced = disk.sync_folder(&to.join(SEGMENTS));
                    synced.map_err(StoreError::io("syncing segments"))?;
                }
                reach("import-moved");
                let renamed = disk.rename(&from.join(&name), &to.join(&name));
                renamed.map_err(StoreError::io(format!("moving {name}")))?;
            }
            disk.sync_folder(to)
                .map_err(StoreError::io("syncing the folder"))
        };
        move_files()?;
        reach("import-renamed");
        // What cannot be removed holds nothing, and does no harm.
        let _ = unfinished::remove_store(&**disk, &from);
        unfinished::remove_marker(&**disk, to)
    }

    /// Gives the folder back as it was: what was made here goes. What cannot be removed is marked, and goes with the next
    /// import.
    pub fn discard(self) {
        let cleared =
            unfinished::delete_leftovers(&*self.disk, &self.folder, FolderOperation::Import);
        let _ = cleared.and_then(|()| unfinished::remove_marker(&*self.disk, &self.folder));
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportHeader {
    /// Version of the lines.
    loci_export: u32,
    /// Format of the store that was exported.
    format: u32,
    next: NextIds,
    counts: ExportCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_space: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_space: Option<u32>,
}

/// Ids that are given out next.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NextIds {
    document: u64,
    concept: u32,
    space: u32,
    item: u64,
    edit: u64,
    work: u32,
    response: u64,
}

/// What there is.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportCounts {
    documents: u64,
    chunks: u64,
    concepts: u64,
    relations: u64,
    items: u64,
}

/// Any other line but the last.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ExportLine {
    Row {
        table: String,
        key: Vec<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<Value>,
        /// The payload itself, where JSON cannot tell it to the last bit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// A piece of what the built-in embedder turns text into vectors by.
    Projection { projection: u32, base64: String },
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportTrailer {
    end: u64,
    /// Of all lines before, line feeds included, in hexadecimal.
    xxh3: String,
}

/// Tables of views and of what is told in the head.
fn is_excluded(table: Table) -> bool {
    matches!(table, Table::Meta | Table::Parts | Table::Tombstones)
}

impl<V: IndexFactory> Store<V> {
    /// Writes the newest state to `out`, a line each row. Searches and writes go on.
    ///
    /// Returns the rows that were written; `None` where `report`, told (rows written, rows in all), ended it.
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

    /// Fills this store, which is empty, with the lines of an export, and builds segments of them. The analysis of the
    /// graph is not made again.
    ///
    /// Returns the rows that were read; `None` where `report`, told (rows read, 0), ended it. After that, or an error,
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

fn export_header(manifest: &ManifestRecord) -> ExportHeader {
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

/// What a head says of the store, as its manifest would.
fn expected_manifest(head: &ExportHeader) -> ManifestRecord {
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
            // What was given up is deleted little by little.
            Table::Vectors | Table::Spaces if !self.is_live_space(key) => return Ok(()),
            // Where a projection lies is the store's own affair.
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

/// A payload as JSON, or as it is where that is not to the last bit what it was.
fn payload_to_json(
    table: Table,
    payload: &[u8],
) -> Result<(Option<Value>, Option<String>), String> {
    schema::check_payload(table, payload)?;
    let json = match table_schema(table).payload {
        Payload::Archived(record) => (record.to_json)(payload)?,
        Payload::Packed => match String::from_utf8(unpack(payload)?) {
            Ok(text) if is_compact_when_escaped(&text) => Some(Value::from(text)),
            Ok(text) => return Ok((None, Some(BASE64.encode(text)))),
            Err(bytes) => return Ok((None, Some(BASE64.encode(bytes.into_bytes())))),
        },
        Payload::Text => Some(Value::from(String::from_utf8_lossy(payload))),
        Payload::Numbers([]) => return Ok((None, None)),
        Payload::Numbers(widths) => Some(schema::numbers_to_json(widths, payload)),
        Payload::Vector | Payload::Bytes => None,
    };
    let base64 = json.is_none().then(|| BASE64.encode(payload));
    Ok((json, base64))
}

/// Whether JSON tells a text in twice its bytes at most: an escape takes up to six for one.
fn is_compact_when_escaped(text: &str) -> bool {
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    text.bytes().filter(|byte| is_escaped(byte)).count() <= text.len() / 5
}

/// Whether a line is of a table whose rows may be as long as a document.
fn is_document_line(line: &[u8]) -> bool {
    [Table::Originals, Table::Texts, Table::Assets]
        .iter()
        .any(|table| {
            let start = format!("{{\"table\":\"{}\",", table.name());
            line.starts_with(start.as_bytes())
        })
}

/// The payload that a line tells.
fn payload_from_json(
    table: Table,
    row: Option<Value>,
    base64: Option<String>,
) -> Result<Vec<u8>, String> {
    let bytes = base64.map(|text| BASE64.decode(text).map_err(|why| why.to_string()));
    let bytes = bytes.transpose()?;
    let payload = match (table_schema(table).payload, row, bytes) {
        (_, Some(_), Some(_)) => return Err("both a row and its bytes".into()),
        (Payload::Packed, Some(Value::String(text)), None) => pack_document(text.as_bytes())?,
        (Payload::Packed, None, Some(bytes)) => pack_document(&bytes)?,
        (Payload::Archived(record), Some(row), None) => (record.from_json)(row)?,
        (Payload::Text, Some(Value::String(text)), None) => text.into_bytes(),
        (Payload::Numbers([]), None, None) => Vec::new(),
        (Payload::Numbers(widths), Some(row), None) => schema::numbers_from_json(widths, &row)?,
        (Payload::Archived(_) | Payload::Vector, None, Some(bytes)) => bytes,
        _ => return Err(format!("that is no row of {}", table.name())),
    };
    schema::check_payload(table, &payload)?;
    Ok(payload)
}

fn pack_document(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.len() as u64 <= DOCUMENT_LEN_MAX {
        Ok(pack(bytes))
    } else {
        Err(format!(
            "{} bytes, of {DOCUMENT_LEN_MAX} at most",
            bytes.len()
        ))
    }
}

/// Lines as they are read, counted and hashed.
struct LineReader<'l> {
    input: &'l mut dyn BufRead,
    number: u64,
    hash: Xxh3,
    line: Vec<u8>,
}

impl<'l> LineReader<'l> {
    fn new(input: &'l mut dyn BufRead) -> LineReader<'l> {
        LineReader {
            input,
            number: 0,
            hash: Xxh3::new(),
            line: Vec::new(),
        }
    }

    /// Reads the next line, without hashing it. `false`: there is none.
    fn advance(&mut self) -> Result<bool, StoreError> {
        self.line.clear();
        let mut from = self.input.take(LINE_LEN_MAX);
        let read = from.read_until(b'\n', &mut self.line);
        read.map_err(StoreError::io("reading the export"))?;
        self.number += 1;
        match (self.line.is_empty(), self.line.ends_with(b"\n")) {
            (true, _) => Ok(false),
            (_, true) => Ok(true),
            (_, false) => Err(self.line_error("it has no end: the export was cut")),
        }
    }

    fn accept_line(&mut self) {
        self.hash.update(&self.line);
    }

    fn line_error(&self, why: impl ToString) -> StoreError {
        StoreError::Export {
            line: self.number,
            why: why.to_string(),
        }
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

    /// The ids that the head gives out next are beyond all that are there, and leave room for more.
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
        let mut groups: Vec<Vec<DocumentId>> = Vec::new();
        let mut chunks = 0;
        let view = self.store.latest_snapshot();
        let rows = self.store.index_factory().snapshot(&view).rows();
        rows.scan_all(Table::Documents, &mut |key, payload| {
            let record: DocumentRecord = decode(Table::Documents, key, payload)?;
            let Some(id) = keys::u64_at(key, 0).filter(|_| record.chunk_count > 0) else {
                return Ok(ControlFlow::Continue(()));
            };
            chunks += u64::from(record.chunk_count);
            match groups.last_mut() {
                Some(group) if chunks <= IMPORT_CHUNKS_MAX => group.push(DocumentId(id)),
                _ => {
                    chunks = u64::from(record.chunk_count);
                    groups.push(vec![DocumentId(id)]);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for documents in groups {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_come_back_and_no_line_is_longer_than_an_import_takes(
            text in "[a-c\"\\\\\u{1}\n]{0,60}|\\PC{0,40}",
        ) {
            let (row, base64) = payload_to_json(Table::Texts, &pack(text.as_bytes())).unwrap();
            let len = serde_json::to_vec(&(&row, &base64)).unwrap().len();
            prop_assert!(len <= 2 * text.len() + 16, "{len} bytes of {}", text.len());
            let payload = payload_from_json(Table::Texts, row, base64).unwrap();
            prop_assert_eq!(unpack(&payload).unwrap(), text.into_bytes());
        }
    }
}
