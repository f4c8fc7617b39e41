//! A question that is a sentence of some passage: that passage comes first, whatever else is like it.
//!
//! A user who pastes a sentence looks for its location. Words are compared as they are written, without regard to
//! case, signs and white space.

use std::collections::HashMap;

/// The least words of a sentence that is searched.
const WORDS_MIN: usize = 6;
/// Words of it that are compared.
pub(crate) const WORDS_MAX: usize = 64;
/// Share of its words that a passage must have in a row.
const RUN_RATIO_MIN: f32 = 0.6;

/// Words of an index that a passage must have in a row to be compared, of `count` in all. Fewer than must be equal, as
/// the index may cut words otherwise; and more than half, so that few passages are compared.
pub(crate) fn run_len_min(count: usize) -> usize {
    (count * 11).div_ceil(20).max(count / 2 + 1)
}

/// What a question begins with, in English; one in another language ends with its mark.
const QUESTION_OPENERS: &[&str] = &[
    "what",
    "which",
    "who",
    "whom",
    "whose",
    "when",
    "where",
    "why",
    "how",
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "can",
    "could",
    "should",
    "would",
    "will",
    "has",
    "have",
    "had",
    "find",
    "show",
    "list",
    "tell",
    "give",
    "explain",
    "describe",
    "compare",
    "calculate",
    "name",
];

/// The words of a statement, by number.
pub(crate) struct QuotedSentence {
    word_ids: HashMap<String, u32>,
    words: Vec<u32>,
}

impl QuotedSentence {
    /// The words of `question`; `None` where it asks, or is too short to identify one.
    pub(crate) fn new(question: &str) -> Option<QuotedSentence> {
        if question.trim_end().ends_with(['?', '？']) {
            return None;
        }
        let mut numbers = HashMap::new();
        let mut all = Vec::new();
        for word in words(question).take(WORDS_MAX) {
            let next = numbers.len() as u32;
            all.push(*numbers.entry(word).or_insert(next));
        }
        let first = words(question).next()?;
        let asks = QUESTION_OPENERS.contains(&&first[..]);
        (!asks && all.len() >= WORDS_MIN).then_some(QuotedSentence {
            word_ids: numbers,
            words: all,
        })
    }

    /// How many of its words `text` has in a row, where these are most of them; else 0.
    pub(crate) fn longest_run_in(&self, text: &str) -> usize {
        let mut best = 0;
        // For each word of the question: how long the row is that ends with it at the last word of the text.
        let mut rows = vec![0; self.words.len()];
        for word in words(text) {
            let number = self.word_ids.get(&word);
            for at in (0..rows.len()).rev() {
                rows[at] = if number == Some(&self.words[at]) {
                    1 + at.checked_sub(1).map_or(0, |before| rows[before])
                } else {
                    0
                };
                best = best.max(rows[at]);
            }
        }
        let enough = (self.words.len() as f32 * RUN_RATIO_MIN).ceil() as usize;
        if best >= enough.max(WORDS_MIN) {
            best
        } else {
            0
        }
    }
}

/// Runs of letters and digits, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quoted_sentence_is_found_in_its_passage() {
        let quoted =
            QuotedSentence::new("The kernel maps each page, and then it returns.").unwrap();
        assert_eq!(
            quoted.longest_run_in(
                "First. The kernel maps\neach page; and then IT returns to user space."
            ),
            9
        );
        assert_eq!(
            quoted.longest_run_in("The kernel maps each page and then something else returns."),
            7
        );
        assert_eq!(
            quoted.longest_run_in("It returns then, and each page is mapped by the kernel."),
            0
        );
        assert!(QuotedSentence::new("What does the kernel map for each page").is_none());
        assert!(QuotedSentence::new("The kernel maps each page, or does it?").is_none());
        assert!(QuotedSentence::new("kernel pages map").is_none());
        assert!(QuotedSentence::new("").is_none());
    }

    proptest! {
        #[test]
        fn the_run_is_the_longest_that_both_have(
            question in prop::collection::vec("[abc]", 6..12),
            text in prop::collection::vec("[abc]", 0..24),
        ) {
            let Some(quoted) = QuotedSentence::new(&question.join(" ")) else { return Ok(()) };
            let longest = (0..question.len())
                .flat_map(|from| (from..=question.len()).map(move |to| (from, to)))
                .filter(|&(from, to)| text.windows((to - from).max(1)).any(|run| run == &question[from..to]))
                .map(|(from, to)| to - from)
                .max()
                .unwrap_or(0);
            let enough = ((question.len() as f32 * RUN_RATIO_MIN).ceil() as usize).max(WORDS_MIN);
            let want = if longest >= enough { longest } else { 0 };
            prop_assert_eq!(quoted.longest_run_in(&text.join(". ")), want);
        }
    }
}
