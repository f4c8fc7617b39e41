//! The walk over a page: elements to blocks.
//!
//! A *role* says what the text inside an element is. Headings, `pre` and tables of data are
//! *closed*: whatever stands in them belongs to their one block. Elsewhere every block-level
//! element ends the running block before it and after it.

use scraper::node::Element;
use scraper::{ElementRef, Node};

use crate::parse::inline::Inline;
use crate::parse::output::Blocks;
use crate::parse::{Limits, ParseError};
use crate::tree::{Block, BlockKind, MarkKind};

/// What was found: a text and the blocks in it.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
}

/// What to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Menus, banners and footers, beside what is never shown.
    Content,
    /// Only what is never shown.
    Everything,
    /// The same, and pictures are figures.
    Book,
}

const NEVER_SHOWN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "head",
    "select", "datalist", "textarea", "audio", "video",
];
const DECORATION: &[&str] = &["nav", "footer", "aside", "button", "dialog", "menu"];
const DECORATION_ROLES: &[&str] = &[
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "menu",
    "menubar",
];
/// Classes by which widespread site software names what is not the text.
const DECORATION_CLASSES: &[&str] = &[
    "navbox",
    "mw-editsection",
    "mw-jump-link",
    "after-portlet",
    "noprint",
    "printfooter",
    "catlinks",
    "toc",
    "headerlink",
    "breadcrumb",
    "breadcrumbs",
    "hash-link",
    "sr-only",
];

const BLOCK_LEVEL: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Everything that is to be read below `root`.
pub(super) fn extract(
    root: ElementRef<'_>,
    keep: Keep,
    limits: &Limits,
) -> Result<Content, ParseError> {
    let mut walk = Walk::new(keep, limits);
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
    keep: Keep,
    limits: &'a Limits,
    text: String,
    blocks: Blocks<'a>,
    inline: Inline,
    /// Roles of the open elements that have one, innermost last.
    roles: Vec<BlockKind>,
    /// How many open elements deep the closed block is; 0 outside of one.
    closed_depth: usize,
    row: Row,
    /// Open `header` elements.
    header_depth: usize,
    /// Pictures that stand in the open block, and follow it: what is said of each, and its address.
    pictures: Vec<(String, String)>,
}

/// The table row that is being read.
#[derive(Default)]
struct Row {
    start: usize,
    cell_count: usize,
}

impl<'a> Walk<'a> {
    fn new(keep: Keep, limits: &'a Limits) -> Self {
        Walk {
            keep,
            limits,
            text: String::new(),
            blocks: Blocks::new(limits),
            inline: Inline::default(),
            roles: Vec::new(),
            closed_depth: 0,
            row: Row::default(),
            header_depth: 0,
            pictures: Vec::new(),
        }
    }

    fn finish(mut self) -> Result<Content, ParseError> {
        self.flush()?;
        Ok(Content {
            text: self.text,
            blocks: self.blocks.finish(),
        })
    }

    fn text(&mut self, text: &str) {
        match self.roles.last() {
            Some(BlockKind::Code(_)) => self.inline.push_verbatim(text),
            _ => self.inline.push(text),
        }
    }

    /// Returns whether the element is to be read. If so, `leave` is called for it later.
    fn enter(&mut self, element: ElementRef<'_>) -> Result<bool, ParseError> {
        let name = element.value().name();
        if self.keep == Keep::Book && matches!(name, "img" | "svg") {
            self.picture(element)?;
            return Ok(false);
        }
        if self.is_left_out(element) {
            return Ok(false);
        }
        if name == "math" {
            self.formula(element.value())?;
            return Ok(false);
        }
        if let Some(kind) = mark_of(element.value()) {
            self.inline.open(kind);
        }
        self.header_depth += usize::from(name == "header");
        if self.closed_depth > 0 {
            self.closed_depth += 1;
            self.enter_closed(name);
            return Ok(true);
        }
        if BLOCK_LEVEL.contains(&name) {
            self.flush()?;
        } else if name == "br" {
            self.inline.line_break();
        }
        if let Some(role) = role_of(element) {
            if is_closed(&role) {
                self.closed_depth = 1;
                self.row = Row::default();
            }
            self.roles.push(role);
        }
        Ok(true)
    }

    /// Inside a closed block: its own elements only shape its text.
    fn enter_closed(&mut self, name: &str) {
        match (self.roles.last(), name) {
            (Some(BlockKind::Table), "tr") => {
                self.inline.line_break();
                self.row = Row {
                    start: self.inline.len(),
                    cell_count: 0,
                };
            }
            (Some(BlockKind::Table), "td" | "th") => {
                if self.row.cell_count > 0 {
                    self.inline.push_verbatim(" | ");
                }
                self.row.cell_count += 1;
            }
            (Some(BlockKind::Code(_)), "br") => self.inline.push_verbatim("\n"),
            (Some(BlockKind::Code(_)), name) if BLOCK_LEVEL.contains(&name) => {
                self.inline.line_break();
            }
            (_, name) if name == "br" || BLOCK_LEVEL.contains(&name) => self.inline.space(),
            _ => {}
        }
    }

    fn leave(&mut self, element: &Element) -> Result<(), ParseError> {
        let name = element.name();
        if mark_of(element).is_some() {
            self.inline.close();
        }
        self.header_depth -= usize::from(name == "header");
        if self.closed_depth > 1 {
            self.closed_depth -= 1;
            return self.leave_closed(name);
        }
        if BLOCK_LEVEL.contains(&name) {
            self.flush()?;
        }
        let was_closed = self.closed_depth == 1;
        self.closed_depth = 0;
        // A table used for layout has no role; every other element of these names has.
        if was_closed || matches!(name, "li" | "dd" | "dt" | "blockquote" | "figcaption") {
            self.roles.pop();
        }
        Ok(())
    }

    fn leave_closed(&mut self, name: &str) -> Result<(), ParseError> {
        match (self.roles.last(), name) {
            (Some(BlockKind::Table), "caption") => self.flush_as(BlockKind::Caption),
            (Some(BlockKind::Table), "tr") => {
                let row = self.inline.tail(self.row.start);
                if !row.contains(char::is_alphanumeric) {
                    self.inline.truncate(self.row.start);
                }
                Ok(())
            }
            (_, name) if BLOCK_LEVEL.contains(&name) => {
                self.inline.space();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn is_left_out(&self, element: ElementRef<'_>) -> bool {
        let value = element.value();
        let name = value.name();
        let style = value.attr("style").unwrap_or_default();
        let is_hidden = value.attr("hidden").is_some()
            || style.contains("display:none")
            || style.contains("display: none");
        if is_hidden || NEVER_SHOWN.contains(&name) {
            return true;
        }
        self.keep == Keep::Content
            && (DECORATION.contains(&name)
                || value.attr("aria-hidden") == Some("true")
                || value.attr("role").is_some_and(|r| DECORATION_ROLES.contains(&r))
                || value.classes().any(|c| DECORATION_CLASSES.contains(&c))
                // A header that holds the page's title is no mere banner, but its lists are menus.
                || (matches!(name, "ul" | "ol") && self.header_depth > 0)
                || (name == "header" && !has_descendant(element, &["h1"])))
    }

    /// Mathematics: its alternative text, for its glyphs alone do not say what it means.
    fn formula(&mut self, math: &Element) -> Result<(), ParseError> {
        let Some(formula) = math.attr("alttext") else {
            return Ok(());
        };
        let is_display = math.attr("display") == Some("block") && self.closed_depth == 0;
        if is_display {
            self.flush()?;
        }
        self.inline.push(formula);
        match is_display {
            true => self.flush_as(BlockKind::Equation),
            false => Ok(()),
        }
    }

    /// A picture, or a drawing that shows one. Before any text it is a figure at once, within text after it.
    fn picture(&mut self, element: ElementRef<'_>) -> Result<(), ParseError> {
        let shown = element
            .descendent_elements()
            .find(|shown| matches!(shown.value().name(), "img" | "image"));
        let address = shown.and_then(|shown| {
            let mut all = shown.value().attrs();
            let address = all.find(|(name, _)| matches!(*name, "src" | "href" | "xlink:href"));
            address.map(|(_, address)| address)
        });
        let said = ["alt", "title", "aria-label"];
        let said = said.iter().find_map(|name| element.attr(name));
        let said = said.map(|said| said.split_whitespace().collect::<Vec<_>>().join(" "));
        let said = said.unwrap_or_default();
        // Headings are drawn in some books.
        if matches!(self.roles.last(), Some(BlockKind::Heading(_))) {
            self.inline.push(&said);
        }
        let address = address.filter(|address| !address.starts_with("data:"));
        let picture = (said, address.unwrap_or_default().to_owned());
        self.pictures.extend(
            Some(picture).filter(|(said, address)| !said.is_empty() || !address.is_empty()),
        );
        match self.inline.len() == 0 && self.closed_depth == 0 {
            true => self.flush_pictures(),
            false => Ok(()),
        }
    }

    fn flush_pictures(&mut self) -> Result<(), ParseError> {
        for (said, address) in std::mem::take(&mut self.pictures) {
            let file_name = address.rsplit('/').next().unwrap_or_default();
            if !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            let start = self.text.len();
            self.text
                .push_str(if said.is_empty() { file_name } else { &said });
            self.limits.check_text(self.text.len())?;
            self.blocks.push_block(Block {
                kind: BlockKind::Figure,
                range: start..self.text.len(),
                images: Some(address)
                    .filter(|address| !address.is_empty())
                    .into_iter()
                    .collect(),
                ..Block::default()
            })?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ParseError> {
        let kind = self.roles.last().cloned();
        self.flush_as(kind.unwrap_or(BlockKind::Paragraph))
    }

    fn flush_as(&mut self, kind: BlockKind) -> Result<(), ParseError> {
        self.flush_text_as(kind)?;
        self.flush_pictures()
    }

    fn flush_text_as(&mut self, kind: BlockKind) -> Result<(), ParseError> {
        let (content, mut marks) = self.inline.take();
        let lead = match kind {
            BlockKind::Code(_) => content.len() - content.trim_start_matches(['\n', '\r']).len(),
            _ => content.len() - content.trim_start().len(),
        };
        let content = content.trim_end();
        if content.len() <= lead {
            return Ok(());
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let start = self.text.len();
        self.text.push_str(&content[lead..]);
        self.limits.check_text(self.text.len())?;
        let end = self.text.len();
        for mark in &mut marks {
            let place = |at: usize| start + at.saturating_sub(lead).min(end - start);
            mark.range = place(mark.range.start)..place(mark.range.end);
        }
        marks.retain(|mark| !mark.range.is_empty());
        if matches!(kind, BlockKind::Code(_)) {
            marks.clear();
        }
        self.blocks.push(kind, start..end, marks)
    }
}

fn is_closed(role: &BlockKind) -> bool {
    matches!(
        role,
        BlockKind::Heading(_) | BlockKind::Code(_) | BlockKind::Table
    )
}

fn role_of(element: ElementRef<'_>) -> Option<BlockKind> {
    Some(match element.value().name() {
        "h1" => BlockKind::Heading(1),
        "h2" => BlockKind::Heading(2),
        "h3" => BlockKind::Heading(3),
        "h4" => BlockKind::Heading(4),
        "h5" => BlockKind::Heading(5),
        "h6" => BlockKind::Heading(6),
        "li" | "dd" | "dt" => BlockKind::ListItem,
        "blockquote" => BlockKind::Quote,
        "figcaption" => BlockKind::Caption,
        "pre" => BlockKind::Code(code_language(element)),
        "table" if !is_layout(element) => BlockKind::Table,
        _ => return None,
    })
}

/// A table that places things on the page rather than relating them.
fn is_layout(table: ElementRef<'_>) -> bool {
    matches!(table.attr("role"), Some("presentation" | "none"))
        || has_descendant(table, &["table", "h1", "h2", "h3", "h4", "pre", "article"])
}

fn has_descendant(element: ElementRef<'_>, names: &[&str]) -> bool {
    let mut below = element.descendent_elements().skip(1);
    below.any(|e| names.contains(&e.value().name()))
}

fn mark_of(element: &Element) -> Option<MarkKind> {
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
