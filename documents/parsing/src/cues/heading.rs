//! What a heading looks like when nothing but its words says so.
//!
//! | line | level |
//! | --- | --- |
//! | `Chapter 3`, `Chapter 3: Title`, `Part II. Title`, `Appendix A Title` | 1 |
//! | `Section 3.2 Title`, `3.2 Title`, `A.1 Title` | count of its numbers |
//! | `3 Title`, `3. Title`, `IV. Title` | 1, and weak: a list item looks the same |

use crate::tree::{Block, BlockKind};

/// A line that may be a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// From 1.
    pub level: u8,
    /// Whether a heading is all that it can be. A weak one needs more evidence.
    pub is_strong: bool,
}

/// Longest heading in characters; what is longer is prose.
const TITLE_CHARS_MAX: usize = 100;
const LEVEL_MAX: usize = 6;

/// Reads a line's numbering. `None`: it has none, or goes on as prose does.
pub fn numbered(line: &str) -> Option<Numbered> {
    let line = line.trim();
    if line.chars().count() > TITLE_CHARS_MAX {
        return None;
    }
    let (first, rest) = split_word(line);
    match first.to_ascii_lowercase().as_str() {
        "chapter" | "part" | "appendix" => {
            let (number, title) = split_word(rest);
            let is_number = is_ordinal(number.trim_end_matches([':', '.']));
            (is_number && (title.is_empty() || is_title(title))).then_some(Numbered {
                level: 1,
                is_strong: true,
            })
        }
        "section" => {
            let (number, title) = split_word(rest);
            let count = number_count(number.trim_end_matches([':', '.']))?;
            is_title(title).then_some(Numbered {
                level: count,
                is_strong: true,
            })
        }
        _ => {
            let bare = first.trim_end_matches('.');
            let level = number_count(bare)?;
            is_title(rest).then_some(Numbered {
                level,
                is_strong: level > 1,
            })
        }
    }
}

/// The heading that names a document which states no title: the only one of the highest level.
///
/// A heading with others on its level is a part among parts, and so is one with a number, such as `1 Introduction`. Only
/// a file that opens with its one `Chapter 3: Title` is that chapter.
pub fn title_heading<'b>(text: &str, blocks: &'b [Block]) -> Option<&'b Block> {
    let headings = || {
        blocks.iter().filter_map(|block| match block.kind {
            BlockKind::Heading(level) => Some((level, block)),
            _ => None,
        })
    };
    let top = headings().map(|(level, _)| level).min()?;
    let mut tops = headings().filter(|(level, _)| *level == top);
    let (_, first) = tops.next()?;
    let is_lone = tops.next().is_none();
    let is_part = numbered(&text[first.range.clone()]).is_some_and(|number| {
        let is_chapter = number.is_strong && number.level == 1;
        !is_chapter || blocks[0].range.start != first.range.start
    });
    (is_lone && !is_part).then_some(first)
}

/// Whether a lone line reads as a title: it begins with a capital or digit, holds a word, and does
/// not end as a sentence or a clause does.
pub fn is_title(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['–', '-', ':', ' ']);
    let begins = text.chars().next().is_some_and(|c| {
        c.is_uppercase() || c.is_numeric() || (c.is_alphabetic() && !c.is_lowercase())
    });
    begins
        && text.chars().count() <= TITLE_CHARS_MAX
        && !text.ends_with(['.', ',', ';', ':'])
        && text.chars().filter(|c| c.is_alphabetic()).count() >= 2
        // Dots that lead to a page number: a line of a table of contents.
        && !text.contains(". . .")
        && !text.contains("....")
}

/// Whether a line shouts: four letters or more, and none of them lower case.
pub fn is_capitals(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic());
    letters.clone().count() >= 4 && letters.clone().all(char::is_uppercase)
}

/// How many numbers `3.2.1` has; `None` where it is something else, such as a price or a date.
/// The first may be a capital letter, as in an appendix, when more follow.
fn number_count(text: &str) -> Option<u8> {
    let count = text.split('.').count();
    let small = |part: &str| {
        (1..=3).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_digit())
            && !(part.len() > 1 && part.starts_with('0'))
    };
    let letter = |part: &str| part.len() == 1 && part.bytes().all(|b| b.is_ascii_uppercase());
    let is_number = text
        .split('.')
        .enumerate()
        .all(|(i, part)| small(part) || (i == 0 && count > 1 && letter(part)));
    let level = u8::try_from(count).ok()?;
    (is_number && count <= LEVEL_MAX).then_some(level)
}

/// `3`, `IV`, `A`, `Three`.
fn is_ordinal(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let number = |b: u8| b.is_ascii_digit();
    let roman = |b: u8| b"IVXLC".contains(&b);
    !text.is_empty()
        && ((text.len() <= 3 && text.bytes().all(number))
            || (text.len() <= 7 && text.bytes().all(roman))
            || (text.len() == 1 && text.bytes().all(|b| b.is_ascii_uppercase()))
            || WORDS.contains(&text.to_ascii_lowercase().as_str()))
}

fn split_word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_among_others_of_its_level_is_no_title() {
        let cases: &[(&[(u8, &str)], Option<&str>)] = &[
            (&[(1, "Ducks"), (2, "Feet"), (2, "Wings")], Some("Ducks")),
            (&[(2, "Note"), (1, "Ducks")], Some("Ducks")),
            (&[(2, "Ducks"), (3, "Feet")], Some("Ducks")),
            (&[(1, "Feet"), (1, "Wings")], None),
            (&[(1, "Ducks"), (2, "Feet"), (1, "Index")], None),
            (&[(1, "Chapter 1: Feet"), (1, "Chapter 2: Wings")], None),
            (
                &[(1, "Chapter 1: Feet"), (2, "Toes")],
                Some("Chapter 1: Feet"),
            ),
            (&[(2, "Note"), (1, "Chapter 1: Feet")], None),
            (&[(1, "1 Introduction"), (2, "Toes")], None),
            (&[], None),
        ];
        for (headings, want) in cases {
            let mut text = String::new();
            let mut blocks = Vec::new();
            for (level, heading) in *headings {
                let start = text.len();
                text += heading;
                blocks.push(Block {
                    kind: BlockKind::Heading(*level),
                    range: start..text.len(),
                    ..Block::default()
                });
                text += "\n\n";
            }
            let title = title_heading(&text, &blocks).map(|block| &text[block.range.clone()]);
            assert_eq!(title, *want, "{headings:?}");
        }
    }

    #[test]
    fn numbering_tells_the_level() {
        let cases: &[(&str, Option<(u8, bool)>)] = &[
            ("Chapter 3: Locks", Some((1, true))),
            ("Chapter 3", Some((1, true))),
            ("Chapter Seven", Some((1, true))),
            ("Chapter 3 explains how locks work.", None),
            ("PART II. The Sea", Some((1, true))),
            ("Appendix A Sample session", Some((1, true))),
            ("Section 3.2 Spinning", Some((2, true))),
            ("Section 3.2 shows that", None),
            ("3.2 Spinning", Some((2, true))),
            ("3.2.1. Deep", Some((3, true))),
            ("A.1 Extra", Some((2, true))),
            ("1. Introduction", Some((1, false))),
            ("4 Results", Some((1, false))),
            ("3.2 percent of them", None),
            ("2021 Annual Report", None),
            ("3.14 is a number.", None),
            ("1.2 Locks . . . . . 7", None),
            ("A 1", None),
            ("plain words", None),
            ("", None),
        ];
        for (line, want) in cases {
            let got = numbered(line).map(|n| (n.level, n.is_strong));
            assert_eq!(got, *want, "{line:?}");
        }
    }
}
