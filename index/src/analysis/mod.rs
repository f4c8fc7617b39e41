//! Text to terms: what the index writes and what a question asks, by one and the same code.
//!
//! A text is cut into *words* (UAX #29); every word yields one term or a few:
//!
//! | word | terms | rule |
//! | --- | --- | --- |
//! | `Cafés` | `cafe` | folded: compatibility forms, diacritics, case; then stemmed (English Snowball) |
//! | `3.14`, `1,000`, `1.2.3` | `3.14`, `1000`, `1.2.3` | numbers are kept whole, commas between thousands drop |
//! | `parseHttpRequest` | `parsehttprequest`, `pars`, `http`, `request` | whole and parts, split where case changes |
//! | `snake_case`, `std.io` | `snake_case`, `snake`, `case`; … | whole and parts, split at signs |
//! | `U.S.A.` | `usa` | single letters between full stops are one word |
//! | `東京都` | `東京`, `京都` | scripts without spaces: pairs of neighbours |
//!
//! Stop words are kept: their weight is as small as they are frequent. A term has at most
//! [`TERM_CHARS_MAX`] characters, the rest is cut off; of a word only the first
//! [`WORD_CHARS_MAX`] characters count.
//!
//! Invariant: the terms depend on the text alone, never on what was analysed before. A change that
//! alters any term is a new [`VERSION`], and text sections of another version are rebuilt.
//!
//! Start reading at [`Analyzer::for_each_term`].

mod fold;
mod script;
mod split;

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use fold::fold_into;
use script::{Span, spans};
use split::{Shape, parts, shape};

/// Counts the changes of what a text's terms are.
pub const VERSION: u16 = 1;

/// Characters that a term has at most; longer ones are cut to this.
pub const TERM_CHARS_MAX: usize = 64;

/// Characters of a word that count; what follows them is ignored.
pub const WORD_CHARS_MAX: usize = 256;

/// Words remembered with their terms; the memory starts afresh when it is full.
const MEMO_WORDS_MAX: usize = 1 << 16;

/// Turns text into terms. Holds scratch and a memory of words, so keep one per thread.
pub struct Analyzer {
    stemmer: Stemmer,
    memo: HashMap<Box<str>, Box<[Box<str>]>>,
    folded: String,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyzer")
            .field("words", &self.memo.len())
            .finish_non_exhaustive()
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyzer {
    /// An analyzer that remembers nothing yet.
    pub fn new() -> Self {
        Analyzer {
            stemmer: Stemmer::new(Algorithm::English),
            memo: HashMap::new(),
            folded: String::new(),
        }
    }

    /// Calls `f` with every term of `text`, in reading order; the terms of one word follow each
    /// other, the whole first. Never empty, never longer than [`TERM_CHARS_MAX`] characters.
    ///
    /// Cost: one pass; a word seen before is one hash lookup.
    pub fn for_each_term(&mut self, text: &str, mut f: impl FnMut(&str)) {
        for span in spans(text) {
            match span {
                Span::Spaced(text) => {
                    for word in text.unicode_words() {
                        self.for_each_term_of_word(word, &mut f);
                    }
                }
                Span::Unspaced(run) => self.for_each_pair(run, &mut f),
            }
        }
    }

    /// The terms of `text`, as [`Analyzer::for_each_term`] gives them.
    pub fn terms(&mut self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.for_each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    fn for_each_term_of_word(&mut self, word: &str, f: &mut impl FnMut(&str)) {
        let word = first_chars(word, WORD_CHARS_MAX);
        if let Some(terms) = self.memo.get(word) {
            terms.iter().for_each(|term| f(term));
            return;
        }
        let terms = self.terms_of_word(word);
        terms.iter().for_each(|term| f(term));
        if self.memo.len() >= MEMO_WORDS_MAX {
            self.memo.clear();
        }
        self.memo.insert(word.into(), terms);
    }

    fn terms_of_word(&mut self, word: &str) -> Box<[Box<str>]> {
        let mut terms: Vec<Box<str>> = Vec::new();
        let mut keep = |term: Box<str>| {
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        };
        match shape(word) {
            Shape::Plain(word) => keep(self.stemmed(word)),
            Shape::Number(word) => keep(self.folded(&word.replace(',', ""))),
            Shape::Acronym(word) => keep(self.folded(&word.replace('.', ""))),
            Shape::Compound(word) => {
                let signs = word.contains(split::is_sign);
                keep(if signs {
                    self.folded(word)
                } else {
                    self.stemmed(word)
                });
                for part in parts(word) {
                    keep(self.stemmed(part));
                }
            }
        }
        terms.into()
    }

    /// `word` folded and cut.
    fn folded(&mut self, word: &str) -> Box<str> {
        self.folded.clear();
        fold_into(word, &mut self.folded);
        first_chars(&self.folded, TERM_CHARS_MAX).into()
    }

    /// `word` folded and cut, and stemmed if it is written in Latin letters.
    fn stemmed(&mut self, word: &str) -> Box<str> {
        let folded = self.folded(word);
        if !folded.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
            return folded;
        }
        match self.stemmer.stem(&folded) {
            stem if stem.is_empty() => folded,
            stem => stem.into(),
        }
    }

    /// Pairs of neighbouring characters of `run`, each with the marks that follow it; a lone
    /// character is a term by itself.
    fn for_each_pair(&mut self, run: &str, f: &mut impl FnMut(&str)) {
        self.folded.clear();
        fold_into(run, &mut self.folded);
        let is_start = |c: char| !is_combining_mark(c);
        let mut starts = self
            .folded
            .char_indices()
            .filter(|&(_, c)| is_start(c))
            .map(|(i, _)| i);
        let (Some(mut first), mut second) = (starts.next(), starts.next()) else {
            return;
        };
        if second.is_none() {
            return f(first_chars(&self.folded[first..], TERM_CHARS_MAX));
        }
        while let Some(start) = second {
            let third = starts.next();
            let end = third.unwrap_or(self.folded.len());
            f(first_chars(&self.folded[first..end], TERM_CHARS_MAX));
            (first, second) = (start, third);
        }
    }
}

/// The first `count` characters of `text`, or all of it.
fn first_chars(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    text.char_indices()
        .nth(count)
        .map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
