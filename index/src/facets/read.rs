//! Reads a facet section in place.

use loci_storage::SegmentReader;
use roaring::RoaringBitmap;

use super::column::Column;
use super::{ENTRY_LEN, FacetError, FacetValue, HEADER_LEN, Kind, Predicate, VERSION};
use crate::bytes::{u16_at, u32_at};

const TRUNCATED: FacetError = FacetError::Malformed("it is shorter than its header says");

/// A facet section over any bytes: a map in production, a `Vec` in a test.
#[derive(Debug)]
pub struct FacetReader<B> {
    bytes: B,
    columns: u32,
    local_end: u32,
}

/// What is known of one column without reading its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// The field. One with both text and integers is listed twice.
    pub name: String,
    /// What values these are.
    pub kind: Kind,
    /// How many distinct ones.
    pub distinct: u32,
}

impl<B: AsRef<[u8]>> FacetReader<B> {
    /// Checks the header and the bounds of every column. Cost: 40 bytes a column.
    ///
    /// # Errors
    /// [`FacetError::Version`], [`FacetError::Malformed`].
    pub fn new(bytes: B) -> Result<Self, FacetError> {
        let head = bytes.as_ref();
        let version = u16_at(head, 0).ok_or(TRUNCATED)?;
        if version != VERSION {
            return Err(FacetError::Version { found: version });
        }
        let columns = u32_at(head, 4).ok_or(TRUNCATED)?;
        let local_end = u32_at(head, 8).ok_or(TRUNCATED)?;
        let table_end = HEADER_LEN as u64 + u64::from(columns) * ENTRY_LEN as u64;
        if table_end > head.len() as u64 {
            return Err(TRUNCATED);
        }
        let reader = FacetReader {
            bytes,
            columns,
            local_end,
        };
        for column in reader.columns() {
            column?;
        }
        Ok(reader)
    }

    /// 1 + the greatest local number of a chunk with metadata; 0 when there is none.
    pub fn local_end(&self) -> u32 {
        self.local_end
    }

    /// All fields, ascending by name.
    pub fn fields(&self) -> Vec<FieldInfo> {
        self.columns()
            .filter_map(Result::ok)
            .map(|c| FieldInfo {
                name: c.name.to_owned(),
                kind: c.kind,
                distinct: c.len,
            })
            .collect()
    }

    /// The chunks (local numbers, deleted ones included) that `predicate` wants of `field`. A field
    /// that no chunk has selects nothing.
    ///
    /// # Errors
    /// [`FacetError::Malformed`].
    ///
    /// # Cost
    /// A binary search over the values, and one union a value that fits; for a column of more than
    /// [`super::BITMAPS_MAX`] values, one pass over its pairs.
    pub fn select(&self, field: &str, predicate: &Predicate) -> Result<RoaringBitmap, FacetError> {
        let mut selected = RoaringBitmap::new();
        for column in self.columns_named(field) {
            selected |= column?.select(predicate)?;
        }
        Ok(selected)
    }

    /// The values of `field`, ascending, each with the number of chunks (deleted ones included)
    /// that have it.
    ///
    /// # Errors
    /// [`FacetError::Malformed`].
    pub fn values(&self, field: &str) -> Result<Vec<(FacetValue, u64)>, FacetError> {
        let mut values = Vec::new();
        for column in self.columns_named(field) {
            let column = column?;
            for (place, count) in (0..).zip(column.counts()?) {
                values.push((column.value(place)?, count));
            }
        }
        Ok(values)
    }

    fn columns_named(&self, field: &str) -> impl Iterator<Item = Result<Column<'_>, FacetError>> {
        self.columns().filter(move |column| match column {
            Ok(column) => column.name == field,
            Err(_) => true,
        })
    }

    fn columns(&self) -> impl Iterator<Item = Result<Column<'_>, FacetError>> {
        let section = self.bytes.as_ref();
        let table = section.get(HEADER_LEN..).unwrap_or_default();
        let (entries, _) = table.as_chunks::<ENTRY_LEN>();
        let entries = entries.iter().take(self.columns as usize);
        entries.map(move |entry| Column::new(section, entry, self.local_end))
    }
}

/// The ordinals that `predicate` wants of `field` in all segments, without deleted chunks.
///
/// # Errors
/// [`FacetError::Malformed`].
pub fn select<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, FacetReader<B>>],
    field: &str,
    predicate: &Predicate,
) -> Result<RoaringBitmap, FacetError> {
    let mut ordinals = RoaringBitmap::new();
    for placed in segments {
        if placed.reader.local_end() > placed.chunk_count {
            return Err(FacetError::Malformed(
                "it speaks of more chunks than its segment has",
            ));
        }
        let locals = placed.reader.select(field, predicate)? - placed.dead;
        let shifted = locals.iter().map(|local| placed.base.0 + local);
        ordinals
            .append(shifted)
            .map_err(|_| FacetError::Malformed("segments overlap or are out of order"))?;
    }
    Ok(ordinals)
}
