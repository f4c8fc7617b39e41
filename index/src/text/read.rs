//! Reads a text section in place.

use loci_storage::Local;

use super::dictionary::Dictionary;
use super::{
    ENCODING_WINDOWS, ENTRY_LEN, HEADER_LEN, POSTING_LEN, TextError, VERSION, WINDOW_HEADER_LEN,
};
use crate::analysis;
use crate::bytes::{slice, u16_at, u32_at, u64_at};

const CUT: TextError = TextError::Malformed("it is shorter than its header says");

/// A text section over any bytes: a map in production, a `Vec` in a test.
#[derive(Debug)]
pub struct TextReader<B> {
    bytes: B,
    chunk_count: u32,
    total_length: u64,
    local_end: u32,
    term_count: u32,
    dictionary_len: u64,
    postings_len: u64,
}

/// A term of one section. Means nothing to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Chunks that have the term, deleted ones included; at least 1.
    pub df: u32,
    offset: u64,
}

/// One chunk that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The chunk.
    pub local: Local,
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
            return Err(CUT);
        }
        let version = u16_at(head, 0).ok_or(CUT)?;
        if version != VERSION {
            return Err(TextError::Version { found: version });
        }
        let analysis = u16_at(head, 2).ok_or(CUT)?;
        if analysis != analysis::VERSION {
            return Err(TextError::Analysis { found: analysis });
        }
        let reader = TextReader {
            chunk_count: u32_at(head, 4).ok_or(CUT)?,
            total_length: u64_at(head, 8).ok_or(CUT)?,
            local_end: u32_at(head, 16).ok_or(CUT)?,
            term_count: u32_at(head, 20).ok_or(CUT)?,
            dictionary_len: u64_at(head, 24).ok_or(CUT)?,
            postings_len: u64_at(head, 32).ok_or(CUT)?,
            bytes,
        };
        reader.check()?;
        Ok(reader)
    }

    fn check(&self) -> Result<(), TextError> {
        let end = self
            .entries_start()
            .and_then(|start| start.checked_add(self.entries_len()))
            .and_then(|start| start.checked_add(self.postings_len));
        if end != Some(self.bytes.as_ref().len() as u64) {
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

    /// Distinct terms.
    pub fn term_count(&self) -> u32 {
        self.term_count
    }

    /// Looks `term` up. Cost: a step a byte.
    ///
    /// # Errors
    /// [`TextError::Malformed`].
    pub fn term(&self, term: &str) -> Result<Option<Term>, TextError> {
        self.dictionary()?
            .get(term)?
            .map(|place| self.entry(place))
            .transpose()
    }

    /// How many chunks have `term`, deleted ones included.
    ///
    /// # Errors
    /// [`TextError::Malformed`].
    pub fn df(&self, term: &str) -> Result<u32, TextError> {
        Ok(self.term(term)?.map_or(0, |term| term.df))
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
            windows: self.windows(term),
            first: 0,
            entries: &[],
        }
    }

    /// The windows of `term`.
    pub(super) fn windows(&self, term: Term) -> Windows<'_> {
        let postings = self.postings_start().and_then(|start| {
            slice(
                self.bytes.as_ref(),
                start.checked_add(term.offset)?,
                self.postings_len.checked_sub(term.offset)?,
            )
        });
        Windows {
            rest: postings.unwrap_or_default(),
            left: term.df,
            window_min: 0,
            local_end: self.local_end,
        }
    }

    fn dictionary(&self) -> Result<Dictionary<'_>, TextError> {
        let bytes = slice(self.bytes.as_ref(), HEADER_LEN as u64, self.dictionary_len);
        Dictionary::new(bytes.ok_or(CUT)?)
    }

    fn entries_start(&self) -> Option<u64> {
        (HEADER_LEN as u64).checked_add(self.dictionary_len)
    }

    fn entries_len(&self) -> u64 {
        u64::from(self.term_count) * ENTRY_LEN as u64
    }

    fn postings_start(&self) -> Option<u64> {
        self.entries_start()?.checked_add(self.entries_len())
    }

    fn entry(&self, place: u64) -> Result<Term, TextError> {
        if place >= u64::from(self.term_count) {
            return Err(TextError::Malformed(
                "a term's place lies outside of the table",
            ));
        }
        let start = self.entries_start().ok_or(CUT)?;
        let entry = slice(
            self.bytes.as_ref(),
            start + place * ENTRY_LEN as u64,
            ENTRY_LEN as u64,
        )
        .ok_or(CUT)?;
        let term = Term {
            offset: u64_at(entry, 0).ok_or(CUT)?,
            df: u32_at(entry, 8).ok_or(CUT)?,
        };
        if u32_at(entry, 12) != Some(ENCODING_WINDOWS) {
            return Err(TextError::Malformed("postings of an unknown encoding"));
        }
        if term.df == 0 || term.df > self.chunk_count {
            return Err(TextError::Malformed(
                "a term that no chunk has, or more than there are",
            ));
        }
        Ok(term)
    }
}

/// One window of a term's postings.
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
    left: u32,
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
        if count == 0 || count > self.left || count > 1 << 16 {
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
        self.left -= count;
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
        if self.left == 0 {
            return None;
        }
        let window = self.read();
        if window.is_err() {
            self.left = 0;
        }
        Some(window)
    }
}

/// The chunks that have a term; see [`TextReader::postings`].
pub struct Postings<'a> {
    windows: Windows<'a>,
    first: u32,
    entries: &'a [u8],
}

impl std::fmt::Debug for Postings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postings")
            .field("left", &self.windows.left)
            .finish_non_exhaustive()
    }
}

impl Iterator for Postings<'_> {
    type Item = Result<Posting, TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.entries.is_empty() {
            match self.windows.next()? {
                Ok(window) => (self.first, self.entries) = (window.first, window.entries),
                Err(error) => return Some(Err(error)),
            }
        }
        let (entry, rest) = self.entries.split_first_chunk::<POSTING_LEN>()?;
        self.entries = rest;
        let [low, high, tf, length_code] = *entry;
        let local = self.first + u32::from(u16::from_le_bytes([low, high]));
        if local >= self.windows.local_end || tf == 0 {
            (self.entries, self.windows.left) = (&[], 0);
            return Some(Err(TextError::Malformed(
                "a posting of no chunk or no occurrence",
            )));
        }
        Some(Ok(Posting {
            local: Local(local),
            tf,
            length_code,
        }))
    }
}
