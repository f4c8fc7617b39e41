//! Propositions: what a section says, in self-contained statements.
//!
//! A statement is a run of whole sentences of one section, of 50 to 150 tokens where that goes: it ends where the
//! paragraph does or the words change, and never before a sentence that leans on the one before it (*It …*, *However,
//! …*). A sentence that is longer than a statement may be is cut between clauses. A pronoun that a statement opens with
//! is resolved to the subject of its section.
//!
//! Start reading at [`statements`].

use std::ops::Range;

use super::slides::{cosine, word_counts};
use super::units::{Unit, UnitKind};
use crate::text::prose;
use crate::tokens;
use loci_documents::ParsedDocument;

/// Sizes of statements, in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementSizes {
    /// One that has fewer joins its neighbour.
    pub(super) min: u32,
    /// From here on a statement ends where its subject changes …
    pub(super) topic_end_min: u32,
    /// … and here at the next sentence …
    pub(super) sentence_end_min: u32,
    /// … and here at once.
    pub(super) max: u32,
}

/// As the three-level mode has them.
pub(super) const STATEMENT_SIZES: StatementSizes = StatementSizes {
    min: 30,
    topic_end_min: 50,
    sentence_end_min: 150,
    max: 200,
};

/// Cosine of the words of two sentences below which the second is about something else.
const SIMILARITY_MIN: f32 = 0.1;

/// The statements of the units in `run`: ranges of the text, in order. Headings are in none of them.
pub(super) fn statements(
    parsed: &ParsedDocument,
    units: &[Unit],
    run: Range<usize>,
    sizes: StatementSizes,
) -> Vec<Range<usize>> {
    let sentences = run.filter(|&at| !units[at].is_heading());
    let sentences = sentences.flat_map(|at| clauses(&parsed.text, &units[at], sizes.max));
    let mut merged: Vec<Statement> = Vec::new();
    for sentence in sentences {
        let goes_on = merged.last().is_some_and(|last| {
            last.continues_with(&sentence, &parsed.text, sizes)
                && last.tokens + sentence.tokens <= sizes.max
        });
        match merged.last_mut().filter(|_| goes_on) {
            Some(last) => last.extend_with(&sentence),
            None => merged.push(sentence),
        }
    }
    merge_small(&mut merged, sizes);
    merged
        .into_iter()
        .map(|statement| statement.range)
        .collect()
}

/// A statement, or a sentence on its way into one.
struct Statement {
    range: Range<usize>,
    /// Its last sentence.
    last: Range<usize>,
    block: usize,
    tokens: u32,
    /// Code, a table, an equation or a picture.
    is_atom: bool,
}

impl Statement {
    /// Whether it is not whole without the sentence that follows, or that not without it.
    fn continues_with(&self, next: &Statement, text: &str, sizes: StatementSizes) -> bool {
        if self.is_atom || next.is_atom {
            return false;
        }
        if self.tokens < sizes.min {
            return true;
        }
        let sentence = &text[next.range.clone()];
        if depends_on_context(sentence) {
            return self.tokens < sizes.sentence_end_min;
        }
        let same_paragraph = self.block == next.block;
        let is_alike = || {
            cosine(
                &word_counts(&text[self.last.clone()]),
                &word_counts(sentence),
            ) >= SIMILARITY_MIN
        };
        same_paragraph
            && (self.tokens < sizes.topic_end_min
                || self.tokens < sizes.sentence_end_min && is_alike())
    }

    fn extend_with(&mut self, next: &Statement) {
        self.range.end = next.range.end;
        self.last = next.last.clone();
        self.block = next.block;
        self.tokens += next.tokens;
    }
}

/// A last statement that is too small joins the one before it, where both are prose and have room.
fn merge_small(statements: &mut Vec<Statement>, sizes: StatementSizes) {
    let mut at = 1;
    while at < statements.len() {
        let [before, small] = [&statements[at - 1], &statements[at]];
        let joins = !before.is_atom
            && !small.is_atom
            && small.tokens < sizes.min
            && before.tokens + small.tokens <= sizes.max;
        if joins {
            let small = statements.remove(at);
            statements[at - 1].extend_with(&small);
        } else {
            at += 1;
        }
    }
}

/// A unit, cut between clauses where it is longer than a statement may be.
fn clauses(text: &str, unit: &Unit, max: u32) -> Vec<Statement> {
    let statement = |range: Range<usize>| Statement {
        tokens: tokens::count(&text[range.clone()]),
        last: range.clone(),
        block: unit.block,
        is_atom: unit.kind != UnitKind::Sentence,
        range,
    };
    let mut left = unit.range.clone();
    let mut cut = Vec::new();
    while unit.kind == UnitKind::Sentence && tokens::count(&text[left.clone()]) > max {
        let Some(at) = clause_end(&text[left.clone()], max) else {
            break;
        };
        cut.push(statement(left.start..left.start + at));
        left.start += at
            + (text[left.start + at..left.end].len()
                - text[left.start + at..left.end].trim_start().len());
    }
    cut.push(statement(left));
    cut
}

/// Where the last clause ends before which the text has at most `max` tokens.
fn clause_end(text: &str, max: u32) -> Option<usize> {
    let semicolons = text.match_indices("; ").map(|(at, _)| at + 1);
    let conjunctions = [
        ", and ",
        ", but ",
        ", while ",
        ", whereas ",
        ", which ",
        ", so ",
    ];
    let joined = conjunctions
        .iter()
        .flat_map(|word| text.match_indices(word).map(|(at, _)| at + 1));
    let fits = |&at: &usize| tokens::count(&text[..at]) <= max && !text[at..].trim().is_empty();
    semicolons.chain(joined).filter(fits).max()
}

/// Pronouns that stand for what was named before, as a sentence opens with them.
const PRONOUNS: &[&str] = &["it", "its", "they", "their", "he", "she", "his", "her"];
/// What else a sentence opens with that leans on the one before.
#[rustfmt::skip]
const CONTEXT_OPENERS: &[&str] = &[
    "this", "these", "that", "those", "such", "however", "therefore", "thus", "hence", "moreover",
    "furthermore", "consequently", "instead", "otherwise", "likewise", "similarly", "then", "also",
    "but", "and", "or", "so", "nevertheless", "nonetheless", "conversely", "besides", "accordingly",
    "specifically", "both", "neither", "either",
];
#[rustfmt::skip]
const CONTEXT_PHRASES: &[&str] = &[
    "for example", "for instance", "in this", "in that", "in these", "in contrast",
    "in other words", "in addition", "as a result", "at the same time", "on the other hand",
    "to do this", "to do so", "the former", "the latter", "because of this", "that is",
];

/// Whether a sentence only makes sense after the one before it.
fn depends_on_context(sentence: &str) -> bool {
    let lower = sentence
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let first = lower
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or("");
    PRONOUNS.contains(&first)
        || CONTEXT_OPENERS.contains(&first)
        || CONTEXT_PHRASES
            .iter()
            .any(|phrase| lower.starts_with(phrase))
}

/// A statement as it is read on its own: the pronoun that it opens with is `subject`. `None` where it opens with
/// none, or the subject does not fit it.
pub(super) fn resolve_pronoun(statement: &str, subject: &str) -> Option<String> {
    let words = prose::words(statement);
    let first = words.first().filter(|word| word.start == 0)?;
    let rest = &statement[first.end()..];
    let is_plural = prose::words(subject).last().is_some_and(|word| {
        let lower = word.surface.to_lowercase();
        lower.ends_with('s')
            && !lower.ends_with("ss")
            && !lower.ends_with("is")
            && !lower.ends_with("us")
    });
    let (fits, owns) = match &first.surface.to_lowercase()[..] {
        "it" => (!is_plural, false),
        "its" => (!is_plural, true),
        "they" => (is_plural, false),
        "their" => (is_plural, true),
        _ => (false, false),
    };
    let owner = match (owns, subject.ends_with('s')) {
        (true, true) => "’",
        (true, false) => "’s",
        (false, _) => "",
    };
    // `It is known that`: the pronoun stands for nothing.
    let second = words.get(1).map_or("", |word| word.surface);
    let third = words.get(2).map_or("", |word| word.surface);
    let is_empty_it = matches!(
        second,
        "is" | "was" | "has" | "seems" | "follows" | "may" | "can" | "turns"
    ) && words
        .iter()
        .take(7)
        .any(|word| matches!(word.surface, "that" | "to" | "whether"))
        || matches!(
            third,
            "possible" | "important" | "necessary" | "clear" | "worth"
        );
    let joins = rest.starts_with([' ', '\u{a0}']);
    (fits && joins && (owns || !is_empty_it))
        .then(|| format!("{}{owner}{rest}", capitalise(subject)))
}

fn capitalise(subject: &str) -> String {
    let mut chars = subject.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Headings that name no subject.
#[rustfmt::skip]
const GENERIC_HEADINGS: &[&str] = &[
    "introduction", "overview", "background", "summary", "conclusion", "conclusions", "abstract",
    "discussion", "results", "methods", "method", "notes", "example", "examples", "exercises",
    "references", "details", "contents", "usage", "description", "motivation", "appendix",
    "preface", "remarks", "further reading", "see also", "history",
];

/// What a section is about, by its headings from the innermost: a short noun phrase.
pub(super) fn heading_subject(headings: &[String]) -> Option<String> {
    let named = headings
        .iter()
        .rev()
        .map(|heading| super::numbering::parse(heading).title);
    let mut fit = named.filter(|title| {
        let words = prose::words(title);
        let lower = title.to_lowercase();
        let first = lower.split_whitespace().next().unwrap_or("");
        let asks =
            title.ends_with('?') || ["how", "why", "what", "when", "where", "who"].contains(&first);
        let is_phrase =
            (1..=5).contains(&words.len()) && !asks && !title.contains([':', ',', '(', '`']);
        is_phrase && !GENERIC_HEADINGS.contains(&&lower[..]) && !first.ends_with("ing")
    });
    fit.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::units::{UnitLimits, units};
    use loci_documents::{Block, BlockKind};

    fn statement_texts(paragraphs: &[&str]) -> Vec<String> {
        let mut parsed = ParsedDocument::default();
        for paragraph in paragraphs {
            let start = parsed.text.len();
            parsed.text.push_str(paragraph);
            parsed.blocks.push(Block {
                kind: BlockKind::Paragraph,
                range: start..parsed.text.len(),
                ..Block::default()
            });
            parsed.text.push_str("\n\n");
        }
        let units = units(
            &parsed,
            UnitLimits {
                tokens_max: 512,
                split_tokens: 256,
            },
        );
        let all = 0..units.len();
        let ranges = statements(&parsed, &units, all, STATEMENT_SIZES);
        ranges
            .into_iter()
            .map(|range| parsed.text[range].to_owned())
            .collect()
    }

    #[test]
    fn statements_hold_what_leans_on_them_and_end_where_the_subject_changes() {
        let heap = "The heap is a region of memory from which a program takes room while it runs and to which it \
                    gives that room back when it is done with what it kept there, by itself or by a collector.";
        let leaning = "However, taking room from the heap costs more time than taking it from the stack, as a free \
                       place that is large enough has to be found first among all those that are there.";
        let other = "Lighthouses stand at dangerous coasts and at the entrances of harbours, and each of them can be \
                     told from its neighbours by the colour and by the rhythm of the light that it sends out at night.";
        let text = format!("{heap} {leaning} {other}");
        assert_eq!(
            statement_texts(&[&text]),
            [format!("{heap} {leaning}"), other.into()]
        );
        assert_eq!(
            statement_texts(&["Small.", "Also small."]),
            ["Small.\n\nAlso small."]
        );
    }

    #[test]
    fn a_sentence_that_is_too_long_is_cut_between_clauses() {
        let clause = "the quick brown fox jumps over the lazy dog and goes on along the river to the old mill";
        let text = vec![clause; 14].join("; ") + ".";
        let clauses = statement_texts(&[&text]);
        assert!(clauses.len() > 1, "{clauses:?}");
        for statement in &clauses {
            assert!(
                tokens::count(statement) <= STATEMENT_SIZES.max,
                "{statement}"
            );
        }
        assert_eq!(clauses.join(" "), text);
    }

    #[test]
    fn an_opening_pronoun_becomes_the_subject_of_the_section() {
        for (statement, subject, want) in [
            (
                "It grows upwards.",
                "The heap",
                Some("The heap grows upwards."),
            ),
            (
                "Its size is fixed.",
                "stack",
                Some("Stack’s size is fixed."),
            ),
            ("They keep lists.", "Arrays", Some("Arrays keep lists.")),
            ("They keep lists.", "Array", None),
            ("It is known that heaps grow.", "Heap", None),
            ("Item one.", "Heap", None),
            ("It", "Heap", None),
            ("", "Heap", None),
        ] {
            assert_eq!(
                resolve_pronoun(statement, subject).as_deref(),
                want,
                "{statement}"
            );
        }
        let headings = |of: &[&str]| {
            of.iter()
                .map(|&heading| heading.into())
                .collect::<Vec<String>>()
        };
        assert_eq!(
            heading_subject(&headings(&["The Heap", "3.1 Overview"])).as_deref(),
            Some("The Heap")
        );
        assert_eq!(heading_subject(&headings(&["How to cook?"])), None);
    }
}
