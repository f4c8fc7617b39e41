//! What is said beside a slide: its speaker's notes, and comments on it.
//!
//! Comments come in two forms: those of ECMA-376 (part 1, 19.4) and the threads that PowerPoint has written since 2021
//! ([MS-PPTX], 2.6.5), whose replies are within them.

use roxmltree::Node;

use super::Deck;
use super::paragraph::write;
use super::slide::paragraphs;
use crate::limits::ParseError;
use crate::tree::{Block, BlockKind};
use crate::writing::running::collapsed;
use crate::xml::node::{attribute, below, child, children, outermost};

impl Deck<'_> {
    /// The notes on the page of notes at `path`: its body, without the small picture of the slide.
    pub(super) fn notes(&mut self, path: &str, slide: u32) -> Result<(), ParseError> {
        let source = self.package.source(Some(path))?;
        let tree = self.package.tree(&source, path)?;
        for shape in outermost(tree.root_element(), &["sp"]) {
            let placeholder = below(shape, &["nvSpPr", "nvPr", "ph"]);
            if placeholder.and_then(|it| attribute(it, "type")) != Some("body") {
                continue;
            }
            for paragraph in paragraphs(shape) {
                write(paragraph, &mut self.writer);
                self.writer.end(aside(slide))?;
            }
        }
        Ok(())
    }

    /// The comments in the part at `path`.
    pub(super) fn comments(&mut self, path: &str, slide: u32) -> Result<(), ParseError> {
        let source = self.package.source(Some(path))?;
        let tree = self.package.tree(&source, path)?;
        for comment in children(tree.root_element(), "cm") {
            self.comment(comment, slide)?;
            let replies = child(comment, "replyLst");
            for reply in replies.into_iter().flat_map(|list| children(list, "reply")) {
                self.comment(reply, slide)?;
            }
        }
        Ok(())
    }

    fn comment(&mut self, comment: Node<'_, '_>, slide: u32) -> Result<(), ParseError> {
        let text = match child(comment, "text") {
            Some(text) => collapsed(text.text().unwrap_or_default()),
            None => {
                let outer = self.writer.suspend();
                for paragraph in paragraphs(comment) {
                    write(paragraph, &mut self.writer);
                    self.writer.inline.line_break();
                }
                self.writer.resume(outer).trim().to_owned()
            }
        };
        if text.is_empty() {
            return Ok(());
        }
        let author = attribute(comment, "authorId").and_then(|id| self.authors.get(id));
        let comment_text = match author {
            Some(author) if !author.is_empty() => format!("{author}: {text}"),
            _ => text,
        };
        self.writer.add(aside(slide), &comment_text)
    }
}

fn aside(slide: u32) -> Block {
    Block {
        kind: BlockKind::Aside,
        slide: Some(slide),
        ..Block::default()
    }
}
