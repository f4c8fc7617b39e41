//! Chunks' metadata → the bytes of a facet section.

use std::collections::BTreeMap;

use loci_storage::LocalOrdinal;
use roaring::RoaringBitmap;

use super::{BITMAPS_MAX, ENTRY_LEN, FacetValue, HEADER_LEN, Kind, PAIR_LEN, VERSION};

/// Collects the metadata of a segment's chunks.
#[derive(Debug, Default)]
pub struct FacetBuilder {
    /// By name: the column of integers, and that of text.
    columns: BTreeMap<String, [Column; 2]>,
    local_end: u32,
}

type Column = BTreeMap<FacetValue, RoaringBitmap>;

impl FacetBuilder {
    /// A builder without metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value of one field of a chunk. Chunks, fields and values come in any order;
    /// repeats count once.
    pub fn push(&mut self, LocalOrdinal(local): LocalOrdinal, field: &str, value: FacetValue) {
        // Nearly always the field is there, and its name need not be copied.
        if !self.columns.contains_key(field) {
            self.columns.insert(field.to_owned(), Default::default());
        }
        let columns = self.columns.get_mut(field).expect("it is there");
        let column = &mut columns[Kind::from(&value) as usize];
        column.entry(value).or_default().insert(local);
        self.local_end = self.local_end.max(local.saturating_add(1));
    }

    /// The bytes of the section.
    pub fn finish(self) -> Vec<u8> {
        let mut columns: Vec<(&str, Kind, &Column)> = Vec::new();
        for (name, [integers, text]) in &self.columns {
            columns.push((name, Kind::Integer, integers));
            columns.push((name, Kind::Text, text));
        }
        columns.retain(|(_, _, column)| !column.is_empty());
        let mut out = Vec::new();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.local_end.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        // Entries come first, but are known last.
        out.resize(HEADER_LEN + columns.len() * ENTRY_LEN, 0);
        for (place, (name, kind, column)) in columns.into_iter().enumerate() {
            let entry = write_column(name, kind, column, &mut out);
            out[HEADER_LEN + place * ENTRY_LEN..][..ENTRY_LEN].copy_from_slice(&entry);
        }
        out
    }
}

/// Appends the parts of a column; returns its entry.
fn write_column(name: &str, kind: Kind, column: &Column, out: &mut Vec<u8>) -> [u8; ENTRY_LEN] {
    let form = u8::from(column.len() > BITMAPS_MAX);
    let pairs: u64 = column.values().map(RoaringBitmap::len).sum();
    let name_start = out.len() as u64;
    out.extend_from_slice(name.as_bytes());
    let values_start = out.len() as u64;
    write_values(column, out);
    let chunks_start = out.len() as u64;
    if form == 0 {
        write_bitmaps(column, out)
    } else {
        write_pairs(column, out)
    }

    let mut entry = [0; ENTRY_LEN];
    entry[0..4].copy_from_slice(&(name.len() as u32).to_le_bytes());
    entry[4..6].copy_from_slice(&[kind as u8, form]);
    entry[8..12].copy_from_slice(&(column.len() as u32).to_le_bytes());
    entry[12..16].copy_from_slice(&u32::try_from(pairs).unwrap_or(u32::MAX).to_le_bytes());
    entry[16..24].copy_from_slice(&name_start.to_le_bytes());
    entry[24..32].copy_from_slice(&values_start.to_le_bytes());
    entry[32..40].copy_from_slice(&chunks_start.to_le_bytes());
    entry
}

fn write_values(column: &Column, out: &mut Vec<u8>) {
    let texts: Vec<&str> = column
        .keys()
        .filter_map(|value| match value {
            FacetValue::Text(text) => Some(text.as_str()),
            FacetValue::Integer(number) => {
                out.extend_from_slice(&number.to_le_bytes());
                None
            }
        })
        .collect();
    if !texts.is_empty() {
        write_cut(texts.iter().map(|text| text.as_bytes()), out);
    }
}

fn write_bitmaps(column: &Column, out: &mut Vec<u8>) {
    let bitmaps: Vec<Vec<u8>> = column.values().map(serialised).collect();
    write_cut(bitmaps.iter().map(Vec::as_slice), out);
}

fn serialised(bitmap: &RoaringBitmap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bitmap.serialized_size());
    bitmap.serialize_into(&mut bytes).expect("memory takes all");
    bytes
}

/// Where each piece starts and the last one ends, from 0, and then the pieces.
fn write_cut<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) {
    let mut end = 0u64;
    out.extend_from_slice(&end.to_le_bytes());
    for piece in pieces.clone() {
        end += piece.len() as u64;
        out.extend_from_slice(&end.to_le_bytes());
    }
    pieces.for_each(|piece| out.extend_from_slice(piece));
}

fn write_pairs(column: &Column, out: &mut Vec<u8>) {
    let mut pairs: Vec<(u32, u32)> = (0..)
        .zip(column.values())
        .flat_map(|(place, bitmap)| bitmap.iter().map(move |local| (local, place)))
        .collect();
    pairs.sort_unstable();
    out.reserve(pairs.len() * PAIR_LEN);
    for (local, place) in pairs {
        out.extend_from_slice(&local.to_le_bytes());
        out.extend_from_slice(&place.to_le_bytes());
    }
}
