//! The smallest parts that chunks are made of: headings, sentences, and blocks that stay whole.
//!
//! Always true: units are ascending, do not overlap, and cover every character of the text that is
//! not white space: what is between two blocks (fences, bullets, comments) belongs to one of
//! them. No unit has more than [`Limits::hard`] tokens.

use std::ops::Range;

use locidb::storage::records::ContentType;

use crate::tokens;
use loci_documents::{Block, BlockKind, ParsedDocument};
use loci_types::text::sentences::{SentenceRule, sentences};

/// How large units may be, in tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitLimits {
    /// No unit is larger.
    pub(crate) tokens_max: u32,
    /// What a unit that would be larger is cut into.
    pub(crate) split_tokens: u32,
}

/// A part of the text that chunks keep whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Bytes of the text, without white space at either end.
    pub(crate) range: Range<usize>,
    /// The block that it is of; for text without any block, 0.
    pub(crate) block: usize,
    /// What it is.
    pub(crate) kind: UnitKind,
    /// Estimated tokens.
    pub(crate) tokens: u32,
    /// Whether it announces what follows and should not be parted from it: a heading, or prose that
    /// ends in a colon.
    pub(crate) introduces_next: bool,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A heading with its level, from 1.
    Heading(u8),
    /// A sentence of prose.
    Sentence,
    /// Code, a table or an equation: not to be read as prose.
    Atom(ContentType),
}

impl Unit {
    pub(crate) fn is_heading(&self) -> bool {
        matches!(self.kind, UnitKind::Heading(_))
    }
}

/// Cuts `parsed` into units. One pass over the text.
pub(crate) fn units(parsed: &ParsedDocument, limits: UnitLimits) -> Vec<Unit> {
    let mut units = Vec::new();
    for (block, range) in covering_ranges(parsed) {
        let kind = parsed.blocks.get(block).map(|b| &b.kind);
        match kind {
            Some(BlockKind::Heading(level)) => push(
                parsed,
                block,
                range,
                UnitKind::Heading(*level),
                limits,
                &mut units,
            ),
            Some(BlockKind::Code(_) | BlockKind::Definition { .. }) => {
                push(
                    parsed,
                    block,
                    range,
                    UnitKind::Atom(ContentType::Code),
                    limits,
                    &mut units,
                );
            }
            Some(BlockKind::Table) => {
                push(
                    parsed,
                    block,
                    range,
                    UnitKind::Atom(ContentType::Table),
                    limits,
                    &mut units,
                );
            }
            Some(BlockKind::Figure) => {
                push(
                    parsed,
                    block,
                    range,
                    UnitKind::Atom(ContentType::Image),
                    limits,
                    &mut units,
                );
            }
            Some(BlockKind::Equation) => {
                push(
                    parsed,
                    block,
                    range,
                    UnitKind::Atom(ContentType::Text),
                    limits,
                    &mut units,
                );
            }
            _ => {
                for span in sentences(&parsed.text[range.clone()], SentenceRule::Reader) {
                    let span = range.start + span.start..range.start + span.end;
                    push(parsed, block, span, UnitKind::Sentence, limits, &mut units);
                }
            }
        }
    }
    units
}

/// Adds a unit, or its pieces where it is too large to stay whole.
fn push(
    parsed: &ParsedDocument,
    block: usize,
    range: Range<usize>,
    kind: UnitKind,
    limits: UnitLimits,
    units: &mut Vec<Unit>,
) {
    let text = &parsed.text[range.clone()];
    let tokens = tokens::count(text);
    if tokens <= limits.tokens_max {
        units.push(Unit {
            range,
            block,
            kind,
            tokens,
            introduces_next: introduces_next(text, kind),
        });
        return;
    }
    for (i, piece) in split_by_tokens(text, limits.split_tokens)
        .into_iter()
        .enumerate()
    {
        let tokens = tokens::count(&text[piece.clone()]);
        let range = range.start + piece.start..range.start + piece.end;
        let kind = if i > 0 && matches!(kind, UnitKind::Heading(_)) {
            UnitKind::Sentence
        } else {
            kind
        };
        units.push(Unit {
            range,
            block,
            kind,
            tokens,
            introduces_next: false,
        });
    }
}

fn introduces_next(text: &str, kind: UnitKind) -> bool {
    let open = text
        .trim_end_matches(['*', '_', '`'])
        .ends_with([':', '：']);
    matches!(kind, UnitKind::Heading(_)) || (kind == UnitKind::Sentence && open)
}

/// The blocks with the text between them shared out, trimmed; blocks of white space are left out.
fn covering_ranges(parsed: &ParsedDocument) -> Vec<(usize, Range<usize>)> {
    let text = &parsed.text;
    let shown: Vec<(usize, &Block)> = parsed
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, b)| !text[b.range.clone()].trim().is_empty())
        .collect();
    let mut found = Vec::with_capacity(shown.len().max(1));
    let mut start = 0;
    for (i, &(index, block)) in shown.iter().enumerate() {
        let end = match shown.get(i + 1) {
            Some((_, next)) => {
                block.range.end + tail_len(&block.kind, &text[block.range.end..next.range.start])
            }
            None => text.len(),
        };
        found.extend(trimmed(text, start..end).map(|range| (index, range)));
        start = end;
    }
    if shown.is_empty() {
        found.extend(trimmed(text, 0..text.len()).map(|range| (0, range)));
    }
    found
}

/// How much of the `gap` after a block is the block's: the rest of its line, and a closing fence or
/// underline on the next.
fn tail_len(kind: &BlockKind, gap: &str) -> usize {
    let Some(line_end) = gap.find('\n') else {
        return if gap.trim().is_empty() {
            gap.len()
        } else {
            closing_marks(gap)
        };
    };
    let next = gap[line_end + 1..]
        .split_inclusive('\n')
        .next()
        .unwrap_or("");
    let bare = next.trim_start_matches(['>', ' ', '\t']).trim_end();
    let closes = match kind {
        BlockKind::Code(_) => bare.starts_with("```") || bare.starts_with("~~~"),
        BlockKind::Heading(_) => !bare.is_empty() && bare.bytes().all(|b| b == b'=' || b == b'-'),
        BlockKind::Equation => bare == "$$" || bare == "\\]",
        _ => false,
    };
    line_end + if closes { 1 + next.trim_end().len() } else { 0 }
}

/// Bytes of closing punctuation and markup at the start of a gap that has no line break.
fn closing_marks(gap: &str) -> usize {
    gap.find(|c: char| !matches!(c, '*' | '_' | '`' | ')' | ']' | '"' | '|' | '$'))
        .unwrap_or(0)
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let inner = part.trim();
    let start = range.start + (part.len() - part.trim_start().len());
    (!inner.is_empty()).then_some(start..start + inner.len())
}

/// Cuts `text` into trimmed pieces of at most `limit` tokens: after an empty line where one is in
/// the last quarter of a piece, else after a line, a word, or at worst a character.
pub(crate) fn split_by_tokens(text: &str, limit: u32) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = start + fitting_len(&text[start..], limit);
        let end = if end < text.len() {
            preferred_end(text, start, end)
        } else {
            end
        };
        pieces.extend(trimmed(text, start..end));
        start = end;
    }
    pieces
}

/// The longest prefix of whole words of at most `limit` tokens, in bytes; where the first word is
/// larger, as many of its characters. Looks no further than it must.
fn fitting_len(text: &str, limit: u32) -> usize {
    // No character is worth less than a quarter of a token, but for the start of a word.
    let word_len_max = 16 * limit as usize + 96;
    let skip = text.len() - text.trim_start().len();
    let (mut word, mut used, mut end) = (skip, 0, 0);
    for (at, c) in text[skip..].char_indices().map(|(at, c)| (skip + at, c)) {
        if !c.is_whitespace() && at - word <= word_len_max {
            continue;
        }
        used += tokens::count(&text[word..at]);
        if used > limit || !c.is_whitespace() {
            return if end > 0 {
                end
            } else {
                split_characters(text, skip, limit)
            };
        }
        word = at + c.len_utf8();
        end = word;
    }
    match used + tokens::count(&text[word..]) {
        all if all <= limit => text.len(),
        _ if end > 0 => end,
        _ => split_characters(text, skip, limit),
    }
}

/// Where `limit` characters from `skip` on end: a character costs at most one token.
fn split_characters(text: &str, skip: usize, limit: u32) -> usize {
    let cut = text[skip..].char_indices().nth(limit.max(1) as usize);
    cut.map_or(text.len(), |(at, _)| skip + at)
}

fn preferred_end(text: &str, start: usize, end: usize) -> usize {
    let mut late = end - (end - start) / 4;
    let mut middle = start + (end - start) / 2;
    while !text.is_char_boundary(late) {
        late += 1;
    }
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let empty_line = text[late..end].rfind("\n\n").map(|n| late + n + 2);
    let line = || text[middle..end].rfind('\n').map(|n| middle + n + 1);
    empty_line.or_else(line).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(kind: BlockKind, range: Range<usize>) -> Block {
        Block {
            kind,
            range,
            ..Block::default()
        }
    }

    fn shown(parsed: &ParsedDocument) -> Vec<&str> {
        let limits = UnitLimits {
            tokens_max: 512,
            split_tokens: 256,
        };
        units(parsed, limits)
            .into_iter()
            .map(|u| &parsed.text[u.range])
            .collect()
    }

    #[test]
    fn text_between_blocks_goes_to_the_block_it_marks_up() {
        let text = "# One\n\nSome text.\n```rust\nlet x = 1;\n```\n<!-- note -->\n- item\n\nTwo\n===\n\nend";
        let at = |s: &str| text.find(s).map(|n| n..n + s.len()).expect("in the text");
        let parsed = ParsedDocument {
            text: text.to_owned(),
            blocks: vec![
                block(BlockKind::Heading(1), at("One")),
                block(BlockKind::Paragraph, at("Some text.")),
                block(BlockKind::Code(None), at("let x = 1;\n")),
                block(BlockKind::ListItem, at("item")),
                block(BlockKind::Heading(1), at("Two")),
                block(BlockKind::Paragraph, at("end")),
            ],
            ..Default::default()
        };
        let expected = [
            "# One",
            "Some text.",
            "```rust\nlet x = 1;\n```",
            "<!-- note -->",
            "- item",
            "Two\n===",
            "end",
        ];
        assert_eq!(shown(&parsed), expected);
    }

    #[test]
    fn text_without_blocks_is_prose() {
        let parsed = ParsedDocument {
            text: " One. Two. ".into(),
            ..Default::default()
        };
        assert_eq!(shown(&parsed), ["One.", "Two."]);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_text_and_keep_the_limit(text in "[a-zé \n.]{0,400}", limit in 1u32..40) {
            let mut end = 0;
            for piece in split_by_tokens(&text, limit) {
                prop_assert!(text[end..piece.start].trim().is_empty());
                prop_assert!(tokens::count(&text[piece.clone()]) <= limit);
                end = piece.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
