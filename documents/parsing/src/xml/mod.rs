//! XML in archives: decoded, and bounded before a tree is built of it.
//!
//! Always true of a tree that [`tree`] returns: it is no deeper than the caller allows, and no entity is declared in
//! it. So it is larger than its source by a constant factor at most, and code may walk it by recursion if the allowed
//! depth is small.
//!
//! Start reading at [`tree`]; `node.rs` reads a tree.

pub mod node;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use roxmltree::{Document, ParsingOptions};

use crate::decode::decode_xml;
use crate::kind::Kind;
use crate::limits::ParseError;
use crate::limits::within;

/// Tags in one file, and attributes: about thirty for each paragraph of a long book.
const TAGS_MAX: usize = 4_000_000;
/// Attributes of one element, for the tree compares each with each.
const ATTRIBUTES_MAX: usize = 512;
/// Namespaces that hold for an element, counted at each element that declares one, for the tree copies them there.
const NAMESPACES_MAX: usize = 16_000_000;

/// The text of a file of an archive. `kind` and `name` are for errors.
pub fn decoded(bytes: Vec<u8>, kind: Kind, name: &str) -> Result<String, ParseError> {
    let decoded = match String::from_utf8(bytes) {
        // As a rule: a large part is not copied.
        Ok(text) if !text.contains(['\0', '\u{feff}']) => return Ok(text),
        Ok(text) => decode_xml(text.as_bytes()),
        Err(error) => decode_xml(error.as_bytes()),
    };
    match decoded {
        Ok(mut decoded) => {
            decoded.text.drain(..decoded.start);
            Ok(decoded.text)
        }
        Err(ParseError::NotText { reason }) => Err(malformed(kind, name, &reason)),
        Err(error) => Err(error),
    }
}

/// The tree of `source`, at most `depth_max` elements deep.
pub fn tree<'s>(
    source: &'s str,
    kind: Kind,
    name: &str,
    depth_max: usize,
) -> Result<Document<'s>, ParseError> {
    let count = |byte| source.bytes().filter(|b| *b == byte).count();
    within("tags", count(b'<'), TAGS_MAX)?;
    within("attributes", count(b'='), TAGS_MAX)?;
    check_shape(source, kind, name, depth_max)?;
    let options = ParsingOptions {
        // Tables of contents of EPUB 2 name their DTD, Office files must not.
        allow_dtd: kind == Kind::Epub,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(source, options)
        .map_err(|error| malformed(kind, name, &error.to_string()))
}

fn check_shape(source: &str, kind: Kind, name: &str, depth_max: usize) -> Result<(), ParseError> {
    let mut reader = Reader::from_str(source);
    reader.config_mut().check_end_names = false;
    let mut shape = Shape::default();
    loop {
        let event = reader.read_event();
        match event.map_err(|error| malformed(kind, name, &error.to_string()))? {
            Event::Start(tag) => {
                shape.open(&tag)?;
                within("levels of nesting", shape.open.len(), depth_max)?;
            }
            Event::Empty(tag) => {
                shape.open(&tag)?;
                shape.close();
            }
            Event::End(_) => shape.close(),
            Event::DocType(text) if text.contains("<!ENTITY") => {
                return Err(malformed(kind, name, "it declares entities"));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// What is open at a place of a file.
#[derive(Default)]
struct Shape {
    /// Namespaces that each open element declares.
    open: Vec<usize>,
    /// Their sum.
    namespaces: usize,
    /// All that the tree copies.
    copied: usize,
}

impl Shape {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), ParseError> {
        let attributes = tag.attributes().with_checks(false).count();
        within("attributes of one element", attributes, ATTRIBUTES_MAX)?;
        let declared = tag.matches("xmlns").count();
        self.open.push(declared);
        self.namespaces += declared;
        if declared > 0 {
            self.copied += self.namespaces;
            within("namespaces", self.copied, NAMESPACES_MAX)?;
        }
        Ok(())
    }

    fn close(&mut self) {
        self.namespaces -= self.open.pop().unwrap_or(0);
    }
}

fn malformed(kind: Kind, name: &str, reason: &str) -> ParseError {
    let reason = format!("{name}: {reason}");
    ParseError::Malformed { kind, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_xml_is_refused_before_a_tree_is_built() {
        let deep = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
        let attributes: String = (0..600).map(|i| format!(" a{i}=''")).collect();
        let spaces: String = (0..400).map(|i| format!(" xmlns:a{i}='u'")).collect();
        let spread = "<b xmlns:b='v'/>".repeat(41_000);
        let bomb = "<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;'>]><a>&c;</a>";
        let cases: &[(&str, String, bool)] = &[
            ("shallow", deep(100), true),
            ("deep", deep(101), false),
            ("many attributes", format!("<a{attributes}/>"), false),
            ("namespaces", format!("<a{spaces}>{spread}</a>"), false),
            ("few namespaces", format!("<a>{spread}</a>"), true),
            ("entities", bomb.into(), false),
            ("unclosed", "<a><b></a>".into(), false),
            ("nothing", String::new(), false),
            ("an end too many", "<a/></a>".into(), false),
        ];
        for (name, source, is_read) in cases {
            let got = tree(source, Kind::Epub, "x", 100);
            assert_eq!(got.is_ok(), *is_read, "{name}");
        }
    }

    #[test]
    fn a_doctype_is_allowed_in_books_alone() {
        let source = "<!DOCTYPE ncx PUBLIC '-//NISO//DTD ncx 2005-1//EN' 'x.dtd'><ncx/>";
        assert!(tree(source, Kind::Epub, "x", 9).is_ok());
        assert!(tree(source, Kind::Docx, "x", 9).is_err());
    }

    #[test]
    fn utf_16_is_decoded() {
        let source = "<?xml version='1.0' encoding='UTF-16'?><a>ü</a>";
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend(source.encode_utf16().flat_map(u16::to_le_bytes));
        let text = decoded(bytes, Kind::Docx, "x").unwrap();
        let tree = tree(&text, Kind::Docx, "x", 9).unwrap();
        assert_eq!(tree.root_element().text(), Some("ü"));
        let error = decoded(b"a\0".to_vec(), Kind::Docx, "x").unwrap_err();
        assert!(matches!(error, ParseError::Malformed { .. }), "{error:?}");
    }
}
