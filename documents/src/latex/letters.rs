//! Accents and signs that LaTeX writes as commands, in Unicode.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::commands;

/// The combining character of an accent's command, and letters that have one of their own with it.
type Accent = (char, Vec<&'static str>);

static ACCENTS: LazyLock<HashMap<&str, Accent>> = LazyLock::new(|| {
    let lines = include_str!("accents.txt").lines();
    lines.filter_map(accent).collect()
});

/// `name hex-of-combining-character pairs…`
fn accent(line: &'static str) -> Option<(&'static str, Accent)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| *name != "#")?;
    let combining = char::from_u32(u32::from_str_radix(words.next()?, 16).ok()?)?;
    Some((name, (combining, words.collect())))
}

/// Whether a command sets an accent.
pub(super) fn is_accent(name: &str) -> bool {
    ACCENTS.contains_key(name)
}

/// A letter with an accent; what follows the letter is kept.
pub(super) fn accented(name: &str, letter: &str) -> String {
    let letter = if letter == "ȷ" { "j" } else { letter };
    let Some((combining, composed)) = ACCENTS.get(name) else {
        return letter.to_owned();
    };
    let mut chars = letter.chars();
    let Some(base) = chars.next() else {
        return String::new();
    };
    let whole = composed.iter().find_map(|pair| pair.strip_prefix(base));
    let mut out = match whole {
        Some(whole) => whole.to_owned(),
        None => format!("{}{combining}", if base == 'ı' { 'i' } else { base }),
    };
    out.push_str(chars.as_str());
    out
}

/// The sign that a command writes.
pub(super) fn sign(name: &str) -> Option<&'static str> {
    match name {
        " " | "\n" | "\t" | "," | ";" | ":" | ">" => Some(" "),
        "!" | "/" | "-" | "@" => Some(""),
        "%" => Some("%"),
        "&" => Some("&"),
        "#" => Some("#"),
        "$" => Some("$"),
        "_" => Some("_"),
        "{" => Some("{"),
        "}" => Some("}"),
        _ => match commands::sign(name)? {
            "space" => Some(" "),
            sign => Some(sign),
        },
    }
}
