//! The table of contents: the title of each file that it lists.

use std::collections::HashMap;

use roxmltree::Node;

use super::book::Book;
use super::{Files, path_of};
use crate::limits::ParseError;
use crate::writing::running::collapsed;
use crate::xml::node::{attribute, child, children, outermost};

/// Titles by the path of their file, and the pages that show nothing else.
#[derive(Debug, Default)]
pub(super) struct Contents {
    titles: HashMap<String, Title>,
    navigation: Option<String>,
    /// A page that shows the table of contents, and may show more.
    page: Option<String>,
}

#[derive(Debug)]
pub(super) struct Title {
    pub(super) text: String,
    /// From 1.
    pub(super) level: u8,
}

impl Contents {
    /// A table of contents that is missing or damaged is an empty one: the text can be read without it.
    pub(super) fn read(files: &mut Files<'_>, book: &Book) -> Result<Contents, ParseError> {
        let mut contents = Contents {
            navigation: book.navigation.clone(),
            page: book.contents_page.clone(),
            ..Contents::default()
        };
        for path in book.navigation.iter().chain(&book.ncx) {
            let Some(source) = files.source(path)? else {
                continue;
            };
            let Ok(tree) = files.tree(&source, path) else {
                continue;
            };
            let root = tree.root_element();
            match child(root, "navMap") {
                Some(map) => contents.nav_points(map, path, 1),
                None => contents.lists(root, path),
            }
        }
        Ok(contents)
    }

    /// Whether the file is nothing but the table of contents.
    pub(super) fn is_page_of(&self, path: &str) -> bool {
        self.navigation.as_deref() == Some(path)
    }

    /// Whether the file may be one.
    pub(super) fn may_be_page_of(&self, path: &str) -> bool {
        self.page.as_deref() == Some(path)
    }

    pub(super) fn title(&self, path: &str) -> Option<&Title> {
        self.titles.get(path)
    }

    /// The points of an NCX. Recursive: the depth of the tree is bounded.
    fn nav_points(&mut self, parent: Node<'_, '_>, base: &str, level: u8) {
        for point in children(parent, "navPoint") {
            let label = child(point, "navLabel").and_then(|label| child(label, "text"));
            let text = label.and_then(|label| label.text());
            let address = child(point, "content").and_then(|content| attribute(content, "src"));
            self.add(base, address, text.unwrap_or_default(), level);
            self.nav_points(point, base, level.saturating_add(1));
        }
    }

    /// The lists of a navigation document.
    fn lists(&mut self, root: Node<'_, '_>, base: &str) {
        let all = outermost(root, &["nav"]);
        let is_contents = |nav: &&Node<'_, '_>| {
            let kind = attribute(**nav, "type").unwrap_or_default();
            kind.split_whitespace().any(|kind| kind == "toc")
        };
        if let Some(nav) = all.iter().find(is_contents).or(all.first()) {
            self.list(*nav, base, 1);
        }
    }

    fn list(&mut self, parent: Node<'_, '_>, base: &str, level: u8) {
        let items = children(parent, "ol").flat_map(|list| children(list, "li"));
        for item in items {
            if let Some(link) = child(item, "a") {
                let words = link.descendants().filter(Node::is_text);
                let text: String = words.filter_map(|word| word.text()).collect();
                self.add(base, attribute(link, "href"), &text, level);
            }
            self.list(item, base, level.saturating_add(1));
        }
    }

    fn add(&mut self, base: &str, address: Option<&str>, text: &str, level: u8) {
        let path = address.and_then(|address| path_of(base, address));
        let text = collapsed(text);
        if let Some(path) = path.filter(|_| !text.is_empty()) {
            self.titles.entry(path).or_insert(Title { text, level });
        }
    }
}
