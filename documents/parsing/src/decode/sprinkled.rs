//! Whether a text's characters beyond ASCII are but a few letters and signs among ASCII: `5 ± 0.3 µm`, `a naïve man`.
//!
//! Most encodings read such bytes as something that could be meant (`ą`, `Ł`, a Chinese character), and there are too few
//! to tell by, so what they are in Windows-1252 is the best that can be said. Text in another encoding betrays itself:
//! its signs are within words (`w³a¶nie`), or whole words are beyond ASCII (`Ïðèâåò`).

/// Letters and signs that are few whatever they are.
const FEW: usize = 10;
/// One letter of so many, where they are few.
const RARE_ONE_IN: usize = 25;
/// One word of so many is among [`ENGLISH`] in any English text.
const ENGLISH_ONE_IN: usize = 8;
const ENGLISH: &[&str] = &[
    "the", "of", "and", "to", "in", "is", "it", "its", "that", "was", "for", "on", "are", "as",
    "with", "his", "her", "they", "at", "be", "this", "have", "from", "my", "i", "we", "you", "by",
    "not", "but", "had", "has", "were",
];

/// Whether nearly all of `text`, as Windows-1252 reads it, is ASCII, and the rest is where such letters and signs do.
pub(super) fn is_likely_windows_1252(text: &str) -> bool {
    let seen = LetterStats::collect(text);
    let is_foreign_text = seen.has_foreign_word;
    let are_signs = 2 * seen.signs > seen.foreign;
    let are_few = seen.foreign < FEW && seen.misplaced == 0;
    let is_rare =
        RARE_ONE_IN * seen.foreign <= seen.letters || ENGLISH_ONE_IN * seen.english >= seen.words;
    !is_foreign_text && (are_signs || are_few && is_rare)
}

#[derive(Default)]
struct LetterStats {
    letters: usize,
    words: usize,
    english: usize,
    /// Characters beyond ASCII.
    foreign: usize,
    /// Of these, signs that are where signs do, and where they do not.
    signs: usize,
    misplaced: usize,
    /// Whether more than half of a word of several letters is beyond ASCII.
    has_foreign_word: bool,
}

impl LetterStats {
    fn collect(text: &str) -> LetterStats {
        let mut seen = LetterStats::default();
        let mut before = ' ';
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let after = chars.peek().copied().unwrap_or(' ');
            seen.letters += usize::from(c.is_alphabetic());
            seen.foreign += usize::from(!c.is_ascii());
            if !c.is_ascii() && !is_letter(c) {
                let fits = is_sign(c, before, after);
                seen.signs += usize::from(fits);
                seen.misplaced += usize::from(!fits);
            }
            before = c;
        }
        let words = text
            .split(|c| !is_letter(c))
            .filter(|word| !word.is_empty());
        for word in words {
            let len = word.chars().count();
            let foreign = word.chars().filter(|c| !c.is_ascii()).count();
            seen.words += 1;
            seen.has_foreign_word |= len > 1 && 2 * foreign > len;
            seen.english += usize::from(ENGLISH.iter().any(|it| it.eq_ignore_ascii_case(word)));
        }
        seen
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !matches!(c, 'ª' | 'º' | 'µ')
}

/// Whether `c` is a sign of Windows-1252 that may be between `before` and `after`.
fn is_sign(c: char, before: char, after: char) -> bool {
    // Its place is the same in all encodings of Windows for alphabets.
    let is_punctuation = |c| {
        matches!(
            c,
            '‘' | '’' | '“' | '”' | '–' | '—' | '…' | '•' | '\u{a0}' | '·'
        )
    };
    let is_free = |c: char| c.is_ascii() || is_punctuation(c);
    let is_parted = is_free(before) && is_free(after);
    let (behind_letter, before_letter) = (is_letter(before), is_letter(after));
    match c {
        _ if is_punctuation(c) => true,
        '®' | '©' | '™' | '²' | '³' | '¹' | '†' | '‡' => is_parted && !before_letter,
        '°' | 'µ' | '¿' | '¡' | '€' => is_parted && !behind_letter,
        '£' | '¥' | '¢' | '§' | '¶' | '±' | '½' | '¼' | '¾' | '×' | '÷' => {
            is_parted && !behind_letter && !before_letter
        }
        '«' | '»' | 'º' | 'ª' => is_parted && !(behind_letter && before_letter),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_letters_and_signs_are_distinguished_from_words_of_another_encoding() {
        let english = "We went to the sea and it was cold. ".repeat(9);
        let cases: &[(&str, bool)] = &[
            ("10 µm, 21 °C, 5 ± 0.3 m², §4, £20, ½ × ¾", true),
            ("“It’s” – he said… © 2003 by Us®", true),
            ("the naïve man", true),
            (&format!("{english}naïve"), true),
            ("Le café est fermé à midi", false),
            ("£ód¼ le¿y w ¶rodkowej Polsce", false),
            ("w³a¶nie", false),
            (&format!("{english}Ïðèâåò"), false),
            (&format!("{english}“Œ‹ž"), false),
        ];
        for (text, want) in cases {
            assert_eq!(is_likely_windows_1252(text), *want, "{text}");
        }
    }
}
