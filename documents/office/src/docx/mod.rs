//! Word documents (WordprocessingML; ECMA-376, part 1, 11 and 17).
//!
//! The text is new. Headings are known by their styles and numbered as Word numbers them. What is left out: headers and
//! footers, tables of contents, the codes of fields, deletions that are tracked, hidden text. A note at the foot of a
//! page is marked `[^1]` in the text and follows at the end of its section as `[^1]: …`; a comment follows its paragraph.
//!
//! Pages are those of the last time that Word laid the document out, if the file contains them.
//!
//! Start reading at [`parse`]; the walk over the document is in [`body`], over a paragraph in [`run`].

use crate::office::{self, Package};
use body::{Code, Reader, State};
use field::Fields;
use loci_parsing::cues::heading::title_heading;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{Block, BlockKind, ParsedDocument};
use loci_parsing::warnings::{Warnings, count_noun, count_noun_is};
use loci_parsing::writing::writer::Writer;
use notes::Notes;
use numbering::Numbering;
use page::Pages;
use style::Styles;

mod body;
mod drawing;
mod field;
mod notes;
mod numbering;
mod page;
mod run;
mod style;
mod table;

/// Reads a Word document.
///
/// # Errors
/// See [`ParseError`].
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let mut package = Package::open(bytes, Kind::Docx, limits)?;
    let main = package.main_part("word/document.xml")?;
    let properties = package.properties()?;
    let relations = package.relations(&main)?;
    let mut part = |kind| {
        let path = relations.first(kind);
        Ok((package.source(path)?, path.unwrap_or_default()))
    };
    let (styles, numbering) = (part("styles")?, part("numbering")?);
    let (footnotes, endnotes) = (part("footnotes")?, part("endnotes")?);
    let comments = part("comments")?;
    let source = package.need(&main)?;
    let tree = package.tree(&source, &main)?;
    let footnotes = package.tree(&footnotes.0, footnotes.1)?;
    let endnotes = package.tree(&endnotes.0, endnotes.1)?;
    let comments = package.tree(&comments.0, comments.1)?;
    let styles = Styles::read(&package.tree(&styles.0, styles.1)?);
    let numbering = Numbering::read(&package.tree(&numbering.0, numbering.1)?);
    let mut reader = Reader {
        relationships: &relations,
        styles,
        numbering,
        notes: Notes::new(&footnotes, &endnotes, &comments),
        pages: Pages::new(&source),
        writer: Writer::new(limits),
        package,
        limits,
        fields: Fields::default(),
        state: State::default(),
        deferred: Vec::new(),
        code: Code::default(),
        title: None,
        hidden_chars: 0,
        embedded_files: 0,
    };
    reader.read(tree.root_element())?;
    let mut warnings = left_out(&reader);
    let (text, mut blocks) = reader.writer.finish();
    settle_titles(&mut blocks);
    let assets = reader.package.finish(&mut warnings);
    let mut document = ParsedDocument {
        kind: Kind::Docx,
        title: reader.title.or(properties.title.clone()),
        text,
        blocks,
        assets,
        warnings: warnings.finish(),
        ..ParsedDocument::default()
    };
    if document.title.is_none() {
        let heading = title_heading(&document.text, &document.blocks);
        document.title = heading.map(|block| document.text[block.range.clone()].to_owned());
    }
    office::apply(properties, &mut document);
    Ok(document)
}

/// What the walk had to leave out.
fn left_out(reader: &Reader<'_, '_>) -> Warnings {
    let mut warnings = Warnings::default();
    let hidden = reader.hidden_chars + reader.fields.hidden();
    if hidden > 0 {
        warnings.add(format!(
            "a field is never ended and hides {} after it, which are not stored: open the file in Word, delete the field or press Ctrl-A and Ctrl-Shift-F9, and save it",
            count_noun(hidden, "character")
        ));
    }
    if reader.embedded_files > 0 {
        warnings.add(format!(
            "{} to be taken in when the document is opened, and not read: open it in Word and save it",
            count_noun_is(reader.embedded_files, "other file")
        ));
    }
    warnings
}

/// The level that a title has while the others are not known.
const TITLE_LEVEL: u8 = 0;

/// A title is a heading of level 1; where there are others of that level, all others go one deeper.
fn settle_titles(blocks: &mut [Block]) {
    let has = |level| {
        blocks
            .iter()
            .any(|block| block.kind == BlockKind::Heading(level))
    };
    let is_deeper = has(TITLE_LEVEL) && has(1);
    for block in blocks {
        if let BlockKind::Heading(level) = &mut block.kind {
            *level += u8::from(*level == TITLE_LEVEL || is_deeper);
        }
    }
}

#[cfg(test)]
mod tests;
