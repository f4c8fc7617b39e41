//! A name as the store compares it: `normalise("The Schrödinger Equations") = "schrodinger equations"`.
//!
//! 1. Each character is folded ([`fold_name_char`]).
//! 2. Words are runs of letters and digits. Apostrophes and soft hyphens vanish (`Newton's` is
//!    `newtons`), other punctuation separates (`self-attention` is `self attention`). `+` and `#` stay
//!    directly after a letter when no letter follows: `c++`, `c#`, `c++11`, `na+`, but `x y` for
//!    `x+y`. An ideograph or hiragana letter is a word of its own, written without a space, so
//!    that names can be found inside running text.
//! 3. Stop words are stripped from both edges, but never the last word. A trailing `a` stays: vitamin A.
//!
//! Law: `normalise` is idempotent. An empty result means: not a concept.
//!
//! Start reading at [`normalise`].

use std::ops::Range;

use loci_types::text::fold::fold_name_char;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Stripped from the front of a name.
const LEADING: &[&str] = &[
    "a", "an", "and", "its", "of", "or", "our", "that", "the", "their", "these", "this", "those",
];
/// Stripped from the end of a name.
const TRAILING: &[&str] = &["an", "and", "of", "or", "the"];

/// Words that never name a concept by themselves, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "did", "do", "does", "doing", "down", "during", "each", "few", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "many", "may", "me", "might", "more",
    "most", "much", "must", "my", "no", "nor", "not", "of", "off", "on", "once", "one", "only",
    "or", "other", "our", "out", "over", "own", "same", "shall", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "through", "to", "too", "under", "until", "up", "upon", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
];

/// The name as the store compares it; empty when nothing is left, which is no concept.
///
/// Equal names of one thing become equal strings: case, accents, width, punctuation, white space and
/// stop words at the edges make no difference. Costs one pass over the name.
pub fn normalise(name: &str) -> String {
    let words = words(name);
    let mut rest_of_name = &words[..];
    while let [first, rest @ ..] = rest_of_name
        && !rest.is_empty()
        && LEADING.contains(&first.text.as_str())
    {
        rest_of_name = rest;
    }
    while let [rest @ .., last] = rest_of_name
        && !rest.is_empty()
        && TRAILING.contains(&last.text.as_str())
    {
        rest_of_name = rest;
    }
    let mut joined = String::with_capacity(name.len());
    for word in rest_of_name {
        if !joined.is_empty() && !word.is_joined {
            joined.push(' ');
        }
        joined.push_str(&word.text);
    }
    joined
}

/// Whether a normalised word is a function word, which by itself names no concept.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The naive singular of a normalised English word: `theories` → `theory`, `classes` → `class`,
/// `networks` → `network`. `None` when it does not look like a plural.
pub(crate) fn singular(word: &str) -> Option<String> {
    const NOT_PLURAL: &[&str] = &["ss", "us", "is"];
    const DROP_ES: &[&str] = &["sses", "xes", "ches", "shes", "zzes"];
    if word.len() < 4 || !word.ends_with('s') || NOT_PLURAL.iter().any(|end| word.ends_with(end)) {
        return None;
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return Some(format!("{stem}y"));
    }
    let drop = if DROP_ES.iter().any(|end| word.ends_with(end)) {
        2
    } else {
        1
    };
    Some(word[..word.len() - drop].to_owned())
}

/// A word of a text, folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The folded word; never empty.
    pub(crate) text: String,
    /// Whether nothing separates it from the word before.
    pub(crate) is_joined: bool,
    /// Characters of the text that it was written with.
    pub(crate) chars: Range<usize>,
}

/// The folded words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut splitter = Splitter::default();
    for (at, c) in text.chars().enumerate() {
        fold_name_char(c, |folded| splitter.push(folded, at));
    }
    splitter.close();
    splitter.words
}

/// Characters that vanish without separating: apostrophes, soft hyphens, joiners.
fn is_joiner(c: char) -> bool {
    matches!(
        c,
        '\'' | '‘' | '’' | 'ʼ' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}'
    )
}

/// Letters of scripts that write no spaces and whose single letters mean something.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{309f}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Cuts a stream of folded characters into words.
#[derive(Default)]
struct Splitter {
    words: Vec<Word>,
    /// The word being read, and where it was written.
    open: String,
    chars: Range<usize>,
    /// `+` and `#` after the open word, which are kept unless a letter follows.
    signs: String,
    signs_end: usize,
    /// Whether the open word is an unspaced letter.
    single: bool,
    /// Whether nothing separated since the last word was closed.
    is_joined: bool,
}

impl Splitter {
    fn push(&mut self, c: char, at: usize) {
        // Most are; the others are told apart by tables.
        if c.is_ascii_alphanumeric() {
            return self.letter(c, at);
        }
        if is_joiner(c) {
            return;
        }
        if is_combining_mark(c) {
            if !self.open.is_empty() && self.signs.is_empty() {
                self.append(c, at);
            }
        } else if c.is_alphanumeric() {
            self.letter(c, at);
        } else if matches!(c, '+' | '#') && self.open.ends_with(char::is_alphabetic) {
            self.signs.push(c);
            self.signs_end = at + 1;
        } else {
            self.close();
            self.is_joined = false;
        }
    }

    fn letter(&mut self, c: char, at: usize) {
        if !self.signs.is_empty() {
            if c.is_alphabetic() {
                self.signs.clear();
                self.close();
                self.is_joined = false;
            } else {
                self.take_signs();
            }
        }
        let single = is_unspaced(c);
        if single || self.single {
            self.close();
        }
        if self.open.is_empty() {
            self.chars.start = at;
            self.single = single;
        }
        self.append(c, at);
    }

    fn append(&mut self, c: char, at: usize) {
        self.open.push(c);
        self.chars.end = at + 1;
    }

    fn take_signs(&mut self) {
        if !self.signs.is_empty() {
            self.open.push_str(&self.signs);
            self.signs.clear();
            self.chars.end = self.signs_end;
        }
    }

    /// Ends the open word, if there is one.
    fn close(&mut self) {
        self.take_signs();
        self.single = false;
        if self.open.is_empty() {
            return;
        }
        let open = std::mem::take(&mut self.open);
        // Hangul and voiced kana were decomposed with the accents.
        let text = if open.is_ascii() {
            open
        } else {
            open.nfc().collect()
        };
        self.words.push(Word {
            text,
            is_joined: self.is_joined,
            chars: self.chars.clone(),
        });
        self.is_joined = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn name_variants_normalise_to_one_string() {
        let cases: &[(&str, &str, &str)] = &[
            ("accents", "Café", "cafe"),
            ("decomposed accents", "Cafe\u{301}", "cafe"),
            (
                "letters with a stroke",
                "Łódź Straße Smørrebrød",
                "lodz strasse smorrebrod",
            ),
            ("width and ligatures", "Ｆｉle ﬁeld", "file field"),
            ("subscripts", "H₂O", "h2o"),
            ("white space", "  neural \t networks\n", "neural networks"),
            ("articles", "The Theory of the Firm", "theory of the firm"),
            ("several edges", "of the a mind of the", "mind"),
            ("stop words alone keep the last", "The The", "the"),
            ("a trailing letter is a name", "Vitamin A", "vitamin a"),
            ("hyphens separate", "self-attention", "self attention"),
            ("apostrophes vanish", "Newton’s law", "newtons law"),
            ("soft hyphens vanish", "equa\u{ad}tion", "equation"),
            ("signs after a letter", "C++ and C#", "c++ and c#"),
            ("signs before a number", "C++11", "c++11"),
            ("signs between letters", "a+b", "b"),
            ("signs elsewhere", "# 1 + 2 +", "1 2"),
            ("trade marks", "Foo™ Bar®", "foo bar"),
            ("ideographs stay together", "量子 力学", "量子 力学"),
            ("voiced kana stay voiced", "がくしゅう", "がくしゅう"),
            ("hangul stays composed", "한국어", "한국어"),
            ("vowel signs stay", "हिन्दी", "हिन्दी"),
            ("capital sigma at the end", "ΛΟΓΟΣ", "λογοσ"),
            ("punctuation alone is no name", "—!?", ""),
            ("nothing", "", ""),
        ];
        for (case, name, expected) in cases {
            assert_eq!(normalise(name), *expected, "{case}");
        }
        assert_ne!(normalise("C++"), normalise("C#"));
    }

    #[test]
    fn words_have_their_character_ranges() {
        let found: Vec<(String, Range<usize>)> = words("Ein Café, C++; 量子")
            .into_iter()
            .map(|word| (word.text, word.chars))
            .collect();
        let expected = [
            ("ein", 0..3),
            ("cafe", 4..8),
            ("c++", 10..13),
            ("量", 15..16),
            ("子", 16..17),
        ];
        assert_eq!(
            found,
            expected.map(|(text, chars)| (text.to_owned(), chars))
        );
    }

    #[test]
    fn singular_removes_only_plural_endings() {
        let cases = [
            ("networks", Some("network")),
            ("theories", Some("theory")),
            ("classes", Some("class")),
            ("boxes", Some("box")),
            ("causes", Some("cause")),
            ("mass", None),
            ("virus", None),
            ("analysis", None),
            ("gas", None),
            ("network", None),
            ("ies", None),
        ];
        for (word, expected) in cases {
            assert_eq!(singular(word).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn normalising_twice_changes_no_character_of_unicode() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii_control()) {
            let once = normalise(&format!("x{c}y {c}"));
            assert_eq!(normalise(&once), once, "U+{:04X}", u32::from(c));
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(name in "\\PC{0,24}") {
            let once = normalise(&name);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn normalising_twice_changes_nothing_in_names(name in "[a-cA-C+#' .\u{4e2d}\u{304b}\u{3099}\u{301}0-2]{0,12}") {
            let once = normalise(&name);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn words_are_ordered_and_inside_the_text(text in "\\PC{0,40}") {
            let found = words(&text);
            let len = text.chars().count();
            prop_assert!(found.iter().all(|word| word.chars.start < word.chars.end && word.chars.end <= len));
            prop_assert!(found.windows(2).all(|pair| pair[0].chars.start <= pair[1].chars.start));
        }
    }
}
