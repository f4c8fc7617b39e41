//! Source code without a grammar: blocks by empty lines and indents.
//!
//! A block begins at a line of the outermost indent that follows an empty line, or that begins a
//! definition ([`look`]); the comments above it go with it. A definition that holds others (a class,
//! a module) opens a container: within it, blocks begin at the indent of its first line, and
//! their symbols are qualified by its name.
//!
//! Where it is unsure the lines stay in the block that is open.

use super::look::{self, Comments, Look};
use super::{Cuts, definition, is_prose};
use crate::language::Language;
use crate::tree::BlockKind;

/// Containers open at once.
const DEPTH_MAX: usize = 32;
/// What a tab is worth, in columns.
const TAB: usize = 4;

/// Words that close what an earlier line opened, where they begin a line.
const CLOSING: &[&str] = &[
    "end",
    "fi",
    "done",
    "esac",
    "else",
    "elif",
    "elsif",
    "elseif",
    "catch",
    "finally",
    "rescue",
    "ensure",
    "then",
    "do",
    "until",
    "endif",
    "endfunction",
    "endmodule",
    "endclass",
    "begin",
    "where",
    "in",
    "END",
    "End",
    "BEGIN",
];

/// A definition whose members are being read.
struct Container {
    indent: usize,
    scope: String,
    /// Whether functions in it are methods.
    is_type: bool,
    /// The indent of its members, once one was seen.
    member: Option<usize>,
}

struct Divider<'a> {
    language: Language,
    comments: Comments,
    source: &'a str,
    cuts: Cuts,
    containers: Vec<Container>,
    /// Where comments stand that wait for what they belong to.
    lead: Option<usize>,
    /// What ends the comment that is open.
    comment_end: Option<&'static str>,
    is_after_blank: bool,
    /// Whether the line before says that it goes on.
    is_open: bool,
}

pub(super) fn divide(language: Language, source: &str) -> Cuts {
    let mut divider = Divider {
        language,
        comments: look::comments(language),
        source,
        cuts: Cuts::default(),
        containers: Vec::new(),
        lead: None,
        comment_end: None,
        is_after_blank: true,
        is_open: false,
    };
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        divider.line(start, line);
        start += line.len();
    }
    divider.cuts
}

impl Divider<'_> {
    fn line(&mut self, start: usize, line: &str) {
        let code = line.trim();
        if let Some(end) = self.comment_end {
            if code.contains(end) {
                self.comment_end = None;
            }
            return;
        }
        if code.is_empty() {
            self.is_after_blank = true;
            self.head_comment(start);
            return;
        }
        let indent = indent(line);
        if self.opens_comment(code) || self.comments.is_lead(code) {
            if self.is_member(indent) && self.lead.is_none() {
                self.lead = Some(start);
            }
            return;
        }
        self.code(start, indent, code);
        self.lead = None;
        self.is_after_blank = false;
        self.is_open = code.ends_with([',', '\\']);
    }

    /// A comment that opens the file and stands alone is a block of its own.
    fn head_comment(&mut self, end: usize) {
        if self.cuts.0.is_empty()
            && let Some(start) = self.lead.take()
        {
            let kind = if is_prose(&self.source[start..end]) {
                BlockKind::Paragraph
            } else {
                definition(String::new(), "other")
            };
            self.cuts.add(self.source, start, kind, false);
        }
    }

    fn opens_comment(&mut self, code: &str) -> bool {
        let opened = self.comments.blocks.iter();
        let opened = opened.copied().find(|(open, _)| code.starts_with(open));
        let Some((open, close)) = opened else {
            return false;
        };
        if !code[open.len()..].contains(close) {
            self.comment_end = Some(close);
        }
        true
    }

    /// Whether a line of this indent may begin a block.
    fn is_member(&self, indent: usize) -> bool {
        match self.container_of(indent) {
            Some(container) => container.member.is_none_or(|member| indent <= member),
            None => indent == 0,
        }
    }

    fn container_of(&self, indent: usize) -> Option<&Container> {
        let mut containers = self.containers.iter().rev();
        containers.find(|container| container.indent < indent)
    }

    fn code(&mut self, start: usize, indent: usize, code: &str) {
        // A brace of its own, or `) : Base() {`, only goes on with the head.
        if !(is_closing(code) && code.ends_with(['{', ':'])) {
            self.containers
                .retain(|container| container.indent < indent);
        }
        if is_closing(code) || !self.is_member(indent) {
            return;
        }
        if let Some(container) = self.containers.last_mut() {
            container.member = Some(indent);
        }
        let found = look::look(self.language, code);
        let is_definition = found.as_ref().is_some_and(|found| !found.symbol.is_empty());
        if !self.is_after_blank && (self.is_open || !is_definition) {
            return;
        }
        let start = self.lead.unwrap_or(start);
        let Look {
            what,
            symbol,
            is_container,
        } = found.unwrap_or_default();
        let (scope, is_type) = match self.containers.last() {
            Some(outer) if !symbol.is_empty() => (&outer.scope[..], outer.is_type),
            _ => ("", false),
        };
        let what = match what {
            "function" if is_type => "method",
            what => what,
        };
        let symbol = super::symbol(scope, look::separator(self.language), &symbol);
        let is_run = what == "imports";
        self.cuts
            .add(self.source, start, definition(symbol.clone(), what), is_run);
        if is_container && self.containers.len() < DEPTH_MAX {
            self.containers.push(Container {
                indent,
                scope: symbol,
                is_type: what != "module",
                member: None,
            });
        }
    }
}

fn indent(line: &str) -> usize {
    let white = line.bytes().take_while(|b| matches!(b, b' ' | b'\t'));
    white.map(|b| if b == b'\t' { TAB } else { 1 }).sum()
}

/// Whether a line only goes on with, or ends, what stands above it.
fn is_closing(code: &str) -> bool {
    let word_end = code.find(|c: char| !c.is_alphanumeric() && c != '_');
    let word = &code[..word_end.unwrap_or(code.len())];
    code.starts_with(['}', ')', ']', '{']) || code.starts_with("@end") || CLOSING.contains(&word)
}
