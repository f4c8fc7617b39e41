//! What a page says about itself: title, authors, year, language, description, address.

use scraper::{ElementRef, Html};

use crate::cues::heading::title_heading;
use crate::cues::year::year;
use crate::tree::{BlockKind, ParsedDocument};
use crate::writing::running::collapsed;

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
/// More authors than this, and longer names, are no authors but lists of links.
const AUTHORS_MAX: usize = 50;
const AUTHOR_LEN_MAX: usize = 100;
const AUTHOR_ELEMENTS_MAX: usize = 50;

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
        let fact = match key.as_str() {
            "description" => &mut document.facts.description,
            "keywords" => &mut document.facts.keywords,
            _ => continue,
        };
        fact.get_or_insert_with(|| content.clone());
    }
    if document.authors.is_empty() {
        document.authors = marked_authors(page);
    }
    let of_key = |name: &&str| entries.iter().find(|(key, _)| key == name);
    document.year = DATE_KEYS
        .iter()
        .filter_map(of_key)
        .find_map(|(_, content)| year(content));
    let language = page.root_element().value().attr("lang");
    document.facts.language = language.map(|language| language.trim().to_owned());
    document.facts.address = address(page, &entries);
}

/// Authors whom the page marks as such where it shows them.
fn marked_authors(page: &Html) -> Vec<String> {
    let mut authors: Vec<String> = Vec::new();
    let all = page.root_element().descendent_elements();
    for marked in all.filter(|e| is_word_of(*e, "itemprop", "author") || is_author_link(*e)) {
        let mut below = marked.descendent_elements().take(AUTHOR_ELEMENTS_MAX);
        let name = below
            .find(|e| is_word_of(*e, "itemprop", "name"))
            .unwrap_or(marked);
        let shown: String = name.text().take(AUTHOR_ELEMENTS_MAX).collect();
        let shown = collapsed(&shown);
        let is_name = !shown.is_empty() && shown.len() <= AUTHOR_LEN_MAX;
        if is_name && !authors.contains(&shown) && authors.len() < AUTHORS_MAX {
            authors.push(shown);
        }
    }
    authors
}

fn is_author_link(element: ElementRef<'_>) -> bool {
    element.value().name() == "a" && is_word_of(element, "rel", "author")
}

fn is_word_of(element: ElementRef<'_>, attribute: &str, word: &str) -> bool {
    let words = element.attr(attribute).unwrap_or_default();
    words.split_whitespace().any(|w| w == word)
}

/// Names (lower case) and contents of the `meta` elements, in order.
fn entries(page: &Html) -> Vec<(String, String)> {
    elements(page, "meta")
        .filter_map(|meta| {
            let key = ["name", "property", "itemprop"]
                .iter()
                .find_map(|attribute| meta.attr(attribute))?;
            let content = collapsed(meta.attr("content")?);
            (!content.is_empty()).then(|| (key.to_ascii_lowercase(), content))
        })
        .collect()
}

/// The first `h1` where the page's title repeats it (with the site's name, as a rule), else the
/// stated title, else the heading above all others.
fn title(page: &Html, entries: &[(String, String)], document: &ParsedDocument) -> Option<String> {
    let name = elements(page, "title")
        .map(|title| collapsed(&title.text().collect::<String>()))
        .find(|title| !title.is_empty())
        .or_else(|| {
            let (_, title) = entries.iter().find(|(key, _)| key == "og:title")?;
            Some(title.clone())
        });
    let first = document
        .blocks
        .iter()
        .find(|block| block.kind == BlockKind::Heading(1))
        .and_then(|block| document.text.get(block.range.clone()));
    match (name, first) {
        (Some(title_text), Some(first)) if title_text.contains(first) => Some(first.to_owned()),
        (Some(title_text), _) => Some(title_text),
        (None, _) => {
            let heading = title_heading(&document.text, &document.blocks)?;
            Some(document.text[heading.range.clone()].to_owned())
        }
    }
}

/// Where the page says that it is: its canonical address, the one for sharing it, or its base.
fn address(page: &Html, entries: &[(String, String)]) -> Option<String> {
    let is_canonical = |link: &ElementRef<'_>| link.attr("rel") == Some("canonical");
    let canonical = elements(page, "link").filter(is_canonical);
    let canonical = canonical.filter_map(|link| link.attr("href"));
    let shared = entries.iter().filter(|(key, _)| key == "og:url");
    let shared = shared.map(|(_, address)| address.as_str());
    let base = elements(page, "base").filter_map(|base| base.attr("href"));
    let mut all = canonical.chain(shared).chain(base).map(str::trim);
    let is_of_web = |a: &&str| a.starts_with("https://") || a.starts_with("http://");
    all.find(is_of_web).map(str::to_owned)
}

fn elements<'a>(page: &'a Html, name: &str) -> impl Iterator<Item = ElementRef<'a>> {
    page.root_element()
        .descendent_elements()
        .filter(move |element| element.value().name() == name)
}
