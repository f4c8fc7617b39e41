//! What a paragraph holds that is a block of its own: pictures, text boxes, charts, diagrams, comments.

use roxmltree::Node;

use super::body::{Reader, block};
use crate::limits::ParseError;
use crate::office::is_decoration;
use crate::package::pictures::file_name;
use crate::tree::{Block, BlockKind};
use crate::writing::blocks::table;
use crate::writing::running::collapsed;
use crate::xml::node::{attribute, child, is, outermost, relation};

/// Children of a picture among which its names are: a hostile one may have very many.
const NAMES_WITHIN: usize = 16;

/// A block to come after the paragraph.
#[derive(Debug)]
pub(super) enum DeferredBlock<'t> {
    Picture { alternative: String, path: String },
    TextBox(Node<'t, 't>),
    Chart { alternative: String, path: String },
    Diagram { path: String },
    Comment(Node<'t, 't>),
}

impl<'t> Reader<'t, '_> {
    /// Notes what a drawing holds (DrawingML, or VML of older files).
    pub(super) fn drawing(&mut self, drawing: Node<'t, 't>) {
        let names = outermost(drawing, &["docPr"]).into_iter().next();
        if names.is_some_and(is_decoration) {
            return;
        }
        let described = names.and_then(description).unwrap_or_default();
        let element_names = ["txbxContent", "blip", "imagedata", "chart", "relIds"];
        for found in outermost(drawing, &element_names) {
            let (name, id) = match found.tag_name().name() {
                "txbxContent" => {
                    self.deferred.push(DeferredBlock::TextBox(found));
                    continue;
                }
                name @ "blip" => (name, relation(found, "embed")),
                name @ "relIds" => (name, relation(found, "dm")),
                name => (name, relation(found, "id")),
            };
            let Some(path) = id.and_then(|id| self.relationships.path(id)) else {
                continue;
            };
            let path = path.to_owned();
            let alternative = || own_description(found).unwrap_or_else(|| described.clone());
            self.deferred.push(match name {
                "chart" => DeferredBlock::Chart {
                    alternative: alternative(),
                    path,
                },
                "relIds" => DeferredBlock::Diagram { path },
                _ => DeferredBlock::Picture {
                    alternative: alternative(),
                    path,
                },
            });
        }
    }

    pub(super) fn read_deferred(&mut self, later: DeferredBlock<'t>) -> Result<(), ParseError> {
        let here = self.pages.current_pages();
        match later {
            DeferredBlock::Picture { alternative, path } => {
                let text = match &alternative[..] {
                    "" => file_name(&path),
                    alternative => alternative,
                };
                let figure = Block {
                    images: vec![path.clone()],
                    ..block(BlockKind::Figure, here)
                };
                self.add(figure, text)?;
                self.package.keep_picture(&path)
            }
            DeferredBlock::TextBox(content) => {
                self.blocks(content)?;
                self.flush()
            }
            DeferredBlock::Chart { alternative, path } => {
                let chart = self.package.chart(&path)?;
                let titles = [alternative, chart.titles].join("\n");
                self.add(block(BlockKind::Figure, here), titles.trim())?;
                let rows = table(&chart.rows).unwrap_or_default();
                self.add(block(BlockKind::Table, here), &rows)
            }
            DeferredBlock::Diagram { path } => {
                for text in self.package.diagram(&path)? {
                    self.add(block(BlockKind::ListItem, here), &text)?;
                }
                Ok(())
            }
            DeferredBlock::Comment(comment) => self.comment(comment),
        }
    }

    fn comment(&mut self, comment: Node<'t, 't>) -> Result<(), ParseError> {
        let outer = self.writer.suspend();
        let result = self.read_note(comment);
        let text = self.writer.resume(outer);
        result?;
        let pages = self.pages.take();
        let comment_text = match attribute(comment, "author").map(str::trim) {
            Some(author) if !author.is_empty() && !text.is_empty() => format!("{author}: {text}"),
            _ => text,
        };
        self.add(block(BlockKind::Aside, pages), &comment_text)
    }
}

fn description(names: Node<'_, '_>) -> Option<String> {
    let text = collapsed(attribute(names, "descr")?);
    (!text.is_empty()).then_some(text)
}

/// What a picture says of itself: in its own properties, or in those of the shape around it.
fn own_description(picture: Node<'_, '_>) -> Option<String> {
    // In DrawingML: `pic`, `blipFill`, `blip`; in VML: `shape`, `imagedata`.
    let around = picture.ancestors().skip(1).take(2);
    around
        .filter_map(|node| {
            let alternative = attribute(node, "alt").map(collapsed);
            alternative.or_else(|| {
                let mut first = node.children().take(NAMES_WITHIN);
                let properties = first.find(|child| is(*child, "nvPicPr"))?;
                description(child(properties, "cNvPr")?)
            })
        })
        .find(|text| !text.is_empty())
}
