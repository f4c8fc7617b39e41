//! The files of a book, one after the other.

use super::contents::{Contents, Title};
use super::source::with_end_tags;
use super::{Files, path_of};
use crate::html::book_page;
use crate::limits::{Limits, ParseError};
use crate::package::pictures::Pictures;
use crate::tree::{Asset, Block, BlockKind, MarkKind};
use crate::warnings::{Warnings, count_noun_is, listed};
use crate::writing::writer::Writer;

/// What was read so far.
pub(super) struct Pages<'a> {
    writer: Writer<'a>,
    pictures: Pictures,
    /// Files that the archive lacks, and those that are no text.
    missing: Vec<String>,
    damaged: Vec<String>,
    limits: &'a Limits,
}

impl<'a> Pages<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Pages {
            writer: Writer::new(limits),
            pictures: Pictures::new(limits),
            missing: Vec::new(),
            damaged: Vec::new(),
            limits,
        }
    }

    /// Reads a file. One that is missing or damaged has no text: the others are worth having without it.
    pub(super) fn read(
        &mut self,
        files: &mut Files<'_>,
        path: &str,
        contents: &Contents,
    ) -> Result<(), ParseError> {
        let source = match files.source(path) {
            Ok(Some(source)) => source,
            Ok(None) => {
                self.missing.push(path.to_owned());
                return Ok(());
            }
            Err(ParseError::Malformed { .. }) => {
                self.damaged.push(path.to_owned());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (text, mut blocks) = book_page(&with_end_tags(&source), self.limits)?;
        if blocks.is_empty() || contents.may_be_page_of(path) && is_links(&text, &blocks) {
            return Ok(());
        }
        let has_heading = blocks
            .iter()
            .any(|it| matches!(it.kind, BlockKind::Heading(_)));
        if let Some(title) = contents.title(path).filter(|_| !has_heading) {
            self.title(title, &text, &mut blocks)?;
        }
        for image in blocks.iter_mut().flat_map(|block| &mut block.images) {
            if let Some(picture) = path_of(path, image) {
                files.keep_picture(&mut self.pictures, &picture)?;
                *image = picture;
            }
        }
        self.writer.append(&text, blocks)
    }

    /// Gives a file its title: its first block, where that says the same.
    fn title(&mut self, title: &Title, text: &str, blocks: &mut [Block]) -> Result<(), ParseError> {
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_alphanumeric());
            let words = words.filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect()
        };
        if let Some(first) = blocks.first_mut()
            && first.kind == BlockKind::Paragraph
            && words(&text[first.range.clone()]) == words(&title.text)
        {
            first.kind = BlockKind::Heading(title.level);
            return Ok(());
        }
        let heading = Block {
            kind: BlockKind::Heading(title.level),
            ..Block::default()
        };
        self.writer.add(heading, &title.text)
    }

    pub(super) fn finish(self, warnings: &mut Warnings) -> (String, Vec<Block>, Vec<Asset>) {
        for (paths, what) in [(&self.missing, "missing"), (&self.damaged, "damaged")] {
            if !paths.is_empty() {
                warnings.add(format!(
                    "{} {what} in the book, and not stored ({}): get a whole copy of it",
                    count_noun_is(paths.len(), "chapter file"),
                    listed(paths.iter().map(String::as_str))
                ));
            }
        }
        let pictures = self.pictures.finish(warnings);
        let (text, blocks) = self.writer.finish();
        (text, blocks, pictures)
    }
}

/// Whether most of a page is links.
fn is_links(text: &str, blocks: &[Block]) -> bool {
    let marks = blocks.iter().flat_map(|block| &block.marks);
    let links = marks.filter(|mark| mark.kind == MarkKind::Link);
    2 * links.map(|mark| mark.range.len()).sum::<usize>() > text.len()
}
