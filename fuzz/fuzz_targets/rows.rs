//! Any bytes of any table are rows or a typed error: envelope, record, packed bytes, and reads that go from row to row.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_fuzz::rows::RowSet;
use loci_storage::check::validate_row;
use loci_storage::records::{
    ChunkRecord, ConceptEditRecord, ConceptRecord, DigestRecord, DocumentRecord, ManifestRecord,
    RelationRecord,
};
use loci_storage::rows::{Value, decode, encode, read};
use loci_storage::{
    ChunkKey, ConceptId, DocumentId, DocumentKey, ItemId, ResponseId, Rows, SpaceId, StoreError,
    Table, WorkId, keys,
};

/// Reads a record through JSON, as it is shown to people, and as bytes.
macro_rules! shown {
    ($record:ty, $table:expr, $key:expr, $payload:expr) => {
        if let Ok(record) = decode::<$record>($table, $key, $payload) {
            let _ =
                serde_json::to_string(&record).map(|json| serde_json::from_str::<$record>(&json));
            encode(&record).expect("what was read is written");
        }
    };
}

fn by_id(rows: &dyn Rows, number: u64, small: u32) -> Result<(), StoreError> {
    let (document, concept) = (DocumentId(number), ConceptId(small));
    let _ = rows.document(document);
    let _ = rows.chunks(document);
    let _ = rows.chunk(document, small);
    let _ = rows
        .original(document)
        .map(|bytes| bytes.map(|bytes| bytes.len()));
    let _ = rows.text(document);
    let _ = rows.concept(concept);
    let _ = rows.concept_contributions(document);
    let _ = rows.relation_contributions(document);
    let _ = rows.references(document);
    let _ = rows.citations(document);
    let _ = rows.claims(document);
    let _ = rows.work(WorkId(small));
    let _ = rows.works_of(document);
    let _ = rows.item(ItemId(number));
    let _ = rows.items_of_chunk(document, small);
    let _ = rows.space(SpaceId(small));
    let _ = rows.retrieval(ResponseId(number));
    for of in [None, Some(document)] {
        let _ = rows.resolve(concept, of);
    }
    let _: Result<Option<RelationRecord>, _> = read(
        rows,
        Table::Relations,
        &keys::relation(concept, concept, ""),
    );
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let set = RowSet::new(bytes);
    let rows: &dyn Rows = &set;
    for (table, key, row) in set.iter() {
        let Ok(payload) = Value::open(table, key, row) else {
            continue;
        };
        let _ = validate_row(table, key, &payload);
        match table {
            Table::Meta => shown!(ManifestRecord, table, key, &payload),
            Table::Documents => shown!(DocumentRecord, table, key, &payload),
            Table::Chunks => shown!(ChunkRecord, table, key, &payload),
            Table::Concepts => shown!(ConceptRecord, table, key, &payload),
            Table::ConceptEdits => shown!(ConceptEditRecord, table, key, &payload),
            Table::Digests => shown!(DigestRecord, table, key, &payload),
            _ => {}
        }
        let number = keys::u64_at(key, 0).unwrap_or(7);
        let _ = by_id(
            rows,
            number,
            keys::u32_at(key, 8).or(keys::u32_at(key, 0)).unwrap_or(3),
        );
        if let Ok(text) = std::str::from_utf8(key) {
            let _ = rows.concept_id(text);
            let _ = rows.setting(text);
            let _ = rows.claims_on(text);
            if let Ok(document) = text.parse::<DocumentKey>() {
                let _ = rows.document_id(&document);
                let _ = rows.find_chunk(&ChunkKey {
                    document,
                    suffix: 0,
                });
            }
        }
        if let (Some(space), Some(hash)) = (
            keys::u32_at(key, 0),
            key.get(4..).and_then(|hash| hash.first_chunk()),
        ) {
            let _ = rows.vector(SpaceId(space), *hash);
        }
        let _ = rows.count(table);
    }
    let _ = rows.has_concept_aliases();
    let _ = rows.retrieval_ids();
});
