//! Chunks' terms → the bytes of a text section.
//!
//! One flat list of (term, local, tf, length code) grows as chunks come, and one of their positions; a stable
//! counting sort by term at the end makes the postings, already ascending by local.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use loci_storage::LocalOrdinal;

use super::bm25::saturate_tf;
use super::{
    BLOCK_LEN, ENCODING_ROW, ENCODING_WINDOWS, Field, HEADER_LEN, LANGUAGES_LEN, POSITION_BITS,
    ROW_BOUNDS, SKIP_LEN, TERM_BYTES_MAX, TextError, VERSION, dictionary, length, positions,
};
use crate::analysis::{self, Analyzer, LanguageCounts};

/// Chunks below which no term has a row, and the share of them above which one has.
const ROWS_MIN_LOCALS: usize = 64;
const ROW_DF_DIVISOR: usize = 8;

/// Places between two texts of one field.
const POSITION_GAP: u32 = 128;

/// What an occurrence in each field counts, by [`Field`]: 1..=15.
pub type FieldWeights = [u8; Field::ALL.len()];

/// Every field counts the same.
pub const UNIFORM_WEIGHTS: FieldWeights = [1; Field::ALL.len()];

/// Collects the terms of a layer's chunks.
#[derive(Debug)]
pub struct TextBuilder {
    weights: FieldWeights,
    languages: LanguageCounts,
    /// Number of a term, by first appearance.
    term_numbers: HashMap<Box<str>, u32, RandomState>,
    postings: Vec<PendingPosting>,
    /// Of one posting after another, as the section has them.
    positions: Vec<u8>,
    /// Term numbers of the chunk at hand, each with its position.
    chunk_terms: Vec<(u32, u32)>,
    /// Places that the fields of the chunk have so far.
    next_positions: [u32; Field::ALL.len()],
    last_local: Option<u32>,
    local_end: u32,
    chunk_count: u32,
    total_length: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPosting {
    /// Where its positions start.
    pub(super) positions: u64,
    pub(super) positions_len: u32,
    pub(super) term: u32,
    pub(super) local: u32,
    pub(super) tf: u8,
    pub(super) length_code: u8,
}

impl Default for TextBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl TextBuilder {
    /// A builder without chunks, for which every field counts the same.
    pub fn new() -> Self {
        Self::with_weights(UNIFORM_WEIGHTS)
    }

    /// A builder without chunks. Weights are taken to lie in 1..=15.
    pub fn with_weights(weights: FieldWeights) -> Self {
        TextBuilder {
            weights: weights.map(|weight| weight.clamp(1, 15)),
            languages: LanguageCounts::default(),
            term_numbers: HashMap::default(),
            postings: Vec::new(),
            positions: Vec::new(),
            chunk_terms: Vec::new(),
            next_positions: [0; Field::ALL.len()],
            last_local: None,
            local_end: 0,
            chunk_count: 0,
            total_length: 0,
        }
    }

    /// Adds a chunk with the terms of its body, one a place.
    ///
    /// # Errors
    /// [`TextError::Order`] unless locals ascend; [`TextError::TermLength`]. Nothing of the chunk
    /// is kept then.
    pub fn push<S: AsRef<str>>(
        &mut self,
        local: LocalOrdinal,
        terms: impl IntoIterator<Item = S>,
    ) -> Result<(), TextError> {
        self.begin_chunk(local)?;
        for (place, term) in (0..).zip(terms) {
            self.add_term(Field::Body, place, term.as_ref())?;
        }
        self.end_chunk(local);
        Ok(())
    }

    /// Adds a chunk with the terms of `texts` together, in the languages that `analyzer` speaks. Calls
    /// `told` with each, in order.
    ///
    /// # Errors
    /// [`TextError::Order`] unless locals ascend.
    pub fn push_texts<'t>(
        &mut self,
        local: LocalOrdinal,
        analyzer: &mut Analyzer,
        texts: impl IntoIterator<Item = (Field, &'t str)>,
        mut on_term: impl FnMut(Field, &str),
    ) -> Result<(), TextError> {
        self.begin_chunk(local)?;
        let mut outcome = Ok(());
        for (field, text) in texts {
            let first = match self.next_positions[field as usize] {
                0 => 0,
                next => next + POSITION_GAP,
            };
            analyzer.for_each_token(text, |token| {
                let place = first.saturating_add(token.position);
                if outcome.is_ok() {
                    outcome = self.add_term(field, place, token.term);
                }
                on_term(field, token.term);
            });
        }
        outcome?;
        self.languages.add(analyzer.languages(), 1);
        self.end_chunk(local);
        Ok(())
    }

    fn begin_chunk(&mut self, LocalOrdinal(local): LocalOrdinal) -> Result<(), TextError> {
        if let Some(last) = self.last_local.filter(|&last| last >= local) {
            return Err(TextError::Order { local, last });
        }
        self.chunk_terms.clear();
        self.next_positions = [0; Field::ALL.len()];
        Ok(())
    }

    fn add_term(&mut self, field: Field, place: u32, term: &str) -> Result<(), TextError> {
        if term.is_empty() || term.len() > TERM_BYTES_MAX {
            return Err(TextError::TermLength(term.len()));
        }
        let next = self.term_numbers.len() as u32;
        let number = match self.term_numbers.get(term) {
            Some(&number) => number,
            None => *self.term_numbers.entry(term.into()).or_insert(next),
        };
        let place = place.min((1 << POSITION_BITS) - 1);
        self.next_positions[field as usize] = place + 1;
        self.chunk_terms
            .push((number, (field as u32) << POSITION_BITS | place));
        Ok(())
    }

    fn end_chunk(&mut self, LocalOrdinal(local): LocalOrdinal) {
        self.last_local = Some(local);
        if self.chunk_terms.is_empty() {
            return;
        }
        let weights = self.weights;
        let weight = |position: u32| u32::from(weights[(position >> POSITION_BITS) as usize]);
        let length: u64 = self
            .chunk_terms
            .iter()
            .map(|&(_, at)| u64::from(weight(at)))
            .sum();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.chunk_count += 1;
        self.total_length += u64::from(length);
        self.local_end = local.saturating_add(1);
        let length_code = length::encode(length);
        self.chunk_terms.sort_unstable();
        for run in self.chunk_terms.chunk_by(|a, b| a.0 == b.0) {
            let start = self.positions.len();
            positions::write(run.iter().map(|&(_, at)| at), &mut self.positions);
            let tf = run.iter().map(|&(_, at)| weight(at)).sum::<u32>();
            self.postings.push(PendingPosting {
                positions: start as u64,
                positions_len: (self.positions.len() - start) as u32,
                term: run[0].0,
                local,
                tf: saturate_tf(tf),
                length_code,
            });
        }
    }

    /// The bytes of the section.
    pub fn finish(self) -> Vec<u8> {
        let starts = term_starts(&self.postings, self.term_numbers.len());
        let sorted = sorted_by_term(&self.postings, &starts);
        let mut terms: Vec<(Box<str>, u32)> = self.term_numbers.into_iter().collect();
        // A term of a refused chunk may have no postings.
        terms.retain(|&(_, number)| starts[number as usize] < starts[number as usize + 1]);
        terms.sort_unstable();
        let mut lists = PostingsWriter::new(self.local_end as usize);
        for &(_, number) in &terms {
            let run = &sorted[starts[number as usize]..starts[number as usize + 1]];
            lists.push(run, &self.positions);
        }
        let codes = self.postings.iter();
        let codes = codes.map(|posting| (posting.local, posting.length_code));
        let head = SectionHeader {
            weights: self.weights,
            languages: self.languages,
            chunk_count: self.chunk_count,
            total_length: self.total_length,
            local_end: self.local_end,
        };
        head.write_section(terms.iter().map(|(term, _)| &**term), codes, lists)
    }
}

/// What a section says of all its chunks.
pub(super) struct SectionHeader {
    pub(super) weights: FieldWeights,
    pub(super) languages: LanguageCounts,
    pub(super) chunk_count: u32,
    pub(super) total_length: u64,
    pub(super) local_end: u32,
}

impl SectionHeader {
    /// The bytes of a section.
    ///
    /// - `terms`: ascending, as many as were pushed to `lists`.
    /// - `codes`: locals with their length code, each at least once.
    pub(super) fn write_section<'t>(
        self,
        terms: impl ExactSizeIterator<Item = &'t str> + Clone,
        codes: impl Iterator<Item = (u32, u8)>,
        lists: PostingsWriter,
    ) -> Vec<u8> {
        let term_count = terms.len() as u32;
        let dictionary = dictionary::write(terms);
        let lengths = encode_lengths(codes, lists.width);
        let mut out = Vec::with_capacity(
            HEADER_LEN
                + lengths.len()
                + lists.rows.len()
                + lists.bounds.len()
                + dictionary.len()
                + lists.entries.len()
                + lists.postings.len()
                + lists.positions.len(),
        );
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&analysis::VERSION.to_le_bytes());
        out.extend_from_slice(&self.chunk_count.to_le_bytes());
        out.extend_from_slice(&self.total_length.to_le_bytes());
        out.extend_from_slice(&self.local_end.to_le_bytes());
        out.extend_from_slice(&term_count.to_le_bytes());
        out.extend_from_slice(&lists.row_count.to_le_bytes());
        out.extend_from_slice(&self.weights);
        let languages = self.languages.languages();
        out.extend_from_slice(&languages.bits().to_le_bytes()[..LANGUAGES_LEN]);
        out.extend_from_slice(&(dictionary.len() as u64).to_le_bytes());
        out.extend_from_slice(&(lists.postings.len() as u64).to_le_bytes());
        out.extend_from_slice(&(lists.positions.len() as u64).to_le_bytes());
        for language in languages.iter() {
            let chunks = u32::try_from(self.languages.get(language)).unwrap_or(u32::MAX);
            out.extend_from_slice(&chunks.to_le_bytes());
        }
        for part in [
            lengths,
            lists.rows,
            lists.bounds,
            dictionary,
            lists.entries,
            lists.postings,
            lists.positions,
        ] {
            out.extend_from_slice(&part);
        }
        out
    }
}

/// The decoded length of every local.
fn encode_lengths(codes: impl Iterator<Item = (u32, u8)>, width: usize) -> Vec<u8> {
    let mut out: Vec<u8> = std::iter::repeat_n(1f32.to_le_bytes(), width)
        .flatten()
        .collect();
    for (local, code) in codes {
        let length = length::decode(code) as f32;
        let at = local as usize * 4;
        out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    out
}

/// What the section has of its terms, as they come.
pub(super) struct PostingsWriter {
    /// Locals of a row.
    width: usize,
    entries: Vec<u8>,
    postings: Vec<u8>,
    positions: Vec<u8>,
    row_count: u32,
    rows: Vec<u8>,
    bounds: Vec<u8>,
}

impl PostingsWriter {
    pub(super) fn new(local_end: usize) -> PostingsWriter {
        PostingsWriter {
            width: local_end.next_multiple_of(BLOCK_LEN),
            entries: Vec::new(),
            postings: Vec::new(),
            positions: Vec::new(),
            row_count: 0,
            rows: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// Adds the next term: its chunks, ascending, each with where its positions are in `positions`.
    pub(super) fn push(&mut self, run: &[PendingPosting], positions: &[u8]) {
        let is_row = self.width >= ROWS_MIN_LOCALS && run.len() > self.width / ROW_DF_DIVISOR;
        let (place, encoding) = if is_row {
            (u64::from(self.row_count), ENCODING_ROW)
        } else {
            (self.postings.len() as u64, ENCODING_WINDOWS)
        };
        self.entries.extend_from_slice(&place.to_le_bytes());
        self.entries
            .extend_from_slice(&(run.len() as u32).to_le_bytes());
        let tf_max = run.iter().map(|posting| posting.tf).max().unwrap_or(0);
        let code_min = run.iter().map(|posting| posting.length_code).min();
        self.entries
            .extend_from_slice(&[encoding, tf_max, code_min.unwrap_or(0), 0]);
        self.entries
            .extend_from_slice(&(self.positions.len() as u64).to_le_bytes());
        if is_row {
            self.push_row(run, positions);
        } else {
            write_windows(run, &mut self.postings);
            let groups = run.chunks(SKIP_LEN);
            match groups.len() {
                1 => self.push_positions(run, positions),
                _ => self.push_skipped(groups, positions),
            }
        }
    }

    fn push_row(&mut self, run: &[PendingPosting], positions: &[u8]) {
        let start = self.rows.len();
        self.row_count += 1;
        self.rows.resize(start + self.width, 0);
        for posting in run {
            self.rows[start + posting.local as usize] = posting.tf;
        }
        self.bounds.extend_from_slice(&row_bounds(run));
        let mut rest = run;
        let blocks = (0..self.width / BLOCK_LEN).map(|block| {
            let end = (block + 1) * BLOCK_LEN;
            let len = rest.partition_point(|posting| (posting.local as usize) < end);
            let (of_block, after) = rest.split_at(len);
            rest = after;
            of_block
        });
        self.push_skipped(blocks.collect::<Vec<_>>().into_iter(), positions);
    }

    fn push_skipped<'p>(
        &mut self,
        groups: impl ExactSizeIterator<Item = &'p [PendingPosting]>,
        positions: &[u8],
    ) {
        let skips = self.positions.len();
        let first = skips + 4 * groups.len();
        self.positions.resize(first, 0);
        for (i, group) in groups.enumerate() {
            let from = (self.positions.len() - first) as u32;
            self.positions[skips + 4 * i..skips + 4 * i + 4].copy_from_slice(&from.to_le_bytes());
            self.push_positions(group, positions);
        }
    }

    fn push_positions(&mut self, postings: &[PendingPosting], positions: &[u8]) {
        for posting in postings {
            let start = posting.positions as usize;
            let end = start + posting.positions_len as usize;
            self.positions.extend_from_slice(&positions[start..end]);
        }
    }
}

/// For each class of tf the greatest tf and the least length code, so that no posting gains more than one
/// of the pairs.
fn row_bounds(run: &[PendingPosting]) -> [u8; 2 * ROW_BOUNDS] {
    let mut pairs = [(0u8, u8::MAX); ROW_BOUNDS];
    for posting in run {
        // 1, 2, 3 to 4, 5 to 8, … 129 to 255.
        let class = (posting.tf - 1)
            .checked_ilog2()
            .map_or(0, |log| log as usize + 1);
        let (tf, code) = &mut pairs[class.min(ROW_BOUNDS - 1)];
        (*tf, *code) = ((*tf).max(posting.tf), (*code).min(posting.length_code));
    }
    let mut out = [0; 2 * ROW_BOUNDS];
    for (out, (tf, code)) in out.chunks_exact_mut(2).zip(pairs) {
        if tf > 0 {
            out.copy_from_slice(&[tf, code]);
        }
    }
    out
}

/// Where the postings of each term number start once they are sorted, and where the last end.
fn term_starts(postings: &[PendingPosting], term_count: usize) -> Vec<usize> {
    let mut starts = vec![0; term_count + 1];
    for posting in postings {
        starts[posting.term as usize + 1] += 1;
    }
    for i in 0..term_count {
        starts[i + 1] += starts[i];
    }
    starts
}

/// A stable counting sort.
fn sorted_by_term(postings: &[PendingPosting], starts: &[usize]) -> Vec<PendingPosting> {
    let mut next = starts.to_vec();
    let mut sorted = postings.to_vec();
    for posting in postings {
        let place = &mut next[posting.term as usize];
        sorted[*place] = *posting;
        *place += 1;
    }
    sorted
}

fn write_windows(run: &[PendingPosting], out: &mut Vec<u8>) {
    for window in run.chunk_by(|a, b| a.local >> 16 == b.local >> 16) {
        out.extend_from_slice(&(window[0].local >> 16).to_le_bytes());
        out.extend_from_slice(&(window.len() as u32).to_le_bytes());
        for posting in window {
            out.extend_from_slice(&(posting.local as u16).to_le_bytes());
            out.extend_from_slice(&[posting.tf, posting.length_code]);
        }
    }
}
