//! What a file says of itself: title, authors, date, its own kinds of theorems, and where its text is.

use std::ops::Range;

use super::reader::Reader;
use super::walk::Walk;
use crate::cues::year::year;
use crate::limits::ParseError;
use crate::tree::ParsedDocument;

/// Longest name of an author, in words: longer ones are affiliations.
const NAME_WORDS_MAX: usize = 6;
/// The largest collaborations have some thousands.
const AUTHORS_MAX: usize = 10_000;

/// The text between `\begin{document}` and its end; all of it where there is none.
pub(super) fn body(reader: &Reader<'_>) -> Range<usize> {
    let begin = reader.text.find("\\begin{document}");
    let found = begin.and_then(|at| reader.environment(at, reader.text.len()));
    found.map_or(0..reader.text.len(), |document| document.inner.clone())
}

pub(super) fn apply(
    walk: &mut Walk<'_, '_>,
    document: &mut ParsedDocument,
) -> Result<(), ParseError> {
    theorems(walk)?;
    document.title = command_text(walk, "title")?.filter(|title| !title.is_empty());
    document.year = command_text(walk, "date")?.and_then(|date| year(&date));
    document.facts.keywords = command_text(walk, "keywords")?.filter(|words| !words.is_empty());
    for command in ["author", "IEEEauthorblockN"] {
        for at in walk.reader.ends_of(command) {
            authors(walk, at, &mut document.authors)?;
        }
    }
    Ok(())
}

/// The words that a command of the preamble is given.
fn command_text(walk: &mut Walk<'_, '_>, name: &str) -> Result<Option<String>, ParseError> {
    let end = walk.reader.text.len();
    let Some(at) = walk.reader.ends_of(name).first().copied() else {
        return Ok(None);
    };
    let (_, at) = walk.skip_options(at, end);
    let group = walk.reader.group(at, end);
    group.map(|(inner, _)| walk.words(inner)).transpose()
}

fn authors(walk: &mut Walk<'_, '_>, at: usize, found: &mut Vec<String>) -> Result<(), ParseError> {
    let (_, at) = walk.skip_options(at, walk.reader.text.len());
    let Some((inner, _)) = walk.reader.group(at, walk.reader.text.len()) else {
        return Ok(());
    };
    for author in between(walk, inner, &["and", "And", "AND"]) {
        // The lines below the name are where they work.
        let lines = between(walk, author, &["\\"]);
        let Some(line) = lines.first().cloned() else {
            continue;
        };
        let names = without_formulas(&walk.words(line)?);
        for name in names.split(',').flat_map(|part| part.split(" and ")) {
            let name = name.trim_matches(|c: char| !c.is_alphabetic() && c != '.');
            let words = name.split_whitespace().count();
            let is_name = (1..=NAME_WORDS_MAX).contains(&words) && found.len() < AUTHORS_MAX;
            if is_name && !found.iter().any(|had| had == name) {
                found.push(name.to_owned());
            }
        }
    }
    Ok(())
}

/// The pieces of `range` between commands of these names.
fn between(walk: &Walk<'_, '_>, range: Range<usize>, names: &[&str]) -> Vec<Range<usize>> {
    let (mut pieces, mut start, mut at) = (Vec::new(), range.start, range.start);
    while let Some(found) = walk.reader.text[at..range.end].find('\\') {
        let (name, after) = walk.reader.name(at + found);
        let after = after.min(range.end);
        if names.contains(&name) {
            pieces.push(start..at + found);
            start = after;
        }
        at = after;
    }
    pieces.push(start..range.end);
    pieces
}

/// A line without `$^1$` and the like, which mark where authors work.
fn without_formulas(line: &str) -> String {
    line.split('$').step_by(2).collect()
}

/// `\newtheorem{lem}[thm]{Lemma}[section]` and `\declaretheorem[name=Lemma]{lem}`.
fn theorems(walk: &mut Walk<'_, '_>) -> Result<(), ParseError> {
    let end = walk.reader.text.len();
    for at in walk.reader.ends_of("newtheorem") {
        let at = at + usize::from(walk.reader.text[at..].starts_with('*'));
        let Some((name, at)) = walk.reader.group(at, end) else {
            continue;
        };
        let (_, at) = walk.skip_options(at, end);
        if let Some((title, _)) = walk.reader.group(at, end) {
            let title = walk.words(title)?;
            let name = walk.reader.text[name].trim().to_owned();
            walk.statements.insert(name, title);
        }
    }
    Ok(())
}
