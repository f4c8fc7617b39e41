//! Source code without a grammar: divided at empty lines before what is not indented.
//!
//! A block has a name where its first line of code names a definition in the words that most languages share:
//! `public class Stack`, `def push(x)`, `CREATE TABLE users (`. Nothing else is guessed.

use super::{BlockStarts, definition, is_prose};
use crate::tree::BlockKind;

/// What a line defines, and the words that are before its name.
const DEFINING: &[(&str, &str)] = &[
    (
        "function",
        "function func fun def sub proc procedure subroutine",
    ),
    ("class", "class contract object"),
    ("struct", "struct message"),
    ("enum", "enum"),
    ("trait", "trait"),
    ("interface", "interface protocol"),
    ("type", "table type"),
    ("module", "module namespace defmodule"),
];
/// What a line begins with that only says something of what follows.
const COMMENTS: &[&str] = &["#", "//", "/*", " *", "--", ";", "%", "@"];
/// Words before which a line may say what it defines: `public static final class`.
const WORDS_MAX: usize = 5;

pub(super) fn divide(source: &str) -> BlockStarts {
    let mut cuts = BlockStarts::default();
    let (mut start, mut is_after_blank) = (0, true);
    for line in source.split_inclusive('\n') {
        let code = line.trim_end();
        let goes_on = code.starts_with([' ', '\t', '}', ')', ']', '{']);
        if is_after_blank && !code.is_empty() && !goes_on {
            let kind = kind(&source[start..], cuts.0.is_empty());
            cuts.add(source, start, kind, false);
        }
        is_after_blank = code.is_empty();
        start += line.len();
    }
    cuts
}

/// What the block that `rest` begins with is.
fn kind(rest: &str, is_first: bool) -> BlockKind {
    let mut lines = rest.lines().take_while(|line| !line.trim().is_empty());
    let is_comment = |line: &&str| COMMENTS.iter().any(|mark| line.starts_with(mark));
    match lines.by_ref().find(|line| !is_comment(line)) {
        Some(line) => {
            let (what, name) = named(line).unwrap_or(("other", ""));
            definition(name.to_owned(), what)
        }
        None if is_first && is_prose(rest.split("\n\n").next().unwrap_or(rest)) => {
            BlockKind::Paragraph
        }
        None => definition(String::new(), "other"),
    }
}

fn named(line: &str) -> Option<(&'static str, &str)> {
    let mut words = line.split_whitespace();
    let what = words.by_ref().take(WORDS_MAX).find_map(|word| {
        let is_known = |known: &str| word.eq_ignore_ascii_case(known);
        let mut all = DEFINING.iter();
        let found = all.find(|(_, words)| words.split(' ').any(is_known))?;
        Some(found.0)
    })?;
    let rest = words.next()?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$' | '?' | '!');
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let name = rest[..end].trim_end_matches(':');
    let is_named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_named && name.len() <= super::SYMBOL_LEN_MAX).then_some((what, name))
}
