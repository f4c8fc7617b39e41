//! Linking: the concepts that a text names, found without a model.
//!
//! Start reading at [`link`].

use std::cmp::Reverse;
use std::ops::Range;

use loci_storage::ConceptId;

use crate::names::{Named, NamesReader};
use crate::normalise::{Word, is_stop_word, singular, words};

/// A concept that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The concept.
    pub concept: ConceptId,
    /// The dictionary's name or synonym that matched.
    pub name: String,
    /// The words of the text, counted from 0, that matched.
    pub words: Range<usize>,
    /// The characters of the text that matched.
    pub chars: Range<usize>,
}

/// The concept with this normalised name in any segment; names win over synonyms, then the lowest id.
pub fn lookup<B: AsRef<[u8]>>(readers: &[&NamesReader<B>], normalised: &str) -> Option<ConceptId> {
    lookup_where(readers, normalised, |_| true)
}

/// [`lookup`] among the concepts that `keep` accepts.
pub fn lookup_where<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    normalised: &str,
    keep: impl Fn(ConceptId) -> bool,
) -> Option<ConceptId> {
    let named = readers
        .iter()
        .filter_map(|reader| reader.named(normalised))
        .filter(|named| keep(named.concept))
        .min();
    named.map(|named| named.concept)
}

/// The concepts that `text` names: the longest match over all readers, left to right, no overlaps.
///
/// The text is folded like names are ([`crate::normalise()`]); where the last word of a match is not in
/// the dictionary as written, its naive singular is tried. Among equally long matches the word as
/// written wins over the singular, a name over a synonym, a lower id over a higher. A single function
/// word never matches. Names of more than [`LINK_WORDS_MAX`](crate::names::LINK_WORDS_MAX) words are not found.
///
/// Costs at most `words · LINK_WORDS_MAX` short walks a reader; most end at the first byte.
pub fn link<B: AsRef<[u8]>>(readers: &[&NamesReader<B>], text: &str) -> Vec<Link> {
    link_where(readers, text, |_| true)
}

/// [`link`] with the concepts that `keep` accepts; the others do not hide shorter matches.
pub fn link_where<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    text: &str,
    keep: impl Fn(ConceptId) -> bool,
) -> Vec<Link> {
    let words = words(text);
    let mut links = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some(found) = longest(readers, &words[at..], &keep) else {
            at += 1;
            continue;
        };
        let matched = &words[at..at + found.len];
        links.push(Link {
            concept: found.named.0.concept,
            name: name_of(matched, found.as_written),
            words: at..at + found.len,
            chars: matched[0].chars.start..matched[found.len - 1].chars.end,
        });
        at += found.len;
    }
    links
}

/// A match at the start of some words. The largest is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    len: usize,
    as_written: bool,
    named: Reverse<Named>,
}

fn longest<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    words: &[Word],
    keep: &impl Fn(ConceptId) -> bool,
) -> Option<Found> {
    let mut best: Option<Found> = None;
    for reader in readers {
        reader.prefixes(words, |len, as_written, named| {
            let function_word = len == 1 && is_stop_word(&name_of(&words[..1], as_written));
            let found = Found {
                len,
                as_written,
                named: Reverse(named),
            };
            if best.is_none_or(|best| found > best) && !function_word && keep(named.concept) {
                best = Some(found);
            }
        });
    }
    best
}

/// The dictionary's name for these words.
fn name_of(words: &[Word], as_written: bool) -> String {
    let mut name = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 && !word.glued {
            name.push(' ');
        }
        let last = index + 1 == words.len();
        match singular(&word.text).filter(|_| last && !as_written) {
            Some(singular) => name.push_str(&singular),
            None => name.push_str(&word.text),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamesBuilder, normalise};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn reader(names: &[(&str, u32)], synonyms: &[(&str, u32)]) -> NamesReader<Vec<u8>> {
        let mut builder = NamesBuilder::default();
        for &(name, concept) in synonyms {
            builder.push_synonym(&normalise(name), ConceptId(concept));
        }
        for &(name, concept) in names {
            builder.push(&normalise(name), ConceptId(concept));
        }
        NamesReader::open(builder.finish()).unwrap()
    }

    #[test]
    fn a_name_in_one_segment_wins_over_a_synonym_in_another() {
        let (one, two) = (reader(&[], &[("qm", 1)]), reader(&[("qm", 7)], &[]));
        assert_eq!(lookup(&[&one, &two], "qm"), Some(ConceptId(7)));
        assert_eq!(link(&[&one, &two], "QM!")[0].concept, ConceptId(7));
        assert_eq!(lookup(&[&one, &two], "mq"), None);
    }

    #[test]
    fn the_longest_match_wins_over_all_readers() {
        let one = reader(
            &[
                ("neural", 1),
                ("network", 2),
                ("the", 3),
                ("café", 4),
                ("量子", 5),
            ],
            &[],
        );
        let two = reader(
            &[
                ("neural network", 10),
                ("neural networks of the brain", 11),
                ("C++", 12),
            ],
            &[],
        );
        type Expected = &'static [(u32, &'static str, Range<usize>)];
        let cases: &[(&str, &str, Expected)] = &[
            (
                "two words beat one",
                "a neural network",
                &[(10, "neural network", 2..16)],
            ),
            (
                "plural",
                "Neural Networks!",
                &[(10, "neural network", 0..15)],
            ),
            (
                "five words",
                "NEURAL networks of the brain",
                &[(11, "neural networks of the brain", 0..28)],
            ),
            (
                "falls back",
                "neural networks of the",
                &[(10, "neural network", 0..15)],
            ),
            (
                "function words are no concept",
                "the network",
                &[(2, "network", 4..11)],
            ),
            (
                "folded",
                "Cafés in C++",
                &[(4, "cafe", 0..5), (12, "c++", 9..12)],
            ),
            (
                "inside running ideographs",
                "说量子力学",
                &[(5, "量子", 1..3)],
            ),
            ("nothing", "plain text", &[]),
            ("no text", "", &[]),
        ];
        for (case, text, expected) in cases {
            let found: Vec<_> = link(&[&one, &two], text)
                .into_iter()
                .map(|link| (link.concept.0, link.name, link.chars))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(id, name, chars)| (*id, (*name).to_owned(), chars.clone()))
                .collect();
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn a_rejected_concept_does_not_hide_a_shorter_one() {
        let names = reader(&[("neural", 1), ("neural network", 2)], &[]);
        let links = link_where(&[&names], "neural network", |concept| {
            concept != ConceptId(2)
        });
        assert_eq!(links.len(), 1);
        assert_eq!((links[0].concept, &links[0].words), (ConceptId(1), &(0..1)));
    }

    /// Plainly right: every window of every length, longest first.
    fn reference(dictionary: &BTreeMap<String, u32>, text: &str) -> Vec<(u32, Range<usize>)> {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let (mut at, mut links) = (0, Vec::new());
        'words: while at < words.len() {
            for len in (1..=words.len() - at).rev() {
                let name = words[at..at + len].join(" ");
                if let Some(&concept) = dictionary.get(&name).filter(|_| len > 1 || name != "a") {
                    links.push((concept, at..at + len));
                    at += len;
                    continue 'words;
                }
            }
            at += 1;
        }
        links
    }

    proptest! {
        #[test]
        fn linking_agrees_with_trying_every_window(
            names in prop::collection::btree_map("[abx]( [abx]){0,3}", 0u32..50, 0..8),
            homes in prop::collection::vec(0usize..3, 8),
            text in "[abx ]{0,24}",
        ) {
            let names: BTreeMap<String, u32> = names;
            let mut builders = [(); 3].map(|()| NamesBuilder::default());
            for ((name, &concept), &home) in names.iter().zip(&homes) {
                builders[home].push(name, ConceptId(concept));
            }
            let readers = builders.map(|builder| NamesReader::open(builder.finish()).unwrap());
            let readers: Vec<&NamesReader<Vec<u8>>> = readers.iter().collect();
            let got: Vec<_> =
                link(&readers, &text).into_iter().map(|link| (link.concept.0, link.words)).collect();
            prop_assert_eq!(got, reference(&names, &text));
            for (name, &concept) in &names {
                prop_assert_eq!(lookup(&readers, name), Some(ConceptId(concept)));
            }
        }
    }
}
