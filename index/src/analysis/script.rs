//! Distinguishes text that separates words by spaces from text that does not.

use unicode_normalization::char::is_combining_mark;

/// A run of text of one manner of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span<'t> {
    /// Words stand between spaces and signs.
    Spaced(&'t str),
    /// Letters of a script without spaces, nothing else.
    Unspaced(&'t str),
}

/// Cuts `text` into spans; together they are the text.
pub(super) fn spans(text: &str) -> impl Iterator<Item = Span<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_ascii() {
            let span = std::mem::take(&mut rest);
            return Some(Span::Spaced(span)).filter(|_| !span.is_empty());
        }
        let unspaced = is_unspaced(rest.chars().next()?);
        let ends = |c: char| {
            if unspaced {
                !is_unspaced(c) && !is_combining_mark(c)
            } else {
                is_unspaced(c)
            }
        };
        let (span, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        rest = after;
        Some(if unspaced {
            Span::Unspaced(span)
        } else {
            Span::Spaced(span)
        })
    })
}

/// Whether `c` is a letter or mark of Chinese, Japanese, Korean, Thai, Lao, Khmer or Burmese.
///
/// Korean has spaces, but particles stick to its words, so pairs find more there too.
pub(crate) fn is_unspaced(c: char) -> bool {
    if c < '\u{0e01}' {
        return false;
    }
    matches!(c,
        // Thai, Lao, Burmese, Khmer, without their digits and signs
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}'
        | '\u{0e81}'..='\u{0ece}' | '\u{0edc}'..='\u{0edf}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{1780}'..='\u{17d3}'
        // Hangul
        | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7fb}' | '\u{ffa0}'..='\u{ffdc}'
        // Kana and Bopomofo
        | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}'
        // Han
        | '\u{2e80}'..='\u{2fd5}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3038}'..='\u{303b}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_change_where_the_script_does() {
        use Span::{Spaced, Unspaced};
        let cases: &[(&str, &[Span<'_>])] = &[
            ("", &[]),
            ("plain words", &[Spaced("plain words")]),
            (
                "東京2024年",
                &[Unspaced("東京"), Spaced("2024"), Unspaced("年")],
            ),
            ("か\u{3099}x", &[Unspaced("か\u{3099}"), Spaced("x")]),
            ("あ、い", &[Unspaced("あ"), Spaced("、"), Unspaced("い")]),
        ];
        for (text, expected) in cases {
            assert_eq!(spans(text).collect::<Vec<_>>(), *expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn spans_together_are_the_text(text in "[a-z ก-ฮ一-九가-힣\\PC]{0,20}") {
            let joined: String = spans(&text)
                .map(|span| match span { Span::Spaced(s) | Span::Unspaced(s) => s })
                .collect();
            prop_assert_eq!(joined, text);
        }
    }
}
