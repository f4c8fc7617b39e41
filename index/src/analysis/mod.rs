//! Text to terms: the index and the question use the same code.
//!
//! A text is cut into *words* (UAX #29); every word yields one term or a few:
//!
//! | word | terms | rule |
//! | --- | --- | --- |
//! | `Cafés` | `cafe` | stemmed (Snowball) by the language of the text, and folded: compatibility forms, diacritics, case |
//! | `3.14`, `1,000`, `1.2.3` | `3.14`, `1000`, `1.2.3` | numbers are kept whole, commas between thousands drop |
//! | `parseHttpRequest` | `parsehttprequest`, `pars`, `http`, `request` | whole and parts, split where case changes |
//! | `snake_case`, `std.io` | `snake_case`, `snake`, `case`; … | whole and parts, split at signs |
//! | `C++`, `F#` | `c++`, `c`; `f#`, `f` | with the sign and without |
//! | `LLMs` | `llm` | the plural of capitals |
//! | `U.S.A.` | `usa` | single letters between full stops are one word |
//! | `東京都` | `東京`, `京都` | scripts without spaces: pairs of neighbours |
//!
//! An analyzer has a set of [`Languages`]. A text is stemmed in its own language, a question in all languages of the
//! store, so a word of a question may have one stem in each. A stem in a language other than English ends in a control
//! character for that language, so it is a separate term. A word with accents also has the stem of the word without
//! accents, if it differs (`sécurité`: `secur` and `securit`).
//!
//! Stop words are kept: their weight is as small as they are frequent. A term has at most
//! [`TERM_CHARS_MAX`] characters beside that, the rest is cut off; of a word only the first
//! [`WORD_CHARS_MAX`] characters count.
//!
//! Invariant: the terms depend on the text and the languages alone, never on what was analysed before. A change that
//! alters any term is a new [`VERSION`], and text sections of another version are rebuilt.
//!
//! Start reading at [`Analyzer::for_each_token`].

mod language;
mod script;
mod split;

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

pub(crate) use language::is_tag;
pub use language::{Language, LanguageCounts, Languages, detect, untagged};
use loci_types::text::fold::fold_term_into;
pub use loci_types::text::language_code;
pub(crate) use script::is_unspaced;
use script::{Span, spans};
use split::{WordShape, parts, word_shape};

/// Counts the changes of what a text's terms are.
pub const VERSION: u16 = 5;

/// Characters that a term has at most; longer ones are cut to this.
pub const TERM_CHARS_MAX: usize = 64;

/// Characters of a word that count; what follows them is ignored.
pub const WORD_CHARS_MAX: usize = 256;

/// Bytes of a word that is remembered: longer ones come rarely and may have many parts.
const MEMO_BYTES_MAX: usize = 32;

/// Words remembered with their terms; the memory starts afresh when it is full.
const MEMO_WORDS_MAX: usize = 1 << 16;

/// The same for questions: every thread that searches has such a memory for as long as the store is open, and over days
/// people ask with all words that there are. A word takes some 150 bytes.
const QUERY_MEMO_WORDS_MAX: usize = 1 << 13;

/// One term of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term: never empty, never longer than [`TERM_CHARS_MAX`] characters and one for its language.
    pub term: &'a str,
    /// Its place among the words, from 0: parts of a compound word count on, and the whole has the place
    /// of the first part. So the words of a phrase, and the parts of words, have consecutive places.
    pub position: u32,
    /// The bytes of the text that the term stands for: those of the whole word for a part of it.
    pub span: Range<usize>,
}

/// Terms in one piece of memory, to be used again.
#[derive(Clone, Debug, Default)]
pub struct TermList {
    text: String,
    /// Where each term ends in `text`.
    ends: Vec<usize>,
}

impl TermList {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn push(&mut self, term: &str) {
        self.text.push_str(term);
        self.ends.push(self.text.len());
    }

    /// The terms, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.text[start..end])
    }
}

/// Turns text into terms. Holds scratch and a memory of words, so keep one per thread.
pub struct Analyzer {
    /// Not empty.
    languages: Languages,
    /// By language.
    memos: Vec<Memo>,
    /// Words in all of them.
    memo_len: usize,
    /// Words in all of them, at most.
    memo_len_max: usize,
    /// Terms of the word at hand.
    emitted_terms: TermList,
    folded: String,
    /// Where characters start in `folded`, and the bytes of the text that they are written in.
    characters: Vec<(usize, Range<usize>)>,
}

/// Words with what they become.
type Memo = HashMap<Box<str>, Word, RandomState>;

/// One word of a text, as [`Analyzer::readings`] gives it; the fields are those of [`Token`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedToken {
    /// The term.
    pub term: String,
    /// Its place.
    pub position: u32,
    /// The bytes of the text that it stands for.
    pub span: Range<usize>,
}

/// What a word becomes.
#[derive(Debug, Default)]
struct Word {
    /// With its place in the word.
    terms: Box<[(Box<str>, u8)]>,
    /// Places that the word takes.
    position_count: u8,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyzer")
            .field("words", &self.memo_len)
            .finish_non_exhaustive()
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyzer {
    /// An analyzer that speaks English and remembers nothing yet.
    pub fn new() -> Self {
        Analyzer {
            languages: Language::ENGLISH.into(),
            memos: Vec::new(),
            memo_len: 0,
            memo_len_max: MEMO_WORDS_MAX,
            emitted_terms: TermList::default(),
            folded: String::new(),
            characters: Vec::new(),
        }
    }

    /// One that lives as long as a store is open, and remembers fewer words.
    pub fn for_queries() -> Self {
        Analyzer {
            memo_len_max: QUERY_MEMO_WORDS_MAX,
            ..Self::new()
        }
    }

    /// Takes texts for such of `languages` from now on; English where there are none. Cheap.
    pub fn set_languages(&mut self, languages: Languages) {
        self.languages = if languages.is_empty() {
            Language::ENGLISH.into()
        } else {
            languages
        };
    }

    /// What texts are taken for; not empty.
    pub fn languages(&self) -> Languages {
        self.languages
    }

    /// The tokens of `text` in each language that is spoken; those that agree are one reading.
    pub fn readings(&mut self, text: &str) -> Vec<Vec<OwnedToken>> {
        let all = self.languages;
        let mut readings = Vec::with_capacity(1);
        for language in all.iter() {
            self.set_languages(language.into());
            let mut reading = Vec::new();
            self.for_each_token(text, |token| {
                reading.push(OwnedToken {
                    term: token.term.to_owned(),
                    position: token.position,
                    span: token.span,
                });
            });
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        self.set_languages(all);
        readings
    }

    /// Calls `f` with every token of `text`, in reading order; the terms of one word follow each
    /// other, the whole first.
    ///
    /// Cost: one pass; a word seen before is one hash lookup a language.
    pub fn for_each_token(&mut self, text: &str, mut f: impl FnMut(Token<'_>)) {
        let mut at = TextCursor::default();
        for span in spans(text) {
            match span {
                Span::Spaced(text) => {
                    for (start, word) in text.unicode_word_indices() {
                        let word = with_suffix(text, start, word);
                        self.for_each_token_of_word(
                            word,
                            at.start + start,
                            &mut at.position,
                            &mut f,
                        );
                    }
                    at.start += text.len();
                }
                Span::Unspaced(run) => {
                    self.for_each_bigram(run, at.start, &mut at.position, &mut f);
                    at.start += run.len();
                }
            }
        }
    }

    /// Calls `f` with the term of every token of `text`, in the same order.
    pub fn for_each_term(&mut self, text: &str, mut f: impl FnMut(&str)) {
        self.for_each_token(text, |token| f(token.term));
    }

    /// Replaces `list` by the terms of `text`; allocates nothing once the list has grown.
    pub fn fill_term_list(&mut self, text: &str, list: &mut TermList) {
        list.clear();
        self.for_each_term(text, |term| list.push(term));
    }

    /// The terms of `text`, as [`Analyzer::for_each_term`] gives them.
    pub fn terms(&mut self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.for_each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    fn for_each_token_of_word(
        &mut self,
        word: &str,
        start: usize,
        position: &mut u32,
        f: &mut impl FnMut(Token<'_>),
    ) {
        let span = start..start + word.len();
        let word = first_chars(word, WORD_CHARS_MAX);
        let before = *position;
        let mut tell = |term: &str, place: u8| {
            f(Token {
                term,
                position: before.saturating_add(u32::from(place)),
                span: span.clone(),
            });
        };
        let mut languages = self.languages.iter();
        let (first, second) = (languages.next(), languages.next());
        let mut places = 1;
        if let (Some(language), None) = (first, second) {
            self.with_analysed_word(language, word, |known| {
                known
                    .terms
                    .iter()
                    .for_each(|(term, place)| tell(term, *place));
                places = known.position_count;
            });
        } else {
            let mut emitted_terms = std::mem::take(&mut self.emitted_terms);
            emitted_terms.clear();
            for language in self.languages.iter() {
                self.with_analysed_word(language, word, |known| {
                    for (term, place) in &known.terms {
                        if emitted_terms.iter().all(|other| other != &**term) {
                            emitted_terms.push(term);
                            tell(term, *place);
                        }
                    }
                    places = known.position_count;
                });
            }
            self.emitted_terms = emitted_terms;
        }
        *position = position.saturating_add(u32::from(places));
    }

    /// Calls `f` with what a word becomes in a language.
    fn with_analysed_word(&mut self, language: Language, word: &str, f: impl FnOnce(&Word)) {
        let at = language.index();
        if self.memos.len() <= at {
            self.memos.resize_with(at + 1, Memo::default);
        }
        if let Some(known) = self.memos[at].get(word) {
            return f(known);
        }
        let new = self.analysed(language, word);
        f(&new);
        if word.len() > MEMO_BYTES_MAX {
            return;
        }
        if self.memo_len >= self.memo_len_max {
            self.memos.iter_mut().for_each(Memo::clear);
            self.memo_len = 0;
        }
        self.memos[at].insert(word.into(), new);
        self.memo_len += 1;
    }

    fn analysed(&mut self, language: Language, word: &str) -> Word {
        let mut terms: Vec<(Box<str>, u8)> = Vec::new();
        let mut keep = |term: Box<str>, place: u8| {
            if !term.is_empty() && !terms.iter().any(|(existing, _)| *existing == term) {
                terms.push((term, place));
            }
        };
        let mut places = 1;
        let visible: String;
        let word = if word.contains(is_invisible) {
            visible = word.replace(is_invisible, "");
            &visible
        } else {
            word
        };
        match word_shape(word) {
            WordShape::Suffixed(word, bare) => {
                keep(self.folded(word), 0);
                self.for_each_stem(language, bare, |stem| keep(stem, 0));
            }
            WordShape::Plain(word) => self.for_each_stem(language, word, |stem| keep(stem, 0)),
            WordShape::Number(word) => keep(self.folded(&word.replace(',', "")), 0),
            WordShape::Acronym(word) => keep(self.folded(&word.replace('.', "")), 0),
            WordShape::Compound(word) => {
                if word.contains(split::is_sign) {
                    keep(self.folded(word), 0)
                } else {
                    self.for_each_stem(language, word, |stem| keep(stem, 0))
                }
                for (place, part) in (0..).zip(parts(word)) {
                    self.for_each_stem(language, part, |stem| keep(stem, place));
                    places = place + 1;
                }
            }
        }
        Word {
            terms: terms.into(),
            position_count: places,
        }
    }

    /// A pattern as its terms are folded: its stars stay.
    pub fn folded_pattern(&mut self, pattern: &str) -> String {
        self.folded.clear();
        fold_term_into(pattern, &mut self.folded);
        self.folded.clone()
    }

    /// `word` folded and cut.
    fn folded(&mut self, word: &str) -> Box<str> {
        self.folded.clear();
        fold_term_into(word, &mut self.folded);
        first_chars(&self.folded, TERM_CHARS_MAX).into()
    }

    /// Calls `f` with the stem of a word, folded and cut; and with that of the word without its accents,
    /// where it is another: many people write without them.
    fn for_each_stem(&mut self, language: Language, word: &str, mut f: impl FnMut(Box<str>)) {
        let folded = self.folded(word);
        let stem = self.stemmed(language, word, &folded);
        let is_accented = language.is_accent_sensitive() && !word.eq_ignore_ascii_case(&folded);
        let plain = is_accented.then(|| self.stemmed(language, &folded, &folded));
        f(stem);
        plain.into_iter().for_each(f);
    }

    /// `word` stemmed, folded and cut.
    fn stemmed(&mut self, language: Language, word: &str, folded: &str) -> Box<str> {
        let Some((stem, language)) = language.stem(word, folded) else {
            return folded.into();
        };
        let stem = match self.folded(&stem) {
            stem if stem.is_empty() => folded.into(),
            stem => stem,
        };
        match language.term_tag().filter(|_| !stem.is_empty()) {
            None => stem,
            Some(tag) => {
                let mut tagged = String::from(stem);
                tagged.push(tag);
                tagged.into()
            }
        }
    }

    /// Pairs of neighbouring characters of `run`, each with the marks that follow it; a lone
    /// character is a term by itself.
    fn for_each_bigram(
        &mut self,
        run: &str,
        start: usize,
        position: &mut u32,
        f: &mut impl FnMut(Token<'_>),
    ) {
        self.folded.clear();
        self.characters.clear();
        for (at, written) in run.grapheme_indices(true) {
            let folded = self.folded.len();
            fold_term_into(written, &mut self.folded);
            let written = start + at..start + at + written.len();
            for (i, c) in self.folded[folded..].char_indices() {
                if !is_combining_mark(c) || self.characters.is_empty() {
                    self.characters.push((folded + i, written.clone()));
                }
            }
        }
        let mut tell = |from: usize, to: usize| {
            let Some((first, span)) = self.characters.get(from) else {
                return;
            };
            let last = self.characters.get(to - 1);
            let end = self.characters.get(to);
            let end = end.map_or(self.folded.len(), |&(end, _)| end);
            f(Token {
                term: first_chars(&self.folded[*first..end], TERM_CHARS_MAX),
                position: *position,
                span: span.start..last.map_or(span.end, |(_, last)| last.end),
            });
            *position = position.saturating_add(1);
        };
        match self.characters.len() {
            1 => tell(0, 1),
            count => (1..count).for_each(|second| tell(second - 1, second + 1)),
        }
    }
}

/// How far a text was read.
#[derive(Debug, Default)]
struct TextCursor {
    /// Bytes.
    start: usize,
    /// Words.
    position: u32,
}

/// Suffixes that make another word of one or two letters, as in names of programming languages.
const SUFFIXES: [&str; 2] = ["++", "#"];

/// `word`, which starts at `start` in `text`, with what follows it if that is one of [`SUFFIXES`].
fn with_suffix<'t>(text: &'t str, start: usize, word: &'t str) -> &'t str {
    let end = start + word.len();
    let is_short = word.len() <= 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
    let after = text.get(end..).filter(|_| is_short).unwrap_or_default();
    let Some(suffix) = SUFFIXES
        .into_iter()
        .find(|suffix| after.starts_with(suffix))
    else {
        return word;
    };
    let next = after[suffix.len()..].chars().next();
    if next.is_some_and(|c| c.is_alphanumeric() || SUFFIXES.concat().contains(c)) {
        word
    } else {
        &text[start..end + suffix.len()]
    }
}

/// Characters that readers do not see: soft hyphens, joiners, marks of direction.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
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
