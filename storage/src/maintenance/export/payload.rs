//! Payloads of rows as JSON, and back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use crate::limits::DOCUMENT_LEN_MAX;
use crate::rows::schema::{self, Payload, table_schema};
use crate::rows::tables::Table;
use crate::rows::{pack, unpack};

/// A payload as JSON, or as it is where that is not to the last bit what it was.
pub(super) fn payload_to_json(
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

/// Whether a text takes at most twice its bytes as JSON: an escape takes up to six bytes for one.
fn is_compact_when_escaped(text: &str) -> bool {
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    text.bytes().filter(|byte| is_escaped(byte)).count() <= text.len() / 5
}

/// The payload of a line.
pub(super) fn payload_from_json(
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
