//! Where the list of references is, and where one of its entries ends and the next begins.

use std::ops::Range;

use super::entry::{label, year};
use crate::chunk::numbering;
use crate::text::prose;
use loci_documents::{Block, BlockKind, ParsedDocument};

/// What the list is called.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "references", "bibliography", "works cited", "literature cited", "literature",
    "references and notes", "cited works", "reference list", "références", "literatur",
    "literaturverzeichnis", "referencias", "bibliografía", "referencer",
];
/// Entries of one list.
const ENTRIES_MAX: usize = 20_000;
/// Characters of one entry.
const ENTRY_CHARS_MAX: usize = 4_000;
/// Blocks behind a heading that are looked at for whether the list goes on, and those of them that are no headings.
const LOOKAHEAD_BLOCKS_MAX: usize = 16;
const LOOKAHEAD_ENTRIES_MAX: usize = 4;

/// A list of references.
pub(super) struct ReferenceList {
    /// Where it is in the text, with its heading.
    pub(super) range: Range<usize>,
    pub(super) entries: Vec<String>,
}

/// The list of a document: what is under the last heading of such a name, or footnotes that are references.
pub(super) fn find_reference_list(parsed: &ParsedDocument) -> Option<ReferenceList> {
    let visible = |range: Range<usize>| prose::visible(&parsed.text[range], parsed.kind);
    let opens = |at: &usize| {
        let block = &parsed.blocks[*at];
        let text = || {
            numbering::parse(&visible(block.range.clone()))
                .title
                .to_lowercase()
        };
        let is_short = block.range.len() < 60;
        let is_named = || NAMES.contains(&text().trim_end_matches([':', '.']));
        let may = matches!(block.kind, BlockKind::Heading(_) | BlockKind::Paragraph);
        may && is_short && is_named()
    };
    let Some(first) = (0..parsed.blocks.len()).rev().find(opens) else {
        return footnotes(parsed);
    };
    let level = match parsed.blocks[first].kind {
        BlockKind::Heading(level) => level,
        _ => u8::MAX,
    };
    let rest = &parsed.blocks[first + 1..];
    let is_higher = |block: &Block| matches!(block.kind, BlockKind::Heading(next) if next <= level);
    let goes_on = |behind: &[Block]| {
        let near = behind.iter().take(LOOKAHEAD_BLOCKS_MAX);
        let near = near.take_while(|block| !is_higher(block));
        let pieces = near
            .filter(|block| may_be_entry(block))
            .take(LOOKAHEAD_ENTRIES_MAX);
        let (mut entries, mut others) = (0, 0);
        for block in pieces {
            if reads_as_entry(block, &visible(block.range.clone())) {
                entries += 1
            } else {
                others += 1
            }
        }
        entries > 0 && entries >= others
    };
    let first_piece = rest.iter().position(may_be_entry).unwrap_or(rest.len());
    let ends = |at: &usize| {
        let block = &rest[*at];
        let is_heading = matches!(block.kind, BlockKind::Heading(_));
        let title = || visible(block.range.clone());
        is_higher(block)
            || is_heading
                && *at > first_piece
                && is_appendix(&title())
                && !is_entry_misread_as_heading(&title())
                && !goes_on(&rest[at + 1..])
    };
    let end = (0..rest.len()).find(ends).unwrap_or(rest.len());
    let stop = rest
        .get(end)
        .map_or(parsed.text.len(), |next| next.range.start);
    let pieces = rest[..end].iter().filter(|block| {
        let is_heading = matches!(block.kind, BlockKind::Heading(_));
        may_be_entry(block)
            || is_heading && is_entry_misread_as_heading(&visible(block.range.clone()))
    });
    let mut lines = Vec::new();
    for block in pieces {
        let alone = matches!(block.kind, BlockKind::ListItem | BlockKind::Reference(_));
        // A marker such as `1.` is before the block of a list item.
        let from = if alone && parsed.text_is_original {
            parsed.text[..block.range.start]
                .rfind('\n')
                .map_or(0, |at| at + 1)
        } else {
            block.range.start
        };
        lines.extend(
            split_entries(&visible(from..block.range.end))
                .into_iter()
                .map(|line| (line, alone)),
        );
    }
    let entries = merge_entries(lines);
    let range = parsed.blocks[first].range.start..stop;
    (!entries.is_empty()).then_some(ReferenceList { range, entries })
}

/// `Appendix`, `A Proofs`, `B. Data`, `Supplementary material`: what is behind a list, however its heading is set.
fn is_appendix(title: &str) -> bool {
    let lower = title.to_lowercase();
    let (first, rest) = title.split_once(' ').unwrap_or((title, ""));
    let letter = first.trim_end_matches(['.', ':']);
    let is_letter = letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_uppercase());
    lower.starts_with("appendi")
        || lower.starts_with("supplement")
        || is_letter && rest.starts_with(char::is_uppercase)
}

/// Whether a block may be one of a list's entries or a part of one.
fn may_be_entry(block: &Block) -> bool {
    !matches!(block.kind, BlockKind::Heading(_) | BlockKind::Footnote)
}

/// Whether a block of this text is an entry by its format, or begins as one and has a year.
fn reads_as_entry(block: &Block, text: &str) -> bool {
    let is_item = block.kind == BlockKind::ListItem;
    let begins = is_item || begins_entry(text) || label(text).is_some();
    matches!(block.kind, BlockKind::Reference(_)) || begins && year(&truncate_entry(text)).is_some()
}

/// `A. Einstein, On the electrodynamics of moving bodies, 1905.`: an entry that was taken for a heading.
fn is_entry_misread_as_heading(title: &str) -> bool {
    let is_parted = title.contains(',') || title.ends_with('.');
    is_parted && begins_entry(title) && year(&truncate_entry(title)).is_some()
}

/// A block may hold several entries where each begins with the next number in brackets.
fn split_entries(text: &str) -> Vec<String> {
    let Some(BracketNumber {
        number: mut last, ..
    }) = bracketed(text)
    else {
        return vec![text.to_owned()];
    };
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(" [") {
        if let Some(next) =
            bracketed(&text[at + 1..]).filter(|next| Some(next.number) == last.checked_add(1))
        {
            parts.push(text[start..at].to_owned());
            (start, last) = (at + 1, next.number);
        }
    }
    parts.push(text[start..].to_owned());
    parts
}

/// What is looked at of an entry.
fn truncate_entry(entry: &str) -> String {
    entry.chars().take(ENTRY_CHARS_MAX).collect()
}

struct BracketNumber {
    number: u32,
}

/// `[12] …`
fn bracketed(text: &str) -> Option<BracketNumber> {
    let inside = text.strip_prefix('[')?;
    let inside = inside[..inside.floor_char_boundary(12)].split_once(']')?.0;
    let number = inside.trim().parse().ok()?;
    Some(BracketNumber { number })
}

/// Puts together what a page or column break, or a line's end, has parted. `alone`: pieces that are entries by their
/// format.
fn merge_entries(lines: Vec<(String, bool)>) -> Vec<String> {
    let labelled = lines
        .iter()
        .filter(|(line, _)| label(line).is_some())
        .count();
    let by_label = labelled * 2 > lines.len() || labelled > 2 && labelled * 4 > lines.len();
    let mut entries: Vec<String> = Vec::new();
    for (line, alone) in lines {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            continue;
        }
        let begins = match entries.last() {
            None => true,
            Some(_) if by_label => label(&line).is_some(),
            Some(_) if alone => true,
            Some(last) => begins_entry(&line) && is_complete(last),
        };
        match entries.last_mut() {
            Some(last) if !begins => {
                if last.chars().count() + line.len() <= ENTRY_CHARS_MAX {
                    last.push(' ');
                    last.push_str(&line);
                }
            }
            _ => entries.push(truncate_entry(&line)),
        }
        if entries.len() == ENTRIES_MAX {
            break;
        }
    }
    entries
}

/// Whether an entry has all that one has: a year, and an end.
fn is_complete(entry: &str) -> bool {
    let open =
        entry.trim_end().ends_with([',', '&', '-', '–', ':']) || entry.trim_end().ends_with(" and");
    year(entry).is_some() && !open
}

/// `Knuth, D. E.`, `D. E. Knuth,`, `van Rossum, G.`: a line that begins with a name.
pub(super) fn begins_entry(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').take(6).collect();
    let is_initial = |word: &str| {
        let letters = word.trim_end_matches([',', '.']);
        word.contains('.')
            && letters
                .split(['.', '-'])
                .all(|part| part.chars().count() <= 2 && part.starts_with(char::is_uppercase))
    };
    let is_particle = |word: &&str| {
        [
            "van", "von", "de", "der", "den", "del", "di", "da", "la", "le", "ter", "el", "al",
        ]
        .contains(word)
    };
    let particles = words.iter().take_while(|word| is_particle(word)).count();
    let words = &words[particles..];
    let [first, rest @ ..] = words else {
        return false;
    };
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase)
            && word.chars().filter(|c| c.is_alphabetic()).count() > 1
    };
    // `Surname, I.` or `Two Words, I.`
    let comma = words.iter().position(|word| word.ends_with(','));
    let surname_first = comma.is_some_and(|at| {
        at <= 2
            && words[..=at].iter().all(|word| is_name(word))
            && words
                .get(at + 1)
                .is_some_and(|next| is_initial(next) || is_name(next))
    });
    let initials = words.iter().take_while(|word| is_initial(word)).count();
    let initials_first =
        initials > 0 && words.get(initials).is_some_and(|word| is_name(word)) && !is_name(first);
    surname_first
        || initials_first
        || rest
            .first()
            .is_some_and(|next| is_name(first) && is_initial(next) && next.ends_with([',', '.']))
}

/// Footnotes of which most are references.
fn footnotes(parsed: &ParsedDocument) -> Option<ReferenceList> {
    let notes = parsed
        .blocks
        .iter()
        .filter(|block| block.kind == BlockKind::Footnote);
    let notes: Vec<String> = notes
        .map(|block| prose::visible(&parsed.text[block.range.clone()], parsed.kind))
        .map(|note| truncate_entry(&note))
        .take(ENTRIES_MAX)
        .collect();
    let is_reference =
        |note: &&String| year(note).is_some() && label(note).is_some() && note.contains([',', '.']);
    let references = notes.iter().filter(is_reference).count();
    (references >= 2 && references * 2 > notes.len()).then_some(ReferenceList {
        range: parsed.text.len()..parsed.text.len(),
        entries: notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(lines: &[&str]) -> Vec<String> {
        merge_entries(lines.iter().map(|&line| (line.to_owned(), false)).collect())
    }

    #[test]
    fn entries_that_a_page_parted_are_put_together() {
        let lines = [
            "Egorov, M., Sunberg, Z. N., & Kochenderfer, M.",
            "J. (2017). POMDPs.jl: A framework. Journal of Learning, 18(26), 1–5.",
            "Kochenderfer, M. J., & Moss, R. J. (2026). Algorithms for Validation.",
            "MIT Press.",
            "van Rossum, G. (1995). Python tutorial.",
        ];
        assert_eq!(
            joined(&lines),
            [
                format!("{} {}", lines[0], lines[1]),
                format!("{} {}", lines[2], lines[3]),
                lines[4].to_owned(),
            ]
        );
        let numbered = [
            "[1] A. Author. Title. 1999.",
            "continued here, 2000.",
            "[2] B. Author. Other. 2001.",
        ];
        assert_eq!(joined(&numbered).len(), 2);
        assert_eq!(
            split_entries("[1] One. [2] Two [7] of 2001. [3] Three."),
            ["[1] One.", "[2] Two [7] of 2001.", "[3] Three."]
        );
    }
}
