//! Sentences that say what something is.
//!
//! ```text
//! Ownership is a set of rules …            ownership, rank 3, genus "set"
//! A mutex refers to …, X is defined as …   rank 4
//! this is called allocating on the heap    allocating on the heap, rank 2
//! last in, first out (LIFO)                LIFO stands for last in, first out
//! the page table, also known as the map    map is another name for page table
//! ```

use std::ops::Range;

use super::name::{core, is_name};
use super::reading::WordUsage;
use crate::text::lexicon;
use crate::text::prose::Word;

/// A statement about a name, as runs of the sentence's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// What is defined.
    pub(crate) subject: Range<usize>,
    /// What it is defined as, where that is a name itself.
    pub(crate) genus: Option<Range<usize>>,
    /// How explicitly it is stated, 2 to 4.
    pub(crate) rank: u8,
}

/// How many words of a sentence may be before the verb that defines.
const SUBJECT_END_MAX: usize = 18;

/// The definition that a sentence makes, if it does.
pub(crate) fn definition(words: &[Word<'_>], usage: &WordUsage) -> Option<Definition> {
    explicit_definition(words, usage).or_else(|| naming_definition(words, usage))
}

fn lower(word: &Word<'_>) -> String {
    word.surface.to_lowercase()
}

/// `X is a Y`, `X refers to`, `X is defined as`, `X means`, `X, defined as`.
fn explicit_definition(words: &[Word<'_>], usage: &WordUsage) -> Option<Definition> {
    let end = words.len().min(SUBJECT_END_MAX);
    let (verb, after, rank) = (1..end).find_map(|at| {
        let lowered: Vec<String> = words[at..words.len().min(at + 4)]
            .iter()
            .map(lower)
            .collect();
        let lowered: Vec<&str> = lowered.iter().map(String::as_str).collect();
        defining_verb(&lowered).map(|(len, rank)| (at, at + len, rank))
    })?;
    let subject = subject(words, verb)?;
    if !is_name(&words[subject.clone()], usage) {
        return None;
    }
    let genus = genus(words, after, usage);
    let unclear = words.get(after).is_none_or(|word| {
        word.gap_before
            || matches!(
                lower(word).as_str(),
                "same" | "case" | "only" | "right" | "wrong" | "bit" | "lot"
            )
    });
    (!unclear).then_some(Definition {
        subject,
        genus,
        rank,
    })
}

/// Length in words and rank of the defining verb that the words start with; an article after `is` is
/// part of it.
fn defining_verb(words: &[&str]) -> Option<(usize, u8)> {
    match *words {
        ["is" | "are", "defined", "as" | "to", ..] => Some((3, 4)),
        ["refers", "to", ..] | ["refer", "to", ..] | ["defined", "as", ..] => Some((2, 4)),
        ["stands", "for", ..] => Some((2, 4)),
        ["means" | "denotes", ..] => Some((1, 4)),
        [
            "is" | "are",
            "the",
            "process" | "study" | "ability" | "act" | "practice",
            ..,
        ] => Some((2, 4)),
        ["is" | "was" | "are" | "were", "a" | "an", ..] => Some((2, 3)),
        ["is" | "are" | "was", "the" | "any" | "one", ..] => Some((2, 3)),
        _ => None,
    }
}

/// The words of the subject before `verb`, without an article: the whole clause, or what stands
/// before a bracket or an apposition that ends at the verb. None where there is more than that.
fn subject(words: &[Word<'_>], verb: usize) -> Option<Range<usize>> {
    let opening = lower(&words[0]);
    // `In Rust, ownership is …`: what is before the comma is an adverbial.
    let adverbial = matches!(
        opening.as_str(),
        "in" | "for" | "here" | "informally" | "formally" | "technically" | "within" | "under"
    );
    let comma = (1..verb).rev().find(|&i| words[i].gap_before);
    let (mut start, end) = match (words[verb].gap_before, comma) {
        (true, _) => (0, (1..=verb).find(|&i| words[i].gap_before)?),
        (false, None) => (0, verb),
        (false, Some(comma)) if adverbial => (comma, verb),
        (false, Some(_)) => return None,
    };
    if matches!(lower(&words[start]).as_str(), "a" | "an" | "the") {
        start += 1;
    }
    let named = words
        .get(start)
        .is_some_and(|w| !lexicon::is_stop(&lower(w)) || w.is_acronym());
    (start < end && named).then_some(start..end)
}

/// The name that follows a defining verb: up to the first function word, adjectives that say
/// little and `kind of` left out.
fn genus(words: &[Word<'_>], mut start: usize, usage: &WordUsage) -> Option<Range<usize>> {
    let is_kind = |i: usize| {
        let word = words.get(i).map(|w| w.singular.clone()).unwrap_or_default();
        matches!(
            word.as_str(),
            "kind" | "type" | "form" | "sort" | "class" | "variant" | "example" | "instance"
        ) && words.get(i + 1).is_some_and(|of| lower(of) == "of")
    };
    while words
        .get(start)
        .is_some_and(|w| lexicon::is_weak(&lower(w)) || lexicon::is_adverb(&lower(w)))
    {
        start += 1;
    }
    if is_kind(start) {
        start += 2;
    }
    while words
        .get(start)
        .is_some_and(|w| lexicon::is_determiner(&lower(w)) || lexicon::is_weak(&lower(w)))
    {
        start += 1;
    }
    let ends = |i: usize| {
        let word = lower(&words[i]);
        (i > start && words[i].gap_before)
            || lexicon::is_stop(&word)
            || (i > start && usage.acts_as_verb(&word))
    };
    let end = (start..words.len())
        .find(|&i| ends(i))
        .unwrap_or(words.len());
    let run = words.get(start..end)?;
    (run.len() <= 4 && is_name(run, usage)).then_some(start..end)
}

/// `is called X`, `known as X`, `referred to as X`, `termed X`.
fn naming_definition(words: &[Word<'_>], usage: &WordUsage) -> Option<Definition> {
    let (at, rank) = (1..words.len()).find_map(|i| {
        match (lower(&words[i - 1]).as_str(), lower(&words[i]).as_str()) {
            (
                "is" | "are" | "often" | "also" | "commonly" | "usually" | "so",
                "called" | "termed" | "named",
            ) => Some((i + 1, 2)),
            ("known" | "to", "as") => Some((i + 1, 2)),
            _ => None,
        }
    })?;
    let article = |i: usize| {
        words
            .get(i)
            .is_some_and(|w| matches!(lower(w).as_str(), "a" | "an" | "the"))
    };
    let start = at + usize::from(article(at));
    let end = (start..words.len())
        .find(|&i| (i > start && words[i].gap_before) || lexicon::is_stop(&lower(&words[i])))
        .unwrap_or(words.len());
    let subject = start..end;
    let fit = (1..=4).contains(&subject.len()) && is_name(&words[subject.clone()], usage);
    fit.then_some(Definition {
        subject,
        genus: None,
        rank,
    })
}

/// Pairs (name, other name) that a sentence states: a full name with its initials in brackets,
/// either way round, and `also called`.
pub(crate) fn synonyms(
    text: &str,
    words: &[Word<'_>],
    usage: &WordUsage,
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        if word.is_acronym() && in_brackets(text, word) {
            found.extend(full_name(words, i).map(|full| (full, i..i + 1)));
        }
    }
    for i in 1..words.len().saturating_sub(1) {
        let before = lower(&words[i - 1]);
        let is_alias = match lower(&words[i]).as_str() {
            "called" => before == "also" || before == "sometimes" || before == "often",
            "as" => before == "known" && i >= 2 && lower(&words[i - 2]) == "also",
            _ => false,
        };
        if is_alias {
            found.extend(also_called(words, i, usage));
        }
    }
    found
}

fn in_brackets(text: &str, word: &Word<'_>) -> bool {
    text[..word.start].ends_with('(') && text[word.end()..].starts_with(')')
}

/// The words before `at` whose initials are the letters of the acronym there; function words
/// between them may be skipped.
fn full_name(words: &[Word<'_>], at: usize) -> Option<Range<usize>> {
    let mut letters: Vec<char> = words[at]
        .surface
        .trim_end_matches('s')
        .chars()
        .filter(|c| c.is_alphabetic())
        .collect();
    let mut i = at;
    let mut start = at;
    while let Some(letter) = letters.last().copied() {
        i = i.checked_sub(1).filter(|_| at - i < 8)?;
        let parts: Vec<char> = words[i]
            .surface
            .split(['-', '‑'])
            .filter_map(|part| part.chars().next())
            .collect();
        let mut ends = parts.iter().rev().zip(letters.iter().rev());
        let fits = ends.all(|(a, b)| a.eq_ignore_ascii_case(b));
        // A hyphenated word gives all of its initials (`Multi-Version`) or one (`look-aside`).
        let matched = if fits && parts.len() <= letters.len() {
            parts.len()
        } else {
            usize::from(
                parts
                    .first()
                    .is_some_and(|c| c.eq_ignore_ascii_case(&letter)),
            )
        };
        if matched > 0 {
            letters.truncate(letters.len() - matched);
            start = i;
        } else if !letter.is_alphabetic() || !lexicon::is_stop(&lower(&words[i])) {
            return None;
        }
    }
    Some(start..at)
}

/// `X, also called Y`: the names on both sides of the words that end at `at`.
fn also_called(
    words: &[Word<'_>],
    at: usize,
    usage: &WordUsage,
) -> Option<(Range<usize>, Range<usize>)> {
    let from = (0..at).rev().find(|&i| words[i].gap_before)?;
    let before = (0..from).rev().find(|&i| words[i].gap_before).unwrap_or(0);
    let name = core(&words[before..from]);
    let end = (at + 2..words.len())
        .find(|&i| words[i].gap_before)
        .unwrap_or(words.len());
    let other = core(&words[at + 1..end]);
    let short = name.len() <= 4 && other.len() <= 4;
    if !short || !is_name(name, usage) || !is_name(other, usage) {
        return None;
    }
    let at_of = |run: &[Word<'_>]| {
        let start = words.partition_point(|w| w.start < run[0].start);
        start..start + run.len()
    };
    Some((at_of(name), at_of(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::prose::words;

    /// Subject, genus and rank.
    type Shown<'a> = (&'a str, &'a str, u8);

    fn shown(text: &str) -> Option<(String, String, u8)> {
        let words = words(text);
        let join = |r: Range<usize>| {
            words[r]
                .iter()
                .map(|w| w.surface)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let found = definition(&words, &WordUsage::default())?;
        Some((
            join(found.subject),
            found.genus.map(join).unwrap_or_default(),
            found.rank,
        ))
    }

    #[test]
    fn definitions_are_recognised() {
        let cases: &[(&str, Option<Shown<'_>>)] = &[
            (
                "Ownership is a set of rules that govern memory.",
                Some(("Ownership", "", 3)),
            ),
            (
                "A mutex is a kind of lock that sleeps.",
                Some(("mutex", "lock", 3)),
            ),
            (
                "In Rust, a slice is a pointer to a run.",
                Some(("slice", "pointer", 3)),
            ),
            (
                "The borrow checker is a compiler pass.",
                Some(("borrow checker", "compiler pass", 3)),
            ),
            (
                "Entropy is defined as the logarithm of it.",
                Some(("Entropy", "logarithm", 4)),
            ),
            (
                "Latency refers to the time a call takes.",
                Some(("Latency", "", 4)),
            ),
            (
                "This process is called garbage collection.",
                Some(("garbage collection", "", 2)),
            ),
            (
                "Chaos, also known as Hell, is a dice game.",
                Some(("Chaos", "dice game", 3)),
            ),
            (
                "Entropy (in bits) is a measure of it.",
                Some(("Entropy", "", 3)),
            ),
            ("In 2009, the airport, a small one, is a ruin.", None),
            ("It is a good day.", None),
            ("This is the reason.", None),
            ("The main problem is the cost.", None),
            ("There is a page.", None),
            ("When it runs, the kernel is a process.", None),
            ("The size of it is the sum.", None),
        ];
        for &(text, expected) in cases {
            let expected = expected.map(|(s, g, r)| (s.to_owned(), g.to_owned(), r));
            assert_eq!(shown(text), expected, "in {text:?}");
        }
    }

    #[test]
    fn synonyms_are_recognised() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            (
                "We use Multi-Version Concurrency Control (MVCC) here.",
                &[("Multi-Version Concurrency Control", "MVCC")],
            ),
            (
                "The translation look-aside buffer (TLB) is flushed.",
                &[("translation look-aside buffer", "TLB")],
            ),
            (
                "The page table, also called the address map, is big.",
                &[("page table", "address map")],
            ),
            (
                "A trap, also known as an exception, is taken.",
                &[("trap", "exception")],
            ),
            ("It runs on machines (NASA).", &[]),
        ];
        for (text, expected) in cases {
            let words = words(text);
            let join = |r: Range<usize>| {
                words[r]
                    .iter()
                    .map(|w| w.surface)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let found: Vec<(String, String)> = synonyms(text, &words, &WordUsage::default())
                .into_iter()
                .map(|(a, b)| (join(a), join(b)))
                .collect();
            let expected: Vec<(String, String)> = expected
                .iter()
                .map(|&(a, b)| (a.into(), b.into()))
                .collect();
            assert_eq!(found, expected, "in {text:?}");
        }
    }
}
