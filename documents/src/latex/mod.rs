//! LaTeX source: what a reader of the printed page sees, as far as a single file contains it.
//!
//! The text is new. It is made in three steps, each a pass over the whole file:
//!
//! 1. [`source`]: comments are removed, and verbatim text (`verbatim`, `\verb`) is set aside;
//! 2. [`macros`]: the file's own commands are expanded, within bounds;
//! 3. [`walk`]: commands and environments become blocks. Formulas keep their source, without labels.
//!
//! Other files (`\input`, `\bibliography`) are not read. A file without `\begin{document}` is a chapter of a larger
//! work and is read from its start. Numbers of sections, theorems and equations are known only to LaTeX: a reference
//! shows its label instead (`\ref{sec:intro}` is `intro`), and a theorem only its name.
//!
//! Start reading at [`parse`].

use loci_parsing::decode::decode;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::ParsedDocument;
use loci_parsing::warnings::{Warnings, count_noun_is, listed};

mod algorithm;
mod bibliography;
mod citations;
mod commands;
mod front;
mod letters;
mod macros;
mod pairs;
mod reader;
mod source;
mod tables;
mod walk;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode(bytes)?;
    let source = source::prepare(&decoded.text[decoded.start..]);
    let text = macros::expand(&source.text, limits)?;
    let pairs = pairs::Pairs::scan(&text, limits)?;
    let mut document = ParsedDocument {
        kind: Kind::Latex,
        ..ParsedDocument::default()
    };
    let reader = reader::Reader::new(&text, &pairs);
    write(&reader, &source.raws, &mut document, limits)?;
    if document.blocks.is_empty() && document.title.is_none() {
        Err(ParseError::Empty)
    } else {
        Ok(document)
    }
}

/// Writes the text into the document.
fn write(
    reader: &reader::Reader<'_>,
    raws: &[source::RawCode],
    document: &mut ParsedDocument,
    limits: &Limits,
) -> Result<(), ParseError> {
    let mut walk = walk::Walk::new(reader, raws, limits);
    front::apply(&mut walk, document)?;
    walk.reference_list = bibliography::read(&mut walk)?;
    walk.walk(front::body(reader))?;
    walk.flush()?;
    document.references = std::mem::take(&mut walk.reference_list.references);
    if !walk.files.is_empty() {
        let mut warnings = Warnings::default();
        warnings.add(format!(
            "{} named to stand in the text, and not followed ({}): ingest each of them too, or the file that latexpand makes of all",
            count_noun_is(walk.files.len(), "other file"),
            listed(walk.files.iter().map(String::as_str))
        ));
        document.warnings = warnings.finish();
    }
    walk.out.finish_into(document);
    Ok(())
}

#[cfg(test)]
mod tests;
