//! Rows verified while they are copied, so that damage is never copied over what is whole.
//!
//! A page of redb's tree that was lost or replaced by another leaves rows whose own checksums are right. Such damage shows in
//! their order, their number and what they say of each other: keys ascend strictly, a table has as many rows as its tree
//! says, every row points at rows that are there and is pointed back at, and documents, chunks, concepts, relations and
//! items are as many as the manifest says.
//!
//! Start reading at [`Verifier`]; `check` uses [`dangling_reference`], too.

use redb::{ReadableTable, ReadableTableMetadata};
use roaring::RoaringBitmap;

use crate::database::read_tables::Tables;
use crate::error::StoreError;
use crate::rows::keys;
use crate::rows::records::{ChunkRecord, DocumentRecord, ManifestRecord};
use crate::rows::schema::{self, KeyPart, table_schema};
use crate::rows::tables::Table;
use crate::rows::{Rows, catch_redb_panic, damaged, decode};
use loci_types::ids::{ConceptId, DocumentId, SpaceId};

/// What is wrong with a row that a tree has in a wrong place.
pub(crate) const OUT_OF_ORDER: &str =
    "it does not come after the row before it: the database's tree is damaged";

/// Verifies the rows of one committed state as they pass, table by table and key by key.
pub(crate) struct Verifier<'v> {
    tables: &'v Tables,
    manifest: &'v ManifestRecord,
    /// The key before, in the table at hand.
    last: Option<Vec<u8>>,
    /// Rows of each table so far.
    counts: [u64; Table::ALL.len()],
    /// Chunks that the rows of documents promise.
    expected_chunks: u64,
    /// The document whose chunks pass, and how many there were.
    run: Option<(DocumentId, u32)>,
    /// What documents speak of.
    concepts: RoaringBitmap,
}

impl<'v> Verifier<'v> {
    /// Of the rows in `tables`, whose manifest is `manifest`.
    pub(crate) fn new(tables: &'v Tables, manifest: &'v ManifestRecord) -> Verifier<'v> {
        Verifier {
            tables,
            manifest,
            last: None,
            counts: [0; Table::ALL.len()],
            expected_chunks: 0,
            run: None,
            concepts: RoaringBitmap::new(),
        }
    }

    /// The next row of a table, whose checksum holds.
    pub(crate) fn verify_row(
        &mut self,
        table: Table,
        key: &[u8],
        payload: &[u8],
    ) -> Result<(), StoreError> {
        if self.last.as_deref().is_some_and(|last| last >= key) {
            return Err(damaged(table, key, OUT_OF_ORDER));
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        self.counts[table.index()] += 1;
        schema::check(table, key, payload).map_err(|why| damaged(table, key, &why))?;
        let dangling = match table {
            Table::Documents => {
                let record: DocumentRecord = decode(table, key, payload)?;
                self.expected_chunks += u64::from(record.chunk_count);
                None
            }
            Table::Chunks => self.verify_chunk(key, payload)?,
            Table::ConceptDocuments => {
                self.count_concept(key)?;
                self.dangling_reference(table, key, payload)?
            }
            // Each chunk leads to one of its own, and there are as many as chunks.
            Table::ChunkSuffixes => None,
            _ => self.dangling_reference(table, key, payload)?,
        };
        match dangling {
            Some(why) => Err(damaged(table, key, &why)),
            None => Ok(()),
        }
    }

    fn rows(&self) -> &'v dyn Rows {
        self.tables
    }

    fn dangling_reference(
        &self,
        table: Table,
        key: &[u8],
        payload: &[u8],
    ) -> Result<Option<String>, StoreError> {
        dangling_reference(self.tables, self.manifest, table, key, payload)
    }

    /// A chunk comes after the one before it in its document, and after its parent.
    fn verify_chunk(&mut self, key: &[u8], payload: &[u8]) -> Result<Option<String>, StoreError> {
        let table = Table::Chunks;
        let document = DocumentId(keys::u64_at(key, 0).unwrap_or_default());
        let place = keys::u32_at(key, 8).unwrap_or_default();
        let before = match self.run {
            Some((of, count)) if of == document => count,
            _ => {
                self.finish_document()?;
                0
            }
        };
        self.run = Some((document, before + 1));
        let record: ChunkRecord = decode(table, key, payload)?;
        if place != before {
            return Ok(Some("the chunk before it is not there".into()));
        }
        if record.parent.is_some_and(|parent| parent >= place) {
            return Ok(Some("its parent is not before it".into()));
        }
        let suffix = keys::document_entry(document, record.suffix);
        let suffix = self.tables.get(Table::ChunkSuffixes, &suffix)?;
        let back = suffix.and_then(|of| of.first_chunk().map(|of| u32::from_le_bytes(*of)));
        Ok((back != Some(place)).then(|| "its suffix leads elsewhere".into()))
    }

    /// The chunks of a document are as many as its row says.
    fn finish_document(&mut self) -> Result<(), StoreError> {
        let Some((document, count)) = self.run.take() else {
            return Ok(());
        };
        let key = keys::document(document);
        let Some(record) = self.rows().document(document)? else {
            return Err(damaged(Table::Chunks, &key, "they have no document"));
        };
        if record.chunk_count == count {
            Ok(())
        } else {
            let why = format!("{count} of its {} chunks are there", record.chunk_count);
            Err(damaged(Table::Documents, &key, &why))
        }
    }

    fn count_concept(&mut self, key: &[u8]) -> Result<(), StoreError> {
        if let (Some(id), Some(document)) = (keys::u32_at(key, 0), keys::u64_at(key, 4)) {
            let counted = self
                .rows()
                .resolve(ConceptId(id), Some(DocumentId(document)))?;
            self.concepts.insert(counted.concept.0);
        }
        Ok(())
    }

    /// After the last row of a table: they are as many as its tree says.
    pub(crate) fn finish_table(&mut self, table: Table) -> Result<(), StoreError> {
        self.last = None;
        if table == Table::Chunks {
            self.finish_document()?;
        }
        let rows = self.counts[table.index()];
        let len = catch_redb_panic(table, || Ok(self.tables.table(table).len()?))?;
        if rows == len {
            Ok(())
        } else {
            Err(damaged_table(
                table,
                format!("{rows} rows can be read of {len}"),
            ))
        }
    }

    /// After the last table: the store is as large as its manifest says.
    pub(crate) fn finish(&self) -> Result<(), StoreError> {
        let count = |table: Table| self.counts[table.index()];
        let manifest = self.manifest;
        for (table, rows, expected) in [
            (
                Table::Documents,
                count(Table::Documents),
                manifest.document_count,
            ),
            (Table::Chunks, count(Table::Chunks), manifest.chunk_count),
            (Table::Chunks, count(Table::Chunks), self.expected_chunks),
            (
                Table::ChunkSuffixes,
                count(Table::ChunkSuffixes),
                manifest.chunk_count,
            ),
            (
                Table::DocumentKeys,
                count(Table::DocumentKeys),
                manifest.document_count,
            ),
            (Table::Concepts, self.concepts.len(), manifest.concept_count),
            (
                Table::Relations,
                count(Table::Relations),
                manifest.relation_count,
            ),
            (Table::Items, count(Table::Items), manifest.item_count),
        ] {
            if rows != expected {
                let why = format!("there are {rows}, and should be {expected}");
                return Err(damaged_table(table, why));
            }
        }
        for (name, table, next, first) in next_ids(manifest) {
            if let Some(why) = check_next_id(self.tables, name, table, next, first)? {
                return Err(damaged_table(table, why));
            }
        }
        Ok(())
    }
}

/// The next ids of a manifest: name, table, next id, first id of all.
pub(crate) fn next_ids(manifest: &ManifestRecord) -> [(&'static str, Table, u64, u64); 7] {
    [
        ("document", Table::Documents, manifest.next_document, 1),
        ("concept", Table::Concepts, manifest.next_concept.into(), 0),
        ("space", Table::Spaces, manifest.next_space.into(), 1),
        ("item", Table::Items, manifest.next_item, 1),
        ("edit", Table::ConceptEdits, manifest.next_edit, 1),
        ("work", Table::Works, manifest.next_work.into(), 0),
        ("response", Table::Retrievals, manifest.next_response, 1),
    ]
}

/// Why the next id is not greater than every id in use, or leaves no ids for later; `None` where it is sound.
pub(crate) fn check_next_id(
    tables: &Tables,
    name: &str,
    table: Table,
    next: u64,
    first: u64,
) -> Result<Option<String>, StoreError> {
    let last = catch_redb_panic(table, || {
        let last = tables.table(table).last()?;
        Ok(last.map(|(key, _)| key.value().to_vec()))
    })?;
    let last = last.map(|key| key.iter().fold(0, |id, &byte| id << 8 | u64::from(byte)));
    let least = last.map_or(first, |last| last.saturating_add(1));
    let most = match table_schema(table).key {
        [KeyPart::U32] => u64::from(u32::MAX / 2),
        _ => u64::MAX / 2,
    };
    let is_beyond = (least..=most).contains(&next);
    Ok((!is_beyond).then(|| format!("the next {name} is {next}, not from {least} to {most}")))
}

fn damaged_table(table: Table, why: String) -> StoreError {
    StoreError::DamagedTable {
        table: table.name(),
        why,
    }
}

/// What a sound row points at and is not there.
pub(crate) fn dangling_reference(
    rows: &dyn Rows,
    manifest: &ManifestRecord,
    table: Table,
    key: &[u8],
    payload: &[u8],
) -> Result<Option<String>, StoreError> {
    let has = |table: Table, key: &[u8]| Ok::<_, StoreError>(rows.get(table, key)?.is_some());
    let document = || DocumentId(keys::u64_at(key, 0).unwrap_or_default());
    let needs = |there: bool, what: &str| (!there).then(|| format!("it has no {what}"));
    Ok(match table {
        Table::Documents => {
            let record: DocumentRecord = decode(table, key, payload)?;
            let chunks = rows.chunks(document());
            let count = chunks.as_ref().map_or(0, Vec::len);
            (count != record.chunk_count as usize)
                .then(|| format!("{count} of its {} chunks are there", record.chunk_count))
        }
        Table::DocumentKeys => {
            let id = payload.first_chunk().map(|id| u64::from_le_bytes(*id));
            let id = DocumentId(id.unwrap_or_default());
            needs(has(Table::Documents, &keys::document(id))?, "document")
        }
        Table::Originals | Table::Texts | Table::Assets => needs(
            has(Table::Documents, &keys::document(document()))?,
            "document",
        ),
        Table::Chunks => {
            let record: ChunkRecord = decode(table, key, payload)?;
            let place = keys::u32_at(key, 8).unwrap_or_default();
            let parent_exists = match record.parent {
                Some(parent) => {
                    parent < place && has(Table::Chunks, &keys::document_entry(document(), parent))?
                }
                None => true,
            };
            let suffix = keys::document_entry(document(), record.suffix);
            let suffix = rows.get(Table::ChunkSuffixes, &suffix)?;
            let back = suffix.and_then(|of| of.first_chunk().map(|of| u32::from_le_bytes(*of)));
            match () {
                () if !parent_exists => Some("its parent is not before it".into()),
                () if back != Some(place) => Some("its suffix leads elsewhere".into()),
                () => needs(
                    has(Table::Documents, &keys::document(document()))?,
                    "document",
                ),
            }
        }
        Table::ChunkSuffixes => {
            let place = payload
                .first_chunk()
                .map(|place| u32::from_le_bytes(*place));
            let place = keys::document_entry(document(), place.unwrap_or(u32::MAX));
            needs(has(Table::Chunks, &place)?, "chunk")
        }
        Table::Vectors => {
            let space = keys::u32_at(key, 0).map(SpaceId);
            let record = space.map(|space| rows.space(space)).transpose()?.flatten();
            let dropped_spaces = &manifest.dropped_spaces;
            match record {
                // What a space left behind is deleted little by little.
                _ if space.is_some_and(|space| dropped_spaces.contains(&space.0)) => None,
                None => Some("it has no space".into()),
                Some(record) if payload.len() != record.dim as usize * 4 => Some(format!(
                    "it has {} bytes, not {} numbers",
                    payload.len(),
                    record.dim
                )),
                Some(_) => needs(has(Table::Contents, &key[4..])?, "content"),
            }
        }
        Table::ConceptNames => {
            let id = payload.first_chunk().map(|id| u32::from_le_bytes(*id));
            let id = id.unwrap_or(u32::MAX).to_be_bytes();
            needs(has(Table::Concepts, &id)?, "concept")
        }
        Table::ConceptContributions => {
            let (document, concept) = key.split_at(8);
            let back = [concept, document].concat();
            if has(Table::Documents, document)? {
                needs(has(Table::ConceptDocuments, &back)?, "row of the concept")
            } else {
                Some("it has no document".into())
            }
        }
        Table::ConceptDocuments => {
            let (concept, document) = key.split_at(4);
            let there = has(Table::ConceptContributions, &[document, concept].concat())?;
            needs(there, "contribution")
        }
        Table::RelationContributions | Table::References | Table::Citations | Table::Claims => {
            needs(has(Table::Documents, &key[..8])?, "document")
        }
        Table::ChunkItems => needs(has(Table::Items, &key[12..])?, "item"),
        Table::ConceptItems => needs(has(Table::Items, &key[4..])?, "item"),
        Table::WorkReferences => {
            if has(Table::Works, &key[..4])? {
                needs(has(Table::References, &key[4..])?, "reference")
            } else {
                Some("it has no work".into())
            }
        }
        Table::DocumentWorks => {
            if has(Table::Documents, &key[..8])? {
                needs(has(Table::Works, &key[8..])?, "work")
            } else {
                Some("it has no document".into())
            }
        }
        _ => None,
    })
}
