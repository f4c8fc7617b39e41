//! The package document: what a book says of itself, its files, and their order.

use std::collections::HashMap;

use roxmltree::{Document, Node};

use super::path_of;
use crate::html::book_page;
use loci_parsing::cues::year::year;
use loci_parsing::facts::TextMetrics;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::warnings::{Warnings, count_noun, count_noun_is, listed};
use loci_parsing::writing::running::collapsed;
use loci_parsing::xml::node::{attribute, child, children};

/// A book, as its package document describes it.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) title: Option<String>,
    pub(super) authors: Vec<String>,
    pub(super) year: Option<i32>,
    pub(super) facts: TextMetrics,
    /// Paths of the files of text, in the order of reading.
    pub(super) spine: Vec<String>,
    /// Paths in that order of what is no page of text.
    other: Vec<String>,
    /// How many names in that order are of no file.
    unnamed: usize,
    /// The file of EPUB 3 that holds the table of contents.
    pub(super) navigation: Option<String>,
    /// The same of EPUB 2.
    pub(super) ncx: Option<String>,
    /// A page that shows the table of contents.
    pub(super) contents_page: Option<String>,
}

struct Item {
    path: String,
    media_type: String,
    is_navigation: bool,
}

impl Book {
    pub(super) fn read(
        tree: &Document<'_>,
        path: &str,
        limits: &Limits,
    ) -> Result<Book, ParseError> {
        let root = tree.root_element();
        let items = items(root, path);
        let spine = child(root, "spine");
        let references = spine
            .into_iter()
            .flat_map(|spine| children(spine, "itemref"));
        let item = |id: Option<&str>| items.get(id?);
        let (mut spine_paths, mut other, mut unnamed) = (Vec::new(), Vec::new(), 0);
        for reference in references {
            match item(attribute(reference, "idref")) {
                Some(item) if item.media_type.contains("html") => {
                    spine_paths.push(item.path.clone());
                }
                Some(item) => other.push(item.path.clone()),
                None => unnamed += 1,
            }
        }
        let navigation = items.values().find(|item| item.is_navigation);
        let of_type = || {
            let mut all = items.values();
            all.find(|item| item.media_type == "application/x-dtbncx+xml")
        };
        let ncx = item(spine.and_then(|spine| attribute(spine, "toc"))).or_else(of_type);
        let mut book = Book {
            spine: spine_paths,
            other,
            unnamed,
            navigation: navigation.map(|item| item.path.clone()),
            ncx: ncx.map(|item| item.path.clone()),
            contents_page: contents_page(root, path),
            ..Book::default()
        };
        if let Some(metadata) = child(root, "metadata") {
            book.describe(metadata, limits)?;
        }
        Ok(book)
    }

    /// Says what is in the order of reading and is not read.
    pub(super) fn warn_unread(&self, warnings: &mut Warnings) {
        if self.unnamed > 0 {
            warnings.add(format!(
                "the book's order of reading names {} that its list of files lacks: get a whole copy of it",
                count_noun(self.unnamed, "part")
            ));
        }
        if !self.other.is_empty() {
            warnings.add(format!(
                "{} no page of text, though in the book's order of reading, and not stored: {}",
                count_noun_is(self.other.len(), "file"),
                listed(self.other.iter().map(String::as_str))
            ));
        }
    }

    fn describe(&mut self, metadata: Node<'_, '_>, limits: &Limits) -> Result<(), ParseError> {
        // EPUB 2 may wrap them once more.
        let metadata = child(metadata, "dc-metadata").unwrap_or(metadata);
        let facts = Statements::read(metadata);
        let titles = facts.all("title");
        let main = titles.iter().find(|title| title.refinement == Some("main"));
        self.title = main.or(titles.first()).map(|title| title.text.clone());
        let creators = facts.all("creator");
        let is_author = |fact: &&&Statement<'_>| matches!(fact.refinement, None | Some("aut"));
        self.authors = creators
            .iter()
            .filter(is_author)
            .map(|it| it.text.clone())
            .collect();
        if self.authors.is_empty() {
            self.authors = creators.iter().map(|it| it.text.clone()).collect();
        }
        self.year = facts.year();
        let identifiers = facts.all("identifier");
        let of_identifiers =
            |read: fn(&str) -> Option<String>| identifiers.iter().find_map(|fact| read(&fact.text));
        let subjects: Vec<&str> = facts.all("subject").iter().map(|it| &it.text[..]).collect();
        // A description may hold markup.
        let description = facts.first("description").unwrap_or_default();
        let description = collapsed(&book_page(&description, limits)?.0);
        self.facts = TextMetrics {
            language: facts.first("language"),
            venue: facts.first("publisher"),
            doi: of_identifiers(doi),
            keywords: Some(subjects.join(", ")).filter(|all| !all.is_empty()),
            description: Some(description).filter(|it| !it.is_empty()),
            ..TextMetrics::default()
        };
        if let Some(isbn) = of_identifiers(isbn) {
            self.facts.state("isbn", isbn);
        }
        Ok(())
    }
}

fn items(root: Node<'_, '_>, base: &str) -> HashMap<String, Item> {
    let manifest = child(root, "manifest");
    let items = manifest
        .into_iter()
        .flat_map(|manifest| children(manifest, "item"));
    items
        .filter_map(|item| {
            let properties = attribute(item, "properties").unwrap_or_default();
            let parsed = Item {
                path: path_of(base, attribute(item, "href")?)?,
                media_type: attribute(item, "media-type").unwrap_or_default().to_owned(),
                is_navigation: properties.split_whitespace().any(|it| it == "nav"),
            };
            Some((attribute(item, "id")?.to_owned(), parsed))
        })
        .collect()
}

/// The page that the guide of EPUB 2 calls the table of contents. One that starts within a file is not that file.
fn contents_page(root: Node<'_, '_>, base: &str) -> Option<String> {
    let guide = child(root, "guide")?;
    let mut references = children(guide, "reference");
    let page = references.find(|it| attribute(*it, "type") == Some("toc"))?;
    let address = attribute(page, "href")?;
    (!address.contains('#')).then(|| path_of(base, address))?
}

/// A statement about the book.
struct Statement<'a> {
    name: &'a str,
    text: String,
    /// What kind of title, creator or date it is.
    refinement: Option<&'a str>,
}

struct Statements<'a>(Vec<Statement<'a>>);

impl<'a> Statements<'a> {
    fn read(metadata: Node<'a, '_>) -> Statements<'a> {
        // EPUB 3 refines a statement by another one.
        let refinements: HashMap<&str, &str> = children(metadata, "meta")
            .filter(|meta| matches!(attribute(*meta, "property"), Some("role" | "title-type")))
            .filter_map(|meta| {
                let of = attribute(meta, "refines")?.strip_prefix('#')?;
                Some((of, meta.text()?.trim()))
            })
            .collect();
        let facts = metadata.children().filter(Node::is_element).map(|node| {
            let by_other = attribute(node, "id").and_then(|id| refinements.get(id).copied());
            let by_itself = attribute(node, "role").or_else(|| attribute(node, "event"));
            Statement {
                name: node.tag_name().name(),
                text: collapsed(node.text().unwrap_or_default()),
                refinement: by_itself.or(by_other),
            }
        });
        Statements(facts.filter(|fact| !fact.text.is_empty()).collect())
    }

    fn all(&self, name: &str) -> Vec<&Statement<'a>> {
        self.0.iter().filter(|fact| fact.name == name).collect()
    }

    fn first(&self, name: &str) -> Option<String> {
        let fact = self.0.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.text.clone())
    }

    /// The year of publication, else of a date that is not that of a change to the file.
    fn year(&self) -> Option<i32> {
        let dates = self.all("date");
        let published = dates
            .iter()
            .filter(|it| it.refinement == Some("publication"));
        let plain = dates.iter().filter(|it| it.refinement.is_none());
        let other = dates.iter().filter(|it| it.refinement == Some("creation"));
        let mut all = published.chain(plain).chain(other);
        all.find_map(|fact| year(&fact.text))
    }
}

/// An ISBN whose check digit is right, without hyphens.
fn isbn(identifier: &str) -> Option<String> {
    let lower = identifier.to_ascii_lowercase();
    let start = lower.rfind("isbn").map_or(0, |at| at + "isbn".len());
    let digits: String = lower[start..]
        .trim_start_matches([':', ' '])
        .chars()
        .filter(|c| !matches!(c, '-' | ' '))
        .collect();
    let values: Option<Vec<u32>> = digits
        .char_indices()
        .map(|(at, c)| match c {
            'x' if at == 9 => Some(10),
            c => c.to_digit(10),
        })
        .collect();
    let values = values?;
    let weigh = |weight: fn(usize) -> u32| {
        let all = values.iter().enumerate();
        all.map(|(at, value)| weight(at) * value).sum::<u32>()
    };
    let is_right = match values.len() {
        10 => weigh(|at| 10 - at as u32) % 11 == 0,
        13 => digits.starts_with("97") && weigh(|at| 1 + 2 * (at as u32 % 2)) % 10 == 0,
        _ => false,
    };
    is_right.then(|| digits.to_ascii_uppercase())
}

fn doi(identifier: &str) -> Option<String> {
    let start = identifier.find("10.")?;
    let before = identifier[..start].to_ascii_lowercase();
    let is_doi = before.is_empty() || before.contains("doi");
    let doi = &identifier[start..];
    (is_doi && doi.contains('/')).then(|| doi.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_identifiers_are_distinguished() {
        let cases: &[(&str, Option<&str>, Option<&str>)] = &[
            ("urn:isbn:978-3-16-148410-0", Some("9783161484100"), None),
            ("ISBN 0-306-40615-2", Some("0306406152"), None),
            ("080442957x", Some("080442957X"), None),
            ("9783161484101", None, None),
            ("urn:uuid:0-306-40615-2", None, None),
            ("http://www.gutenberg.org/60153", None, None),
            ("https://doi.org/10.1000/182", None, Some("10.1000/182")),
            ("10.1000/182", None, Some("10.1000/182")),
            ("version 10.1/2", None, None),
            ("", None, None),
        ];
        for (identifier, want_isbn, want_doi) in cases {
            assert_eq!(isbn(identifier).as_deref(), *want_isbn, "{identifier}");
            assert_eq!(doi(identifier).as_deref(), *want_doi, "{identifier}");
        }
    }
}
