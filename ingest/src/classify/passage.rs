//! A passage as the cues see it: its sentences in plain words, its headings, what it is made of.

use std::ops::Range;

use loci_documents::{Block, BlockKind, Kind, ParsedDocument};
use loci_types::text::sentences::{SentenceRule, sentences};

use super::phrases::{PhraseList, PhraseListSet};
use crate::text::prose;
use crate::tokens;

/// A run of a document, read for what it is for.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// The heading that it is under, in lower case; empty where there is none.
    pub(super) heading: String,
    /// Its sentences of prose.
    pub(super) sentences: Vec<Sentence>,
    /// Whether a heading opens it.
    pub(super) is_headed: bool,
    /// Tokens of all its blocks.
    pub(super) tokens: TokenCounts,
    /// Whether code is right before it.
    pub(super) follows_code: bool,
}

/// Tokens by what contains them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenCounts {
    pub(super) all: u32,
    pub(super) code: u32,
    pub(super) tables: u32,
}

/// One sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct Sentence {
    /// As a reader sees it.
    pub(super) visible: String,
    /// Likewise, in lower case.
    pub(super) lower: String,
    /// Its words in lower case between single blanks, with one at either end.
    pub(super) words: String,
    /// Where in `words` it opens, behind a label such as `3.` or `(b)`.
    opening: usize,
    lists: PhraseListSet,
}

impl Sentence {
    fn new(visible: String) -> Sentence {
        let lower = visible.to_lowercase().replace('’', "'");
        let unlabelled = after_label(&lower);
        let label = words(&lower[..lower.len() - unlabelled.len()]);
        let words = words(&lower);
        Sentence {
            lists: PhraseListSet::from_words(&words),
            words,
            opening: label.len() - 1,
            visible,
            lower,
        }
    }

    /// Whether it has a phrase of a list.
    pub(super) fn has(&self, list: PhraseList) -> bool {
        self.lists.has(list)
    }

    /// Whether its first words are one of these phrases.
    pub(super) fn opens_with(&self, phrases: &[&str]) -> bool {
        let opening = self.words[self.opening..].trim_start();
        phrases.iter().any(|phrase| {
            let rest = opening.strip_prefix(phrase);
            rest.is_some_and(|rest| rest.starts_with(' '))
        })
    }

    /// Whether it is a question.
    pub(super) fn is_question(&self) -> bool {
        self.lower
            .trim_end_matches(['"', '”', ')', '*'])
            .ends_with('?')
    }

    /// Whether one of these words labels it: `Theorem 2.1.`, `Example:`.
    pub(super) fn is_labelled(&self, labels: &[&str]) -> bool {
        // Of labels such as `example` and `examples`, any may be followed by what makes it one.
        labels.iter().any(|label| {
            let rest = self.lower.strip_prefix(label).unwrap_or_default();
            let rest = rest.trim_start();
            rest.starts_with(|c: char| c.is_numeric() || c == ':' || c == '.')
        })
    }

    pub(super) fn visible_words(&self) -> impl Iterator<Item = &str> {
        self.visible.split_whitespace()
    }

    pub(super) fn word_count(&self) -> usize {
        self.words.split(' ').count() - 2
    }
}

/// The words of a text in lower case, each between blanks: ` one two `.
pub(super) fn words(lower: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let mut words = String::with_capacity(lower.len() + 2);
    words.push(' ');
    for word in lower.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
        words.push_str(word);
        words.push(' ');
    }
    words
}

/// The sentence behind `3.`, `(b)`, `- ` and the like.
fn after_label(sentence: &str) -> &str {
    let rest = sentence.trim_start_matches(['-', '•', '*', ' ']);
    let bare = rest.trim_start_matches('(');
    let label = bare.split(['.', ')', ' ']).next().unwrap_or("");
    let is_short = label.bytes().all(|b| b.is_ascii_digit()) || label.len() == 1;
    match bare[label.len()..].strip_prefix(['.', ')']) {
        Some(sentence) if is_short && !label.is_empty() => {
            sentence.trim_start_matches(['.', ')', ' '])
        }
        _ => rest,
    }
}

impl Passage {
    /// The bytes `range` of a document's text, under a heading, given without markup.
    pub fn from_range(
        parsed: &ParsedDocument,
        range: Range<usize>,
        heading: Option<&str>,
    ) -> Passage {
        let mut passage = Passage {
            heading: heading.map(str::to_lowercase).unwrap_or_default(),
            ..Passage::default()
        };
        let blocks = &parsed.blocks;
        let first = blocks.partition_point(|block| block.range.end <= range.start);
        let last = blocks.partition_point(|block| block.range.start < range.end);
        for block in blocks.get(first..last).unwrap_or_default() {
            let inside = block.range.start.max(range.start)..block.range.end.min(range.end);
            passage.add(parsed, block, inside);
        }
        let before = blocks.get(..first).and_then(<[Block]>::last);
        passage.follows_code = before.is_some_and(|block| matches!(block.kind, BlockKind::Code(_)));
        if blocks.is_empty() {
            passage.add_prose(&parsed.text[range], parsed.kind);
        }
        passage
    }

    /// A passage of sentences under a heading, nothing else being known of it.
    #[cfg(test)]
    pub(super) fn plain(heading: &str, text: &str) -> Passage {
        let parsed = ParsedDocument {
            text: text.to_owned(),
            ..ParsedDocument::default()
        };
        Passage::from_range(&parsed, 0..text.len(), Some(heading))
    }

    fn add(&mut self, parsed: &ParsedDocument, block: &Block, range: Range<usize>) {
        let text = &parsed.text[range.clone()];
        let size = tokens::count(text);
        self.tokens.all += size;
        match block.kind {
            BlockKind::Heading(_) => {
                self.is_headed |= self.sentences.is_empty();
            }
            BlockKind::Code(_) | BlockKind::Definition { .. } => self.tokens.code += size,
            BlockKind::Table => self.tokens.tables += size,
            BlockKind::Equation | BlockKind::Figure => {}
            _ => self.add_prose(text, parsed.kind),
        }
    }

    fn add_prose(&mut self, text: &str, kind: Kind) {
        // Comments of a source file are read by what they document, not as prose.
        if kind.is_code() {
            return;
        }
        let spans = sentences(text, SentenceRule::Reader).into_iter();
        let visible = spans.map(|span| prose::visible(&text[span], kind));
        let visible = visible.filter(|sentence| !sentence.is_empty());
        self.sentences.extend(visible.map(Sentence::new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(text: &str) -> Sentence {
        Sentence::new(text.to_owned())
    }

    #[test]
    fn words_match_without_punctuation_and_with_any_apostrophe() {
        assert_eq!(sentence("Say (it): so.").words, " say it so ");
        assert!(sentence("Now let’s go on.").has(PhraseList::We));
    }

    #[test]
    fn a_sentence_opens_behind_its_label() {
        for text in ["Prove it.", "3. Prove it.", "(b) Prove it.", "• Prove it."] {
            assert!(sentence(text).opens_with(&["prove"]), "{text}");
        }
        assert!(!sentence("Proved.").opens_with(&["prove"]));
        assert!(!sentence("To prove it.").opens_with(&["prove"]));
    }

    #[test]
    fn a_label_is_followed_by_its_number_or_a_mark() {
        for (text, is_labelled) in [
            ("Example 2.3 A ball falls.", true),
            ("Example: a ball falls.", true),
            ("Examples: a ball falls.", true),
            ("Examples. A ball falls.", true),
            ("Examples abound.", false),
            ("Example code follows.", false),
        ] {
            assert_eq!(
                sentence(text).is_labelled(&["example", "examples"]),
                is_labelled,
                "{text}"
            );
        }
    }

    #[test]
    fn a_passage_is_what_the_blocks_in_its_range_are() {
        let text = "let a = 1;\nSums\nIt adds up.\nlet b = 2;";
        let block = |kind, range| Block {
            kind,
            range,
            ..Block::default()
        };
        let parsed = ParsedDocument {
            text: text.into(),
            blocks: vec![
                block(BlockKind::Code(None), 0..10),
                block(BlockKind::Heading(1), 11..15),
                block(BlockKind::Paragraph, 16..27),
                block(BlockKind::Code(None), 28..38),
            ],
            ..ParsedDocument::default()
        };
        let prose = Passage::from_range(&parsed, 11..27, Some("Sums"));
        assert!(prose.is_headed && prose.follows_code);
        assert_eq!((prose.sentences.len(), prose.tokens.code), (1, 0));
        assert_eq!(prose.heading, "sums");
        let both = Passage::from_range(&parsed, 16..38, None);
        assert!(!both.is_headed && !both.follows_code && both.tokens.code > 0);
        let code = Passage::from_range(&parsed, 0..10, None);
        assert_eq!(
            (code.sentences.len(), code.tokens.code),
            (0, code.tokens.all)
        );
    }

    #[test]
    fn comments_of_source_code_are_no_prose() {
        let parsed = ParsedDocument {
            text: "Solve it.".into(),
            kind: Kind::Code(loci_documents::Language::Rust),
            ..ParsedDocument::default()
        };
        assert!(
            Passage::from_range(&parsed, 0..9, None)
                .sentences
                .is_empty()
        );
    }
}
