//! Title, authors, year and identifiers.
//!
//! Title: from the file's information dictionary where that is sane, else from the largest type on the first page, else
//! from the heading above all others. Authors: as shown below the title, else as the dictionary says, where it names
//! people: programs write themselves and their users there. DOI and year are those of the first page ([`super::front`]);
//! the day on which the file was made gives a year only where the text speaks of that year, for old papers are made
//! files of long after they were printed.

use std::collections::HashMap;

use pdf_oxide::PdfDocument;
use pdf_oxide::object::Object;
use pdf_oxide::optional_content::decode_pdf_text_string;

use super::Facts;
use super::front::{Front, TEXT_LEN_MAX, after_labels, doi, years};
use super::heading::{joined, title_drafts};
use super::paragraph::{Draft, Sort};
use super::people::{is_stated_name, shown};
use crate::parse::heading::numbered;
use crate::tree::ParsedDocument;

const TITLE_CHARS_MAX: usize = 300;

pub(super) fn apply(
    file: &PdfDocument,
    front: &Front,
    drafts: &[Draft],
    facts: &Facts,
    document: &mut ParsedDocument,
) {
    let info = dictionary(file).unwrap_or_default();
    let entry = |key| text(file, info.get(key)?);
    document.title = entry("Title")
        .filter(|title| is_title(title))
        .or_else(|| shown_title(drafts, facts).filter(|title| numbered(title).is_none()));
    let stated = entry("Author").map_or_else(Vec::new, |authors| stated_authors(&authors));
    document.authors = authors(shown(drafts, facts), stated);
    let made = entry("CreationDate").and_then(|date| year_made(&date, drafts));
    document.year = front.year().or(made);
    let told = ["doi", "DOI", "Subject"].into_iter().filter_map(entry);
    let told = told.filter(|text| text.len() <= TEXT_LEN_MAX);
    let told = told.filter_map(|text| doi(after_labels(&text).next().unwrap_or(&text), false));
    let identifiers = [
        ("doi", told.chain(front.doi()).next()),
        ("arxiv", front.arxiv().map(|it| it.id)),
    ];
    for (name, value) in identifiers {
        let value = value.map(|value| (name.to_owned(), value));
        document.metadata.extend(value);
    }
    for (key, name) in [("Subject", "subject"), ("Keywords", "keywords")] {
        if let Some(value) = entry(key) {
            document.metadata.push((name.to_owned(), value));
        }
    }
}

/// Those shown, but where the file also states others beside them.
fn authors(shown: Vec<String>, stated: Vec<String>) -> Vec<String> {
    let is_part = stated.len() > shown.len() && shown.iter().all(|name| stated.contains(name));
    if shown.is_empty() || is_part {
        stated
    } else {
        shown
    }
}

/// The people that the file names, where it names nothing else.
fn stated_authors(authors: &str) -> Vec<String> {
    let names = split(authors);
    if names.iter().all(|name| is_stated_name(name)) {
        names
    } else {
        Vec::new()
    }
}

/// The year of `D:20240512…`, where the text knows of it.
fn year_made(date: &str, drafts: &[Draft]) -> Option<i32> {
    let digits = date.strip_prefix("D:").unwrap_or(date).get(..4)?;
    let made = years(digits).next()?;
    let lines = drafts.iter().flat_map(|draft| &draft.lines);
    let mut pieces = lines.flat_map(|line| &line.pieces);
    let is_known = pieces.any(|piece| years(&piece.text).any(|year| year == made));
    is_known.then_some(made)
}

fn dictionary(file: &PdfDocument) -> Option<HashMap<String, Object>> {
    let info = file.trailer().as_dict()?.get("Info")?;
    let info = file.resolve_object(info).ok()?;
    info.as_dict().cloned()
}

/// A text string, white space collapsed; `None` when nothing is left.
fn text(file: &PdfDocument, object: &Object) -> Option<String> {
    let object = file.resolve_object(object).ok()?;
    let decoded = decode_pdf_text_string(object.as_string()?);
    let words: Vec<&str> = decoded
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Programs write file names and placeholders where a title should be.
fn is_title(title: &str) -> bool {
    const ENDINGS: &[&str] = &[
        ".doc", ".docx", ".tex", ".dvi", ".pdf", ".indd", ".ps", ".qxd", ".ppt", ".pptx", ".odt",
        ".rtf", ".fm", ".html",
    ];
    let lower = title.to_lowercase();
    (4..=TITLE_CHARS_MAX).contains(&title.chars().count())
        && title.contains(char::is_alphabetic)
        && !lower.starts_with("microsoft word")
        && !lower.starts_with("untitled")
        && !lower.contains('\u{fffd}')
        && !ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// The largest type on the first page, where it stands out, else the only heading of the highest level.
fn shown_title(drafts: &[Draft], facts: &Facts) -> Option<String> {
    largest_type(drafts, facts).or_else(|| {
        let top = drafts.iter().filter_map(level).min()?;
        let mut tops = drafts.iter().filter(|draft| level(draft) == Some(top));
        let (first, other) = (tops.next()?, tops.next());
        other.is_none().then(|| first.text())
    })
}

fn largest_type(drafts: &[Draft], facts: &Facts) -> Option<String> {
    let title = joined(&drafts[title_drafts(drafts, facts)?]);
    is_title(&title).then_some(title)
}

fn level(draft: &Draft) -> Option<u8> {
    match draft.sort {
        Sort::Heading(level) => Some(level),
        _ => None,
    }
}

/// Authors by `;`, else by `and` and by commas between full names.
fn split(authors: &str) -> Vec<String> {
    let parts: Vec<String> = if authors.contains(';') {
        authors.split(';').map(str::to_owned).collect()
    } else {
        let list = authors.replace(" and ", ", ").replace(" & ", ", ");
        let names: Vec<String> = list.split(", ").map(str::to_owned).collect();
        // "Lee, Ann" is one author; "Ann Lee, Bo Ek" are two.
        if names.iter().all(|name| name.trim().contains(' ')) {
            names
        } else {
            vec![authors.to_owned()]
        }
    };
    let trimmed = parts.iter().map(|part| part.trim().trim_matches(','));
    trimmed
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_split_between_full_names() {
        let cases: &[(&str, &[&str])] = &[
            ("Ann Lee", &["Ann Lee"]),
            ("Ann Lee, Bo Ek and Cy Ode", &["Ann Lee", "Bo Ek", "Cy Ode"]),
            ("Lee, Ann; Ek, Bo", &["Lee, Ann", "Ek, Bo"]),
            ("Lee, Ann", &["Lee, Ann"]),
            ("", &[]),
        ];
        for (authors, want) in cases {
            assert_eq!(split(authors), *want, "{authors}");
        }
    }
}
