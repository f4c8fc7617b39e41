//! Plain text: paragraphs between blank lines, headings by their looks.
//!
//! The text is the file itself, and a block is a slice of it. A heading is a paragraph of one line
//! that is numbered (see [`numbered`]), underlined with `===` or `---`, or short and all
//! capitals. A paragraph whose lines begin with `-`, `*`, `•` or `1.` is a list.
//!
//! Where it is unsure it says paragraph: a missed heading costs less than a false one.

use std::ops::Range;

use loci_parsing::cues::heading::{is_capitals, is_title, numbered, title_heading};
use loci_parsing::decode::decode_text;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{BlockKind, ParsedDocument};
use loci_parsing::writing::blocks::{Blocks, trimmed};

/// Longest line of capitals that counts as a heading, in characters.
const CAPITALS_CHARS_MAX: usize = 60;
const CAPITALS_LEVEL: u8 = 2;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode_text(bytes, limits)?;
    let source = &decoded.text[decoded.start..];
    let paragraphs: Vec<Paragraph> = paragraphs(source);
    let mut blocks = Blocks::new(limits);
    for (i, paragraph) in paragraphs.iter().enumerate() {
        let next = paragraphs.get(i + 1);
        add(source, paragraph, next, &mut blocks)?;
    }
    let blocks = blocks.finish_shifted(decoded.start);
    let first = blocks.first().map(|block| block.range.start);
    let title = title_heading(&decoded.text, &blocks)
        .filter(|block| Some(block.range.start) == first && block.kind == BlockKind::Heading(1))
        .map(|block| decoded.text[block.range.clone()].to_owned());
    Ok(ParsedDocument {
        kind: Kind::Text,
        title,
        text_is_original: true,
        blocks,
        text: decoded.text,
        ..ParsedDocument::default()
    })
}

/// The lines of a run without a blank one, each without the white space around it.
type Paragraph = Vec<Range<usize>>;

fn paragraphs(source: &str) -> Vec<Paragraph> {
    let mut paragraphs = vec![Paragraph::new()];
    let mut start = 0;
    for line in source.split_inclusive(['\n', '\u{c}']) {
        let range = trimmed(source, start..start + line.len());
        start += line.len();
        match paragraphs.last_mut() {
            Some(open) if !range.is_empty() => open.push(range),
            Some(open) if !open.is_empty() => paragraphs.push(Paragraph::new()),
            _ => {}
        }
        if line.ends_with('\u{c}') {
            paragraphs.push(Paragraph::new());
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

fn add(
    source: &str,
    lines: &[Range<usize>],
    next: Option<&Paragraph>,
    blocks: &mut Blocks<'_>,
) -> Result<(), ParseError> {
    let (level, used) = match lines {
        [title, rule, ..] if let Some(level) = underlined(source, title, rule) => (Some(level), 2),
        [line] => (lone_heading(source, line, next), 1),
        _ => (None, 0),
    };
    if let Some(level) = level {
        blocks.push(BlockKind::Heading(level), lines[0].clone(), Vec::new())?;
        return match &lines[used..] {
            [] => Ok(()),
            rest => add_prose(source, rest, blocks),
        };
    }
    add_prose(source, lines, blocks)
}

/// Writes list items where lines begin as such, else one paragraph.
fn add_prose(
    source: &str,
    lines: &[Range<usize>],
    blocks: &mut Blocks<'_>,
) -> Result<(), ParseError> {
    let is_item = |line: &Range<usize>| is_list_item(&source[line.clone()]);
    let mut rest = lines;
    while let Some((first, others)) = rest.split_first() {
        // Only a paragraph that begins as a list is one: prose may hold a line like "1. x" by chance.
        let count = if is_item(&lines[0]) {
            1 + others.iter().take_while(|line| !is_item(line)).count()
        } else {
            rest.len()
        };
        let kind = if is_item(first) {
            BlockKind::ListItem
        } else {
            BlockKind::Paragraph
        };
        blocks.push(kind, first.start..rest[count - 1].end, Vec::new())?;
        rest = &rest[count..];
    }
    Ok(())
}

fn underlined(source: &str, title: &Range<usize>, rule: &Range<usize>) -> Option<u8> {
    let (title, rule) = (&source[title.clone()], &source[rule.clone()]);
    let level = match rule.as_bytes() {
        [b'=', ..] if rule.bytes().all(|b| b == b'=') => 1,
        [b'-', ..] if rule.bytes().all(|b| b == b'-') => 2,
        _ => return None,
    };
    let chars = title.chars().count();
    let fits = rule.len() >= 3 && rule.len() * 2 >= chars && chars <= 2 * CAPITALS_CHARS_MAX;
    (fits && title.contains(char::is_alphabetic)).then_some(level)
}

fn lone_heading(source: &str, line: &Range<usize>, next: Option<&Paragraph>) -> Option<u8> {
    let line = &source[line.clone()];
    if let Some(found) = numbered(line) {
        // "1. Wash" is a heading before prose and a list item before "2. Dry".
        let before_prose =
            next.is_some_and(|lines| !is_list_item(&source[lines[0].clone()]) && lines.len() > 1);
        return (found.is_strong || before_prose).then_some(found.level);
    }
    let chars = line.chars().count();
    let shouts = chars <= CAPITALS_CHARS_MAX && is_capitals(line) && is_title(line);
    (shouts && next.is_some()).then_some(CAPITALS_LEVEL)
}

pub(super) fn is_list_item(line: &str) -> bool {
    let bulleted = ["- ", "* ", "• ", "– ", "+ "];
    if bulleted.iter().any(|bullet| line.starts_with(bullet)) {
        return true;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=2).contains(&digits)
        && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, want: &[(BlockKind, &str)]) {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        document.validate().unwrap();
        let got: Vec<_> = document
            .blocks
            .iter()
            .map(|b| (b.kind.clone(), &document.text[b.range.clone()]))
            .collect();
        assert_eq!(got, want, "{source:?}");
    }

    #[test]
    fn headings_paragraphs_and_lists_are_distinguished() {
        use BlockKind::{Heading, ListItem, Paragraph};
        let cases: &[(&str, &[(BlockKind, &str)])] = &[
            ("", &[]),
            (" \r\n\r\n", &[]),
            (
                "one\r\ntwo\r\n\r\nthree",
                &[(Paragraph, "one\r\ntwo"), (Paragraph, "three")],
            ),
            (
                "Chapter 1: Sea\n\nWater.\n",
                &[(Heading(1), "Chapter 1: Sea"), (Paragraph, "Water.")],
            ),
            (
                "Title\n=====\nProse.",
                &[(Heading(1), "Title"), (Paragraph, "Prose.")],
            ),
            (
                "1.2 Waves\n\nThey move.",
                &[(Heading(2), "1.2 Waves"), (Paragraph, "They move.")],
            ),
            (
                "THE SEA\n\nIt is wet.",
                &[(Heading(2), "THE SEA"), (Paragraph, "It is wet.")],
            ),
            (
                "It is a NATO.\n\nYes.",
                &[(Paragraph, "It is a NATO."), (Paragraph, "Yes.")],
            ),
            (
                "1. Wash\n\n2. Dry\n\nDone.",
                &[
                    (ListItem, "1. Wash"),
                    (ListItem, "2. Dry"),
                    (Paragraph, "Done."),
                ],
            ),
            (
                "- a\n  b\n- c",
                &[(ListItem, "- a\n  b"), (ListItem, "- c")],
            ),
            ("prose\n- not a list", &[(Paragraph, "prose\n- not a list")]),
            ("page\u{c}next", &[(Paragraph, "page"), (Paragraph, "next")]),
        ];
        for (source, want) in cases {
            check(source, want);
        }
    }
}
