//! Folding: the same letters whatever their form, accent or case.
//!
//! Compatibility decomposition (NFKD), lower case, accents dropped, letters with a stroke replaced
//! by their plain form, and composed again (NFC, which Hangul needs).
//!
//! Accents are the marks that only colour a letter: Latin, Greek, Cyrillic, Hebrew points, Arabic
//! vowels. Marks that make another letter (Japanese voicing, Thai and Indic vowels) stay.

use unicode_normalization::UnicodeNormalization;

/// Appends `text`, folded, to `out`.
pub(super) fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(text.bytes().map(|b| char::from(b.to_ascii_lowercase())));
        return;
    }
    let lower = text
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter(|&c| !is_accent(c));
    let mut plain = AsciiFold {
        inner: lower,
        rest: "".chars(),
    };
    out.extend(plain.by_ref().filter(|c| !c.is_whitespace()).nfc());
}

/// A mark that folding drops.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}'
        | '\u{05c2}' | '\u{05c4}' | '\u{05c5}' | '\u{05c7}' | '\u{0610}'..='\u{061a}'
        | '\u{064b}'..='\u{065f}' | '\u{0670}')
}

/// Replaces letters that do not decompose although readers take them for plain ones.
struct AsciiFold<I> {
    inner: I,
    rest: std::str::Chars<'static>,
}

impl<I: Iterator<Item = char>> Iterator for AsciiFold<I> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if let Some(c) = self.rest.next() {
            return Some(c);
        }
        let c = self.inner.next()?;
        let Some(plain) = plain_letters(c) else {
            return Some(c);
        };
        self.rest = plain.chars();
        self.rest.next()
    }
}

fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
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
        '\u{2018}' | '\u{2019}' | '\u{02bc}' => "'",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold(text: &str) -> String {
        let mut out = String::new();
        fold_into(text, &mut out);
        out
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
        for (text, folded) in cases {
            assert_eq!(fold(text), *folded, "{text}");
        }
    }

    proptest! {
        #[test]
        fn composed_and_decomposed_text_fold_alike(text in "\\PC{0,20}") {
            let composed: String = text.nfc().collect();
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(fold(&composed), fold(&decomposed));
        }
    }
}
