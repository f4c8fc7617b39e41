//! What is counted in a passage: each cue a name and a number in 0..=1.

use super::passage::{self, Passage, Sentence};
use super::phrases::{DEFINITIONS, EXAMPLES, PhraseList, SUPPOSING, THEOREMS};
use crate::text::lexicon;

/// How many cues there are.
pub const COUNT: usize = CUES.len();

type Cue = (&'static str, fn(&Passage) -> f32);

/// All cues of a passage, in the order of [`names`].
pub fn cues(passage: &Passage) -> [f32; COUNT] {
    CUES.map(|(_, cue)| cue(passage).clamp(0.0, 1.0))
}

/// What the cues are called.
pub fn names() -> [&'static str; COUNT] {
    CUES.map(|(name, _)| name)
}

const CUES: [Cue; 39] = [
    ("always", |_| 1.0),
    // Headings.
    ("heading: example", |p| heading_score(p, EXAMPLES)),
    ("heading: definition", |p| heading_score(p, DEFINITIONS)),
    ("heading: code", |p| {
        heading_score(p, &["code", "implementation", "api"])
    }),
    ("heading: what is", |p| {
        bool_score(p.heading.starts_with("what is ") || p.heading.starts_with("what are "))
    }),
    ("opens a section", |p| bool_score(p.is_headed)),
    ("says its heading", heading_repetition),
    ("follows code", |p| bool_score(p.follows_code)),
    ("no prose", |p| bool_score(p.sentences.is_empty())),
    // Makeup.
    ("has code", |p| bool_score(p.tokens.code > 0)),
    ("code", |p| token_fraction(p, p.tokens.code)),
    ("tables", |p| token_fraction(p, p.tokens.tables)),
    ("words a sentence", |p| {
        word_count(p) as f32 / p.sentences.len().max(1) as f32 / 40.0
    }),
    // The first sentence.
    ("first: defines", |p| first_sentence_score(p, defines)),
    ("first: example", |p| {
        first_sentence_score(p, |s| {
            s.has(PhraseList::Exemplifying) || s.opens_with(SUPPOSING)
        })
    }),
    ("first: labelled concept", |p| {
        first_sentence_score(p, |s| s.is_labelled(THEOREMS))
    }),
    ("first: labelled example", |p| {
        first_sentence_score(p, |s| s.is_labelled(EXAMPLES))
    }),
    // Sentences.
    ("defines", |p| sentence_fraction(p, defines)),
    ("example", |p| phrase_fraction(p, PhraseList::Exemplifying)),
    ("supposes", |p| {
        sentence_fraction(p, |s| s.opens_with(SUPPOSING))
    }),
    ("shows", |p| phrase_fraction(p, PhraseList::Showing)),
    ("we", |p| phrase_fraction(p, PhraseList::We)),
    ("you", |p| phrase_fraction(p, PhraseList::You)),
    ("must", |p| phrase_fraction(p, PhraseList::Must)),
    ("can", |p| phrase_fraction(p, PhraseList::Enabling)),
    ("was", |p| phrase_fraction(p, PhraseList::Past)),
    ("notions", |p| phrase_fraction(p, PhraseList::Notions)),
    ("generic subject", |p| {
        sentence_fraction(p, |s| {
            s.opens_with(&["a", "an", "each", "every", "any", "most", "many"])
        })
    }),
    ("in general", |p| {
        phrase_fraction(p, PhraseList::Generalising)
    }),
    ("of itself", |p| phrase_fraction(p, PhraseList::OfItself)),
    ("available", |p| phrase_fraction(p, PhraseList::Offering)),
    ("opens in small letters", |p| {
        sentence_fraction(p, |s| s.visible.starts_with(char::is_lowercase))
    }),
    ("quotes", |p| {
        sentence_fraction(p, |s| s.visible.contains(['“', '"', '‘']))
    }),
    ("places in code", |p| {
        sentence_fraction(p, names_source_file)
    }),
    ("bibliography", |p| sentence_fraction(p, cites)),
    // Words.
    ("long words", |p| word_rate(p, |w| w.len() > 8)),
    ("identifiers", |p| word_rate(p, is_identifier)),
    ("numbers", |p| {
        word_rate(p, |w| w.starts_with(|c: char| c.is_ascii_digit()))
    }),
    ("names", name_rate),
];

fn bool_score(of: bool) -> f32 {
    f32::from(u8::from(of))
}

/// Whether its innermost heading has one of these words or phrases.
fn heading_score(passage: &Passage, phrases: &[&str]) -> f32 {
    let words = passage::words(&passage.heading);
    bool_score(
        phrases
            .iter()
            .any(|phrase| words.contains(&format!(" {phrase} "))),
    )
}

fn token_fraction(passage: &Passage, tokens: u32) -> f32 {
    tokens as f32 / passage.tokens.all.max(1) as f32
}

fn word_count(passage: &Passage) -> usize {
    passage.sentences.iter().map(Sentence::word_count).sum()
}

fn first_sentence_score(passage: &Passage, is: impl Fn(&Sentence) -> bool) -> f32 {
    bool_score(passage.sentences.first().is_some_and(is))
}

/// The share of its sentences of which something holds. One of two or three sentences may be a coincidence.
fn sentence_fraction(passage: &Passage, is: impl Fn(&Sentence) -> bool) -> f32 {
    let count = passage.sentences.iter().filter(|s| is(s)).count();
    count as f32 / passage.sentences.len().max(3) as f32
}

fn phrase_fraction(passage: &Passage, phrases: PhraseList) -> f32 {
    sentence_fraction(passage, |sentence| sentence.has(phrases))
}

/// Of how many words in five something holds.
fn word_rate(passage: &Passage, is: impl Fn(&str) -> bool) -> f32 {
    let words = |s| Sentence::visible_words(s);
    rate_among(passage.sentences.iter().flat_map(words), is)
}

/// Capitalised words that open no sentence.
fn name_rate(passage: &Passage) -> f32 {
    let words = |s| Sentence::visible_words(s).skip(1);
    rate_among(passage.sentences.iter().flat_map(words), |word| {
        word.starts_with(char::is_uppercase)
    })
}

fn rate_among<'a>(words: impl Iterator<Item = &'a str>, is: impl Fn(&str) -> bool) -> f32 {
    let (mut count, mut all) = (0u32, 0u32);
    for word in words {
        all += 1;
        count += u32::from(is(word));
    }
    // One of a few words may be a coincidence.
    count as f32 * 5.0 / all.max(10) as f32
}

/// Whether a sentence defines: by a phrase, by a name that it gives, or as "X is a Y".
pub(super) fn defines(sentence: &Sentence) -> bool {
    sentence.has(PhraseList::Defining) || introduces_name(sentence) || states_what_is(sentence)
}

/// Whether something "is called X": a name, not a call of a function.
fn introduces_name(sentence: &Sentence) -> bool {
    let mut words = sentence.words.split_whitespace();
    while let Some(word) = words.next() {
        if !matches!(word, "is" | "are" | "often" | "sometimes" | "also" | "we") {
            continue;
        }
        let mut rest = words.clone();
        if !matches!(rest.next(), Some("called" | "call" | "named" | "termed")) {
            continue;
        }
        let named = rest.next();
        if named
            .is_some_and(|w| w.len() > 1 && !lexicon::is_stop(w) || matches!(w, "a" | "an" | "the"))
        {
            return true;
        }
    }
    false
}

/// Whether a sentence has the form "X is a Y", X being short and no pronoun.
fn states_what_is(sentence: &Sentence) -> bool {
    let copulas = [
        " is a ",
        " is an ",
        " are a ",
        " is the process ",
        " is any ",
        " is one ",
    ];
    let at = copulas.iter().filter_map(|c| sentence.words.find(c)).min();
    let subject: Vec<&str> = match at {
        Some(at) => sentence.words[..at].split_whitespace().collect(),
        None => return false,
    };
    let pronoun = [
        "it", "this", "that", "there", "he", "she", "which", "here", "what", "these", "one",
    ];
    (1..=5).contains(&subject.len()) && !pronoun.contains(&subject[0])
}

/// `copyin`, `p->lock`, `std::fs`, `read_file`, `main()`.
fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_' && c != '(');
    inner.contains('_') && inner.len() > 2
        || word.contains("()")
        || word.contains("->")
        || word.contains("::")
        || word.contains("<-")
        || inner.starts_with(char::is_lowercase) && inner.contains(char::is_uppercase)
}

/// How much of its heading the first sentence says again.
fn heading_repetition(passage: &Passage) -> f32 {
    let Some(first) = passage.sentences.first().filter(|_| passage.is_headed) else {
        return 0.0;
    };
    let heading = passage.heading.split(|c: char| !c.is_alphanumeric());
    let heading_words: Vec<&str> = heading
        .filter(|w| w.len() > 2 && w.starts_with(char::is_alphabetic) && !lexicon::is_stop(w))
        .collect();
    let repeated = heading_words
        .iter()
        .filter(|w| {
            first
                .words
                .contains(&format!(" {}", &w.trim_end_matches('s')))
        })
        .count();
    repeated as f32 / heading_words.len().max(1) as f32
}

/// `(kernel/vm.c:54)`.
fn names_source_file(sentence: &Sentence) -> bool {
    sentence.lower.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/');
        let file = word.split(':').next().unwrap_or("");
        file.rsplit_once('.').is_some_and(|(stem, end)| {
            stem.contains('/')
                && matches!(
                    end,
                    "c" | "h" | "s" | "rs" | "py" | "go" | "js" | "java" | "cpp"
                )
        })
    })
}

/// `doi:10.1`, `ISBN`, `11 U.S.C. § 110`, `pp. 3-5`.
fn cites(sentence: &Sentence) -> bool {
    sentence.has(PhraseList::Citing)
        || sentence.lower.contains('§')
        || sentence.lower.contains("http")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cue_value(cue: &str, heading: &str, text: &str) -> f32 {
        let at = names().iter().position(|name| *name == cue);
        cues(&Passage::plain(heading, text))[at.expect("a cue of that name")]
    }

    #[test]
    fn each_cue_is_found_in_what_shows_it_and_not_in_plain_words() {
        let cases = [
            ("heading: example", "A worked example", "Cows graze."),
            ("heading: definition", "2 Basic concepts", "Cows graze."),
            ("heading: code", "3.3 Code: exec", "Cows graze."),
            ("heading: what is", "What is a heap?", "Cows graze."),
            ("first: defines", "", "A heap is a tree. Cows graze."),
            ("first: example", "", "Suppose a cow grazes. It eats."),
            ("first: labelled concept", "", "Lemma 3. Cows graze."),
            ("first: labelled example", "", "Example: cows graze."),
            ("defines", "", "Cows graze. This is called grazing."),
            ("example", "", "Cows graze, for example."),
            ("supposes", "", "Cows graze. Imagine a cow."),
            ("shows", "", "The program prints 3."),
            ("we", "", "Now we’ll look at cows."),
            ("you", "", "You see cows."),
            ("must", "", "Cows must graze."),
            ("can", "", "Cows can graze."),
            ("was", "", "Cows were grazing."),
            ("notions", "", "Cows are a fine abstraction."),
            ("generic subject", "", "Every cow grazes."),
            ("in general", "", "Cows usually graze."),
            ("of itself", "", "This chapter is of cows."),
            ("available", "", "Cows are available."),
            ("opens in small letters", "", "kfree frees cows."),
            ("quotes", "", "Cows “graze”."),
            ("places in code", "", "Cows graze (kernel/vm.c:54)."),
            ("bibliography", "", "Cow, A. (1990). Grass. ISBN 3."),
            ("long words", "", "Cows ruminate contentedly."),
            ("identifiers", "", "Cows call graze_all()."),
            ("numbers", "", "Cows eat 12 kg."),
            ("names", "", "Cows graze in Sussex."),
        ];
        for (cue, heading, text) in cases {
            assert!(
                cue_value(cue, heading, text) > 0.0,
                "{cue} of {heading:?} / {text:?}"
            );
            assert_eq!(
                cue_value(cue, "Cows", "Grass grows. Cows graze."),
                0.0,
                "{cue}"
            );
        }
    }

    #[test]
    fn a_sentence_that_repeats_its_heading_is_recognized() {
        let score = |text| {
            let headed = Passage {
                is_headed: true,
                ..Passage::plain("2.1 Page tables", text)
            };
            heading_repetition(&headed)
        };
        assert_eq!(score("A page table maps addresses."), 1.0);
        assert_eq!(score("Each page has an owner."), 0.5);
        assert_eq!(score("Cows graze."), 0.0);
    }

    #[test]
    fn a_call_gives_no_name() {
        for (text, names) in [
            ("The step is called parsing.", true),
            ("Such trees are also called heaps.", true),
            ("It is called from the kernel.", false),
        ] {
            let passage = Passage::plain("", text);
            assert_eq!(
                passage.sentences.iter().any(introduces_name),
                names,
                "{text}"
            );
        }
    }
}
