//! The walk over a page: elements to blocks.
//!
//! A *role* says what the text inside an element is. Headings, `pre` and tables of data are
//! *closed*: whatever is in them belongs to their one block. Elsewhere every block-level
//! element ends the running block before it and after it.
//!
//! Within a list of notes, paragraphs and items are notes. A term and what defines it are one
//! block. A picture is a figure of its own, after the text that it is in.

use scraper::node::Element;
use scraper::{ElementRef, Node};

use super::formula::Formula;
use super::furniture::{has_descendant, is_boilerplate, is_hidden};
use super::is_known;
use super::picture::Picture;
use super::table::Rows;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, MarkKind};
use crate::writing::writer::Writer;

/// What was found: a text and the blocks in it.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
}

/// What to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtractScope {
    /// Menus, banners and footers, beside what is never shown.
    Content,
    /// Only what is never shown.
    Everything,
    /// The same, and every picture is a figure.
    Book,
}

/// Everything that is to be read below `root`.
pub(super) fn extract(
    root: ElementRef<'_>,
    scope: ExtractScope,
    limits: &Limits,
) -> Result<Content, ParseError> {
    let mut walk = Walk::new(scope, limits);
    let mut node = *root;
    let mut is_entering = true;
    loop {
        let mut has_entered = false;
        if is_entering {
            has_entered = match node.value() {
                Node::Text(text) => {
                    walk.text(text);
                    false
                }
                Node::Element(_) => match ElementRef::wrap(node) {
                    Some(element) => walk.enter(element)?,
                    None => false,
                },
                _ => false,
            };
        }
        if has_entered && let Some(child) = node.first_child() {
            node = child;
            is_entering = true;
            continue;
        }
        if (has_entered || !is_entering)
            && let Node::Element(element) = node.value()
        {
            walk.leave(element)?;
        }
        if node == *root {
            break;
        }
        match (node.next_sibling(), node.parent()) {
            (Some(next), _) => {
                node = next;
                is_entering = true;
            }
            (None, Some(parent)) => {
                node = parent;
                is_entering = false;
            }
            (None, None) => break,
        }
    }
    walk.finish()
}

struct Walk<'a> {
    scope: ExtractScope,
    limits: &'a Limits,
    writer: Writer<'a>,
    /// Open elements.
    depth: usize,
    /// Roles of the open elements that have one, with their depths, innermost last.
    roles: Vec<(usize, BlockKind)>,
    /// The depth of the closed block that is open.
    closed: Option<usize>,
    /// The table of data that is open.
    table: Table,
    /// Open lists of notes or works, innermost last.
    notes: Vec<NoteList>,
    /// The number of the note that begins, until its text is seen.
    note_mark: Option<String>,
    /// Open figures, with their depths and whether they have a caption.
    figures: Vec<(usize, bool)>,
    /// Pictures that are in the open block, and follow it.
    pictures: Vec<Picture>,
    /// The formula before, while nothing was seen since: some pages have each twice.
    last_formula: Option<String>,
    /// Whether a term was read whose definition follows.
    is_term_open: bool,
    /// Open `header` elements.
    header_depth: usize,
    /// Open links.
    link_depth: usize,
}

/// The table of data that is open.
#[derive(Default)]
struct Table {
    rows: Rows,
    /// Tables that are open within it.
    nested: usize,
    images: Vec<String>,
}

/// A list of notes or works.
struct NoteList {
    depth: usize,
    kind: BlockKind,
    /// How its numbers are written, where it has any.
    numbers: Option<(&'static str, &'static str)>,
    count: usize,
}

impl<'a> Walk<'a> {
    fn new(scope: ExtractScope, limits: &'a Limits) -> Self {
        Walk {
            scope,
            limits,
            writer: Writer::new(limits),
            depth: 0,
            roles: Vec::new(),
            closed: None,
            table: Table::default(),
            notes: Vec::new(),
            note_mark: None,
            figures: Vec::new(),
            pictures: Vec::new(),
            last_formula: None,
            is_term_open: false,
            header_depth: 0,
            link_depth: 0,
        }
    }

    fn finish(mut self) -> Result<Content, ParseError> {
        self.is_term_open = false;
        self.flush()?;
        let (text, blocks) = self.writer.finish();
        Ok(Content { text, blocks })
    }

    fn role(&self) -> Option<&BlockKind> {
        self.roles.last().map(|(_, role)| role)
    }

    fn text(&mut self, text: &str) {
        if matches!(self.role(), Some(BlockKind::Code(_))) {
            return self.writer.inline.push_raw(text);
        }
        if !text.trim().is_empty() {
            self.visible();
        }
        self.writer.inline.push(text);
    }

    /// Something visible comes next.
    fn visible(&mut self) {
        self.last_formula = None;
        self.is_term_open = false;
        if let Some(mark) = self.note_mark.take() {
            self.writer.inline.push(&mark);
            self.writer.inline.space();
        }
    }

    /// Returns whether the element is to be read. If so, `leave` is called for it later.
    fn enter(&mut self, element: ElementRef<'_>) -> Result<bool, ParseError> {
        let value = element.value();
        let name = value.name();
        if let Some(formula) =
            Formula::from_element(element).filter(|_| name != "math" || !is_hidden(element))
        {
            self.formula(formula)?;
            return Ok(false);
        }
        if name == "img" || (name == "svg" && self.scope == ExtractScope::Book) {
            self.picture(element)?;
            return Ok(false);
        }
        let is_left_out = is_hidden(element)
            || (self.scope == ExtractScope::Content
                && is_boilerplate(element, self.header_depth > 0));
        if is_left_out {
            return Ok(false);
        }
        self.depth += 1;
        if let Some(kind) = mark_kind(value) {
            self.writer.inline.open(kind);
            self.link_depth += usize::from(kind == MarkKind::Link);
        }
        self.header_depth += usize::from(name == "header");
        match self.closed {
            Some(_) => self.enter_closed(name),
            None => self.enter_open(element)?,
        }
        Ok(true)
    }

    fn enter_open(&mut self, element: ElementRef<'_>) -> Result<(), ParseError> {
        let name = element.value().name();
        match name {
            "dt" if self.is_term_open => self.writer.inline.push_raw(", "),
            "dd" if self.is_term_open => {
                let is_told = self.writer.inline.tail(0).ends_with([':', '.', '?']);
                self.writer
                    .inline
                    .push_raw(if is_told { " " } else { ": " });
            }
            "br" => self.writer.inline.line_break(),
            name if is_known("block-level", name) => self.flush()?,
            _ => {}
        }
        if is_figure(element.value()) {
            let is_outer_captioned = self.figures.last().is_some_and(|(_, has)| *has);
            let has_caption = is_outer_captioned || has_caption(element);
            self.figures.push((self.depth, has_caption));
        }
        if let Some(notes) = note_list(element.value(), self.depth) {
            self.notes.push(notes);
        } else if name == "ol"
            && let Some(notes) = self.notes.last_mut()
        {
            notes.numbers.get_or_insert(("", "."));
        } else if name == "li" {
            self.number_note();
        }
        if let Some(role) = block_kind(element) {
            if is_closed(&role) {
                self.closed = Some(self.depth);
                self.table = Table::default();
            }
            self.roles.push((self.depth, role));
        }
        Ok(())
    }

    fn number_note(&mut self) {
        if let Some(notes) = self.notes.last_mut()
            && notes.kind == BlockKind::Footnote
        {
            notes.count += 1;
            let count = notes.count;
            self.note_mark = notes
                .numbers
                .map(|(open, close)| format!("{open}{count}{close}"));
        }
    }

    /// Inside a closed block: its own elements only shape its text.
    fn enter_closed(&mut self, name: &str) {
        match (self.role(), name) {
            (Some(BlockKind::Table), "table") => self.table.nested += 1,
            (Some(BlockKind::Table), "tr") if self.table.nested == 0 => self.table.rows.begin_row(),
            (Some(BlockKind::Table), "td" | "th") if self.table.nested == 0 => {
                self.writer.inline.truncate(0);
            }
            // Items in a cell would run into each other.
            (Some(BlockKind::Table), "li") if !self.writer.inline.tail(0).trim().is_empty() => {
                self.writer.inline.push_raw(", ");
            }
            (Some(BlockKind::Code(_)), "br") => self.writer.inline.push_raw("\n"),
            (Some(BlockKind::Code(_)), name) if is_known("block-level", name) => {
                self.writer.inline.line_break();
            }
            (_, name) if name == "br" || is_known("block-level", name) => {
                self.writer.inline.space()
            }
            _ => {}
        }
    }

    fn leave(&mut self, element: &Element) -> Result<(), ParseError> {
        let name = element.name();
        if let Some(kind) = mark_kind(element) {
            self.writer.inline.close();
            self.link_depth -= usize::from(kind == MarkKind::Link);
        }
        self.header_depth -= usize::from(name == "header");
        match self.closed {
            Some(depth) if depth == self.depth => self.close()?,
            Some(_) => self.leave_closed(element)?,
            None => self.leave_open(name)?,
        }
        self.figures.pop_if(|(depth, _)| *depth == self.depth);
        self.notes.pop_if(|notes| notes.depth == self.depth);
        self.depth -= 1;
        Ok(())
    }

    fn leave_open(&mut self, name: &str) -> Result<(), ParseError> {
        if name == "dt" && !self.writer.inline.tail(0).trim().is_empty() {
            self.is_term_open = true;
        } else if name == "dl" && std::mem::take(&mut self.is_term_open) {
            self.flush_as(BlockKind::ListItem)?;
        } else if is_known("block-level", name) {
            self.flush()?;
        }
        if name == "li" {
            self.note_mark = None;
        }
        self.roles.pop_if(|(depth, _)| *depth == self.depth);
        Ok(())
    }

    /// Ends a closed block.
    fn close(&mut self) -> Result<(), ParseError> {
        match self.role() {
            Some(BlockKind::Table) => self.flush_table()?,
            _ => self.flush()?,
        }
        self.closed = None;
        self.roles.pop();
        Ok(())
    }

    fn leave_closed(&mut self, element: &Element) -> Result<(), ParseError> {
        let name = element.name();
        match (self.role(), name) {
            (Some(BlockKind::Table), "table") => {
                self.table.nested = self.table.nested.saturating_sub(1);
                self.writer.inline.space();
            }
            (Some(BlockKind::Table), "caption") if self.table.nested == 0 => {
                return self.flush_as(BlockKind::Caption);
            }
            (Some(BlockKind::Table), "td" | "th") if self.table.nested == 0 => {
                let text = self.writer.inline.take().as_str().trim().to_owned();
                let (columns, rows) = (element.attr("colspan"), element.attr("rowspan"));
                return self.table.rows.cell(text, columns, rows, self.limits);
            }
            (_, name) if is_known("block-level", name) => self.writer.inline.space(),
            _ => {}
        }
        Ok(())
    }

    /// Mathematics: its source, for its glyphs alone do not say what it means.
    fn formula(&mut self, formula: Formula) -> Result<(), ParseError> {
        if formula.text.is_empty() || self.last_formula.as_ref() == Some(&formula.text) {
            return Ok(());
        }
        let is_display = formula.is_display && self.closed.is_none();
        if is_display {
            self.is_term_open = false;
            self.flush()?;
        }
        self.visible();
        self.writer.inline.push(&formula.text);
        self.last_formula = Some(formula.text);
        if is_display {
            self.flush_as(BlockKind::Equation)
        } else {
            Ok(())
        }
    }

    /// A picture: before any text a figure at once, within text after it, in a table part of it.
    fn picture(&mut self, element: ElementRef<'_>) -> Result<(), ParseError> {
        let has_caption = self
            .figures
            .last()
            .is_some_and(|(_, has_caption)| *has_caption);
        let is_in_link = self.link_depth > 0;
        let picture = Picture::from_element(element).filter(|picture| {
            self.scope == ExtractScope::Book
                || picture.is_informative(element, is_in_link, has_caption)
        });
        let Some(picture) = picture else {
            return Ok(());
        };
        match self.role() {
            Some(BlockKind::Code(_)) => return Ok(()),
            Some(BlockKind::Table) if self.closed.is_some() => {
                self.writer.inline.space();
                self.writer.inline.push(&picture.alt_text);
                self.writer.inline.space();
                if !picture.address.is_empty() {
                    self.table.images.push(picture.address);
                }
                return Ok(());
            }
            // Headings are drawn in some books.
            Some(BlockKind::Heading(_)) => self.writer.inline.push(&picture.alt_text),
            _ => {}
        }
        self.pictures.push(picture);
        if self.writer.inline.len() == 0 && self.closed.is_none() {
            self.flush_pictures()
        } else {
            Ok(())
        }
    }

    fn flush_pictures(&mut self) -> Result<(), ParseError> {
        for picture in std::mem::take(&mut self.pictures) {
            let text = picture.text();
            let images = Some(picture.address).filter(|address| !address.is_empty());
            let figure = Block {
                kind: BlockKind::Figure,
                images: images.into_iter().collect(),
                ..Block::default()
            };
            self.writer.add(figure, &text)?;
        }
        Ok(())
    }

    fn flush_table(&mut self) -> Result<(), ParseError> {
        self.writer.inline.truncate(0);
        let table = std::mem::take(&mut self.table);
        let kind = if table.rows.is_table() {
            BlockKind::Table
        } else {
            BlockKind::Paragraph
        };
        let Some(text) = table.rows.finish(self.limits)? else {
            return Ok(());
        };
        let block = Block {
            kind,
            images: table.images,
            ..Block::default()
        };
        self.writer.add(block, &text)
    }

    fn flush(&mut self) -> Result<(), ParseError> {
        // What a term means belongs to it.
        if self.is_term_open {
            return Ok(());
        }
        let kind = self.role().cloned().unwrap_or(BlockKind::Paragraph);
        let kind = match (kind, self.notes.last()) {
            (BlockKind::Paragraph | BlockKind::ListItem, Some(notes)) => notes.kind.clone(),
            (kind, _) => kind,
        };
        self.flush_as(kind)
    }

    fn flush_as(&mut self, kind: BlockKind) -> Result<(), ParseError> {
        self.writer.end(Block {
            kind,
            ..Block::default()
        })?;
        self.flush_pictures()
    }
}

fn is_figure(element: &Element) -> bool {
    let classes = ["gallerybox", "thumb", "wp-caption"];
    element.name() == "figure" || element.classes().any(|c| classes.contains(&c))
}

/// Figures with more elements than this are no figures.
const FIGURE_ELEMENTS_MAX: usize = 1_000;

fn has_caption(figure: ElementRef<'_>) -> bool {
    let mut below = figure.descendent_elements().take(FIGURE_ELEMENTS_MAX);
    below.any(|e| is_caption(e.value()))
}

fn is_caption(element: &Element) -> bool {
    element.name() == "figcaption" || element.classes().any(|c| is_known("caption-classes", c))
}

/// The list of notes or works that an element is.
fn note_list(element: &Element, depth: usize) -> Option<NoteList> {
    let is_class = |classes: &[&str]| element.classes().any(|c| classes.contains(&c));
    let role = element.attr("role").unwrap_or_default();
    let has_type = |types: &[&str]| {
        let epub_types = element.attr("epub:type").unwrap_or_default();
        let mut types_and_role = epub_types
            .split_whitespace()
            .chain(role.strip_prefix("doc-"));
        types_and_role.any(|word| types.contains(&word))
    };
    let is_note = has_type(&[
        "endnotes",
        "footnotes",
        "rearnotes",
        "endnote",
        "footnote",
        "rearnote",
    ]) || is_class(&["references", "reflist", "footnotes", "endnotes", "footnote"]);
    let is_work = has_type(&["bibliography", "biblioentry"])
        || is_class(&["refbegin", "bibliography", "ltx_biblist"]);
    let kind = match (is_note, is_work) {
        _ if matches!(element.name(), "body" | "html" | "a" | "sup" | "span") => return None,
        (true, _) => BlockKind::Footnote,
        (false, true) => BlockKind::Reference(None),
        (false, false) => return None,
    };
    let is_cited_in_brackets = is_class(&["references"]) && element.attr("data-mw-group").is_none();
    let numbers = match (element.name(), is_cited_in_brackets) {
        ("ol", true) => Some(("[", "]")),
        ("ol", false) => Some(("", ".")),
        _ => None,
    };
    Some(NoteList {
        depth,
        kind,
        numbers,
        count: 0,
    })
}

fn is_closed(role: &BlockKind) -> bool {
    matches!(
        role,
        BlockKind::Heading(_) | BlockKind::Code(_) | BlockKind::Table
    )
}

fn block_kind(element: ElementRef<'_>) -> Option<BlockKind> {
    Some(match element.value().name() {
        "h1" => BlockKind::Heading(1),
        "h2" => BlockKind::Heading(2),
        "h3" => BlockKind::Heading(3),
        "h4" => BlockKind::Heading(4),
        "h5" => BlockKind::Heading(5),
        "h6" => BlockKind::Heading(6),
        "li" | "dd" | "dt" => BlockKind::ListItem,
        "blockquote" => BlockKind::Quote,
        _ if is_caption(element.value()) => BlockKind::Caption,
        "pre" => BlockKind::Code(code_language(element)),
        "table" if !is_layout(element) => BlockKind::Table,
        _ => return None,
    })
}

/// A table that places things on the page rather than relating them.
fn is_layout(table: ElementRef<'_>) -> bool {
    let is_data = table
        .value()
        .classes()
        .any(|c| matches!(c, "infobox" | "wikitable"));
    let parts = ["table", "h1", "h2", "h3", "h4", "pre", "article", "figure"];
    let is_cell = |e: &ElementRef<'_>| matches!(e.value().name(), "td" | "th");
    matches!(table.attr("role"), Some("presentation" | "none"))
        || table.descendent_elements().filter(is_cell).nth(1).is_none()
        || (!is_data && has_descendant(table, &parts))
}

fn mark_kind(element: &Element) -> Option<MarkKind> {
    Some(match element.name() {
        "em" | "i" | "dfn" | "cite" => MarkKind::Emphasis,
        "strong" | "b" => MarkKind::Strong,
        "code" | "kbd" | "samp" | "tt" => MarkKind::Code,
        "a" if element.attr("href").is_some() => MarkKind::Link,
        _ => return None,
    })
}

/// The language that a class of `pre`, of the `code` in it or of the elements around it names.
fn code_language(pre: ElementRef<'_>) -> Option<String> {
    let inner = pre.child_elements().find(|e| e.value().name() == "code");
    let outer = pre.ancestors().take(2).filter_map(ElementRef::wrap);
    let mut places = inner.into_iter().chain([pre]).chain(outer);
    places.find_map(|element| {
        element.value().classes().find_map(|class| {
            let prefixes = ["language-", "lang-", "highlight-source-", "brush:"];
            let name = prefixes.iter().find_map(|p| class.strip_prefix(p))?;
            (!name.is_empty()).then(|| name.to_owned())
        })
    })
}
