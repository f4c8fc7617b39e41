//! Citations of a paper: its list of references, and the places in its text that cite an entry.
//!
//! If a format declares both (JATS, LaTeX), its declarations are used. For all others the list is what is under a
//! heading such as *References*, and citations are recognised by how they are written: by number (`[3, 5–7]`), by
//! author and year (`(Knuth, 1997; Liang et al., 2018)`, `Knuth (1997)`), or by the mark of a footnote that is a
//! reference. What fits no entry of the list is no citation: a number in brackets is only one where the list is
//! numbered.
//!
//! Always true: citations ascend, do not overlap, and lie outside of the list.
//!
//! Start reading at [`link`].

mod entry;
mod found;
mod list;

use std::ops::Range;

use locidb::storage::records::{Intent, Level};
use locidb::{NewChunk, NewCitation, NewReference};

use crate::chunk::positions::Positions;
use crate::text::prose;
use loci_documents::{InTextCitation, ParsedDocument};
use loci_types::text::sentences::{SentenceRule, sentences};

/// Characters of a sentence around a citation that are kept.
const CONTEXT_CHARS_MAX: usize = 600;

/// Fills in references and citations, where the format does not state them.
///
/// A few passes over the text.
pub fn link(parsed: &mut ParsedDocument) {
    let mut list_range = parsed.text.len()..parsed.text.len();
    if parsed.references.is_empty() {
        let Some(list) = list::find_reference_list(parsed) else {
            return;
        };
        list_range = list.range;
        parsed.references = list.entries.iter().map(|text| entry::parse(text)).collect();
    }
    if parsed.citations.is_empty() {
        parsed.citations = found::citations(parsed, &list_range);
    }
}

/// The references as they are stored.
pub fn references(parsed: &ParsedDocument) -> Vec<NewReference> {
    let references = parsed.references.iter();
    references
        .map(|reference| NewReference {
            text: reference.text.clone(),
            key: None,
            doi: reference.doi.clone(),
            title: reference.title.clone(),
            authors: reference.authors.clone(),
            year: reference.year,
            venue: reference.venue.clone(),
        })
        .collect()
}

/// The citations as they are stored: each by the deepest of `chunks` that has it as its own.
pub fn citations(parsed: &ParsedDocument, chunks: &[NewChunk]) -> Vec<NewCitation> {
    if parsed.citations.is_empty() {
        return Vec::new();
    }
    let positions = Positions::new(&parsed.text);
    let homes = ChunkLocator::new(&positions, chunks);
    let mut linked = Vec::new();
    let mut sentences = SentenceLocator::new(parsed);
    for citation in &parsed.citations {
        let Some(chunk) = homes.chunk_at(citation.range.start) else {
            continue;
        };
        let sentence = sentences.sentence_at(&citation.range);
        let context = prose::visible(&parsed.text[sentence.clone()], parsed.kind);
        let intent = intent(&context);
        let narrative = is_narrative(parsed, citation, &sentence);
        let confidence = match citation.references.len() {
            1 => 1.0,
            _ => 0.9,
        };
        linked.extend(citation.references.iter().map(|&reference| NewCitation {
            chunk,
            reference,
            text: parsed.text[citation.range.clone()].to_owned(),
            context: context.chars().take(CONTEXT_CHARS_MAX).collect(),
            confidence,
            intent,
            claim: narrative,
            created_at_ms: 0,
        }));
    }
    linked
}

/// Which chunk has a place of the text.
struct ChunkLocator<'p> {
    positions: &'p Positions<'p>,
    /// First and end character, and place, of the deepest chunks, by where they end.
    leaves: Vec<(u64, u64, u32)>,
    /// Likewise of all chunks, in pre-order.
    all: Vec<(u64, u64, u32)>,
}

/// Chunks that are looked at for a place that no deepest chunk has: a heading, a table beside sentences.
const SCAN_CHUNKS_MAX: usize = 256;

impl<'p> ChunkLocator<'p> {
    fn new(positions: &'p Positions<'p>, chunks: &[NewChunk]) -> ChunkLocator<'p> {
        let place = |(place, chunk): (u32, &NewChunk)| {
            let (from, to) = chunk.record.location.chars;
            (from, to, place)
        };
        let is_leaf = |(place, chunk): &(u32, &NewChunk)| {
            chunk.record.level > Level::Section && chunk.record.subtree_end == place + 1
        };
        let leaves = (0u32..).zip(chunks).filter(is_leaf);
        let mut leaves: Vec<_> = leaves.map(place).collect();
        leaves.sort_by_key(|leaf| (leaf.1, leaf.0));
        let is_not_summary = |chunk: &&NewChunk| chunk.record.level != Level::Summary;
        let all = (0u32..)
            .zip(chunks)
            .filter(|(_, chunk)| is_not_summary(chunk));
        let all = all.map(place).collect();
        ChunkLocator {
            positions,
            leaves,
            all,
        }
    }

    /// A passage repeats the end of the one before: the first that has the place is its home.
    fn chunk_at(&self, at: usize) -> Option<u32> {
        let at = self.positions.chars_before(at);
        let first = self.leaves.partition_point(|leaf| leaf.1 <= at);
        let mut near = self.leaves[first..].iter().take(SCAN_CHUNKS_MAX);
        let home = near.find(|leaf| leaf.0 <= at);
        home.or_else(|| {
            let end = self.all.partition_point(|chunk| chunk.0 <= at);
            let mut near = self.all[..end].iter().rev().take(SCAN_CHUNKS_MAX);
            near.find(|chunk| chunk.1 > at)
        })
        .map(|home| home.2)
    }
}

/// The sentences around citations, which ascend: those of a block are read once.
struct SentenceLocator<'p> {
    parsed: &'p ParsedDocument,
    block: Range<usize>,
    spans: Vec<Range<usize>>,
}

impl<'p> SentenceLocator<'p> {
    fn new(parsed: &'p ParsedDocument) -> SentenceLocator<'p> {
        SentenceLocator {
            parsed,
            block: 0..0,
            spans: Vec::new(),
        }
    }

    /// The sentence that contains a range; of a long one what is near.
    fn sentence_at(&mut self, range: &Range<usize>) -> Range<usize> {
        if !self.block.contains(&range.start) {
            self.load_block(range.start);
        }
        let at = self.spans.partition_point(|span| span.end <= range.start);
        let span = self
            .spans
            .get(at)
            .filter(|span| span.contains(&range.start));
        let span = span.cloned().unwrap_or_else(|| range.clone());
        let text = &self.parsed.text;
        let from = text.ceil_char_boundary(range.start.saturating_sub(CONTEXT_CHARS_MAX / 2));
        let to = text.floor_char_boundary(range.end.saturating_add(CONTEXT_CHARS_MAX / 2));
        if span.len() > CONTEXT_CHARS_MAX {
            span.start.max(from)..span.end.min(to).max(span.start.max(from))
        } else {
            span
        }
    }

    fn load_block(&mut self, at: usize) {
        let blocks = &self.parsed.blocks;
        let first = blocks.partition_point(|block| block.range.end <= at);
        let block = blocks.get(first).map(|block| block.range.clone());
        self.block = block.filter(|block| block.contains(&at)).unwrap_or(at..at);
        let text = &self.parsed.text[self.block.clone()];
        let start = self.block.start;
        let spans = sentences(text, SentenceRule::Reader).into_iter();
        self.spans = spans
            .map(|span| start + span.start..start + span.end)
            .collect();
    }
}

/// Whether the sentence says something of the work, rather than naming it in brackets.
fn is_narrative(
    parsed: &ParsedDocument,
    citation: &InTextCitation,
    sentence: &Range<usize>,
) -> bool {
    let text = &parsed.text[citation.range.clone()];
    let opens = citation.range.start.saturating_sub(sentence.start) < 4;
    let names = text.starts_with(char::is_alphabetic);
    names || opens && !text.starts_with('(')
}

/// What a citation is for, by the words of its sentence.
pub(crate) fn intent(sentence: &str) -> Intent {
    let lower = sentence.to_lowercase();
    let has = |cues: &[&str]| cues.iter().any(|cue| lower.contains(cue));
    match () {
        () if has(&[
            "in contrast to",
            "contrary to",
            "disagree",
            "contradict",
            "fail to",
            "fails to",
            "failed to",
            "unlike",
            "inconsistent with",
            "however, these",
            "challenge the",
            "refute",
            "in conflict with",
            "not supported by",
        ]) =>
        {
            Intent::Contradicts
        }
        () if has(&[
            "consistent with",
            "in agreement",
            "in line with",
            "confirm",
            "corroborate",
            "as previously",
            "agrees with",
            "similar to previous",
            "supported by",
            "supports the",
            "as expected",
            "in accordance",
        ]) =>
        {
            Intent::Supports
        }
        () if has(&[
            "extend",
            "build on",
            "builds on",
            "built on",
            "building on",
            "improve on",
            "improves on",
            "improve upon",
            "generalize",
            "generalise",
            "inspired by",
            "based on the work",
            "adapted from",
            "modified from",
            "we follow",
        ]) =>
        {
            Intent::Extends
        }
        () if has(&[
            "we use",
            "we used",
            "using",
            "was used",
            "were used",
            "we apply",
            "we applied",
            "implemented in",
            "performed with",
            "performed using",
            "by means of",
            "software",
            "package",
            "library",
            "dataset",
            "data set",
            "provided by",
            "obtained from",
            "as described",
            "according to",
            "algorithm of",
            "trained on",
        ]) =>
        {
            Intent::Uses
        }
        () => Intent::Background,
    }
}

#[cfg(test)]
mod tests;
