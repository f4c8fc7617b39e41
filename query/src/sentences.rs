//! The sentences of a text, to measure it by ([`sentences`]) and to quote it by ([`quotable`]).
//!
//! Both start from Unicode's sentence bounds (UAX #29). Those of [`quotable`] are for a reader: a line that is
//! broken in the midst of a sentence does not end it, and neither do abbreviations and initials; white space and
//! the signs that open a list item or a quotation are no part of it.

use unicode_segmentation::UnicodeSegmentation;

/// Words after whose full stop a sentence goes on.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "cf", "ch", "dr", "ed", "eds", "eq", "eqs", "fig", "figs", "mr", "mrs", "ms",
    "no", "nos", "pp", "prof", "ref", "refs", "resp", "sec", "st", "vol", "vs",
];
/// Words that a sentence has at least to be quoted.
const WORDS_MIN: u32 = 3;

/// Sentences with the byte where they start; together they are the whole text. Beyond Unicode's rule, which
/// wants a capital to follow, a full stop that stands alone ends one: so do texts that were tokenised and
/// lower-cased write it.
pub fn sentences(text: &str) -> Vec<(usize, &str)> {
    const ALONE: &str = " . ";
    let mut sentences = Vec::new();
    for (at, sentence) in text.split_sentence_bound_indices() {
        let mut start = 0;
        for (stop, _) in sentence.match_indices(ALONE) {
            let end = stop + ALONE.len();
            sentences.push((at + start, &sentence[start..end]));
            start = end;
        }
        if start < sentence.len() {
            sentences.push((at + start, &sentence[start..]));
        }
    }
    sentences
}

/// Sentences that can be quoted, with the byte where they start: trimmed, of at least three words, no headings
/// of Markdown. One pass.
pub fn quotable(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize)> = None; // bytes of a sentence that may go on
    for (at, piece) in sentences(text) {
        let end = at + piece.len();
        let goes_on = open.filter(|&(start, end)| is_continued_by(&text[start..end], &text[at..]));
        if let (None, Some((start, end))) = (goes_on, open) {
            found.extend(quotable_range(text, start, end));
        }
        open = Some((goes_on.map_or(at, |(start, _)| start), end));
    }
    found.extend(open.and_then(|(start, end)| quotable_range(text, start, end)));
    found
}

/// Whether what stands `before` a bound is a sentence that `rest` goes on with.
fn is_continued_by(before: &str, rest: &str) -> bool {
    let trimmed = before.trim_end();
    if trimmed.is_empty() {
        return true;
    }
    if before.ends_with(['\n', '\r', '\u{85}', '\u{2028}']) {
        let line = trimmed.rsplit(['\n', '\r']).next().unwrap_or(trimmed);
        let next = rest.split(['\n', '\r']).next().unwrap_or(rest);
        let breaks = before[trimmed.len()..].matches('\n').count();
        let is_over = trimmed.ends_with(['.', '!', '?', '…', ':', '。', '！', '？', '|']);
        let is_apart = is_block_start(line) && line.trim_start().starts_with('#');
        return breaks < 2
            && !is_over
            && !is_apart
            && !next.trim().is_empty()
            && !is_block_start(next);
    }
    let Some(stopped) = trimmed.strip_suffix('.') else {
        return false;
    };
    let word = stopped.rsplit(|c: char| !c.is_alphabetic()).next();
    let word = word.unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    is_initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Whether a line opens a heading, a list item, a quotation, a table row or a fence.
fn is_block_start(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && line[digits..].starts_with(['.', ')']);
    let marked = line.starts_with(['#', '-', '*', '+', '•', '>', '|', '`', '~', '=']);
    (marked && !line.starts_with("**")) || (numbered && line[digits + 1..].starts_with(' '))
}

/// What is quoted of the bytes `start..end`.
fn quotable_range(text: &str, start: usize, end: usize) -> Option<(usize, &str)> {
    let whole = text[start..end].trim();
    if whole.starts_with('#') {
        return None;
    }
    let marks = |c: char| matches!(c, '-' | '*' | '+' | '•' | '>' | '–');
    let mut content = whole;
    while let Some(rest) = content.strip_prefix(marks).filter(|r| r.starts_with(' ')) {
        content = rest.trim_start();
    }
    let at = start + text[start..end].find(content)?;
    (crate::tokens::words(content) >= WORDS_MIN).then_some((at, content))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_end_at_capitals_and_isolated_full_stops() {
        let cases: &[(&str, &[&str])] = &[
            ("One is. Two is.", &["One is. ", "Two is."]),
            ("one is . two is .", &["one is . ", "two is ."]),
            ("", &[]),
        ];
        for (text, want) in cases {
            let got: Vec<&str> = sentences(text).iter().map(|found| found.1).collect();
            assert_eq!(got, *want);
            assert!(
                sentences(text)
                    .iter()
                    .all(|(at, part)| text[*at..].starts_with(part))
            );
        }
    }

    #[test]
    fn quotable_sentences_are_complete() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("nothing", "", &[]),
            (
                "two",
                "One is here. Two is there. ",
                &["One is here.", "Two is there."],
            ),
            (
                "a broken line",
                "The level of the\nriver rose. It fell again.",
                &["The level of the\nriver rose.", "It fell again."],
            ),
            (
                "paragraphs",
                "without a stop here\n\nAnother one is here",
                &["without a stop here", "Another one is here"],
            ),
            (
                "a heading",
                "# Rivers and lakes here\nThe level rose fast.\n\n## More about it\n",
                &["The level rose fast."],
            ),
            (
                "a list",
                "- one item is here\n- two items are here\n1. three items are here",
                &[
                    "one item is here",
                    "two items are here",
                    "1. three items are here",
                ],
            ),
            (
                "abbreviations",
                "It is due to Dr. Ada King. As J. Smith said, Fig. A shows it.",
                &[
                    "It is due to Dr. Ada King.",
                    "As J. Smith said, Fig. A shows it.",
                ],
            ),
            ("too short", "Yes. No, never.", &[]),
            (
                "bold",
                "**Rivers** rise in spring.",
                &["**Rivers** rise in spring."],
            ),
        ];
        for (name, text, want) in cases {
            let got: Vec<&str> = quotable(text).iter().map(|found| found.1).collect();
            assert_eq!(got, *want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn quotes_stand_where_they_say_and_ascend(text in "[a-zA-Z0-9.!? \n#*é日-]{0,120}") {
            let mut past = 0;
            for (at, said) in quotable(&text) {
                prop_assert!(at >= past && text[at..].starts_with(said));
                prop_assert_eq!(said.trim(), said);
                past = at + said.len();
            }
        }
    }
}
