//! What a page says about itself: title, authors, year, language, description, address.

use scraper::{ElementRef, Html};

use crate::parse::markdown::year;
use crate::tree::{BlockKind, ParsedDocument};

const AUTHOR_KEYS: &[&str] = &["author", "article:author", "citation_author", "dc.creator"];
const DATE_KEYS: &[&str] = &[
    "citation_publication_date",
    "citation_date",
    "article:published_time",
    "datepublished",
    "dc.date",
    "dcterms.date",
    "date",
    "pubdate",
];
const KEPT_KEYS: &[&str] = &["description", "keywords"];

/// Fills in what the head of `page` and the first heading of `document` say.
pub(super) fn apply(page: &Html, document: &mut ParsedDocument) {
    let entries = entries(page);
    document.title = title(page, &entries, document);
    for (key, content) in &entries {
        let is_new = !document.authors.contains(content);
        // Some sites give their author as the address of a profile.
        if AUTHOR_KEYS.contains(&key.as_str()) && is_new && !content.starts_with("http") {
            document.authors.push(content.clone());
        }
        if KEPT_KEYS.contains(&key.as_str()) {
            document.metadata.push((key.clone(), content.clone()));
        }
    }
    let of_key = |wanted: &&str| entries.iter().find(|(key, _)| key == wanted);
    document.year = DATE_KEYS
        .iter()
        .filter_map(of_key)
        .find_map(|(_, content)| year(content));
    if let Some(language) = page.root_element().value().attr("lang") {
        let language = language.trim().to_owned();
        document.metadata.push(("language".to_owned(), language));
    }
    if let Some(address) = canonical_address(page) {
        document.metadata.push(("address".to_owned(), address));
    }
}

/// Names (lower case) and contents of the `meta` elements, in order.
fn entries(page: &Html) -> Vec<(String, String)> {
    elements(page, "meta")
        .filter_map(|meta| {
            let key = ["name", "property", "itemprop"]
                .iter()
                .find_map(|attribute| meta.attr(attribute))?;
            let content = collapse(meta.attr("content")?);
            (!content.is_empty()).then(|| (key.to_ascii_lowercase(), content))
        })
        .collect()
}

/// The first `h1` where the page's title repeats it (with the site's name, as a rule), else the
/// stated title, else the first heading.
fn title(page: &Html, entries: &[(String, String)], document: &ParsedDocument) -> Option<String> {
    let stated = elements(page, "title")
        .map(|title| collapse(&title.text().collect::<String>()))
        .find(|title| !title.is_empty())
        .or_else(|| {
            let (_, title) = entries.iter().find(|(key, _)| key == "og:title")?;
            Some(title.clone())
        });
    let heading = document
        .blocks
        .iter()
        .find(|block| block.kind == BlockKind::Heading(1))
        .and_then(|block| document.text.get(block.range.clone()));
    match (stated, heading) {
        (Some(stated), Some(heading)) if stated.contains(heading) => Some(heading.to_owned()),
        (Some(stated), _) => Some(stated),
        (None, heading) => heading.map(str::to_owned),
    }
}

fn canonical_address(page: &Html) -> Option<String> {
    let link = elements(page, "link").find(|link| link.attr("rel") == Some("canonical"))?;
    link.attr("href").map(str::to_owned)
}

fn elements<'a>(page: &'a Html, name: &str) -> impl Iterator<Item = ElementRef<'a>> {
    page.root_element()
        .descendent_elements()
        .filter(move |element| element.value().name() == name)
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
