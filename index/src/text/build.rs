//! Chunks' terms → the bytes of a text section.
//!
//! One flat list of (term, local, tf, length code) grows as chunks come; a stable counting sort by
//! term at the end makes the postings, already ascending by local.

use std::collections::HashMap;

use loci_storage::Local;

use super::bm25::saturated;
use super::{
    ENCODING_WINDOWS, ENTRY_LEN, HEADER_LEN, TERM_BYTES_MAX, TextError, VERSION, dictionary, length,
};
use crate::analysis::{self, Analyzer};

/// Collects the terms of a layer's chunks.
#[derive(Debug, Default)]
pub struct TextBuilder {
    /// Number of a term, by first appearance.
    numbers: HashMap<Box<str>, u32>,
    postings: Vec<Pending>,
    /// Term numbers of the chunk at hand.
    chunk: Vec<u32>,
    last: Option<u32>,
    local_end: u32,
    chunk_count: u32,
    total_length: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    term: u32,
    local: u32,
    tf: u8,
    length_code: u8,
}

impl TextBuilder {
    /// A builder without chunks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a chunk with its terms, repeats included, in any order.
    ///
    /// # Errors
    /// [`TextError::Order`] unless locals ascend; [`TextError::TermLength`]. Nothing of the chunk
    /// is kept then.
    pub fn push<S: AsRef<str>>(
        &mut self,
        local: Local,
        terms: impl IntoIterator<Item = S>,
    ) -> Result<(), TextError> {
        self.begin(local)?;
        for term in terms {
            self.add(term.as_ref())?;
        }
        self.end(local);
        Ok(())
    }

    /// Adds a chunk with the terms of `texts` (say its heading path and its body) together.
    ///
    /// # Errors
    /// [`TextError::Order`] unless locals ascend.
    pub fn push_texts(
        &mut self,
        local: Local,
        analyzer: &mut Analyzer,
        texts: &[&str],
    ) -> Result<(), TextError> {
        self.begin(local)?;
        let mut outcome = Ok(());
        for text in texts {
            analyzer.for_each_term(text, |term| {
                if outcome.is_ok() {
                    outcome = self.add(term);
                }
            });
        }
        outcome?;
        self.end(local);
        Ok(())
    }

    fn begin(&mut self, Local(local): Local) -> Result<(), TextError> {
        if let Some(last) = self.last.filter(|&last| last >= local) {
            return Err(TextError::Order { local, last });
        }
        self.chunk.clear();
        Ok(())
    }

    fn add(&mut self, term: &str) -> Result<(), TextError> {
        if term.is_empty() || term.len() > TERM_BYTES_MAX {
            return Err(TextError::TermLength(term.len()));
        }
        let next = self.numbers.len() as u32;
        let number = match self.numbers.get(term) {
            Some(&number) => number,
            None => *self.numbers.entry(term.into()).or_insert(next),
        };
        self.chunk.push(number);
        Ok(())
    }

    fn end(&mut self, Local(local): Local) {
        self.last = Some(local);
        if self.chunk.is_empty() {
            return;
        }
        self.chunk_count += 1;
        self.total_length += self.chunk.len() as u64;
        self.local_end = local.saturating_add(1);
        let length_code = length::encode(u32::try_from(self.chunk.len()).unwrap_or(u32::MAX));
        self.chunk.sort_unstable();
        for run in self.chunk.chunk_by(|a, b| a == b) {
            let tf = saturated(u32::try_from(run.len()).unwrap_or(u32::MAX));
            self.postings.push(Pending {
                term: run[0],
                local,
                tf,
                length_code,
            });
        }
    }

    /// The bytes of the section.
    pub fn finish(self) -> Vec<u8> {
        let starts = starts(&self.postings, self.numbers.len());
        let sorted = sorted_by_term(&self.postings, &starts);
        let mut terms: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        // A term of a refused chunk may have no postings.
        terms.retain(|&(_, number)| starts[number as usize] < starts[number as usize + 1]);
        terms.sort_unstable();

        let mut entries = Vec::with_capacity(terms.len() * ENTRY_LEN);
        let mut postings = Vec::with_capacity(sorted.len() * 5);
        for &(_, number) in &terms {
            let run = &sorted[starts[number as usize]..starts[number as usize + 1]];
            entries.extend_from_slice(&(postings.len() as u64).to_le_bytes());
            entries.extend_from_slice(&(run.len() as u32).to_le_bytes());
            entries.extend_from_slice(&ENCODING_WINDOWS.to_le_bytes());
            write_windows(run, &mut postings);
        }
        let dictionary = dictionary::write(terms.iter().map(|(term, _)| &**term));

        let sizes = dictionary.len() + entries.len() + postings.len();
        let mut out = Vec::with_capacity(HEADER_LEN + sizes);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&analysis::VERSION.to_le_bytes());
        out.extend_from_slice(&self.chunk_count.to_le_bytes());
        out.extend_from_slice(&self.total_length.to_le_bytes());
        out.extend_from_slice(&self.local_end.to_le_bytes());
        out.extend_from_slice(&(terms.len() as u32).to_le_bytes());
        out.extend_from_slice(&(dictionary.len() as u64).to_le_bytes());
        out.extend_from_slice(&(postings.len() as u64).to_le_bytes());
        out.extend_from_slice(&dictionary);
        out.extend_from_slice(&entries);
        out.extend_from_slice(&postings);
        out
    }
}

/// Where the postings of each term number start once they are sorted, and where the last end.
fn starts(postings: &[Pending], term_count: usize) -> Vec<usize> {
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
fn sorted_by_term(postings: &[Pending], starts: &[usize]) -> Vec<Pending> {
    let mut next = starts.to_vec();
    let mut sorted = postings.to_vec();
    for posting in postings {
        let place = &mut next[posting.term as usize];
        sorted[*place] = *posting;
        *place += 1;
    }
    sorted
}

fn write_windows(run: &[Pending], out: &mut Vec<u8>) {
    for window in run.chunk_by(|a, b| a.local >> 16 == b.local >> 16) {
        out.extend_from_slice(&(window[0].local >> 16).to_le_bytes());
        out.extend_from_slice(&(window.len() as u32).to_le_bytes());
        for posting in window {
            out.extend_from_slice(&(posting.local as u16).to_le_bytes());
            out.extend_from_slice(&[posting.tf, posting.length_code]);
        }
    }
}
