//! What Word and PowerPoint files have in common: a package of XML parts that name each other by relations.
//!
//! The package is that of ECMA-376, part 2 (Open Packaging Conventions). Always true: elements and attributes are
//! compared by their local names, because the strict and the transitional form of the standard differ only in namespaces.
//!
//! Start reading at [`Package::open`].

use std::collections::{BTreeSet, HashMap};

use roxmltree::Document;

use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::package::archive::{Archive, resolve};
use loci_parsing::package::pictures::Pictures;
use loci_parsing::tree::{Asset, ParsedDocument};
use loci_parsing::warnings::{Warnings, listed};
use loci_parsing::xml;
use loci_parsing::xml::node::{attribute, children, is_true, outermost};

pub(super) mod chart;
pub(super) mod diagram;
pub(super) mod math;
mod properties;

pub(super) use properties::Properties;

/// Elements that are open at once in a part. Honest files stay below 60, and this few can be walked by recursion.
const DEPTH_MAX: usize = 256;

/// The first bytes of a compound file: what Office 97 wrote, and what holds a package that is encrypted.
const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// An open package.
pub(super) struct Package<'a> {
    archive: Archive<'a>,
    /// Names of all parts, by their names in lower case: case does not tell parts apart.
    names: HashMap<String, String>,
    pictures: Pictures,
    /// Parts that others name and that are not there.
    missing: BTreeSet<String>,
    kind: Kind,
    limits: &'a Limits,
}

/// The parts that a part names, by the names it has for them.
#[derive(Default)]
pub(super) struct Relations(HashMap<String, Relation>);

/// A part that another names.
pub(super) struct Relation {
    /// The last part of its type: `slide`, `image`.
    pub(super) kind: String,
    /// Its path in the package.
    pub(super) path: String,
}

impl<'a> Package<'a> {
    /// Reads the directory of the archive.
    pub(super) fn open(
        bytes: &'a [u8],
        kind: Kind,
        limits: &'a Limits,
    ) -> Result<Package<'a>, ParseError> {
        if bytes.starts_with(COMPOUND_FILE) {
            return Err(refusal(bytes, kind));
        }
        let archive = Archive::open(bytes, kind, limits)?;
        let names = archive.names();
        let names = names.map(|name| (name.to_ascii_lowercase(), name.into_owned()));
        Ok(Package {
            names: names.collect(),
            archive,
            pictures: Pictures::new(limits),
            missing: BTreeSet::new(),
            kind,
            limits,
        })
    }

    /// The path of the part that is the document, `usual` where the package does not say.
    pub(super) fn main_part(&mut self, usual: &str) -> Result<String, ParseError> {
        let relations = self.relations("")?;
        let main = relations.first("officeDocument");
        Ok(main.unwrap_or(usual).to_owned())
    }

    /// The source of a part that must be there.
    pub(super) fn need(&mut self, path: &str) -> Result<String, ParseError> {
        let bytes = self.archive.read_required(&self.name(path))?;
        xml::decoded(bytes, self.kind, path)
    }

    /// The source of a part that another names; an empty element where none is named, or it is not there.
    pub(super) fn source(&mut self, path: Option<&str>) -> Result<String, ParseError> {
        let source = match path {
            Some(path) => self.optional_source(path)?,
            None => None,
        };
        if let (None, Some(path)) = (&source, path) {
            self.missing.insert(path.to_owned());
        }
        Ok(source.unwrap_or_else(nothing))
    }

    /// The source of a part that may be there.
    fn optional_source(&mut self, path: &str) -> Result<Option<String>, ParseError> {
        let bytes = self.archive.read(&self.name(path))?;
        let decode = |bytes| xml::decoded(bytes, self.kind, path);
        bytes.map(decode).transpose()
    }

    /// The tree of a part's source.
    pub(super) fn tree<'s>(&self, source: &'s str, path: &str) -> Result<Document<'s>, ParseError> {
        let depth_max = DEPTH_MAX.min(self.limits.depth_max);
        xml::tree(source, self.kind, path, depth_max)
    }

    /// What the part at `path` names; the whole package where `path` is empty.
    pub(super) fn relations(&mut self, path: &str) -> Result<Relations, ParseError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = resolve("", &format!("{folder}/_rels/{name}.rels"));
        let source = self.optional_source(&place)?.unwrap_or_else(nothing);
        let tree = self.tree(&source, &place)?;
        let mut relations = HashMap::new();
        for relation in children(tree.root_element(), "Relationship") {
            let of = |name| attribute(relation, name).unwrap_or_default();
            if of("TargetMode") == "External" {
                continue;
            }
            let kind = of("Type").rsplit('/').next().unwrap_or_default();
            let found = Relation {
                kind: kind.to_owned(),
                path: resolve(path, of("Target")),
            };
            relations.insert(of("Id").to_owned(), found);
        }
        Ok(Relations(relations))
    }

    /// What the chart at `path` says.
    pub(super) fn chart(&mut self, path: &str) -> Result<chart::Chart, ParseError> {
        let source = self.source(Some(path))?;
        chart::read(&self.tree(&source, path)?, self.limits)
    }

    /// What the nodes of the diagram at `path` say.
    pub(super) fn diagram(&mut self, path: &str) -> Result<Vec<String>, ParseError> {
        let source = self.source(Some(path))?;
        Ok(diagram::read(&self.tree(&source, path)?))
    }

    /// Keeps a picture.
    pub(super) fn keep_picture(&mut self, path: &str) -> Result<(), ParseError> {
        let name = self.name(path);
        self.pictures.keep(&mut self.archive, path, &name)
    }

    /// What the archive calls a part.
    fn name(&self, path: &str) -> String {
        let name = self.names.get(&path.to_ascii_lowercase());
        name.map_or(path, |name| name).to_owned()
    }

    /// What the package says of itself.
    pub(super) fn properties(&mut self) -> Result<Properties, ParseError> {
        let relations = self.relations("")?;
        let path = relations.first("core-properties");
        let path = path.unwrap_or("docProps/core.xml");
        let source = self.optional_source(path)?.unwrap_or_else(nothing);
        Ok(Properties::read(&self.tree(&source, path)?))
    }

    /// The pictures that were kept.
    pub(super) fn finish(self, warnings: &mut Warnings) -> Vec<Asset> {
        if !self.missing.is_empty() {
            warnings.add(format!(
                "the file names parts that it does not hold ({}): what they say is not stored; save it again from the program that wrote it",
                listed(self.missing.iter().map(String::as_str))
            ));
        }
        self.pictures.finish(warnings)
    }
}

impl Relations {
    /// The path of the part of this name.
    pub(super) fn path(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|relation| &relation.path[..])
    }

    /// The path of a part of this type: the first by path, where there are several.
    pub(super) fn first(&self, kind: &str) -> Option<&str> {
        self.all(kind).into_iter().next()
    }

    /// The paths of all parts of this type, by path.
    pub(super) fn all(&self, kind: &str) -> Vec<&str> {
        let of_kind = self.0.values().filter(|relation| relation.kind == kind);
        let mut paths: Vec<&str> = of_kind.map(|relation| &relation.path[..]).collect();
        paths.sort_unstable();
        paths
    }
}

/// What stands for a part that is not there.
fn nothing() -> String {
    "<none/>".to_owned()
}

/// Why a compound file is not read. Its directory names its streams in UTF-16.
fn refusal(bytes: &[u8], kind: Kind) -> ParseError {
    let wanted: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    if bytes.windows(wanted.len()).any(|window| window == wanted) {
        return ParseError::Encrypted { kind };
    }
    ParseError::Malformed {
        kind,
        reason: "it is in the format of Office 97, which is not read".to_owned(),
    }
}

/// Whether a switch of Word's is on: `<w:b/>`, and not `<w:b w:val="0"/>`.
pub(super) fn is_on(switch: roxmltree::Node<'_, '_>) -> bool {
    attribute(switch, "val").is_none_or(is_true)
}

/// Whether the names of a picture say that it only decorates.
pub(super) fn is_decoration(names: roxmltree::Node<'_, '_>) -> bool {
    let mark = outermost(names, &["decorative"]).into_iter().next();
    mark.and_then(|mark| attribute(mark, "val"))
        .is_some_and(is_true)
}

/// Fills in what `properties` say.
pub(super) fn apply(properties: Properties, document: &mut ParsedDocument) {
    document.authors = properties.authors;
    document.year = properties.year;
    document.facts = properties.facts;
}
