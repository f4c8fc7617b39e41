//! What is on a slide: shapes with text, tables, pictures, charts and diagrams.

use roxmltree::Node;

use super::layout::{Bullet, Layout, Role, placeholder_of, role};
use super::paragraph::{ListCounters, list_of, own_levels, write};
use super::position::sort_by_position;
use super::title;
use crate::office::{Package, Relations, chart, diagram, is_decoration};
use loci_parsing::limits::within;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::package::pictures::file_name;
use loci_parsing::tree::{Block, BlockKind};
use loci_parsing::writing::blocks::table;
use loci_parsing::writing::running::collapsed;
use loci_parsing::writing::writer::Writer;
use loci_parsing::xml::node::{
    attribute, below, branch, children, is_true, outermost, relation, text_of,
};

/// A slide while it is read.
pub(super) struct Slide<'r, 'a> {
    pub(super) package: &'r mut Package<'a>,
    pub(super) writer: &'r mut Writer<'a>,
    pub(super) limits: &'r Limits,
    pub(super) layout: &'r Layout,
    pub(super) relationships: &'r Relations,
    /// From 1.
    pub(super) number: u32,
}

impl Slide<'_, '_> {
    /// Reads it, and returns its title.
    pub(super) fn read(&mut self, root: Node<'_, '_>) -> Result<Option<String>, ParseError> {
        let things = match below(root, &["cSld", "spTree"]) {
            Some(tree) => self.shapes_in_order(tree),
            None => Vec::new(),
        };
        let title_at = title::title_index(&things);
        let title = title_at.and_then(|at| things.get(at));
        let title = title.map(|shape| self.title(*shape)).unwrap_or_default();
        let heading = match &title[..] {
            "" => format!("Slide {}", self.number),
            title => title.to_owned(),
        };
        let block = self.block(BlockKind::Heading(1));
        self.writer.add(block, &heading)?;
        for (at, thing) in things.into_iter().enumerate() {
            if Some(at) != title_at {
                self.shape(thing)?;
            }
        }
        Ok(Some(title).filter(|title| !title.is_empty()))
    }

    fn block(&self, kind: BlockKind) -> Block {
        Block {
            kind,
            slide: Some(self.number),
            ..Block::default()
        }
    }

    /// What is in a tree or group of shapes, groups resolved.
    fn shapes_in_order<'t, 's>(&self, group: Node<'t, 's>) -> Vec<Node<'t, 's>> {
        let mut things = Vec::new();
        self.collect(group, &mut things);
        sort_by_position(things).concat()
    }

    /// Recursive: the depth of the tree is bounded.
    fn collect<'t, 's>(
        &self,
        group: Node<'t, 's>,
        things: &mut Vec<(Option<super::position::Rect>, Vec<Node<'t, 's>>)>,
    ) {
        for one in group.children().filter(Node::is_element) {
            match one.tag_name().name() {
                "AlternateContent" => {
                    if let Some(branch) = branch(one) {
                        self.collect(branch, things);
                    }
                }
                "grpSp" => things.push((self.layout.rect(one), self.shapes_in_order(one))),
                "sp" | "pic" | "graphicFrame" => {
                    things.push((self.layout.rect(one), vec![one]));
                }
                _ => {}
            }
        }
    }

    fn title(&mut self, shape: Node<'_, '_>) -> String {
        let outer = self.writer.suspend();
        for paragraph in paragraphs(shape) {
            write(paragraph, self.writer);
            self.writer.inline.space();
        }
        collapsed(&self.writer.resume(outer))
    }

    fn shape(&mut self, thing: Node<'_, '_>) -> Result<(), ParseError> {
        let placeholder = placeholder_of(thing).map(role);
        match thing.tag_name().name() {
            _ if placeholder == Some(Role::HeaderFooter) => Ok(()),
            "sp" => self.text(thing),
            "pic" => self.picture(thing),
            _ => self.frame(thing),
        }
    }

    fn text(&mut self, shape: Node<'_, '_>) -> Result<(), ParseError> {
        let Some(body) = below(shape, &["txBody"]) else {
            return Ok(());
        };
        let own = own_levels(body);
        let mut counts = ListCounters::default();
        for paragraph in children(body, "p").filter(|paragraph| has_text(*paragraph)) {
            let (level, own_bullet) = list_of(paragraph);
            let bullet = own_bullet.unwrap_or_else(|| self.layout.bullet(shape, &own, level));
            let kind = if level > 0 || bullet != Bullet::Nothing {
                BlockKind::ListItem
            } else {
                BlockKind::Paragraph
            };
            self.writer.inline.push(&counts.next(level, &bullet));
            self.writer.inline.space();
            write(paragraph, self.writer);
            let block = self.block(kind);
            self.writer.end(block)?;
        }
        Ok(())
    }

    fn picture(&mut self, picture: Node<'_, '_>) -> Result<(), ParseError> {
        let names = below(picture, &["nvPicPr", "cNvPr"]);
        let blip = below(picture, &["blipFill", "blip"]);
        let path = blip.and_then(|blip| self.relationships.path(relation(blip, "embed")?));
        let Some(path) = path.filter(|_| !names.is_some_and(is_decoration)) else {
            return Ok(());
        };
        let alternative = names.and_then(|names| attribute(names, "descr"));
        let alternative = collapsed(alternative.unwrap_or_default());
        let mut block = self.block(BlockKind::Figure);
        block.images.push(path.to_owned());
        let text = match &alternative[..] {
            "" => file_name(path),
            alternative => alternative,
        };
        self.writer.add(block, text)?;
        self.package.keep_picture(path)
    }

    /// A table, a chart, a diagram, or a picture of something foreign.
    fn frame(&mut self, frame: Node<'_, '_>) -> Result<(), ParseError> {
        let data = below(frame, &["graphic", "graphicData"]);
        if let Some(grid) = data.and_then(|data| below(data, &["tbl"])) {
            return self.table(grid);
        }
        if let Some(path) = chart::reference(frame).and_then(|id| self.relationships.path(id)) {
            return self.chart(frame, path);
        }
        if let Some(path) = diagram::reference(frame).and_then(|id| self.relationships.path(id)) {
            return self.diagram(path);
        }
        for picture in outermost(frame, &["pic"]) {
            self.picture(picture)?;
        }
        Ok(())
    }

    fn table(&mut self, grid: Node<'_, '_>) -> Result<(), ParseError> {
        let mut rows = Vec::new();
        let (mut width, mut bytes) = (0, 0_usize);
        for row in children(grid, "tr") {
            let cells: Vec<String> = children(row, "tc").map(|cell| self.cell(cell)).collect();
            width = width.max(cells.len());
            bytes += cells.iter().map(String::len).sum::<usize>();
            rows.push(cells);
            let count = rows.len().saturating_mul(width);
            within("cells of a table", count, self.limits.blocks_max)?;
            self.limits.check_text(bytes)?;
        }
        let block = self.block(BlockKind::Table);
        self.writer.add(block, &table(&rows).unwrap_or_default())
    }

    /// The text of a cell; none where it is merged into another.
    fn cell(&mut self, cell: Node<'_, '_>) -> String {
        let is_merged = |name| attribute(cell, name).is_some_and(is_true);
        if is_merged("hMerge") || is_merged("vMerge") {
            String::new()
        } else {
            self.title(cell)
        }
    }

    fn chart(&mut self, frame: Node<'_, '_>, path: &str) -> Result<(), ParseError> {
        let chart = self.package.chart(path)?;
        let names = below(frame, &["nvGraphicFramePr", "cNvPr"]);
        let alternative = names.and_then(|names| attribute(names, "descr"));
        let lines = [collapsed(alternative.unwrap_or_default()), chart.titles];
        let block = self.block(BlockKind::Figure);
        self.writer.add(block, lines.join("\n").trim())?;
        let block = self.block(BlockKind::Table);
        let rows = table(&chart.rows).unwrap_or_default();
        self.writer.add(block, &rows)
    }

    fn diagram(&mut self, path: &str) -> Result<(), ParseError> {
        for text in self.package.diagram(path)? {
            let block = self.block(BlockKind::ListItem);
            self.writer.add(block, &text)?;
        }
        Ok(())
    }
}

fn has_text(paragraph: Node<'_, '_>) -> bool {
    !text_of(paragraph, "t").trim().is_empty()
}

/// The paragraphs of a shape or cell.
pub(super) fn paragraphs<'a, 's>(shape: Node<'a, 's>) -> Vec<Node<'a, 's>> {
    let body = below(shape, &["txBody"]);
    body.map(|body| children(body, "p").collect())
        .unwrap_or_default()
}
