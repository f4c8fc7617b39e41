//! JATS: journal articles in the XML of ANSI/NISO Z39.96, as PubMed Central and publishers distribute them.
//!
//! The text is new: abstract, body, back matter, and what is published with the article (reviews, answers), in this
//! order. Title and authors are facts about the document and no part of its text. Every `<ref>` is one of the
//! document's references, in the order of the file; every `<xref ref-type="bibr">` is a citation of them.
//!
//! Entities that hold others, or that make the file grow beyond what is allowed, are refused before the XML is read
//! ([`entities`]); so is nesting deeper than [`DEPTH_MAX`], for the walk is recursive.
//!
//! Start reading at [`parse`]; the walk is in [`walk`].

use std::collections::HashMap;

use roxmltree::{Document, Node, NodeId, ParsingOptions};

use loci_parsing::decode::decode_xml;
use loci_parsing::kind::Kind;
use loci_parsing::limits::within;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{ParsedDocument, Reference};
use loci_parsing::writing::running::collapsed;

mod citations;
mod entities;
mod formula;
mod meta;
mod references;
mod table;
mod walk;

/// Elements that may be open at once. Articles have some 20.
const DEPTH_MAX: usize = 200;
/// Nodes of a file: each costs memory long before it gives text.
const NODES_MAX: u32 = 8_000_000;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode_xml(bytes)?;
    let source = entities::expand_entities(&decoded.text[decoded.start..], limits)?;
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let xml = Document::parse_with_options(&source, options)
        .map_err(|error| malformed(error.to_string()))?;
    within(
        "levels of nesting",
        depth(&xml),
        DEPTH_MAX.min(limits.depth_max),
    )?;
    let article = xml
        .descendants()
        .find(|node| node.has_tag_name("article"))
        .ok_or_else(|| malformed("it has no article".to_owned()))?;
    read(article, limits)
}

fn read<'x>(article: Node<'x, 'x>, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let mut document = ParsedDocument {
        kind: Kind::Jats,
        ..ParsedDocument::default()
    };
    meta::apply(article, &mut document);
    let works = Works::of(article);
    walk::write(article, &works, &mut document, limits)?;
    document.references = works.references;
    if document.blocks.is_empty() && document.title.is_none() {
        Err(ParseError::Empty)
    } else {
        Ok(document)
    }
}

/// The works that the article lists, in the order of the file.
struct Works<'x> {
    references: Vec<Reference>,
    /// Their places by the ids of their elements.
    by_id: HashMap<&'x str, u32>,
    /// Their places by their elements.
    by_node: HashMap<NodeId, u32>,
}

impl<'x> Works<'x> {
    fn of(article: Node<'x, 'x>) -> Works<'x> {
        let mut works = Works {
            references: Vec::new(),
            by_id: HashMap::new(),
            by_node: HashMap::new(),
        };
        for entry in article
            .descendants()
            .filter(|node| node.has_tag_name("ref"))
        {
            let place = works.references.len() as u32;
            let ids = entry.descendants().filter_map(|node| node.attribute("id"));
            for id in ids {
                works.by_id.entry(id).or_insert(place);
            }
            works.by_node.insert(entry.id(), place);
            works.references.push(references::read(entry));
        }
        works
    }
}

fn malformed(reason: String) -> ParseError {
    let kind = Kind::Jats;
    ParseError::Malformed { kind, reason }
}

/// The most elements that are open at once.
fn depth(xml: &Document<'_>) -> usize {
    let (mut node, mut depth, mut deepest) = (xml.root(), 0_usize, 0);
    loop {
        if let Some(child) = node.first_child() {
            (node, depth) = (child, depth + 1);
            deepest = deepest.max(depth);
            continue;
        }
        loop {
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            match node.parent() {
                Some(parent) => (node, depth) = (parent, depth.saturating_sub(1)),
                None => return deepest,
            }
        }
    }
}

/// The first child element of this name.
fn child<'x>(node: Node<'x, 'x>, name: &str) -> Option<Node<'x, 'x>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// The first element of this name at any depth.
fn below<'x>(node: Node<'x, 'x>, name: &str) -> Option<Node<'x, 'x>> {
    let mut inside = node.descendants().skip(1);
    inside.find(|child| child.tag_name().name() == name)
}

/// All text below a node, white space collapsed.
fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|node| node.is_text());
    let text: String = texts.filter_map(|node| node.text()).collect();
    collapsed(&text)
}

/// The text of the first child of this name, where it has any.
fn text_in(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node.children().find(|child| child.has_tag_name(name))?;
    Some(text_of(found)).filter(|text| !text.is_empty())
}

/// What a link or picture points to.
fn href<'x>(node: Node<'x, 'x>) -> Option<&'x str> {
    let mut attributes = node.attributes();
    let found = attributes.find(|attribute| attribute.name() == "href")?;
    Some(found.value().trim()).filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests;
