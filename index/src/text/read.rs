//! Reads a text section in place.

use loci_storage::LocalOrdinal;

use super::dictionary::Dictionary;
use super::{
    BLOCK_LEN, ENCODING_ROW, ENCODING_WINDOWS, ENTRY_LEN, Field, FieldWeights, HEADER_LEN,
    POSTING_LEN, ROW_BOUNDS, SKIP_LEN, TextError, VERSION, WEIGHTS_OFFSET, WINDOW_HEADER_LEN,
    length,
};
use crate::analysis::{self, LanguageCounts, Languages};
use crate::bytes::{slice, u16_at, u32_at, u64_at};

const TRUNCATED: TextError = TextError::Malformed("it is shorter than its header says");

/// A text section over any bytes: a map in production, a `Vec` in a test.
#[derive(Debug)]
pub struct TextReader<B> {
    bytes: B,
    chunk_count: u32,
    total_length: u64,
    local_end: u32,
    term_count: u32,
    row_count: u32,
    languages: LanguageCounts,
    /// Where each part starts, in the order of the section, and where the last ends.
    parts: [u64; PARTS + 1],
}

/// The parts after the header.
const PARTS: usize = 7;
const LENGTHS: usize = 0;
const ROWS: usize = 1;
const BOUNDS: usize = 2;
const DICTIONARY: usize = 3;
const ENTRIES: usize = 4;
const POSTINGS: usize = 5;
const POSITIONS: usize = 6;

/// A term of one section. Means nothing to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Chunks that have the term, deleted ones included; at least 1.
    pub df: u32,
    list: ListLocation,
    positions: u64,
    /// No chunk has the term more often.
    pub(super) tf_max: u8,
    /// No chunk that has it has a lesser length code.
    pub(super) code_min: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListLocation {
    /// An offset in the postings.
    Windows(u64),
    /// The number of a row.
    Row(u32),
}

/// Where a term's chunks stand.
pub(super) enum List<'a> {
    Windows(Windows<'a>),
    /// tf by local.
    Row(Row<'a>),
}

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// By local, up to a multiple of [`BLOCK_LEN`]; 0 for chunks without the term.
    pub(super) tfs: &'a [u8],
    bounds: &'a [u8],
}

impl Row<'_> {
    /// (tf, length code): no posting gains more than one of them.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (u8, u8)> {
        let (pairs, _) = self.bounds.as_chunks::<2>();
        pairs
            .iter()
            .map(|&[tf, code]| (tf, code))
            .filter(|&(tf, _)| tf > 0)
    }
}

/// One chunk that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The chunk.
    pub local: LocalOrdinal,
    /// How often it has the term: 1..=255, where 255 stands for 255 or more.
    pub tf: u8,
    /// [`super::length::encode`] of the chunk's length.
    pub length_code: u8,
}

impl<B: AsRef<[u8]>> TextReader<B> {
    /// Checks the header and the lengths of all parts. Cheap: it reads no term.
    ///
    /// # Errors
    /// [`TextError::Version`], [`TextError::Analysis`], [`TextError::Malformed`].
    pub fn new(bytes: B) -> Result<Self, TextError> {
        let head = bytes.as_ref();
        if head.len() < HEADER_LEN {
            return Err(TRUNCATED);
        }
        let version = u16_at(head, 0).ok_or(TRUNCATED)?;
        if version != VERSION {
            return Err(TextError::Version { found: version });
        }
        let analysis = u16_at(head, 2).ok_or(TRUNCATED)?;
        if analysis != analysis::VERSION {
            return Err(TextError::Analysis { found: analysis });
        }
        let (local_end, term_count) = (
            u32_at(head, 16).ok_or(TRUNCATED)?,
            u32_at(head, 20).ok_or(TRUNCATED)?,
        );
        let row_count = u32_at(head, 24).ok_or(TRUNCATED)?;
        let width = u64::from(local_end).next_multiple_of(BLOCK_LEN as u64);
        // They follow a byte of something else.
        let bits = u64_at(head, 32).ok_or(TRUNCATED)? >> 8;
        let known = Languages::from_bits(bits);
        if known.bits() != bits {
            return Err(TextError::Malformed(
                "it names a language that there is not",
            ));
        }
        let mut languages = LanguageCounts::default();
        for (at, language) in known.iter().enumerate() {
            let chunks = u32_at(head, HEADER_LEN + 4 * at).ok_or(TRUNCATED)?;
            languages.add(language.into(), u64::from(chunks));
        }
        let start = HEADER_LEN as u64 + 4 * u64::from(bits.count_ones());
        let lens = [
            width.checked_mul(4),
            width.checked_mul(u64::from(row_count)),
            Some(u64::from(row_count) * 2 * ROW_BOUNDS as u64),
            u64_at(head, 40),
            Some(u64::from(term_count) * ENTRY_LEN as u64),
            u64_at(head, 48),
            u64_at(head, 56),
        ];
        let mut parts = [start; PARTS + 1];
        for (i, len) in lens.into_iter().enumerate() {
            let end = parts[i].checked_add(len.ok_or(TRUNCATED)?);
            parts[i + 1] = end.ok_or(TRUNCATED)?;
        }
        let reader = TextReader {
            chunk_count: u32_at(head, 4).ok_or(TRUNCATED)?,
            total_length: u64_at(head, 8).ok_or(TRUNCATED)?,
            local_end,
            term_count,
            row_count,
            languages,
            parts,
            bytes,
        };
        reader.check()?;
        Ok(reader)
    }

    fn check(&self) -> Result<(), TextError> {
        if self.parts[PARTS] != self.bytes.as_ref().len() as u64 {
            return Err(TextError::Malformed(
                "its parts do not add up to its length",
            ));
        }
        let lengths =
            u64::from(self.chunk_count)..=u64::from(self.chunk_count) * u64::from(u32::MAX);
        if self.chunk_count > self.local_end || !lengths.contains(&self.total_length) {
            return Err(TextError::Malformed("its counts contradict each other"));
        }
        if self.dictionary()?.len() != self.term_count as usize {
            return Err(TextError::Malformed(
                "the dictionary has another number of terms",
            ));
        }
        Ok(())
    }

    fn part(&self, part: usize) -> &[u8] {
        let (start, end) = (self.parts[part], self.parts[part + 1]);
        slice(self.bytes.as_ref(), start, end - start).unwrap_or_default()
    }

    /// The decoded length of every local, as little-endian `f32`, up to a multiple of [`BLOCK_LEN`].
    pub(super) fn lengths(&self) -> &[[u8; 4]] {
        self.part(LENGTHS).as_chunks().0
    }

    /// Chunks with at least one term, deleted ones included.
    pub fn chunk_count(&self) -> u32 {
        self.chunk_count
    }

    /// Terms in all chunks, repeats included.
    pub fn total_length(&self) -> u64 {
        self.total_length
    }

    /// 1 + the greatest local number of a chunk with terms; 0 when there is none.
    pub fn local_end(&self) -> u32 {
        self.local_end
    }

    /// What an occurrence in each field counts, by [`Field`].
    pub fn weights(&self) -> FieldWeights {
        let mut weights = FieldWeights::default();
        let head = self.bytes.as_ref();
        weights.copy_from_slice(&head[WEIGHTS_OFFSET..WEIGHTS_OFFSET + Field::ALL.len()]);
        weights
    }

    /// How many of its chunks were taken for each language, deleted ones included.
    pub fn languages(&self) -> &LanguageCounts {
        &self.languages
    }

    /// Distinct terms.
    pub fn term_count(&self) -> u32 {
        self.term_count
    }

    /// Looks `term` up. Cost: a step a byte.
    ///
    /// # Errors
    /// [`TextError::Malformed`].
    pub fn term(&self, term: &str) -> Result<Option<Term>, TextError> {
        self.terms()?.get(term)
    }

    /// The dictionary, to look up several.
    pub(super) fn terms(&self) -> Result<Terms<'_, B>, TextError> {
        Ok(Terms {
            reader: self,
            dictionary: self.dictionary()?,
        })
    }

    /// How many chunks have `term`, deleted ones included.
    ///
    /// # Errors
    /// [`TextError::Malformed`].
    pub fn df(&self, term: &str) -> Result<u32, TextError> {
        Ok(self.term(term)?.map_or(0, |term| term.df))
    }

    /// Calls `f` with every term that `like` accepts, ascending by bytes, until one call fails.
    pub(super) fn for_each_match<A: fst::Automaton>(
        &self,
        like: &A,
        mut f: impl FnMut(&str, Term) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        self.dictionary()?
            .for_each_match(like, |term, place| f(term, self.entry(place)?))
    }

    /// Skips and positions of `term`, and those of the terms after it.
    pub(super) fn positions(&self, term: Term) -> &[u8] {
        let start = usize::try_from(term.positions).ok();
        let rest = start.and_then(|start| self.part(POSITIONS).get(start..));
        rest.unwrap_or_default()
    }

    /// Calls `f` with every term, ascending by bytes, until one call fails.
    ///
    /// # Errors
    /// [`TextError::Malformed`], and those of `f`.
    pub fn for_each_term(
        &self,
        mut f: impl FnMut(&str, Term) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let mut next = 0;
        self.dictionary()?.for_each(|term, place| {
            if place != next {
                return Err(TextError::Malformed("terms are not numbered in order"));
            }
            next += 1;
            f(term, self.entry(place)?)
        })?;
        if next != u64::from(self.term_count) {
            return Err(TextError::Malformed("the dictionary lacks terms"));
        }
        Ok(())
    }

    /// The chunks that have `term`, ascending. After an error nothing more comes.
    pub fn postings(&self, term: Term) -> Postings<'_> {
        Postings {
            list: self.list(term),
            lengths: self.lengths(),
            next: 0,
            first: 0,
            entries: &[],
        }
    }

    /// Where the chunks of `term` stand.
    pub(super) fn list(&self, term: Term) -> List<'_> {
        let offset = match term.list {
            ListLocation::Row(number) => return List::Row(self.row(number)),
            ListLocation::Windows(offset) => offset,
        };
        let rest = usize::try_from(offset).ok();
        let rest = rest.and_then(|offset| self.part(POSTINGS).get(offset..));
        List::Windows(Windows {
            rest: rest.unwrap_or_default(),
            remaining: term.df,
            window_min: 0,
            local_end: self.local_end,
        })
    }

    /// What reading the chunks of `term` costs, in postings of windows.
    pub(super) fn postings_cost(&self, term: Term) -> u64 {
        match term.list {
            ListLocation::Windows(_) => u64::from(term.df),
            // Sixteen at a time.
            ListLocation::Row(_) => self.lengths().len() as u64 / 16,
        }
    }

    /// Bytes of the skips that stand before the positions of `term`.
    pub(super) fn skips_len(&self, term: Term) -> usize {
        let groups = match term.list {
            ListLocation::Row(_) => self.lengths().len() / BLOCK_LEN,
            ListLocation::Windows(_) if term.df as usize <= SKIP_LEN => 0,
            ListLocation::Windows(_) => (term.df as usize).div_ceil(SKIP_LEN),
        };
        4 * groups
    }

    fn row(&self, number: u32) -> Row<'_> {
        let width = self.lengths().len();
        let part = |part: usize, len: usize| {
            let row = self
                .part(part)
                .chunks_exact(len.max(1))
                .nth(number as usize);
            row.unwrap_or_default()
        };
        Row {
            tfs: part(ROWS, width),
            bounds: part(BOUNDS, 2 * ROW_BOUNDS),
        }
    }

    fn dictionary(&self) -> Result<Dictionary<'_>, TextError> {
        Dictionary::new(self.part(DICTIONARY))
    }

    fn entry(&self, place: u64) -> Result<Term, TextError> {
        let entry = usize::try_from(place).ok();
        let entry = entry.and_then(|place| self.part(ENTRIES).chunks_exact(ENTRY_LEN).nth(place));
        let entry = entry.ok_or(TextError::Malformed(
            "a term's place lies outside of the table",
        ))?;
        let place = u64_at(entry, 0).ok_or(TRUNCATED)?;
        let [encoding, tf_max, code_min, reserved] =
            u32_at(entry, 12).ok_or(TRUNCATED)?.to_le_bytes();
        let list = match (encoding, reserved) {
            (ENCODING_WINDOWS, 0) => ListLocation::Windows(place),
            (ENCODING_ROW, 0) if place < u64::from(self.row_count) => {
                ListLocation::Row(place as u32)
            }
            (ENCODING_ROW, 0) => return Err(TextError::Malformed("a row that there is not")),
            _ => return Err(TextError::Malformed("postings of an unknown encoding")),
        };
        let term = Term {
            df: u32_at(entry, 8).ok_or(TRUNCATED)?,
            list,
            positions: u64_at(entry, 16).ok_or(TRUNCATED)?,
            tf_max,
            code_min,
        };
        if term.df == 0 || term.df > self.chunk_count {
            return Err(TextError::Malformed(
                "a term that no chunk has, or more than there are",
            ));
        }
        Ok(term)
    }
}

/// The terms of a section.
pub(super) struct Terms<'a, B> {
    reader: &'a TextReader<B>,
    dictionary: Dictionary<'a>,
}

impl<B: AsRef<[u8]>> Terms<'_, B> {
    pub(super) fn get(&self, term: &str) -> Result<Option<Term>, TextError> {
        let place = self.dictionary.get(term)?;
        place.map(|place| self.reader.entry(place)).transpose()
    }
}

/// One window of a term's postings.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// What entries count from. Every local of the window is below the section's `local_end`,
    /// provided that it is checked against it.
    pub(super) first: u32,
    /// A multiple of [`POSTING_LEN`] bytes.
    pub(super) entries: &'a [u8],
}

/// The windows of one term, headers checked, entries not.
pub(super) struct Windows<'a> {
    rest: &'a [u8],
    /// Entries that are still to come.
    remaining: u32,
    /// The least number that the next window may have.
    window_min: u32,
    local_end: u32,
}

impl<'a> Windows<'a> {
    fn read(&mut self) -> Result<Window<'a>, TextError> {
        let cut = TextError::Malformed("postings end before the last");
        let (Some(number), Some(count)) = (u32_at(self.rest, 0), u32_at(self.rest, 4)) else {
            return Err(cut);
        };
        if number < self.window_min || u64::from(number) << 16 >= u64::from(self.local_end) {
            return Err(TextError::Malformed("a window out of order or of no chunk"));
        }
        if count == 0 || count > self.remaining || count > 1 << 16 {
            return Err(TextError::Malformed(
                "a window has more entries than the term",
            ));
        }
        let len = count as usize * POSTING_LEN;
        let entries = self
            .rest
            .get(WINDOW_HEADER_LEN..WINDOW_HEADER_LEN + len)
            .ok_or(cut)?;
        self.rest = &self.rest[WINDOW_HEADER_LEN + len..];
        self.remaining -= count;
        self.window_min = number + 1;
        Ok(Window {
            first: number << 16,
            entries,
        })
    }
}

impl<'a> Iterator for Windows<'a> {
    type Item = Result<Window<'a>, TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining == 0 {
            return None;
        }
        let window = self.read();
        if window.is_err() {
            self.remaining = 0;
        }
        Some(window)
    }
}

/// The chunks that have a term; see [`TextReader::postings`].
pub struct Postings<'a> {
    list: List<'a>,
    lengths: &'a [[u8; 4]],
    /// The next local to look at, of a row.
    next: usize,
    first: u32,
    entries: &'a [u8],
}

impl std::fmt::Debug for Postings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postings").finish_non_exhaustive()
    }
}

impl Iterator for Postings<'_> {
    type Item = Result<Posting, TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        let windows = match &mut self.list {
            List::Windows(windows) => windows,
            List::Row(row) => {
                let after = row.tfs.get(self.next..)?;
                let local = self.next + after.iter().position(|&tf| tf > 0)?;
                self.next = local + 1;
                let length = f32::from_le_bytes(*self.lengths.get(local)?);
                return Some(Ok(Posting {
                    local: LocalOrdinal(local as u32),
                    tf: row.tfs[local],
                    length_code: length::encode(length as u32),
                }));
            }
        };
        if self.entries.is_empty() {
            match windows.next()? {
                Ok(window) => (self.first, self.entries) = (window.first, window.entries),
                Err(error) => return Some(Err(error)),
            }
        }
        let (entry, rest) = self.entries.split_first_chunk::<POSTING_LEN>()?;
        self.entries = rest;
        let [low, high, tf, length_code] = *entry;
        let local = self.first + u32::from(u16::from_le_bytes([low, high]));
        if local >= windows.local_end || tf == 0 {
            (self.entries, windows.remaining) = (&[], 0);
            return Some(Err(TextError::Malformed(
                "a posting of no chunk or no occurrence",
            )));
        }
        Some(Ok(Posting {
            local: LocalOrdinal(local),
            tf,
            length_code,
        }))
    }
}
