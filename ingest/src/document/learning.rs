//! What a document asks of its reader and promises: how hard it is to read, what should be known first, what is learned.

use crate::chunk::numbering;
use crate::text::prose;
use loci_documents::{BlockKind, ParsedDocument};

/// Words that a text must have for its difficulty to be estimated.
const WORDS_MIN: usize = 100;
/// Words that are looked at.
const WORDS_MAX: usize = 20_000;
/// Entries of a list of outcomes or prerequisites.
const ENTRIES_MAX: usize = 20;
/// Characters of one.
const ENTRY_CHARS_MAX: usize = 200;

/// `introductory`, `intermediate` or `advanced`: Flesch's reading ease (Flesch, "A new readability yardstick", 1948), and
/// how many words are long. Of texts in Latin script with enough words.
pub(super) fn difficulty(sentences: &[String]) -> Option<&'static str> {
    let (mut words, mut syllables, mut long, mut count) = (0, 0, 0, 0);
    for sentence in sentences {
        let before = words;
        for word in prose::words(sentence) {
            let letters = word.surface.chars().filter(|c| c.is_alphabetic()).count();
            if letters == 0 {
                continue;
            }
            words += 1;
            syllables += syllables_of(word.surface);
            long += usize::from(letters > 9);
        }
        count += usize::from(words > before);
        if words > WORDS_MAX {
            break;
        }
    }
    let latin = sentences
        .iter()
        .flat_map(|of| of.chars())
        .filter(|c| c.is_alphabetic())
        .take(1000);
    let latin = latin.filter(|&c| c < '\u{250}').count();
    if words < WORDS_MIN || latin < 500.min(words) {
        return None;
    }
    let per = |part: usize, of: usize| part as f32 / of.max(1) as f32;
    let ease = 206.835 - 1.015 * per(words, count) - 84.6 * per(syllables, words);
    let rare = per(long, words);
    Some(match () {
        () if ease >= 60.0 && rare < 0.08 => "introductory",
        () if ease < 35.0 || rare > 0.16 => "advanced",
        () => "intermediate",
    })
}

/// Runs of vowels, a silent *e* at the end aside.
fn syllables_of(word: &str) -> usize {
    let lower = word.to_lowercase();
    let is_vowel = |c: char| "aeiouyäöüáéíóúàèìòùâêîôû".contains(c);
    let mut runs = 0;
    let mut inside = false;
    for c in lower.chars() {
        let vowel = is_vowel(c);
        runs += usize::from(vowel && !inside);
        inside = vowel;
    }
    let silent = lower.ends_with('e') && !lower.ends_with("le") && runs > 1;
    (runs - usize::from(silent)).max(1)
}

#[rustfmt::skip]
const OUTCOMES: &[&str] = &[
    "learning outcomes", "learning objectives", "objectives", "what you will learn",
    "what you'll learn", "you will learn", "in this chapter you will learn", "goals",
    "learning goals",
];
#[rustfmt::skip]
const PREREQUISITES: &[&str] = &[
    "prerequisites", "prerequisite", "requirements", "before you begin", "before you start",
    "what you should know", "prior knowledge",
];

/// What a reader learns: the list under a heading that says so, or after a sentence that does.
pub(super) fn learning_outcomes(parsed: &ParsedDocument) -> Vec<String> {
    list_under_heading(parsed, OUTCOMES)
}

/// What a reader should know first, likewise.
pub(super) fn prerequisites(parsed: &ParsedDocument) -> Vec<String> {
    list_under_heading(parsed, PREREQUISITES)
}

fn list_under_heading(parsed: &ParsedDocument, names: &[&str]) -> Vec<String> {
    let visible =
        |at: usize| prose::visible(&parsed.text[parsed.blocks[at].range.clone()], parsed.kind);
    let opens = |at: &usize| match parsed.blocks[*at].kind {
        BlockKind::Heading(_) => {
            let title = numbering::parse(&visible(*at)).title.to_lowercase();
            names.contains(&title.trim_end_matches([':', '.', '…']))
        }
        BlockKind::Paragraph => {
            let range = &parsed.blocks[*at].range;
            let lower = if range.len() < 200 {
                visible(*at).to_lowercase()
            } else {
                String::new()
            };
            lower.ends_with(':')
                && names
                    .iter()
                    .any(|name| lower.trim_end_matches(':').ends_with(name))
        }
        _ => false,
    };
    let Some(first) = (0..parsed.blocks.len()).find(opens) else {
        return Vec::new();
    };
    let rest = first + 1..parsed.blocks.len();
    let is_lead = |at: &usize| parsed.blocks[*at].kind == BlockKind::Paragraph;
    let is_item = |at: &usize| parsed.blocks[*at].kind == BlockKind::ListItem;
    // One paragraph may be before the list.
    let lead = rest.clone().next().filter(is_lead).map_or(0, |_| 1);
    let items = rest.skip(lead).take_while(is_item).take(ENTRIES_MAX);
    items
        .map(|at| {
            visible(at)
                .chars()
                .take(ENTRY_CHARS_MAX)
                .collect::<String>()
        })
        .filter(|item| !item.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_documents::Block;

    #[test]
    fn difficulty_goes_with_the_length_of_words_and_sentences() {
        let easy = vec!["The cat sat on the mat and saw a big red dog run by.".to_owned(); 20];
        let hard = vec![
            "Notwithstanding considerable methodological heterogeneity, phenomenological characterisation necessitates \
             interdisciplinary collaboration throughout institutional infrastructures."
                .to_owned();
            20
        ];
        assert_eq!(difficulty(&easy), Some("introductory"));
        assert_eq!(difficulty(&hard), Some("advanced"));
        assert_eq!(difficulty(&easy[..2]), None);
        let words = ["cat", "table", "make", "idea", "rhythm", "x"];
        assert_eq!(words.map(syllables_of), [1, 2, 1, 2, 1, 1]);
    }

    #[test]
    fn outcomes_are_the_list_under_their_heading() {
        use BlockKind::{Heading, ListItem, Paragraph};
        let mut parsed = ParsedDocument::default();
        for (kind, text) in [
            (Heading(1), "Sums"),
            (Heading(2), "1.1 Learning Objectives"),
            (Paragraph, "After this chapter you can"),
            (ListItem, "add"),
            (ListItem, "subtract"),
            (Paragraph, "Before you begin:"),
            (ListItem, "count"),
            (Paragraph, "Now to work."),
            (ListItem, "one"),
        ] {
            let start = parsed.text.len();
            parsed.text.push_str(text);
            let range = start..parsed.text.len();
            parsed.blocks.push(Block {
                kind,
                range,
                ..Block::default()
            });
            parsed.text.push_str("\n\n");
        }
        assert_eq!(learning_outcomes(&parsed), ["add", "subtract"]);
        assert_eq!(prerequisites(&parsed), ["count"]);
        assert_eq!(learning_outcomes(&ParsedDocument::default()), [""; 0]);
    }
}
