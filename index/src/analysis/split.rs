//! What a word is made of: one piece, a number, an acronym, or several parts.

use unicode_normalization::char::is_combining_mark;

/// How a word becomes terms. The text inside has no signs at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordShape<'t> {
    /// One piece.
    Plain(&'t str),
    /// Digits with signs between them, meant as one number.
    Number(&'t str),
    /// Single letters with full stops between them.
    Acronym(&'t str),
    /// A name with a sign at its end, and without.
    Suffixed(&'t str, &'t str),
    /// Several [`parts`].
    Compound(&'t str),
}

/// Whether `c` separates parts of a word. Apostrophes and marks belong to their part.
pub(super) fn is_sign(c: char) -> bool {
    !c.is_alphanumeric() && !is_combining_mark(c) && !matches!(c, '\'' | '\u{2018}' | '\u{2019}')
}

/// The shape of `word`, as word segmentation gave it.
pub(super) fn word_shape(word: &str) -> WordShape<'_> {
    let bare = word.trim_end_matches(['+', '#']);
    if bare.len() < word.len() && !bare.is_empty() {
        return WordShape::Suffixed(word, bare);
    }
    let word = word.trim_matches(|c| is_sign(c) || c == '\'');
    if let Some(capitals) = word.strip_suffix('s')
        && capitals.len() > 1
        && capitals.bytes().all(|b| b.is_ascii_uppercase())
    {
        return WordShape::Plain(capitals);
    }
    if !word.contains(|c: char| is_sign(c) || c.is_uppercase()) {
        return WordShape::Plain(word);
    }
    if is_number(word) {
        return WordShape::Number(word);
    }
    if is_acronym(word) {
        return WordShape::Acronym(word);
    }
    // Parts that are not kept still make the word a compound: `x_1` is not `x`.
    match split_at_signs(word).nth(1) {
        None => WordShape::Plain(word),
        Some(_) => WordShape::Compound(word),
    }
}

/// The parts of a compound word worth a term of their own: all but single letters and digits.
pub(super) fn parts(word: &str) -> impl Iterator<Item = &str> {
    split_at_signs(word).filter(|part| part.chars().nth(1).is_some())
}

/// `1.5`, `1.2.3`, `1,000,000`: but not `1,2`, which is two numbers.
fn is_number(word: &str) -> bool {
    let mut groups = word.split(',');
    let first = groups.next().unwrap_or_default();
    let is_figure = |c: char| c.is_numeric() || c == '.';
    let mut rest = groups.peekable();
    if rest.peek().is_none() {
        return first.chars().all(is_figure);
    }
    let is_short = (1..=3).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_digit());
    let mut decimals_follow = false;
    let thousands = rest.all(|group| {
        let (figures, decimals) = group.split_once('.').map_or((group, ""), |split| split);
        let in_order = !std::mem::replace(&mut decimals_follow, group.contains('.'));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        in_order && figures.len() == 3 && digits(figures) && digits(decimals)
    });
    is_short && thousands
}

/// `U.S.A`: at least two letters, each alone.
fn is_acronym(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|letter| {
            let mut chars = letter.chars();
            chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
        })
}

/// `word` cut at signs and where its case changes; the pieces are not empty.
fn split_at_signs(word: &str) -> impl Iterator<Item = &str> {
    word.split(is_sign)
        .flat_map(case_runs)
        .filter(|part| !part.is_empty())
}

/// `piece` cut before capitals that start a part.
fn case_runs(piece: &str) -> impl Iterator<Item = &str> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (run, after) = rest.split_at(next_part(rest).unwrap_or(rest.len()));
        rest = after;
        Some(run)
    })
}

/// Where the second part of `piece` starts: at a capital after a small letter (`parse|Http`), or
/// at a capital before a small letter (`HTTP|Server`, `bm25|Index`), save for a plural (`LLMs`).
fn next_part(piece: &str) -> Option<usize> {
    let mut before = piece.chars().next()?;
    for (at, c) in piece.char_indices().skip(1) {
        let mut after = piece[at..].chars().skip(1);
        let starts_word =
            after.next().is_some_and(char::is_lowercase) && &piece[at + c.len_utf8()..] != "s";
        if c.is_uppercase() && (before.is_lowercase() || starts_word) {
            return Some(at);
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_shape_is_classified() {
        use WordShape::{Acronym, Compound, Number, Plain, Suffixed};
        let cases: &[(&str, WordShape<'_>)] = &[
            ("word", Plain("word")),
            ("Word", Plain("Word")),
            ("WORD", Plain("WORD")),
            ("LLMs", Plain("LLM")),
            ("C++", Suffixed("C++", "C")),
            ("can't", Plain("can't")),
            ("_emphasis_", Plain("emphasis")),
            ("utf8", Plain("utf8")),
            ("3.14", Number("3.14")),
            ("1,000", Number("1,000")),
            ("1,000,000.50", Number("1,000,000.50")),
            ("1.2.3", Number("1.2.3")),
            ("1,2", Compound("1,2")),
            ("1.000,5", Compound("1.000,5")),
            ("U.S.A", Acronym("U.S.A")),
            ("e.g", Acronym("e.g")),
            ("snake_case", Compound("snake_case")),
            ("end.Next", Compound("end.Next")),
        ];
        for (word, expected) in cases {
            assert_eq!(word_shape(word), *expected, "{word}");
        }
    }

    #[test]
    fn words_are_split_into_parts() {
        let cases: &[(&str, &[&str])] = &[
            ("parseHttpRequest", &["parse", "Http", "Request"]),
            ("HTTPServer", &["HTTP", "Server"]),
            ("BM25Index", &["BM25", "Index"]),
            ("snake_case", &["snake", "case"]),
            ("H2O", &["H2O"]),
            ("PhD", &["Ph"]),
            ("std.io.Read", &["std", "io", "Read"]),
            ("x_1", &[]),
        ];
        for (word, expected) in cases {
            assert_eq!(parts(word).collect::<Vec<_>>(), *expected, "{word}");
        }
    }
}
