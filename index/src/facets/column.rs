//! One column in place: its sorted values, and the chunks that have them.
//!
//! A predicate becomes places of values first, by binary search, and then chunks.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use roaring::RoaringBitmap;

use super::{ENTRY_LEN, FacetError, FacetValue, Kind, PAIR_LEN, Predicate};
use crate::bytes::{slice, u32_at, u64_at};

const TRUNCATED: FacetError = FacetError::Malformed("a column reaches past the end of the section");

/// A column of a section, bounds checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    /// Distinct values.
    pub(super) len: u32,
    values: &'a [u8],
    chunks: Chunks<'a>,
    local_end: u32,
}

#[derive(Clone, Copy, Debug)]
enum Chunks<'a> {
    Bitmaps(&'a [u8]),
    Pairs(&'a [u8]),
}

impl<'a> Column<'a> {
    /// Reads the entry of a column and checks that its fixed-width parts lie in the section.
    pub(super) fn new(
        section: &'a [u8],
        entry: &[u8; ENTRY_LEN],
        local_end: u32,
    ) -> Result<Self, FacetError> {
        let number = |at| u32_at(entry, at).ok_or(TRUNCATED);
        let offset = |at| u64_at(entry, at).ok_or(TRUNCATED);
        let kind = match entry[4] {
            0 => Kind::Integer,
            1 => Kind::Text,
            _ => return Err(FacetError::Malformed("a column of an unknown kind")),
        };
        let name = slice(section, offset(16)?, u64::from(number(0)?)).ok_or(TRUNCATED)?;
        let name = str::from_utf8(name)
            .map_err(|_| FacetError::Malformed("a field's name is not UTF-8"))?;
        let (len, pairs) = (number(8)?, u64::from(number(12)?));
        let starts_len = (u64::from(len) + 1) * 8;
        let values = match kind {
            Kind::Integer => slice(section, offset(24)?, u64::from(len) * 8),
            Kind::Text => open_ended(section, offset(24)?, starts_len),
        };
        let chunks = match entry[5] {
            0 => open_ended(section, offset(32)?, starts_len).map(Chunks::Bitmaps),
            1 => slice(section, offset(32)?, pairs * PAIR_LEN as u64).map(Chunks::Pairs),
            _ => return Err(FacetError::Malformed("a column of an unknown form")),
        };
        let (Some(values), Some(chunks)) = (values, chunks) else {
            return Err(TRUNCATED);
        };
        Ok(Column {
            name,
            kind,
            len,
            values,
            chunks,
            local_end,
        })
    }

    /// The chunks that `predicate` wants.
    pub(super) fn select(&self, predicate: &Predicate) -> Result<RoaringBitmap, FacetError> {
        match predicate {
            Predicate::Equal(value) => self.chunks_in(self.equal(value)?),
            Predicate::In(values) => {
                let places: Result<Vec<_>, _> = values.iter().map(|v| self.equal(v)).collect();
                self.chunks_at(&places?)
            }
            Predicate::Range { low, high } => self.chunks_in(self.in_range(low, high)?),
            Predicate::Prefix(prefix) => self.chunks_in(self.with_prefix(prefix)?),
            Predicate::Has => self.chunks_in(0..self.len),
        }
    }

    /// The value at a place below `len`.
    pub(super) fn value(&self, place: u32) -> Result<FacetValue, FacetError> {
        match self.kind {
            Kind::Integer => Ok(FacetValue::Integer(self.integer(place)?)),
            Kind::Text => {
                let text = str::from_utf8(self.text(place)?)
                    .map_err(|_| FacetError::Malformed("a text value is not UTF-8"))?;
                Ok(FacetValue::Text(text.to_owned()))
            }
        }
    }

    /// How many chunks have each value, in the order of the values.
    pub(super) fn counts(&self) -> Result<Vec<u64>, FacetError> {
        match self.chunks {
            Chunks::Bitmaps(_) => (0..self.len)
                .map(|place| Ok(self.bitmap(place)?.len()))
                .collect(),
            Chunks::Pairs(pairs) => {
                let mut counts = vec![0; self.len as usize];
                for pair in self.pairs(pairs) {
                    counts[pair?.1 as usize] += 1;
                }
                Ok(counts)
            }
        }
    }

    fn equal(&self, value: &FacetValue) -> Result<Range<u32>, FacetError> {
        if Kind::from(value) != self.kind {
            return Ok(0..0);
        }
        let start = self.partition_point(|place| Ok(self.compare(place, value)?.is_ge()))?;
        let end = self.partition_point(|place| Ok(self.compare(place, value)?.is_gt()))?;
        Ok(start..end)
    }

    fn in_range(
        &self,
        low: &Bound<FacetValue>,
        high: &Bound<FacetValue>,
    ) -> Result<Range<u32>, FacetError> {
        let foreign = |bound: &Bound<FacetValue>| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Kind::from(value) != self.kind,
            Bound::Unbounded => false,
        };
        if foreign(low) || foreign(high) {
            return Ok(0..0);
        }
        let start = match low {
            Bound::Included(low) => {
                self.partition_point(|place| Ok(self.compare(place, low)?.is_ge()))?
            }
            Bound::Excluded(low) => {
                self.partition_point(|place| Ok(self.compare(place, low)?.is_gt()))?
            }
            Bound::Unbounded => 0,
        };
        let end = match high {
            Bound::Included(high) => {
                self.partition_point(|place| Ok(self.compare(place, high)?.is_gt()))?
            }
            Bound::Excluded(high) => {
                self.partition_point(|place| Ok(self.compare(place, high)?.is_ge()))?
            }
            Bound::Unbounded => self.len,
        };
        Ok(start..end)
    }

    fn with_prefix(&self, prefix: &str) -> Result<Range<u32>, FacetError> {
        if self.kind != Kind::Text {
            return Ok(0..0);
        }
        let prefix = prefix.as_bytes();
        let start = self.partition_point(|place| Ok(self.text(place)? >= prefix))?;
        let end = self.partition_point(|place| {
            let text = self.text(place)?;
            Ok(text > prefix && !text.starts_with(prefix))
        })?;
        Ok(start..end)
    }

    /// The first place where `reached` holds, which it does from there on.
    fn partition_point(
        &self,
        reached: impl Fn(u32) -> Result<bool, FacetError>,
    ) -> Result<u32, FacetError> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if reached(middle)? {
                high = middle
            } else {
                low = middle + 1
            }
        }
        Ok(low)
    }

    /// Compares the value at `place` with one of the same kind.
    fn compare(&self, place: u32, value: &FacetValue) -> Result<Ordering, FacetError> {
        Ok(match value {
            FacetValue::Integer(number) => self.integer(place)?.cmp(number),
            FacetValue::Text(text) => self.text(place)?.cmp(text.as_bytes()),
        })
    }

    fn integer(&self, place: u32) -> Result<i64, FacetError> {
        u64_at(self.values, place as usize * 8)
            .map(u64::cast_signed)
            .ok_or(TRUNCATED)
    }

    fn text(&self, place: u32) -> Result<&'a [u8], FacetError> {
        piece(self.values, self.len, place)
    }

    /// The chunks that have a value in a range of places.
    fn chunks_in(&self, places: Range<u32>) -> Result<RoaringBitmap, FacetError> {
        self.chunks_at(std::slice::from_ref(&places))
    }

    /// The chunks that have a value at one of `places`.
    fn chunks_at(&self, places: &[Range<u32>]) -> Result<RoaringBitmap, FacetError> {
        match self.chunks {
            Chunks::Bitmaps(_) => {
                let mut union = RoaringBitmap::new();
                for place in places.iter().cloned().flatten() {
                    union |= self.bitmap(place)?;
                }
                Ok(union)
            }
            Chunks::Pairs(pairs) => self.scan(pairs, places),
        }
    }

    fn bitmap(&self, place: u32) -> Result<RoaringBitmap, FacetError> {
        let Chunks::Bitmaps(bitmaps) = self.chunks else {
            return Ok(RoaringBitmap::new());
        };
        let bitmap = RoaringBitmap::deserialize_from(piece(bitmaps, self.len, place)?)
            .map_err(|_| FacetError::Malformed("a bitmap that Roaring refuses"))?;
        if bitmap.max().is_some_and(|last| last >= self.local_end) {
            return Err(FacetError::Malformed(
                "a bitmap of chunks that are not there",
            ));
        }
        Ok(bitmap)
    }

    /// One pass over the pairs: the fixed width makes it a stream.
    fn scan(&self, pairs: &[u8], places: &[Range<u32>]) -> Result<RoaringBitmap, FacetError> {
        let mut places: Vec<Range<u32>> = places
            .iter()
            .filter(|range| !range.is_empty())
            .cloned()
            .collect();
        places.sort_unstable_by_key(|range| range.start);
        let is_selected = |place: u32| {
            let after = places.partition_point(|range| range.start <= place);
            after > 0 && places[after - 1].contains(&place)
        };
        let mut found = RoaringBitmap::new();
        if places.is_empty() {
            return Ok(found);
        }
        for pair in self.pairs(pairs) {
            let (local, place) = pair?;
            if is_selected(place) {
                found.insert(local);
            }
        }
        Ok(found)
    }

    /// (local, place of the value), both checked.
    fn pairs(&self, pairs: &[u8]) -> impl Iterator<Item = Result<(u32, u32), FacetError>> {
        let (pairs, _) = pairs.as_chunks::<PAIR_LEN>();
        pairs.iter().map(|&[a, b, c, d, e, f, g, h]| {
            let (local, place) = (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            );
            if local >= self.local_end || place >= self.len {
                return Err(FacetError::Malformed("a pair of no chunk or no value"));
            }
            Ok((local, place))
        })
    }
}

/// The section from `offset` on, if at least `len_min` bytes are there.
fn open_ended(section: &[u8], offset: u64, len_min: u64) -> Option<&[u8]> {
    let rest = (section.len() as u64).checked_sub(offset)?;
    slice(section, offset, rest).filter(|_| rest >= len_min)
}

/// The piece at `place` of `count` pieces that lie behind their starts.
fn piece(cut: &[u8], count: u32, place: u32) -> Result<&[u8], FacetError> {
    let at = place as usize * 8;
    let (Some(start), Some(end)) = (u64_at(cut, at), u64_at(cut, at + 8)) else {
        return Err(TRUNCATED);
    };
    let len = end
        .checked_sub(start)
        .ok_or(FacetError::Malformed("a value ends before it starts"))?;
    let first = (u64::from(count) + 1) * 8;
    slice(cut, first.checked_add(start).ok_or(TRUNCATED)?, len).ok_or(TRUNCATED)
}
