//! The list of references of `thebibliography`: what each `\bibitem` is cited by, its text and its parts.
//!
//! It is read before the text, which cites it. The parts of an entry are stated only where BibTeX put `\newblock`
//! between them: authors, title, the rest.

use std::collections::HashMap;
use std::ops::Range;

use super::walk::Walk;
use loci_parsing::cues::year::year;
use loci_parsing::limits::ParseError;
use loci_parsing::tree::{BlockKind, Reference};
use loci_parsing::writing::running::RunningText;

/// The works that the file lists, in its order.
#[derive(Default)]
pub(super) struct ReferenceList {
    pub(super) references: Vec<Reference>,
    /// Their places by key.
    pub(super) by_key: HashMap<String, u32>,
    /// Names and year, where the label has them: natbib's `Knuth(1997)`.
    pub(super) names: Vec<Option<(String, String)>>,
    /// By where the `\bibitem` ends: the place and where the entry ends.
    by_start: HashMap<usize, (u32, usize)>,
}

pub(super) fn read(walk: &mut Walk<'_, '_>) -> Result<ReferenceList, ParseError> {
    let mut works = ReferenceList::default();
    let (text, len) = (walk.reader.text, walk.reader.text.len());
    let starts = walk.reader.ends_of("bibitem");
    let lists: Vec<usize> = text
        .match_indices("\\end{thebibliography}")
        .map(|(at, _)| at)
        .collect();
    for (i, &start) in starts.iter().enumerate() {
        let next = starts
            .get(i + 1)
            .map_or(len, |next| next - "\\bibitem".len());
        let list = lists.get(lists.partition_point(|at| *at < start)).copied();
        let end = next.min(list.unwrap_or(len));
        let (label, at) = walk.skip_options(start, end);
        let Some((key, at)) = walk.reader.group(at, end) else {
            continue;
        };
        let label = label.map(|label| walk.words(label)).transpose()?;
        let label = label.filter(|label| !label.is_empty());
        let names = label.as_deref().and_then(names_and_year);
        let label = match &names {
            Some((names, year)) => format!("{names} ({year})"),
            None => label.unwrap_or_else(|| (works.references.len() + 1).to_string()),
        };
        let index = works.references.len() as u32;
        works.references.push(reference(walk, label, at..end)?);
        works.by_key.insert(text[key].trim().to_owned(), index);
        works.by_start.insert(start, (index, end));
        works.names.push(names);
    }
    Ok(works)
}

/// natbib's `Knuth et~al.(1997)Knuth, Morris`: names and year.
fn names_and_year(label: &str) -> Option<(String, String)> {
    let (names, rest) = label.split_once('(')?;
    let (year, _) = rest.split_once(')')?;
    let is_year = year.starts_with(|c: char| c.is_ascii_digit()) && year.len() <= 8;
    let is_named = names.contains(char::is_alphabetic);
    (is_year && is_named).then(|| (names.trim().to_owned(), year.to_owned()))
}

fn reference(
    walk: &mut Walk<'_, '_>,
    label: String,
    entry: Range<usize>,
) -> Result<Reference, ParseError> {
    let text = walk.words(entry.clone())?;
    let source = &walk.reader.text[entry.clone()];
    let mut starts = vec![entry.start];
    let newblock = "\\newblock";
    starts.extend(
        source
            .match_indices(newblock)
            .map(|(at, _)| entry.start + at),
    );
    let mut parts = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(entry.end);
        parts.push(walk.words(start..end)?);
    }
    let mut reference = Reference {
        label,
        year: year(&text),
        doi: doi(&text),
        text,
        ..Reference::default()
    };
    if let [authors, title, rest @ ..] = &parts[..] {
        reference.authors = names(authors);
        reference.title =
            Some(title.trim_end_matches(['.', ',']).to_owned()).filter(|t| !t.is_empty());
        reference.venue = rest.first().and_then(|rest| venue(rest));
    }
    Ok(reference)
}

fn names(authors: &str) -> Vec<String> {
    let authors = authors.trim_end_matches(['.', ',']);
    let parts = authors.split(" and ").flat_map(|part| part.split(", "));
    let names = parts.map(|name| name.trim().trim_start_matches("and ").trim_end_matches(','));
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `In Proc. STOC, pages 1–2, 1999.` is of `Proc. STOC`.
fn venue(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix("In ").unwrap_or(rest);
    let venue = rest
        .split([',', ';'])
        .next()
        .unwrap_or(rest)
        .trim()
        .trim_end_matches('.');
    let is_name = venue.contains(char::is_alphabetic);
    is_name.then(|| venue.to_owned())
}

/// A DOI is `10.`, a number, a slash and anything but space.
fn doi(text: &str) -> Option<String> {
    text.match_indices("10.").find_map(|(at, _)| {
        let word = text[at..]
            .split(|c: char| c.is_whitespace() || "},;>".contains(c))
            .next()?;
        let (number, rest) = word["10.".len()..].split_once('/')?;
        let is_doi =
            number.len() >= 4 && number.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty();
        is_doi.then(|| word.trim_end_matches('.').to_owned())
    })
}

/// Writes the entry whose `\bibitem` ends at `after`; returns where it ends.
pub(super) fn entry(
    walk: &mut Walk<'_, '_>,
    after: usize,
    end: usize,
) -> Result<usize, ParseError> {
    let Some(&(index, stop)) = walk
        .reference_list
        .by_start
        .get(&after)
        .filter(|(_, stop)| *stop <= end)
    else {
        return Ok(after);
    };
    walk.flush()?;
    let reference = &walk.reference_list.references[index as usize];
    let mut running = RunningText::default();
    running.push(&format!("[{}] {}", reference.label, reference.text));
    walk.write(BlockKind::Reference(Some(index)), running)?;
    Ok(stop)
}
