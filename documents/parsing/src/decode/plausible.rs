//! Whether a text is one that somebody wrote, or bytes read in an encoding that they were not written in.
//!
//! Bytes of a picture, or of text in another encoding, give control characters, signs that nobody uses (`¤`, `¨`), capitals
//! in the midst of words (`cafÃ©`) and words of letters that do not go together.

/// One in so many characters beyond ASCII may be a sign that is hardly used.
const ODD_ONE_IN: usize = 5;
/// One in so many words with letters beyond ASCII may be none.
const BROKEN_ONE_IN: usize = 10;
/// Either, where the encoding is stated.
const DECLARED_ONE_IN: usize = 3;

/// Whether nothing in `text` speaks against it.
pub(super) fn is_plausible(text: &str) -> bool {
    let seen = TextStats::collect(text).filter(|_| !text.contains(char::REPLACEMENT_CHARACTER));
    seen.is_some_and(|seen| seen.is_within(ODD_ONE_IN, BROKEN_ONE_IN))
}

/// Whether little in `text` speaks against it, where something else speaks for it. U+FFFD may be in it.
pub(super) fn is_nearly_plausible(text: &str) -> bool {
    TextStats::collect(text).is_some_and(|seen| seen.is_within(DECLARED_ONE_IN, DECLARED_ONE_IN))
}

fn is_never_text(c: char) -> bool {
    let is_space = matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    let is_private =
        matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}'..='\u{ffff}');
    c.is_control() && !is_space || is_private || c >= '\u{f0000}'
}

/// What has been seen of a text.
#[derive(Default)]
struct TextStats {
    letters: usize,
    /// Characters beyond ASCII.
    foreign: usize,
    foreign_letters: usize,
    odd: usize,
    /// Words with letters beyond ASCII, in scripts that have capitals.
    words: usize,
    broken_words: usize,
    /// Words of one letter.
    lone_words: usize,
    word: Word,
}

/// The word that is being read.
#[derive(Default)]
struct Word {
    len: usize,
    is_foreign: bool,
    is_broken: bool,
    last: Option<char>,
}

impl TextStats {
    /// `None` where there is a character that no text has.
    fn collect(text: &str) -> Option<TextStats> {
        let mut seen = TextStats::default();
        for c in text.chars() {
            if is_never_text(c) {
                return None;
            }
            seen.add(c);
        }
        seen.end_word();
        Some(seen)
    }

    fn add(&mut self, c: char) {
        self.letters += usize::from(c.is_alphabetic());
        if !c.is_ascii() {
            self.foreign += 1;
            self.foreign_letters += usize::from(c.is_alphabetic());
            self.odd += usize::from(is_odd(c));
        }
        match script(c) {
            Some(_) => self.word.add(c),
            None => self.end_word(),
        }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_foreign {
            self.words += 1;
            self.broken_words += usize::from(word.is_broken);
            self.lone_words += usize::from(word.len == 1);
        }
    }

    /// Whether at most one in `odd_share` and one in `broken_share` are odd or broken.
    fn is_within(&self, odd_one_in: usize, broken_one_in: usize) -> bool {
        // "à" is a word, but not all words are.
        let are_lone = 2 * self.lone_words > self.words && 2 * self.foreign_letters > self.letters;
        self.odd * odd_one_in <= self.foreign
            && self.broken_words * broken_one_in <= self.words
            && !are_lone
    }
}

impl Word {
    fn add(&mut self, c: char) {
        let is_foreign = !c.is_ascii();
        if let Some(last) = self.last {
            let rises = last.is_lowercase() && c.is_uppercase();
            let is_mixed = script(last) != script(c);
            self.is_broken |= is_mixed || rises && (is_foreign || !last.is_ascii());
        }
        // No language begins a word with it, and UTF-16 begins so.
        self.is_broken |= self.len == 0 && c == 'ÿ';
        self.is_foreign |= is_foreign;
        self.len += 1;
        self.last = Some(c);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
}

/// The script of a letter, of those that have capitals.
fn script(c: char) -> Option<Script> {
    match c {
        'ª' | 'º' | 'µ' => None,
        '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' if c.is_alphabetic() => Some(Script::Latin),
        '\u{370}'..='\u{3ff}' if c.is_alphabetic() => Some(Script::Greek),
        '\u{400}'..='\u{52f}' if c.is_alphabetic() => Some(Script::Cyrillic),
        _ => None,
    }
}

/// Whether a character beyond ASCII is one that texts hardly have.
fn is_odd(c: char) -> bool {
    let is_usual = c.is_alphanumeric()
        || matches!(c, '\u{a0}'..='\u{bf}' | '×' | '÷' | '\u{2010}'..='\u{203e}' | '€' | '™' | '№')
        || matches!(c, '\u{2190}'..='\u{22ff}' | '\u{25a0}'..='\u{26ff}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}')
        // Marks that are above and below letters: Arabic, Hebrew, Thai.
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{6ff}' | '\u{e31}'..='\u{e4e}');
    !is_usual || matches!(c, '¤' | '¦' | '¨' | '¬' | '¯' | '¸')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_distinguished_from_other_bytes() {
        let cases: &[(&str, bool)] = &[
            ("", true),
            ("Le café est fermé à midi.", true),
            ("Il va à Paris", true),
            ("“Quotes” – and 5 ± 0.3 µm, n° 7", true),
            ("Привет, мир! Ёлка и я.", true),
            ("吾輩は猫である。名前はまだ無い。", true),
            ("שלום עולם", true),
            ("cafÃ© crÃ¨me", false),
            ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", false),
            ("¤¨¸ abc ¦¬", false),
            ("é é é é", false),
            ("naïve ÿþý", false),
            ("аbс", false),
            ("caf\u{e9}\u{1}", false),
            ("caf\u{e9}\u{85}", false),
            ("caf\u{fffd}", false),
            ("\u{e000}", false),
        ];
        for (text, want) in cases {
            assert_eq!(is_plausible(text), *want, "{text}");
        }
    }
}
