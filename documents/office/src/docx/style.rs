//! Styles (ECMA-376, part 1, 17.7): what a paragraph is, and how a run looks.
//!
//! A style takes from the one it is based on what it does not say itself. The names of the styles that Word brings along are
//! English in the file, whatever language it shows them in; other programs translate them.

use std::collections::HashMap;

use roxmltree::{Document, Node};

use crate::office::is_on;
use crate::xml::node::{attribute, child, children, value};

/// Styles that are read; Word allows fewer.
const STYLES_MAX: usize = 10_000;
/// Styles that are based on each other.
const CHAIN_MAX: usize = 32;

/// What a paragraph is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Body,
    Title,
    /// Level from 1.
    Heading(u8),
    /// Of a table of contents, or its heading.
    Contents,
    Caption,
    Quote,
    Code,
    Item,
    Reference,
}

/// What a style comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    pub(super) role: Role,
    /// The list that its paragraphs belong to, and their level where it is stated.
    pub(super) numbering: Option<(String, Option<usize>)>,
    pub(super) is_strong: bool,
    pub(super) is_emphasised: bool,
    pub(super) is_hidden: bool,
}

/// All styles of a document, by their names in the file.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
    plain: Style,
}

/// Words for a heading in the programs of other languages, in lower case; a level follows.
const HEADING_WORDS: &[&str] = &[
    "heading",
    "überschrift",
    "titre",
    "título",
    "titolo",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "nagłówek",
    "nadpis",
    "заголовок",
    "标题",
    "標題",
    "見出し",
    "başlık",
];

impl Styles {
    pub(super) fn read(tree: &Document<'_>) -> Styles {
        let all: HashMap<&str, Node<'_, '_>> = children(tree.root_element(), "style")
            .take(STYLES_MAX)
            .filter_map(|style| Some((attribute(style, "styleId")?, style)))
            .collect();
        let resolved = all.iter().map(|(id, style)| {
            let style = resolve(*style, &all);
            ((*id).to_owned(), style)
        });
        Styles {
            styles: resolved.collect(),
            plain: Style::default(),
        }
    }

    /// The style of this name; the plain one where there is none.
    pub(super) fn get(&self, id: Option<&str>) -> &Style {
        let style = id.and_then(|id| self.styles.get(id));
        style.unwrap_or(&self.plain)
    }
}

fn resolve(style: Node<'_, '_>, all: &HashMap<&str, Node<'_, '_>>) -> Style {
    let based_on = |style: &Node<'_, '_>| all.get(value(*style, "basedOn")?).copied();
    let chain: Vec<Node<'_, '_>> = std::iter::successors(Some(style), based_on)
        .take(CHAIN_MAX)
        .collect();
    let switch = |name: &str| {
        let mut properties = chain
            .iter()
            .filter_map(|style| child(child(*style, "rPr")?, name));
        properties.next().is_some_and(is_on)
    };
    Style {
        role: chain
            .iter()
            .find_map(|style| role(*style))
            .unwrap_or_default(),
        numbering: numbering(&chain),
        is_strong: switch("b"),
        is_emphasised: switch("i"),
        is_hidden: switch("vanish"),
    }
}

fn numbering(chain: &[Node<'_, '_>]) -> Option<(String, Option<usize>)> {
    let properties = || {
        chain
            .iter()
            .filter_map(|style| child(child(*style, "pPr")?, "numPr"))
    };
    let list = properties().find_map(|properties| value(properties, "numId"))?;
    let level = properties().find_map(|properties| value(properties, "ilvl")?.parse().ok());
    Some((list.to_owned(), level))
}

/// What a style says of its role by itself.
fn role(style: Node<'_, '_>) -> Option<Role> {
    let name = value(style, "name").unwrap_or_default().to_lowercase();
    role_from_name(&name).or_else(|| role_from_outline(child(style, "pPr")?))
}

/// The role that an outline level gives; the tenth level is that of body text.
pub(super) fn role_from_outline(properties: Node<'_, '_>) -> Option<Role> {
    match value(properties, "outlineLvl")?.parse() {
        Ok(level @ 0..=8) => Some(Role::Heading(level + 1)),
        Ok(9) => Some(Role::Body),
        _ => None,
    }
}

fn role_from_name(name: &str) -> Option<Role> {
    let is_word = |words: &[&str]| {
        let mut parts = name.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| words.contains(&part))
    };
    if let Some(level) = heading_level(name) {
        return Some(Role::Heading(level));
    }
    let contents = [
        "toc ",
        "contents ",
        "table of figures",
        "table of authorities",
    ];
    if contents.iter().any(|start| name.starts_with(start)) {
        return Some(Role::Contents);
    }
    match name {
        "title" => Some(Role::Title),
        "bibliography" => Some(Role::Reference),
        _ if is_word(&["caption"]) => Some(Role::Caption),
        _ if is_word(&["quote", "quotation", "quotations"]) => Some(Role::Quote),
        "block text" => Some(Role::Quote),
        _ if is_word(&["code", "verbatim", "preformatted", "sourcecode", "listing"]) => {
            Some(Role::Code)
        }
        _ if name.starts_with("list bullet") || name.starts_with("list number") => Some(Role::Item),
        _ => None,
    }
}

fn heading_level(name: &str) -> Option<u8> {
    let mut rests = HEADING_WORDS
        .iter()
        .filter_map(|word| name.strip_prefix(word));
    let rest = rests.next()?.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let level = rest[..digits].parse().ok()?;
    (1..=9).contains(&level).then_some(level)
}
