//! Drafts to the document's text and blocks.

use std::collections::HashSet;
use std::ops::Range;

use crate::tree::PageBox;

use super::layout::{Gap, Line, MONO_WIDTH};
use super::page::Style;
use super::paragraph::{Draft, DraftKind};
use super::pictures::Picture;
use super::table;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, Mark, MarkKind, ParsedDocument};
use crate::writing::blocks::{Blocks, table as markdown, trimmed};

/// Deepest indent of code that is kept, in glyphs.
const CODE_INDENT_MAX: usize = 80;

/// As many dots as are kept of those that lead to a page number.
const LEADER: &str = ". . . ";

/// Appends all drafts to the document's text and blocks. `figures`: each with the draft that it is written before,
/// ascending.
pub(super) fn write(
    drafts: &[Draft],
    figures: Vec<(usize, Picture)>,
    limits: &Limits,
    document: &mut ParsedDocument,
) -> Result<(), ParseError> {
    let words = Words::from_drafts(drafts);
    let mut blocks = Blocks::new(limits);
    let mut figures = figures.into_iter().peekable();
    for (at, draft) in drafts.iter().enumerate() {
        while let Some((_, figure)) = figures.next_if(|(before, _)| *before <= at) {
            blocks.push_block(figure_block(figure, &mut document.text))?;
        }
        begin(&mut document.text);
        let mut writer = Writer {
            text: std::mem::take(&mut document.text),
            start: 0,
            styled: Vec::new(),
        };
        writer.start = writer.text.len();
        match draft.kind {
            DraftKind::Code => writer.code(&draft.lines),
            DraftKind::Table => {
                let rows = table::rows(&draft.lines, limits)?;
                writer.text += &markdown(&rows).unwrap_or_default();
            }
            _ => writer.prose(&draft.lines, &words),
        }
        let range = writer.range();
        let marks = match draft.kind {
            DraftKind::Code | DraftKind::Table | DraftKind::Heading(_) => Vec::new(),
            _ => writer.marks(&range),
        };
        document.text = writer.text;
        limits.check_text(document.text.len())?;
        if range.is_empty() {
            continue;
        }
        blocks.push_block(Block {
            kind: kind(draft),
            range,
            pages: Some((draft.first().page, draft.last().page)),
            boxes: boxes(&draft.lines),
            marks,
            ..Block::default()
        })?;
    }
    for (_, figure) in figures {
        blocks.push_block(figure_block(figure, &mut document.text))?;
    }
    document.blocks = blocks.finish();
    Ok(())
}

/// Parts a block from the one before it.
fn begin(text: &mut String) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
}

/// A figure, which is called by its name.
fn figure_block(figure: Picture, text: &mut String) -> Block {
    begin(text);
    let start = text.len();
    text.push_str(&figure.name);
    Block {
        kind: BlockKind::Figure,
        range: start..text.len(),
        pages: Some((figure.page, figure.page)),
        boxes: vec![figure.page_box()],
        images: vec![figure.name],
        ..Block::default()
    }
}

fn kind(draft: &Draft) -> BlockKind {
    match draft.kind {
        DraftKind::Prose => BlockKind::Paragraph,
        DraftKind::ListItem => BlockKind::ListItem,
        DraftKind::Code => BlockKind::Code(None),
        DraftKind::Table => BlockKind::Table,
        DraftKind::Caption => BlockKind::Caption,
        DraftKind::Heading(level) => BlockKind::Heading(level),
    }
}

/// One box for each column or page that the lines are in, in 0..1 from the top left corner.
fn boxes(lines: &[Line]) -> Vec<PageBox> {
    let by_flow = lines.chunk_by(|a, b| a.flow == b.flow && a.base <= b.base);
    by_flow
        .map(|lines| {
            let (width, height) = lines[0].page_size;
            let least = |pick: fn(&Line) -> f32| lines.iter().map(pick).fold(f32::MAX, f32::min);
            let most = |pick: fn(&Line) -> f32| lines.iter().map(pick).fold(f32::MIN, f32::max);
            PageBox {
                page: lines[0].page,
                x0: (least(|l| l.x0) / width).clamp(0.0, 1.0),
                y0: (least(|l| l.top) / height).clamp(0.0, 1.0),
                x1: (most(|l| l.x1) / width).clamp(0.0, 1.0),
                y1: (most(|l| l.bottom) / height).clamp(0.0, 1.0),
            }
        })
        .collect()
}

/// Appends one block to the text.
struct Writer {
    text: String,
    /// Where the block starts.
    start: usize,
    /// Runs of text with their style, in order.
    styled: Vec<(Range<usize>, Style)>,
}

impl Writer {
    fn prose(&mut self, lines: &[Line], words: &Words) {
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                self.join(&line.text(), words);
            }
            for piece in &line.pieces {
                if piece.gap != Gap::None {
                    self.space();
                }
                self.push(&piece.text, piece.style);
            }
        }
    }

    fn code(&mut self, lines: &[Line]) {
        let left = lines
            .iter()
            .map(|line| line.x0)
            .fold(f32::INFINITY, f32::min);
        let mut last: Option<&Line> = None;
        for line in lines {
            if let Some(last) = last {
                self.text.push('\n');
                let is_apart = line.flow == last.flow && line.base - last.base > 1.8 * line.size;
                if is_apart {
                    self.text.push('\n');
                }
            }
            // Casting saturates.
            let indent = ((line.x0 - left) / (MONO_WIDTH * line.size)).round() as usize;
            self.spaces(indent.min(CODE_INDENT_MAX));
            for piece in &line.pieces {
                match piece.gap {
                    Gap::None => {}
                    Gap::Space => self.space(),
                    Gap::Spaces(count) => self.spaces(usize::from(count)),
                    Gap::Cell => self.spaces(2),
                }
                self.text.push_str(&piece.text);
            }
            self.trim_end();
            last = Some(line);
        }
    }

    /// Ends a line that `next` follows: a space, or nothing where a hyphen divides a word.
    fn join(&mut self, next: &str, words: &Words) {
        self.trim_end();
        let is_soft = self.text.ends_with('\u{ad}');
        let is_hyphen = is_soft || self.text.ends_with(['-', '\u{2010}']);
        if !is_hyphen || self.text.len() == self.start {
            self.space();
            return;
        }
        let before = &self.text[self.start..];
        let head: String = last_word(before.trim_end_matches(['-', '\u{2010}', '\u{ad}']));
        let tail: String = next.chars().take_while(|c| c.is_alphabetic()).collect();
        let divides = !head.is_empty() && tail.starts_with(char::is_lowercase);
        if is_soft || (divides && !words.has_hyphen(&head, &tail)) {
            self.text.pop();
        } else if !divides && self.text.ends_with(" -") {
            self.space();
        }
        self.truncate_styled();
    }

    fn push(&mut self, text: &str, style: Style) {
        let is_at_start = self.text.len() == self.start || self.text.ends_with([' ', '\n']);
        let from = self.text.len();
        let mut is_space = is_at_start;
        for c in text.chars() {
            // Runs of spaces and of dots that lead to a page number are alignment, which the text
            // does not keep.
            let is_leader = c == '.' && self.text.ends_with(LEADER);
            if !is_leader && (c != ' ' || !is_space) {
                self.text.push(c);
                is_space = c == ' ';
            }
        }
        let range = from..self.text.len();
        match self.styled.last_mut() {
            Some((last, of)) if *of == style => last.end = range.end,
            _ => self.styled.push((range, style)),
        }
    }

    fn space(&mut self) {
        if self.text.len() > self.start && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn spaces(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
    }

    fn trim_end(&mut self) {
        let len = self.start + self.text[self.start..].trim_end_matches(' ').len();
        self.text.truncate(len);
        self.truncate_styled();
    }

    /// Styled runs end where the text does.
    fn truncate_styled(&mut self) {
        let len = self.text.len();
        if let Some((range, _)) = self.styled.last_mut() {
            range.end = range.end.min(len);
            range.start = range.start.min(len);
        }
    }

    /// The block without white space around it (code keeps its first indent).
    fn range(&self) -> Range<usize> {
        let block = &self.text[self.start..];
        let end = self.start + block.trim_end().len();
        self.start..end.max(self.start)
    }

    /// Bold, slanted and monospaced runs, unless the whole block is such.
    fn marks(&self, block: &Range<usize>) -> Vec<Mark> {
        let mut marks = Vec::new();
        self.mark_runs(block, MarkKind::Strong, |s| s.is_bold, &mut marks);
        self.mark_runs(block, MarkKind::Emphasis, |s| s.is_italic, &mut marks);
        self.mark_runs(block, MarkKind::Code, |s| s.is_mono, &mut marks);
        marks.sort_by_key(|mark| (mark.range.start, mark.range.end));
        marks
    }

    fn mark_runs(
        &self,
        block: &Range<usize>,
        kind: MarkKind,
        is_such: impl Fn(Style) -> bool,
        marks: &mut Vec<Mark>,
    ) {
        let runs = self.styled.chunk_by(|a, b| is_such(a.1) && is_such(b.1));
        for run in runs.filter(|run| is_such(run[0].1)) {
            let end = run[run.len() - 1].0.end.min(block.end);
            let range = run[0].0.start.max(block.start)..end;
            if range.start >= range.end || range == *block {
                continue;
            }
            let range = trimmed(&self.text, range);
            if self.text[range.clone()].contains(char::is_alphanumeric) {
                marks.push(Mark { kind, range });
            }
        }
    }
}

/// The document's own words, which tell a divided word from a compound.
struct Words(HashSet<String>);

impl Words {
    fn from_drafts(drafts: &[Draft]) -> Words {
        let mut words = HashSet::new();
        for line in drafts.iter().flat_map(|draft| &draft.lines) {
            for word in line.text().split_whitespace() {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                if !word.is_empty() {
                    words.insert(word.to_lowercase());
                }
            }
        }
        Words(words)
    }

    /// Whether the document writes `head-tail` with its hyphen elsewhere, and never without.
    fn has_hyphen(&self, head: &str, tail: &str) -> bool {
        let (head, tail) = (head.to_lowercase(), tail.to_lowercase());
        !self.0.contains(&format!("{head}{tail}")) && self.0.contains(&format!("{head}-{tail}"))
    }
}

/// The letters at the end of `text`.
fn last_word(text: &str) -> String {
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphabetic())
        .last()
        .map_or(text.len(), |(at, _)| at);
    text[start..].to_owned()
}
