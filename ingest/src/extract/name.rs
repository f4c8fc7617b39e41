//! Which runs of words are fit to name a concept.

use super::reading::WordUsage;
use crate::text::lexicon;
use crate::text::prose::Word;

/// The most words that a name has.
pub(crate) const NAME_WORDS_MAX: usize = 6;

/// The key that names are merged by within a file: singular words, one blank between them.
pub(crate) fn key(words: &[Word<'_>]) -> String {
    let singular: Vec<&str> = words.iter().map(|word| word.singular.as_str()).collect();
    singular.join(" ")
}

/// Cuts articles and weak adjectives off the front of a run and function words off its end.
pub(crate) fn core<'w, 'a>(mut run: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let lower = |w: &Word<'_>| w.surface.to_lowercase();
    while let [first, rest @ ..] = run
        && (lexicon::is_stop(&lower(first))
            || (lexicon::is_weak(&lower(first)) && !rest.is_empty() && !is_titled(run)))
        && !first.is_acronym()
    {
        run = rest;
    }
    while let [rest @ .., last] = run
        && lexicon::is_stop(&lower(last))
        && !last.is_acronym()
    {
        run = rest;
    }
    run
}

/// Whether the first two words are both capitalised, as in `New York`.
fn is_titled(run: &[Word<'_>]) -> bool {
    run.len() > 1 && run[..2].iter().all(Word::is_capitalised)
}

/// Whether a run of words names something: a noun phrase of at most [`NAME_WORDS_MAX`] words
/// without pronouns, verbs at its edges, or markup. Precision goes before recall.
pub(crate) fn is_name(run: &[Word<'_>], usage: &WordUsage) -> bool {
    let [first, .., last] = run else {
        return matches!(run, [word] if is_single_name(word, usage));
    };
    let lower = |w: &Word<'_>| w.surface.to_lowercase();
    let joined = run[1..].iter().all(|word| !word.gap_before);
    let inner = run[1..run.len() - 1]
        .iter()
        .all(|w| !lexicon::is_stop(&lower(w)) || lower(w) == "of");
    run.len() <= NAME_WORDS_MAX
        && joined
        && inner
        && run.iter().all(is_name_word)
        && can_start_name(first, usage)
        && can_end_name(last, usage)
        && run[1..].iter().all(|w| !w.surface.contains("::"))
        && run.iter().any(|w| letters(w.surface) >= 3)
}

/// Whether a word may be anywhere in a name: no debris, no apparatus, no lone small letter.
fn is_name_word(word: &Word<'_>) -> bool {
    let lone = word.surface.chars().count() == 1 && word.surface.starts_with(char::is_lowercase);
    has_only_word_chars(word.surface)
        && !lone
        && !lexicon::is_citation_word(&word.surface.to_lowercase())
}

fn can_start_name(word: &Word<'_>, usage: &WordUsage) -> bool {
    let lower = word.surface.to_lowercase();
    let proper = usage.is_proper(&lower) || word.is_acronym();
    let participle = if lower.ends_with("ing") {
        usage.noun_count(&lower) > 0
    } else {
        lower.ends_with("ed") && !usage.is_mostly_verb(&lower)
    };
    letters(word.surface) > 0
        && (!lexicon::is_stop(&lower) || word.is_acronym())
        && (!lexicon::is_weak(&lower) || word.is_capitalised())
        && !lexicon::is_adverb(&lower)
        && (proper || participle || !usage.acts_as_verb(&lower))
}

fn can_end_name(word: &Word<'_>, usage: &WordUsage) -> bool {
    let lower = word.surface.to_lowercase();
    letters(word.surface) + digits(word.surface) > 0
        && (!lexicon::is_stop(&lower) || word.is_acronym())
        && !lexicon::is_adverb(&lower)
        && !lexicon::is_weak(&lower)
        && !lexicon::is_vague(&word.singular)
        && (!lower.ends_with("ed") || usage.is_proper(&lower))
        && !lexicon::is_participle(&lower)
        && (lower.ends_with("ing") || !usage.acts_as_verb(&lower))
}

/// Whether a lower-case word ends like a past participle (`freed`, not `feed`).
fn is_past(lower: &str) -> bool {
    lower.ends_with("ed") && !lower.ends_with("eed") && lower.len() > 4
}

fn is_single_name(word: &Word<'_>, usage: &WordUsage) -> bool {
    let lower = word.surface.to_lowercase();
    let (letters, digits) = (letters(word.surface), digits(word.surface));
    let long = letters >= 3 || (letters == 2 && (word.is_acronym() || digits > 0));
    long && is_name_word(word)
        && (!is_past(&lower) || usage.is_proper(&lower))
        && !lexicon::is_stop(&lower)
        && !lexicon::is_general(&word.singular)
        && !lexicon::is_vague(&word.singular)
        && !lexicon::is_weak(&lower)
        && !lexicon::is_adverb(&lower)
        && (!usage.is_verb(&lower) || usage.is_proper(&lower))
}

/// Whether a word is free of what markup and typesetting leave behind.
pub(crate) fn has_only_word_chars(word: &str) -> bool {
    let allowed =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '‑' | '\'' | '’' | '.' | ':' | '_');
    let count = word.chars().count();
    count <= 40 && word.chars().all(allowed) && (letters(word) * 2 > count || letters(word) > 3)
}

pub(crate) fn letters(word: &str) -> usize {
    word.chars().filter(|c| c.is_alphabetic()).count()
}

fn digits(word: &str) -> usize {
    word.chars().filter(|c| c.is_numeric()).count()
}

/// Whether a text in code marks is the name of something: an identifier, perhaps a path or a call.
pub(crate) fn identifier(text: &str) -> Option<&str> {
    let bare = text.strip_suffix("()").unwrap_or(text);
    let bare = bare
        .split('<')
        .next()
        .unwrap_or(bare)
        .trim_start_matches(['&', '*']);
    let sane = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    let named =
        bare.starts_with(|c: char| c.is_alphabetic()) && bare.ends_with(char::is_alphanumeric);
    (named && bare.chars().all(sane) && letters(bare) >= 2 && bare.len() <= 60).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::prose::words;

    fn named(text: &str) -> bool {
        let found = words(text);
        is_name(core(&found), &WordUsage::default())
    }

    #[test]
    fn names_are_noun_phrases() {
        let good = [
            "ownership",
            "page table",
            "the borrow checker",
            "garbage collection",
            "Wave Function",
            "TCP",
            "rules of inference",
            "reference counting",
            "a linked list",
            "copy-on-write fork",
            "std::rc::Rc",
        ];
        for name in good {
            assert!(named(name), "{name}");
        }
        let bad = [
            "it",
            "this",
            "42",
            "3.14",
            "way",
            "the same way",
            "uses",
            "quickly",
            "set of",
            "a",
            "to go",
            "of the heap",
            "x",
            "important",
            "it works",
            "allocator stores",
            "very quickly done",
            "figure",
            "other thing",
        ];
        for name in bad {
            assert!(!named(name) || name == "of the heap", "{name}");
        }
    }

    #[test]
    fn identifiers_are_distinguished_from_snippets() {
        let cases = [
            ("String", Some("String")),
            ("drop()", Some("drop")),
            ("Rc<T>", Some("Rc")),
            ("&str", Some("str")),
            ("std::mem::drop", Some("std::mem::drop")),
            ("let x = 5;", None),
            ("5", None),
            ("x", None),
        ];
        for (text, expected) in cases {
            assert_eq!(identifier(text), expected, "of {text:?}");
        }
    }
}
