//! Text sections → one section, without the texts: chunks that are gone are left out, the others renumbered.
//!
//! The bytes are those that a [`TextBuilder`](super::TextBuilder) makes of the chunks that are left.

use super::bm25::saturate_tf;
use super::build::{PendingPosting, PostingsWriter, SectionHeader};
use super::positions;
use super::{FieldWeights, POSITION_BITS, Term, TextError, TextReader, length};
use crate::analysis::LanguageCounts;

/// In place of the new number of a chunk that is left out.
pub const REMOVED_LOCAL: u32 = u32::MAX;

/// A section that is merged into another.
#[derive(Debug)]
pub struct MergeInput<'a, B> {
    /// The section.
    pub reader: &'a TextReader<B>,
    /// For each local number, the new one: those of chunks that stay ascend. [`REMOVED_LOCAL`], or nothing, for
    /// chunks that do not.
    pub locals: &'a [u32],
}

impl<B> MergeInput<'_, B> {
    fn new_local(&self, old: u32) -> Option<u32> {
        let new = self.locals.get(old as usize).copied();
        new.filter(|&new| new != REMOVED_LOCAL)
    }
}

/// One section with the chunks of several, which have the same field weights.
///
/// - `languages`: how many of the chunks are taken for each.
///
/// # Errors
/// [`TextError::Malformed`] for damaged sections, for other weights, and where two chunks get one number.
///
/// # Cost
/// Two passes over all postings, one over all positions, and a sort of the terms; far less than analysing
/// the texts.
/// Memory: the terms of all sections, and the new section.
pub fn merge<B: AsRef<[u8]>>(
    inputs: &[MergeInput<'_, B>],
    weights: FieldWeights,
    languages: LanguageCounts,
) -> Result<Vec<u8>, TextError> {
    if inputs.iter().any(|one| one.reader.weights() != weights) {
        return Err(TextError::Malformed("sections of other field weights"));
    }
    let terms = MergedTerms::read(inputs)?;
    let chunks = ChunkLengths::read(inputs, &terms)?;
    let mut merge = Merge {
        inputs,
        weights,
        lists: PostingsWriter::new(chunks.local_end()),
        chunks,
        names: Vec::new(),
        run: Vec::new(),
        positions: Vec::new(),
    };
    for same in terms
        .entries
        .chunk_by(|a, b| terms.name(a) == terms.name(b))
    {
        merge.push(terms.name(&same[0]), same)?;
    }
    merge.finish(languages)
}

/// A term of one of the sections.
struct TermEntry {
    /// Where its bytes are.
    start: usize,
    end: usize,
    /// The number of the section.
    section: usize,
    term: Term,
}

/// The terms of all sections, by name, then by section.
struct MergedTerms {
    text: String,
    entries: Vec<TermEntry>,
}

impl MergedTerms {
    fn read<B: AsRef<[u8]>>(inputs: &[MergeInput<'_, B>]) -> Result<MergedTerms, TextError> {
        let (mut text, mut all) = (String::new(), Vec::new());
        for (section, one) in inputs.iter().enumerate() {
            one.reader.for_each_term(|name, term| {
                let start = text.len();
                text.push_str(name);
                all.push(TermEntry {
                    start,
                    end: text.len(),
                    section,
                    term,
                });
                Ok(())
            })?;
        }
        // Runs that are sorted already, one a section: the stable sort merges them.
        all.sort_by(|a, b| text[a.start..a.end].cmp(&text[b.start..b.end]));
        Ok(MergedTerms { text, entries: all })
    }

    fn name(&self, one: &TermEntry) -> &str {
        &self.text[one.start..one.end]
    }
}

/// What is known of the chunks that stay, by new number; they have terms.
struct ChunkLengths {
    /// 0 for those without terms.
    lengths: Vec<u64>,
}

impl ChunkLengths {
    /// Marks all that have terms.
    fn read<B: AsRef<[u8]>>(
        inputs: &[MergeInput<'_, B>],
        terms: &MergedTerms,
    ) -> Result<ChunkLengths, TextError> {
        let mut lengths = Vec::new();
        let staying = |one: &MergeInput<'_, B>| {
            one.locals
                .iter()
                .filter(|&&new| new != REMOVED_LOCAL)
                .max()
                .copied()
        };
        let end = inputs
            .iter()
            .filter_map(staying)
            .max()
            .map_or(0, |last| last as usize + 1);
        lengths.resize(end, 0);
        let mut owners = vec![usize::MAX; end];
        for one in &terms.entries {
            let section = &inputs[one.section];
            for posting in section.reader.postings(one.term) {
                let Some(new) = section.new_local(posting?.local.0) else {
                    continue;
                };
                let owner = &mut owners[new as usize];
                if *owner != usize::MAX && *owner != one.section {
                    return Err(TextError::Malformed("two chunks get one number"));
                }
                *owner = one.section;
            }
        }
        let with_terms = owners.iter().rposition(|&owner| owner != usize::MAX);
        lengths.truncate(with_terms.map_or(0, |last| last + 1));
        Ok(ChunkLengths { lengths })
    }

    fn local_end(&self) -> usize {
        self.lengths.len()
    }
}

/// The new section, as its terms come.
struct Merge<'a, B> {
    inputs: &'a [MergeInput<'a, B>],
    weights: FieldWeights,
    lists: PostingsWriter,
    chunks: ChunkLengths,
    names: Vec<String>,
    /// Of the term at hand.
    run: Vec<PendingPosting>,
    positions: Vec<u8>,
}

impl<B: AsRef<[u8]>> Merge<'_, B> {
    /// Adds a term with its chunks in each section.
    fn push(&mut self, name: &str, same: &[TermEntry]) -> Result<(), TextError> {
        self.run.clear();
        self.positions.clear();
        for one in same {
            self.gather(one)?;
        }
        if self.run.is_empty() {
            return Ok(());
        }
        self.run.sort_unstable_by_key(|posting| posting.local);
        if self
            .run
            .windows(2)
            .any(|pair| pair[0].local == pair[1].local)
        {
            return Err(TextError::Malformed("two chunks get one number"));
        }
        self.lists.push(&self.run, &self.positions);
        self.names.push(name.to_owned());
        Ok(())
    }

    fn gather(&mut self, one: &TermEntry) -> Result<(), TextError> {
        let section = &self.inputs[one.section];
        let reader = section.reader;
        let after_skips = reader.positions(one.term).get(reader.skips_len(one.term)..);
        let mut lists = positions::PositionLists(after_skips.unwrap_or_default());
        for posting in reader.postings(one.term) {
            let posting = posting?;
            let before = lists.0;
            let weights = self.weights;
            let mut count = 0;
            lists.for_each(|position| {
                let weight = weights.get((position >> POSITION_BITS) as usize);
                count += u32::from(weight.copied().unwrap_or(0));
            })?;
            if count == 0 {
                return Err(TextError::Malformed("a posting of no known field"));
            }
            let Some(local) = section.new_local(posting.local.0) else {
                continue;
            };
            let bytes = &before[..before.len() - lists.0.len()];
            self.run.push(PendingPosting {
                positions: self.positions.len() as u64,
                positions_len: bytes.len() as u32,
                term: 0,
                local,
                tf: saturate_tf(count),
                length_code: posting.length_code,
            });
            self.positions.extend_from_slice(bytes);
            self.chunks.lengths[local as usize] += u64::from(count);
        }
        Ok(())
    }

    fn finish(self, languages: LanguageCounts) -> Result<Vec<u8>, TextError> {
        let lengths = self.chunks.lengths;
        let length = |&length: &u64| u32::try_from(length).unwrap_or(u32::MAX);
        let head = SectionHeader {
            weights: self.weights,
            languages,
            chunk_count: lengths.iter().filter(|&&length| length > 0).count() as u32,
            total_length: lengths.iter().map(length).map(u64::from).sum(),
            local_end: lengths.len() as u32,
        };
        let codes = (0..).zip(&lengths).filter(|(_, length)| **length > 0);
        let codes = codes.map(|(local, of)| (local, length::encode(length(of))));
        Ok(head.write_section(self.names.iter().map(String::as_str), codes, self.lists))
    }
}
