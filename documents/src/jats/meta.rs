//! What an article's front matter says of it: title, authors, year, journal and identifiers.

use roxmltree::Node;

use super::{below, child, text_in, text_of};
use loci_parsing::cues::year::year as year_of;
use loci_parsing::facts::TextMetrics;
use loci_parsing::tree::ParsedDocument;

/// Dates of publication, the most telling first.
const DATES: &[&str] = &["pub", "epub", "ppub", "epub-ppub", "collection"];

pub(super) fn apply<'x>(article: Node<'x, 'x>, document: &mut ParsedDocument) {
    let facts = &mut document.facts;
    let language = article.attribute(("http://www.w3.org/XML/1998/namespace", "lang"));
    let language = language.filter(|language| !language.is_empty());
    facts.language = language.map(str::to_ascii_lowercase);
    let Some(front) = child(article, "front") else {
        return;
    };
    let journal = child(front, "journal-meta");
    let venue = journal.and_then(|journal| below(journal, "journal-title"));
    facts.venue = venue.map(text_of).filter(|venue| !venue.is_empty());
    let publisher = journal.and_then(|journal| below(journal, "publisher-name"));
    add(facts, "publisher", publisher.map(text_of));
    let Some(meta) = child(front, "article-meta") else {
        return;
    };
    let id = |kind: &str| {
        let mut ids = meta.children().filter(|n| n.has_tag_name("article-id"));
        let found = ids.find(|id| id.attribute("pub-id-type") == Some(kind));
        found.map(text_of)
    };
    facts.doi = id("doi").filter(|doi| !doi.is_empty());
    for name in ["pmid", "pmc"] {
        add(facts, name, id(name));
    }
    for name in ["volume", "issue"] {
        add(facts, name, text_in(meta, name));
    }
    facts.keywords = keywords(meta).filter(|keywords| !keywords.is_empty());
    document.title = title(meta);
    document.authors = meta
        .children()
        .filter(|node| node.has_tag_name("contrib-group"))
        .flat_map(authors)
        .collect();
    document.year = year(meta);
}

/// Title and subtitle.
pub(super) fn title<'x>(meta: Node<'x, 'x>) -> Option<String> {
    let group = child(meta, "title-group")?;
    let title = text_in(group, "article-title")?;
    Some(match text_in(group, "subtitle") {
        Some(subtitle) => format!("{title}: {subtitle}"),
        None => title,
    })
}

fn add(facts: &mut TextMetrics, name: &str, value: Option<String>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        facts.state(name, value);
    }
}

/// The people of a group who wrote the article: editors and reviewers are of other types.
fn authors<'x>(group: Node<'x, 'x>) -> Vec<String> {
    let is_author = |node: &Node<'_, '_>| {
        node.has_tag_name("contrib")
            && matches!(node.attribute("contrib-type"), None | Some("author"))
    };
    let people = group.children().filter(is_author);
    people.filter_map(contributor).collect()
}

fn contributor<'x>(contrib: Node<'x, 'x>) -> Option<String> {
    let inside = child(contrib, "name-alternatives").unwrap_or(contrib);
    let person = inside.children().find_map(name);
    person.or_else(|| text_in(contrib, "anonymous"))
}

/// A person (`Todd S Macfarlan`) or a group that an element names.
pub(super) fn name<'x>(node: Node<'x, 'x>) -> Option<String> {
    let name = match node.tag_name().name() {
        "name" | "string-name" => {
            let parts = ["prefix", "given-names", "surname", "suffix"];
            let parts: Vec<String> = parts
                .iter()
                .filter_map(|part| text_in(node, part))
                .collect();
            if parts.is_empty() {
                text_of(node)
            } else {
                parts.join(" ")
            }
        }
        // A group may list its members within its own name.
        "collab" => {
            let own = node.children().filter(|n| !n.has_tag_name("contrib-group"));
            own.map(text_of)
                .collect::<Vec<_>>()
                .join(" ")
                .trim()
                .to_owned()
        }
        _ => return None,
    };
    (!name.is_empty()).then_some(name)
}

fn year<'x>(meta: Node<'x, 'x>) -> Option<i32> {
    let dates = || meta.children().filter(|node| node.has_tag_name("pub-date"));
    let kind = |date: &Node<'x, 'x>| {
        let kind = date.attribute("date-type").or(date.attribute("pub-type"));
        DATES.iter().position(|name| Some(*name) == kind)
    };
    let best = dates().min_by_key(|date| kind(date).unwrap_or(DATES.len()))?;
    text_in(best, "year").and_then(|year| year_of(&year))
}

fn keywords<'x>(meta: Node<'x, 'x>) -> Option<String> {
    let groups = meta
        .children()
        .filter(|node| node.has_tag_name("kwd-group"));
    let words = groups.flat_map(|group| group.descendants().filter(|n| n.has_tag_name("kwd")));
    let words: Vec<String> = words.map(text_of).collect();
    (!words.is_empty()).then(|| words.join("; "))
}
