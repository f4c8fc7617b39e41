//! Lines to drafts: what belongs together, before it is known what is a heading.
//!
//! A line goes on from the one before it unless something says otherwise: another type size or
//! font, more space between them than lines usually have, an indent, a bullet, a short line that
//! ends a sentence. Over a page or column break prose goes on when the sentence is not over,
//! even past a caption or a table that is there.
//!
//! Start reading at [`drafts`].

use super::layout::{Gap, Line, is_index_entry};
use super::table::may_continue;
use super::{Usual, is_near};
use crate::text::is_list_item;

/// Space above a line that begins a paragraph, in usual distances between lines.
const PARAGRAPH_LEADING: f32 = 1.35;
/// The same within code, where an empty line does not end it.
const CODE_LEADING: f32 = 3.0;
/// An indent, in type sizes.
const INDENT: f32 = 0.7;
/// A line that leaves so much of its column empty may be a paragraph's last.
const SHORT_LINE_RATIO: f32 = 0.12;
/// Lines with wide gaps that make a table.
const TABLE_LINES_MIN: usize = 3;
/// Cells of one line of a table. Each is compared with all columns.
pub(super) const COLUMNS_MAX: usize = 500;
/// How far cells of one column may begin apart, in points.
const ALIGNED: f32 = 2.0;
/// Drafts that may be between two halves of a sentence.
const FLOATS_MAX: usize = 8;
/// Longest label in a figure, in characters.
const LABEL_CHARS_MAX: usize = 40;

/// Lines that belong together.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) kind: DraftKind,
    pub(super) lines: Vec<Line>,
}

/// What a draft is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftKind {
    Prose,
    ListItem,
    Code,
    Table,
    Caption,
    Heading(u8),
}

impl Draft {
    /// All of its words on one line.
    pub(super) fn text(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(Line::text).collect();
        lines.join(" ")
    }

    pub(super) fn first(&self) -> &Line {
        &self.lines[0]
    }

    pub(super) fn last(&self) -> &Line {
        &self.lines[self.lines.len() - 1]
    }
}

/// Groups lines, which are in reading order.
pub(super) fn drafts(lines: Vec<Line>, usual: &Usual) -> Vec<Draft> {
    let mut grouping = Grouping {
        usual,
        drafts: Vec::new(),
        current: 0,
    };
    // Lines with wide gaps wait until it is known whether they are enough for a table.
    let mut waiting: Vec<Line> = Vec::new();
    for mut line in lines {
        if waiting.last().is_some_and(|last| !is_below(last, &line)) {
            grouping.flush_table(&mut waiting);
        }
        if let Some(last) = waiting.last() {
            align_cells(&mut line, last);
        }
        let goes_on = waiting.last().is_some_and(|last| may_continue(last, &line));
        if is_tabular(&line) || goes_on {
            waiting.push(line);
        } else {
            grouping.flush_table(&mut waiting);
            grouping.add(line);
        }
    }
    grouping.flush_table(&mut waiting);
    let mut drafts = grouping.drafts;
    for draft in &mut drafts {
        if draft.kind == DraftKind::Code && !reads_as_code(draft) {
            draft.kind = DraftKind::Prose;
        }
        if draft.kind == DraftKind::Prose && is_caption(&draft.first().text()) {
            draft.kind = DraftKind::Caption;
        }
    }
    drafts
}

fn is_tabular(line: &Line) -> bool {
    (2..=COLUMNS_MAX).contains(&line.cell_count()) && !is_list_item(&line.text()) && !is_code(line)
}

/// A long cell leaves a narrow gap after it; the next cell tells itself by where it begins.
fn align_cells(line: &mut Line, above: &Line) {
    let columns: Vec<f32> = above
        .pieces
        .iter()
        .filter(|p| p.gap == Gap::Cell)
        .map(|p| p.x0)
        .collect();
    for piece in line.pieces.iter_mut().filter(|p| p.gap == Gap::Space) {
        if columns.iter().any(|x| (x - piece.x0).abs() <= ALIGNED) {
            piece.gap = Gap::Cell;
        }
    }
}

/// Whether `next` is below `line` in the same column, no more than two lines down.
fn is_below(line: &Line, next: &Line) -> bool {
    let distance = next.base - line.base;
    line.flow == next.flow && distance > 0.0 && distance < CODE_LEADING * line.size
}

/// Drafts while they grow.
struct Grouping<'a> {
    usual: &'a Usual,
    drafts: Vec<Draft>,
    /// The draft that took the last line. Not always the last one: see [`Grouping::home`].
    current: usize,
}

impl Grouping<'_> {
    /// Puts a line where it belongs.
    fn add(&mut self, line: Line) {
        match self.draft_to_extend(&line) {
            Some(index) => {
                self.drafts[index].lines.push(line);
                self.current = index;
            }
            None => self.push(Draft {
                kind: line_kind(&line),
                lines: vec![line],
            }),
        }
    }

    fn push(&mut self, draft: Draft) {
        self.drafts.push(draft);
        self.current = self.drafts.len() - 1;
    }

    /// The draft that `line` goes on from.
    fn draft_to_extend(&self, line: &Line) -> Option<usize> {
        let (drafts, usual) = (&self.drafts, self.usual);
        let current = drafts.get(self.current)?;
        let is_next = current.last().flow == line.flow && current.last().base < line.base;
        if is_next && continues_draft(current, line, usual) {
            return Some(self.current);
        }
        if is_next && !is_float(current, usual) {
            return None;
        }
        // Reading jumped to another column or page, or past a figure there: look for the sentence
        // that was left open.
        let (back, open) = drafts
            .iter()
            .rev()
            .enumerate()
            .take(FLOATS_MAX)
            .find(|(_, draft)| !is_float(draft, usual) || continues_in_next_column(draft, line))?;
        // Past something else only words that cannot begin a sentence go on from one.
        let is_sure = back == 0 || line.text().starts_with(char::is_lowercase);
        (is_sure && continues_in_next_column(open, line)).then_some(drafts.len() - 1 - back)
    }

    /// Writes the lines that wait to be a table, as one if they are enough.
    fn flush_table(&mut self, waiting: &mut Vec<Line>) {
        let lines = std::mem::take(waiting);
        let tabular = lines.iter().filter(|line| line.cell_count() > 1).count();
        if tabular >= TABLE_LINES_MIN {
            self.push(Draft {
                kind: DraftKind::Table,
                lines,
            });
            return;
        }
        for line in lines {
            self.add(line);
        }
    }
}

fn line_kind(line: &Line) -> DraftKind {
    if is_code(line) {
        DraftKind::Code
    } else if is_list_item(&line.text()) || starts_with_bullet(&line.text()) {
        DraftKind::ListItem
    } else {
        DraftKind::Prose
    }
}

/// Whether a draft may be in the middle of a sentence: a figure's label or caption, a footnote,
/// a table.
fn is_float(draft: &Draft, usual: &Usual) -> bool {
    matches!(
        draft.kind,
        DraftKind::Caption | DraftKind::Table | DraftKind::Code
    ) || draft.first().size < 0.9 * usual.body_size
        || is_caption(&draft.first().text())
        || draft.text().chars().count() <= LABEL_CHARS_MAX
}

/// Whether `line`, in another column or on another page, takes up the sentence that `draft` leaves
/// open.
fn continues_in_next_column(draft: &Draft, line: &Line) -> bool {
    let last = draft.last();
    if last.flow == line.flow || is_index_entry(&last.text()) && is_index_entry(&line.text()) {
        return false;
    }
    match draft.kind {
        DraftKind::Prose | DraftKind::ListItem => {
            let text = line.text();
            let is_prose = line_kind(line) == DraftKind::Prose && !is_caption(&text);
            let is_heading_like =
                is_all_bold(line) || crate::cues::heading::numbered(&text).is_some();
            is_prose
                && !is_all_bold(last)
                && !is_heading_like
                && is_near(last.size, line.size)
                && line.page <= last.page + 1
                && !ends_sentence(&last.text())
                && !is_short(last)
        }
        // Code over a page break stays together.
        DraftKind::Code => {
            is_code(line) && is_near(last.size, line.size) && line.page == last.page + 1
        }
        _ => false,
    }
}

/// Whether `line`, next in the same column, belongs to `draft`.
fn continues_draft(draft: &Draft, line: &Line, usual: &Usual) -> bool {
    let last = draft.last();
    let distance = (line.base - last.base) / last.size.max(line.size);
    if draft.kind == DraftKind::Code {
        return is_code(line) && is_near(last.size, line.size) && distance < CODE_LEADING;
    }
    let is_inline = is_code(line) && is_inline_code(last, line);
    if draft.kind == DraftKind::Table || (is_code(line) && !is_inline) {
        return false;
    }
    let is_alike =
        is_inline || is_near(last.size, line.size) && is_all_bold(last) == is_all_bold(line);
    // A line all in italics above upright text is a title of some sort.
    let is_below_title = draft.lines.len() == 1 && is_all_italic(last) && is_short(last);
    if is_below_title && !is_all_italic(line) {
        return false;
    }
    let is_heading = is_all_bold(last) || last.size > 1.1 * usual.body_size;
    // Large type is set with less space between its lines than body text, relative to its size.
    let usual = if is_heading {
        usual.leading.max(1.2)
    } else {
        usual.leading
    };
    if !is_alike || distance > PARAGRAPH_LEADING * usual {
        return false;
    }
    if is_heading {
        return crate::cues::heading::numbered(&line.text()).is_none_or(|n| !n.is_strong);
    }
    !starts_new_block(draft, line)
}

/// A short line of code words inside prose.
fn is_inline_code(last: &Line, line: &Line) -> bool {
    !is_short(last)
        && !ends_sentence(&last.text())
        && (line.x0 - last.column.0).abs() < INDENT * line.size
}

/// Whether indents, bullets or a finished sentence say that `line` begins a paragraph or an item.
fn starts_new_block(draft: &Draft, line: &Line) -> bool {
    let last = draft.last();
    // Where the draft would begin in this column.
    let first_x0 = draft.first().x0 - draft.first().column.0 + last.column.0;
    let (text, last_text) = (line.text(), last.text());
    let step = INDENT * line.size;
    if starts_with_bullet(&text) {
        return true;
    }
    if is_list_item(&text) || starts_with_label(&text) {
        return line.x0 <= first_x0 + step
            && (ends_sentence(&last_text) || is_short(last) || draft.kind == DraftKind::ListItem)
            || starts_with_label(&text) && starts_with_label(&draft.first().text());
    }
    let is_hanging = draft.lines.len() > 1 && last.x0 > first_x0 + step;
    if is_hanging && line.x0 < last.x0 - step {
        return true;
    }
    let is_indented = line.x0 > last.x0 + step;
    let is_over = ends_sentence(&last_text) || is_short(last);
    if is_indented && is_over && draft.kind != DraftKind::ListItem {
        return true;
    }
    let opens = text
        .chars()
        .find(|c| c.is_alphanumeric())
        .is_some_and(|c| !c.is_lowercase());
    is_short(last) && ends_sentence(&last_text) && opens && line.x0 <= first_x0 + step
}

/// Whether a line ends well before its column does.
pub(super) fn is_short(line: &Line) -> bool {
    let width = line.column.1 - line.column.0;
    line.column.1 - line.x1 > SHORT_LINE_RATIO * width
}

pub(super) fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', '”', '’', ')', ']', '»']);
    text.ends_with(['.', '!', '?', ':', '…'])
}

pub(super) fn is_all_bold(line: &Line) -> bool {
    line.pieces
        .iter()
        .all(|piece| piece.style.is_bold || !piece.text.contains(char::is_alphanumeric))
        && line.is_mostly(|style| style.is_bold)
}

pub(super) fn is_all_italic(line: &Line) -> bool {
    line.pieces.iter().all(|piece| piece.style.is_italic)
}

fn is_code(line: &Line) -> bool {
    line.is_mostly(|style| style.is_mono)
        && !line.pieces.iter().any(|p| {
            // A word of prose among code words makes it prose.
            !p.style.is_mono
                && p.gap != Gap::Cell
                && p.text.split(' ').filter(|w| w.len() > 3).count() > 1
        })
}

/// Whether monospaced lines are code rather than a name or an address that stands alone.
fn reads_as_code(draft: &Draft) -> bool {
    draft.lines.len() > 1
        || draft
            .text()
            .contains(['(', '=', ';', '{', '<', '>', '$', '#', '|'])
}

fn starts_with_bullet(text: &str) -> bool {
    text.starts_with(['•', '◦', '▪', '■', '●', '○', '‣', '∙', '\u{f0b7}', '❖', '➢'])
}

/// `[12]` as it opens an entry of a reference list.
fn starts_with_label(text: &str) -> bool {
    let Some((label, _)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) else {
        return false;
    };
    !label.is_empty() && label.len() <= 12 && label.chars().all(|c| c.is_alphanumeric() || c == '+')
}

/// `Figure 3:`, `Table 2.1.`, `Fig. 4 |`.
fn is_caption(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "Figure",
        "Fig.",
        "Table",
        "Listing",
        "Algorithm",
        "FIGURE",
        "TABLE",
    ];
    let Some(rest) = WORDS.iter().find_map(|word| text.strip_prefix(word)) else {
        return false;
    };
    let rest = rest.trim_start();
    let number = rest.len()
        - rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
            .len();
    let (number, after) = rest.split_at(number);
    number.starts_with(|c: char| c.is_ascii_digit())
        && (number.ends_with('.') || after.trim_start().starts_with([':', '|', '—', '–']))
}
