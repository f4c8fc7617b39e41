//! PowerPoint slides (ECMA-376, part 1, 13 and 19): each slide a section.
//!
//! The text is new. A slide's title is its heading: what is marked as one, else a text box at its top in
//! the largest type ([`title`]); a slide without one is called by its number. What is on it follows in
//! the order of reading ([`place`]), then its speaker's notes and the comments on it. Slides that are hidden are read
//! as the others are.
//!
//! Always true: every block has its slide, and the slides ascend.
//!
//! Start reading at [`parse`]; what is on a slide is read in [`slide`].

use std::collections::HashMap;
use std::rc::Rc;

use crate::office::{self, Package};
use layout::Layout;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::ParsedDocument;
use loci_parsing::warnings::{Warnings, count_noun};
use loci_parsing::writing::running::collapsed;
use loci_parsing::writing::writer::Writer;
use loci_parsing::xml::node::{attribute, child, children, relation};
use slide::Slide;

mod beside;
mod layout;
mod paragraph;
mod position;
mod slide;
mod title;

/// Reads PowerPoint slides.
///
/// # Errors
/// See [`ParseError`].
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let package = Package::open(bytes, Kind::Pptx, limits)?;
    let mut deck = Deck {
        package,
        limits,
        writer: Writer::new(limits),
        layouts: HashMap::new(),
        authors: HashMap::new(),
        title: None,
        warnings: Warnings::default(),
    };
    deck.read()?;
    let properties = deck.package.properties()?;
    let (text, blocks) = deck.writer.finish();
    let assets = deck.package.finish(&mut deck.warnings);
    let mut document = ParsedDocument {
        kind: Kind::Pptx,
        title: properties.title.clone().or(deck.title),
        text,
        blocks,
        assets,
        warnings: deck.warnings.finish(),
        ..ParsedDocument::default()
    };
    office::apply(properties, &mut document);
    Ok(document)
}

/// A presentation while it is read.
struct Deck<'a> {
    package: Package<'a>,
    limits: &'a Limits,
    writer: Writer<'a>,
    /// By path.
    layouts: HashMap<String, Rc<Layout>>,
    /// Who comments, by the names that comments have for them.
    authors: HashMap<String, String>,
    /// The title of the first slide.
    title: Option<String>,
    warnings: Warnings,
}

impl Deck<'_> {
    fn read(&mut self) -> Result<(), ParseError> {
        let main = self.package.main_part("ppt/presentation.xml")?;
        let source = self.package.need(&main)?;
        let tree = self.package.tree(&source, &main)?;
        let relations = self.package.relations(&main)?;
        for kind in ["commentAuthors", "authors"] {
            if let Some(path) = relations.first(kind) {
                self.read_authors(path)?;
            }
        }
        let list = child(tree.root_element(), "sldIdLst");
        let ids = list.into_iter().flat_map(|list| children(list, "sldId"));
        let paths = ids.map(|id| relations.path(relation(id, "id")?));
        let (mut number, mut nowhere) = (0, 0);
        for path in paths {
            let Some(path) = path else {
                nowhere += 1;
                continue;
            };
            number += 1;
            self.limits.check_pages(number as usize)?;
            self.slide(path, number)?;
        }
        if nowhere > 0 {
            self.warnings.add(format!(
                "the presentation lists {} without saying where in the file: not stored; save it again from the program that wrote it",
                count_noun(nowhere, "slide")
            ));
        }
        Ok(())
    }

    fn read_authors(&mut self, path: &str) -> Result<(), ParseError> {
        let source = self.package.source(Some(path))?;
        let tree = self.package.tree(&source, path)?;
        for author in tree.root_element().children() {
            if let (Some(id), Some(name)) = (attribute(author, "id"), attribute(author, "name")) {
                self.authors.insert(id.to_owned(), collapsed(name));
            }
        }
        Ok(())
    }

    fn slide(&mut self, path: &str, number: u32) -> Result<(), ParseError> {
        // A slide that is listed must be there: its text would go missing without a word.
        let source = self.package.need(path)?;
        let tree = self.package.tree(&source, path)?;
        let relations = self.package.relations(path)?;
        let layout = match relations.first("slideLayout") {
            Some(path) => self.layout(path)?,
            None => Rc::default(),
        };
        let mut slide = Slide {
            package: &mut self.package,
            writer: &mut self.writer,
            limits: self.limits,
            layout: &layout,
            relationships: &relations,
            number,
        };
        let title = slide.read(tree.root_element())?;
        if number == 1 {
            self.title = title;
        }
        if let Some(path) = relations.first("notesSlide") {
            self.notes(path, number)?;
        }
        for path in relations.all("comments") {
            self.comments(path, number)?;
        }
        Ok(())
    }

    fn layout(&mut self, path: &str) -> Result<Rc<Layout>, ParseError> {
        if let Some(layout) = self.layouts.get(path) {
            return Ok(Rc::clone(layout));
        }
        let layout = Rc::new(Layout::read(&mut self.package, path)?);
        self.layouts.insert(path.to_owned(), Rc::clone(&layout));
        Ok(layout)
    }
}

#[cfg(test)]
mod tests;
