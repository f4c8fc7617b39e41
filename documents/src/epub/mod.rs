//! EPUB books, versions 2 and 3: the files of the spine, one after the other, each read as a page of HTML.
//!
//! The text is new. Headings are those of the files; a file without one has the title that the table of contents gives
//! it. The table of contents itself is left out.
//!
//! Formats: EPUB 3.3 (W3C), Open Packaging Format 2.0.1 (IDPF), NCX (ANSI/NISO Z39.86).
//!
//! Start reading at [`parse`].

use crate::cues::heading::title_heading;
use crate::kind::Kind;
use crate::limits::{Limits, ParseError};
use crate::package::archive::{Archive, resolve};
use crate::package::pictures::Pictures;
use crate::tree::ParsedDocument;
use crate::warnings::Warnings;
use crate::xml;
use crate::xml::node::{attribute, child, children, outermost};
use book::Book;
use contents::Contents;
use page::Pages;

mod book;
mod contents;
mod page;
mod source;

/// Elements that are open at once in the files about a book, which are walked by recursion.
const DEPTH_MAX: usize = 256;

/// How fonts are made unusable outside of their book: not what keeps a book from being read.
const FONT_SCHEMES: &[&str] = &[
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
];

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let mut files = Files {
        archive: Archive::open(bytes, Kind::Epub, limits)?,
        limits,
    };
    files.check_encryption()?;
    let path = files.package_path()?;
    let source = files.need(&path)?;
    let book = Book::read(&files.tree(&source, &path)?, &path, limits)?;
    limits.check_pages(book.spine.len())?;
    let contents = Contents::read(&mut files, &book)?;
    let mut pages = Pages::new(limits);
    for file in &book.spine {
        if !contents.is_page_of(file) {
            pages.read(&mut files, file, &contents)?;
        }
    }
    let mut warnings = Warnings::default();
    book.warn_unread(&mut warnings);
    let (text, blocks, pictures) = pages.finish(&mut warnings);
    let mut document = ParsedDocument {
        kind: Kind::Epub,
        title: book.title,
        authors: book.authors,
        year: book.year,
        facts: book.facts,
        text,
        blocks,
        assets: pictures,
        warnings: warnings.finish(),
        ..ParsedDocument::default()
    };
    if document.title.is_none() {
        let heading = title_heading(&document.text, &document.blocks);
        document.title = heading.map(|block| document.text[block.range.clone()].to_owned());
    }
    Ok(document)
}

/// The files of a book.
struct Files<'a> {
    archive: Archive<'a>,
    limits: &'a Limits,
}

impl Files<'_> {
    /// The text of a file; `None` where there is none.
    fn source(&mut self, path: &str) -> Result<Option<String>, ParseError> {
        let bytes = self.archive.read(path)?;
        let decode = |bytes: Vec<u8>| xml::decoded(bytes, Kind::Epub, path);
        bytes.map(decode).transpose()
    }

    fn need(&mut self, path: &str) -> Result<String, ParseError> {
        let bytes = self.archive.read_required(path)?;
        xml::decoded(bytes, Kind::Epub, path)
    }

    fn tree<'s>(&self, source: &'s str, path: &str) -> Result<roxmltree::Document<'s>, ParseError> {
        let depth_max = DEPTH_MAX.min(self.limits.depth_max);
        xml::tree(source, Kind::Epub, path, depth_max)
    }

    fn keep_picture(&mut self, pictures: &mut Pictures, path: &str) -> Result<(), ParseError> {
        pictures.keep(&mut self.archive, path, path)
    }

    /// Refuses a book of which more than fonts is encrypted.
    fn check_encryption(&mut self) -> Result<(), ParseError> {
        const PATH: &str = "META-INF/encryption.xml";
        let Some(source) = self.source(PATH)? else {
            return Ok(());
        };
        let tree = self.tree(&source, PATH)?;
        for data in outermost(tree.root_element(), &["EncryptedData"]) {
            let method = child(data, "EncryptionMethod");
            let scheme = method.and_then(|method| attribute(method, "Algorithm"));
            let references = outermost(data, &["CipherReference"]);
            let mut names = references.iter().filter_map(|it| attribute(*it, "URI"));
            let is_scrambled = scheme.is_some_and(|scheme| FONT_SCHEMES.contains(&scheme));
            if !is_scrambled && !names.all(is_font) {
                return Err(ParseError::Encrypted { kind: Kind::Epub });
            }
        }
        Ok(())
    }

    /// The path of the package document, of the first rendition.
    fn package_path(&mut self) -> Result<String, ParseError> {
        const PATH: &str = "META-INF/container.xml";
        let source = self.need(PATH)?;
        let tree = self.tree(&source, PATH)?;
        let lists = child(tree.root_element(), "rootfiles");
        let mut files = lists
            .into_iter()
            .flat_map(|list| children(list, "rootfile"));
        let path = files.find_map(|file| attribute(file, "full-path"));
        let path = path.map(|path| resolve("", path));
        path.ok_or_else(|| ParseError::Malformed {
            kind: Kind::Epub,
            reason: "its container names no package".to_owned(),
        })
    }
}

fn is_font(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    let fonts = ["ttf", "otf", "woff", "woff2", "ttc"];
    fonts.contains(&&extension.to_ascii_lowercase()[..])
}

/// The path that `address` means in the file at `base`, without the place in it. `None` where it leads out of the book.
fn path_of(base: &str, address: &str) -> Option<String> {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split('/').next().unwrap_or_default();
    if path.is_empty() || scheme.contains(':') {
        return None;
    }
    let path = percent_encoding::percent_decode_str(path);
    Some(resolve(base, &path.decode_utf8_lossy()))
}

#[cfg(test)]
mod tests;
