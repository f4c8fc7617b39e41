//! The schema of each table: the parts of its keys and payloads, how bytes are checked, and their form as JSON.
//!
//! Always true: sound bytes are the same after a round trip through JSON; others are refused with a reason, whatever
//! they are.
//!
//! Start reading at [`table_schema`].

use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::{Archive, Deserialize, Serialize, rancor};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rows::records::{
    ChunkRecord, CitationRecord, ClaimRecord, ConceptContribution, ConceptEditRecord,
    ConceptRecord, DigestRecord, DocumentRecord, ItemRecord, ReferenceRecord, RelationContribution,
    RelationRecord, RetrievalRecord, SpaceRecord, WorkRecord,
};
use crate::rows::tables::Table;
use crate::rows::{encode, hex};

/// A piece of a key. Numbers are big-endian, so that keys sort by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPart {
    U32,
    U64,
    /// 16 bytes, in hexadecimal.
    Hash,
    /// Text up to what follows it; not empty.
    Text,
    /// Text up to what follows it, with a byte 0 after it.
    NulTerminated,
    /// Text with its length before it, as a u16.
    LengthPrefixed,
}

/// What a payload is.
pub(crate) enum Payload {
    Archived(RecordCodec),
    /// Packed bytes: a file, or text.
    Packed,
    /// Little-endian numbers of these widths, in bytes.
    Numbers(&'static [usize]),
    /// UTF-8.
    Text,
    /// Little-endian f32.
    Vector,
    /// Any bytes: what no other row is made of.
    Bytes,
}

/// What a table's rows are.
pub(crate) struct TableSchema {
    pub(crate) key: &'static [KeyPart],
    pub(crate) payload: Payload,
}

/// What the rows of `table` are made of.
pub(crate) fn table_schema(table: Table) -> TableSchema {
    use KeyPart::{Hash, LengthPrefixed, NulTerminated, Text, U32, U64};
    let (key, payload): (&'static [KeyPart], Payload) = match table {
        Table::Meta => (&[Text], Payload::Bytes),
        Table::Documents => (&[U64], record_payload::<DocumentRecord>()),
        Table::DocumentKeys => (&[Text], Payload::Numbers(&[8])),
        Table::Originals | Table::Texts => (&[U64], Payload::Packed),
        Table::Chunks => (&[U64, U32], record_payload::<ChunkRecord>()),
        Table::ChunkSuffixes => (&[U64, U32], Payload::Numbers(&[4])),
        Table::Contents => (&[Hash], Payload::Numbers(&[8])),
        Table::Vectors => (&[U32, Hash], Payload::Vector),
        Table::Concepts => (&[U32], record_payload::<ConceptRecord>()),
        Table::ConceptNames => (&[Text], Payload::Numbers(&[4])),
        Table::ConceptContributions => (&[U64, U32], record_payload::<ConceptContribution>()),
        Table::ConceptDocuments => (&[U32, U64], EMPTY_PAYLOAD),
        Table::Relations => (&[U32, U32, Text], record_payload::<RelationRecord>()),
        Table::RelationContributions => (
            &[U64, U32, U32, Text],
            record_payload::<RelationContribution>(),
        ),
        Table::RelationDocuments => (&[U32, U32, LengthPrefixed, U64], EMPTY_PAYLOAD),
        Table::Spaces => (&[U32], record_payload::<SpaceRecord>()),
        Table::Parts | Table::Tombstones => (&[U64], Payload::Bytes),
        Table::Settings => (&[Text], Payload::Text),
        Table::Items => (&[U64], record_payload::<ItemRecord>()),
        Table::ChunkItems => (&[U64, U32, U64], EMPTY_PAYLOAD),
        Table::ConceptItems => (&[U32, U64], EMPTY_PAYLOAD),
        Table::ConceptMoves => (&[U64, U32], Payload::Numbers(&[4, 8])),
        Table::ConceptSources => (&[U32, U32, U64], EMPTY_PAYLOAD),
        Table::ConceptEdits => (&[U64], record_payload::<ConceptEditRecord>()),
        Table::Digests => (&[Hash], record_payload::<DigestRecord>()),
        Table::References => (&[U64, U32], record_payload::<ReferenceRecord>()),
        Table::Citations => (&[U64, U32], record_payload::<CitationRecord>()),
        Table::Claims => (&[U64, U32], record_payload::<ClaimRecord>()),
        Table::ClaimsOn => (&[NulTerminated, U64, U32], EMPTY_PAYLOAD),
        Table::Works => (&[U32], record_payload::<WorkRecord>()),
        Table::WorkIdentities => (&[NulTerminated, U32], EMPTY_PAYLOAD),
        Table::WorkReferences => (&[U32, U64, U32], EMPTY_PAYLOAD),
        Table::DocumentIdentities => (&[NulTerminated, U64], EMPTY_PAYLOAD),
        Table::DocumentWorks => (&[U64, U32], EMPTY_PAYLOAD),
        Table::Retrievals => (&[U64], record_payload::<RetrievalRecord>()),
        Table::Assets => (&[U64, Text], Payload::Packed),
    };
    TableSchema { key, payload }
}

const EMPTY_PAYLOAD: Payload = Payload::Numbers(&[]);

/// What is wrong with a row whose checksum holds.
pub(crate) fn check(table: Table, key: &[u8], payload: &[u8]) -> Result<(), String> {
    split_key(table_schema(table).key, key)?;
    check_payload(table, payload)
}

/// What is wrong with a payload. What is packed in it is not looked at.
pub(crate) fn check_payload(table: Table, payload: &[u8]) -> Result<(), String> {
    match table_schema(table).payload {
        Payload::Archived(record) => (record.check)(payload),
        Payload::Packed | Payload::Bytes => Ok(()),
        Payload::Numbers(widths) => {
            if payload.len() == widths.iter().sum::<usize>() {
                Ok(())
            } else {
                Err(format!("{} bytes", payload.len()))
            }
        }
        Payload::Text => match std::str::from_utf8(payload) {
            Ok(_) => Ok(()),
            Err(why) => Err(why.to_string()),
        },
        Payload::Vector => match payload.len() % 4 {
            0 => Ok(()),
            _ => Err(format!("{} bytes are no numbers", payload.len())),
        },
    }
}

/// A key as JSON: its pieces in their order.
pub(crate) fn key_to_json(table: Table, key: &[u8]) -> Result<Vec<Value>, String> {
    let pieces = split_key(table_schema(table).key, key)?;
    pieces
        .into_iter()
        .map(|(piece, bytes)| {
            Ok(match piece {
                KeyPart::U32 | KeyPart::U64 => Value::from(number_be(bytes)),
                KeyPart::Hash => Value::from(hex(bytes)),
                KeyPart::Text | KeyPart::NulTerminated | KeyPart::LengthPrefixed => {
                    Value::from(text(bytes)?)
                }
            })
        })
        .collect()
}

/// The key from its JSON form.
pub(crate) fn key_from_json(table: Table, json: &[Value]) -> Result<Vec<u8>, String> {
    let schema = table_schema(table);
    if json.len() != schema.key.len() {
        return Err(format!("a key of {} pieces", json.len()));
    }
    let mut key = Vec::new();
    for (piece, json_part) in schema.key.iter().zip(json) {
        let wrong = || format!("{json_part} in a key");
        match piece {
            KeyPart::U32 => {
                let number = json_part
                    .as_u64()
                    .and_then(|number| u32::try_from(number).ok());
                key.extend(number.ok_or_else(wrong)?.to_be_bytes());
            }
            KeyPart::U64 => key.extend(json_part.as_u64().ok_or_else(wrong)?.to_be_bytes()),
            KeyPart::Hash => {
                let hash = json_part.as_str().and_then(parse_hash).ok_or_else(wrong)?;
                key.extend(hash);
            }
            KeyPart::Text | KeyPart::NulTerminated => {
                key.extend(json_part.as_str().ok_or_else(wrong)?.bytes())
            }
            KeyPart::LengthPrefixed => {
                let text = json_part.as_str().ok_or_else(wrong)?;
                let len = u16::try_from(text.len()).map_err(|_| wrong())?;
                key.extend(len.to_be_bytes());
                key.extend(text.bytes());
            }
        }
        if *piece == KeyPart::NulTerminated {
            key.push(0);
        }
    }
    split_key(schema.key, &key)?;
    Ok(key)
}

/// A key cut into its pieces.
fn split_key<'k>(
    key_schema: &[KeyPart],
    key: &'k [u8],
) -> Result<Vec<(KeyPart, &'k [u8])>, String> {
    let wrong = || format!("a key of {} bytes", key.len());
    let width = |piece: &KeyPart| match piece {
        KeyPart::U32 => 4,
        KeyPart::U64 => 8,
        KeyPart::Hash => 16,
        KeyPart::NulTerminated => 1,
        KeyPart::LengthPrefixed => 2,
        KeyPart::Text => 0,
    };
    let mut rest = key;
    let mut found = Vec::with_capacity(key_schema.len());
    for (at, piece) in key_schema.iter().enumerate() {
        let after: usize = key_schema[at + 1..].iter().map(width).sum();
        let len = match piece {
            KeyPart::Text | KeyPart::NulTerminated => {
                let end = usize::from(*piece == KeyPart::NulTerminated);
                let len = rest.len().checked_sub(after + end).ok_or_else(wrong)?;
                if len == 0 || (end == 1 && rest[len] != 0) {
                    return Err(wrong());
                }
                len
            }
            KeyPart::LengthPrefixed => {
                let (len, text) = rest.split_first_chunk::<2>().ok_or_else(wrong)?;
                rest = text;
                usize::from(u16::from_be_bytes(*len))
            }
            fixed => width(fixed),
        };
        let (bytes, after) = rest.split_at_checked(len).ok_or_else(wrong)?;
        if matches!(
            piece,
            KeyPart::Text | KeyPart::NulTerminated | KeyPart::LengthPrefixed
        ) {
            text(bytes)?;
        }
        rest = after
            .get(usize::from(*piece == KeyPart::NulTerminated)..)
            .ok_or_else(wrong)?;
        found.push((*piece, bytes));
    }
    if rest.is_empty() {
        Ok(found)
    } else {
        Err(wrong())
    }
}

/// Little-endian numbers as JSON: one alone, or a list of several. `bytes` are as many as `widths` say.
pub(crate) fn numbers_to_json(widths: &[usize], bytes: &[u8]) -> Value {
    let mut rest = bytes;
    let mut numbers = widths.iter().map(|&width| {
        let (number, after) = rest.split_at(width.min(rest.len()));
        rest = after;
        Value::from(
            number
                .iter()
                .rev()
                .fold(0u64, |of, &byte| of << 8 | u64::from(byte)),
        )
    });
    match widths {
        [_] => numbers.next().unwrap_or_default(),
        _ => numbers.collect(),
    }
}

/// The bytes that [`numbers_to_json`] wrote.
pub(crate) fn numbers_from_json(widths: &[usize], json: &Value) -> Result<Vec<u8>, String> {
    let numbers = match json {
        Value::Array(numbers) if widths.len() != 1 => &numbers[..],
        one => std::slice::from_ref(one),
    };
    if numbers.len() != widths.len() {
        return Err(format!("{json}: not {} numbers", widths.len()));
    }
    let mut bytes = Vec::new();
    for (&width, number) in widths.iter().zip(numbers) {
        let fits = |number: &u64| width == 8 || *number < 1 << (8 * width);
        let number = number.as_u64().filter(fits);
        let number = number.ok_or_else(|| format!("{json}: no number of {width} bytes"))?;
        bytes.extend(&number.to_le_bytes()[..width]);
    }
    Ok(bytes)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|why| why.to_string())
}

fn number_be(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().map(|&byte| u64::from(byte));
    digits.fold(0, |number, digit| number << 8 | digit)
}

/// Bytes of hexadecimal digits, 16 of them.
fn parse_hash(text: &str) -> Option<[u8; 16]> {
    let is_hex = text.len() == 32 && text.bytes().all(|c| c.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
    Some(number.to_be_bytes())
}

/// What can be done with the archived records of one type.
pub(crate) struct RecordCodec {
    check: fn(&[u8]) -> Result<(), String>,
    /// As JSON; `None` for what JSON cannot represent exactly.
    pub(crate) to_json: fn(&[u8]) -> Result<Option<Value>, String>,
    pub(crate) from_json: fn(Value) -> Result<Vec<u8>, String>,
}

fn record_payload<T>() -> Payload
where
    T: Archive + serde::Serialize + DeserializeOwned,
    T: for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, rancor::Error>>,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
        + Deserialize<T, HighDeserializer<rancor::Error>>,
{
    fn decode<T>(payload: &[u8]) -> Result<T, String>
    where
        T: Archive,
        T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
            + Deserialize<T, HighDeserializer<rancor::Error>>,
    {
        rkyv::from_bytes::<T, rancor::Error>(payload).map_err(|why| why.to_string())
    }
    let from_json = |json: Value| {
        let record: T = serde_json::from_value(json).map_err(|why| why.to_string())?;
        encode(&record).map_err(|why| why.to_string())
    };
    Payload::Archived(RecordCodec {
        check: |payload| decode::<T>(payload).map(drop),
        to_json: |payload| {
            let record: T = decode(payload)?;
            let json = serde_json::to_value(&record).map_err(|why| why.to_string())?;
            let round_tripped: Option<T> = serde_json::from_value(json.clone()).ok();
            let round_tripped = round_tripped.and_then(|record| encode(&record).ok());
            Ok((round_tripped.as_deref() == Some(payload)).then_some(json))
        },
        from_json,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_table() -> impl Strategy<Value = Table> {
        prop::sample::select(Table::ALL.to_vec())
    }

    fn any_key_part(piece: KeyPart) -> BoxedStrategy<Value> {
        match piece {
            KeyPart::U32 => any::<u32>().prop_map(Value::from).boxed(),
            KeyPart::U64 => any::<u64>().prop_map(Value::from).boxed(),
            KeyPart::Hash => any::<[u8; 16]>()
                .prop_map(|hash| Value::from(hex(&hash)))
                .boxed(),
            _ => "[a-zé\u{0}:#]{1,12}".prop_map(Value::from).boxed(),
        }
    }

    proptest! {
        #[test]
        fn keys_survive_a_round_trip_through_json(
            (table, parts) in any_table().prop_flat_map(|table| {
                let parts: Vec<_> = table_schema(table).key.iter().map(|&piece| any_key_part(piece)).collect();
                (Just(table), parts)
            })
        ) {
            let key = key_from_json(table, &parts).unwrap();
            prop_assert_eq!(key_to_json(table, &key).unwrap(), parts);
        }

        #[test]
        fn any_bytes_survive_a_round_trip_through_json_or_are_refused(table in any_table(), key: Vec<u8>, payload: Vec<u8>) {
            let _ = check(table, &key, &payload);
            if let Ok(parts) = key_to_json(table, &key) {
                prop_assert_eq!(key_from_json(table, &parts).unwrap(), key);
            }
        }
    }

    #[test]
    fn malformed_keys_are_rejected() {
        for (table, key) in [
            (Table::Documents, &[1u8; 7][..]),
            (Table::Documents, &[1; 9]),
            (Table::Settings, b""),
            (Table::Settings, b"\xff"),
            (Table::ClaimsOn, b"key#1\x01\0\0\0\0\0\0\0\x01\0\0\0\x02"),
            (
                Table::RelationDocuments,
                b"\0\0\0\x01\0\0\0\x02\xff\xffuses",
            ),
        ] {
            assert!(key_to_json(table, key).is_err(), "{table:?} {key:?}");
        }
    }
}
