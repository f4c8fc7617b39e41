//! The walk over an article: elements to blocks.
//!
//! Text gathers in `running` until an element that is a block of its own begins or ends; it is then written as the
//! kind that the elements around it ask for. Inside a title, a table cell or a footnote nothing is written: there
//! every element only adds to the text. The walk is recursive; the file's depth was bounded before.

use std::sync::LazyLock;

use roxmltree::Node;

use super::{Works, below, child, citations, meta, references, text_in, text_of};
use crate::limits::{Limits, ParseError};
use crate::tables::Tables;
use crate::tree::{BlockKind, MarkKind, ParsedDocument};
use crate::writing::running::RunningText;
use crate::writing::writer::Writer;

mod floats;

static NAMES: LazyLock<Tables> = LazyLock::new(|| Tables::parse(include_str!("names.txt")));

/// Writes the article's text into the document.
pub(super) fn write<'x>(
    article: Node<'x, 'x>,
    works: &Works<'x>,
    document: &mut ParsedDocument,
    limits: &Limits,
) -> Result<(), ParseError> {
    let mut walk = Walk {
        reference_list: works,
        out: Writer::new(limits),
        running: RunningText::default(),
        kind: BlockKind::Paragraph,
        level: 0,
        closed_depth: 0,
        box_depth: 0,
        prefix: None,
        notes: Vec::new(),
    };
    walk.article(article)?;
    let published_with = ["sub-article", "response"];
    for node in article.children() {
        if published_with.contains(&node.tag_name().name()) {
            walk.sub_article(node)?;
        }
    }
    walk.out.finish_into(document);
    Ok(())
}

pub(super) struct Walk<'a, 'x> {
    pub(super) reference_list: &'a Works<'x>,
    pub(super) out: Writer<'a>,
    pub(super) running: RunningText,
    /// What the running text is.
    kind: BlockKind,
    /// Sections that are open.
    level: u8,
    /// Titles, cells and footnotes that are open: nothing is written inside of them.
    closed_depth: usize,
    /// Boxes that are open: their titles are no headings, for what follows a box is not in it.
    box_depth: usize,
    /// What the next block begins with: a list item's number, a theorem's name.
    prefix: Option<String>,
    /// Footnotes of the block that is open.
    notes: Vec<RunningText>,
}

impl<'x> Walk<'_, 'x> {
    fn article(&mut self, article: Node<'x, 'x>) -> Result<(), ParseError> {
        let meta = child(article, "front").and_then(|front| child(front, "article-meta"));
        let meta = meta.or_else(|| child(article, "front-stub"));
        for node in meta.into_iter().flat_map(|meta| meta.children()) {
            if matches!(node.tag_name().name(), "abstract" | "trans-abstract") {
                self.node(node)?;
            }
        }
        for node in article.children() {
            if matches!(node.tag_name().name(), "body" | "back" | "floats-group") {
                self.node(node)?;
            }
        }
        self.flush()
    }

    /// A review, an answer or a translation that is published with the article: a section.
    fn sub_article(&mut self, article: Node<'x, 'x>) -> Result<(), ParseError> {
        let title = child(article, "front-stub").and_then(meta::title);
        self.level = u8::from(title.is_some());
        if let Some(title) = title {
            self.out
                .write(BlockKind::Heading(1), RunningText::verbatim(title))?;
        }
        self.article(article)?;
        self.level = 0;
        Ok(())
    }

    pub(super) fn children(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        node.children().try_for_each(|child| self.node(child))
    }

    fn node(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        if let Some(text) = node.text().filter(|_| node.is_text()) {
            self.running.push(text);
            return Ok(());
        }
        if !node.is_element() || NAMES.get("ignored", node.tag_name().name()).is_some() {
            return Ok(());
        }
        if self.closed_depth > 0 || !self.block(node)? {
            self.inline(node)
        } else {
            Ok(())
        }
    }

    /// Reads an element that is a block or holds blocks; `false` where it is neither.
    fn block(&mut self, node: Node<'x, 'x>) -> Result<bool, ParseError> {
        let name = node.tag_name().name();
        match name {
            "fn" if is_inline(node) => return Ok(false),
            "code" if !text_is_long(node) => return Ok(false),
            _ if NAMES.get("sections", name).is_some() => self.section(node)?,
            "p" | "attrib" | "verse-line" | "fig-group" | "table-wrap-group" => {
                self.as_kind(self.kind.clone(), node)?;
            }
            "disp-quote" | "verse-group" => self.as_kind(BlockKind::Quote, node)?,
            "table-wrap-foot" => self.as_kind(BlockKind::Footnote, node)?,
            "fn" => self.footnote(node)?,
            "list" => self.list(node)?,
            "def-item" => self.definition(node)?,
            "boxed-text" => self.boxed(node)?,
            "statement" | "speech" => self.named(node)?,
            "fig" | "table-wrap" | "supplementary-material" | "media" => self.float(node)?,
            "graphic" => self.figure(&[node], None)?,
            "table" => self.table(node)?,
            "disp-formula" => self.equation(node)?,
            "preformat" | "code" => self.code(node)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads what is in running text.
    fn inline(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        let from = self.running.len();
        match node.tag_name().name() {
            "xref" if node.attribute("ref-type") == Some("bibr") => citations::write(self, node)?,
            "inline-formula" | "disp-formula" | "tex-math" | "math" => self.formula(node),
            "alternatives" => {
                let first = node.children().find(Node::is_element);
                first.map_or(Ok(()), |first| self.node(first))?;
            }
            "fn" => {
                let note = self.gather(node)?;
                self.notes.push(note);
            }
            "element-citation" => self.running.push(&references::text(node)),
            "sup" => {
                // Ten to the fifth is no hundred and five.
                let is_power = self
                    .running
                    .as_str()
                    .ends_with(|c: char| c.is_ascii_digit())
                    && text_of(node).ends_with(|c: char| c.is_ascii_digit())
                    && below(node, "xref").is_none();
                if is_power {
                    self.running.push("^");
                }
                self.children(node)?;
            }
            "break" | "graphic" | "inline-graphic" | "media" => self.running.space(),
            "title" | "label" | "p" | "td" | "th" | "list-item" | "def" | "term" | "caption" => {
                self.running.space();
                self.children(node)?;
                self.running.space();
            }
            _ => self.children(node)?,
        }
        let name = node.tag_name().name();
        if let Some(kind) = NAMES.get("marked", name).and_then(MarkKind::from_name) {
            self.running.mark(kind, from);
        }
        Ok(())
    }

    /// The text of an element that holds no block of its own.
    pub(super) fn gather(&mut self, node: Node<'x, 'x>) -> Result<RunningText, ParseError> {
        let outer = self.running.take();
        self.closed_depth += 1;
        self.children(node)?;
        self.closed_depth -= 1;
        Ok(std::mem::replace(&mut self.running, outer))
    }

    /// Writes what has gathered.
    fn flush(&mut self) -> Result<(), ParseError> {
        let mut running = self.running.take();
        if !running.is_blank() {
            if let Some(lead) = self.prefix.take() {
                let body = std::mem::take(&mut running);
                running.push(&lead);
                running.space();
                running.append(body);
            }
            self.out.write(self.kind.clone(), running)?;
            if self.kind == BlockKind::ListItem {
                self.kind = BlockKind::Paragraph;
            }
        }
        for note in std::mem::take(&mut self.notes) {
            self.out.write(BlockKind::Footnote, note)?;
        }
        Ok(())
    }

    /// Reads an element whose text is of one kind.
    fn as_kind(&mut self, kind: BlockKind, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        // An item's second paragraph is none of the list, so what the first one leaves is kept.
        let is_of_item = self.kind == BlockKind::ListItem && kind == self.kind;
        let outer = std::mem::replace(&mut self.kind, kind);
        self.children(node)?;
        self.flush()?;
        if !is_of_item {
            self.kind = outer;
        }
        Ok(())
    }

    fn section(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let name = node.tag_name().name();
        let mut title = RunningText::default();
        for part in node.children().filter(is_title) {
            title.append(self.gather(part)?);
            title.space();
        }
        if title.is_blank() {
            title.push(default_title(name));
        }
        let level = self.level;
        if !title.is_blank() {
            self.heading(title)?;
        }
        for part in node.children().filter(|part| !is_title(part)) {
            if part.has_tag_name("ref") {
                self.reference(part)?
            } else {
                self.node(part)?
            }
        }
        self.flush()?;
        self.level = level;
        Ok(())
    }

    fn heading(&mut self, mut title: RunningText) -> Result<(), ParseError> {
        if self.box_depth > 0 {
            title.mark(MarkKind::Strong, 0);
            return self.out.write(self.kind.clone(), title);
        }
        self.level = self.level.saturating_add(1);
        self.out.write(BlockKind::Heading(self.level), title)
    }

    fn reference(&mut self, entry: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let Some(&index) = self.reference_list.by_node.get(&entry.id()) else {
            return Ok(());
        };
        let reference = &self.reference_list.references[index as usize];
        let mut running = RunningText::default();
        if !reference.label.is_empty() {
            running.push(&format!("[{}] ", reference.label));
        }
        running.push(&reference.text);
        self.out.write(BlockKind::Reference(Some(index)), running)
    }

    fn footnote(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let note = self.gather(node)?;
        self.out.write(BlockKind::Footnote, note)
    }

    fn list(&mut self, list: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let is_counted = list.attribute("list-type") == Some("order");
        let outer = (self.kind.clone(), self.prefix.take());
        let items = list
            .children()
            .filter(|node| node.has_tag_name("list-item"));
        for (i, item) in items.enumerate() {
            let counted = || is_counted.then(|| format!("{}.", i + 1));
            self.prefix = text_in(item, "label").or_else(counted);
            self.kind = BlockKind::ListItem;
            for part in item.children().filter(|part| !part.has_tag_name("label")) {
                self.node(part)?;
            }
            self.flush()?;
        }
        (self.kind, self.prefix) = outer;
        if self.kind == BlockKind::ListItem {
            self.kind = BlockKind::Paragraph;
        }
        Ok(())
    }

    fn definition(&mut self, item: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let mut running = RunningText::default();
        for part in item.children().filter(Node::is_element) {
            let is_term = part.has_tag_name("term");
            let inner = self.gather(part)?;
            running.append(inner);
            if is_term {
                running.mark(MarkKind::Strong, 0);
                running.push(":");
            }
            running.space();
        }
        self.out.write(BlockKind::ListItem, running)
    }

    fn boxed(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.box_depth += 1;
        self.as_kind(BlockKind::Aside, node)?;
        self.box_depth -= 1;
        Ok(())
    }

    /// A theorem (`Theorem 1 (Noether).`) or what a speaker says (`Ann:`).
    fn named(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let lead = match (
            text_in(node, "label"),
            text_in(node, "title"),
            text_in(node, "speaker"),
        ) {
            (_, _, Some(speaker)) => Some(format!("{}:", speaker.trim_end_matches(':'))),
            (Some(label), Some(title), _) => Some(format!("{label} ({title}).")),
            (Some(name), None, _) | (None, Some(name), _) => Some(format!("{name}.")),
            _ => None,
        };
        self.prefix = lead.map(|lead| lead.replace("..", "."));
        let is_name = |part: &Node<'_, '_>| is_title(part) || part.has_tag_name("speaker");
        for part in node.children().filter(|part| !is_name(part)) {
            self.node(part)?;
        }
        self.flush()
    }
}

fn is_title(node: &Node<'_, '_>) -> bool {
    matches!(node.tag_name().name(), "title" | "label")
}

fn default_title(section: &str) -> &'static str {
    let title = NAMES.get("sections", section);
    title.filter(|title| *title != "-").unwrap_or_default()
}

/// A footnote within a sentence, rather than in a group of them.
fn is_inline(note: Node<'_, '_>) -> bool {
    let groups = ["fn-group", "author-notes", "table-wrap-foot"];
    let parent = note.parent_element();
    parent.is_some_and(|parent| !groups.contains(&parent.tag_name().name()))
}

fn text_is_long(code: Node<'_, '_>) -> bool {
    code.descendants()
        .filter_map(|node| node.text())
        .any(|text| text.trim().contains('\n'))
}
