//! Title and authors: from the file's information dictionary where that is sane, else the title
//! from the largest type on the first page, else from the heading above all others.

use std::collections::HashMap;

use pdf_oxide::PdfDocument;
use pdf_oxide::object::Object;
use pdf_oxide::optional_content::decode_pdf_text_string;

use super::Facts;
use super::heading::{joined, title_drafts};
use super::paragraph::{Draft, Sort};
use crate::parse::heading::numbered;
use crate::tree::ParsedDocument;

const TITLE_CHARS_MAX: usize = 300;

pub(super) fn apply(
    file: &PdfDocument,
    drafts: &[Draft],
    facts: &Facts,
    document: &mut ParsedDocument,
) {
    let info = dictionary(file).unwrap_or_default();
    let entry = |key| text(file, info.get(key)?);
    document.title = entry("Title")
        .filter(|title| is_title(title))
        .or_else(|| shown_title(drafts, facts).filter(|title| numbered(title).is_none()));
    document.authors = entry("Author").map_or_else(Vec::new, |authors| split(&authors));
    for (key, name) in [("Subject", "subject"), ("Keywords", "keywords")] {
        if let Some(value) = entry(key) {
            document.metadata.push((name.to_owned(), value));
        }
    }
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
    let parts: Vec<String> = match authors.contains(';') {
        true => authors.split(';').map(str::to_owned).collect(),
        false => {
            let list = authors.replace(" and ", ", ").replace(" & ", ", ");
            let names: Vec<String> = list.split(", ").map(str::to_owned).collect();
            // "Lee, Ann" is one author; "Ann Lee, Bo Ek" are two.
            match names.iter().all(|name| name.trim().contains(' ')) {
                true => names,
                false => vec![authors.to_owned()],
            }
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
