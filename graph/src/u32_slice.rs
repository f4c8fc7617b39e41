//! Arrays of little-endian `u32` inside bytes that may be anything: what all sections here consist of.
//!
//! A section is a header of words, then arrays of words one after another. [`Layout`] locates them,
//! [`U32Slice`] reads one. Nothing is assumed of alignment, and no access can panic.

use std::cmp::Ordering;
use std::iter::Copied;
use std::ops::{Range, RangeInclusive};
use std::slice;

use crate::error::GraphError;

/// Bytes of a word.
const WIDTH: usize = 4;

/// A borrowed array of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct U32Slice<'a>(&'a [[u8; WIDTH]]);

/// The words of an array, in order.
pub(crate) type U32Iter<'a> =
    std::iter::Map<Copied<slice::Iter<'a, [u8; WIDTH]>>, fn([u8; WIDTH]) -> u32>;

impl<'a> U32Slice<'a> {
    /// The words in `range` of `bytes`; none when the range lies outside.
    pub(crate) fn new(bytes: &'a [u8], range: &Range<usize>) -> U32Slice<'a> {
        U32Slice(bytes.get(range.clone()).unwrap_or_default().as_chunks().0)
    }

    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(self, index: usize) -> Option<u32> {
        self.0.get(index).copied().map(u32::from_le_bytes)
    }

    pub(crate) fn iter(self) -> U32Iter<'a> {
        self.0.iter().copied().map(u32::from_le_bytes)
    }

    /// The words in `range`; none when the range lies outside.
    pub(crate) fn slice(self, range: Range<usize>) -> U32Slice<'a> {
        U32Slice(self.0.get(range).unwrap_or_default())
    }

    /// The index of `value` among ascending words: interpolation search begins, exponential search (Bentley and
    /// Yao, 1976) goes on. One step where no number is left out, as with the concepts of a store of one
    /// segment; O(log distance) from the first guess elsewhere.
    pub(crate) fn position_of(self, value: u32) -> Option<usize> {
        let (first, last) = (self.get(0)?, self.get(self.len() - 1)?);
        let above = u64::from(value.checked_sub(first)?);
        let span = u64::from(last.checked_sub(first)?).max(1);
        let guess = (above.min(span) * (self.len() - 1) as u64 / span) as usize;
        let range = match self.get(guess)?.cmp(&value) {
            Ordering::Equal => return Some(guess),
            Ordering::Less => self.bounds_after(guess, value),
            Ordering::Greater => self.bounds_before(guess, value),
        };
        let place = self.slice(range.clone()).0;
        let place = place.binary_search_by_key(&value, |&word| u32::from_le_bytes(word));
        place.ok().map(|place| range.start + place)
    }

    /// Where `value` can be after `below`, whose word is smaller.
    fn bounds_after(self, mut below: usize, value: u32) -> Range<usize> {
        let mut step = 1;
        while self.get(below + step).is_some_and(|word| word < value) {
            below += step;
            step *= 2;
        }
        below + 1..(below + step + 1).min(self.len())
    }

    /// Where `value` can be before `above`, whose word is larger.
    fn bounds_before(self, mut above: usize, value: u32) -> Range<usize> {
        let mut step = 1;
        while step <= above && self.get(above - step).is_some_and(|word| word > value) {
            above -= step;
            step *= 2;
        }
        above.saturating_sub(step)..above
    }

    /// How many words at the beginning satisfy `is_before`, which no word after the first that does not may.
    pub(crate) fn partition_point(self, is_before: impl Fn(u32) -> bool) -> usize {
        self.0
            .partition_point(|&word| is_before(u32::from_le_bytes(word)))
    }

    /// Row `index` of an array that these words are the starts of; empty when there is none.
    pub(crate) fn row(self, index: usize) -> Range<usize> {
        match (self.get(index), self.get(index + 1)) {
            (Some(start), Some(end)) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// Whether each word is larger than the one before.
    pub(crate) fn is_strictly_ascending(self) -> bool {
        self.iter().zip(self.iter().skip(1)).all(|(a, b)| a < b)
    }

    /// Whether these are starts of rows that fill an array of `len`.
    pub(crate) fn are_row_starts(self, len: usize) -> bool {
        self.get(0) == Some(0)
            && self.get(self.len() - 1).map(|last| last as usize) == Some(len)
            && self.iter().zip(self.iter().skip(1)).all(|(a, b)| a <= b)
    }
}

/// Finds the arrays of a section one after another.
pub(crate) struct Layout {
    section: &'static str,
    at: u64,
    len: u64,
}

impl Layout {
    /// Reads a header of `N` words whose first is the version.
    pub(crate) fn open<const N: usize>(
        section: &'static str,
        version: u32,
        bytes: &[u8],
    ) -> Result<(Layout, [u32; N]), GraphError> {
        Layout::open_since(section, version..=version, bytes)
    }

    /// [`Layout::open`] of a section of which earlier versions are read, too.
    pub(crate) fn open_since<const N: usize>(
        section: &'static str,
        versions: RangeInclusive<u32>,
        bytes: &[u8],
    ) -> Result<(Layout, [u32; N]), GraphError> {
        let len = bytes.len() as u64;
        let mut layout = Layout {
            section,
            at: 0,
            len,
        };
        let range = layout.words(N as u64)?;
        let words = U32Slice::new(bytes, &range);
        let header = std::array::from_fn(|index| words.get(index).unwrap_or_default());
        match header.first() {
            Some(found) if versions.contains(found) => Ok((layout, header)),
            found => Err(GraphError::Version {
                section,
                found: found.copied().unwrap_or_default(),
                known: *versions.end(),
            }),
        }
    }

    /// The next `count` words.
    pub(crate) fn words(&mut self, count: u64) -> Result<Range<usize>, GraphError> {
        // Counts come from 32-bit fields, so this cannot overflow.
        self.bytes(count * WIDTH as u64)
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: u64) -> Result<Range<usize>, GraphError> {
        let start = self.at;
        self.at += count;
        if self.at > self.len {
            return Err(self.wrong_length());
        }
        Ok(start as usize..self.at as usize)
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(self) -> Result<(), GraphError> {
        if self.at == self.len {
            Ok(())
        } else {
            Err(self.wrong_length())
        }
    }

    fn wrong_length(&self) -> GraphError {
        GraphError::Length {
            section: self.section,
            need: self.at,
            got: self.len,
        }
    }
}

/// Appends `words` to a section.
pub(crate) fn extend(bytes: &mut Vec<u8>, words: impl IntoIterator<Item = u32>) {
    for word in words {
        bytes.extend(word.to_le_bytes());
    }
}

/// A count as the format holds it.
pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).expect("a segment has under 2^32 mentions, edges and pieces of evidence")
}

/// The starts of rows with these lengths: one more than there are rows.
pub(crate) fn starts(lengths: impl IntoIterator<Item = usize>) -> Vec<u32> {
    let mut at = 0;
    let ends = lengths.into_iter().map(|len| {
        at += len;
        count(at)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
        let mut bytes = Vec::new();
        extend(&mut bytes, values);
        bytes
    }

    fn position_in(bytes: &[u8], value: u32) -> Option<usize> {
        U32Slice::new(bytes, &(0..bytes.len())).position_of(value)
    }

    #[test]
    fn a_word_is_found_at_both_ends_of_the_numbers() {
        let bytes = bytes_of([0, u32::MAX]);
        assert_eq!(position_in(&bytes, 0), Some(0));
        assert_eq!(position_in(&bytes, u32::MAX), Some(1));
        assert_eq!(position_in(&bytes, 7), None);
        assert_eq!(position_in(&[], 0), None);
    }

    proptest! {
        #[test]
        fn a_word_is_found_where_a_linear_search_finds_it(
            values in prop::collection::btree_set(
                prop_oneof![0u32..300, 1_000_000u32..1_000_200, any::<u32>()],
                0..200,
            ),
            others in prop::collection::vec(prop_oneof![0u32..300, any::<u32>()], 20),
        ) {
            let bytes = bytes_of(values.iter().copied());
            for value in values.iter().copied().chain(others) {
                let expected = values.iter().position(|&word| word == value);
                prop_assert_eq!(position_in(&bytes, value), expected);
            }
        }

        #[test]
        fn words_in_any_order_are_searched_without_a_panic(
            values in prop::collection::vec(prop_oneof![0u32..20, any::<u32>()], 0..50),
            value in prop_oneof![0u32..20, any::<u32>()],
        ) {
            let bytes = bytes_of(values.iter().copied());
            for value in values.iter().copied().chain([value]) {
                if let Some(place) = position_in(&bytes, value) {
                    prop_assert_eq!(values[place], value);
                }
            }
        }
    }
}
