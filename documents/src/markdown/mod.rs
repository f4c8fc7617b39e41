//! Markdown (CommonMark with tables, footnotes, strikethrough, task lists, mathematics).
//!
//! The text is the file itself, and a block is a slice of it:
//!
//! - a heading is its visible title; a paragraph, quoted or not, is its lines;
//! - a list item begins at its marker and ends before the first block nested in it, which follows
//!   as a block of its own (an item's later paragraphs are [`BlockKind::Paragraph`]s);
//! - code is what is between its fences; a table is all of its lines;
//! - a paragraph of nothing but pictures is a figure (of one picture, its alternative text);
//! - a formula on lines of its own (`$$`, `\[`, a fence of `math`) is an equation, with its marks,
//!   and parts the paragraph that it is in;
//! - a note's first block begins at its mark; an admonition is running prose;
//! - raw HTML is a paragraph where it shows words, a figure where it shows only a picture, and
//!   vanishes where it shows neither.
//!
//! Inside quotations and list items, headings open no section. Front matter (YAML between `---`,
//! TOML between `+++`) fills title, authors, year and metadata.
//!
//! Start reading at [`Reader::event`].

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use leaf::{Leaf, equations, within_fences};
use loci_parsing::cues::heading::title_heading;
use loci_parsing::decode::decode_text;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{Block, BlockKind, Mark, MarkKind, ParsedDocument};
use loci_parsing::writing::blocks::{Blocks, trimmed, trimmed_end};

mod front_matter;
mod leaf;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode_text(bytes, limits)?;
    let source = &decoded.text[decoded.start..];
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut reader = Reader::new(source, limits);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        reader.event(&event, range)?;
    }
    let mut document = ParsedDocument {
        kind: Kind::Markdown,
        text_is_original: true,
        blocks: reader.blocks.finish_shifted(decoded.start),
        ..ParsedDocument::default()
    };
    front_matter::apply(&source[reader.front_matter], &mut document);
    document.text = decoded.text;
    if document.title.is_none() {
        let heading = title_heading(&document.text, &document.blocks);
        let heading = heading.filter(|block| block.kind == BlockKind::Heading(1));
        document.title = heading.map(|block| document.text[block.range.clone()].to_owned());
    }
    Ok(document)
}

/// Whether nothing but the fence of front matter is before a place.
fn is_first(source: &str, start: usize) -> bool {
    matches!(source[..start].trim(), "" | "---" | "+++")
}

/// How books in Markdown mark captions, which it has no sign for.
const CAPTION: &str = "<span class=\"caption\">";

struct Reader<'a> {
    source: &'a str,
    limits: &'a Limits,
    blocks: Blocks<'a>,
    /// Open containers of any kind.
    depth: usize,
    item_depth: usize,
    /// What open quotations and admonitions make of prose, innermost last.
    quotes: Vec<BlockKind>,
    /// Open notes.
    note_depth: usize,
    /// Where a note begins that has no block yet.
    note_start: Option<usize>,
    /// Whether the block before opens an admonition whose text is indented.
    is_admonition_open: bool,
    /// Where the marker of a list item is that has no block yet.
    item_start: Option<usize>,
    /// The block whose running text is being read.
    leaf: Option<Leaf>,
    /// Open inline containers of the leaf, outermost first.
    spans: Vec<Span>,
    /// The code, front matter or HTML that is being read.
    raw: Option<Raw>,
    front_matter: Range<usize>,
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
    /// A fence of `math`, with its fences.
    Math(Range<usize>),
    Indented,
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
            quotes: Vec::new(),
            note_depth: 0,
            note_start: None,
            is_admonition_open: false,
            item_start: None,
            leaf: None,
            spans: Vec::new(),
            raw: None,
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
                if let Some(leaf) = &mut self.leaf {
                    leaf.formulas.push(range);
                }
            }
            Event::InlineMath(_) => self.inline(&range, &range, true),
            Event::InlineHtml(_) => {
                self.inline(&range, &range, false);
                for picture in html_pictures(self.source, range) {
                    self.picture(&picture.address);
                    if let Some(leaf) = &mut self.leaf {
                        leaf.alt_range = picture.alt;
                    }
                }
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {
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
            Tag::Image { dest_url, .. } => {
                self.open_span(SpanKind::Picture, &range);
                self.picture(dest_url);
            }
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
            Tag::BlockQuote(admonition) => self.quotes.push(match admonition {
                Some(_) => BlockKind::Paragraph,
                None => BlockKind::Quote,
            }),
            Tag::FootnoteDefinition(_) => {
                self.note_depth += 1;
                self.note_start = Some(range.start);
            }
            Tag::Heading { level, .. }
                if self.quotes.is_empty() && self.item_depth + self.note_depth == 0 =>
            {
                self.leaf = Some(Leaf::new(BlockKind::Heading(*level as u8), None));
            }
            Tag::Table(_) => {
                let table = trimmed(self.source, range);
                self.leaf = Some(Leaf::new(BlockKind::Table, Some(table)));
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let language = language(info);
                self.raw = Some(Raw::new(match language.as_deref() {
                    Some("math") => RawKind::Math(range),
                    _ => RawKind::Code(language),
                }));
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => {
                self.raw = Some(Raw::new(RawKind::Indented));
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
                self.quotes.pop();
            }
            TagEnd::FootnoteDefinition => {
                self.close_leaf()?;
                self.note_depth = self.note_depth.saturating_sub(1);
                self.note_start = None;
            }
            _ => self.close_leaf()?,
        }
        Ok(())
    }

    /// Takes note of inline content: `all` in the source, of which `visible` is shown.
    fn inline(&mut self, all: &Range<usize>, visible: &Range<usize>, is_words: bool) {
        let is_outermost = self.spans.is_empty();
        let in_picture = self.in_picture();
        let leaf = self.open_leaf();
        leaf.has_words |= is_words;
        leaf.has_more_than_pictures |= is_words && !in_picture;
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
            SpanKind::Picture => {
                if let Some(leaf) = &mut self.leaf {
                    leaf.alt_range = Some(visible);
                }
            }
            SpanKind::Plain => {}
        }
    }

    fn in_picture(&self) -> bool {
        let is_picture = |span: &Span| matches!(span.kind, SpanKind::Picture);
        self.spans.iter().any(is_picture)
    }

    /// Takes note of the picture whose span was opened.
    fn picture(&mut self, address: &str) {
        if let Some(leaf) = &mut self.leaf
            && !address.is_empty()
        {
            leaf.pictures += 1;
            if !address.starts_with("data:") {
                leaf.images.push(address.to_owned());
            }
        }
    }

    fn mark(&mut self, kind: MarkKind, range: Range<usize>) {
        if let Some(leaf) = &mut self.leaf
            && !range.is_empty()
        {
            leaf.marks.push(Mark { kind, range });
        }
    }

    fn open_leaf(&mut self) -> &mut Leaf {
        let (item_start, note_start) = (&mut self.item_start, &mut self.note_start);
        let in_note = self.note_depth > 0;
        let quote = self.quotes.last();
        self.leaf
            .get_or_insert_with(|| match (item_start.take(), in_note) {
                (Some(start), _) => Leaf::new(BlockKind::ListItem, Some(start..start)),
                (None, true) => {
                    let start = note_start.take().map(|start| start..start);
                    Leaf::new(BlockKind::Footnote, start)
                }
                (None, false) => Leaf::new(quote.cloned().unwrap_or(BlockKind::Paragraph), None),
            })
    }

    fn close_leaf(&mut self) -> Result<(), ParseError> {
        self.spans.clear();
        let Some(leaf) = self.leaf.take() else {
            return Ok(());
        };
        if !leaf.has_words && leaf.pictures == 0 {
            return Ok(());
        }
        let formulas = match leaf.kind {
            BlockKind::Paragraph => equations(self.source, &leaf),
            _ => Vec::new(),
        };
        let mut block = leaf.into_block();
        let mut start = block.range.start;
        for formula in formulas {
            self.push_part(&mut block, start..formula.start)?;
            self.blocks
                .push(BlockKind::Equation, formula.clone(), Vec::new())?;
            start = formula.end;
        }
        let end = block.range.end;
        self.push_part(&mut block, start..end)
    }

    /// Adds the part of a block that is in `range`. The first part shows its pictures.
    fn push_part(&mut self, block: &mut Block, range: Range<usize>) -> Result<(), ParseError> {
        let range = match block.kind {
            BlockKind::Paragraph => within_fences(self.source, trimmed(self.source, range)),
            _ => trimmed(self.source, range),
        };
        if range.is_empty() {
            return Ok(());
        }
        let text = &self.source[range.clone()];
        self.is_admonition_open = text.starts_with("!!! ") || text.starts_with("??? ");
        let is_caption = block.kind == BlockKind::Paragraph && text.starts_with(CAPTION);
        // Marks ascend by where they end.
        let first = block
            .marks
            .partition_point(|mark| mark.range.end <= range.start);
        let marks = block.marks[first..].iter();
        let inside = marks.take_while(|mark| mark.range.end <= range.end);
        self.blocks.push_block(Block {
            kind: if is_caption {
                BlockKind::Caption
            } else {
                block.kind.clone()
            },
            marks: inside
                .filter(|mark| range.start <= mark.range.start)
                .cloned()
                .collect(),
            images: std::mem::take(&mut block.images),
            range,
            ..Block::default()
        })
    }

    fn close_raw(&mut self) -> Result<(), ParseError> {
        let Some(raw) = self.raw.take() else {
            return Ok(());
        };
        let Some(range) = raw.range else {
            return Ok(());
        };
        let range = trimmed_end(self.source, range);
        let is_admonition = std::mem::take(&mut self.is_admonition_open);
        let mut images = Vec::new();
        let (kind, range) = match raw.kind {
            RawKind::FrontMatter if is_first(self.source, range.start) => {
                self.front_matter = range;
                return Ok(());
            }
            // What is between rules further down is text.
            RawKind::FrontMatter => (BlockKind::Paragraph, range),
            RawKind::Html if shows_words(&self.source[range.clone()]) => {
                (BlockKind::Paragraph, range)
            }
            RawKind::Html => {
                let pictures = html_pictures(self.source, range.clone());
                let alt = match &pictures[..] {
                    [] => return Ok(()),
                    [only] => only.alt.clone(),
                    _ => None,
                };
                images.extend(pictures.into_iter().map(|picture| picture.address));
                (BlockKind::Figure, alt.unwrap_or(range))
            }
            _ if range.is_empty() => return Ok(()),
            RawKind::Math(fenced) => (BlockKind::Equation, trimmed_end(self.source, fenced)),
            RawKind::Indented if is_admonition => {
                self.is_admonition_open = true;
                (BlockKind::Paragraph, trimmed(self.source, range))
            }
            RawKind::Indented => (BlockKind::Code(None), range),
            RawKind::Code(language) => (BlockKind::Code(language), range),
        };
        self.item_start = None;
        self.note_start = None;
        self.blocks.push_block(Block {
            kind,
            range,
            images,
            ..Block::default()
        })
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

/// A picture of raw HTML.
struct HtmlPicture {
    address: String,
    /// Where its alternative text is, if it has any.
    alt: Option<Range<usize>>,
}

/// The pictures that the raw HTML in `range` shows.
fn html_pictures(source: &str, range: Range<usize>) -> Vec<HtmlPicture> {
    let mut pictures = Vec::new();
    let mut at = range.start;
    while let Some(open) = source[at..range.end].find('<') {
        let start = at + open;
        let tag = &source[start..range.end];
        let close = if tag.starts_with("<!--") { "-->" } else { ">" };
        let end = start + tag.find(close).unwrap_or(tag.len());
        if starts_with_tag(tag, "<img")
            && let Some(address) = attribute(source, start..end, "src")
            && !source[address.clone()].starts_with("data:")
        {
            pictures.push(HtmlPicture {
                address: source[address].to_owned(),
                alt: attribute(source, start..end, "alt"),
            });
        }
        at = end.max(start + 1);
    }
    pictures
}

/// Where the value of an attribute is in a tag, unless it is empty.
fn attribute(source: &str, tag: Range<usize>, name: &str) -> Option<Range<usize>> {
    let mut at = tag.start;
    loop {
        at += source[at..tag.end].find(name)?;
        let is_whole = source[..at].ends_with(char::is_whitespace);
        at += name.len();
        let Some(value) = source[at..tag.end].strip_prefix('=').filter(|_| is_whole) else {
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = value.trim_start_matches(quote.as_slice());
        let len = match quote {
            Some(quote) => value.find(quote).unwrap_or(value.len()),
            None => value.find([' ', '\n', '/']).unwrap_or(value.len()),
        };
        let start = tag.end - value.len();
        return (len > 0).then_some(start..start + len);
    }
}

fn starts_with_tag(html: &str, tag: &str) -> bool {
    html.get(..tag.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests;
