//! HTML: what a reader of the page sees, without the site around it.
//!
//! The text is new: blocks joined by an empty line, white space collapsed, `pre` kept as it is,
//! tables of data as rows of Markdown. Scripts, styles, menus, banners, footers and hidden elements
//! are left out ([`furniture`]). If `<main>` or the only `<article>` contains most of the page, only that
//! is read. If everything looks like decoration, all visible text is read.
//!
//! Informative pictures are figures, named by their address in the page; their bytes are not read.
//! Lists of notes are footnotes, lists of works are references.
//!
//! The tree is walked with a cursor, never by recursion, and its depth is bounded while it is
//! built ([`depth`]), because building costs length × depth.
//!
//! Start reading at [`main_content`]; the walk is in [`extract`].

use std::sync::LazyLock;

use scraper::{ElementRef, Html};

use extract::{Content, ExtractScope, extract};
use loci_parsing::decode::decode_html;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tables::Tables;
use loci_parsing::tree::{Block, ParsedDocument};

mod depth;
mod extract;
mod formula;
mod furniture;
mod meta;
mod picture;
mod table;

/// A `<main>` with this many bytes of text is trusted without a look at the rest.
const MAIN_BYTES_MIN: usize = 250;
/// A shorter one is trusted when the whole page has at most this many times its text.
const MAIN_SHARE: usize = 4;

static NAMES: LazyLock<Tables> = LazyLock::new(|| Tables::parse(include_str!("names.txt")));

/// Whether a table of `names.txt` has the name.
fn is_known(table: &str, name: &str) -> bool {
    NAMES.get(table, name).is_some()
}

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode_html(bytes)?;
    let source = &decoded.text[decoded.start..];
    let page = depth::parse(source, limits.depth_max)?;
    let content = main_content(&page, limits)?;
    let mut document = ParsedDocument {
        kind: Kind::Html,
        text: content.text,
        blocks: content.blocks,
        ..ParsedDocument::default()
    };
    meta::apply(&page, &mut document);
    Ok(document)
}

/// The text and the blocks of a file of a book: everything visible, and pictures, named as the file names them.
pub(super) fn book_page(source: &str, limits: &Limits) -> Result<(String, Vec<Block>), ParseError> {
    let page = depth::parse(source, limits.depth_max)?;
    let content = extract(page.root_element(), ExtractScope::Book, limits)?;
    Ok((content.text, content.blocks))
}

fn main_content(page: &Html, limits: &Limits) -> Result<Content, ParseError> {
    let whole = page.root_element();
    let main = match main_element(whole) {
        Some(main) => extract(main, ExtractScope::Content, limits)?,
        None => Content::default(),
    };
    if main.text.len() >= MAIN_BYTES_MIN {
        return Ok(main);
    }
    let body = extract(whole, ExtractScope::Content, limits)?;
    if !main.text.is_empty() && body.text.len() <= MAIN_SHARE * main.text.len() {
        return Ok(main);
    }
    if !body.text.is_empty() {
        return Ok(body);
    }
    extract(whole, ExtractScope::Everything, limits)
}

/// The first `<main>`, else the only `<article>`.
fn main_element(whole: ElementRef<'_>) -> Option<ElementRef<'_>> {
    let main = whole
        .descendent_elements()
        .find(|element| element.value().name() == "main" || element.attr("role") == Some("main"));
    main.or_else(|| {
        let mut articles = whole
            .descendent_elements()
            .filter(|element| element.value().name() == "article");
        let first = articles.next()?;
        articles.next().is_none().then_some(first)
    })
}

#[cfg(test)]
mod tests;
