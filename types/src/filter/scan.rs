//! A filter's text as words, and words as text.

use super::error::{FilterError, Problem};

/// A piece of a filter, with the column where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// Characters before it, plus one.
    pub(super) column: usize,
    /// Whether it directly follows the piece before.
    pub(super) glued: bool,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A bare word or number.
    Word(String),
    /// What stood in quotes.
    Quoted(String),
    /// An operator or a mark.
    Mark(&'static str),
    /// Nothing more.
    End,
}

/// Marks, longer ones first.
const MARKS: &[&str] = &[
    "!=", "<=", ">=", "..", "=", "<", ">", "(", ")", "[", "]", ",",
];

/// Words that must be quoted to be values.
const WORDS: &[&str] = &["and", "or", "not", "in", "has", "prefix"];

/// The pieces of `text`; the last is [`TokenKind::End`].
pub(super) fn scan(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut tokens = Vec::new();
    let (mut rest, mut column, mut glued) = (text, 1, false);
    loop {
        let trimmed = rest.trim_start();
        glued &= trimmed.len() == rest.len();
        column += rest[..rest.len() - trimmed.len()].chars().count();
        rest = trimmed;
        if rest.is_empty() {
            tokens.push(Token {
                column,
                glued: false,
                kind: TokenKind::End,
            });
            return Ok(tokens);
        }
        let (kind, len) = next(rest).map_err(|problem| FilterError { column, problem })?;
        tokens.push(Token {
            column,
            glued,
            kind,
        });
        column += rest[..len].chars().count();
        rest = &rest[len..];
        glued = true;
    }
}

/// The piece at the start of `rest`, which is not empty, and its length in bytes.
fn next(rest: &str) -> Result<(TokenKind, usize), Problem> {
    if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        return quoted_piece(rest, quote);
    }
    if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
        return Ok((TokenKind::Mark(mark), mark.len()));
    }
    let len = word_len(rest);
    if len == 0 {
        let found = rest.chars().next().map(String::from).unwrap_or_default();
        return Err(Problem::Expected {
            what: "a field or a value",
            found,
        });
    }
    Ok((TokenKind::Word(rest[..len].to_owned()), len))
}

/// Bytes of the bare word at the start of `rest`: it ends before white space, marks and quotes.
fn word_len(rest: &str) -> usize {
    let ends = |(at, c): (usize, char)| {
        c.is_whitespace() || "=<>!()[],\"".contains(c) || rest[at..].starts_with("..")
    };
    let end = rest.char_indices().find(|&piece| ends(piece));
    end.map_or(rest.len(), |(at, _)| at)
}

/// Text in quotes: `\` before a quote or another `\` takes it as it is.
fn quoted_piece(rest: &str, quote: char) -> Result<(TokenKind, usize), Problem> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((TokenKind::Quoted(text), at + 1));
        }
        let escaped = chars.next_if(|&(_, next)| c == '\\' && (next == quote || next == '\\'));
        text.push(escaped.map_or(c, |(_, next)| next));
    }
    Err(Problem::NotClosed {
        what: "the quotation",
    })
}

/// Whether `word` is one of the language's own.
pub(super) fn is_own(word: &str) -> bool {
    WORDS.iter().any(|own| own.eq_ignore_ascii_case(word))
}

/// `text` as it is written in a filter: bare where that is clear, else in quotes.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.contains("..") && !is_own(text) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
