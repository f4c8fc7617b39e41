//! Reading rows: one interface over a snapshot and over a commit in the making.
//!
//! Every value is verified against its checksum, and every record against its layout, before it
//! is used. Start reading at [`Rows`].

pub(crate) mod concept_aliases;
pub(crate) mod envelope;
pub mod keys;
pub mod metadata;
pub mod records;
pub(crate) mod schema;
pub(crate) mod tables;

use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{AccessGuard, ReadableTable};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::{Archive, Deserialize, Serialize};

use self::keys::{ChunkKey, DocumentKey};
use self::records::{
    ChunkRecord, CitationRecord, ClaimRecord, ConceptContribution, ConceptRecord, DocumentRecord,
    ItemRecord, ReferenceRecord, RelationContribution, RetrievalRecord, SpaceRecord, WorkRecord,
};
use self::tables::Table;
use crate::error::StoreError;
use crate::limits::DOCUMENT_LEN_MAX;
use loci_types::ids::{ConceptId, DocumentId, ItemId, ResponseId, SpaceId, WorkId};

/// What a scan calls for each row: key and payload. Break ends the scan.
pub type RowCallback<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError> + 'v;

/// Access to rows, in a snapshot or in a transaction.
pub trait Rows: Sync {
    /// The payload of one row, verified.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError>;

    /// Visits the rows with `from <= key` and, where given, `key < to`, in ascending order.
    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError>;
}

impl<'r> dyn Rows + 'r {
    /// A document.
    pub fn document(&self, id: DocumentId) -> Result<Option<DocumentRecord>, StoreError> {
        read(self, Table::Documents, &keys::document(id))
    }

    /// The id of a document.
    pub fn document_id(&self, key: &DocumentKey) -> Result<Option<DocumentId>, StoreError> {
        let key = key.to_string();
        let value = self.get(Table::DocumentKeys, key.as_bytes())?;
        value
            .map(|value| number(Table::DocumentKeys, key.as_bytes(), &value))
            .transpose()
            .map(|id| id.map(DocumentId))
    }

    /// A chunk, by its place in pre-order.
    pub fn chunk(&self, id: DocumentId, place: u32) -> Result<Option<ChunkRecord>, StoreError> {
        read(self, Table::Chunks, &keys::document_entry(id, place))
    }

    /// All chunks of a document, in pre-order.
    pub fn chunks(&self, id: DocumentId) -> Result<Vec<ChunkRecord>, StoreError> {
        let mut chunks = Vec::new();
        self.scan_document(Table::Chunks, id, &mut |key, payload| {
            chunks.push(decode(Table::Chunks, key, payload)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(chunks)
    }

    /// The document and place of a chunk.
    pub fn find_chunk(&self, key: &ChunkKey) -> Result<Option<(DocumentId, u32)>, StoreError> {
        let Some(id) = self.document_id(&key.document)? else {
            return Ok(None);
        };
        let row = keys::document_entry(id, key.suffix);
        let Some(value) = self.get(Table::ChunkSuffixes, &row)? else {
            return Ok(None);
        };
        let place = value.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let place = place.ok_or_else(|| damaged(Table::ChunkSuffixes, &row, "too short"))?;
        Ok(Some((id, place)))
    }

    /// The file as it came.
    pub fn original(&self, id: DocumentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_packed(Table::Originals, id)
    }

    /// The text that character positions of a document count in, where it is not the original.
    pub fn text(&self, id: DocumentId) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.read_packed(Table::Texts, id)? else {
            return Ok(None);
        };
        let wrong = |_| damaged(Table::Texts, &keys::document(id), "not UTF-8");
        String::from_utf8(bytes).map(Some).map_err(wrong)
    }

    /// A picture or other file within a document, by its name.
    pub fn asset(&self, id: DocumentId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::asset(id, name);
        let Some(value) = self.get(Table::Assets, &key)? else {
            return Ok(None);
        };
        let bytes = unpack(&value).map_err(|why| damaged(Table::Assets, &key, &why))?;
        Ok(Some(bytes))
    }

    /// The names of a document's assets, ascending.
    pub fn asset_names(&self, id: DocumentId) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        self.scan_document(Table::Assets, id, &mut |key, _| {
            let name = key.get(keys::document(id).len()..).unwrap_or_default();
            names.push(String::from_utf8_lossy(name).into_owned());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(names)
    }

    /// A concept.
    pub fn concept(&self, id: ConceptId) -> Result<Option<ConceptRecord>, StoreError> {
        read(self, Table::Concepts, &keys::concept(id))
    }

    /// The id of a concept, by its normalised name.
    pub fn concept_id(&self, normalised: &str) -> Result<Option<ConceptId>, StoreError> {
        let key = normalised.as_bytes();
        let Some(value) = self.get(Table::ConceptNames, key)? else {
            return Ok(None);
        };
        let id = value
            .first_chunk()
            .map(|bytes| ConceptId(u32::from_le_bytes(*bytes)));
        id.map(Some)
            .ok_or_else(|| damaged(Table::ConceptNames, key, "too short"))
    }

    /// What a document says of concepts, by ascending id.
    pub fn concept_contributions(
        &self,
        id: DocumentId,
    ) -> Result<Vec<(ConceptId, ConceptContribution)>, StoreError> {
        let table = Table::ConceptContributions;
        let mut found = Vec::new();
        self.scan_document(table, id, &mut |key, payload| {
            let concept = keys::u32_at(key, 8).ok_or_else(|| damaged(table, key, "short key"))?;
            found.push((ConceptId(concept), decode(table, key, payload)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// What a document says of relations: the relation's key, and the contribution.
    pub fn relation_contributions(
        &self,
        id: DocumentId,
    ) -> Result<Vec<(keys::Key, RelationContribution)>, StoreError> {
        let table = Table::RelationContributions;
        let mut found = Vec::new();
        self.scan_document(table, id, &mut |key, payload| {
            let relation = key.get(8..).unwrap_or_default().to_vec();
            found.push((relation, decode(table, key, payload)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The works that a document lists, by number.
    pub fn references(&self, id: DocumentId) -> Result<Vec<ReferenceRecord>, StoreError> {
        let mut found = Vec::new();
        self.scan_document(Table::References, id, &mut |key, payload| {
            found.push(decode(Table::References, key, payload)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Where a document cites, by number.
    pub fn citations(&self, id: DocumentId) -> Result<Vec<CitationRecord>, StoreError> {
        let mut found = Vec::new();
        self.scan_document(Table::Citations, id, &mut |key, payload| {
            found.push(decode(Table::Citations, key, payload)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// What a document claims about other chunks, by number.
    pub fn claims(&self, id: DocumentId) -> Result<Vec<ClaimRecord>, StoreError> {
        let mut found = Vec::new();
        self.scan_document(Table::Claims, id, &mut |key, payload| {
            found.push(decode(Table::Claims, key, payload)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The documents and numbers of the claims about a chunk, by its public key.
    pub fn claims_on(&self, chunk: &str) -> Result<Vec<(DocumentId, u32)>, StoreError> {
        let mut found = Vec::new();
        let prefix = keys::claims_on(chunk);
        let end = keys::after_prefix(&prefix);
        self.scan(Table::ClaimsOn, &prefix, end.as_deref(), &mut |key, _| {
            let at = prefix.len();
            let of = keys::u64_at(key, at).zip(keys::u32_at(key, at + 8));
            found.extend(of.map(|(document, number)| (DocumentId(document), number)));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// A cited work.
    pub fn work(&self, id: WorkId) -> Result<Option<WorkRecord>, StoreError> {
        read(self, Table::Works, &keys::work(id))
    }

    /// The cited works that a stored document is, ascending.
    pub fn works_of(&self, id: DocumentId) -> Result<Vec<WorkId>, StoreError> {
        let mut found = Vec::new();
        self.scan_document(Table::DocumentWorks, id, &mut |key, _| {
            found.extend(keys::u32_at(key, 8).map(WorkId));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// A learning item.
    pub fn item(&self, id: ItemId) -> Result<Option<ItemRecord>, StoreError> {
        read(self, Table::Items, &keys::item(id))
    }

    /// The items that are about a chunk, oldest first.
    pub fn items_of_chunk(
        &self,
        document: DocumentId,
        suffix: u32,
    ) -> Result<Vec<ItemId>, StoreError> {
        self.item_ids(Table::ChunkItems, &keys::document_entry(document, suffix))
    }

    pub(crate) fn item_ids(&self, table: Table, prefix: &[u8]) -> Result<Vec<ItemId>, StoreError> {
        let mut found = Vec::new();
        let after = keys::after_prefix(prefix);
        self.scan(table, prefix, after.as_deref(), &mut |key, _| {
            found.extend(keys::u64_at(key, prefix.len()).map(ItemId));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// A recorded answer.
    pub fn retrieval(&self, id: ResponseId) -> Result<Option<RetrievalRecord>, StoreError> {
        read(self, Table::Retrievals, &keys::retrieval(id))
    }

    /// The ids of all recorded answers, oldest first. Costs a pass over them.
    pub fn retrieval_ids(&self) -> Result<Vec<ResponseId>, StoreError> {
        let mut ids = Vec::new();
        self.scan_all(Table::Retrievals, &mut |key, _| {
            ids.push(response_id(key)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(ids)
    }

    /// A vector space.
    pub fn space(&self, id: SpaceId) -> Result<Option<SpaceRecord>, StoreError> {
        read(self, Table::Spaces, &id.0.to_be_bytes())
    }

    /// The vector of a content in a space.
    pub fn vector(
        &self,
        space: SpaceId,
        content_hash: [u8; 16],
    ) -> Result<Option<Vec<f32>>, StoreError> {
        let value = self.get(Table::Vectors, &keys::vector(space, content_hash))?;
        Ok(value.map(|value| {
            let words = value.chunks_exact(4);
            words
                .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect()
        }))
    }

    /// A setting, as JSON.
    pub fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let Some(value) = self.get(Table::Settings, name.as_bytes())? else {
            return Ok(None);
        };
        let wrong = |_| damaged(Table::Settings, name.as_bytes(), "not UTF-8");
        String::from_utf8(value.to_vec()).map(Some).map_err(wrong)
    }

    /// Visits all rows of a table.
    pub fn scan_all(&self, table: Table, visit: &mut RowCallback<'_>) -> Result<(), StoreError> {
        self.scan(table, &[], None, visit)
    }

    /// Visits the rows of one document in a table whose keys start with the document's id.
    pub fn scan_document(
        &self,
        table: Table,
        id: DocumentId,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        let (from, to) = keys::document_range(id);
        self.scan(table, &from, Some(&to), visit)
    }

    /// How many rows a table has. Costs a pass over it.
    pub fn count(&self, table: Table) -> Result<u64, StoreError> {
        let mut count = 0;
        self.scan_all(table, &mut |_, _| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    fn read_packed(&self, table: Table, id: DocumentId) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::document(id);
        let Some(value) = self.get(table, &key)? else {
            return Ok(None);
        };
        unpack(&value)
            .map(Some)
            .map_err(|why| damaged(table, &key, &why))
    }
}

/// The id in the key of a recorded answer.
fn response_id(key: &[u8]) -> Result<ResponseId, StoreError> {
    let id = keys::u64_at(key, 0).map(ResponseId);
    id.ok_or_else(|| damaged(Table::Retrievals, key, "short key"))
}

/// [`Rows::scan`] over a table of redb, committed or in the making.
pub(crate) fn scan(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
    table: Table,
    from: &[u8],
    to: Option<&[u8]>,
    visit: &mut RowCallback<'_>,
) -> Result<(), StoreError> {
    let mut found = catch_redb_panic(table, || {
        Ok(match to {
            Some(to) => rows.range::<&[u8]>(from..to)?,
            None => rows.range::<&[u8]>(from..)?,
        })
    })?;
    while let Some((key, row)) = catch_redb_panic(table, || Ok(found.next().transpose()?))? {
        let key = catch_redb_panic(table, || Ok(key.value()))?;
        let value = catch_redb_panic(table, || Value::verified(table, key, row))?;
        if visit(key, &value)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// [`Rows::get`] of a table of redb, committed or in the making.
pub(crate) fn get<'t>(
    rows: &'t impl ReadableTable<&'static [u8], &'static [u8]>,
    table: Table,
    key: &[u8],
) -> Result<Option<Value<'t>>, StoreError> {
    catch_redb_panic(table, || {
        let row = rows.get(key)?;
        row.map(|row| Value::verified(table, key, row)).transpose()
    })
}

/// What `read` reads of redb, which meets some damage of its own pages with a panic: here that is damage as any other.
pub(crate) fn catch_redb_panic<T>(
    table: Table,
    read: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let wrong = |why: String| StoreError::DamagedTable {
        table: table.name(),
        why,
    };
    let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let why = "the database's tree cannot be read here; restore from a backup";
        Err(wrong(why.into()))
    });
    read.map_err(|error| match error {
        StoreError::Redb(error) if matches!(*error, redb::Error::Corrupted(_)) => {
            wrong(error.to_string())
        }
        error => error,
    })
}

/// A row's payload, verified.
pub struct Value<'r>(Inner<'r>);

enum Inner<'r> {
    Row(AccessGuard<'r, &'static [u8]>),
    Staged(&'r [u8]),
}

impl<'r> Value<'r> {
    pub(crate) fn staged(payload: &'r [u8]) -> Value<'r> {
        Value(Inner::Staged(payload))
    }

    /// As a table of redb holds it, of rows that are kept elsewhere: the fuzz targets' own.
    #[doc(hidden)]
    pub fn open(table: Table, key: &[u8], row: &'r [u8]) -> Result<Value<'r>, StoreError> {
        let payload = envelope::open(table.number(), key, row);
        payload
            .map(Value::staged)
            .map_err(|why| damaged(table, key, &why))
    }

    /// Takes a row out of redb once its checksum is right.
    pub(crate) fn verified(
        table: Table,
        key: &[u8],
        row: AccessGuard<'r, &'static [u8]>,
    ) -> Result<Value<'r>, StoreError> {
        envelope::open(table.number(), key, row.value())
            .map_err(|why| damaged(table, key, &why))?;
        Ok(Value(Inner::Row(row)))
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Row(row) => &row.value()[envelope::LEN..],
            Inner::Staged(payload) => payload,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({} bytes)", self.len())
    }
}

/// What [`Value::open`] opens.
#[doc(hidden)]
pub fn seal_row(table: Table, key: &[u8], payload: &[u8]) -> Vec<u8> {
    envelope::seal(table.number(), key, payload)
}

/// The error for a row whose bytes are not what was written.
pub(crate) fn damaged(table: Table, key: &[u8], why: &str) -> StoreError {
    StoreError::DamagedRow {
        table: table.name(),
        key: hex(key),
        why: why.into(),
    }
}

/// The error for a row that must be there.
pub fn missing(table: Table, key: &[u8]) -> StoreError {
    StoreError::MissingRow {
        table: table.name(),
        key: hex(key),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(table: Table, key: &[u8], payload: &[u8]) -> Result<u64, StoreError> {
    let bytes = payload
        .first_chunk()
        .ok_or_else(|| damaged(table, key, "too short"))?;
    Ok(u64::from_le_bytes(*bytes))
}

/// Bytes of text that most records have at most.
const ENCODED_TEXT_CAPACITY: usize = 64;

/// A record as bytes.
pub fn encode<T>(record: &T) -> Result<Vec<u8>, StoreError>
where
    T: for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, rancor::Error>>,
{
    // Capacity for the record itself, and for texts of usual length.
    let buffer = Vec::with_capacity(size_of::<T::Archived>() + ENCODED_TEXT_CAPACITY);
    let bytes = rkyv::api::high::to_bytes_in::<_, rancor::Error>(record, buffer);
    bytes.map_err(|why| StoreError::Invalid(why.to_string()))
}

/// A record from the payload of a row, which is validated first.
pub fn decode<T>(table: Table, key: &[u8], payload: &[u8]) -> Result<T, StoreError>
where
    T: Archive,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
        + Deserialize<T, HighDeserializer<rancor::Error>>,
{
    rkyv::from_bytes::<T, rancor::Error>(payload)
        .map_err(|why| damaged(table, key, &why.to_string()))
}

/// The record of one row.
pub fn read<T>(rows: &dyn Rows, table: Table, key: &[u8]) -> Result<Option<T>, StoreError>
where
    T: Archive,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
        + Deserialize<T, HighDeserializer<rancor::Error>>,
{
    rows.get(table, key)?
        .map(|value| decode(table, key, &value))
        .transpose()
}

/// Bytes with a codec in front; compressed where that makes them smaller.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let compressed = lz4_flex::block::compress(bytes);
    let (codec, body) = if compressed.len() < bytes.len() {
        (1, &compressed[..])
    } else {
        (0, bytes)
    };
    let mut packed = Vec::with_capacity(9 + body.len());
    packed.push(codec);
    packed.extend((bytes.len() as u64).to_le_bytes());
    packed.extend(body);
    packed
}

/// Bytes that a byte of an LZ4 block becomes at most.
const LZ4_RATIO_MAX: u64 = 255;

/// What [`pack`] was given. `packed` may be anything at all.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let Some((head, body)) = packed.split_first_chunk::<9>() else {
        return Err("too short".into());
    };
    let len = u64::from_le_bytes([
        head[1], head[2], head[3], head[4], head[5], head[6], head[7], head[8],
    ]);
    match head[0] {
        0 if body.len() as u64 == len => Ok(body.to_vec()),
        // No more than so few bytes can expand to, so that a false length allocates nothing.
        1 if len <= DOCUMENT_LEN_MAX.min(body.len() as u64 * LZ4_RATIO_MAX) => {
            let bytes = lz4_flex::block::decompress(body, len as usize);
            bytes.map_err(|why| why.to_string())
        }
        _ => Err("neither stored nor compressed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unpack_rejects_a_length_the_compressed_bytes_cannot_reach() {
        let packed = [&[1][..], &DOCUMENT_LEN_MAX.to_le_bytes(), &[0x10, 7]].concat();
        assert_eq!(
            unpack(&packed).unwrap_err(),
            "neither stored nor compressed"
        );
    }

    proptest! {
        #[test]
        fn packed_bytes_come_back(bytes: Vec<u8>, repeat in 1usize..50) {
            let bytes = bytes.repeat(repeat);
            prop_assert_eq!(unpack(&pack(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn any_bytes_are_unpacked_or_refused(bytes: Vec<u8>) {
            let _ = unpack(&bytes);
        }

        #[test]
        fn bytes_that_pack_well_come_back(byte: u8, len in 0usize..1 << 20) {
            let bytes = vec![byte; len];
            prop_assert_eq!(unpack(&pack(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn a_record_comes_back(text in ".{0,40}", page: u32) {
            let mut chunk = ChunkRecord { text, ..ChunkRecord::default() };
            chunk.location.pages = Some((page, page));
            let bytes = encode(&chunk).unwrap();
            let back: ChunkRecord = decode(Table::Chunks, &[], &bytes).unwrap();
            prop_assert_eq!(back, chunk);
        }

        #[test]
        fn any_bytes_are_a_record_or_an_error(bytes: Vec<u8>) {
            let _ = decode::<ChunkRecord>(Table::Chunks, &[], &bytes);
            let _ = decode::<DocumentRecord>(Table::Documents, &[], &bytes);
        }
    }
}
