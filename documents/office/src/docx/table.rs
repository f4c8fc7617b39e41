//! Tables. Of merged cells the first has the text and the others are empty; a table in a cell is text of that cell.

use roxmltree::Node;

use super::body::{Reader, block};
use super::style::Role;
use crate::limits::ParseError;
use crate::limits::within;
use crate::tree::BlockKind;
use crate::writing::blocks;
use crate::xml::node::{attribute, below, child, is, outermost, value};

/// Columns that a cell may span, as Word has it.
const SPAN_MAX: usize = 63;

impl<'t> Reader<'t, '_> {
    pub(super) fn table(&mut self, table: Node<'t, 't>) -> Result<(), ParseError> {
        let rows: Vec<Vec<Node<'t, 't>>> = outermost(table, &["tr"])
            .into_iter()
            .filter(|row| below(*row, &["trPr", "del"]).is_none())
            .map(|row| outermost(row, &["tc"]))
            .collect();
        if self.state.in_cell > 0 || self.is_layout(&rows) {
            for cell in rows.into_iter().flatten() {
                self.blocks(cell)?;
            }
            return Ok(());
        }
        self.flush()?;
        let mut lines = Vec::new();
        let (mut width, mut bytes) = (0, 0_usize);
        for row in rows {
            let cells = self.row(&row)?;
            width = width.max(cells.len());
            bytes += cells.iter().map(String::len).sum::<usize>();
            lines.push(cells);
            let count = lines.len().saturating_mul(width);
            within("cells of a table", count, self.limits.blocks_max)?;
            self.limits.check_text(bytes)?;
        }
        let pages = self.pages.take().or(self.pages.current_pages());
        let text = blocks::table(&lines).unwrap_or_default();
        self.add(block(BlockKind::Table, pages), &text)?;
        self.flush()
    }

    /// A frame around text rather than a table: a single cell, or one with headings.
    fn is_layout(&self, rows: &[Vec<Node<'_, '_>>]) -> bool {
        let is_heading = |paragraph: Node<'_, '_>| {
            let style = child(paragraph, "pPr").and_then(|properties| value(properties, "pStyle"));
            matches!(self.styles.get(style).role, Role::Heading(_) | Role::Title)
        };
        let mut cells = rows.iter().flatten();
        let has_heading = |cell: &Node<'_, '_>| {
            let mut paragraphs = cell.children().filter(|child| is(*child, "p"));
            paragraphs.any(is_heading)
        };
        rows.iter().map(Vec::len).sum::<usize>() == 1 || cells.any(has_heading)
    }

    fn row(&mut self, row: &[Node<'t, 't>]) -> Result<Vec<String>, ParseError> {
        let mut cells = Vec::new();
        for cell in row {
            let properties = child(*cell, "tcPr");
            let is_continued = properties.is_some_and(|properties| {
                let merged = ["vMerge", "hMerge"].map(|name| child(properties, name));
                let mut merged = merged.into_iter().flatten();
                merged.any(|merge| attribute(merge, "val") != Some("restart"))
            });
            cells.push(if is_continued {
                String::new()
            } else {
                self.cell(*cell)?
            });
            let span =
                properties.and_then(|properties| value(properties, "gridSpan")?.parse().ok());
            let span = span.unwrap_or(1).clamp(1, SPAN_MAX);
            cells.resize(cells.len() + span - 1, String::new());
            within("cells of a table", cells.len(), self.limits.blocks_max)?;
        }
        Ok(cells)
    }

    fn cell(&mut self, cell: Node<'t, 't>) -> Result<String, ParseError> {
        let outer = self.writer.suspend();
        self.state.in_cell += 1;
        let result = self.blocks(cell);
        self.state.in_cell -= 1;
        let text = self.writer.resume(outer);
        result.map(|()| text)
    }
}
