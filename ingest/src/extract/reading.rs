//! The file read again as sentences with their words, and how each word is used.

use std::collections::{BTreeMap, HashSet};

use locidb::NewChunk;
use locidb::storage::records::Level;

use crate::chunk::marks::Marks;
use crate::chunk::numbering;
use crate::chunk::positions::Positions;
use crate::chunk::units::{Unit, UnitKind, UnitLimits, units};
use crate::text::lexicon;
use crate::text::prose::{self, Word};
use loci_documents::{BlockKind, MarkKind, ParsedDocument};

/// A sentence or heading.
#[derive(Debug)]
pub(crate) struct Line {
    /// What a reader sees.
    pub(crate) text: String,
    /// Whether it is a heading.
    pub(crate) is_heading: bool,
    /// Whether it belongs to a list of contents or references, which names much and says little.
    pub(crate) is_contents_or_references: bool,
    /// Emphasised runs in it.
    pub(crate) emphasised: Vec<String>,
    /// Code in running text.
    pub(crate) code: Vec<String>,
    /// The passages that contain it, ascending places in the list of chunks.
    pub(crate) leaves: Vec<u32>,
}

/// Sentences and headings of `parsed` in reading order; code, tables and equations are left out.
pub(crate) fn lines(parsed: &ParsedDocument, chunks: &[NewChunk]) -> Vec<Line> {
    let positions = Positions::new(&parsed.text);
    let leaves = Leaves::new(chunks);
    let limits = UnitLimits {
        tokens_max: 512,
        split_tokens: 256,
    };
    let found = units(parsed, limits)
        .into_iter()
        .filter(|u| !matches!(u.kind, UnitKind::Atom(_)));
    let marks = Marks::new(parsed);
    let mut listing = false;
    found
        .map(|unit| {
            let start = positions.chars_before(unit.range.start);
            let leaves = leaves.overlapping(start, start + 1);
            let mut line = line(parsed, &marks, &unit, leaves);
            if line.is_heading {
                listing = is_listing(&line.text);
            }
            line.is_contents_or_references = listing || is_reference(&line.text);
            line
        })
        .collect()
}

/// Whether a heading opens a list of contents, references or the like.
fn is_listing(heading: &str) -> bool {
    let title = numbering::parse(heading).title.to_lowercase();
    let first = title.split_whitespace().next().unwrap_or("");
    let alone = matches!(
        first,
        "references"
            | "bibliography"
            | "notes"
            | "citations"
            | "footnotes"
            | "contents"
            | "index"
            | "sources"
    );
    let named = [
        "table of contents",
        "further reading",
        "external links",
        "see also",
        "works cited",
        "general sources",
    ];
    (alone && title.split_whitespace().count() <= 3) || named.contains(&title.as_str())
}

/// Whether a line is one of a table of contents, or a note of references.
fn is_reference(text: &str) -> bool {
    text.contains(". . .") || text.contains(".....") || text.starts_with('^')
}

fn line(parsed: &ParsedDocument, marks: &Marks<'_>, unit: &Unit, leaves: Vec<u32>) -> Line {
    let visible =
        |range: &std::ops::Range<usize>| prose::visible(&parsed.text[range.clone()], parsed.kind);
    let inside = |code: bool| {
        let marks = marks
            .within(unit.range.clone())
            .filter(|mark| (mark.kind == MarkKind::Code) == code);
        marks.map(|mark| visible(&mark.range)).collect()
    };
    let heading = parsed
        .blocks
        .get(unit.block)
        .filter(|b| matches!(b.kind, BlockKind::Heading(_)));
    let text = match heading.filter(|_| unit.is_heading()) {
        Some(block) => visible(&(block.range.start..block.range.end.min(unit.range.end))),
        None => visible(&unit.range),
    };
    Line {
        text: normalise_capitals(text),
        is_heading: unit.is_heading(),
        is_contents_or_references: false,
        emphasised: inside(false),
        code: inside(true),
        leaves,
    }
}

/// A text of several words in capitals only, in small letters; any other as it is.
fn normalise_capitals(text: String) -> String {
    let shouts = text.contains(' ') && !text.chars().any(char::is_lowercase);
    if shouts { text.to_lowercase() } else { text }
}

/// Passages by where they start.
pub(crate) struct Leaves(Vec<(u64, u64, u32)>);

impl Leaves {
    pub(crate) fn new(chunks: &[NewChunk]) -> Leaves {
        let parents: HashSet<u32> = chunks
            .iter()
            .filter_map(|chunk| chunk.record.parent)
            .collect();
        let leaves = chunks.iter().zip(0..).filter(|(chunk, place)| {
            chunk.record.level >= Level::Paragraph && !parents.contains(place)
        });
        Leaves(
            leaves
                .map(|(chunk, i)| {
                    (
                        chunk.record.location.chars.0,
                        chunk.record.location.chars.1,
                        i,
                    )
                })
                .collect(),
        )
    }

    /// The passages that have a character of `start..end`. Both ends of passages ascend.
    pub(crate) fn overlapping(&self, start: u64, end: u64) -> Vec<u32> {
        let first = self.0.partition_point(|leaf| leaf.1 <= start);
        let reached = self.0[first..].iter().take_while(|leaf| leaf.0 < end);
        reached.map(|leaf| leaf.2).collect()
    }
}

/// How the file uses its words: what is before and after them distinguishes nouns from verbs.
#[derive(Debug, Default)]
pub(crate) struct WordUsage(BTreeMap<String, UsageCounts>);

#[derive(Clone, Copy, Debug, Default)]
struct UsageCounts {
    noun: u32,
    verb: u32,
    lower_inside: u32,
    capital_inside: u32,
}

impl WordUsage {
    /// Counts over the words of all sentences.
    pub(crate) fn new(sentences: &[Vec<Word<'_>>]) -> WordUsage {
        let mut usage = WordUsage::default();
        for words in sentences {
            for (i, word) in words.iter().enumerate() {
                usage.count(words, i, word);
            }
        }
        usage
    }

    fn count(&mut self, words: &[Word<'_>], i: usize, word: &Word<'_>) {
        let lower = |w: &Word<'_>| w.surface.to_lowercase();
        let before = i.checked_sub(1).map(|p| &words[p]);
        let before = before.filter(|_| !word.gap_before);
        let is_called = before.is_some_and(Word::precedes_verb);
        let before = before.map(lower);
        let after = words.get(i + 1).filter(|next| !next.gap_before).map(lower);
        let uses = self.0.entry(lower(word)).or_default();
        if i > 0 {
            uses.capital_inside += u32::from(word.is_capitalised());
            uses.lower_inside += u32::from(!word.is_capitalised());
        }
        let before = before.as_deref().unwrap_or("");
        let after = after.as_deref().unwrap_or("");
        let nominal = lexicon::is_determiner(before) && before != "that"
            || matches!(before, "of" | "between" | "per");
        let verbal = is_called && before != "that";
        let object = lexicon::is_determiner(after)
            && !matches!(after, "that" | "such" | "both" | "all" | "no")
            || matches!(after, "it" | "them" | "us" | "him");
        uses.noun += u32::from(nominal);
        uses.verb += u32::from(verbal) + u32::from(object && !nominal);
    }

    fn counts(&self, lower: &str) -> UsageCounts {
        self.0.get(lower).copied().unwrap_or_default()
    }

    /// Whether a lower-case word is used as a verb here, as far as that is known.
    pub(crate) fn is_verb(&self, lower: &str) -> bool {
        let UsageCounts { noun, verb, .. } = self.counts(lower);
        if lexicon::is_verb(lower) {
            noun < 2 || noun < 2 * verb
        } else {
            verb >= 2 && verb > noun
        }
    }

    /// Whether a lower-case word inside a phrase is a verb. A verb in its base form may well be
    /// for a noun there (`borrow checker`, `compiler pass`).
    pub(crate) fn acts_as_verb(&self, lower: &str) -> bool {
        let UsageCounts { noun, verb, .. } = self.counts(lower);
        if lexicon::is_base_verb(lower) {
            verb > 2 * noun
        } else {
            self.is_verb(lower)
        }
    }

    /// Whether a word is where a verb is more often than where a noun does.
    pub(crate) fn is_mostly_verb(&self, lower: &str) -> bool {
        let UsageCounts { noun, verb, .. } = self.counts(lower);
        verb > noun
    }

    /// How often a word is behind an article or the like.
    pub(crate) fn noun_count(&self, lower: &str) -> u32 {
        self.counts(lower).noun
    }

    /// Whether a word is written small anywhere inside a sentence.
    pub(crate) fn is_lowercase(&self, lower: &str) -> bool {
        self.counts(lower).lower_inside > 0
    }

    /// Whether a word is written with a capital wherever it is inside a sentence.
    pub(crate) fn is_proper(&self, lower: &str) -> bool {
        let uses = self.counts(lower);
        uses.capital_inside > 0 && uses.lower_inside * 4 <= uses.capital_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::prose;

    #[test]
    fn a_word_behind_may_is_a_verb_and_behind_the_month_none() {
        let verbs = |text: &str| {
            let usage = WordUsage::new(&[prose::words(text)]);
            usage.counts("overflow").verb
        };
        assert_eq!(verbs("The heap may overflow."), 1);
        assert_eq!(verbs("The heap MAY overflow."), 1);
        assert_eq!(verbs("It was the May overflow."), 0);
    }
}
