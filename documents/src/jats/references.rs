//! One `<ref>` of a list of references: its parts, and its text.
//!
//! A mixed citation has the text that readers see, punctuation included. An element citation has parts only, and its
//! text is put together here: `Bailey TL, Boden M. 2009. MEME SUITE. Nucleic Acids Research 37: W202–W208.`

use roxmltree::Node;

use super::meta::name;
use super::{below, child, text_in, text_of};
use crate::cues::year::year as year_of;
use crate::tree::Reference;

const CITATIONS: &[&str] = &[
    "mixed-citation",
    "element-citation",
    "nlm-citation",
    "citation",
    "note",
];
const TITLES: &[&str] = &[
    "article-title",
    "chapter-title",
    "part-title",
    "data-title",
    "trans-title",
];
const VENUES: &[&str] = &[
    "source",
    "conf-name",
    "series",
    "publisher-name",
    "institution",
];
/// Where an authors' name may be in punctuation: the end of a sentence may not follow these.
const PERIODS: &[char] = &['.', '?', '!'];

pub(super) fn read<'x>(entry: Node<'x, 'x>) -> Reference {
    let label = text_in(entry, "label").unwrap_or_default();
    // A reference to several works (3a, 3b) is one entry of the list; its parts are those of the first.
    let works: Vec<Node<'x, 'x>> = entry.descendants().filter(is_work).collect();
    let texts: Vec<String> = works.iter().map(|work| text(*work)).collect();
    let Some(work) = works.first().copied() else {
        let text = text_of(entry);
        let text = text.strip_prefix(&label).unwrap_or(&text).trim().to_owned();
        return Reference {
            label: bare(&label),
            text,
            ..Reference::default()
        };
    };
    let title = TITLES.iter().find_map(|name| inside(work, name));
    let source = VENUES.iter().find_map(|name| inside(work, name));
    let (title, venue) = match title {
        None => (
            source,
            VENUES[1..].iter().find_map(|name| inside(work, name)),
        ),
        title => (title, source),
    };
    Reference {
        label: bare(&label),
        text: texts.join(" "),
        title,
        authors: authors(work),
        year: below(work, "year").and_then(|year| year_of(&text_of(year))),
        venue,
        doi: doi(work),
    }
}

fn is_work(node: &Node<'_, '_>) -> bool {
    let is_citation = |node: &Node<'_, '_>| CITATIONS.contains(&node.tag_name().name());
    is_citation(node) && !node.ancestors().skip(1).any(|above| is_citation(&above))
}

/// A label without its brackets and period: `[3]` and `3.` are 3.
fn bare(label: &str) -> String {
    let marks = ['[', ']', '(', ')', '.', ' '];
    label.trim_matches(marks).to_owned()
}

fn inside<'x>(work: Node<'x, 'x>, name: &str) -> Option<String> {
    let text = text_of(below(work, name)?);
    let text = text.trim_end_matches([',', ';', ' ']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// The authors' elements: those of the group of authors, else of any group, else those that are free.
fn people<'x>(work: Node<'x, 'x>) -> Vec<Node<'x, 'x>> {
    let mut groups = work
        .descendants()
        .filter(|n| n.has_tag_name("person-group"));
    let is_of =
        |group: &Node<'x, 'x>, kind: &str| group.attribute("person-group-type") == Some(kind);
    let first = groups.clone().find(|group| is_of(group, "author"));
    let place = first.or_else(|| groups.next()).unwrap_or(work);
    let names = place
        .descendants()
        .filter(|node| matches!(node.tag_name().name(), "name" | "string-name" | "collab"));
    names.collect()
}

fn authors<'x>(work: Node<'x, 'x>) -> Vec<String> {
    people(work).into_iter().filter_map(name).collect()
}

fn doi<'x>(work: Node<'x, 'x>) -> Option<String> {
    let typed = |node: &Node<'x, 'x>| {
        let kinds = ["pub-id-type", "ext-link-type", "assigning-authority"];
        kinds
            .iter()
            .any(|kind| node.attribute(*kind) == Some("doi"))
    };
    let typed_doi = work.descendants().find(typed).map(text_of);
    let linked = || {
        let mut links = work.descendants().filter_map(super::href);
        links
            .find(|link| link.contains("doi.org/"))
            .map(str::to_owned)
    };
    let doi = typed_doi.or_else(linked)?;
    let doi = doi
        .find("10.")
        .map_or("", |at| &doi[at..])
        .trim_end_matches(['.', ' ']);
    (!doi.is_empty()).then(|| doi.to_owned())
}

/// The work as readers see it.
pub(super) fn text<'x>(work: Node<'x, 'x>) -> String {
    // Text of its own between the parts means that the publisher wrote the punctuation.
    let own = work.children().filter(|node| node.is_text());
    let has_own = own
        .filter_map(|node| node.text())
        .any(|text| !text.trim().is_empty());
    if has_own || work.has_tag_name("note") {
        text_of(work)
    } else {
        format_work(work)
    }
}

fn format_work<'x>(work: Node<'x, 'x>) -> String {
    let mut sentences = Vec::new();
    let people: Vec<String> = people(work).into_iter().filter_map(inverted).collect();
    sentences.push(people.join(", "));
    for names in [&["year"][..], TITLES] {
        sentences.extend(names.iter().find_map(|name| inside(work, name)));
    }
    sentences.extend(journal(work));
    sentences.extend(inside(work, "edition"));
    sentences.extend(inside(work, "publisher-name"));
    sentences.extend(doi(work).map(|doi| format!("doi:{doi}")));
    // A data set's number in its archive; numbers of PubMed only repeat the rest.
    let is_number = |id: &Node<'_, '_>| {
        let kind = id.attribute("pub-id-type");
        id.has_tag_name("pub-id") && !matches!(kind, Some("doi" | "pmid" | "pmcid" | "pmc"))
    };
    sentences.extend(work.descendants().filter(is_number).map(text_of));
    if let Some(link) = doi(work)
        .is_none()
        .then(|| below(work, "ext-link"))
        .flatten()
    {
        sentences.push(text_of(link));
    }
    let mut text = String::new();
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        if !text.is_empty() {
            text.push_str(if text.ends_with(PERIODS) { " " } else { ". " });
        }
        text.push_str(sentence);
    }
    text
}

/// `Nucleic Acids Research 37(2): W202–W208`.
fn journal<'x>(work: Node<'x, 'x>) -> Option<String> {
    let mut text = inside(work, "source").or_else(|| inside(work, "conf-name"))?;
    if let Some(volume) = inside(work, "volume") {
        text.push_str(&format!(" {volume}"));
    }
    if let Some(issue) = inside(work, "issue") {
        text.push_str(&format!("({issue})"));
    }
    let pages = inside(work, "fpage").map(|first| match inside(work, "lpage") {
        Some(last) if last != first => format!("{first}–{last}"),
        _ => first,
    });
    if let Some(pages) = pages.or_else(|| inside(work, "elocation-id")) {
        text.push_str(&format!(": {pages}"));
    }
    Some(text)
}

/// `Bailey TL`, as lists of references have it.
fn inverted<'x>(person: Node<'x, 'x>) -> Option<String> {
    let family = child(person, "surname").map(text_of);
    match (family, text_in(person, "given-names")) {
        (Some(family), Some(given)) => Some(format!("{family} {given}")),
        _ => name(person),
    }
}
