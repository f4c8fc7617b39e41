//! The sentences of a text.

use unicode_segmentation::UnicodeSegmentation;

/// Sentences with the byte where they start. Beyond Unicode's rule, which wants a capital to follow, a full stop
/// that stands alone ends one: so do texts that were tokenised and lower-cased write it.
pub(crate) fn sentences(text: &str) -> Vec<(usize, &str)> {
    const ALONE: &str = " . ";
    let mut sentences = Vec::new();
    for (at, sentence) in text.split_sentence_bound_indices() {
        let mut start = 0;
        for (stop, _) in sentence.match_indices(ALONE) {
            let end = stop + ALONE.len();
            sentences.push((at + start, &sentence[start..end]));
            start = end;
        }
        if start < sentence.len() {
            sentences.push((at + start, &sentence[start..]));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_capitals_and_at_stops_that_stand_alone() {
        let cases: &[(&str, &[&str])] = &[
            ("One is. Two is.", &["One is. ", "Two is."]),
            ("one is . two is .", &["one is . ", "two is ."]),
            ("", &[]),
        ];
        for (text, want) in cases {
            let got: Vec<&str> = sentences(text).iter().map(|found| found.1).collect();
            assert_eq!(got, *want);
            assert!(
                sentences(text)
                    .iter()
                    .all(|(at, part)| text[*at..].starts_with(part))
            );
        }
    }
}
