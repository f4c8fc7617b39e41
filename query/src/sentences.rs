//! The sentences of a text that an answer may quote.

use loci_types::text::sentences::{SentenceRule, sentences};

/// Words that a sentence has at least to be quoted.
const WORDS_MIN: u32 = 3;

/// Sentences that can be quoted ([`SentenceRule::Quotation`]) and have at least three words, with the byte where they
/// start. One pass.
pub fn quotable(text: &str) -> Vec<(usize, &str)> {
    let quotations = sentences(text, SentenceRule::Quotation).into_iter();
    let quotations = quotations.map(|range| (range.start, &text[range]));
    let is_long = |(_, sentence): &(usize, &str)| crate::tokens::words(sentence) >= WORDS_MIN;
    quotations.filter(is_long).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotable_sentences_are_complete() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("nothing", "", &[]),
            (
                "two",
                "One is here. Two is there. ",
                &["One is here.", "Two is there."],
            ),
            (
                "a broken line",
                "The level of the\nriver rose. It fell again.",
                &["The level of the\nriver rose.", "It fell again."],
            ),
            (
                "paragraphs",
                "without a stop here\n\nAnother one is here",
                &["without a stop here", "Another one is here"],
            ),
            (
                "a heading",
                "# Rivers and lakes here\nThe level rose fast.\n\n## More about it\n",
                &["The level rose fast."],
            ),
            (
                "a list",
                "- one item is here\n- two items are here\n1. three items are here",
                &[
                    "one item is here",
                    "two items are here",
                    "1. three items are here",
                ],
            ),
            (
                "abbreviations",
                "It is due to Dr. Ada King. As J. Smith said, Fig. A shows it.",
                &[
                    "It is due to Dr. Ada King.",
                    "As J. Smith said, Fig. A shows it.",
                ],
            ),
            ("too short", "Yes. No, never.", &[]),
            (
                "bold",
                "**Rivers** rise in spring.",
                &["**Rivers** rise in spring."],
            ),
        ];
        for (name, text, want) in cases {
            let got: Vec<&str> = quotable(text).iter().map(|found| found.1).collect();
            assert_eq!(got, *want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn quotes_stand_where_they_say_and_ascend(text in "[a-zA-Z0-9.!? \n#*é日-]{0,120}") {
            let mut past = 0;
            for (at, sentence) in quotable(&text) {
                prop_assert!(at >= past && text[at..].starts_with(sentence));
                prop_assert_eq!(sentence.trim(), sentence);
                past = at + sentence.len();
            }
        }
    }
}
