//! Source code: one block per definition.
//!
//! The text is the file itself, and blocks are runs of its lines:
//!
//! - a function, method, type or constant run is one block, with the comments, attributes and
//!   decorators above it; a function is never divided here, however long;
//! - a container (`impl`, `trait`, `mod`, `class`, `namespace`) is a block for its head, then its
//!   members, then the line that closes it with the last of them;
//! - what is between is gathered into runs of imports, of constants, of macros, or of other
//!   statements;
//! - the file's own documentation comes first, as a paragraph.
//!
//! Always true: the blocks cover every line that is not blank. Files with syntax errors are read
//! all the same: what the grammar cannot place becomes other statements.
//!
//! Languages with a grammar here are read by their syntax tree (tree-sitter); the others, and files
//! that are mostly errors, by their empty lines ([`lines`]). A grammar ([`Grammar`])
//! only says what each node is; [`Reader`] divides the file.
//!
//! Start reading at [`parse`].

use std::ops::Range;

use tree_sitter::Node;

use loci_parsing::decode::decode_text;
use loci_parsing::kind::Kind;
use loci_parsing::language::Language;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::{BlockKind, ParsedDocument};
use loci_parsing::writing::blocks::Blocks;

mod c;
mod go;
mod java;
mod javascript;
mod lines;
mod python;
mod rust;
mod syntax;

/// Containers open at once; what is nested deeper stays in one block.
const CONTAINER_DEPTH_MAX: usize = 32;

pub(super) fn parse(
    language: Language,
    bytes: &[u8],
    file_name: Option<&str>,
    limits: &Limits,
) -> Result<ParsedDocument, ParseError> {
    let decoded = decode_text(bytes, limits)?;
    let source = &decoded.text[decoded.start..];
    let (language, cuts) = match syntax::read(language, source, file_name) {
        Some(read) => {
            let reader = Reader::new(read.grammar, source);
            (read.language, reader.read(read.tree.root_node()))
        }
        None => (language, lines::divide(source)),
    };
    let blocks = cuts.blocks(source, limits)?;
    let mut document = ParsedDocument {
        kind: Kind::Code(language),
        title: file_name.map(str::to_owned),
        text_is_original: true,
        blocks: blocks.finish_shifted(decoded.start),
        text: decoded.text,
        ..ParsedDocument::default()
    };
    document
        .facts
        .state("programming_language", language.name());
    Ok(document)
}

/// What a node is to the division of a file.
#[derive(Debug)]
enum Role<'tree> {
    /// A block of its own.
    Item { what: &'static str, name: String },
    /// A block for its head; its body is divided further.
    Container(Container<'tree>),
    /// A comment, attribute or decorator: it belongs to what follows.
    Leading,
    /// The file's documentation.
    ModuleDoc,
    /// A statement that is gathered into runs: `imports`, `const`, `macro` or `other`.
    Statement(&'static str),
    /// Braces or a condition around items that are as if it were not there. What comes before
    /// `head_end` belongs to the first of them.
    Group { body: Node<'tree>, head_end: usize },
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

/// Where a node is.
#[derive(Clone, Copy, Debug)]
struct NodeContext {
    /// Directly in an `impl`, `trait` or `class`.
    in_type: bool,
    /// Nothing but comments came before it in the file.
    is_first: bool,
}

trait Grammar {
    fn language(&self) -> tree_sitter::Language;
    /// What `node` is.
    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree>;
    /// What is between the parts of a symbol.
    fn separator(&self) -> &'static str;
}

impl<'tree> Role<'tree> {
    /// A container whose members' symbols begin with its name.
    fn container(what: &'static str, name: String, body: Node<'tree>, is_type: bool) -> Self {
        Role::Container(Container {
            what,
            scope: name.clone(),
            name,
            body,
            is_type,
        })
    }
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

/// Whether a comment that opens a file tells what the file is for: not its licence, and not what
/// is below it.
fn is_file_doc(comment: Node<'_>, source: &str, context: NodeContext) -> bool {
    let Some(run) = comment_run(comment, source).filter(|_| context.is_first) else {
        return false;
    };
    let comment_text = &source[run.clone()];
    let names_file = ["@file", "\\file", "@module", "@packageDocumentation"];
    let is_tagged = names_file.iter().any(|tag| comment_text.contains(tag));
    is_prose(comment_text) && (is_tagged || blank_line_follows(source, run.end))
}

/// Longer runs of comments are no documentation but code that is left out, in lines.
const COMMENT_LINES_MAX: usize = 100;

/// A comment with those on the lines that touch it; `None` where they are too many.
fn comment_run(comment: Node<'_>, source: &str) -> Option<Range<usize>> {
    let Range { start, end } = comment.byte_range();
    if !source[start..].starts_with("//") {
        return Some(start..end);
    }
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let (mut from, mut to, mut count) = (line_start(source, start), end, 0);
    let above = source[..from].split_inclusive('\n').rev();
    for line in above.take_while(is_comment).take(COMMENT_LINES_MAX) {
        from -= line.len();
        count += 1;
    }
    let mut lines = source[end..].split_inclusive('\n');
    let mut line_end = end + lines.next().map_or(0, str::len);
    for line in lines.take_while(is_comment).take(COMMENT_LINES_MAX) {
        line_end += line.len();
        to = line_end;
        count += 1;
    }
    let len = source[from..to].trim_end().len();
    (count < COMMENT_LINES_MAX).then_some(from..from + len)
}

fn blank_line_follows(source: &str, from: usize) -> bool {
    let gap = &source[from..];
    let gap = &gap[..gap.len() - gap.trim_start().len()];
    gap.matches('\n').count() > 1
}

/// Whether a comment is worth reading: licences and lines for machines are not.
fn is_prose(comment: &str) -> bool {
    let folded = comment.to_ascii_lowercase();
    let formal = [
        "licen",
        "copyright",
        "all rights reserved",
        "generated by",
        "#!",
        "eslint-",
        "-*-",
        "coding:",
        "frozen_string_literal",
    ];
    folded.contains(char::is_alphabetic) && !formal.iter().any(|word| folded.contains(word))
}

/// Where blocks begin: each ends before the next, so no line is lost.
#[derive(Default)]
struct BlockStarts(Vec<BlockStart>);

struct BlockStart {
    start: usize,
    kind: BlockKind,
    /// Whether like statements that follow join the block.
    is_run: bool,
}

impl BlockStarts {
    /// Begins a block at the line that `start` is on, or at `start` where text is before it.
    fn add(&mut self, source: &str, start: usize, kind: BlockKind, is_run: bool) {
        let start = line_start(source, start);
        if let Some(last) = self.0.last()
            && (start <= last.start || (is_run && last.is_run && last.kind == kind))
        {
            return;
        }
        self.0.push(BlockStart {
            start,
            kind,
            is_run,
        });
    }

    fn blocks<'l>(mut self, source: &str, limits: &'l Limits) -> Result<Blocks<'l>, ParseError> {
        match self.0.first_mut() {
            Some(first) => first.start = 0,
            None => self.add(source, 0, definition(String::new(), "other"), true),
        }
        let mut blocks = Blocks::new(limits);
        let ends = self.0.iter().skip(1).map(|cut| cut.start);
        let ends: Vec<usize> = ends.chain([source.len()]).collect();
        for (cut, end) in self.0.into_iter().zip(ends) {
            let range = without_blank_lines(source, cut.start..end);
            if !range.is_empty() {
                blocks.push(cut.kind, range, Vec::new())?;
            }
        }
        Ok(blocks)
    }
}

/// Divides a file at *cuts*: a line that closes a container belongs to the container's last block.
struct Reader<'a> {
    grammar: &'a dyn Grammar,
    source: &'a str,
    starts: BlockStarts,
    /// Whether anything but comments was seen.
    has_statement: bool,
}

/// A container, a group, or the file, while its children are read.
struct Level<'tree> {
    children: std::vec::IntoIter<Node<'tree>>,
    scope: String,
    is_type: bool,
    is_file: bool,
    is_group: bool,
    /// Whether a member was seen. Before that, statements belong to the head.
    has_member: bool,
    /// Comments and attributes that wait for what they belong to.
    leading: Option<Range<usize>>,
    /// Whether the lead holds the head of the group, which is never parted from what follows.
    is_leading_attached: bool,
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
            is_group: false,
            has_member: is_file,
            leading: None,
            is_leading_attached: false,
            end: parent.start_byte(),
        }
    }

    /// A group at this level; `head` is its text before the first of its children.
    fn group(&self, body: Node<'tree>, head: Range<usize>) -> Self {
        let mut level = Level::new(body, self.scope.clone(), self.is_type, self.is_file);
        let children = std::mem::take(&mut level.children);
        let children: Vec<_> = children.filter(|n| n.start_byte() >= head.end).collect();
        level.is_group = true;
        level.has_member = self.has_member;
        level.is_leading_attached = !children.is_empty() && !head.is_empty();
        level.leading = level.is_leading_attached.then_some(head);
        level.children = children.into_iter();
        level
    }
}

impl<'a> Reader<'a> {
    fn new(grammar: &'a dyn Grammar, source: &'a str) -> Self {
        Reader {
            grammar,
            source,
            starts: BlockStarts::default(),
            has_statement: false,
        }
    }

    fn read(mut self, root: Node<'_>) -> BlockStarts {
        let mut levels = vec![Level::new(root, String::new(), false, true)];
        while let Some(mut level) = levels.pop() {
            let Some(node) = level.children.next() else {
                self.detach_leading(&mut level);
                if let Some(outer) = levels.last_mut()
                    && level.is_group
                {
                    outer.has_member |= level.has_member;
                }
                continue;
            };
            let inner = self.node(node, &mut level, levels.len());
            levels.push(level);
            levels.extend(inner);
        }
        self.starts
    }

    /// Takes note of one child; returns the level below it when it is a container or a group.
    fn node<'t>(
        &mut self,
        node: Node<'t>,
        level: &mut Level<'t>,
        depth: usize,
    ) -> Option<Level<'t>> {
        let context = NodeContext {
            in_type: level.is_type,
            is_first: !self.has_statement,
        };
        let role = self.grammar.role(node, self.source, context);
        if let Role::Leading = role {
            self.add_leading(node, level);
            return None;
        }
        let range = node.byte_range();
        let start = self.start_with_leading(&range, level);
        level.end = range.end;
        if let Role::Group { body, head_end } = role
            && depth < CONTAINER_DEPTH_MAX
        {
            return Some(level.group(body, start..head_end.max(start)));
        }
        self.has_statement |= !matches!(role, Role::ModuleDoc);
        match role {
            Role::Container(container) if depth < CONTAINER_DEPTH_MAX => {
                level.has_member = true;
                let symbol = self.item_symbol(&level.scope, &container.name);
                self.start_block(start, definition(symbol, container.what), false);
                let scope = self.symbol(&level.scope, &container.scope);
                return Some(Level::new(container.body, scope, container.is_type, false));
            }
            Role::Container(Container { what, name, .. }) | Role::Item { what, name } => {
                level.has_member = true;
                let symbol = self.item_symbol(&level.scope, &name);
                self.start_block(start, definition(symbol, what), false);
            }
            Role::ModuleDoc if level.is_file => self.start_block(start, BlockKind::Paragraph, true),
            Role::Statement(what) if level.has_member => self.run(start, what),
            Role::Group { .. } if level.has_member => self.run(start, "other"),
            _ => {}
        }
        None
    }

    /// Keeps a comment or attribute until it is known what it belongs to.
    fn add_leading(&mut self, node: Node<'_>, level: &mut Level<'_>) {
        let range = node.byte_range();
        // A comment behind a statement, on its line, belongs to the statement.
        let is_behind = level.leading.is_none()
            && level.end > 0
            && level.end < range.start
            && !self.source[level.end..range.start].contains('\n');
        if is_behind {
            level.end = range.end;
            return;
        }
        match &mut level.leading {
            Some(lead)
                if level.is_leading_attached
                    || !has_blank_line(self.source, lead.end, range.start) =>
            {
                lead.end = range.end;
            }
            _ => {
                self.detach_leading(level);
                level.leading = Some(range);
            }
        }
    }

    /// Where a node begins with the comments that touch it.
    fn start_with_leading(&mut self, range: &Range<usize>, level: &mut Level<'_>) -> usize {
        let is_fast = std::mem::take(&mut level.is_leading_attached);
        match &level.leading {
            Some(lead) if is_fast || !has_blank_line(self.source, lead.end, range.start) => {
                let start = lead.start;
                level.leading = None;
                start
            }
            _ => {
                self.detach_leading(level);
                range.start
            }
        }
    }

    /// Writes comments that belong to nothing as statements of their own. Those that touch what
    /// is above them stay with it: some headers document that way.
    fn detach_leading(&mut self, level: &mut Level<'_>) {
        if let Some(lead) = level.leading.take()
            && level.is_file
            && (level.end == 0 || has_blank_line(self.source, level.end, lead.start))
        {
            self.run(lead.start, "other");
        }
    }

    fn symbol(&self, scope: &str, name: &str) -> String {
        symbol(scope, self.grammar.separator(), name)
    }

    /// What has no name of its own has none of its scope either.
    fn item_symbol(&self, scope: &str, name: &str) -> String {
        match name {
            "" => String::new(),
            _ => self.symbol(scope, name),
        }
    }

    /// A statement: joins the run before it where that is of the same sort.
    fn run(&mut self, start: usize, what: &str) {
        self.start_block(start, definition(String::new(), what), true);
    }

    fn start_block(&mut self, start: usize, kind: BlockKind, is_run: bool) {
        self.starts.add(self.source, start, kind, is_run);
    }
}

/// Longer symbols lose their scope, or all: each member of a scope repeats its name. In bytes.
const SYMBOL_LEN_MAX: usize = 1_000;

/// A name within its scope; either may be empty.
fn symbol(scope: &str, separator: &str, name: &str) -> String {
    match (scope, name) {
        _ if name.len() > SYMBOL_LEN_MAX => String::new(),
        ("", _) => name.to_owned(),
        _ if scope.len() + name.len() > SYMBOL_LEN_MAX => name.to_owned(),
        (_, "") => scope.to_owned(),
        _ => format!("{scope}{separator}{name}"),
    }
}

fn definition(symbol: String, what: &str) -> BlockKind {
    BlockKind::Definition {
        symbol,
        what: what.to_owned(),
    }
}

/// The start of the line that `at` is on, when only white space is before it there.
fn line_start(source: &str, at: usize) -> usize {
    // No further than the indent: all of a file may be one line.
    let start = source[..at]
        .trim_end_matches([' ', '\t', '\u{c}', '\r'])
        .len();
    if source[..start].ends_with('\n') || start == 0 {
        start
    } else {
        at
    }
}

/// Whether a line without text is between the last text before `from` and `to`.
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
