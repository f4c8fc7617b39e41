//! What is apart from the text: figures, tables, formulas and code, with their captions.

use roxmltree::Node;

use super::Walk;
use crate::jats::{child, formula, href, table, text_in, text_of};
use crate::limits::ParseError;
use crate::tree::{Block, BlockKind};
use crate::writing::running::RunningText;

impl<'x> Walk<'_, 'x> {
    /// A figure, table or file with its caption, which is before a table and after a figure.
    pub(super) fn float(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let outer = std::mem::replace(&mut self.kind, BlockKind::Caption);
        let (lead, level) = (self.prefix.take(), self.level);
        let pictures: Vec<_> = pictures(node).collect();
        self.figure(&pictures, text_in(node, "alt-text"))?;
        self.caption(node)?;
        for part in node.children() {
            let name = part.tag_name().name();
            match name {
                "label" | "caption" | "graphic" => {}
                "alternatives" => {
                    if let Some(table) = child(part, "table") {
                        self.table(table)?;
                    }
                }
                _ => self.node(part)?,
            }
        }
        self.flush()?;
        (self.kind, self.prefix, self.level) = (outer, lead, level);
        Ok(())
    }

    /// Writes pictures as one figure; `said`: what it says in words.
    pub(super) fn figure(
        &mut self,
        pictures: &[Node<'x, 'x>],
        alt_text: Option<String>,
    ) -> Result<(), ParseError> {
        self.flush()?;
        let images: Vec<String> = pictures
            .iter()
            .filter_map(|picture| href(*picture))
            .map(str::to_owned)
            .collect();
        let words = alt_text.or_else(|| {
            pictures
                .iter()
                .find_map(|picture| text_in(*picture, "alt-text"))
        });
        let Some(words) = words
            .or_else(|| images.first().cloned())
            .filter(|_| !images.is_empty())
        else {
            return Ok(());
        };
        let mut running = RunningText::default();
        running.push(&words);
        let block = Block {
            kind: BlockKind::Figure,
            images,
            ..Block::default()
        };
        self.out.write_block(block, running)
    }

    pub(super) fn caption(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        if let Some(label) = child(node, "label") {
            let label = self.gather(label)?;
            self.running.append(label);
            self.running.space();
        }
        for part in child(node, "caption")
            .into_iter()
            .flat_map(|caption| caption.children())
        {
            match part.text().filter(|_| part.is_text()) {
                Some(text) => self.running.push(text),
                None => self.children(part)?,
            }
            if part.has_tag_name("title") && self.running.as_str().ends_with(char::is_alphanumeric)
            {
                self.running.push(".");
            }
            self.running.space();
        }
        self.flush()
    }

    pub(super) fn table(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        table::write(self, node)?;
        for note in std::mem::take(&mut self.notes) {
            self.out.write(BlockKind::Footnote, note)?;
        }
        Ok(())
    }

    pub(super) fn equation(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let Some(mut formula) = formula::text(node) else {
            let pictures: Vec<_> = pictures(node).collect();
            if !pictures.is_empty() {
                return self.figure(&pictures, None);
            }
            let words = self.gather(node)?;
            return self.out.write(BlockKind::Equation, words);
        };
        if let Some(label) = text_in(node, "label") {
            formula = format!("{formula} {label}");
        }
        self.out
            .write(BlockKind::Equation, RunningText::verbatim(formula))
    }

    pub(super) fn formula(&mut self, node: Node<'x, 'x>) {
        let Some(formula) = formula::text(node) else {
            return self.running.push(&text_of(node));
        };
        if formula::is_tex(node) {
            self.running.push(&format!("${formula}$"))
        } else {
            self.running.push(&formula)
        }
    }

    pub(super) fn code(&mut self, node: Node<'x, 'x>) -> Result<(), ParseError> {
        self.flush()?;
        let texts = node.descendants().filter(|node| node.is_text());
        let code: String = texts.filter_map(|node| node.text()).collect();
        let language = node.attribute("language").map(str::to_owned);
        self.out
            .write(BlockKind::Code(language), RunningText::verbatim(code))
    }
}

/// The pictures of a float: one of each set of alternatives.
fn pictures<'x>(node: Node<'x, 'x>) -> impl Iterator<Item = Node<'x, 'x>> {
    node.children()
        .filter_map(|part| match part.tag_name().name() {
            "graphic" => Some(part),
            "alternatives" => child(part, "graphic"),
            _ => None,
        })
}
