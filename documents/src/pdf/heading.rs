//! Which drafts are headings, and of what level.
//!
//! Where the file has an outline that fits its pages, the outline decides, and other drafts in the
//! very type of its headings join in. Else a heading is a short draft in larger or bold type, and
//! its level is the rank of its type; numbering (`3.2`) corrects the level. Lines in italics above
//! paragraphs are headings of the lowest level where a document has several.
//!
//! The title of a document that has one is its heading of level 1, and all others are below it.

use std::ops::Range;

use pdf_oxide::PdfDocument;
use pdf_oxide::outline::{Destination, OutlineItem};

use super::paragraph::{Draft, DraftKind, is_all_bold, is_all_italic};
use super::{Usual, is_near};
use crate::cues::heading::{is_title, numbered};

const ENTRIES_MAX: usize = 10_000;
/// Entries found on their pages that make an outline one of the whole document.
const MATCHED_MIN: usize = 3;
/// Drafts looked at on the page that an outline entry names.
const PAGE_DRAFTS_MAX: usize = 400;
/// Drafts that one heading may have fallen into.
const PARTS_MAX: usize = 3;
const LINES_MAX: usize = 4;
const CHARS_MAX: usize = 160;
/// How much larger than body text a heading is that is not bold.
const LARGER: f32 = 1.12;
const LEVEL_MAX: u8 = 6;
/// Where more of the drafts are bold than this, bold says nothing.
const BOLD_RATIO_MAX: f32 = 0.3;
/// Lines in italics that are as headings do, before any is one.
const ITALIC_LINES_MIN: usize = 2;
/// How much larger than body text a title is, at least.
const TITLE_RATIO: f32 = 1.2;
const TITLE_LETTERS_MIN: usize = 3;
const TITLE_CHARS_MAX: usize = 300;

/// An entry of the file's outline.
#[derive(Debug)]
pub(super) struct OutlineEntry {
    title: String,
    /// From 1.
    page: u32,
    level: u8,
}

/// The file's outline, flat, in order. Entries without a page are left out.
pub(super) fn outline(file: &PdfDocument) -> Vec<OutlineEntry> {
    let items = file.get_outline().ok().flatten().unwrap_or_default();
    let mut entries = Vec::new();
    let mut open: Vec<(OutlineItem, u8)> = items.into_iter().rev().map(|i| (i, 1)).collect();
    while let Some((item, level)) = open.pop() {
        if entries.len() == ENTRIES_MAX {
            break;
        }
        let below = (level + 1).min(LEVEL_MAX);
        open.extend(item.children.into_iter().rev().map(|child| (child, below)));
        if let Some(Destination::PageIndex(index)) = item.dest
            && let Ok(page) = u32::try_from(index + 1)
        {
            entries.push(OutlineEntry {
                title: item.title,
                page,
                level,
            });
        }
    }
    entries
}

/// Turns drafts that are headings into such.
pub(super) fn mark(drafts: &mut Vec<Draft>, outline: &[OutlineEntry], usual: &Usual) {
    let matched = mark_outline(drafts, outline);
    let is_trusted = matched >= MATCHED_MIN && 2 * matched >= outline.len();
    if is_trusted {
        mark_same_style(drafts, usual);
        mark_title(drafts, usual);
    } else {
        mark_by_type(drafts, usual);
        mark_italic(drafts, usual);
    }
    join_chapter_labels(drafts);
}

/// The type that a heading is set in.
#[derive(Clone, Copy, Debug)]
struct FontStyle {
    size: f32,
    is_bold: bool,
}

impl FontStyle {
    fn from_draft(draft: &Draft) -> FontStyle {
        FontStyle {
            size: draft.first().size,
            is_bold: is_all_bold(draft.first()),
        }
    }

    fn is_same(self, other: FontStyle) -> bool {
        is_near(self.size, other.size) && self.is_bold == other.is_bold
    }
}

/// Finds each entry's draft on its page; returns how many were found.
fn mark_outline(drafts: &mut Vec<Draft>, outline: &[OutlineEntry]) -> usize {
    let (mut cursor, mut matched) = (0, 0);
    for entry in outline {
        let title = letters(&entry.title);
        if title.is_empty() {
            continue;
        }
        // Drafts are in page order. Two entries of one page are in it in outline order.
        let from = drafts.partition_point(|draft| draft.first().page < entry.page);
        let from = from.max(cursor);
        let found = (from..drafts.len().min(from + PAGE_DRAFTS_MAX))
            .take_while(|&i| drafts[i].first().page == entry.page)
            .find_map(|i| Some((i, parts_matching_title(&drafts[i..], &title)?)));
        let Some((index, parts)) = found else {
            continue;
        };
        let rest: Vec<Draft> = drafts.drain(index + 1..index + parts).collect();
        drafts[index]
            .lines
            .extend(rest.into_iter().flat_map(|draft| draft.lines));
        drafts[index].kind = DraftKind::Heading(entry.level);
        cursor = index + 1;
        matched += 1;
    }
    matched
}

/// How many drafts from the first on say `title` together, numbering aside.
fn parts_matching_title(drafts: &[Draft], title: &str) -> Option<usize> {
    let mut text = String::new();
    for (i, draft) in drafts.iter().take(PARTS_MAX).enumerate() {
        let is_possible = draft.lines.len() <= LINES_MAX
            && draft.first().page == drafts[0].first().page
            && !matches!(draft.kind, DraftKind::Table | DraftKind::Heading(_));
        if !is_possible {
            return None;
        }
        text.push_str(&letters(&draft.text()));
        if text.is_empty() {
            return None;
        }
        if is_same_title(&text, title) {
            return Some(i + 1);
        }
        if text.len() > title.len() + 24 {
            return None;
        }
    }
    None
}

/// Whether two titles (letters and digits only) differ in nothing but a number before them.
fn is_same_title(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let Some(prefix) = long.strip_suffix(short) else {
        return false;
    };
    let number = ["chapter", "section", "appendix", "part"]
        .iter()
        .find_map(|word| prefix.strip_prefix(word))
        .unwrap_or(prefix);
    prefix.is_empty()
        || (number.chars().count() <= 6
            && number.chars().count() <= short.chars().count()
            && (number.chars().all(|c| c.is_ascii_digit())
                || number.chars().skip(1).all(|c| c.is_ascii_digit())
                || number.bytes().all(|b| b"ivxl".contains(&b))))
}

/// Letters and digits in lower case.
fn letters(text: &str) -> String {
    let alphanumeric = text.chars().filter(|c| c.is_alphanumeric());
    alphanumeric.flat_map(char::to_lowercase).collect()
}

/// Drafts in the type of the outline's headings are headings, too, once the outline has begun. So is
/// before it what looks like a chapter (a foreword), but neither a title page nor a table of contents.
fn mark_same_style(drafts: &mut [Draft], usual: &Usual) {
    let mut known: Vec<(FontStyle, u8)> = Vec::new();
    for draft in drafts.iter() {
        if let DraftKind::Heading(level) = draft.kind
            && !known
                .iter()
                .any(|(t, _)| t.is_same(FontStyle::from_draft(draft)))
        {
            known.push((FontStyle::from_draft(draft), level));
        }
    }
    let contents = contents_pages(drafts);
    let title_page = drafts.first().map(|draft| draft.first().page);
    let mut has_begun = false;
    for draft in drafts {
        has_begun |= matches!(draft.kind, DraftKind::Heading(_));
        let of_type = known
            .iter()
            .find(|(t, _)| t.is_same(FontStyle::from_draft(draft)));
        let Some((t, level)) = of_type else {
            continue;
        };
        let page = draft.first().page;
        let may_precede = *level == 1
            && t.size >= LARGER * usual.body_size
            && Some(page) != title_page
            && !contents.contains(&page);
        if (has_begun || may_precede) && is_candidate(draft, usual, true) {
            draft.kind = DraftKind::Heading(*level);
        }
    }
}

/// Makes the title before the outline's headings one of its own, and sets the others below it.
fn mark_title(drafts: &mut Vec<Draft>, usual: &Usual) {
    let Some(title) = title_drafts(drafts, usual) else {
        return;
    };
    let is_heading = |draft: &Draft| matches!(draft.kind, DraftKind::Heading(_));
    if drafts[..title.end].iter().any(is_heading) {
        return;
    }
    for draft in drafts.iter_mut() {
        if let DraftKind::Heading(level) = &mut draft.kind {
            *level = (*level + 1).min(LEVEL_MAX);
        }
    }
    let rest: Vec<Draft> = drafts.drain(title.start + 1..title.end).collect();
    let first = &mut drafts[title.start];
    first.lines.extend(rest.into_iter().flat_map(|d| d.lines));
    first.kind = DraftKind::Heading(1);
}

/// The drafts on the first page that are in its largest type, where they read as a title and that
/// type stands out.
pub(super) fn title_drafts(drafts: &[Draft], usual: &Usual) -> Option<Range<usize>> {
    let first_page = drafts.first()?.first().page;
    let on_page = drafts.partition_point(|draft| draft.first().page <= first_page);
    let sizes = drafts[..on_page].iter().map(|draft| draft.first().size);
    let largest = sizes.clone().max_by(f32::total_cmp)?;
    if largest < TITLE_RATIO * usual.body_size {
        return None;
    }
    let is_largest: Vec<bool> = sizes.map(|size| is_near(size, largest)).collect();
    let start = is_largest.iter().position(|is| *is)?;
    let count = is_largest[start..].iter().take_while(|is| **is).count();
    let title = start..start + count;
    let text = joined(&drafts[title.clone()]);
    let lines: usize = drafts[title.clone()].iter().map(|d| d.lines.len()).sum();
    let reads_so = text.chars().filter(|c| c.is_alphabetic()).count() >= TITLE_LETTERS_MIN
        && text.chars().count() <= TITLE_CHARS_MAX
        && lines <= LINES_MAX
        && !text.ends_with(['.', ',', ';']);
    (reads_so && numbered(&text).is_none()).then_some(title)
}

/// All words of several drafts.
pub(super) fn joined(drafts: &[Draft]) -> String {
    let parts: Vec<String> = drafts.iter().map(Draft::text).collect();
    parts.join(" ")
}

/// Without an outline: larger or bold type makes a heading, its rank the level.
fn mark_by_type(drafts: &mut [Draft], usual: &Usual) {
    let bold = drafts.iter().filter(|d| is_all_bold(d.first())).count();
    let bold_counts = (bold as f32) < BOLD_RATIO_MAX * drafts.len() as f32 || drafts.len() < 10;
    let contents = contents_pages(drafts);
    // What an outline names that is not trusted is a heading all the same; its level is not known.
    let is_named = |draft: &Draft| matches!(draft.kind, DraftKind::Heading(_));
    let is_heading = |draft: &Draft| {
        is_named(draft)
            || is_candidate(draft, usual, bold_counts) && !contents.contains(&draft.first().page)
    };
    let candidates: Vec<usize> = (0..drafts.len())
        .filter(|&i| is_heading(&drafts[i]))
        .collect();
    let types = ranked_types(candidates.iter().map(|&i| &drafts[i]));
    let base = number_base(candidates.iter().map(|&i| &drafts[i]), &types);
    let first = candidates.first().copied();
    for i in candidates {
        let rank = rank_of(&drafts[i], &types);
        let level = match numbered(&drafts[i].text()) {
            Some(number) => base + number.level - 1,
            // What the document begins with is its title, however small it is set.
            None if Some(i) == first && i == 0 => 1,
            None => rank,
        };
        drafts[i].kind = DraftKind::Heading(level.clamp(1, LEVEL_MAX));
    }
}

/// Without an outline: lines in italics that are at the edge above paragraphs in upright type, once
/// there are several with more space above than below.
fn mark_italic(drafts: &mut [Draft], usual: &Usual) {
    let slanted: Vec<usize> = (0..drafts.len())
        .filter(|&i| is_italic_title(&drafts[i..], usual))
        .collect();
    let apart = slanted
        .iter()
        .filter(|&&i| has_more_space_above(drafts, i))
        .count();
    if apart < ITALIC_LINES_MIN {
        return;
    }
    let levels = drafts.iter().filter_map(|draft| match draft.kind {
        DraftKind::Heading(level) => Some(level),
        _ => None,
    });
    let level = levels.max().map_or(1, |lowest| (lowest + 1).min(LEVEL_MAX));
    for i in slanted {
        drafts[i].kind = DraftKind::Heading(level);
    }
}

/// Whether the first draft is a title in italics and the second the paragraph below it.
fn is_italic_title(drafts: &[Draft], usual: &Usual) -> bool {
    let [title, below, ..] = drafts else {
        return false;
    };
    let (line, next) = (title.first(), below.first());
    title.kind == DraftKind::Prose
        && below.kind == DraftKind::Prose
        && title.lines.len() == 1
        && below.lines.len() > 1
        && is_all_italic(line)
        && !is_all_italic(next)
        && is_near(line.size, usual.body_size)
        && line.flow == next.flow
        && line.base < next.base
        && (line.x0 - line.column.0).abs() < 0.7 * line.size
        && line.cell_count() == 1
        && is_title(&title.text())
}

/// Whether more space is above a draft than below it.
fn has_more_space_above(drafts: &[Draft], i: usize) -> bool {
    let line = drafts[i].first();
    let below = drafts[i + 1].first().base - line.base;
    let above = i.checked_sub(1).map(|i| drafts[i].last());
    let above = above.filter(|above| above.flow == line.flow);
    above.is_none_or(|above| line.base - above.base > 1.2 * below)
}

fn is_candidate(draft: &Draft, usual: &Usual, bold_counts: bool) -> bool {
    let line = draft.first();
    let text = draft.text();
    let is_larger = line.size >= LARGER * usual.body_size;
    let is_bold =
        bold_counts && line.size >= 0.95 * usual.body_size && draft.lines.iter().all(is_all_bold);
    let reads_so = if is_larger {
        !text.ends_with(['.', ',', ';'])
    } else {
        is_title(&text)
    };
    let number = numbered(&text).is_some();
    (draft.kind == DraftKind::Prose || (draft.kind == DraftKind::ListItem && number))
        && (is_larger || is_bold)
        && (reads_so || number)
        && draft.lines.len() <= LINES_MAX
        && draft.lines.iter().all(|l| l.cell_count() == 1 || number)
        && text.chars().count() <= CHARS_MAX
        && text.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && !is_contents_line(&text)
}

/// Pages that are tables of contents: many lines lead to a page number.
fn contents_pages(drafts: &[Draft]) -> Vec<u32> {
    let mut counts = std::collections::BTreeMap::<u32, (usize, usize)>::new();
    for line in drafts.iter().flat_map(|draft| &draft.lines) {
        let (leading, all) = counts.entry(line.page).or_default();
        *leading += usize::from(is_contents_line(&line.text()));
        *all += 1;
    }
    let is_contents = |counts: &(usize, usize)| counts.0 >= 3 && 3 * counts.0 >= counts.1;
    let pages = counts.iter().filter(|(_, counts)| is_contents(counts));
    pages.map(|(page, _)| *page).collect()
}

/// `Locks . . . . 12`
fn is_contents_line(text: &str) -> bool {
    let dots = text.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_whitespace());
    dots.len() < text.len()
        && (dots.ends_with(". .") || dots.ends_with("...") || dots.ends_with('…'))
}

/// The types of the candidates, most eminent first.
fn ranked_types<'a>(candidates: impl Iterator<Item = &'a Draft>) -> Vec<FontStyle> {
    let mut types: Vec<FontStyle> = Vec::new();
    for draft in candidates {
        let this = FontStyle::from_draft(draft);
        if !types.iter().any(|t| t.is_same(this)) {
            types.push(this);
        }
    }
    types.sort_by(|a, b| b.size.total_cmp(&a.size).then(b.is_bold.cmp(&a.is_bold)));
    types
}

/// From 1.
fn rank_of(draft: &Draft, types: &[FontStyle]) -> u8 {
    let this = FontStyle::from_draft(draft);
    let rank = types.iter().position(|t| t.is_same(this)).unwrap_or(0);
    u8::try_from(rank + 1).unwrap_or(LEVEL_MAX).min(LEVEL_MAX)
}

/// The level of headings with one number: the most eminent rank of those with the fewest numbers, in
/// step with how many these have. (Deeper ones may share a type with those above them.)
fn number_base<'a>(candidates: impl Iterator<Item = &'a Draft>, types: &[FontStyle]) -> u8 {
    let numbered = candidates.filter_map(|draft| {
        let number = numbered(&draft.text())?;
        Some((number.level, rank_of(draft, types)))
    });
    let base = numbered.min();
    base.map_or(1, |(count, rank)| (rank + 1).saturating_sub(count).max(1))
}

/// `Chapter 3` and the title below it are one heading.
fn join_chapter_labels(drafts: &mut Vec<Draft>) {
    let mut i = 1;
    while i < drafts.len() {
        let (label, title) = (&drafts[i - 1], &drafts[i]);
        let is_pair = matches!(title.kind, DraftKind::Heading(_))
            && label.first().page == title.first().page
            && is_chapter_label(label);
        if is_pair {
            let title = drafts.remove(i);
            drafts[i - 1].kind = title.kind;
            drafts[i - 1].lines.extend(title.lines);
        } else {
            i += 1;
        }
    }
}

fn is_chapter_label(draft: &Draft) -> bool {
    let text = draft.text();
    let words = text.split_whitespace().count();
    draft.lines.len() == 1
        && words == 2
        && numbered(&text).is_some_and(|n| n.level == 1 && n.is_strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_the_same_but_for_their_number() {
        let cases: &[(&str, &str, bool)] = &[
            ("Page tables", "3 Page tables", true),
            ("Chapter 3 Page tables", "Page tables", true),
            ("A Sample session", "Appendix A Sample session", true),
            ("Page tables", "PAGE TABLES", true),
            ("The page tables", "Page tables", false),
            ("Locks", "Page tables", false),
            ("C", "ABC", false),
        ];
        for (a, b, want) in cases {
            assert_eq!(is_same_title(&letters(a), &letters(b)), *want, "{a} / {b}");
        }
    }
}
