//! The chunks and positions of one term, looked up by chunk.

use super::positions::{PositionLists, field_number};
use super::read::{List, Row, Term, TextReader, Window};
use super::{BLOCK_LEN, Field, POSTING_LEN, SKIP_LEN, TextError};
use crate::bytes::u32_at;

const DAMAGED: TextError = TextError::Malformed("positions begin outside of the section");

/// The positions of a term in chunks that are named one after another.
pub(super) struct TermCursor<'a> {
    list: CursorList<'a>,
    /// Skips and positions of the term, and of those after it.
    positions: &'a [u8],
    /// Bytes of the skips.
    skips_len: usize,
    /// Where the last chunk's positions ended: its group, the chunks of the group up to it, and the rest
    /// of the bytes.
    last: Option<(usize, usize, PositionLists<'a>)>,
}

enum CursorList<'a> {
    /// Windows with the number of entries before them.
    Windows(Vec<(Window<'a>, u32)>),
    Row(Row<'a>),
}

impl<'a> TermCursor<'a> {
    pub(super) fn new<B: AsRef<[u8]>>(
        reader: &'a TextReader<B>,
        term: Term,
    ) -> Result<TermCursor<'a>, TextError> {
        let list = match reader.list(term) {
            List::Row(row) => CursorList::Row(row),
            List::Windows(windows) => {
                let mut before = 0;
                let mut all = Vec::new();
                for window in windows {
                    let window = window?;
                    let len = (window.entries.len() / POSTING_LEN) as u32;
                    all.push((window, before));
                    before += len;
                }
                CursorList::Windows(all)
            }
        };
        Ok(TermCursor {
            list,
            positions: reader.positions(term),
            skips_len: reader.skips_len(term),
            last: None,
        })
    }

    /// The tf of the term in a chunk; 0 where it is not.
    pub(super) fn tf(&self, local: u32) -> u8 {
        match &self.list {
            CursorList::Row(row) => row.tfs.get(local as usize).copied().unwrap_or(0),
            CursorList::Windows(_) => self.entry(local).map_or(0, |(tf, _)| tf),
        }
    }

    /// tf, and the number of the entry in the term's list.
    fn entry(&self, local: u32) -> Option<(u8, u32)> {
        let CursorList::Windows(windows) = &self.list else {
            return None;
        };
        let at = windows.binary_search_by_key(&(local & !0xffff), |(window, _)| window.first);
        let (window, before) = windows.get(at.ok()?)?;
        let (entries, _) = window.entries.as_chunks::<POSTING_LEN>();
        let low = |entry: &[u8; POSTING_LEN]| u16::from_le_bytes([entry[0], entry[1]]);
        let at = entries.binary_search_by_key(&(local as u16), low).ok()?;
        Some((entries[at][2], before + at as u32))
    }

    /// Replaces `out` by the positions of the term in a chunk: none where it is not.
    ///
    /// Cost: chunks that are asked for in ascending order go on from the one before; others skip up to 63.
    pub(super) fn positions(&mut self, local: u32, out: &mut Vec<u32>) -> Result<(), TextError> {
        out.clear();
        let (group, within) = match &self.list {
            CursorList::Row(row) => {
                let block = local as usize / BLOCK_LEN;
                let before = row.tfs.get(block * BLOCK_LEN..=local as usize);
                match before.and_then(<[u8]>::split_last) {
                    Some((&tf, before)) if tf > 0 => {
                        (block, before.iter().filter(|&&tf| tf > 0).count())
                    }
                    _ => return Ok(()),
                }
            }
            CursorList::Windows(_) => match self.entry(local) {
                Some((_, number)) => (number as usize / SKIP_LEN, number as usize % SKIP_LEN),
                None => return Ok(()),
            },
        };
        let start = match self.skips_len {
            0 => 0,
            len => {
                let skip = u32_at(self.positions, 4 * group).filter(|_| 4 * group < len);
                len + skip.ok_or(DAMAGED)? as usize
            }
        };
        let (skipped, mut lists) = match self.last {
            Some((last, done, rest)) if last == group && done <= within => (done, rest),
            _ => (
                0,
                PositionLists(self.positions.get(start..).ok_or(DAMAGED)?),
            ),
        };
        for _ in skipped..within {
            lists.skip()?;
        }
        lists.read(out)?;
        self.last = Some((group, within + 1, lists));
        Ok(())
    }

    /// How often the term occurs in a field of a chunk.
    pub(super) fn tf_in_field(
        &mut self,
        field: Field,
        local: u32,
        scratch: &mut Vec<u32>,
    ) -> Result<usize, TextError> {
        self.positions(local, scratch)?;
        Ok(scratch
            .iter()
            .filter(|&&at| field.matches_number(field_number(at)))
            .count())
    }
}

/// How often words stand at the same distances as in a question.
///
/// - `words`: of each, its place in the question and its positions in the chunk, ascending.
/// - `slop`: how far out of place words may be, in all; see [`super::parse`].
pub(super) fn phrase_occurrences(words: &[(u32, Vec<u32>)], slop: u32) -> usize {
    if words.is_empty() {
        return 0;
    }
    if slop == 0 {
        return exact_occurrences(words);
    }
    let mut leading = vec![0usize; words.len()];
    let at = |leading: &[usize], word: usize| -> Option<i64> {
        let (place, positions) = &words[word];
        Some(i64::from(*positions.get(leading[word])?) - i64::from(*place))
    };
    let mut found = 0;
    loop {
        let (mut least, mut most, mut nearest) = (i64::MAX, i64::MIN, 0);
        for word in 0..words.len() {
            let Some(start) = at(&leading, word) else {
                return found;
            };
            if start < least {
                (least, nearest) = (start, word);
            }
            most = most.max(start);
        }
        let is_near = most.saturating_sub(least) <= i64::from(slop);
        found += usize::from(is_near && are_distinct_positions(words, &leading));
        match leading.get_mut(nearest) {
            Some(head) => *head += 1,
            None => return found,
        }
    }
}

/// [`phrase_occurrences`] without slop: places of the first word around which all others stand as they should.
fn exact_occurrences(words: &[(u32, Vec<u32>)]) -> usize {
    let Some(((first_place, first), others)) = words.split_first() else {
        return 0;
    };
    let is_occurrence = |position: u32| {
        let start = i64::from(position) - i64::from(*first_place);
        others.iter().all(|(place, positions)| {
            let expected = u32::try_from(start + i64::from(*place));
            expected.is_ok_and(|expected| positions.binary_search(&expected).is_ok())
        })
    };
    first
        .iter()
        .filter(|&&position| is_occurrence(position))
        .count()
}

/// Whether no two words stand at the same place.
fn are_distinct_positions(words: &[(u32, Vec<u32>)], leading: &[usize]) -> bool {
    let at = |word: usize| words[word].1.get(leading[word]);
    let places = (0..words.len()).map(at);
    let is_new = |(word, place)| (0..word).all(|other| at(other) != place);
    places.enumerate().all(is_new) || words.windows(2).any(|pair| pair[0].0 == pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrase_is_counted_when_word_distances_match() {
        let words = |lists: &[&[u32]]| -> Vec<(u32, Vec<u32>)> {
            (0..).zip(lists.iter().map(|list| list.to_vec())).collect()
        };
        let cases: &[(&[&[u32]], u32, usize)] = &[
            (&[&[3], &[4]], 0, 1),
            (&[&[3], &[5]], 0, 0),
            (&[&[3], &[5]], 1, 1),
            (&[&[4], &[3]], 1, 0),
            (&[&[4], &[3]], 2, 1),
            (&[&[1, 5, 9], &[2, 6, 11], &[3, 7, 12]], 0, 2),
            (&[&[1], &[]], 0, 0),
            (&[&[7, 8]], 0, 2),
            (&[&[5], &[5]], 1, 0),
        ];
        for (lists, slop, count) in cases {
            assert_eq!(
                phrase_occurrences(&words(lists), *slop),
                *count,
                "{lists:?} {slop}"
            );
        }
        assert_eq!(phrase_occurrences(&[], 0), 0);
    }
}
