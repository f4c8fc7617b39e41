//! Folding: the same letters whatever their form, accent or case.
//!
//! Text is decomposed (NFKD), set in lower case, freed of accents, and letters that Unicode does not decompose (`ß`,
//! `æ`, `ø`, …) are replaced from one table. Accents are the marks that a reader may leave out: Latin, Greek and
//! Cyrillic accents, Hebrew points, Arabic vowels. Marks that make another letter (Japanese voicing, Thai and Indic
//! vowels) stay.
//!
//! There are two profiles. What they return is stored, as terms and as names, so their differences are part of the
//! format:
//!
//! | | search terms: [`fold_term_into`] | concept names: [`fold_name_char`] |
//! | --- | --- | --- |
//! | unit | a whole word, composed again (NFC, which Hangul needs) | one character, so that a name keeps the place of each of its words; the caller composes words |
//! | also dropped | the Arabic signs U+0610..=U+061A | variation selectors, half marks, the Cyrillic marks U+0483..=U+0489 |
//! | `’`, `‘`, `ʼ` | `'`, by which terms are split further | unchanged: names drop every apostrophe |
//! | `™`, `℠` | `tm`, `sm`: they were searched for as letters | a space: they are no part of a name |
//! | white space of a decomposition | dropped: a term is one word | stays: it separates words |

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_compatible;

/// Appends a word, folded as a search term, to `out`. Allocates nothing else.
pub fn fold_term_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.bytes().map(|b| char::from(b.to_ascii_lowercase())));
        return;
    }
    let lower = word
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter(|&c| !is_accent(c) && !matches!(c, '\u{0610}'..='\u{061a}'));
    let plain = PlainLetters {
        inner: lower,
        rest: "".chars(),
    };
    out.extend(plain.filter(|c| !c.is_whitespace()).nfc());
}

/// Hands the characters that `c` of a concept's name is folded to, none or some, to `emit`.
pub fn fold_name_char(c: char, mut emit: impl FnMut(char)) {
    if c.is_ascii() {
        return emit(c.to_ascii_lowercase());
    }
    if matches!(c, '™' | '℠') {
        return emit(' ');
    }
    decompose_compatible(c, |part| {
        for lower in part.to_lowercase() {
            match plain_letters(lower) {
                Some(plain) => plain.chars().for_each(&mut emit),
                None if is_accent(lower) || is_name_mark(lower) => {}
                None => emit(lower),
            }
        }
    });
}

/// A mark that both profiles drop.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}'
        | '\u{05c2}' | '\u{05c4}' | '\u{05c5}' | '\u{05c7}' | '\u{064b}'..='\u{065f}'
        | '\u{0670}')
}

/// A mark that only names drop.
fn is_name_mark(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{0483}'..='\u{0489}')
}

/// Letters with a stroke and ligatures, which Unicode does not decompose.
fn plain_letters(lower: char) -> Option<&'static str> {
    Some(match lower {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'ŧ' => "t",
        'þ' => "th",
        'ς' => "σ",
        _ => return None,
    })
}

/// Replaces letters of a term by their plain ones, and typographic apostrophes by `'`.
struct PlainLetters<I> {
    inner: I,
    rest: std::str::Chars<'static>,
}

impl<I: Iterator<Item = char>> Iterator for PlainLetters<I> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if let Some(c) = self.rest.next() {
            return Some(c);
        }
        match self.inner.next()? {
            '\u{2018}' | '\u{2019}' | '\u{02bc}' => Some('\''),
            c => match plain_letters(c) {
                Some(plain) => {
                    self.rest = plain.chars();
                    self.rest.next()
                }
                None => Some(c),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::digest;

    fn term(word: &str) -> String {
        let mut out = String::new();
        fold_term_into(word, &mut out);
        out
    }

    fn name(text: &str) -> String {
        let mut out = String::new();
        text.chars()
            .for_each(|c| fold_name_char(c, |folded| out.push(folded)));
        out
    }

    /// Every character, alone and between letters that may compose with it.
    fn unicode() -> impl Iterator<Item = String> {
        ('\0'..=char::MAX).flat_map(|c| [format!("{c}"), format!("Xe{c}\u{301}\u{327}Y")])
    }

    #[test]
    fn forms_of_one_word_fold_alike() {
        let cases: &[(&str, &str)] = &[
            ("Café", "cafe"),
            ("Cafe\u{301}", "cafe"),
            ("ＡＢＣ１", "abc1"),
            ("ﬁne", "fine"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("σίσυφος", "σισυφοσ"),
            ("ё", "е"),
            ("it\u{2019}s", "it's"),
            ("が", "が"),
            ("か\u{3099}", "が"),
            ("ｶﾞ", "ガ"),
            ("한글", "한글"),
            ("น้ำ", "น\u{e49}\u{e4d}า"),
            ("مُحَمَّد", "محمد"),
        ];
        for (word, folded) in cases {
            assert_eq!(term(word), *folded, "{word}");
        }
    }

    #[test]
    fn profiles_differ_where_the_table_says() {
        let cases: &[(&str, &str, &str)] = &[
            ("Arabic signs", "\u{612}", ""),
            ("variation selectors", "\u{fe0f}", "\u{fe0f}"),
            ("apostrophes", "’‘ʼ", "'''"),
            ("trade marks", "Foo™", "footm"),
            ("white space", "a\u{a0}b", "ab"),
        ];
        for (what, text, expected) in cases {
            assert_eq!(term(text), *expected, "{what}");
        }
        let cases: &[(&str, &str, &str)] = &[
            ("Arabic signs", "\u{612}", "\u{612}"),
            ("variation selectors", "\u{fe0f}", ""),
            ("apostrophes", "’‘ʼ", "’‘ʼ"),
            ("trade marks", "Foo™", "foo "),
            ("white space", "a\u{a0}b", "a b"),
        ];
        for (what, text, expected) in cases {
            assert_eq!(name(text), *expected, "{what}");
        }
    }

    /// Stored terms and names hold these: a change is a new version of the formats, not a new expectation.
    #[test]
    fn all_of_unicode_folds_as_it_is_stored() {
        let of = |fold: fn(&str) -> String| digest(unicode().map(|text| fold(&text)));
        assert_eq!(
            [of(term), of(name)],
            [4_405_925_837_861_834_322, 12_351_623_686_769_384_227]
        );
    }

    proptest! {
        #[test]
        fn composed_and_decomposed_text_fold_alike(text in "\\PC{0,20}") {
            let composed: String = text.nfc().collect();
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(term(&composed), term(&decomposed));
        }
    }
}
