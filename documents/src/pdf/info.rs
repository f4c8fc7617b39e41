//! Title, authors, year and identifiers.
//!
//! Title: from the file's information dictionary where that is sane, else from the largest type on the first page, else
//! from the heading above all others. Authors: those of the dictionary, where it names people: programs write themselves
//! and their users there. DOI and arXiv number are those of the first page ([`super::front`]). The year is arXiv's, else
//! that in which the file was made, where the text speaks of that year: old papers are made files of long after they were
//! printed.

use std::collections::HashMap;

use pdf_oxide::PdfDocument;
use pdf_oxide::object::Object;
use pdf_oxide::optional_content::decode_pdf_text_string;

use super::Usual;
use super::front::{Front, TEXT_LEN_MAX, after_labels, doi, years};
use super::heading::{joined, title_drafts};
use super::paragraph::{Draft, DraftKind};
use loci_parsing::cues::heading::numbered;
use loci_parsing::tree::ParsedDocument;

const TITLE_CHARS_MAX: usize = 300;

pub(super) fn apply(
    file: &PdfDocument,
    front: &Front,
    drafts: &[Draft],
    usual: &Usual,
    document: &mut ParsedDocument,
) {
    let info = dictionary(file).unwrap_or_default();
    let entry = |key| text(file, info.get(key)?);
    document.title = entry("Title")
        .filter(|title| is_title(title))
        .or_else(|| shown_title(drafts, usual).filter(|title| numbered(title).is_none()));
    document.authors = entry("Author").map_or_else(Vec::new, |authors| declared_authors(&authors));
    let created = entry("CreationDate").and_then(|date| creation_year(&date, drafts));
    let arxiv = front.arxiv();
    document.year = arxiv.as_ref().map(|it| it.year).or(created);
    let dois = ["doi", "DOI", "Subject"].into_iter().filter_map(entry);
    let values = dois.filter(|text| text.len() <= TEXT_LEN_MAX);
    let short_values =
        values.filter_map(|text| doi(after_labels(&text).next().unwrap_or(&text), false));
    let facts = &mut document.facts;
    facts.doi = short_values.chain(front.doi()).next();
    facts.subject = entry("Subject");
    facts.keywords = entry("Keywords");
    if let Some(arxiv) = arxiv {
        facts.state("arxiv", arxiv.id);
    }
}

/// The people that the file names, where it names nothing else.
fn declared_authors(authors: &str) -> Vec<String> {
    let names = split(authors);
    if names.iter().all(|name| is_person(name)) {
        names
    } else {
        Vec::new()
    }
}

/// Whether words that should name a person may do so: `Lee, Ann`, `村上春樹`; not `jsmith`, `Microsoft Office User`.
fn is_person(name: &str) -> bool {
    let is_uncased = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    let is_word = |c: char| c.is_alphabetic() || " ,.-'’\u{300}".contains(c);
    let words = name.split_whitespace().count();
    name.chars().all(is_word)
        && (name.contains(is_uncased)
            || (2..=5).contains(&words) && name.contains(char::is_lowercase))
        && !["User", "Microsoft", "Adobe"]
            .iter()
            .any(|it| name.contains(it))
}

/// The year of `D:20240512…`, where the text knows of it.
fn creation_year(date: &str, drafts: &[Draft]) -> Option<i32> {
    let digits = date.strip_prefix("D:").unwrap_or(date).get(..4)?;
    let created = years(digits).next()?;
    let lines = drafts.iter().flat_map(|draft| &draft.lines);
    let mut pieces = lines.flat_map(|line| &line.pieces);
    let is_known = pieces.any(|piece| years(&piece.text).any(|year| year == created));
    is_known.then_some(created)
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
fn shown_title(drafts: &[Draft], usual: &Usual) -> Option<String> {
    largest_type(drafts, usual).or_else(|| {
        let top = drafts.iter().filter_map(level).min()?;
        let mut tops = drafts.iter().filter(|draft| level(draft) == Some(top));
        let (first, other) = (tops.next()?, tops.next());
        other.is_none().then(|| first.text())
    })
}

fn largest_type(drafts: &[Draft], usual: &Usual) -> Option<String> {
    let title = joined(&drafts[title_drafts(drafts, usual)?]);
    is_title(&title).then_some(title)
}

fn level(draft: &Draft) -> Option<u8> {
    match draft.kind {
        DraftKind::Heading(level) => Some(level),
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
