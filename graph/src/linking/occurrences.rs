//! Where the names of concepts stand in a text.
//!
//! Start reading at [`first_occurrences`].

use std::collections::HashMap;
use std::ops::Range;

use super::normalise::{Word, singular, words};

/// Words that make the name before them what a text begins to define.
const DEFINING: &[&str] = &["are", "is", "means", "refers", "was", "were"];
/// Words that may stand before such a name.
const BEFORE_DEFINED: &[&str] = &["a", "an", "the"];

/// The first place of a name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Its characters.
    pub chars: Range<usize>,
    /// Whether the text begins with it and goes on to say what it is.
    pub is_defined: bool,
}

/// The first place in `text` of each of `names`, which are normalised; singular and plural are alike.
///
/// Costs one pass over the text, and a look-up a name.
pub fn first_occurrences(text: &str, names: &[&str]) -> Vec<Option<Occurrence>> {
    let words = words(text);
    let text: Vec<Stem> = words.iter().map(Stem::new).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, stem) in text.iter().enumerate() {
        places.entry(stem.as_str()).or_default().push(at);
    }
    let find = |name: &&str| {
        let name: Vec<Stem> = super::normalise::words(name)
            .iter()
            .map(Stem::new)
            .collect();
        let starts = places.get(name.first()?.as_str())?;
        let is_here = |start: &&usize| {
            let here = text.get(**start..**start + name.len());
            here.is_some_and(|here| here == name)
        };
        let start = *starts.iter().find(is_here)?;
        let end = start + name.len();
        Some(Occurrence {
            chars: words[start].chars.start..words[end - 1].chars.end,
            is_defined: is_defined(&words, start..end),
        })
    };
    names.iter().map(find).collect()
}

fn is_defined(words: &[Word], name: Range<usize>) -> bool {
    let before = &words[..name.start];
    let after = words.get(name.end).map(|word| word.text.as_str());
    before
        .iter()
        .all(|word| BEFORE_DEFINED.contains(&word.text.as_str()))
        && after.is_some_and(|word| DEFINING.contains(&word))
}

/// A word without the ending of a plural.
#[derive(PartialEq, Eq)]
struct Stem(String);

impl Stem {
    fn new(word: &Word) -> Stem {
        Stem(singular(&word.text).unwrap_or_else(|| word.text.clone()))
    }

    fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Option<(String, bool)> {
        let place = first_occurrences(text, &[name]).pop()??;
        let chars = text.chars().skip(place.chars.start);
        Some((chars.take(place.chars.len()).collect(), place.is_defined))
    }

    #[test]
    fn names_are_found_in_any_form() {
        let text = "The Schrödinger equations, and self-attention.";
        let written = |name| found(text, name).map(|(text, _)| text);
        assert_eq!(
            written("schrodinger equation").as_deref(),
            Some("Schrödinger equations")
        );
        assert_eq!(written("self attention").as_deref(), Some("self-attention"));
        assert_eq!(written("attention equations"), None);
        assert_eq!(written(""), None);
    }

    #[test]
    fn text_that_begins_with_a_name_defines_it() {
        let defines = |text| found(text, "river delta").map(|(_, is_defined)| is_defined);
        assert_eq!(defines("A river delta is a landform."), Some(true));
        assert_eq!(defines("River deltas are landforms."), Some(true));
        assert_eq!(defines("In a river delta is mud."), Some(false));
        assert_eq!(defines("River delta landforms"), Some(false));
    }
}
