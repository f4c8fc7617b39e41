//! Source code by its syntax tree (tree-sitter): one block per definition.
//!
//! The text is the file itself, and blocks are runs of its lines:
//!
//! - a function, method, type or constant run is one block, with the comments, attributes and
//!   decorators above it; a function is never divided here, however long;
//! - a container (`impl`, `trait`, `mod`, `class`) is a block for its head, then its members, then
//!   the line that closes it with the last of them;
//! - what lies between is gathered into runs of imports, of constants, or of other statements;
//! - the file's own documentation comes first, as a paragraph.
//!
//! Always true: the blocks cover every line that is not blank. Files with syntax errors are read
//! all the same: what tree-sitter cannot place becomes other statements.
//!
//! A grammar ([`Grammar`]) only says what each node is; [`Reader`] divides the file.

use std::ops::Range;

use locidb::storage::records::FileType;
use tree_sitter::{Node, Parser, Tree};

use super::decode::decode;
use super::output::Blocks;
use super::{Kind, Language, Limits, ParseError};
use crate::tree::{BlockKind, ParsedDocument};

mod python;
mod rust;

/// Containers open at once; what is nested deeper stays in one block.
const CONTAINER_DEPTH_MAX: usize = 32;

pub(super) fn parse(
    language: Language,
    bytes: &[u8],
    file_name: Option<&str>,
    limits: &Limits,
) -> Result<ParsedDocument, ParseError> {
    let grammar: &dyn Grammar = match language {
        Language::Rust => &rust::Rust,
        Language::Python => &python::Python,
        _ => {
            let kind = Kind::Code(language);
            return Err(ParseError::Unsupported { kind });
        }
    };
    let decoded = decode(bytes, limits)?;
    let source = &decoded.text[decoded.start..];
    let tree = syntax_tree(grammar, source).ok_or_else(|| ParseError::Malformed {
        kind: Kind::Code(language),
        reason: "it has no syntax tree".to_owned(),
    })?;
    let blocks = Reader::new(grammar, source, limits).read(tree.root_node())?;
    let mut document = ParsedDocument {
        file_type: FileType::Code,
        title: file_name.map(str::to_owned),
        text_is_original: decoded.is_original,
        blocks: blocks.finish_shifted(decoded.start),
        text: decoded.text,
        ..ParsedDocument::default()
    };
    let name = language.name().to_owned();
    document
        .metadata
        .push(("programming_language".to_owned(), name));
    Ok(document)
}

fn syntax_tree(grammar: &dyn Grammar, source: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).ok()?;
    parser.parse(source, None)
}

/// What a node is to the division of a file.
#[derive(Debug)]
enum Role<'tree> {
    /// A block of its own.
    Item { what: &'static str, name: String },
    /// A block for its head; its body is divided further.
    Container(Container<'tree>),
    /// A comment, attribute or decorator: it belongs to what follows.
    Lead,
    /// The file's documentation.
    ModuleDoc,
    /// A statement that is gathered into runs: `imports`, `const` or `other`.
    Loose(&'static str),
}

#[derive(Debug)]
struct Container<'tree> {
    what: &'static str,
    /// Symbol of the head, within its scope.
    name: String,
    /// What the symbols of its members begin with, within its scope.
    scope: String,
    body: Node<'tree>,
    /// Whether functions in it are methods.
    is_type: bool,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Directly in an `impl`, `trait` or `class`.
    in_type: bool,
    /// Nothing but comments came before it in the file.
    is_first: bool,
}

trait Grammar {
    fn language(&self) -> tree_sitter::Language;
    /// What `node` is.
    fn role<'tree>(&self, node: Node<'tree>, source: &str, place: Place) -> Role<'tree>;
    /// What stands between the parts of a symbol.
    fn separator(&self) -> &'static str;
}

/// A node's text.
fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node's field, or nothing.
fn field(node: Node<'_>, name: &str, source: &str) -> String {
    let field = node.child_by_field_name(name);
    field.map_or_else(String::new, |field| text(field, source).to_owned())
}

/// Divides a file at *cuts*: a block begins at its cut and ends before the next, so no line is
/// lost, and a line that closes a container goes with the container's last block.
struct Reader<'a> {
    grammar: &'a dyn Grammar,
    source: &'a str,
    limits: &'a Limits,
    cuts: Vec<Cut>,
    /// Whether anything but comments was seen.
    has_statement: bool,
}

struct Cut {
    start: usize,
    kind: BlockKind,
    /// Whether like statements that follow join the block.
    is_run: bool,
}

/// A container, or the file, while its children are read.
struct Level<'tree> {
    children: std::vec::IntoIter<Node<'tree>>,
    scope: String,
    is_type: bool,
    is_file: bool,
    /// Whether a member was seen. Before that, statements belong to the head.
    has_member: bool,
    /// Comments and attributes that wait for what they belong to.
    lead: Option<Range<usize>>,
    /// Where the last child that is no lead ends.
    end: usize,
}

impl<'tree> Level<'tree> {
    fn new(parent: Node<'tree>, scope: String, is_type: bool, is_file: bool) -> Self {
        let mut cursor = parent.walk();
        let children: Vec<_> = parent.named_children(&mut cursor).collect();
        Level {
            children: children.into_iter(),
            scope,
            is_type,
            is_file,
            has_member: is_file,
            lead: None,
            end: parent.start_byte(),
        }
    }
}

impl<'a> Reader<'a> {
    fn new(grammar: &'a dyn Grammar, source: &'a str, limits: &'a Limits) -> Self {
        Reader {
            grammar,
            source,
            limits,
            cuts: Vec::new(),
            has_statement: false,
        }
    }

    fn read(mut self, root: Node<'_>) -> Result<Blocks<'a>, ParseError> {
        let mut levels = vec![Level::new(root, String::new(), false, true)];
        while let Some(mut level) = levels.pop() {
            let Some(node) = level.children.next() else {
                self.detach_lead(&mut level);
                continue;
            };
            let inner = self.node(node, &mut level, levels.len());
            levels.push(level);
            levels.extend(inner);
        }
        self.blocks()
    }

    /// Takes note of one child; returns the level below it when it is a container.
    fn node<'t>(
        &mut self,
        node: Node<'t>,
        level: &mut Level<'t>,
        depth: usize,
    ) -> Option<Level<'t>> {
        let place = Place {
            in_type: level.is_type,
            is_first: !self.has_statement,
        };
        let role = self.grammar.role(node, self.source, place);
        if let Role::Lead = role {
            self.lead(node, level);
            return None;
        }
        self.has_statement = true;
        let range = node.byte_range();
        let start = self.start_with_lead(&range, level);
        level.end = range.end;
        match role {
            Role::Container(container) if depth < CONTAINER_DEPTH_MAX => {
                level.has_member = true;
                let symbol = self.symbol(&level.scope, &container.name);
                self.cut(start, definition(symbol, container.what), false);
                let scope = self.symbol(&level.scope, &container.scope);
                return Some(Level::new(container.body, scope, container.is_type, false));
            }
            Role::Container(Container { what, name, .. }) | Role::Item { what, name } => {
                level.has_member = true;
                let symbol = self.symbol(&level.scope, &name);
                self.cut(start, definition(symbol, what), false);
            }
            Role::ModuleDoc if level.is_file => self.cut(start, BlockKind::Paragraph, true),
            Role::Loose(what) if level.has_member => self.run(start, what),
            _ => {}
        }
        None
    }

    /// Keeps a comment or attribute until it is known what it belongs to.
    fn lead(&mut self, node: Node<'_>, level: &mut Level<'_>) {
        let range = node.byte_range();
        // A comment behind a statement, on its line, belongs to the statement.
        let is_behind = level.end > 0 && !self.source[level.end..range.start].contains('\n');
        if level.lead.is_none() && is_behind && level.end < range.start {
            return;
        }
        match &mut level.lead {
            Some(lead) if !has_blank_line(self.source, lead.end, range.start) => {
                lead.end = range.end;
            }
            _ => {
                self.detach_lead(level);
                level.lead = Some(range);
            }
        }
    }

    /// Where a node begins with the comments that touch it.
    fn start_with_lead(&mut self, range: &Range<usize>, level: &mut Level<'_>) -> usize {
        match &level.lead {
            Some(lead) if !has_blank_line(self.source, lead.end, range.start) => {
                let start = lead.start;
                level.lead = None;
                start
            }
            _ => {
                self.detach_lead(level);
                range.start
            }
        }
    }

    /// Writes comments that belong to nothing as statements of their own.
    fn detach_lead(&mut self, level: &mut Level<'_>) {
        if let Some(lead) = level.lead.take()
            && level.is_file
        {
            self.run(lead.start, "other");
        }
    }

    fn symbol(&self, scope: &str, name: &str) -> String {
        match scope {
            "" => name.to_owned(),
            _ => format!("{scope}{}{name}", self.grammar.separator()),
        }
    }

    /// A statement: joins the run before it where that is of the same sort.
    fn run(&mut self, start: usize, what: &str) {
        self.cut(start, definition(String::new(), what), true);
    }

    fn cut(&mut self, start: usize, kind: BlockKind, is_run: bool) {
        let start = line_start(self.source, start);
        if let Some(last) = self.cuts.last()
            && (start <= last.start || (is_run && last.is_run && last.kind == kind))
        {
            return;
        }
        self.cuts.push(Cut {
            start,
            kind,
            is_run,
        });
    }

    fn blocks(mut self) -> Result<Blocks<'a>, ParseError> {
        match self.cuts.first_mut() {
            Some(first) => first.start = 0,
            None => self.run(0, "other"),
        }
        let mut blocks = Blocks::new(self.limits);
        let mut ends = self.cuts.iter().skip(1).map(|cut| cut.start);
        let ends: Vec<usize> = ends.by_ref().chain([self.source.len()]).collect();
        for (cut, end) in self.cuts.into_iter().zip(ends) {
            let range = without_blank_lines(self.source, cut.start..end);
            if !range.is_empty() {
                blocks.push(cut.kind, range, Vec::new())?;
            }
        }
        Ok(blocks)
    }
}

fn definition(symbol: String, what: &str) -> BlockKind {
    BlockKind::Definition {
        symbol,
        what: what.to_owned(),
    }
}

/// The start of the line that `at` stands on, when only white space stands before it there.
fn line_start(source: &str, at: usize) -> usize {
    let before = &source[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    match before[start..].trim().is_empty() {
        true => start,
        false => at,
    }
}

/// Whether a line without text lies between the last text before `from` and `to`.
fn has_blank_line(source: &str, from: usize, to: usize) -> bool {
    let from = source[..from].trim_end().len().min(to);
    source[from..to].matches('\n').count() > 1
}

/// `range` without the lines at either end that hold nothing, but with its first line's indent.
fn without_blank_lines(source: &str, range: Range<usize>) -> Range<usize> {
    let slice = &source[range.clone()];
    let text_start = slice.len() - slice.trim_start().len();
    let start = slice[..text_start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let end = slice.trim_end().len();
    range.start + start.min(end)..range.start + end
}

#[cfg(test)]
mod tests;
