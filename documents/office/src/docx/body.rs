//! The walk over a document's paragraphs and tables. Recursive: the depth of the tree is bounded.

use roxmltree::Node;

use super::TITLE_LEVEL;
use super::drawing::DeferredBlock;
use super::field::Fields;
use super::notes::Notes;
use super::numbering::{Label, Numbering};
use super::page::Pages;
use super::style::{Role, Styles, role_from_outline};
use crate::limits::{Limits, ParseError};
use crate::office::{Package, Relations};
use crate::tree::{Block, BlockKind};
use crate::writing::writer::Writer;
use crate::xml::node::{branch, child, outermost, value};

/// Bytes of a heading; what is longer is prose to which someone gave a heading's style.
const HEADING_BYTES_MAX: usize = 1_000;

/// A document while it is read.
pub(super) struct Reader<'t, 'a> {
    pub(super) package: Package<'a>,
    pub(super) writer: Writer<'a>,
    pub(super) limits: &'a Limits,
    pub(super) relationships: &'t Relations,
    pub(super) styles: Styles,
    pub(super) numbering: Numbering,
    pub(super) notes: Notes<'t>,
    pub(super) pages: Pages,
    pub(super) fields: Fields,
    pub(super) state: State,
    /// What is in the open block, and is a block of its own after it.
    pub(super) deferred: Vec<DeferredBlock<'t>>,
    pub(super) code: Code,
    pub(super) title: Option<String>,
    /// Characters that fields of notes hide which do not end in their note.
    pub(super) hidden_chars: usize,
    /// Files of other kinds that the document is to take in.
    pub(super) embedded_files: usize,
}

/// Where the walk is.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What the open block is.
    pub(super) kind: BlockKind,
    is_title: bool,
    /// Where the number of the open block is in it.
    label: std::ops::Range<usize>,
    /// Open cells, notes and comments: their paragraphs run together.
    pub(super) in_cell: usize,
    /// In a note or comment.
    pub(super) in_note: bool,
    /// In a paragraph that is left out.
    pub(super) is_skipped: bool,
    /// In code.
    pub(super) is_verbatim: bool,
    /// Open links.
    pub(super) link_depth: usize,
    /// Open lists of references.
    bibliography_depth: usize,
}

/// Lines of code that are under each other and are one block.
#[derive(Debug, Default)]
pub(super) struct Code {
    text: String,
    pages: Option<(u32, u32)>,
}

impl<'t> Reader<'t, '_> {
    pub(super) fn read(&mut self, root: Node<'t, 't>) -> Result<(), ParseError> {
        if let Some(body) = child(root, "body") {
            self.blocks(body)?;
        }
        self.flush()?;
        self.end_section()
    }

    /// Reads what is in a body, a cell, a note or a text box.
    pub(super) fn blocks(&mut self, parent: Node<'t, 't>) -> Result<(), ParseError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "p" => self.paragraph(node)?,
                "tbl" => self.table(node)?,
                "sdt" => self.control(node, Self::blocks)?,
                "AlternateContent" => {
                    if let Some(branch) = branch(node) {
                        self.blocks(branch)?;
                    }
                }
                "ins" | "moveTo" | "customXml" | "smartTag" => self.blocks(node)?,
                "altChunk" | "subDoc" => self.embedded_files += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// A control that holds text: not where it invites to write some, nor where it holds the table of contents.
    pub(super) fn control(
        &mut self,
        control: Node<'t, 't>,
        read: fn(&mut Self, Node<'t, 't>) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        let properties = child(control, "sdtPr");
        let galleries = properties.map(|it| outermost(it, &["docPartGallery"]));
        let galleries = galleries.unwrap_or_default();
        let is_gallery =
            |name| (galleries.iter()).any(|it| it.attributes().any(|a| a.value() == name));
        let is_invitation = properties.is_some_and(|it| child(it, "showingPlcHdr").is_some());
        let Some(content) = child(control, "sdtContent") else {
            return Ok(());
        };
        if is_invitation || is_gallery("Table of Contents") {
            return Ok(());
        }
        let is_bibliography = usize::from(is_gallery("Bibliographies"));
        self.state.bibliography_depth += is_bibliography;
        let result = read(self, content);
        self.state.bibliography_depth -= is_bibliography;
        result
    }

    fn paragraph(&mut self, paragraph: Node<'t, 't>) -> Result<(), ParseError> {
        let properties = child(paragraph, "pPr");
        let role = self.role(properties);
        if matches!(role, Role::Heading(_) | Role::Title) && self.state.in_cell == 0 {
            self.fields.end_contents();
            self.flush()?;
            self.end_section()?;
        }
        let label = self.label(properties);
        if self.state.in_cell > 0 {
            return self.append_paragraph(paragraph, label);
        }
        if role == Role::Code {
            return self.code_line(paragraph);
        }
        let is_muted = std::mem::replace(&mut self.state.is_skipped, role == Role::Contents);
        self.state.kind = self.kind(role, label.as_ref());
        self.state.is_title = role == Role::Title;
        self.write_label(label);
        self.runs(paragraph)?;
        self.state.is_skipped = is_muted;
        // Where the end of a paragraph is deleted, the next one goes on with it.
        let mark = properties.and_then(|properties| child(properties, "rPr"));
        match mark.and_then(|mark| child(mark, "del")) {
            Some(_) => Ok(()),
            None => self.flush(),
        }
    }

    /// A paragraph of a cell or note.
    fn append_paragraph(
        &mut self,
        paragraph: Node<'t, 't>,
        label: Option<Label>,
    ) -> Result<(), ParseError> {
        let outer = std::mem::take(&mut self.state.label);
        self.writer.inline.space();
        self.write_label(label);
        self.runs(paragraph)?;
        self.drop_lone_label();
        self.writer.inline.space();
        self.state.label = outer;
        Ok(())
    }

    fn code_line(&mut self, paragraph: Node<'t, 't>) -> Result<(), ParseError> {
        self.flush_text()?;
        let was_verbatim = std::mem::replace(&mut self.state.is_verbatim, true);
        let outer = self.writer.suspend();
        self.runs(paragraph)?;
        let line = self.writer.resume(outer);
        self.state.is_verbatim = was_verbatim;
        let pages = self.pages.take();
        let first = self.code.pages.or(pages);
        self.code.pages = first.map(|(first, last)| (first, pages.map_or(last, |(_, last)| last)));
        self.code.text.push_str(line.trim_end());
        self.code.text.push('\n');
        self.limits.check_text(self.code.text.len())?;
        if self.deferred.is_empty() {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn role(&self, properties: Option<Node<'_, '_>>) -> Role {
        let outline_role = properties.and_then(role_from_outline);
        let style = properties.and_then(|properties| value(properties, "pStyle"));
        let of_style = self.styles.get(style).role;
        match (outline_role, of_style) {
            (Some(role), Role::Body | Role::Heading(_)) => role,
            (_, of_style) => of_style,
        }
    }

    /// Counts the paragraph, where it is of a list.
    fn label(&mut self, properties: Option<Node<'_, '_>>) -> Option<Label> {
        let properties = properties?;
        let style = value(properties, "pStyle");
        let of_style = self.styles.get(style).numbering.as_ref();
        let own_numbering = child(properties, "numPr");
        let own_level = own_numbering.and_then(|it| value(it, "ilvl")?.parse().ok());
        let list = match own_numbering.and_then(|it| value(it, "numId")) {
            Some(list) => list,
            None => &of_style?.0,
        };
        let of_style = of_style.filter(|(of_style, _)| of_style == list);
        let level = own_level
            .or_else(|| of_style?.1)
            .or_else(|| self.numbering.level_of_style(list, style));
        self.numbering.next(list, level.unwrap_or(0))
    }

    fn kind(&self, role: Role, label: Option<&Label>) -> BlockKind {
        let is_item = match label {
            Some(Label::Bullet) => true,
            Some(Label::Number(number)) => !number.is_empty(),
            None => false,
        };
        let is_reference = self.fields.is_bibliography() || self.state.bibliography_depth > 0;
        match role {
            Role::Title => BlockKind::Heading(TITLE_LEVEL),
            Role::Heading(level) => BlockKind::Heading(level),
            Role::Caption => BlockKind::Caption,
            Role::Quote => BlockKind::Quote,
            _ if role == Role::Reference || is_reference => BlockKind::Reference(None),
            Role::Item => BlockKind::ListItem,
            _ if is_item => BlockKind::ListItem,
            _ => BlockKind::Paragraph,
        }
    }

    fn write_label(&mut self, label: Option<Label>) {
        let start = self.writer.inline.len();
        if let Some(Label::Number(number)) = label
            && !self.state.is_skipped
        {
            self.writer.inline.push(&number);
            self.writer.inline.space();
        }
        self.state.label = start..self.writer.inline.len();
    }

    /// A number without a text is none.
    fn drop_lone_label(&mut self) {
        let label = std::mem::take(&mut self.state.label);
        if self.writer.inline.len() == label.end {
            self.writer.inline.truncate(label.start);
        }
    }

    /// Ends what is open, and adds what stood in it.
    pub(super) fn flush(&mut self) -> Result<(), ParseError> {
        self.flush_text()?;
        if !self.deferred.is_empty() {
            self.flush_code()?;
        }
        for later in std::mem::take(&mut self.deferred) {
            self.read_deferred(later)?;
        }
        Ok(())
    }

    /// Ends the open block.
    pub(super) fn flush_text(&mut self) -> Result<(), ParseError> {
        self.drop_lone_label();
        if self.writer.inline.len() == 0 {
            return Ok(());
        }
        self.flush_code()?;
        let is_long = self.writer.inline.len() > HEADING_BYTES_MAX;
        let kind = match std::mem::take(&mut self.state.kind) {
            BlockKind::Heading(_) if is_long => BlockKind::Paragraph,
            kind => kind,
        };
        let pages = self.pages.take();
        let start = self.writer.len();
        let is_written = self.writer.end(block(kind, pages))?;
        if is_written && std::mem::take(&mut self.state.is_title) && self.title.is_none() {
            self.title = Some(self.writer.tail(start).trim().replace('\n', " "));
        }
        Ok(())
    }

    /// Ends the open code.
    fn flush_code(&mut self) -> Result<(), ParseError> {
        let code = std::mem::take(&mut self.code);
        let text = code.text.trim_start_matches('\n');
        self.writer
            .add(block(BlockKind::Code(None), code.pages), text)
    }

    /// Adds a block that is not gathered.
    pub(super) fn add(&mut self, block: Block, text: &str) -> Result<(), ParseError> {
        self.flush_code()?;
        self.writer.add(block, text)
    }

    /// Adds the notes of the section that ends here.
    fn end_section(&mut self) -> Result<(), ParseError> {
        self.flush_code()?;
        for (number, note) in self.notes.take_pending() {
            self.writer.inline.push(&format!("[^{number}]:"));
            let label = self.writer.inline.len();
            self.read_note(note)?;
            if self.writer.inline.len() == label {
                self.writer.inline.truncate(0);
            }
            let pages = self.pages.take();
            self.writer.end(block(BlockKind::Footnote, pages))?;
        }
        Ok(())
    }

    /// Reads a note or comment into the open block.
    pub(super) fn read_note(&mut self, note: Node<'t, 't>) -> Result<(), ParseError> {
        let was_beside = std::mem::replace(&mut self.state.in_note, true);
        // What a note leaves open ends with it.
        let fields = std::mem::take(&mut self.fields);
        self.state.in_cell += 1;
        let result = self.blocks(note);
        self.state.in_cell -= 1;
        self.hidden_chars += self.fields.hidden();
        self.fields = fields;
        self.state.in_note = was_beside;
        result
    }
}

/// A block whose text is to be filled in.
pub(super) fn block(kind: BlockKind, pages: Option<(u32, u32)>) -> Block {
    Block {
        kind,
        pages,
        ..Block::default()
    }
}
