//! Source to its syntax tree: the grammar that reads a file with the fewest errors.
//!
//! A name does not always tell the dialect: a `.h` file may be C++, a `.ts` file may hold JSX. So each
//! way to read a file is tried, in order, until one finds no error; else the one that finds least
//! wrong is taken.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::{Grammar, c, go, java, javascript, python, rust};
use crate::language::Language;

/// Larger files are generated, and their trees would take gigabytes.
const SOURCE_BYTES_MAX: usize = 8 << 20;
/// A file is given up when its parser reports more often than once in so many bytes: honest ones
/// report once in a hundred, and a report takes longer the more ways there are to read what is
/// before it.
const BYTES_PER_PROGRESS_CALL: usize = 32;
/// Reports that every file may take, however short.
const PROGRESS_CALLS_MIN: usize = 5_000;
/// A tree is trusted when at most one of so many bytes is wrong.
const BYTES_PER_ERROR_MIN: usize = 2;

/// A way to read a file.
struct Candidate {
    grammar: &'static dyn Grammar,
    language: Language,
}

/// A file as it was read.
pub(super) struct ParsedSource {
    pub(super) grammar: &'static dyn Grammar,
    pub(super) language: Language,
    pub(super) tree: Tree,
}

/// The best tree of `source`, or `None` where no grammar makes sense of it.
pub(super) fn read(
    language: Language,
    source: &str,
    file_name: Option<&str>,
) -> Option<ParsedSource> {
    if source.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let mut best: Option<(usize, ParsedSource)> = None;
    for candidate in candidates(language, source, file_name) {
        // What one grammar gives up, the others would as well.
        let tree = parse(candidate.grammar, source)?;
        let wrong = error_bytes(tree.root_node());
        if best.as_ref().is_none_or(|(least, _)| wrong < *least) {
            let read = ParsedSource {
                grammar: candidate.grammar,
                language: candidate.language,
                tree,
            };
            best = Some((wrong, read));
        }
        if wrong == 0 {
            break;
        }
    }
    let (wrong, read) = best?;
    (wrong <= source.len() / BYTES_PER_ERROR_MIN).then_some(read)
}

fn candidates(language: Language, source: &str, file_name: Option<&str>) -> Vec<Candidate> {
    let candidate = |grammar, language| Candidate { grammar, language };
    let is_header = file_name.is_some_and(|name| name.ends_with(".h"));
    match language {
        Language::Rust => vec![candidate(&rust::Rust, language)],
        Language::Python => vec![candidate(&python::Python, language)],
        Language::Go => vec![candidate(&go::Go, language)],
        Language::Java => vec![candidate(&java::Java, language)],
        Language::JavaScript => vec![candidate(&javascript::Dialect::JavaScript, language)],
        Language::TypeScript => {
            let mut ways = vec![
                candidate(&javascript::Dialect::TypeScript, language),
                candidate(&javascript::Dialect::Tsx, language),
            ];
            if file_name.is_some_and(|name| name.ends_with('x')) {
                ways.reverse();
            }
            ways
        }
        Language::C if is_header && is_plainly_cpp(source) => {
            vec![candidate(&c::C { is_cpp: true }, Language::Cpp)]
        }
        Language::C => vec![candidate(&c::C { is_cpp: false }, language)],
        Language::Cpp => vec![candidate(&c::C { is_cpp: true }, language)],
        _ => Vec::new(),
    }
}

/// Whether a line of a header begins as only C++ does: the grammar of C takes some of it for functions.
fn is_plainly_cpp(source: &str) -> bool {
    const STARTS: &[&str] = &[
        "class ",
        "namespace ",
        "template <",
        "template<",
        "using ",
        "public:",
        "private:",
        "protected:",
    ];
    let begins = |line: &str| STARTS.iter().any(|start| line.starts_with(start));
    source.lines().any(|line| begins(line.trim_start()))
}

fn parse(grammar: &dyn Grammar, source: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).ok()?;
    let reports_max = PROGRESS_CALLS_MIN + source.len() / BYTES_PER_PROGRESS_CALL;
    let mut reports = 0;
    let mut count = |_: &_| {
        reports += 1;
        if reports > reports_max {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    let mut read = |at: usize, _| source.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// How much of a tree is no syntax: bytes in errors that hold no whole construct, and one for each
/// token that is missing.
fn error_bytes(root: Node<'_>) -> usize {
    let mut wrong = 0;
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_missing() {
            wrong += 1;
        }
        if node.is_error() {
            wrong += node.byte_range().len() - whole_constructs(node);
        }
        if node.has_error() && !node.is_missing() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return wrong;
            }
        }
    }
}

/// Bytes of the children of an error that are more than a word.
fn whole_constructs(error: Node<'_>) -> usize {
    let mut cursor = error.walk();
    let children = error.named_children(&mut cursor);
    children
        .filter(|child| child.is_extra() || child.child_by_field_name("body").is_some())
        .map(|child| child.byte_range().len())
        .sum()
}
