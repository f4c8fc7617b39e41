//! A look at the entities of a file before its XML is read, so that a small file cannot become a large one.
//!
//! Publishers declare a letter or a word and use it; nothing honest nests entities. The external document type, which
//! declares the letters of HTML (`&nbsp;`, `&alpha;`), is never fetched: those are written out here.

use std::borrow::Cow;
use std::collections::HashMap;

use scraper::Html;

use super::malformed;
use crate::limits::within;
use crate::limits::{Limits, ParseError};

/// Longest name of a letter (`CounterClockwiseContourIntegral`) and its semicolon.
const NAME_LEN_MAX: usize = 32;
/// Names that one file may use; HTML has 2,231.
const NAMES_MAX: usize = 3_000;

/// The source with the letters of HTML written out, once its own entities are known to be harmless.
pub(super) fn expand_entities<'s>(
    source: &'s str,
    limits: &Limits,
) -> Result<Cow<'s, str>, ParseError> {
    let declared = declared(source)?;
    let uses = source.matches('&').count();
    let longest = declared.iter().map(|entity| entity.len).max().unwrap_or(0);
    within(
        "bytes of text",
        uses.saturating_mul(longest),
        limits.text_max,
    )?;
    expand(source, &declared, limits)
}

struct Entity<'s> {
    name: &'s str,
    /// Bytes of its declaration.
    len: usize,
}

fn declared(source: &str) -> Result<Vec<Entity<'_>>, ParseError> {
    let mut found = Vec::new();
    for declaration in source.split("<!ENTITY").skip(1) {
        // Quoted, so a `>` may be in it: up to the next declaration is always long enough.
        let declaration = declaration
            .split_once("]>")
            .map_or(declaration, |(own, _)| own);
        let name = declaration.split_whitespace().next().unwrap_or_default();
        let value = &declaration[declaration.find(name).unwrap_or(0) + name.len()..];
        let nests = value
            .match_indices('&')
            .any(|(at, _)| !value[at + 1..].starts_with('#'));
        if nests || name == "%" {
            return Err(malformed("its entities hold other entities".to_owned()));
        }
        let len = declaration.len();
        found.push(Entity { name, len });
    }
    Ok(found)
}

fn expand<'s>(
    source: &'s str,
    declared: &[Entity<'_>],
    limits: &Limits,
) -> Result<Cow<'s, str>, ParseError> {
    let mut known: HashMap<&str, Option<String>> = HashMap::new();
    for name in ["amp", "lt", "gt", "quot", "apos"] {
        known.insert(name, None);
    }
    for entity in declared {
        known.insert(entity.name, None);
    }
    let mut text = String::new();
    let mut rest = 0;
    for (at, _) in source.match_indices('&') {
        let Some(name) = name_at(&source[at + 1..]) else {
            continue;
        };
        within("names of entities", known.len(), NAMES_MAX)?;
        let letter = known.entry(name).or_insert_with(|| letter(name));
        if let Some(letter) = letter {
            text.push_str(&source[rest..at]);
            text.push_str(letter);
            rest = at + name.len() + "&;".len();
        }
    }
    if rest == 0 {
        return Ok(Cow::Borrowed(source));
    }
    text.push_str(&source[rest..]);
    limits.check_text(text.len())?;
    Ok(Cow::Owned(text))
}

fn name_at(text: &str) -> Option<&str> {
    let end = text.bytes().take(NAME_LEN_MAX).position(|b| b == b';')?;
    let name = text.get(..end)?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// The letter that HTML knows by this name.
fn letter(name: &str) -> Option<String> {
    let html = Html::parse_fragment(&format!("&{name};"));
    let letter: String = html.root_element().text().collect();
    let is_markup = letter.contains(['&', '<']);
    (!letter.is_empty() && !is_markup).then_some(letter)
}
