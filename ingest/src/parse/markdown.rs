//! Markdown (CommonMark with tables, footnotes, strikethrough, task lists, mathematics).
//!
//! The text is the file itself, and a block is a slice of it:
//!
//! - a heading is its visible title; a paragraph, quoted or not, is its lines;
//! - a list item begins at its marker and ends before the first block nested in it, which follows
//!   as a block of its own (an item's later paragraphs are [`BlockKind::Paragraph`]s);
//! - code is what stands between its fences; a table is all of its lines;
//! - a paragraph that is one picture is a caption (its alternative text), one that is a displayed
//!   formula an equation;
//! - raw HTML is a paragraph where it shows words, and vanishes where it does not.
//!
//! Inside quotations and list items, headings open no section. Front matter (`---` and
//! `key: value` lines) fills title, authors, year and metadata.
//!
//! Start reading at [`Reader::event`].

use std::ops::Range;

use locidb::storage::records::FileType;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::decode::decode;
use super::output::{Blocks, trimmed, trimmed_end};
use super::{Limits, ParseError};
use crate::tree::{BlockKind, Mark, MarkKind, ParsedDocument};

mod front_matter;

pub(super) use front_matter::year;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode(bytes, limits)?;
    let source = &decoded.text[decoded.start..];
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::new(source, limits);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        reader.event(&event, range)?;
    }
    let mut document = ParsedDocument {
        file_type: FileType::Markdown,
        title: reader.title.map(|range| source[range].to_owned()),
        text_is_original: decoded.is_original,
        blocks: reader.blocks.finish_shifted(decoded.start),
        ..ParsedDocument::default()
    };
    front_matter::apply(&source[reader.front_matter], &mut document);
    document.text = decoded.text;
    Ok(document)
}

struct Reader<'a> {
    source: &'a str,
    limits: &'a Limits,
    blocks: Blocks<'a>,
    /// Open containers of any kind.
    depth: usize,
    item_depth: usize,
    quote_depth: usize,
    /// Where the marker of a list item stands that has no block yet.
    item_start: Option<usize>,
    /// The block whose running text is being read.
    leaf: Option<Leaf>,
    /// Open inline containers of the leaf, outermost first.
    spans: Vec<Span>,
    /// The code, front matter or HTML that is being read.
    raw: Option<Raw>,
    title: Option<Range<usize>>,
    front_matter: Range<usize>,
}

struct Leaf {
    kind: BlockKind,
    range: Option<Range<usize>>,
    marks: Vec<Mark>,
    has_words: bool,
    /// Inline events and containers that are not inside another container.
    units: usize,
    /// What is visible of the last container among them.
    last_span: Option<Range<usize>>,
    /// The last picture or displayed formula, and what the block is if it holds no more than that.
    special: Option<(BlockKind, Range<usize>)>,
}

struct Span {
    kind: SpanKind,
    visible: Option<Range<usize>>,
}

#[derive(Clone, Copy)]
enum SpanKind {
    Marked(MarkKind),
    Picture,
    Plain,
}

struct Raw {
    kind: RawKind,
    range: Option<Range<usize>>,
}

enum RawKind {
    Code(Option<String>),
    FrontMatter,
    Html,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str, limits: &'a Limits) -> Self {
        Reader {
            source,
            limits,
            blocks: Blocks::new(limits),
            depth: 0,
            item_depth: 0,
            quote_depth: 0,
            item_start: None,
            leaf: None,
            spans: Vec::new(),
            raw: None,
            title: None,
            front_matter: 0..0,
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) -> Result<(), ParseError> {
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                self.limits.check_depth(self.depth)?;
                return self.start(tag, range);
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                return self.end(tag);
            }
            Event::Text(_) | Event::Html(_) => match &mut self.raw {
                Some(raw) => widen(&mut raw.range, &range),
                None => self.inline(&range, &range, true),
            },
            Event::Code(_) => {
                let visible = inside_backticks(self.source, range.clone());
                self.inline(&range, &visible, true);
                self.mark(MarkKind::Code, visible);
            }
            Event::DisplayMath(_) => {
                self.inline(&range, &range, true);
                self.special(BlockKind::Equation, range);
            }
            Event::InlineMath(_) => self.inline(&range, &range, true),
            Event::InlineHtml(_) | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {
                self.inline(&range, &range, false);
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) -> Result<(), ParseError> {
        match tag {
            Tag::Emphasis => self.open_span(SpanKind::Marked(MarkKind::Emphasis), &range),
            Tag::Strong => self.open_span(SpanKind::Marked(MarkKind::Strong), &range),
            Tag::Link { .. } => self.open_span(SpanKind::Marked(MarkKind::Link), &range),
            Tag::Image { .. } => self.open_span(SpanKind::Picture, &range),
            Tag::Strikethrough | Tag::Superscript | Tag::Subscript => {
                self.open_span(SpanKind::Plain, &range);
            }
            Tag::TableHead | Tag::TableRow | Tag::TableCell => {}
            _ => {
                self.close_leaf()?;
                self.start_block(tag, range);
            }
        }
        Ok(())
    }

    fn start_block(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Item => {
                self.item_depth += 1;
                self.item_start = Some(range.start);
            }
            Tag::BlockQuote(_) => self.quote_depth += 1,
            Tag::Heading { level, .. } if self.quote_depth + self.item_depth == 0 => {
                self.leaf = Some(Leaf::new(BlockKind::Heading(*level as u8), None));
            }
            Tag::Table(_) => {
                let table = trimmed(self.source, range);
                self.leaf = Some(Leaf::new(BlockKind::Table, Some(table)));
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                self.raw = Some(Raw::new(RawKind::Code(language(info))));
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => {
                self.raw = Some(Raw::new(RawKind::Code(None)));
            }
            Tag::MetadataBlock(_) => self.raw = Some(Raw::new(RawKind::FrontMatter)),
            Tag::HtmlBlock => self.raw = Some(Raw::new(RawKind::Html)),
            _ => {}
        }
    }

    fn end(&mut self, tag: &TagEnd) -> Result<(), ParseError> {
        match tag {
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => self.close_span(),
            TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell => {}
            TagEnd::CodeBlock | TagEnd::MetadataBlock(_) | TagEnd::HtmlBlock => self.close_raw()?,
            TagEnd::Item => {
                self.close_leaf()?;
                self.item_depth = self.item_depth.saturating_sub(1);
                self.item_start = None;
            }
            TagEnd::BlockQuote(_) => {
                self.close_leaf()?;
                self.quote_depth = self.quote_depth.saturating_sub(1);
            }
            _ => self.close_leaf()?,
        }
        Ok(())
    }

    /// Takes note of inline content: `all` in the source, of which `visible` is shown.
    fn inline(&mut self, all: &Range<usize>, visible: &Range<usize>, is_words: bool) {
        let is_outermost = self.spans.is_empty();
        let leaf = self.open_leaf();
        leaf.has_words |= is_words;
        if is_outermost {
            leaf.cover(all);
        }
        if let Some(span) = self.spans.last_mut() {
            widen(&mut span.visible, visible);
        }
    }

    fn open_span(&mut self, kind: SpanKind, all: &Range<usize>) {
        let is_outermost = self.spans.is_empty();
        let leaf = self.open_leaf();
        if is_outermost {
            leaf.cover(all);
        }
        self.spans.push(Span {
            kind,
            visible: None,
        });
    }

    fn close_span(&mut self) {
        let Some(span) = self.spans.pop() else { return };
        let Some(visible) = span.visible else { return };
        match self.spans.last_mut() {
            Some(parent) => widen(&mut parent.visible, &visible),
            None => {
                if let Some(leaf) = &mut self.leaf {
                    leaf.last_span = Some(visible.clone());
                }
            }
        }
        match span.kind {
            SpanKind::Marked(kind) => self.mark(kind, visible),
            SpanKind::Picture => self.special(BlockKind::Caption, visible),
            SpanKind::Plain => {}
        }
    }

    fn mark(&mut self, kind: MarkKind, range: Range<usize>) {
        if let Some(leaf) = &mut self.leaf
            && !range.is_empty()
        {
            leaf.marks.push(Mark { kind, range });
        }
    }

    fn special(&mut self, kind: BlockKind, range: Range<usize>) {
        if let Some(leaf) = &mut self.leaf {
            leaf.special = Some((kind, range));
        }
    }

    fn open_leaf(&mut self) -> &mut Leaf {
        let (quote_depth, item_start) = (self.quote_depth, &mut self.item_start);
        self.leaf.get_or_insert_with(|| match item_start.take() {
            Some(start) => Leaf::new(BlockKind::ListItem, Some(start..start)),
            None if quote_depth > 0 => Leaf::new(BlockKind::Quote, None),
            None => Leaf::new(BlockKind::Paragraph, None),
        })
    }

    fn close_leaf(&mut self) -> Result<(), ParseError> {
        self.spans.clear();
        let Some(leaf) = self.leaf.take() else {
            return Ok(());
        };
        if !leaf.has_words {
            return Ok(());
        }
        let (kind, range, mut marks) = leaf.settle();
        let range = trimmed(self.source, range);
        if range.is_empty() {
            return Ok(());
        }
        if self.title.is_none() && kind == BlockKind::Heading(1) {
            self.title = Some(range.clone());
        }
        marks.retain(|mark| range.start <= mark.range.start && mark.range.end <= range.end);
        self.blocks.push(kind, range, marks)
    }

    fn close_raw(&mut self) -> Result<(), ParseError> {
        let Some(raw) = self.raw.take() else {
            return Ok(());
        };
        let Some(range) = raw.range else {
            return Ok(());
        };
        let range = trimmed_end(self.source, range);
        let kind = match raw.kind {
            RawKind::FrontMatter => {
                self.front_matter = range;
                return Ok(());
            }
            RawKind::Html if !shows_words(&self.source[range.clone()]) => return Ok(()),
            RawKind::Html => BlockKind::Paragraph,
            RawKind::Code(_) if range.is_empty() => return Ok(()),
            RawKind::Code(language) => BlockKind::Code(language),
        };
        self.item_start = None;
        self.blocks.push(kind, range, Vec::new())
    }
}

impl Leaf {
    fn new(kind: BlockKind, range: Option<Range<usize>>) -> Self {
        Leaf {
            kind,
            range,
            marks: Vec::new(),
            has_words: false,
            units: 0,
            last_span: None,
            special: None,
        }
    }

    fn cover(&mut self, all: &Range<usize>) {
        self.units += 1;
        if self.kind != BlockKind::Table {
            widen(&mut self.range, all);
        }
    }

    /// What the block turned out to be.
    fn settle(self) -> (BlockKind, Range<usize>, Vec<Mark>) {
        let range = self.range.unwrap_or(0..0);
        let only_span = self.last_span.filter(|_| self.units == 1);
        match (self.kind, self.special) {
            (BlockKind::Paragraph, Some((kind, special)))
                if only_span.as_ref() == Some(&special)
                    || (self.units == 1 && kind == BlockKind::Equation) =>
            {
                (kind, special, Vec::new())
            }
            (kind @ BlockKind::Heading(_), _) => (kind, only_span.unwrap_or(range), self.marks),
            (kind, _) => (kind, range, self.marks),
        }
    }
}

impl Raw {
    fn new(kind: RawKind) -> Self {
        Raw { kind, range: None }
    }
}

fn widen(range: &mut Option<Range<usize>>, by: &Range<usize>) {
    *range = Some(match range.take() {
        Some(had) => had.start.min(by.start)..had.end.max(by.end),
        None => by.clone(),
    });
}

/// The content of a code span: without its backticks and the one space that may pad each of them.
fn inside_backticks(source: &str, range: Range<usize>) -> Range<usize> {
    let span = &source[range.clone()];
    let ticks = span.len() - span.trim_start_matches('`').len();
    if span.len() < 2 * ticks {
        return range;
    }
    trimmed(source, range.start + ticks..range.end - ticks)
}

/// The first word of a fence's info string: ` ```rust,ignore ` is `rust`.
fn language(info: &str) -> Option<String> {
    let word = info.split([',', ' ', '\t', '{']).next()?;
    (!word.is_empty()).then(|| word.to_owned())
}

/// Whether raw HTML shows any letter or digit outside of its tags and comments.
fn shows_words(html: &str) -> bool {
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        let (before, tag) = rest.split_at(open);
        if before.contains(char::is_alphanumeric) {
            return true;
        }
        let close = if tag.starts_with("<!--") {
            "-->"
        } else if starts_with_tag(tag, "<script") {
            "</script>"
        } else if starts_with_tag(tag, "<style") {
            "</style>"
        } else {
            ">"
        };
        match tag.find(close) {
            Some(end) => rest = &tag[end + close.len()..],
            None => return false,
        }
    }
    rest.contains(char::is_alphanumeric)
}

fn starts_with_tag(html: &str, tag: &str) -> bool {
    html.get(..tag.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests;
